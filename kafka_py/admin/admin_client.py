"""Asks brokers what the tools want to know or have done.

Mirrors: core/src/main/scala/kafka/admin/AdminClient.scala @ 1.1.1 (deleteRecordsBefore), and what
kafka-configs and kafka-log-dirs use of the Java client's KafkaAdminClient
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_py.admin import broker_api_versions_command
from kafka_py.common.errors import ApiException, IllegalArgumentException
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.alter_configs_response import AlterConfigsResponse
from kafka_py.common.requests.delete_records_request import DeleteRecordsRequest
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.describe_configs_request import DescribeConfigsRequest
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.describe_log_dirs_request import DescribeLogDirsRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.topic_partition import TopicPartition

REQUEST_TIMEOUT_MS = 5_000


class DeleteRecordsResult(NamedTuple):
    """Where a partition starts now, or why it could not be moved.

    Mirrors: kafka.admin.AdminClient.DeleteRecordsResult
    """

    low_watermark: int
    error: Exception | None


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


def _maybe_throw(error: ApiException | None) -> None:
    if error is not None:
        raise error
