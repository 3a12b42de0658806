"""Metadata, CreateTopics, DeleteTopics, FindCoordinator and ApiVersions.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (these handlers)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

from kafka_py.admin.rack_aware_mode import RackAwareMode
from kafka_py.common.errors import InvalidRequestException, TopicExistsException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.common.requests.create_topics_response import CreateTopicsResponse
from kafka_py.common.requests.delete_topics_request import DeleteTopicsRequest
from kafka_py.common.requests.delete_topics_response import DeleteTopicsResponse
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType
from kafka_py.server.kafka_config_keys import KafkaConfigKeys as K
from kafka_py.utils.logging import Logging
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from kafka_py.network.request_channel import Request
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.api_version_manager import ApiVersionManager
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.request_handler_helper import RequestHandlerHelper
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class KafkaApisMetadata(Logging):
    """The handlers that tell about the cluster and change its topics. Thread: as KafkaApis."""

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        admin_manager: AdminManager,
        controller: KafkaController,
        zk_client: KafkaZkClient,
        config: KafkaConfig,
        metadata_cache: MetadataCache,
        cluster_id: str,
        api_version_manager: ApiVersionManager | None,
        group_coordinator: GroupCoordinator,
        txn_coordinator: TransactionCoordinator,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._admin_manager = admin_manager
        self._controller = controller
        self._admin_zk_client = AdminZkClient(zk_client)
        self._config = config
        self._metadata_cache = metadata_cache
        self._cluster_id = cluster_id
        self._api_version_manager = api_version_manager
        self._group_coordinator = group_coordinator
        self._txn_coordinator = txn_coordinator

    # -- Metadata ---------------------------------------------------------------------------------------------------

    def _create_topic(
        self, topic: str, num_partitions: int, replication_factor: int, properties: Mapping[str, str] | None = None
    ) -> MetadataResponse.TopicMetadata:
        """Create a topic somebody asked about; even when that works the answer is to try again."""
        try:
            self._admin_zk_client.create_topic(
                topic, num_partitions, replication_factor, dict(properties or {}), RackAwareMode.Safe
            )
            self.info(
                "Auto creation of topic %s with %d partitions and replication factor %d is successful",
                topic,
                num_partitions,
                replication_factor,
            )
            error = Errors.LEADER_NOT_AVAILABLE
        except TopicExistsException:
            # Another broker was asked at the same time.
            error = Errors.LEADER_NOT_AVAILABLE
        except Exception as e:  # noqa: BLE001 -- one topic's failure is part of the answer
            error = Errors.for_exception(e)
        return MetadataResponse.TopicMetadata(error, topic, Topic.is_internal(topic), [])

    def _create_internal_topic(self, topic: str) -> MetadataResponse.TopicMetadata:
        """Create a coordinator's topic, once there are as many brokers as it shall have replicas."""
        config = self._config
        if topic == Topic.GROUP_METADATA_TOPIC_NAME:
            what, prop = "offsets", K.OFFSETS_TOPIC_REPLICATION_FACTOR_PROP
            partitions, replicas = config.offsets_topic_partitions, config.offsets_topic_replication_factor
            properties = self._group_coordinator.offsets_topic_configs
        else:
            what, prop = "transactions state", K.TRANSACTIONS_TOPIC_REPLICATION_FACTOR_PROP
            partitions, replicas = config.transaction_topic_partitions, config.transaction_topic_replication_factor
            properties = self._txn_coordinator.transaction_topic_configs
        alive = len(self._metadata_cache.get_alive_brokers())
        if alive >= replicas:
            return self._create_topic(topic, partitions, replicas, properties)
        self.error(
            "Number of alive brokers '%d' does not meet the required replication factor '%d' for the %s topic "
            "(configured via '%s'). This error can be ignored if the cluster is starting up and not all brokers are up "
            "yet.",
            alive,
            replicas,
            what,
            prop,
        )
        return MetadataResponse.TopicMetadata(Errors.COORDINATOR_NOT_AVAILABLE, topic, True, [])

    def _get_or_create_internal_topic(self, topic: str, listener_name: ListenerName) -> MetadataResponse.TopicMetadata:
        found = self._metadata_cache.get_topic_metadata([topic], listener_name)
        return found[0] if found else self._create_internal_topic(topic)

    def _get_topic_metadata(
        self,
        allow_auto_topic_creation: bool,
        topics: Collection[str],
        listener_name: ListenerName,
        error_unavailable_endpoints: bool,
    ) -> list[MetadataResponse.TopicMetadata]:
        """Metadata of the topics, those that do not exist being created where that is allowed."""
        found = self._metadata_cache.get_topic_metadata(topics, listener_name, error_unavailable_endpoints)
        if not topics or len(found) == len(topics):
            return found
        existing = {metadata.topic for metadata in found}
        for topic in topics:
            if topic in existing:
                continue
            if Topic.is_internal(topic):
                metadata = self._create_internal_topic(topic)
                if metadata.error is Errors.COORDINATOR_NOT_AVAILABLE:
                    metadata = MetadataResponse.TopicMetadata(Errors.INVALID_REPLICATION_FACTOR, topic, True, [])
            elif allow_auto_topic_creation and self._config.auto_create_topics_enable:
                metadata = self._create_topic(
                    topic, self._config.num_partitions, self._config.default_replication_factor
                )
            else:
                metadata = MetadataResponse.TopicMetadata(Errors.UNKNOWN_TOPIC_OR_PARTITION, topic, False, [])
            found.append(metadata)
        return found

    def handle_topic_metadata_request(self, request: Request) -> None:
        """Answer with brokers, controller and topics.

        Who asks before the controller has told us of them waits for that: the answer that there is none, which Kafka
        gives, keeps a client of librdkafka from asking again for seconds.
        """
        if self._metadata_cache.is_empty:
            self._admin_manager.await_first_metadata(lambda: self._answer_delayed(request))
        else:
            self._answer_topic_metadata_request(request)

    def _answer_delayed(self, request: Request) -> None:
        try:
            self._answer_topic_metadata_request(request)
        except Exception as e:  # noqa: BLE001 -- must not end what runs on this thread, as in KafkaApis.handle
            self._request_helper.handle_error(request, e)

    def _answer_topic_metadata_request(self, request: Request) -> None:
        metadata_request = request.body(MetadataRequest)
        version = request.header.api_version
        # Version 0 cannot ask for no topic at all: nothing means everything.
        all_topics = metadata_request.is_all_topics() or (version == 0 and not metadata_request.topics)
        if all_topics:
            topics: Collection[str] = self._metadata_cache.get_all_topics()
        else:
            topics = dict.fromkeys(metadata_request.topics or ())
        refused: list[MetadataResponse.TopicMetadata] = []
        if self._auth_helper.authorizer is not None:
            topics, refused = self._authorize_topics(request, metadata_request, topics, all_topics)
        topic_metadata = (
            self._get_topic_metadata(
                metadata_request.allow_auto_topic_creation, topics, request.context.listener_name, version == 0
            )
            if topics
            else []
        )
        if metadata_request.include_topic_authorized_operations:
            topic_metadata = [self._with_authorized_operations(request, metadata) for metadata in topic_metadata]
        complete = topic_metadata + refused
        cluster_operations = self._cluster_authorized_operations(request, metadata_request)
        brokers = self._metadata_cache.get_alive_brokers()
        if self.logger.trace_enabled:
            self.trace(
                "Sending topic metadata %s and brokers %s for correlation id %d to client %s",
                ",".join(map(str, complete)),
                ",".join(map(str, brokers)),
                request.header.correlation_id,
                request.header.client_id,
            )
        nodes = [node for b in brokers if (node := b.get_node(request.context.listener_name)) is not None]
        controller_id = self._metadata_cache.get_controller_id()
        if controller_id is None:
            controller_id = MetadataResponse.NO_CONTROLLER_ID
        self._request_helper.send_response_maybe_throttle(
            request,
            lambda request_throttle_ms: MetadataResponse(
                nodes, self._cluster_id, controller_id, complete, request_throttle_ms, cluster_operations
            ),
        )

    def _with_authorized_operations(
        self, request: Request, metadata: MetadataResponse.TopicMetadata
    ) -> MetadataResponse.TopicMetadata:
        resource = Resource(ResourceType.Topic, metadata.topic)
        operations = self._auth_helper.authorized_operations(request.session, resource)
        return metadata._replace(authorized_operations=operations)

    def _cluster_authorized_operations(self, request: Request, metadata_request: MetadataRequest) -> int:
        """What the sender may do to the cluster, nothing if it may not even describe it; if it asks (version 8)."""
        if not metadata_request.include_cluster_authorized_operations:
            return MetadataResponse.NOT_ASKED_FOR
        session, cluster = request.session, Resource.CLUSTER_RESOURCE
        if not self._auth_helper.authorize(session, Operation.Describe, cluster):
            return 0
        return self._auth_helper.authorized_operations(session, cluster)

    def _authorize_topics(
        self, request: Request, metadata_request: MetadataRequest, topics: Collection[str], all_topics: bool
    ) -> tuple[list[str], list[MetadataResponse.TopicMetadata]]:
        """The topics the sender may see, and what it is told about the others.

        Whether a topic it may not see exists is not told; in a list of all topics it is not even named.
        """
        session = request.session
        refused = Errors.TOPIC_AUTHORIZATION_FAILED
        may_see, answers = [], []
        for topic in topics:
            if self._auth_helper.authorize(session, Operation.Describe, Resource(ResourceType.Topic, topic)):
                may_see.append(topic)
            elif not all_topics:
                answers.append(MetadataResponse.TopicMetadata(refused, topic, False, []))
        missing = self._metadata_cache.get_non_existing_topics(may_see)
        if (
            missing
            and metadata_request.allow_auto_topic_creation
            and self._config.auto_create_topics_enable
            and not self._auth_helper.authorize(session, Operation.Create, Resource.CLUSTER_RESOURCE)
        ):
            may_see = [topic for topic in may_see if topic not in missing]
            answers += [
                MetadataResponse.TopicMetadata(refused, topic, Topic.is_internal(topic), []) for topic in missing
            ]
        return may_see, answers

    # -- FindCoordinator --------------------------------------------------------------------------------------------

    def handle_find_coordinator_request(self, request: Request) -> None:
        """Name the broker that coordinates a group or a transactional id: the leader of its partition.

        The coordinator's topic is created when it is first asked for. InvalidRequestException for another kind.
        """
        find_request = request.body(FindCoordinatorRequest)
        key, kind = find_request.coordinator_key(), find_request.coordinator_type()
        if kind is FindCoordinatorRequest.CoordinatorType.GROUP:
            resource_type, topic = ResourceType.Group, Topic.GROUP_METADATA_TOPIC_NAME
            partition = self._group_coordinator.partition_for(key)
        elif kind is FindCoordinatorRequest.CoordinatorType.TRANSACTION:
            resource_type, topic = ResourceType.TransactionalId, Topic.TRANSACTION_STATE_TOPIC_NAME
            partition = self._txn_coordinator.partition_for(key)
        else:
            raise InvalidRequestException("Unknown coordinator type in FindCoordinator request")
        if not self._auth_helper.authorize(request.session, Operation.Describe, Resource(resource_type, key)):
            exception = resource_type.error.exception()
            assert exception is not None
            self._request_helper.send_error_response_maybe_throttle(request, exception)
            return
        metadata = self._get_or_create_internal_topic(topic, request.context.listener_name)
        node = self._leader_of(metadata, partition, request.context.listener_name)
        error = Errors.COORDINATOR_NOT_AVAILABLE if node is None else Errors.NONE

        def create_response(request_throttle_ms: int) -> AbstractResponse:
            body = FindCoordinatorResponse(error, node or Node.no_node(), request_throttle_ms, error.message())
            self.trace(
                "Sending FindCoordinator response %s for correlation id %d to client %s.",
                body,
                request.header.correlation_id,
                request.header.client_id,
            )
            return body

        self._request_helper.send_response_maybe_throttle(request, create_response)

    def _leader_of(
        self, metadata: MetadataResponse.TopicMetadata, partition: int, listener_name: ListenerName
    ) -> Node | None:
        """Where the partition's leader is, if the topic is there and the leader lives."""
        if metadata.error is not Errors.NONE:
            return None
        found = next((p for p in metadata.partition_metadata if p.partition == partition), None)
        if found is None or found.leader_id() < 0:
            return None
        return self._metadata_cache.get_alive_broker_node(found.leader_id(), listener_name)

    # -- ApiVersions ------------------------------------------------------------------------------------------------

    def handle_api_versions_request(self, request: Request) -> None:
        """Answer with the keys and versions this broker handles; whoever is connected may know them."""

        def create_response_callback(request_throttle_ms: int) -> AbstractResponse:
            api_version_request = request.body(ApiVersionsRequest)
            if api_version_request.has_unsupported_request_version():
                exception = Errors.UNSUPPORTED_VERSION.exception()
                assert exception is not None
                return api_version_request.get_error_response(request_throttle_ms, exception)
            if not api_version_request.is_valid():
                invalid = Errors.INVALID_REQUEST.exception()
                assert invalid is not None
                return api_version_request.get_error_response(request_throttle_ms, invalid)
            assert self._api_version_manager is not None
            return self._api_version_manager.api_version_response(request_throttle_ms)

        self._request_helper.send_response_maybe_throttle(request, create_response_callback)

    # -- CreateTopics, DeleteTopics -----------------------------------------------------------------------------------

    def handle_create_topics_request(self, request: Request) -> None:
        """Create topics, on the controller's broker."""
        create_request = request.body(CreateTopicsRequest)
        topics = create_request.topics()

        def send_response_callback(results: Mapping[str, ApiError]) -> None:
            def create_response(request_throttle_ms: int) -> AbstractResponse:
                response_body = CreateTopicsResponse(dict(results), request_throttle_ms)
                self._trace_response("create topics", response_body, request)
                return response_body

            self._request_helper.send_response_maybe_throttle(request, create_response)

        if not self._controller.is_active:
            send_response_callback({topic: ApiError(Errors.NOT_CONTROLLER, None) for topic in topics})
            return
        if not self._auth_helper.authorize(request.session, Operation.Create, Resource.CLUSTER_RESOURCE):
            send_response_callback({topic: ApiError(Errors.CLUSTER_AUTHORIZATION_FAILED, None) for topic in topics})
            return
        duplicates = [topic for topic in create_request.duplicate_topics() if topic in topics]
        valid_topics = {topic: details for topic, details in topics.items() if topic not in duplicates}

        def send_response_with_duplicates_callback(results: Mapping[str, ApiError]) -> None:
            complete = dict(results)
            if duplicates:
                message = (
                    f"Create topics request from client `{request.header.client_id}` contains multiple entries for "
                    f"the following topics: {','.join(duplicates)}"
                )
                # From version 1 on the answer carries the message.
                if request.header.api_version == 0:
                    self.warn("%s", message)
                for topic in duplicates:
                    complete[topic] = ApiError(Errors.INVALID_REQUEST, message)
            send_response_callback(complete)

        self._admin_manager.create_topics(
            create_request.timeout,
            create_request.validate_only,
            valid_topics,
            send_response_with_duplicates_callback,
        )

    def handle_delete_topics_request(self, request: Request) -> None:
        """Delete topics, on the controller's broker."""
        delete_request = request.body(DeleteTopicsRequest)
        topics = list(delete_request.topics)
        refused: dict[str, Errors] = {}
        authorized: list[str] = []
        for topic in dict.fromkeys(topics):
            if not self._auth_helper.authorize(request.session, Operation.Delete, Resource(ResourceType.Topic, topic)):
                refused[topic] = Errors.TOPIC_AUTHORIZATION_FAILED
            elif not self._metadata_cache.contains(topic):
                refused[topic] = Errors.UNKNOWN_TOPIC_OR_PARTITION
            else:
                authorized.append(topic)

        def send_response_callback(authorized_topic_errors: Mapping[str, Errors]) -> None:
            def create_response(request_throttle_ms: int) -> AbstractResponse:
                response_body = DeleteTopicsResponse({**refused, **authorized_topic_errors}, request_throttle_ms)
                self._trace_response("delete topics", response_body, request)
                return response_body

            self._request_helper.send_response_maybe_throttle(request, create_response)

        if not self._controller.is_active:
            send_response_callback(dict.fromkeys(topics, Errors.NOT_CONTROLLER))
        elif not authorized:
            send_response_callback({})
        else:
            self._admin_manager.delete_topics(delete_request.timeout, authorized, send_response_callback)

    def _trace_response(self, what: str, response_body: AbstractResponse, request: Request) -> None:
        self.trace(
            "Sending %s response %s for correlation id %s to client %s.",
            what,
            response_body,
            request.header.correlation_id,
            request.header.client_id,
        )
