"""ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 2.5.1 (these handlers)
Read next: controller/kafka_controller_api_events.py, server/delayed_elect_leader.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.election_type import ElectionType
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kafka_py.common.requests.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.elect_leaders_request import ElectLeadersRequest
from kafka_py.common.requests.elect_leaders_response import ElectLeadersResponse
from kafka_py.common.requests.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kafka_py.common.requests.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.controller.kafka_controller_reassignment import OngoingReassignment
    from kafka_py.network.request_channel import Request
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.request_handler_helper import RequestHandlerHelper


class KafkaApisReassignments(Logging):
    """The handlers for administrators that say who leads and where replicas are. Thread: as KafkaApis.

    The controller answers, on its own thread.
    """

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        admin_manager: AdminManager,
        controller: KafkaController,
        metadata_cache: MetadataCache,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._admin_manager = admin_manager
        self._controller = controller
        self._metadata_cache = metadata_cache

    def handle_elect_replica_leader(self, request: Request) -> None:
        """Have first replicas lead, or any that live; who asks for all is told only where something was done."""
        election_request = request.body(ElectLeadersRequest)
        named = election_request.topic_partitions
        if named is None:
            partitions = self._metadata_cache.get_all_partitions()
        else:
            partitions = [TopicPartition(topic.topic, id) for topic in named for id in topic.partition_ids]

        def send_response_callback(results: Mapping[TopicPartition, ApiError], error: Errors = Errors.NONE) -> None:
            if named is None:
                results = {tp: e for tp, e in results.items() if not e.is_(Errors.ELECTION_NOT_NEEDED)}
            topics = _elected(results)
            self._request_helper.send_response_maybe_throttle(
                request,
                lambda throttle_ms: ElectLeadersResponse(
                    throttle_time_ms=throttle_ms, error_code=error.code, replica_election_results=topics
                ),
            )

        if not self._auth_helper.authorize(request.session, Operation.Alter, Resource.CLUSTER_RESOURCE):
            refused = Errors.CLUSTER_AUTHORIZATION_FAILED
            send_response_callback({} if named is None else dict.fromkeys(partitions, ApiError(refused)), refused)
            return
        self._admin_manager.elect_leaders(
            self._controller,
            list(dict.fromkeys(partitions)),
            ElectionType.value_of(election_request.election_type),
            send_response_callback,
            election_request.timeout_ms,
        )

    def handle_alter_partition_reassignments_request(self, request: Request) -> None:
        """Move partitions to other brokers, or leave them where they are."""
        self._auth_helper.authorize_cluster_operation(request, Operation.Alter)
        alter_request = request.body(AlterPartitionReassignmentsRequest)

        def send_response_callback(result: Mapping[TopicPartition, ApiError] | ApiError) -> None:
            error = result if isinstance(result, ApiError) else ApiError.NONE
            topics = [] if isinstance(result, ApiError) else _altered(result)
            self._request_helper.send_response_maybe_throttle(
                request,
                lambda throttle_ms: AlterPartitionReassignmentsResponse(
                    throttle_time_ms=throttle_ms,
                    error_code=error.error().code,
                    error_message=error.short_message(),
                    responses=topics,
                ),
            )

        reassignments: dict[TopicPartition, Sequence[int] | None] = {
            TopicPartition(topic.name, partition.partition_index): partition.replicas
            for topic in alter_request.topics
            for partition in topic.partitions
        }
        self._controller.alter_partition_reassignments(reassignments, send_response_callback)

    def handle_list_partition_reassignments_request(self, request: Request) -> None:
        """Tell which partitions are being moved."""
        self._auth_helper.authorize_cluster_operation(request, Operation.Describe)
        topics = request.body(ListPartitionReassignmentsRequest).topics

        def send_response_callback(result: Mapping[TopicPartition, OngoingReassignment] | ApiError) -> None:
            error = result if isinstance(result, ApiError) else ApiError.NONE
            found = [] if isinstance(result, ApiError) else _ongoing(result)
            self._request_helper.send_response_maybe_throttle(
                request,
                lambda throttle_ms: ListPartitionReassignmentsResponse(
                    throttle_time_ms=throttle_ms,
                    error_code=error.error().code,
                    error_message=error.short_message(),
                    topics=found,
                ),
            )

        partitions = None
        if topics is not None:
            named = (TopicPartition(topic.name, index) for topic in topics for index in topic.partition_indexes)
            partitions = list(dict.fromkeys(named))
        self._controller.list_partition_reassignments(partitions, send_response_callback)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    found: dict[str, list[TopicPartition]] = {}
    for tp in partitions:
        found.setdefault(tp.topic, []).append(tp)
    return found


def _elected(results: Mapping[TopicPartition, ApiError]) -> list[ElectLeadersResponse.Topic]:
    topic_class = ElectLeadersResponse.Topic

    def result_of(tp: TopicPartition) -> ElectLeadersResponse.Topic.Partition:
        error = results[tp]
        return topic_class.Partition(
            partition_id=tp.partition, error_code=error.error().code, error_message=error.short_message()
        )

    return [
        topic_class(topic=topic, partition_results=list(map(result_of, tps)))
        for topic, tps in _by_topic(results).items()
    ]


def _altered(results: Mapping[TopicPartition, ApiError]) -> list[AlterPartitionReassignmentsResponse.Topic]:
    topic_class = AlterPartitionReassignmentsResponse.Topic

    def result_of(tp: TopicPartition) -> AlterPartitionReassignmentsResponse.Topic.Partition:
        error = results[tp]
        return topic_class.Partition(
            partition_index=tp.partition, error_code=error.error().code, error_message=error.short_message()
        )

    return [topic_class(name=topic, partitions=list(map(result_of, tps))) for topic, tps in _by_topic(results).items()]


def _ongoing(
    reassignments: Mapping[TopicPartition, OngoingReassignment],
) -> list[ListPartitionReassignmentsResponse.Topic]:
    topic_class = ListPartitionReassignmentsResponse.Topic
    return [
        topic_class(
            name=topic,
            partitions=[
                topic_class.Partition(partition_index=tp.partition, **reassignments[tp]._asdict()) for tp in tps
            ],
        )
        for topic, tps in _by_topic(reassignments).items()
    ]
