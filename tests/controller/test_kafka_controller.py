"""The controller over a real ZooKeeper without any broker alive; its events are processed by the test's own thread."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import ControllerMovedException
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.controller_context import PartitionAndReplica
from kafka_py.controller.controller_event_manager import ControllerEvent
from kafka_py.controller.kafka_controller import KafkaController
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.controller.replica_state_machine import ReplicaDeletionStarted
from kafka_py.embedded.zookeeper_server import ZooKeeperServer
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo, PreferredReplicaElectionZNode, ReassignPartitionsZNode
from kafka_py.zookeeper.zoo_defs import CreateMode, Ids
from kafka_py.zookeeper.zoo_keeper_client import Code, CreateRequest
from tests.controller.fakes import broker

NAME, OTHER, DEAD, OTHER_DEAD = 1, 2, 5, 6
T0, UNKNOWN = TopicPartition("t", 0), TopicPartition("nosuch", 0)
_number = itertools.count()


@pytest.fixture
def zk(embedded_server: ZooKeeperServer) -> Iterator[KafkaZkClient]:
    chroot = f"/controller{next(_number)}"
    root = KafkaZkClient.create(embedded_server.connect_string, False, 6000, 6000, 100, Time.SYSTEM)
    root.create_recursive(chroot)
    root.close()
    client = KafkaZkClient.create(embedded_server.connect_string + chroot, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    yield client
    client.close()


@pytest.fixture
def controller(zk: KafkaZkClient) -> Iterator[KafkaController]:
    config = KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": str(NAME)}, do_log=False)
    made = KafkaController(config, zk, Time.SYSTEM, Metrics(), BrokerInfo(broker(NAME), 4, -1), None)
    yield made
    made._on_controller_resignation()


def run(controller: KafkaController, *events: ControllerEvent) -> None:
    """Process these events, and those that follow from them."""
    for event in events:
        controller.event_manager.put(event)
    while (queued := controller.event_manager._queue.poll()) is not None:
        queued.event.process()


def elect(controller: KafkaController) -> None:
    run(controller, controller.Startup(controller))


def write(zk: KafkaZkClient, path: str, data: bytes) -> None:
    """As a script of an administrator does it."""
    request: CreateRequest = CreateRequest(path, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT)
    assert zk._zoo_keeper_client.handle_request(request).result_code is Code.OK


def topic(zk: KafkaZkClient, replicas: list[int], led: bool) -> None:
    zk.create_topic_assignment("t", {T0: replicas})
    if led:
        state = LeaderIsrAndControllerEpoch(LeaderAndIsr.create(replicas[0], replicas), 0)
        (response,) = zk.create_topic_partition_states_raw({T0: state})
        assert response.result_code is Code.OK


def election_of(*partitions: TopicPartition) -> bytes:
    return PreferredReplicaElectionZNode.encode(partitions)


class TestPreferredElection:
    def test_a_partition_without_a_leader_does_not_keep_a_controller_out_of_office(
        self, controller: KafkaController, zk: KafkaZkClient
    ) -> None:
        topic(zk, [DEAD], led=False)
        write(zk, PreferredReplicaElectionZNode.path, election_of(T0))
        elect(controller)
        assert controller.is_active
        assert zk.get_controller_id() == NAME
        assert not zk.path_exists(PreferredReplicaElectionZNode.path)

    @pytest.mark.parametrize("wish", [election_of(UNKNOWN), b'{"partitions":[{"topic":"t"}]}', b"[]", b"7"])
    @pytest.mark.parametrize("before", [True, False], ids=["before the election", "after it"])
    def test_a_wish_that_names_nothing_is_taken_off_the_list(
        self, controller: KafkaController, zk: KafkaZkClient, wish: bytes, before: bool
    ) -> None:
        if before:
            write(zk, PreferredReplicaElectionZNode.path, wish)
        elect(controller)
        if not before:
            write(zk, PreferredReplicaElectionZNode.path, wish)
            run(controller, controller.PreferredReplicaLeaderElection(controller))
        assert controller.is_active
        assert not zk.path_exists(PreferredReplicaElectionZNode.path)


class TestReassignment:
    @pytest.mark.parametrize("replicas", [[], [OTHER_DEAD, OTHER_DEAD], [OTHER_DEAD, -1]], ids=str)
    @pytest.mark.parametrize("before", [True, False], ids=["before the election", "after it"])
    def test_replicas_that_cannot_be_are_refused(
        self, controller: KafkaController, zk: KafkaZkClient, replicas: list[int], before: bool
    ) -> None:
        topic(zk, [DEAD], led=True)
        if before:
            zk.create_partition_reassignment({T0: replicas})
        elect(controller)
        if not before:
            zk.create_partition_reassignment({T0: replicas})
            run(controller, controller.PartitionReassignment(controller))
        assert zk.get_replicas_for_partition(T0) == [DEAD]
        assert not zk.path_exists(ReassignPartitionsZNode.path)

    @pytest.mark.parametrize("wish", [b'{"version":1,"partitions":[]}', b'{"partitions":[{"topic":"t"}]}', b"[1]"])
    @pytest.mark.parametrize("before", [True, False], ids=["before the election", "after it"])
    def test_a_wish_that_names_nothing_blocks_no_later_one(
        self, controller: KafkaController, zk: KafkaZkClient, wish: bytes, before: bool
    ) -> None:
        topic(zk, [DEAD], led=True)
        if before:
            write(zk, ReassignPartitionsZNode.path, wish)
        elect(controller)
        if not before:
            write(zk, ReassignPartitionsZNode.path, wish)
            run(controller, controller.PartitionReassignment(controller))
        assert controller.is_active
        assert not zk.path_exists(ReassignPartitionsZNode.path)
        seen = CountDownLatch(1)
        controller.partition_reassignment_handler.handle_creation = seen.count_down  # type: ignore[method-assign]
        zk.create_partition_reassignment({T0: [OTHER_DEAD]})
        assert seen.await_(10_000)


def test_a_topic_whose_znode_somebody_removed_does_not_end_the_term(
    controller: KafkaController, zk: KafkaZkClient
) -> None:
    topic(zk, [DEAD], led=True)
    elect(controller)
    zk.delete_recursive("/brokers/topics/t")
    run(controller, controller.TopicChange(controller))
    controller.send_update_metadata_request([DEAD])  # to all about all
    assert controller.is_active
    assert controller.controller_context.partition_leadership_info == {}


class TestTopicDeletion:
    """A deletion that another controller began and did not end."""

    def test_it_goes_on_when_the_state_znodes_are_gone_already(
        self, controller: KafkaController, zk: KafkaZkClient
    ) -> None:
        zk.register_broker_in_zk(BrokerInfo(broker(NAME), 4, -1))
        topic(zk, [NAME], led=False)
        zk.create_delete_topic_path("t")
        elect(controller)
        replica = PartitionAndReplica(T0, NAME)
        assert controller.replica_state_machine.replicas_in_state("t", ReplicaDeletionStarted) == {replica}
        response = StopReplicaResponse(Errors.NONE, {T0: Errors.NONE})
        run(controller, controller.TopicDeletionStopReplicaResponseReceived(controller, response, NAME))
        assert not zk.topic_exists("t")
        assert zk.get_topic_deletions() == []

    def test_a_topic_that_the_controller_has_not_heard_of_is_deleted_too(
        self, controller: KafkaController, zk: KafkaZkClient
    ) -> None:
        elect(controller)
        zk.create_topic_assignment("t", {})
        zk.create_delete_topic_path("t")
        zk.create_delete_topic_path("nosuch")
        controller.TopicDeletion(controller).process()  # before the TopicChange that its watch has queued
        assert not zk.topic_exists("t")
        assert zk.get_topic_deletions() == []

    def test_a_topic_that_is_created_again_at_once_keeps_its_overrides(
        self, controller: KafkaController, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zk.create_topic_assignment("t", {})
        zk.create_delete_topic_path("t")
        delete = zk.delete_topic_znode

        def delete_and_create(name: str) -> None:
            delete(name)
            zk.set_or_create_entity_configs("topics", name, {"cleanup.policy": "compact"})
            zk.create_topic_assignment(name, {})

        monkeypatch.setattr(zk, "delete_topic_znode", delete_and_create)
        elect(controller)
        assert zk.get_topic_deletions() == []
        assert zk.get_entity_configs("topics", "t") == {"cleanup.policy": "compact"}


class Channels:
    """In place of a ControllerChannelManager: writes down what it is asked to do."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.led: list[tuple[int, TopicPartition, int]] = []  # broker told, partition, leader epoch

    def add_broker(self, broker: Broker) -> None:
        self.calls.append(("add", broker.id))

    def remove_broker(self, broker_id: int) -> None:
        self.calls.append(("remove", broker_id))

    def send_request(self, broker_id: int, api_key: ApiKeys, request: Any, callback: object) -> None:
        self.calls.append((api_key.name, broker_id))
        if api_key is ApiKeys.LEADER_AND_ISR:
            states = request.build(1).partition_states()
            self.led += [(broker_id, tp, state.base_partition_state.leader_epoch) for tp, state in states.items()]

    def shutdown(self) -> None:
        self.calls.append(("shutdown", -1))


