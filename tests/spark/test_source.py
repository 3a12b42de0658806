"""The kafka_segments source, over directories written by hand; a handful of tests through Spark."""

from __future__ import annotations

import datetime
import pathlib
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

import kafka_py.spark
from kafka_py.common.errors import UnknownTopicOrPartitionException
from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.spark.arrow_decoder import SCHEMA_WITH_HEADERS
from kafka_py.spark.source import KafkaBatch, KafkaSourceProvider, PushdownKafkaBatch
from kafka_py.spark.transport import DataLossError
from tests.log.log_harness import Logs, append_mixed_transactions, log_config
from tests.spark.arrow_data import batch
from tests.spark.made_logs import T0, make_log_dir, offsets, options, read_offsets, write_checkpoint, write_segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def log_dir(tmp_path: pathlib.Path) -> pathlib.Path:
    return make_log_dir(tmp_path / "logs")


# ----- what is read -----


def test_reads_from_the_log_start_to_the_high_watermark(log_dir: pathlib.Path) -> None:
    assert offsets(log_dir) == {0: list(range(5, 177)), 1: list(range(40, 90))}
    assert offsets(log_dir, endingOffsets="unsafe-end")[0] == list(range(5, 200))


@pytest.mark.parametrize("max_bytes", ["1", "700", "100000"])
@pytest.mark.parametrize(("start", "end"), [(7, 8), (99, 101), (29, 30), (30, 61), (5, 177)])
def test_any_range_in_any_pieces(log_dir: pathlib.Path, start: int, end: int, max_bytes: str) -> None:
    wanted = {
        "startingOffsets": f'{{"t":{{"0":{start},"1":-2}}}}',
        "endingOffsets": f'{{"t":{{"0":{end},"1":-1}}}}',
        "maxPartitionBytes": max_bytes,
    }
    assert offsets(log_dir, **wanted) == {0: list(range(start, end)), 1: list(range(40, 90))}


def test_time_windows(log_dir: pathlib.Path) -> None:
    window = {"startingTimestamp": str(T0 + 60_000), "endingTimestamp": str(T0 + 80_000)}
    assert offsets(log_dir, **window) == {0: list(range(60, 80)), 1: list(range(60, 80))}
    by_partition = {
        "startingOffsetsByTimestamp": f'{{"t":{{"0":{T0 + 60_000},"1":{T0 + 70_001}}}}}',
        "endingOffsetsByTimestamp": f'{{"t":{{"0":{T0 + 61_000},"1":{T0 + 900_000}}}}}',
    }
    assert offsets(log_dir, **by_partition) == {0: [60], 1: list(range(71, 90))}


def test_a_time_that_a_partition_does_not_have(log_dir: pathlib.Path) -> None:
    late = {"startingTimestamp": str(T0 + 100_000)}
    with pytest.raises(ValueError, match="No offset matched from request of topic-partition t-1 and timestamp"):
        offsets(log_dir, **late)
    found = offsets(log_dir, startingOffsetsByTimestampStrategy="latest", **late)
    assert found == {0: list(range(100, 177))}


def test_tasks_are_divided_by_records(log_dir: pathlib.Path) -> None:
    def sizes(**more: str) -> list[int]:
        pieces: list[Any] = list(KafkaBatch(options(log_dir, **more), ("offset",)).partitions())
        return [piece.until_offset - piece.from_offset for piece in pieces]

    assert sizes() == [172, 50]
    assert sizes(minPartitions="4") == [57, 57, 58, 50]
    assert sizes(maxRecordsPerPartition="60") == [57, 57, 58, 50]
    assert offsets(log_dir, minPartitions="7") == offsets(log_dir)


def test_strategies(log_dir: pathlib.Path) -> None:
    assert set(offsets(log_dir, subscribePattern="o.*")) == {0}
    assert set(offsets(log_dir, subscribe="t,other")) == {0, 1}
    assert set(offsets(log_dir, assign='{"t":[1]}')) == {1}
    with pytest.raises(DataLossError, match="Cannot find earliest offsets of t-7"):
        offsets(log_dir, assign='{"t":[1,7]}')


