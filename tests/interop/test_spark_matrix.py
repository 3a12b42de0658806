"""Codec by codec, with transactions, plain and compacted: Spark's rows of Apache Kafka's files and of its responses.

They are those that confluent-kafka's consumer is given, be it of committed data or of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest
from confluent_kafka import Producer

from kafka_py.spark.options import READ_COMMITTED
from tests.integration.spark_matrix import (
    CLEANER,
    FILES,
    ISOLATIONS,
    PARTITIONS,
    SOURCES,
    WIRE,
    Matrix,
    Topic,
    assert_all_kinds,
    create_topics,
    differing,
    read_by_spark,
    read_by_tasks,
    settled,
    wait_for_cleaner,
    write,
)
from tests.integration.spark_rows import Seen
from tests.interop.apache_kafka import ONE_BROKER, ApacheKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow]

PROPERTIES = {**CLEANER, **ONE_BROKER}
CODECS = ("none", "gzip", "snappy", "lz4")
TURNS = 6
COUNT = 50
BEHIND = 20  # records behind the transaction that is left open
TIMEOUT_S = 30


class Writers(NamedTuple):
    """The producers of one codec, and the topics to which they write."""

    topics: list[Topic]
    plain: Producer
    one: Producer
    two: Producer

    def flush(self) -> None:
        assert [producer.flush(TIMEOUT_S) for producer in self[1:]] == [0, 0, 0]


def writers(address: str, codec: str, topics: list[Topic]) -> Writers:
    """One producer without and two with transactions; Apache's coordinator gives them long enough."""
    shared = {"bootstrap.servers": address, "compression.type": codec, "batch.num.messages": 20, "linger.ms": 5}
    made = [Producer({**shared, "transactional.id": f"{codec}-{n}", "transaction.timeout.ms": 600_000}) for n in (1, 2)]
    for producer in made:
        producer.init_transactions(TIMEOUT_S)
    return Writers([topic for topic in topics if topic.codec == codec], Producer(shared), *made)


def write_turn(mine: Writers, turn: int) -> None:
    """Two transactions side by side and plain records between them; the last turn leaves the second one open."""
    for name, producer in (("one", mine.one), ("two", mine.two)):
        producer.begin_transaction()
        write(producer, mine.topics, COUNT, f"{name} {turn}")
    mine.flush()
    write(mine.plain, mine.topics, COUNT, f"plain {turn}")
    mine.flush()
    (mine.one.abort_transaction if turn % 3 == 1 else mine.one.commit_transaction)(TIMEOUT_S)
    if turn == TURNS - 1:
        write(mine.plain, mine.topics, BEHIND, "behind")
        mine.flush()
    else:
        (mine.two.commit_transaction if turn % 2 else mine.two.abort_transaction)(TIMEOUT_S)


@pytest.fixture(scope="module")
def matrix(apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    """Compacted once before the last turns, and once behind them, up to the open transactions."""
    with apache.cluster(tmp_path_factory.mktemp("matrix"), PROPERTIES) as cluster:
        (broker,) = cluster.brokers
        topics = create_topics(broker.address, CODECS)
        every = [writers(broker.address, codec, topics) for codec in CODECS]
        for turn in range(TURNS):
            for mine in every:
                write_turn(mine, turn)
            if turn == TURNS // 2:
                wait_for_cleaner(broker, topics)
        yield settled(broker, topics)
        for mine in every:  # a client that is left with an open transaction does not go quietly
            mine.two.abort_transaction(TIMEOUT_S)
        del mine, every


def test_the_matrix_has_all_kinds(matrix: Matrix) -> None:
    for isolation in ISOLATIONS:
        assert_all_kinds(matrix, isolation)
    for topic in matrix.topics:
        for partition in range(PARTITIONS):
            every, committed = (matrix.given[isolation][topic.name, partition] for isolation in ISOLATIONS)
            assert {writer_of(row) for row in committed} == {"nobody", "plain", "one", "two"}
            assert "behind" in {writer_of(row) for row in every}
            offsets, last = {row.offset for row in committed}, committed[-1].offset
            assert last < every[-1].offset - BEHIND
            aborted = [row for row in every if row.offset < last and row.offset not in offsets]
            assert aborted or topic.compacted


def writer_of(row: Seen) -> str:
    """The first word of its value."""
    return (row.value or b"").partition(b" ")[0].decode() or "nobody"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_no_row_differs(matrix: Matrix, isolation: str, source: str) -> None:
    assert differing(read_by_tasks(isolation, matrix.sources[source]), matrix.given[isolation]) == []


@pytest.mark.spark
@pytest.mark.parametrize("source", [FILES, WIRE])
def test_no_row_differs_in_spark(spark: SparkSession, matrix: Matrix, source: str) -> None:
    rows = read_by_spark(spark, READ_COMMITTED, matrix.sources[source])
    assert differing(rows, matrix.given[READ_COMMITTED]) == []
