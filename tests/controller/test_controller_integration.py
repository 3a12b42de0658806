"""Kafka's ControllerIntegrationTest and ControllerFailoverTest, with doubles for the brokers: no server is started.

A broker is there while it is registered in ZooKeeper; that it joins an ISR is written by the test, as a leader would.
"""

from __future__ import annotations

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_event_manager import ControllerEvent
from kafka_py.controller.controller_state import ControllerState
from kafka_py.controller.kafka_controller import KafkaController
from kafka_py.controller.partition_state_machine import OnlinePartition
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.zk.zk_data import BrokerInfo, PreferredReplicaElectionZNode
from tests.controller.cluster import NEW, OLD, Cluster, cluster
from tests.controller.fakes import broker
from tests.controller.test_kafka_controller import T0, run, zk

__all__ = ["cluster", "zk"]
N0, N1 = TopicPartition("n", 0), TopicPartition("n", 1)


class Events:
    """What happens to the cluster, and what the controller then hears."""

    def __init__(self, cluster: Cluster) -> None:
        self.zk, self.controller = cluster.zk, cluster.first

    def broker_goes(self) -> None:
        self.zk.delete_path(f"/brokers/ids/{NEW}")
        run(self.controller, self.controller.BrokerChange(self.controller))

    def broker_comes(self) -> None:
        self.zk.register_broker_in_zk(BrokerInfo(broker(NEW), 4, -1))
        run(self.controller, self.controller.BrokerChange(self.controller))

    def create(self, replicas: list[int]) -> None:
        self.zk.create_topic_assignment("n", {N0: replicas})
        run(self.controller, self.controller.TopicChange(self.controller))

    def expand(self, replicas: list[int]) -> None:
        self.zk.set_topic_assignment("n", {N0: replicas, N1: replicas})
        run(self.controller, self.controller.PartitionModifications(self.controller, "n"))

    def joins_isr(self) -> None:
        (_, now), isr = self.state(N0), [NEW, OLD]
        both = {N0: LeaderAndIsr(OLD, now, isr, self._version(N0))}
        assert N0 in self.zk.update_leader_and_isr(both, self.controller.epoch).successful_partitions

    def elects_preferred(self) -> None:
        self.zk.create_preferred_replica_election({N0})
        run(self.controller, self.controller.PreferredReplicaLeaderElection(self.controller))
        assert not self.zk.path_exists(PreferredReplicaElectionZNode.path)

    def state(self, tp: TopicPartition) -> tuple[int, int]:
        """(leader, leader epoch)."""
        found = self.zk.get_topic_partition_state(tp)
        assert found is not None
        assert found.controller_epoch == 1
        return found.leader_and_isr.leader, found.leader_and_isr.leader_epoch

    def _version(self, tp: TopicPartition) -> int:
        found = self.zk.get_topic_partition_state(tp)
        assert found is not None
        return found.leader_and_isr.zk_version


@pytest.fixture
def events(cluster: Cluster) -> Events:
    return Events(cluster)


def epoch_in_zk(cluster: Cluster) -> int:
    found = cluster.zk.get_controller_epoch()
    assert found is not None
    return found[0]


@pytest.mark.ported(
    "ControllerIntegrationTest.testEmptyCluster",
    "ControllerIntegrationTest.testControllerEpochPersistsWhenAllBrokersDown",
    "ControllerIntegrationTest.testControllerMoveIncrementsControllerEpoch",
    changes="the brokers are doubles",
)
def test_each_term_has_its_epoch(cluster: Cluster) -> None:
    assert cluster.zk.get_controller_id() == OLD
    assert epoch_in_zk(cluster) == 1
    cluster.zk.delete_controller()
    assert epoch_in_zk(cluster) == 1
    cluster.take_over()
    assert cluster.zk.get_controller_id() == NEW
    assert epoch_in_zk(cluster) == cluster.second.epoch == 2


@pytest.mark.ported("ControllerIntegrationTest.testTopicCreation", changes="the brokers are doubles")
def test_the_first_replica_leads_a_new_topic(events: Events) -> None:
    events.create([NEW, OLD])
    assert events.state(N0) == (NEW, 0)


@pytest.mark.ported("ControllerIntegrationTest.testTopicPartitionExpansion", changes="the brokers are doubles")
def test_a_topic_grows(events: Events) -> None:
    events.create([OLD])
    events.expand([OLD])
    assert events.state(N1) == (OLD, 0)


