"""LogCleaner with its threads, and LogManager with its cleaner."""

from __future__ import annotations

import errno
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.common.errors import ConfigException, ThreadShutdownException
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.cleaner_stats import CleanerStats
from kafka_py.log.log import Log
from kafka_py.log.log_cleaner import LogCleaner
from kafka_py.log.log_cleaner_manager import LogCleaningInProgress, LogCleaningPaused
from kafka_py.log.log_manager import LogManager
from kafka_py.metrics.yammer import Gauge, Metrics
from kafka_py.server.broker_states import BrokerState
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.dynamic_broker_config import DynamicBrokerConfig
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.pool import Pool
from tests.log.cleaner_support import all_records, cleaner_config, damage, fill_segments, key, record
from tests.log.log_harness import as_leader

TPS = [TopicPartition("log", i) for i in range(3)]
TP = TPS[0]
SIZES: dict[str, Any] = {"segment_bytes": 512, "segment_index_bytes": 100 * 1024, "file_delete_delay_ms": 1000}


class Cleaners:
    """Makes a LogCleaner over logs in one directory."""

    def __init__(self, dir: pathlib.Path) -> None:
        self.dir = dir.absolute()
        self.time = MockTime()
        self.channel = LogDirFailureChannel(3)
        self.logs: list[Log] = []
        self.cleaner: LogCleaner

    def create(self, partitions: int = 1, backoff_ms: int = 15000, io_buffer_size: int = 4096, **config: Any) -> Log:
        """The cleaner, not started yet; the log of partition 0."""
        pool: Pool[TopicPartition, Log] = Pool()
        for tp in TPS[:partitions]:
            log = Log.apply(
                dir=self.dir / Log.log_dir_name(tp),
                config=cleaner_config(**{**SIZES, "min_cleanable_dirty_ratio": 0.0, **config}),
                log_start_offset=0,
                recovery_point=0,
                scheduler=self.time.scheduler,
                broker_topic_stats=BrokerTopicStats(),
                time=self.time,
                max_producer_id_expiration_ms=3600000,
                producer_id_expiration_check_interval_ms=600000,
                log_dir_failure_channel=self.channel,
            )
            pool.put(tp, log)
            self.logs.append(log)
        settings = CleanerConfig(
            dedupe_buffer_size=100_000, io_buffer_size=io_buffer_size, max_message_size=10_000, back_off_ms=backoff_ms
        )
        self.cleaner = LogCleaner(settings, [self.dir], pool, self.channel, self.time)
        return self.logs[-partitions]

    def close(self) -> None:
        if hasattr(self, "cleaner"):
            self.cleaner.shutdown()
        for log in self.logs:
            log.close_handlers()
            log.remove_log_metrics()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        for _ in range(2000):
            if condition():
                return
            Time.SYSTEM.sleep(5)
        raise AssertionError("it never happened")


@pytest.fixture
def cleaners(tmp_path: pathlib.Path) -> Iterator[Cleaners]:
    cleaners = Cleaners(tmp_path)
    yield cleaners
    cleaners.close()


def write_dups(log: Log, keys: range, dups: int, timestamp: int = 1, **options: Any) -> dict[bytes, tuple[bytes, int]]:
    """Each key so many times, all replicated; the last value and offset of each."""
    last = {}
    for _ in range(dups):
        for k in keys:
            value = b"%d" % log.log_end_offset
            info = as_leader(log, MemoryRecords.with_records(SimpleRecord(timestamp, key(k), value), **options))
            last[key(k)] = (value, info.last_offset)
    log.on_high_watermark_incremented(log.log_end_offset)
    return last


def read_all(log: Log) -> dict[bytes, tuple[bytes, int]]:
    return {bytes(r.key() or b""): (bytes(r.value() or b""), r.offset()) for r in all_records(log)}


