"""What a controller writes once another broker is the controller: nothing (KAFKA-6082), against both servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.common.errors import ControllerMovedException, IllegalArgumentException, IllegalStateException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.zk.controller_epoch_check import wrap_request_with_controller_epoch_check
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zookeeper.keeper_exception import Code, KeeperException, NoNodeException
from kafka_py.zookeeper.requests import AsyncRequest, GetDataRequest, MultiRequest, MultiResponse
from tests.zk.test_kafka_zk_client import info, other, state, zk

__all__ = ["other", "zk"]
T0, T1 = TopicPartition("topic", 0), TopicPartition("topic", 1)
VERSION = 1
Write = Callable[[KafkaZkClient, int], Any]


@pytest.fixture
def cluster(zk: KafkaZkClient) -> KafkaZkClient:
    """Broker 1 is the controller, and there is one of all that a controller writes or deletes."""
    zk.create_top_level_paths()
    zk.create_recursive("/delete/some/random/path")
    assert zk.register_controller_and_increment_controller_epoch(1) == (1, VERSION)
    zk.create_topic_assignment("topic", {T0: [1], T1: [1]})
    zk.create_topic_partition_states_raw({T0: LeaderIsrAndControllerEpoch(state(1, [1]), 1)})
    zk.set_or_create_entity_configs("topics", "topic", {"retention.ms": "1"})
    zk.propagate_isr_changes([T0])
    zk.propagate_log_dir_event(1)
    zk.create_delete_topic_path("topic")
    zk.create_partition_reassignment({T0: [2]})
    zk.create_preferred_replica_election([T0])
    return zk


WRITES: dict[str, tuple[Write, str, bytes | None]] = {
    "the state of a partition": (
        lambda zk, version: zk.update_leader_and_isr({T0: state(2, [2])}, 1, version),
        "/brokers/topics/topic/partitions/0/state",
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2]}',
    ),
    "the state of a new partition": (
        lambda zk, version: zk.create_topic_partition_states_raw(
            {T1: LeaderIsrAndControllerEpoch(state(1, [1]), 1)}, version
        ),
        "/brokers/topics/topic/partitions/1/state",
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1]}',
    ),
    "the replicas of a topic": (
        lambda zk, version: zk.set_topic_assignment_raw("topic", {T0: [3]}, version),
        "/brokers/topics/topic",
        b'{"version":1,"partitions":{"0":[3]}}',
    ),
    "what is left to move": (
        lambda zk, version: zk.set_or_create_partition_reassignment({T1: [3]}, version),
        "/admin/reassign_partitions",
        b'{"version":1,"partitions":[{"topic":"topic","partition":1,"replicas":[3]}]}',
    ),
    "that all is moved": (
        lambda zk, version: zk.delete_partition_reassignment(version),
        "/admin/reassign_partitions",
        None,
    ),
    "that an election was held": (
        lambda zk, version: zk.delete_preferred_replica_election(version),
        "/admin/preferred_replica_election",
        None,
    ),
    "that a topic is deleted": (
        lambda zk, version: zk.delete_topic_deletions(["topic"], version),
        "/admin/delete_topics/topic",
        None,
    ),
    "the end of a topic": (
        lambda zk, version: zk.delete_topic_znode("topic", version),
        "/brokers/topics/topic",
        None,
    ),
    "the end of its overrides": (
        lambda zk, version: zk.delete_topic_configs(["topic"], version),
        "/config/topics/topic",
        None,
    ),
    "that an ISR is known": (
        lambda zk, version: zk.delete_isr_change_notifications(["0000000000"], version),
        "/isr_change_notification/isr_change_0000000000",
        None,
    ),
    "that all ISRs are known": (
        lambda zk, version: zk.delete_isr_change_notifications(None, version),
        "/isr_change_notification/isr_change_0000000000",
        None,
    ),
    "that a failed directory is known": (
        lambda zk, version: zk.delete_log_dir_event_notifications(["0000000000"], version),
        "/log_dir_event_notification/log_dir_event_0000000000",
        None,
    ),
    "that all failed directories are known": (
        lambda zk, version: zk.delete_log_dir_event_notifications(None, version),
        "/log_dir_event_notification/log_dir_event_0000000000",
        None,
    ),
    "its resignation": (lambda zk, version: zk.delete_controller(version), "/controller", None),
}


@pytest.mark.parametrize("write", WRITES)
def test_only_the_last_controller_writes(cluster: KafkaZkClient, write: str) -> None:
    act, path, written = WRITES[write]
    before = cluster.get_data_and_stat(path)
    with pytest.raises(ControllerMovedException, match="Expected zkVersion = 2"):
        act(cluster, VERSION + 1)
    assert cluster.get_data_and_stat(path) == before
    act(cluster, VERSION)
    assert cluster.get_data_and_stat(path)[0] == written, "the bytes are those of Kafka 1.1.1"


def test_deleting_with_what_is_below(cluster: KafkaZkClient) -> None:
    """As KafkaZkClientTest.testDeleteRecursiveWithControllerEpochVersionCheck from 2.2 on."""
    assert not cluster.delete_recursive("/delete/does-not-exist", VERSION)
    with pytest.raises(ControllerMovedException):
        cluster.delete_recursive("/delete", VERSION + 1)
    assert cluster.path_exists("/delete/some/random/path")
    assert cluster.delete_recursive("/delete", VERSION)
    assert not cluster.path_exists("/delete")


def test_results_are_those_of_the_request_itself(cluster: KafkaZkClient) -> None:
    """A node that is not there, or has another version, is no reason to resign."""
    (written,) = cluster.set_topic_partition_states_raw({T0: LeaderIsrAndControllerEpoch(state(1, [1]), 1)}, VERSION)
    assert (written.result_code, written.ctx, written.stat.version) == (Code.OK, T0, 1)
    states = {tp: LeaderIsrAndControllerEpoch(state(1, [1]), 1) for tp in (T0, T1)}
    answers = cluster.set_topic_partition_states_raw(states, VERSION)
    assert [answer.result_code for answer in answers] == [Code.BADVERSION, Code.NONODE]
    created = cluster.create_topic_partition_states_raw(states, VERSION)
    assert [(answer.result_code, answer.name, answer.ctx) for answer in created] == [
        (Code.NODEEXISTS, None, T0),
        (Code.OK, "/brokers/topics/topic/partitions/1/state", T1),
    ]
    result = cluster.update_leader_and_isr({T0: state(2, [2], 1), T1: state(2, [2], 5)}, 1, VERSION)
    assert (list(result.successful_partitions), result.partitions_to_retry) == ([T0], [T1])
    cluster.delete_topic_deletions(["topic", "absent"], VERSION)
    assert cluster.get_topic_deletions() == []


def test_an_epoch_that_is_gone_is_an_error_of_its_own(cluster: KafkaZkClient) -> None:
    cluster.delete_path("/controller_epoch")
    with pytest.raises(NoNodeException, match="/controller_epoch"):
        cluster.delete_preferred_replica_election(VERSION)
    failed = cluster.update_leader_and_isr({T0: state(2, [2])}, 1, VERSION).failed_partitions
    assert isinstance(failed[T0], NoNodeException)


def test_versions_and_requests_that_make_no_sense(cluster: KafkaZkClient) -> None:
    with pytest.raises(IllegalArgumentException, match="-2"):
        cluster.delete_controller(-2)
    with pytest.raises(IllegalStateException, match="does not need"):
        wrap_request_with_controller_epoch_check(GetDataRequest("/"), 0)


class TestRegistration:
    @pytest.mark.ported("KafkaZkClientTest.testControllerManagementMethods")
    def test_each_controller_has_the_next_epoch(self, zk: KafkaZkClient, other: KafkaZkClient) -> None:
        assert zk.register_controller_and_increment_controller_epoch(1) == (1, 1)
        assert zk.get_data_and_version("/controller_epoch") == (b"1", 1), "as 1.1.1 leaves it"
        assert zk.get_controller_id() == 1
        with pytest.raises(ControllerMovedException):
            other.register_controller_and_increment_controller_epoch(2)
        assert zk.get_data_and_version("/controller_epoch") == (b"1", 1), "who loses takes no epoch"
        with pytest.raises(ControllerMovedException):
            zk.delete_controller(0)
        zk.delete_controller(1)
        assert zk.get_controller_id() is None
        assert other.register_controller_and_increment_controller_epoch(2) == (2, 2)
        assert zk.get_controller_id() == 2

    def test_a_controller_that_comes_and_goes_in_between_is_seen(
        self, zk: KafkaZkClient, other: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert zk.register_controller_and_increment_controller_epoch(1) == (1, 1)
        zk.delete_controller(1)
        send = zk._zoo_keeper_client.handle_requests

        def after_another(requests: list[AsyncRequest[Any]]) -> Any:
            if isinstance(requests[0], MultiRequest):
                assert other.set_controller_epoch_raw(2, 1).result_code is Code.OK
            return send(requests)

        monkeypatch.setattr(zk._zoo_keeper_client, "handle_requests", after_another)
        with pytest.raises(ControllerMovedException, match="went away"):
            zk.register_controller_and_increment_controller_epoch(1)
        assert zk.get_controller_id() is None

    def lose_the_first_answer(self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
        send, losses = zk._zoo_keeper_client.handle_requests, [True]

        def losing(requests: list[AsyncRequest[Any]]) -> Any:
            answers = send(requests)
            if isinstance(requests[0], MultiRequest) and losses:
                losses.pop()
                return [MultiResponse(Code.CONNECTIONLOSS, "", None, answers[0].metadata, None)]
            return answers

        monkeypatch.setattr(zk._zoo_keeper_client, "handle_requests", losing)

    def test_an_election_whose_answer_was_lost_is_won_all_the_same(
        self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.lose_the_first_answer(zk, monkeypatch)
        assert zk.register_controller_and_increment_controller_epoch(1) == (1, 1)

    def test_a_broker_whose_answer_was_lost_knows_its_epoch_all_the_same(
        self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zk.create_top_level_paths()
        self.lose_the_first_answer(zk, monkeypatch)
        epoch = zk.register_broker_in_zk(info(1))
        assert zk.get_all_broker_and_epochs_in_cluster() == {info(1).broker: epoch}

    def test_without_an_answer_at_all_nothing_is_won(self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
        zk.create_controller_epoch_raw(0)
        send = zk._zoo_keeper_client.handle_requests

        def expired(requests: list[AsyncRequest[Any]]) -> Any:
            if isinstance(requests[0], MultiRequest):
                (read,) = send([GetDataRequest("/")])
                return [MultiResponse(Code.SESSIONEXPIRED, "", None, read.metadata, None)]
            return send(requests)

        monkeypatch.setattr(zk._zoo_keeper_client, "handle_requests", expired)
        for act in (
            lambda: zk.register_controller_and_increment_controller_epoch(1),
            lambda: zk.delete_controller(0),
            lambda: zk.register_broker_in_zk(info(1)),
        ):
            with pytest.raises(KeeperException, match="Session expired"):
                act()
