"""A GroupMetadataManager on a log of batches that the test lays down, and the records that coordinators write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from kafka_py.api.api_version import KAFKA_2_1_IV0, ApiVersion
from kafka_py.common.internals.topic import Topic
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Empty, GroupMetadata, Stable
from kafka_py.coordinator.group.group_metadata_manager import GroupMetadataManager, PartitionData
from kafka_py.coordinator.group.group_metadata_message import group_metadata_value
from kafka_py.coordinator.group.group_metadata_records import (
    group_metadata_key,
    offset_commit_key,
    offset_commit_value,
)
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.coordinator.group.offset_config import OffsetConfig
from kafka_py.testing.mock_time import MockTime
from tests.coordinator.group.coordinator_support import FakeReplicaManager, FakeZkClient

GROUP = "foo"
INSTANCE = "bar"
GROUP_PARTITION = 0
TOPIC_PARTITION = TopicPartition(Topic.GROUP_METADATA_TOPIC_NAME, GROUP_PARTITION)
PROTOCOL_TYPE = "protocolType"
REBALANCE_TIMEOUT = 60_000
SESSION_TIMEOUT = 10_000
MEMBER = "98098230493"
PRODUCER = 1000
FOO0, FOO1, BAR0 = TopicPartition("foo", 0), TopicPartition("foo", 1), TopicPartition("bar", 0)
COMMITTED = {FOO0: 23, FOO1: 455, BAR0: 8992}
LATEST = ApiVersion.latest_version()
NOTHING: dict[str, bytes] = {}

Offsets = Mapping[TopicPartition, int]


class FakeLog:
    """Batches one after another; a read gives the chunk that begins where it is asked to."""

    def __init__(self, start: int = 0) -> None:
        self.log_start_offset = self.end = start
        self._chunks: dict[int, Any] = {}
        self.reads = 0

    def add(self, records: MemoryRecords) -> int:
        """What `at` returned offsets for; the offset of the first."""
        base = self.end
        self._chunks[base] = records
        self.end = max(batch.next_offset() for batch in records.batches())
        return base

    def put(self, records: Any, end: int) -> None:
        """Anything that has batches."""
        self._chunks[self.end] = records
        self.end = end

    def read(self, start_offset: int, max_length: int, max_offset: int | None, min_one_message: bool) -> Any:
        assert max_offset is None
        assert min_one_message
        self.reads += 1
        return SimpleNamespace(records=self._chunks.get(start_offset, MemoryRecords.EMPTY))


class LoggedReplicaManager(FakeReplicaManager):
    """Appends as that one does; leads the partition, whose log is `log`, unless told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.log: Any = FakeLog()
        self.leads = True
        self.append_error: Exception | None = None

    def get_log(self, topic_partition: TopicPartition) -> Any:
        assert topic_partition == TOPIC_PARTITION
        return self.log

    def get_log_end_offset(self, topic_partition: TopicPartition) -> Any:
        assert topic_partition == TOPIC_PARTITION
        return self.log.end if self.leads else None

    def _append_to_leader(self, records: Any, *rest: Any, **more: Any) -> Any:
        if self.append_error is not None:
            raise self.append_error
        return super()._append_to_leader(records, *rest, **more)

    def written(self) -> list[Any]:
        """All records that were appended for answers, in order."""
        return [record for entries in self.appended for record in entries[TOPIC_PARTITION].records()]

    def buried(self) -> list[Any]:
        """All records that were appended without."""
        return [record for records in self.tombstones for record in records.records()]