@pytest.mark.parametrize("given", [{"subscribe": "t,misspelt"}, {"assign": '{"misspelt":[0]}'}])
@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_topic_that_is_not_there_is_an_error(log_dir: pathlib.Path, given: dict[str, str], fail: str) -> None:
    more = {"failOnDataLoss": fail, "fetchOffset.numRetries": "1", **given}
    text = "This server does not host this topic-partition. There is no topic misspelt"
    with pytest.raises(UnknownTopicOrPartitionException, match=text):
        offsets(log_dir, **more)


def test_a_pattern_without_a_match_is_told_of(log_dir: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    assert offsets(log_dir, subscribePattern="misspelt") == {}
    assert "no partition is selected by SubscribePattern" in caplog.text


def test_offsets_that_are_gone_fail_the_query_unless_told_otherwise(log_dir: pathlib.Path) -> None:
    gone = {"startingOffsets": '{"t":{"0":0,"1":40}}'}
    with pytest.raises(ValueError, match=r"Cannot fetch records in \[0, 5\).*failOnDataLoss"):
        offsets(log_dir, **gone)
    assert offsets(log_dir, failOnDataLoss="false", **gone)[0][0] == 5
    beyond = {"endingOffsets": '{"t":{"0":190,"1":-1}}'}
    with pytest.raises(ValueError, match=r"changed from 190 to 177"):
        offsets(log_dir, **beyond)
    assert offsets(log_dir, failOnDataLoss="false", **beyond)[0][-1] == 176


def test_specific_offsets_must_name_all_partitions(log_dir: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="you must specify all TopicPartitions"):
        offsets(log_dir, startingOffsets='{"t":{"0":7}}')


def test_a_broken_byte_is_an_error_unless_it_shall_not_be_looked_for(log_dir: pathlib.Path) -> None:
    path = log_dir / "t-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"v55")] ^= 1
    path.write_bytes(data)
    with pytest.raises(Exception, match="corrupt"):
        offsets(log_dir)
    assert offsets(log_dir, checkCrcs="false")[0] == list(range(5, 177))


def test_committed_records_only(tmp_path: pathlib.Path) -> None:
    logs = Logs(tmp_path)
    try:
        append_mixed_transactions(logs, logs.create(log_config()))
        write_checkpoint(logs.dir.parent, {"topic-0": 50})
    finally:
        logs.close()
    everything = offsets(logs.dir.parent, subscribe="topic")[0]
    assert max(everything) == 49
    # producer 2 begins at offset 8 and is aborted after offset 50: nothing from there on is decided
    committed = offsets(logs.dir.parent, subscribe="topic", **{"kafka.isolation.level": "read_committed"})
    assert committed == {0: [5, 6, 7]}


def test_headers(tmp_path: pathlib.Path) -> None:
    records = [
        SimpleRecord(T0, b"k", b"v", [RecordHeader("a", b"1"), RecordHeader("b", None)]),
        SimpleRecord(T0, b"k", b"v"),
    ]
    write_segment(tmp_path / "t-0", 0, [(0, 1, batch(0, records))])
    write_checkpoint(tmp_path, {"t-0": 2})
    reader = KafkaBatch(options(tmp_path, includeHeaders="true"), ("headers", "offset"))
    (table,) = [table for piece in reader.partitions() for table in reader.read(piece)]
    assert table.column("headers").to_pylist() == [[{"key": "a", "value": b"1"}, {"key": "b", "value": None}], None]


# ----- the schema -----


def provider(**given: str) -> KafkaSourceProvider:
    return KafkaSourceProvider({"logDirs": "/logs", "subscribe": "t", **given})


def test_the_schema_is_spark_s_and_that_of_the_arrow_batches() -> None:
    assert provider().schema().fieldNames() == [
        "key", "value", "topic", "partition", "offset", "timestamp", "timestampType",
    ]  # fmt: skip
    with_headers = provider(includeHeaders="TRUE").schema()
    assert with_headers.fieldNames()[-1] == "headers"
    assert to_arrow_schema(with_headers, timezone="UTC").equals(SCHEMA_WITH_HEADERS)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (StructField("size", LongType()), "kafka_segments has no column size; it has key, value, topic"),
        (StructField("offset", IntegerType()), "Column offset of kafka_segments is a nullable bigint, not int"),
        (
            StructField("offset", LongType(), nullable=False),
            "Column offset of kafka_segments is a nullable bigint, not not",
        ),
    ],
)
def test_a_projection_has_columns_as_they_are(field: StructField, text: str) -> None:
    for make in (provider().reader, provider().streamReader):
        with pytest.raises(ValueError, match=text):
            make(StructType([field]))


