"""Groups and offsets that are deleted."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Empty, Stable
from tests.coordinator.group.coordinator_support import (
    GROUP,
    OTHER_GROUP,
    PROTOCOL_TYPE,
    Rig,
    empty_group,
    subscription,
)

FOO = TopicPartition("foo", 0)
BAR = TopicPartition("bar", 0)


def offsets(rig: Rig, *partitions: TopicPartition) -> list[int]:
    found = rig.fetch(*partitions)
    return [found[tp].offset for tp in partitions]


# -- Groups


@pytest.mark.ported("GroupCoordinatorTest.testDeleteNonEmptyGroup")
def test_a_group_with_members_is_not_deleted(rig: Rig) -> None:
    rig.join()
    assert rig.coordinator.handle_delete_groups({GROUP}) == {GROUP: Errors.NON_EMPTY_GROUP}


@pytest.mark.ported("GroupCoordinatorTest.testDeleteGroupWithInvalidGroupId")
def test_no_name_is_no_group(rig: Rig) -> None:
    nothing = cast("Any", None)
    assert rig.coordinator.handle_delete_groups({nothing}) == {nothing: Errors.INVALID_GROUP_ID}


@pytest.mark.ported("GroupCoordinatorTest.testDeleteGroupWithWrongCoordinator")
def test_a_group_of_another_coordinator(rig: Rig) -> None:
    assert rig.coordinator.handle_delete_groups({OTHER_GROUP}) == {OTHER_GROUP: Errors.NOT_COORDINATOR}


def test_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.coordinator.handle_delete_groups({GROUP}) == {GROUP: Errors.GROUP_ID_NOT_FOUND}
    rig.add_dead_group()
    assert rig.coordinator.handle_delete_groups({GROUP}) == {GROUP: Errors.GROUP_ID_NOT_FOUND}


def test_the_managers_lock_is_not_asked_for_under_that_of_a_group(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who unloads the group's partition takes them the other way round, and neither would ever go on."""
    group = rig.add_dead_group()

    def group_not_exists(group_id: str) -> bool:
        assert not group.lock.is_held_by_current_thread()
        return False

    monkeypatch.setattr(rig.manager, "group_not_exists", group_not_exists)
    assert rig.coordinator.handle_delete_groups({GROUP}) == {GROUP: Errors.NOT_COORDINATOR}
    assert rig.coordinator.handle_delete_offsets(GROUP, [FOO]) == (Errors.NOT_COORDINATOR, {})


@pytest.mark.ported("GroupCoordinatorTest.testDeleteEmptyGroup")
def test_an_empty_group_is_deleted(rig: Rig) -> None:
    empty_group(rig)
    assert rig.coordinator.handle_delete_groups({GROUP}) == {GROUP: Errors.NONE}
    assert rig.manager.get_group(GROUP) is None
    assert len(rig.replica_manager.tombstones) == 1


@pytest.mark.ported("GroupCoordinatorTest.testDeleteEmptyGroupWithStoredOffsets")
def test_an_empty_group_is_deleted_with_its_offsets(rig: Rig) -> None:
    joined = rig.stable_member()
    assert rig.commit({FOO: 0}, joined.member_id, joined.generation_id) == {FOO: Errors.NONE}
    summary = rig.coordinator.handle_describe_group(GROUP)[1]
    assert (summary.state, summary.members[0].member_id) == (str(Stable), joined.member_id)
    rig.leave(joined.member_id)
    assert offsets(rig, FOO) == [0]
    assert rig.coordinator.handle_delete_groups({GROUP}) == {GROUP: Errors.NONE}
    assert rig.coordinator.handle_describe_group(GROUP)[1].state == "Dead"
    assert offsets(rig, FOO) == [-1]


def test_each_group_has_its_answer(rig: Rig) -> None:
    rig.commit({FOO: 1})
    found = rig.coordinator.handle_delete_groups({GROUP, OTHER_GROUP})
    assert found == {GROUP: Errors.NONE, OTHER_GROUP: Errors.NOT_COORDINATOR}


# -- Offsets


@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfNonExistingGroup")
def test_offsets_of_a_group_that_is_not_there(rig: Rig) -> None:
    assert rig.coordinator.handle_delete_offsets(GROUP, [FOO]) == (Errors.GROUP_ID_NOT_FOUND, {})


def test_offsets_of_a_group_of_another_coordinator(rig: Rig) -> None:
    assert rig.coordinator.handle_delete_offsets(OTHER_GROUP, [FOO]) == (Errors.NOT_COORDINATOR, {})


@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfDeadConsumerGroup")
def test_offsets_of_a_dead_group(rig: Rig) -> None:
    rig.add_dead_group().protocol_type = PROTOCOL_TYPE
    assert rig.coordinator.handle_delete_offsets(GROUP, [FOO]) == (Errors.GROUP_ID_NOT_FOUND, {})


@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfNonEmptyNonConsumerGroup")
def test_nobody_knows_what_members_of_other_kinds_read(rig: Rig) -> None:
    rig.join(protocol_type="My Protocol")
    assert rig.coordinator.handle_delete_offsets(GROUP, [FOO]) == (Errors.NON_EMPTY_GROUP, {})


@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfEmptyNonConsumerGroup")
@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfEmptyConsumerGroup")
@pytest.mark.parametrize("protocol_type", ["My Protocol", PROTOCOL_TYPE])
def test_offsets_of_an_empty_group_are_deleted(rig: Rig, protocol_type: str) -> None:
    joined = rig.stable_member(protocol_type=protocol_type)
    committed = rig.commit({FOO: 37, BAR: 37}, joined.member_id, joined.generation_id)
    assert committed == {FOO: Errors.NONE, BAR: Errors.NONE}
    rig.leave(joined.member_id)
    assert rig.state() is Empty
    assert rig.coordinator.handle_delete_offsets(GROUP, [FOO]) == (Errors.NONE, {FOO: Errors.NONE})
    assert offsets(rig, FOO, BAR) == [-1, 37]


@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfConsumerGroupWithUnparsableProtocol")
def test_who_does_not_say_what_it_reads_may_read_everything(rig: Rig) -> None:
    joined = rig.stable_member()
    rig.commit({FOO: 37}, joined.member_id, joined.generation_id)
    found = rig.coordinator.handle_delete_offsets(GROUP, [FOO])
    assert found == (Errors.NONE, {FOO: Errors.GROUP_SUBSCRIBED_TO_TOPIC})
    assert offsets(rig, FOO) == [37]


@pytest.mark.ported("GroupCoordinatorTest.testDeleteOffsetOfStableConsumerGroup")
def test_offsets_that_members_need_are_not_deleted(rig: Rig) -> None:
    joined = rig.stable_member(protocols=[("protocol", subscription("bar"))])
    rig.commit({FOO: 37, BAR: 37}, joined.member_id, joined.generation_id)
    found = rig.coordinator.handle_delete_offsets(GROUP, [FOO, BAR])
    assert found == (Errors.NONE, {FOO: Errors.NONE, BAR: Errors.GROUP_SUBSCRIBED_TO_TOPIC})
    assert offsets(rig, FOO, BAR) == [-1, 37]
