"""The controller tells a broker to stop replicas.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/StopReplicaRequest.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.topic_partition import TopicPartition


class StopReplicaRequest(RequestMessage, key=ApiKeys.STOP_REPLICA, latest=0):
    """Partitions that the broker is to stop leading or following, and whether to delete their logs.

    Mirrors: org.apache.kafka.common.requests.StopReplicaRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"partitions": "partition_entries"}

    class Partition(Message):
        """A partition to stop."""

        topic: str = field(STRING)
        partition: int = field(INT32)

    controller_id: int = field(INT32)
    controller_epoch: int = field(INT32, "A request of an older controller is refused")
    delete_partitions: bool = field(BOOLEAN, "Whether to delete the replicas' logs")
    partition_entries: list[Partition] = field(ListOf(Partition), wire="partitions")

    class Builder(AbstractRequest.Builder):
        """Holds the request.

        Mirrors: org.apache.kafka.common.requests.StopReplicaRequest.Builder
        """

        def __init__(
            self, controller_id: int, controller_epoch: int, delete_partitions: bool, partitions: Set[TopicPartition]
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
        partitions: Set[TopicPartition],
    ) -> None:
        self._version = version
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.delete_partitions = delete_partitions
        self.partition_entries = [self.Partition(topic=tp.topic, partition=tp.partition) for tp in partitions]

    def partitions(self) -> set[TopicPartition]:
        """The partitions to stop."""
        return {TopicPartition(entry.topic, entry.partition) for entry in self.partition_entries}
