"""What a new coordinator knows when it has read its partition of __consumer_offsets."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.api.api_version import KAFKA_0_9_0, KAFKA_0_10_1_IV0, KAFKA_1_1_IV0, KAFKA_2_1_IV0, ApiVersion
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Dead, Empty, GroupMetadata, Stable
from kafka_py.coordinator.group.group_metadata_message import read_group_message_value
from kafka_py.coordinator.group.offset_config import OffsetConfig
from tests.coordinator.group.coordinator_support import subscription
from tests.coordinator.group.manager_support import (
    BAR0,
    COMMITTED,
    FOO0,
    FOO1,
    GROUP,
    GROUP_PARTITION,
    INSTANCE,
    MEMBER,
    PRODUCER,
    PROTOCOL_TYPE,
    TOPIC_PARTITION,
    ManagerRig,
    as_numbers,
)
from tests.log.log_harness import Logs, as_leader, log_config

FOO2, FOO3, BAR1 = TopicPartition("foo", 2), TopicPartition("foo", 3), TopicPartition("bar", 1)
ABORTED = {FOO2: 231, FOO3: 4551, BAR1: 89921}


@pytest.fixture
def rig() -> Iterator[ManagerRig]:
    rig = ManagerRig()
    yield rig
    rig.close()


# -- Plain commits


@pytest.mark.ported("GroupMetadataManagerTest.testLoadOffsetsWithoutGroup")
def test_offsets_without_a_group_make_an_empty_one(rig: ManagerRig) -> None:
    rig.lay(*rig.commits(COMMITTED))
    group = rig.load_group()
    assert (group.group_id, group.current_state) == (GROUP, Empty)
    assert as_numbers(group) == COMMITTED
    assert rig.loaded == [group]
    assert rig.manager.is_partition_owned(GROUP_PARTITION)
    assert not rig.manager.is_loading


@pytest.mark.ported("GroupMetadataManagerTest.testLoadEmptyGroupWithOffsets")
def test_an_empty_group_with_offsets(rig: ManagerRig) -> None:
    rig.lay(*rig.commits(COMMITTED), rig.empty_group(15))
    group = rig.load_group()
    assert (group.current_state, group.generation_id, group.protocol_type) == (Empty, 15, "consumer")
    assert (group.leader_or_null, group.protocol_name) == (None, None)
    assert as_numbers(group) == COMMITTED


@pytest.mark.ported("GroupMetadataManagerTest.testLoadOffsetsWithTombstones")
def test_a_tombstone_takes_an_offset_away(rig: ManagerRig) -> None:
    rig.lay(*rig.commits(COMMITTED), rig.offset_tombstone(FOO1))
    group = rig.load_group()
    assert group.current_state is Empty
    assert as_numbers(group) == {FOO0: 23, BAR0: 8992}


@pytest.mark.ported("GroupMetadataManagerTest.testLoadOffsetsAndGroup")
def test_a_group_and_its_offsets(rig: ManagerRig) -> None:
    rig.lay(*rig.commits(COMMITTED), rig.stable_group(935))
    group = rig.load_group()
    assert_stable(group, 935)
    assert as_numbers(group) == COMMITTED
    assert {committed.expire_timestamp for committed in group.all_offsets.values()} == {None}


def assert_stable(group: GroupMetadata, generation: int) -> None:
    assert (group.current_state, group.leader_or_null, group.generation_id) == (Stable, MEMBER, generation)
    assert (group.protocol_type, group.protocol_name) == ("consumer", "range")
    assert set(group.all_members) == {MEMBER}


@pytest.mark.ported("GroupMetadataManagerTest.testLoadGroupWithTombstone")
def test_a_tombstone_takes_a_group_away(rig: ManagerRig) -> None:
    rig.lay(rig.stable_group(), rig.group_tombstone())
    rig.load()
    assert rig.manager.get_group(GROUP) is None


@pytest.mark.ported("GroupMetadataManagerTest.testOffsetWriteAfterGroupRemoved")
def test_a_removed_group_may_go_on_as_one_that_only_commits(rig: ManagerRig) -> None:
    rig.lay(rig.stable_group(293), rig.group_tombstone(), *rig.commits(COMMITTED))
    group = rig.load_group()
    assert (group.current_state, group.generation_id) == (Empty, 0)
    assert as_numbers(group) == COMMITTED


@pytest.mark.ported("GroupMetadataManagerTest.testLoadGroupAndOffsetsFromDifferentSegments")
def test_later_segments_take_the_place_of_earlier_ones(rig: ManagerRig) -> None:
    xxx = TopicPartition("xxx", 0)
    rig.lay(*rig.commits({FOO0: 23, FOO1: 455, xxx: 42}), rig.stable_group(293, member_id="a"))
    rig.lay(*rig.commits({FOO0: 33, BAR0: 8992, xxx: 10}), rig.stable_group(293, member_id="b"))
    group = rig.load_group()
    assert rig.log.reads == 2
    assert (group.current_state, group.leader_or_null, set(group.all_members)) == (Stable, "b", {"b"})
    assert as_numbers(group) == {FOO0: 33, FOO1: 455, BAR0: 8992, xxx: 10}


@pytest.mark.ported("GroupMetadataManagerTest.testLoadGroupAndOffsetsWithCorruptedLog")
def test_a_log_that_ends_before_its_end(rig: ManagerRig) -> None:
    rig.log.end = 10
    rig.load()
    assert rig.log.reads == 1
    assert not rig.manager.is_partition_loading(GROUP_PARTITION)
    assert rig.manager.is_partition_owned(GROUP_PARTITION)


@pytest.mark.ported("GroupMetadataManagerTest.testLoadOffsetsWithEmptyControlBatch")
def test_a_marker_that_the_cleaner_has_taken(rig: ManagerRig) -> None:
    base = rig.log.end
    records = MemoryRecords.with_records(*rig.commits(COMMITTED), rig.empty_group(), initial_offset=base + 1)
    marker = SimpleNamespace(
        is_control_batch=lambda: True,
        is_transactional=lambda: True,
        producer_id=lambda: PRODUCER,
        next_offset=lambda: base + 1,
    )
    batches: list[Any] = [EmptyBatch(**vars(marker)), *records.batches()]
    rig.log.put(SimpleNamespace(batches=lambda: batches, size_in_bytes=lambda: 61), base + 5)
    group = rig.load_group()
    assert (group.current_state, group.generation_id, group.protocol_type) == (Empty, 15, "consumer")
    assert as_numbers(group) == COMMITTED


class EmptyBatch(SimpleNamespace):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


# -- From files, which a buffer is kept for


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


class LedLog:
    """A real log, as the rig's replica manager asks for its end."""

    def __init__(self, logs: Logs) -> None:
        self.log = logs.create(log_config(segment_bytes=2000))

    @property
    def log_start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def end(self) -> int:
        return self.log.log_end_offset

    def read(self, *arguments: Any, **more: Any) -> Any:
        return self.log.read(*arguments, **more)


