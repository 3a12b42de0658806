"""Topics into Parquet files, each offset exactly once, whenever the run dies.

    archive(spark, "/var/kafka", "/archive", subscribe="orders")

A file stands for a range of offsets and has them in its name. Tasks write files under temporary names, and sync them;
only the driver gives them their names, in the order of offsets, and then notes them in the manifest. Because it alone
does so while it holds the topic's lock, neither a task that is tried twice nor one that outlives its driver can bring
in records a second time. The next run begins where the files end.

pyarrow writes the files within the tasks, so that no record passes through the JVM. Without Spark (None) the same is
done in this process.

What is kept of a record: key, value, offset, timestamp, timestampType and headers. Batches, producers and transactions
are not: with read_uncommitted the records of aborted transactions become records like any other.
"""

from __future__ import annotations

import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_py.spark.arrow_decoder import SCHEMA_WITH_HEADERS
from kafka_py.spark.jobs import run_in_spark
from kafka_py.spark.options import READ_COMMITTED, READ_UNCOMMITTED, KafkaSourceOptions
from kafka_py.spark.parquet_manifest import LOCK, ArchivedFile, OffsetRange, ParquetManifest, footer, sync
from kafka_py.spark.progress import Progress
from kafka_py.spark.transport import PartitionOffsets, Piece, ReadOptions, Transport, report_data_loss
from kafka_py.utils.file_lock import FileLock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The partition is in the name of the directory, where Spark and others take it from.
COLUMNS = ("key", "value", "topic", "offset", "timestamp", "timestampType", "headers")
DEFAULT_MAX_FILE_BYTES = 128 << 20
_ROW_GROUP_BYTES = 32 << 20
_FILES_PER_CORE_AND_JOB = 4
_NOT_FOR_ARCHIVES = ("starting", "ending", "include", "min", "max")  # options begin so that choose among the records
_SAID_BY_SETTINGS = ("isolation.level", "kafka.isolation.level", "failondataloss", "checkcrcs")


class ArchiveSettings(NamedTuple):
    """How to archive; ``max_file_bytes`` counts the bytes of the segments that go into one file.

    zstd takes as much time as snappy here, and half the space.
    """

    isolation: str = READ_UNCOMMITTED
    max_file_bytes: int = DEFAULT_MAX_FILE_BYTES
    compression: str = "zstd"
    check_crcs: bool = True
    fail_on_data_loss: bool = True

    @property
    def read_options(self) -> ReadOptions:
        """What pieces need to know to read themselves."""
        return ReadOptions(COLUMNS, self.check_crcs, self.isolation == READ_COMMITTED, self.fail_on_data_loss)


class WrittenFile(NamedTuple):
    """A file that is complete and synced, but has only a temporary name yet."""

    file: ArchivedFile
    written: str


class ArchiveTask(NamedTuple):
    """The work of one task: one file. Picklable."""

    home: str
    piece: Piece
    settings: ArchiveSettings

    def run(self) -> WrittenFile:
        """Write the file; raises what reading raises (OSError, CorruptRecordException, DataLossError)."""
        piece, settings = self.piece, self.settings
        file = ArchivedFile(piece.partition, piece.from_offset, piece.until_offset, 0, 0)
        final = pathlib.Path(self.home, file.path)
        final.parent.mkdir(exist_ok=True)
        written = ParquetManifest.tmp_path(final, uuid.uuid4().hex)
        rows = write_parquet(
            written,
            piece.tables(settings.read_options),
            footer(piece.topic, file, settings.isolation),
            settings.compression,
        )
        sync(written)
        return WrittenFile(file._replace(rows=rows, size=written.stat().st_size), str(written))


def write_parquet(
    path: pathlib.Path, tables: Iterable[pa.RecordBatch], metadata: dict[str, str], compression: str
) -> int:
    """Write record batches of COLUMNS to a file; the number of rows."""
    schema = pa.schema([SCHEMA_WITH_HEADERS.field(name) for name in COLUMNS], metadata)
    # Offsets and times grow slowly; values seldom repeat, so that a dictionary of them is only tried in vain.
    writer = pq.ParquetWriter(
        path,
        schema,
        compression=compression,
        use_dictionary=["topic", "timestampType"],
        column_encoding={"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"},
        write_statistics=["offset", "timestamp"],
    )
    rows = 0
    with writer:
        for group in _row_groups(tables):
            rows += group.num_rows
            writer.write_table(group, row_group_size=group.num_rows)
    return rows


