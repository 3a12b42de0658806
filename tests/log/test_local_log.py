"""LocalLog and LogLoader by themselves: files and offsets, without producers, epochs or a high watermark."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.common.errors import KafkaException, KafkaStorageException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.local_log import LocalLog
from kafka_py.log.log_loader import LoadedLogOffsets, LogLoader
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile, LeaderEpochFile
from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_py.server.log_offset_metadata import LogOffsetMetadata
from tests.log.log_harness import Logs, log_config, singleton

TP = TopicPartition("topic", 0)


def local_log_of(logs: Logs, recovery_point: int = 0) -> LocalLog:
    return LocalLog(logs.dir, log_config(), recovery_point, logs.time.scheduler, logs.time, TP, logs.channel)


def load(logs: Logs, local_log: LocalLog, log_start_offset: int = 0, recovery_point: int = 0) -> LoadedLogOffsets:
    checkpoint = LeaderEpochCheckpointFile(LeaderEpochFile.new_file(logs.dir), logs.channel)
    epochs = LeaderEpochFileCache(TP, lambda: local_log.next_offset_metadata, checkpoint)
    states = ProducerStateManager(TP, logs.dir)
    offsets = LogLoader(local_log, False, log_start_offset, recovery_point, epochs, states).load()
    local_log.loaded(offsets)
    return offsets


@pytest.fixture
def local_log(logs: Logs) -> LocalLog:
    local_log = local_log_of(logs)
    load(logs, local_log)
    return local_log


def append(local_log: LocalLog, count: int) -> None:
    for _ in range(count):
        offset = local_log.log_end_offset
        records = MemoryRecords.readable_records(bytearray(singleton(timestamp=offset).buffer))
        next(records.batches()).set_last_offset(offset)
        local_log.active_segment.append(offset, offset, offset, offset, records)
        local_log.update_log_end_offset(offset + 1)


def rolled(local_log: LocalLog, expected_next_offset: int = 0) -> list[int]:
    told: list[int] = []
    assert local_log.roll(expected_next_offset, told.append) is local_log.active_segment
    return told


def offsets_read(local_log: LocalLog, start: int) -> list[int]:
    fetched = local_log.read(
        start, 1 << 20, None, min_one_message=False, include_aborted_txns=False, log_start_offset=0
    )
    return [record.offset() for record in fetched.records.records()]


def test_an_empty_directory_is_loaded(logs: Logs) -> None:
    assert load(logs, local_log_of(logs)) == LoadedLogOffsets(0, 0, LogOffsetMetadata(0, 0, 0))
    assert LogLoader.logger is LocalLog.logger, "one logger, kafka.log.Log, as in 1.1.1"


def test_what_was_appended_is_loaded(logs: Logs, local_log: LocalLog) -> None:
    append(local_log, 3)
    rolled(local_log)
    append(local_log, 2)
    size = local_log.active_segment.size
    local_log.close_handlers()
    again = local_log_of(logs)
    assert load(logs, again, log_start_offset=2) == LoadedLogOffsets(2, 5, LogOffsetMetadata(5, 3, size))
    assert offsets_read(again, 3) == [3, 4]


def test_what_is_not_announced_is_not_read(local_log: LocalLog) -> None:
    append(local_log, 2)
    local_log.next_offset_metadata = LogOffsetMetadata(1, 0, local_log.active_segment.size // 2)
    assert offsets_read(local_log, 0) == [0]


def test_a_roll_tells_where_before_there_is_a_file(local_log: LocalLog) -> None:
    append(local_log, 3)
    seen: list[bool] = []
    local_log.roll(0, lambda offset: seen.append(pathlib.Path(local_log.dir, f"{offset:020d}.log").exists()))
    assert seen == [False]
    assert rolled(local_log, 7) == [7]
    assert [s.base_offset for s in local_log.segments.values()] == [0, 3, 7]
    assert local_log.next_offset_metadata == LogOffsetMetadata(3, 7, 0)
    with pytest.raises(KafkaException, match="while it already exists"):
        local_log.new_segment(7)


def test_flush_and_truncation_move_the_recovery_point(local_log: LocalLog) -> None:
    append(local_log, 4)
    rolled(local_log)
    append(local_log, 4)
    assert local_log.unflushed_messages == 8
    local_log.flush(6)
    local_log.mark_flushed(6)
    assert (local_log.recovery_point, local_log.unflushed_messages) == (6, 2)
    local_log.mark_flushed(99)
    assert local_log.recovery_point == 8
    local_log.truncate_to(2)
    local_log.lower_recovery_point(2)
    assert (local_log.log_end_offset, local_log.recovery_point, len(local_log.segments)) == (2, 2, 1)
    local_log.truncate_fully_and_start_at(20)
    assert [s.base_offset for s in local_log.segments.values()] == [20]
    assert local_log.log_end_offset == 20


def test_a_directory_is_renamed_with_its_segments(local_log: LocalLog) -> None:
    append(local_log, 1)
    assert not local_log.rename_dir(local_log.name)
    assert local_log.rename_dir("topic-0.abc-delete")
    assert local_log.active_segment.log.file.parent == local_log.dir
    assert local_log.dir.is_dir()
    local_log.delete_all_segments()
    local_log.delete_dir()
    assert not local_log.dir.exists()
    with pytest.raises(KafkaStorageException, match="already closed"):
        local_log.check_if_memory_mapped_buffer_closed()


@pytest.mark.parametrize("hidden", [False, True])
def test_an_error_of_the_disk_takes_the_directory_offline(logs: Logs, local_log: LocalLog, hidden: bool) -> None:
    error = OSError("no disk")

    def fail() -> None:
        with local_log.maybe_handle_io_exception("while testing"):
            if hidden:
                raise KafkaException("of a batch") from error
            raise error

    with pytest.raises(KafkaStorageException, match="while testing"):
        fail()
    assert logs.channel.has_offline_log_dir(local_log.parent_dir)
    with pytest.raises(KafkaStorageException, match="already offline"), local_log.maybe_handle_io_exception("again"):
        pytest.fail("the block is not entered")