@pytest.mark.ported("GroupMetadataManagerTest.testLoadGroupWithLargeGroupMetadataRecord")
def test_a_record_larger_than_the_buffer(logs: Logs, caplog: pytest.LogCaptureFixture) -> None:
    rig = ManagerRig(OffsetConfig(load_buffer_size=1024))
    log = LedLog(logs)
    as_leader(log.log, MemoryRecords.with_records(*rig.commits(COMMITTED)))
    large = rig.stable_group(assignment=bytes(1024 + 16))
    as_leader(log.log, MemoryRecords.with_records(large, *rig.commits({FOO0: 24})))
    rig.replica_manager.log = log
    group = rig.load_group()
    rig.close()
    assert as_numbers(group) == {**COMMITTED, FOO0: 24}
    assert len(group.get(MEMBER).assignment) == 1024 + 16
    assert "configured offsets.load.buffer.size (1024 bytes)" in caplog.text


def test_what_was_read_does_not_change_with_the_buffer(rig: ManagerRig, logs: Logs) -> None:
    log = LedLog(logs)
    for number in range(30):
        record = rig.stable_group(number, member_id=f"member-{number:02}", assignment=b"%03d" % number)
        as_leader(
            log.log, MemoryRecords.with_records(*rig.commits({FOO0: number, TopicPartition("t", number): number}))
        )
        as_leader(log.log, MemoryRecords.with_records(record))
    assert len(log.log.log_segments) > 3
    rig.replica_manager.log = log
    group = rig.load_group()
    assert as_numbers(group) == {FOO0: 29, **{TopicPartition("t", number): number for number in range(30)}}
    assert group.get("member-29").assignment == b"029"


