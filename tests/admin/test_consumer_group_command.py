"""kafka-consumer-groups lists, describes and deletes groups, and forgets their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.admin import consumer_group_command
from kafka_py.admin.consumer_group_command import ConsumerGroupService
from kafka_py.admin.consumer_group_command_options import ConsumerGroupCommandOptions
from kafka_py.admin.consumer_group_states import PartitionAssignmentState
from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient
from kafka_py.common.errors import ConfigException, KafkaException, TimeoutException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.topic_partition import TopicPartition
from tests.admin.fake_groups import NODES, FakeGroup, FakeGroups

Capture = pytest.CaptureFixture[str]
GROUP, MISSING = "test.group", "missing.group"
FOO = TopicPartition("foo", 0)
DESCRIBE_TYPES: list[list[str]] = [[], ["--offsets"], ["--members"], ["--members", "--verbose"], ["--state"]]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGroups]:
    """A topic foo of one partition with ten records, and nobody who reads it."""
    made = FakeGroups()
    made.topic("foo", records=10)
    monkeypatch.setattr(ConsumerGroupsClient, "create", staticmethod(lambda servers: cast("Any", made)))
    yield made
    made.close()


def service(cluster: FakeGroups, *args: str) -> ConsumerGroupService:
    opts = ConsumerGroupCommandOptions(["--bootstrap-server", "b:1", *args])
    return ConsumerGroupService(opts, cluster, cluster.mock_time)


def run(*args: str) -> int:
    return consumer_group_command.main(["--bootstrap-server", "b:1", *args])


def one_member() -> FakeGroup:
    """It has the topic's only partition, and has read half of it."""
    return FakeGroup("Stable", "range", members=[("c", [FOO])], offsets={FOO: 5})


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip()]


# -- list --------------------------------------------------------------------------------------------------------------


@pytest.mark.ported("ListConsumerGroupTest.testListConsumerGroups")
def test_list(cluster: FakeGroups, capsys: Capture) -> None:
    """Groups that only keep offsets have no type; those of Connect are no consumers."""
    cluster.groups = {
        GROUP: one_member(),
        "simple": FakeGroup(protocol_type=""),
        "c": FakeGroup(protocol_type="connect"),
    }
    assert run("--list") == 0
    assert capsys.readouterr().out.splitlines() == ["simple", GROUP]
    assert [node for name, node in cluster.asked if name == "ListGroups"] == [0, 1]
    assert cluster.closed