class ManagerRig:
    """The manager, of two partitions of which GROUP belongs to the first."""

    def __init__(self, config: OffsetConfig | None = None, version: ApiVersion = LATEST) -> None:
        self.time = MockTime()
        self.metrics = Metrics(time=self.time)
        self.replica_manager = LoggedReplicaManager()
        self.config = config or OffsetConfig()
        self.manager = GroupMetadataManager(
            0,
            version,
            self.config,
            cast("Any", self.replica_manager),
            cast("Any", FakeZkClient()),
            self.time,
            self.metrics,
        )
        assert self.manager.partition_for(GROUP) == GROUP_PARTITION
        self.loaded: list[GroupMetadata] = []

    def close(self) -> None:
        self.manager.shutdown()
        self.metrics.close()

    @property
    def log(self) -> FakeLog:
        found: FakeLog = self.replica_manager.log
        return found

    # -- The log before it is loaded

    def lay(self, *records: SimpleRecord) -> int:
        """A batch; the offset it begins at."""
        return self.log.add(MemoryRecords.with_records(*records, initial_offset=self.log.end))

    def lay_in_transaction(self, offsets: Offsets, producer_id: int = PRODUCER, epoch: int = 2) -> int:
        records = MemoryRecords.with_transactional_records(
            *self.commits(offsets),
            initial_offset=self.log.end,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=0,
        )
        return self.log.add(records)

    def lay_marker(self, is_commit: bool, producer_id: int = PRODUCER, epoch: int = 2) -> int:
        type_ = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
        marker = EndTransactionMarker(type_, 0)
        return self.log.add(
            MemoryRecords.with_end_transaction_marker(
                producer_id, epoch, marker, timestamp=self.time.milliseconds(), initial_offset=self.log.end
            )
        )

    def load(self) -> None:
        self.manager.add_loading_partition(GROUP_PARTITION)
        self.manager.load_groups_and_offsets(TOPIC_PARTITION, self.loaded.append)

    def load_group(self) -> GroupMetadata:
        self.load()
        return self.group()

    # -- Records

    def commits(
        self, offsets: Offsets, version: ApiVersion = LATEST, retention_ms: int | None = None
    ) -> list[SimpleRecord]:
        now = self.time.milliseconds()
        expire = None if retention_ms is None else now + retention_ms
        return [
            SimpleRecord(
                now,
                offset_commit_key(GROUP, tp),
                offset_commit_value(OffsetAndMetadata(offset, None, "", now, expire), version),
            )
            for tp, offset in offsets.items()
        ]

    def stable_group(
        self,
        generation: int = 15,
        protocol_type: str = "consumer",
        protocol: str = "range",
        member_id: str = MEMBER,
        assignment: bytes = b"",
        version: ApiVersion = LATEST,
    ) -> SimpleRecord:
        member = self.member(member_id, protocol_type, [(protocol, b"")])
        since = self.time.milliseconds() if version >= KAFKA_2_1_IV0 else None
        group = GroupMetadata.load_group(
            GROUP, Stable, generation, protocol_type, protocol, member_id, since, [member], self.time
        )
        value = group_metadata_value(group, {member_id: assignment}, version)
        return SimpleRecord(self.time.milliseconds(), group_metadata_key(GROUP), value)

    def empty_group(self, generation: int = 15, protocol_type: str = "consumer") -> SimpleRecord:
        group = GroupMetadata.load_group(GROUP, Empty, generation, protocol_type, None, None, None, [], self.time)
        value = group_metadata_value(group, NOTHING, LATEST)
        return SimpleRecord(self.time.milliseconds(), group_metadata_key(GROUP), value)

    def group_tombstone(self) -> SimpleRecord:
        return SimpleRecord(self.time.milliseconds(), group_metadata_key(GROUP), None)

    def offset_tombstone(self, topic_partition: TopicPartition) -> SimpleRecord:
        return SimpleRecord(self.time.milliseconds(), offset_commit_key(GROUP, topic_partition), None)

    # -- Groups

    def member(
        self,
        member_id: str = "memberId",
        protocol_type: str = PROTOCOL_TYPE,
        protocols: Sequence[tuple[str, bytes]] = (("protocol", b""),),
        instance_id: str | None = INSTANCE,
    ) -> MemberMetadata:
        return MemberMetadata(
            member_id,
            GROUP,
            instance_id,
            "clientId",
            "localhost",
            REBALANCE_TIMEOUT,
            SESSION_TIMEOUT,
            protocol_type,
            list(protocols),
        )

    def new_group(self) -> GroupMetadata:
        """An empty group, known to the manager, which owns its partition."""
        self.manager.add_partition_ownership(GROUP_PARTITION)
        return self.manager.add_group(GroupMetadata(GROUP, Empty, self.time))

    def group(self) -> GroupMetadata:
        found = self.manager.get_group(GROUP)
        assert found is not None
        return found

    def offsets(self, *partitions: TopicPartition, require_stable: bool = False) -> dict[TopicPartition, PartitionData]:
        return self.manager.get_offsets(GROUP, require_stable, list(partitions))

    def offset(self, topic_partition: TopicPartition) -> int:
        return self.offsets(topic_partition)[topic_partition].offset

    def store(
        self,
        group: GroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> list[dict[TopicPartition, Errors]]:
        """Commit; the list holds the answer once there is one."""
        answers: list[dict[TopicPartition, Errors]] = []
        self.manager.store_offsets(group, "", offsets, answers.append, producer_id, producer_epoch)
        return answers

    def now(self, offset: int = 37, retention_ms: int | None = None) -> OffsetAndMetadata:
        at = self.time.milliseconds()
        return OffsetAndMetadata(offset, None, "", at, None if retention_ms is None else at + retention_ms)

    def metric(self, name: str) -> Any:
        found = self.metrics.metric(self.metrics.metric_name(name, "group-coordinator-metrics"))
        assert found is not None
        return found.metric_value()


def as_numbers(group: GroupMetadata) -> dict[TopicPartition, int]:
    """Partition -> what the group has committed for it."""
    return {tp: committed.offset for tp, committed in group.all_offsets.items()}