# -- Transactions


@pytest.mark.ported("GroupMetadataManagerTest.testLoadTransactionalOffsetsWithoutGroup")
def test_a_committed_transaction_counts(rig: ManagerRig) -> None:
    rig.lay_in_transaction(COMMITTED)
    rig.lay_marker(is_commit=True)
    group = rig.load_group()
    assert group.current_state is Empty
    assert as_numbers(group) == COMMITTED


@pytest.mark.ported("GroupMetadataManagerTest.testDoNotLoadAbortedTransactionalOffsetCommits")
def test_an_aborted_transaction_leaves_no_group(rig: ManagerRig) -> None:
    rig.lay_in_transaction(COMMITTED)
    rig.lay_marker(is_commit=False)
    rig.load()
    assert rig.manager.get_group(GROUP) is None


@pytest.mark.ported("GroupMetadataManagerTest.testGroupLoadedWithPendingCommits")
def test_an_open_transaction_is_pending(rig: ManagerRig) -> None:
    rig.lay_in_transaction(COMMITTED)
    group = rig.load_group()
    assert group.current_state is Empty
    assert group.all_offsets == {}
    assert group.has_offsets
    assert group.has_pending_offset_commits_from_producer(PRODUCER)
    assert all(group.has_pending_offset_commits_for_topic_partition(tp) for tp in COMMITTED)
    assert rig.manager.is_group_open_for_producer(PRODUCER, GROUP)


@pytest.mark.ported("GroupMetadataManagerTest.testLoadWithCommittedAndAbortedTransactionalOffsetCommits")
def test_of_two_transactions_the_committed_one_counts(rig: ManagerRig) -> None:
    rig.lay_in_transaction(ABORTED)
    rig.lay_marker(is_commit=False)
    rig.lay_in_transaction(COMMITTED)
    rig.lay_marker(is_commit=True)
    group = rig.load_group()
    assert as_numbers(group) == COMMITTED
    assert not group.has_pending_offset_commits_from_producer(PRODUCER)
    assert not rig.manager.is_group_open_for_producer(PRODUCER, GROUP)


@pytest.mark.ported("GroupMetadataManagerTest.testLoadWithCommittedAndAbortedAndPendingTransactionalOffsetCommits")
def test_of_three_transactions_the_open_one_counts_when_its_marker_comes(rig: ManagerRig) -> None:
    pending = {FOO3: 2312, TopicPartition("foo", 4): 45512, TopicPartition("bar", 2): 899212}
    base = rig.lay_in_transaction(COMMITTED)
    rig.lay_marker(is_commit=True)
    rig.lay_in_transaction(ABORTED)
    rig.lay_marker(is_commit=False)
    rig.lay_in_transaction(pending)
    group = rig.load_group()
    assert as_numbers(group) == COMMITTED
    assert places(group) == dict.fromkeys(COMMITTED, base)
    assert group.has_pending_offset_commits_from_producer(PRODUCER)
    assert group.has_pending_offset_commits_for_topic_partition(FOO3)
    rig.manager.handle_txn_completion(PRODUCER, {GROUP_PARTITION}, is_commit=True)
    assert not group.has_pending_offset_commits_from_producer(PRODUCER)
    assert not rig.manager.is_group_open_for_producer(PRODUCER, GROUP)
    assert as_numbers(group) == {**COMMITTED, **pending}


