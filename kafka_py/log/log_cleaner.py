"""The threads that compact logs.

Mirrors: core/src/main/scala/kafka/log/LogCleaner.scala @ 1.1.1
Read next: log_cleaner_manager.py (which log is next), cleaner.py (how it is compacted)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import (
    ConfigException,
    KafkaStorageException,
    LogCleaningAbortedException,
    ThreadShutdownException,
)
from kafka_py.common.utils.time import Time
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.cleaner_stats import CleanerStats
from kafka_py.log.log_cleaner_manager import LogCleanerManager, LogCleaningException
from kafka_py.log.offset_map import SkimpyOffsetMap
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.kafka_config_keys import KafkaConfigKeys
from kafka_py.utils.control_throwable import ControlThrowable
from kafka_py.utils.shutdownable_thread import ShutdownableThread
from kafka_py.utils.threads import runs_on
from kafka_py.utils.throttler import Throttler

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Sequence

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.log.cleaner_stats import LogToClean
    from kafka_py.log.log import Log
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.pool import Pool

_INT_MAX = 2**31 - 1
_MB = 1024 * 1024
_TOO_MUCH_MEMORY = "Cannot use more than 2G of cleaner buffer space per cleaner thread, ignoring excess buffer space..."


class LogCleaner(KafkaMetricsGroup):
    """Keeps of the logs with cleanup.policy=compact the last record of each key.

    A record with key K and offset O is obsolete if there is one with K and a larger offset. A log is a clean part,
    which has been compacted before, then a dirty part, of which the end may not be cleaned yet: the active segment,
    what is younger than min.compaction.lag.ms, and everything from the first open transaction on. The threads take
    the log with the largest share of dirty bytes.

    Records with a key and no value are tombstones: they delete, and go themselves when they have been in the clean
    part for delete.retention.ms, so that every consumer that reads from the beginning gets to see them in time.

    Of producers with sequence numbers or transactions: the last batch of an active producer stays, if only as a
    header; records of aborted transactions go at once; markers go when no batch of the transaction is left and the
    time for tombstones is over.

    Mirrors: kafka.log.LogCleaner
    Thread: any; the work is done by the CleanerThreads.
    Differs: `reconfigure` changes the throttler's rate as well, and `shutdown` takes the gauges away.
    """

    RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = frozenset(
        {
            KafkaConfigKeys.LOG_CLEANER_THREADS_PROP,
            KafkaConfigKeys.LOG_CLEANER_DEDUPE_BUFFER_SIZE_PROP,
            KafkaConfigKeys.LOG_CLEANER_DEDUPE_BUFFER_LOAD_FACTOR_PROP,
            KafkaConfigKeys.LOG_CLEANER_IO_BUFFER_SIZE_PROP,
            KafkaConfigKeys.MESSAGE_MAX_BYTES_PROP,
            KafkaConfigKeys.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND_PROP,
            KafkaConfigKeys.LOG_CLEANER_BACKOFF_MS_PROP,
        }
    )

    def __init__(
        self,
        initial_config: CleanerConfig,
        log_dirs: Sequence[pathlib.Path],
        logs: Pool[TopicPartition, Log],
        log_dir_failure_channel: LogDirFailureChannel,
        time: Time = Time.SYSTEM,
    ) -> None:
        self._config = initial_config  # volatile: reconfigure
        self.log_dirs = log_dirs
        self.logs = logs
        self.log_dir_failure_channel = log_dir_failure_channel
        self._time = time
        self.cleaner_manager = LogCleanerManager(log_dirs, logs, log_dir_failure_channel)
        # one for all threads
        self._throttler = Throttler(
            desired_rate_per_sec=initial_config.max_io_bytes_per_second,
            check_interval_ms=300,
            throttle_down=True,
            metric_name="cleaner-io",
            units="bytes",
            time=time,
        )
        self._cleaners: list[LogCleaner.CleanerThread] = []  # volatile: startup, shutdown
        self._register_metrics()

    @staticmethod
    def cleaner_config(config: KafkaConfig) -> CleanerConfig:
        """What the broker's options say about the cleaner."""
        return CleanerConfig(
            num_threads=config.log_cleaner_threads,
            dedupe_buffer_size=config.log_cleaner_dedupe_buffer_size,
            dedupe_buffer_load_factor=config.log_cleaner_dedupe_buffer_load_factor,
            io_buffer_size=config.log_cleaner_io_buffer_size,
            max_message_size=config.message_max_bytes,
            max_io_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
            back_off_ms=config.log_cleaner_backoff_ms,
            enable_cleaner=config.log_cleaner_enable,
        )

    # ---- metrics --------------------------------------------------------------------------------------------------

    def _register_metrics(self) -> None:
        self.new_gauge("max-buffer-utilization-percent", lambda: int(100 * self._largest("buffer_utilization")))
        self.new_gauge("cleaner-recopy-percent", self._recopy_percent)
        self.new_gauge("max-clean-time-secs", lambda: int(self._largest("elapsed_secs")))

    def _largest(self, name: str) -> float:
        return max((getattr(cleaner.last_stats, name) for cleaner in self._cleaners), default=0.0)

    def _recopy_percent(self) -> int:
        stats = [cleaner.last_stats for cleaner in self._cleaners]
        return int(100 * sum(s.bytes_written for s in stats) / max(sum(s.bytes_read for s in stats), 1))

    def _remove_metrics(self) -> None:
        for name in ("max-buffer-utilization-percent", "cleaner-recopy-percent", "max-clean-time-secs"):
            self.remove_metric(name)
        self.cleaner_manager.remove_metrics()

    # ---- start and stop -------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Start the threads."""
        self.info("Starting the log cleaner")
        for i in range(self._config.num_threads):
            cleaner = LogCleaner.CleanerThread(self, i)
            self._cleaners.append(cleaner)
            cleaner.start()

    def shutdown(self) -> None:
        """Stop the threads, in the middle of their logs, and wait for them."""
        self.info("Shutting down the log cleaner.")
        try:
            self._shutdown_cleaners()
        finally:
            self._remove_metrics()

    def _shutdown_cleaners(self) -> None:
        for cleaner in self._cleaners:
            cleaner.shutdown()
        self._cleaners = []

    @property
    def reconfigurable_configs(self) -> frozenset[str]:
        """The options it follows."""
        return self.RECONFIGURABLE_CONFIGS

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """The threads may at most be halved or doubled at a time: ConfigException."""
        num_threads = self.cleaner_config(new_config).num_threads
        current_threads = self._config.num_threads
        if num_threads <= 0:
            raise ConfigException("Log cleaner threads should be at least 1")
        if num_threads < current_threads // 2:
            raise ConfigException(
                f"Log cleaner threads cannot be reduced to less than half the current value {current_threads}"
            )
        if num_threads > current_threads * 2:
            raise ConfigException(
                f"Log cleaner threads cannot be increased to more than double the current value {current_threads}"
            )

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        """Replace the threads by new ones, which also brings back those that died."""
        self._config = self.cleaner_config(new_config)
        max_io_bytes_per_second = self._config.max_io_bytes_per_second
        if max_io_bytes_per_second != old_config.log_cleaner_io_max_bytes_per_second:
            self.info("Updating logCleanerIoMaxBytesPerSecond: %s", max_io_bytes_per_second)
            self._throttler.update_desired_rate_per_sec(max_io_bytes_per_second)
        self.info("Shutting down the log cleaner.")
        self._shutdown_cleaners()
        self.startup()

    # ---- for LogManager -------------------------------------------------------------------------------------------

    def abort_cleaning(self, topic_partition: TopicPartition) -> None:
        """As LogCleanerManager.abort_cleaning: wait until the partition is not being cleaned."""
        self.cleaner_manager.abort_cleaning(topic_partition)

    def update_checkpoints(self, data_dir: pathlib.Path) -> None:
        """Remove from the checkpoint file the partitions that no longer exist."""
        self.cleaner_manager.update_checkpoints(data_dir)

    def alter_checkpoint_dir(
        self, topic_partition: TopicPartition, source_log_dir: pathlib.Path, dest_log_dir: pathlib.Path
    ) -> None:
        """Move a partition's checkpoint to the directory that its log was moved to."""
        self.cleaner_manager.alter_checkpoint_dir(topic_partition, source_log_dir, dest_log_dir)

    def handle_log_dir_failure(self, dir: str) -> None:
        """Leave a directory (absolute path) alone."""
        self.cleaner_manager.handle_log_dir_failure(dir)

    def maybe_truncate_checkpoint(self, data_dir: pathlib.Path, topic_partition: TopicPartition, offset: int) -> None:
        """Take the checkpoint down to `offset` if it is above."""
        self.cleaner_manager.maybe_truncate_checkpoint(data_dir, topic_partition, offset)

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """Wait until the partition is not being cleaned, and keep it from being until it is resumed."""
        self.cleaner_manager.abort_and_pause_cleaning(topic_partition)

    def resume_cleaning(self, topic_partition: TopicPartition) -> None:
        """Undo one abort_and_pause_cleaning."""
        self.cleaner_manager.resume_cleaning(topic_partition)

    def pause_for_retention(self, topic_partition: TopicPartition) -> bool:
        """As LogCleanerManager.pause_for_retention: False if the partition is being cleaned."""
        return self.cleaner_manager.pause_for_retention(topic_partition)

    def resume_after_retention(self, topic_partition: TopicPartition) -> None:
        """As LogCleanerManager.resume_after_retention."""
        self.cleaner_manager.resume_after_retention(topic_partition)

    def await_cleaned(self, topic_partition: TopicPartition, offset: int, max_wait_ms: int = 60000) -> bool:
        """Wait until a partition is clean up to `offset`; whether it is. For tests."""
        remaining_wait_ms = max_wait_ms
        while self.cleaner_manager.all_cleaner_checkpoints().get(topic_partition, -1) < offset:
            if remaining_wait_ms <= 0:
                return False
            sleep_time = min(10, remaining_wait_ms)
            Time.SYSTEM.sleep(sleep_time)
            remaining_wait_ms -= sleep_time
        return True

    @property
    def current_config(self) -> CleanerConfig:
        """The settings now."""
        return self._config

    @property
    def cleaner_count(self) -> int:
        """How many threads there are."""
        return len(self._cleaners)

    # ---- threads --------------------------------------------------------------------------------------------------

    class CleanerThread(ShutdownableThread):
        """Takes the dirtiest log, cleans it, applies retention to logs that have both policies, and so on.

        Mirrors: kafka.log.LogCleaner.CleanerThread
        Thread: kafka-log-cleaner-thread-N, its own; not interrupted in the middle of a write.
        Differs: a log that cannot be cleaned for a reason of its own is marked and left alone, as from 2.1 on, where
            1.1.1 ends the thread; a log whose old segments cannot be deleted does not keep the others in progress; and
            the log line about a pass names the range that was cleaned.
        """

        logger_name = "kafka.log.LogCleaner"

        def __init__(self, log_cleaner: LogCleaner, thread_id: int) -> None:
            super().__init__(name=f"kafka-log-cleaner-thread-{thread_id}", is_interruptible=False)
            config = log_cleaner.current_config
            self._log_cleaner = log_cleaner
            self._cleaner_manager = log_cleaner.cleaner_manager
            self._time = log_cleaner._time
            memory = config.dedupe_buffer_size // config.num_threads
            if memory > _INT_MAX:
                self.warn(_TOO_MUCH_MEMORY)
            self.cleaner = Cleaner(
                id=thread_id,
                offset_map=SkimpyOffsetMap(min(memory, _INT_MAX), config.hash_algorithm),
                io_buffer_size=config.io_buffer_size // config.num_threads // 2,
                max_io_buffer_size=config.max_message_size,
                dup_buffer_load_factor=config.dedupe_buffer_load_factor,
                throttler=log_cleaner._throttler,
                time=log_cleaner._time,
                check_done=self._check_done,
            )
            self.last_stats = CleanerStats()  # volatile: its thread

        def _check_done(self, topic_partition: TopicPartition) -> None:
            """Raise ThreadShutdownException or LogCleaningAbortedException when it is time to give up."""
            if not self.is_running:
                raise ThreadShutdownException()
            self._cleaner_manager.check_cleaning_aborted(topic_partition)

        @runs_on("cleaner")
        def do_work(self) -> None:
            """One turn."""
            self._clean_or_sleep()

        def _clean_or_sleep(self) -> None:
            """Clean a log if one is dirty enough, and pause if none is."""
            cleaned = self._try_clean_filthiest_log()
            if not cleaned:
                self.pause(self._log_cleaner.current_config.back_off_ms)
            self._cleaner_manager.maintain_uncleanable_partitions()

        def _try_clean_filthiest_log(self) -> bool:
            try:
                return self._clean_filthiest_log()
            except LogCleaningException as e:
                self._mark_uncleanable(e)
                return False

        def _mark_uncleanable(self, e: LogCleaningException) -> None:
            log = e.log
            self.warn(
                "Unexpected exception thrown when cleaning log %s. Marking its partition (%s) as uncleanable",
                log,
                log.topic_partition,
                exc=e,
            )
            self._cleaner_manager.mark_partition_uncleanable(str(log.dir.parent), log.topic_partition)

        def _clean_filthiest_log(self) -> bool:
            cleanable = self._cleaner_manager.grab_filthiest_compacted_log(self._time)
            if cleanable is not None:
                try:
                    self._clean_log(cleanable)
                except (ThreadShutdownException, ControlThrowable):
                    raise
                except Exception as e:
                    raise LogCleaningException(cleanable.log, str(e), e) from e
            # all of them are marked as in progress now, so each has to have its turn
            for topic_partition, log in self._cleaner_manager.deletable_logs():
                try:
                    self._delete_old_segments(topic_partition, log)
                except LogCleaningException as e:
                    self._mark_uncleanable(e)
            return cleanable is not None

        def _delete_old_segments(self, topic_partition: TopicPartition, log: Log) -> None:
            try:
                log.delete_old_segments()
            except KafkaStorageException as e:
                self.debug("Log %s is offline", log, exc=e)
            except Exception as e:
                raise LogCleaningException(log, str(e), e) from e
            finally:
                self._cleaner_manager.done_deleting(topic_partition)

        def _clean_log(self, cleanable: LogToClean) -> None:
            log = cleanable.log
            end_offset = cleanable.first_dirty_offset
            try:
                next_dirty_offset, cleaner_stats = self.cleaner.clean(cleanable)
                end_offset = next_dirty_offset
                self.record_stats(self.cleaner.id, log.name, cleanable.first_dirty_offset, end_offset, cleaner_stats)
            except LogCleaningAbortedException:
                self.debug("Cleaning of %s was aborted", cleanable.topic_partition)
            except KafkaStorageException:
                self.debug("Log of %s went offline while it was cleaned", cleanable.topic_partition)
            except OSError as e:
                log_dir = str(log.dir.parent)
                self._log_cleaner.log_dir_failure_channel.maybe_add_offline_log_dir(
                    log_dir,
                    f"Failed to clean up log for {cleanable.topic_partition} in dir {log_dir} due to IOException",
                    e,
                )
            finally:
                self._cleaner_manager.done_cleaning(cleanable.topic_partition, log.dir.parent, end_offset)

        def record_stats(self, id: int, name: str, from_: int, to: int, stats: CleanerStats) -> None:
            """Keep the numbers of a pass for the gauges, and log them."""
            self.last_stats = stats
            elapsed, index = stats.elapsed_secs, stats.elapsed_index_secs
            cleaning = elapsed - index
            read, written, mapped = stats.bytes_read / _MB, stats.bytes_written / _MB, stats.map_bytes_read / _MB
            message = (
                f"\n\tLog cleaner thread {id} cleaned log {name} (dirty section = [{from_}, {to}])\n"
                f"\t{read:,.1f} MB of log processed in {elapsed:,.1f} seconds ({_per(read, elapsed)} MB/sec).\n"
                f"\tIndexed {mapped:,.1f} MB in {index:.1f} seconds ({_per(mapped, index)} Mb/sec, "
                f"{_percent(index, elapsed)} of total time)\n"
                f"\tBuffer utilization: {100 * stats.buffer_utilization:.1f}%\n"
                f"\tCleaned {read:,.1f} MB in {cleaning:.1f} seconds ({_per(read, cleaning)} Mb/sec, "
                f"{_percent(cleaning, elapsed)} of total time)\n"
                f"\tStart size: {read:,.1f} MB ({stats.messages_read:,d} messages)\n"
                f"\tEnd size: {written:,.1f} MB ({stats.messages_written:,d} messages)\n"
                f"\t{_percent(stats.bytes_read - stats.bytes_written, stats.bytes_read)} size reduction "
                f"({_percent(stats.messages_read - stats.messages_written, stats.messages_read)} fewer messages)\n"
            )
            self.info("%s", message)
            if stats.invalid_messages_read > 0:
                self.warn("\tFound %d invalid messages during compaction.", stats.invalid_messages_read)


def _per(amount: float, seconds: float) -> str:
    """A rate; what Java prints when nothing took no time."""
    if seconds:
        return f"{amount / seconds:,.1f}"
    return "Infinity" if amount else "NaN"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "NaN%"