def test_a_broker_that_cannot_say_has_no_groups(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups = {GROUP: one_member()}
    send = cluster.send

    def fail(node: Any, request: Any) -> Any:
        if request.api_key().name == "ListGroups" and node.id == 0:
            raise OSError("gone")
        return send(node, request)

    cluster.send = fail  # type: ignore[method-assign]
    run("--list")
    assert capsys.readouterr().out.splitlines() == [GROUP]


# -- describe ----------------------------------------------------------------------------------------------------------


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeNonExistingGroup")
@pytest.mark.parametrize("kind", DESCRIBE_TYPES)
def test_describe_what_is_not_there(cluster: FakeGroups, capsys: Capture, kind: list[str]) -> None:
    assert run("--describe", "--group", MISSING, *kind) == 0
    assert capsys.readouterr().out == f"Error: Consumer group '{MISSING}' does not exist.\n"


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeOffsetsOfNonExistingGroup")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeMembersOfNonExistingGroup")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeStateOfNonExistingGroup")
def test_collect_what_is_not_there(cluster: FakeGroups) -> None:
    cluster.groups[GROUP] = one_member()
    described = service(cluster, "--describe", "--group", MISSING)
    assert described.collect_group_offsets(MISSING) == ("Dead", [])
    assert described.collect_group_members(MISSING, False) == ("Dead", [])
    assert described.collect_group_members(MISSING, True) == ("Dead", [])
    state = described.collect_group_state(MISSING)
    assert (state.state, state.num_members, state.coordinator) == ("Dead", 0, NODES[1])


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeWithMultipleSubActions")
def test_one_thing_is_described_at_a_time(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        run("--describe", "--group", GROUP, "--members", "--state")
    said = capsys.readouterr().err
    assert "Option(s) [members, state] are unavailable given other options on the command line" in said
    with pytest.raises(SystemExit):
        run("--list", "--members")
    assert "Option(s) [members] are unavailable" in capsys.readouterr().err


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeExistingGroup")
@pytest.mark.parametrize("kind", DESCRIBE_TYPES)
def test_describe_prints_a_row_and_no_error(cluster: FakeGroups, capsys: Capture, kind: list[str]) -> None:
    cluster.groups[GROUP] = one_member()
    service(cluster, "--describe", "--group", GROUP, *kind).describe_group()
    out, err = capsys.readouterr()
    assert (len(rows(out)), err) == (2, "")


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeOffsetsOfExistingGroup")
def test_the_table_of_offsets(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = one_member()
    assert service(cluster, "--describe", "--group", GROUP).collect_group_offsets(GROUP) == (
        "Stable",
        [PartitionAssignmentState(GROUP, NODES[1], "foo", 0, 5, 5, "c-id", "/127.0.0.1", "c", 10)],
    )
    run("--describe", "--group", GROUP)
    out, err = capsys.readouterr()
    assert out == (
        "\nTOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            "
        "CLIENT-ID\n"
        "foo             0          5               10              5               c-id            /127.0.0.1      "
        "c\n"
    )
    assert err == "Note: This will not show information about old Zookeeper-based consumers.\n"


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeMembersOfExistingGroup")
def test_the_table_of_members(cluster: FakeGroups, capsys: Capture) -> None:
    both = cluster.topic("a-topic-with-a-long-name", 2)
    cluster.groups[GROUP] = FakeGroup("Stable", members=[("c", [FOO, *both])])
    service(cluster, "--describe", "--group", GROUP, "--members", "--verbose").describe_group()
    assert capsys.readouterr().out == (
        "\nCONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\n"
        "c-id            /127.0.0.1      c               3               a-topic-with-a-long-name(0,1), foo(0)\n"
    )
    _, (member,) = service(cluster, "--describe", "--group", GROUP).collect_group_members(GROUP, False)
    assert (member.num_partitions, member.assignment) == (3, [])


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeStateOfExistingGroup")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeStateOfExistingGroupWithRoundRobinAssignor")
@pytest.mark.parametrize("protocol", ["range", "roundrobin"])
def test_the_table_of_states(cluster: FakeGroups, capsys: Capture, protocol: str) -> None:
    cluster.groups[GROUP] = one_member()
    cluster.groups[GROUP].protocol = protocol
    service(cluster, "--describe", "--group", GROUP, "--state").describe_group()
    assert rows(capsys.readouterr().out) == [
        ["COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"],
        ["two:9092", "(1)", protocol, "Stable", "1"],
    ]


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeExistingGroupWithNoMembers")
@pytest.mark.parametrize("kind", DESCRIBE_TYPES)
def test_a_group_whose_members_have_left(cluster: FakeGroups, capsys: Capture, kind: list[str]) -> None:
    cluster.groups[GROUP] = FakeGroup("Empty", offsets={FOO: 10})
    service(cluster, "--describe", "--group", GROUP, *kind).describe_group()
    out, err = capsys.readouterr()
    assert err == f"Consumer group '{GROUP}' has no active members.\n"
    assert len(rows(out)) == (0 if "--members" in kind else 2)


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeOffsetsOfExistingGroupWithNoMembers")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeMembersOfExistingGroupWithNoMembers")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeStateOfExistingGroupWithNoMembers")
def test_collect_a_group_whose_members_have_left(cluster: FakeGroups) -> None:
    cluster.groups[GROUP] = FakeGroup("Empty", offsets={FOO: 10})
    described = service(cluster, "--describe", "--group", GROUP)
    state, (row,) = described.collect_group_offsets(GROUP)
    assert state == "Empty"
    assert (row.offset, row.lag, row.consumer_id, row.host, row.client_id) == (10, 0, "-", "-", "-")
    assert described.collect_group_members(GROUP, True) == ("Empty", [])
    whole = described.collect_group_state(GROUP)
    assert (whole.state, whole.num_members, whole.assignment_strategy) == ("Empty", 0, "")


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeWithConsumersWithoutAssignedPartitions")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeOffsetsWithConsumersWithoutAssignedPartitions")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeMembersWithConsumersWithoutAssignedPartitions")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeStateWithConsumersWithoutAssignedPartitions")
def test_a_member_without_partitions(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = FakeGroup("Stable", "range", members=[("idle", []), ("c", [FOO])], offsets={FOO: 5})
    for kind in DESCRIBE_TYPES:
        service(cluster, "--describe", "--group", GROUP, *kind).describe_group()
        out, err = capsys.readouterr()
        assert (len(rows(out)), err) == (3 if "--members" in kind else 2, "")
    described = service(cluster, "--describe", "--group", GROUP)
    _, members = described.collect_group_members(GROUP, False)
    assert [(m.client_id, m.num_partitions, m.assignment) for m in members] == [("idle", 0, []), ("c", 1, [])]
    assert [m.assignment for m in described.collect_group_members(GROUP, True)[1]] == [[], [FOO]]
    assert described.collect_group_state(GROUP).num_members == 2
    service(cluster, "--describe", "--group", GROUP, "--members", "--verbose").describe_group()
    assert rows(capsys.readouterr().out)[1][-1] == "-"


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeWithMultiPartitionTopicAndMultipleConsumers")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeOffsetsWithMultiPartitionTopicAndMultipleConsumers")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeMembersWithMultiPartitionTopicAndMultipleConsumers")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeStateWithMultiPartitionTopicAndMultipleConsumers")
def test_members_that_share_topics(cluster: FakeGroups, capsys: Capture) -> None:
    """The busiest member comes first, then what nobody has; ends are asked of each partition's leader."""
    p0, p1, p2 = cluster.topic("foo2", 3, records=7)
    offsets = {p2: 7, FOO: 1, p0: 3}
    cluster.groups[GROUP] = FakeGroup("Stable", "range", members=[("a", [p2]), ("b", [p1, p0])], offsets=offsets)
    described = service(cluster, "--describe", "--group", GROUP)
    _, found = described.collect_group_offsets(GROUP)
    assert [(r.client_id, r.topic, r.partition, r.offset, r.log_end_offset, r.lag) for r in found] == [
        ("b", "foo2", 0, 3, 7, 4),
        ("b", "foo2", 1, None, 7, None),
        ("a", "foo2", 2, 7, 7, 0),
        ("-", "foo", 0, 1, 10, 9),
    ]
    assert [m.num_partitions for m in described.collect_group_members(GROUP, False)[1]] == [1, 2]
    assert described.collect_group_state(GROUP).num_members == 2
    described.describe_group()
    assert rows(capsys.readouterr().out)[2][:6] == ["foo2", "1", "-", "7", "-", "b-id"]


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeSimpleConsumerGroup")
def test_a_group_that_only_keeps_offsets(cluster: FakeGroups) -> None:
    p0, p1 = cluster.topic("foo2", 2)
    cluster.groups[GROUP] = FakeGroup("Empty", protocol_type="", offsets={p1: 0, p0: 0})
    state, found = service(cluster, "--describe", "--group", GROUP).collect_group_offsets(GROUP)
    assert (state, [row.partition for row in found]) == ("Empty", [0, 1])


