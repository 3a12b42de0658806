"""What a coordinator knows of itself and answers to anybody: loading, leaving, lists, descriptions, its settings."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
from kafka_py.coordinator.group.group_metadata import (
    CompletingRebalance,
    Dead,
    Empty,
    GroupOverview,
    PreparingRebalance,
)
from kafka_py.coordinator.group.offset_config import OffsetConfig
from kafka_py.server.kafka_config import KafkaConfig
from tests.coordinator.group.coordinator_support import (
    GROUP,
    LEADER,
    OTHER_GROUP,
    PROTOCOL_TYPE,
    SESSION_TIMEOUT,
    Answer,
    Rig,
    pending_member,
)

TP = TopicPartition("foo", 0)


@pytest.mark.ported("GroupCoordinatorTest.testRequestHandlingWhileLoadingInProgress")
def test_while_its_partition_is_loaded_a_group_is_not_there(rig: Rig) -> None:
    rig.manager.add_loading_partition(rig.other_partition)
    assert rig.manager.is_group_loading(OTHER_GROUP)

    loading = Errors.COORDINATOR_LOAD_IN_PROGRESS
    assert rig.send_join("memberId", OTHER_GROUP, require_known_member_id=True).value.error is loading
    assert rig.send_join("memberId", OTHER_GROUP, instance_id="groupInstanceId").value.error is loading
    # clients of old versions would not understand the error here
    assert rig.sync(1, "memberId", group_id=OTHER_GROUP).error is Errors.REBALANCE_IN_PROGRESS
    assert rig.commit({TP: 15}, "memberId", 1, OTHER_GROUP) == {TP: loading}
    assert rig.txn_commit({TP: 15}, group_id=OTHER_GROUP) == {TP: loading}
    assert rig.heartbeat("memberId", 1, OTHER_GROUP) is Errors.NONE
    assert rig.leave("memberId", group_id=OTHER_GROUP).top_level_error is loading
    assert rig.coordinator.handle_fetch_offsets(OTHER_GROUP, True, [TP]) == (loading, {})
    assert rig.coordinator.handle_describe_group(OTHER_GROUP) == (loading, GroupCoordinator.EMPTY_GROUP)
    assert rig.coordinator.handle_list_groups() == (loading, [])
    assert rig.coordinator.handle_delete_groups({OTHER_GROUP}) == {OTHER_GROUP: loading}
    assert rig.coordinator.handle_delete_offsets(OTHER_GROUP, [TP]) == (loading, {})

    # those of other partitions are not concerned
    assert rig.coordinator.handle_describe_group(GROUP)[0] is Errors.NONE

    offsets_partition = TopicPartition("__consumer_offsets", rig.other_partition)
    rig.manager.load_groups_and_offsets(offsets_partition, lambda group: None)
    assert rig.coordinator.handle_describe_group(OTHER_GROUP)[0] is Errors.NONE


def test_a_coordinator_that_is_shut_down_is_not_available(rig: Rig) -> None:
    rig.coordinator.shutdown()
    assert rig.send_join().value.error is Errors.COORDINATOR_NOT_AVAILABLE
    assert rig.heartbeat("memberId", 1) is Errors.COORDINATOR_NOT_AVAILABLE
    assert rig.coordinator.handle_list_groups() == (Errors.COORDINATOR_NOT_AVAILABLE, [])


# -- Its settings


@pytest.mark.ported("GroupCoordinatorTest.testOffsetsRetentionMsIntegerOverflow")
def test_the_longest_retention_in_minutes_is_as_many_milliseconds() -> None:
    config = KafkaConfig({"zookeeper.connect": "z", "offsets.retention.minutes": str(2**31 - 1)}, do_log=False)
    assert GroupCoordinator._offset_config(config).offsets_retention_ms == (2**31 - 1) * 60 * 1000


def test_the_settings_of_offsets_come_from_the_configuration() -> None:
    values = {
        "zookeeper.connect": "z",
        "offset.metadata.max.bytes": "1",
        "offsets.load.buffer.size": "2",
        "offsets.retention.minutes": "3",
        "offsets.retention.check.interval.ms": "4",
        "offsets.topic.num.partitions": "5",
        "offsets.topic.segment.bytes": "6",
        "offsets.topic.replication.factor": "7",
        "offsets.topic.compression.codec": "1",
        "offsets.commit.timeout.ms": "8",
        "offsets.commit.required.acks": "2",
    }
    found = GroupCoordinator._offset_config(KafkaConfig(values, do_log=False))
    assert found == OffsetConfig(1, 2, 180_000, 4, 5, 6, 7, CompressionType.GZIP, 8, 2)


def test_the_offsets_topic_is_compacted_and_keeps_the_codec_of_its_batches(rig: Rig) -> None:
    assert rig.coordinator.offsets_topic_configs == {
        "cleanup.policy": "compact",
        "segment.bytes": str(100 * 1024 * 1024),
        "compression.type": "producer",
    }


def test_group_max_size_is_without_limit_by_default() -> None:
    assert KafkaConfig({"zookeeper.connect": "z"}, do_log=False).group_max_size == 2**31 - 1


# -- Members that leave


@pytest.mark.ported("GroupCoordinatorTest.testLeaveGroupWrongCoordinator")
def test_leaving_a_group_of_another_coordinator(rig: Rig) -> None:
    assert rig.leave("", group_id=OTHER_GROUP) == (Errors.NOT_COORDINATOR, [])


@pytest.mark.ported("GroupCoordinatorTest.testLeaveGroupUnknownGroup")
def test_leaving_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.leave("memberId") == (Errors.NONE, [("memberId", None, Errors.UNKNOWN_MEMBER_ID)])


@pytest.mark.ported("GroupCoordinatorTest.testLeaveGroupUnknownConsumerExistingGroup")
def test_leaving_a_group_of_others(rig: Rig) -> None:
    assert rig.join().error is Errors.NONE
    assert rig.leave("consumerId") == (Errors.NONE, [("consumerId", None, Errors.UNKNOWN_MEMBER_ID)])


@pytest.mark.ported("GroupCoordinatorTest.testSingleLeaveDeadGroup")
@pytest.mark.ported("GroupCoordinatorTest.testBatchLeaveDeadGroup")
def test_leaving_a_dead_group(rig: Rig) -> None:
    rig.add_dead_group()
    assert rig.leave("memberId") == (Errors.COORDINATOR_NOT_AVAILABLE, [])
    assert rig.leave("memberId", "memberId") == (Errors.COORDINATOR_NOT_AVAILABLE, [])


@pytest.mark.ported("GroupCoordinatorTest.testValidLeaveGroup")
def test_the_last_member_leaves(rig: Rig) -> None:
    joined = rig.join()
    assert rig.leave(joined.member_id) == (Errors.NONE, [(joined.member_id, None, Errors.NONE)])
    assert rig.state() is Empty


def test_whoever_leaves_begins_a_rebalance_of_the_others(rig: Rig) -> None:
    first, second = rig.two_members()
    rig.sync(first.generation_id, first.member_id)
    assert rig.leave(second.member_id, second.member_id).member_responses == [
        (second.member_id, None, Errors.NONE),
        (second.member_id, None, Errors.UNKNOWN_MEMBER_ID),
    ]
    assert rig.state() is PreparingRebalance
    assert rig.heartbeat(first.member_id, first.generation_id) is Errors.REBALANCE_IN_PROGRESS
    assert rig.send_join(first.member_id).value.generation_id == first.generation_id + 1


@pytest.mark.ported("GroupCoordinatorTest.testLeaveGroupWithFencedInstanceId")
def test_leaving_under_an_instance_id_that_somebody_else_has(rig: Rig) -> None:
    assert rig.static_join(LEADER).error is Errors.NONE
    assert rig.leave(("some_member", LEADER)).member_responses == [("some_member", LEADER, Errors.FENCED_INSTANCE_ID)]


@pytest.mark.ported("GroupCoordinatorTest.testLeaveGroupStaticMemberWithUnknownMemberId")
def test_an_administrator_removes_a_static_member_by_its_instance_id(rig: Rig) -> None:
    assert rig.static_join(LEADER).error is Errors.NONE
    assert rig.leave(("", LEADER)).member_responses == [("", LEADER, Errors.NONE)]
    assert rig.group().size == 0


@pytest.mark.ported("GroupCoordinatorTest.testPendingMemberBatchLeaveGroup")
def test_a_pending_member_and_one_that_is_not_there_leave_together(rig: Rig) -> None:
    pending = pending_member(rig)
    assert rig.leave(("", "unknown-instance"), pending.member_id) == (
        Errors.NONE,
        [("", "unknown-instance", Errors.UNKNOWN_MEMBER_ID), (pending.member_id, None, Errors.NONE)],
    )


@pytest.mark.ported("GroupCoordinatorTest.testPendingMemberWithUnexpectedInstanceIdBatchLeaveGroup")
def test_a_pending_member_is_never_static(rig: Rig) -> None:
    pending = pending_member(rig)
    rig.group().add_static_member("instanceId", pending.member_id)  # so that it is not found fenced before
    with pytest.raises(IllegalStateException, match=f"instanceId .* {pending.member_id}"):
        rig.leave(("", "unknown-instance"), (pending.member_id, "instanceId"))


# -- Lists and descriptions


@pytest.mark.ported("GroupCoordinatorTest.testListGroupsIncludesStableGroups")
def test_the_list_has_stable_groups(rig: Rig) -> None:
    rig.stable_member()
    assert rig.coordinator.handle_list_groups() == (Errors.NONE, [GroupOverview(GROUP, PROTOCOL_TYPE)])


@pytest.mark.ported("GroupCoordinatorTest.testListGroupsIncludesRebalancingGroups")
def test_the_list_has_groups_that_rebalance(rig: Rig) -> None:
    rig.join()
    assert rig.coordinator.handle_list_groups() == (Errors.NONE, [GroupOverview(GROUP, PROTOCOL_TYPE)])


@pytest.mark.ported("GroupCoordinatorTest.testDescribeGroupWrongCoordinator")
def test_describing_a_group_of_another_coordinator(rig: Rig) -> None:
    found = rig.coordinator.handle_describe_group(OTHER_GROUP)
    assert found == (Errors.NOT_COORDINATOR, GroupCoordinator.EMPTY_GROUP)


@pytest.mark.ported("GroupCoordinatorTest.testDescribeGroupInactiveGroup")
def test_a_group_that_is_not_there_is_dead(rig: Rig) -> None:
    assert rig.coordinator.handle_describe_group(GROUP) == (Errors.NONE, GroupCoordinator.DEAD_GROUP)
    assert GroupCoordinator.DEAD_GROUP.state == "Dead"


@pytest.mark.ported("GroupCoordinatorTest.testDescribeGroupStableForDynamicMember")
def test_a_stable_group_is_described_with_protocol_and_members(rig: Rig) -> None:
    joined = rig.stable_member()
    error, summary = rig.coordinator.handle_describe_group(GROUP)
    assert error is Errors.NONE
    assert (summary.state, summary.protocol_type, summary.protocol) == ("Stable", PROTOCOL_TYPE, "range")
    assert [(m.member_id, m.group_instance_id) for m in summary.members] == [(joined.member_id, None)]


@pytest.mark.ported("GroupCoordinatorTest.testDescribeGroupStableForStaticMember")
def test_a_static_member_is_described_with_its_instance_id(rig: Rig) -> None:
    joined = rig.static_join(LEADER)
    rig.sync(joined.generation_id, joined.member_id, {joined.member_id: b""})
    error, summary = rig.coordinator.handle_describe_group(GROUP)
    assert error is Errors.NONE
    assert (summary.protocol_type, summary.protocol) == (PROTOCOL_TYPE, "range")
    assert [(m.member_id, m.group_instance_id) for m in summary.members] == [(joined.member_id, LEADER)]


@pytest.mark.ported("GroupCoordinatorTest.testDescribeGroupRebalancing")
def test_a_group_that_rebalances_is_described_without_protocol_and_assignments(rig: Rig) -> None:
    joined = rig.join()
    error, summary = rig.coordinator.handle_describe_group(GROUP)
    assert error is Errors.NONE
    assert (summary.state, summary.protocol_type, summary.protocol) == ("CompletingRebalance", PROTOCOL_TYPE, "")
    assert [(m.member_id, bytes(m.metadata), bytes(m.assignment)) for m in summary.members] == [
        (joined.member_id, b"", b"")
    ]


# -- Groups that come and go with the leadership


def test_groups_that_wait_are_sent_away_with_their_partition(rig: Rig) -> None:
    first, second = rig.two_members()
    rig.sync(first.generation_id, first.member_id)
    rejoined = rig.send_join(first.member_id)
    assert rig.state() is PreparingRebalance
    rig.coordinator._on_group_unloaded(rig.group())
    assert rejoined.value.error is Errors.NOT_COORDINATOR
    assert rig.state() is Dead
    assert rig.heartbeat(second.member_id, second.generation_id) is Errors.COORDINATOR_NOT_AVAILABLE


def test_members_that_wait_for_their_assignment_are_sent_away(rig: Rig) -> None:
    _, second = rig.two_members()
    waiting = rig.send_sync(second.generation_id, second.member_id)
    group = rig.group()
    assert group.current_state is CompletingRebalance
    rig.coordinator._on_group_unloaded(group)
    assert waiting.value.error is Errors.NOT_COORDINATOR
    # the sessions are over, too: nothing happens to a group that is not ours
    rig.advance(SESSION_TIMEOUT + 1)
    assert group.size == 2


def test_a_loaded_group_watches_its_members(rig: Rig) -> None:
    joined = rig.stable_member()
    group = rig.group()
    rig.advance(SESSION_TIMEOUT - 1)
    rig.coordinator._on_group_loaded(group)  # as if it came from the log just now
    rig.advance(SESSION_TIMEOUT - 1)
    assert group.has(joined.member_id)
    rig.advance(2)
    assert not group.has(joined.member_id)


def test_a_loaded_group_that_is_too_large_rebalances(rig: Rig) -> None:
    first, _ = rig.two_members()
    rig.sync(first.generation_id, first.member_id)
    rig.coordinator.group_config = rig.coordinator.group_config._replace(group_max_size=1)
    rig.coordinator._on_group_loaded(rig.group())
    assert rig.state() is PreparingRebalance


def test_leadership_goes_to_the_manager_with_what_to_do_about_each_group(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, Any]] = []
    monkeypatch.setattr(rig.manager, "schedule_load_group_and_offsets", lambda *args: calls.append(args))
    monkeypatch.setattr(rig.manager, "remove_groups_for_partition", lambda *args: calls.append(args))
    rig.coordinator.handle_group_immigration(3)
    rig.coordinator.handle_group_emigration(4)
    assert calls == [(3, rig.coordinator._on_group_loaded), (4, rig.coordinator._on_group_unloaded)]


@pytest.mark.parametrize(("result", "is_commit"), [(TransactionResult.COMMIT, True), (TransactionResult.ABORT, False)])
def test_markers_go_to_the_manager(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, result: TransactionResult, is_commit: bool
) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(rig.manager, "schedule_handle_txn_completion", lambda *args: calls.append(args))
    partitions = [TopicPartition("__consumer_offsets", 1), TopicPartition("__consumer_offsets", 0)]
    rig.coordinator.schedule_handle_txn_completion(1000, partitions, result)
    assert calls == [(1000, {0, 1}, is_commit)]
    with pytest.raises(AssertionError):
        rig.coordinator.schedule_handle_txn_completion(1000, [TP], result)


def test_rebalances_and_deleted_offsets_are_counted(rig: Rig) -> None:
    def count(name: str) -> object:
        metric = rig.metrics.metric(rig.metrics.metric_name(name, "group-coordinator-metrics"))
        assert metric is not None
        return metric.metric_value()

    assert count("group-completed-rebalance-count") == 0.0
    joined = rig.stable_member()
    assert count("group-completed-rebalance-count") == 1.0
    rig.commit({TP: 1, TopicPartition("bar", 0): 2}, joined.member_id, joined.generation_id)
    rig.leave(joined.member_id)
    rig.coordinator.handle_delete_offsets(GROUP, [TP])
    assert count("offset-deletion-count") == 1.0
    assert cast("float", count("offset-deletion-rate")) > 0


def test_an_answer_is_given_once() -> None:
    answer: Answer[int] = Answer()
    answer(1)
    with pytest.raises(AssertionError, match="answered twice"):
        answer(2)
