"""What the records of __transaction_state say: the key is a transactional id, the value where its transaction is.

Mirrors: core/src/main/scala/kafka/coordinator/transaction/TransactionLog.scala @ 1.1.1 (2.5.1 and 3.7.1 where a member
    says so)
Read next: transaction_state_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kafka_py.common.errors import IllegalStateException, KafkaException
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT8, INT16, INT32, INT64, STRING
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.transaction.transaction_metadata import Empty, TransactionMetadata, TxnTransitMetadata

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    Buffer = bytes | bytearray | memoryview

    class ConsumedRecord(Protocol):
        """What a consumer hands to a formatter."""

        @property
        def key(self) -> Buffer | None:
            """The key's bytes."""

        @property
        def value(self) -> Buffer | None:
            """The value's bytes."""

    class Output(Protocol):
        """Where a formatter writes to: a binary stream."""

        def write(self, data: bytes, /) -> object:
            """Append bytes."""


TXN_KEY_SCHEMAS = {0: Schema(Field("transactional_id", STRING))}
_PARTITIONS_SCHEMA = Schema(Field("topic", STRING), Field("partition_ids", ArrayOf(INT32)))
TXN_VALUE_SCHEMAS = {
    0: Schema(
        Field("producer_id", INT64, "Producer id in use by the transactional id."),
        Field("producer_epoch", INT16, "Epoch associated with the producer id"),
        Field("transaction_timeout", INT32, "Transaction timeout in milliseconds"),
        Field("transaction_status", INT8, "TransactionState the transaction is in"),
        Field(
            "transaction_partitions",
            ArrayOf(_PARTITIONS_SCHEMA, nullable=True),
            "Set of partitions involved in the transaction",
        ),
        Field("transaction_entry_timestamp", INT64, "Time the transaction was last updated"),
        Field("transaction_start_timestamp", INT64, "Time the transaction was started"),
    )
}
_CURRENT_KEY_VERSION = 0
_CURRENT_VALUE_VERSION = 0


class TxnKey(NamedTuple):
    """The key of a record about a transactional id.

    Mirrors: kafka.coordinator.transaction.TxnKey
    """

    version: int
    transactional_id: str

    def __str__(self) -> str:
        return self.transactional_id


class UnknownKey(NamedTuple):
    """The key of a record that a later version of Kafka wrote, before it was taken back. Kafka has this since 3.5."""

    version: int

    def __str__(self) -> str:
        return f"UNKNOWN(version={self.version})"