def test_a_partition_whose_topic_is_gone_has_no_end(cluster: FakeGroups, capsys: Capture) -> None:
    gone, fewer = TopicPartition("gone", 0), TopicPartition("foo", 9)
    cluster.groups[GROUP] = FakeGroup("Empty", offsets={gone: 4, FOO: 10, fewer: 3})
    service(cluster, "--describe", "--group", GROUP).describe_group()
    assert [row[:5] for row in rows(capsys.readouterr().out)[1:]] == [
        ["foo", "0", "10", "10", "0"],
        ["foo", "9", "3", "-", "-"],
        ["gone", "0", "4", "-", "-"],
    ]


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_a_group_that_rebalances(cluster: FakeGroups, capsys: Capture, state: str) -> None:
    """What members have is not known; what is committed is."""
    cluster.groups[GROUP] = one_member()
    cluster.groups[GROUP].state = state
    service(cluster, "--describe", "--group", GROUP).describe_group()
    out, err = capsys.readouterr()
    assert err == f"Warning: Consumer group '{GROUP}' is rebalancing.\n"
    assert rows(out)[1] == ["foo", "0", "5", "10", "5", "-", "-", "-"]


def test_a_state_that_nobody_knows(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = one_member()
    cluster.groups[GROUP].state = "Odd"
    with pytest.raises(KafkaException, match="Expected a valid consumer group state, but found 'Odd'"):
        service(cluster, "--describe", "--group", GROUP, "--state").describe_group()
    assert run("--describe", "--group", GROUP, "--state") == 0
    assert capsys.readouterr().out == (
        "Error: Executing consumer group command failed due to Expected a valid consumer group state, but found "
        "'Odd'.\n"
    )


def test_several_groups_have_a_column_of_their_own(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups = {"b": one_member(), "a": FakeGroup("Empty", offsets={FOO: 1})}
    run("--describe", "--all-groups")
    out, err = capsys.readouterr()
    assert [row[:3] for row in rows(out)] == [
        ["GROUP", "TOPIC", "PARTITION"],
        ["a", "foo", "0"],
        ["GROUP", "TOPIC", "PARTITION"],
        ["b", "foo", "0"],
    ]
    assert "Consumer group 'a' has no active members." in err
    service(cluster, "--describe", "--group", "a", "--group", "b", "--state").describe_group()
    assert [row[0] for row in rows(capsys.readouterr().out)] == ["GROUP", "a", "GROUP", "b"]
    service(cluster, "--describe", "--all-groups", "--members").describe_group()
    assert rows(capsys.readouterr().out) == [
        ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"],
        ["b", "c-id", "/127.0.0.1", "c", "1"],
    ]


@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeGroupWithShortInitializationTimeout")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeGroupOffsetsWithShortInitializationTimeout")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeGroupMembersWithShortInitializationTimeout")
@pytest.mark.ported("DescribeConsumerGroupTest.testDescribeGroupStateWithShortInitializationTimeout")
def test_a_coordinator_is_waited_for_as_long_as_asked(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = one_member()
    cluster.not_yet = 1000
    hasty = service(cluster, "--describe", "--group", GROUP, "--timeout", "1")
    collectors: list[Any] = [hasty.collect_group_offsets, lambda g: hasty.collect_group_members(g, True)]
    for collect in (*collectors, hasty.collect_group_state):
        with pytest.raises(TimeoutException, match="timed out while waiting for group to initialize"):
            collect(GROUP)
    cluster.not_yet = 20
    assert service(cluster, "--describe", "--group", GROUP).collect_group_state(GROUP).state == "Stable"
    cluster.not_yet = 1000
    assert run("--describe", "--group", GROUP, "--timeout", "100") == 0
    assert "Error: Executing consumer group command failed due to The consumer group command timed out" in (
        capsys.readouterr().out
    )


def test_the_new_consumer_is_the_only_one(cluster: FakeGroups, capsys: Capture) -> None:
    """1.1.1 takes the option and warns; only 2.0 refuses it."""
    assert run("--list", "--new-consumer") == 0
    assert "The [new-consumer] option is deprecated" in capsys.readouterr().err


def test_a_group_that_has_not_committed(cluster: FakeGroups) -> None:
    cluster.groups[GROUP] = FakeGroup("Stable", "range", members=[("c", [FOO])])
    _, (row,) = service(cluster, "--describe", "--group", GROUP).collect_group_offsets(GROUP)
    assert (row.offset, row.lag, row.log_end_offset, row.client_id) == (None, None, 10, "c")


def test_a_group_that_is_no_consumers_is_not_described(cluster: FakeGroups) -> None:
    cluster.groups["c"] = FakeGroup("Stable", protocol_type="connect", members=[("w", [])])
    with pytest.raises(TimeoutException, match="timed out while waiting for group to initialize"):
        service(cluster, "--describe", "--group", "c").collect_group_state("c")


# -- delete ------------------------------------------------------------------------------------------------------------


@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteWithTopicOption", changes="a topic is named, too")
def test_delete_takes_no_topic(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        run("--delete", "--group", GROUP, "--topic", "foo")
    assert "does not support topic-specific offset deletion" in capsys.readouterr().err


@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteCmdNonExistingGroup")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteNonExistingGroup")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteCmdInvalidGroupId")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteInvalidGroupId")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteCmdNonEmptyGroup")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteNonEmptyGroup")
@pytest.mark.parametrize(
    ("group", "error"),
    [(MISSING, Errors.GROUP_ID_NOT_FOUND), ("", Errors.INVALID_GROUP_ID), (GROUP, Errors.NON_EMPTY_GROUP)],
)
def test_a_group_that_cannot_be_deleted(cluster: FakeGroups, capsys: Capture, group: str, error: Errors) -> None:
    cluster.groups[GROUP] = one_member()
    assert service(cluster, "--delete", "--group", group).delete_groups() == {group: error}
    assert capsys.readouterr().out == (
        "Error: Deletion of some consumer groups failed:\n"
        f"* Group '{group}' could not be deleted due to: {error.name}\n"
    )


