"""Which offset does a timestamp have.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListOffsetRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from kafka_py.common.errors import RuntimeException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT8, INT32, INT64
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.collection_utils import group_data_by_topic

REPLICA_ID_KEY_NAME = "replica_id"
ISOLATION_LEVEL_KEY_NAME = "isolation_level"
TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
TIMESTAMP_KEY_NAME = "timestamp"
MAX_NUM_OFFSETS_KEY_NAME = "max_num_offsets"

LIST_OFFSET_REQUEST_PARTITION_V0 = Schema(
    PARTITION_ID,
    Field(TIMESTAMP_KEY_NAME, INT64, "The timestamp to look for; -1 the end, -2 the start"),
    Field(MAX_NUM_OFFSETS_KEY_NAME, INT32, "How many offsets to answer at most"),
)

LIST_OFFSET_REQUEST_PARTITION_V1 = Schema(
    PARTITION_ID, Field(TIMESTAMP_KEY_NAME, INT64, "The timestamp to look for; -1 the end, -2 the start")
)

LIST_OFFSET_REQUEST_TOPIC_V0 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(LIST_OFFSET_REQUEST_PARTITION_V0), "The partitions")
)

LIST_OFFSET_REQUEST_TOPIC_V1 = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(LIST_OFFSET_REQUEST_PARTITION_V1), "The partitions")
)

LIST_OFFSET_REQUEST_V0 = Schema(
    Field(REPLICA_ID_KEY_NAME, INT32, "The asking broker's id, -1 for consumers"),
    Field(TOPICS_KEY_NAME, ArrayOf(LIST_OFFSET_REQUEST_TOPIC_V0), "The topics"),
)

LIST_OFFSET_REQUEST_V1 = Schema(
    Field(REPLICA_ID_KEY_NAME, INT32, "The asking broker's id, -1 for consumers"),
    Field(TOPICS_KEY_NAME, ArrayOf(LIST_OFFSET_REQUEST_TOPIC_V1), "The topics"),
)

LIST_OFFSET_REQUEST_V2 = Schema(
    Field(REPLICA_ID_KEY_NAME, INT32, "The asking broker's id, -1 for consumers"),
    Field(ISOLATION_LEVEL_KEY_NAME, INT8, "0 up to the high watermark, 1 to the last stable offset"),
    Field(TOPICS_KEY_NAME, ArrayOf(LIST_OFFSET_REQUEST_TOPIC_V1), "The topics"),
)


class ListOffsetRequest(AbstractRequest):
    """Timestamps by partition; -1 asks for the end, -2 for the start.

    Mirrors: org.apache.kafka.common.requests.ListOffsetRequest
    """

    __slots__ = ("_duplicate_partitions", "_isolation_level", "_offset_data", "_partition_timestamps", "_replica_id")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LIST_OFFSETS
    EARLIEST_TIMESTAMP: ClassVar[int] = -2
    LATEST_TIMESTAMP: ClassVar[int] = -1
    CONSUMER_REPLICA_ID: ClassVar[int] = -1
    DEBUGGING_REPLICA_ID: ClassVar[int] = -2

    class PartitionData(NamedTuple):
        """What version 0 asks of a partition: up to so many segment starts before a time.

        Mirrors: org.apache.kafka.common.requests.ListOffsetRequest.PartitionData
        """

        timestamp: int
        max_num_offsets: int

        def __str__(self) -> str:
            return f"{{timestamp: {self.timestamp}, maxNumOffsets: {self.max_num_offsets}}}"

    class Builder(AbstractRequest.Builder):
        """Knows which version a question needs.

        Mirrors: org.apache.kafka.common.requests.ListOffsetRequest.Builder
        """

        def __init__(
            self,
            oldest_allowed_version: int,
            latest_allowed_version: int,
            replica_id: int,
            isolation_level: IsolationLevel,
        ) -> None:
            super().__init__(ApiKeys.LIST_OFFSETS, oldest_allowed_version, latest_allowed_version)
            self._replica_id = replica_id
            self._isolation_level = isolation_level
            self._offset_data: dict[TopicPartition, ListOffsetRequest.PartitionData] | None = None
            self._partition_timestamps: dict[TopicPartition, int] | None = None

        @staticmethod
        def for_replica(allowed_version: int, replica_id: int) -> ListOffsetRequest.Builder:
            """A follower's question, at any version up to the given one."""
            return ListOffsetRequest.Builder(0, allowed_version, replica_id, IsolationLevel.READ_UNCOMMITTED)

        @staticmethod
        def for_consumer(require_timestamp: bool, isolation_level: IsolationLevel) -> ListOffsetRequest.Builder:
            """A consumer's question."""
            min_version = 1 if require_timestamp else 0
            if isolation_level is IsolationLevel.READ_COMMITTED:
                min_version = 2
            return ListOffsetRequest.Builder(
                min_version,
                ApiKeys.LIST_OFFSETS.latest_version(),
                ListOffsetRequest.CONSUMER_REPLICA_ID,
                isolation_level,
            )

        def set_offset_data(
            self, offset_data: dict[TopicPartition, ListOffsetRequest.PartitionData]
        ) -> ListOffsetRequest.Builder:
            """What to ask in version 0."""
            self._offset_data = offset_data
            return self

        def set_target_times(self, partition_timestamps: dict[TopicPartition, int]) -> ListOffsetRequest.Builder:
            """What to ask from version 1 on."""
            self._partition_timestamps = partition_timestamps
            return self

        def build(self, version: int | None = None) -> ListOffsetRequest:
            version = self._version_or_latest(version)
            timestamps = self._partition_timestamps
            if version == 0:
                offset_data = self._offset_data
                if offset_data is None:
                    if timestamps is None:
                        raise RuntimeException(
                            "Must set partitionTimestamps or offsetData when creating a v0 ListOffsetRequest"
                        )
                    offset_data = {tp: ListOffsetRequest.PartitionData(t, 1) for tp, t in timestamps.items()}
                return ListOffsetRequest(version, self._replica_id, offset_data, {}, self._isolation_level)
            if self._offset_data is not None:
                raise RuntimeException(f"Cannot create a v{version} ListOffsetRequest with v0 PartitionData.")
            if timestamps is None:
                raise RuntimeException(f"Must set partitionTimestamps when creating a v{version} ListOffsetRequest")
            return ListOffsetRequest(version, self._replica_id, {}, timestamps, self._isolation_level)

        def __str__(self) -> str:
            data = "" if self._offset_data is None else f", offsetData={self._offset_data}"
            times = "" if self._partition_timestamps is None else f", partitionTimestamps={self._partition_timestamps}"
            return (
                f"(type=ListOffsetRequest, replicaId={self._replica_id}{data}{times}, "
                f"isolationLevel={self._isolation_level})"
            )

    def __init__(
        self,
        version: int,
        replica_id: int,
        offset_data: dict[TopicPartition, PartitionData],
        partition_timestamps: dict[TopicPartition, int],
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        duplicate_partitions: set[TopicPartition] | None = None,
    ) -> None:
        super().__init__(version)
        self._replica_id = replica_id
        self._offset_data = offset_data
        self._partition_timestamps = partition_timestamps
        self._isolation_level = isolation_level
        self._duplicate_partitions = duplicate_partitions or set()

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LIST_OFFSET_REQUEST_V0, LIST_OFFSET_REQUEST_V1, LIST_OFFSET_REQUEST_V2]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> ListOffsetRequest:
        offset_data: dict[TopicPartition, ListOffsetRequest.PartitionData] = {}
        partition_timestamps: dict[TopicPartition, int] = {}
        duplicate_partitions = set()
        for topic in struct.get(TOPICS_KEY_NAME):
            name = topic.get(TOPIC_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME):
                tp = TopicPartition(name, partition.get(PARTITION_ID))
                timestamp = partition.get(TIMESTAMP_KEY_NAME)
                if partition.has_field(MAX_NUM_OFFSETS_KEY_NAME):
                    offset_data[tp] = cls.PartitionData(timestamp, partition.get(MAX_NUM_OFFSETS_KEY_NAME))
                else:
                    if tp in partition_timestamps:
                        duplicate_partitions.add(tp)
                    partition_timestamps[tp] = timestamp
        return cls(
            version,
            struct.get(REPLICA_ID_KEY_NAME),
            offset_data,
            partition_timestamps,
            IsolationLevel.for_id(struct.get_or_else(ISOLATION_LEVEL_KEY_NAME, 0)),
            duplicate_partitions,
        )

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.LIST_OFFSETS.request_schema(self._version))
        result.set(REPLICA_ID_KEY_NAME, self._replica_id)
        result.set_if_exists(ISOLATION_LEVEL_KEY_NAME, self._isolation_level.id)
        targets: dict[TopicPartition, Any] = dict(
            self._offset_data if self._version == 0 else self._partition_timestamps
        )
        topics = []
        for topic, partitions in group_data_by_topic(targets).items():
            entry = result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
            parts = []
            for partition, target in partitions.items():
                part = entry.instance(PARTITIONS_KEY_NAME).set(PARTITION_ID, partition)
                if self._version == 0:
                    part.set(TIMESTAMP_KEY_NAME, target.timestamp).set(MAX_NUM_OFFSETS_KEY_NAME, target.max_num_offsets)
                else:
                    part.set(TIMESTAMP_KEY_NAME, target)
                parts.append(part)
            topics.append(entry.set(PARTITIONS_KEY_NAME, parts))
        return result.set(TOPICS_KEY_NAME, topics)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ListOffsetResponse:
        error = Errors.for_exception(e)
        data = ListOffsetResponse.PartitionData
        response_data = (
            dict.fromkeys(self._offset_data, data(error, offsets=[]))
            if self._version == 0
            else dict.fromkeys(self._partition_timestamps, data(error, -1, -1))
        )
        return ListOffsetResponse(throttle_time_ms, response_data)

    def replica_id(self) -> int:
        """The asking broker's id, -1 for consumers, -2 for debugging tools."""
        return self._replica_id

    def isolation_level(self) -> IsolationLevel:
        """Whether the end is the high watermark or the last stable offset."""
        return self._isolation_level

    def offset_data(self) -> dict[TopicPartition, PartitionData]:
        """The questions of version 0."""
        return self._offset_data

    def partition_timestamps(self) -> dict[TopicPartition, int]:
        """The questions from version 1 on."""
        return self._partition_timestamps

    def duplicate_partitions(self) -> set[TopicPartition]:
        """Partitions that the request names more than once."""
        return self._duplicate_partitions
