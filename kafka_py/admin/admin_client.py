"""Asks brokers what the tools want to know or have done.

Mirrors: core/src/main/scala/kafka/admin/AdminClient.scala @ 1.1.1 (deleteRecordsBefore), and what kafka-configs,
kafka-leader-election, kafka-log-dirs and kafka-reassign-partitions use of the Java client's KafkaAdminClient
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_py.admin import broker_api_versions_command
from kafka_py.common.election_type import ElectionType
from kafka_py.common.errors import ApiException, IllegalArgumentException, IllegalStateException, TimeoutException
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.alter_configs_response import AlterConfigsResponse
from kafka_py.common.requests.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.requests.delete_records_request import DeleteRecordsRequest
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.describe_configs_request import DescribeConfigsRequest
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.describe_log_dirs_request import DescribeLogDirsRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.elect_leaders_request import ElectLeadersRequest
from kafka_py.common.requests.elect_leaders_response import ElectLeadersResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.topic_partition_replica import TopicPartitionReplica
from kafka_py.common.utils.collection_utils import group_data_by_topic

REQUEST_TIMEOUT_MS = 5_000
_RETRY_BACKOFF_MS = 100


class DeleteRecordsResult(NamedTuple):
    """Where a partition starts now, or why it could not be moved.

    Mirrors: kafka.admin.AdminClient.DeleteRecordsResult
    """

    low_watermark: int
    error: Exception | None


class ReplicaLogDirInfo(NamedTuple):
    """Where a replica is, and where it is moving to.

    Mirrors: DescribeReplicaLogDirsResult.ReplicaLogDirInfo of the Java client
    """

    current_replica_log_dir: str | None = None
    current_replica_offset_lag: int = DescribeLogDirsResponse.INVALID_OFFSET_LAG
    future_replica_log_dir: str | None = None
    future_replica_offset_lag: int = DescribeLogDirsResponse.INVALID_OFFSET_LAG


class AdminClient(broker_api_versions_command.AdminClient):
    """Waits for each answer; what belongs to one broker is asked of that broker.

    Mirrors: the parts of kafka.admin.AdminClient and org.apache.kafka.clients.admin.KafkaAdminClient that tools need
    """

    def delete_records_before(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, DeleteRecordsResult]:
        """Move the starts of logs; every partition has an answer, in the order asked."""
        invalid = DeleteRecordsResponse.INVALID_LOW_WATERMARK
        topics = list(dict.fromkeys(tp.topic for tp in offsets))
        metadata = self._send_any_node(MetadataRequest.Builder(topics, True))
        assert isinstance(metadata, MetadataResponse)
        errors = metadata.errors()
        cluster = metadata.cluster()
        results: dict[TopicPartition, DeleteRecordsResult] = {}
        by_leader: dict[Node, dict[TopicPartition, int]] = {}
        for tp, offset in offsets.items():
            leader = cluster.leader_for(tp)
            if tp.topic in errors:
                results[tp] = DeleteRecordsResult(invalid, errors[tp.topic].exception())
            elif leader is None:
                results[tp] = DeleteRecordsResult(invalid, Errors.LEADER_NOT_AVAILABLE.exception())
            else:
                by_leader.setdefault(leader, {})[tp] = offset
        for leader, wanted in by_leader.items():
            try:
                response = self.send(leader, DeleteRecordsRequest.Builder(REQUEST_TIMEOUT_MS, wanted))
            except OSError as e:
                results.update(dict.fromkeys(wanted, DeleteRecordsResult(invalid, e)))
                continue
            assert isinstance(response, DeleteRecordsResponse)
            for tp, partition in response.responses().items():
                results[tp] = DeleteRecordsResult(partition.low_watermark, partition.error.exception())
        timed_out = DeleteRecordsResult(invalid, Errors.REQUEST_TIMED_OUT.exception())
        return {tp: results.get(tp, timed_out) for tp in offsets}

    def describe_log_dirs(self, brokers: Sequence[int]) -> dict[int, dict[str, DescribeLogDirsResponse.LogDirInfo]]:
        """Broker -> directory -> what is in it; raises OSError for a broker that cannot be reached."""
        found = {}
        for broker in brokers:
            response = self.send(self._node(broker), DescribeLogDirsRequest.Builder(None))
            assert isinstance(response, DescribeLogDirsResponse)
            found[broker] = response.log_dir_infos()
        return found

    def describe_replica_log_dirs(
        self, replicas: Collection[TopicPartitionReplica]
    ) -> dict[TopicPartitionReplica, ReplicaLogDirInfo]:
        """Where each replica is; raises OSError for a broker that cannot be reached.

        Directories that are offline tell nothing of what is in them.
        """
        found = dict.fromkeys(replicas, ReplicaLogDirInfo())
        for broker in dict.fromkeys(replica.broker_id for replica in replicas):
            partitions = [replica.topic_partition for replica in replicas if replica.broker_id == broker]
            response = self.send(self._node(broker), DescribeLogDirsRequest.Builder(partitions))
            assert isinstance(response, DescribeLogDirsResponse)
            for log_dir, info in response.log_dir_infos().items():
                if info.error not in (Errors.NONE, Errors.KAFKA_STORAGE_ERROR):
                    raise IllegalStateException(
                        f"The error {info.error.name} for log directory {log_dir} in the response from broker "
                        f"{broker} is illegal"
                    )
                for tp, replica_info in info.replica_infos.items():
                    replica = TopicPartitionReplica(tp.topic, tp.partition, broker)
                    if replica_info.is_future:
                        found[replica] = found[replica]._replace(
                            future_replica_log_dir=log_dir, future_replica_offset_lag=replica_info.offset_lag
                        )
                    else:
                        found[replica] = found[replica]._replace(
                            current_replica_log_dir=log_dir, current_replica_offset_lag=replica_info.offset_lag
                        )
        return found

    def alter_replica_log_dirs(
        self, replica_assignment: Mapping[TopicPartitionReplica, str]
    ) -> dict[TopicPartitionReplica, Exception | None]:
        """Move replicas into these directories of their brokers; for each why it does not move, None if it does."""
        results: dict[TopicPartitionReplica, Exception | None] = {}
        for broker in dict.fromkeys(replica.broker_id for replica in replica_assignment):
            assignment = {r.topic_partition: d for r, d in replica_assignment.items() if r.broker_id == broker}
            try:
                response = self.send(self._node(broker), _alter_replica_log_dirs(assignment))
            except (OSError, ApiException) as e:
                results |= {TopicPartitionReplica(tp.topic, tp.partition, broker): e for tp in assignment}
                continue
            assert isinstance(response, AlterReplicaLogDirsResponse)
            for topic in response.topics:
                for p in topic.partitions:
                    results[TopicPartitionReplica(topic.topic, p.partition, broker)] = p.error.exception()
        return results

    def elect_leaders(
        self, election_type: ElectionType, partitions: Collection[TopicPartition] | None, timeout_ms: int
    ) -> dict[TopicPartition, ApiException | None]:
        """Have leaders elected for these partitions or (None) all; for each why it was not, None if it was.

        Raises TimeoutException when the controller cannot be found and asked in time, and the answer's error.
        """
        topics = None
        if partitions is not None:
            by_topic = group_data_by_topic(dict.fromkeys(partitions))
            topic_class = ElectLeadersRequest.TopicPartitions
            topics = [topic_class(topic=topic, partition_ids=list(ids)) for topic, ids in by_topic.items()]
        request = ElectLeadersRequest(
            election_type=election_type.value,
            topic_partitions=topics,
            timeout_ms=timeout_ms,
        )
        oldest = 0 if election_type is ElectionType.PREFERRED else 1
        response = self._send_to_controller(RequestMessage.Builder(request, oldest), timeout_ms)
        assert isinstance(response, ElectLeadersResponse)
        _maybe_throw(Errors.for_code(response.error_code).exception())
        return {
            TopicPartition(topic.topic, p.partition_id): p.error.exception(p.error_message)
            for topic in response.replica_election_results
            for p in topic.partition_results
        }

    def _send_to_controller(self, request: AbstractRequest.Builder, timeout_ms: int) -> object:
        """The controller's answer; brokers are asked who that is until one of them knows."""
        deadline = self._time.milliseconds() + timeout_ms
        failure: Exception | None = None
        while self._time.milliseconds() < deadline:
            try:
                metadata = self._send_any_node(MetadataRequest.Builder([], False))
                assert isinstance(metadata, MetadataResponse)
                controller = metadata.controller()
                if controller is not None:
                    return self.send(controller, request)
            except OSError as e:
                failure = e
            self._time.sleep(_RETRY_BACKOFF_MS)
        raise TimeoutException(f"Timed out waiting to send the call {request.api_key().name}.", failure)

    def describe_broker_configs(
        self, broker: str, include_synonyms: bool
    ) -> Sequence[DescribeConfigsResponse.ConfigEntry]:
        """The settings of a broker, or (empty name) of all; raises the answer's error."""
        resource = Resource(ResourceType.BROKER, broker)
        request = DescribeConfigsRequest.Builder([resource]).include_synonyms(include_synonyms)
        response = self._send_for(broker, request)
        assert isinstance(response, DescribeConfigsResponse)
        config = response.configs()[resource]
        _maybe_throw(config.error.exception())
        return config.entries

    def alter_broker_configs(self, broker: str, entries: Collection[AlterConfigsRequest.ConfigEntry]) -> None:
        """Replace the settings of a broker, or (empty name) of all; raises the answer's error."""
        resource = Resource(ResourceType.BROKER, broker)
        request = AlterConfigsRequest.Builder({resource: AlterConfigsRequest.Config(list(entries))}, False)
        response = self._send_for(broker, request)
        assert isinstance(response, AlterConfigsResponse)
        _maybe_throw(response.errors()[resource].exception())

    def _send_for(self, broker: str, request: AbstractRequest.Builder) -> object:
        if not broker:
            return self._send_any_node(request)
        try:
            broker_id = int(broker)
        except ValueError:
            raise IllegalArgumentException(f"Broker id must be an integer, but it is: {broker}") from None
        return self.send(self._node(broker_id), request)

    def _send_any_node(self, request: AbstractRequest.Builder) -> object:
        """The answer of the first broker that can be reached; raises OSError when none can be."""
        failure = OSError(f"Request {request.api_key().name} failed on brokers")
        for node in self._bootstrap:
            try:
                return self.send(node, request)
            except OSError as e:
                failure = e
        raise failure

    def _node(self, broker: int) -> Node:
        for node in self.find_all_brokers():
            if node.id == broker:
                return node
        raise OSError(f"Broker {broker} is not available")


def _alter_replica_log_dirs(assignment: Mapping[TopicPartition, str]) -> AbstractRequest.Builder:
    log_dir_class = AlterReplicaLogDirsRequest.LogDir
    log_dirs = []
    for log_dir in dict.fromkeys(assignment.values()):
        by_topic = group_data_by_topic({tp: None for tp, wanted in assignment.items() if wanted == log_dir})
        topics = [log_dir_class.Topic(topic=topic, partitions=list(ps)) for topic, ps in by_topic.items()]
        log_dirs.append(log_dir_class(log_dir=log_dir, topics=topics))
    return RequestMessage.Builder(AlterReplicaLogDirsRequest(log_dirs=log_dirs))


def _maybe_throw(error: ApiException | None) -> None:
    if error is not None:
        raise error