@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteCmdEmptyGroup")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteEmptyGroup")
def test_delete(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups = {"a": FakeGroup(), "b": FakeGroup(), "c": FakeGroup()}
    assert run("--delete", "--group", "b", "--group", "a") == 0
    assert capsys.readouterr().out == "Deletion of requested consumer groups ('b', 'a') was successful.\n"
    assert list(cluster.groups) == ["c"]
    assert service(cluster, "--delete", "--all-groups").delete_groups() == {"c": Errors.NONE}


@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteCmdWithMixOfSuccessAndError")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteWithMixOfSuccessAndError")
def test_some_are_deleted_and_some_are_not(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = FakeGroup()
    result = service(cluster, "--delete", "--group", GROUP, "--group", MISSING).delete_groups()
    assert result == {GROUP: Errors.NONE, MISSING: Errors.GROUP_ID_NOT_FOUND}
    assert capsys.readouterr().out.splitlines() == [
        "Error: Deletion of some consumer groups failed:",
        f"* Group '{MISSING}' could not be deleted due to: GROUP_ID_NOT_FOUND",
        "",
        f"These consumer groups were deleted successfully: '{GROUP}'",
    ]


@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteCmdWithShortInitialization")
@pytest.mark.ported("DeleteConsumerGroupsTest.testDeleteWithShortInitialization")
def test_delete_does_not_wait_for_a_coordinator(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.not_yet = 1000
    result = service(cluster, "--delete", "--group", GROUP).delete_groups()
    assert result == {GROUP: Errors.COORDINATOR_NOT_AVAILABLE}
    assert f"Group '{GROUP}' could not be deleted due to: COORDINATOR_NOT_AVAILABLE" in capsys.readouterr().out


# -- delete-offsets ----------------------------------------------------------------------------------------------------


@pytest.mark.ported("DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsNonExistingGroup")
def test_offsets_of_a_group_that_is_not_there(cluster: FakeGroups, capsys: Capture) -> None:
    assert run("--delete-offsets", "--group", MISSING, "--topic", "foo:0") == 0
    assert capsys.readouterr().out.splitlines()[0] == f"Error: '{MISSING}' does not exist."
    deletes = service(cluster, "--delete-offsets", "--group", MISSING, "--topic", "foo:0")
    assert deletes.delete_offsets_of(MISSING, ["foo:0"])[0] is Errors.GROUP_ID_NOT_FOUND


@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfStableConsumerGroupWithTopicPartition"
)
@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfStableConsumerGroupWithTopicOnly"
)
@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfStableConsumerGroupWithUnknownTopicPartition"
)
@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfStableConsumerGroupWithUnknownTopicOnly"
)
@pytest.mark.parametrize(
    ("topic", "partition", "error", "whole"),
    [
        ("foo:0", FOO, Errors.GROUP_SUBSCRIBED_TO_TOPIC, Errors.GROUP_SUBSCRIBED_TO_TOPIC),
        ("foo", FOO, Errors.GROUP_SUBSCRIBED_TO_TOPIC, Errors.GROUP_SUBSCRIBED_TO_TOPIC),
        ("bar:0", ("bar", 0), Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("bar", ("bar", -1), Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NONE),
    ],
)
def test_offsets_of_a_group_with_members(
    cluster: FakeGroups, topic: str, partition: tuple[str, int], error: Errors, whole: Errors
) -> None:
    cluster.groups[GROUP] = one_member()
    deletes = service(cluster, "--delete-offsets", "--group", GROUP, "--topic", topic)
    assert deletes.delete_offsets_of(GROUP, [topic]) == (whole, {TopicPartition(*partition): error})
    assert cluster.groups[GROUP].offsets == {FOO: 5}


@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfEmptyConsumerGroupWithTopicPartition"
)
@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfEmptyConsumerGroupWithTopicOnly"
)
@pytest.mark.parametrize("topic", ["foo:0", "foo"])
def test_offsets_are_forgotten(cluster: FakeGroups, capsys: Capture, topic: str) -> None:
    cluster.groups[GROUP] = FakeGroup(offsets={FOO: 5})
    assert run("--delete-offsets", "--group", GROUP, "--topic", topic) == 0
    assert cluster.groups[GROUP].offsets == {}
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        f"Request succeed for deleting offsets with topic {topic} group {GROUP}",
        "",
        "TOPIC                          PARTITION       STATUS",
        "foo                            0               Successful",
    ]