def places(group: GroupMetadata) -> dict[TopicPartition, int | None]:
    """Partition -> where in the log its commit stands."""
    found = {}
    for tp in group.all_offsets:
        committed = group.offset_with_record_metadata(tp)
        assert committed is not None
        found[tp] = committed.appended_batch_offset
    return found


@pytest.mark.ported("GroupMetadataManagerTest.testLoadTransactionalOffsetCommitsFromMultipleProducers")
def test_transactions_of_two_producers(rig: ManagerRig) -> None:
    first = rig.lay_in_transaction(COMMITTED)
    rig.lay_marker(is_commit=True)
    second = rig.lay_in_transaction(ABORTED, PRODUCER + 1, 3)
    rig.lay_marker(True, PRODUCER + 1, 3)
    group = rig.load_group()
    assert as_numbers(group) == {**COMMITTED, **ABORTED}
    assert places(group) == {**dict.fromkeys(COMMITTED, first), **dict.fromkeys(ABORTED, second)}


@pytest.mark.ported("GroupMetadataManagerTest.testGroupLoadWithConsumerAndTransactionalOffsetCommitsConsumerWins")
def test_a_plain_commit_behind_that_of_a_transaction_wins(rig: ManagerRig) -> None:
    rig.lay_in_transaction({FOO0: 23})
    base = rig.lay(*rig.commits({FOO0: 24}))
    rig.lay_marker(is_commit=True)
    group = rig.load_group()
    assert as_numbers(group) == {FOO0: 24}
    assert places(group) == {FOO0: base}
    assert not group.has_pending_offset_commits_from_producer(PRODUCER)


@pytest.mark.ported("GroupMetadataManagerTest.testGroupLoadWithConsumerAndTransactionalOffsetCommitsTransactionWins")
def test_a_transactions_commit_behind_a_plain_one_wins(rig: ManagerRig) -> None:
    rig.lay(*rig.commits({FOO0: 24}))
    rig.lay_in_transaction({FOO0: 23})
    rig.lay_marker(is_commit=True)
    group = rig.load_group()
    assert as_numbers(group) == {FOO0: 23}
    assert not group.has_pending_offset_commits_from_producer(PRODUCER)


# -- Old and odd records


@pytest.mark.ported("GroupMetadataManagerTest.testLoadOffsetFromOldCommit")
@pytest.mark.ported("GroupMetadataManagerTest.testLoadOffsetWithExplicitRetention")
@pytest.mark.parametrize("version", [KAFKA_1_1_IV0, ApiVersion.latest_version()])
def test_offsets_with_a_time_of_their_own_keep_it(rig: ManagerRig, version: ApiVersion) -> None:
    rig.lay(*rig.commits(COMMITTED, version, retention_ms=100), rig.stable_group(935, version=version))
    group = rig.load_group()
    assert_stable(group, 935)
    assert as_numbers(group) == COMMITTED
    expire = rig.time.milliseconds() + 100
    assert {committed.expire_timestamp for committed in group.all_offsets.values()} == {expire}


@pytest.mark.ported("GroupMetadataManagerTest.testReadFromOldGroupMetadata")
@pytest.mark.parametrize("version", [KAFKA_0_9_0, KAFKA_0_10_1_IV0, KAFKA_2_1_IV0])
def test_groups_of_old_brokers_have_no_static_members(rig: ManagerRig, version: ApiVersion) -> None:
    record = rig.stable_group(1, PROTOCOL_TYPE, member_id="memberId", version=version)
    group = read_group_message_value(GROUP, record.value, rig.time)
    assert group is not None
    assert (group.group_id, group.generation_id) == (GROUP, 1)
    assert (group.protocol_type, group.protocol_name) == (PROTOCOL_TYPE, "range")
    assert set(group.all_members) == {"memberId"}
    assert not group.all_static_members


