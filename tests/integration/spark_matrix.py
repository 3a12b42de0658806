"""The matrix of topics that readers are compared on: codecs, plain and compacted, headers, null keys, tombstones."""

from __future__ import annotations

import itertools
import pathlib
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from confluent_kafka import IsolationLevel, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from kafka_py.spark.layout import ReplicaDir
from kafka_py.spark.options import READ_COMMITTED, READ_UNCOMMITTED, KafkaSourceOptions
from kafka_py.spark.source import KafkaBatch
from kafka_py.testing.local_cluster import LocalBroker
from tests.integration.spark_rows import Seen, consume_all, plain
from tests.integration.support import wait_until
from tests.spark.made_logs import replica_dirs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 2
ISOLATIONS = (READ_UNCOMMITTED, READ_COMMITTED)
FILES, LIVE_FILES, WIRE = "files", "files, live offsets", "wire"
SOURCES = (FILES, LIVE_FILES, WIRE)
KEPT, COMPACTED = "kept", "compacted"
SEGMENT_BYTES = 2000
CLEANER = {
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "log.cleaner.io.buffer.size": "100000",
    "log.index.size.max.bytes": "50000",
    "log.index.interval.bytes": "500",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
_COMPACTION = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "1"}
_CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
_COLUMNS = ("topic", "partition", "offset", "key", "value", "timestamp", "timestampType", "headers")
Rows = dict[tuple[str, int], list[Seen]]  # topic and partition -> rows in the order they came


class Topic(NamedTuple):
    """One cell of the matrix: how its records are compressed, whose times they have, and whether they are compacted."""

    name: str
    codec: str
    compacted: bool


class Matrix(NamedTuple):
    """Topics that nobody changes any more."""

    topics: list[Topic]
    given: dict[str, Rows]  # isolation level -> what confluent-kafka's consumer is given
    cleaned: dict[str, int]  # directory of a compacted partition -> the offset that the cleaner has reached
    sources: dict[str, dict[str, str]]  # name of SOURCES -> options that read from there


def create_topics(address: str, codecs: Iterable[str]) -> list[Topic]:
    """Two topics for each codec, and two more whose times are the broker's."""
    cells = [(codec, codec) for codec in codecs]
    made, wanted = [], []
    for (kind, codec), policy in itertools.product([*cells, ("append", "gzip")], (KEPT, COMPACTED)):
        config = {"segment.bytes": str(SEGMENT_BYTES), **(_COMPACTION if policy == COMPACTED else {})}
        if kind == "append":
            config["message.timestamp.type"] = "LogAppendTime"
        made.append(Topic(f"{kind}-{policy}", codec, policy == COMPACTED))
        wanted.append(NewTopic(made[-1].name, PARTITIONS, 1, config=config))
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics(wanted).values():
        future.result(30)
    return made


def _delivered(error: KafkaError | None, _: Message) -> None:
    assert error is None, error


def write(producer: Producer, topics: Iterable[Topic], count: int, who: str) -> None:
    """``count`` records to every partition, not flushed: every third with headers, every fifth a tombstone.

    A key comes again and again, half of them from whoever writes, the others from one writer only. Every seventh record
    has none, except where the broker wants one.
    """
    writer = who.partition(" ")[0]
    now = int(time.time() * 1000)
    for topic in topics:
        for i, partition in itertools.product(range(count), range(PARTITIONS)):
            headers: list[tuple[str, str | bytes | None]] = [("n", b"%d" % i), ("none", None), ("n", b"")]
            producer.produce(
                topic.name,
                None if i % 5 == 4 else f"{who} {i} ".encode() * (i % 8),
                None if i % 7 == 6 and not topic.compacted else f"{writer if i % 2 else 'any'} {i % 30}".encode(),
                partition,
                timestamp=now + i,
                headers=headers if i % 3 == 0 else None,
                on_delivery=_delivered,
            )
        producer.poll(0)


def settled(broker: LocalBroker, topics: list[Topic]) -> Matrix:
    """Wait until neither the cleaner nor the high watermarks move any more, then consume everything."""
    cleaned = wait_for_cleaner(broker, topics)
    names = {topic.name for topic in topics}
    wait_until(
        lambda: all(r.high_watermark == r.log_end_offset for r in replicas(broker, names)), what="the high watermarks"
    )
    rows = {level: given(broker.address, topics, level) for level in ISOLATIONS}
    files = {"logDirs": ",".join(map(str, broker.log_dirs))}
    wire = {"kafka.bootstrap.servers": broker.address, "kafka.max.partition.fetch.bytes": "5000"}
    return Matrix(topics, rows, cleaned, {FILES: files, LIVE_FILES: {**files, **wire}, WIRE: wire})


