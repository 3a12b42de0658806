"""How groups and offsets are written down, looked up, and forgotten again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_py.common.errors import UnsupportedForMessageFormatException
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.coordinator.group.group_metadata import (
    CompletingRebalance,
    Dead,
    Empty,
    GroupMetadata,
    PreparingRebalance,
    Stable,
)
from kafka_py.coordinator.group.group_metadata_message import read_group_message_value
from kafka_py.coordinator.group.group_metadata_records import GroupMetadataKey, OffsetKey, read_message_key
from kafka_py.coordinator.group.offset_config import OffsetConfig
from kafka_py.metrics.yammer import Metrics as Registry
from tests.coordinator.group.coordinator_support import subscription
from tests.coordinator.group.manager_support import (
    BAR0,
    FOO0,
    FOO1,
    GROUP,
    GROUP_PARTITION,
    NOTHING,
    PRODUCER,
    TOPIC_PARTITION,
    ManagerRig,
    as_numbers,
)

RETENTION = OffsetConfig.DEFAULT_OFFSET_RETENTION_MS
BAR1 = FOO1._replace(topic="bar")
FOO2 = FOO1._replace(partition=2)
_AS_COORDINATOR = [
    (Errors.NONE, Errors.NONE),
    (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Errors.COORDINATOR_NOT_AVAILABLE),
    (Errors.NOT_LEADER_FOR_PARTITION, Errors.NOT_COORDINATOR),
    (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
    (Errors.CORRUPT_MESSAGE, Errors.CORRUPT_MESSAGE),
]
_TOO_LARGE = [Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE]


@pytest.fixture
def rig() -> Iterator[ManagerRig]:
    rig = ManagerRig()
    yield rig
    rig.close()


# -- Which groups are here


@pytest.mark.ported("GroupMetadataManagerTest.testGroupNotExists")
def test_group_not_exists(rig: ManagerRig) -> None:
    assert not rig.manager.group_not_exists(GROUP)  # not ours
    rig.manager.add_partition_ownership(GROUP_PARTITION)
    assert rig.manager.group_not_exists(GROUP)
    group = rig.new_group()
    assert not rig.manager.group_not_exists(GROUP)
    group.transition_to(Dead)
    assert rig.manager.group_not_exists(GROUP)


@pytest.mark.ported("GroupMetadataManagerTest.testAddGroup")
def test_the_first_group_of_a_name_stays(rig: ManagerRig) -> None:
    group = GroupMetadata(GROUP, Empty, rig.time)
    assert rig.manager.add_group(group) is group
    assert rig.manager.add_group(GroupMetadata(GROUP, Empty, rig.time)) is group


@pytest.mark.ported("GroupMetadataManagerTest.testMetrics")
def test_gauges(rig: ManagerRig) -> None:
    def numbers() -> list[int]:
        registry = Registry.default_registry().all_metrics()
        names = ("NumGroups", "NumGroupsPreparingRebalance", "NumGroupsCompletingRebalance", "NumOffsets")
        return [registry[rig.manager.metric_name(name)].value() for name in names]  # type: ignore[attr-defined]

    assert numbers() == [0, 0, 0, 0]
    group = rig.manager.add_group(GroupMetadata("foo2", Stable, rig.time))
    assert numbers() == [1, 0, 0, 0]
    group.transition_to(PreparingRebalance)
    assert numbers() == [1, 1, 0, 0]
    group.transition_to(CompletingRebalance)
    assert numbers() == [1, 0, 1, 0]
    rig.store(group, {FOO0: rig.now()})
    assert numbers() == [1, 0, 1, 1]


# -- Groups


def stored(rig: ManagerRig, group: GroupMetadata, assignment: dict[str, bytes] | None = None) -> list[Errors]:
    answers: list[Errors] = []
    rig.manager.store_group(group, assignment or NOTHING, answers.append)
    return answers


def with_member(rig: ManagerRig) -> GroupMetadata:
    group = rig.new_group()
    group.add(rig.member(), lambda _: None)
    group.transition_to(PreparingRebalance)
    group.init_next_generation()
    return group


@pytest.mark.ported("GroupMetadataManagerTest.testStoreEmptyGroup")
def test_an_empty_group_is_written(rig: ManagerRig) -> None:
    group = GroupMetadata.load_group(GROUP, Empty, 27, "consumer", None, None, None, [], rig.time)
    rig.manager.add_group(group)
    assert stored(rig, group) == [Errors.NONE]
    (record,) = rig.replica_manager.written()
    assert read_message_key(record.key()) == GroupMetadataKey(2, GROUP)
    found = read_group_message_value(GROUP, record.value(), rig.time)
    assert found is not None
    assert (found.current_state, found.generation_id, found.protocol_type) == (Empty, 27, "consumer")


@pytest.mark.ported("GroupMetadataManagerTest.testStoreEmptySimpleGroup")
def test_a_group_that_only_commits_is_written(rig: ManagerRig) -> None:
    assert stored(rig, rig.new_group()) == [Errors.NONE]
    (record,) = rig.replica_manager.written()
    found = read_group_message_value(GROUP, record.value(), rig.time)
    assert found is not None
    assert (found.current_state, found.generation_id, found.protocol_type) == (Empty, 0, None)


@pytest.mark.ported("GroupMetadataManagerTest.testStoreGroupErrorMapping")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        *_AS_COORDINATOR,
        (Errors.REQUEST_TIMED_OUT, Errors.REBALANCE_IN_PROGRESS),
        *((error, Errors.UNKNOWN_SERVER_ERROR) for error in _TOO_LARGE),
    ],
)
def test_what_members_are_told_of_a_failed_append(rig: ManagerRig, error: Errors, told: Errors) -> None:
    rig.replica_manager.error = error
    assert stored(rig, rig.new_group()) == [told]


@pytest.mark.ported("GroupMetadataManagerTest.testStoreNonEmptyGroup")
def test_a_group_with_members_is_written(rig: ManagerRig) -> None:
    group = with_member(rig)
    assert stored(rig, group, {"memberId": b"parts"}) == [Errors.NONE]
    (record,) = rig.replica_manager.written()
    found = read_group_message_value(GROUP, record.value(), rig.time)
    assert found is not None
    assert (found.current_state, found.generation_id) == (Stable, 1)
    assert found.get("memberId").assignment == b"parts"


def test_the_format_is_asked_for_once_so_that_a_replica_may_go_away(rig: ManagerRig) -> None:
    formats = iter([RecordBatch.MAGIC_VALUE_V2])
    rig.replica_manager.get_magic = lambda topic_partition: next(formats, None)  # type: ignore[method-assign]
    group, answers = rig.new_group(), list[Errors]()
    rig.manager.store_group(group, NOTHING, answers.append)
    rig.manager.store_group(group, NOTHING, answers.append)
    assert answers == [Errors.NONE, Errors.NOT_COORDINATOR]


@pytest.mark.ported("GroupMetadataManagerTest.testStoreNonEmptyGroupWhenCoordinatorHasMoved")
def test_a_group_that_has_moved_is_not_written(rig: ManagerRig) -> None:
    rig.replica_manager.magic = None
    assert stored(rig, with_member(rig), {"memberId": b""}) == [Errors.NOT_COORDINATOR]
    assert rig.replica_manager.appended == []


# -- Commits


@pytest.mark.ported("GroupMetadataManagerTest.testCommitOffset")
def test_a_commit_counts_once_it_is_appended(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.replica_manager.hold = True
    answers = rig.store(group, {FOO0: rig.now()})
    assert group.has_offsets
    assert answers == []
    assert rig.offset(FOO0) == -1
    assert rig.offsets(FOO0, require_stable=True)[FOO0].error is Errors.UNSTABLE_OFFSET_COMMIT
    rig.replica_manager.release()
    assert answers == [{FOO0: Errors.NONE}]
    (batch,) = rig.replica_manager.appended[0][TOPIC_PARTITION].batches()
    assert (batch.producer_id(), batch.base_sequence(), batch.is_transactional()) == (-1, 0, False)
    found = rig.offsets(FOO0, require_stable=True)[FOO0]
    assert (found.offset, found.error) == (37, Errors.NONE)
    assert rig.metric("offset-commit-count") == 1


@pytest.mark.ported("GroupMetadataManagerTest.testCommitOffsetWhenCoordinatorHasMoved")
def test_a_commit_of_a_group_that_has_moved(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.replica_manager.magic = None
    assert rig.store(group, {FOO0: rig.now()}) == [{FOO0: Errors.NOT_COORDINATOR}]
    assert not group.has_offsets


@pytest.mark.ported("GroupMetadataManagerTest.testCommitOffsetFailure")
@pytest.mark.parametrize(
    ("error", "told"),
    [*_AS_COORDINATOR[1:], *((error, Errors.INVALID_COMMIT_OFFSET_SIZE) for error in _TOO_LARGE)],
)
def test_a_commit_that_failed_leaves_nothing(rig: ManagerRig, error: Errors, told: Errors) -> None:
    """Nor is it counted (KAFKA-12660)."""
    group = rig.new_group()
    rig.replica_manager.error = error
    rig.replica_manager.hold = True
    answers = rig.store(group, {FOO0: rig.now()})
    assert group.has_pending_offset_commits_for_topic_partition(FOO0)
    rig.replica_manager.release()
    assert answers == [{FOO0: told}]
    assert not group.has_offsets
    assert rig.offset(FOO0) == -1
    assert rig.metric("offset-commit-count") == 0


def test_what_is_said_beside_an_offset_is_as_long_as_java_says(rig: ManagerRig) -> None:
    """In units of UTF-16: one for ä, two for what is beyond the first plane."""
    longest = rig.config.max_metadata_size
    lengths = {"\u00e4": longest, "\U0001f600": longest // 2}
    for letter, most in lengths.items():
        fits, does_not = (rig.now()._replace(metadata=letter * n) for n in (most, most + 1))
        answers = rig.store(rig.new_group(), {FOO0: fits, FOO1: does_not})
        assert answers == [{FOO0: Errors.NONE, FOO1: Errors.OFFSET_METADATA_TOO_LARGE}]


def test_what_is_said_beside_an_offset_may_be_too_long(rig: ManagerRig) -> None:
    """The other offsets count, and nothing of it stays pending (KAFKA-16371)."""
    group = rig.new_group()
    long = rig.now()._replace(metadata="x" * (rig.config.max_metadata_size + 1))
    longest = rig.now()._replace(metadata="x" * rig.config.max_metadata_size)
    answers = rig.store(group, {FOO0: long, FOO1: longest})
    assert answers == [{FOO0: Errors.OFFSET_METADATA_TOO_LARGE, FOO1: Errors.NONE}]
    assert rig.store(group, {BAR0: long}) == [{BAR0: Errors.OFFSET_METADATA_TOO_LARGE}]
    assert as_numbers(group) == {FOO1: 37}
    assert not group.has_pending_offset_commits_for_topic_partition(FOO0)
    assert not group.has_pending_offset_commits_for_topic_partition(BAR0)
    assert rig.store(group, {BAR0: long}, PRODUCER, 0) == [{BAR0: Errors.OFFSET_METADATA_TOO_LARGE}]
    assert not group.has_pending_offset_commits_from_producer(PRODUCER)


@pytest.mark.parametrize("is_commit", [False, True])
def test_a_commit_of_a_group_that_died_meanwhile(rig: ManagerRig, is_commit: bool) -> None:
    group = rig.new_group()
    rig.replica_manager.hold = True
    answers = rig.store(group, {FOO0: rig.now()}, *((PRODUCER, 0) if is_commit else ()))
    group.transition_to(Dead)
    rig.replica_manager.release()
    assert answers == [{FOO0: Errors.NONE}]
    assert group.all_offsets == {}
    assert rig.offset(FOO0) == -1


# -- Commits of transactions


def in_transaction(rig: ManagerRig, group: GroupMetadata, error: Errors = Errors.NONE) -> None:
    """A commit, held and then answered."""
    rig.replica_manager.error = error
    rig.replica_manager.hold = True
    answers = rig.store(group, {FOO0: rig.now()}, PRODUCER, 0)
    assert group.has_offsets
    assert group.all_offsets == {}
    assert rig.manager.is_group_open_for_producer(PRODUCER, GROUP)
    rig.replica_manager.release()
    assert len(answers) == 1


@pytest.mark.ported("GroupMetadataManagerTest.testTransactionalCommitOffsetCommitted")
def test_a_transaction_counts_when_it_is_committed(rig: ManagerRig) -> None:
    group = rig.new_group()
    in_transaction(rig, group)
    assert group.has_offsets
    assert group.all_offsets == {}
    group.complete_pending_txn_offset_commit(PRODUCER, is_commit=True)
    assert as_numbers(group) == {FOO0: 37}
    (batch,) = next(iter(rig.replica_manager.appended[0].values())).batches()
    assert (batch.is_transactional(), batch.producer_id(), batch.producer_epoch()) == (True, PRODUCER, 0)


@pytest.mark.ported("GroupMetadataManagerTest.testTransactionalCommitOffsetAborted")
def test_a_transaction_never_counts_when_it_is_aborted(rig: ManagerRig) -> None:
    group = rig.new_group()
    in_transaction(rig, group)
    rig.manager.handle_txn_completion(PRODUCER, {GROUP_PARTITION}, is_commit=False)
    assert not group.has_offsets
    assert group.all_offsets == {}
    assert not rig.manager.is_group_open_for_producer(PRODUCER, GROUP)


@pytest.mark.ported("GroupMetadataManagerTest.testTransactionalCommitOffsetAppendFailure")
def test_a_transactions_commit_that_failed_leaves_nothing(rig: ManagerRig) -> None:
    group = rig.new_group()
    in_transaction(rig, group, Errors.NOT_ENOUGH_REPLICAS)
    assert not group.has_offsets
    assert not rig.manager.is_group_open_for_producer(PRODUCER, GROUP)
    group.complete_pending_txn_offset_commit(PRODUCER, is_commit=False)
    assert not group.has_offsets
    assert group.all_offsets == {}


def test_a_marker_is_for_the_groups_of_its_partitions(rig: ManagerRig) -> None:
    group = rig.new_group()
    in_transaction(rig, group)
    rig.manager.handle_txn_completion(PRODUCER, {GROUP_PARTITION + 1}, is_commit=True)
    rig.manager.handle_txn_completion(PRODUCER + 1, {GROUP_PARTITION}, is_commit=True)
    assert group.all_offsets == {}
    rig.manager.handle_txn_completion(PRODUCER, {GROUP_PARTITION}, is_commit=True)
    assert as_numbers(group) == {FOO0: 37}


def test_transactions_need_a_format_that_has_them(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.replica_manager.magic = 1
    with pytest.raises(UnsupportedForMessageFormatException, match="invalid magic: 1"):
        rig.store(group, {FOO0: rig.now()}, PRODUCER, 0)
    assert not group.has_offsets


# -- What expires


def cleanup(rig: ManagerRig) -> None:
    rig.manager.cleanup_expired_group_metadata()


@pytest.mark.ported("GroupMetadataManagerTest.testExpireOffset")
def test_offsets_with_their_own_times_expire_one_by_one(rig: ManagerRig) -> None:
    group = rig.new_group()
    assert rig.store(group, {FOO0: rig.now(37, 1), FOO1: rig.now(37, 3)}) == [{FOO0: Errors.NONE, FOO1: Errors.NONE}]
    rig.time.sleep(2)
    cleanup(rig)
    assert rig.group() is group
    assert as_numbers(group) == {FOO1: 37}
    assert (rig.offset(FOO0), rig.offset(FOO1)) == (-1, 37)
    assert rig.metric("offset-expiration-count") == 1


@pytest.mark.ported("GroupMetadataManagerTest.testGroupMetadataRemoval")
@pytest.mark.ported("GroupMetadataManagerTest.testGroupMetadataRemovalWithLogAppendTime")
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_an_empty_group_is_removed(rig: ManagerRig, magic: int, caplog: pytest.LogCaptureFixture) -> None:
    """Its tombstone has the time of its making, whatever the topic's timestamps are: the log puts in its own."""
    rig.replica_manager.magic = magic
    group = rig.new_group()
    group.generation_id = 5
    cleanup(rig)
    (batch,) = rig.replica_manager.tombstones[0].batches()
    (tombstone,) = rig.replica_manager.buried()
    kind = TimestampType.NO_TIMESTAMP_TYPE if magic == 0 else TimestampType.CREATE_TIME
    assert (batch.magic(), batch.timestamp_type()) == (magic, kind)
    assert tombstone.timestamp() == (RecordBatch.NO_TIMESTAMP if magic == 0 else rig.time.milliseconds())
    assert read_message_key(tombstone.key()) == GroupMetadataKey(2, GROUP)
    assert tombstone.value() is None
    assert rig.manager.get_group(GROUP) is None
    assert group.is_(Dead)
    assert (rig.offset(FOO0), rig.offset(FOO1)) == (-1, -1)
    assert "expired offsets in" not in caplog.text  # KAFKA-10060


