"""The controller tells a broker what to lead and what to follow.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaderAndIsrRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.base_partition_state import BasePartitionState
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.common.topic_partition import TopicPartition

CONTROLLER_ID_KEY_NAME = "controller_id"
CONTROLLER_EPOCH_KEY_NAME = "controller_epoch"
PARTITION_STATES_KEY_NAME = "partition_states"
LIVE_LEADERS_KEY_NAME = "live_leaders"
LEADER_KEY_NAME = "leader"
LEADER_EPOCH_KEY_NAME = "leader_epoch"
ISR_KEY_NAME = "isr"
ZK_VERSION_KEY_NAME = "zk_version"
REPLICAS_KEY_NAME = "replicas"
IS_NEW_KEY_NAME = "is_new"
END_POINT_ID_KEY_NAME = "id"
HOST_KEY_NAME = "host"
PORT_KEY_NAME = "port"

LEADER_AND_ISR_REQUEST_PARTITION_STATE_V0 = Schema(
    TOPIC_NAME,
    PARTITION_ID,
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(LEADER_KEY_NAME, INT32, "The leader's broker id, -1 without one"),
    Field(LEADER_EPOCH_KEY_NAME, INT32, "The leader's epoch"),
    Field(ISR_KEY_NAME, ArrayOf(INT32), "The broker ids of the in-sync replicas"),
    Field(ZK_VERSION_KEY_NAME, INT32, "The version of the partition's znode"),
    Field(REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas"),
)

LEADER_AND_ISR_REQUEST_PARTITION_STATE_V1 = Schema(
    TOPIC_NAME,
    PARTITION_ID,
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(LEADER_KEY_NAME, INT32, "The leader's broker id, -1 without one"),
    Field(LEADER_EPOCH_KEY_NAME, INT32, "The leader's epoch"),
    Field(ISR_KEY_NAME, ArrayOf(INT32), "The broker ids of the in-sync replicas"),
    Field(ZK_VERSION_KEY_NAME, INT32, "The version of the partition's znode"),
    Field(REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas"),
    Field(IS_NEW_KEY_NAME, BOOLEAN, "Whether the replica is new on the broker"),
)

LEADER_AND_ISR_REQUEST_LIVE_LEADER_V0 = Schema(
    Field(END_POINT_ID_KEY_NAME, INT32, "The id"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(PORT_KEY_NAME, INT32, "The port"),
)

LEADER_AND_ISR_REQUEST_V0 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(LEADER_AND_ISR_REQUEST_PARTITION_STATE_V0)),
    Field(LIVE_LEADERS_KEY_NAME, ArrayOf(LEADER_AND_ISR_REQUEST_LIVE_LEADER_V0)),
)

LEADER_AND_ISR_REQUEST_V1 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(LEADER_AND_ISR_REQUEST_PARTITION_STATE_V1)),
    Field(LIVE_LEADERS_KEY_NAME, ArrayOf(LEADER_AND_ISR_REQUEST_LIVE_LEADER_V0)),
)


class LeaderAndIsrRequest(AbstractRequest):
    """Leader, in-sync replicas and replicas by partition, and the addresses of the leaders.

    Mirrors: org.apache.kafka.common.requests.LeaderAndIsrRequest
    """

    __slots__ = ("_controller_epoch", "_controller_id", "_live_leaders", "_partition_states")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LEADER_AND_ISR

    class PartitionState:
        """The state of a partition; ``is_new`` tells a broker that its replica was just assigned to it.

        Mirrors: org.apache.kafka.common.requests.LeaderAndIsrRequest.PartitionState
        """

        __slots__ = ("base_partition_state", "is_new")

        def __init__(
            self,
            controller_epoch: int,
            leader: int,
            leader_epoch: int,
            isr: list[int],
            zk_version: int,
            replicas: list[int],
            is_new: bool,
        ) -> None:
            self.base_partition_state = BasePartitionState(
                controller_epoch, leader, leader_epoch, isr, zk_version, replicas
            )
            self.is_new = is_new

        def __eq__(self, other: object) -> bool:
            return isinstance(other, LeaderAndIsrRequest.PartitionState) and str(self) == str(other)

        def __hash__(self) -> int:
            return hash(str(self))

        def __str__(self) -> str:
            base = self.base_partition_state
            return (
                f"PartitionState(controllerEpoch={base.controller_epoch}, leader={base.leader}, "
                f"leaderEpoch={base.leader_epoch}, isr={','.join(map(str, base.isr))}, zkVersion={base.zk_version}, "
                f"replicas={','.join(map(str, base.replicas))}, isNew={str(self.is_new).lower()})"
            )

        __repr__ = __str__

    class Builder(AbstractRequest.Builder):
        """Holds the request of one version.

        Mirrors: org.apache.kafka.common.requests.LeaderAndIsrRequest.Builder
        """

        def __init__(
            self,
            version: int,
            controller_id: int,
            controller_epoch: int,
            partition_states: dict[TopicPartition, LeaderAndIsrRequest.PartitionState],
            live_leaders: set[Node],
        ) -> None:
            super().__init__(ApiKeys.LEADER_AND_ISR, version)
            self._controller_id = controller_id
            self._controller_epoch = controller_epoch
            self._partition_states = partition_states
            self._live_leaders = live_leaders

        def build(self, version: int | None = None) -> LeaderAndIsrRequest:
            return LeaderAndIsrRequest(
                self._version_or_latest(version),
                self._controller_id,
                self._controller_epoch,
                self._partition_states,
                self._live_leaders,
            )

        def __str__(self) -> str:
            return (
                f"(type=LeaderAndIsRequest, controllerId={self._controller_id}, "
                f"controllerEpoch={self._controller_epoch}, partitionStates={self._partition_states}, "
                f"liveLeaders=({', '.join(map(str, self._live_leaders))}))"
            )

    def __init__(
        self,
        version: int,
        controller_id: int,
        controller_epoch: int,
        partition_states: dict[TopicPartition, PartitionState],
        live_leaders: set[Node],
    ) -> None:
        super().__init__(version)
        self._controller_id = controller_id
        self._controller_epoch = controller_epoch
        self._partition_states = partition_states
        self._live_leaders = live_leaders

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LEADER_AND_ISR_REQUEST_V0, LEADER_AND_ISR_REQUEST_V1]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> LeaderAndIsrRequest:
        partition_states = {}
        for state in struct.get(PARTITION_STATES_KEY_NAME):
            partition_states[TopicPartition(state.get(TOPIC_NAME), state.get(PARTITION_ID))] = cls.PartitionState(
                state.get(CONTROLLER_EPOCH_KEY_NAME),
                state.get(LEADER_KEY_NAME),
                state.get(LEADER_EPOCH_KEY_NAME),
                state.get(ISR_KEY_NAME),
                state.get(ZK_VERSION_KEY_NAME),
                state.get(REPLICAS_KEY_NAME),
                state.get_or_else(IS_NEW_KEY_NAME, False),
            )
        leaders = {
            Node(leader.get(END_POINT_ID_KEY_NAME), leader.get(HOST_KEY_NAME), leader.get(PORT_KEY_NAME))
            for leader in struct.get(LIVE_LEADERS_KEY_NAME)
        }
        return cls(
            version,
            struct.get(CONTROLLER_ID_KEY_NAME),
            struct.get(CONTROLLER_EPOCH_KEY_NAME),
            partition_states,
            leaders,
        )

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.LEADER_AND_ISR.request_schema(self._version))
        result.set(CONTROLLER_ID_KEY_NAME, self._controller_id).set(CONTROLLER_EPOCH_KEY_NAME, self._controller_epoch)
        states = []
        for tp, partition_state in self._partition_states.items():
            base = partition_state.base_partition_state
            state = result.instance(PARTITION_STATES_KEY_NAME)
            state.set(TOPIC_NAME, tp.topic).set(PARTITION_ID, tp.partition)
            state.set(CONTROLLER_EPOCH_KEY_NAME, base.controller_epoch)
            state.set(LEADER_KEY_NAME, base.leader).set(LEADER_EPOCH_KEY_NAME, base.leader_epoch)
            state.set(ISR_KEY_NAME, base.isr).set(ZK_VERSION_KEY_NAME, base.zk_version)
            state.set(REPLICAS_KEY_NAME, base.replicas)
            states.append(state.set_if_exists(IS_NEW_KEY_NAME, partition_state.is_new))
        leaders = []
        for node in self._live_leaders:
            leader = result.instance(LIVE_LEADERS_KEY_NAME)
            leaders.append(
                leader.set(END_POINT_ID_KEY_NAME, node.id).set(HOST_KEY_NAME, node.host).set(PORT_KEY_NAME, node.port)
            )
        return result.set(PARTITION_STATES_KEY_NAME, states).set(LIVE_LEADERS_KEY_NAME, leaders)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> LeaderAndIsrResponse:
        error = Errors.for_exception(e)
        return LeaderAndIsrResponse(error, dict.fromkeys(self._partition_states, error))

    def controller_id(self) -> int:
        """The controller's broker id."""
        return self._controller_id

    def controller_epoch(self) -> int:
        """The controller's epoch: a request of an older controller is refused."""
        return self._controller_epoch

    def partition_states(self) -> dict[TopicPartition, PartitionState]:
        """What to lead and what to follow."""
        return self._partition_states

    def live_leaders(self) -> set[Node]:
        """Where to fetch from."""
        return self._live_leaders
