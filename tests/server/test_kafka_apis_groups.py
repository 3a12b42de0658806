"""What KafkaApis answers to members of groups, and to those who ask about groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.internals.topic import Topic
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.delete_groups_request import DeleteGroupsRequest
from kafka_py.common.requests.describe_groups_request import DescribeGroupsRequest
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.heartbeat_request import HeartbeatRequest
from kafka_py.common.requests.join_group_request import JoinGroupRequest
from kafka_py.common.requests.join_group_response import JoinGroupResponse
from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
from kafka_py.common.requests.list_groups_request import ListGroupsRequest
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_delete_request import OffsetDeleteRequest
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.sync_group_request import SyncGroupRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import GroupOverview, GroupSummary
from kafka_py.coordinator.group.group_metadata_manager import PartitionData
from kafka_py.coordinator.group.group_results import (
    JoinGroupResult,
    LeaveGroupResult,
    LeaveMemberResponse,
    SyncGroupResult,
)
from kafka_py.coordinator.group.member_metadata import MemberSummary
from kafka_py.security.auth.operation import Operation
from tests.server.kafka_apis_support import Apis, RecordingAuthorizer

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOT_ASKED = -2147483648


@pytest.fixture
def apis() -> Iterator[Apis]:
    made = Apis()
    made.update_metadata("t")
    yield made
    made.close()


@pytest.fixture
def old_apis() -> Iterator[Apis]:
    """A broker whose peers do not keep instance ids yet."""
    made = Apis(inter__broker__protocol__version="2.2-IV1")
    made.update_metadata("t")
    yield made
    made.close()


def refusing(operation: Operation) -> Apis:
    made = Apis(RecordingAuthorizer(operation))
    made.update_metadata("t")
    return made


class Calls:
    """Stands for a method of the coordinator: keeps the arguments, answers what it was told to."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.made: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any) -> Any:
        self.made.append(args)
        return self.answer


# -- JoinGroup, SyncGroup, Heartbeat, LeaveGroup -----------------------------------------------------------------------


def join(version: int, **changes: Any) -> JoinGroupRequest:
    protocols = [
        JoinGroupRequest.Protocol(protocol_name=name, protocol_metadata=name.encode()) for name in ("first", "second")
    ]
    fields = {
        "group_id": "g", "session_timeout": 10, "rebalance_timeout": 20, "member_id": "m", "protocol_type": "consumer",
        "group_protocols": protocols, **changes,
    }  # fmt: skip
    return JoinGroupRequest(version=version, **fields)


@pytest.mark.ported("KafkaApisTest.testJoinGroupProtocolsOrder")
def test_protocols_reach_the_coordinator_in_the_members_order(apis: Apis) -> None:
    apis.group_coordinator.handle_join_group = calls = Calls()
    assert apis.handle(join(7), client_id="c") is None
    (made,) = calls.made
    assert made[:-1] == (
        "g", "m", None, True, "c", "/127.0.0.1", 20, 10, "consumer", [("first", b"first"), ("second", b"second")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "instance", "needs_id", "rebalance_timeout"),
    [(0, None, False, 10), (1, None, False, 20), (3, None, False, 20), (4, None, True, 20), (5, "i", False, 20)],
)
def test_only_who_knows_of_it_is_sent_back_for_its_member_id(
    apis: Apis, version: int, instance: str | None, needs_id: bool, rebalance_timeout: int
) -> None:
    apis.group_coordinator.handle_join_group = calls = Calls()
    apis.handle(join(version, group_instance_id=instance))
    (made,) = calls.made
    assert (made[2], made[3], made[6], made[7]) == (instance, needs_id, rebalance_timeout, 10)


@pytest.mark.ported("KafkaApisTest.testJoinGroupProtocolType")
@pytest.mark.parametrize("version", range(8))
def test_a_completed_join_is_told_in_each_version(apis: Apis, version: int) -> None:
    apis.group_coordinator.handle_join_group = calls = Calls()
    apis.handle(join(version))
    member = JoinGroupResponse.Member(member_id="m", group_instance_id=None, member_metadata=b"first")
    calls.made[0][-1](JoinGroupResult([member], "m", 3, "consumer", "first", "m", Errors.NONE))
    response: Any = apis.channel.responses[-1]
    assert (response.error(), response.generation_id, response.leader_id) == (Errors.NONE, 3, "m")
    assert (response.group_protocol, response.protocol_type, len(response.members)) == ("first", "consumer", 1)