class TestBrokerChange:
    """A broker that was gone and is back before the controller looks (KAFKA-7235)."""

    @pytest.fixture
    def channels(self, controller: KafkaController, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> Channels:
        made = Channels()
        context = controller.controller_context
        monkeypatch.setattr(
            controller, "_start_channel_manager", lambda: setattr(context, "controller_channel_manager", made)
        )
        for broker_id in (NAME, OTHER):
            zk.register_broker_in_zk(BrokerInfo(broker(broker_id), 4, -1))
        topic(zk, [OTHER], led=True)
        elect(controller)
        made.calls.clear()
        made.led.clear()
        return made

    def test_it_hears_everything_anew(self, controller: KafkaController, zk: KafkaZkClient, channels: Channels) -> None:
        context = controller.controller_context
        context.shutting_down_broker_ids.add(OTHER)
        (before,) = zk.get_topic_partition_states([T0]).values()
        zk.delete_path(f"/brokers/ids/{OTHER}")
        zk.register_broker_in_zk(BrokerInfo(broker(OTHER), 4, -1))
        run(controller, controller.BrokerChange(controller))
        assert channels.calls[:2] == [("remove", OTHER), ("add", OTHER)]
        assert ("UpdateMetadata", OTHER) in channels.calls
        assert ("StopReplica", OTHER) not in channels.calls  # meant for its life before
        told, tp, leader_epoch = channels.led[-1]
        assert (told, tp) == (OTHER, T0)
        assert leader_epoch > before.leader_and_isr.leader_epoch
        assert context.shutting_down_broker_ids == set()
        assert context.live_broker_ids == {NAME, OTHER}

    def test_one_that_was_never_away_hears_nothing(self, controller: KafkaController, channels: Channels) -> None:
        controller.controller_context.shutting_down_broker_ids.add(OTHER)
        run(controller, controller.BrokerChange(controller))
        assert channels.calls == []
        assert controller.controller_context.shutting_down_broker_ids == {OTHER}

    def test_other_endpoints_are_no_other_life(
        self, controller: KafkaController, zk: KafkaZkClient, channels: Channels
    ) -> None:
        epochs = dict(controller.controller_context.live_broker_id_and_epochs)
        listener = ListenerName.for_security_protocol(SecurityProtocol.PLAINTEXT)
        moved = Broker(OTHER, (EndPoint("elsewhere", 9092, listener, SecurityProtocol.PLAINTEXT),), None)
        zk.update_broker_info_in_zk(BrokerInfo(moved, 4, -1))
        run(controller, controller.BrokerModifications(controller, OTHER), controller.BrokerChange(controller))
        assert {name for name, _ in channels.calls} == {"UpdateMetadata"}
        assert controller.controller_context.live_brokers == {broker(NAME), moved}
        assert controller.controller_context.live_broker_id_and_epochs == epochs

    def test_the_dead_are_buried_and_the_new_greeted(
        self, controller: KafkaController, zk: KafkaZkClient, channels: Channels
    ) -> None:
        zk.delete_path(f"/brokers/ids/{OTHER}")
        zk.register_broker_in_zk(BrokerInfo(broker(DEAD), 4, -1))
        run(controller, controller.BrokerChange(controller))
        assert channels.calls[:2] == [("add", DEAD), ("remove", OTHER)]
        assert controller.controller_context.live_broker_ids == {NAME, DEAD}


class TestSession:
    def test_a_session_that_ends_while_the_controller_shuts_down_does_not_wait_for_it(
        self, controller: KafkaController, zk: KafkaZkClient
    ) -> None:
        controller.startup()
        handler: Any = zk._zoo_keeper_client._state_change_handlers.get("controller-state-change-handler")
        controller.shutdown()
        handler.before_initializing_session()  # waits for ever when nobody tells it that there is no event thread
        handler.after_initializing_session()
        assert not zk.path_exists(f"/brokers/ids/{NAME}")

    def test_the_queue_size_is_that_of_the_present_term(self, controller: KafkaController) -> None:
        for size in (1, 2):
            controller._start_channel_manager()
            manager = controller.controller_context.controller_channel_manager
            assert manager is not None
            queue: Any = SimpleNamespace(message_queue=SimpleNamespace(size=lambda size=size: size))
            manager._broker_state_info[DEAD] = queue
            assert manager.new_gauge("TotalQueueSize", lambda: None).value() == size
            manager._broker_state_info.clear()
            controller._reset_controller_context()

    def test_a_controlled_shutdown_that_is_forgotten_is_answered(self, controller: KafkaController) -> None:
        answers: list[object] = []
        controller.controlled_shutdown(NAME, answers.append)
        controller.event_manager.clear_and_put(controller.Expire(controller))
        (answer,) = answers
        assert isinstance(answer, ControllerMovedException)


class TestManyPartitions:
    """What one topic costs does not depend on how many others there are."""

    SIZE = 4

    @pytest.fixture
    def requests(self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
        """How many requests of each kind ZooKeeper was sent."""
        sent: Counter[str] = Counter()
        send = zk._zoo_keeper_client.send

        def counted(request: Any, process_response: Any) -> None:
            sent[type(request).__name__] += 1
            send(request, process_response)

        monkeypatch.setattr(zk._zoo_keeper_client, "send", counted)
        # no watch fires: an event more or less would be some requests more or less
        monkeypatch.setattr(zk._zoo_keeper_client, "_notify", lambda *_: None)
        return sent

    @pytest.fixture
    def told(self, controller: KafkaController, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """What the one broker is told, after the election."""
        zk.register_broker_in_zk(BrokerInfo(broker(NAME), 4, -1))
        elect(controller)
        sent: list[Any] = []
        monkeypatch.setattr(controller, "send_request", lambda id, api, request, callback: sent.append(request))
        return sent

    def create(self, controller: KafkaController, zk: KafkaZkClient, *names: str) -> None:
        for name in names:
            zk.create_topic_assignment(name, {TopicPartition(name, n): [NAME] for n in range(self.SIZE)})
        run(controller, controller.TopicChange(controller))

    def test_requests_for_a_topic_do_not_grow_with_their_number(
        self, controller: KafkaController, zk: KafkaZkClient, requests: Counter[str], told: list[Any]
    ) -> None:
        counts = []
        for n in range(6):
            requests.clear()
            self.create(controller, zk, f"t{n}")
            counts.append(dict(requests))
        assert all(count == counts[0] for count in counts)
        assert counts[0]["CreateRequest"] == 1 + 1 + 2 * self.SIZE, "topic, partitions, and two for each of them"
        updates = [request for request in told if isinstance(request, UpdateMetadataRequest.Builder)]
        assert all(len(request._partition_states) == self.SIZE for request in updates)

    def test_topics_are_deleted_with_one_request_to_a_broker(
        self, controller: KafkaController, zk: KafkaZkClient, requests: Counter[str], told: list[Any]
    ) -> None:
        counts = []
        for names in (["a"], ["b", "c", "d"]):
            self.create(controller, zk, *names)
            told.clear()
            requests.clear()
            for name in names:
                zk.create_delete_topic_path(name)
            run(controller, controller.TopicDeletion(controller))
            (stop, delete) = (r for r in told if isinstance(r, StopReplicaRequest.Builder))
            partitions = {TopicPartition(name, n) for name in names for n in range(self.SIZE)}
            assert (stop._delete_partitions, delete._delete_partitions) == (False, True)
            assert delete._partitions == stop._partitions == partitions
            answer = StopReplicaResponse(Errors.NONE, dict.fromkeys(partitions, Errors.NONE))
            run(controller, controller.TopicDeletionStopReplicaResponseReceived(controller, answer, NAME))
            assert not any(zk.topic_exists(name) for name in names)
            counts.append(sum(requests.values()) / len(names))
        assert counts[1] <= counts[0]
        assert controller.controller_context.partition_replica_assignment == {}

    def test_gauges_follow_leaders_brokers_and_deletions(
        self, controller: KafkaController, zk: KafkaZkClient, told: list[Any]
    ) -> None:
        def counted() -> tuple[int, int]:
            controller._update_metrics()
            return controller._offline_partition_count, controller._preferred_replica_imbalance_count

        self.create(controller, zk, "t")
        assert counted() == (0, 0)
        context = controller.controller_context
        context.partition_replica_assignment[T0] = [DEAD, NAME]
        assert counted() == (0, 1)
        context.set_live_broker_and_epochs({})
        assert counted() == (self.SIZE, 1)
        context.set_live_broker_and_epochs({broker(NAME): 0})
        assert counted() == (0, 1)
        context.set_live_broker_and_epochs({})
        controller.topic_deletion_manager.init({"t"}, set())
        assert counted() == (0, 0), "what is being deleted does not count"
