"""The ground that KafkaZkClient stands on: requests with retries, whole paths, ephemeral nodes, handlers.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala @ 1.1.1 (its private members and what belongs to no purpose)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import MetricName
from kafka_py.utils.logging import Logging
from kafka_py.zk.zk_data import ZkData, ZkVersion
from kafka_py.zookeeper.keeper_exception import Code, KeeperException
from kafka_py.zookeeper.requests import (
    AsyncRequest,
    AsyncResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    ExistsRequest,
    GetChildrenRequest,
    GetDataRequest,
)
from kafka_py.zookeeper.zoo_defs import ACL, CreateMode

if TYPE_CHECKING:
    from kafka_py.zookeeper.zoo_keeper import ZooKeeper
    from kafka_py.zookeeper.zoo_keeper_client import (
        StateChangeHandler,
        ZNodeChangeHandler,
        ZNodeChildChangeHandler,
        ZooKeeperClient,
    )

_NO_TAGS: Mapping[str, str] = {}
R = TypeVar("R", bound=AsyncResponse)


class KafkaZkClientBase(KafkaMetricsGroup):
    """Base of KafkaZkClient: see there."""

    def __init__(self, zoo_keeper_client: ZooKeeperClient, is_secure: bool, time: Any) -> None:
        """Use that client; with is_secure new nodes are closed to others."""
        self._zoo_keeper_client = zoo_keeper_client
        self._is_secure = is_secure
        self._time = time
        # The session that last created an ephemeral node, 0 before that.
        self._ephemeral_session_id = 0  # volatile: any thread
        self._latency_metric = self.new_histogram("ZooKeeperRequestLatencyMs")

    def metric_name(self, name: str, tags: Mapping[str, str] = _NO_TAGS) -> MetricName:
        """Metrics stand under kafka.server:type=ZooKeeperClientMetrics."""
        return self.explicit_metric_name("kafka.server", "ZooKeeperClientMetrics", name, tags)

    @property
    def current_zoo_keeper(self) -> ZooKeeper:
        """The handle of the current session; for tests."""
        return self._zoo_keeper_client.current_zoo_keeper

    @property
    def is_connected(self) -> bool:
        """Whether requests reach ZooKeeper now."""
        return self._zoo_keeper_client.connection_state.is_connected()

    def limit_waits(self, limit_ms: int) -> None:
        """From now on requests fail, with ZooKeeperClientTimeoutException, when the connection is away for so long."""
        self._zoo_keeper_client.limit_waits(limit_ms)

    def close(self) -> None:
        """End the session."""
        self.remove_metric("ZooKeeperRequestLatencyMs")
        self._zoo_keeper_client.close()

    # ----- handlers: see ZooKeeperClient -----

    def register_z_node_change_handler_and_check_existence(self, z_node_change_handler: ZNodeChangeHandler) -> bool:
        """Register the handler and set its watch, which works for an absent node too; tells whether it exists."""
        self._zoo_keeper_client.register_z_node_change_handler(z_node_change_handler)
        return self.path_exists(z_node_change_handler.path)

    def register_z_node_change_handler(self, z_node_change_handler: ZNodeChangeHandler) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.register_z_node_change_handler(z_node_change_handler)

    def unregister_z_node_change_handler(self, path: str) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.unregister_z_node_change_handler(path)

    def register_z_node_child_change_handler(self, z_node_child_change_handler: ZNodeChildChangeHandler) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.register_z_node_child_change_handler(z_node_child_change_handler)

    def unregister_z_node_child_change_handler(self, path: str) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.unregister_z_node_child_change_handler(path)

    # The same under the names that readers of the blogs look for.
    register_znode_change_handler_and_check_existence = register_z_node_change_handler_and_check_existence
    register_znode_change_handler = register_z_node_change_handler
    unregister_znode_change_handler = unregister_z_node_change_handler
    register_znode_child_change_handler = register_z_node_child_change_handler
    unregister_znode_child_change_handler = unregister_z_node_child_change_handler

    def register_state_change_handler(self, state_change_handler: StateChangeHandler) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.register_state_change_handler(state_change_handler)

    def unregister_state_change_handler(self, name: str) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.unregister_state_change_handler(name)

    # ----- whole paths -----

    def path_exists(self, path: str) -> bool:
        """Whether there is such a node."""
        response = self._retry_request_until_connected(ExistsRequest(path))
        if response.result_code in (Code.OK, Code.NONODE):
            return response.result_code is Code.OK
        raise response.failure

    def make_sure_persistent_path_exists(self, path: str) -> None:
        """Create the node, and those above it, where they are missing."""
        self.create_recursive(path, data=None, throw_if_path_exists=False)

    def create_recursive(self, path: str, data: bytes | None = None, throw_if_path_exists: bool = True) -> None:
        """Create the node, and those above it without data; raises NodeExistsException if the node is there."""
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
        request = CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT)
        return self._retry_request_until_connected(request)

    def create_sequential_persistent_path(self, path: str, data: bytes) -> str:
        """Create a node whose name is the path with the next number; returns that name."""
        request = CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT_SEQUENTIAL)
        response = self._retry_request_until_connected(request)
        response.maybe_throw()
        return str(response.name)

    def delete_path(self, path: str) -> bool:
        """Delete the node and all below it; False when it was not there."""
        return self.delete_recursive(path)

    def delete_recursive(self, path: str) -> bool:
        """Delete the node and all below it; False when it was not there, KeeperException when that fails.

        Level by level, so that the requests of a level are on their way together; Kafka waits for one after the other.
        """
        levels: list[list[str]] = []
        paths = [path]
        while paths:
            found, paths = self._with_children(paths)
            levels.append(found)
        for found in reversed(levels):
            for deleted in self._retry_requests_until_connected(
                [DeleteRequest(node, ZkVersion.NO_VERSION) for node in found]
            ):
                if deleted.result_code is not Code.NONODE:
                    deleted.maybe_throw()
        return bool(levels[0])

    def _with_children(self, paths: Sequence[str]) -> tuple[list[str], list[str]]:
        """Those of the nodes that are there, and the paths of their children."""
        there, children = [], []
        for response in self._retry_requests_until_connected([GetChildrenRequest(path) for path in paths]):
            if response.result_code is not Code.NONODE:
                response.maybe_throw()
                there.append(response.path)
                children += [f"{response.path}/{child}" for child in response.children]
        return there, children

    # ----- requests -----

    def _acls(self, path: str) -> list[ACL]:
        return ZkData.default_acls(self._is_secure, path)

    def _retry_request_until_connected(self, request: AsyncRequest[R]) -> R:
        return self._retry_requests_until_connected([request])[0]

    def _retry_requests_until_connected(self, requests: Sequence[AsyncRequest[R]]) -> list[R]:
        """Send the requests; those whose connection broke are sent again, after the answered ones."""
        client, remaining = self._zoo_keeper_client, list(requests)
        responses: list[R] = []
        while remaining:
            if client.must_wait_first:
                # A silent server would keep each request until the next attempt to connect is given up.
                client.wait_until_connected()
            batch = client.handle_requests(remaining)
            for response in batch:
                self._latency_metric.update(response.metadata.response_time_ms)
            lost = [
                request
                for request, response in zip(remaining, batch, strict=True)
                if response.result_code is Code.CONNECTIONLOSS
            ]
            responses += [response for response in batch if response.result_code is not Code.CONNECTIONLOSS]
            remaining = lost
            if remaining:
                client.wait_until_connected()
        return responses

    @staticmethod
    def _throw(code: Code) -> None:
        if code is not Code.OK:
            raise KeeperException.create(code)


def _parent_path(path: str) -> str:
    last_slash = path.rfind("/")
    if last_slash == -1:
        raise ValueError(f"Invalid path {path}")
    return path[:last_slash]


class CheckedEphemeral(Logging):
    """Creates an ephemeral node, and finds out whose it is when it is there already.

    It may be our own, from a create whose answer was lost; or it may vanish while we look, and then we try again.

    Mirrors: kafka.zk.KafkaZkClient.CheckedEphemeral
    Differs: a node of our own session before this one, which an ensemble may keep beyond the session's end, is
        replaced as in later Kafka: the broker would stay unregistered else.
    """

    logger_name = "kafka.zk.KafkaZkClient$CheckedEphemeral"

    def __init__(self, client: KafkaZkClientBase, path: str, data: bytes) -> None:
        """The node to create, and with what."""
        self._client = client
        self._path = path
        self._data = data

    def create(self) -> Code:
        """OK when the node is this session's, otherwise why it is not."""
        path = self._path
        request = CreateRequest(path, self._data, self._client._acls(path), CreateMode.EPHEMERAL)
        code = self._client._retry_request_until_connected(request).result_code
        if code is Code.NODEEXISTS:
            return self._get_after_node_exists()
        if code is not Code.OK:
            self.error("Error while creating ephemeral at %s with return code: %s", path, code)
            return code
        self._client._ephemeral_session_id = self._client._zoo_keeper_client.session_id
        return code

    def _get_after_node_exists(self) -> Code:
        path = self._path
        response = self._client._retry_request_until_connected(GetDataRequest(path))
        code = response.result_code
        if code is Code.NONODE:
            self.info("The ephemeral node at %s went away while reading it, attempting create() again", path)
            return self.create()
        if code is not Code.OK:
            self.error(
                "Error while creating ephemeral at %s as it already exists and error getting the node data due to %s",
                path,
                code,
            )
            return code
        owner = response.stat.ephemeral_owner
        session_id = self._client._zoo_keeper_client.session_id
        if owner == session_id:
            self._client._ephemeral_session_id = session_id
            return Code.OK
        if owner != 0 and owner == self._client._ephemeral_session_id:
            self.info(
                "The ephemeral node at %s is left from this client's session 0x%x before 0x%x: replacing it",
                path,
                owner,
                session_id,
            )
            return self._replace()
        self.error(
            "Error while creating ephemeral at %s, node already exists and owner '%d' does not match current session "
            "'%d'",
            path,
            owner,
            session_id,
        )
        return Code.NODEEXISTS

    def _replace(self) -> Code:
        request = DeleteRequest(self._path, ZkVersion.NO_VERSION)
        code = self._client._retry_request_until_connected(request).result_code
        if code in (Code.OK, Code.NONODE):
            return self.create()
        self.error("Error while deleting ephemeral node at %s with return code: %s", self._path, code)
        return code
