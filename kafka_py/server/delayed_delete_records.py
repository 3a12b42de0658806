"""A DeleteRecords that waits until all live replicas have moved their log start offset.

Mirrors: core/src/main/scala/kafka/server/DelayedDeleteRecords.scala @ 1.1.1
Read next: server/delayed_operation.py, cluster/partition.py (delete_records_on_leader, low_watermark_if_leader)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import NotLeaderForPartitionException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.delayed_operation import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.metrics.yammer import Meter
    from kafka_py.server.replica_manager import ReplicaManager

_NONE = Errors.NONE
_INVALID = DeleteRecordsResponse.INVALID_LOW_WATERMARK


class DeleteRecordsPartitionStatus:
    """The offset one partition's low watermark has to reach, and the answer it will get.

    Mirrors: kafka.server.DeleteRecordsPartitionStatus
    Left out: toString -- `__repr__`
    """

    __slots__ = ("acks_pending", "required_offset", "response_status")

    def __init__(self, required_offset: int, response_status: DeleteRecordsResponse.PartitionResponse) -> None:
        self.required_offset = required_offset
        self.response_status = response_status
        self.acks_pending = False  # volatile: holder of the operation's lock

    def __repr__(self) -> str:
        return (
            f"[acksPending: {str(self.acks_pending).lower()}, error: {self.response_status.error}, "
            f"lowWatermark: {self.response_status.low_watermark}, requiredOffset: {self.required_offset}]"
        )


class DelayedDeleteRecords(DelayedOperation):
    """Waits for the low watermark of each partition to reach the offset that was asked for.

    Mirrors: kafka.server.DelayedDeleteRecords
    Thread: any handler (try_complete), executor-{purgatory} (on_expiration)
    """

    def __init__(
        self,
        delay_ms: int,
        delete_records_status: Mapping[TopicPartition, DeleteRecordsPartitionStatus],
        replica_manager: ReplicaManager,
        response_callback: Callable[[dict[TopicPartition, DeleteRecordsResponse.PartitionResponse]], object],
    ) -> None:
        super().__init__(delay_ms)
        self._delete_records_status = delete_records_status
        self._replica_manager = replica_manager
        self._response_callback = response_callback
        for topic_partition, status in delete_records_status.items():
            if status.response_status.error is _NONE:
                # the answer if nothing better comes: cleared when the replicas have moved
                status.acks_pending = True
                status.response_status.error_code = Errors.REQUEST_TIMED_OUT.code
            else:
                status.acks_pending = False
            self.trace("Initial partition status for %s is %s", topic_partition, status)

    def try_complete(self) -> bool:
        """Settle each partition whose replicas have moved or that has an error; complete when none is pending."""
        pending = False
        for topic_partition, status in self._delete_records_status.items():
            self.trace("Checking delete records satisfaction for %s, current status %s", topic_partition, status)
            if not status.acks_pending:
                continue
            error, low_watermark = self._low_watermark(topic_partition)
            if error is not _NONE or low_watermark >= status.required_offset:
                status.acks_pending = False
                status.response_status.error_code = error.code
                status.response_status.low_watermark = low_watermark
            else:
                pending = True
        return False if pending else self.force_complete()

    def _low_watermark(self, topic_partition: TopicPartition) -> tuple[Errors, int]:
        manager = self._replica_manager
        partition = manager.get_partition(topic_partition)
        if partition is None:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION, _INVALID
        if partition is manager.OFFLINE_PARTITION:
            return Errors.KAFKA_STORAGE_ERROR, _INVALID
        if partition.leader_replica_if_local is None:
            return Errors.NOT_LEADER_FOR_PARTITION, _INVALID
        try:
            return _NONE, partition.low_watermark_if_leader()
        except NotLeaderForPartitionException:
            # Leadership went between the two looks; Kafka lets this one fly to whoever tried.
            return Errors.NOT_LEADER_FOR_PARTITION, _INVALID

    def on_expiration(self) -> None:
        """Count the partitions that ran out of time."""
        for topic_partition, status in self._delete_records_status.items():
            if status.acks_pending:
                DelayedDeleteRecordsMetrics.record_expiration(topic_partition)

    def on_complete(self) -> None:
        """Answer with what is known of each partition."""
        self._response_callback({tp: s.response_status for tp, s in self._delete_records_status.items()})


class DelayedDeleteRecordsMetrics(KafkaMetricsGroup):
    """Meter of DeleteRecords partitions that ran out of time.

    Mirrors: kafka.server.DelayedDeleteRecordsMetrics
    """

    _aggregate_expiration_meter: Meter

    @classmethod
    def record_expiration(cls, partition: TopicPartition) -> None:
        """Count one partition of one expired request."""
        cls._aggregate_expiration_meter.mark()


DelayedDeleteRecordsMetrics._aggregate_expiration_meter = DelayedDeleteRecordsMetrics().new_meter(
    "ExpiresPerSec", "requests"
)
