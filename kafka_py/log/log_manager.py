"""All logs of a broker, in one or more log directories.

Mirrors: core/src/main/scala/kafka/log/LogManager.scala @ 1.1.1
Read next: log_directories.py (the directories themselves, their locks and checkpoint files); log.py

Files of a log directory beside the partitions' directories: `.lock` (held while the broker runs), `meta.properties`
(see BrokerMetadataCheckpoint), `.kafka_cleanshutdown` (made by a clean shutdown, deleted once the logs are loaded),
`recovery-point-offset-checkpoint`, `log-start-offset-checkpoint`, `replication-offset-checkpoint` (ReplicaManager's),
`cleaner-offset-checkpoint` (LogCleanerManager's).
"""

from __future__ import annotations

import pathlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kafka_py.common.errors import (
    IllegalStateException,
    KafkaException,
    KafkaStorageException,
)
from kafka_py.common.utils.utils import flush_dir_if_exists
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.load_progress import LoadProgress
from kafka_py.log.log import Log
from kafka_py.log.log_cleaner import LogCleaner
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_directories import LogDirectories, PathLike
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.broker_states import BrokerState, RecoveringFromUncleanShutdown
from kafka_py.utils.concurrent import (
    ConcurrentHashMap,
    ConcurrentLinkedQueue,
    ExecutionException,
    Future,
    ReentrantLock,
    ThreadPoolExecutor,
)
from kafka_py.utils.core_utils import is_out_of_descriptors, swallow
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class LogManager(KafkaMetricsGroup):
    """Creates, finds, recovers, flushes and deletes logs.

    A new log goes to the directory that has the fewest. A directory that fails is taken out of service and the
    others go on; when the last one fails the process is halted.

    Mirrors: kafka.log.LogManager
    Thread: any; background tasks on the scheduler, loading and closing on a pool of threads for each directory.
    Locks: `_log_creation_or_deletion_lock` (taken before any Log.lock) guards adding and removing logs.
    Differs: a directory that cannot be locked, read or written at start-up goes offline, where Kafka exits; a recovery
        checkpoint of one directory deletes producer snapshots of that directory only, and a directory that fails
        during shutdown does not keep the others from being marked clean. `_logs_to_be_deleted` is a queue that nobody
        blocks on. For crashes in between: a truncation takes the cleaner's checkpoint down first and writes the log
        start offsets afterwards, and a log leaves the checkpoints before its directory is renamed for deletion. One log
        that retention fails for does not keep it from the others. Logs that are deleted together are checkpointed
        once, as from 2.7 on (KAFKA-10002), and settings that change while a log is made reach it (KAFKA-8813).
        A directory without logs gets an empty checkpoint, as in 3.7.1; in 1.1.1 that of its last log stays. What is
        written to a checkpoint is looked up when it is its turn: in 1.1.1 a slow thread can bring back the offsets of
        a log that was truncated or deleted meanwhile. A move to another directory pauses the cleaning once, until it
        is over in whatever way, and the log that was moved away is closed when it is deleted; in 1.1.1 a move that is
        given up leaves the cleaning paused for good, and who reads at the end of a move gets an error. A crash in the
        middle of the swap leaves two logs of the same records, of which one is kept; 1.1.1 does not start then.
    Left out: createAndValidateLogDirs, lockLogDirs -- LogDirectories has them
    """

    INITIAL_TASK_DELAY_MS = 30 * 1000
    PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = 10 * 60 * 1000

    def __init__(
        self,
        log_dirs: Sequence[PathLike],
        initial_offline_dirs: Sequence[PathLike],
        topic_configs: Mapping[str, LogConfig],
        initial_default_config: LogConfig,
        cleaner_config: CleanerConfig,
        recovery_threads_per_data_dir: int,
        flush_check_ms: int,
        flush_recovery_offset_checkpoint_ms: int,
        flush_start_offset_checkpoint_ms: int,
        retention_check_ms: int,
        max_pid_expiration_ms: int,
        scheduler: Scheduler,
        broker_state: BrokerState,
        broker_topic_stats: BrokerTopicStats,
        log_dir_failure_channel: LogDirFailureChannel,
        time: Time,
    ) -> None:
        self._directories = LogDirectories(log_dirs, initial_offline_dirs, log_dir_failure_channel)
        self._log_dir_failure_channel = log_dir_failure_channel
        # not kept up to date: it is only used while loading
        self.topic_configs = topic_configs
        self.initial_default_config = initial_default_config
        self.cleaner_config = cleaner_config
        self.flush_check_ms = flush_check_ms
        self.flush_recovery_offset_checkpoint_ms = flush_recovery_offset_checkpoint_ms
        self.flush_start_offset_checkpoint_ms = flush_start_offset_checkpoint_ms
        self.retention_check_ms = retention_check_ms
        self.max_pid_expiration_ms = max_pid_expiration_ms
        self._scheduler = scheduler
        self.broker_state = broker_state
        self._broker_topic_stats = broker_topic_stats
        self._time = time
        self._log_creation_or_deletion_lock = ReentrantLock()
        self._current_logs: Pool[TopicPartition, Log] = Pool()  # atomic
        # copies in `-future` directories that take the place of the current log once they have caught up
        self._future_logs: Pool[TopicPartition, Log] = Pool()  # atomic
        # logs in `-delete` directories with the time when they were put here
        self._logs_to_be_deleted: ConcurrentLinkedQueue[tuple[Log, int]] = ConcurrentLinkedQueue()  # atomic
        self._preferred_log_dirs: ConcurrentHashMap[TopicPartition, str] = ConcurrentHashMap()  # atomic
        # partitions whose cleaning is paused until their move to another directory is over or given up
        self._paused_for_move: ConcurrentHashMap[TopicPartition, bool] = ConcurrentHashMap()  # atomic
        # partitions whose log is being made, and whether settings have changed since that began
        self._partitions_initializing: ConcurrentHashMap[TopicPartition, bool] = ConcurrentHashMap()  # atomic
        self._current_default_config = initial_default_config  # volatile: reconfigure_default_log_config
        self._num_recovery_threads_per_data_dir = recovery_threads_per_data_dir  # volatile: config handler
        try:
            self._directories.open_checkpoints()
            self._load_logs()
        except BaseException:
            self._directories.unlock_all()
            raise
        self.cleaner: LogCleaner | None = (  # None if log.cleaner.enable is off
            LogCleaner(cleaner_config, self.live_log_dirs, self._current_logs, log_dir_failure_channel, time)
            if cleaner_config.enable_cleaner
            else None
        )
        self._register_metrics()

    @classmethod
    def apply(
        cls,
        config: KafkaConfig,
        initial_offline_dirs: Sequence[str],
        zk_client: KafkaZkClient,
        broker_state: BrokerState,
        kafka_scheduler: Scheduler,
        time: Time,
        broker_topic_stats: BrokerTopicStats,
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> LogManager:
        """The manager of a broker's configuration, with the topics' configurations from ZooKeeper; loads all logs."""
        from kafka_py.server.kafka_server import KafkaServer

        default_props = KafkaServer.copy_kafka_config_to_log(config)
        default_log_config = LogConfig(default_props)
        topic_configs, failed = zk_client.get_log_configs(zk_client.get_all_topics_in_cluster(), default_props)
        for error in failed.values():
            raise error
        return cls(
            log_dirs=config.log_dirs,
            initial_offline_dirs=initial_offline_dirs,
            topic_configs=topic_configs,
            initial_default_config=default_log_config,
            cleaner_config=LogCleaner.cleaner_config(config),
            recovery_threads_per_data_dir=config.num_recovery_threads_per_data_dir,
            flush_check_ms=config.log_flush_scheduler_interval_ms,
            flush_recovery_offset_checkpoint_ms=config.log_flush_offset_checkpoint_interval_ms,
            flush_start_offset_checkpoint_ms=config.log_flush_start_offset_checkpoint_interval_ms,
            retention_check_ms=config.log_cleanup_interval_ms,
            max_pid_expiration_ms=config.transactional_id_expiration_ms,
            scheduler=kafka_scheduler,
            broker_state=broker_state,
            broker_topic_stats=broker_topic_stats,
            log_dir_failure_channel=log_dir_failure_channel,
            time=time,
        )

    # ---- directories ----------------------------------------------------------------------------------------------

    @property
    def live_log_dirs(self) -> list[pathlib.Path]:
        """The directories in service, as absolute paths."""
        return self._directories.live_log_dirs

    @property
    def _offline_log_dirs(self) -> list[pathlib.Path]:
        return self._directories.offline_log_dirs

    def is_log_dir_online(self, log_dir: str) -> bool:
        """Whether a directory (absolute path) is in service; LogDirNotFoundException if it is none of ours."""
        return self._directories.is_log_dir_online(log_dir)

    def reconfigure_default_log_config(self, log_config: LogConfig) -> None:
        """Replace the defaults of logs that are created from now on."""
        self._current_default_config = log_config

    @property
    def current_default_config(self) -> LogConfig:
        """The broker's defaults for logs."""
        return self._current_default_config

    def resize_recovery_thread_pool(self, new_size: int) -> None:
        """Set the number of threads per directory, from the next loading or closing on."""
        self.info(
            "Resizing recovery thread pool size for each data dir from %d to %d",
            self._num_recovery_threads_per_data_dir,
            new_size,
        )
        self._num_recovery_threads_per_data_dir = new_size

    def handle_log_dir_failure(self, dir: str) -> None:
        """Take a directory (absolute path) out of service with all its logs; the last one halts the process."""
        self.info("Stopping serving logs in dir %s", dir)
        with self._log_creation_or_deletion_lock:
            self._directories.take_out_of_service(pathlib.Path(dir))
            if self.cleaner is not None:
                self.cleaner.handle_log_dir_failure(dir)
            offline_current = self._remove_logs_in(self._current_logs, dir)
            offline_future = self._remove_logs_in(self._future_logs, dir)
            for topic_partition in offline_future:
                self.resume_cleaning(topic_partition)
            self.info(
                "Logs for partitions %s are offline and logs for future partitions %s are offline due to failure on "
                "log directory %s",
                ",".join(map(str, offline_current)),
                ",".join(map(str, offline_future)),
                dir,
            )
            self._directories.unlock(dir)

    def _remove_logs_in(self, logs: Pool[TopicPartition, Log], dir: str) -> list[TopicPartition]:
        removed = []
        for topic_partition, log in logs.items():
            if str(log.dir.parent) == dir and logs.remove(topic_partition) is not None:
                log.close_handlers()
                log.remove_log_metrics()
                removed.append(topic_partition)
        return removed

    # ---- loading --------------------------------------------------------------------------------------------------

    def _add_log_to_be_deleted(self, log: Log) -> None:
        self._logs_to_be_deleted.add((log, self._time.milliseconds()))

    @property
    def has_logs_to_be_deleted(self) -> bool:
        """Whether logs wait to be deleted."""
        return not self._logs_to_be_deleted.is_empty()

    def _new_log(self, dir: pathlib.Path, config: LogConfig, log_start_offset: int, recovery_point: int) -> Log:
        return Log.apply(
            dir=dir,
            config=config,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            max_producer_id_expiration_ms=self.max_pid_expiration_ms,
            producer_id_expiration_check_interval_ms=self.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS,
            scheduler=self._scheduler,
            time=self._time,
            broker_topic_stats=self._broker_topic_stats,
            log_dir_failure_channel=self._log_dir_failure_channel,
        )

    def _load_log(
        self,
        log_dir: pathlib.Path,
        recovery_points: Mapping[TopicPartition, int],
        log_start_offsets: Mapping[TopicPartition, int],
    ) -> None:
        self.debug("Loading log '%s'", log_dir.name)
        topic_partition = Log.parse_topic_partition_name(log_dir)
        config = self.topic_configs.get(topic_partition.topic, self.current_default_config)
        log = self._new_log(
            log_dir, config, log_start_offsets.get(topic_partition, 0), recovery_points.get(topic_partition, 0)
        )
        if log_dir.name.endswith(LogFileUtils.DELETE_DIR_SUFFIX):
            self._add_log_to_be_deleted(log)
            return
        previous = (self._future_logs if log.is_future else self._current_logs).put(topic_partition, log)
        if previous is not None:
            if log.is_future:
                raise IllegalStateException(f"Duplicate log directories found: {log.dir}, {previous.dir}!")
            if self._have_the_same_records(log, previous):
                self._keep_one(log, previous)
                return
            raise IllegalStateException(
                f"Duplicate log directories for {topic_partition} are found in both {log.dir} and {previous.dir}. It "
                "is likely because log directory failure happened while broker was replacing current replica with "
                "future replica. Recover broker from this failure by manually deleting one of the two directories "
                "for this partition. It is recommended to delete the partition in the log directory that is known to "
                "have failed recently."
            )

    @staticmethod
    def _have_the_same_records(a: Log, b: Log) -> bool:
        """Whether both end with the same offset of the same leader epoch, and so are the same log all the way down."""
        last_offset = a.log_end_offset - 1
        epoch = a.leader_epoch_cache.epoch_for_offset(last_offset)
        return (
            a.log_end_offset == b.log_end_offset
            and epoch == b.leader_epoch_cache.epoch_for_offset(last_offset)
            and (epoch >= 0 or a.size == b.size == 0)
        )

    def _keep_one(self, a: Log, b: Log) -> None:
        """Delete one of two logs of a partition: the broker died between the two renamings at the end of a move."""
        kept, other = (a, b) if a.log_start_offset > b.log_start_offset else (b, a)
        self.warn("Two logs of %s have the same records: keeping %s, deleting %s", a.topic_partition, kept, other)
        for log in (kept, other):
            log.remove_log_metrics()
        kept.new_metrics()
        self._current_logs.put(kept.topic_partition, kept)
        self._rename_and_queue_for_deletion(other)

    def _load_logs(self) -> None:
        """Load, and after an unclean shutdown recover, all logs of all directories, on a pool of threads for each."""
        self.info("Loading logs.")
        start_ms = self._time.milliseconds()
        thread_pools: list[ThreadPoolExecutor] = []
        offline_dirs: dict[str, OSError] = {}
        jobs: dict[pathlib.Path, list[Future[None]]] = {}
        try:
            for dir in self.live_log_dirs:
                try:
                    pool = ThreadPoolExecutor(self._num_recovery_threads_per_data_dir)
                    thread_pools.append(pool)
                    jobs[dir] = [pool.submit(job) for job in self._load_jobs(dir, offline_dirs)]
                except OSError as e:
                    offline_dirs[str(dir)] = e
                    self.error("Error while loading log dir %s", dir, exc=e)
            for dir, dir_jobs in jobs.items():
                for future in dir_jobs:
                    future.get()
                try:
                    (dir / LogFileUtils.CLEAN_SHUTDOWN_FILE).unlink(missing_ok=True)
                except OSError as e:
                    offline_dirs[str(dir)] = e
                    self.error("Error while deleting the clean shutdown file in %s", dir, exc=e)
            for offline_dir, error in offline_dirs.items():
                self._log_dir_failure_channel.maybe_add_offline_log_dir(
                    offline_dir, f"Error while deleting the clean shutdown file in dir {offline_dir}", error
                )
        except ExecutionException as e:
            self.error("There was an error in one of the threads during logs loading: %s", e.__cause__)
            raise e.__cause__ or e from None
        finally:
            for pool in thread_pools:
                pool.shutdown()
        self.info("Logs loading complete in %d ms.", self._time.milliseconds() - start_ms)

    def _load_jobs(self, dir: pathlib.Path, offline_dirs: dict[str, OSError]) -> list[Callable[[], None]]:
        """One job for each log of a directory; an OSError in one of them is noted in `offline_dirs`."""
        log_dirs = [log_dir for log_dir in sorted(dir.iterdir()) if log_dir.is_dir()]
        if (dir / LogFileUtils.CLEAN_SHUTDOWN_FILE).exists():
            self.debug("Found clean shutdown file. Skipping recovery for all logs in data directory: %s", dir)
        else:
            self.broker_state.new_state(RecoveringFromUncleanShutdown)  # Log does it when it is opened
            if log_dirs:
                self.info("Recovering the %d logs of %s, because it holds no clean shutdown file", len(log_dirs), dir)
        recovery_points: dict[TopicPartition, int] = {}
        try:
            recovery_points = self._directories.recovery_point_checkpoints[dir].read()
        except KafkaStorageException as e:
            self.warn("Error occurred while reading recovery-point-offset-checkpoint file of directory %s", dir, exc=e)
            self.warn("Resetting the recovery checkpoint to 0")
        log_start_offsets: dict[TopicPartition, int] = {}
        try:
            log_start_offsets = self._directories.log_start_offset_checkpoints[dir].read()
        except KafkaStorageException as e:
            self.warn("Error occurred while reading log-start-offset-checkpoint file of directory %s", dir, exc=e)

        progress = LoadProgress(self, dir, len(log_dirs), self._time)

        def job(log_dir: pathlib.Path) -> Callable[[], None]:
            def load() -> None:
                try:
                    self._load_log(log_dir, recovery_points, log_start_offsets)
                except (OSError, KafkaException) as e:
                    error = e if isinstance(e, OSError) else e.__cause__  # batches of a file hide it in another
                    if isinstance(error, OSError) and is_out_of_descriptors(error):
                        raise error from None  # better no start than one without some of the logs
                    if not isinstance(e, KafkaStorageException):  # that was reported to the channel where it happened
                        if not isinstance(error, OSError):
                            raise
                        offline_dirs[str(dir)] = error
                    self.error("Error while loading log dir %s", dir, exc=e)
                progress.log_done()

            return load

        return [job(log_dir) for log_dir in log_dirs]

    # ---- start and stop -------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Schedule retention, flushes, checkpoints and the deletion of logs."""
        delay = self.INITIAL_TASK_DELAY_MS
        schedule = self._scheduler.schedule
        self.info("Starting log cleanup with a period of %d ms.", self.retention_check_ms)
        schedule("kafka-log-retention", self.cleanup_logs, delay, self.retention_check_ms)
        self.info("Starting log flusher with a default period of %d ms.", self.flush_check_ms)
        schedule("kafka-log-flusher", self._flush_dirty_logs, delay, self.flush_check_ms)
        schedule(
            "kafka-recovery-point-checkpoint",
            self.checkpoint_log_recovery_offsets,
            delay,
            self.flush_recovery_offset_checkpoint_ms,
        )
        schedule(
            "kafka-log-start-offset-checkpoint",
            self.checkpoint_log_start_offsets,
            delay,
            self.flush_start_offset_checkpoint_ms,
        )
        schedule("kafka-delete-logs", self._delete_logs, delay)  # it schedules itself again
        if self.cleaner is not None:
            self.cleaner.startup()

    def shutdown(self) -> None:
        """Flush and close all logs, write the checkpoints and the clean shutdown markers, and unlock."""
        self.info("Shutting down.")
        self._remove_metrics()
        if self.cleaner is not None:
            swallow(self.cleaner.shutdown, self)
        thread_pools: list[ThreadPoolExecutor] = []
        jobs: dict[pathlib.Path, list[Future[None]]] = {}
        failure: BaseException | None = None
        try:
            for dir in self.live_log_dirs:
                self.debug("Flushing and closing logs at %s", dir)
                pool = ThreadPoolExecutor(self._num_recovery_threads_per_data_dir)
                thread_pools.append(pool)
                jobs[dir] = [pool.submit(_flush_and_close(log)) for log in self._logs_in(dir).values()]
            for dir, dir_jobs in jobs.items():
                try:
                    for future in dir_jobs:
                        future.get()
                    self._mark_clean(dir)
                except ExecutionException as e:
                    self.error("There was an error in one of the threads during LogManager shutdown: %s", e.__cause__)
                    failure = failure or e.__cause__ or e
                except KafkaStorageException as e:
                    failure = failure or e
            if failure is not None:
                raise failure
        finally:
            for pool in thread_pools:
                pool.shutdown()
            self._directories.unlock_all()
        self.info("Shutdown complete.")

    def _mark_clean(self, dir: pathlib.Path) -> None:
        self.debug("Updating recovery points at %s", dir)
        self._checkpoint_log_recovery_offsets_in_dir(dir)
        self.debug("Updating log start offsets at %s", dir)
        self._checkpoint_log_start_offsets_in_dir(dir)
        self.debug("Writing clean shutdown marker at %s", dir)
        try:
            (dir / LogFileUtils.CLEAN_SHUTDOWN_FILE).touch()
        except OSError as e:
            self.warn("%s", e, exc=e)

    # ---- truncation and checkpoints -------------------------------------------------------------------------------

    def truncate_to(self, partition_offsets: Mapping[TopicPartition, int], is_future: bool) -> None:
        """Cut logs at offsets, and checkpoint the recovery points if one was cut; unknown logs are skipped."""
        truncated = False
        for topic_partition, truncate_offset in partition_offsets.items():
            log = self.get_log(topic_partition, is_future)
            if log is not None:
                # what is cut off the active segment does not concern the cleaner
                is_out_anyway = is_future or truncate_offset >= log.active_segment.base_offset
                segment = log.segments.floor_segment(truncate_offset)  # will be the active one
                base_offset = truncate_offset if segment is None else segment.base_offset
                with self._cleaner_out_of(log, base_offset, is_out_anyway):
                    truncated |= log.truncate_to(truncate_offset)
        if truncated:
            self.checkpoint_log_recovery_offsets()
            self.checkpoint_log_start_offsets()

    def truncate_fully_and_start_at(self, topic_partition: TopicPartition, new_offset: int, is_future: bool) -> None:
        """Empty a log and begin it again at `new_offset`; an unknown log is skipped."""
        log = self.get_log(topic_partition, is_future)
        if log is not None:
            with self._cleaner_out_of(log, new_offset, is_future):
                log.truncate_fully_and_start_at(new_offset)
            self._checkpoint_log_recovery_offsets_in_dir(log.dir.parent)
            self._checkpoint_log_start_offsets_in_dir(log.dir.parent)

    @contextmanager
    def _cleaner_out_of(self, log: Log, base_offset: int, is_out_anyway: bool) -> Iterator[None]:
        """Keep the cleaner from a log that is being truncated, and its checkpoint from pointing beyond `base_offset`.

        Were the checkpoint taken down afterwards, a crash in between would leave it pointing at what is appended next.
        """
        cleaner = self.cleaner
        if cleaner is None or is_out_anyway:
            yield
            return
        cleaner.abort_and_pause_cleaning(log.topic_partition)
        try:
            cleaner.maybe_truncate_checkpoint(log.dir.parent, log.topic_partition, base_offset)
            yield
        finally:
            cleaner.resume_cleaning(log.topic_partition)

    def checkpoint_log_recovery_offsets(self) -> None:
        """Write the recovery point of every log, so that a start after a crash begins there."""
        for dir in self.live_log_dirs:
            self._checkpoint_log_recovery_offsets_in_dir(dir)

    def checkpoint_log_start_offsets(self) -> None:
        """Write the log start offsets, so that deleted records stay deleted after a restart."""
        for dir in self.live_log_dirs:
            self._checkpoint_log_start_offsets_in_dir(dir)

    def _checkpoint_log_recovery_offsets_in_dir(self, dir: pathlib.Path) -> None:
        checkpoint = self._directories.recovery_point_checkpoints.get(dir)
        if checkpoint is None:
            return
        try:
            checkpoint.write_current(lambda: {tp: log.recovery_point for tp, log in self._logs_in(dir).items()})
            for log in self._logs_in(dir).values():
                log.delete_snapshots_after_recovery_point_checkpoint()
        except OSError as e:
            self._log_dir_failure_channel.maybe_add_offline_log_dir(
                str(dir), f"Disk error while writing to recovery point file in directory {dir}", e
            )

    def _checkpoint_log_start_offsets_in_dir(self, dir: pathlib.Path) -> None:
        checkpoint = self._directories.log_start_offset_checkpoints.get(dir)
        if checkpoint is None:
            return
        try:
            checkpoint.write_current(lambda: self._log_start_offsets(dir))
        except OSError as e:
            self._log_dir_failure_channel.maybe_add_offline_log_dir(
                str(dir), f"Disk error while writing to logStartOffset file in directory {dir}", e
            )

    def _log_start_offsets(self, dir: pathlib.Path) -> dict[TopicPartition, int]:
        """The log starts of a directory; one that is the base of the first segment needs no checkpoint."""
        log_start_offsets = {}
        for tp, log in self._logs_in(dir).items():
            first_segment = log.segments.first_segment
            if first_segment is not None and log.log_start_offset > first_segment.base_offset:
                log_start_offsets[tp] = log.log_start_offset
        return log_start_offsets

    def _logs_in(self, dir: pathlib.Path) -> dict[TopicPartition, Log]:
        return self._logs_by_dir().get(str(dir), {})

    # ---- logs -----------------------------------------------------------------------------------------------------

    def abort_and_pause_cleaning(self, topic_partition: TopicPartition) -> None:
        """Wait until the partition's log is not being compacted, and keep it from being, because it is to be moved.

        That lasts until its future log is in its place, deleted or lost; a second call changes nothing.
        """
        if self.cleaner is not None and self._paused_for_move.put_if_absent(topic_partition, True) is None:
            self.cleaner.abort_and_pause_cleaning(topic_partition)

    def resume_cleaning(self, topic_partition: TopicPartition) -> None:
        """End the pause of `abort_and_pause_cleaning`, if there is one."""
        if self.cleaner is not None and self._paused_for_move.remove(topic_partition):
            self.cleaner.resume_cleaning(topic_partition)

    def maybe_update_preferred_log_dir(self, topic_partition: TopicPartition, log_dir: str) -> None:
        """Remember where (absolute path) the partition's next log is to be created, unless it is there already."""
        for is_future in (False, True):
            log = self.get_log(topic_partition, is_future)
            if log is not None and str(log.dir.parent) == log_dir:
                return
        self._preferred_log_dirs.put(topic_partition, log_dir)

    def get_log(self, topic_partition: TopicPartition, is_future: bool = False) -> Log | None:
        """The partition's log, or with `is_future` the copy that is being made of it; None if there is none."""
        return (self._future_logs if is_future else self._current_logs).get(topic_partition)

    def initializing_log(self, topic_partition: TopicPartition) -> None:
        """The partition's log is about to be made from settings that are still to be read (KAFKA-8813)."""
        self._partitions_initializing.put(topic_partition, False)

    def topic_config_updated(self, topic: str) -> None:
        """The topic's settings have changed: its logs that are being made will take them over when they are done."""
        for topic_partition in self._partitions_initializing:
            if topic_partition.topic == topic:
                self._partitions_initializing.replace(topic_partition, False, True)

    def broker_config_updated(self) -> None:
        """As `topic_config_updated`, for the defaults of all topics."""
        for topic_partition in self._partitions_initializing:
            self._partitions_initializing.replace(topic_partition, False, True)

    def finished_initializing_log(
        self, topic_partition: TopicPartition, log: Log | None, fetch_log_config: Callable[[], LogConfig]
    ) -> None:
        """The log (None: it could not be made) can be found by who changes settings; read what changed before that."""
        if self._partitions_initializing.remove(topic_partition) and log is not None:
            config = fetch_log_config()
            log.update_config(config.overridden_configs, config)

    def get_or_create_log(
        self, topic_partition: TopicPartition, config: LogConfig, is_new: bool = False, is_future: bool = False
    ) -> Log:
        """The partition's log, created if there is none.

        While a directory is offline only logs known to be new are created, for the log may be in that directory:
        KafkaStorageException.
        """
        with self._log_creation_or_deletion_lock:
            log = self.get_log(topic_partition, is_future)
            if log is not None:
                return log
            offline_log_dirs = self._offline_log_dirs
            if not is_new and offline_log_dirs:
                raise KafkaStorageException(
                    f"Can not create log for {topic_partition} because log directories "
                    f"{','.join(map(str, offline_log_dirs))} are offline"
                )
            log_dir = self._choose_log_dir(topic_partition, is_future)
            if not self.is_log_dir_online(log_dir):
                raise KafkaStorageException(
                    f"Can not create log for {topic_partition} because log directory {log_dir} is offline"
                )
            try:
                dir_name = Log.log_future_dir_name(topic_partition) if is_future else Log.log_dir_name(topic_partition)
                dir = pathlib.Path(log_dir, dir_name)
                dir.mkdir(parents=True, exist_ok=True)
                log = self._new_log(dir, config, log_start_offset=0, recovery_point=0)
            except OSError as e:
                msg = f"Error while creating log for {topic_partition} in dir {log_dir}"
                self._log_dir_failure_channel.maybe_add_offline_log_dir(log_dir, msg, e)
                raise KafkaStorageException(msg) from e
            (self._future_logs if is_future else self._current_logs).put(topic_partition, log)
            properties = ", ".join(f"{key} -> {value}" for key, value in config.originals().items())
            self.info("Created log for partition %s in %s with properties {%s}.", topic_partition, log_dir, properties)
            self._preferred_log_dirs.remove(topic_partition)
            return log

    def _choose_log_dir(self, topic_partition: TopicPartition, is_future: bool) -> str:
        preferred_log_dir = self._preferred_log_dirs.get(topic_partition)
        if is_future:
            if preferred_log_dir is None:
                raise IllegalStateException(
                    f"Can not create the future log for {topic_partition} without having a preferred log directory"
                )
            current = self.get_log(topic_partition)
            if current is not None and str(current.dir.parent) == preferred_log_dir:
                raise IllegalStateException(
                    f"Can not create the future log for {topic_partition} in the current log directory of this "
                    "partition"
                )
        return str(self._next_log_dir()) if preferred_log_dir is None else preferred_log_dir

    def _next_log_dir(self) -> pathlib.Path:
        """The directory in service that has the fewest logs."""
        live_log_dirs = self._directories.live_log_dirs
        if len(live_log_dirs) == 1:
            return live_log_dirs[0]
        counts = dict.fromkeys(live_log_dirs, 0)
        for log in self.all_logs:
            parent = log.dir.parent
            if parent in counts:
                counts[parent] += 1
        return min(live_log_dirs, key=lambda d: counts[d])

    def replace_current_with_future_log(self, topic_partition: TopicPartition) -> None:
        """Put the copy of a log in its place and delete the old one; raises KafkaStorageException."""
        with self._log_creation_or_deletion_lock:
            source_log = self._current_logs.get(topic_partition)
            dest_log = self._future_logs.get(topic_partition)
            if source_log is None:
                raise KafkaStorageException(f"The current replica for {topic_partition} is offline")
            if dest_log is None:
                raise KafkaStorageException(f"The future replica for {topic_partition} is offline")
            dest_log.rename_dir(Log.log_dir_name(topic_partition))
            with dest_log.maybe_handle_io_exception(f"Error while flushing the directory of {dest_log}"):
                flush_dir_if_exists(dest_log.dir.parent)  # before the other name is gone
            for log in (source_log, dest_log):
                log.remove_log_metrics()
            dest_log.new_metrics()
            self._future_logs.remove(topic_partition)
            self._current_logs.put(topic_partition, dest_log)
            if self.cleaner is not None:
                self.cleaner.alter_checkpoint_dir(topic_partition, source_log.dir.parent, dest_log.dir.parent)
                self.resume_cleaning(topic_partition)
            try:
                # it stays open until it is deleted: who has begun to read it goes on with it
                source_log.rename_dir(Log.log_delete_dir_name(topic_partition))
                self._checkpoint_log_recovery_offsets_in_dir(source_log.dir.parent)
                self._checkpoint_log_start_offsets_in_dir(source_log.dir.parent)
                self._add_log_to_be_deleted(source_log)
            except KafkaStorageException:
                # handle_log_dir_failure does not see it, because it is no longer the current log
                source_log.close_handlers()
                raise
            self.info("The current replica is successfully replaced with the future replica for %s", topic_partition)

    def async_delete_all(
        self, topic_partitions: Iterable[TopicPartition], error_handler: Callable[[TopicPartition, Exception], None]
    ) -> None:
        """As `async_delete` of the current and the future log of each, writing the checkpoints once (KAFKA-10002).

        Partitions without a log are skipped; one that fails is handed to `error_handler` with its
        KafkaStorageException, and the others go on.
        """
        removed_logs = []
        for topic_partition in topic_partitions:
            for is_future in (False, True):
                removed_log = self._remove_log(topic_partition, is_future)
                if removed_log is not None:
                    removed_logs.append(removed_log)
        for dir in {removed_log.dir.parent for removed_log in removed_logs}:
            self._checkpoint_without_removed_logs(dir)
        for removed_log in removed_logs:
            try:
                self._rename_and_queue_for_deletion(removed_log)
            except KafkaStorageException as e:
                error_handler(removed_log.topic_partition, e)

    def async_delete(self, topic_partition: TopicPartition, is_future: bool = False) -> Log | None:
        """Rename the log's directory to `-delete` and queue it for deletion; the log, None if there was none.

        Raises KafkaStorageException if it may be in a directory that is offline.
        """
        removed_log = self._remove_log(topic_partition, is_future)
        if removed_log is not None:
            self._checkpoint_without_removed_logs(removed_log.dir.parent)
            self._rename_and_queue_for_deletion(removed_log)
        elif self._offline_log_dirs:
            raise KafkaStorageException(
                f"Failed to delete log for {topic_partition} because it may be in one of the offline directories "
                f"{','.join(map(str, self._offline_log_dirs))}"
            )
        return removed_log

    def _remove_log(self, topic_partition: TopicPartition, is_future: bool) -> Log | None:
        """Take a log out of the logs; nobody cleans it any more."""
        with self._log_creation_or_deletion_lock:
            removed_log = (self._future_logs if is_future else self._current_logs).remove(topic_partition)
        if removed_log is not None:
            removed_log.remove_log_metrics()  # before another log takes its name
            if is_future:
                self.resume_cleaning(topic_partition)
            elif self.cleaner is not None:
                self.cleaner.abort_cleaning(topic_partition)
        return removed_log

    def _checkpoint_without_removed_logs(self, dir: pathlib.Path) -> None:
        """Before the renaming, so that what is created after a crash does not begin at the offsets of a removed log."""
        if self.cleaner is not None:
            self.cleaner.update_checkpoints(dir)
        self._checkpoint_log_recovery_offsets_in_dir(dir)
        self._checkpoint_log_start_offsets_in_dir(dir)

    def _rename_and_queue_for_deletion(self, removed_log: Log) -> None:
        removed_log.rename_dir(Log.log_delete_dir_name(removed_log.topic_partition))
        self._add_log_to_be_deleted(removed_log)
        self.info(
            "Log for partition %s is renamed to %s and is scheduled for deletion",
            removed_log.topic_partition,
            removed_log.dir,
        )

    def _delete_logs(self) -> None:  # runs on: kafka-scheduler
        """Delete the queued logs whose delay is over, and come back when the next one's will be."""
        next_delay_ms = 0
        try:
            while (next_delay_ms := self._next_delete_delay_ms()) <= 0:
                queued = self._logs_to_be_deleted.poll()
                if queued is None:
                    continue
                removed_log = queued[0]
                try:
                    removed_log.delete()
                    self.info("Deleted log for partition %s in %s.", removed_log.topic_partition, removed_log.dir)
                except KafkaStorageException as e:
                    self.error("Exception while deleting %s in dir %s.", removed_log, removed_log.dir.parent, exc=e)
        except Exception as e:  # noqa: BLE001  # the task has to schedule itself again whatever happened
            self.error("Exception in kafka-delete-logs thread.", exc=e)
        finally:
            try:
                self._scheduler.schedule("kafka-delete-logs", self._delete_logs, delay=max(next_delay_ms, 1))
            except Exception as e:  # noqa: BLE001  # a scheduler that was shut down meanwhile refuses tasks
                if self._scheduler.is_started:
                    self.error("Failed to schedule next delete in kafka-delete-logs thread", exc=e)

    def _next_delete_delay_ms(self) -> int:
        delay_ms = self.current_default_config.file_delete_delay_ms
        queued = self._logs_to_be_deleted.peek()
        return max(delay_ms, 1) if queued is None else queued[1] + delay_ms - self._time.milliseconds()

    # ---- background tasks -----------------------------------------------------------------------------------------

    def cleanup_logs(self) -> None:
        """Apply retention to every log that is not compacted."""
        self.debug("Beginning log cleanup...")
        total = 0
        start_ms = self._time.milliseconds()
        for log in self.all_logs:
            if not log.config.compact:
                try:
                    total += self._delete_old_segments(log)
                except Exception as e:  # noqa: BLE001  # one log must not keep the others from being cleaned up
                    self.error("Error deleting old segments of %s", log.name, exc=e)
        self.debug(
            "Log cleanup completed. %d files deleted in %d seconds",
            total,
            (self._time.milliseconds() - start_ms) // 1000,
        )

    def _delete_old_segments(self, log: Log) -> int:
        cleaner = None if log.is_future else self.cleaner
        if cleaner is not None and not cleaner.pause_for_retention(log.topic_partition):
            return 0  # until a moment ago it was to be compacted
        try:
            self.debug("Garbage collecting '%s'", log.name)
            return log.delete_old_segments()
        finally:
            if cleaner is not None:
                cleaner.resume_after_retention(log.topic_partition)

    def _flush_dirty_logs(self) -> None:
        """Sync every log that has not been for `flush.ms`."""
        self.debug("Checking for dirty logs to flush...")
        for topic_partition, log in [*self._current_logs.items(), *self._future_logs.items()]:
            try:
                time_since_last_flush = self._time.milliseconds() - log.last_flush_time
                self.debug(
                    "Checking if flush is needed on %s flush interval  %d last flushed %d time since last flush: %d",
                    topic_partition.topic,
                    log.config.flush_ms,
                    log.last_flush_time,
                    time_since_last_flush,
                )
                if time_since_last_flush >= log.config.flush_ms:
                    log.flush()
            except Exception as e:  # noqa: BLE001  # one log must not keep the others from being flushed
                self.error("Error flushing topic %s", topic_partition.topic, exc=e)

    @property
    def all_logs(self) -> list[Log]:
        """All logs, future ones included."""
        return [*self._current_logs.values, *self._future_logs.values]

    def logs_by_topic(self, topic: str) -> list[Log]:
        """The logs of a topic, future ones included."""
        return [log for log in self.all_logs if log.topic_partition.topic == topic]

    def _logs_by_dir(self) -> dict[str, dict[TopicPartition, Log]]:
        by_dir: dict[str, dict[TopicPartition, Log]] = {}
        for topic_partition, log in [*self._current_logs.items(), *self._future_logs.items()]:
            by_dir.setdefault(str(log.dir.parent), {})[topic_partition] = log
        return by_dir

    # ---- metrics --------------------------------------------------------------------------------------------------

    def _register_metrics(self) -> None:
        self.new_gauge("OfflineLogDirectoryCount", lambda: len(self._offline_log_dirs))
        for dir in self._directories.log_dirs:

            def is_offline(dir: pathlib.Path = dir) -> int:
                return 0 if dir in self.live_log_dirs else 1

            self.new_gauge("LogDirectoryOffline", is_offline, {"logDirectory": str(dir)})

    def _remove_metrics(self) -> None:
        self.remove_metric("OfflineLogDirectoryCount")
        for dir in self._directories.log_dirs:
            self.remove_metric("LogDirectoryOffline", {"logDirectory": str(dir)})


def _flush_and_close(log: Log) -> Callable[[], None]:
    def run() -> None:
        log.flush()  # the recovery point is then the log end
        log.close()

    return run