@pytest.mark.ported("GroupMetadataManagerTest.testExpireGroupWithOffsetsOnly")
def test_a_group_that_only_commits_has_no_tombstone(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.store(group, {FOO0: rig.now(37, 1), FOO1: rig.now(37, 3)})
    rig.time.sleep(4)
    cleanup(rig)
    keys = [read_message_key(record.key()) for record in rig.replica_manager.buried()]
    assert all(isinstance(key, OffsetKey) for key in keys)
    assert {key.key for key in keys if isinstance(key, OffsetKey)} == {(GROUP, FOO0), (GROUP, FOO1)}
    assert {record.value() for record in rig.replica_manager.buried()} == {None}
    assert rig.manager.get_group(GROUP) is None
    assert (rig.offset(FOO0), rig.offset(FOO1)) == (-1, -1)


@pytest.mark.ported("GroupMetadataManagerTest.testOffsetExpirationSemantics")
def test_offsets_of_a_group_expire_when_it_has_been_empty_for_long(rig: ManagerRig) -> None:
    group = with_member(rig)
    rig.store(group, {FOO0: rig.now(37, 1), FOO1: rig.now(37, 3), FOO2: rig.now()})
    rig.time.sleep(2)
    cleanup(rig)
    assert set(group.all_offsets) == {FOO0, FOO1, FOO2}  # it is in use
    group.transition_to(PreparingRebalance)
    group.transition_to(Empty)
    cleanup(rig)
    assert set(group.all_offsets) == {FOO1, FOO2}
    rig.time.sleep(2)
    cleanup(rig)
    assert set(group.all_offsets) == {FOO2}
    assert group.current_state_timestamp is not None
    rig.time.sleep(group.current_state_timestamp + RETENTION - rig.time.milliseconds() - 1)
    cleanup(rig)
    assert set(group.all_offsets) == {FOO2}
    assert (rig.offset(FOO0), rig.offset(FOO1), rig.offset(FOO2)) == (-1, -1, 37)
    rig.time.sleep(2)
    cleanup(rig)
    assert rig.manager.get_group(GROUP) is None
    assert group.all_offsets == {}
    assert group.is_(Dead)
    assert rig.offset(FOO2) == -1


@pytest.mark.ported("GroupMetadataManagerTest.testOffsetExpirationOfSimpleConsumer")
def test_offsets_without_a_group_expire_after_their_commit(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.store(group, {FOO0: rig.now()})
    rig.time.sleep(RETENTION - 1)
    cleanup(rig)
    assert rig.group() is group
    assert rig.offset(FOO0) == 37
    rig.time.sleep(2)
    cleanup(rig)
    assert rig.manager.get_group(GROUP) is None
    assert rig.offset(FOO0) == -1
    assert group.is_(Dead)


@pytest.mark.ported("GroupMetadataManagerTest.testOffsetExpirationOfActiveGroupSemantics")
def test_offsets_of_topics_that_nobody_reads_expire_in_a_stable_group(rig: ManagerRig) -> None:
    """Nothing does while it rebalances (KAFKA-13636)."""
    group = rig.new_group()
    member = rig.member("memberId", "consumer", [("protocol", subscription("foo", "bar"))])
    group.add(member, lambda _: None)
    group.transition_to(PreparingRebalance)
    group.init_next_generation()
    group.transition_to(Stable)
    offsets: dict[object, OffsetAndMetadata] = {}
    offsets.update(dict.fromkeys((FOO0, FOO1, BAR0, BAR1), rig.now()))
    rig.store(group, offsets)  # type: ignore[arg-type]
    rig.time.sleep(RETENTION + 2)
    cleanup(rig)
    assert set(group.all_offsets) == {FOO0, FOO1, BAR0, BAR1}
    group.transition_to(PreparingRebalance)
    group.update_member(member, [("protocol", subscription("foo"))], None)
    cleanup(rig)
    assert set(group.all_offsets) == {FOO0, FOO1, BAR0, BAR1}
    group.init_next_generation()
    cleanup(rig)
    assert set(group.all_offsets) == {FOO0, FOO1, BAR0, BAR1}
    group.transition_to(Stable)
    cleanup(rig)
    assert rig.group() is group
    assert group.is_(Stable)
    assert set(group.all_offsets) == {FOO0, FOO1}
    assert (rig.offset(FOO0), rig.offset(BAR0)) == (37, -1)
    assert len(rig.replica_manager.tombstones) == 1


def test_tombstones_that_cannot_be_written_do_not_count(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.store(group, {FOO0: rig.now(37, 1)})
    rig.time.sleep(2)
    rig.replica_manager.append_error = OSError("no space")
    cleanup(rig)
    assert rig.metric("offset-expiration-count") == 0
    assert rig.replica_manager.tombstones == []


def test_a_group_that_has_moved_is_cleaned_up_by_others(rig: ManagerRig) -> None:
    group = rig.new_group()
    rig.store(group, {FOO0: rig.now(37, 1)})
    rig.time.sleep(2)
    rig.replica_manager.magic = None
    cleanup(rig)
    assert rig.replica_manager.tombstones == []
    assert rig.metric("offset-expiration-count") == 0
