"""An archive back into segments: partition directories that a broker starts on and serves.

    restore(spark, "/archive", "/var/kafka", topics=["orders"])

The broker of that log directory must not run; its lock is held meanwhile. A topic must be known to the cluster (in
ZooKeeper) with these partitions on this broker, or the broker does not serve them: create it with the same number of
partitions while the cluster runs, stop the broker, restore, start it again. The empty partitions that the creation
made are replaced; a partition that holds, or held, records is never touched. With more than one replica restore to the
leader's disk and empty the others' before they start.

Records keep their offsets. The log ends where the archive ends: an empty batch, as the log cleaner leaves them, stands
for offsets at the end that have no records, so that they are not given out again. All batches are of leader epoch 0,
which is older than any that the cluster will hand out. The files are those of LogSegment, so indexes are as dense as a
broker's.

Every partition is built in a directory whose name says that it is to be deleted, and renamed when all are complete. So
a broker that starts after a failed restore finds nothing of it, and cleans up what is left.
"""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.common.utils.time import Time
from kafka_py.log.log_cleaner_manager import LogCleanerManager
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_directories import LogDirectories
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.log_segment import LogSegment
from kafka_py.spark.arrow_encoder import EncodedBatch, RecordBatchEncoder
from kafka_py.spark.jobs import run_in_spark
from kafka_py.spark.layout import HIGH_WATERMARKS, LEADER_EPOCHS, LOG_START_OFFSETS
from kafka_py.spark.parquet_manifest import MANIFEST, ParquetManifest, sync
from kafka_py.spark.progress import Progress
from kafka_py.utils.file_lock import FileLock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = ("key", "value", "offset", "timestamp", "timestampType", "headers")
_LEADER_EPOCH = 0
_INT_MAX = 2**31 - 1
_NEVER_MS = 2**63 - 1


class RestoreSettings(NamedTuple):
    """How to write segments: bytes of a segment, between index entries and of a batch; the codec by Kafka's name."""

    segment_bytes: int = 1 << 30
    index_interval_bytes: int = 4096
    codec: str = "none"
    batch_bytes: int = 16384


class RestoredPartition(NamedTuple):
    """A partition that is a log again, with its first offset and the one behind its last."""

    topic: str
    partition: int
    log_start_offset: int
    log_end_offset: int
    records: int
    segments: int


class BuiltPartition(NamedTuple):
    """A restored partition that is complete and synced, but still has the name of one that is to be deleted."""

    restored: RestoredPartition
    directory: str


class RestoreTask(NamedTuple):
    """The work of one task: one partition, built under another name. Picklable."""

    home: str
    topic: str
    partition: int
    log_dir: str
    settings: RestoreSettings

    def run(self) -> BuiltPartition:
        """Write and sync the partition's files; raises what reading and writing raise, and then leaves nothing."""
        name = LogFileUtils.log_delete_dir_name(TopicPartition(self.topic, self.partition))
        directory = pathlib.Path(self.log_dir, name)
        directory.mkdir()
        try:
            return BuiltPartition(self._build(directory), str(directory))
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    def _build(self, directory: pathlib.Path) -> RestoredPartition:
        manifest = _manifest_of(pathlib.Path(self.home), self.topic)
        files = manifest.partitions()[self.partition]
        start, end = files[0].from_offset, files[-1].until_offset
        writer = SegmentWriter(directory, start, self.settings)
        encoder = RecordBatchEncoder(self.settings.codec, self.settings.batch_bytes, leader_epoch=_LEADER_EPOCH)
        try:
            for table in manifest.tables(self.partition, _COLUMNS):
                for batch in encoder.encode_batches(table):
                    writer.append(batch)
            for batch in _empty_batches(writer.log_end_offset, end):
                writer.append(batch)
        finally:
            writer.close()
        _write_leader_epochs(directory, start)
        sync(directory)
        return RestoredPartition(self.topic, self.partition, start, end, writer.records, writer.segments)