def gauge(cleaner: LogCleaner, name: str) -> Any:
    found = Metrics.default_registry().all_metrics()[cleaner.metric_name(name)]
    assert isinstance(found, Gauge)
    return found.value()


@pytest.mark.slow
@pytest.mark.ported("LogCleanerIntegrationTest.cleanerTest")
@pytest.mark.parametrize("codec", CompressionType.values(), ids=str)
def test_cleaner(cleaners: Cleaners, codec: CompressionType, caplog: pytest.LogCaptureFixture) -> None:
    log = cleaners.create(partitions=3, backoff_ms=20)
    cleaner = cleaners.cleaner
    expected = write_dups(log, range(60), 3, compression_type=codec)
    start_size = log.size
    with caplog.at_level("INFO", logger="kafka.log.LogCleaner"):
        cleaner.startup()
        assert cleaner.cleaner_count == 1
        assert cleaner.await_cleaned(TP, log.active_segment.base_offset)
    assert read_all(log) == expected
    assert log.size < start_size
    assert (
        f"Log cleaner thread 0 cleaned log log-0 (dirty section = [0, {log.active_segment.base_offset}])" in caplog.text
    )
    assert "MB of log processed in" in caplog.text
    large = b"x" * 300
    expected[key(20)] = (large, as_leader(log, record(20, large, compression_type=codec)).last_offset)
    expected.update(write_dups(log, range(21, 61), 3, compression_type=codec))
    assert cleaner.await_cleaned(TP, log.active_segment.base_offset)
    assert read_all(log) == expected
    assert 0 < gauge(cleaner, "cleaner-recopy-percent") < 100
    assert 0 <= gauge(cleaner, "max-buffer-utilization-percent") < 100
    assert gauge(cleaner, "max-clean-time-secs") == 0
    # a deleted partition is forgotten
    cleaner.logs.remove(TP)
    cleaner.abort_cleaning(TP)
    cleaner.update_checkpoints(cleaners.dir)
    assert TP not in OffsetCheckpointFile(cleaners.dir / cleaner.cleaner_manager.offset_checkpoint_file).read()
    cleaner.shutdown()
    assert cleaner.metric_name("cleaner-recopy-percent") not in Metrics.default_registry().all_metrics()


@pytest.mark.slow
@pytest.mark.ported("LogCleanerIntegrationTest.testCleansCombinedCompactAndDeleteTopic")
def test_compact_and_delete(cleaners: Cleaners) -> None:
    log = cleaners.create(backoff_ms=20, cleanup_policy="compact,delete", retention_ms=100000)
    expected = write_dups(log, range(40), 3, timestamp=-1)
    log.on_high_watermark_incremented(log.log_end_offset)
    cleaners.cleaner.startup()
    assert cleaners.cleaner.await_cleaned(TP, log.active_segment.base_offset)
    assert read_all(log) == expected
    for segment in log.log_segments:
        segment.last_modified = cleaners.time.milliseconds() - 200000
    cleaners.wait_until(lambda: log.log_start_offset > 0 and log.number_of_segments == 1)
    cleaners.wait_until(lambda: log.log_start_offset == log.active_segment.base_offset)


@pytest.mark.slow
@pytest.mark.ported("LogCleanerIntegrationTest.testCleanerWithMessageFormatV0")
@pytest.mark.ported("LogCleanerIntegrationTest.testCleaningNestedMessagesWithMultipleVersions")
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP], ids=str)
def test_formats_of_all_ages(cleaners: Cleaners, codec: CompressionType) -> None:
    log = cleaners.create(backoff_ms=20)
    expected = {}
    for magic, version, keys in (
        (0, "0.9.0", range(30)),
        (1, "0.10.0-IV1", range(20, 50)),
        (2, "0.11.0", range(40, 60)),
    ):
        log.update_config((), cleaner_config(**SIZES, min_cleanable_dirty_ratio=0.0, message_format_version=version))
        expected.update(write_dups(log, keys, 2, magic=magic, compression_type=codec))
        # several in one wrapper
        records = [SimpleRecord(-1, key(k % 3 + 100), key(k)) for k in range(5)]
        first = as_leader(log, MemoryRecords.with_records(*records, magic=magic, compression_type=codec)).first_offset
        expected.update({key(k % 3 + 100): (key(k), first + k) for k in range(5)})
    log.roll()
    log.on_high_watermark_incremented(log.log_end_offset)
    cleaners.cleaner.startup()
    assert cleaners.cleaner.await_cleaned(TP, log.active_segment.base_offset)
    assert read_all(log) == expected
    assert {batch.magic() for segment in log.log_segments for batch in segment.log.batches()} == {0, 1, 2}


