"""The controller tells a broker to stop replicas.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/StopReplicaRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT32
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
from kafka_py.common.topic_partition import TopicPartition

CONTROLLER_ID_KEY_NAME = "controller_id"
CONTROLLER_EPOCH_KEY_NAME = "controller_epoch"
DELETE_PARTITIONS_KEY_NAME = "delete_partitions"
PARTITIONS_KEY_NAME = "partitions"

STOP_REPLICA_REQUEST_PARTITION_V0 = Schema(TOPIC_NAME, PARTITION_ID)

STOP_REPLICA_REQUEST_V0 = Schema(
    Field(CONTROLLER_ID_KEY_NAME, INT32, "The controller's broker id"),
    Field(CONTROLLER_EPOCH_KEY_NAME, INT32, "The controller's epoch"),
    Field(DELETE_PARTITIONS_KEY_NAME, BOOLEAN, "Whether to delete the replicas' logs"),
    Field(PARTITIONS_KEY_NAME, ArrayOf(STOP_REPLICA_REQUEST_PARTITION_V0), "The partitions"),
)


class StopReplicaRequest(AbstractRequest):
    """Partitions that the broker is to stop leading or following, and whether to delete their logs.

    Mirrors: org.apache.kafka.common.requests.StopReplicaRequest
    """

    __slots__ = ("_controller_epoch", "_controller_id", "_delete_partitions", "_partitions")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.STOP_REPLICA

    class Builder(AbstractRequest.Builder):
        """Holds the request.

        Mirrors: org.apache.kafka.common.requests.StopReplicaRequest.Builder
        """

        def __init__(
            self, controller_id: int, controller_epoch: int, delete_partitions: bool, partitions: set[TopicPartition]
        ) -> None:
            super().__init__(ApiKeys.STOP_REPLICA)
            self._controller_id = controller_id
            self._controller_epoch = controller_epoch
            self._delete_partitions = delete_partitions
            self._partitions = partitions

        def build(self, version: int | None = None) -> StopReplicaRequest:
            return StopReplicaRequest(
                self._version_or_latest(version),
                self._controller_id,
                self._controller_epoch,
                self._delete_partitions,
                self._partitions,
            )

        def __str__(self) -> str:
            return (
                f"(type=StopReplicaRequest, controllerId={self._controller_id}, "
                f"controllerEpoch={self._controller_epoch}, deletePartitions={str(self._delete_partitions).lower()}, "
                f"partitions={','.join(map(str, self._partitions))})"
            )

    def __init__(
        self,
        version: int,
        controller_id: int,
        controller_epoch: int,
        delete_partitions: bool,
        partitions: set[TopicPartition],
    ) -> None:
        super().__init__(version)
        self._controller_id = controller_id
        self._controller_epoch = controller_epoch
        self._delete_partitions = delete_partitions
        self._partitions = partitions

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [STOP_REPLICA_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> StopReplicaRequest:
        return cls(
            version,
            struct.get(CONTROLLER_ID_KEY_NAME),
            struct.get(CONTROLLER_EPOCH_KEY_NAME),
            struct.get(DELETE_PARTITIONS_KEY_NAME),
            {TopicPartition(p.get(TOPIC_NAME), p.get(PARTITION_ID)) for p in struct.get(PARTITIONS_KEY_NAME)},
        )

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.STOP_REPLICA.request_schema(self._version))
        result.set(CONTROLLER_ID_KEY_NAME, self._controller_id).set(CONTROLLER_EPOCH_KEY_NAME, self._controller_epoch)
        result.set(DELETE_PARTITIONS_KEY_NAME, self._delete_partitions)
        return result.set(
            PARTITIONS_KEY_NAME,
            [
                result.instance(PARTITIONS_KEY_NAME).set(TOPIC_NAME, tp.topic).set(PARTITION_ID, tp.partition)
                for tp in self._partitions
            ],
        )

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> StopReplicaResponse:
        error = Errors.for_exception(e)
        return StopReplicaResponse(error, dict.fromkeys(self._partitions, error))

    def controller_id(self) -> int:
        """The controller's broker id."""
        return self._controller_id

    def controller_epoch(self) -> int:
        """The controller's epoch: a request of an older controller is refused."""
        return self._controller_epoch

    def delete_partitions(self) -> bool:
        """Whether to delete the logs as well."""
        return self._delete_partitions

    def partitions(self) -> set[TopicPartition]:
        """The partitions to stop."""
        return self._partitions