class SegmentWriter:
    """Appends batches to the segments of one partition, and rolls them by size as a broker does."""

    def __init__(self, directory: pathlib.Path, start_offset: int, settings: RestoreSettings) -> None:
        self._directory = directory
        self._config = LogConfig(
            {
                LogConfig.SEGMENT_BYTES_PROP: settings.segment_bytes,
                LogConfig.INDEX_INTERVAL_BYTES_PROP: settings.index_interval_bytes,
                LogConfig.SEGMENT_MS_PROP: _NEVER_MS,  # by the age of old records every batch might roll
            }
        )
        self.log_end_offset = start_offset  # thread: of its owner
        self.records = 0  # thread: of its owner
        self.segments = 0  # thread: of its owner
        self._segment = self._new_segment(start_offset)  # thread: of its owner

    def _new_segment(self, base_offset: int) -> LogSegment:
        self.segments += 1
        return LogSegment.open(self._directory, base_offset, self._config, Time.SYSTEM)

    def append(self, batch: EncodedBatch) -> None:
        """Write a batch behind the last one; raises ValueError for an offset that is there already, OSError."""
        if batch.base_offset < self.log_end_offset:
            raise ValueError(f"{self._directory}: offset {batch.base_offset} comes after {self.log_end_offset - 1}")
        size = len(batch.data)
        if self._segment.size and self._segment.should_roll(size, batch.max_timestamp, batch.last_offset, 0):
            self.close()
            self._segment = self._new_segment(batch.base_offset)
        records = MemoryRecords.readable_records(memoryview(batch.data))
        self._segment.append(
            batch.base_offset, batch.last_offset, batch.max_timestamp, batch.offset_of_max_timestamp, records
        )
        self.log_end_offset = batch.last_offset + 1
        self.records += batch.count

    def close(self) -> None:
        """Complete the indexes of the last segment, sync its files and close them."""
        self._segment.on_become_inactive_segment()
        self._segment.flush()
        self._segment.close()


def _empty_batches(start: int, end: int) -> Iterator[EncodedBatch]:
    """Batches without records that stand for the offsets start <= offset < end; as a rule one, or none."""
    while start < end:
        last = min(end - 1, start + _INT_MAX)
        out = ByteBufferOutputStream()
        DefaultRecordBatch.write_empty_header(
            out,
            magic=RecordBatch.CURRENT_MAGIC_VALUE,
            producer_id=RecordBatch.NO_PRODUCER_ID,
            producer_epoch=RecordBatch.NO_PRODUCER_EPOCH,
            base_sequence=RecordBatch.NO_SEQUENCE,
            base_offset=start,
            last_offset=last,
            partition_leader_epoch=_LEADER_EPOCH,
            timestamp_type=TimestampType.CREATE_TIME,
            timestamp=RecordBatch.NO_TIMESTAMP,
            is_transactional=False,
            is_control_record=False,
        )
        yield EncodedBatch(bytes(out.buffer), start, last, RecordBatch.NO_TIMESTAMP, last, 0)
        start = last + 1


class LogDirRestore:
    """One restore into one log directory, which nobody else uses meanwhile. A context manager.

    Raises BlockingIOError when a broker runs on the directory.
    """

    def __init__(self, log_dir: pathlib.Path, settings: RestoreSettings) -> None:
        self._log_dir = log_dir
        self._settings = settings
        log_dir.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(log_dir / LogDirectories.LOCK_FILE)
        if not self._lock.try_lock():
            self._lock.destroy()
            raise BlockingIOError(f"{log_dir} is in use: stop its broker first")
        # directories without a place any more
        self._unused: list[pathlib.Path] = []  # thread: of its owner

    def __enter__(self) -> LogDirRestore:
        """Nothing more to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is not, or no more, a partition, and let a broker have the directory."""
        for directory in self._unused:
            shutil.rmtree(directory, ignore_errors=True)
        self._lock.destroy()

    def plan(self, manifests: Iterable[ParquetManifest]) -> list[RestoreTask]:
        """A task per archived partition. Raises FileExistsError, before anything is written, for one with records."""
        tasks = []
        taken = []
        for manifest in manifests:
            for partition in manifest.partitions():
                final = self._directory_of(manifest.topic, partition)
                if final.exists() and not _is_unused(final):
                    taken.append(final.name)
                tasks.append(
                    RestoreTask(str(manifest.home), manifest.topic, partition, str(self._log_dir), self._settings)
                )
        if taken:
            raise FileExistsError(f"{self._log_dir} has records of {', '.join(taken)} already")
        return tasks

    def _directory_of(self, topic: str, partition: int) -> pathlib.Path:
        return self._log_dir / LogFileUtils.log_dir_name(TopicPartition(topic, partition))

    def run_here(self, tasks: Sequence[RestoreTask]) -> list[BuiltPartition]:
        """Build one partition after the other in this process."""
        built: list[BuiltPartition] = []
        with Progress("restoring partitions", len(tasks)) as progress:
            for task in tasks:
                built.append(task.run())
                self._unused.append(pathlib.Path(built[-1].directory))
                progress.advance(1)
        return built

    def publish(self, built: Sequence[BuiltPartition]) -> None:
        """Give the partitions their names, and note that they are whole and how far they may be read."""
        self._unused = []
        for restored, directory in built:
            final = self._directory_of(restored.topic, restored.partition)
            if final.exists():
                unused = LogFileUtils.log_delete_dir_name(TopicPartition(restored.topic, restored.partition))
                self._unused.append(final.rename(self._log_dir / unused))
            pathlib.Path(directory).rename(final)
        sync(self._log_dir)
        _write_checkpoints(self._log_dir, [restored for restored, _ in built])


