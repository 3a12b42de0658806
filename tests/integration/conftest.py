"""Brokers as processes of their own, driven by real clients; the same tests on the embedded and on Apache ZooKeeper."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator

import pytest

from kafka_py.testing.local_cluster import LocalCluster
from kafka_py.tools.java_runtime import find_java

SMALL = {"log.segment.bytes": "1048576", "log.retention.check.interval.ms": "1000", "num.partitions": "1"}


def zookeeper_kinds() -> list[object]:
    real = pytest.param("real", marks=[pytest.mark.zookeeper])
    return ["embedded", real] if find_java() is not None else ["embedded"]


@pytest.fixture(scope="session", params=zookeeper_kinds())
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One broker with two log directories; shared, so tests use topics of their own."""
    home = tmp_path_factory.mktemp(f"cluster-{request.param}")
    with LocalCluster(zookeeper=request.param, home=home, properties=SMALL, log_dirs=2) as started:
        yield started


@pytest.fixture
def own_cluster(tmp_path: pathlib.Path) -> Iterator[LocalCluster]:
    """One broker for one test that kills, restarts or reconfigures it; not started yet."""
    made = LocalCluster(home=tmp_path, properties={**SMALL, "zookeeper.session.timeout.ms": "2000"})
    yield made
    made.close()


@pytest.fixture(scope="session")
def kcat() -> str:
    found = shutil.which("kcat") or shutil.which("kafkacat")
    if found is None:
        pytest.skip("kcat is not installed")
    return found
