"""Log: what appends accept and answer, and what reads return."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from kafka_py.common.errors import (
    CorruptRecordException,
    InvalidRecordException,
    KafkaStorageException,
    OffsetOutOfRangeException,
    OffsetsOutOfOrderException,
    RecordBatchTooLargeException,
    RecordTooLargeException,
    UnexpectedAppendOffsetException,
)
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.file_records import FileRecords
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.log.log import Log
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.log.log_config import LogConfig
from kafka_py.message.compression_codec import BrokerCompressionCodec
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from tests.log.log_harness import (
    GZIP,
    LZ4,
    NONE,
    Logs,
    as_follower,
    as_leader,
    concatenated,
    log_config,
    numbered,
    offsets,
    records_of,
    singleton,
    value_of,
)

MESSAGE_IDS = [*range(50), *range(50, 200, 7)]


def sparse_log(logs: Logs) -> Log:
    """A follower's log with gaps between offsets, one batch a segment."""
    log = logs.create(log_config(segment_bytes=72))
    for id in MESSAGE_IDS:
        as_follower(log, records_of(str(id).encode(), initial_offset=id))
    return log


@pytest.mark.ported("LogTest.testLoadEmptyLog")
@pytest.mark.parametrize("files", [False, True], ids=["no files", "empty files"])
def test_first_append(logs: Logs, files: bool) -> None:
    if files:
        Log.log_file(logs.dir, 0).touch()
        Log.offset_index_file(logs.dir, 0).touch()
    log = logs.create()
    info = as_leader(log, logs.now_record())
    assert (info.first_offset, info.last_offset, info.shallow_count) == (0, 0, 1)
    assert log.log_end_offset == 1
    assert log.log_end_offset_metadata == LogOffsetMetadata(1, 0, log.size)


@pytest.mark.ported("LogTest.testAppendAndReadWithSequentialOffsets")
def test_append_and_read_with_sequential_offsets(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=71))
    values = [str(i).encode() for i in range(0, 100, 2)]
    for value in values:
        as_leader(log, singleton(value))
    for i, value in enumerate(values):
        batch = next(log.read_uncommitted(i, 100, i + 1).records.batches())
        assert batch.last_offset() == i
        record = next(iter(batch))
        assert record.key() is None
        assert value_of(record) == value
    assert list(log.read_uncommitted(len(values), 100).records.batches()) == []


@pytest.mark.ported("LogTest.testAppendAndReadWithNonSequentialOffsets")
def test_read_returns_the_next_offset_there_is(logs: Logs) -> None:
    log = sparse_log(logs)
    for i in range(50, max(MESSAGE_IDS)):
        expected = next(id for id in MESSAGE_IDS if id >= i)
        record = next(iter(log.read_uncommitted(i, 100).records.records()))
        assert record.offset() == expected
        assert value_of(record) == str(expected).encode()


@pytest.mark.ported("LogTest.testReadWithMinMessage")
def test_read_with_min_message(logs: Logs) -> None:
    log = sparse_log(logs)
    for i in range(50, max(MESSAGE_IDS)):
        expected = next(id for id in MESSAGE_IDS if id >= i)
        for max_length, max_offset in ((1, None), (100, None), (100, 10000)):
            info = log.read_uncommitted(i, max_length, max_offset, min_one_message=True)
            assert next(iter(info.records.records())).offset() == expected
            assert not info.first_entry_incomplete
        assert log.read_uncommitted(i, 1, 1, min_one_message=True).records.size_in_bytes() == 0


@pytest.mark.ported("LogTest.testReadWithTooSmallMaxLength")
def test_read_with_too_small_max_length(logs: Logs) -> None:
    log = sparse_log(logs)
    for i in range(50, max(MESSAGE_IDS)):
        assert log.read_uncommitted(i, 0).records is MemoryRecords.EMPTY
        info = log.read_uncommitted(i, 1)
        assert info.first_entry_incomplete
        assert isinstance(info.records, FileRecords)
        assert info.records.size_in_bytes() == 1


@pytest.mark.ported("LogTest.testReadAtLogGap")
def test_read_at_log_gap(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=300))
    while log.number_of_segments == 1:
        as_leader(log, singleton(b"42"))
    log.log_segments[0].truncate_to(1)
    assert next(log.read_uncommitted(1, 200).records.batches()).last_offset() == log.log_end_offset - 1