def _manifest_of(home: pathlib.Path, topic: str) -> ParquetManifest:
    """What an archive of a topic holds, also if the machine that is to be restored died while it archived."""
    manifest = ParquetManifest(home, topic)
    manifest.adopt_named()
    return manifest


def _write_leader_epochs(directory: pathlib.Path, start_offset: int) -> None:
    from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import EpochEntry, LeaderEpochCheckpointFile

    LeaderEpochCheckpointFile(directory / LEADER_EPOCHS).write([EpochEntry(_LEADER_EPOCH, start_offset)])


def _write_checkpoints(log_dir: pathlib.Path, partitions: Iterable[RestoredPartition]) -> None:
    """Recovery points and high watermarks are the logs' ends; what older partitions of these names left is dropped."""
    from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile

    ends = {TopicPartition(done.topic, done.partition): done.log_end_offset for done in partitions}
    for name in (LogDirectories.RECOVERY_POINT_CHECKPOINT_FILE, HIGH_WATERMARKS):
        checkpoint = OffsetCheckpointFile(log_dir / name)
        checkpoint.write({**checkpoint.read(), **ends})
    for name in (LOG_START_OFFSETS, LogCleanerManager.offset_checkpoint_file):
        if (log_dir / name).exists():
            checkpoint = OffsetCheckpointFile(log_dir / name)
            checkpoint.write({tp: offset for tp, offset in checkpoint.read().items() if tp not in ends})


def _is_unused(partition: pathlib.Path) -> bool:
    """Whether a partition never had a record: all there is of it is an empty segment that begins at 0."""
    logs = list(partition.glob(f"*{LogFileUtils.LOG_FILE_SUFFIX}"))
    return all(LogFileUtils.offset_from_file(log) == 0 and log.stat().st_size == 0 for log in logs)


def restore(
    spark: SparkSession | None,
    source: str | pathlib.Path,
    log_dir: str | pathlib.Path,
    topics: Collection[str] | None = None,
    settings: RestoreSettings | None = None,
) -> list[RestoredPartition]:
    """Make an archive's topics (all, if none are named) partitions of a log directory, all of them or none.

    With a session the partitions are built in its executors, which must see both directories; with None here.
    Raises FileNotFoundError for a topic that is not in the archive, FileExistsError for a partition that has records
    already, BlockingIOError when a broker runs on the directory, and what reading and writing raise.
    """
    home = pathlib.Path(source)
    names = sorted(path.parent.name for path in home.glob(f"*/{MANIFEST}")) if topics is None else sorted(topics)
    for name in names:
        if not (home / name / MANIFEST).exists():
            raise FileNotFoundError(f"{home} has no archive of {name}")
    manifests = [_manifest_of(home / name, name) for name in names]
    with LogDirRestore(pathlib.Path(log_dir), settings or RestoreSettings()) as work:
        tasks = work.plan(manifests)
        built = work.run_here(tasks) if spark is None else run_in_spark(spark, tasks)
        work.publish(built)
    return [restored for restored, _ in built]
