"""What the coordinator finds when it reads a partition of __consumer_offsets.

Mirrors: core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala @ 1.1.1 (of it, what
    doLoadGroupsAndOffsets gathers)
Read next: group_metadata_manager.py, which reads the batches and serves the groups
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.coordinator.group.group_metadata import CommitRecordMetadataAndOffset, CommitRecords, GroupMetadata
from kafka_py.coordinator.group.group_metadata_message import read_group_message_value
from kafka_py.coordinator.group.group_metadata_records import (
    GroupMetadataKey,
    GroupTopicPartition,
    UnknownKey,
    read_message_key,
    read_offset_message_value,
)

if TYPE_CHECKING:
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.common.utils.time import Time


class LoadedPartition:
    """What is read of one partition of __consumer_offsets: later records take the place of earlier ones.

    Ours in its form: in Kafka these are the local variables of doLoadGroupsAndOffsets.

    Thread: group-metadata-manager-0.
    """

    def __init__(self, time: Time) -> None:
        self._time = time
        self.offsets: dict[GroupTopicPartition, CommitRecordMetadataAndOffset] = {}
        # of transactions whose marker has not been read: by producer id
        self.pending: dict[int, dict[GroupTopicPartition, CommitRecordMetadataAndOffset]] = {}
        self.groups: dict[str, GroupMetadata] = {}
        self.removed_groups: set[str] = set()
        # of keys that were passed over
        self.unknown_versions: set[int] = set()

    def add(self, batch: RecordBatch) -> None:
        """Take in the next batch; IllegalArgumentException for a record without a key."""
        if batch.is_control_batch():
            self._end_transaction(batch)
            return
        offsets = self.pending.setdefault(batch.producer_id(), {}) if batch.is_transactional() else self.offsets
        base_offset: int | None = None
        for record in batch:
            key = record.key()
            if key is None:
                raise IllegalArgumentException("Group metadata/offset entry key should not be null")
            if base_offset is None:
                base_offset = record.offset()
            read = read_message_key(key)
            if isinstance(read, GroupMetadataKey):
                self._add_group(read.key, record.value())
                continue
            if isinstance(read, UnknownKey):
                self.unknown_versions.add(read.version)
                continue
            committed = read_offset_message_value(record.value())
            if committed is None:
                offsets.pop(read.key, None)
            else:
                offsets[read.key] = CommitRecordMetadataAndOffset(base_offset, committed)

    def _add_group(self, group_id: str, value: bytes | memoryview | None) -> None:
        group = read_group_message_value(group_id, value, self._time)
        if group is None:
            self.groups.pop(group_id, None)
            self.removed_groups.add(group_id)
        else:
            self.removed_groups.discard(group_id)
            self.groups[group_id] = group

    def _end_transaction(self, batch: RecordBatch) -> None:
        marker = next(iter(batch), None)
        if marker is None:
            return  # the cleaner has taken it, and then the transaction's records are gone or plain
        ended = self.pending.pop(batch.producer_id(), {})
        if ControlRecordType.parse(marker.key() or b"") is not ControlRecordType.COMMIT:
            return
        for partition, committed in ended.items():
            known = self.offsets.get(partition)
            if known is None or known.older_than(committed):
                self.offsets[partition] = committed

    def offsets_by_group(self) -> dict[str, CommitRecords]:
        """What counts as committed."""
        return _by_group(self.offsets)

    def pending_by_group(self) -> dict[str, dict[int, CommitRecords]]:
        """What open transactions have committed, by producer id."""
        found: dict[str, dict[int, CommitRecords]] = {}
        for producer_id, offsets in self.pending.items():
            for group_id, of_group in _by_group(offsets).items():
                found.setdefault(group_id, {})[producer_id] = of_group
        return found


def _by_group(offsets: Mapping[GroupTopicPartition, CommitRecordMetadataAndOffset]) -> dict[str, CommitRecords]:
    found: dict[str, CommitRecords] = {}
    for (group_id, topic_partition), committed in offsets.items():
        found.setdefault(group_id, {})[topic_partition] = committed
    return found
