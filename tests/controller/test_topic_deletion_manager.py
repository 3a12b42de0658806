"""How a topic is deleted, halted and resumed: the real state machines, over doubles of ZooKeeper and the brokers."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.partition_state_machine import PartitionStateMachine
from kafka_py.controller.replica_state_machine import (
    OfflineReplica,
    OnlineReplica,
    ReplicaDeletionIneligible,
    ReplicaDeletionStarted,
    ReplicaStateMachine,
)
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.controller.topic_deletion_manager import TopicDeletionManager
from tests.controller.fakes import CONTROLLER_EPOCH, FakeZkClient, RecordingBatch, broker

ME, OTHER = 1, 2
T0 = TopicPartition("t", 0)
ON_ME, ON_OTHER = PartitionAndReplica(T0, ME), PartitionAndReplica(T0, OTHER)


class Deletion:
    """The parts of a controller that delete topics; the topic t has one partition, led by ME, with a copy on OTHER."""

    def __init__(self, live: Collection[int] = (ME, OTHER), enabled: bool = True) -> None:
        self.controller_context = context = ControllerContext()
        context.epoch = CONTROLLER_EPOCH
        self.config = cast("Any", SimpleNamespace(broker_id=ME, originals=dict, delete_topic_enable=enabled))
        self.zk, self.batch = FakeZkClient(), RecordingBatch()
        self.events: list[Any] = []
        self.forgotten: list[str] = []  # topics whose partitions are not watched any more
        self.told: list[set[TopicPartition]] = []  # what each UpdateMetadata was about
        manager: Any = SimpleNamespace(put=self.events.append)
        self.manager = TopicDeletionManager(cast("Any", self), manager, cast("Any", self.zk))
        self.replica_state_machine = ReplicaStateMachine(*self._parts())
        self.partition_state_machine = PartitionStateMachine(*self._parts())
        self.lives(*live)
        self.create("t")
        self.replica_state_machine.startup()
        self.partition_state_machine.startup()
        self.batch.stop_replica.clear()

    def _parts(self) -> tuple[Any, ...]:
        logger = StateChangeLogger(ME, in_controller_context=True)
        return self.config, logger, self.controller_context, self.manager, self.zk, {}, self.batch

    def create(self, topic: str) -> None:
        tp, context = TopicPartition(topic, 0), self.controller_context
        context.all_topics = context.all_topics | {topic}
        context.partition_replica_assignment[tp] = [ME, OTHER]
        state = LeaderIsrAndControllerEpoch(LeaderAndIsr.create(ME, [ME, OTHER]), CONTROLLER_EPOCH)
        context.partition_leadership_info[tp] = self.zk.states[tp] = state

    def lives(self, *brokers: int) -> None:
        self.controller_context.set_live_broker_and_epochs({broker(id): 0 for id in brokers})

    def comes_back(self, broker_id: int) -> None:
        """What KafkaController.on_broker_startup does about replicas, and then about topics."""
        self.lives(ME, OTHER)
        replicas = self.controller_context.replicas_on_brokers({broker_id})
        self.replica_state_machine.handle_state_changes(sorted(replicas), OnlineReplica)
        self.manager.resume_deletion_for_topics({replica.topic for replica in replicas})

    def unregister_partition_modifications_handlers(self, topics: Collection[str]) -> None:
        self.forgotten += topics

    def send_update_metadata_request(self, brokers: Collection[int], partitions: Collection[TopicPartition]) -> None:
        assert not any(delete for _, _, delete in self.batch.stop_replica), "brokers forget a topic before its replicas"
        self.told.append(set(partitions))

    def TopicDeletionStopReplicaResponseReceived(self, controller: object, response: object, id: int) -> object:  # noqa: N802 -- the event's name
        return response, id

    @property
    def deleted_on(self) -> list[int]:
        """The brokers that were told to delete their copy, since this was asked last."""
        found = [id for ids, _, delete in self.batch.stop_replica if delete for id in ids]
        self.batch.stop_replica.clear()
        return found

    @property
    def gone(self) -> bool:
        zk_knows = self.zk.deleted_topics == self.zk.deletions_removed == ["t"]
        context = self.controller_context
        nothing_left = not (context.all_topics or context.partition_replica_assignment or self.zk_queue)
        return zk_knows and nothing_left and self.forgotten == ["t"]

    @property
    def zk_queue(self) -> set[object]:
        m = self.manager
        return {*m.topics_to_be_deleted, *m.partitions_to_be_deleted}


def test_a_topic_is_gone_when_each_broker_has_deleted_its_copy() -> None:
    d = Deletion()
    d.manager.enqueue_topics_for_deletion({"t"})
    assert d.told == [{T0}]
    assert d.deleted_on == [ME, OTHER]
    assert d.manager.is_topic_queued_up_for_deletion("t")
    assert d.manager.is_partition_to_be_deleted(T0)
    d.manager.complete_replica_deletion({ON_ME})
    assert d.zk.deleted_topics == []
    d.manager.complete_replica_deletion({ON_OTHER})
    assert d.gone
    assert d.told == [{T0}]
    assert d.deleted_on == []


def test_answers_become_events() -> None:
    d = Deletion()
    d.manager.enqueue_topics_for_deletion({"t"})
    for callback, id in zip(d.batch.callbacks[-2:], (ME, OTHER), strict=True):
        callback("answer", id)
    assert d.events == [("answer", ME), ("answer", OTHER)]
    assert d.replica_state_machine.replicas_in_state("t", ReplicaDeletionStarted) == {ON_ME, ON_OTHER}


def test_answers_about_topics_that_nobody_deletes_do_nothing() -> None:
    d = Deletion()
    d.manager.complete_replica_deletion({ON_ME})
    d.manager.fail_replica_deletion({ON_OTHER})
    d.manager.resume_deletion_for_topics({"t"})
    assert d.replica_state_machine.replicas_in_state("t", OnlineReplica) == {ON_ME, ON_OTHER}
    assert d.deleted_on == []


def test_a_copy_on_a_dead_broker_halts_the_topic_until_the_broker_is_back() -> None:
    d = Deletion(live=[ME])
    d.manager.enqueue_topics_for_deletion({"t"})
    assert d.deleted_on == [ME]
    assert d.manager.topics_ineligible_for_deletion == {"t"}
    d.manager.complete_replica_deletion({ON_ME})
    d.manager.try_topic_deletion()
    assert d.deleted_on == []
    assert d.zk.deleted_topics == []
    d.comes_back(OTHER)
    assert d.manager.topics_ineligible_for_deletion == set()
    assert d.deleted_on == [OTHER], "what is deleted already is not deleted again"
    d.manager.complete_replica_deletion({ON_OTHER})
    assert d.gone


def test_a_copy_that_could_not_be_deleted_is_tried_again_when_something_has_changed() -> None:
    d = Deletion()
    d.manager.enqueue_topics_for_deletion({"t"})
    d.manager.complete_replica_deletion({ON_ME})
    assert d.deleted_on == [ME, OTHER]
    d.manager.fail_replica_deletion({ON_OTHER})
    assert d.manager.topics_ineligible_for_deletion == {"t"}
    assert d.deleted_on == [], "not at once: it would fail again"
    assert d.replica_state_machine.replicas_in_state("t", OfflineReplica) == {ON_OTHER}
    d.manager.try_topic_deletion()
    assert d.deleted_on == []
    d.manager.resume_deletion_for_topics({"t"})
    assert d.deleted_on == [OTHER]
    d.manager.complete_replica_deletion({ON_OTHER})
    assert d.gone


def test_a_failure_while_others_are_under_way_waits_for_them() -> None:
    d = Deletion()
    d.manager.enqueue_topics_for_deletion({"t"})
    d.manager.fail_replica_deletion({ON_OTHER})
    states = d.replica_state_machine
    assert states.replicas_in_state("t", ReplicaDeletionIneligible) == {ON_OTHER}
    assert states.replicas_in_state("t", ReplicaDeletionStarted) == {ON_ME}
    d.manager.complete_replica_deletion({ON_ME})
    assert states.replicas_in_state("t", OfflineReplica) == {ON_OTHER}, "ready for the next try"


def test_a_topic_that_is_halted_first_is_not_begun() -> None:
    d = Deletion()
    d.manager.mark_topic_ineligible_for_deletion({"t"})
    assert d.manager.topics_ineligible_for_deletion == set(), "only what is to be deleted is halted"
    d.manager.init({"t"}, {"t", "other"})  # as after an election in the middle of a reassignment
    assert d.manager.topics_ineligible_for_deletion == {"t"}
    d.manager.try_topic_deletion()
    assert d.deleted_on == []
    assert d.told == []
    d.manager.resume_deletion_for_topics({"other"})
    assert d.deleted_on == []
    d.manager.resume_deletion_for_topics({"t"})
    assert d.deleted_on == [ME, OTHER]


def test_topics_do_not_wait_for_one_that_is_halted() -> None:
    d = Deletion()
    d.create("u")
    d.replica_state_machine.startup()
    d.partition_state_machine.startup()
    d.batch.stop_replica.clear()
    d.manager.init({"t", "u"}, {"u"})
    d.manager.try_topic_deletion()
    assert d.told == [{T0}]
    for replica in (ON_ME, ON_OTHER):
        d.manager.complete_replica_deletion({replica})
    assert d.zk.deleted_topics == ["t"]
    assert d.controller_context.all_topics == {"u"}


def test_a_second_wish_does_not_start_it_twice() -> None:
    d = Deletion()
    d.manager.enqueue_topics_for_deletion({"t"})
    d.batch.stop_replica.clear()
    d.manager.enqueue_topics_for_deletion({"t"})
    assert d.deleted_on == []
    assert d.told == [{T0}]


def test_who_resigns_forgets_it() -> None:
    d = Deletion()
    d.manager.init({"t"}, {"t"})
    d.manager.reset()
    assert (d.zk_queue, d.manager.topics_ineligible_for_deletion) == (set(), set())


@pytest.mark.parametrize("wish", ["before the election", "after it"])
def test_where_topics_may_not_be_deleted_no_wish_is_kept(wish: str) -> None:
    d = Deletion(enabled=False)
    if wish == "before the election":
        d.manager.init({"t"}, set())
        assert d.zk.deletions_removed == ["t"]
    else:
        d.manager.enqueue_topics_for_deletion({"t"})
    for go_on in (d.manager.try_topic_deletion, d.manager.reset):
        go_on()
    d.manager.resume_deletion_for_topics({"t"})
    assert (d.deleted_on, d.told, d.zk_queue) == ([], [], set())
    assert not d.manager.is_topic_queued_up_for_deletion("t")
    assert not d.manager.is_partition_to_be_deleted(T0)
