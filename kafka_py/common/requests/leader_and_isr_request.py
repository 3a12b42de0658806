"""The controller tells a broker what to lead and what to follow.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaderAndIsrRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TypeAlias

from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, INT64, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.base_partition_state import BasePartitionState, states_by_topic
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition


class PartitionState(BasePartitionState):
    """The state of a partition; ``is_new`` tells a broker that its replica was just assigned to it.

    Mirrors: org.apache.kafka.common.requests.LeaderAndIsrRequest.PartitionState
    """

    topic: str = field(STRING, until=1, default="")
    adding_replicas: list[int] = field(ListOf(INT32), "Not used here", since=3, default_factory=list)
    removing_replicas: list[int] = field(ListOf(INT32), "Not used here", since=3, default_factory=list)
    is_new: bool = field(BOOLEAN, since=1, default=False)

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
        super().__init__(controller_epoch, leader, leader_epoch, isr, zk_version, replicas)
        self.adding_replicas: list[int] = []
        self.removing_replicas: list[int] = []
        self.is_new = is_new

    def __str__(self) -> str:
        return (
            f"PartitionState(controllerEpoch={self.controller_epoch}, leader={self.leader}, "
            f"leaderEpoch={self.leader_epoch}, isr={','.join(map(str, self.isr))}, zkVersion={self.zk_version}, "
            f"replicas={','.join(map(str, self.replicas))}, isNew={str(self.is_new).lower()})"
        )


_PartitionState = PartitionState


class LeaderAndIsrRequest(RequestMessage, key=ApiKeys.LEADER_AND_ISR, latest=4, flexible=4):
    """Leader, in-sync replicas and replicas by partition, and the addresses of the leaders.

    Mirrors: org.apache.kafka.common.requests.LeaderAndIsrRequest
    """

    PartitionState: TypeAlias = _PartitionState  # type: ignore[misc]  # it is no dataclass

    class TopicState(Message):
        """The states of a topic's partitions."""

        topic: str = field(STRING)
        partition_states: list[_PartitionState] = field(ListOf(_PartitionState))

    class LiveLeader(Message):
        """Where to fetch from."""

        id: int = field(INT32)
        host: str = field(STRING)
        port: int = field(INT32)

    controller_id: int = field(INT32)
    controller_epoch: int = field(INT32, "A request of an older controller is refused")
    broker_epoch: int = field(INT64, "Of the life of the broker that is meant, -1 for any", since=2, default=-1)
    state_entries: list[PartitionState] = field(
        ListOf(PartitionState), until=1, wire="partition_states", default_factory=list
    )
    topic_states: list[TopicState] = field(ListOf(TopicState), since=2, default_factory=list)
    live_leaders: list[LiveLeader] = field(ListOf(LiveLeader))

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
            live_leaders: Set[Node],
            broker_epoch: int = -1,
        ) -> None:
            super().__init__(ApiKeys.LEADER_AND_ISR, version)
            self._broker_epoch = broker_epoch
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
                self._broker_epoch,
            )

        def __str__(self) -> str:
            return (
                f"(type=LeaderAndIsRequest, controllerId={self._controller_id}, "
                f"controllerEpoch={self._controller_epoch}, brokerEpoch={self._broker_epoch}, "
                f"partitionStates={self._partition_states}, "
                f"liveLeaders=({', '.join(map(str, self._live_leaders))}))"
            )

    def __init__(
        self,
        version: int,
        controller_id: int,
        controller_epoch: int,
        partition_states: Mapping[TopicPartition, PartitionState],
        live_leaders: Set[Node],
        broker_epoch: int = -1,
    ) -> None:
        self._version = version
        self.broker_epoch = broker_epoch
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        states = [state.of(tp) for tp, state in partition_states.items()]
        self.state_entries = states if version < 2 else []
        self.topic_states = [
            self.TopicState(topic=topic, partition_states=list(of_topic))
            for topic, of_topic in (states_by_topic(states) if version >= 2 else {}).items()
        ]
        self.live_leaders = [self.LiveLeader(id=node.id, host=node.host, port=node.port) for node in live_leaders]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> LeaderAndIsrResponse:
        error = Errors.for_exception(e)
        return LeaderAndIsrResponse(error, dict.fromkeys(self.partition_states(), error))

    def partition_states(self) -> dict[TopicPartition, PartitionState]:
        """What to lead and what to follow."""
        flat = {TopicPartition(state.topic, state.partition): state for state in self.state_entries}
        return flat | {
            (tp := TopicPartition(topic.topic, state.partition)): state.of(tp)
            for topic in self.topic_states
            for state in topic.partition_states
        }
