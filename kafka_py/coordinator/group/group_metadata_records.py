"""The records of __consumer_offsets: what a group has committed, and who its members are.

A key and a value begin with the version of their schema (int16). Which version of a value is written follows
inter.broker.protocol.version, so that every broker that may become coordinator can read it.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala @ 2.5.1 (object GroupMetadataManager)
Read next: group_metadata_message.py (a whole group), group_metadata_manager.py, which writes and loads them
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_py.api.api_version import KAFKA_2_1_IV0, KAFKA_2_1_IV1, ApiVersion
from kafka_py.common.errors import KafkaException
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BYTES, INT32, INT64, NULLABLE_STRING, STRING
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record import DefaultRecord
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.topic_partition import TopicPartition

Bytes = bytes | bytearray | memoryview
_VERSION = struct.Struct(">h")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
# version, offset, (leader epoch,) length of what is said beside it
_OFFSET_HEAD = struct.Struct(">hqh")
_OFFSET_AND_EPOCH_HEAD = struct.Struct(">hqih")
NO_TIMESTAMP = -1
_NO_EPOCH = -1
CURRENT_OFFSET_KEY_SCHEMA_VERSION = 1
CURRENT_GROUP_KEY_SCHEMA_VERSION = 2

OFFSET_COMMIT_KEY_SCHEMA = Schema(Field("group", STRING), Field("topic", STRING), Field("partition", INT32))
GROUP_METADATA_KEY_SCHEMA = Schema(Field("group", STRING))
KEY_SCHEMAS = {0: OFFSET_COMMIT_KEY_SCHEMA, 1: OFFSET_COMMIT_KEY_SCHEMA, 2: GROUP_METADATA_KEY_SCHEMA}
OFFSET_VALUE_SCHEMAS = {
    0: Schema(Field("offset", INT64), Field("metadata", STRING, "", ""), Field("timestamp", INT64)),
    1: Schema(
        Field("offset", INT64),
        Field("metadata", STRING, "", ""),
        Field("commit_timestamp", INT64),
        Field("expire_timestamp", INT64),
    ),
    2: Schema(Field("offset", INT64), Field("metadata", STRING, "", ""), Field("commit_timestamp", INT64)),
    3: Schema(
        Field("offset", INT64),
        Field("leader_epoch", INT32),
        Field("metadata", STRING, "", ""),
        Field("commit_timestamp", INT64),
    ),
}


def _member_schema(version: int) -> Schema:
    instance_id = [Field("group_instance_id", NULLABLE_STRING)] if version >= 3 else []
    rebalance_timeout = [Field("rebalance_timeout", INT32)] if version >= 1 else []
    return Schema(
        Field("member_id", STRING),
        *instance_id,
        Field("client_id", STRING),
        Field("client_host", STRING),
        *rebalance_timeout,
        Field("session_timeout", INT32),
        Field("subscription", BYTES),
        Field("assignment", BYTES),
    )


def _group_schema(version: int) -> Schema:
    since = [Field("current_state_timestamp", INT64)] if version >= 2 else []
    return Schema(
        Field("protocol_type", STRING),
        Field("generation", INT32),
        Field("protocol", NULLABLE_STRING),
        Field("leader", NULLABLE_STRING),
        *since,
        Field("members", ArrayOf(_member_schema(version))),
    )


GROUP_VALUE_SCHEMAS = {version: _group_schema(version) for version in range(4)}


class GroupTopicPartition(NamedTuple):
    """A partition as a group has committed for it.

    Mirrors: kafka.coordinator.group.GroupTopicPartition
    """

    group: str
    topic_partition: TopicPartition

    def __str__(self) -> str:
        return f"[{self.group},{self.topic_partition.topic},{self.topic_partition.partition}]"


class OffsetKey(NamedTuple):
    """Says that the record's value is a committed offset.

    Mirrors: kafka.coordinator.group.OffsetKey
    """

    version: int
    key: GroupTopicPartition

    def __str__(self) -> str:
        return str(self.key)


class GroupMetadataKey(NamedTuple):
    """Says that the record's value is a group.

    Mirrors: kafka.coordinator.group.GroupMetadataKey
    """

    version: int
    key: str

    def __str__(self) -> str:
        return self.key


class UnknownKey(NamedTuple):
    """The key of a record that a later version of Kafka wrote, before it was taken back. Kafka has this since 3.5."""

    version: int


def version_bytes(version: int) -> bytes:
    """What a key or a value begins with."""
    return _VERSION.pack(version)


def versioned(schemas: Mapping[int, Schema], data: Bytes | None, what: str) -> tuple[int, Struct]:
    """(version, struct) of bytes that begin with the version of their schema.

    KafkaException for a version that is not among them, SchemaException for broken bytes.
    """
    data = bytes(data or b"")
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < _VERSION.size or version not in schemas:
        raise KafkaException(f"Unknown {what} schema version {version}")
    return version, schemas[version].read(data, _VERSION.size)


# ---- keys


def offset_commit_key(group: str, topic_partition: TopicPartition) -> bytes:
    """The key of a committed offset."""
    topic, partition = topic_partition
    name, topic_name = group.encode(), topic.encode()
    return b"".join(
        (
            _VERSION.pack(CURRENT_OFFSET_KEY_SCHEMA_VERSION),
            _VERSION.pack(len(name)),
            name,
            _VERSION.pack(len(topic_name)),
            topic_name,
            _INT.pack(partition),
        )
    )


def group_metadata_key(group: str) -> bytes:
    """The key of a group."""
    name = group.encode()
    return _VERSION.pack(CURRENT_GROUP_KEY_SCHEMA_VERSION) + _VERSION.pack(len(name)) + name


def read_message_key(data: Bytes) -> OffsetKey | GroupMetadataKey | UnknownKey:
    """What a record is about; KafkaException, SchemaException for bytes that are no key.

    A key of a later version is none that one could read, and no error either: later brokers may have been here
    (KAFKA-14869).
    """
    if len(data) >= _VERSION.size:
        (known,) = _VERSION.unpack_from(data)
        if known > CURRENT_GROUP_KEY_SCHEMA_VERSION:
            return UnknownKey(known)
    version, key = versioned(KEY_SCHEMAS, data, "message key")
    if version <= CURRENT_OFFSET_KEY_SCHEMA_VERSION:
        tp = TopicPartition(key.get("topic"), key.get("partition"))
        return OffsetKey(version, GroupTopicPartition(key.get("group"), tp))
    return GroupMetadataKey(version, key.get("group"))


# ---- committed offsets


def offset_commit_value(offset_and_metadata: OffsetAndMetadata, api_version: ApiVersion) -> bytes:
    """A committed offset as brokers of that protocol version read it."""
    committed = offset_and_metadata
    metadata = committed.metadata.encode()
    expire = committed.expire_timestamp
    times = _LONG.pack(committed.commit_timestamp)
    if api_version < KAFKA_2_1_IV0 or expire is not None:
        head = _OFFSET_HEAD.pack(1, committed.offset, len(metadata))
        times += _LONG.pack(NO_TIMESTAMP if expire is None else expire)
    elif api_version < KAFKA_2_1_IV1:
        head = _OFFSET_HEAD.pack(2, committed.offset, len(metadata))
    else:
        epoch = _NO_EPOCH if committed.leader_epoch is None else committed.leader_epoch
        head = _OFFSET_AND_EPOCH_HEAD.pack(3, committed.offset, epoch, len(metadata))
    return head + metadata + times


def read_offset_message_value(data: Bytes | None) -> OffsetAndMetadata | None:
    """A committed offset, None for a tombstone; KafkaException, SchemaException for other bytes."""
    if data is None:
        return None
    version, value = versioned(OFFSET_VALUE_SCHEMAS, data, "offset message value")
    epoch = value.get("leader_epoch") if version >= 3 else _NO_EPOCH
    expire = value.get("expire_timestamp") if version == 1 else NO_TIMESTAMP
    return OffsetAndMetadata(
        value.get("offset"),
        None if epoch < 0 else epoch,
        value.get("metadata"),
        value.get("timestamp" if version == 0 else "commit_timestamp"),
        None if expire == NO_TIMESTAMP else expire,
    )


# ---- the batch of a commit


def plain_batch(
    pairs: Sequence[tuple[bytes, bytes]], timestamp: int, producer_id: int, producer_epoch: int, is_transactional: bool
) -> MemoryRecords:
    """Keys and values as MemoryRecords.with_records makes a batch of them, without the builder that can do more.

    Uncompressed, of format 2, all with one timestamp (ms); the base sequence is 0.
    """
    out = bytearray(DefaultRecordBatch.RECORD_BATCH_OVERHEAD)
    for delta, (key, value) in enumerate(pairs):
        DefaultRecord.write_to(out, delta, 0, key, value, ())
    DefaultRecordBatch.write_header(
        out,
        0,
        0,
        len(pairs) - 1,
        len(out),
        RecordBatch.MAGIC_VALUE_V2,
        CompressionType.NONE,
        TimestampType.CREATE_TIME,
        timestamp,
        timestamp,
        producer_id,
        producer_epoch,
        0,
        is_transactional,
        False,
        RecordBatch.NO_PARTITION_LEADER_EPOCH,
        len(pairs),
    )
    return MemoryRecords(out)
