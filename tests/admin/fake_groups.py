"""A cluster of two brokers that knows topics and groups and answers kafka-consumer-groups from memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafka_py.admin.consumer_groups_client import ConsumerGroupsClient
from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.requests.delete_groups_response import DeleteGroupsResponse
from kafka_py.common.requests.describe_groups_response import DescribeGroupsResponse
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse
from kafka_py.common.requests.list_groups_response import ListGroupsResponse
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.offset_commit_response import OffsetCommitResponse
from kafka_py.common.requests.offset_delete_response import OffsetDeleteResponse
from kafka_py.common.requests.offset_fetch_response import OffsetFetchResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic
from kafka_py.testing.mock_time import MockTime

NODES = [Node(0, "one", 9092), Node(1, "two", 9092)]
Member = tuple[str, Sequence[TopicPartition]]


@dataclasses.dataclass
class FakeLog:
    """A partition: where it starts, and the timestamps of its records."""

    start: int = 0
    timestamps: list[int] = dataclasses.field(default_factory=list)

    def offset_for(self, timestamp: int) -> int:
        if timestamp == ListOffsetRequest.EARLIEST_TIMESTAMP:
            return self.start
        if timestamp == ListOffsetRequest.LATEST_TIMESTAMP:
            return self.start + len(self.timestamps)
        found = [i for i, at in enumerate(self.timestamps) if at >= timestamp]
        return self.start + found[0] if found else ListOffsetResponse.UNKNOWN_OFFSET


@dataclasses.dataclass
class FakeGroup:
    """A group as its coordinator knows it."""

    state: str = "Empty"
    protocol: str = ""
    protocol_type: str = "consumer"
    members: list[Member] = dataclasses.field(default_factory=list)
    offsets: dict[TopicPartition, int] = dataclasses.field(default_factory=dict)


def assignment(partitions: Iterable[TopicPartition]) -> bytes:
    schema = ConsumerProtocol.ASSIGNMENT_V0
    by_topic = group_data_by_topic(dict.fromkeys(partitions))
    topics = [Struct(ConsumerProtocol.TOPIC_ASSIGNMENT_V0, [t, list(ps)]) for t, ps in by_topic.items()]
    return b"\0\0" + Struct(schema, [topics, None]).to_bytes()


class FakeGroups(ConsumerGroupsClient):
    """Answers in place of the brokers; broker 1 coordinates all groups."""

    def __init__(self) -> None:
        super().__init__(NODES)
        self.mock_time = MockTime()
        self._time = self.mock_time
        self.logs: dict[TopicPartition, FakeLog] = {}
        self.groups: dict[str, FakeGroup] = {}
        self.asked: list[tuple[str, int]] = []
        # What FindCoordinator answers so many times before there is a coordinator
        self.not_yet = 0
        self.closed = False
        self._answers: dict[str, Callable[[Any, Node], Any]] = {
            "Metadata": self._metadata,
            "FindCoordinator": self._find_coordinator,
            "ListGroups": self._list_groups,
            "DescribeGroups": self._describe_groups,
            "OffsetFetch": self._offset_fetch,
            "OffsetCommit": self._offset_commit,
            "OffsetDelete": self._offset_delete,
            "DeleteGroups": self._delete_groups,
            "ListOffsets": self._list_offsets,
        }

    def close(self) -> None:
        if not self.closed:
            super().close()
        self.closed = True

    def topic(self, name: str, partitions: int = 1, records: int = 0, timestamp: int = 0) -> list[TopicPartition]:
        found = [TopicPartition(name, partition) for partition in range(partitions)]
        self.logs.update({tp: FakeLog(0, [timestamp] * records) for tp in found})
        return found

    def send(self, node: Node, request: Any) -> Any:
        name = request.api_key().name
        self.asked.append((name, node.id))
        return self._answers[name](request.build(), node)

    def _metadata(self, request: Any, node: Node) -> MetadataResponse:
        by_topic: dict[str, list[Any]] = {}
        for tp in self.logs:
            leader = NODES[tp.partition % 2]
            entry = MetadataResponse.PartitionMetadata(Errors.NONE, tp.partition, leader, NODES, NODES, [])
            by_topic.setdefault(tp.topic, []).append(entry)
        wanted = by_topic if request.topics is None else request.topics
        none = Errors.UNKNOWN_TOPIC_OR_PARTITION
        topics = [
            MetadataResponse.TopicMetadata(Errors.NONE if t in by_topic else none, t, False, by_topic.get(t, []))
            for t in wanted
        ]
        return MetadataResponse(NODES, "cluster", 0, topics)

    def _find_coordinator(self, request: Any, node: Node) -> FindCoordinatorResponse:
        if self.not_yet:
            self.not_yet -= 1
            return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE, Node.no_node())
        return FindCoordinatorResponse(Errors.NONE, NODES[1])

    def _list_groups(self, request: Any, node: Node) -> ListGroupsResponse:
        groups = self.groups.items() if node.id == 1 else ()
        entries = [ListGroupsResponse.Group(group_id=g, protocol_type=group.protocol_type) for g, group in groups]
        return ListGroupsResponse(error_code=0, groups=entries)

    def _describe_groups(self, request: Any, node: Node) -> DescribeGroupsResponse:
        made = DescribeGroupsResponse.Group
        entries = []
        for group_id in request.group_ids:
            group = self.groups.get(group_id, FakeGroup("Dead"))
            members = [
                made.Member(
                    member_id=f"{name}-id",
                    client_id=name,
                    client_host="/127.0.0.1",
                    member_metadata=b"",
                    member_assignment=assignment(partitions) if group.state == "Stable" else b"",
                )
                for name, partitions in group.members
            ]
            entries.append(
                made(
                    error_code=0,
                    group_id=group_id,
                    state=group.state,
                    protocol_type=group.protocol_type,
                    protocol=group.protocol,
                    members=members,
                )
            )
        return DescribeGroupsResponse(groups=entries)

    def _offset_fetch(self, request: Any, node: Node) -> OffsetFetchResponse:
        made = OffsetFetchResponse.Topic
        group = self.groups.get(request.group_id, FakeGroup())
        topics = [
            made(
                topic=topic,
                partition_responses=[made.Partition(partition=p, offset=o, error_code=0) for p, o in of_it.items()],
            )
            for topic, of_it in group_data_by_topic(group.offsets).items()
        ]
        return OffsetFetchResponse(responses=topics)

    def _offset_commit(self, request: Any, node: Node) -> OffsetCommitResponse:
        group = self.groups.setdefault(request.group_id, FakeGroup(protocol_type=""))
        error = Errors.UNKNOWN_MEMBER_ID if group.members else Errors.NONE
        made = OffsetCommitResponse.Topic
        topics = []
        for topic in request.topics:
            entries = [made.Partition(partition=p.partition, error_code=error.code) for p in topic.partitions]
            topics.append(made(topic=topic.topic, partition_responses=entries))
            if error is Errors.NONE:
                group.offsets.update({TopicPartition(topic.topic, p.partition): p.offset for p in topic.partitions})
        return OffsetCommitResponse(responses=topics)

    def _offset_delete(self, request: Any, node: Node) -> OffsetDeleteResponse:
        if request.group_id not in self.groups:
            return OffsetDeleteResponse(error_code=Errors.GROUP_ID_NOT_FOUND.code, topics=[])
        group = self.groups[request.group_id]
        subscribed = {tp.topic for _, partitions in group.members for tp in partitions}
        made = OffsetDeleteResponse.Topic
        topics = []
        for topic in request.topics:
            entries = []
            for index in (p.partition_index for p in topic.partitions):
                tp, error = TopicPartition(topic.name, index), Errors.NONE
                if tp not in self.logs:
                    error = Errors.UNKNOWN_TOPIC_OR_PARTITION
                elif tp.topic in subscribed:
                    error = Errors.GROUP_SUBSCRIBED_TO_TOPIC
                else:
                    group.offsets.pop(tp, None)
                entries.append(made.Partition(partition_index=index, error_code=error.code))
            topics.append(made(name=topic.name, partitions=entries))
        return OffsetDeleteResponse(error_code=0, topics=topics)

    def _delete_groups(self, request: Any, node: Node) -> DeleteGroupsResponse:
        entries = []
        for group_id in request.groups:
            error = Errors.NONE
            if group_id == "":
                error = Errors.INVALID_GROUP_ID
            elif group_id not in self.groups:
                error = Errors.GROUP_ID_NOT_FOUND
            elif self.groups[group_id].members:
                error = Errors.NON_EMPTY_GROUP
            else:
                del self.groups[group_id]
            entries.append(DeleteGroupsResponse.GroupError(group_id=group_id, error_code=error.code))
        return DeleteGroupsResponse(group_error_codes=entries)

    def _list_offsets(self, request: Any, node: Node) -> ListOffsetResponse:
        answers = {}
        for tp, timestamp in request.partition_timestamps().items():
            assert tp.partition % 2 == node.id, "asked of its leader"
            answers[tp] = ListOffsetResponse.PartitionData(Errors.NONE, 0, self.logs[tp].offset_for(timestamp))
        return ListOffsetResponse(0, answers)