@pytest.mark.ported("LogTest.testReadOutOfRange")
def test_read_out_of_range(logs: Logs) -> None:
    Log.log_file(logs.dir, 1024).touch()
    Log.offset_index_file(logs.dir, 1024).touch()
    log = logs.create(log_config(segment_bytes=1024))
    as_leader(log, singleton(b"42"))
    assert log.read_uncommitted(1025, 1000).records.size_in_bytes() == 0
    for offset in (0, 1026, -1, 2**62):
        with pytest.raises(OffsetOutOfRangeException) as raised:
            log.read_uncommitted(offset, 1000)
        assert str(raised.value) == (
            f"Request for offset {offset} but we only have log segments in the range 1024 to 1025."
        )
    assert log.read_uncommitted(1025, 1000, 1024).records.size_in_bytes() == 0


def test_read_above_the_max_offset_is_empty(logs: Logs) -> None:
    log = logs.create()
    for _ in range(5):
        as_leader(log, singleton())
    info = log.read_uncommitted(3, 1000, max_offset=2)
    assert info.records is MemoryRecords.EMPTY
    assert info.fetch_offset_metadata.message_offset == 3


def test_read_stops_before_the_max_offset(logs: Logs) -> None:
    log = logs.create()
    for _ in range(5):
        as_leader(log, singleton())
    for max_offset in range(6):
        records = log.read_uncommitted(0, 10**6, max_offset).records
        assert [record.offset() for record in records.records()] == list(range(max_offset))


def test_read_negative_size(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, singleton())
    with pytest.raises(ValueError, match=r"Invalid max size for log read \(-1\)"):
        log.read_uncommitted(0, -1)


def test_read_never_shows_what_is_not_announced(logs: Logs) -> None:
    """A batch that is in the file but not behind next_offset_metadata is not read."""
    log = logs.create()
    as_leader(log, singleton())
    announced = log.next_offset_metadata
    as_leader(log, singleton())
    log._local_log.next_offset_metadata = announced
    assert [r.offset() for r in log.read_uncommitted(0, 10**6).records.records()] == [0]
    assert log.read_uncommitted(1, 10**6).records is MemoryRecords.EMPTY


@pytest.mark.ported("LogTest.testCompressedMessages")
def test_compressed_messages(logs: Logs) -> None:
    log = logs.create(log_config(segment_bytes=110))
    as_leader(log, records_of(b"hello", b"there", compression_type=GZIP))
    as_leader(log, records_of(b"alpha", b"beta", compression_type=GZIP))
    firsts = [next(iter(log.read_uncommitted(i, 4096).records.records())).offset() for i in range(4)]
    assert firsts == [0, 0, 2, 2]


@pytest.mark.ported("LogTest.testMessageSetSizeCheck")
def test_batch_larger_than_a_segment(logs: Logs) -> None:
    records = records_of(b"You", b"bethe")
    log = logs.create(log_config(segment_bytes=records.size_in_bytes() - 1))
    with pytest.raises(RecordBatchTooLargeException, match="exceeds the maximum configured segment size of"):
        as_leader(log, records)
    assert (log.log_end_offset, log.size) == (0, 0)


@pytest.mark.parametrize("preallocate", [False, True])
def test_a_follower_takes_what_its_leader_accepted_under_larger_limits(logs: Logs, preallocate: bool) -> None:
    large = concatenated([records_of(b"%d" % i * 100, initial_offset=i, partition_leader_epoch=0) for i in range(5)])
    log = logs.create(log_config(max_message_bytes=100, segment_bytes=200, preallocate=preallocate))
    log.append_as_follower(large)
    log.append_as_follower(records_of(b"5" * 100, initial_offset=5, partition_leader_epoch=0))
    assert (log.log_end_offset, log.number_of_segments) == (6, 2)
    assert [segment.base_offset for segment in log.log_segments] == [0, 5]
    assert [next(iter(log.read_uncommitted(i, 4096).records.records())).offset() for i in (0, 5)] == [0, 5]


@pytest.mark.ported("LogTest.testMessageSizeCheck")
def test_message_size_check(logs: Logs) -> None:
    second = records_of(b"change (I need more bytes)... blah blah blah.", b"More padding boo hoo")
    log = logs.create(log_config(max_message_bytes=second.size_in_bytes() - 1))
    as_leader(log, records_of(b"You", b"bethe"))
    with pytest.raises(RecordTooLargeException, match="exceeds the maximum configured value of"):
        as_leader(log, second)
    assert log.log_end_offset == 2
    assert logs.stats.topic_stats("topic").bytes_rejected_rate.count == second.size_in_bytes()


