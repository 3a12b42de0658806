"""The controller tells every broker what clients may ask.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/UpdateMetadataRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, NamedTuple, Self, TypeAlias

from kafka_py.common.errors import SchemaException, UnsupportedVersionException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.base_partition_state import BasePartitionState, states_by_topic
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition


class PartitionState(BasePartitionState):
    """The state of a partition.

    Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest.PartitionState
    """

    topic: str = field(STRING, until=4, default="")
    offline_replicas: list[int] = field(
        ListOf(INT32), "The broker ids of replicas that are offline", since=4, default_factory=list
    )

    def __init__(
        self,
        controller_epoch: int,
        leader: int,
        leader_epoch: int,
        isr: list[int],
        zk_version: int,
        replicas: list[int],
        offline_replicas: list[int],
    ) -> None:
        super().__init__(controller_epoch, leader, leader_epoch, isr, zk_version, replicas)
        self.offline_replicas = offline_replicas

    def __str__(self) -> str:
        return (
            f"PartitionState(controllerEpoch={self.controller_epoch}, leader={self.leader}, "
            f"leaderEpoch={self.leader_epoch}, isr={self.isr}, zkVersion={self.zk_version}, "
            f"replicas={self.replicas}, offlineReplicas={self.offline_replicas})"
        )


_PartitionState = PartitionState


class UpdateMetadataRequest(RequestMessage, key=ApiKeys.UPDATE_METADATA, latest=6, flexible=6):
    """The state of partitions that changed, and all brokers that are alive.

    Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest
    """

    PartitionState: TypeAlias = _PartitionState  # type: ignore[misc]  # it is no dataclass

    class TopicState(Message):
        """The states of a topic's partitions."""

        topic: str = field(STRING)
        partition_states: list[_PartitionState] = field(ListOf(_PartitionState))

    class LiveBroker(Message):
        """A broker as it is written."""

        class LiveEndPoint(Message):
            """An endpoint as it is written."""

            port: int = field(INT32)
            host: str = field(STRING)
            listener_name: str | None = field(STRING, since=3, default=None)
            security_protocol_type: int = field(INT16)

        id: int = field(INT32)
        host: str = field(STRING, until=0, default="")
        port: int = field(INT32, until=0, default=-1)
        end_points: list[LiveEndPoint] = field(ListOf(LiveEndPoint), since=1, default_factory=list)
        rack: str | None = field(NULLABLE_STRING, since=2, default=None)

    controller_id: int = field(INT32)
    controller_epoch: int = field(INT32, "A request of an older controller is refused")
    broker_epoch: int = field(INT64, "Of the life of the broker that is meant, -1 for any", since=5, default=-1)
    state_entries: list[PartitionState] = field(
        ListOf(PartitionState), until=4, wire="partition_states", default_factory=list
    )
    topic_states: list[TopicState] = field(ListOf(TopicState), since=5, default_factory=list)
    broker_entries: list[LiveBroker] = field(ListOf(LiveBroker), wire="live_brokers")

    class EndPoint(NamedTuple):
        """Where a broker listens; the listener's name travels from version 3 on.

        Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest.EndPoint
        """

        host: str
        port: int
        security_protocol: SecurityProtocol
        listener_name: ListenerName

        def __str__(self) -> str:
            return (
                f"(host={self.host}, port={self.port}, listenerName={self.listener_name}, "
                f"securityProtocol={self.security_protocol})"
            )

    class Broker(NamedTuple):
        """A broker with its endpoints and its rack.

        Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest.Broker
        """

        id: int
        end_points: list[UpdateMetadataRequest.EndPoint]
        rack: str | None = None

        def __hash__(self) -> int:
            return hash((self.id, self.rack))

        def __str__(self) -> str:
            end_points = ",".join(map(str, self.end_points))
            return f"(id={self.id}, endPoints={end_points}, rack={'null' if self.rack is None else self.rack})"

    class Builder(AbstractRequest.Builder):
        """Holds the request of one version.

        Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest.Builder
        """

        def __init__(
            self,
            version: int,
            controller_id: int,
            controller_epoch: int,
            partition_states: dict[TopicPartition, UpdateMetadataRequest.PartitionState],
            live_brokers: Set[UpdateMetadataRequest.Broker],
            broker_epoch: int = -1,
        ) -> None:
            super().__init__(ApiKeys.UPDATE_METADATA, version)
            self._broker_epoch = broker_epoch
            self._controller_id = controller_id
            self._controller_epoch = controller_epoch
            self._partition_states = partition_states
            self._live_brokers = live_brokers

        def build(self, version: int | None = None) -> UpdateMetadataRequest:
            version = self._version_or_latest(version)
            if version == 0 and any(
                len(b.end_points) != 1 or b.end_points[0].security_protocol is not SecurityProtocol.PLAINTEXT
                for b in self._live_brokers
            ):
                raise UnsupportedVersionException("UpdateMetadataRequest v0 only handles PLAINTEXT endpoints")
            return UpdateMetadataRequest(
                version,
                self._controller_id,
                self._controller_epoch,
                self._partition_states,
                self._live_brokers,
                self._broker_epoch,
            )

        def __str__(self) -> str:
            return (
                f"(type: UpdateMetadataRequest=, controllerId={self._controller_id}, "
                f"controllerEpoch={self._controller_epoch}, brokerEpoch={self._broker_epoch}, "
                f"partitionStates={self._partition_states}, "
                f"liveBrokers={', '.join(map(str, self._live_brokers))})"
            )

    def __init__(
        self,
        version: int,
        controller_id: int,
        controller_epoch: int,
        partition_states: Mapping[TopicPartition, PartitionState],
        live_brokers: Set[Broker],
        broker_epoch: int = -1,
    ) -> None:
        self._version = version
        self.broker_epoch = broker_epoch
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        states = [state.of(tp) for tp, state in partition_states.items()]
        self.state_entries = states if version < 5 else []
        self.topic_states = [
            self.TopicState(topic=topic, partition_states=list(of_topic))
            for topic, of_topic in (states_by_topic(states) if version >= 5 else {}).items()
        ]
        self.broker_entries = [_broker_entry(version, broker) for broker in live_brokers]

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        request = super().parse(buffer, version)
        for broker in request.broker_entries:
            for end_point in broker.end_points:
                _security_protocol(end_point.security_protocol_type)
        return request

    def partition_states(self) -> dict[TopicPartition, PartitionState]:
        """The partitions that changed."""
        flat = {TopicPartition(state.topic, state.partition): state for state in self.state_entries}
        return flat | {
            (tp := TopicPartition(topic.topic, state.partition)): state.of(tp)
            for topic in self.topic_states
            for state in topic.partition_states
        }

    def live_brokers(self) -> set[Broker]:
        """All brokers that are alive."""
        return {self._broker(entry) for entry in self.broker_entries}

    def _broker(self, entry: LiveBroker) -> Broker:
        if self._version == 0:
            plaintext = SecurityProtocol.PLAINTEXT
            name = ListenerName.for_security_protocol(plaintext)
            return self.Broker(entry.id, [self.EndPoint(entry.host, entry.port, plaintext, name)])
        end_points = []
        for end_point in entry.end_points:
            protocol = _security_protocol(end_point.security_protocol_type)
            name = ListenerName(protocol.name if end_point.listener_name is None else end_point.listener_name)
            end_points.append(self.EndPoint(end_point.host, end_point.port, protocol, name))
        return self.Broker(entry.id, end_points, entry.rack)


def _security_protocol(id: int) -> SecurityProtocol:
    protocol = SecurityProtocol.for_id(id)
    if protocol is None:
        # 1.1.1 goes on with null and never answers.
        raise SchemaException(f"Unknown security protocol {id}")
    return protocol


def _broker_entry(version: int, broker: UpdateMetadataRequest.Broker) -> UpdateMetadataRequest.LiveBroker:
    entry = UpdateMetadataRequest.LiveBroker(id=broker.id, rack=broker.rack)
    if version == 0:
        entry.host, entry.port = broker.end_points[0].host, broker.end_points[0].port
        return entry
    entry.end_points = [
        UpdateMetadataRequest.LiveBroker.LiveEndPoint(
            port=end_point.port,
            host=end_point.host,
            listener_name=end_point.listener_name.value(),
            security_protocol_type=end_point.security_protocol.id,
        )
        for end_point in broker.end_points
    ]
    return entry
