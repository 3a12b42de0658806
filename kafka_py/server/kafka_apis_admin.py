"""CreatePartitions, DeleteRecords, DescribeConfigs, AlterConfigs and DescribeLogDirs.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (these handlers)
Read next: server/admin_manager.py, server/config_helper.py, server/replica_manager_admin.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import InvalidRequestException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.alter_configs_response import AlterConfigsResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_partitions_request import CreatePartitionsRequest
from kafka_py.common.requests.create_partitions_response import CreatePartitionsResponse
from kafka_py.common.requests.delete_records_request import DeleteRecordsRequest
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.describe_configs_request import DescribeConfigsRequest
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.describe_log_dirs_request import DescribeLogDirsRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.resource_type import ResourceType as RResourceType
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType
from kafka_py.server.kafka_apis_reassignments import KafkaApisReassignments
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.resource import Resource as RResource
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.network.request_channel import Request, Session
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.request_handler_helper import RequestHandlerHelper

    Deleted = dict[TopicPartition, DeleteRecordsResponse.PartitionResponse]


class KafkaApisAdmin(Logging):
    """The handlers for administrators that are not about creating and deleting topics. Thread: as KafkaApis.

    Those that say who leads and where replicas are stand in an object of their own.
    """

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        replica_manager: ReplicaManager,
        admin_manager: AdminManager,
        controller: KafkaController,
        metadata_cache: MetadataCache,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._replica_manager = replica_manager
        self._admin_manager = admin_manager
        self._controller = controller
        self._metadata_cache = metadata_cache
        self.reassignments = KafkaApisReassignments(
            log_ident, auth_helper, request_helper, admin_manager, controller, metadata_cache
        )

    # -- Partitions and records ---------------------------------------------------------------------------------------

    def handle_create_partitions_request(self, request: Request) -> None:
        """Grow topics, on the controller's broker."""
        create_partitions_request = request.body(CreatePartitionsRequest)
        new_partitions = create_partitions_request.new_partitions()

        def send_response_callback(results: Mapping[str, ApiError]) -> None:
            def create_response(request_throttle_ms: int) -> AbstractResponse:
                response_body = CreatePartitionsResponse(request_throttle_ms, dict(results))
                if self.is_trace_enabled:
                    self.trace(
                        "Sending create partitions response %s for correlation id %s to client %s.",
                        response_body,
                        request.header.correlation_id,
                        request.header.client_id,
                    )
                return response_body

            self._request_helper.send_response_maybe_throttle(request, create_response)

        if not self._controller.is_active:
            send_response_callback({topic: ApiError(Errors.NOT_CONTROLLER, None) for topic in new_partitions})
            return
        dupes = create_partitions_request.duplicates()
        errors = {topic: ApiError(Errors.INVALID_REQUEST, "Duplicate topic in request.") for topic in dupes}
        valid = {}
        for topic, new_partition in new_partitions.items():
            if topic in dupes:
                continue
            if not self._auth_helper.authorize(request.session, Operation.Alter, Resource(ResourceType.Topic, topic)):
                errors[topic] = ApiError(Errors.TOPIC_AUTHORIZATION_FAILED, "The topic authorization is failed.")
            elif self._controller.topic_deletion_manager.is_topic_queued_up_for_deletion(topic):
                errors[topic] = ApiError(Errors.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
            else:
                valid[topic] = new_partition
        self._admin_manager.create_partitions(
            create_partitions_request.timeout,
            valid,
            create_partitions_request.validate_only,
            request.context.listener_name,
            lambda result: send_response_callback({**result, **errors}),
        )

    def handle_delete_records_request(self, request: Request) -> None:
        """Move the starts of logs that this broker leads."""
        delete_records_request = request.body(DeleteRecordsRequest)
        partition_response = DeleteRecordsResponse.PartitionResponse
        invalid = DeleteRecordsResponse.INVALID_LOW_WATERMARK
        refused: Deleted = {}
        authorized_for_delete_topic_offsets: dict[TopicPartition, int] = {}
        for topic_partition, offset in delete_records_request.partition_offsets().items():
            topic = topic_partition.topic
            if not self._auth_helper.authorize(request.session, Operation.Delete, Resource(ResourceType.Topic, topic)):
                refused[topic_partition] = partition_response(invalid, Errors.TOPIC_AUTHORIZATION_FAILED)
            elif not self._metadata_cache.contains(topic):
                refused[topic_partition] = partition_response(invalid, Errors.UNKNOWN_TOPIC_OR_PARTITION)
            else:
                authorized_for_delete_topic_offsets[topic_partition] = offset

        def send_response_callback(authorized_topic_responses: Deleted) -> None:
            merged_response_status = {**authorized_topic_responses, **refused}
            for topic_partition, status in merged_response_status.items():
                if status.error is not Errors.NONE:
                    self.debug(
                        "DeleteRecordsRequest with correlation id %d from client %s on partition %s failed due to %s",
                        request.header.correlation_id,
                        request.header.client_id,
                        topic_partition,
                        status.error.exception_name(),
                    )
            self._request_helper.send_response_maybe_throttle(
                request, lambda throttle_ms: DeleteRecordsResponse(throttle_ms, merged_response_status)
            )

        if authorized_for_delete_topic_offsets:
            self._replica_manager.delete_records(
                delete_records_request.timeout, authorized_for_delete_topic_offsets, send_response_callback
            )
        else:
            send_response_callback({})

    # -- Configurations -----------------------------------------------------------------------------------------------

    def handle_alter_configs_request(self, request: Request) -> None:
        """Replace the settings of topics and brokers."""
        alter_configs_request = request.body(AlterConfigsRequest)
        authorized_resources = {}
        unauthorized_result = {}
        for resource, config in alter_configs_request.configs().items():
            if self._authorize_configs(request.session, Operation.AlterConfigs, resource):
                authorized_resources[resource] = config
            else:
                unauthorized_result[resource] = self._configs_authorization_api_error(request.session, resource)
        authorized_result = self._admin_manager.alter_configs(authorized_resources, alter_configs_request.validate_only)
        self._request_helper.send_response_maybe_throttle(
            request, lambda throttle_ms: AlterConfigsResponse(throttle_ms, {**authorized_result, **unauthorized_result})
        )

    def handle_describe_configs_request(self, request: Request) -> None:
        """Tell the settings of topics and of this broker."""
        describe_configs_request = request.body(DescribeConfigsRequest)
        authorized_resources = {}
        unauthorized_configs = {}
        for resource in describe_configs_request.resources():
            if self._authorize_configs(request.session, Operation.DescribeConfigs, resource):
                names = describe_configs_request.config_names(resource)
                authorized_resources[resource] = None if names is None else set(names)
            else:
                error = self._configs_authorization_api_error(request.session, resource)
                unauthorized_configs[resource] = DescribeConfigsResponse.Config(error, [])
        authorized_configs = self._admin_manager.describe_configs(
            authorized_resources, describe_configs_request.include_synonyms
        )
        self._request_helper.send_response_maybe_throttle(
            request,
            lambda throttle_ms: DescribeConfigsResponse(throttle_ms, {**authorized_configs, **unauthorized_configs}),
        )

    def _authorize_configs(self, session: Session, operation: Operation, resource: RResource) -> bool:
        """Brokers' settings belong to the cluster; InvalidRequestException for what has no settings."""
        if resource.type() is RResourceType.BROKER:
            return self._auth_helper.authorize(session, operation, Resource.CLUSTER_RESOURCE)
        if resource.type() is RResourceType.TOPIC:
            return self._auth_helper.authorize(session, operation, Resource(ResourceType.Topic, resource.name()))
        raise InvalidRequestException(f"Unexpected resource type {resource.type()} for resource {resource.name()}")

    def _configs_authorization_api_error(self, session: Session, resource: RResource) -> ApiError:
        if resource.type() is RResourceType.BROKER:
            return ApiError(Errors.CLUSTER_AUTHORIZATION_FAILED, None)
        if resource.type() is RResourceType.TOPIC:
            return ApiError(Errors.TOPIC_AUTHORIZATION_FAILED, None)
        raise InvalidRequestException(f"Unexpected resource type {resource.type()} for resource {resource.name()}")

    # -- Log directories ----------------------------------------------------------------------------------------------

    def handle_describe_log_dirs_request(self, request: Request) -> None:
        """Tell what is in the log directories; nothing to those who may not look at the cluster."""
        describe_log_dirs_request = request.body(DescribeLogDirsRequest)
        log_dir_infos: dict[str, DescribeLogDirsResponse.LogDirInfo] = {}
        if self._auth_helper.authorize(request.session, Operation.Describe, Resource.CLUSTER_RESOURCE):
            partitions = describe_log_dirs_request.topic_partitions()
            if partitions is None:
                partitions = {log.topic_partition for log in self._replica_manager.log_manager.all_logs}
            log_dir_infos = self._replica_manager.describe_log_dirs(partitions)
        self._request_helper.send_response_maybe_throttle(
            request, lambda throttle_ms: DescribeLogDirsResponse(throttle_ms, log_dir_infos)
        )
