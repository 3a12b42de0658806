"""The matrix of topics that readers are compared on: codecs, plain and compacted, headers, null keys, tombstones."""

from __future__ import annotations

import itertools
import pathlib
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    IsolationLevel,
    NewTopic,
    OffsetSpec,
)

from kafka_py.spark.layout import ReplicaDir, replica_dirs
from kafka_py.spark.options import READ_COMMITTED, READ_UNCOMMITTED
from kafka_py.testing.local_cluster import LocalBroker
from tests.integration.spark_rows import Seen, consume_all, plain
from tests.integration.support import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 2
KEPT, COMPACTED = "kept", "compacted"
SEGMENT_BYTES = 6000
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
Rows = dict[tuple[str, int], list[Seen]]  # topic and partition -> rows in the order they came


class Topic(NamedTuple):
    """One cell of the matrix: how its records are compressed, whose times they have, and whether they are compacted."""

    name: str
    codec: str
    compacted: bool


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
    for future in AdminClient({"bootstrap.servers": address}).create_topics(wanted).values():
        future.result(30)
    return made


def write(producer: Producer, topics: Iterable[Topic], count: int, who: str) -> None:
    """``count`` records to every partition, not flushed: every third with headers, every fifth a tombstone.

    A key comes again and again. Every seventh has none, except where the broker wants one.
    """
    now = int(time.time() * 1000)
    for topic in topics:
        for i, partition in itertools.product(range(count), range(PARTITIONS)):
            headers: list[tuple[str, str | bytes | None]] = [("n", b"%d" % i), ("none", None), ("n", b"")]
            producer.produce(
                topic.name,
                None if i % 5 == 4 else f"{who} {i} ".encode() * (i % 8),
                None if i % 7 == 6 and not topic.compacted else b"key %d" % (i % 30),
                partition,
                timestamp=now + i,
                headers=headers if i % 3 == 0 else None,
            )
        producer.poll(0)


def wait_for_cleaner(broker: LocalBroker, topics: Iterable[Topic]) -> dict[str, int]:
    """Wait until it has nothing left to do in the compacted topics; gives its checkpoint, by partition's directory.

    It cleans what is below the active segment and below the first open transaction.
    """
    names = {topic.name for topic in topics if topic.compacted}
    admin = AdminClient({"bootstrap.servers": broker.address})
    asked = {TopicPartition(name, p): OffsetSpec.latest() for name in names for p in range(PARTITIONS)}
    answer = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=30)
    stable = {f"{tp.topic}-{tp.partition}": future.result().offset for tp, future in answer.items()}

    def done() -> dict[str, int] | None:
        active = {pathlib.Path(r.path).name: r.segments[-1].base_offset for r in replicas(broker, names)}
        cleaned = {
            name: offset for log_dir in broker.log_dirs for name, offset in _checkpoint(log_dir / _CLEANER_CHECKPOINT)
        }
        reached = {name: cleaned.get(name, 0) for name in stable}
        return reached if all(reached[name] >= min(active[name], stable[name]) > 0 for name in stable) else None

    return wait_until(done, 60, "the cleaner")


def wait_for_high_watermarks(broker: LocalBroker, topics: Iterable[Topic]) -> None:
    """Wait until the file with the high watermarks allows all to be read."""
    names = {topic.name for topic in topics}
    wait_until(
        lambda: all(r.high_watermark == r.log_end_offset for r in replicas(broker, names)), what="the high watermarks"
    )


def replicas(broker: LocalBroker, names: Iterable[str]) -> list[ReplicaDir]:
    wanted = set(names)
    return [r for r in replica_dirs([str(d) for d in broker.log_dirs]) if r.topic in wanted]


def _checkpoint(path: pathlib.Path) -> list[tuple[str, int]]:
    """Directory and offset of each line behind the version and the count."""
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return [(f"{topic}-{partition}", int(offset)) for topic, partition, offset in map(str.split, lines)]


def given(address: str, topics: Iterable[Topic], isolation: str) -> Rows:
    """What confluent-kafka's consumer is given."""
    return by_partition((topic.name, row) for topic in topics for row in consume_all(
        address, topic.name, PARTITIONS, isolation
    ))


def found(spark: SparkSession, isolation: str, options: Mapping[str, str]) -> Rows:
    """What one query over all topics of the matrix gives."""
    settings = {"includeHeaders": "true", "kafka.isolation.level": isolation, **options}
    pattern = f".+-({KEPT}|{COMPACTED})"
    frame = spark.read.format("kafka_segments").options(subscribePattern=pattern, **settings).load()
    columns = ("topic", "partition", "offset", "key", "value", "unix_millis(timestamp)", "timestampType", "headers")
    return by_partition((topic, _seen(*row)) for topic, *row in frame.selectExpr(*columns).collect())


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


def assert_all_kinds(rows: Rows, topics: Iterable[Topic], ends: Mapping[str, int]) -> None:
    """That the rows are worth comparing: of every kind that the matrix is about, in every topic.

    ``ends``: by partition's directory, the offset up to which a compacted one was cleaned.
    """
    for topic, partition in itertools.product(topics, range(PARTITIONS)):
        mine = rows[topic.name, partition]
        assert {row.headers is None for row in mine} == {True, False}
        assert any(row.value is None for row in mine)
        assert any(row.value == b"" for row in mine)
        assert {row.kind for row in mine} == {int(topic.name.startswith("append"))}
        offsets = [row.offset for row in mine]
        assert offsets == sorted(set(offsets))
        if topic.compacted:
            cleaned = [row.key for row in mine if row.offset < ends[f"{topic.name}-{partition}"]]
            assert 0 < len(cleaned) == len(set(cleaned))  # the last of each key is left
        else:
            assert any(row.key is None for row in mine)


ISOLATIONS = (READ_UNCOMMITTED, READ_COMMITTED)
