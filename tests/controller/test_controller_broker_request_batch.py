"""What one event tells the brokers: grouped by broker, in one order, and whole or not at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.api.api_version import (
    KAFKA_0_8_2,
    KAFKA_0_9_0,
    KAFKA_0_10_0_IV1,
    KAFKA_0_10_2_IV0,
    KAFKA_1_0_IV0,
    ApiVersion,
)
from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.controller_channel_manager import ControllerBrokerRequestBatch
from kafka_py.controller.controller_context import ControllerContext
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.replica_state_machine import ignore_response
from kafka_py.controller.state_change_logger import StateChangeLogger
from tests.controller.fakes import CONTROLLER_EPOCH, broker

ME, OTHER, GONE = 1, 2, 3
T0, T1, T2 = (TopicPartition("t", n) for n in range(3))


class FakeController:
    """Writes down what it is asked to send, and may refuse a kind of request."""

    def __init__(self, ibp: ApiVersion = KAFKA_1_0_IV0) -> None:
        self.controller_context = ControllerContext()
        self.controller_context.set_live_broker_and_epochs({broker(ME): 11, broker(OTHER): 12})
        self.config = SimpleNamespace(
            broker_id=ME,
            inter_broker_protocol_version=ibp,
            inter_broker_listener_name=ListenerName.for_security_protocol(SecurityProtocol.PLAINTEXT),
        )
        self.topic_deletion_manager = SimpleNamespace(partitions_to_be_deleted=set())
        self.events: list[tuple[Any, int]] = []
        self.event_manager = SimpleNamespace(put=self.events.append)
        self.sent: list[tuple[int, ApiKeys, Any, Any]] = []
        self.refused: ApiKeys | None = None

    def send_request(self, broker_id: int, api_key: ApiKeys, request: Any, callback: Any = None) -> None:
        if api_key is self.refused:
            raise OSError("no way to that broker")
        self.sent.append((broker_id, api_key, request, callback))

    def LeaderAndIsrResponseReceived(self, controller: object, response: object, broker_id: int) -> tuple[object, int]:  # noqa: N802 -- the event's name
        assert controller is self
        return response, broker_id

    def to(self, api_key: ApiKeys) -> list[tuple[int, Any]]:
        """(broker, request as the broker reads it) of each request of that kind."""
        return [(id, request.build()) for id, key, request, _ in self.sent if key is api_key]

    def lead(self, tp: TopicPartition, leader: int, replicas: list[int]) -> LeaderIsrAndControllerEpoch:
        state = LeaderIsrAndControllerEpoch(LeaderAndIsr.create(leader, replicas), CONTROLLER_EPOCH)
        self.controller_context.partition_replica_assignment[tp] = replicas
        self.controller_context.partition_leadership_info[tp] = state
        return state


@pytest.fixture
def controller() -> FakeController:
    return FakeController()


@pytest.fixture
def batch(controller: FakeController) -> ControllerBrokerRequestBatch:
    return batch_of(controller)


def batch_of(controller: FakeController) -> ControllerBrokerRequestBatch:
    logger = StateChangeLogger(ME, in_controller_context=True)
    return ControllerBrokerRequestBatch(cast("Any", controller), logger)


def everything(batch: ControllerBrokerRequestBatch, controller: FakeController) -> None:
    """An event that leads one partition anew and stops a replica of another."""
    batch.new_batch()
    batch.add_stop_replica_request_for_brokers([OTHER], T1, delete_partition=False, callback=lambda *_: None)
    batch.add_leader_and_isr_request_for_brokers(
        [ME, OTHER], T0, controller.lead(T0, ME, [ME, OTHER]), [ME, OTHER], True
    )


def test_leaders_are_named_first_then_metadata_then_what_stops(
    batch: ControllerBrokerRequestBatch, controller: FakeController
) -> None:
    everything(batch, controller)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    kinds = [key for _, key, _, _ in controller.sent]
    order = [ApiKeys.LEADER_AND_ISR] * 2 + [ApiKeys.UPDATE_METADATA] * 2 + [ApiKeys.STOP_REPLICA]
    assert kinds == order
    batch.new_batch()  # nothing is left of the last one


def test_a_broker_gets_one_request_of_a_kind_with_all_its_partitions(
    batch: ControllerBrokerRequestBatch, controller: FakeController
) -> None:
    batch.new_batch()
    for tp, brokers in ((T0, [ME, OTHER]), (T1, [OTHER]), (T2, [OTHER])):
        batch.add_leader_and_isr_request_for_brokers(brokers, tp, controller.lead(tp, OTHER, brokers), brokers, False)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    told = {id: set(request.partition_states()) for id, request in controller.to(ApiKeys.LEADER_AND_ISR)}
    assert told == {ME: {T0}, OTHER: {T0, T1, T2}}
    metadata = {id: set(request.partition_states()) for id, request in controller.to(ApiKeys.UPDATE_METADATA)}
    assert metadata == {id: {T0, T1, T2} for id in (ME, OTHER)}, "every live broker hears of every change"


def test_a_replica_that_was_new_in_the_batch_stays_new(
    batch: ControllerBrokerRequestBatch, controller: FakeController
) -> None:
    batch.new_batch()
    state = controller.lead(T0, ME, [ME])
    for is_new in (True, False):
        batch.add_leader_and_isr_request_for_brokers([ME], T0, state, [ME], is_new)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    ((_, request),) = controller.to(ApiKeys.LEADER_AND_ISR)
    assert request.partition_states()[T0].is_new


def test_partitions_that_share_a_fate_are_stopped_together(
    batch: ControllerBrokerRequestBatch, controller: FakeController
) -> None:
    answers: list[tuple[object, int]] = []
    batch.new_batch()
    for tp in (T0, T1):
        batch.add_stop_replica_request_for_brokers([OTHER], tp, True, lambda r, id: answers.append((r, id)))
    callback = batch.stop_replica_request_map[OTHER][0].callback
    batch.clear()
    for tp, delete in ((T0, True), (T1, True), (T2, False)):
        batch.add_stop_replica_request_for_brokers([OTHER, -1], tp, delete, cast("Any", callback))
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    stopped = [(request._delete_partitions, request._partitions) for _, _, request, _ in controller.sent]
    assert stopped == [(True, {T0, T1}), (False, {T2})]
    controller.sent[0][3]("answer")
    assert answers == [("answer", OTHER)]


def test_who_is_not_there_is_told_nothing(batch: ControllerBrokerRequestBatch, controller: FakeController) -> None:
    batch.new_batch()
    state = controller.lead(T0, ME, [ME, GONE])
    batch.add_leader_and_isr_request_for_brokers([GONE, -1], T0, state, [ME, GONE], False)
    batch.add_update_metadata_request_for_brokers([GONE, -1], {T0})
    batch.add_stop_replica_request_for_brokers([GONE, -1], T0, False, lambda *_: None)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    assert {(id, key) for id, key, _, _ in controller.sent} == {
        (ME, ApiKeys.UPDATE_METADATA),
        (OTHER, ApiKeys.UPDATE_METADATA),
    }
    batch.new_batch()


def test_metadata_of_everything_and_of_what_is_being_deleted(
    batch: ControllerBrokerRequestBatch, controller: FakeController
) -> None:
    for tp in (T0, T1):
        controller.lead(tp, ME, [ME, GONE])
    controller.topic_deletion_manager.partitions_to_be_deleted.add(T1)
    batch.new_batch()
    batch.add_update_metadata_request_for_brokers([ME], {T2})  # has no leader yet: nothing can be said of it
    batch.add_update_metadata_request_for_brokers([ME], ())
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    ((_, request),) = controller.to(ApiKeys.UPDATE_METADATA)
    states = request.partition_states()
    leaders = {tp: state.base_partition_state.leader for tp, state in states.items()}
    assert leaders == {T0: ME, T1: LeaderAndIsr.LEADER_DURING_DELETE}
    assert states[T0].offline_replicas == [GONE]


def test_the_answer_to_a_leader_and_isr_becomes_an_event(
    batch: ControllerBrokerRequestBatch, controller: FakeController
) -> None:
    everything(batch, controller)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    for id, key, _, callback in controller.sent:
        if key is ApiKeys.LEADER_AND_ISR:
            callback(f"answer of {id}")
    assert controller.events == [("answer of 1", ME), ("answer of 2", OTHER)]


@pytest.mark.parametrize(
    ("refused", "sent_whole"),
    [
        (ApiKeys.LEADER_AND_ISR, []),
        (ApiKeys.UPDATE_METADATA, [ApiKeys.LEADER_AND_ISR]),
        (ApiKeys.STOP_REPLICA, [ApiKeys.LEADER_AND_ISR, ApiKeys.UPDATE_METADATA]),
    ],
    ids=str,
)
def test_a_failure_leaves_no_half_batch(
    batch: ControllerBrokerRequestBatch, controller: FakeController, refused: ApiKeys, sent_whole: list[ApiKeys]
) -> None:
    """Kinds that were queued have left the batch; the others are in it whole, so that nobody goes on over them."""
    everything(batch, controller)
    controller.refused = refused
    with pytest.raises(IllegalStateException, match="no way to that broker"):
        batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    assert sorted({key for _, key, _, _ in controller.sent}, key=str) == sorted(sent_whole, key=str)
    left = {
        ApiKeys.LEADER_AND_ISR: set(batch.leader_and_isr_request_map),
        ApiKeys.UPDATE_METADATA: batch.update_metadata_request_broker_set,
        ApiKeys.STOP_REPLICA: set(batch.stop_replica_request_map),
    }
    whole = {ApiKeys.LEADER_AND_ISR: {ME, OTHER}, ApiKeys.UPDATE_METADATA: {ME, OTHER}, ApiKeys.STOP_REPLICA: {OTHER}}
    assert left == {key: set() if key in sent_whole else brokers for key, brokers in whole.items()}
    with pytest.raises(IllegalStateException, match="might be lost"):
        batch.new_batch()
    batch.clear()  # what the controller does before it resigns
    batch.new_batch()


@pytest.mark.parametrize(
    ("ibp", "leader_and_isr", "metadata"),
    [
        (KAFKA_1_0_IV0, 1, 4),
        (KAFKA_0_10_2_IV0, 0, 3),
        (KAFKA_0_10_0_IV1, 0, 2),
        (KAFKA_0_9_0, 0, 1),
        (KAFKA_0_8_2, 0, 0),
    ],
    ids=str,
)
def test_versions_follow_the_inter_broker_protocol(ibp: ApiVersion, leader_and_isr: int, metadata: int) -> None:
    controller = FakeController(ibp)
    batch = batch_of(controller)
    everything(batch, controller)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    assert {request.version() for _, request in controller.to(ApiKeys.LEADER_AND_ISR)} == {leader_and_isr}
    assert {request.version() for _, request in controller.to(ApiKeys.UPDATE_METADATA)} == {metadata}


@pytest.mark.parametrize(
    ("protocol", "versions"),
    [
        ("1.1-IV0", (1, 4, 0)),
        ("2.1-IV2", (1, 4, 0)),
        ("2.2-IV0", (2, 5, 1)),
        ("2.4-IV0", (3, 5, 1)),
        ("2.4-IV1", (4, 6, 2)),
        ("2.5-IV0", (4, 6, 2)),
    ],
)
def test_each_broker_is_told_which_life_of_it_is_meant(protocol: str, versions: tuple[int, int, int]) -> None:
    controller = FakeController(ApiVersion.apply(protocol))
    batch = ControllerBrokerRequestBatch(cast("Any", controller), StateChangeLogger(ME, in_controller_context=True))
    batch.new_batch()
    for tp in (T0, T1):
        state = controller.lead(tp, ME, [ME, OTHER])
        batch.add_leader_and_isr_request_for_brokers([ME, OTHER], tp, state, [ME, OTHER], is_new=True)
        batch.add_stop_replica_request_for_brokers([ME, OTHER], tp, True, callback=ignore_response)
    batch.send_requests_to_brokers(CONTROLLER_EPOCH)
    of_kind = zip((ApiKeys.LEADER_AND_ISR, ApiKeys.UPDATE_METADATA, ApiKeys.STOP_REPLICA), versions, strict=True)
    for kind, version in of_kind:
        epochs, partitions = {}, []
        for broker_id, request in controller.to(kind):
            assert request.version() == version
            read = type(request).parse(b"".join(map(bytes, request.to_parts())), version)
            epochs[broker_id] = read.broker_epoch
            partitions.append(set(read.partitions() if kind is ApiKeys.STOP_REPLICA else read.partition_states()))
        knows_epochs = protocol >= "2.2"
        assert epochs == ({ME: 11, OTHER: 12} if knows_epochs else {ME: -1, OTHER: -1})
        assert all(named == {T0, T1} for named in partitions)
