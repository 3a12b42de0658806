"""Who leads in which epoch when brokers go and come, with and without unclean election."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_py.common.errors import ConfigException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from tests.controller.double_brokers import Brokers
from tests.controller.test_kafka_controller import zk

__all__ = ["zk"]
TP = TopicPartition("new-topic", 0)


@pytest.fixture
def brokers(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Brokers]:
    """Three, of which the first is only the controller; the topic is on the other two."""
    made = Brokers(zk, monkeypatch, 3, {"unclean.leader.election.enable": "true"})
    made.create_topic(TP.topic, {TP.partition: [1, 2]})
    yield made
    made.close()


def leader_and_epoch(brokers: Brokers) -> tuple[int, int]:
    state = brokers.state(TP)
    return state.leader, state.leader_epoch


@pytest.mark.ported("LeaderElectionTest.testLeaderElectionAndEpoch", changes="the brokers are doubles")
@pytest.mark.parametrize("in_sync", [True, False], ids=["in sync", "not in sync"])
def test_each_change_is_a_new_epoch(brokers: Brokers, in_sync: bool) -> None:
    assert leader_and_epoch(brokers) == (1, 0)
    brokers.stop(2)
    assert leader_and_epoch(brokers) == (1, 1)
    assert brokers.state(TP).isr == [1]
    brokers.start(2)
    if in_sync:
        brokers.joins_isr(TP, [1, 2])
    brokers.stop(1)
    assert leader_and_epoch(brokers) == (2, 2)
    assert brokers.state(TP).isr == [2]


@pytest.mark.ported("UncleanLeaderElectionTest.testUncleanLeaderElectionInvalidTopicOverride")
def test_whether_election_may_be_unclean_is_true_or_false(brokers: Brokers) -> None:
    override = {"unclean.leader.election.enable": "invalid"}
    with pytest.raises(ConfigException):
        brokers.admin.create_or_update_topic_partition_assignment_path_in_zk("t", {0: [1]}, override)
    assert not brokers.zk.topic_exists("t")
