"""Groups and the offsets they commit: join, sync, heartbeat, leave, commit, fetch, describe, list, delete.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (these handlers; later versions as in 2.5.1)
Read next: ../coordinator/group/group_coordinator.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from kafka_py.api.api_version import KAFKA_2_3_IV0
from kafka_py.common.offset_and_metadata import NO_METADATA, OffsetAndMetadata
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.requests.delete_groups_request import DeleteGroupsRequest
from kafka_py.common.requests.delete_groups_response import DeleteGroupsResponse
from kafka_py.common.requests.describe_groups_request import DescribeGroupsRequest
from kafka_py.common.requests.describe_groups_response import DescribeGroupsResponse
from kafka_py.common.requests.heartbeat_request import HeartbeatRequest
from kafka_py.common.requests.heartbeat_response import HeartbeatResponse
from kafka_py.common.requests.join_group_request import JoinGroupRequest
from kafka_py.common.requests.join_group_response import JoinGroupResponse
from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
from kafka_py.common.requests.leave_group_response import LeaveGroupResponse
from kafka_py.common.requests.list_groups_response import ListGroupsResponse
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse
from kafka_py.common.requests.offset_delete_request import OffsetDeleteRequest
from kafka_py.common.requests.offset_delete_response import OffsetDeleteResponse
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.offset_fetch_response import OffsetFetchResponse
from kafka_py.common.requests.sync_group_request import SyncGroupRequest
from kafka_py.common.requests.sync_group_response import SyncGroupResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic
from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
from kafka_py.coordinator.group.group_metadata_manager import PartitionData
from kafka_py.coordinator.group.group_results import UNKNOWN_MEMBER_ID, JoinGroupResult, SyncGroupResult
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.utils.time import Time
    from kafka_py.coordinator.group.group_results import LeaveGroupResult
    from kafka_py.network.request_channel import Request
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.request_handler_helper import RequestHandlerHelper
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

V = TypeVar("V")
GroupResponse = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | DescribeGroupsResponse
    | ListGroupsResponse
    | DeleteGroupsResponse
    | OffsetDeleteResponse
)
PartitionErrors = dict[TopicPartition, Errors]
_NONE = Errors.NONE
_DEFAULT_TIMESTAMP = -1
_DEFAULT_RETENTION_TIME = -1
_MAX_TIMESTAMP = (1 << 63) - 1  # in Kafka the sum wraps, and what was to be kept longest is deleted first
_UNKNOWN_PARTITION = PartitionData(-1, None, NO_METADATA, Errors.UNKNOWN_TOPIC_OR_PARTITION)
_UNAUTHORIZED_PARTITION = PartitionData(-1, None, NO_METADATA, Errors.TOPIC_AUTHORIZATION_FAILED)


class Sorted(NamedTuple):
    """The partitions of a request: those that may be used, and why the others may not."""

    good: list[TopicPartition]
    refused: PartitionErrors


class KafkaApisGroups(Logging):
    """The handlers of groups. Thread: as KafkaApis."""

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        group_coordinator: GroupCoordinator,
        zk_client: KafkaZkClient,
        config: KafkaConfig,
        metadata_cache: MetadataCache,
        time: Time,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._group_coordinator = group_coordinator
        self._zk_client = zk_client
        self._config = config
        self._metadata_cache = metadata_cache
        self._time = time

    def _may(self, request: Request, operation: Operation, group_id: str) -> bool:
        return self._auth_helper.authorize(request.session, operation, Resource(ResourceType.Group, group_id))

    def _may_topic(self, request: Request, operation: Operation, topic: str) -> bool:
        return self._auth_helper.authorizer is None or self._auth_helper.authorize(
            request.session, operation, Resource(ResourceType.Topic, topic)
        )

    def _sort_out(self, request: Request, operation: Operation, partitions: Iterable[TopicPartition]) -> Sorted:
        """Who asks must have the right to the topics, and the partitions must exist."""
        good, refused = [], {}
        for tp in partitions:
            if not self._may_topic(request, operation, tp.topic):
                refused[tp] = Errors.TOPIC_AUTHORIZATION_FAILED
            elif not self._metadata_cache.contains_partition(tp):
                refused[tp] = Errors.UNKNOWN_TOPIC_OR_PARTITION
            else:
                good.append(tp)
        return Sorted(good, refused)

    def _names_itself_too_early(self, group_instance_id: str | None) -> bool:
        """Static members need brokers that all keep the instance id: another would load them as dynamic ones."""
        return group_instance_id is not None and self._config.inter_broker_protocol_version < KAFKA_2_3_IV0

    def _send(self, request: Request, response: GroupResponse) -> None:
        def create_response(request_throttle_ms: int) -> AbstractResponse:
            response.throttle_time_ms = request_throttle_ms
            if self.logger.trace_enabled:
                self.trace(
                    "Sending %s response %s for correlation id %d to client %s.",
                    request.header.api_key.name,
                    response,
                    request.header.correlation_id,
                    request.header.client_id,
                )
            return response

        self._request_helper.send_response_maybe_throttle(request, create_response)

    def _send_error(self, request: Request, body: AbstractRequest, error: Errors) -> None:
        exception = error.exception()
        assert exception is not None

        def create_response(request_throttle_ms: int) -> AbstractResponse:
            response = body.get_error_response(request_throttle_ms, exception)
            assert response is not None
            return response

        self._request_helper.send_response_maybe_throttle(request, create_response)

    # -- JoinGroup, SyncGroup, Heartbeat, LeaveGroup ----------------------------------------------------------------

    def handle_join_group_request(self, request: Request) -> None:
        """Let a member join; it is answered when all have come, or the rebalance timeout is over."""
        join_request = request.body(JoinGroupRequest)
        version = request.header.api_version

        def send_response_callback(join_result: JoinGroupResult) -> None:
            """Runs when the rebalance is complete, here or where the last member's request is handled."""
            protocol_name = join_result.protocol_name
            if protocol_name is None and version < 7:
                protocol_name = GroupCoordinator.NO_PROTOCOL
            response = JoinGroupResponse(
                error_code=join_result.error.code,
                generation_id=join_result.generation_id,
                protocol_type=join_result.protocol_type,
                group_protocol=protocol_name,
                leader_id=join_result.leader_id or GroupCoordinator.NO_LEADER,
                member_id=join_result.member_id,
                members=join_result.members,
            )
            self._send(request, response)

        group_instance_id = join_request.group_instance_id
        if self._names_itself_too_early(group_instance_id):
            send_response_callback(JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.UNSUPPORTED_VERSION))
        elif not self._may(request, Operation.Read, join_request.group_id):
            send_response_callback(JoinGroupResult.failed(UNKNOWN_MEMBER_ID, Errors.GROUP_AUTHORIZATION_FAILED))
        else:
            # version 0 has one timeout for both
            rebalance_timeout = join_request.session_timeout if version == 0 else join_request.rebalance_timeout
            self._group_coordinator.handle_join_group(
                join_request.group_id,
                join_request.member_id,
                group_instance_id,
                version >= 4 and group_instance_id is None,
                request.header.client_id or "",
                f"/{request.context.client_address}",
                rebalance_timeout,
                join_request.session_timeout,
                join_request.protocol_type,
                [(p.protocol_name, bytes(p.protocol_metadata)) for p in join_request.group_protocols],
                send_response_callback,
            )

    def handle_sync_group_request(self, request: Request) -> None:
        """Give a member its assignment; it is answered when the leader's word is written down."""
        sync_request = request.body(SyncGroupRequest)

        def send_response_callback(sync_group_result: SyncGroupResult) -> None:
            """Runs when the assignment is in the log, here or where the last replica's Fetch is handled."""
            response = SyncGroupResponse(
                error_code=sync_group_result.error.code,
                protocol_type=sync_group_result.protocol_type,
                protocol_name=sync_group_result.protocol_name,
                member_assignment=sync_group_result.member_assignment,
            )
            self._send(request, response)

        says_protocol = sync_request.protocol_type is not None and sync_request.protocol_name is not None
        if self._names_itself_too_early(sync_request.group_instance_id):
            send_response_callback(SyncGroupResult.failed(Errors.UNSUPPORTED_VERSION))
        elif request.header.api_version >= 5 and not says_protocol:
            send_response_callback(SyncGroupResult.failed(Errors.INCONSISTENT_GROUP_PROTOCOL))
        elif not self._may(request, Operation.Read, sync_request.group_id):
            send_response_callback(SyncGroupResult.failed(Errors.GROUP_AUTHORIZATION_FAILED))
        else:
            self._group_coordinator.handle_sync_group(
                sync_request.group_id,
                sync_request.generation_id,
                sync_request.member_id,
                sync_request.protocol_type,
                sync_request.protocol_name,
                sync_request.group_instance_id,
                {a.member_id: bytes(a.member_assignment) for a in sync_request.group_assignment},
                send_response_callback,
            )

    def handle_heartbeat_request(self, request: Request) -> None:
        """A member is alive; the answer says whether its group still stands as it knows it."""
        heartbeat_request = request.body(HeartbeatRequest)

        def send_response_callback(error: Errors) -> None:
            self._send(request, HeartbeatResponse(error_code=error.code))

        if self._names_itself_too_early(heartbeat_request.group_instance_id):
            send_response_callback(Errors.UNSUPPORTED_VERSION)
        elif not self._may(request, Operation.Read, heartbeat_request.group_id):
            send_response_callback(Errors.GROUP_AUTHORIZATION_FAILED)
        else:
            self._group_coordinator.handle_heartbeat(
                heartbeat_request.group_id,
                heartbeat_request.member_id,
                heartbeat_request.group_instance_id,
                heartbeat_request.generation_id,
                send_response_callback,
            )

    def handle_leave_group_request(self, request: Request) -> None:
        """Members go; from version 3 on several at once, which an administrator may send away."""
        leave_request = request.body(LeaveGroupRequest)
        version = request.header.api_version

        def send_response_callback(leave_group_result: LeaveGroupResult) -> None:
            answers = [
                LeaveGroupResponse.Member(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=member.error.code,
                )
                for member in leave_group_result.member_responses
            ]
            error = leave_group_result.top_level_error
            if version < 3 and error is _NONE and answers:
                error = answers[0].error  # of the only member
            self._send(request, LeaveGroupResponse(error_code=error.code, members=answers))

        if not self._may(request, Operation.Read, leave_request.group_id):
            self._send(request, LeaveGroupResponse(error_code=Errors.GROUP_AUTHORIZATION_FAILED.code))
            return
        members = leave_request.members
        if version < 3:
            members = [LeaveGroupRequest.Member(member_id=leave_request.member_id)]
        self._group_coordinator.handle_leave_group(leave_request.group_id, members, send_response_callback)

    # -- OffsetCommit -----------------------------------------------------------------------------------------------

    def handle_offset_commit_request(self, request: Request) -> None:
        """Keep what a group has read, in version 0 in ZooKeeper, later in its log."""
        commit_request = request.body(OffsetCommitRequest)
        wanted = {TopicPartition(t.topic, p.partition): p for t in commit_request.topics for p in t.partitions}
        if not self._may(request, Operation.Read, commit_request.group_id):
            self._send_error(request, commit_request, Errors.GROUP_AUTHORIZATION_FAILED)
            return
        if self._names_itself_too_early(commit_request.group_instance_id):
            self._send_commit_response(request, dict.fromkeys(wanted, Errors.UNSUPPORTED_VERSION))
            return
        good, refused = self._sort_out(request, Operation.Read, wanted)

        def send_response_callback(commit_status: PartitionErrors) -> None:
            """Runs when the commit is in the log, here or where the last replica's Fetch is handled."""
            self._send_commit_response(request, {**commit_status, **refused})

        if not good:
            send_response_callback({})
        elif request.header.api_version == 0:
            group_id = commit_request.group_id
            send_response_callback({tp: self._commit_to_zookeeper(group_id, tp, wanted[tp]) for tp in good})
        else:
            now, retention = self._time.milliseconds(), commit_request.retention_time
            expire = None if retention == _DEFAULT_RETENTION_TIME else min(now + retention, _MAX_TIMESTAMP)
            self._group_coordinator.handle_commit_offsets(
                commit_request.group_id,
                commit_request.member_id,
                commit_request.group_instance_id,
                commit_request.generation_id,
                {tp: _committed(wanted[tp], now, expire) for tp in good},
                send_response_callback,
            )

    def _send_commit_response(self, request: Request, commit_status: PartitionErrors) -> None:
        if self.logger.debug_enabled:
            for tp, error in commit_status.items():
                if error is not _NONE:
                    self.debug(
                        "Offset commit request with correlation id %s from client %s on partition %s failed due to %s",
                        request.header.correlation_id,
                        request.header.client_id,
                        tp,
                        error.exception_name(),
                    )
        topic = OffsetCommitResponse.Topic
        responses = [
            topic(
                topic=name,
                partition_responses=[topic.Partition(partition=p, error_code=e.code) for p, e in errors.items()],
            )
            for name, errors in group_data_by_topic(commit_status).items()
        ]
        self._send(request, OffsetCommitResponse(responses=responses))

    def _commit_to_zookeeper(
        self, group_id: str, tp: TopicPartition, data: OffsetCommitRequest.Topic.Partition
    ) -> Errors:
        if data.metadata is not None and len(data.metadata) > self._config.offset_metadata_max_size:
            return Errors.OFFSET_METADATA_TOO_LARGE
        try:
            self._zk_client.set_or_create_consumer_offset(group_id, tp, data.offset)
        except Exception as e:  # noqa: BLE001 -- one partition's failure is part of the answer
            return Errors.for_exception(e)
        return _NONE

    # -- OffsetFetch ------------------------------------------------------------------------------------------------

    def handle_offset_fetch_request(self, request: Request) -> None:
        """Tell what a group has committed; topics that the sender may not see are not named when it asks for all."""
        fetch_request = request.body(OffsetFetchRequest)
        if not self._may(request, Operation.Describe, fetch_request.group_id):
            self._send_fetch_error(request, fetch_request, Errors.GROUP_AUTHORIZATION_FAILED)
            return
        if fetch_request.topics is None:
            error, found = self._group_coordinator.handle_fetch_offsets(
                fetch_request.group_id, fetch_request.require_stable, None
            )
            found = {tp: data for tp, data in found.items() if self._may_topic(request, Operation.Describe, tp.topic)}
        else:
            wanted = [TopicPartition(t.topic, p.partition) for t in fetch_request.topics for p in t.partitions]
            visible = [tp for tp in wanted if self._may_topic(request, Operation.Describe, tp.topic)]
            if request.header.api_version == 0:
                error = _NONE
                found = {tp: self._committed_in_zookeeper(fetch_request.group_id, tp) for tp in visible}
            else:
                error, found = self._group_coordinator.handle_fetch_offsets(
                    fetch_request.group_id, fetch_request.require_stable, visible
                )
            found = {tp: found.get(tp, _UNAUTHORIZED_PARTITION) for tp in wanted}
        if error is _NONE:
            self._send(request, _offset_fetch_response(found))
        else:
            self._send_fetch_error(request, fetch_request, error)

    def _send_fetch_error(self, request: Request, fetch_request: OffsetFetchRequest, error: Errors) -> None:
        """From version 2 on one error for all, before one for each partition."""
        found: dict[TopicPartition, PartitionData] = {}
        if request.header.api_version < 2:
            data = PartitionData(-1, None, NO_METADATA, error)
            found = {
                TopicPartition(t.topic, p.partition): data for t in fetch_request.topics or () for p in t.partitions
            }
        self._send(request, _offset_fetch_response(found, error))

    def _committed_in_zookeeper(self, group_id: str, tp: TopicPartition) -> PartitionData:
        try:
            if not self._metadata_cache.contains_partition(tp):
                return _UNKNOWN_PARTITION
            offset = self._zk_client.get_consumer_offset(group_id, tp)
        except Exception as e:  # noqa: BLE001 -- one partition's failure is part of the answer
            return PartitionData(-1, None, NO_METADATA, Errors.for_exception(e))
        return _UNKNOWN_PARTITION if offset is None else PartitionData(offset, None, NO_METADATA, _NONE)

    # -- DescribeGroups, ListGroups, DeleteGroups, OffsetDelete -------------------------------------------------------

    def handle_describe_group_request(self, request: Request) -> None:
        """Tell of groups that are coordinated here."""
        describe_request = request.body(DescribeGroupsRequest)
        ask = describe_request.include_authorized_operations
        groups = [self._described(request, group_id, ask) for group_id in describe_request.group_ids]
        self._send(request, DescribeGroupsResponse(groups=groups))

    def _described(self, request: Request, group_id: str, with_operations: bool) -> DescribeGroupsResponse.Group:
        group_class = DescribeGroupsResponse.Group
        if not self._may(request, Operation.Describe, group_id):
            return group_class(error_code=Errors.GROUP_AUTHORIZATION_FAILED.code, group_id=group_id)
        error, summary = self._group_coordinator.handle_describe_group(group_id)
        group = group_class(
            error_code=error.code,
            group_id=group_id,
            state=summary.state,
            protocol_type=summary.protocol_type,
            protocol=summary.protocol,
            members=[
                group_class.Member(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata,
                    member_assignment=member.assignment,
                )
                for member in summary.members
            ],
        )
        if with_operations and error is _NONE:
            resource = Resource(ResourceType.Group, group_id)
            group.authorized_operations = self._auth_helper.authorized_operations(request.session, resource)
        return group

    def handle_list_groups_request(self, request: Request) -> None:
        """Name the groups that are coordinated here: all to who may describe the cluster, else those he may."""
        error, groups = self._group_coordinator.handle_list_groups()
        if not self._auth_helper.authorize(request.session, Operation.Describe, Resource.CLUSTER_RESOURCE):
            groups = [group for group in groups if self._may(request, Operation.Describe, group.group_id)]
        group_class = ListGroupsResponse.Group
        listed = [group_class(group_id=group.group_id, protocol_type=group.protocol_type) for group in groups]
        self._send(request, ListGroupsResponse(error_code=error.code, groups=listed))

    def handle_delete_groups_request(self, request: Request) -> None:
        """Delete groups that have no members."""
        groups = dict.fromkeys(request.body(DeleteGroupsRequest).groups)
        allowed = [group for group in groups if self._may(request, Operation.Delete, group)]
        deleted = self._group_coordinator.handle_delete_groups(allowed)
        results = {group: deleted.get(group, Errors.GROUP_AUTHORIZATION_FAILED) for group in groups}
        errors = [
            DeleteGroupsResponse.GroupError(group_id=group, error_code=error.code) for group, error in results.items()
        ]
        self._send(request, DeleteGroupsResponse(group_error_codes=errors))

    def handle_offset_delete_request(self, request: Request) -> None:
        """Delete what a group has committed for topics that it does not read."""
        delete_request = request.body(OffsetDeleteRequest)
        if not self._may(request, Operation.Delete, delete_request.group_id):
            self._send_error(request, delete_request, Errors.GROUP_AUTHORIZATION_FAILED)
            return
        wanted = [TopicPartition(t.name, p.partition_index) for t in delete_request.topics for p in t.partitions]
        good, refused = self._sort_out(request, Operation.Read, wanted)
        error, deleted = self._group_coordinator.handle_delete_offsets(delete_request.group_id, good)
        if error is not _NONE:
            self._send_error(request, delete_request, error)
            return
        topic_class = OffsetDeleteResponse.Topic
        topics = [
            topic_class(
                name=topic,
                partitions=[topic_class.Partition(partition_index=p, error_code=e.code) for p, e in errors.items()],
            )
            for topic, errors in group_data_by_topic({**refused, **deleted}).items()
        ]
        self._send(request, OffsetDeleteResponse(error_code=_NONE.code, topics=topics))


def _committed(data: OffsetCommitRequest.Topic.Partition, now: int, expire: int | None) -> OffsetAndMetadata:
    epoch = data.leader_epoch
    return OffsetAndMetadata(
        data.offset,
        None if epoch == RecordBatch.NO_PARTITION_LEADER_EPOCH else epoch,
        NO_METADATA if data.metadata is None else data.metadata,
        now if data.timestamp == _DEFAULT_TIMESTAMP else data.timestamp,
        expire,
    )


def _offset_fetch_response(found: Mapping[TopicPartition, PartitionData], error: Errors = _NONE) -> OffsetFetchResponse:
    topic_class = OffsetFetchResponse.Topic
    responses = [
        topic_class(
            topic=topic,
            partition_responses=[
                topic_class.Partition(
                    partition=partition,
                    offset=data.offset,
                    leader_epoch=-1 if data.leader_epoch is None else data.leader_epoch,
                    metadata=data.metadata,
                    error_code=data.error.code,
                )
                for partition, data in partitions.items()
            ],
        )
        for topic, partitions in group_data_by_topic(found).items()
    ]
    return OffsetFetchResponse(responses=responses, error_code=error.code)