@pytest.mark.ported("KafkaApisTest.testJoinGroupWhenAnErrorOccurs")
@pytest.mark.parametrize("version", range(8))
def test_a_failed_join_has_no_protocol(apis: Apis, version: int) -> None:
    apis.group_coordinator.handle_join_group = calls = Calls()
    apis.handle(join(version))
    calls.made[0][-1](JoinGroupResult.failed("m", Errors.INCONSISTENT_GROUP_PROTOCOL))
    response: Any = apis.channel.responses[-1]
    assert (response.error(), response.member_id) == (Errors.INCONSISTENT_GROUP_PROTOCOL, "m")
    assert (response.generation_id, response.leader_id, response.members) == (-1, "", [])
    assert response.group_protocol == (None if version == 7 else "")


def sync(version: int, **changes: Any) -> SyncGroupRequest:
    assignment = [SyncGroupRequest.Assignment(member_id="m", member_assignment=b"todo")]
    fields = {
        "group_id": "g", "generation_id": 3, "member_id": "m", "group_assignment": assignment,
        **({"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}), **changes,
    }  # fmt: skip
    return SyncGroupRequest(version=version, **fields)


@pytest.mark.ported("KafkaApisTest.testSyncGroupProtocolTypeAndName")
@pytest.mark.parametrize("version", range(6))
def test_an_assignment_is_taken_and_given(apis: Apis, version: int) -> None:
    apis.group_coordinator.handle_sync_group = calls = Calls()
    assert apis.handle(sync(version)) is None
    (made,) = calls.made
    protocol = ("consumer", "range") if version >= 5 else (None, None)
    assert made[:-1] == ("g", 3, "m", *protocol, None, {"m": b"todo"})
    made[-1](SyncGroupResult("consumer", "range", b"todo", Errors.NONE))
    response: Any = apis.channel.responses[-1]
    assert (response.error(), response.member_assignment) == (Errors.NONE, b"todo")
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")


@pytest.mark.ported("KafkaApisTest.testSyncGroupProtocolTypeAndNameAreMandatorySinceV5")
def test_from_version_5_on_a_sync_names_its_protocol(apis: Apis) -> None:
    apis.group_coordinator.handle_sync_group = calls = Calls()
    for missing in ("protocol_type", "protocol_name"):
        response = apis.handle(sync(5, **{missing: None}))
        assert response.error() is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert not calls.made


def heartbeat(version: int, **changes: Any) -> HeartbeatRequest:
    return HeartbeatRequest(version=version, **{"group_id": "g", "generation_id": 3, "member_id": "m", **changes})


def test_a_heartbeat_is_answered_by_the_coordinator(apis: Apis) -> None:
    apis.group_coordinator.handle_heartbeat = calls = Calls()
    apis.handle(heartbeat(3, group_instance_id="i"))
    (made,) = calls.made
    assert made[:-1] == ("g", "m", "i", 3)
    made[-1](Errors.REBALANCE_IN_PROGRESS)
    assert apis.channel.responses[-1].error() is Errors.REBALANCE_IN_PROGRESS  # type: ignore[attr-defined]


def commit(version: int, *partitions: int, **changes: Any) -> OffsetCommitRequest:
    topic = OffsetCommitRequest.Topic
    offsets = [topic.Partition(partition=p, offset=15, metadata="") for p in partitions]
    fields = {"group_id": "g", "topics": [topic(topic="t", partitions=offsets)], **changes}
    return OffsetCommitRequest(version=version, **fields)


@pytest.mark.ported("KafkaApisTest.rejectJoinGroupRequestWhenStaticMembershipNotSupported")
@pytest.mark.ported("KafkaApisTest.rejectSyncGroupRequestWhenStaticMembershipNotSupported")
@pytest.mark.ported("KafkaApisTest.rejectHeartbeatRequestWhenStaticMembershipNotSupported")
@pytest.mark.ported("KafkaApisTest.rejectOffsetCommitRequestWhenStaticMembershipNotSupported")
def test_static_members_are_refused_while_some_broker_would_forget_them(old_apis: Apis) -> None:
    for request in (join(5), sync(5), heartbeat(4)):
        request.group_instance_id = "i"
        assert old_apis.handle(request).error() is Errors.UNSUPPORTED_VERSION
    response = old_apis.handle(commit(7, 0, group_instance_id="i"))
    assert response.error_counts() == {Errors.UNSUPPORTED_VERSION: 1}


@pytest.mark.ported("KafkaApisTest.testMultipleLeaveGroup")
def test_several_members_leave_at_once(apis: Apis) -> None:
    apis.group_coordinator.handle_leave_group = calls = Calls()
    members = [
        LeaveGroupRequest.Member(member_id="m1", group_instance_id="i1"),
        LeaveGroupRequest.Member(member_id="m2", group_instance_id="i2"),
    ]
    apis.handle(LeaveGroupRequest(version=3, group_id="g", members=members))
    (made,) = calls.made
    assert made[0] == "g"
    assert [(m.member_id, m.group_instance_id) for m in made[1]] == [("m1", "i1"), ("m2", "i2")]
    left = [LeaveMemberResponse("m1", "i1", Errors.NONE), LeaveMemberResponse("m2", "i2", Errors.FENCED_INSTANCE_ID)]
    made[-1](LeaveGroupResult(Errors.NONE, left))
    response: Any = apis.channel.responses[-1]
    assert response.error() is Errors.NONE
    assert [member.error for member in response.members] == [Errors.NONE, Errors.FENCED_INSTANCE_ID]


@pytest.mark.ported("KafkaApisTest.testSingleLeaveGroup")
@pytest.mark.parametrize("version", range(3))
def test_a_single_members_error_is_the_answers(apis: Apis, version: int) -> None:
    apis.group_coordinator.handle_leave_group = calls = Calls()
    apis.handle(LeaveGroupRequest(version=version, group_id="g", member_id="m"))
    (made,) = calls.made
    assert [(m.member_id, m.group_instance_id) for m in made[1]] == [("m", None)]
    made[-1](LeaveGroupResult(Errors.NONE, [LeaveMemberResponse("m", None, Errors.UNKNOWN_MEMBER_ID)]))
    assert apis.channel.responses[-1].error() is Errors.UNKNOWN_MEMBER_ID  # type: ignore[attr-defined]
    made[-1](LeaveGroupResult(Errors.NOT_COORDINATOR, []))
    assert apis.channel.responses[-1].error() is Errors.NOT_COORDINATOR  # type: ignore[attr-defined]


def test_members_need_the_right_to_read_as_the_group() -> None:
    apis = refusing(Operation.Read)
    requests = (join(7), sync(5), heartbeat(4), LeaveGroupRequest(version=4, group_id="g", members=[]))
    for request in requests:
        assert apis.handle(request).error() is Errors.GROUP_AUTHORIZATION_FAILED
    assert apis.handle(commit(8, 0, 1)).error_counts() == {Errors.GROUP_AUTHORIZATION_FAILED: 2}
    apis.close()


# -- OffsetCommit ------------------------------------------------------------------------------------------------------


@pytest.mark.ported("KafkaApisTest.testOffsetCommitWithInvalidPartition")
@pytest.mark.parametrize("partition", [-1, 1])
def test_offsets_of_partitions_that_do_not_exist_are_refused(apis: Apis, partition: int) -> None:
    response = apis.handle(commit(8, partition))
    assert response.error_counts() == {Errors.UNKNOWN_TOPIC_OR_PARTITION: 1}


def test_a_commit_is_answered_with_what_became_of_each_partition(apis: Apis) -> None:
    apis.group_coordinator.handle_commit_offsets = calls = Calls()
    request = commit(7, 0, 1, generation_id=3, member_id="m", group_instance_id="i")
    request.topics[0].partitions[0].leader_epoch = 4
    assert apis.handle(request) is None
    (made,) = calls.made
    now = apis.time.milliseconds()
    assert made[:-1] == ("g", "m", "i", 3, {T0: OffsetAndMetadata(15, 4, "", now, None)})
    made[-1]({T0: Errors.ILLEGAL_GENERATION})
    (topic,) = apis.channel.responses[-1].responses  # type: ignore[attr-defined]
    assert {p.partition: p.error for p in topic.partition_responses} == {
        0: Errors.ILLEGAL_GENERATION,
        1: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.parametrize(
    ("version", "retention", "timestamp", "committed", "expires"),
    [
        (1, -1, -1, 0, None),
        (1, -1, 500, 500, None),
        (2, -1, -1, 0, None),
        (2, 60, -1, 0, 60),
        (4, 60, -1, 0, 60),
        (5, -1, -1, 0, None),
    ],
)
def test_when_offsets_expire(
    apis: Apis, version: int, retention: int, timestamp: int, committed: int, expires: int | None
) -> None:
    """Versions 2 to 4 say how long; version 1 says since when; later ones leave both to the broker."""
    apis.group_coordinator.handle_commit_offsets = calls = Calls()
    request = commit(version, 0, retention_time=retention)
    request.topics[0].partitions[0].timestamp = timestamp
    apis.handle(request)
    now = apis.time.milliseconds()
    kept = calls.made[0][4][T0]
    assert kept.commit_timestamp == (committed or now)
    assert kept.expire_timestamp == (None if expires is None else now + expires)


def test_offsets_kept_for_longer_than_a_timestamp_can_say_do_not_expire(apis: Apis) -> None:
    apis.group_coordinator.handle_commit_offsets = calls = Calls()
    apis.handle(commit(2, 0, retention_time=(1 << 63) - 1))
    assert calls.made[0][4][T0].expire_timestamp == (1 << 63) - 1


def test_topics_that_may_not_be_read_are_not_committed() -> None:
    apis = Apis(TopicRefusingAuthorizer("t"))
    apis.update_metadata("t")
    assert apis.handle(commit(8, 0)).error_counts() == {Errors.TOPIC_AUTHORIZATION_FAILED: 1}
    apis.close()


class TopicRefusingAuthorizer(RecordingAuthorizer):
    """Refuses everything that is asked about one topic."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic

    def authorize(self, session: object, operation: Operation, resource: Any) -> bool:
        return bool(resource.name != self.topic)


class FakeZkClient:
    """Offsets as ZooKeeper keeps them."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, TopicPartition], int] = {}
        self.broken = False

    def set_or_create_consumer_offset(self, group: str, tp: TopicPartition, offset: int) -> None:
        if self.broken:
            raise ConnectionError("no ZooKeeper")
        self.kept[group, tp] = offset

    def get_consumer_offset(self, group: str, tp: TopicPartition) -> int | None:
        if self.broken:
            raise ConnectionError("no ZooKeeper")
        return self.kept.get((group, tp))


def test_version_0_commits_to_zookeeper_and_reads_from_there(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    zk_client = FakeZkClient()
    monkeypatch.setattr(apis.apis.groups, "_zk_client", zk_client)
    assert fetched(apis.handle(fetch(0, 0)))[T0] == (-1, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    assert apis.handle(commit(0, 0)).error_counts() == {Errors.NONE: 1}
    assert zk_client.kept == {("g", T0): 15}
    assert fetched(apis.handle(fetch(0, 0, 1))) == {
        T0: (15, Errors.NONE),
        T1: (-1, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    }
    zk_client.broken = True
    assert apis.handle(commit(0, 0)).error_counts() == {Errors.UNKNOWN_SERVER_ERROR: 1}
    assert fetched(apis.handle(fetch(0, 0)))[T0] == (-1, Errors.UNKNOWN_SERVER_ERROR)


def test_zookeeper_keeps_no_metadata_but_its_length_is_limited_all_the_same(apis: Apis) -> None:
    request = commit(0, 0)
    request.topics[0].partitions[0].metadata = "x" * (apis.config.offset_metadata_max_size + 1)
    assert apis.handle(request).error_counts() == {Errors.OFFSET_METADATA_TOO_LARGE: 1}


# -- OffsetFetch -------------------------------------------------------------------------------------------------------


def fetch(version: int, *partitions: int, **changes: Any) -> OffsetFetchRequest:
    topic = OffsetFetchRequest.Topic
    topics = [topic(topic="t", partitions=[topic.Partition(partition=p) for p in partitions])]
    return OffsetFetchRequest(version=version, **{"group_id": "g", "topics": topics, **changes})


def fetched(response: Any) -> dict[TopicPartition, tuple[int, Errors]]:
    return {
        TopicPartition(topic.topic, p.partition): (p.offset, p.error)
        for topic in response.responses
        for p in topic.partition_responses
    }


@pytest.mark.parametrize("version", range(1, 8))
def test_offsets_are_read_from_the_coordinator(apis: Apis, version: int) -> None:
    found = {T0: PartitionData(15, 4, "text", Errors.NONE), T1: PartitionData(-1, None, "", Errors.NONE)}
    apis.group_coordinator.handle_fetch_offsets = calls = Calls((Errors.NONE, found))
    response = apis.handle(fetch(version, 0, 1, require_stable=version >= 7))
    assert calls.made == [("g", version >= 7, [T0, T1])]
    assert fetched(response) == {T0: (15, Errors.NONE), T1: (-1, Errors.NONE)}
    first, second = response.responses[0].partition_responses
    assert (first.leader_epoch, first.metadata, second.leader_epoch) == (4, "text", -1)


def test_an_error_of_the_group_stands_where_the_version_has_a_place_for_it(apis: Apis) -> None:
    apis.group_coordinator.handle_fetch_offsets = Calls((Errors.NOT_COORDINATOR, {}))
    response = apis.handle(fetch(1, 0))
    assert fetched(response) == {T0: (-1, Errors.NOT_COORDINATOR)}
    response = apis.handle(fetch(2, 0))
    assert (response.error(), response.responses) == (Errors.NOT_COORDINATOR, [])


def test_who_asks_for_all_is_told_of_topics_it_may_see() -> None:
    apis = Apis(TopicRefusingAuthorizer("hidden"))
    hidden = TopicPartition("hidden", 0)
    found = {tp: PartitionData(15, None, "", Errors.NONE) for tp in (T0, hidden)}
    apis.group_coordinator.handle_fetch_offsets = calls = Calls((Errors.NONE, found))
    assert fetched(apis.handle(fetch(2, topics=None))) == {T0: (15, Errors.NONE)}
    assert calls.made == [("g", False, None)]
    calls.answer = (Errors.NONE, {})
    by_name = OffsetFetchRequest.Topic(topic="hidden", partitions=[OffsetFetchRequest.Topic.Partition(partition=0)])
    response = apis.handle(fetch(2, topics=[by_name]))
    assert calls.made[-1] == ("g", False, [])
    assert fetched(response) == {hidden: (-1, Errors.TOPIC_AUTHORIZATION_FAILED)}
    apis.close()


def test_who_may_not_see_a_group_learns_nothing_of_it() -> None:
    apis = refusing(Operation.Describe)
    assert fetched(apis.handle(fetch(1, 0))) == {T0: (-1, Errors.GROUP_AUTHORIZATION_FAILED)}
    assert apis.handle(fetch(7, 0)).error() is Errors.GROUP_AUTHORIZATION_FAILED
    (group,) = apis.handle(DescribeGroupsRequest(version=5, group_ids=["g"])).groups
    assert (group.error, group.state, group.authorized_operations) == (
        Errors.GROUP_AUTHORIZATION_FAILED,
        "",
        NOT_ASKED,
    )
    kind = FindCoordinatorRequest.CoordinatorType.GROUP
    apis.group_coordinator.partition_for = Calls(0)
    response = apis.handle(FindCoordinatorRequest.Builder(kind, "g").build(3))
    assert response.error() is Errors.GROUP_AUTHORIZATION_FAILED
    apis.close()


# -- DescribeGroups, ListGroups, DeleteGroups, OffsetDelete ------------------------------------------------------------


@pytest.mark.ported("KafkaApisTest.testDescribeGroups")
@pytest.mark.parametrize("version", range(6))
def test_a_group_is_described(apis: Apis, version: int) -> None:
    member = MemberSummary("m", "i", "client", "/host", b"metadata", b"assignment")
    summary = GroupSummary("Stable", "consumer", "range", [member])
    apis.group_coordinator.handle_describe_group = Calls((Errors.NONE, summary))
    (group,) = apis.handle(DescribeGroupsRequest(version=version, group_ids=["g"])).groups
    assert (group.group_id, group.error, group.state) == ("g", Errors.NONE, "Stable")
    assert (group.protocol_type, group.protocol, group.authorized_operations) == ("consumer", "range", NOT_ASKED)
    (found,) = group.members
    assert (found.member_id, found.client_id, found.client_host) == ("m", "client", "/host")
    assert (found.group_instance_id, found.member_metadata, found.member_assignment) == (
        "i",
        b"metadata",
        b"assignment",
    )


def test_who_asks_is_told_what_it_may_do_to_a_group() -> None:
    read, delete, describe = 3, 6, 8  # the codes of AclOperation
    summary = GroupSummary("Empty", "consumer", "", [])
    for apis, expected in (
        (Apis(), 1 << read | 1 << delete | 1 << describe),
        (refusing(Operation.Delete), 1 << read | 1 << describe),
    ):
        apis.group_coordinator.handle_describe_group = calls = Calls((Errors.NONE, summary))
        request = DescribeGroupsRequest(version=3, group_ids=["g"], include_authorized_operations=True)
        assert apis.handle(request).groups[0].authorized_operations == expected
        calls.answer = (Errors.NOT_COORDINATOR, summary)
        assert apis.handle(request).groups[0].authorized_operations == NOT_ASKED
        apis.close()


def test_groups_are_listed_even_while_some_are_loading(apis: Apis) -> None:
    groups = [GroupOverview("g", "consumer"), GroupOverview("h", "connect")]
    apis.group_coordinator.handle_list_groups = Calls((Errors.COORDINATOR_LOAD_IN_PROGRESS, groups))
    for version in range(4):
        response = apis.handle(ListGroupsRequest(version=version))
        assert response.error() is Errors.COORDINATOR_LOAD_IN_PROGRESS
        assert [(g.group_id, g.protocol_type) for g in response.groups] == [("g", "consumer"), ("h", "connect")]


def test_without_the_cluster_one_sees_the_groups_one_may_see() -> None:
    class SeesOneGroup(RecordingAuthorizer):
        def authorize(self, session: object, operation: Operation, resource: Any) -> bool:
            return bool(resource.name == "h")

    apis = Apis(SeesOneGroup())
    groups = [GroupOverview("g", "consumer"), GroupOverview("h", "connect")]
    apis.group_coordinator.handle_list_groups = Calls((Errors.NONE, groups))
    assert [g.group_id for g in apis.handle(ListGroupsRequest(version=0)).groups] == ["h"]
    apis.close()


def test_groups_are_deleted_by_who_may() -> None:
    class MayDeleteOne(RecordingAuthorizer):
        def authorize(self, session: object, operation: Operation, resource: Any) -> bool:
            return bool(resource.name == "g")

    apis = Apis(MayDeleteOne())
    apis.group_coordinator.handle_delete_groups = calls = Calls({"g": Errors.NON_EMPTY_GROUP})
    for version in range(3):
        response = apis.handle(DeleteGroupsRequest(version=version, groups=["g", "h", "g"]))
        assert {g.group_id: g.error for g in response.group_error_codes} == {
            "g": Errors.NON_EMPTY_GROUP,
            "h": Errors.GROUP_AUTHORIZATION_FAILED,
        }
    assert [list(made[0]) for made in calls.made] == [["g"]] * 3
    apis.close()


def offset_delete(*partitions: int) -> OffsetDeleteRequest:
    topic = OffsetDeleteRequest.Topic
    named = [topic(name="t", partitions=[topic.Partition(partition_index=p) for p in partitions])]
    return OffsetDeleteRequest(version=0, group_id="g", topics=named)


@pytest.mark.ported("KafkaApisTest.testOffsetDeleteWithInvalidPartition")
def test_offsets_are_deleted_where_there_is_a_partition(apis: Apis) -> None:
    apis.group_coordinator.handle_delete_offsets = calls = Calls((Errors.NONE, {T0: Errors.NONE}))
    response = apis.handle(offset_delete(0, 1))
    (made,) = calls.made
    assert (made[0], list(made[1])) == ("g", [T0])
    assert response.error() is Errors.NONE
    assert {p.partition_index: p.error for p in response.topics[0].partitions} == {
        0: Errors.NONE,
        1: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


@pytest.mark.ported("KafkaApisTest.testOffsetDeleteWithInvalidGroup")
def test_an_error_of_the_group_is_the_only_one(apis: Apis) -> None:
    apis.group_coordinator.handle_delete_offsets = Calls((Errors.GROUP_ID_NOT_FOUND, {}))
    response = apis.handle(offset_delete(0))
    assert (response.error(), response.topics) == (Errors.GROUP_ID_NOT_FOUND, [])


def test_offsets_are_deleted_by_who_may_delete_the_group() -> None:
    apis = refusing(Operation.Delete)
    assert apis.handle(offset_delete(0)).error() is Errors.GROUP_AUTHORIZATION_FAILED
    apis.close()


# -- FindCoordinator and the coordinators' topics ----------------------------------------------------------------------


class Created:
    """Stands for AdminZkClient: keeps what was created."""

    def __init__(self) -> None:
        self.topics: list[tuple[Any, ...]] = []

    def create_topic(self, *args: Any) -> None:
        self.topics.append(args[:4])


@pytest.fixture
def created(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> Created:
    made = Created()
    monkeypatch.setattr(apis.apis.metadata, "_admin_zk_client", made)
    for coordinator in (apis.group_coordinator, apis.txn_coordinator):
        coordinator.partition_for = Calls(0)
    apis.group_coordinator.offsets_topic_configs = {"cleanup.policy": "compact"}
    apis.txn_coordinator.transaction_topic_configs = {"min.insync.replicas": "2"}
    return made


GROUP = FindCoordinatorRequest.CoordinatorType.GROUP
TRANSACTION = FindCoordinatorRequest.CoordinatorType.TRANSACTION


@pytest.mark.parametrize(
    ("kind", "version", "topic", "config"),
    [
        (GROUP, 0, Topic.GROUP_METADATA_TOPIC_NAME, {"cleanup.policy": "compact"}),
        (GROUP, 3, Topic.GROUP_METADATA_TOPIC_NAME, {"cleanup.policy": "compact"}),
        (TRANSACTION, 1, Topic.TRANSACTION_STATE_TOPIC_NAME, {"min.insync.replicas": "2"}),
    ],
)
def test_a_coordinators_topic_is_created_when_there_are_brokers_enough(
    apis: Apis, created: Created, kind: Any, version: int, topic: str, config: dict[str, str]
) -> None:
    request = FindCoordinatorRequest.Builder(kind, "id").build(version)
    assert apis.handle(request).error() is Errors.COORDINATOR_NOT_AVAILABLE
    assert created.topics == []
    apis.update_metadata("t", brokers=(1, 2, 3))
    assert apis.handle(request).error() is Errors.COORDINATOR_NOT_AVAILABLE  # until it has leaders
    assert created.topics == [(topic, 50, 3, config)]


def test_the_coordinator_is_the_leader_of_the_partition(apis: Apis, created: Created) -> None:
    request = FindCoordinatorRequest.Builder(GROUP, "g").build(2)
    apis.update_metadata(Topic.GROUP_METADATA_TOPIC_NAME, leader=2, brokers=(1, 2))
    response = apis.handle(request)
    assert (response.error(), str(response.node())) == (Errors.NONE, "broker2:9092 (id: 2 rack: null)")
    assert apis.group_coordinator.partition_for.made == [("g",)]
    apis.group_coordinator.partition_for.answer = 1  # a partition that nobody knows
    assert apis.handle(request).error() is Errors.COORDINATOR_NOT_AVAILABLE
    assert created.topics == []


@pytest.mark.parametrize("leader", [2, -1])
def test_a_leader_that_is_gone_coordinates_nothing(apis: Apis, created: Created, leader: int) -> None:
    apis.update_metadata(Topic.GROUP_METADATA_TOPIC_NAME, leader=leader, brokers=(1,))
    response = apis.handle(FindCoordinatorRequest.Builder(GROUP, "g").build(2))
    assert (response.error(), response.node().is_empty()) == (Errors.COORDINATOR_NOT_AVAILABLE, True)


def test_metadata_creates_a_coordinators_topic_too(apis: Apis, created: Created) -> None:
    request = MetadataRequest.Builder([Topic.GROUP_METADATA_TOPIC_NAME], True).build(5)
    (topic,) = apis.handle(request).topic_metadata()
    assert (topic.error, topic.is_internal) == (Errors.INVALID_REPLICATION_FACTOR, True)
    assert created.topics == []
    apis.update_metadata("t", brokers=(1, 2, 3))
    (topic,) = apis.handle(request).topic_metadata()
    assert (topic.error, topic.is_internal) == (Errors.LEADER_NOT_AVAILABLE, True)
    assert [made[0] for made in created.topics] == [Topic.GROUP_METADATA_TOPIC_NAME]
