"""Each of the topic settings does what it says for a log that is open already, as soon as it is changed."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kafka_py.common.errors import InvalidTimestampException, RecordTooLargeException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.log import Log
from kafka_py.log.log_cleaner_manager import LogCleanerManager
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_manager import LogManager
from kafka_py.server.broker_states import BrokerState
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.config_handler import TopicConfigHandler
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.pool import Pool
from tests.log.cleaner_support import all_records, make_cleaner, offsets_in_log, to_clean
from tests.log.log_harness import as_leader, singleton
from tests.server.kafka_apis_support import kafka_config

TP = TopicPartition("t", 0)
HOUR_MS = 60 * 60 * 1000
SIZE = singleton(b"value", key=b"key").size_in_bytes()
# the broker's: small enough for the tests, and nothing that one of them waits for
DEFAULTS = {"segment.index.bytes": 1024, "file.delete.delay.ms": HOUR_MS, "segment.ms": 1000 * HOUR_MS}


class Quota:
    """Which partitions are throttled."""

    def __init__(self) -> None:
        self.throttled: list[int] = []

    def mark_throttled(self, topic: str, partitions: list[int]) -> None:
        self.throttled = partitions

    def remove_throttle(self, topic: str) -> None:
        self.throttled = []


class Live:
    """A broker's logs, and the way on which a topic's settings come to them."""

    def __init__(self, dir: pathlib.Path) -> None:
        self.time = MockTime()
        self.channel = LogDirFailureChannel(10)
        self.manager = LogManager(
            log_dirs=[dir],
            initial_offline_dirs=[],
            topic_configs={},
            initial_default_config=LogConfig(DEFAULTS),
            cleaner_config=CleanerConfig(enable_cleaner=False),
            recovery_threads_per_data_dir=1,
            flush_check_ms=10_000,
            flush_recovery_offset_checkpoint_ms=HOUR_MS,
            flush_start_offset_checkpoint_ms=HOUR_MS,
            retention_check_ms=HOUR_MS,
            max_pid_expiration_ms=HOUR_MS,
            scheduler=self.time.scheduler,
            broker_state=BrokerState(),
            broker_topic_stats=BrokerTopicStats(),
            log_dir_failure_channel=self.channel,
            time=self.time,
        )
        self.manager.startup()
        self.leader, self.follower = Quota(), Quota()
        quotas: Any = SimpleNamespace(leader=self.leader, follower=self.follower)
        self.handler = TopicConfigHandler(self.manager, kafka_config(broker__id=1), quotas)
        self.log = self.manager.get_or_create_log(TP, LogConfig(DEFAULTS))
        self.append()

    def change(self, **settings: object) -> None:
        """All settings of the topic from now on; `segment_bytes=100` is segment.bytes."""
        self.handler.process_config_changes("t", {k.replace("_", "."): str(v) for k, v in settings.items()})

    def append(self, count: int = 1, value: bytes | None = b"value", key: bytes = b"key", **options: Any) -> None:
        options.setdefault("timestamp", self.time.milliseconds())
        for _ in range(count):
            as_leader(self.log, singleton(value, key=key, **options))

    def retain(self) -> int:
        """Apply retention to all that is in closed segments; the segments deleted."""
        self.log.on_high_watermark_incremented(self.log.log_end_offset)
        return self.log.delete_old_segments()

    def last_batch(self) -> Any:
        segment = self.log.active_segment
        return list(MemoryRecords.readable_records(pathlib.Path(segment.log.file).read_bytes()).batches())[-1]

    def cleaner_manager(self) -> LogCleanerManager:
        pool: Pool[TopicPartition, Log] = Pool()
        pool.put(TP, self.log)
        return LogCleanerManager(self.manager.live_log_dirs, pool, self.channel)

    def close(self) -> None:
        self.log.close_handlers()
        self.log.remove_log_metrics()
        self.manager._remove_metrics()
        self.manager._directories.unlock_all()


@pytest.fixture
def open_live(tmp_path: pathlib.Path) -> Iterator[Callable[[str], Live]]:
    opened: list[Live] = []

    def open_(name: str) -> Live:
        opened.append(Live(tmp_path / name))
        return opened[-1]

    yield open_
    for live in opened:
        live.close()


# ---- what is looked at: each begins with a log of one record and the settings of the topic given


def segments_of_six(live: Live) -> int:
    live.append(5)
    return live.log.number_of_segments


def segments_after_two_hours(live: Live) -> int:
    live.time.sleep(2 * HOUR_MS)
    live.append()
    return live.log.number_of_segments


def jitter_of_the_next_segment(live: Live) -> bool:
    return any(live.log.roll(offset).roll_jitter_ms for offset in range(2, 34))


def index_of_the_next_segment(live: Live) -> int:
    return live.log.roll().offset_index.max_entries


def index_entries_of_the_next_segment(live: Live) -> int:
    live.log.roll()
    live.append(5)
    return live.log.active_segment.offset_index.entries


def size_of_the_next_segment_file(live: Live) -> int:
    return pathlib.Path(live.log.roll().log.file).stat().st_size


def synced_after_three(live: Live) -> int:
    live.append(2)
    return live.log.recovery_point


def synced_after_a_minute(live: Live) -> int:
    live.time.sleep(60_000)
    return live.log.recovery_point


def deleted_after_two_hours(live: Live) -> int:
    live.log.roll()
    live.time.sleep(2 * HOUR_MS)
    return live.retain()


def deleted_at_once(live: Live) -> int:
    live.log.roll()
    return live.retain()


def files_left_of_a_deleted_segment(live: Live) -> int:
    live.log.truncate_fully_and_start_at(7)
    live.time.sleep(1000)
    return len(list(live.log.dir.glob("*.log.deleted")))


def takes_a_record_of_1000_bytes(live: Live) -> bool:
    try:
        live.append(value=bytes(1000))
    except RecordTooLargeException:
        return False
    return True


def takes_a_record_of_yesterday(live: Live) -> bool:
    try:
        live.append(timestamp=live.time.milliseconds() - 24 * HOUR_MS)
    except InvalidTimestampException:
        return False
    return True


def codec_of_the_next_batch(live: Live) -> str:
    live.append()
    return str(live.last_batch().compression_type().name)


def format_of_the_next_batch(live: Live) -> int:
    live.append()
    return int(live.last_batch().magic())


def timestamp_of_the_next_batch_is_ours(live: Live) -> bool:
    live.append(timestamp=5)
    return bool(live.last_batch().max_timestamp() == live.time.milliseconds())


def tombstone_outlives_an_hour(live: Live) -> bool:
    cleaner, log = make_cleaner(live.time), live.log
    live.append(value=None)
    log.roll()
    cleaner.clean(to_clean(log))
    # the age of a tombstone is counted from the newest of what has been cleaned, which is now
    log.log_segments[0].last_modified = live.time.milliseconds() - HOUR_MS
    for key in (b"clean", b"dirty"):
        live.append(key=key)
        log.log_segments[-1].last_modified = live.time.milliseconds()
        log.roll()
    cleaner.clean(to_clean(log, log.log_segments[2].base_offset))
    assert offsets_in_log(log) == [2, 3], "the record before the tombstone is gone, those of other keys are not"
    return any(not record.has_value() for record in all_records(log))


def cleanable_now(live: Live) -> tuple[int, int]:
    live.log.roll()
    live.log.on_high_watermark_incremented(live.log.log_end_offset)
    return live.cleaner_manager().cleanable_offsets(live.log, TP, {}, live.time.milliseconds())


def chosen_for_cleaning(live: Live) -> bool:
    """Three quarters of it are clean."""
    live.append(2)
    live.log.roll()
    live.append()
    live.log.roll()
    live.log.on_high_watermark_incremented(live.log.log_end_offset)
    manager = live.cleaner_manager()
    manager.update_checkpoints(live.log.dir.parent, (TP, 3))
    try:
        return manager.grab_filthiest_compacted_log(live.time) is not None
    finally:
        manager.remove_metrics()


def in_sync_replicas_needed(live: Live) -> int:
    return live.log.config.min_in_sync_replicas  # Partition asks for it with every write of acks=all


def may_be_led_by_anyone(live: Live) -> bool:
    return live.log.config.unclean_leader_election_enable  # the controller and the fetchers read it from ZooKeeper


def throttled(live: Live) -> tuple[list[int], list[int]]:
    return live.leader.throttled, live.follower.throttled


class Row(NamedTuple):
    """A setting, what is looked at, and what that is without and with the setting; `beside` is set both times."""

    value: object
    look: Callable[[Live], object]
    without: object
    with_: object
    beside: Mapping[str, object] = MappingProxyType({})


COMPACT = {"cleanup.policy": "compact"}
ROWS = {
    "segment.bytes": Row(2 * SIZE, segments_of_six, 1, 3),
    "segment.ms": Row(HOUR_MS, segments_after_two_hours, 1, 2),
    "segment.jitter.ms": Row(HOUR_MS, jitter_of_the_next_segment, False, True),
    "segment.index.bytes": Row(80, index_of_the_next_segment, 128, 10),
    "flush.messages": Row(3, synced_after_three, 0, 3),
    "flush.ms": Row(30_000, synced_after_a_minute, 0, 1),
    "retention.bytes": Row(0, deleted_at_once, 0, 1),
    "retention.ms": Row(HOUR_MS, deleted_after_two_hours, 0, 1),
    "max.message.bytes": Row(500, takes_a_record_of_1000_bytes, True, False),
    "index.interval.bytes": Row(0, index_entries_of_the_next_segment, 0, 4),
    "delete.retention.ms": Row(1, tombstone_outlives_an_hour, True, False, COMPACT),
    "min.compaction.lag.ms": Row(HOUR_MS, cleanable_now, (0, 1), (0, 0), COMPACT),
    "file.delete.delay.ms": Row(500, files_left_of_a_deleted_segment, 1, 0),
    "min.cleanable.dirty.ratio": Row(0.1, chosen_for_cleaning, False, True, COMPACT),
    "cleanup.policy": Row("compact", deleted_at_once, 1, 0, {"retention.bytes": 0}),
    "unclean.leader.election.enable": Row(True, may_be_led_by_anyone, False, True),
    "min.insync.replicas": Row(2, in_sync_replicas_needed, 1, 2),
    "compression.type": Row("gzip", codec_of_the_next_batch, "none", "gzip"),
    "preallocate": Row(True, size_of_the_next_segment_file, 0, 5000, {"segment.bytes": 5000}),
    "message.format.version": Row("0.10.2", format_of_the_next_batch, 2, 1),
    "message.timestamp.type": Row("LogAppendTime", timestamp_of_the_next_batch_is_ours, False, True),
    "message.timestamp.difference.max.ms": Row(HOUR_MS, takes_a_record_of_yesterday, True, False),
    "leader.replication.throttled.replicas": Row("0:1,1:2", throttled, ([], []), ([0], [])),
    "follower.replication.throttled.replicas": Row("0:2,3:1", throttled, ([], []), ([], [3])),
}


def test_every_setting_has_its_row() -> None:
    assert sorted(ROWS) == LogConfig.config_names()


@pytest.mark.parametrize("name", ROWS)
def test_a_setting_holds_at_once_and_until_it_is_taken_back(open_live: Callable[[str], Live], name: str) -> None:
    row = ROWS[name]
    setting = {name: row.value}
    seen = []
    for live, changes in (
        (open_live("without"), [row.beside]),
        (open_live("with"), [row.beside, {**row.beside, **setting}]),
        (open_live("back"), [{**row.beside, **setting}, row.beside]),
    ):
        for change in changes:
            live.change(**change)
        seen.append(row.look(live))
    assert seen == [row.without, row.with_, row.without]


def test_one_warning_if_records_may_be_older_than_they_are_kept(
    open_live: Callable[[str], Live], caplog: pytest.LogCaptureFixture
) -> None:
    live = open_live("log")
    other = live.manager.get_or_create_log(TopicPartition("t", 1), LogConfig(DEFAULTS))
    live.change(retention_ms=HOUR_MS)
    live.change(segment_bytes=1000)
    live.change(retention_ms=HOUR_MS, message_timestamp_difference_max_ms=HOUR_MS)
    other.close_handlers()
    other.remove_log_metrics()
    warnings = [line for line in caplog.messages if "This may result in frequent log rolling" in line]
    assert len(warnings) == 1
    assert "retention.ms for topic t is set to 3600000" in warnings[0]


def test_a_deleted_log_takes_settings_and_does_nothing_with_them(open_live: Callable[[str], Live]) -> None:
    live = open_live("log")
    live.log.delete()
    live.log.update_config({"segment.bytes"}, LogConfig({"segment.bytes": 100}))
    assert live.log.config.segment_size == 100
    assert live.log.number_of_segments == 0
