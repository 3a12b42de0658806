"""Creates, grows and deletes topics for the admin APIs, and waits until the cluster knows.

Mirrors: core/src/main/scala/kafka/server/AdminManager.scala @ 1.1.1
Read next: config_helper.py (its part for configurations)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.admin.admin_operation_exception import AdminOperationException
from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.common.errors import (
    ApiException,
    InvalidPartitionsException,
    InvalidReplicaAssignmentException,
    InvalidRequestException,
    PolicyViolationException,
    ReassignmentInProgressException,
    TopicAlreadyMarkedForDeletionException,
    UnknownTopicOrPartitionException,
)
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.common.utils.time import Time
from kafka_py.log.log_config import LogConfig
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.config_helper import ConfigHelper, properties
from kafka_py.server.delayed_create_partitions import CreatePartitionsMetadata, DelayedCreatePartitions
from kafka_py.server.delayed_delete_topics import DelayedDeleteTopics, DeleteTopicMetadata
from kafka_py.server.delayed_elect_leader import DelayedElectLeader
from kafka_py.server.delayed_metadata import DelayedMetadata
from kafka_py.server.delayed_operation import DelayedOperation, DelayedOperationPurgatory
from kafka_py.server.delayed_operation_key import TopicKey
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.policy.create_topic_policy import CreateTopicPolicy
from kafka_py.utils.core_utils import swallow
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from kafka_py.common.election_type import ElectionType
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
    from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
    from kafka_py.common.requests.new_partitions import NewPartitions
    from kafka_py.common.requests.resource import Resource
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

NO_NUM_PARTITIONS = CreateTopicsRequest.NO_NUM_PARTITIONS
NO_REPLICATION_FACTOR = CreateTopicsRequest.NO_REPLICATION_FACTOR


# Much longer than an election takes; short beside the time that clients give a request.
FIRST_METADATA_MAX_WAIT_MS = 5000
_FIRST_METADATA = TopicKey("")  # the name of no topic


class AdminManager(KafkaMetricsGroup):
    """Does the work behind CreateTopics, CreatePartitions and DeleteTopics, on the controller's broker.

    Mirrors: kafka.server.AdminManager
    Thread: request handlers; completion also from the purgatory's reaper.
    """

    def __init__(
        self,
        config: KafkaConfig,
        metrics: Metrics,
        metadata_cache: MetadataCache,
        zk_client: KafkaZkClient,
        time: Time = Time.SYSTEM,
    ) -> None:
        """Start the purgatory for topic operations."""
        self.config = config
        self.metrics = metrics
        self.metadata_cache = metadata_cache
        self.zk_client = zk_client
        self._time = time
        self.log_ident = f"[Admin Manager on Broker {config.broker_id}]: "
        self._topic_purgatory: DelayedOperationPurgatory[DelayedOperation] = DelayedOperationPurgatory(
            "topic", broker_id=config.broker_id, time=time
        )
        self._admin_zk_client = AdminZkClient(zk_client)
        self._create_topic_policy = config.get_configured_instance(
            KafkaConfig.CREATE_TOPIC_POLICY_CLASS_NAME_PROP,
            CreateTopicPolicy,  # type: ignore[type-abstract]  # stands for its subclasses
        )
        self._config_helper = ConfigHelper(self.log_ident, config, self._admin_zk_client)

    @property
    def has_delayed_topic_operations(self) -> bool:
        """Whether a request waits for a topic to appear or vanish.

        Asked of the watch lists: the timer, which Kafka asks, hears of a request only after its last look.
        """
        return self._topic_purgatory.watched != 0

    def try_complete_delayed_topic_operations(self, topic: str) -> None:
        """Look again at the requests that wait for this topic."""
        key = TopicKey(topic)
        completed = self._topic_purgatory.check_and_complete(key)
        self.debug("Request key %s unblocked %s topic requests.", key.key_label, completed)

    def await_first_metadata(self, response_callback: Callable[[], None]) -> None:
        """Answer when the controller has told this broker of the cluster for the first time; soon in any case."""
        delayed_metadata = DelayedMetadata(FIRST_METADATA_MAX_WAIT_MS, self.metadata_cache, response_callback)
        self._topic_purgatory.try_complete_else_watch(delayed_metadata, [_FIRST_METADATA])

    def try_complete_delayed_metadata(self) -> None:
        """Look again at the requests that wait for the controller's first word."""
        self._topic_purgatory.check_and_complete(_FIRST_METADATA)

    def elect_leaders(
        self,
        controller: KafkaController,
        partitions: Collection[TopicPartition],
        election_type: ElectionType,
        response_callback: Callable[[Mapping[TopicPartition, ApiError]], None],
        request_timeout: int,
    ) -> None:
        """Have the controller elect leaders, and answer when this broker knows them [2.4, of ReplicaManager there].

        It waits where the creation of topics waits, not in a purgatory of its own.
        """
        deadline = self._time.milliseconds() + request_timeout

        def election_callback(results: Mapping[TopicPartition, ApiError | int]) -> None:
            expected = {tp: result for tp, result in results.items() if not isinstance(result, ApiError)}
            failures = {tp: result for tp, result in results.items() if isinstance(result, ApiError)}
            if not expected:
                response_callback(failures)
                return
            delay_ms = max(0, deadline - self._time.milliseconds())
            delayed = DelayedElectLeader(delay_ms, expected, failures, self.metadata_cache, response_callback)
            keys = [TopicKey(topic) for topic in dict.fromkeys(tp.topic for tp in expected)]
            self._topic_purgatory.try_complete_else_watch(delayed, keys)

        controller.elect_leaders(partitions, election_type, election_callback)

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
        brokers = [BrokerMetadata(broker.id, broker.rack) for broker in self.metadata_cache.get_alive_brokers()]
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
            configs = properties(arguments.configs)
            LogConfig.validate(configs)
            assignments = self._assignments(arguments, brokers)
            self.trace("Assignments for topic %s are %s ", topic, assignments)
            policy = self._create_topic_policy
            if validate_only or policy is not None:
                self._admin_zk_client.validate_create_or_update_topic(topic, assignments, configs, update=False)
            if policy is not None:
                policy.validate(self._request_metadata(topic, arguments))
            if not validate_only:
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
    def _request_metadata(topic: str, arguments: CreateTopicsRequest.TopicDetails) -> CreateTopicPolicy.RequestMetadata:
        """The topic as a policy sees it: what was not given is None."""
        partitions, factor = arguments.num_partitions, arguments.replication_factor
        return CreateTopicPolicy.RequestMetadata(
            topic,
            None if partitions == NO_NUM_PARTITIONS else partitions,
            None if factor == NO_REPLICATION_FACTOR else factor,
            arguments.replicas_assignments or None,
            arguments.configs,
        )

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

    def create_partitions(
        self,
        timeout: int,
        new_partitions: Mapping[str, NewPartitions],
        validate_only: bool,
        listener_name: ListenerName,
        callback: Callable[[dict[str, ApiError]], None],
    ) -> None:
        """Grow topics; call back when every new partition has a leader, failed, or took too long. timeout: ms."""
        reassign_partitions_in_progress = self.zk_client.reassign_partitions_in_progress()
        all_brokers = self._admin_zk_client.get_broker_metadatas()
        metadata = []
        for topic, new_partition in new_partitions.items():
            try:
                # While replicas move, the replication factor means nothing.
                if reassign_partitions_in_progress:
                    raise ReassignmentInProgressException("A partition reassignment is in progress.")
                assignment = self._add_partitions(topic, new_partition, all_brokers, validate_only)
                metadata.append(CreatePartitionsMetadata(topic, assignment, ApiError.NONE))
            except (AdminOperationException, ApiException) as e:
                metadata.append(CreatePartitionsMetadata(topic, {}, ApiError.from_throwable(e)))
        self._complete_or_watch(timeout, validate_only, metadata, new_partitions.keys(), callback)

    def _add_partitions(
        self, topic: str, new_partition: NewPartitions, all_brokers: list[BrokerMetadata], validate_only: bool
    ) -> Mapping[int, Sequence[int]]:
        """Check the wish, write the new assignment to ZooKeeper unless validate_only, and answer it."""
        found = self.zk_client.get_replica_assignment_for_topics({topic})
        existing = {topic_partition.partition: replicas for topic_partition, replicas in found.items()}
        if not existing:
            raise UnknownTopicOrPartitionException(f"The topic '{topic}' does not exist.")
        old, new = len(existing), new_partition.total_count()
        if new < old:
            raise InvalidPartitionsException(
                f"Topic currently has {old} partitions, which is higher than the requested {new}."
            )
        if new == old:
            raise InvalidPartitionsException(f"Topic already has {old} partitions.")
        assignments = new_partition.assignments()
        replica_assignment = None
        if assignments is not None:
            known = {broker.id for broker in all_brokers}
            unknown = dict.fromkeys(b for replicas in assignments for b in replicas if b not in known)
            if unknown:
                raise InvalidReplicaAssignmentException(
                    f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}."
                )
            if len(assignments) != new - old:
                raise InvalidReplicaAssignmentException(
                    f"Increasing the number of partitions by {new - old} but {len(assignments)} assignments provided."
                )
            replica_assignment = {old + i: replicas for i, replicas in enumerate(assignments)}
        return self._admin_zk_client.add_partitions(
            topic, existing, all_brokers, new, replica_assignment, validate_only=validate_only
        )

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

    def describe_configs(
        self, resource_to_config_names: Mapping[Resource, set[str] | None], include_synonyms: bool
    ) -> dict[Resource, DescribeConfigsResponse.Config]:
        """The settings wanted of each resource, None for all; what is wrong with a resource becomes its answer."""
        return self._config_helper.describe_configs(resource_to_config_names, include_synonyms)

    def alter_configs(
        self, configs: Mapping[Resource, AlterConfigsRequest.Config], validate_only: bool
    ) -> dict[Resource, ApiError]:
        """Replace all settings of topics, of this broker, or (empty name) of all brokers; or just check them."""
        return self._config_helper.alter_configs(configs, validate_only)

    def shutdown(self) -> None:
        """End the purgatory and the policies."""
        self._topic_purgatory.shutdown()
        if self._create_topic_policy is not None:
            swallow(self._create_topic_policy.close, self)
        self._config_helper.close()
