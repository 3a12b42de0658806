"""The pipeline from a topic to Parquet and another topic, in batch and as a stream, against a running broker."""

from __future__ import annotations

import argparse
import datetime
import pathlib
import random
from typing import TYPE_CHECKING

import pytest

from kafka_py.spark import access_log
from kafka_py.spark.pipeline import BATCH, STREAM, Pipeline, create_topics, parse_arguments, run, totals
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import produce, topic_name, wait_for_leaders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

RECORDS = 3000


def options_for(broker: LocalBroker, topic: str, mode: str, *more: str) -> argparse.Namespace:
    dirs = ",".join(map(str, broker.log_dirs))
    address = ["--bootstrap-server", broker.address, "--log-dirs", dirs]
    return parse_arguments([*address, "--topic", topic, "--sink-topic", f"{topic}-sums", "--mode", mode, *more])


def views(broker: LocalBroker, topic: str, count: int, seed: int) -> None:
    chosen, now = random.Random(seed), datetime.datetime.now(datetime.UTC)
    produce(broker.address, topic, [access_log.sample(chosen, now) for _ in range(count)])


@pytest.fixture
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture
def topic(broker: LocalBroker) -> str:
    name = topic_name("access")
    create_topics(broker.address, name, f"{name}-sums")
    create_topics(broker.address, name)  # it is there already
    wait_for_leaders(broker.address, name, 2)
    wait_for_leaders(broker.address, f"{name}-sums", 2)
    views(broker, name, RECORDS, 1)
    return name


def test_batch(
    spark: SparkSession, broker: LocalBroker, topic: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(spark, options_for(broker, topic, BATCH), tmp_path) == 0
    sums = spark.read.parquet(str(tmp_path / "parquet"))
    assert sum(row["views"] for row in sums.select("views").collect()) == RECORDS
    found = totals(spark, broker.address, f"{topic}-sums")
    assert (found.keys, found.counted) == (sums.count(), RECORDS)
    assert f"which count {RECORDS:,} records" in capsys.readouterr().out


def test_a_stream_goes_on_where_it_was(
    spark: SparkSession, broker: LocalBroker, topic: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = options_for(broker, topic, STREAM, "--once", "--max-offsets-per-trigger", "1000")
    first = Pipeline(spark, options, tmp_path)
    assert first.run_stream() == RECORDS
    # a limit is shared out to the partitions and rounded down
    assert all(990 <= sample.rows <= 1000 for sample in first.samples[:3])
    assert first.samples[0].lag == RECORDS - first.samples[0].rows
    assert totals(spark, broker.address, f"{topic}-sums").counted == RECORDS
    views(broker, topic, 500, 2)
    assert run(spark, options, tmp_path) == 0
    assert totals(spark, broker.address, f"{topic}-sums").counted == RECORDS + 500
    assert (tmp_path / "pipeline.png").stat().st_size > 1000
    assert "batch    2:" in capsys.readouterr().out