@pytest.mark.ported(
    "ControllerIntegrationTest.testTopicCreationWithOfflineReplica",
    "ControllerIntegrationTest.testTopicPartitionExpansionWithOfflineReplica",
    changes="the brokers are doubles",
)
def test_a_replica_that_is_away_does_not_keep_a_partition_from_its_leader(events: Events) -> None:
    events.broker_goes()
    events.create([NEW, OLD])
    events.expand([NEW, OLD])
    assert events.state(N0) == events.state(N1) == (OLD, 0)


@pytest.mark.ported(
    "ControllerIntegrationTest.testPreferredReplicaLeaderElection",
    "ControllerIntegrationTest.testBackToBackPreferredReplicaLeaderElections",
    changes="the brokers are doubles",
)
def test_leadership_goes_back_to_the_preferred_replica_each_time_it_is_asked(events: Events) -> None:
    events.create([NEW, OLD])
    for epoch in (0, 2):
        events.broker_goes()
        assert events.state(N0) == (OLD, epoch + 1)
        events.broker_comes()
        events.joins_isr()
        events.elects_preferred()
        assert events.state(N0) == (NEW, epoch + 2)


@pytest.mark.ported(
    "ControllerIntegrationTest.testPreferredReplicaLeaderElectionWithOfflinePreferredReplica",
    changes="the brokers are doubles",
)
def test_a_preferred_replica_that_is_away_is_not_elected_and_the_wish_is_given_up(events: Events) -> None:
    events.create([NEW, OLD])
    events.broker_goes()
    events.elects_preferred()
    assert events.state(N0) == (OLD, 1)


@pytest.mark.ported(
    "ControllerIntegrationTest.testAutoPreferredReplicaLeaderElection", changes="the task is run by hand"
)
def test_drifted_leadership_is_put_right_from_time_to_time(events: Events) -> None:
    events.create([NEW, OLD])
    events.broker_goes()
    events.broker_comes()
    events.joins_isr()
    controller = events.controller
    run(controller, controller.AutoPreferredReplicaLeaderElection(controller))
    assert events.state(N0) == (NEW, 2)


@pytest.mark.ported(
    "ControllerIntegrationTest.testLeaderAndIsrWhenEntireIsrOfflineAndUncleanLeaderElectionDisabled",
    "ControllerIntegrationTest.testLeaderAndIsrWhenEntireIsrOfflineAndUncleanLeaderElectionEnabled",
    changes="enabled for the topic, not by the broker",
)
@pytest.mark.parametrize("unclean", ["false", "true"])
def test_without_any_replica_nobody_leads_and_the_isr_is_remembered(events: Events, unclean: str) -> None:
    events.zk.set_or_create_entity_configs("topics", "n", {"unclean.leader.election.enable": unclean})
    events.create([NEW])
    assert events.state(N0) == (NEW, 0)
    events.broker_goes()
    assert events.state(N0) == (LeaderAndIsr.NO_LEADER, 1)
    found = events.zk.get_topic_partition_state(N0)
    assert found is not None
    assert found.leader_and_isr.isr == [NEW]


@pytest.mark.ported("ControllerFailoverTest.testHandleIllegalStateException", changes="the brokers are doubles")
def test_a_controller_that_cannot_tell_the_brokers_resigns_and_another_is_elected(cluster: Cluster) -> None:
    first, second = cluster.first, cluster.second
    assert first.partition_state_machine.partitions_in_state(OnlinePartition)
    first.broker_request_batch.update_metadata_request_broker_set.add(OLD)
    with pytest.raises(IllegalStateException, match="test"):
        first.handle_illegal_state(IllegalStateException("for the test"))
    assert not first.kafka_scheduler.is_started
    assert not first.is_active
    assert cluster.zk.get_controller_id() is None
    first.broker_request_batch.new_batch()  # nothing is left in it
    run(second, second.Reelect(second))
    assert second.is_active
    assert second.epoch == 2


class Notice(ControllerEvent):
    """Tells that all events before it have been processed."""

    state = ControllerState.ControllerChange

    def __init__(self, done: CountDownLatch) -> None:
        self._done = done

    def process(self) -> None:
        self._done.count_down()


