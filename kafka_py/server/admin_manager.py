"""Creates and deletes topics for the admin APIs, and waits until the cluster knows.

Mirrors: core/src/main/scala/kafka/server/AdminManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.common.errors import (
    ApiException,
    InvalidRequestException,
    PolicyViolationException,
    TopicAlreadyMarkedForDeletionException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.log.log_config import LogConfig
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.delayed_create_partitions import CreatePartitionsMetadata, DelayedCreatePartitions
from kafka_py.server.delayed_delete_topics import DelayedDeleteTopics, DeleteTopicMetadata
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.server.delayed_operation_key import TopicKey
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

NO_NUM_PARTITIONS = CreateTopicsRequest.NO_NUM_PARTITIONS
NO_REPLICATION_FACTOR = CreateTopicsRequest.NO_REPLICATION_FACTOR


class AdminManager(KafkaMetricsGroup):
    """Does the work behind CreateTopics and DeleteTopics, on the controller's broker.

    Mirrors: kafka.server.AdminManager
    Thread: request handlers; completion also from the purgatory's reaper.
    Left out: createPartitions, describeConfigs, alterConfigs, configSynonyms, brokerSynonyms, configType,
        createTopicConfigEntry, createBrokerConfigEntry, allConfigs, createResponseConfig, resourceNameToBrokerId,
        maybeAddSynonym, validateConfigPolicy -- CreatePartitions and the config APIs come with stage 6
    """

    def __init__(
        self, config: KafkaConfig, metrics: Metrics, metadata_cache: MetadataCache, zk_client: KafkaZkClient
    ) -> None:
        """Start the purgatory for topic operations."""
        self.config = config  # const
        self.metrics = metrics  # const
        self.metadata_cache = metadata_cache  # const
        self.zk_client = zk_client  # const
        self.log_ident = f"[Admin Manager on Broker {config.broker_id}]: "  # const
        self._topic_purgatory: DelayedOperationPurgatory[DelayedOperation] = DelayedOperationPurgatory(
            "topic", broker_id=config.broker_id
        )  # const
        self._admin_zk_client = AdminZkClient(zk_client)  # const

    @property
    def has_delayed_topic_operations(self) -> bool:
        """Whether a request waits for a topic to appear or vanish."""
        return self._topic_purgatory.delayed != 0

    def try_complete_delayed_topic_operations(self, topic: str) -> None:
        """Look again at the requests that wait for this topic."""
        key = TopicKey(topic)
        completed = self._topic_purgatory.check_and_complete(key)
        self.debug("Request key %s unblocked %s topic requests.", key.key_label, completed)

    def create_topics(
        self,
        timeout: int,
        validate_only: bool,
        create_info: Mapping[str, CreateTopicsRequest.TopicDetails],
        response_callback: Callable[[dict[str, ApiError]], None],
    ) -> None:
        """Write the assignments to ZooKeeper; call back when every topic has its leaders, failed, or took too long.

        timeout: ms; 0 or less does not wait.
        """
        brokers = [BrokerMetadata(broker.id, broker.rack) for broker in self.metadata_cache.get_alive_brokers]
        metadata = [
            self._create_topic(topic, arguments, brokers, validate_only) for topic, arguments in create_info.items()
        ]
        self._complete_or_watch(timeout, validate_only, metadata, create_info.keys(), response_callback)

    def _create_topic(
        self,
        topic: str,
        arguments: CreateTopicsRequest.TopicDetails,
        brokers: list[BrokerMetadata],
        validate_only: bool,
    ) -> CreatePartitionsMetadata:
        try:
            configs = _properties(arguments.configs)
            LogConfig.validate(configs)
            assignments = self._assignments(arguments, brokers)
            self.trace("Assignments for topic %s are %s ", topic, assignments)
            if validate_only:
                self._admin_zk_client.validate_create_or_update_topic(topic, assignments, configs, update=False)
            else:
                self._admin_zk_client.create_or_update_topic_partition_assignment_path_in_zk(
                    topic, assignments, configs, update=False
                )
            return CreatePartitionsMetadata(topic, assignments, ApiError.NONE)
        except (PolicyViolationException, ApiException) as e:
            # What a client did wrong is worth less noise than what we did.
            self.info("Error processing create topic request for topic %s with arguments %s", topic, arguments, exc=e)
            return CreatePartitionsMetadata(topic, {}, ApiError.from_throwable(e))
        except Exception as e:  # noqa: BLE001 -- one topic's failure is an answer, not the end of the request
            self.error("Error processing create topic request for topic %s with arguments %s", topic, arguments, exc=e)
            return CreatePartitionsMetadata(topic, {}, ApiError.from_throwable(e))

    @staticmethod
    def _assignments(
        arguments: CreateTopicsRequest.TopicDetails, brokers: list[BrokerMetadata]
    ) -> dict[int, list[int]]:
        given = arguments.replicas_assignments
        if not given:
            return AdminUtils.assign_replicas_to_brokers(
                brokers, arguments.num_partitions, arguments.replication_factor
            )
        if arguments.num_partitions != NO_NUM_PARTITIONS or arguments.replication_factor != NO_REPLICATION_FACTOR:
            raise InvalidRequestException(
                "Both numPartitions or replicationFactor and replicasAssignments were set. "
                "Both cannot be used at the same time."
            )
        # As with the topic tool, nobody checks that the brokers exist.
        return {partition: list(replicas) for partition, replicas in given.items()}

    def _complete_or_watch(
        self,
        timeout: int,
        validate_only: bool,
        metadata: list[CreatePartitionsMetadata],
        topics: Collection[str],
        response_callback: Callable[[dict[str, ApiError]], None],
    ) -> None:
        """Answer at once when there is nothing to wait for or no time to; else park the request."""
        if timeout <= 0 or validate_only or not any(m.error.is_success() for m in metadata):
            results = {}
            for m in metadata:
                timed_out = m.error.is_success() and not validate_only
                results[m.topic] = ApiError(Errors.REQUEST_TIMED_OUT, None) if timed_out else m.error
            response_callback(results)
        else:
            delayed_create = DelayedCreatePartitions(timeout, metadata, self, response_callback)
            self._topic_purgatory.try_complete_else_watch(delayed_create, [TopicKey(topic) for topic in topics])

    def delete_topics(
        self, timeout: int, topics: Collection[str], response_callback: Callable[[dict[str, Errors]], None]
    ) -> None:
        """Mark the topics for deletion; call back when they are gone, failed, or it took too long. timeout: ms."""
        metadata = [DeleteTopicMetadata(topic, self._delete_topic(topic)) for topic in topics]
        if timeout <= 0 or not any(m.error is Errors.NONE for m in metadata):
            response_callback(
                {m.topic: Errors.REQUEST_TIMED_OUT if m.error is Errors.NONE else m.error for m in metadata}
            )
        else:
            delayed_delete = DelayedDeleteTopics(timeout, metadata, self, response_callback)
            self._topic_purgatory.try_complete_else_watch(delayed_delete, [TopicKey(topic) for topic in topics])

    def _delete_topic(self, topic: str) -> Errors:
        try:
            self._admin_zk_client.delete_topic(topic)
        except TopicAlreadyMarkedForDeletionException:
            # Somebody else asked before: wait for the same end.
            self.debug("Topic %s is already marked for deletion", topic)
        except Exception as e:  # noqa: BLE001 -- one topic's failure is an answer, not the end of the request
            self.error("Error processing delete topic request for topic %s", topic, exc=e)
            return Errors.for_exception(e)
        return Errors.NONE

    def shutdown(self) -> None:
        """End the purgatory."""
        self._topic_purgatory.shutdown()


def _properties(configs: Mapping[str, str | None]) -> dict[str, str]:
    """As java.util.Properties takes them, which refuses null with a NullPointerException (answered as UNKNOWN)."""
    result = {}
    for name, value in configs.items():
        if value is None:
            raise TypeError(f"null value for topic config {name}")
        result[name] = value
    return result
