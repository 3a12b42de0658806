"""Topics are deleted while brokers and controllers come and go, and while somebody wants something else of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kafka_py.common.errors import TopicAlreadyMarkedForDeletionException, UnknownTopicOrPartitionException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from tests.controller.double_brokers import Brokers
from tests.controller.test_kafka_controller import zk

__all__ = ["zk"]
TOPIC = "test"
TP, TP1, TP2 = (TopicPartition(TOPIC, n) for n in range(3))
REPLICAS = [0, 1, 2]
LEADER, FOLLOWER = REPLICAS[0], REPLICAS[-1]
MadeBrokers = Callable[..., Brokers]


@pytest.fixture
def make(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[MadeBrokers]:
    """Brokers with a topic of one partition, which has a replica on the first three."""
    made: list[Brokers] = []

    def make(count: int = 3, **properties: str) -> Brokers:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        brokers = Brokers(zk, monkeypatch, count, given)
        made.append(brokers)
        brokers.create_topic(TOPIC, {0: REPLICAS})
        assert brokers.with_replica(TP) == set(REPLICAS)
        assert brokers.state(TP).leader == LEADER
        return brokers

    yield make
    for brokers in made:
        brokers.close()


@pytest.mark.ported(
    "DeleteTopicTest.testDeleteTopicWithAllAliveReplicas",
    "DeleteTopicTest.testRecreateTopicAfterDeletion",
    changes="the brokers are doubles",
)
def test_a_topic_is_deleted_and_made_again(make: MadeBrokers) -> None:
    brokers = make()
    brokers.delete_topic(TOPIC)
    brokers.assert_deleted(TOPIC)
    brokers.create_topic(TOPIC, {0: REPLICAS})
    assert brokers.with_replica(TP) == set(REPLICAS)
    assert (brokers.state(TP).leader, brokers.state(TP).leader_epoch) == (LEADER, 0)


@pytest.mark.ported("DeleteTopicTest.testResumeDeleteTopicWithRecoveredFollower", changes="the brokers are doubles")
def test_the_replica_of_a_broker_that_is_away_is_deleted_when_it_is_back(make: MadeBrokers) -> None:
    brokers = make()
    brokers.stop(FOLLOWER)
    brokers.delete_topic(TOPIC)
    assert brokers.with_replica(TP) == {FOLLOWER}
    assert brokers.zk.is_topic_marked_for_deletion(TOPIC)
    brokers.start(FOLLOWER)
    brokers.assert_deleted(TOPIC)


@pytest.mark.ported("DeleteTopicTest.testResumeDeleteTopicOnControllerFailover", changes="the brokers are doubles")
@pytest.mark.parametrize("order", [(0, FOLLOWER), (FOLLOWER, 0)], ids=str)
def test_the_next_controller_goes_on_with_it(make: MadeBrokers, order: tuple[int, int]) -> None:
    brokers = make()
    brokers.stop(FOLLOWER)
    brokers.delete_topic(TOPIC)
    brokers.stop(0)  # the controller
    assert brokers.zk.get_controller_id() == 1
    assert brokers.zk.is_topic_marked_for_deletion(TOPIC)
    for id in order:
        assert brokers.zk.is_topic_marked_for_deletion(TOPIC)
        brokers.start(id)
    brokers.assert_deleted(TOPIC)


@pytest.mark.ported("DeleteTopicTest.testPartitionReassignmentDuringDeleteTopic", changes="the brokers are doubles")
def test_a_topic_that_is_being_deleted_is_not_moved(make: MadeBrokers) -> None:
    brokers = make(4)
    brokers.stop(FOLLOWER)
    brokers.delete_topic(TOPIC)
    brokers.zk.create_partition_reassignment({TP: [1, 2, 3]})
    brokers.hears(brokers.controller.PartitionReassignment(brokers.controller))
    assert brokers.zk.get_partition_reassignment() == {}
    assert TP not in brokers.controller.controller_context.partitions_being_reassigned
    assert brokers.zk.get_replicas_for_partition(TP) == REPLICAS
    brokers.start(FOLLOWER)
    brokers.assert_deleted(TOPIC)


def add_partitions(brokers: Brokers) -> None:
    """Two more, on the same brokers."""
    metadatas = brokers.admin.get_broker_metadatas()
    more = {1: REPLICAS, 2: REPLICAS}
    brokers.admin.add_partitions(TOPIC, {0: REPLICAS}, metadatas, 3, more)


@pytest.mark.ported("DeleteTopicTest.testDeleteTopicDuringAddPartition", changes="the brokers are doubles")
@pytest.mark.parametrize("heard", [True, False], ids=["heard of them", "did not hear of them"])
def test_partitions_that_were_just_added_are_deleted_too(make: MadeBrokers, heard: bool) -> None:
    brokers = make()
    add_partitions(brokers)
    brokers.stop(FOLLOWER)
    if heard:
        brokers.hears(brokers.controller.PartitionModifications(brokers.controller, TOPIC))
        assert brokers.with_replica(TP1) == {0, 1}
    brokers.delete_topic(TOPIC)
    brokers.hears(brokers.controller.PartitionModifications(brokers.controller, TOPIC))
    brokers.start(FOLLOWER)
    brokers.assert_deleted(TOPIC, range(3))


@pytest.mark.ported("DeleteTopicTest.testAddPartitionDuringDeleteTopic", changes="the brokers are doubles")
def test_a_topic_that_is_being_deleted_does_not_grow(make: MadeBrokers) -> None:
    brokers = make()
    brokers.doubles.answers_held = []
    brokers.delete_topic(TOPIC)
    add_partitions(brokers)
    brokers.hears(brokers.controller.PartitionModifications(brokers.controller, TOPIC))
    assert brokers.zk.topic_exists(TOPIC)
    assert brokers.zk.get_topic_partition_count(TOPIC) == 3
    assert brokers.with_replica(TP1) == brokers.with_replica(TP2) == set()
    assert brokers.zk.get_topic_partition_state(TP1) is None
    brokers.doubles.release_answers()
    brokers.hears()
    brokers.assert_deleted(TOPIC, range(3))


@pytest.mark.ported("DeleteTopicTest.testDeleteNonExistingTopic", changes="the brokers are doubles")
def test_a_topic_that_is_not_there_cannot_be_deleted_and_no_other_is(make: MadeBrokers) -> None:
    brokers = make()
    with pytest.raises(UnknownTopicOrPartitionException):
        brokers.delete_topic("test2")
    brokers.hears(brokers.controller.TopicDeletion(brokers.controller))
    brokers.assert_deleted("test2")
    assert brokers.with_replica(TP) == set(REPLICAS)
    assert brokers.zk.topic_exists(TOPIC)
    assert brokers.state(TP).leader == LEADER


@pytest.mark.ported("DeleteTopicTest.testDeleteTopicAlreadyMarkedAsDeleted", changes="the brokers are doubles")
def test_a_topic_is_marked_once(make: MadeBrokers) -> None:
    brokers = make()
    brokers.admin.delete_topic(TOPIC)
    with pytest.raises(TopicAlreadyMarkedForDeletionException):
        brokers.admin.delete_topic(TOPIC)
    brokers.hears(brokers.controller.TopicDeletion(brokers.controller))
    brokers.assert_deleted(TOPIC)


@pytest.mark.ported("DeleteTopicTest.testDisableDeleteTopic", changes="the brokers are doubles")
def test_where_no_topic_may_be_deleted_the_mark_is_taken_away(make: MadeBrokers) -> None:
    brokers = make(delete_topic_enable="false")
    brokers.delete_topic(TOPIC)
    assert not brokers.zk.is_topic_marked_for_deletion(TOPIC)
    assert brokers.zk.topic_exists(TOPIC)
    assert brokers.with_replica(TP) == set(REPLICAS)
    assert brokers.state(TP).leader == LEADER