class TestMove:
    """Another broker has become the controller, and the first one has not heard of it.

    The first test does what testControllerMoveOn... of ControllerIntegrationTest do from 2.2 on.
    """

    @pytest.fixture
    def moved(self, cluster: Cluster) -> Cluster:
        cluster.zk.delete_controller()
        assert cluster.zk.register_controller_and_increment_controller_epoch(NEW) == (2, 2)
        assert cluster.first.is_active
        return cluster

    def process(self, controller: KafkaController, event: ControllerEvent) -> None:
        """On the controller's own thread, which asks who the controller is when the event has failed."""
        done = CountDownLatch(1)
        controller.event_manager.put(event)
        controller.event_manager.put(Notice(done))
        controller.event_manager.start()
        assert done.await_(10_000)
        controller.event_manager.close()

    def nodes(self, cluster: Cluster) -> dict[str, tuple[bytes | None, int]]:
        states = [f"/brokers/topics/{name}/partitions/0/state" for name in "tn"]
        wishes = [f"/admin/{name}" for name in ("reassign_partitions", "preferred_replica_election")]
        deletions = [f"/admin/delete_topics/{name}" for name in ("t", "nosuch")]
        paths = ["/brokers/topics/t", *states, *wishes, *deletions]
        return {path: cluster.zk.get_data_and_version(path) for path in paths}

    @pytest.mark.parametrize("wish", ["create", "delete", "elect", "reassign", "bury a broker"])
    def test_what_it_writes_is_refused_and_it_resigns(
        self, moved: Cluster, wish: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        zk, controller = moved.zk, moved.first
        if wish == "create":
            zk.create_topic_assignment("n", {N0: [OLD]})
            event: ControllerEvent = controller.TopicChange(controller)
        elif wish == "delete":
            zk.create_delete_topic_path("t")
            zk.create_delete_topic_path("nosuch")  # whose wish the controller takes off the list
            event = controller.TopicDeletion(controller)
        elif wish == "elect":
            zk.create_preferred_replica_election({T0})
            event = controller.PreferredReplicaLeaderElection(controller)
        elif wish == "reassign":
            zk.create_partition_reassignment({T0: [NEW]})
            event = controller.PartitionReassignment(controller)
        else:
            zk.delete_path(f"/brokers/ids/{OLD}")
            event = controller.BrokerChange(controller)
        before = self.nodes(moved)
        with caplog.at_level("INFO"):
            self.process(controller, event)
        assert self.nodes(moved) == before
        assert "Controller moved to another broker when processing" in caplog.text
        assert controller.active_controller_id == NEW
        assert controller.controller_context.controller_channel_manager is None, "it has resigned"
        assert zk.get_controller_id() == NEW

    def test_who_cannot_go_on_leaves_the_other_ones_office_alone(self, moved: Cluster) -> None:
        with pytest.raises(IllegalStateException):
            moved.first.handle_illegal_state(IllegalStateException("for the test"))
        assert moved.first.active_controller_id == NEW
        assert moved.first.controller_context.controller_channel_manager is None
        assert moved.zk.get_controller_id() == NEW

    def test_who_cannot_go_on_resigns_though_the_other_comes_in_between(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        resign = cluster.first._on_controller_resignation

        def and_another_comes() -> None:
            resign()
            cluster.zk.delete_controller()
            cluster.zk.register_controller_and_increment_controller_epoch(NEW)

        monkeypatch.setattr(cluster.first, "_on_controller_resignation", and_another_comes)
        with pytest.raises(IllegalStateException):
            cluster.first.handle_illegal_state(IllegalStateException("for the test"))
        assert not cluster.first.is_active
        assert cluster.zk.get_controller_id() == NEW

    def test_who_is_elected_and_moved_at_once_resigns(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        cluster.zk.delete_controller()
        second = cluster.second
        initialize = second._initialize_controller_context

        def and_another_comes() -> None:
            initialize()
            cluster.zk.delete_controller()
            cluster.zk.register_controller_and_increment_controller_epoch(OLD)
            cluster.zk.delete_path(f"/brokers/ids/{OLD}")
            second.controller_context.set_live_broker_and_epochs({broker(NEW): 1})

        monkeypatch.setattr(second, "_initialize_controller_context", and_another_comes)
        run(second, second.Reelect(second))
        assert second.active_controller_id == OLD
        assert second.controller_context.controller_channel_manager is None
        assert second.controller_context.epoch_zk_version == 0
