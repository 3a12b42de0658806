"""What Kafka reads and writes in ZooKeeper, one method for each purpose.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala @ 1.1.1
Read next: zk/zk_data.py (the nodes' bytes), zookeeper/zoo_keeper_client.py (requests and watches)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kafka_py.cluster.broker import Broker
from kafka_py.common.errors import ControllerMovedException, IllegalArgumentException, KafkaException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import MetricName
from kafka_py.server.config_type import ConfigType
from kafka_py.zk.checked_ephemeral import CheckedEphemeral
from kafka_py.zk.controller_epoch_check import (
    unwrap_response_with_controller_epoch_check,
    wrap_request_with_controller_epoch_check,
)
from kafka_py.zk.controller_registration import ControllerRegistration
from kafka_py.zk.recursive_paths import RecursivePaths
from kafka_py.zk.zk_data import (
    BrokerIdsZNode,
    BrokerIdZNode,
    BrokerInfo,
    BrokerSequenceIdZNode,
    ClusterIdZNode,
    ConfigEntityChangeNotificationSequenceZNode,
    ConfigEntityChangeNotificationZNode,
    ConfigEntityTypeZNode,
    ConfigEntityZNode,
    ConsumerOffset,
    ControllerEpochZNode,
    ControllerZNode,
    DeleteTopicsTopicZNode,
    DeleteTopicsZNode,
    IsrChangeNotificationSequenceZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationSequenceZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicPartitionStateZNode,
    TopicPartitionsZNode,
    TopicPartitionZNode,
    TopicsZNode,
    TopicZNode,
    ZkData,
    ZkStat,
    ZkVersion,
)
from kafka_py.zookeeper.keeper_exception import Code, NodeExistsException
from kafka_py.zookeeper.requests import (
    AsyncRequest,
    AsyncResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    ExistsRequest,
    GetChildrenRequest,
    GetDataRequest,
    GetDataResponse,
    SetDataRequest,
    SetDataResponse,
)
from kafka_py.zookeeper.zoo_defs import ACL, CreateMode, Stat
from kafka_py.zookeeper.zoo_keeper_client import ZooKeeperClient

if TYPE_CHECKING:
    from kafka_py.api.leader_and_isr import LeaderAndIsr
    from kafka_py.log.log_config import LogConfig
    from kafka_py.zookeeper.zoo_keeper import ZooKeeper
    from kafka_py.zookeeper.zoo_keeper_client import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler

_NO_TAGS: Mapping[str, str] = {}
_ANY = ZkVersion.NO_VERSION  # of the controller's epoch: the write is not fenced
# What decoding raises for JSON of another shape.
_UNREADABLE = (ValueError, TypeError, AttributeError)
R = TypeVar("R", bound=AsyncResponse)
Checker = Callable[["KafkaZkClient", str, bytes], tuple[bool, int]]


class KafkaZkClient(KafkaMetricsGroup):
    """Typed access to Kafka's nodes over one session; requests are repeated while the connection is lost.

    Mirrors: kafka.zk.KafkaZkClient
    Thread: any; the methods block until ZooKeeper has answered, or the session is gone (KeeperException).
    Differs: apply is the class method create; the overloads that delete all notifications are the methods called
        without numbers. What the controller writes is fenced as from 2.2 on (KAFKA-6082): with
        expected_controller_epoch_zk_version, a write fails with ControllerMovedException once /controller_epoch has
        another version, because another broker has become the controller. The default is not to look.
    """

    logger_name = "kafka.zk.KafkaZkClient"

    @dataclass(frozen=True)
    class UpdateLeaderAndIsrResult:
        """Outcome of writing many partition states: written (with their new versions), to retry, failed.

        Mirrors: kafka.zk.KafkaZkClient.UpdateLeaderAndIsrResult
        """

        successful_partitions: dict[TopicPartition, LeaderAndIsr]
        # Another writer (the partition's leader) came first: read the state again and decide anew.
        partitions_to_retry: list[TopicPartition]
        failed_partitions: dict[TopicPartition, Exception]

    @classmethod
    def create(
        cls,
        connect_string: str,
        is_secure: bool,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        max_in_flight_requests: int,
        time: Any,
        metric_group: str = "kafka.server",
        metric_type: str = "SessionExpireListener",
    ) -> KafkaZkClient:
        """Connect, and make the client; raises ZooKeeperClientTimeoutException after connection_timeout_ms."""
        zoo_keeper_client = ZooKeeperClient(
            connect_string,
            session_timeout_ms,
            connection_timeout_ms,
            max_in_flight_requests,
            time,
            metric_group,
            metric_type,
        )
        return cls(zoo_keeper_client, is_secure, time)

    apply = create

    def __init__(self, zoo_keeper_client: ZooKeeperClient, is_secure: bool, time: Any) -> None:
        """Use that client; with is_secure new nodes are closed to others."""
        self._zoo_keeper_client = zoo_keeper_client
        self._is_secure = is_secure
        self._time = time
        self._recursive_paths = RecursivePaths(self)
        # The session that last created an ephemeral node, 0 before that.
        self._ephemeral_session_id = 0  # volatile: any thread
        self._latency_metric = self.new_histogram("ZooKeeperRequestLatencyMs")

    def metric_name(self, name: str, tags: Mapping[str, str] = _NO_TAGS) -> MetricName:
        """Metrics stand under kafka.server:type=ZooKeeperClientMetrics."""
        return self.explicit_metric_name("kafka.server", "ZooKeeperClientMetrics", name, tags)

    @property
    def current_zoo_keeper(self) -> ZooKeeper:
        """The handle of the current session; for tests."""
        return self._zoo_keeper_client.current_zoo_keeper

    @property
    def is_connected(self) -> bool:
        """Whether requests reach ZooKeeper now."""
        return self._zoo_keeper_client.connection_state.is_connected()

    def limit_waits(self, limit_ms: int) -> None:
        """From now on requests fail, with ZooKeeperClientTimeoutException, when the connection is away for so long."""
        self._zoo_keeper_client.limit_waits(limit_ms)

    def close(self) -> None:
        """End the session."""
        self.remove_metric("ZooKeeperRequestLatencyMs")
        self._zoo_keeper_client.close()

    # ----- handlers: see ZooKeeperClient -----

    def register_znode_change_handler_and_check_existence(self, znode_change_handler: ZNodeChangeHandler) -> bool:
        """Register the handler and set its watch, which works for an absent node too; tells whether it exists."""
        self._zoo_keeper_client.register_znode_change_handler(znode_change_handler)
        return self.path_exists(znode_change_handler.path)

    def register_znode_change_handler(self, znode_change_handler: ZNodeChangeHandler) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.register_znode_change_handler(znode_change_handler)

    def unregister_znode_change_handler(self, path: str) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.unregister_znode_change_handler(path)

    def register_znode_child_change_handler(self, znode_child_change_handler: ZNodeChildChangeHandler) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.register_znode_child_change_handler(znode_child_change_handler)

    def unregister_znode_child_change_handler(self, path: str) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.unregister_znode_child_change_handler(path)

    def register_state_change_handler(self, state_change_handler: StateChangeHandler) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.register_state_change_handler(state_change_handler)

    def unregister_state_change_handler(self, name: str) -> None:
        """See ZooKeeperClient."""
        self._zoo_keeper_client.unregister_state_change_handler(name)

    # ----- whole paths -----

    def path_exists(self, path: str) -> bool:
        """Whether there is such a node."""
        response = self._retry_request_until_connected(ExistsRequest(path))
        if response.result_code in (Code.OK, Code.NONODE):
            return response.result_code is Code.OK
        raise response.failure

    def make_sure_persistent_path_exists(self, path: str) -> None:
        """Create the node, and those above it, where they are missing."""
        self.create_recursive(path, data=None, throw_if_path_exists=False)

    def create_recursive(self, path: str, data: bytes | None = None, throw_if_path_exists: bool = True) -> None:
        """Create the node, and those above it without data; raises NodeExistsException if the node is there."""
        self._recursive_paths.create(path, data, throw_if_path_exists)

    def create_sequential_persistent_path(self, path: str, data: bytes) -> str:
        """Create a node whose name is the path with the next number; returns that name."""
        request = CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT_SEQUENTIAL)
        response = self._retry_request_until_connected(request)
        response.maybe_throw()
        return str(response.name)

    def delete_path(self, path: str) -> bool:
        """Delete the node and all below it; False when it was not there."""
        return self.delete_recursive(path)

    def delete_recursive(self, path: str, expected_controller_epoch_zk_version: int = _ANY) -> bool:
        """Delete the node and all below it; False when it was not there, KeeperException when that fails."""
        return self._recursive_paths.delete(path, expected_controller_epoch_zk_version)

    # ----- requests -----

    def _acls(self, path: str) -> list[ACL]:
        return ZkData.default_acls(self._is_secure, path)

    def _retry_request_until_connected(
        self, request: AsyncRequest[R], expected_controller_epoch_zk_version: int = _ANY
    ) -> R:
        return self._retry_requests_until_connected([request], expected_controller_epoch_zk_version)[0]

    def _retry_requests_until_connected(
        self, requests: Sequence[AsyncRequest[R]], expected_controller_epoch_zk_version: int = _ANY
    ) -> list[R]:
        """Send the requests; each is carried out only while the controller's epoch has the version, unless it is -1."""
        version = expected_controller_epoch_zk_version
        if version == ZkVersion.NO_VERSION:
            return self._retry_until_connected(requests)
        if version < 0:
            raise IllegalArgumentException(
                f"Expected controller epoch zkVersion {version} should be non-negative or equal to -1"
            )
        wrapped = [wrap_request_with_controller_epoch_check(request, version) for request in requests]
        responses = self._retry_until_connected(wrapped)
        return [cast("R", unwrap_response_with_controller_epoch_check(response)) for response in responses]

    def _retry_until_connected(self, requests: Sequence[AsyncRequest[R]]) -> list[R]:
        """Send the requests; those whose connection broke are sent again, after the answered ones."""
        client, remaining = self._zoo_keeper_client, list(requests)
        responses: list[R] = []
        while remaining:
            if client.must_wait_first:
                # A silent server would keep each request until the next attempt to connect is given up.
                client.wait_until_connected()
            batch = client.handle_requests(remaining)
            for response in batch:
                self._latency_metric.update(response.metadata.response_time_ms)
            lost = [
                request
                for request, response in zip(remaining, batch, strict=True)
                if response.result_code is Code.CONNECTIONLOSS
            ]
            responses += [response for response in batch if response.result_code is not Code.CONNECTIONLOSS]
            remaining = lost
            if remaining:
                client.wait_until_connected()
        return responses

    # ----- brokers -----

    def register_broker_in_zk(self, broker_info: BrokerInfo) -> int:
        """Create the broker's ephemeral node; gives the broker's epoch [2.2], the zxid of that.

        Raises NodeExistsException when another session has it.
        """
        path = broker_info.path
        epoch = self.checked_ephemeral_create(path, broker_info.to_json_bytes()).czxid
        broker = broker_info.broker
        self.info(
            "Registered broker %d at path %s with addresses: %s, czxid (broker epoch): %d",
            broker.id,
            path,
            _listed(broker),
            epoch,
        )
        return epoch

    def update_broker_info_in_zk(self, broker_info: BrokerInfo) -> None:
        """Write the registration anew, after a listener has changed."""
        path = broker_info.path
        request = SetDataRequest(path, broker_info.to_json_bytes(), ZkVersion.NO_VERSION)
        self._retry_request_until_connected(request).maybe_throw()
        broker = broker_info.broker
        self.info("Updated broker %d at path %s with addresses: %s", broker.id, path, _listed(broker))

    def get_all_brokers_in_cluster(self) -> list[Broker]:
        """The live brokers, by id."""
        return list(self.get_all_broker_and_epochs_in_cluster())

    def get_all_broker_and_epochs_in_cluster(self) -> dict[Broker, int]:
        """The live brokers, by id, each with its epoch [2.2]: the zxid of its registration, higher in every life."""
        requests = [GetDataRequest(BrokerIdZNode.path(i), ctx=i) for i in self.get_sorted_broker_list()]
        brokers = {}
        for response in self._retry_requests_until_connected(requests):
            if response.result_code is Code.OK:
                broker = BrokerIdZNode.decode(response.ctx, response.data or b"").broker
                brokers[broker] = response.stat.czxid
            elif response.result_code is not Code.NONODE:
                raise response.failure
        return brokers

    def get_broker(self, broker_id: int) -> Broker | None:
        """The broker of that id, None when it is not alive."""
        data, _ = self.get_data_and_stat(BrokerIdZNode.path(broker_id))
        return None if data is None else BrokerIdZNode.decode(broker_id, data).broker

    def get_sorted_broker_list(self) -> list[int]:
        """Ids of the live brokers in ascending order."""
        return sorted(map(int, self.get_children(BrokerIdsZNode.path)))

    def generate_broker_sequence_id(self) -> int:
        """A number that was never given before: the version of a node that is written for it, from 1 on."""
        request = SetDataRequest(BrokerSequenceIdZNode.path, b"", ZkVersion.NO_VERSION)
        while True:
            response = self._retry_request_until_connected(request)
            if response.result_code is Code.OK:
                return response.stat.version
            if response.result_code is not Code.NONODE:
                raise response.failure
            self.create_recursive(BrokerSequenceIdZNode.path, b"", throw_if_path_exists=False)

    # ----- the cluster -----

    def get_cluster_id(self) -> str | None:
        """The cluster's id, None before the first broker has made it."""
        data, _ = self.get_data_and_stat(ClusterIdZNode.path)
        return None if data is None else ClusterIdZNode.from_json(data)

    def create_or_get_cluster_id(self, proposed_cluster_id: str) -> str:
        """Store the id, or, when there is one already, return that."""
        try:
            self.create_recursive(ClusterIdZNode.path, ClusterIdZNode.to_json(proposed_cluster_id))
        except NodeExistsException as e:
            found = self.get_cluster_id()
            if found is None:
                raise KafkaException(
                    "Failed to get cluster id from Zookeeper. This can happen if /cluster/id is deleted from Zookeeper."
                ) from e
            return found
        return proposed_cluster_id

    def create_top_level_paths(self) -> None:
        """Create the nodes that everything else hangs under."""
        for path in ZkData.PERSISTENT_ZK_PATHS:
            self.make_sure_persistent_path_exists(path)

    # ----- the controller -----

    def get_controller_id(self) -> int | None:
        """Id of the controller, None while there is none."""
        data, _ = self.get_data_and_stat(ControllerZNode.path)
        return None if data is None else ControllerZNode.decode(data)

    def register_controller_and_increment_controller_epoch(self, controller_id: int) -> tuple[int, int]:
        """Make that broker the controller [2.2]: (its epoch, the version of the epoch's node).

        Raises ControllerMovedException when another broker is the controller already.
        """
        return ControllerRegistration(self, controller_id, self._time.milliseconds()).register()

    def delete_controller(self, expected_controller_epoch_zk_version: int = _ANY) -> None:
        """Remove the controller's node, which makes all brokers elect anew."""
        self._delete([ControllerZNode.path], expected_controller_epoch_zk_version)

    def get_controller_epoch(self) -> tuple[int, Stat] | None:
        """The epoch and its node's state, None before the first controller."""
        data, stat = self.get_data_and_stat(ControllerEpochZNode.path)
        return None if data is None else (ControllerEpochZNode.decode(data), stat)

    def set_controller_epoch_raw(self, epoch: int, epoch_zk_version: int) -> SetDataResponse:
        """Write the epoch if its node has that version."""
        request = SetDataRequest(ControllerEpochZNode.path, ControllerEpochZNode.encode(epoch), epoch_zk_version)
        return self._retry_request_until_connected(request)

    def create_controller_epoch_raw(self, epoch: int) -> CreateResponse:
        """Create the epoch's node."""
        path = ControllerEpochZNode.path
        request = CreateRequest(path, ControllerEpochZNode.encode(epoch), self._acls(path), CreateMode.PERSISTENT)
        return self._retry_request_until_connected(request)

    # ----- partition states -----

    def get_topic_partition_states_raw(self, partitions: Sequence[TopicPartition]) -> list[GetDataResponse]:
        """One response for each partition, which is its context."""
        return self._retry_requests_until_connected(
            [GetDataRequest(TopicPartitionStateZNode.path(partition), ctx=partition) for partition in partitions]
        )

    def set_topic_partition_states_raw(
        self,
        leader_isr_and_controller_epochs: Mapping[TopicPartition, LeaderIsrAndControllerEpoch],
        expected_controller_epoch_zk_version: int = _ANY,
    ) -> list[SetDataResponse]:
        """Write each state if its node has the version that the state names; the partition is the context."""
        return self._retry_requests_until_connected(
            [
                SetDataRequest(
                    TopicPartitionStateZNode.path(partition),
                    TopicPartitionStateZNode.encode(state),
                    state.leader_and_isr.zk_version,
                    partition,
                )
                for partition, state in leader_isr_and_controller_epochs.items()
            ],
            expected_controller_epoch_zk_version,
        )

    def create_topic_partition_states_raw(
        self,
        leader_isr_and_controller_epochs: Mapping[TopicPartition, LeaderIsrAndControllerEpoch],
        expected_controller_epoch_zk_version: int = _ANY,
    ) -> list[CreateResponse]:
        """Create the states' nodes and those above them; the partition is the context."""
        states, version = leader_isr_and_controller_epochs, expected_controller_epoch_zk_version
        self._create_topic_partitions(list(dict.fromkeys(partition.topic for partition in states)), version)
        self._create_topic_partition(list(states), version)
        requests = []
        for partition, state in states.items():
            path = TopicPartitionStateZNode.path(partition)
            data = TopicPartitionStateZNode.encode(state)
            requests.append(CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT, partition))
        return self._retry_requests_until_connected(requests, version)

    def _create_topic_partition(self, partitions: Sequence[TopicPartition], version: int) -> list[CreateResponse]:
        return self._create_without_data([TopicPartitionZNode.path(partition) for partition in partitions], version)

    def _create_topic_partitions(self, topics: Sequence[str], version: int) -> list[CreateResponse]:
        return self._create_without_data([TopicPartitionsZNode.path(topic) for topic in topics], version)

    def _create_without_data(self, paths: Sequence[str], version: int) -> list[CreateResponse]:
        requests = [CreateRequest(path, None, self._acls(path), CreateMode.PERSISTENT) for path in paths]
        return self._retry_requests_until_connected(requests, version)

    def update_leader_and_isr(
        self,
        leader_and_isrs: Mapping[TopicPartition, LeaderAndIsr],
        controller_epoch: int,
        expected_controller_epoch_zk_version: int = _ANY,
    ) -> UpdateLeaderAndIsrResult:
        """Write many partitions' states, each if its node has the expected version."""
        result = KafkaZkClient.UpdateLeaderAndIsrResult({}, [], {})
        try:
            responses = self.set_topic_partition_states_raw(
                {tp: LeaderIsrAndControllerEpoch(state, controller_epoch) for tp, state in leader_and_isrs.items()},
                expected_controller_epoch_zk_version,
            )
        except ControllerMovedException:
            raise
        except Exception as e:  # noqa: BLE001  # whatever it was, it was so for all partitions
            result.failed_partitions.update(dict.fromkeys(leader_and_isrs, e))
            return result
        for response in responses:
            partition = response.ctx
            if response.result_code is Code.OK:
                updated = leader_and_isrs[partition].with_zk_version(response.stat.version)
                result.successful_partitions[partition] = updated
            elif response.result_code is Code.BADVERSION:
                result.partitions_to_retry.append(partition)
            else:
                result.failed_partitions[partition] = response.failure
        return result

    def get_topic_partition_states(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """States of those partitions that have one."""
        states = {}
        for response in self.get_topic_partition_states_raw(partitions):
            if response.result_code is Code.OK:
                state = TopicPartitionStateZNode.decode(response.data or b"", response.stat)
                if state is not None:
                    states[response.ctx] = state
            elif response.result_code is not Code.NONODE:
                raise response.failure
        return states

    def get_topic_partition_state(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch | None:
        """State of one partition, None when it has none."""
        return self.get_topic_partition_states([partition]).get(partition)

    def get_leader_for_partition(self, partition: TopicPartition) -> int | None:
        """Id of the leader (-1: none alive), None for a partition without state."""
        state = self.get_topic_partition_state(partition)
        return None if state is None else state.leader_and_isr.leader

    # ----- topics -----

    def get_all_topics_in_cluster(self) -> list[str]:
        """Names of all topics."""
        return self.get_children(TopicsZNode.path)

    def topic_exists(self, topic_name: str) -> bool:
        """Whether there is such a topic."""
        return self.path_exists(TopicZNode.path(topic_name))

    def set_topic_assignment_raw(
        self,
        topic: str,
        assignment: Mapping[TopicPartition, Sequence[int]],
        expected_controller_epoch_zk_version: int = _ANY,
    ) -> SetDataResponse:
        """Write the replicas of an existing topic's partitions."""
        request = SetDataRequest(TopicZNode.path(topic), TopicZNode.encode(assignment), ZkVersion.NO_VERSION)
        return self._retry_request_until_connected(request, expected_controller_epoch_zk_version)

    def set_topic_assignment(self, topic: str, assignment: Mapping[TopicPartition, Sequence[int]]) -> None:
        """As set_topic_assignment_raw, but raises KeeperException."""
        self.set_topic_assignment_raw(topic, assignment).maybe_throw()

    def create_topic_assignment(self, topic: str, assignment: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Create the topic's node; raises NodeExistsException."""
        self.create_recursive(TopicZNode.path(topic), TopicZNode.encode(assignment))

    def _topic_data(self, topics: Collection[str]) -> list[tuple[str, bytes]]:
        """(topic, data) of those of the topics that exist."""
        found = []
        requests = [GetDataRequest(TopicZNode.path(topic), ctx=topic) for topic in topics]
        for response in self._retry_requests_until_connected(requests):
            if response.result_code is Code.OK:
                found.append((response.ctx, response.data or b""))
            elif response.result_code is not Code.NONODE:
                raise response.failure
        return found

    def get_replica_assignment_for_topics(self, topics: Collection[str]) -> dict[TopicPartition, list[int]]:
        """Replicas of each partition of those topics."""
        assignment: dict[TopicPartition, list[int]] = {}
        for topic, data in self._topic_data(topics):
            assignment.update(TopicZNode.decode(topic, data))
        return assignment

    def get_partition_assignment_for_topics(self, topics: Collection[str]) -> dict[str, dict[int, list[int]]]:
        """Topic -> partition -> replicas, without the topics that do not exist."""
        return {
            topic: {tp.partition: replicas for tp, replicas in TopicZNode.decode(topic, data).items()}
            for topic, data in self._topic_data(topics)
        }

    def get_partitions_for_topics(self, topics: Collection[str]) -> dict[str, list[int]]:
        """Topic -> its partition numbers in ascending order."""
        assignments = self.get_partition_assignment_for_topics(topics)
        return {topic: sorted(partitions) for topic, partitions in assignments.items()}

    def get_topic_partition_count(self, topic: str) -> int | None:
        """Number of partitions, None when there is no such topic."""
        return len(self.get_replica_assignment_for_topics([topic])) or None

    def get_replicas_for_partition(self, topic_partition: TopicPartition) -> list[int]:
        """Replicas of one partition, empty when it does not exist."""
        return self.get_replica_assignment_for_topics([topic_partition.topic]).get(topic_partition, [])

    def get_all_partitions(self) -> set[TopicPartition]:
        """All partitions that have a node; a topic being deleted may have none any more."""
        return {
            TopicPartition(topic, int(partition))
            for topic in self.get_children(TopicsZNode.path)
            for partition in self.get_children(TopicPartitionsZNode.path(topic))
        }

    def delete_topic_znode(self, topic: str, expected_controller_epoch_zk_version: int = _ANY) -> None:
        """Delete the topic's node and all below it."""
        self.delete_recursive(TopicZNode.path(topic), expected_controller_epoch_zk_version)

    delete_topic_znode = delete_topic_znode

    def delete_topic_configs(self, topics: Sequence[str], expected_controller_epoch_zk_version: int = _ANY) -> None:
        """Delete the topics' overrides, where there are any."""
        paths = [ConfigEntityZNode.path(ConfigType.TOPIC, topic) for topic in topics]
        self._delete(paths, expected_controller_epoch_zk_version)

    # ----- configurations of topics -----

    def _get_topic_configs(self, topics: Sequence[str]) -> list[GetDataResponse]:
        paths = [(ConfigEntityZNode.path(ConfigType.TOPIC, topic), topic) for topic in topics]
        return self._retry_requests_until_connected([GetDataRequest(path, ctx=topic) for path, topic in paths])

    def get_log_configs(
        self, topics: Sequence[str], config: Mapping[str, Any]
    ) -> tuple[dict[str, LogConfig], dict[str, Exception]]:
        """(topic -> config with its overrides from ZooKeeper, topic -> why it could not be read)."""
        from kafka_py.log.log_config import LogConfig  # log stands beside zk: only this method needs it

        log_configs: dict[str, LogConfig] = {}
        failed: dict[str, Exception] = {}
        try:
            responses = self._get_topic_configs(topics)
        except Exception as e:  # noqa: BLE001  # whatever it was, it was so for all topics
            return log_configs, dict.fromkeys(topics, e)
        for response in responses:
            if response.result_code is Code.OK:
                overrides = ConfigEntityZNode.decode(response.data)
                log_configs[response.ctx] = LogConfig.from_props(config, overrides)
            elif response.result_code is Code.NONODE:
                log_configs[response.ctx] = LogConfig.from_props(config, {})
            else:
                failed[response.ctx] = response.failure
        return log_configs, failed

    # ----- any node -----

    def get_data_and_version(self, path: str) -> tuple[bytes | None, int]:
        """(data, version); (None, -1) when there is no such node."""
        data, stat = self.get_data_and_stat(path)
        return data, ZkVersion.NO_VERSION if stat is ZkStat.NO_STAT else stat.version

    def get_data_and_stat(self, path: str) -> tuple[bytes | None, Stat]:
        """(data, state); (None, ZkStat.NO_STAT) when there is no such node."""
        response = self._retry_request_until_connected(GetDataRequest(path))
        if response.result_code is Code.OK:
            return response.data, response.stat
        if response.result_code is Code.NONODE:
            return None, ZkStat.NO_STAT
        raise response.failure

    def get_children(self, path: str) -> list[str]:
        """Names of the children, in no order; empty when there is no such node."""
        response = self._retry_request_until_connected(GetChildrenRequest(path))
        if response.result_code is Code.OK:
            return response.children
        if response.result_code is Code.NONODE:
            return []
        raise response.failure

    def conditional_update_path(
        self, path: str, data: bytes, expect_version: int, optional_checker: Checker | None = None
    ) -> tuple[bool, int]:
        """Write a node that has the expected version: (True, new version), or (False, -1) for another or no node.

        A write whose answer was lost is repeated, and then finds the version that it made itself: the checker is
        asked on BADVERSION whether what stands there is what we wrote.
        """
        response = self._retry_request_until_connected(SetDataRequest(path, data, expect_version))
        code = response.result_code
        if code is Code.OK:
            self.debug(
                "Conditional update of path %s with value %s and expected version %d succeeded, returning the new "
                "version: %d",
                path,
                data,
                expect_version,
                response.stat.version,
            )
            return True, response.stat.version
        if code is Code.BADVERSION and optional_checker is not None:
            return optional_checker(self, path, data)
        if code is Code.BADVERSION:
            self.debug("Checker method is not passed skipping zkData match")
        self.debug(
            "Conditional update of path %s with data %s and expected version %d failed due to %s",
            path,
            data,
            expect_version,
            response.failure,
        )
        if code in (Code.BADVERSION, Code.NONODE):
            return False, ZkVersion.NO_VERSION
        raise response.failure

    def checked_ephemeral_create(self, path: str, data: bytes) -> Stat:
        """Create an ephemeral node; one that this session owns already counts as created. Gives its state [2.2].

        Raises NodeExistsException when another session has it.
        """
        self.info("Creating %s (is it secure? %s)", path, str(self._is_secure).lower())
        stat = CheckedEphemeral(self, path, data).create()
        self.info("Stat of the created znode at %s is: %s", path, ",".join(map(str, stat)))
        return stat

    # ----- configurations -----

    def get_entity_configs(self, root_entity_type: str, sanitized_entity_name: str) -> dict[str, str]:
        """Overrides of one entity, empty when it has none."""
        path = ConfigEntityZNode.path(root_entity_type, sanitized_entity_name)
        return ConfigEntityZNode.decode(self.get_data_and_stat(path)[0])

    def set_or_create_entity_configs(
        self, root_entity_type: str, sanitized_entity_name: str, config: Mapping[str, str]
    ) -> None:
        """Write the overrides; of two that do so at once the later wins."""
        path = ConfigEntityZNode.path(root_entity_type, sanitized_entity_name)
        data = ConfigEntityZNode.encode(config)
        response = self._set(path, data)
        if response.result_code is not Code.NONODE:
            response.maybe_throw()
            return
        try:
            self.create_recursive(path, data)
        except NodeExistsException:
            self._set(path, data).maybe_throw()

    def _set(self, path: str, data: bytes, expected_controller_epoch_zk_version: int = _ANY) -> SetDataResponse:
        request = SetDataRequest(path, data, ZkVersion.NO_VERSION)
        return self._retry_request_until_connected(request, expected_controller_epoch_zk_version)

    def get_all_entities_with_config(self, entity_type: str) -> list[str]:
        """Names of the entities of that type that have a node."""
        return self.get_children(ConfigEntityTypeZNode.path(entity_type))

    def create_config_change_notification(self, sanitized_entity_path: str) -> None:
        """Tell all brokers that the configuration below that path has changed."""
        self.make_sure_persistent_path_exists(ConfigEntityChangeNotificationZNode.path)
        self.create_sequential_persistent_path(
            ConfigEntityChangeNotificationSequenceZNode.create_path,
            ConfigEntityChangeNotificationSequenceZNode.encode(sanitized_entity_path),
        )

    # ----- log directories that failed -----

    def propagate_log_dir_event(self, broker_id: int) -> None:
        """Tell the controller that a log directory of that broker has failed."""
        path = self.create_sequential_persistent_path(
            LogDirEventNotificationSequenceZNode.path(""), LogDirEventNotificationSequenceZNode.encode(broker_id)
        )
        self.debug("Added %s for broker %d", path, broker_id)

    def get_all_log_dir_event_notifications(self) -> list[str]:
        """Numbers of the notes that wait."""
        names = self.get_children(LogDirEventNotificationZNode.path)
        return [LogDirEventNotificationSequenceZNode.sequence_number(name) for name in names]

    def get_broker_ids_from_log_dir_events(self, sequence_numbers: Sequence[str]) -> list[int]:
        """Ids of the brokers that those notes name."""
        paths = [LogDirEventNotificationSequenceZNode.path(number) for number in sequence_numbers]
        ids = (LogDirEventNotificationSequenceZNode.decode(data) for data in self._data_of(paths))
        return [broker_id for broker_id in ids if broker_id is not None]

    def delete_log_dir_event_notifications(
        self, sequence_numbers: Sequence[str] | None = None, expected_controller_epoch_zk_version: int = _ANY
    ) -> None:
        """Delete the notes of those numbers, or all of them."""
        if sequence_numbers is None:
            sequence_numbers = self.get_all_log_dir_event_notifications()
        paths = [LogDirEventNotificationSequenceZNode.path(number) for number in sequence_numbers]
        self._delete(paths, expected_controller_epoch_zk_version)

    # ----- ISRs that changed -----

    def propagate_isr_changes(self, isr_change_set: Collection[TopicPartition]) -> None:
        """Tell the controller which partitions have another ISR now."""
        path = self.create_sequential_persistent_path(
            IsrChangeNotificationSequenceZNode.path(), IsrChangeNotificationSequenceZNode.encode(isr_change_set)
        )
        self.debug("Added %s for %s", path, isr_change_set)

    def get_all_isr_change_notifications(self) -> list[str]:
        """Numbers of the notes that wait."""
        names = self.get_children(IsrChangeNotificationZNode.path)
        return [IsrChangeNotificationSequenceZNode.sequence_number(name) for name in names]

    def get_partitions_from_isr_change_notifications(self, sequence_numbers: Sequence[str]) -> list[TopicPartition]:
        """The partitions that those notes name."""
        paths = [IsrChangeNotificationSequenceZNode.path(number) for number in sequence_numbers]
        return [tp for data in self._data_of(paths) for tp in IsrChangeNotificationSequenceZNode.decode(data)]

    def delete_isr_change_notifications(
        self, sequence_numbers: Sequence[str] | None = None, expected_controller_epoch_zk_version: int = _ANY
    ) -> None:
        """Delete the notes of those numbers, or all of them."""
        if sequence_numbers is None:
            sequence_numbers = self.get_all_isr_change_notifications()
        paths = [IsrChangeNotificationSequenceZNode.path(number) for number in sequence_numbers]
        self._delete(paths, expected_controller_epoch_zk_version)

    # ----- topics to delete -----

    def create_delete_topic_path(self, topic_name: str) -> None:
        """Ask the controller to delete the topic; raises NodeExistsException when that was asked already."""
        self.create_recursive(DeleteTopicsTopicZNode.path(topic_name))

    def is_topic_marked_for_deletion(self, topic: str) -> bool:
        """Whether the topic is to be deleted."""
        return self.path_exists(DeleteTopicsTopicZNode.path(topic))

    def get_topic_deletions(self) -> list[str]:
        """Names of the topics to delete."""
        return self.get_children(DeleteTopicsZNode.path)

    def delete_topic_deletions(self, topics: Sequence[str], expected_controller_epoch_zk_version: int = _ANY) -> None:
        """Forget the wish to delete those topics."""
        self._delete([DeleteTopicsTopicZNode.path(topic) for topic in topics], expected_controller_epoch_zk_version)

    # ----- partitions to move -----

    def get_partition_reassignment(self) -> dict[TopicPartition, list[int]]:
        """Partitions to move, with their new replicas; none if what is written there cannot be read."""
        data = self.get_data_and_stat(ReassignPartitionsZNode.path)[0]
        try:
            return {} if data is None else ReassignPartitionsZNode.decode(data)
        except _UNREADABLE as e:
            self.warn("Ignoring partition reassignment due to invalid json: %s", e)
            return {}

    def set_or_create_partition_reassignment(
        self, reassignment: Mapping[TopicPartition, Sequence[int]], expected_controller_epoch_zk_version: int = _ANY
    ) -> None:
        """Write the partitions to move; raises KeeperException."""
        path, data = ReassignPartitionsZNode.path, ReassignPartitionsZNode.encode(reassignment)
        response = self._set(path, data, expected_controller_epoch_zk_version)
        if response.result_code is Code.NONODE:
            request = CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT)
            self._retry_request_until_connected(request, expected_controller_epoch_zk_version).maybe_throw()
        else:
            response.maybe_throw()

    def create_partition_reassignment(self, reassignment: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Ask the controller to move partitions; raises NodeExistsException while it is moving others."""
        self.create_recursive(ReassignPartitionsZNode.path, ReassignPartitionsZNode.encode(reassignment))

    def delete_partition_reassignment(self, expected_controller_epoch_zk_version: int = _ANY) -> None:
        """Forget what was to move."""
        self._delete([ReassignPartitionsZNode.path], expected_controller_epoch_zk_version)

    def reassign_partitions_in_progress(self) -> bool:
        """Whether partitions are being moved."""
        return self.path_exists(ReassignPartitionsZNode.path)

    def create_preferred_replica_election(self, partitions: Collection[TopicPartition]) -> None:
        """Ask the controller to give leadership back to the first replicas; raises NodeExistsException."""
        self.create_recursive(PreferredReplicaElectionZNode.path, PreferredReplicaElectionZNode.encode(partitions))

    def get_preferred_replica_election(self) -> set[TopicPartition]:
        """The partitions for which that was asked; none if what is written there cannot be read."""
        data = self.get_data_and_stat(PreferredReplicaElectionZNode.path)[0]
        try:
            return set() if data is None else PreferredReplicaElectionZNode.decode(data)
        except _UNREADABLE as e:
            self.warn("Ignoring preferred replica election due to invalid json: %s", e)
            return set()

    def delete_preferred_replica_election(self, expected_controller_epoch_zk_version: int = _ANY) -> None:
        """Forget that it was asked."""
        self._delete([PreferredReplicaElectionZNode.path], expected_controller_epoch_zk_version)

    # ----- offsets of old consumers -----

    def get_consumer_offset(self, group: str, topic_partition: TopicPartition) -> int | None:
        """Committed offset of the group, None when there is none."""
        path = ConsumerOffset.path(group, topic_partition.topic, topic_partition.partition)
        return ConsumerOffset.decode(self.get_data_and_stat(path)[0])

    def set_or_create_consumer_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> None:
        """Commit the offset for the group."""
        response = self._set_consumer_offset(group, topic_partition, offset)
        if response.result_code is Code.NONODE:
            self._create_consumer_offset(group, topic_partition, offset)
        else:
            response.maybe_throw()

    def _set_consumer_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> SetDataResponse:
        path = ConsumerOffset.path(group, topic_partition.topic, topic_partition.partition)
        return self._set(path, ConsumerOffset.encode(offset))

    def _create_consumer_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> None:
        path = ConsumerOffset.path(group, topic_partition.topic, topic_partition.partition)
        self.create_recursive(path, ConsumerOffset.encode(offset))

    def _data_of(self, paths: Sequence[str]) -> list[bytes]:
        """Data of those of the nodes that exist and have any."""
        found = []
        for response in self._retry_requests_until_connected([GetDataRequest(path) for path in paths]):
            if response.result_code is Code.NONODE:
                continue
            response.maybe_throw()
            if response.data is not None:
                found.append(response.data)
        return found

    def _delete(self, paths: Sequence[str], version: int) -> None:
        """Delete the nodes; one that is not there is as good as deleted, and other errors show at the next read."""
        self._retry_requests_until_connected([DeleteRequest(path, ZkVersion.NO_VERSION) for path in paths], version)


def _listed(broker: Broker) -> str:
    return f"ArrayBuffer({','.join(map(str, broker.end_points))})"