def test_when_a_state_began_survives(rig: ManagerRig) -> None:
    """KAFKA-10401: 2.5.1 forgets it when it reads the version that it writes."""
    since = rig.time.milliseconds()
    rig.lay(rig.stable_group())
    rig.time.sleep(1000)
    assert rig.load_group().current_state_timestamp == since


def test_what_a_later_broker_wrote_is_passed_over(rig: ManagerRig, caplog: pytest.LogCaptureFixture) -> None:
    """KAFKA-14869: before that, one such record kept all groups of the partition from being known."""
    rig.lay(SimpleRecord(rig.time.milliseconds(), b"\x00\x07later", b"\x00\x00"), *rig.commits(COMMITTED))
    rig.lay(SimpleRecord(rig.time.milliseconds(), b"\x00\x07later", b"\x00\x01"), rig.stable_group())
    group = rig.load_group()
    assert as_numbers(group) == COMMITTED
    assert group.is_(Stable)
    assert caplog.text.count("Unknown message key with version 7") == 1


@pytest.mark.parametrize(("key", "value"), [(None, b"x"), (b"\x00\x01\x00", None), (b"", None), (b"\xff\xff", None)])
def test_a_broken_key_ends_the_load_and_not_the_service(
    rig: ManagerRig, key: bytes | None, value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    rig.lay(SimpleRecord(rig.time.milliseconds(), key, value))
    rig.load()
    assert "Error loading offsets from __consumer_offsets-0" in caplog.text
    assert rig.manager.is_partition_owned(GROUP_PARTITION)
    assert not rig.manager.is_loading


# -- Groups out of records


@pytest.mark.ported("GroupMetadataManagerTest.testloadGroupWithStaticMember")
def test_a_static_member_is_known_by_its_name(rig: ManagerRig) -> None:
    members = [rig.member("static", "consumer"), rig.member("dynamic", "consumer", instance_id=None)]
    group = GroupMetadata.load_group(GROUP, Empty, 27, "consumer", None, None, None, members, rig.time)
    assert (group.current_state, group.generation_id, group.protocol_type) == (Empty, 27, "consumer")
    assert group.has("static")
    assert group.has("dynamic")
    assert group.has_static_member(INSTANCE)
    assert group.get_static_member_id(INSTANCE) == "static"


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        pytest.param(
            subscription("foo"), {"foo"}, marks=pytest.mark.ported("GroupMetadataManagerTest.testLoadConsumerGroup")
        ),
        pytest.param(
            b"",
            None,
            marks=pytest.mark.ported("GroupMetadataManagerTest.testLoadConsumerGroupWithFaultyConsumerProtocol"),
        ),
    ],
)
def test_a_consumer_group(rig: ManagerRig, metadata: bytes, topics: set[str] | None) -> None:
    member = rig.member("member1", "consumer", [("protocol", metadata)])
    group = GroupMetadata.load_group(GROUP, Stable, 27, "consumer", "protocol", None, None, [member], rig.time)
    assert (group.current_state, group.generation_id) == (Stable, 27)
    assert (group.protocol_type, group.protocol_name) == ("consumer", "protocol")
    assert group.get_subscribed_topics == topics
    assert group.has("member1")


@pytest.mark.ported("GroupMetadataManagerTest.testLoadEmptyConsumerGroup")
def test_an_empty_consumer_group_reads_nothing(rig: ManagerRig) -> None:
    group = GroupMetadata.load_group(GROUP, Empty, 27, "consumer", None, None, None, [], rig.time)
    assert (group.current_state, group.generation_id, group.protocol_type) == (Empty, 27, "consumer")
    assert group.protocol_name is None
    assert group.get_subscribed_topics == set()


# -- Leadership that comes and goes


