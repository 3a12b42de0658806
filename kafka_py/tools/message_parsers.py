"""What keys and values of records mean, for kafka-dump-log: text, or the contents of the two internal topics.

Mirrors: core/src/main/scala/kafka/tools/DumpLogSegments.scala @ 1.1.1 (MessageParser and its three classes)

Read next: coordinator/group/group_metadata_records.py and coordinator/transaction/transaction_log.py (the bytes)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.errors import KafkaException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata_records import (
    CURRENT_OFFSET_KEY_SCHEMA_VERSION,
    GROUP_VALUE_SCHEMAS,
    KEY_SCHEMAS,
    OFFSET_VALUE_SCHEMAS,
    versioned,
)
from kafka_py.coordinator.transaction.transaction_log import TXN_KEY_SCHEMAS, TXN_VALUE_SCHEMAS
from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata
from kafka_py.utils.json import Json

if TYPE_CHECKING:
    from kafka_py.common.protocol.types.struct import Struct
    from kafka_py.common.record.record import Record
    from kafka_py.serializer.decoder import Decoder

Parsed = tuple[Any, Any]


class MessageParser(ABC):
    """Reads records.

    Mirrors: kafka.tools.DumpLogSegments.MessageParser
    """

    @abstractmethod
    def parse(self, record: Record) -> Parsed:
        """Key and value of a record as they are to be printed; None for what is not."""


class DecoderMessageParser(MessageParser):
    """Has decoders for key and value.

    Mirrors: kafka.tools.DumpLogSegments.DecoderMessageParser
    """

    def __init__(self, key_decoder: Decoder, value_decoder: Decoder) -> None:
        self._key_decoder = key_decoder
        self._value_decoder = value_decoder

    def parse(self, record: Record) -> Parsed:
        """A record without a value has nothing to print, not even its key."""
        if not record.has_value():
            return None, None
        key = self._key_decoder.from_bytes(bytes(record.key() or b"")) if record.has_key() else None
        return key, self._value_decoder.from_bytes(bytes(record.value() or b""))


class TransactionLogMessageParser(MessageParser):
    """Reads __transaction_state.

    Mirrors: kafka.tools.DumpLogSegments.TransactionLogMessageParser
    Differs: for a record that deletes a transactional id the key is printed; Kafka fails there.
    """

    def parse(self, record: Record) -> Parsed:
        """Raises KafkaException for a version that nobody knows."""
        key = versioned(TXN_KEY_SCHEMAS, record.key(), "transaction log message key")[1]
        transactional_id = f"transactionalId={key.get('transactional_id')}"
        if not record.has_value():
            return transactional_id, None
        value = versioned(TXN_VALUE_SCHEMAS, record.value(), "transaction log message value")[1]
        state = TransactionMetadata.byte_to_state(value.get("transaction_status"))
        partitions = ", ".join(
            str(TopicPartition(entry.get("topic"), partition))
            for entry in value.get("transaction_partitions") or ()
            for partition in entry.get("partition_ids")
        )
        return transactional_id, (
            f"producerId:{value.get('producer_id')},producerEpoch:{value.get('producer_epoch')},"
            f"state={state},partitions=Set({partitions}),"
            f"txnLastUpdateTimestamp={value.get('transaction_entry_timestamp')},"
            f"txnTimeoutMs={value.get('transaction_timeout')}"
        )


class OffsetsMessageParser(MessageParser):
    """Reads __consumer_offsets: committed offsets, and the members of groups.

    Mirrors: kafka.tools.DumpLogSegments.OffsetsMessageParser
    """

    def parse(self, record: Record) -> Parsed:
        """Raises KafkaException for a record without a key or of a version that nobody knows."""
        if not record.has_value():
            return None, None
        if not record.has_key():
            raise KafkaException("Failed to decode message using offset topic decoder (message had a missing key)")
        version, key = versioned(KEY_SCHEMAS, record.key(), "offset message key")
        if version <= CURRENT_OFFSET_KEY_SCHEMA_VERSION:
            return self._parse_offsets(key, record.value())
        return self._parse_group_metadata(key.get("group"), record.value())

    @staticmethod
    def _hex(data: bytes) -> str:
        """A number in base 16, as Kafka prints it: without zeros in front."""
        return f"{int.from_bytes(data, 'big'):X}" if data else ""

    @staticmethod
    def _parse_offsets(key: Struct, payload: Any) -> Parsed:
        value = versioned(OFFSET_VALUE_SCHEMAS, payload, "offset message value")[1]
        offset, metadata = value.get("offset"), value.get("metadata")
        key_string = f"offset::{key.get('group')}:{key.get('topic')}:{key.get('partition')}"
        return key_string, f"{offset}:{metadata}" if metadata else str(offset)

    @classmethod
    def _parse_group_metadata(cls, group_id: str, payload: Any) -> Parsed:
        group = versioned(GROUP_VALUE_SCHEMAS, payload, "group metadata message value")[1]
        protocol_type = group.get("protocol_type")
        members = ",".join(cls._assignment(member, protocol_type) for member in group.get("members"))
        return Json.encode_as_string({"metadata": group_id}), Json.encode_as_string(
            {
                "protocolType": protocol_type,
                "protocol": group.get("protocol"),
                "generationId": group.get("generation"),
                "assignment": f"{{{members}}}",
            }
        )

    @classmethod
    def _assignment(cls, member: Struct, protocol_type: str) -> str:
        member_id = member.get("member_id")
        data = bytes(member.get("assignment"))
        # A group that is still settling has members without an assignment.
        if protocol_type != ConsumerProtocol.PROTOCOL_TYPE or not data:
            return f"{member_id}={cls._hex(data)}"
        assignment = ConsumerProtocol.deserialize_assignment(data)
        partitions = ", ".join(map(str, assignment.partitions))
        user_data = cls._hex(bytes(assignment.user_data or b""))
        return f"{member_id}=[{partitions}]" + (f":{user_data}" if user_data else "")
