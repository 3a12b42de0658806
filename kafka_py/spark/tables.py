"""The source ``kafka_log_files``: the small files of log directories as tables, one table per kind of file.

    spark.read.format("kafka_log_files").option("logDirs", "/var/kafka").option("table", "offset_index").load()

==================  ====================================================================================
``table``           one row for
==================  ====================================================================================
files               each file of the log directories, those waiting for deletion included
offset_index        each entry of the ``.index`` files
time_index          each entry of the ``.timeindex`` files
transaction_index   each aborted transaction in the ``.txnindex`` files
producer_snapshot   each producer in the ``.snapshot`` files
leader_epochs       each line of the ``leader-epoch-checkpoint`` files
checkpoints         each line of the offset checkpoints (high watermarks, log starts, recovery, cleaning)
meta                each property of the ``meta.properties`` files
==================  ====================================================================================

Every row begins with ``broker``, ``path``, ``topic`` and ``partition`` and ends with ``error``. A file that cannot be
understood gives one row whose ``error`` says why, so one damaged file does not hide the others. Offsets are absolute,
whatever the file has.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kafka_py.common.errors import KafkaException
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.spark.layout import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    META_PROPERTIES,
    UNKNOWN_BROKER,
    LogDir,
    LogDirs,
)
from kafka_py.spark.offsets import STRATEGIES, ConsumerStrategy, strategy_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

Columns = Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]

OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
TXN_ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producerId", ">i8"),
        ("firstOffset", ">i8"),
        ("lastOffset", ">i8"),
        ("lastStableOffset", ">i8"),
    ]
)
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS = (HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS, CLEANER_OFFSETS)
LIVE, DELETED, FUTURE = "live", "deleted", "future"
# what Spark and Python can show as a point in time: the years 1 to 9999, in ms since 1970
_FIRST_TIMESTAMP, _LAST_TIMESTAMP = -62_135_596_800_000, 253_402_300_799_999
_DIRECTORIES_PER_TASK = 256


class Place(NamedTuple):
    """One directory to look into: a partition's, or a log directory itself (then without topic).

    ``state`` is LIVE, DELETED (waits for its deletion) or FUTURE (is being moved here).
    """

    log_dir: LogDir
    path: str
    topic: str | None = None
    partition: int | None = None
    state: str = LIVE


@dataclass
class Places(InputPartition):
    """The directories that one task looks into."""

    places: tuple[Place, ...]


class LogDirOptions:
    """Where to look, and at which partitions: options logDirs (or path), brokers, subscribe, subscribePattern, assign.

    The directories are named as for LogDirs. Without one of the last three all partitions are meant. Raises ValueError
    for options that are missing or contradict each other.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.given = {name.lower(): value.strip() for name, value in options.items()}
        log_dirs = self.given.get("logdirs") or self.given.get("path")
        self.log_dirs = LogDirs.of(log_dirs, self.given.get("brokers"))
        self._strategy = self._consumer_strategy()

    def _consumer_strategy(self) -> ConsumerStrategy:
        chosen = [name for name in STRATEGIES if name in self.given]
        if len(chosen) > 1:
            raise ValueError(f"Only one of these options can be given: {', '.join(chosen)}")
        # internal topics too: these are tables of what is there
        option, value = (chosen[0], self.given[chosen[0]]) if chosen else ("subscribepattern", ".*")
        return strategy_of(option, value, internal_topics=True)

    def selects(self, topic: str, partition: int) -> bool:
        """Whether a partition is meant."""
        return self._strategy.selects(topic, partition)

    def places(self) -> Iterator[Place]:
        """Each log directory itself, followed by the directories of the selected partitions in it."""
        for log_dir in self.log_dirs.dirs:
            yield Place(log_dir, log_dir.path)
            for name in sorted(os.listdir(log_dir.path)):
                path = os.path.join(log_dir.path, name)
                try:
                    topic, partition = LogFileUtils.parse_topic_partition_name(name)
                except KafkaException:
                    continue  # a file, or a directory that is none of Kafka's
                if self.selects(topic, partition) and os.path.isdir(path):
                    yield Place(log_dir, path, topic, partition, _state(name))


LogDirsOf = str | Sequence[str] | Mapping[int, str | Sequence[str]]


def log_dir_options(log_dirs: LogDirsOf) -> dict[str, str]:
    """The option logDirs or brokers for directories as functions take them: one, several, or by broker."""
    if isinstance(log_dirs, str):
        return {"logDirs": log_dirs}
    if not isinstance(log_dirs, Mapping):
        return {"logDirs": ",".join(log_dirs)}
    by_broker = {broker: [paths] if isinstance(paths, str) else paths for broker, paths in log_dirs.items()}
    return {"brokers": ",".join(f"{broker}={path}" for broker, paths in by_broker.items() for path in paths)}


