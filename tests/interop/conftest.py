"""Apache Kafka beside our broker; without Java or its jars these tests are skipped."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.interop.apache_kafka import ApacheBroker, ApacheKafka, UnavailableError

MakeCluster = Callable[..., LocalCluster]


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
    made = LocalCluster(home=tmp_path, properties={**properties, "zookeeper.session.timeout.ms": "2000"})
    yield made
    made.close()


@pytest.fixture
def apache_broker(apache: ApacheKafka, own_cluster: LocalCluster) -> Iterator[ApacheBroker]:
    """Apache's broker on the directories and the ZooKeeper of own_cluster, which must be started before it."""
    ours = own_cluster.brokers[0]
    theirs = apache.broker(ours)
    yield theirs
    stop(theirs)


def stop(broker: LocalBroker) -> None:
    """Stop a broker that may not have been started."""
    if broker._process is not None and broker._process.is_running:
        broker._process.stop()