@pytest.mark.ported("LogTest.testCompactedTopicConstraints")
def test_compacted_topic_constraints(logs: Logs) -> None:
    keyed, unkeyed = SimpleRecord(key=b"here", value=b"with key"), SimpleRecord(value=b"without key")
    log = logs.create(log_config(cleanup_policy="compact"))
    for bad in ((unkeyed, keyed), (unkeyed,)):
        with pytest.raises(CorruptRecordException):
            as_leader(log, MemoryRecords.with_records(*bad))
    with pytest.raises(CorruptRecordException):
        as_leader(log, MemoryRecords.with_records(keyed, unkeyed, compression_type=GZIP))
    as_leader(log, MemoryRecords.with_records(keyed))
    as_leader(log, MemoryRecords.with_records(keyed, keyed))
    as_leader(log, MemoryRecords.with_records(keyed, compression_type=GZIP))
    assert log.log_end_offset == 4


@pytest.mark.ported("LogTest.testAppendMessageWithNullPayload")
@pytest.mark.ported("LogTest.testAppendWithNoTimestamp")
def test_null_value_and_no_timestamp(logs: Logs) -> None:
    log = logs.create()
    as_leader(log, singleton(None))
    head = next(iter(log.read_uncommitted(0, 4096).records.records()))
    assert (head.offset(), head.has_value(), head.timestamp()) == (0, False, -1)


@pytest.mark.ported("LogTest.testAppendWithOutOfOrderOffsetsThrowsException")
def test_follower_out_of_order(logs: Logs) -> None:
    log = logs.create()
    records = concatenated(records_of(b"value", initial_offset=offset) for offset in (0, 1, 3, 2, 4))
    with pytest.raises(OffsetsOutOfOrderException, match=r"append to topic-0: \[0, 1, 3, 2, 4\]"):
        log.append_as_follower(records)
    assert log.log_end_offset == 0


@pytest.mark.ported("LogTest.testAppendBelowExpectedOffsetThrowsException")
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("compression", [NONE, LZ4])
def test_append_below_expected_offset(logs: Logs, magic: int, compression: CompressionType) -> None:
    log = logs.create()
    for _ in range(2):
        as_leader(log, singleton())
    with pytest.raises(UnexpectedAppendOffsetException):
        log.append_as_follower(records_of(b"1", magic=magic, compression_type=compression))
    assert log.log_end_offset == 2


@pytest.mark.ported("LogTest.testAppendEmptyLogBelowLogStartOffsetThrowsException")
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("compression", [NONE, LZ4])
def test_append_to_empty_log_below_its_start(logs: Logs, magic: int, compression: CompressionType) -> None:
    Log.log_file(logs.dir, 7).touch()
    log = logs.create()
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    records = MemoryRecords.with_records(
        *numbered(3),
        magic=magic,
        compression_type=compression,
        initial_offset=4,
    )
    with pytest.raises(UnexpectedAppendOffsetException) as raised:
        log.append_as_follower(records)
    # the message of the oldest formats is one batch each
    assert (raised.value.first_offset, raised.value.last_offset) == (4, 6)


def test_base_offset_of_a_client_must_be_zero(logs: Logs) -> None:
    log = logs.create()
    with pytest.raises(InvalidRecordException, match="should be 0, but it is 5"):
        as_leader(log, records_of(b"a", initial_offset=5))
    as_leader(log, records_of(b"a", initial_offset=5), from_client=False)
    assert offsets(log) == [0]


def test_bad_checksum_is_refused(logs: Logs) -> None:
    log = logs.create()
    buffer = bytearray(singleton().buffer)
    buffer[-1] ^= 1
    with pytest.raises(CorruptRecordException):
        as_leader(log, MemoryRecords.readable_records(buffer))
    assert (log.log_end_offset, log.size) == (0, 0)


def test_partial_batch_at_the_end_is_cut_off(logs: Logs) -> None:
    log = logs.create()
    whole, partial = bytes(singleton(b"whole").buffer), bytes(singleton(b"part").buffer)[:-3]
    info = as_leader(log, MemoryRecords.readable_records(bytearray(whole + partial)))
    assert (info.shallow_count, info.valid_bytes) == (1, len(whole))
    assert log.size == len(whole)


def test_empty_append_changes_nothing(logs: Logs) -> None:
    log = logs.create()
    info = as_leader(log, MemoryRecords.EMPTY)
    assert (info.shallow_count, info.first_offset, info.last_offset) == (0, -1, -1)
    assert log.log_end_offset == 0


