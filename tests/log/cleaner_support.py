"""What the tests of the log cleaner share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record import Record
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.cleaner_stats import LogToClean
from kafka_py.log.log import Log
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.log.log_config import LogConfig
from kafka_py.log.offset_map import OffsetMap
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.throttler import Throttler
from tests.log.log_harness import Logs, as_leader, log_config

TP = TopicPartition("topic", 0)
LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


def cleaner_config(**overrides: Any) -> LogConfig:
    """Compaction with small segments; as log_config."""
    defaults: dict[str, Any] = {
        "segment_bytes": 1024,
        "segment_index_bytes": 1024,
        "cleanup_policy": "compact",
        "message_timestamp_difference_max_ms": LONG_MAX,
    }
    return log_config(**{**defaults, **overrides})


class FakeOffsetMap(OffsetMap):
    """A dict with a given number of slots."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.map: dict[bytes, int] = {}
        self._latest_offset = -1

    def put(self, key: bytes, offset: int) -> None:
        self._latest_offset = offset
        self.map[key] = offset

    def get(self, key: bytes) -> int:
        return self.map.get(key, -1)

    def update_latest_offset(self, offset: int) -> None:
        self._latest_offset = offset

    def clear(self) -> None:
        self.map.clear()

    @property
    def size(self) -> int:
        return len(self.map)

    @property
    def latest_offset(self) -> int:
        return self._latest_offset


def make_cleaner(
    time: MockTime,
    capacity: int = INT_MAX,
    check_done: Callable[[TopicPartition], None] = lambda _: None,
    max_message_size: int = 64 * 1024,
    offset_map: OffsetMap | None = None,
) -> Cleaner:
    return Cleaner(
        id=0,
        offset_map=offset_map or FakeOffsetMap(capacity),
        io_buffer_size=max_message_size,
        max_io_buffer_size=max_message_size,
        dup_buffer_load_factor=0.75,
        throttler=Throttler(float("inf"), check_interval_ms=LONG_MAX, time=time),
        time=time,
        check_done=check_done,
    )


def to_clean(log: Log, first_dirty_offset: int = 0, uncleanable_offset: int | None = None) -> LogToClean:
    """Everything from an offset to the active segment."""
    if uncleanable_offset is None:
        uncleanable_offset = log.active_segment.base_offset
    return LogToClean(log.topic_partition, log, first_dirty_offset, uncleanable_offset)


def key(number: int) -> bytes:
    return str(number).encode()


def record(number: int, value: int | bytes | None, timestamp: int = -1, **options: Any) -> MemoryRecords:
    """A batch of one record; a number is the text of it."""
    data = key(value) if isinstance(value, int) else value
    return MemoryRecords.with_records(SimpleRecord(timestamp, key(number), data), **options)


def fill_segments(log: Log, segments: int, make: Callable[[int], MemoryRecords] | None = None) -> None:
    """Append records, keys and values being their offsets, until there are so many segments; all are replicated."""
    while log.number_of_segments < segments:
        offset = log.log_end_offset
        as_leader(log, record(offset, offset) if make is None else make(offset))
    log.on_high_watermark_incremented(log.log_end_offset)


def producer(logs: Logs, log: Log, pid: int, transactional: bool = False) -> Callable[..., LogAppendInfo]:
    """A function that appends a batch of keys, in sequence."""
    sequence = 0

    def append(*keys: int) -> LogAppendInfo:
        nonlocal sequence
        now = logs.time.milliseconds()
        records = MemoryRecords.with_records(
            *(SimpleRecord(now, key(k), key(k)) for k in keys),
            producer_id=pid,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        sequence += len(keys)
        return as_leader(log, records)

    return append


def end_txn(logs: Logs, log: Log, pid: int, commit: bool) -> None:
    type_ = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    as_leader(log, logs.end_txn(type_, pid, 0), from_client=False)


def all_records(log: Log) -> Iterator[Record]:
    for segment in log.log_segments:
        yield from segment.log.records()


def keys_in_log(log: Log) -> list[int]:
    return [
        int(bytes(r.key() or b""))
        for segment in log.log_segments
        for batch in segment.log.batches()
        if not batch.is_control_batch()
        for r in batch
        if r.has_key() and r.has_value()
    ]


def offsets_in_log(log: Log) -> list[int]:
    return [r.offset() for r in all_records(log) if r.has_key() and r.has_value()]


def last_offsets_per_batch(log: Log) -> list[int]:
    return [batch.last_offset() for segment in log.log_segments for batch in segment.log.batches()]


def last_sequences(log: Log) -> dict[int, int]:
    return {
        batch.producer_id(): batch.last_sequence()
        for segment in log.log_segments
        for batch in segment.log.batches()
        if not batch.is_control_batch() and batch.has_producer_id()
    }


def put_all(offset_map: OffsetMap, numbers: Iterable[int]) -> OffsetMap:
    for number in numbers:
        offset_map.put(key(number), LONG_MAX)
    return offset_map


def files(dir: pathlib.Path, suffix: str) -> list[pathlib.Path]:
    return sorted(file for file in dir.iterdir() if file.name.endswith(suffix))


def damage(path: pathlib.Path | str, position: int) -> None:
    """Flip a bit."""
    with open(path, "r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes((byte ^ 1,)))
