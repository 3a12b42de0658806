"""Asks coordinators about groups and their offsets, and has them changed.

Mirrors: core/src/main/scala/kafka/admin/AdminClient.scala @ 1.1.1 (what it does about groups), and what
kafka-consumer-groups of 2.5.1 uses of the Java client's KafkaAdminClient (offsets)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_py.admin.admin_client import AdminClient
from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.errors import ApiException, KafkaException, RetriableException, TimeoutException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.delete_groups_request import DeleteGroupsRequest
from kafka_py.common.requests.delete_groups_response import DeleteGroupsResponse
from kafka_py.common.requests.describe_groups_request import DescribeGroupsRequest
from kafka_py.common.requests.describe_groups_response import DescribeGroupsResponse
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_groups_request import ListGroupsRequest
from kafka_py.common.requests.list_groups_response import ListGroupsResponse
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse
from kafka_py.common.requests.offset_delete_request import OffsetDeleteRequest
from kafka_py.common.requests.offset_delete_response import OffsetDeleteResponse
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.offset_fetch_response import OffsetFetchResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic
from kafka_py.coordinator.group.group_metadata import GroupOverview

if TYPE_CHECKING:
    from kafka_py.common.node import Node

T = TypeVar("T")
RETRY_BACKOFF_MS = 100
# What a coordinator answers while it is not yet, or no longer, the one
_MOVING = (Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR)
_NO_SUCH_PARTITION = (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.INVALID_TOPIC_EXCEPTION)


class ConsumerSummary(NamedTuple):
    """A member; its assignment is known while the group is Stable.

    Mirrors: kafka.admin.AdminClient.ConsumerSummary
    """

    consumer_id: str
    client_id: str
    host: str
    assignment: list[TopicPartition]


class ConsumerGroupSummary(NamedTuple):
    """State and members of a group, and who coordinates it.

    Mirrors: kafka.admin.AdminClient.ConsumerGroupSummary
    """

    state: str
    assignment_strategy: str
    consumers: list[ConsumerSummary]
    coordinator: Node


class DeletedOffsets(NamedTuple):
    """The error of the whole request, and that of each partition; Errors.NONE where all went well."""

    error: Errors
    partitions: dict[TopicPartition, Errors]


class ConsumerGroupsClient(AdminClient):
    """Finds the coordinator of each group and waits for each answer.

    Mirrors: the parts of kafka.admin.AdminClient and org.apache.kafka.clients.admin.KafkaAdminClient that
        kafka-consumer-groups needs
    """

    # -- coordinators

    def find_coordinator(self, group_id: str, timeout_ms: int = 0) -> Node:
        """Who coordinates the group; raises TimeoutException while nobody does, or the answer's error."""
        request = FindCoordinatorRequest.Builder(FindCoordinatorRequest.CoordinatorType.GROUP, group_id)

        def ask() -> Node:
            response = self._send_any_node(request)
            assert isinstance(response, FindCoordinatorResponse)
            response.error().maybe_throw()
            return response.node()

        try:
            return self._until(timeout_ms, ask)
        except (OSError, ApiException) as e:
            if isinstance(e, ApiException) and Errors.for_exception(e) not in _MOVING:
                raise
            raise TimeoutException(
                "The consumer group command timed out while waiting for group to initialize: "
            ) from e

    def _until(self, timeout_ms: int, ask: Callable[[], T]) -> T:
        """What ``ask`` gives, asked again for up to ``timeout_ms`` while nobody can be reached or things move."""
        deadline = self._time.milliseconds() + timeout_ms
        while True:
            try:
                return ask()
            except (OSError, ApiException) as e:
                moving = isinstance(e, OSError) or Errors.for_exception(e) in _MOVING
                if not moving or self._time.milliseconds() >= deadline:
                    raise
            self._time.sleep(RETRY_BACKOFF_MS)

    # -- groups

    def list_groups(self, node: Node) -> list[GroupOverview]:
        """The groups that this broker coordinates; raises the answer's error."""
        response = self.send(
            node, ListGroupsRequest.Builder(ListGroupsRequest(version=ListGroupsRequest.API_KEY.latest_version()))
        )
        assert isinstance(response, ListGroupsResponse)
        response.error().maybe_throw()
        return [GroupOverview(group.group_id, group.protocol_type) for group in response.groups]

    def list_all_groups(self) -> dict[Node, list[GroupOverview]]:
        """The groups of every broker; a broker that cannot say has none."""
        found: dict[Node, list[GroupOverview]] = {}
        for broker in self.find_all_brokers():
            try:
                found[broker] = self.list_groups(broker)
            except (OSError, ApiException):
                found[broker] = []
        return found

    def list_all_consumer_groups_flattened(self) -> list[GroupOverview]:
        """Groups of consumers, and those that only keep offsets, which have no type; by name."""
        groups = {group for of_broker in self.list_all_groups().values() for group in of_broker}
        return sorted(group for group in groups if group.protocol_type in ("", ConsumerProtocol.PROTOCOL_TYPE))

    def describe_consumer_group(self, group_id: str, timeout_ms: int = 0) -> ConsumerGroupSummary:
        """State and members; waits for up to ``timeout_ms`` for a group that is just coming about.

        Raises TimeoutException where that is not long enough.
        """
        deadline = self._time.milliseconds() + timeout_ms
        coordinator = self.find_coordinator(group_id, timeout_ms)
        group = self._describe_consumer_group_handler(coordinator, group_id)
        while not _is_valid_consumer_group_response(group) and self._time.milliseconds() < deadline:
            self._time.sleep(RETRY_BACKOFF_MS)
            coordinator = self.find_coordinator(group_id, timeout_ms)
            group = self._describe_consumer_group_handler(coordinator, group_id)
        if not _is_valid_consumer_group_response(group):
            raise TimeoutException("The consumer group command timed out while waiting for group to initialize")
        stable = group.state == "Stable"
        consumers = [
            ConsumerSummary(m.member_id, m.client_id, m.client_host, _assignment(m.member_assignment) if stable else [])
            for m in group.members
        ]
        return ConsumerGroupSummary(group.state, group.protocol, consumers, coordinator)

    def _describe_consumer_group_handler(self, coordinator: Node, group_id: str) -> DescribeGroupsResponse.Group:
        response = self.send(coordinator, DescribeGroupsRequest.Builder(DescribeGroupsRequest(group_ids=[group_id])))
        assert isinstance(response, DescribeGroupsResponse)
        for group in response.groups:
            if group.group_id == group_id:
                return group
        raise KafkaException(f"Response from broker contained no metadata for group {group_id}")

    def delete_consumer_groups(self, groups: Sequence[str]) -> dict[str, Errors]:
        """What became of each group; Errors.NONE for one that is gone."""
        errors: dict[str, Errors] = {}
        by_coordinator: dict[Node, list[str]] = {}
        for group in dict.fromkeys(groups):
            try:
                by_coordinator.setdefault(self.find_coordinator(group), []).append(group)
            except TimeoutException:
                errors[group] = Errors.COORDINATOR_NOT_AVAILABLE
            except ApiException as e:
                errors[group] = Errors.for_exception(e)
        for coordinator, of_coordinator in by_coordinator.items():
            response = self.send(coordinator, DeleteGroupsRequest.Builder(DeleteGroupsRequest(groups=of_coordinator)))
            assert isinstance(response, DeleteGroupsResponse)
            errors.update({entry.group_id: entry.error for entry in response.group_error_codes})
        return {group: errors.get(group, Errors.NONE) for group in groups}

    # -- offsets of groups

    def list_group_offsets(self, group_id: str, timeout_ms: int = 0) -> dict[TopicPartition, int]:
        """How far the group has read each partition that it has an offset of; raises the answer's first error.

        A coordinator that is just becoming one is asked again for up to ``timeout_ms``.
        """
        return self._until(timeout_ms, lambda: self._list_group_offsets_once(group_id))

    def _list_group_offsets_once(self, group_id: str) -> dict[TopicPartition, int]:
        coordinator = self.find_coordinator(group_id)
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        response = self.send(coordinator, OffsetFetchRequest.Builder(request, 2, request.API_KEY.latest_version()))
        assert isinstance(response, OffsetFetchResponse)
        response.error().maybe_throw()
        offsets: dict[TopicPartition, int] = {}
        for topic in response.responses:
            for partition in topic.partition_responses:
                partition.error.maybe_throw()
                if partition.offset >= 0:
                    offsets[TopicPartition(topic.topic, partition.partition)] = partition.offset
        return dict(sorted(offsets.items()))

    def alter_consumer_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets for a group without members; raises the answer's first error."""
        coordinator = self.find_coordinator(group_id)
        topic, partition = OffsetCommitRequest.Topic, OffsetCommitRequest.Topic.Partition
        request = OffsetCommitRequest(
            group_id=group_id,
            topics=[
                topic(topic=name, partitions=[partition(partition=p, offset=o, metadata="") for p, o in of_it.items()])
                for name, of_it in group_data_by_topic(offsets).items()
            ],
        )
        # From version 2 on the coordinator, not the sender, says when it was; before 1 it went to ZooKeeper.
        response = self.send(coordinator, OffsetCommitRequest.Builder(request, 2, request.API_KEY.latest_version()))
        assert isinstance(response, OffsetCommitResponse)
        for answered in response.responses:
            for entry in answered.partition_responses:
                entry.error.maybe_throw()

    def delete_consumer_group_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> DeletedOffsets:
        """Forget these offsets; raises UnsupportedVersionException for brokers before 2.4."""
        try:
            coordinator = self.find_coordinator(group_id)
        except ApiException as e:
            return DeletedOffsets(Errors.for_exception(e), {})
        topic, partition = OffsetDeleteRequest.Topic, OffsetDeleteRequest.Topic.Partition
        by_topic = group_data_by_topic(dict.fromkeys(partitions))
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[topic(name=n, partitions=[partition(partition_index=p) for p in ps]) for n, ps in by_topic.items()],
        )
        response = self.send(coordinator, OffsetDeleteRequest.Builder(request))
        assert isinstance(response, OffsetDeleteResponse)
        entries = {TopicPartition(t.name, p.partition_index): p.error for t in response.topics for p in t.partitions}
        return DeletedOffsets(response.error(), entries)

    # -- topics

    def partitions_for(self, topics: Sequence[str]) -> dict[str, list[TopicPartition] | Errors]:
        """The partitions of each topic in order, or why they are not known; no topic is created."""
        if not topics:
            return {}
        response = self._send_any_node(MetadataRequest.Builder(list(topics), False))
        assert isinstance(response, MetadataResponse)
        return {
            m.topic: m.error
            if m.error is not Errors.NONE
            else [TopicPartition(m.topic, p) for p in sorted(entry.partition for entry in m.partition_metadata)]
            for m in response.topic_metadata()
        }

    def list_offsets(
        self, partitions: Collection[TopicPartition], timestamp: int, timeout_ms: int
    ) -> dict[TopicPartition, int | None]:
        """The first offset not before a timestamp (ms; -1 the end, -2 the start) of each partition.

        ListOffsetResponse.UNKNOWN_OFFSET where there is none, None for a partition that does not exist. A leader that
        is not there is waited for: TimeoutException after ``timeout_ms``.
        """
        found: dict[TopicPartition, int | None] = {}
        deadline = self._time.milliseconds() + timeout_ms
        while True:
            left = [tp for tp in partitions if tp not in found]
            found.update(self._list_offsets_once(left, timestamp))
            if len(found) == len(set(partitions)):
                return {tp: found[tp] for tp in partitions}
            if self._time.milliseconds() >= deadline:
                raise TimeoutException(f"Failed to get offsets by times in {timeout_ms} ms")
            self._time.sleep(RETRY_BACKOFF_MS)

    def _list_offsets_once(
        self, partitions: Iterable[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int | None]:
        """The offsets of those partitions whose leaders could be asked."""
        found: dict[TopicPartition, int | None] = {}
        for leader, of_leader in self._by_leader(partitions, found).items():
            request = ListOffsetRequest.Builder.for_consumer(True, IsolationLevel.READ_UNCOMMITTED)
            try:
                response = self.send(leader, request.set_target_times(dict.fromkeys(of_leader, timestamp)))
            except OSError:  # it is going; the next metadata name another, or the time is over
                continue
            assert isinstance(response, ListOffsetResponse)
            for tp, data in response.response_data().items():
                if data.error in _NO_SUCH_PARTITION:
                    found[tp] = None
                elif not isinstance(data.error.exception(), RetriableException):
                    data.error.maybe_throw()
                    found[tp] = data.offset
        return found

    def _by_leader(
        self, partitions: Iterable[TopicPartition], found: dict[TopicPartition, int | None]
    ) -> dict[Node, list[TopicPartition]]:
        """The partitions by their leaders; those that do not exist go to ``found``, those without a leader nowhere."""
        partitions = list(partitions)
        response = self._send_any_node(MetadataRequest.Builder(sorted({tp.topic for tp in partitions}), False))
        assert isinstance(response, MetadataResponse)
        cluster, errors = response.cluster(), response.errors()
        by_leader: dict[Node, list[TopicPartition]] = {}
        for tp in partitions:
            leader = cluster.leader_for(tp)
            missing = tp.topic not in errors and cluster.partition(tp) is None
            if leader is not None:
                by_leader.setdefault(leader, []).append(tp)
            elif missing or errors.get(tp.topic) in _NO_SUCH_PARTITION:
                found[tp] = None
        return by_leader


def _is_valid_consumer_group_response(group: DescribeGroupsResponse.Group) -> bool:
    settled = group.state in ("Dead", "Empty") or group.protocol_type == ConsumerProtocol.PROTOCOL_TYPE
    return group.error is Errors.NONE and settled


def _assignment(data: bytes | memoryview) -> list[TopicPartition]:
    """The partitions that the leader gave a member; none before it gave any."""
    return ConsumerProtocol.deserialize_assignment(data).partitions if data else []
