"""What Kafka reads and writes in ZooKeeper, one method for each purpose.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala @ 1.1.1
Read next: zk/kafka_zk_client_base.py (retries and paths), zk/kafka_zk_client_admin.py (what admins and the controller
           tell each other), zk/zk_data.py (the nodes' bytes)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka_py.cluster.broker import Broker
from kafka_py.common.errors import KafkaException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.server.config_type import ConfigType
from kafka_py.zk.kafka_zk_client_admin import KafkaZkClientAdmin
from kafka_py.zk.kafka_zk_client_base import CheckedEphemeral
from kafka_py.zk.zk_data import (
    BrokerIdsZNode,
    BrokerIdZNode,
    BrokerInfo,
    BrokerSequenceIdZNode,
    ClusterIdZNode,
    ConfigEntityZNode,
    ControllerEpochZNode,
    ControllerZNode,
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
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    GetChildrenRequest,
    GetDataRequest,
    GetDataResponse,
    SetDataRequest,
    SetDataResponse,
)
from kafka_py.zookeeper.zoo_defs import CreateMode, Stat
from kafka_py.zookeeper.zoo_keeper_client import ZooKeeperClient

if TYPE_CHECKING:
    from kafka_py.api.leader_and_isr import LeaderAndIsr
    from kafka_py.log.log_config import LogConfig

Checker = Callable[["KafkaZkClient", str, bytes], tuple[bool, int]]


class KafkaZkClient(KafkaZkClientAdmin):
    """Typed access to Kafka's nodes over one session; requests are repeated while the connection is lost.

    Mirrors: kafka.zk.KafkaZkClient
    Thread: any; the methods block until ZooKeeper has answered, or the session is gone (KeeperException).
    Differs: apply is the class method create; a method that Scala declares without parentheses is a property; the
        overloads that delete all notifications are the methods called without numbers.
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

    # ----- brokers -----

    def register_broker_in_zk(self, broker_info: BrokerInfo) -> None:
        """Create the broker's ephemeral node; raises NodeExistsException when another session has it."""
        path = broker_info.path
        self.checked_ephemeral_create(path, broker_info.to_json_bytes)
        broker = broker_info.broker
        self.info("Registered broker %d at path %s with addresses: %s", broker.id, path, _listed(broker))

    def update_broker_info_in_zk(self, broker_info: BrokerInfo) -> None:
        """Write the registration anew, after a listener has changed."""
        path = broker_info.path
        request = SetDataRequest(path, broker_info.to_json_bytes, ZkVersion.NO_VERSION)
        self._retry_request_until_connected(request).maybe_throw()
        broker = broker_info.broker
        self.info("Updated broker %d at path %s with addresses: %s", broker.id, path, _listed(broker))

    @property
    def get_all_brokers_in_cluster(self) -> list[Broker]:
        """The live brokers, by id."""
        return list(self.get_all_broker_and_epochs_in_cluster)

    @property
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

    @property
    def get_cluster_id(self) -> str | None:
        """The cluster's id, None before the first broker has made it."""
        data, _ = self.get_data_and_stat(ClusterIdZNode.path)
        return None if data is None else ClusterIdZNode.from_json(data)

    def create_or_get_cluster_id(self, proposed_cluster_id: str) -> str:
        """Store the id, or, when there is one already, return that."""
        try:
            self.create_recursive(ClusterIdZNode.path, ClusterIdZNode.to_json(proposed_cluster_id))
        except NodeExistsException as e:
            found = self.get_cluster_id
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

    @property
    def get_controller_id(self) -> int | None:
        """Id of the controller, None while there is none."""
        data, _ = self.get_data_and_stat(ControllerZNode.path)
        return None if data is None else ControllerZNode.decode(data)

    def delete_controller(self) -> None:
        """Remove the controller's node, which makes all brokers elect anew."""
        self._retry_request_until_connected(DeleteRequest(ControllerZNode.path, ZkVersion.NO_VERSION))

    @property
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
        self, leader_isr_and_controller_epochs: Mapping[TopicPartition, LeaderIsrAndControllerEpoch]
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
            ]
        )

    def create_topic_partition_states_raw(
        self, leader_isr_and_controller_epochs: Mapping[TopicPartition, LeaderIsrAndControllerEpoch]
    ) -> list[CreateResponse]:
        """Create the states' nodes and those above them; the partition is the context."""
        states = leader_isr_and_controller_epochs
        self._create_topic_partitions(list(dict.fromkeys(partition.topic for partition in states)))
        self._create_topic_partition(list(states))
        requests = []
        for partition, state in states.items():
            path = TopicPartitionStateZNode.path(partition)
            data = TopicPartitionStateZNode.encode(state)
            requests.append(CreateRequest(path, data, self._acls(path), CreateMode.PERSISTENT, partition))
        return self._retry_requests_until_connected(requests)

    def _create_topic_partition(self, partitions: Sequence[TopicPartition]) -> list[CreateResponse]:
        paths = [(TopicPartitionZNode.path(partition), partition) for partition in partitions]
        return self._retry_requests_until_connected(
            [CreateRequest(path, None, self._acls(path), CreateMode.PERSISTENT, ctx) for path, ctx in paths]
        )

    def _create_topic_partitions(self, topics: Sequence[str]) -> list[CreateResponse]:
        paths = [(TopicPartitionsZNode.path(topic), topic) for topic in topics]
        return self._retry_requests_until_connected(
            [CreateRequest(path, None, self._acls(path), CreateMode.PERSISTENT, ctx) for path, ctx in paths]
        )

    def update_leader_and_isr(
        self, leader_and_isrs: Mapping[TopicPartition, LeaderAndIsr], controller_epoch: int
    ) -> UpdateLeaderAndIsrResult:
        """Write many partitions' states, each if its node has the expected version."""
        result = KafkaZkClient.UpdateLeaderAndIsrResult({}, [], {})
        try:
            responses = self.set_topic_partition_states_raw(
                {tp: LeaderIsrAndControllerEpoch(state, controller_epoch) for tp, state in leader_and_isrs.items()}
            )
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

    @property
    def get_all_topics_in_cluster(self) -> list[str]:
        """Names of all topics."""
        return self.get_children(TopicsZNode.path)

    def topic_exists(self, topic_name: str) -> bool:
        """Whether there is such a topic."""
        return self.path_exists(TopicZNode.path(topic_name))

    def set_topic_assignment_raw(
        self, topic: str, assignment: Mapping[TopicPartition, Sequence[int]]
    ) -> SetDataResponse:
        """Write the replicas of an existing topic's partitions."""
        request = SetDataRequest(TopicZNode.path(topic), TopicZNode.encode(assignment), ZkVersion.NO_VERSION)
        return self._retry_request_until_connected(request)

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

    def delete_topic_z_node(self, topic: str) -> None:
        """Delete the topic's node and all below it."""
        self.delete_recursive(TopicZNode.path(topic))

    delete_topic_znode = delete_topic_z_node

    def delete_topic_configs(self, topics: Sequence[str]) -> None:
        """Delete the topics' overrides, where there are any."""
        paths = [ConfigEntityZNode.path(ConfigType.TOPIC, topic) for topic in topics]
        self._retry_requests_until_connected([DeleteRequest(path, ZkVersion.NO_VERSION) for path in paths])

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

    def checked_ephemeral_create(self, path: str, data: bytes) -> None:
        """Create an ephemeral node; one that this session owns already counts as created.

        Raises NodeExistsException when another session has it.
        """
        self.info("Creating %s (is it secure? %s)", path, str(self._is_secure).lower())
        code = CheckedEphemeral(self, path, data).create()
        self.info("Result of znode creation at %s is: %s", path, code)
        self._throw(code)


UpdateLeaderAndIsrResult = KafkaZkClient.UpdateLeaderAndIsrResult


def _listed(broker: Broker) -> str:
    return f"ArrayBuffer({','.join(map(str, broker.end_points))})"