class TransactionLog:
    """Makes and reads the records, and says how the topic is to be kept.

    Mirrors: kafka.coordinator.transaction.TransactionLog
    Left out: schemaForKey, schemaForValue -- look-ups in TXN_KEY_SCHEMAS and TXN_VALUE_SCHEMAS
    Thread: any; there is no state.
    Differs: a key of a version that is not known is answered as such, as from 3.5 on, so that whoever loads the topic
        can go on behind it; 2.5.1 raises.
    """

    DEFAULT_NUM_PARTITIONS: ClassVar[int] = 50
    DEFAULT_SEGMENT_BYTES: ClassVar[int] = 100 * 1024 * 1024
    DEFAULT_REPLICATION_FACTOR: ClassVar[int] = 3
    DEFAULT_MIN_IN_SYNC_REPLICAS: ClassVar[int] = 2
    DEFAULT_LOAD_BUFFER_SIZE: ClassVar[int] = 5 * 1024 * 1024

    # The topic is compacted and its records are not compressed; a replica out of sync never leads it, and no record
    # counts before all in-sync replicas have it.
    ENFORCED_COMPRESSION_TYPE: ClassVar[CompressionType] = CompressionType.NONE
    ENFORCED_REQUIRED_ACKS: ClassVar[int] = -1

    @staticmethod
    def key_to_bytes(transactional_id: str) -> bytes:
        """The key of a transactional id, version first."""
        key = Struct(TXN_KEY_SCHEMAS[_CURRENT_KEY_VERSION]).set("transactional_id", transactional_id)
        return _CURRENT_KEY_VERSION.to_bytes(2, "big") + key.to_bytes()

    @staticmethod
    def value_to_bytes(txn_metadata: TxnTransitMetadata) -> bytes:
        """The value, version first; IllegalStateException for partitions in a transaction that is Empty."""
        value = Struct(TXN_VALUE_SCHEMAS[_CURRENT_VALUE_VERSION])
        value.set("producer_id", txn_metadata.producer_id)
        value.set("producer_epoch", txn_metadata.producer_epoch)
        value.set("transaction_timeout", txn_metadata.txn_timeout_ms)
        value.set("transaction_status", txn_metadata.txn_state.byte)
        value.set("transaction_entry_timestamp", txn_metadata.txn_last_update_timestamp)
        value.set("transaction_start_timestamp", txn_metadata.txn_start_timestamp)
        if txn_metadata.txn_state is not Empty:
            value.set("transaction_partitions", _partition_structs(txn_metadata.topic_partitions))
        elif txn_metadata.topic_partitions:
            raise IllegalStateException(
                f"Transaction is not expected to have any partitions since its state is {txn_metadata.txn_state}: "
                f"{txn_metadata}"
            )
        return _CURRENT_VALUE_VERSION.to_bytes(2, "big") + value.to_bytes()

    @staticmethod
    def read_txn_record_key(buffer: Buffer) -> TxnKey | UnknownKey:
        """What a key names; SchemaException for bytes that are none."""
        version = int.from_bytes(buffer[:2], "big", signed=True)
        schema = TXN_KEY_SCHEMAS.get(version)
        if schema is None:
            return UnknownKey(version)
        return TxnKey(version, schema.read(buffer, 2).get_string("transactional_id"))

    @staticmethod
    def read_txn_record_value(transactional_id: str, buffer: Buffer | None) -> TransactionMetadata | None:
        """Where the transaction is; None for a tombstone.

        KafkaException for an unknown version, IllegalStateException for an unknown state, SchemaException for bytes
        that are no value. The last producer id and epoch are not kept in the log.
        """
        if buffer is None:
            return None
        version = int.from_bytes(buffer[:2], "big", signed=True)
        schema = TXN_VALUE_SCHEMAS.get(version)
        if schema is None:
            raise KafkaException(f"Unknown transaction log message value schema version {version}")
        value = schema.read(buffer, 2)
        state = TransactionMetadata.byte_to_state(value.get_byte("transaction_status"))
        metadata = TransactionMetadata(
            transactional_id,
            value.get_long("producer_id"),
            RecordBatch.NO_PRODUCER_ID,
            value.get_short("producer_epoch"),
            RecordBatch.NO_PRODUCER_EPOCH,
            value.get_int("transaction_timeout"),
            state,
            (),
            value.get_long("transaction_start_timestamp"),
            value.get_long("transaction_entry_timestamp"),
        )
        if state is not Empty:
            metadata.add_partitions(
                TopicPartition(entry.get_string("topic"), partition)
                for entry in value.get_array("transaction_partitions") or ()
                for partition in entry.get_array("partition_ids")
            )
        return metadata

    class TransactionLogMessageFormatter:
        """Prints records for kafka-console-consumer: the id, two colons, and the state or NULL.

        Mirrors: kafka.coordinator.transaction.TransactionLog.TransactionLogMessageFormatter
        Thread: the consumer's.
        """

        def write_to(self, consumer_record: ConsumedRecord, output: Output) -> None:
            """One line for a record about a transactional id, nothing for any other."""
            if consumer_record.key is None:
                return
            key = TransactionLog.read_txn_record_key(consumer_record.key)
            if isinstance(key, TxnKey):
                value = consumer_record.value
                metadata = TransactionLog.read_txn_record_value(key.transactional_id, value)
                output.write(f"{key}::{'NULL' if metadata is None else metadata}\n".encode())


def _partition_structs(partitions: Iterable[TopicPartition]) -> list[Struct]:
    """An entry for each topic; sorted, so that equal sets make equal bytes."""
    ids_of: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        ids_of.setdefault(topic, []).append(partition)
    return [Struct(_PARTITIONS_SCHEMA, [topic, ids]) for topic, ids in ids_of.items()]
