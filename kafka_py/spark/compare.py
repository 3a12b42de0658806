"""Where replicas of a partition differ: `replicas` shows how far each is, `compare` the batches that are not the same.

    replicas(spark, {1: "/data/b1", 2: "/data/b2"}).show()
    compare(spark, {1: "/data/b1", 2: "/data/b2"}).show()
    first_divergence(spark, {1: "/data/b1", 2: "/data/b2"}).show()

Followers copy the leader's bytes. So below the high watermark all replicas have the same batches, unless one was
damaged or an unclean election took records back that were given out.
"""

from __future__ import annotations

import functools
import json
import operator
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark.batches import ALL_REPLICAS, UNSAFE_END, KafkaBatches
from kafka_py.spark.batches import SCHEMA as BATCHES
from kafka_py.spark.layout import ReplicaDir
from kafka_py.spark.offsets import JsonUtils
from kafka_py.spark.tables import (
    CLEANER_OFFSETS,
    LogDirOptions,
    LogDirsOf,
    broker_or_none,
    log_dir_options,
    offset_checkpoint,
    projection,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

SCHEMA = pa.schema(
    [
        ("broker", pa.int32()),
        ("path", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("logStartOffset", pa.int64()),
        ("highWatermark", pa.int64()),
        ("logEndOffset", pa.int64()),
        ("firstDirtyOffset", pa.int64()),  # null where the cleaner has not been
        ("lastEpoch", pa.int32()),
        ("lastEpochStartOffset", pa.int64()),
        ("segments", pa.int32()),
        ("sizeInBytes", pa.int64()),
    ]
)
MISSING, DIFFERENT = "missing", "different"
_COMPARED = ("lastOffset", "sizeInBytes", "crc", "partitionLeaderEpoch", "crcValid")
_KEY = ("topic", "partition", "baseOffset")
_REPLICAS_PER_TASK = 256


class KafkaReplicas(DataSource):
    """The source ``kafka_replicas``: one row per partition directory, as its checkpoints and last segment say."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kafka_replicas"

    def schema(self) -> StructType:
        """The columns of a replica."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A schema of the user's with fewer columns is a projection. Raises ValueError for wrong options."""
        return KafkaReplicasReader(LogDirOptions(self.options), projection(SCHEMA, schema))


class Replica(NamedTuple):
    """A replica, and the offset below which the cleaner may have been, None if it was not."""

    directory: ReplicaDir
    first_dirty_offset: int | None


@dataclass
class Replicas(InputPartition):
    """The replicas that one task looks at."""

    replicas: tuple[Replica, ...]


class KafkaReplicasReader(DataSourceReader):
    """Plans which replicas each task looks at, and looks at them."""

    def __init__(self, options: LogDirOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> list[Replicas]:
        """The replicas, some hundred to a task. Raises OSError, or ValueError for a bad checkpoint."""
        found = find_replicas(self._options)
        return [Replicas(tuple(found[i : i + _REPLICAS_PER_TASK])) for i in range(0, len(found), _REPLICAS_PER_TASK)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: reads the end of each log. A replica deleted meanwhile gives no row."""
        rows = []
        for replica in partition.replicas if isinstance(partition, Replicas) else ():
            try:
                rows.append(_row(replica))
            except FileNotFoundError:
                continue
        yield pa.RecordBatch.from_pylist(rows, schema=self._schema)


def find_replicas(options: LogDirOptions) -> list[Replica]:
    """The selected partitions in all directories. Raises OSError, or ValueError for a bad checkpoint."""
    cleaned = {
        (log_dir.broker_id, name): offset
        for log_dir in options.log_dirs.dirs
        for name, offset in offset_checkpoint(pathlib.Path(log_dir.path, CLEANER_OFFSETS)).items()
    }
    return [
        Replica(replica, cleaned.get((replica.broker_id, (replica.topic, replica.partition))))
        for replica in options.log_dirs.replicas(options.selects)
    ]


def _row(replica: Replica) -> dict[str, Any]:
    directory = replica.directory
    epochs = directory.leader_epochs
    return {
        "broker": broker_or_none(directory.broker_id),
        "path": directory.path,
        "topic": directory.topic,
        "partition": directory.partition,
        "logStartOffset": directory.log_start_offset,
        "highWatermark": directory.high_watermark,
        "logEndOffset": directory.log_end_offset,
        "firstDirtyOffset": replica.first_dirty_offset,
        "lastEpoch": epochs[-1][0] if epochs else None,
        "lastEpochStartOffset": epochs[-1][1] if epochs else None,
        "segments": len(directory.segments),
        "sizeInBytes": directory.size,
    }


def replicas(spark: SparkSession, brokers: LogDirsOf, **options: str) -> DataFrame:
    """How far each replica is: log start, high watermark, log end, last epoch, and where the cleaner has been.

    ``brokers`` maps brokers to their directories. Options: subscribe, subscribePattern or assign. Raises ValueError
    when the query runs, for directories and options that are wrong.
    """
    return spark.read.format(KafkaReplicas.name()).options(**log_dir_options(brokers), **options).load()


class Bounds(NamedTuple):
    """The brokers that have a partition, and the offsets that can be compared: those that all of them must have."""

    partition: TopicPartition
    brokers: tuple[int, ...]
    start: int
    until: int


def common_bounds(found: Sequence[Replica], uncommitted: bool) -> list[Bounds]:
    """For each partition on several brokers the offsets to compare.

    They begin where every log has begun and no cleaner has been, for cleaners work at different times. They end at the
    lowest high watermark, or if ``uncommitted`` at the lowest log end.
    """
    by_partition: dict[TopicPartition, list[Replica]] = {}
    for replica in found:
        by_partition.setdefault(replica.directory.topic_partition, []).append(replica)
    return [
        Bounds(
            partition,
            tuple(replica.directory.broker_id for replica in group),
            max(max(replica.directory.log_start_offset, replica.first_dirty_offset or 0) for replica in group),
            min(
                replica.directory.log_end_offset if uncommitted else replica.directory.high_watermark
                for replica in group
            ),
        )
        for partition, group in sorted(by_partition.items())
        if len(group) > 1
    ]


def compare(
    spark: SparkSession,
    brokers: Mapping[int, str | Sequence[str]],
    *,
    uncommitted: bool = False,
    check_crcs: bool = True,
    **options: str,
) -> DataFrame:
    """The batches that are not the same on all brokers that have their partition.

    Columns: topic, partition, baseOffset; kind, MISSING if a broker has no batch with that base offset, else DIFFERENT;
    and replicas, an array with an element for each broker that has the partition: its batch's last offset, size, CRC,
    epoch, and whether the CRC is right (all null if it has no such batch). A wrong CRC counts as different, even if the
    headers are the same.

    Compared is what every replica must have: see common_bounds. Options: subscribe, subscribePattern or assign. Raises
    ValueError for directories and options that are wrong, and for less than two brokers.
    """
    if len(brokers) < 2:
        raise ValueError("At least two brokers are needed for a comparison")
    names = log_dir_options(brokers)
    bounds = common_bounds(find_replicas(LogDirOptions({**names, **options})), uncommitted)
    ids = sorted(brokers)
    limits = spark.createDataFrame(
        [(*one.partition, sum(1 << ids.index(id_) for id_ in one.brokers), one.start, one.until) for one in bounds],
        "topic string, partition int, holders long, start long, until long",
    )
    batches = _batches(spark, names, bounds, check_crcs).join(f.broadcast(limits), ["topic", "partition"])
    side_by_side = (
        batches.where("baseOffset >= start and lastOffset < until")
        .groupBy(*_KEY)
        .agg(f.max("holders").alias("holders"), *(_of_broker(name, id_) for id_ in ids for name in _COMPARED))
    )
    holds = {id_: f.col("holders").bitwiseAND(1 << i) != 0 for i, id_ in enumerate(ids)}
    missing = _any(holds[id_] & f.col(f"crc_{id_}").isNull() for id_ in ids)
    unequal = _any(_greatest(name, ids) != _least(name, ids) for name in _COMPARED if name != "crcValid")
    invalid = _any(f.coalesce(~f.col(f"crcValid_{id_}"), f.lit(False)) for id_ in ids)
    return side_by_side.where(missing | unequal | invalid).select(
        *_KEY,
        f.when(missing, MISSING).otherwise(DIFFERENT).alias("kind"),
        f.array_compact(f.array(*(f.when(holds[id_], _struct(id_)) for id_ in ids))).alias("replicas"),
    )


def first_divergence(spark: SparkSession, brokers: Mapping[int, str | Sequence[str]], **options: Any) -> DataFrame:
    """Where the replicas of each partition part: topic, partition and the first base offset that `compare` lists.

    Partitions whose replicas are the same have no row. Arguments and errors are those of `compare`.
    """
    return compare(spark, brokers, **options).groupBy("topic", "partition").agg(f.min("baseOffset").alias("offset"))


def _batches(spark: SparkSession, names: Mapping[str, str], bounds: Sequence[Bounds], check_crcs: bool) -> DataFrame:
    """The batches of all brokers from where each partition can be compared."""
    partitions: dict[str, list[int]] = {}
    for one in bounds:
        partitions.setdefault(one.partition.topic, []).append(one.partition.partition)
    return (
        spark.read.format(KafkaBatches.name())
        .schema(from_arrow_schema(pa.schema([BATCHES.field(name) for name in ("broker", *_KEY, *_COMPARED)])))
        .options(
            **names,
            assign=json.dumps(partitions),
            replica=ALL_REPLICAS,
            startingOffsets=JsonUtils.partition_offsets_json({one.partition: one.start for one in bounds}),
            endingOffsets=UNSAFE_END,
            checkCrcs=str(check_crcs).lower(),
        )
        .load()
    )


def _of_broker(name: str, broker: int) -> Column:
    """A column of one broker's batch, null if it has none there."""
    return f.max(f.when(f.col("broker") == broker, f.col(name))).alias(f"{name}_{broker}")


def _greatest(name: str, brokers: Sequence[int]) -> Column:
    return f.greatest(*(f.col(f"{name}_{broker}") for broker in brokers))


def _least(name: str, brokers: Sequence[int]) -> Column:
    return f.least(*(f.col(f"{name}_{broker}") for broker in brokers))


def _struct(broker: int) -> Column:
    return f.struct(f.lit(broker).alias("broker"), *(f.col(f"{name}_{broker}").alias(name) for name in _COMPARED))


def _any(conditions: Iterable[Column]) -> Column:
    return functools.reduce(operator.or_, conditions)