def wait_for_cleaner(broker: LocalBroker, topics: Iterable[Topic]) -> dict[str, int]:
    """Wait until it has nothing left to do in the compacted topics; gives its checkpoint, by partition's directory.

    It leaves alone the active segment, and those that begin behind or hold the first record of an open transaction.
    """
    names = {topic.name for topic in topics if topic.compacted}
    admin = AdminClient({"bootstrap.servers": broker.address})
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(name, p): latest for name in names for p in range(PARTITIONS)}
    answer = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=30)
    stable = {f"{tp.topic}-{tp.partition}": future.result().offset for tp, future in answer.items()}

    def done() -> dict[str, int] | None:
        reached = {f"{name}-{p}": 0 for name in names for p in range(PARTITIONS)}
        for log_dir in broker.log_dirs:
            reached.update(_checkpoint(log_dir / _CLEANER_CHECKPOINT))
        for replica in replicas(broker, names):
            name = pathlib.Path(replica.path).name
            first_uncleanable = max(s.base_offset for s in replica.segments if s.base_offset <= stable[name])
            if not reached[name] >= first_uncleanable > 0:
                return None
        return reached

    return wait_until(done, 40, "the cleaner")


def replicas(broker: LocalBroker, names: Iterable[str]) -> list[ReplicaDir]:
    wanted = set(names)
    return [r for r in replica_dirs([str(d) for d in broker.log_dirs]) if r.topic in wanted]


def _checkpoint(path: pathlib.Path) -> list[tuple[str, int]]:
    """Directory and offset of each line behind the version and the count."""
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return [(f"{topic}-{partition}", int(offset)) for topic, partition, offset in map(str.split, lines)]


def given(address: str, topics: list[Topic], isolation: str) -> Rows:
    """What confluent-kafka's consumers are given, one for each topic, all at the same time."""
    with ThreadPoolExecutor(len(topics)) as pool:
        consumed = pool.map(lambda topic: consume_all(address, topic.name, PARTITIONS, isolation), topics)
        return by_partition((topic.name, row) for topic, rows in zip(topics, consumed, strict=True) for row in rows)


def read_by_tasks(isolation: str, options: Mapping[str, str]) -> Rows:
    """What the tasks of one query over all topics of the matrix read, without Spark; small tasks, and so many."""
    reader = KafkaBatch(KafkaSourceOptions({**_query(isolation, options), "maxPartitionBytes": "3000"}), _COLUMNS)
    tables = (table for piece in reader.partitions() for table in reader.read(piece))
    return by_partition(
        (topic, _seen(partition, offset, key, value, microseconds // 1000, kind, headers))
        for table in tables
        for topic, partition, offset, key, value, microseconds, kind, headers in zip(
            *(_as_numbers(column).to_pylist() for column in table.columns), strict=True
        )
    )


def read_by_spark(spark: SparkSession, isolation: str, options: Mapping[str, str]) -> Rows:
    """What one query over all topics of the matrix gives."""
    frame = spark.read.format("kafka_segments").options(**_query(isolation, options)).load()
    columns = ["unix_millis(timestamp)" if name == "timestamp" else name for name in _COLUMNS]
    return by_partition((topic, _seen(*row)) for topic, *row in frame.selectExpr(*columns).collect())


def _query(isolation: str, options: Mapping[str, str]) -> dict[str, str]:
    pattern = f".+-({KEPT}|{COMPACTED})"
    return {"subscribePattern": pattern, "includeHeaders": "true", "kafka.isolation.level": isolation, **options}


def _as_numbers(column: pa.Array) -> pa.Array:
    """Times as microseconds, anything else as it is."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _seen(partition: int, offset: int, key: Any, value: Any, timestamp: int, kind: int, headers: Any) -> Seen:
    pairs = headers and [(header["key"], plain(header["value"])) for header in headers]
    return Seen(partition, offset, plain(key), plain(value), timestamp, kind, pairs)


def by_partition(rows: Iterable[tuple[str, Seen]]) -> Rows:
    grouped: Rows = {}
    for topic, row in rows:
        grouped.setdefault((topic, row.partition), []).append(row)
    return grouped


def differing(left: Rows, right: Rows) -> list[tuple[str, int, Seen | None, Seen | None]]:
    """The rows that are not the same on both sides, place by place."""
    return [
        (*tp, one, other)
        for tp in sorted(left.keys() | right.keys())
        for one, other in itertools.zip_longest(left.get(tp, []), right.get(tp, []))
        if one != other
    ]


def assert_all_kinds(matrix: Matrix, isolation: str) -> None:
    """That the rows are worth comparing: of every kind that the matrix is about, in every partition."""
    for topic, partition in itertools.product(matrix.topics, range(PARTITIONS)):
        rows = matrix.given[isolation][topic.name, partition]
        offsets = [row.offset for row in rows]
        assert offsets == sorted(set(offsets))
        assert {row.kind for row in rows} == {int(topic.name.startswith("append"))}
        assert {row.headers is None for row in rows} == {True, False}
        assert any(row.value is None for row in rows)
        assert any(row.value == b"" for row in rows)
        if topic.compacted:
            until = matrix.cleaned[f"{topic.name}-{partition}"]
            keys = [row.key for row in rows if row.offset < until]
            assert 0 < len(keys) == len(set(keys)), "the last record of each key is left"
        else:
            assert any(row.key is None for row in rows)