def test_pushdown_must_be_asked_for() -> None:
    schema = provider().schema()
    assert type(provider().reader(schema)) is KafkaBatch
    assert type(provider(pushdown="true").reader(schema)) is PushdownKafkaBatch


def test_a_task_for_nothing(log_dir: pathlib.Path) -> None:
    """Spark plans one where there is no other."""
    reader = KafkaBatch(options(log_dir), ("offset",))
    assert list(reader.read(InputPartition(None))) == []


# ----- conditions -----


def at(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(T0 / 1000, datetime.UTC) + datetime.timedelta(seconds=seconds)


TOPIC, PARTITION, OFFSET, TIME = (("topic",), ("partition",), ("offset",), ("timestamp",))


@pytest.mark.parametrize(
    ("filters", "left", "expected"),
    [
        ([EqualTo(TOPIC, "t"), EqualTo(PARTITION, 1)], 0, {1: (40, 90)}),
        ([EqualTo(TOPIC, "u")], 0, {}),
        ([In(TOPIC, ("u", "t"))], 0, {0: (5, 177), 1: (40, 90)}),
        ([In(PARTITION, (1, 2))], 0, {1: (40, 90)}),
        ([LessThan(PARTITION, 1)], 0, {0: (5, 177)}),
        ([GreaterThanOrEqual(OFFSET, 60), LessThan(OFFSET, 95)], 0, {0: (60, 95), 1: (60, 90)}),
        ([GreaterThan(OFFSET, 60), LessThanOrEqual(OFFSET, 95)], 0, {0: (61, 96), 1: (61, 90)}),
        ([EqualTo(OFFSET, 100)], 0, {0: (100, 101)}),
        ([LessThan(OFFSET, 0)], 0, {}),
        ([In(OFFSET, (50, 52))], 1, {0: (50, 53), 1: (50, 53)}),
        ([GreaterThanOrEqual(TIME, at(80))], 1, {0: (80, 177), 1: (80, 90)}),
        ([GreaterThan(TIME, at(80.0005))], 1, {0: (81, 177), 1: (81, 90)}),
        ([EqualTo(TIME, at(100))], 1, {0: (100, 177)}),
        ([LessThan(TIME, at(80))], 1, {0: (5, 177), 1: (40, 90)}),
        ([IsNotNull(TIME), IsNotNull(OFFSET), IsNotNull(TOPIC)], 0, {0: (5, 177), 1: (40, 90)}),
        ([IsNotNull(("key",))], 1, {0: (5, 177), 1: (40, 90)}),
        ([StringStartsWith(TOPIC, "t"), Not(EqualTo(PARTITION, 1))], 2, {0: (5, 177), 1: (40, 90)}),
        ([GreaterThan(TOPIC, "a"), EqualTo(("headers", "key"), "a")], 2, {0: (5, 177), 1: (40, 90)}),
    ],
)
def test_conditions_say_what_need_not_be_read(
    log_dir: pathlib.Path, filters: list[Filter], left: int, expected: dict[int, tuple[int, int]]
) -> None:
    reader = PushdownKafkaBatch(options(log_dir), ("offset",))
    assert len(list(reader.pushFilters(filters))) == left
    assert read_offsets(reader, reader.partitions()) == {p: list(range(*bounds)) for p, bounds in expected.items()}


def test_a_condition_of_time_takes_nothing_from_what_is_not_committed(log_dir: pathlib.Path) -> None:
    reader = PushdownKafkaBatch(options(log_dir, endingOffsets="unsafe-end"), ("offset",))
    list(reader.pushFilters([GreaterThanOrEqual(TIME, at(190))]))
    assert read_offsets(reader, reader.partitions())[0][-1] == 199


def test_readers_and_tasks_go_to_other_processes(log_dir: pathlib.Path) -> None:
    reader = PushdownKafkaBatch(options(log_dir), ("offset",))
    pieces = pickle.loads(pickle.dumps(reader.partitions()))
    assert read_offsets(pickle.loads(pickle.dumps(reader)), pieces)[1] == list(range(40, 90))


# ----- through Spark -----


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_what_is_there(spark: SparkSession, log_dir: pathlib.Path) -> None:
    df = spark.read.format("kafka_segments").option("logDirs", str(log_dir)).option("subscribePattern", "t|o.*").load()
    assert df.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert {(r["topic"], r["n"]) for r in df.groupBy("topic").count().withColumnRenamed("count", "n").collect()} == {
        ("t", 172 + 50),
        ("other", 20),
    }
    row = df.where("topic = 't' and partition = 1 and offset = 41").collect()[0]
    assert (bytes(row["key"]), bytes(row["value"]), row["timestampType"]) == (b"k41", b"v41", 0)
    narrow = spark.read.schema("offset long").format("kafka_segments").option("subscribe", "t")
    assert narrow.load(str(log_dir)).agg({"offset": "max"}).collect()[0][0] == 176
    empty = spark.read.format("kafka_segments").option("subscribePattern", "nothing").load(str(log_dir))
    assert empty.count() == 0


@pytest.mark.spark
@pytest.mark.slow
def test_a_frame_may_be_asked_several_things(spark: SparkSession, log_dir: pathlib.Path) -> None:
    """Spark keeps what was pushed down once, so by default nothing is."""
    frame = kafka_py.spark.read(spark, str(log_dir), "t", ["partition", "offset"])
    count = frame.count()
    assert frame.where("offset = 60").count() == 2
    assert frame.count() == count > 2
    one, other = frame.where("offset = 60").alias("a"), frame.where("offset = 61").alias("b")
    joined = one.join(other, "partition").selectExpr("a.offset", "b.offset").collect()
    assert {tuple(row) for row in joined} == {(60, 61)}


@pytest.mark.spark
@pytest.mark.slow
def test_spark_gives_the_same_with_and_without_pushdown(spark: SparkSession, log_dir: pathlib.Path) -> None:
    conditions = [
        "offset >= 60 and offset < 120 and partition = 0",
        "timestamp >= timestamp_millis(1500000080000) and timestamp < timestamp_millis(1500000085000)",
        "topic = 't' and partition in (1, 2) and offset % 2 = 0",
        "offset = 50 or offset = 170",
        "partition = 7",
    ]

    def found(condition: str, pushdown: bool) -> list[tuple[int, int]]:
        df = kafka_py.spark.read(
            spark, str(log_dir), "t", ["partition", "offset", "timestamp", "topic"], pushdown=pushdown
        )
        return sorted((r["partition"], r["offset"]) for r in df.where(condition).collect())

    for condition in conditions:
        assert found(condition, pushdown=True) == found(condition, pushdown=False)
    assert found(conditions[0], pushdown=True) == [(0, offset) for offset in range(60, 120)]
    assert found(conditions[1], pushdown=True) == [(p, offset) for p in (0, 1) for offset in range(80, 85)]


@pytest.mark.spark
@pytest.mark.slow
def test_spark_tells_what_is_wrong(spark: SparkSession, log_dir: pathlib.Path) -> None:
    def failure(**given: str) -> str:
        with pytest.raises(Exception) as caught:  # noqa: PT011  the class is Spark's
            kafka_py.spark.read(spark, str(log_dir), **given).count()
        return str(caught.value)

    assert "One of the following options must be specified for Kafka source" in failure()
    assert "starting offset can't be latest" in failure(subscribe="t", startingOffsets="latest")
    assert "failOnDataLoss" in failure(subscribe="t", startingOffsets='{"t":{"0":0,"1":40}}')
    with pytest.raises(ValueError, match="kafka_segments has no column size"):
        kafka_py.spark.read(spark, str(log_dir), "t", ["size"])


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_headers(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    records = [SimpleRecord(T0, b"k", b"v", [RecordHeader("a", b"1")]), SimpleRecord(T0, b"k", b"v")]
    write_segment(tmp_path / "t-0", 0, [(0, 1, batch(0, records))])
    write_checkpoint(tmp_path, {"t-0": 2})
    df = kafka_py.spark.read(spark, [str(tmp_path)], "t", includeHeaders=True)
    assert df.schema["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"
    assert [r["h"] for r in df.selectExpr("headers[0].key as h").collect()] == ["a", None]