def test_a_partition_lost_while_it_is_read_is_not_served(rig: ManagerRig) -> None:
    """Half of the offsets would say to a consumer that it has none; the old log may go on being read elsewhere."""
    rig.lay(*rig.commits({FOO0: 1}))
    rig.lay(*rig.commits({FOO1: 2}))
    read = rig.log.read

    def lost(*arguments: Any, **more: Any) -> Any:
        rig.replica_manager.leads = False
        return read(*arguments, **more)

    rig.log.read = lost  # type: ignore[method-assign]
    rig.load()
    assert rig.log.reads == 1
    assert rig.manager.get_group(GROUP) is None
    assert rig.loaded == []
    assert not rig.manager.is_partition_owned(GROUP_PARTITION)
    assert not rig.manager.is_loading


def test_a_partition_lost_and_led_again_while_it_is_read(rig: ManagerRig) -> None:
    """Between the two loads is an unload; the second load is what counts, and until it is done nobody is served."""
    unloaded: list[GroupMetadata] = []
    rig.lay(*rig.commits({FOO0: 1}))
    rig.manager.add_loading_partition(GROUP_PARTITION)
    rig.manager.add_loading_partition(GROUP_PARTITION)
    rig.manager.load_groups_and_offsets(TOPIC_PARTITION, rig.loaded.append)
    assert rig.manager.is_partition_loading(GROUP_PARTITION)
    assert rig.manager.is_group_loading(GROUP)
    rig.manager.remove_groups_and_offsets(TOPIC_PARTITION, unloaded.append)
    assert unloaded == rig.loaded
    assert rig.manager.is_partition_loading(GROUP_PARTITION)
    assert not rig.manager.is_partition_owned(GROUP_PARTITION)
    assert rig.manager.get_group(GROUP) is None
    rig.lay(*rig.commits({FOO0: 2}))  # of the coordinator between
    rig.manager.load_groups_and_offsets(TOPIC_PARTITION, rig.loaded.append)
    assert not rig.manager.is_loading
    assert rig.manager.is_partition_owned(GROUP_PARTITION)
    assert as_numbers(rig.group()) == {FOO0: 2}


def test_a_group_that_moved_away_takes_its_open_transactions_along(rig: ManagerRig) -> None:
    rig.lay_in_transaction(COMMITTED)
    rig.load()
    rig.manager.remove_groups_and_offsets(TOPIC_PARTITION, lambda group: group.transition_to(Dead))
    assert not rig.manager.is_group_open_for_producer(PRODUCER, GROUP)
    rig.manager.handle_txn_completion(PRODUCER, {GROUP_PARTITION}, is_commit=True)
    assert rig.manager.get_group(GROUP) is None


def test_nothing_is_served_of_a_load_that_the_shutdown_ends(rig: ManagerRig) -> None:
    rig.lay(*rig.commits(COMMITTED))
    rig.manager.shutdown()
    rig.load()
    assert not rig.manager.is_partition_owned(GROUP_PARTITION)
    assert rig.manager.get_group(GROUP) is None


def test_a_tombstone_of_a_group_that_is_here_is_an_error(rig: ManagerRig, caplog: pytest.LogCaptureFixture) -> None:
    rig.new_group()
    rig.lay(rig.stable_group(), rig.group_tombstone())
    rig.load()
    assert "Unexpected unload of active group foo while loading partition __consumer_offsets-0" in caplog.text
    assert IllegalStateException.__name__ in caplog.text


@pytest.mark.ported("GroupMetadataManagerTest.testPartitionLoadMetric")
def test_how_long_a_load_took(rig: ManagerRig) -> None:
    def took(kind: str) -> float:
        value: float = rig.metric(f"partition-load-time-{kind}")
        return value

    assert not math.isfinite(took("max"))
    rig.lay(*rig.commits(COMMITTED), rig.stable_group())
    read = rig.log.read

    def slow(*arguments: Any, **more: Any) -> Any:
        rig.time.sleep(70)
        return read(*arguments, **more)

    rig.log.read = slow  # type: ignore[method-assign]
    rig.load()
    assert (took("max"), took("avg")) == (70.0, 70.0)
