"""What the tests of Log share: a directory, a clock, and short ways to make records."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record import Record
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.log import Log
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.log.transaction_index import AbortedTxn
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.testing.mock_time import MockTime


def log_config(**overrides: Any) -> LogConfig:
    """A configuration with a small index; `segment_bytes=100` sets segment.bytes."""
    props = {"segment.index.bytes": 64 * 1024}
    props.update({name.replace("_", "."): value for name, value in overrides.items()})
    return LogConfig(props)


def singleton(
    value: bytes | None = b"test", key: bytes | None = None, timestamp: int = -1, **options: Any
) -> MemoryRecords:
    """One batch of one record."""
    return MemoryRecords.with_records(SimpleRecord(timestamp, key, value), **options)


def records_of(*values: bytes, **options: Any) -> MemoryRecords:
    """One batch of records without timestamp."""
    return MemoryRecords.with_records(*(SimpleRecord(value=value) for value in values), **options)


def concatenated(parts: Iterable[MemoryRecords], leader_epoch: int = 0) -> MemoryRecords:
    """Several batches in one buffer, as a follower fetches them."""
    records = MemoryRecords.readable_records(bytearray(b"".join(bytes(part.buffer) for part in parts)))
    for batch in records.batches():
        batch.set_partition_leader_epoch(leader_epoch)
    return records


def numbered(count: int, first: int = 0) -> list[SimpleRecord]:
    """Records whose values are numbers."""
    return [SimpleRecord(value=str(i).encode()) for i in range(first, first + count)]


class Logs:
    """Opens logs in one directory and closes them at the end of the test."""

    def __init__(self, tmp_path: pathlib.Path) -> None:
        self.time = MockTime()
        self.dir = tmp_path / "data" / "topic-0"
        self.dir.mkdir(parents=True)
        self.stats = BrokerTopicStats()
        self.channel = LogDirFailureChannel(10)
        self._opened: list[Log] = []

    def create(
        self,
        config: LogConfig | None = None,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        max_producer_id_expiration_ms: int = 60 * 60 * 1000,
        producer_id_expiration_check_interval_ms: int = 10 * 60 * 1000,
        producer_state_manager: ProducerStateManager | None = None,
    ) -> Log:
        log = Log.apply(
            dir=self.dir,
            config=config or log_config(),
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            scheduler=self.time.scheduler,
            broker_topic_stats=self.stats,
            time=self.time,
            max_producer_id_expiration_ms=max_producer_id_expiration_ms,
            producer_id_expiration_check_interval_ms=producer_id_expiration_check_interval_ms,
            log_dir_failure_channel=self.channel,
            producer_state_manager=producer_state_manager,
        )
        self._opened.append(log)
        return log

    def crash(self, log: Log) -> None:
        """End without closing: what is in the files stays, and nothing more is written."""
        log.close_handlers()

    def close(self) -> None:
        for log in self._opened:
            log.close_handlers()
            log.remove_log_metrics()

    def now_record(self, value: bytes = b"test", **options: Any) -> MemoryRecords:
        return singleton(value, timestamp=self.time.milliseconds(), **options)

    def idempotent(
        self, pid: int, sequence: int, *values: bytes, epoch: int = 0, transactional: bool = False, **options: Any
    ) -> MemoryRecords:
        return MemoryRecords.with_records(
            *(SimpleRecord(self.time.milliseconds(), b"key", value) for value in values or (b"value",)),
            producer_id=pid,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional,
            **options,
        )

    def end_txn(
        self,
        type_: ControlRecordType,
        pid: int,
        epoch: int,
        coordinator_epoch: int = 0,
        offset: int = 0,
        leader_epoch: int = 0,
    ) -> MemoryRecords:
        return MemoryRecords.with_end_transaction_marker(
            pid,
            epoch,
            EndTransactionMarker(type_, coordinator_epoch),
            timestamp=self.time.milliseconds(),
            initial_offset=offset,
            partition_leader_epoch=leader_epoch,
        )

    def delete_producer_snapshot_files(self) -> None:
        for file in self.dir.glob("*.snapshot"):
            file.unlink()

    def mark_clean_shutdown(self) -> None:
        (self.dir.parent / LogFileUtils.CLEAN_SHUTDOWN_FILE).touch()

    def snapshot_offsets(self) -> list[int]:
        return sorted(Log.offset_from_file(file) for file in self.dir.glob("*.snapshot"))


def value_of(record: Record) -> bytes:
    return bytes(record.value() or b"")


def as_leader(log: Log, records: MemoryRecords, from_client: bool = True, epoch: int = 0) -> LogAppendInfo:
    return log.append_as_leader(records, leader_epoch=epoch, is_from_client=from_client)


def as_follower(log: Log, records: MemoryRecords, leader_epoch: int = 0) -> LogAppendInfo:
    for batch in records.batches():
        batch.set_partition_leader_epoch(leader_epoch)
    return log.append_as_follower(records)


def transactional(log: Log, pid: int, epoch: int) -> Callable[[int], None]:
    """A function that appends so many records of an open transaction, with the sequences that follow."""
    sequence = 0

    def append(count: int) -> None:
        nonlocal sequence
        records = MemoryRecords.with_transactional_records(
            *numbered(count, sequence), producer_id=pid, producer_epoch=epoch, base_sequence=sequence
        )
        as_leader(log, records)
        sequence += count

    return append


def offsets(log: Log) -> list[int]:
    """The offsets of all records, straight from the segments."""
    return [record.offset() for segment in log.log_segments for record in segment.log.records()]


def values(log: Log) -> list[bytes]:
    return [value_of(record) for segment in log.log_segments for record in segment.log.records()]


def aborted(log: Log) -> list[AbortedTxn]:
    return [txn for segment in log.log_segments for txn in segment.txn_index.all_aborted_txns()]


def unstable(log: Log) -> int | None:
    return None if log.first_unstable_offset is None else log.first_unstable_offset.message_offset


def append_mixed_transactions(logs: Logs, log: Log) -> list[AbortedTxn]:
    """Four producers' transactions in one log, 90 offsets; the aborted ones."""
    one, two, three, four = (transactional(log, pid, 0) for pid in (1, 2, 3, 4))

    def plain(count: int) -> None:
        as_leader(log, MemoryRecords.with_records(*numbered(count)))

    def end(pid: int, type_: ControlRecordType) -> None:
        as_leader(log, logs.end_txn(type_, pid, 0), from_client=False)

    one(5)
    plain(3)
    two(2)
    one(4)
    three(3)
    plain(2)
    one(10)
    end(1, ControlRecordType.ABORT)
    two(6)
    four(3)
    plain(10)
    three(9)
    end(3, ControlRecordType.COMMIT)
    four(8)
    two(7)
    end(2, ControlRecordType.ABORT)
    plain(10)
    four(4)
    end(4, ControlRecordType.COMMIT)
    assert log.log_end_offset == 90
    return [AbortedTxn.of(1, 0, 29, 8), AbortedTxn.of(2, 8, 74, 36)]


GZIP = CompressionType.GZIP
LZ4 = CompressionType.LZ4
NONE = CompressionType.NONE