def _state(name: str) -> str:
    if name.endswith(LogFileUtils.DELETE_DIR_SUFFIX):
        return DELETED
    return FUTURE if name.endswith(LogFileUtils.FUTURE_DIR_SUFFIX) else LIVE


# ---- reading single files; used by verify as well --------------------------------------------------------------------


class IndexBytes(NamedTuple):
    """What an index file holds: its entries, zeros reserved for later ones, and bytes too few for an entry."""

    entries: bytes
    reserved: int
    odd: int


def index_bytes(path: str | os.PathLike[str], entry_size: int) -> IndexBytes:
    """Read an index up to the last entry that is not all zeros. Raises OSError.

    The zeros behind are the room that the broker reserves in the active segment. Zeros before an entry are kept: no
    broker leaves them there.
    """
    data = pathlib.Path(path).read_bytes()
    whole = len(data) // entry_size * entry_size
    used = min(-(-len(data.rstrip(b"\0")) // entry_size) * entry_size, whole)
    return IndexBytes(data[:used], whole - used, len(data) - whole)


def checkpoint_lines(path: pathlib.Path, fields: int) -> list[list[str]]:
    """The fields of each entry of a checkpoint file; ValueError if the broker would refuse the file, or OSError."""
    lines = path.read_text(errors="replace").splitlines()
    if not lines or lines == ["0"]:
        return []  # made by the broker, nothing written yet
    if lines[0].strip() != "0":
        raise ValueError(f"Unrecognized version of the checkpoint file: {lines[0]!r}")
    entries = [line.split() for line in lines[2:]]
    if any(len(entry) != fields for entry in entries):
        raise ValueError(f"Malformed line in checkpoint file: an entry has not {fields} fields")
    if len(entries) != int(lines[1]):
        raise ValueError(f"Expected {lines[1]} entries in checkpoint file, but found {len(entries)}")
    return entries


def offset_checkpoint(path: pathlib.Path) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset, empty without the file; ValueError or OSError if it cannot be read."""
    if not path.exists():
        return {}
    return {(topic, int(partition)): int(offset) for topic, partition, offset in checkpoint_lines(path, 3)}


def leader_epochs(path: pathlib.Path) -> list[tuple[int, int]]:
    """(epoch, start offset) of a leader epoch checkpoint; ValueError or OSError if it cannot be read."""
    return [(int(epoch), int(start)) for epoch, start in checkpoint_lines(path, 2)]


def properties(path: pathlib.Path) -> dict[str, str]:
    """The properties of a meta.properties file. Raises OSError."""
    lines = (line.strip() for line in path.read_text(encoding="iso-8859-1").splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    return {key.strip(): value.strip() for key, _, value in pairs}


def timestamps(milliseconds: Any) -> pa.Array:
    """Points in time; null for -1 (no timestamp) and for what no calendar has (damage)."""
    values = np.asarray(milliseconds, np.int64)
    none = (values == -1) | (values < _FIRST_TIMESTAMP) | (values > _LAST_TIMESTAMP)
    return pa.array(np.where(none, 0, values) * 1000, mask=none).cast(pa.int64()).cast(pa.timestamp("us", "UTC"))


# ---- the tables ------------------------------------------------------------------------------------------------------


def _offset_index(path: pathlib.Path) -> Columns:
    entries = np.frombuffer(index_bytes(path, OFFSET_ENTRY.itemsize).entries, OFFSET_ENTRY)
    base = LogFileUtils.offset_from_file(path)
    return {
        "entry": np.arange(len(entries), dtype=np.int32),
        "offset": entries["offset"].astype(np.int64) + base,
        "position": entries["position"].astype(np.int32),
    }


def _time_index(path: pathlib.Path) -> Columns:
    entries = np.frombuffer(index_bytes(path, TIME_ENTRY.itemsize).entries, TIME_ENTRY)
    base = LogFileUtils.offset_from_file(path)
    return {
        "entry": np.arange(len(entries), dtype=np.int32),
        "timestamp": timestamps(entries["timestamp"].astype(np.int64)),
        "offset": entries["offset"].astype(np.int64) + base,
    }


def _transaction_index(path: pathlib.Path) -> Columns:
    data = path.read_bytes()
    entries = np.frombuffer(data[: len(data) // TXN_ENTRY.itemsize * TXN_ENTRY.itemsize], TXN_ENTRY)
    columns = {name: entries[name].astype(np.int64) for name in TXN_ENTRY.names or () if name != "version"}
    return {
        "entry": np.arange(len(entries), dtype=np.int32),
        "version": entries["version"].astype(np.int32),
        **columns,
    }


def _producer_snapshot(path: pathlib.Path) -> Columns:
    entries = ProducerStateManager.read_snapshot(path)
    batches = [entry.batch_metadata[0] for entry in entries]
    return {
        "snapshotOffset": [LogFileUtils.offset_from_file(path)] * len(entries),
        "producerId": [entry.producer_id for entry in entries],
        "producerEpoch": [entry.producer_epoch for entry in entries],
        "firstSequence": [batch.first_seq for batch in batches],
        "lastSequence": [batch.last_seq for batch in batches],
        "lastOffset": [batch.last_offset for batch in batches],
        "offsetDelta": [batch.offset_delta for batch in batches],
        "timestamp": timestamps([batch.timestamp for batch in batches]),
        "coordinatorEpoch": [entry.coordinator_epoch for entry in entries],
        "currentTxnFirstOffset": [entry.current_txn_first_offset for entry in entries],
    }


def _leader_epochs(path: pathlib.Path) -> Columns:
    entries = leader_epochs(path)
    return {"epoch": [epoch for epoch, _ in entries], "startOffset": [start for _, start in entries]}


def _checkpoints(path: pathlib.Path) -> Columns:
    entries = offset_checkpoint(path)
    return {
        "checkpoint": [path.name] * len(entries),
        "topic": [topic for topic, _ in entries],
        "partition": [partition for _, partition in entries],
        "offset": list(entries.values()),
    }


def _meta(path: pathlib.Path) -> Columns:
    found = properties(path)
    return {"key": list(found), "value": list(found.values())}


def _file(path: pathlib.Path) -> Columns:
    status = path.stat()
    digits, _, suffix = path.name.partition(".")
    segment = len(digits) == 20 and digits.isdecimal()
    return {
        "name": [path.name],
        "suffix": [f".{suffix}" if segment else ""],
        "baseOffset": [int(digits) if segment else None],
        "sizeInBytes": [status.st_size],
        "allocatedBytes": [status.st_blocks * 512],
        "lastModified": timestamps([status.st_mtime_ns // 1_000_000]),
    }


class Table(NamedTuple):
    """One value of option ``table``: which files it reads, how, and what its own columns are.

    ``parse`` raises ValueError, KafkaException or OSError for a file that it cannot read.
    """

    columns: tuple[tuple[str, pa.DataType], ...]
    wants: Callable[[Place, str], bool]
    parse: Callable[[pathlib.Path], Columns]

    @property
    def schema(self) -> pa.Schema:
        """All columns of the table."""
        return pa.schema([*_FIRST_COLUMNS, *self.columns, ("error", pa.string())])


def _of_segments(suffix: str) -> Callable[[Place, str], bool]:
    return lambda place, name: place.topic is not None and place.state == LIVE and name.endswith(suffix)


def _in_log_dir(*names: str) -> Callable[[Place, str], bool]:
    return lambda place, name: place.topic is None and name in names


_INT, _LONG, _TEXT, _TIME = pa.int32(), pa.int64(), pa.string(), pa.timestamp("us", "UTC")
_FIRST_COLUMNS = (("broker", _INT), ("path", _TEXT), ("topic", _TEXT), ("partition", _INT))
TABLES: dict[str, Table] = {
    "files": Table(
        (
            ("state", _TEXT),
            ("name", _TEXT),
            ("suffix", _TEXT),
            ("baseOffset", _LONG),
            ("sizeInBytes", _LONG),
            ("allocatedBytes", _LONG),
            ("lastModified", _TIME),
        ),
        lambda place, name: True,
        _file,
    ),
    "offset_index": Table(
        (("entry", _INT), ("offset", _LONG), ("position", _INT)),
        _of_segments(LogFileUtils.INDEX_FILE_SUFFIX),
        _offset_index,
    ),
    "time_index": Table(
        (("entry", _INT), ("timestamp", _TIME), ("offset", _LONG)),
        _of_segments(LogFileUtils.TIME_INDEX_FILE_SUFFIX),
        _time_index,
    ),
    "transaction_index": Table(
        (
            ("entry", _INT),
            ("version", _INT),
            ("producerId", _LONG),
            ("firstOffset", _LONG),
            ("lastOffset", _LONG),
            ("lastStableOffset", _LONG),
        ),
        _of_segments(LogFileUtils.TXN_INDEX_FILE_SUFFIX),
        _transaction_index,
    ),
    "producer_snapshot": Table(
        (
            ("snapshotOffset", _LONG),
            ("producerId", _LONG),
            ("producerEpoch", _INT),
            ("firstSequence", _INT),
            ("lastSequence", _INT),
            ("lastOffset", _LONG),
            ("offsetDelta", _INT),
            ("timestamp", _TIME),
            ("coordinatorEpoch", _INT),
            ("currentTxnFirstOffset", _LONG),
        ),
        _of_segments(LogFileUtils.PRODUCER_SNAPSHOT_FILE_SUFFIX),
        _producer_snapshot,
    ),
    "leader_epochs": Table(
        (("epoch", _INT), ("startOffset", _LONG)),
        lambda place, name: place.topic is not None and place.state == LIVE and name == LEADER_EPOCHS,
        _leader_epochs,
    ),
    "checkpoints": Table((("checkpoint", _TEXT), ("offset", _LONG)), _in_log_dir(*OFFSET_CHECKPOINTS), _checkpoints),
    "meta": Table((("key", _TEXT), ("value", _TEXT)), _in_log_dir(META_PROPERTIES), _meta),
}


# ---- the source ------------------------------------------------------------------------------------------------------


class KafkaLogFiles(DataSource):
    """Spark asks this class for the schema of one table and for its reader."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kafka_log_files"

    def schema(self) -> StructType:
        """The columns of the table that option ``table`` names; ValueError if there is none of that name."""
        return from_arrow_schema(TABLES[self._table()].schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A schema of the user's with fewer columns is a projection. Raises ValueError for wrong options."""
        table = self._table()
        return KafkaLogFilesReader(LogDirOptions(self.options), table, projection(TABLES[table].schema, schema))

    def _table(self) -> str:
        name = {key.lower(): value for key, value in self.options.items()}.get("table", "")
        if name not in TABLES:
            raise ValueError(f"Option 'table' must be one of {', '.join(TABLES)}, not {name!r}")
        return name


def broker_or_none(broker_id: int) -> int | None:
    """A broker's id, None if it is not known."""
    return None if broker_id == UNKNOWN_BROKER else broker_id


def projection(full: pa.Schema, wanted: StructType) -> pa.Schema:
    """The wanted ones of a source's columns; ValueError for one that it has not."""
    unknown = [name for name in wanted.fieldNames() if name not in full.names]
    if unknown:
        raise ValueError(f"There is no column {', '.join(unknown)}, only {', '.join(full.names)}")
    return pa.schema([full.field(name) for name in wanted.fieldNames()])


class KafkaLogFilesReader(DataSourceReader):
    """Plans which directories each task reads, and reads them."""

    def __init__(self, options: LogDirOptions, table: str, schema: pa.Schema) -> None:
        self._options = options
        self._table = table
        self._schema = schema

    def partitions(self) -> list[Places]:
        """The directories, some hundred to a task."""
        places = tuple(self._options.places())
        return [Places(places[i : i + _DIRECTORIES_PER_TASK]) for i in range(0, len(places), _DIRECTORIES_PER_TASK)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: one Arrow batch per file. A file deleted meanwhile gives nothing."""
        table = TABLES[self._table]
        for place in partition.places if isinstance(partition, Places) else ():
            for name in names_in(place.path):
                if table.wants(place, name):
                    path = pathlib.Path(place.path, name)
                    try:
                        yield self._batch(place, path, table.parse(path))
                    except FileNotFoundError:
                        continue
                    except (OSError, ValueError, OverflowError, KafkaException) as e:
                        yield self._batch(place, path, {"error": [f"{type(e).__name__}: {e}"]})

    def _batch(self, place: Place, path: pathlib.Path, own: Columns) -> pa.RecordBatch:
        rows = len(next(iter(own.values())))
        columns = {
            "broker": [broker_or_none(place.log_dir.broker_id)] * rows,
            "path": [str(path)] * rows,
            "topic": [place.topic] * rows,
            "partition": [place.partition] * rows,
            "state": [place.state] * rows,
            **own,
        }
        return pa.RecordBatch.from_arrays(
            [pa.array(columns.get(field.name, [None] * rows), field.type) for field in self._schema],
            schema=self._schema,
        )


def names_in(directory: str) -> list[str]:
    """The files of a directory, sorted; none if it was deleted meanwhile."""
    try:
        return sorted(entry.name for entry in os.scandir(directory) if entry.is_file())
    except FileNotFoundError:
        return []
