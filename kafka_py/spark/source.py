"""The batch source ``kafka_segments``: Spark's Kafka schema and options, read from the segments of log directories.

    spark.read.format("kafka_segments").option("logDirs", "/var/kafka").option("subscribe", "t").load()

Class names are those of Spark's own connector (org.apache.spark.sql.kafka010), because its readers know them.
"""

from __future__ import annotations

import glob
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafka_py.spark.arrow_decoder import COLUMNS, RecordBatchDecoder, iter_segment
from kafka_py.spark.layout import ReplicaDir, SegmentFile, index_positions, replica_dirs

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
STRATEGIES = ("assign", "subscribe", "subscribepattern")
EARLIEST, LATEST = -2, -1
DEFAULT_MAX_PARTITION_BYTES = 128 << 20
TopicPartitionName = tuple[str, int]


@dataclass
class SegmentRange(InputPartition):
    """A piece of work for one task: byte ranges of segments, and the offsets wanted of them."""

    topic: str
    partition: int
    from_offset: int
    until_offset: int
    path: str
    start: int
    end: int


class KafkaSourceProvider(DataSource):
    """Spark asks this class for the schema and for a reader."""

    @classmethod
    def name(cls) -> str:
        return "kafka_segments"

    def schema(self) -> StructType:
        return StructType([StructField(name, _TYPES[name]) for name in COLUMNS])

    def reader(self, schema: StructType) -> DataSourceReader:
        """Raises ValueError, with Spark's texts, for options that contradict each other or are missing.

        A schema of the user's with fewer columns is a projection: only those are decoded.
        """
        unknown = [name for name in schema.fieldNames() if name not in _TYPES]
        if unknown:
            raise ValueError(f"kafka_segments has no column {', '.join(unknown)}; it has {', '.join(COLUMNS)}")
        return KafkaBatch(KafkaSourceOptions(dict(self.options)), tuple(schema.fieldNames()))