@pytest.mark.slow
@pytest.mark.ported("LogCleanerLagIntegrationTest.cleanerTest")
def test_compaction_lag(cleaners: Cleaners) -> None:
    lag = 3600000
    log = cleaners.create(backoff_ms=20, min_compaction_lag_ms=lag)

    def write() -> dict[bytes, tuple[bytes, int]]:
        last = {}
        for i in range(150):
            value = b"%d" % log.log_end_offset
            batch = MemoryRecords.with_records(SimpleRecord(cleaners.time.milliseconds(), key(i % 50), value))
            last[key(i % 50)] = (value, as_leader(log, batch).last_offset)
        log.on_high_watermark_incremented(log.log_end_offset)
        return last

    write()
    size, active = log.size, log.active_segment.base_offset
    cleaners.cleaner.startup()
    cleaners.time.sleep(lag // 2)
    assert not cleaners.cleaner.await_cleaned(TP, 1, max_wait_ms=100)
    assert log.size == size
    cleaners.time.sleep(lag // 2 + 1)
    expected = write()
    assert cleaners.cleaner.await_cleaned(TP, active)
    assert read_all(log) == expected
    assert cleaners.cleaner.cleaner_manager.all_cleaner_checkpoints()[TP] == active
    assert sum(segment.size for segment in log.log_segments_between(0, active)) < size


@pytest.mark.slow
@pytest.mark.ported("LogCleanerIntegrationTest.cleanerConfigUpdateTest", changes="a buffer of 0 bytes grows here")
def test_reconfiguration(cleaners: Cleaners) -> None:
    log = cleaners.create(backoff_ms=60000, io_buffer_size=1)
    cleaner = cleaners.cleaner
    expected = write_dups(log, range(40), 2)
    cleaner.startup()
    assert cleaner.await_cleaned(TP, log.active_segment.base_offset)
    first_thread = cleaner._cleaners[0]
    expected.update(write_dups(log, range(40), 2))

    def config(**overrides: Any) -> KafkaConfig:
        props = {"zookeeper.connect": "localhost:2181", "broker.id": "0"}
        return KafkaConfig.from_props({**props, **{k.replace("_", "."): str(v) for k, v in overrides.items()}})

    old, new = config(), config(log_cleaner_threads=2, log_cleaner_io_max_bytes_per_second=1e9)
    assert cleaner.reconfigurable_configs <= DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS
    cleaner.validate_reconfiguration(new)
    for threads, message in ((0, "at least 1"), (3, "more than double")):
        with pytest.raises(ConfigException, match=message):
            cleaner.validate_reconfiguration(_with_threads(new, threads))
    cleaner.reconfigure(old, new)
    assert cleaner.cleaner_count == 2
    assert cleaner.current_config.num_threads == 2
    assert cleaner._throttler._desired_rate_per_sec == 1e9
    assert first_thread.is_shutdown_complete
    assert cleaner.await_cleaned(TP, log.active_segment.base_offset)
    assert read_all(log) == expected
    cleaner.reconfigure(new, config(log_cleaner_threads=4))
    with pytest.raises(ConfigException, match="less than half"):
        cleaner.validate_reconfiguration(config(log_cleaner_threads=1))


def _with_threads(config: KafkaConfig, threads: int) -> Any:
    class Changed:
        def __getattr__(self, name: str) -> Any:
            return threads if name == "log_cleaner_threads" else getattr(config, name)

    return Changed()


def test_an_uncleanable_log_does_not_end_the_thread(cleaners: Cleaners, caplog: pytest.LogCaptureFixture) -> None:
    bad = cleaners.create(partitions=2, backoff_ms=10)
    good = cleaners.logs[1]
    for log in (bad, good):
        write_dups(log, range(20), 2)
    damage(bad.log_segments[0].log.file, 70)
    cleaners.cleaner.startup()
    assert cleaners.cleaner.await_cleaned(TPS[1], good.active_segment.base_offset)
    manager = cleaners.cleaner.cleaner_manager
    cleaners.wait_until(lambda: manager.uncleanable_partitions(str(cleaners.dir)) == {TP})
    assert f"Marking its partition ({TP}) as uncleanable" in caplog.text
    assert manager.all_cleaner_checkpoints()[TP] == 0
    assert manager.cleaning_state(TP) is None
    assert not list(bad.dir.glob("*.cleaned"))


def test_a_log_without_retention_does_not_hold_the_others(
    cleaners: Cleaners, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad = cleaners.create(partitions=3, backoff_ms=0, cleanup_policy="compact,delete")
    asked: list[TopicPartition] = []

    def delete_old_segments(self: Log) -> int:
        asked.append(self.topic_partition)
        if self is bad:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        return 0

    monkeypatch.setattr(Log, "delete_old_segments", delete_old_segments)
    LogCleaner.CleanerThread(cleaners.cleaner, 0).do_work()
    assert set(asked) == set(TPS)
    assert f"Marking its partition ({TP}) as uncleanable" in caplog.text
    manager = cleaners.cleaner.cleaner_manager
    assert [manager.cleaning_state(tp) for tp in TPS] == [None] * 3, (
        "else whoever truncates or deletes it waits forever"
    )


def test_an_io_error_takes_the_directory_offline(cleaners: Cleaners, monkeypatch: pytest.MonkeyPatch) -> None:
    log = cleaners.create(backoff_ms=60000)
    write_dups(log, range(20), 2)

    def full(self: Cleaner, cleanable: object) -> tuple[int, CleanerStats]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Cleaner, "clean", full)
    cleaners.cleaner.startup()
    assert cleaners.channel.take_next_offline_log_dir() == str(cleaners.dir)
    cleaners.cleaner.handle_log_dir_failure(str(cleaners.dir))
    cleaners.cleaner.shutdown()


def test_shutdown_and_abort_in_the_middle(cleaners: Cleaners, monkeypatch: pytest.MonkeyPatch) -> None:
    log = cleaners.create(backoff_ms=10)
    expected = write_dups(log, range(20), 3)
    in_the_middle, go_on = CountDownLatch(1), CountDownLatch(1)
    original = Cleaner.clean_into

    def slow(self: Cleaner, *args: Any, **kwargs: Any) -> None:
        in_the_middle.count_down()
        assert go_on.await_(10000)
        original(self, *args, **kwargs)

    monkeypatch.setattr(Cleaner, "clean_into", slow)
    cleaner = cleaners.cleaner
    cleaner.startup()
    assert in_the_middle.await_(10000)
    assert cleaner.cleaner_manager.cleaning_state(TP) is LogCleaningInProgress
    thread = cleaner._cleaners[0]
    go_on.count_down()
    cleaner.abort_and_pause_cleaning(TP)
    assert cleaner.cleaner_manager.cleaning_state(TP) == LogCleaningPaused(1)
    thread.initiate_shutdown()
    with pytest.raises(ThreadShutdownException):
        thread._check_done(TP)
    cleaner.shutdown()
    assert read_all(log) == expected
    assert not list(log.dir.glob("*.cleaned"))
    cleaner.resume_cleaning(TP)


def test_statistics(cleaners: Cleaners, caplog: pytest.LogCaptureFixture) -> None:
    cleaners.create()
    cleaners.cleaner.startup()
    thread = cleaners.cleaner._cleaners[0]
    stats = CleanerStats(cleaners.time)
    stats.map_complete_time, stats.end_time = stats.start_time + 500, stats.start_time + 2000
    stats.index_bytes_read(100 * 2**20)
    stats.read_messages(1_500_000, 2_000 * 2**20)
    stats.recopy_messages(300_000, 500 * 2**20)
    stats.buffer_utilization = 0.123
    stats.invalid_message()
    with caplog.at_level("INFO", logger="kafka.log.LogCleaner"):
        thread.record_stats(0, "log-0", 5, 70, stats)
    prefix = "[kafka-log-cleaner-thread-0]: "
    # the thread may say at any time that it begins
    said = [r.getMessage() for r in caplog.records if not r.getMessage().endswith("Starting")]
    assert said[-2:] == [
        prefix + "\n\tLog cleaner thread 0 cleaned log log-0 (dirty section = [5, 70])\n"
        "\t2,000.0 MB of log processed in 2.0 seconds (1,000.0 MB/sec).\n"
        "\tIndexed 100.0 MB in 0.5 seconds (200.0 Mb/sec, 25.0% of total time)\n"
        "\tBuffer utilization: 12.3%\n"
        "\tCleaned 2,000.0 MB in 1.5 seconds (1,333.3 Mb/sec, 75.0% of total time)\n"
        "\tStart size: 2,000.0 MB (1,500,000 messages)\n"
        "\tEnd size: 500.0 MB (300,000 messages)\n"
        "\t75.0% size reduction (80.0% fewer messages)\n",
        prefix + "\tFound 1 invalid messages during compaction.",
    ]
    assert gauge(cleaners.cleaner, "max-clean-time-secs") == 2
    assert gauge(cleaners.cleaner, "max-buffer-utilization-percent") == 12
    assert gauge(cleaners.cleaner, "cleaner-recopy-percent") == 25
    empty = CleanerStats(cleaners.time)
    empty.index_done()
    empty.all_done()
    with caplog.at_level("INFO", logger="kafka.log.LogCleaner"):
        thread.record_stats(0, "log-0", 0, 0, empty)
    assert "0.0 MB of log processed in 0.0 seconds (NaN MB/sec)" in caplog.text


# ---- LogManager


@pytest.fixture
def manager(tmp_path: pathlib.Path) -> Iterator[LogManager]:
    time = MockTime()
    manager = LogManager(
        log_dirs=[tmp_path / "a", tmp_path / "b"],
        initial_offline_dirs=[],
        topic_configs={},
        initial_default_config=cleaner_config(**SIZES, min_cleanable_dirty_ratio=0.0),
        cleaner_config=CleanerConfig(back_off_ms=20, dedupe_buffer_size=10**6),
        recovery_threads_per_data_dir=1,
        flush_check_ms=10**6,
        flush_recovery_offset_checkpoint_ms=10**6,
        flush_start_offset_checkpoint_ms=10**6,
        retention_check_ms=10**6,
        max_pid_expiration_ms=10**9,
        scheduler=time.scheduler,
        broker_state=BrokerState(),
        broker_topic_stats=BrokerTopicStats(),
        log_dir_failure_channel=LogDirFailureChannel(3),
        time=time,
    )
    manager.startup()
    yield manager
    manager.shutdown()
    for log in manager.all_logs:
        log.remove_log_metrics()


def test_manager_truncates_logs_and_checkpoints(manager: LogManager) -> None:
    cleaner = manager.cleaner
    assert cleaner is not None
    assert cleaner.cleaner_count == 1
    log = manager.get_or_create_log(TP, manager.current_default_config)
    write_dups(log, range(30), 3)
    dirty = log.active_segment.base_offset
    assert cleaner.await_cleaned(TP, dirty)
    checkpoints = cleaner.cleaner_manager
    manager.truncate_to({TP: log.log_end_offset - 1, TPS[1]: 0}, is_future=False)
    assert checkpoints.all_cleaner_checkpoints()[TP] == dirty, "only the active segment was cut"
    cleaner.abort_and_pause_cleaning(TP)
    manager.truncate_to({TP: dirty - 10}, is_future=False)
    assert log.log_end_offset == dirty - 10
    assert checkpoints.all_cleaner_checkpoints()[TP] == log.active_segment.base_offset < dirty
    assert checkpoints.cleaning_state(TP) == LogCleaningPaused(1), "the pause of before goes on"
    write_dups(log, range(30), 3)
    manager.truncate_fully_and_start_at(TP, 5, is_future=False)
    assert checkpoints.all_cleaner_checkpoints()[TP] == 5
    assert checkpoints.cleaning_state(TP) == LogCleaningPaused(1)
    cleaner.resume_cleaning(TP)
    fill_segments(log, 3)
    assert cleaner.await_cleaned(TP, log.active_segment.base_offset)


def test_retention_leaves_a_log_that_is_still_being_cleaned(manager: LogManager) -> None:
    cleaner = manager.cleaner
    assert cleaner is not None
    checkpoints = cleaner.cleaner_manager
    config = cleaner_config(**SIZES, cleanup_policy="delete", retention_bytes=0)
    logs = [manager.get_or_create_log(tp, config) for tp in TPS]
    for log in logs:
        write_dups(log, range(30), 3)
        log.on_high_watermark_incremented(log.log_end_offset)
    # its policy was changed while the cleaner is at work
    checkpoints.set_cleaning_state(TPS[0], LogCleaningInProgress)
    cleaner.abort_and_pause_cleaning(TPS[1])
    manager.cleanup_logs()
    assert logs[0].log_start_offset == 0
    assert [log.number_of_segments for log in logs[1:]] == [1, 1]
    states = [checkpoints.cleaning_state(tp) for tp in TPS]
    assert states == [LogCleaningInProgress, LogCleaningPaused(1), None]
    checkpoints.done_deleting(TPS[0])
    manager.cleanup_logs()
    assert logs[0].number_of_segments == 1


def test_manager_deletes_and_moves_logs(manager: LogManager, tmp_path: pathlib.Path) -> None:
    cleaner = manager.cleaner
    assert cleaner is not None
    config = manager.current_default_config
    manager.maybe_update_preferred_log_dir(TP, str(tmp_path / "a"))
    log = manager.get_or_create_log(TP, config)
    write_dups(log, range(30), 3)
    checkpoint = log.active_segment.base_offset
    assert cleaner.await_cleaned(TP, checkpoint)
    manager.abort_and_pause_cleaning(TP)
    manager.maybe_update_preferred_log_dir(TP, str(tmp_path / "b"))
    manager.get_or_create_log(TP, config, is_future=True)
    manager.replace_current_with_future_log(TP)
    assert cleaner.cleaner_manager.cleaning_state(TP) is None
    assert OffsetCheckpointFile(tmp_path / "b" / "cleaner-offset-checkpoint").read() == {TP: checkpoint}
    assert OffsetCheckpointFile(tmp_path / "a" / "cleaner-offset-checkpoint").read() == {}
    manager.async_delete(TP)
    assert OffsetCheckpointFile(tmp_path / "b" / "cleaner-offset-checkpoint").read() == {}
    log = manager.get_or_create_log(TPS[1], config, is_new=True)
    manager.handle_log_dir_failure(str(log.dir.parent))
    assert cleaner.cleaner_manager._checkpoints.keys() == set(manager.live_log_dirs)
