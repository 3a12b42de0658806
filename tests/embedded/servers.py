"""ZooKeepers for tests: ours in this process, and Apache's as a child process where there is a Java."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from kafka_py.embedded.apache_zookeeper import ApacheZooKeeper
from kafka_py.embedded.zookeeper_server import ZooKeeperServer
from kafka_py.tools.java_runtime import JavaNotFoundError, require_java, zookeeper_class_path

Server = ZooKeeperServer | ApacheZooKeeper
_number = itertools.count()


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer(tmp_path_factory.mktemp("embedded"), tick_time=500, max_client_cnxns=0) as server:
        yield server


@pytest.fixture(scope="session")
def apache_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheZooKeeper]:
    try:
        require_java()
        zookeeper_class_path()
    except JavaNotFoundError as e:
        pytest.skip(str(e))
    with ApacheZooKeeper(tmp_path_factory.mktemp("apache")) as server:
        yield server


@pytest.fixture(params=["embedded", pytest.param("apache", marks=pytest.mark.zookeeper)])
def server(request: pytest.FixtureRequest) -> Server:
    """One of the two servers, each running for the whole session."""
    found: Server = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.fixture
def zk_connect(server: Server) -> str:
    """Where the server is, with a chroot that no other test uses."""
    chroot = f"/test{next(_number)}"
    with_client(server.connect_string, lambda client: client.create(chroot))
    return server.connect_string + chroot


def with_client(connect_string: str, action: object) -> None:
    """Do something with a kazoo client of its own."""
    client = KazooClient(connect_string, timeout=5.0)
    client.start()
    try:
        assert callable(action)
        action(client)
    finally:
        client.stop()
        client.close()
