"""Taking the office of controller: the node of the controller and the next epoch, both or neither.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala (registerControllerAndIncrementControllerEpoch) @ 2.5.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafka_py.common.errors import ControllerMovedException, IllegalStateException
from kafka_py.utils.logging import Logging
from kafka_py.zk.zk_data import ControllerEpochZNode, ControllerZNode
from kafka_py.zookeeper.keeper_exception import Code, KeeperException
from kafka_py.zookeeper.op import CreateOp, SetDataOp, SetDataResult
from kafka_py.zookeeper.requests import MultiRequest
from kafka_py.zookeeper.zoo_defs import CreateMode

if TYPE_CHECKING:
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

_MOVED = "Controller moved to another broker. Aborting controller startup procedure"
INITIAL_CONTROLLER_EPOCH: Final = 0
INITIAL_CONTROLLER_EPOCH_ZK_VERSION: Final = 0


class ControllerRegistration(Logging):
    """One attempt of a broker to become the controller.

    Mirrors: the nested functions of kafka.zk.KafkaZkClient.registerControllerAndIncrementControllerEpoch (2.5.1)
    """

    logger_name = "kafka.zk.KafkaZkClient"

    def __init__(self, client: KafkaZkClient, controller_id: int, timestamp: int) -> None:
        """Who wants to be controller, and since when."""
        self._client = client
        self._controller_id = controller_id
        self._timestamp = timestamp

    def register(self) -> tuple[int, int]:
        """(epoch, version of its node); ControllerMovedException if another broker was faster."""
        found = self._client.get_controller_epoch()
        epoch, version = self._maybe_create_epoch() if found is None else (found[0], found[1].version)
        self.debug(
            "Try to create %s and increment controller epoch to %d with expected controller epoch zkVersion %d",
            ControllerZNode.path,
            epoch + 1,
            version,
        )
        return self._try_create_controller_znode_and_increment_epoch(epoch + 1, version)

    def _try_create_controller_znode_and_increment_epoch(self, new_epoch: int, version: int) -> tuple[int, int]:
        path = ControllerZNode.path
        data = ControllerZNode.encode(self._controller_id, self._timestamp)
        create = CreateOp(path, data, self._client._acls(path), CreateMode.EPHEMERAL)
        increment = SetDataOp(ControllerEpochZNode.path, ControllerEpochZNode.encode(new_epoch), version)
        response = self._client._retry_request_until_connected(MultiRequest([create, increment]))
        if response.result_code in (Code.NODEEXISTS, Code.BADVERSION):
            return self._check_controller_and_epoch(new_epoch)
        if response.result_code is not Code.OK or response.zk_op_results is None:
            raise KeeperException.create(response.result_code)
        written = response.zk_op_results[1].raw_op_result
        assert isinstance(written, SetDataResult), "a transaction that succeeded has a result for each operation"
        return new_epoch, written.stat.version

    def _check_controller_and_epoch(self, new_epoch: int) -> tuple[int, int]:
        """It was we ourselves, if the first answer was lost with the connection."""
        current = self._client.get_controller_id()
        if current is None:
            raise ControllerMovedException(
                f"The ephemeral node at {ControllerZNode.path} went away while checking whether the controller "
                "election succeeds. Aborting controller startup procedure"
            )
        if current == self._controller_id:
            epoch, version = self._epoch_that_was_there()
            # Every other election would have written a larger one.
            if epoch == new_epoch:
                return epoch, version
        raise ControllerMovedException(_MOVED)

    def _maybe_create_epoch(self) -> tuple[int, int]:
        response = self._client.create_controller_epoch_raw(INITIAL_CONTROLLER_EPOCH)
        if response.result_code is Code.OK:
            self.info(
                "Successfully created %s with initial epoch %d", ControllerEpochZNode.path, INITIAL_CONTROLLER_EPOCH
            )
            return INITIAL_CONTROLLER_EPOCH, INITIAL_CONTROLLER_EPOCH_ZK_VERSION
        if response.result_code is Code.NODEEXISTS:
            return self._epoch_that_was_there()
        raise KeeperException.create(response.result_code)

    def _epoch_that_was_there(self) -> tuple[int, int]:
        found = self._client.get_controller_epoch()
        if found is None:
            raise IllegalStateException(
                f"{ControllerEpochZNode.path} existed before but goes away while trying to read it"
            )
        return found[0], found[1].version
