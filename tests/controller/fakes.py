"""Doubles for the state machines: partition states kept in a dictionary, and a batch that remembers its orders."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.zk.zk_data import TopicPartitionStateZNode
from kafka_py.zookeeper.keeper_exception import Code, KeeperException

CONTROLLER_EPOCH = 50


def broker(id: int) -> Broker:
    listener = ListenerName.for_security_protocol(SecurityProtocol.PLAINTEXT)
    return Broker(id, (EndPoint("host", 9092, listener, SecurityProtocol.PLAINTEXT),), None)


class Response(SimpleNamespace):
    """Shaped like the responses of ZooKeeperClient."""

    @property
    def failure(self) -> KeeperException:
        return KeeperException.create(self.result_code)


class FakeZkClient:
    """The partition states of a cluster, with versions, and switches to make the next call fail."""

    def __init__(self) -> None:
        self.states: dict[TopicPartition, LeaderIsrAndControllerEpoch] = {}
        self.fail_with: Exception | None = None
        self.result_code = Code.OK
        self.exists_already = False  # what creations are answered then, as when they are repeated
        self.conflicts = 0  # how many of the next updates come too late once
        self.update_failure: Exception | None = None
        self.unclean: dict[str, bool] = {}
        self.deleted_topics: list[str] = []
        self.deletions_removed: list[str] = []

    def create_topic_partition_states_raw(
        self, states: Mapping[TopicPartition, LeaderIsrAndControllerEpoch], expected_controller_epoch_zk_version: int
    ) -> list[Response]:
        self._maybe_fail()
        if self.exists_already:
            for tp, state in states.items():
                self.states.setdefault(tp, state)
            return [Response(result_code=Code.NODEEXISTS, ctx=tp) for tp in states]
        if self.result_code is Code.OK:
            self.states.update(states)
        return [Response(result_code=self.result_code, ctx=tp) for tp in states]

    def get_topic_partition_states_raw(self, partitions: Sequence[TopicPartition]) -> list[Response]:
        self._maybe_fail()
        responses = []
        for tp in partitions:
            state = self.states.get(tp)
            code = self.result_code if state is not None or self.result_code is not Code.OK else Code.NONODE
            data = b"" if state is None else TopicPartitionStateZNode.encode(state)
            version = 0 if state is None else state.leader_and_isr.zk_version
            responses.append(Response(result_code=code, ctx=tp, data=data, stat=SimpleNamespace(version=version)))
        return responses

    def update_leader_and_isr(
        self, wanted: Mapping[TopicPartition, LeaderAndIsr], epoch: int, expected_controller_epoch_zk_version: int
    ) -> Any:
        if self.update_failure is not None:
            failed = dict.fromkeys(wanted, self.update_failure)
            return SimpleNamespace(successful_partitions={}, partitions_to_retry=[], failed_partitions=failed)
        if self.conflicts:
            self.conflicts -= 1
            return SimpleNamespace(successful_partitions={}, partitions_to_retry=list(wanted), failed_partitions={})
        written = {tp: state.with_zk_version(state.zk_version + 1) for tp, state in wanted.items()}
        self.states.update({tp: LeaderIsrAndControllerEpoch(state, epoch) for tp, state in written.items()})
        return SimpleNamespace(successful_partitions=written, partitions_to_retry=[], failed_partitions={})

    def get_log_configs(self, topics: Collection[str], defaults: Mapping[str, Any]) -> Any:
        configs = {t: SimpleNamespace(unclean_leader_election_enable=self.unclean.get(t, False)) for t in topics}
        return configs, {}

    def delete_topic_znode(self, topic: str, version: int) -> None:
        self.deleted_topics.append(topic)

    def delete_topic_configs(self, topics: Collection[str], version: int) -> None:
        assert topics

    def delete_topic_deletions(self, topics: Collection[str], version: int) -> None:
        self.deletions_removed += topics

    def _maybe_fail(self) -> None:
        if self.fail_with is not None:
            raise self.fail_with


class RecordingBatch:
    """A ControllerBrokerRequestBatch that only writes down what it is asked to send."""

    def __init__(self) -> None:
        self.leader_and_isr: list[tuple[list[int], TopicPartition, LeaderIsrAndControllerEpoch, list[int], bool]] = []
        self.stop_replica: list[tuple[list[int], TopicPartition, bool]] = []
        self.callbacks: list[Any] = []
        self.sent_epochs: list[int] = []

    def new_batch(self) -> None:
        assert len(self.sent_epochs) >= 0

    def add_leader_and_isr_request_for_brokers(
        self,
        broker_ids: Sequence[int],
        topic_partition: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        replicas: Sequence[int],
        is_new: bool,
    ) -> None:
        self.leader_and_isr.append((list(broker_ids), topic_partition, state, list(replicas), is_new))

    def add_stop_replica_request_for_brokers(
        self, broker_ids: Sequence[int], topic_partition: TopicPartition, delete_partition: bool, callback: Any
    ) -> None:
        self.stop_replica.append((list(broker_ids), topic_partition, delete_partition))
        self.callbacks.append(callback)

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        self.sent_epochs.append(controller_epoch)


class FakeTopicDeletionManager:
    """Says which topics and partitions are on their way out."""

    def __init__(self) -> None:
        self.topics: set[str] = set()

    def is_topic_queued_up_for_deletion(self, topic: str) -> bool:
        return topic in self.topics

    def is_partition_to_be_deleted(self, tp: TopicPartition) -> bool:
        return tp.topic in self.topics


def config(broker_id: int) -> Any:
    return SimpleNamespace(broker_id=broker_id, originals=dict, delete_topic_enable=True)
