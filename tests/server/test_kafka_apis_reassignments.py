"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments: what the controller is asked, and says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.common.election_type import ElectionType
from kafka_py.common.errors import IllegalArgumentException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.elect_leaders_request import ElectLeadersRequest
from kafka_py.common.requests.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.kafka_controller_reassignment import OngoingReassignment
from kafka_py.security.auth.operation import Operation
from kafka_py.server.admin_manager import AdminManager
from kafka_py.server.delayed_elect_leader import DelayedElectLeader
from kafka_py.server.metadata_cache import MetadataCache
from kafka_py.testing.mock_time import MockTime
from tests.server.kafka_apis_support import Apis, RecordingAuthorizer, kafka_config, update_metadata

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Answering:
    """Stands for the controller: keeps what it is asked, and answers at once or when it is told to."""

    is_active = True

    def __init__(self) -> None:
        self.asked: Any = None
        self.answer: Any = {}
        self.callback: Any = None

    def elect_leaders(self, partitions: Any, election_type: ElectionType, callback: Any) -> None:
        self.asked, self.callback = (list(partitions), election_type), callback
        if self.answer is not None:
            callback(self.answer)

    def alter_partition_reassignments(self, partitions: Any, callback: Any) -> None:
        self.asked = partitions
        callback(self.answer)

    def list_partition_reassignments(self, partitions: Any, callback: Any) -> None:
        self.alter_partition_reassignments(partitions, callback)


def prepared(*refused: Operation) -> Apis:
    clock = MockTime()
    cache = MetadataCache(1)
    admin_manager = AdminManager(kafka_config(), cast("Any", None), cache, cast("Any", None), clock)
    made = Apis(RecordingAuthorizer(*refused) if refused else None, None, admin_manager)
    controller: Any = Answering()
    made.apis.admin.reassignments._controller = controller
    made.apis.admin.reassignments._metadata_cache = cache
    cache.update_cache(0, update_metadata(("t",), partitions=2, leader=1, replicas=(1, 2)))
    made.controller = controller
    made.time = clock
    made.metadata_cache = cache
    return made


@pytest.fixture
def apis(request: pytest.FixtureRequest, no_reaper: None) -> Iterator[Apis]:
    made = prepared(*getattr(request, "param", ()))
    yield made
    made.admin_manager.shutdown()
    made.close()


def elect(*partitions: TopicPartition, version: int = 2, kind: int = 0) -> ElectLeadersRequest:
    topics = [ElectLeadersRequest.TopicPartitions(topic=tp.topic, partition_ids=[tp.partition]) for tp in partitions]
    return ElectLeadersRequest(
        version=version, election_type=kind, topic_partitions=topics if partitions else None, timeout_ms=100
    )