@pytest.mark.ported("LogTest.shouldApplyEpochToMessageOnAppendIfLeader")
def test_leader_epoch_is_stamped_and_remembered(logs: Logs) -> None:
    log = logs.create()
    for epoch in (0, 0, 3, 3, 7):
        as_leader(log, singleton(), epoch=epoch)
    batches = list(log.read_uncommitted(0, 10**6).records.batches())
    assert [batch.partition_leader_epoch() for batch in batches] == [0, 0, 3, 3, 7]
    assert [tuple(e) for e in log.leader_epoch_cache.epoch_entries()] == [(0, 0), (3, 2), (7, 4)]


@pytest.mark.ported("LogTest.followerShouldSaveEpochInformationFromReplicatedMessagesToTheEpochCache")
def test_follower_takes_epochs_from_the_messages(logs: Logs) -> None:
    log = logs.create()
    for offset in range(5):
        as_follower(log, records_of(b"x", initial_offset=offset), leader_epoch=42 + offset // 2)
    assert log.leader_epoch_cache.latest_epoch() == 44
    assert [tuple(e) for e in log.leader_epoch_cache.epoch_entries()] == [(42, 0), (43, 2), (44, 4)]


@pytest.mark.parametrize("as_leader_", [True, False], ids=["leader", "follower"])
def test_a_format_without_epochs_ends_the_epochs(logs: Logs, as_leader_: bool) -> None:
    """After a step back of the format the old epochs would answer for the records behind them (KAFKA-7897)."""
    log = logs.create()
    as_leader(log, singleton(b"new"), epoch=3)
    log.update_config({"message.format.version"}, log_config(message_format_version="0.10.2"))
    old = singleton(b"old", magic=1, initial_offset=1)
    if as_leader_:
        as_leader(log, old, epoch=3)
    else:
        log.append_as_follower(old)
    assert log.log_end_offset == 2
    assert log.leader_epoch_cache.end_offset_for(3) == -1
    logs.crash(log)
    assert logs.create().leader_epoch_cache.latest_epoch() == -1


def test_recovery_keeps_the_epochs_behind_batches_without_epochs(logs: Logs) -> None:
    """A topic that was written in an older format before has none at its beginning."""
    log = logs.create()
    log.append_as_follower(singleton(b"old", magic=1))
    log.leader_epoch_cache.assign(4, 1)
    as_leader(log, singleton(b"new"), epoch=5)
    entries = log.leader_epoch_cache.epoch_entries()
    assert [tuple(e) for e in entries] == [(4, 1), (5, 1)]
    logs.crash(log)
    assert logs.create().leader_epoch_cache.epoch_entries() == entries


def test_log_append_time(logs: Logs) -> None:
    log = logs.create(log_config(message_timestamp_type="LogAppendTime"))
    info = as_leader(log, singleton(timestamp=5))
    assert info.log_append_time == logs.time.milliseconds() == info.max_timestamp
    assert next(iter(log.read_uncommitted(0, 1000).records.records())).timestamp() == logs.time.milliseconds()


@pytest.mark.ported("BrokerCompressionTest.testBrokerSideCompression")
@pytest.mark.parametrize("of_the_broker", BrokerCompressionCodec.broker_compression_options)
@pytest.mark.parametrize("of_the_producer", CompressionType.values(), ids=lambda codec: str(codec.name))
def test_the_brokers_compression_wins(logs: Logs, of_the_producer: CompressionType, of_the_broker: str) -> None:
    log = logs.create(log_config(compression_type=of_the_broker))
    as_leader(log, records_of(b"hello", b"there", compression_type=of_the_producer))
    expected = {"producer": of_the_producer.name, "uncompressed": "none"}.get(of_the_broker, of_the_broker)
    assert next(log.read_uncommitted(0, 4096).records.batches()).compression_type().name == expected


def test_compression_type_of_the_broker(logs: Logs) -> None:
    log = logs.create(log_config(compression_type="gzip"))
    as_leader(log, records_of(b"a" * 100, b"a" * 100))
    assert next(log.read_uncommitted(0, 1000).records.batches()).compression_type() is GZIP
    log.update_config({"compression.type"}, log_config(compression_type="uncompressed"))
    as_leader(log, records_of(b"a", b"b", compression_type=GZIP))
    assert next(log.read_uncommitted(2, 1000).records.batches()).compression_type() is NONE
    assert offsets(log) == [0, 1, 2, 3]


def test_size_is_checked_again_after_conversion(logs: Logs) -> None:
    records = records_of(b"a" * 300, compression_type=GZIP)
    log = logs.create(log_config(compression_type="uncompressed", max_message_bytes=records.size_in_bytes() + 10))
    with pytest.raises(RecordTooLargeException, match=r"^Message batch size is 3\d\d bytes which exceeds"):
        as_leader(log, records)


@pytest.mark.parametrize("index_interval", [1, 200, 4096])
@pytest.mark.parametrize("batches_per_append", [1, 3])
def test_every_offset_is_found_near_the_end_and_far_from_it(
    logs: Logs, index_interval: int, batches_per_append: int
) -> None:
    """Reads are answered from memory near the end, by index and scan otherwise: all give the same batch."""
    log = logs.create(log_config(index_interval_bytes=index_interval))
    offset = 0
    expected: dict[int, tuple[int, int]] = {}
    position = 0
    for i in range(120):
        parts = []
        for j in range(batches_per_append):
            first = offset + (7 if (i + j) % 10 == 0 else 0)  # a gap, as compaction leaves
            part = records_of(*[b"v"] * (1 + i % 3), initial_offset=first)
            expected.update(dict.fromkeys(range(offset, first + 1 + i % 3), (position, part.size_in_bytes())))
            parts.append(part)
            offset, position = first + 1 + i % 3, position + part.size_in_bytes()
        log.append_as_follower(concatenated(parts))
    segment = log.active_segment
    for tail in (segment._tail, segment._tail[-40:], []):
        segment._tail = tail
        for target, place in expected.items():
            found = segment.translate_offset(target)
            assert found is not None
            assert (found.position, found.size) == place
        assert segment.translate_offset(offset) is None


def test_tail_is_bounded(logs: Logs) -> None:
    log = logs.create()
    for _ in range(1500):
        as_leader(log, singleton())
    assert len(log.active_segment._tail) <= 1024
    assert next(log.read_uncommitted(0, 100).records.batches()).base_offset() == 0
    assert next(log.read_uncommitted(1499, 100).records.batches()).base_offset() == 1499


def test_two_threads_append_without_gap(logs: Logs) -> None:
    log = logs.create()

    def append() -> None:
        for _ in range(500):
            as_leader(log, singleton())

    threads = [threading.Thread(target=append) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert offsets(log) == list(range(1000))


def test_read_committed_at_the_end_has_no_aborted_transactions(logs: Logs) -> None:
    log = logs.create()
    assert log.read(0, 10, isolation_level=IsolationLevel.READ_COMMITTED).aborted_transactions == []
    assert log.read(0, 10).aborted_transactions is None


def test_disk_full_takes_the_directory_offline(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.create()
    as_leader(log, singleton())
    end = log.log_end_offset

    def no_space(fd: int, data: bytes, position: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", no_space)
        with pytest.raises(KafkaStorageException, match="Error while appending records to topic-0 in dir"):
            as_leader(log, singleton())
    assert log.log_end_offset == end
    assert logs.channel.take_next_offline_log_dir() == str(logs.dir.parent)


def test_acknowledged_bytes_are_in_the_file(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the kernel takes few bytes at a time."""
    log = logs.create()
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: pwrite(fd, bytes(data[:7]), position))
    as_leader(log, singleton(b"x" * 50))
    monkeypatch.undo()
    data = Log.log_file(logs.dir, 0).read_bytes()
    assert MemoryRecords.readable_records(data).valid_bytes() == len(data) == log.size


def test_convert_to_offset_metadata(logs: Logs) -> None:
    log = logs.create()
    size = as_leader(log, singleton()).valid_bytes
    as_leader(log, singleton())
    assert log.convert_to_offset_metadata(1) == LogOffsetMetadata(1, 0, size)
    assert log.convert_to_offset_metadata(2) == LogOffsetMetadata(2, 0, 2 * size)
    assert log.convert_to_offset_metadata(3) is None


def test_unknown_log_append_info() -> None:
    info = LogAppendInfo.UNKNOWN_LOG_APPEND_INFO
    assert (info.first_offset, info.last_offset, info.log_append_time, info.log_start_offset) == (-1, -1, -1, -1)
    assert LogAppendInfo.unknown_log_append_info_with_log_start_offset(7).log_start_offset == 7


def test_config_is_replaced_at_run_time(logs: Logs) -> None:
    log = logs.create()
    config = LogConfig({"max.message.bytes": 10})
    log.update_config({"max.message.bytes"}, config)
    with pytest.raises(RecordTooLargeException):
        as_leader(log, singleton())
