"""A group as a record of __consumer_offsets, and how the records of that topic are printed.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala @ 2.5.1 (object GroupMetadataManager)
Read next: group_metadata_records.py (the schemas)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_py.api.api_version import KAFKA_0_10_1_IV0, KAFKA_2_1_IV0, KAFKA_2_3_IV0, ApiVersion
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.coordinator.group.group_metadata import Empty, GroupMetadata, Stable
from kafka_py.coordinator.group.group_metadata_records import (
    GROUP_VALUE_SCHEMAS,
    NO_TIMESTAMP,
    Bytes,
    GroupMetadataKey,
    OffsetKey,
    read_message_key,
    read_offset_message_value,
    version_bytes,
    versioned,
)
from kafka_py.coordinator.group.member_metadata import MemberMetadata

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time


def group_metadata_value(
    group_metadata: GroupMetadata, assignment: Mapping[str, bytes], api_version: ApiVersion
) -> bytes:
    """A group, with what each member is to do, as brokers of that protocol version read it.

    IllegalStateException for members without a protocol, KeyError for one without an assignment.
    """
    version = sum(api_version >= since for since in (KAFKA_0_10_1_IV0, KAFKA_2_1_IV0, KAFKA_2_3_IV0))
    schema = GROUP_VALUE_SCHEMAS[version]
    value = Struct(schema)
    value.set("protocol_type", group_metadata.protocol_type or "")
    value.set("generation", group_metadata.generation_id)
    value.set("protocol", group_metadata.protocol_name)
    value.set("leader", group_metadata.leader_or_null)
    if version >= 2:
        value.set("current_state_timestamp", group_metadata.current_state_timestamp_or_default)
    members = group_metadata.all_member_metadata
    if members and group_metadata.protocol_name is None:
        raise IllegalStateException("Attempted to write non-empty group metadata with no defined protocol")
    protocol = group_metadata.protocol_name or ""
    entries = []
    for member in members:
        entry = value.instance("members")
        entry.set("member_id", member.member_id)
        entry.set("client_id", member.client_id)
        entry.set("client_host", member.client_host)
        entry.set("session_timeout", member.session_timeout_ms)
        if version >= 1:
            entry.set("rebalance_timeout", member.rebalance_timeout_ms)
        if version >= 3:
            entry.set("group_instance_id", member.group_instance_id)
        entry.set("subscription", member.metadata(protocol))
        entry.set("assignment", assignment[member.member_id])
        entries.append(entry)
    value.set("members", entries)
    return version_bytes(version) + value.to_bytes()


def read_group_message_value(group_id: str, data: Bytes | None, time: Time) -> GroupMetadata | None:
    """A group as a coordinator that loads it finds it, None for a tombstone.

    KafkaException, SchemaException for other bytes. When its state began, and static members, are read from every
    version that has them; 2.5.1 reads the one from version 2 only and takes members of version 3 for static ones.
    """
    if data is None:
        return None
    version, value = versioned(GROUP_VALUE_SCHEMAS, data, "group metadata message value")
    protocol_type, protocol = value.get("protocol_type"), value.get("protocol")
    since = value.get("current_state_timestamp") if version >= 2 else NO_TIMESTAMP
    members = [_read_member(group_id, entry, version, protocol_type, protocol) for entry in value.get("members")]
    return GroupMetadata.load_group(
        group_id,
        Stable if members else Empty,
        value.get("generation"),
        protocol_type,
        protocol,
        value.get("leader"),
        None if since == NO_TIMESTAMP else since,
        members,
        time,
    )


def _read_member(group_id: str, entry: Struct, version: int, protocol_type: str, protocol: str) -> MemberMetadata:
    session_timeout = entry.get("session_timeout")
    member = MemberMetadata(
        entry.get("member_id"),
        group_id,
        entry.get("group_instance_id") if version >= 3 else None,
        entry.get("client_id"),
        entry.get("client_host"),
        session_timeout if version == 0 else entry.get("rebalance_timeout"),
        session_timeout,
        protocol_type,
        [(protocol, bytes(entry.get("subscription")))],
    )
    member.assignment = bytes(entry.get("assignment"))
    return member


def format_offsets_message(key: Bytes | None, value: Bytes | None) -> str | None:
    """A committed offset as OffsetsMessageFormatter prints it, None for other records.

    Mirrors: kafka.coordinator.group.GroupMetadataManager.OffsetsMessageFormatter
    """
    return _formatted(key, value, OffsetKey, read_offset_message_value)


def format_group_metadata_message(key: Bytes | None, value: Bytes | None, time: Time) -> str | None:
    """A group as GroupMetadataMessageFormatter prints it, None for other records.

    Mirrors: kafka.coordinator.group.GroupMetadataManager.GroupMetadataMessageFormatter
    """
    read = None if key is None else read_message_key(key)
    group_id = read.key if isinstance(read, GroupMetadataKey) else ""
    return _formatted(key, value, GroupMetadataKey, lambda data: read_group_message_value(group_id, data, time))


def _formatted(
    key: Bytes | None, value: Bytes | None, kind: type[OffsetKey | GroupMetadataKey], read: Callable[[Bytes], object]
) -> str | None:
    found = None if key is None else read_message_key(key)
    if not isinstance(found, kind):
        return None
    return f"{found}::{'NULL' if value is None else read(value)}"