def elected(response: Any) -> dict[TopicPartition, tuple[Errors, str | None]]:
    return {
        TopicPartition(topic.topic, p.partition_id): (p.error, p.error_message)
        for topic in response.replica_election_results
        for p in topic.partition_results
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_elections_of_some_partitions(apis: Apis, version: int) -> None:
    apis.controller.answer = {
        T0: ApiError(Errors.ELECTION_NOT_NEEDED),
        U0: ApiError(Errors.NOT_CONTROLLER, "no"),
        T1: 1,
    }
    response = apis.handle(elect(T0, U0, T1, T0, version=version))
    assert apis.controller.asked == ([T0, U0, T1], ElectionType.PREFERRED)
    assert response.error_code == 0
    assert elected(response) == {
        T0: (Errors.ELECTION_NOT_NEEDED, None),
        U0: (Errors.NOT_CONTROLLER, "no"),
        T1: (Errors.NONE, None),
    }


def test_elections_of_all_partitions(apis: Apis) -> None:
    apis.controller.answer = {T0: ApiError(Errors.ELECTION_NOT_NEEDED), T1: 1}
    response = apis.handle(elect(kind=1))
    assert apis.controller.asked == ([T0, T1], ElectionType.UNCLEAN)
    assert elected(response) == {T1: (Errors.NONE, None)}, "where nothing was to be done is not told"


def test_who_asks_is_answered_when_the_leader_is_known(apis: Apis) -> None:
    apis.controller.answer = {T0: 2, T1: 1, U0: ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION)}
    assert apis.handle(elect(T0, T1, U0)) is None
    manager: Any = apis.admin_manager
    manager.try_complete_delayed_topic_operations("t")
    assert apis.channel.responses == []
    apis.metadata_cache.update_cache(0, update_metadata(("t",), leader=2, replicas=(1, 2)))
    manager.try_complete_delayed_topic_operations("t")
    (response,) = apis.channel.responses
    errors = {tp: error for tp, (error, _) in elected(response).items()}
    assert errors == {T0: Errors.NONE, T1: Errors.NONE, U0: Errors.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_leader_of_whom_nobody_hears_in_time(apis: Apis) -> None:
    answers: list[Any] = []
    refused = ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    delayed = DelayedElectLeader(100, {T0: 2, T1: 1}, {U0: refused}, apis.metadata_cache, answers.append)
    assert not delayed.try_complete()
    delayed.run()  # its time is over
    assert answers == [{T0: ApiError(Errors.REQUEST_TIMED_OUT), T1: ApiError.NONE, U0: refused}]


@pytest.mark.parametrize("apis", [(Operation.Alter,)], indirect=True)
def test_who_may_not_elect(apis: Apis) -> None:
    response = apis.handle(elect(T0))
    assert response.error_code == Errors.CLUSTER_AUTHORIZATION_FAILED.code
    assert elected(response) == {T0: (Errors.CLUSTER_AUTHORIZATION_FAILED, None)}
    assert elected(apis.handle(elect())) == {}
    assert apis.handle(alter()).error_code == Errors.CLUSTER_AUTHORIZATION_FAILED.code
    assert apis.controller.asked is None


def test_an_election_of_no_kind(apis: Apis) -> None:
    response = apis.handle(elect(T0, kind=7))
    assert response.error_code == Errors.UNKNOWN_SERVER_ERROR.code
    with pytest.raises(IllegalArgumentException, match=r"Value 7 must be one of \[PREFERRED, UNCLEAN\]"):
        ElectionType.value_of(7)


def alter() -> AlterPartitionReassignmentsRequest:
    topic = AlterPartitionReassignmentsRequest.Topic
    partitions = [
        topic.Partition(partition_index=0, replicas=[1, 2]),
        topic.Partition(partition_index=1, replicas=None),
    ]
    return AlterPartitionReassignmentsRequest(version=0, topics=[topic(name="t", partitions=partitions)])


def test_moves(apis: Apis) -> None:
    apis.controller.answer = {T0: ApiError.NONE, T1: ApiError(Errors.NO_REASSIGNMENT_IN_PROGRESS, "why")}
    response = apis.handle(alter())
    assert apis.controller.asked == {T0: [1, 2], T1: None}
    assert (response.error_code, response.error_message) == (0, None)
    (topic,) = response.responses
    assert [(p.partition_index, p.error, p.error_message) for p in topic.partitions] == [
        (0, Errors.NONE, None),
        (1, Errors.NO_REASSIGNMENT_IN_PROGRESS, "why"),
    ]
    apis.controller.answer = ApiError(Errors.NOT_CONTROLLER)
    response = apis.handle(alter())
    assert (response.error_code, response.responses) == (Errors.NOT_CONTROLLER.code, [])


def listing(*partitions: TopicPartition) -> Any:
    topic = ListPartitionReassignmentsRequest.Topic
    topics = [topic(name=tp.topic, partition_indexes=[tp.partition]) for tp in partitions]
    return ListPartitionReassignmentsRequest(version=0, topics=topics or None)


def test_what_is_being_moved(apis: Apis) -> None:
    apis.controller.answer = {T1: OngoingReassignment([3, 1, 2], [3], [2]), U0: OngoingReassignment([4], [], [])}
    response = apis.handle(listing())
    assert [apis.controller.asked] == [None], "all of them"
    found = {
        (topic.name, p.partition_index): (p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in response.topics
        for p in topic.partitions
    }
    assert found == {("t", 1): ([3, 1, 2], [3], [2]), ("u", 0): ([4], [], [])}
    apis.controller.answer = ApiError(Errors.NOT_CONTROLLER)
    response = apis.handle(listing(T0, U0, T0))
    assert apis.controller.asked == [T0, U0]
    assert (response.error_code, response.topics) == (Errors.NOT_CONTROLLER.code, [])


@pytest.mark.parametrize("apis", [(Operation.Describe,)], indirect=True)
def test_who_may_not_look(apis: Apis) -> None:
    assert apis.handle(listing()).error_code == Errors.CLUSTER_AUTHORIZATION_FAILED.code


def test_the_metadata_knows_all_partitions(apis: Apis) -> None:
    assert apis.metadata_cache.get_all_partitions() == [T0, T1]
