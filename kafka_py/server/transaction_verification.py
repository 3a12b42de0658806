"""Before a transaction begins in a partition its coordinator has to say that the partition belongs to it (KIP-890).

So it is for produced records (verify) and for offsets that are committed in a transaction (verify_partition).

A producer's AddPartitionsToTxn and Produce travel on different connections, and either may be late. In Kafka 1.1.1 a
batch that comes when its transaction is over opens another one that no coordinator knows of, and readers of committed
records wait at it for ever; or it becomes part of the producer's next transaction (KAFKA-14402).

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 3.7.1 (appendRecords,
         partitionEntriesForVerification, maybeStartTransactionVerificationForPartition)
Read next: add_partitions_to_txn_manager.py; log/verification_guard.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kafka_py.common.errors import ApiException, InvalidPidMappingException, NotEnoughReplicasException
from kafka_py.common.protocol.errors import Errors
from kafka_py.log.log_append_info import LogAppendInfo
from kafka_py.log.verification_guard import VerificationGuard
from kafka_py.server.kafka_request_handler import KafkaRequestHandler
from kafka_py.server.log_read_result import LogAppendResult
from kafka_py.server.request_local import RequestLocal

if TYPE_CHECKING:
    from kafka_py.cluster.partition import Partition
    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager

    Entries: TypeAlias = Mapping[TopicPartition, MemoryRecords]
    Guards: TypeAlias = dict[TopicPartition, VerificationGuard]
    Refused: TypeAlias = dict[TopicPartition, LogAppendResult]

# A client of any version sends a batch again after NOT_ENOUGH_REPLICAS; these older ones would take for the end.
_RETRIABLE = frozenset(
    {
        Errors.CONCURRENT_TRANSACTIONS,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NETWORK_EXCEPTION,
        Errors.NOT_COORDINATOR,
    }
)


class TransactionVerification:
    """Has partitions verified that a transaction writes to, those of them in which it is not open yet.

    Thread:  request handlers, those that take the callbacks included.
    """

    def __init__(
        self,
        add_partitions_to_txn_manager: AddPartitionsToTxnManager,
        partition_of: Callable[[TopicPartition], Partition],
    ) -> None:
        """`partition_of` raises for a partition that is not here."""
        self._add_partitions_to_txn_manager = add_partitions_to_txn_manager
        self._partition_of = partition_of

    def startup(self) -> None:
        """Begin to ask."""
        self._add_partitions_to_txn_manager.start()

    def shutdown(self) -> None:
        """Ask no more."""
        self._add_partitions_to_txn_manager.shutdown()

    def verify(
        self,
        transactional_id: str,
        entries_per_partition: Entries,
        append: Callable[[Entries, Guards, Refused], None],
    ) -> None:
        """Call `append` with what may be written, the guards to show, and what is refused.

        At once if nothing has to be asked; else on a request handler, when the answer is there.
        InvalidPidMappingException for records of several producers.
        """
        guards: Guards = {}
        refused: Refused = {}
        producer = self._begin(entries_per_partition, guards, refused)
        unverified = [tp for tp, guard in guards.items() if guard != VerificationGuard.SENTINEL]

        def append_the_others() -> None:
            append({tp: records for tp, records in entries_per_partition.items() if tp not in refused}, guards, refused)

        if producer is None or not unverified:
            append_the_others()
            return

        def answered(request_local: RequestLocal, errors: dict[TopicPartition, Errors]) -> None:
            refused.update({tp: LogAppendResult(_UNKNOWN, _exception(e)) for tp, e in errors.items()})
            append_the_others()

        producer_id, producer_epoch = producer
        self._add_partitions_to_txn_manager.verify_transaction(
            transactional_id,
            producer_id,
            producer_epoch,
            unverified,
            KafkaRequestHandler.wrap_async_callback(answered, RequestLocal.NO_CACHING),
        )

    def verify_partition(
        self,
        topic_partition: TopicPartition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        callback: Callable[[Errors, VerificationGuard], None],
    ) -> None:
        """Call `callback` with what stands against a write to the partition, or NONE, and the guard to show with it.

        At once if nothing has to be asked; else on a request handler, when the answer is there.
        """
        try:
            guard = self._partition_of(topic_partition).maybe_start_transaction_verification(
                producer_id, base_sequence, producer_epoch
            )
        except ApiException as e:
            callback(Errors.for_exception(e), VerificationGuard.SENTINEL)
            return
        if guard == VerificationGuard.SENTINEL:
            callback(Errors.NONE, guard)
            return

        def answered(request_local: RequestLocal, errors: dict[TopicPartition, Errors]) -> None:
            callback(errors.get(topic_partition, Errors.NONE), guard)

        self._add_partitions_to_txn_manager.verify_transaction(
            transactional_id,
            producer_id,
            producer_epoch,
            [topic_partition],
            KafkaRequestHandler.wrap_async_callback(answered, RequestLocal.NO_CACHING),
        )

    def _begin(self, entries_per_partition: Entries, guards: Guards, refused: Refused) -> tuple[int, int] | None:
        """Leave a guard in each log; id and epoch of the producer, None if nothing is transactional."""
        producer: tuple[int, int] | None = None
        for topic_partition, records in entries_per_partition.items():
            first = next((b for b in records.batches() if b.has_producer_id() and b.is_transactional()), None)
            if first is None:
                continue
            if producer is not None and producer[0] != first.producer_id():
                raise InvalidPidMappingException("Transactional records contained more than one producer ID")
            producer = first.producer_id(), first.producer_epoch()
            try:
                guards[topic_partition] = self._partition_of(topic_partition).maybe_start_transaction_verification(
                    first.producer_id(), first.base_sequence(), first.producer_epoch()
                )
            except ApiException as e:
                refused[topic_partition] = LogAppendResult(_UNKNOWN, e)
        return producer


_UNKNOWN = LogAppendInfo.UNKNOWN_LOG_APPEND_INFO


def _exception(error: Errors) -> ApiException:
    """What the producer is told."""
    if error in _RETRIABLE:
        return NotEnoughReplicasException(
            f"Unable to verify the partition has been added to the transaction. Underlying error: {error}"
        )
    was_not_added = error is Errors.INVALID_TXN_STATE
    exception = error.exception("Partition was not added to the transaction" if was_not_added else None)
    assert exception is not None, "a partition that is verified has no error"
    return exception
