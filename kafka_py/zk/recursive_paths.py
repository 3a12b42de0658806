"""Nodes with those above them, and nodes with those below them.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala (createRecursive, deleteRecursive) @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.zk.zk_data import ZkVersion
from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.requests import CreateRequest, CreateResponse, DeleteRequest, GetChildrenRequest
from kafka_py.zookeeper.zoo_defs import CreateMode

if TYPE_CHECKING:
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class RecursivePaths:
    """Creates and deletes whole paths over one client.

    Mirrors: the methods of kafka.zk.KafkaZkClient that call themselves
    """

    def __init__(self, client: KafkaZkClient) -> None:
        """Over that client, which repeats requests while the connection is lost."""
        self._client = client

    def create(self, path: str, data: bytes | None, throw_if_path_exists: bool) -> None:
        """Create the node, and those above it without data."""
        response = self._create_persistent(path, data)
        if response.result_code is Code.NONODE:
            self._create_parents(_parent_path(path))
            response = self._create_persistent(path, data)
        if throw_if_path_exists or response.result_code is not Code.NODEEXISTS:
            response.maybe_throw()

    def _create_parents(self, path: str) -> None:
        response = self._create_persistent(path, None)
        if response.result_code is Code.NONODE:
            self._create_parents(_parent_path(path))
            response = self._create_persistent(path, None)
        if response.result_code is not Code.NODEEXISTS:
            response.maybe_throw()

    def _create_persistent(self, path: str, data: bytes | None) -> CreateResponse:
        request = CreateRequest(path, data, self._client._acls(path), CreateMode.PERSISTENT)
        return self._client._retry_request_until_connected(request)

    def delete(self, path: str, expected_controller_epoch_zk_version: int) -> bool:
        """Delete the node and all below it; False when it was not there, KeeperException when that fails.

        Level by level, so that the requests of a level are on their way together; Kafka waits for one after the other.
        """
        levels: list[list[str]] = []
        paths = [path]
        while paths:
            found, paths = self._with_children(paths)
            levels.append(found)
        for found in reversed(levels):
            for deleted in self._client._retry_requests_until_connected(
                [DeleteRequest(node, ZkVersion.NO_VERSION) for node in found], expected_controller_epoch_zk_version
            ):
                if deleted.result_code is not Code.NONODE:
                    deleted.maybe_throw()
        return bool(levels[0])

    def _with_children(self, paths: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those of the nodes that are there, and the paths of their children."""
        there, children = [], []
        for response in self._client._retry_requests_until_connected([GetChildrenRequest(path) for path in paths]):
            if response.result_code is not Code.NONODE:
                response.maybe_throw()
                there.append(response.path)
                children += [f"{response.path}/{child}" for child in response.children]
        return there, children


def _parent_path(path: str) -> str:
    last_slash = path.rfind("/")
    if last_slash == -1:
        raise ValueError(f"Invalid path {path}")
    return path[:last_slash]
