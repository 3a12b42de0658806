"""A controller dies after each step of a reassignment, and the next one brings it to its end.

ZooKeeper is real, the brokers are doubles: they write down what they are told, and the test lets the new copy catch up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.controller.kafka_controller import KafkaController
from kafka_py.zk.zk_data import BrokerInfo, ReassignPartitionsZNode
from tests.controller.cluster import NEW, OLD, Cluster, cluster
from tests.controller.fakes import broker
from tests.controller.test_kafka_controller import T0, run, zk

__all__ = ["cluster", "zk"]
Step = tuple[int, Callable[[KafkaController], object], str, int, bool]


class ControllerDied(BaseException):
    """Not an Exception: nothing that a controller does about failures may happen."""


def moves(controller: KafkaController) -> object:
    return controller.reassignment


def replicas(controller: KafkaController) -> object:
    return controller.replica_state_machine


def partitions(controller: KafkaController) -> object:
    return controller.partition_state_machine


def itself(controller: KafkaController) -> object:
    return controller


# step, whose method, which call of it, whether the controller dies after it (or before), for OAR = {1}, RAR = {2}
STEPS: list[Step] = [
    (1, moves, "_update_assigned_replicas_for_partition", 1, True),
    (2, moves, "_update_leader_epoch_and_send_request", 1, True),
    (3, moves, "_start_new_replicas_for_reassigned_partition", 1, True),
    (4, moves, "_are_replicas_in_isr", 2, True),
    (5, replicas, "handle_state_changes", 2, True),
    (6, partitions, "handle_state_changes", 1, False),
    (7, moves, "_move_reassigned_partition_leader_if_required", 1, True),
    (8, replicas, "handle_state_changes", 3, True),
    (9, moves, "_stop_old_replicas_of_reassigned_partition", 1, True),
    (10, moves, "_update_assigned_replicas_for_partition", 2, True),
    (11, moves, "_remove_partition_from_reassigned_partitions", 1, True),
    (12, itself, "send_update_metadata_request", 1, True),
]


def dies_at(controller: KafkaController, step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare the controller's death."""
    _, of, name, nth, after = step
    target, calls = of(controller), 0
    method = getattr(target, name)

    def last(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == nth and not after:
            raise ControllerDied
        result = method(*args, **kwargs)
        if calls == nth:
            raise ControllerDied
        return result

    monkeypatch.setattr(target, name, last)


def assert_moved(cluster: Cluster, controller: KafkaController) -> None:
    assert controller.is_active
    assert cluster.zk.get_replica_assignment_for_topics(["t"]) == {T0: [NEW]}
    assert (cluster.state.leader, cluster.state.isr) == (NEW, [NEW])
    assert not cluster.zk.path_exists(ReassignPartitionsZNode.path)
    assert (OLD, T0) in cluster.brokers.deleted
    assert cluster.brokers.led_by[NEW] == NEW
    context = controller.controller_context
    assert context.partitions_being_reassigned == {}
    assert context.partition_replica_assignment == {T0: [NEW]}


@pytest.mark.ported("ControllerIntegrationTest.testPartitionReassignment", changes="the brokers are doubles")
def test_a_move_that_nobody_interrupts(cluster: Cluster) -> None:
    cluster.reassign(cluster.first)
    assert cluster.zk.get_replica_assignment_for_topics(["t"]) == {T0: [NEW, OLD]}
    assert (cluster.state.leader, cluster.state.leader_epoch, cluster.state.isr) == (OLD, 1, [OLD])
    cluster.catch_up(cluster.first)
    assert_moved(cluster, cluster.first)
    assert cluster.state.leader_epoch == 3, "the move begins, another leads, the old one is out of the ISR"


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"after step {step[0]}")
def test_the_next_controller_ends_what_a_dead_one_began(
    cluster: Cluster, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_at(cluster.first, step, monkeypatch)
    only_begun = step[0] <= 3
    if not only_begun:
        cluster.reassign(cluster.first)
    with pytest.raises(ControllerDied):
        (cluster.reassign if only_begun else cluster.catch_up)(cluster.first)
    before = cluster.state.leader_epoch
    cluster.take_over()
    if only_begun:
        cluster.catch_up(cluster.second)
    assert_moved(cluster, cluster.second)
    assert cluster.second.epoch > 1
    assert cluster.state.leader_epoch >= before


@pytest.mark.ported(
    "ControllerIntegrationTest.testPartitionReassignmentWithOfflineReplicaHaltingProgress",
    changes="the brokers are doubles",
)
@pytest.mark.ported(
    "ControllerIntegrationTest.testPartitionReassignmentResumesAfterReplicaComesOnline",
    changes="the brokers are doubles",
)
def test_a_move_whose_new_broker_is_away_waits_for_it(cluster: Cluster) -> None:
    controller = cluster.first
    cluster.zk.delete_path(f"/brokers/ids/{NEW}")
    run(controller, controller.BrokerChange(controller))
    cluster.reassign(controller)
    assert (cluster.state.leader, cluster.state.leader_epoch, cluster.state.isr) == (OLD, 1, [OLD])
    assert cluster.zk.path_exists(ReassignPartitionsZNode.path)
    cluster.zk.register_broker_in_zk(BrokerInfo(broker(NEW), 4, -1))
    run(controller, controller.BrokerChange(controller))
    assert cluster.brokers.led_by[NEW] == OLD, "it is told whom to fetch from"
    cluster.catch_up(controller)
    assert_moved(cluster, controller)
    assert cluster.state.leader_epoch == 4, "the move was begun twice"
