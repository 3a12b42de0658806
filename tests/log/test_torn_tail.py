"""Log: a last batch of which a crash left only a part, or a damaged one, in every format and codec, at every byte."""

from __future__ import annotations

import pytest

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.log.log import Log
from tests.log.log_harness import Logs, as_leader, log_config, singleton, value_of

pytestmark = pytest.mark.slow

BATCHES = 5
VERSIONS = {0: "0.9.0", 1: "0.10.0", 2: "1.1"}
FORMATS = [
    (0, CompressionType.NONE),
    (0, CompressionType.GZIP),
    (1, CompressionType.NONE),
    (1, CompressionType.LZ4),
    (2, CompressionType.NONE),
    (2, CompressionType.GZIP),
    (2, CompressionType.SNAPPY),
    (2, CompressionType.LZ4),
    (2, CompressionType.ZSTD),
]
# base offset (or offset), and the leader epoch of magic 2: no checksum covers them
UNCHECKED = {0: range(8), 1: range(8), 2: (*range(8), *range(12, 16))}


class Crashed:
    """A log of some batches as a crash left it; each damage is done to a fresh copy."""

    def __init__(self, logs: Logs, magic: int, codec: CompressionType) -> None:
        self.config = log_config(
            index_interval_bytes=1, segment_index_bytes=240, message_format_version=VERSIONS[magic]
        )
        self.now = logs.time.milliseconds()
        self.magic = magic
        self._logs = logs
        log = logs.create(self.config)
        for i in range(BATCHES):
            # a batch of several records, which in the old formats only a compressed one is
            several = 2 if magic == 2 or codec is not CompressionType.NONE else 1
            records = [SimpleRecord(self.now + i * 10, None, b"%d.%d" % (i, j)) for j in range(several)]
            as_leader(log, MemoryRecords.with_records(*records, magic=magic, compression_type=codec))
        logs.crash(log)
        log.remove_log_metrics()
        self._files = {file: file.read_bytes() for file in logs.dir.iterdir()}
        self.file = Log.log_file(logs.dir, 0)
        self.data = self._files[self.file]
        batches = list(MemoryRecords.readable_records(bytearray(self.data)).batches())
        self.ends = [batch.last_offset() for batch in batches]
        self.values = [[value_of(record) for record in batch] for batch in batches]
        self.last_size = batches[-1].size_in_bytes()
        self.last_at = len(self.data) - self.last_size

    def recovered(self, data: bytes) -> Log:
        """The log that is opened on these bytes; what was left of the indexes is as it was before."""
        for file in self._logs.dir.iterdir():
            file.unlink()
        for file, content in self._files.items():
            file.write_bytes(data if file == self.file else content)
        return self._logs.create(self.config)

    def check(self, log: Log, batches: int, thoroughly: bool) -> None:
        """So many batches are there, and the next append follows them; thoroughly: all are found, also afterwards."""
        whole = self.ends[batches - 1] + 1
        position = self.last_at if batches == BATCHES - 1 else len(self.data)
        assert (log.log_end_offset, log.size, log.recovery_point) == (whole, position, whole)
        if thoroughly:
            self._check_content(log, batches)
        info = as_leader(log, singleton(b"after", timestamp=self.now + 1000, magic=min(self.magic, 1)))
        assert (info.first_offset, log.log_end_offset) == (whole, whole + 1)
        assert [value_of(record) for record in log.read_uncommitted(whole, 1000).records.records()] == [b"after"]
        self._logs.crash(log)
        if thoroughly:
            again = self._logs.create(self.config)
            assert again.log_end_offset == whole + 1
            self._check_content(again, batches)
            self._logs.crash(again)

    def _check_content(self, log: Log, batches: int) -> None:
        for i in range(batches):
            first = 0 if i == 0 else self.ends[i - 1] + 1
            for offset in range(first, self.ends[i] + 1):
                batch = next(iter(log.read_uncommitted(offset, 1000).records.batches()))
                assert (batch.base_offset(), batch.last_offset()) == (first, self.ends[i])
                assert [value_of(record) for record in batch] == self.values[i]
            if self.magic > 0:
                timestamp = self.now + i * 10
                assert log.fetch_offsets_by_timestamp(timestamp) == TimestampOffset(timestamp, first)


@pytest.fixture(params=FORMATS, ids=lambda p: f"v{p[0]}-{p[1].name.lower()}")
def crashed(request: pytest.FixtureRequest, logs: Logs) -> Crashed:
    return Crashed(logs, *request.param)


def is_sample(at: int) -> bool:
    """Whether to look at everything: that takes longer."""
    return at % 16 == 5


def test_cut_at_every_byte(crashed: Crashed) -> None:
    for length in range(crashed.last_size):
        log = crashed.recovered(crashed.data[: crashed.last_at + length])
        crashed.check(log, BATCHES - 1, is_sample(length))
    crashed.check(crashed.recovered(crashed.data), BATCHES, thoroughly=True)


def test_zeros_from_every_byte_on(crashed: Crashed) -> None:
    """A preallocated file, or one whose size reached the disk before its content."""
    for length in range(crashed.last_size):
        part = crashed.data[: crashed.last_at + length]
        data = part + bytes(len(crashed.data) - len(part) + 100)
        # the last bytes may be zeros themselves
        whole = data[: len(crashed.data)] == crashed.data
        crashed.check(crashed.recovered(data), BATCHES if whole else BATCHES - 1, is_sample(length))


def test_every_byte_damaged(crashed: Crashed) -> None:
    for at in range(crashed.last_size):
        data = bytearray(crashed.data)
        data[crashed.last_at + at] ^= 0x41
        log = crashed.recovered(bytes(data))
        if at not in UNCHECKED[crashed.magic] or log.size == crashed.last_at:
            crashed.check(log, BATCHES - 1, is_sample(at))
        else:
            # taken for what it says, which must not be an offset that was there before
            assert log.size == len(crashed.data)
            assert log.log_end_offset > crashed.ends[-2] + 1
            assert as_leader(log, singleton(magic=min(crashed.magic, 1))).first_offset == log.log_end_offset - 1
