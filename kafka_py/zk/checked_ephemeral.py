"""The ephemeral node of a session, which may be there already.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala (CheckedEphemeral) @ 2.5.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.utils.logging import Logging
from kafka_py.zk.zk_data import ZkVersion
from kafka_py.zookeeper.keeper_exception import Code, KeeperException
from kafka_py.zookeeper.op import CreateOp, SetDataOp, SetDataResult
from kafka_py.zookeeper.requests import DeleteRequest, GetDataRequest, MultiRequest
from kafka_py.zookeeper.zoo_defs import CreateMode, Stat

if TYPE_CHECKING:
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class CheckedEphemeral(Logging):
    """Creates an ephemeral node, and finds out whose it is when it is there already.

    It may be our own, from a create whose answer was lost; or it may vanish while we look, and then we try again.

    Mirrors: kafka.zk.KafkaZkClient.CheckedEphemeral
    Differs: as from 2.2 on, the state of the node is wanted as well, whose czxid is the broker's epoch (KIP-380), so
        it is created and written in one transaction, and has version 1. A node of our own session before this one,
        which an ensemble may keep beyond the session's end, is replaced as in later Kafka: the broker would stay
        unregistered else.
    """

    logger_name = "kafka.zk.KafkaZkClient$CheckedEphemeral"

    def __init__(self, client: KafkaZkClient, path: str, data: bytes) -> None:
        """The node to create, and with what."""
        self._client = client
        self._path = path
        self._data = data

    def create(self) -> Stat:
        """The state of the node, which is this session's; raises the KeeperException of why it is not."""
        path = self._path
        ops = [
            CreateOp(path, None, self._client._acls(path), CreateMode.EPHEMERAL),
            SetDataOp(path, self._data, 0),
        ]
        response = self._client._retry_request_until_connected(MultiRequest(ops))
        code = response.result_code
        if code is Code.NODEEXISTS:
            return self._get_after_node_exists()
        if code is not Code.OK or response.zk_op_results is None:
            self.error("Error while creating ephemeral at %s with return code: %s", path, code)
            raise KeeperException.create(code)
        self._client._ephemeral_session_id = self._client._zoo_keeper_client.session_id
        written = response.zk_op_results[1].raw_op_result
        assert isinstance(written, SetDataResult), "a transaction that succeeded has a result for each operation"
        return written.stat

    def _get_after_node_exists(self) -> Stat:
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
            raise KeeperException.create(code)
        owner = response.stat.ephemeral_owner
        session_id = self._client._zoo_keeper_client.session_id
        if owner == session_id:
            self._client._ephemeral_session_id = session_id
            return response.stat
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
        raise KeeperException.create(Code.NODEEXISTS)

    def _replace(self) -> Stat:
        request = DeleteRequest(self._path, ZkVersion.NO_VERSION)
        code = self._client._retry_request_until_connected(request).result_code
        if code in (Code.OK, Code.NONODE):
            return self.create()
        self.error("Error while deleting ephemeral node at %s with return code: %s", self._path, code)
        raise KeeperException.create(code)
