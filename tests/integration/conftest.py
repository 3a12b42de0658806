"""Brokers as processes of their own, driven by real clients; the same tests on the embedded and on Apache ZooKeeper."""

from __future__ import annotations

import collections
import pathlib
import shutil
from collections.abc import Iterator

import pytest

from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import LocalCluster
from kafka_py.tools.java_runtime import find_java
from tests.integration.canary import Canary
from tests.integration.support import thread_names

SMALL = {
    "log.segment.bytes": "1048576",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "500",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
}


def zookeeper_kinds() -> list[object]:
    no_java = pytest.mark.skipif(find_java() is None, reason="no Java runtime for Apache ZooKeeper")
    return ["embedded", pytest.param("real", marks=[pytest.mark.zookeeper, no_java])]


@pytest.fixture(scope="session")
def embedded_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One broker with two log directories; shared, so tests use topics of their own."""
    home = tmp_path_factory.mktemp("cluster-embedded")
    with LocalCluster(home=home, properties=SMALL, log_dirs=2) as started:
        yield started


@pytest.fixture(scope="session")
def real_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """The same on Apache ZooKeeper."""
    home = tmp_path_factory.mktemp("cluster-real")
    with LocalCluster(zookeeper="real", home=home, properties=SMALL, log_dirs=2) as started:
        yield started


@pytest.fixture(scope="session", params=zookeeper_kinds())
def cluster(request: pytest.FixtureRequest) -> LocalCluster:
    found: LocalCluster = request.getfixturevalue(f"{request.param}_cluster")
    return found


@pytest.fixture
def own_cluster(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Cluster]:
    """One broker for one test that kills, restarts or reconfigures it; not started yet. Its ZooKeeper may be chosen."""
    short = {**SMALL, "zookeeper.session.timeout.ms": "2000"}
    made = Cluster(zookeeper=getattr(request, "param", "embedded"), home=tmp_path, properties=short)
    yield made
    made.close()


@pytest.fixture(scope="session")
def kcat() -> str:
    found = shutil.which("kcat") or shutil.which("kafkacat")
    if found is None:
        pytest.skip("kcat is not installed")
    return found


@pytest.fixture(scope="module")
def canary(embedded_cluster: LocalCluster) -> Iterator[Canary]:
    """A client on one connection that must notice nothing of what a module's tests do to the broker beside it.

    At the end of the module the broker still has every thread it had before.
    """
    process = embedded_cluster.brokers[0].process
    with Canary(embedded_cluster.brokers[0]) as bird:
        before = collections.Counter(thread_names(process.pid))
        yield bird
        bird.beat()
        gone = before - collections.Counter(thread_names(process.pid))
        # threads that serve one HTTP request or hold one pooled connection come and go
        assert not {name: count for name, count in gone.items() if name not in ("python", "HTTP")}


@pytest.fixture
def undisturbed(canary: Canary) -> Iterator[None]:
    """The canary lives before and after the test."""
    canary.beat()
    yield
    canary.beat()
