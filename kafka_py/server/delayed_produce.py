"""A Produce with acks=-1 that waits until its records are on all in-sync replicas.

Mirrors: core/src/main/scala/kafka/server/DelayedProduce.scala @ 1.1.1
Posts:   reading-writing-configuring, the-produce-path (acks=-1 and the produce purgatory)
Read next: server/delayed_operation.py, cluster/partition.py (check_enough_replicas_reach_offset)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.protocol.errors import Errors
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.delayed_operation import DelayedOperation
from kafka_py.utils.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.requests.produce_response import ProduceResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.metrics.yammer import Meter
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.utils.concurrent import ReentrantLock

_NONE = Errors.NONE


class ProducePartitionStatus:
    """What one partition of a waiting Produce still needs, and the answer it will get.

    Mirrors: kafka.server.ProducePartitionStatus
    Left out: toString -- `__repr__`
    """

    __slots__ = ("acks_pending", "required_offset", "response_status")

    def __init__(self, required_offset: int, response_status: ProduceResponse.PartitionResponse) -> None:
        self.required_offset = required_offset
        self.response_status = response_status
        self.acks_pending = False  # volatile: holder of the operation's lock

    def __repr__(self) -> str:
        return (
            f"[acksPending: {str(self.acks_pending).lower()}, error: {self.response_status.error.code}, "
            f"startOffset: {self.response_status.base_offset}, requiredOffset: {self.required_offset}]"
        )


class ProduceMetadata:
    """The acks asked for, and the status of each partition.

    Mirrors: kafka.server.ProduceMetadata
    Left out: toString -- `__repr__`
    """

    __slots__ = ("produce_required_acks", "produce_status")

    def __init__(
        self, produce_required_acks: int, produce_status: dict[TopicPartition, ProducePartitionStatus]
    ) -> None:
        self.produce_required_acks = produce_required_acks
        self.produce_status = produce_status

    def __repr__(self) -> str:
        return f"[requiredAcks: {self.produce_required_acks}, partitionStatus: {self.produce_status}]"


class DelayedProduce(DelayedOperation):
    """Waits for the high watermark of each partition to pass the records of one Produce.

    A caller that holds a lock of its own when the answer goes out (the group coordinator: the group's) hands it in
    as `lock_opt`; completion then never waits for that lock and cannot deadlock with its holder.

    Mirrors: kafka.server.DelayedProduce
    Thread: any handler (try_complete), executor-{purgatory} (on_expiration)
    Locks: DelayedOperation.lock, while try_complete runs.
    """

    def __init__(
        self,
        delay_ms: int,
        produce_metadata: ProduceMetadata,
        replica_manager: ReplicaManager,
        response_callback: Callable[[dict[TopicPartition, ProduceResponse.PartitionResponse]], object],
        lock_opt: ReentrantLock | None = None,
    ) -> None:
        super().__init__(delay_ms, lock_opt)
        self.produce_metadata = produce_metadata
        self._replica_manager = replica_manager
        self._response_callback = response_callback
        for topic_partition, status in produce_metadata.produce_status.items():
            if status.response_status.error is _NONE:
                # the answer if nothing better comes: cleared when the acks are there
                status.acks_pending = True
                status.response_status.error = Errors.REQUEST_TIMED_OUT
            else:
                status.acks_pending = False
            if self.is_trace_enabled:
                self.trace("Initial partition status for %s is %s", topic_partition, status)

    def try_complete(self) -> bool:
        """Settle each partition that has its acks or an error; complete when none is pending."""
        manager = self._replica_manager
        pending = False
        for topic_partition, status in self.produce_metadata.produce_status.items():
            if self.is_trace_enabled:
                self.trace("Checking produce satisfaction for %s, current status %s", topic_partition, status)
            if not status.acks_pending:
                continue
            partition = manager.get_partition(topic_partition)
            if partition is None:
                has_enough, error = False, Errors.UNKNOWN_TOPIC_OR_PARTITION
            elif partition is manager.OFFLINE_PARTITION:
                has_enough, error = False, Errors.KAFKA_STORAGE_ERROR
            else:
                has_enough, error = partition.check_enough_replicas_reach_offset(status.required_offset)
            if has_enough or error is not _NONE:
                status.acks_pending = False
                status.response_status.error = error
            else:
                pending = True
        return False if pending else self.force_complete()

    def on_expiration(self) -> None:
        """Count the partitions that ran out of time."""
        for topic_partition, status in self.produce_metadata.produce_status.items():
            if status.acks_pending:
                DelayedProduceMetrics.record_expiration(topic_partition)

    def on_complete(self) -> None:
        """Answer with what is known of each partition."""
        self._response_callback({tp: s.response_status for tp, s in self.produce_metadata.produce_status.items()})


class DelayedProduceMetrics(KafkaMetricsGroup):
    """Meters of Produce requests that expired, in all and per partition.

    Mirrors: kafka.server.DelayedProduceMetrics
    """

    _aggregate_expiration_meter: ClassVar[Meter]
    _partition_expiration_meters: ClassVar[Pool[TopicPartition, Meter]]

    @classmethod
    def record_expiration(cls, partition: TopicPartition) -> None:
        """Count one partition of one expired request."""
        cls._aggregate_expiration_meter.mark()
        cls._partition_expiration_meters.get_and_maybe_put(partition).mark()

    @classmethod
    def _new_partition_meter(cls, key: TopicPartition) -> Meter:
        tags = {"topic": key.topic, "partition": str(key.partition)}
        return cls().new_meter("ExpiresPerSec", "requests", tags)


DelayedProduceMetrics._aggregate_expiration_meter = DelayedProduceMetrics().new_meter("ExpiresPerSec", "requests")
DelayedProduceMetrics._partition_expiration_meters = Pool(DelayedProduceMetrics._new_partition_meter)