@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfEmptyConsumerGroupWithUnknownTopicPartition"
)
@pytest.mark.ported(
    "DeleteOffsetsConsumerGroupCommandIntegrationTest.testDeleteOffsetsOfEmptyConsumerGroupWithUnknownTopicOnly"
)
def test_offsets_of_topics_that_are_not_there(cluster: FakeGroups, capsys: Capture) -> None:
    cluster.groups[GROUP] = FakeGroup(offsets={FOO: 5})
    run("--delete-offsets", "--group", GROUP, "--topic", "bar:1", "--topic", "no", "--topic", "foo")
    first, _, *table = capsys.readouterr().out.splitlines()
    assert first == "Error: Encounter some partition level error, see the follow-up details:"
    unknown = f"Error: {Errors.UNKNOWN_TOPIC_OR_PARTITION.message()}"
    assert [" ".join(line.split()) for line in table[1:]] == [
        f"bar 1 {unknown}",
        "foo 0 Successful",
        f"no Not Provided {unknown}",
    ]


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--list", "--describe"], "Command must include exactly one action"),
        (["--group", GROUP], "Command must include exactly one action"),
        (["--describe"], "Option [describe] takes one of these options: [group], [all-groups]"),
        (["--delete"], "Option [delete] takes one of these options: [group], [all-groups]"),
        (["--reset-offsets"], "Option [reset-offsets] takes one of these options: [group], [all-groups]"),
        (["--delete-offsets", "--group", GROUP], "Option [delete-offsets] takes the following options"),
        (["--describe", "--group", GROUP, "--all-groups"], 'Option "[group]" can\'t be used with option"[all-groups]"'),
        (["--list", "--group", GROUP], 'Option "[group]" can\'t be used with option"[list]"'),
        (["--describe", "--group", GROUP, "--topic", "t"], 'Option "[topic]" can\'t be used with option"[describe]"'),
        (["--list", "--zookeeper", "z"], "are not supported: use --bootstrap-server"),
        (["--list", "--other"], "other is not a recognized option"),
    ],
)
def test_options_that_make_no_sense(capsys: Capture, args: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*args)
    assert ended.value.code == 1
    assert said in capsys.readouterr().err


def test_the_brokers_must_be_named(capsys: Capture) -> None:
    for args in ([], ["--list"]):
        with pytest.raises(SystemExit):
            consumer_group_command.main(args)
    said = capsys.readouterr().err
    assert said.startswith("List all consumer groups, describe a consumer group, delete consumer group info, or reset")
    assert 'Missing required argument "[bootstrap-server]"' in said
    with pytest.raises(ConfigException, match=r"Invalid url in bootstrap\.servers: b"):
        consumer_group_command.main(["--bootstrap-server", "b", "--list"])
    with pytest.raises(FileNotFoundError):
        run("--list", "--command-config", "/nowhere")
