"""Codec by codec, plain and compacted: Spark's rows are those that confluent-kafka's consumer is given.

On our broker, which has no transactions yet; tests/interop has the same with them, on Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from kafka_py.spark.options import READ_COMMITTED, READ_UNCOMMITTED
from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.spark_matrix import (
    CLEANER,
    FILES,
    ISOLATIONS,
    SOURCES,
    WIRE,
    Matrix,
    assert_all_kinds,
    create_topics,
    differing,
    read_by_spark,
    read_by_tasks,
    settled,
    wait_for_cleaner,
    write,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TURNS = 4
COUNT = 150


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    """Filled by idempotent producers; compacted once before the last turns, and once behind them."""
    with LocalCluster(home=tmp_path_factory.mktemp("matrix"), properties=CLEANER) as cluster:
        (broker,) = cluster.brokers
        topics = create_topics(broker.address, CODECS)
        shared = {"bootstrap.servers": broker.address, "enable.idempotence": True, "batch.num.messages": 20}
        producers = {codec: Producer({**shared, "compression.type": codec, "linger.ms": 5}) for codec in CODECS}
        for turn in range(TURNS):
            for codec, producer in producers.items():
                write(producer, [topic for topic in topics if topic.codec == codec], COUNT, f"turn {turn}")
            assert [producer.flush(30) for producer in producers.values()] == [0] * len(CODECS)
            if turn == 1:
                wait_for_cleaner(broker, topics)
        del producer, producers
        yield settled(broker, topics)


def test_the_matrix_has_all_kinds(matrix: Matrix) -> None:
    assert_all_kinds(matrix, READ_UNCOMMITTED)
    assert matrix.given[READ_UNCOMMITTED] == matrix.given[READ_COMMITTED]
    for topic in matrix.topics:
        for partition in (0, 1):
            offsets = [row.offset for row in matrix.given[READ_UNCOMMITTED][topic.name, partition]]
            assert offsets[-1] == TURNS * COUNT - 1
            assert (len(offsets) < TURNS * COUNT) == topic.compacted


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_no_row_differs(matrix: Matrix, isolation: str, source: str) -> None:
    assert differing(read_by_tasks(isolation, matrix.sources[source]), matrix.given[isolation]) == []


@pytest.mark.spark
@pytest.mark.parametrize("source", [FILES, WIRE])
def test_no_row_differs_in_spark(spark: SparkSession, matrix: Matrix, source: str) -> None:
    rows = read_by_spark(spark, READ_UNCOMMITTED, matrix.sources[source])
    assert differing(rows, matrix.given[READ_UNCOMMITTED]) == []
