"""What the controller answers to who asks by API: elections, and moves of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.election_type import ElectionType
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_event_manager import ControllerEvent
from kafka_py.controller.kafka_controller_reassignment import OngoingReassignment
from tests.controller.cluster import NEW, OLD, Cluster, cluster
from tests.controller.test_controller_integration import N0, Events
from tests.controller.test_kafka_controller import T0, run, zk

__all__ = ["cluster", "zk"]
PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN
ABSENT = TopicPartition("absent", 0)


class Api:
    """Asks a controller, and keeps what it answers as (error, message) or whatever else it is."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.controller = cluster.first

    def _ask(self, method: str, *arguments: Any) -> Any:
        answers: list[Any] = []
        events: list[ControllerEvent] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.controller.event_manager, "put", events.append)
            getattr(self.controller, method)(*arguments, answers.append)
        run(self.controller, *events)
        (answer,) = answers
        return plain(answer)

    def elect(self, kind: ElectionType, *partitions: TopicPartition) -> Any:
        return self._ask("elect_leaders", partitions, kind)

    def alter(self, reassignments: Mapping[TopicPartition, Sequence[int] | None]) -> Any:
        return self._ask("alter_partition_reassignments", reassignments)

    def list(self, *partitions: TopicPartition) -> Any:
        return self._ask("list_partition_reassignments", partitions or None)


def plain(answer: Any) -> Any:
    if isinstance(answer, ApiError):
        return answer.error() if answer.message() is None else (answer.error(), answer.message())
    return {tp: plain(value) for tp, value in answer.items()} if isinstance(answer, dict) else answer


@pytest.fixture
def api(cluster: Cluster) -> Api:
    return Api(cluster)


@pytest.fixture
def events(cluster: Cluster) -> Events:
    return Events(cluster)


# -- Elections -------------------------------------------------------------------------------------------------------


