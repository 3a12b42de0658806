"""The controller tells a broker to stop replicas.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/StopReplicaRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Set

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT32, INT64, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
from kafka_py.common.topic_partition import TopicPartition


class StopReplicaRequest(RequestMessage, key=ApiKeys.STOP_REPLICA, latest=2, flexible=2):
    """Partitions that the broker is to stop leading or following, and whether to delete their logs.

    Mirrors: org.apache.kafka.common.requests.StopReplicaRequest
    """

    class Partition(Message):
        """A partition to stop."""

        topic: str = field(STRING)
        partition: int = field(INT32)

    class Topic(Message):
        """The partitions of a topic to stop."""

        topic: str = field(STRING)
        partitions: list[int] = field(ListOf(INT32))

    controller_id: int = field(INT32)
    controller_epoch: int = field(INT32, "A request of an older controller is refused")
    broker_epoch: int = field(INT64, "Of the life of the broker that is meant, -1 for any", since=1, default=-1)
    delete_partitions: bool = field(BOOLEAN, "Whether to delete the replicas' logs")
    partition_entries: list[Partition] = field(ListOf(Partition), until=0, wire="partitions", default_factory=list)
    topics: list[Topic] = field(ListOf(Topic), since=1, default_factory=list)

    class Builder(AbstractRequest.Builder):
        """Holds the request of one version; without one it is that of 1.1.1.

        Mirrors: org.apache.kafka.common.requests.StopReplicaRequest.Builder
        """

        def __init__(
            self,
            controller_id: int,
            controller_epoch: int,
            delete_partitions: bool,
            partitions: Set[TopicPartition],
            broker_epoch: int = -1,
            version: int = 0,
        ) -> None:
            super().__init__(ApiKeys.STOP_REPLICA, version)
            self._broker_epoch = broker_epoch
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
                self._broker_epoch,
            )

        def __str__(self) -> str:
            return (
                f"(type=StopReplicaRequest, controllerId={self._controller_id}, "
                f"controllerEpoch={self._controller_epoch}, brokerEpoch={self._broker_epoch}, "
                f"deletePartitions={str(self._delete_partitions).lower()}, "
                f"partitions={','.join(map(str, self._partitions))})"
            )

    def __init__(
        self,
        version: int,
        controller_id: int,
        controller_epoch: int,
        delete_partitions: bool,
        partitions: Set[TopicPartition],
        broker_epoch: int = -1,
    ) -> None:
        self._version = version
        self.broker_epoch = broker_epoch
        self.controller_id = controller_id
        self.controller_epoch = controller_epoch
        self.delete_partitions = delete_partitions
        entries = [self.Partition(topic=tp.topic, partition=tp.partition) for tp in partitions]
        self.partition_entries = entries if version < 1 else []
        by_topic: dict[str, list[int]] = {}
        for tp in partitions if version >= 1 else ():
            by_topic.setdefault(tp.topic, []).append(tp.partition)
        self.topics = [self.Topic(topic=topic, partitions=numbers) for topic, numbers in by_topic.items()]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> StopReplicaResponse:
        error = Errors.for_exception(e)
        return StopReplicaResponse(error, dict.fromkeys(self.partitions(), error))

    def partitions(self) -> set[TopicPartition]:
        """The partitions to stop."""
        flat = {TopicPartition(entry.topic, entry.partition) for entry in self.partition_entries}
        return flat | {TopicPartition(t.topic, partition) for t in self.topics for partition in t.partitions}