class KafkaSourceOptions:
    """The options, checked: what to read, between which offsets, and how."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        dirs = given.get("logdirs") or given.get("path")
        if not dirs:
            raise ValueError("Option 'logDirs' must be set: the log.dirs of the brokers, separated by commas")
        self.log_dirs = [found for part in dirs.split(",") for found in sorted(glob.glob(part.strip()))]
        if not self.log_dirs:
            raise ValueError(f"No log directory found at {dirs}")
        strategies = [name for name in STRATEGIES if name in given]
        if not strategies:
            raise ValueError(
                "One of the following options must be specified for Kafka source: subscribe, subscribepattern, assign. "
                "See the docs for more details."
            )
        if len(strategies) > 1:
            raise ValueError(
                "Only one of the following options can be specified for Kafka source: subscribe, subscribepattern, "
                "assign. See the docs for more details."
            )
        self.strategy, self.strategy_value = strategies[0], given[strategies[0]]
        self.starting = given.get("startingoffsets", "earliest").strip()
        self.ending = given.get("endingoffsets", "latest").strip()
        if self.starting.lower() == "latest":
            raise ValueError("starting offset can't be latest for batch queries on Kafka")
        if self.ending.lower() == "earliest":
            raise ValueError("ending offset can't be earliest for batch queries on Kafka")
        if given.get("includeheaders", "false").lower() == "true":
            raise ValueError("kafka_segments cannot read headers yet: leave includeHeaders out")
        self.fail_on_data_loss = given.get("failondataloss", "true").lower() == "true"
        self.check_crcs = given.get("checkcrcs", "true").lower() == "true"
        self.max_partition_bytes = int(given.get("maxpartitionbytes", DEFAULT_MAX_PARTITION_BYTES))
        if self.max_partition_bytes <= 0:
            raise ValueError("maxPartitionBytes must be positive")

    def selects(self, topic: str, partition: int) -> bool:
        """Whether assign, subscribe or subscribePattern names this partition."""
        if self.strategy == "subscribe":
            return topic in [name.strip() for name in self.strategy_value.split(",")]
        if self.strategy == "subscribepattern":
            return re.fullmatch(self.strategy_value.strip(), topic) is not None
        return partition in json.loads(self.strategy_value).get(topic, [])

    def offset_of(self, text: str, name: TopicPartitionName) -> int:
        """The offset that startingOffsets or endingOffsets gives for a partition: a number, EARLIEST or LATEST."""
        words = {"earliest": EARLIEST, "latest": LATEST, "unsafe-end": LATEST}
        if text.lower() in words:
            return words[text.lower()]
        given = json.loads(text).get(name[0], {}).get(str(name[1]))
        if given is None:
            raise ValueError(
                f"If startingOffsets or endingOffsets contains specific offsets, you must specify all TopicPartitions. "
                f"Use -1 for latest, -2 for earliest. Missing: {name[0]}-{name[1]}"
            )
        return int(given)


class KafkaBatch(DataSourceReader):
    """Plans the tasks of one batch query: who reads which bytes of which segment."""

    def __init__(self, options: KafkaSourceOptions, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[SegmentRange]:
        """One or more ranges per partition. Raises ValueError for data loss unless failOnDataLoss is false."""
        best: dict[TopicPartitionName, ReplicaDir] = {}
        for replica in replica_dirs(self._options.log_dirs):
            name = (replica.topic, replica.partition)
            if self._options.selects(*name) and (
                name not in best or replica.high_watermark > best[name].high_watermark
            ):
                best[name] = replica
        return [piece for _, replica in sorted(best.items()) for piece in self._ranges_of(replica)]

    def _ranges_of(self, replica: ReplicaDir) -> Iterator[SegmentRange]:
        start, until = self._offsets(replica)
        for segment, following in zip(replica.segments, (*replica.segments[1:], None), strict=True):
            ends_before = following is not None and following.base_offset <= start
            if ends_before or segment.base_offset >= until:
                continue
            for first, last in split(segment, start, until, self._options.max_partition_bytes):
                yield SegmentRange(replica.topic, replica.partition, start, until, segment.path, first, last)

    def _offsets(self, replica: ReplicaDir) -> tuple[int, int]:
        options, name = self._options, (replica.topic, replica.partition)
        unsafe = options.ending.lower() == "unsafe-end"
        limit = replica.log_end_offset if unsafe else replica.high_watermark
        start, until = options.offset_of(options.starting, name), options.offset_of(options.ending, name)
        start = replica.log_start_offset if start == EARLIEST else limit if start == LATEST else start
        until = limit if until == LATEST else replica.log_start_offset if until == EARLIEST else until
        if start < replica.log_start_offset or until > limit:
            lost = (
                f"Partition {name[0]}-{name[1]}: offsets {start} to {until} were asked for, but only "
                f"{replica.log_start_offset} to {limit} can be read. Some data may have been lost because they are not "
                "available in Kafka any more; either the data was aged out by Kafka or the topic may have been deleted "
                "before all the data in the topic was processed. If you don't want your query to fail on such cases, "
                'set the source option "failOnDataLoss" to "false".'
            )
            if options.fail_on_data_loss:
                raise ValueError(lost)
            start, until = max(start, replica.log_start_offset), min(until, limit)
        return start, until

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: Arrow batches of one range. Spark passes no range when there is nothing to read."""
        if isinstance(partition, SegmentRange):
            yield from KafkaBatchPartitionReader(partition, self._columns, self._options.check_crcs).tables()


def split(segment: SegmentFile, start: int, until: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Byte ranges of a segment, each about max_bytes, cut at index entries (which are batch boundaries).

    An index entry holds the last offset of an append and the position where it begins. So the append of the first
    entry at or above ``until`` may still hold records below it; the one after cannot.
    """
    entries = [(segment.base_offset, 0), *index_positions(segment)]
    first = max((position for offset, position in entries if offset <= start), default=0)
    beyond = (after[1] for entry, after in itertools.pairwise(entries) if entry[0] >= until)
    last = min((position for position in beyond if position > first), default=segment.size)
    cut = first
    for _, position in entries:
        if position - cut >= max_bytes and position < last:
            yield cut, position
            cut = position
    if cut < last:
        yield cut, last


class KafkaBatchPartitionReader:
    """Reads one range: opens the segment, decodes chunk after chunk."""

    def __init__(self, work: SegmentRange, columns: tuple[str, ...], check_crcs: bool) -> None:
        self._work = work
        self._decoder = RecordBatchDecoder(work.topic, work.partition, columns, check_crcs=check_crcs)

    def tables(self) -> Iterator[pa.RecordBatch]:
        work = self._work
        with open(work.path, "rb", buffering=0) as file:
            yield from iter_segment(file, self._decoder, work.start, work.end, work.from_offset, work.until_offset)


def column_types() -> Mapping[str, Any]:
    """Column name -> Spark type, for callers who build a projection schema."""
    return dict(_TYPES)