def test_the_first_replica_is_elected(api: Api, events: Events) -> None:
    events.create([NEW, OLD])
    assert api.elect(PREFERRED, N0) == {N0: Errors.ELECTION_NOT_NEEDED}
    events.broker_goes()
    nobody = "Failed to elect leader for partition n-0 under strategy PreferredReplicaPartitionLeaderElectionStrategy"
    assert api.elect(PREFERRED, N0) == {N0: (Errors.PREFERRED_LEADER_NOT_AVAILABLE, nobody)}
    events.broker_comes()
    events.joins_isr()
    assert api.elect(PREFERRED, N0, ABSENT) == {
        N0: NEW,
        ABSENT: (Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
    }
    assert events.state(N0) == (NEW, 2)


def test_any_replica_is_elected_where_none_is_in_sync(api: Api, events: Events) -> None:
    events.create([NEW, OLD])
    assert api.elect(UNCLEAN, N0) == {N0: Errors.ELECTION_NOT_NEEDED}
    only_new = {N0: LeaderAndIsr(NEW, 0, [NEW], events._version(N0))}
    assert N0 in events.zk.update_leader_and_isr(only_new, api.controller.epoch).successful_partitions
    events.broker_goes()
    assert api.elect(PREFERRED, N0)[N0][0] is Errors.PREFERRED_LEADER_NOT_AVAILABLE
    assert api.elect(UNCLEAN, N0) == {N0: OLD}
    found = events.zk.get_topic_partition_state(N0)
    assert found is not None
    assert (found.leader_and_isr.leader, found.leader_and_isr.isr) == (OLD, [OLD])


def test_nobody_is_elected_where_no_replica_lives(api: Api, events: Events) -> None:
    events.broker_goes()
    events.create([NEW])
    assert api.elect(UNCLEAN, N0) == {N0: Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE}
    api.controller.topic_deletion_manager.topics_to_be_deleted.add("n")
    assert api.elect(UNCLEAN, N0) == {N0: (Errors.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")}


def test_a_failure_is_told(api: Api, events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    events.create([NEW, OLD])
    events.broker_goes()

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(api.controller.partition_state_machine, "handle_state_changes", fail)
    monkeypatch.setattr(api.controller.reassignment, "alter_partition_reassignments", fail)
    assert api.elect(PREFERRED, N0) == {N0: (Errors.UNKNOWN_SERVER_ERROR, "broken")}
    assert api.alter({N0: [OLD]}) == (Errors.UNKNOWN_SERVER_ERROR, "broken")


# -- Moves -----------------------------------------------------------------------------------------------------------


def test_a_move_from_beginning_to_end(api: Api, cluster: Cluster) -> None:
    assert api.list() == {}
    assert api.alter({T0: [NEW]}) == {T0: Errors.NONE}
    assert cluster.zk.get_partition_reassignment() == {T0: [NEW]}
    assert api.list() == api.list(T0, ABSENT) == {T0: OngoingReassignment([NEW, OLD], [NEW], [OLD])}
    assert api.list(ABSENT) == {}
    # the node that was made is seen as any other, and nothing begins anew
    epoch = cluster.state.leader_epoch
    run(api.controller, api.controller.PartitionReassignment(api.controller))
    assert cluster.state.leader_epoch == epoch
    cluster.catch_up(api.controller)
    assert cluster.zk.get_replicas_for_partition(T0) == [NEW]
    assert api.list() == {}
    assert not cluster.zk.reassign_partitions_in_progress()


def test_a_move_is_cancelled(api: Api, cluster: Cluster) -> None:
    assert api.alter({T0: None, ABSENT: None}) == dict.fromkeys((T0, ABSENT), Errors.NO_REASSIGNMENT_IN_PROGRESS)
    api.alter({T0: [NEW]})
    assert api.alter({T0: None}) == {T0: Errors.NONE}
    assert cluster.zk.get_replicas_for_partition(T0) == [OLD]
    assert not cluster.zk.reassign_partitions_in_progress()
    assert cluster.brokers.deleted == [(NEW, T0)]
    assert api.alter({T0: None}) == {T0: Errors.NO_REASSIGNMENT_IN_PROGRESS}


def test_a_running_move_gets_another_aim(api: Api, cluster: Cluster) -> None:
    api.alter({T0: [NEW]})
    assert api.alter({T0: [NEW, OLD]}) == {T0: Errors.NONE}
    assert cluster.zk.get_partition_reassignment() == {}, "the replicas are those that it has already"
    assert cluster.zk.get_replicas_for_partition(T0) == [NEW, OLD]


def test_only_who_has_begun_a_move_can_cancel_it(api: Api, cluster: Cluster) -> None:
    api.alter({T0: [NEW]})
    cluster.take_over()
    api.controller = cluster.second
    assert api.list() == {T0: OngoingReassignment([NEW, OLD], [NEW], [OLD])}
    refused, message = api.alter({T0: None})[T0]
    assert refused is Errors.INVALID_REPLICA_ASSIGNMENT
    assert "only that one knew where it was" in message
    assert api.alter({T0: [OLD]}) == {T0: Errors.NONE}
    assert cluster.zk.get_replicas_for_partition(T0) == [OLD]


def test_wishes_of_a_tool_are_not_lost(api: Api, cluster: Cluster, events: Events) -> None:
    """One that the controller has not heard of, and one that is written just before its own."""
    events.create([OLD])
    cluster.zk.create_partition_reassignment({T0: [NEW]})
    assert api.alter({N0: [NEW]}) == {N0: Errors.NONE}
    assert cluster.zk.get_partition_reassignment() == {T0: [NEW], N0: [NEW]}
    assert set(api.list()) == {T0, N0}


def test_a_tool_that_writes_at_the_same_moment(
    api: Api, cluster: Cluster, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.create([OLD])
    original = cluster.zk.create_partition_reassignment

    def too_late(reassignment: Mapping[TopicPartition, Sequence[int]]) -> None:
        original({T0: [NEW]})
        original(reassignment)

    monkeypatch.setattr(cluster.zk, "create_partition_reassignment", too_late)
    assert api.alter({N0: [NEW]}) == {N0: Errors.NONE}
    assert cluster.zk.get_partition_reassignment() == {T0: [NEW], N0: [NEW]}


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ([], "Empty replica list specified in partition reassignment."),
        ([NEW, NEW], f"Duplicate replica ids in partition reassignment replica list: ArrayBuffer({NEW}, {NEW})"),
        ([OLD, -1], f"Invalid broker id in replica list: ArrayBuffer({OLD}, -1)"),
        (
            [OLD, 7, 8],
            "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(7, 8), live broker list: "
            f"Set({OLD}, {NEW})",
        ),
    ],
)
def test_replicas_that_are_refused(api: Api, cluster: Cluster, replicas: list[int], message: str) -> None:
    assert api.alter({T0: replicas}) == {T0: (Errors.INVALID_REPLICA_ASSIGNMENT, message)}
    assert not cluster.zk.reassign_partitions_in_progress()


def test_partitions_that_are_not_there(api: Api) -> None:
    not_there = (Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    api.controller.topic_deletion_manager.topics_to_be_deleted.add(T0.topic)
    assert api.alter({ABSENT: [OLD], T0: [NEW]}) == {ABSENT: not_there, T0: not_there}


def test_who_is_not_the_controller_says_so(api: Api, cluster: Cluster) -> None:
    api.controller = cluster.second
    assert api.elect(PREFERRED, T0) == {T0: Errors.NOT_CONTROLLER}
    assert api.alter({T0: [NEW]}) is api.list() is Errors.NOT_CONTROLLER


def test_who_waits_hears_of_a_shutdown(cluster: Cluster) -> None:
    answers: list[Any] = []
    controller, manager = cluster.first, cluster.first.event_manager
    controller.elect_leaders([T0], UNCLEAN, answers.append)
    controller.alter_partition_reassignments({T0: None}, answers.append)
    controller.list_partition_reassignments(None, answers.append)
    manager._drop([event for event, _ in manager.waiting()])
    assert [plain(answer) for answer in answers] == [
        {T0: Errors.NOT_CONTROLLER},
        Errors.NOT_CONTROLLER,
        Errors.NOT_CONTROLLER,
    ]