def _row_groups(tables: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables of about _ROW_GROUP_BYTES: the decoder's are small, and each would become a row group of its own."""
    group: list[pa.RecordBatch] = []
    size = 0
    for table in tables:
        group.append(table)
        size += table.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield pa.Table.from_batches(group)
            group, size = [], 0
    if group:
        yield pa.Table.from_batches(group)


RunTasks = Callable[[Sequence[ArchiveTask]], Iterator[list[WrittenFile]]]


class TopicArchive:
    """One topic's part of one run; the only one that works on it, as long as it is open. A context manager.

    Puts in order what the run before may have left. Raises BlockingIOError when another run is at work on the topic,
    and as ParquetManifest and its recover do.
    """

    def __init__(self, target: pathlib.Path, topic: str, settings: ArchiveSettings) -> None:
        self._topic = topic
        self._settings = settings
        self._home = target / topic
        self._home.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._home / LOCK)
        if not self._lock.try_lock():
            self._lock.destroy()
            raise BlockingIOError(f"Another run is archiving to {self._home}")
        try:
            self.manifest = ParquetManifest(self._home, topic)
            self.manifest.recover(settings.isolation)
        except BaseException:
            self._lock.destroy()
            raise

    def __enter__(self) -> TopicArchive:
        """Nothing more to prepare."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let others work on the topic."""
        self._lock.destroy()

    def plan(self, transport: Transport, partitions: dict[int, PartitionOffsets]) -> list[ArchiveTask]:
        """The files to write, in the order of partitions and offsets. Raises DataLossError."""
        settings = self._settings
        committed = settings.isolation == READ_COMMITTED
        return [
            ArchiveTask(str(self._home), piece, settings)
            for partition, offsets in sorted(partitions.items())
            for gap in self.manifest.missing(partition, self._wanted(partition, offsets))
            for piece in transport.plan(self._topic, partition, *gap, settings.max_file_bytes, committed)
        ]

    def _wanted(self, partition: int, offsets: PartitionOffsets) -> OffsetRange:
        """The offsets that are there now. What went on behind the archive's back is data loss."""
        start, end = offsets.log_start_offset, self.manifest.end_offset(partition)
        committed = self._settings.isolation == READ_COMMITTED
        until = offsets.last_stable_offset if committed else offsets.high_watermark
        if end and (start > end or until < end):
            report_data_loss(
                f"Partition {self._topic}-{partition} was archived up to offset {end}, but what can be read of it goes "
                f"from {start} to {until}: records were deleted before they were archived, or the log was truncated, "
                "or this is another topic of the same name",
                self._settings.fail_on_data_loss,
            )
        return OffsetRange(start, max(start, until))

    def run(self, tasks: Sequence[ArchiveTask], run_tasks: RunTasks, progress: Progress) -> list[ArchivedFile]:
        """Write the files and make them part of the archive, some after the other."""
        new = []
        for written in run_tasks(tasks):
            done = sorted(written)
            self.manifest.publish((file, pathlib.Path(path)) for file, path in done)
            new += [file for file, _ in done]
            progress.advance(sum(file.until_offset - file.from_offset for file, _ in done))
        return new


def archive_topics(
    transport: Transport,
    selects: Callable[[str, int], bool],
    target: str | pathlib.Path,
    settings: ArchiveSettings,
    run_tasks: RunTasks,
) -> dict[str, list[ArchivedFile]]:
    """Archive what the transport offers and ``selects`` chooses; topic -> the files that are new.

    Raises DataLossError, ValueError for a target that was archived with another isolation level, BlockingIOError
    when another run is at work on a topic, and what reading and writing raise. What was published until then stays.
    """
    topics: dict[str, dict[int, PartitionOffsets]] = {}
    for (topic, partition), offsets in transport.partitions(selects).items():
        topics.setdefault(topic, {})[partition] = offsets
    new = {}
    for topic, partitions in sorted(topics.items()):
        with TopicArchive(pathlib.Path(target), topic, settings) as topic_archive:
            tasks = topic_archive.plan(transport, partitions)
            total = sum(task.piece.until_offset - task.piece.from_offset for task in tasks)
            with Progress(f"archiving {topic}", total) as progress:
                new[topic] = topic_archive.run(tasks, run_tasks, progress)
    return new


def run_here(tasks: Sequence[ArchiveTask]) -> Iterator[list[WrittenFile]]:
    """One task after the other, in this process."""
    for task in tasks:
        yield [task.run()]


def run_in(spark: SparkSession) -> RunTasks:
    """In the executors of a session, which must see the target's directory; some files per core and job."""
    at_once = spark.sparkContext.defaultParallelism * _FILES_PER_CORE_AND_JOB

    def run(tasks: Sequence[ArchiveTask]) -> Iterator[list[WrittenFile]]:
        for first in range(0, len(tasks), at_once):
            yield run_in_spark(spark, tasks[first : first + at_once])

    return run


def archive(
    spark: SparkSession | None,
    log_dirs: str | None,
    target: str | pathlib.Path,
    *,
    subscribe: str | None = None,
    subscribe_pattern: str | None = None,
    assign: str | None = None,
    settings: ArchiveSettings | None = None,
    options: Mapping[str, str] | None = None,
) -> dict[str, list[ArchivedFile]]:
    """Archive what is new of some topics under ``target``; topic -> the new files.

    ``log_dirs`` are directories or globs, separated by commas; exactly one of ``subscribe`` (topics separated by
    commas), ``subscribe_pattern`` and ``assign`` (JSON) says which partitions. Further ``options`` are those of the
    source that tell where records come from (brokers, replica, kafka.bootstrap.servers); with log_dirs None and
    kafka.bootstrap.servers the brokers are asked for the records. Raises ValueError for wrong options, also for those
    that say again what the settings say, and as archive_topics does.
    """
    settings = settings or ArchiveSettings()
    settings = settings._replace(isolation=settings.isolation.strip().lower())
    if settings.max_file_bytes < 1:
        raise ValueError(f"max_file_bytes must be positive, not {settings.max_file_bytes}")
    twice = sorted(name for name in options or {} if name.lower() in _SAID_BY_SETTINGS)
    if twice:
        raise ValueError(f"ArchiveSettings say what option {', '.join(twice)} would")
    strategy = {"subscribe": subscribe, "subscribePattern": subscribe_pattern, "assign": assign, "logDirs": log_dirs}
    given = {name: value for name, value in strategy.items() if value is not None}
    source = KafkaSourceOptions({**given, **(options or {}), "isolation.level": settings.isolation})
    for name in source.given:
        if name.startswith(_NOT_FOR_ARCHIVES):
            raise ValueError(f"An archive holds all records of a partition: option {name} has no meaning for it")
    transport = source.transport()
    try:
        run_tasks = run_here if spark is None else run_in(spark)
        return archive_topics(transport, source.strategy.selects, target, settings, run_tasks)
    finally:
        transport.close()
