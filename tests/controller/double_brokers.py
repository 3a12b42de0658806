"""Brokers that come and go under a controller: ZooKeeper and the controllers are real, the brokers are doubles.

A double has the replicas that it was told of, and deletes them when it is told to. No watch fires: what the controller
hears of is said by the verbs here, and is processed by the test's own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.kafka_controller import KafkaController
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo
from tests.controller.fakes import broker
from tests.controller.test_kafka_controller import elect, run

if TYPE_CHECKING:
    import pytest


class DoubleBrokers:
    """In place of a ControllerChannelManager, of whoever is the controller."""

    def __init__(self) -> None:
        self.replicas: dict[int, set[TopicPartition]] = {}
        self.alive: set[int] = set()
        self.answers_held: list[Callable[[], None]] | None = None

    def send_request(self, broker_id: int, api_key: ApiKeys, request: Any, callback: Any) -> None:
        if broker_id not in self.alive:
            return
        mine = self.replicas.setdefault(broker_id, set())
        if api_key is ApiKeys.LEADER_AND_ISR:
            mine.update(request.build(1).partition_states())
        elif api_key is ApiKeys.STOP_REPLICA and request._delete_partitions:
            mine.difference_update(request._partitions)
            answer = StopReplicaResponse(Errors.NONE, dict.fromkeys(request._partitions, Errors.NONE))
            if self.answers_held is None:
                callback(answer)
            else:
                self.answers_held.append(lambda: callback(answer))

    def release_answers(self) -> None:
        """Let the answers that were held arrive."""
        held, self.answers_held = self.answers_held or [], None
        for arrive in held:
            arrive()

    def add_broker(self, broker: Broker) -> None:
        assert broker.id in self.alive

    def remove_broker(self, broker_id: int) -> None:
        assert broker_id not in self.alive

    def shutdown(self) -> None:
        assert self.answers_held is None


class Brokers:
    """Brokers 0 to n - 1 are alive, broker 0 is the controller."""

    def __init__(
        self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch, count: int, properties: Mapping[str, str]
    ) -> None:
        self.zk, self.admin = zk, AdminZkClient(zk)
        self._monkeypatch, self._properties = monkeypatch, dict(properties)
        monkeypatch.setattr(zk._zoo_keeper_client, "_notify", lambda *_: None)
        self.doubles = DoubleBrokers()
        self._controllers: list[KafkaController] = []
        for id in range(count):
            self._register(id)
        self.controller = self._elected(0)

    def _register(self, id: int) -> None:
        self.doubles.alive.add(id)
        self.zk.register_broker_in_zk(BrokerInfo(broker(id), 4, -1))

    def _elected(self, id: int) -> KafkaController:
        given = {"zookeeper.connect": "z", "broker.id": str(id), **self._properties}
        config = KafkaConfig.from_props(given, do_log=False)
        made = KafkaController(config, self.zk, Time.SYSTEM, Metrics(), BrokerInfo(broker(id), 4, -1), None)
        self._controllers.append(made)
        context = made.controller_context
        self._monkeypatch.setattr(
            made, "_start_channel_manager", lambda: setattr(context, "controller_channel_manager", self.doubles)
        )
        elect(made)
        assert made.is_active
        return made

    def close(self) -> None:
        for controller in self._controllers:
            controller._on_controller_resignation()

    # -- what happens

    def stop(self, id: int) -> None:
        """A broker goes; if it was the controller, the next one alive is elected."""
        self.doubles.alive.discard(id)
        self.zk.delete_path(f"/brokers/ids/{id}")
        if self.zk.get_controller_id() == id:
            self.zk.delete_controller()
            self.controller._on_controller_resignation()
            self.controller = self._elected(min(self.doubles.alive))
        else:
            self.hears(self.controller.BrokerChange(self.controller))

    def start(self, id: int) -> None:
        """A broker comes (back)."""
        self._register(id)
        self.hears(self.controller.BrokerChange(self.controller))

    def hears(self, *events: Any) -> None:
        """What a watch would tell the controller, and what follows from it."""
        run(self.controller, *events)

    def create_topic(self, topic: str, assignment: Mapping[int, list[int]]) -> None:
        self.admin.create_or_update_topic_partition_assignment_path_in_zk(topic, dict(assignment))
        self.hears(self.controller.TopicChange(self.controller))

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topic(topic)
        self.hears(self.controller.TopicDeletion(self.controller))

    def joins_isr(self, tp: TopicPartition, isr: list[int]) -> None:
        """What the leader writes when a follower has caught up."""
        now = self.state(tp)
        wanted = {tp: LeaderAndIsr(now.leader, now.leader_epoch, isr, now.zk_version)}
        assert tp in self.zk.update_leader_and_isr(wanted, self.controller.epoch).successful_partitions

    # -- what there is

    def state(self, tp: TopicPartition) -> LeaderAndIsr:
        found = self.zk.get_topic_partition_state(tp)
        assert found is not None
        return found.leader_and_isr

    def with_replica(self, tp: TopicPartition) -> set[int]:
        """The brokers, alive or not, that have one."""
        return {id for id, replicas in self.doubles.replicas.items() if tp in replicas}

    def assert_deleted(self, topic: str, partitions: Iterable[int] = (0,)) -> None:
        """Nothing of a topic is left, in ZooKeeper nor on any broker nor in the controller."""
        assert not self.zk.is_topic_marked_for_deletion(topic)
        assert not self.zk.topic_exists(topic)
        for partition in partitions:
            assert self.with_replica(TopicPartition(topic, partition)) == set()
        assert topic not in self.controller.controller_context.all_topics
