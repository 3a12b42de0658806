"""Two brokers and one controller after the other: ZooKeeper is real, and what the brokers are told is written down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.controller.kafka_controller import KafkaController
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo
from tests.controller.fakes import broker
from tests.controller.test_kafka_controller import T0, elect, run, topic

OLD, NEW = 1, 2


class Brokers:
    """In place of a ControllerChannelManager, for one controller after the other."""

    def __init__(self) -> None:
        self.deleted: list[tuple[int, TopicPartition]] = []
        self.led_by: dict[int, int] = {}  # broker -> the leader of T0 that it was told last

    def send_request(self, broker_id: int, api_key: ApiKeys, request: Any, callback: object) -> None:
        if api_key is ApiKeys.STOP_REPLICA and request._delete_partitions:
            self.deleted += [(broker_id, tp) for tp in request._partitions]
        if api_key is ApiKeys.LEADER_AND_ISR:
            state = request.build(1).partition_states().get(T0)
            if state is not None:
                self.led_by[broker_id] = state.base_partition_state.leader

    def add_broker(self, broker: Broker) -> None:
        self.led_by.pop(broker.id, None)

    def remove_broker(self, broker_id: int) -> None:
        self.led_by.pop(broker_id, None)

    def shutdown(self) -> None:
        self.led_by.clear()


class Cluster:
    """Two brokers, of which one after the other is the controller, and a partition that shall move from OLD to NEW."""

    def __init__(self, zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
        self.zk = zk
        self._monkeypatch = monkeypatch
        # no watch fires: the test says which event comes when
        monkeypatch.setattr(zk._zoo_keeper_client, "_notify", lambda *_: None)
        self.brokers = Brokers()
        for id in (OLD, NEW):
            zk.register_broker_in_zk(BrokerInfo(broker(id), 4, -1))
        topic(zk, [OLD], led=True)
        self.first, self.second = self._controller(OLD), self._controller(NEW)
        elect(self.first)

    def _controller(self, id: int) -> KafkaController:
        config = KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": str(id)}, do_log=False)
        made = KafkaController(config, self.zk, Time.SYSTEM, Metrics(), BrokerInfo(broker(id), 4, -1), None)
        context = made.controller_context
        self._monkeypatch.setattr(
            made, "_start_channel_manager", lambda: setattr(context, "controller_channel_manager", self.brokers)
        )
        return made

    def reassign(self, controller: KafkaController) -> None:
        self.zk.create_partition_reassignment({T0: [NEW]})
        run(controller, controller.PartitionReassignment(controller))

    def catch_up(self, controller: KafkaController) -> None:
        """The leader takes the new copy into the ISR, which the controller is told by its watch."""
        now = self.state
        both = LeaderAndIsr(now.leader, now.leader_epoch, [OLD, NEW], now.zk_version)
        assert T0 in self.zk.update_leader_and_isr({T0: both}, controller.epoch).successful_partitions
        run(controller, controller.PartitionReassignmentIsrChange(controller, T0))

    def take_over(self) -> None:
        """The first one's session is over; all that is left of it is in ZooKeeper."""
        self.zk.delete_controller()
        self.first._on_controller_resignation()
        elect(self.second)

    @property
    def state(self) -> LeaderAndIsr:
        state = self.zk.get_topic_partition_state(T0)
        assert state is not None
        return state.leader_and_isr


@pytest.fixture
def cluster(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    made = Cluster(zk, monkeypatch)
    yield made
    for controller in (made.first, made.second):
        controller._on_controller_resignation()
