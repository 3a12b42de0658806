"""Apache Kafka beside our broker; without Java or its jars these tests are skipped."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.interop.apache_kafka import ApacheBroker, ApacheKafka, UnavailableError


@pytest.fixture(scope="session")
def apache(tmp_path_factory: pytest.TempPathFactory) -> ApacheKafka:
    try:
        return ApacheKafka(tmp_path_factory.mktemp("apache"))
    except UnavailableError as e:
        pytest.skip(str(e))


@pytest.fixture
def own_cluster(tmp_path: pathlib.Path) -> Iterator[LocalCluster]:
    """One broker and an embedded ZooKeeper for one test; not started yet."""
    properties = {"log.segment.bytes": "100000", "log.index.interval.bytes": "1000", "num.partitions": "1"}
    versions = dict.fromkeys(("inter.broker.protocol.version", "log.message.format.version"), "1.1-IV0")
    made = LocalCluster(home=tmp_path, properties={**properties, **versions, "zookeeper.session.timeout.ms": "2000"})
    yield made
    made.close()


@pytest.fixture
def apache_broker_of(apache: ApacheKafka) -> Iterator[Callable[[LocalBroker], ApacheBroker]]:
    """Makes Apache's broker for the id, the directories and the ZooKeeper of one of ours, which must have run."""
    made: list[ApacheBroker] = []

    def make(ours: LocalBroker) -> ApacheBroker:
        made.append(apache.broker(ours))
        return made[-1]

    yield make
    for broker in made:
        if broker.is_running:
            broker.process.stop()
