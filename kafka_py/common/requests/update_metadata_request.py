"""The controller tells every broker what clients may ask.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/UpdateMetadataRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.errors import SchemaException, UnsupportedVersionException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.base_partition_state import BasePartitionState
from kafka_py.common.requests.update_metadata_response import UpdateMetadataResponse
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition

CONTROLLER_ID_KEY_NAME = "controller_id"
CONTROLLER_EPOCH_KEY_NAME = "controller_epoch"
PARTITION_STATES_KEY_NAME = "partition_states"
LIVE_BROKERS_KEY_NAME = "live_brokers"
LEADER_KEY_NAME = "leader"
LEADER_EPOCH_KEY_NAME = "leader_epoch"
ISR_KEY_NAME = "isr"
ZK_VERSION_KEY_NAME = "zk_version"
REPLICAS_KEY_NAME = "replicas"
OFFLINE_REPLICAS_KEY_NAME = "offline_replicas"
BROKER_ID_KEY_NAME = "id"
ENDPOINTS_KEY_NAME = "end_points"
RACK_KEY_NAME = "rack"
HOST_KEY_NAME = "host"
PORT_KEY_NAME = "port"
LISTENER_NAME_KEY_NAME = "listener_name"
SECURITY_PROTOCOL_TYPE_KEY_NAME = "security_protocol_type"

UPDATE_METADATA_REQUEST_PARTITION_STATE_V0 = Schema(
    TOPIC_NAME,
    PARTITION_ID,
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(LEADER_KEY_NAME, INT32, "The leader's broker id, -1 without one"),
    Field(LEADER_EPOCH_KEY_NAME, INT32, "The leader's epoch"),
    Field(ISR_KEY_NAME, ArrayOf(INT32), "The broker ids of the in-sync replicas"),
    Field(ZK_VERSION_KEY_NAME, INT32, "The version of the partition's znode"),
    Field(REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas"),
)

UPDATE_METADATA_REQUEST_BROKER_V0 = Schema(
    Field(BROKER_ID_KEY_NAME, INT32, "The id"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(PORT_KEY_NAME, INT32, "The port"),
)

UPDATE_METADATA_REQUEST_V0 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_PARTITION_STATE_V0)),
    Field(LIVE_BROKERS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_BROKER_V0)),
)

UPDATE_METADATA_REQUEST_PARTITION_STATE_V1 = UPDATE_METADATA_REQUEST_PARTITION_STATE_V0

UPDATE_METADATA_REQUEST_END_POINT_V1 = Schema(
    Field(PORT_KEY_NAME, INT32, "The port"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(SECURITY_PROTOCOL_TYPE_KEY_NAME, INT16, "The security protocol's id"),
)

UPDATE_METADATA_REQUEST_BROKER_V1 = Schema(
    Field(BROKER_ID_KEY_NAME, INT32, "The id"), Field(ENDPOINTS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_END_POINT_V1))
)

UPDATE_METADATA_REQUEST_V1 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_PARTITION_STATE_V1)),
    Field(LIVE_BROKERS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_BROKER_V1)),
)

UPDATE_METADATA_REQUEST_PARTITION_STATE_V2 = UPDATE_METADATA_REQUEST_PARTITION_STATE_V1

UPDATE_METADATA_REQUEST_END_POINT_V2 = UPDATE_METADATA_REQUEST_END_POINT_V1

UPDATE_METADATA_REQUEST_BROKER_V2 = Schema(
    Field(BROKER_ID_KEY_NAME, INT32, "The id"),
    Field(ENDPOINTS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_END_POINT_V2)),
    Field(RACK_KEY_NAME, NULLABLE_STRING, "The rack, null if there is none"),
)

UPDATE_METADATA_REQUEST_V2 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_PARTITION_STATE_V2)),
    Field(LIVE_BROKERS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_BROKER_V2)),
)

UPDATE_METADATA_REQUEST_PARTITION_STATE_V3 = UPDATE_METADATA_REQUEST_PARTITION_STATE_V2

UPDATE_METADATA_REQUEST_PARTITION_STATE_V4 = Schema(
    TOPIC_NAME,
    PARTITION_ID,
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(LEADER_KEY_NAME, INT32, "The leader's broker id, -1 without one"),
    Field(LEADER_EPOCH_KEY_NAME, INT32, "The leader's epoch"),
    Field(ISR_KEY_NAME, ArrayOf(INT32), "The broker ids of the in-sync replicas"),
    Field(ZK_VERSION_KEY_NAME, INT32, "The version of the partition's znode"),
    Field(REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of all replicas"),
    Field(OFFLINE_REPLICAS_KEY_NAME, ArrayOf(INT32), "The broker ids of replicas that are offline"),
)

UPDATE_METADATA_REQUEST_END_POINT_V3 = Schema(
    Field(PORT_KEY_NAME, INT32, "The port"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(LISTENER_NAME_KEY_NAME, STRING, "The listener's name"),
    Field(SECURITY_PROTOCOL_TYPE_KEY_NAME, INT16, "The security protocol's id"),
)

UPDATE_METADATA_REQUEST_BROKER_V3 = Schema(
    Field(BROKER_ID_KEY_NAME, INT32, "The id"),
    Field(ENDPOINTS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_END_POINT_V3)),
    Field(RACK_KEY_NAME, NULLABLE_STRING, "The rack, null if there is none"),
)

UPDATE_METADATA_REQUEST_V3 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_PARTITION_STATE_V3)),
    Field(LIVE_BROKERS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_BROKER_V3)),
)

UPDATE_METADATA_REQUEST_V4 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(PARTITION_STATES_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_PARTITION_STATE_V4)),
    Field(LIVE_BROKERS_KEY_NAME, ArrayOf(UPDATE_METADATA_REQUEST_BROKER_V3)),
)


class UpdateMetadataRequest(AbstractRequest):
    """The state of partitions that changed, and all brokers that are alive.

    Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest
    """

    __slots__ = ("_controller_epoch", "_controller_id", "_live_brokers", "_partition_states")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.UPDATE_METADATA

    class PartitionState:
        """The state of a partition.

        Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest.PartitionState
        """

        __slots__ = ("base_partition_state", "offline_replicas")

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
            self.base_partition_state = BasePartitionState(
                controller_epoch, leader, leader_epoch, isr, zk_version, replicas
            )
            self.offline_replicas = offline_replicas

        def __eq__(self, other: object) -> bool:
            return isinstance(other, UpdateMetadataRequest.PartitionState) and str(self) == str(other)

        def __hash__(self) -> int:
            return hash(str(self))

        def __str__(self) -> str:
            base = self.base_partition_state
            return (
                f"PartitionState(controllerEpoch={base.controller_epoch}, leader={base.leader}, "
                f"leaderEpoch={base.leader_epoch}, isr={base.isr}, zkVersion={base.zk_version}, "
                f"replicas={base.replicas}, offlineReplicas={self.offline_replicas})"
            )

        __repr__ = __str__

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

    class Broker:
        """A broker with its endpoints and its rack.

        Mirrors: org.apache.kafka.common.requests.UpdateMetadataRequest.Broker
        """

        __slots__ = ("end_points", "id", "rack")

        def __init__(self, id: int, end_points: list[UpdateMetadataRequest.EndPoint], rack: str | None = None) -> None:
            self.id = id
            self.end_points = end_points
            self.rack = rack

        def __eq__(self, other: object) -> bool:
            return (
                isinstance(other, UpdateMetadataRequest.Broker)
                and self.id == other.id
                and self.end_points == other.end_points
                and self.rack == other.rack
            )

        def __hash__(self) -> int:
            return hash((self.id, self.rack))

        def __str__(self) -> str:
            end_points = ",".join(map(str, self.end_points))
            return f"(id={self.id}, endPoints={end_points}, rack={'null' if self.rack is None else self.rack})"

        __repr__ = __str__

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
            live_brokers: set[UpdateMetadataRequest.Broker],
        ) -> None:
            super().__init__(ApiKeys.UPDATE_METADATA, version)
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
                version, self._controller_id, self._controller_epoch, self._partition_states, self._live_brokers
            )

        def __str__(self) -> str:
            return (
                f"(type: UpdateMetadataRequest=, controllerId={self._controller_id}, "
                f"controllerEpoch={self._controller_epoch}, partitionStates={self._partition_states}, "
                f"liveBrokers={', '.join(map(str, self._live_brokers))})"
            )

    def __init__(
        self,
        version: int,
        controller_id: int,
        controller_epoch: int,
        partition_states: dict[TopicPartition, PartitionState],
        live_brokers: set[Broker],
    ) -> None:
        super().__init__(version)
        self._controller_id = controller_id
        self._controller_epoch = controller_epoch
        self._partition_states = partition_states
        self._live_brokers = live_brokers

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            UPDATE_METADATA_REQUEST_V0,
            UPDATE_METADATA_REQUEST_V1,
            UPDATE_METADATA_REQUEST_V2,
            UPDATE_METADATA_REQUEST_V3,
            UPDATE_METADATA_REQUEST_V4,
        ]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> UpdateMetadataRequest:
        partition_states = {}
        for state in struct.get(PARTITION_STATES_KEY_NAME):
            partition_states[TopicPartition(state.get(TOPIC_NAME), state.get(PARTITION_ID))] = cls.PartitionState(
                state.get(CONTROLLER_EPOCH_KEY_NAME),
                state.get(LEADER_KEY_NAME),
                state.get(LEADER_EPOCH_KEY_NAME),
                state.get(ISR_KEY_NAME),
                state.get(ZK_VERSION_KEY_NAME),
                state.get(REPLICAS_KEY_NAME),
                state.get_or_else(OFFLINE_REPLICAS_KEY_NAME, []),
            )
        return cls(
            version,
            struct.get(CONTROLLER_ID_KEY_NAME),
            struct.get(CONTROLLER_EPOCH_KEY_NAME),
            partition_states,
            {cls._broker(data) for data in struct.get(LIVE_BROKERS_KEY_NAME)},
        )

    @classmethod
    def _broker(cls, data: Struct) -> Broker:
        plaintext = SecurityProtocol.PLAINTEXT
        if data.has_field(HOST_KEY_NAME):
            name = ListenerName.for_security_protocol(plaintext)
            end_point = cls.EndPoint(data.get(HOST_KEY_NAME), data.get(PORT_KEY_NAME), plaintext, name)
            return cls.Broker(data.get(BROKER_ID_KEY_NAME), [end_point], None)
        end_points = []
        for end_point_data in data.get(ENDPOINTS_KEY_NAME):
            protocol_id = end_point_data.get(SECURITY_PROTOCOL_TYPE_KEY_NAME)
            protocol = SecurityProtocol.for_id(protocol_id)
            if protocol is None:
                # 1.1.1 goes on with null and never answers.
                raise SchemaException(f"Unknown security protocol {protocol_id}")
            name = ListenerName(end_point_data.get_or_else(LISTENER_NAME_KEY_NAME, protocol.name))
            host, port = end_point_data.get(HOST_KEY_NAME), end_point_data.get(PORT_KEY_NAME)
            end_points.append(cls.EndPoint(host, port, protocol, name))
        return cls.Broker(data.get(BROKER_ID_KEY_NAME), end_points, data.get_or_else(RACK_KEY_NAME, None))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.UPDATE_METADATA.request_schema(self._version))
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
            states.append(state.set_if_exists(OFFLINE_REPLICAS_KEY_NAME, partition_state.offline_replicas))
        brokers = [self._broker_struct(result, broker) for broker in self._live_brokers]
        return result.set(PARTITION_STATES_KEY_NAME, states).set(LIVE_BROKERS_KEY_NAME, brokers)

    def _broker_struct(self, request: Struct, broker: Broker) -> Struct:
        data = request.instance(LIVE_BROKERS_KEY_NAME).set(BROKER_ID_KEY_NAME, broker.id)
        if self._version == 0:
            end_point = broker.end_points[0]
            return data.set(HOST_KEY_NAME, end_point.host).set(PORT_KEY_NAME, end_point.port)
        end_points = []
        for end_point in broker.end_points:
            entry = data.instance(ENDPOINTS_KEY_NAME)
            entry.set(PORT_KEY_NAME, end_point.port).set(HOST_KEY_NAME, end_point.host)
            entry.set(SECURITY_PROTOCOL_TYPE_KEY_NAME, end_point.security_protocol.id)
            end_points.append(entry.set_if_exists(LISTENER_NAME_KEY_NAME, end_point.listener_name.value()))
        return data.set(ENDPOINTS_KEY_NAME, end_points).set_if_exists(RACK_KEY_NAME, broker.rack)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> UpdateMetadataResponse:
        return UpdateMetadataResponse(Errors.for_exception(e))

    def controller_id(self) -> int:
        """The controller's broker id."""
        return self._controller_id

    def controller_epoch(self) -> int:
        """The controller's epoch: a request of an older controller is refused."""
        return self._controller_epoch

    def partition_states(self) -> dict[TopicPartition, PartitionState]:
        """The partitions that changed."""
        return self._partition_states

    def live_brokers(self) -> set[Broker]:
        """All brokers that are alive."""
        return self._live_brokers
