"""Read from these partitions.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FetchRequest.java @ 1.1.1 (versions 8 to 11 as in 2.3)
Read next: fetch_response.py; server/fetch_session.py
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import CURRENT_LEADER_EPOCH, PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT8, INT32, INT64, LONGEST_REPLACEABLE, STRING
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.fetch_metadata import FetchMetadata
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition

REPLICA_ID_KEY_NAME = "replica_id"
MAX_WAIT_KEY_NAME = "max_wait_time"
MIN_BYTES_KEY_NAME = "min_bytes"
ISOLATION_LEVEL_KEY_NAME = "isolation_level"
TOPICS_KEY_NAME = "topics"
FORGOTTEN_TOPICS_DATA = "forgetten_topics_data"
RACK_ID_KEY_NAME = "rack_id"
MAX_BYTES_KEY_NAME = "max_bytes"
PARTITIONS_KEY_NAME = "partitions"
FETCH_OFFSET_KEY_NAME = "fetch_offset"
LOG_START_OFFSET_KEY_NAME = "log_start_offset"

_FETCH_OFFSET_FIELD = Field(FETCH_OFFSET_KEY_NAME, INT64, "The first offset to read")
_LOG_START_OFFSET_FIELD = Field(
    LOG_START_OFFSET_KEY_NAME, INT64, "A follower's own log start offset, -1 from consumers"
)
_PARTITION_MAX_BYTES_FIELD = Field(MAX_BYTES_KEY_NAME, INT32, "How many bytes to read at most")

FETCH_REQUEST_PARTITION_V0 = Schema(PARTITION_ID, _FETCH_OFFSET_FIELD, _PARTITION_MAX_BYTES_FIELD)
# Version 5 tells the leader the follower's log start offset, so that DeleteRecords knows when all have moved on.
FETCH_REQUEST_PARTITION_V5 = Schema(
    PARTITION_ID, _FETCH_OFFSET_FIELD, _LOG_START_OFFSET_FIELD, _PARTITION_MAX_BYTES_FIELD
)
# Version 9 lets the leader refuse a reader whose leader epoch is not its own (KIP-320).
FETCH_REQUEST_PARTITION_V9 = Schema(
    PARTITION_ID, CURRENT_LEADER_EPOCH, _FETCH_OFFSET_FIELD, _LOG_START_OFFSET_FIELD, _PARTITION_MAX_BYTES_FIELD
)


def _topics(partition: Schema) -> Field:
    topic = Schema(TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(partition), "The partitions to read"))
    return Field(TOPICS_KEY_NAME, ArrayOf(topic), "The topics to read, in this order")


_REPLICA_ID_FIELD = Field(REPLICA_ID_KEY_NAME, INT32, "The follower's broker id, -1 for consumers")
_MAX_WAIT_FIELD = Field(MAX_WAIT_KEY_NAME, INT32, "How long to wait for the minimum, in ms")
_MIN_BYTES_FIELD = Field(MIN_BYTES_KEY_NAME, INT32, "How many bytes the answer should have at least")
_MAX_BYTES_FIELD = Field(
    MAX_BYTES_KEY_NAME, INT32, "How many bytes the answer may have; one batch is sent even if it is larger"
)
_ISOLATION_LEVEL_FIELD = Field(
    ISOLATION_LEVEL_KEY_NAME, INT8, "0 up to the high watermark, 1 to the last stable offset"
)
SESSION_ID = Field.Int32("session_id", "The fetch session's id")
EPOCH = Field.Int32("epoch", "The number of the request within the session")
FORGOTTEN_TOPIC_DATA = Schema(
    TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(INT32), "The partitions to take out of the session")
)
_FORGOTTEN_FIELD = Field(FORGOTTEN_TOPICS_DATA, ArrayOf(FORGOTTEN_TOPIC_DATA), "The topics to take out of the session")
_RACK_ID_FIELD = Field(RACK_ID_KEY_NAME, STRING, "The consumer's rack")

_LIMITS_V0 = (_REPLICA_ID_FIELD, _MAX_WAIT_FIELD, _MIN_BYTES_FIELD)
_LIMITS_V3 = (*_LIMITS_V0, _MAX_BYTES_FIELD)
_LIMITS_V4 = (*_LIMITS_V3, _ISOLATION_LEVEL_FIELD)

FETCH_REQUEST_V0 = Schema(*_LIMITS_V0, _topics(FETCH_REQUEST_PARTITION_V0))
# The response of version 1 has a throttle time, that of version 2 may hold message format 1.
FETCH_REQUEST_V1 = FETCH_REQUEST_V0
FETCH_REQUEST_V2 = FETCH_REQUEST_V1
FETCH_REQUEST_V3 = Schema(*_LIMITS_V3, _topics(FETCH_REQUEST_PARTITION_V0))
# From version 4 on the response may hold message format 2.
FETCH_REQUEST_V4 = Schema(*_LIMITS_V4, _topics(FETCH_REQUEST_PARTITION_V0))
FETCH_REQUEST_V5 = Schema(*_LIMITS_V4, _topics(FETCH_REQUEST_PARTITION_V5))
# From version 6 on a client knows KAFKA_STORAGE_ERROR.
FETCH_REQUEST_V6 = FETCH_REQUEST_V5
FETCH_REQUEST_V7 = Schema(*_LIMITS_V4, SESSION_ID, EPOCH, _topics(FETCH_REQUEST_PARTITION_V5), _FORGOTTEN_FIELD)
# From version 8 on the client waits for the throttle time itself.
FETCH_REQUEST_V8 = FETCH_REQUEST_V7
FETCH_REQUEST_V9 = Schema(*_LIMITS_V4, SESSION_ID, EPOCH, _topics(FETCH_REQUEST_PARTITION_V9), _FORGOTTEN_FIELD)
# From version 10 on batches may use zstd.
FETCH_REQUEST_V10 = FETCH_REQUEST_V9
FETCH_REQUEST_V11 = Schema(
    *_LIMITS_V4, SESSION_ID, EPOCH, _topics(FETCH_REQUEST_PARTITION_V9), _FORGOTTEN_FIELD, _RACK_ID_FIELD
)

_SHORT = struct.Struct(">h").unpack_from
_INT = struct.Struct(">i").unpack_from
_START_V0 = struct.Struct(">iiii").unpack_from  # replica id, max wait, min bytes, number of topics
_START_V3 = struct.Struct(">iiiii").unpack_from  # with max bytes
_START_V4 = struct.Struct(">iiiibi").unpack_from  # with isolation level
_START_V7 = struct.Struct(">iiiibiii").unpack_from  # with session id and epoch
_PARTITION_V0 = struct.Struct(">iqi").unpack_from
_PARTITION_V5 = struct.Struct(">iqqi").unpack_from
_PARTITION_V9 = struct.Struct(">iiqqi").unpack_from
_new_tuple = tuple.__new__
_MAX_INT = 0x7FFFFFFF


class PartitionData(NamedTuple):
    """Where to read in a partition, and how much.

    Mirrors: org.apache.kafka.common.requests.FetchRequest.PartitionData
    """

    fetch_offset: int
    log_start_offset: int
    max_bytes: int
    current_leader_epoch: int = -1

    def __str__(self) -> str:
        return f"(offset={self.fetch_offset}, logStartOffset={self.log_start_offset}, maxBytes={self.max_bytes})"

    def __repr__(self) -> str:
        return str(self)


class Builder(AbstractRequest.Builder):
    """Collects the settings that have defaults.

    Mirrors: org.apache.kafka.common.requests.FetchRequest.Builder
    """

    def __init__(
        self,
        min_version: int,
        max_version: int,
        replica_id: int,
        max_wait: int,
        min_bytes: int,
        fetch_data: Mapping[TopicPartition, FetchRequest.PartitionData],
    ) -> None:
        super().__init__(ApiKeys.FETCH, min_version, max_version)
        self._replica_id = replica_id
        self._max_wait = max_wait
        self._min_bytes = min_bytes
        self._fetch_data = fetch_data
        self._isolation_level = IsolationLevel.READ_UNCOMMITTED
        self._max_bytes = _MAX_INT
        self._metadata = FetchMetadata.LEGACY
        self._to_forget: list[TopicPartition] = []
        self._rack_id = ""

    @staticmethod
    def for_consumer(
        max_wait: int, min_bytes: int, fetch_data: Mapping[TopicPartition, FetchRequest.PartitionData]
    ) -> FetchRequest.Builder:
        """A consumer's fetch, at any version."""
        key = ApiKeys.FETCH
        return FetchRequest.Builder(key.oldest_version(), key.latest_version(), -1, max_wait, min_bytes, fetch_data)

    @staticmethod
    def for_replica(
        allowed_version: int,
        replica_id: int,
        max_wait: int,
        min_bytes: int,
        fetch_data: Mapping[TopicPartition, FetchRequest.PartitionData],
    ) -> FetchRequest.Builder:
        """A follower's fetch, at the version that the inter-broker protocol says."""
        return FetchRequest.Builder(allowed_version, allowed_version, replica_id, max_wait, min_bytes, fetch_data)

    def isolation_level(self, isolation_level: IsolationLevel) -> FetchRequest.Builder:
        """How much of open transactions to see; READ_UNCOMMITTED by default."""
        self._isolation_level = isolation_level
        return self

    def metadata(self, metadata: FetchMetadata) -> FetchRequest.Builder:
        """The session; none by default."""
        self._metadata = metadata
        return self

    def fetch_data(self) -> Mapping[TopicPartition, FetchRequest.PartitionData]:
        """What to read."""
        return self._fetch_data

    def set_max_bytes(self, max_bytes: int) -> FetchRequest.Builder:
        """How many bytes the answer may have; not limited by default."""
        self._max_bytes = max_bytes
        return self

    def to_forget(self, to_forget: list[TopicPartition] | None = None) -> Any:
        """The partitions to take out of the session; with an argument sets them and returns the builder."""
        if to_forget is None:
            return self._to_forget
        self._to_forget = to_forget
        return self

    def rack_id(self, rack_id: str) -> FetchRequest.Builder:
        """The consumer's rack."""
        self._rack_id = rack_id
        return self

    def build(self, version: int | None = None) -> FetchRequest:
        version = self._version_or_latest(version)
        if version < 3:
            self._max_bytes = _MAX_INT
        return FetchRequest(
            version,
            self._replica_id,
            self._max_wait,
            self._min_bytes,
            self._max_bytes,
            dict(self._fetch_data),
            self._isolation_level,
            self._to_forget,
            self._metadata,
            self._rack_id,
        )

    def __str__(self) -> str:
        return (
            f"(type=FetchRequest, replicaId={self._replica_id}, maxWait={self._max_wait}, "
            f"minBytes={self._min_bytes}, maxBytes={self._max_bytes}, fetchData={self._fetch_data}, "
            f"isolationLevel={self._isolation_level}, toForget={', '.join(map(str, self._to_forget))}, "
            f"metadata={self._metadata})"
        )


_PartitionData = PartitionData
_Builder = Builder


class FetchRequest(AbstractRequest):
    """Offsets to read from by partition, limits of the answer, and the fetch session it belongs to.

    Mirrors: org.apache.kafka.common.requests.FetchRequest
    Differs: read straight from the bytes; the schema serves writers and tests.
    """

    __slots__ = ("_fetch_data", "_isolation_level", "_max_bytes", "_max_wait", "_metadata", "_min_bytes", "_rack_id",
                 "_replica_id", "_to_forget")  # fmt: skip

    API_KEY: ClassVar[ApiKeys] = ApiKeys.FETCH
    CONSUMER_REPLICA_ID: ClassVar[int] = -1
    DEFAULT_RESPONSE_MAX_BYTES: ClassVar[int] = _MAX_INT
    INVALID_LOG_START_OFFSET: ClassVar[int] = -1

    PartitionData: TypeAlias = _PartitionData

    Builder: TypeAlias = _Builder

    def __init__(
        self,
        version: int,
        replica_id: int,
        max_wait: int,
        min_bytes: int,
        max_bytes: int,
        fetch_data: dict[TopicPartition, FetchRequest.PartitionData],
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        to_forget: list[TopicPartition] | None = None,
        metadata: FetchMetadata = FetchMetadata.LEGACY,
        rack_id: str = "",
    ) -> None:
        self._version = version
        self._replica_id = replica_id
        self._max_wait = max_wait
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._fetch_data = fetch_data
        self._isolation_level = isolation_level
        self._to_forget = to_forget if to_forget is not None else []
        self._metadata = metadata
        self._rack_id = rack_id

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            FETCH_REQUEST_V0,
            FETCH_REQUEST_V1,
            FETCH_REQUEST_V2,
            FETCH_REQUEST_V3,
            FETCH_REQUEST_V4,
            FETCH_REQUEST_V5,
            FETCH_REQUEST_V6,
            FETCH_REQUEST_V7,
            FETCH_REQUEST_V8,
            FETCH_REQUEST_V9,
            FETCH_REQUEST_V10,
            FETCH_REQUEST_V11,
        ]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> FetchRequest:
        fetch_data = {}
        for topic in struct.get(TOPICS_KEY_NAME):
            name = topic.get(TOPIC_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME):
                fetch_data[TopicPartition(name, partition.get(PARTITION_ID))] = cls.PartitionData(
                    partition.get(FETCH_OFFSET_KEY_NAME),
                    partition.get_or_else(LOG_START_OFFSET_KEY_NAME, cls.INVALID_LOG_START_OFFSET),
                    partition.get(MAX_BYTES_KEY_NAME),
                    partition.get_or_else(CURRENT_LEADER_EPOCH, -1),
                )
        return cls(
            version,
            struct.get(REPLICA_ID_KEY_NAME),
            struct.get(MAX_WAIT_KEY_NAME),
            struct.get(MIN_BYTES_KEY_NAME),
            struct.get_or_else(MAX_BYTES_KEY_NAME, cls.DEFAULT_RESPONSE_MAX_BYTES),
            fetch_data,
            IsolationLevel.for_id(struct.get_or_else(ISOLATION_LEVEL_KEY_NAME, 0)),
            [
                TopicPartition(forgotten.get(TOPIC_NAME), partition)
                for forgotten in struct.get_or_else(FORGOTTEN_TOPICS_DATA, ())
                for partition in forgotten.get(PARTITIONS_KEY_NAME)
            ],
            FetchMetadata(
                struct.get_or_else(SESSION_ID, FetchMetadata.INVALID_SESSION_ID),
                struct.get_or_else(EPOCH, FetchMetadata.FINAL_EPOCH),
            ),
            struct.get_or_else(RACK_ID_KEY_NAME, ""),
        )

    @classmethod
    def parse(cls, buffer: Any, version: int) -> FetchRequest:
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        try:
            return cls._parse_flat(view, version)
        except (struct.error, SchemaException):
            # Let the schema say what is wrong with the bytes.
            return cls.from_struct(ApiKeys.FETCH.parse_request(version, view), version)

    @classmethod
    def _parse_flat(cls, b: memoryview, version: int) -> FetchRequest:
        self = _new_request(cls)
        self._version = version
        self._max_bytes = _MAX_INT
        level = 0
        self._metadata = FetchMetadata.LEGACY
        if version >= 7:
            self._replica_id, self._max_wait, self._min_bytes, self._max_bytes, level, session_id, epoch, topics = (
                _START_V7(b, 0)
            )
            p = 29
            if session_id or epoch != -1:
                self._metadata = FetchMetadata(session_id, epoch)
        elif version >= 4:
            self._replica_id, self._max_wait, self._min_bytes, self._max_bytes, level, topics = _START_V4(b, 0)
            p = 21
        elif version == 3:
            self._replica_id, self._max_wait, self._min_bytes, self._max_bytes, topics = _START_V3(b, 0)
            p = 20
        else:
            self._replica_id, self._max_wait, self._min_bytes, topics = _START_V0(b, 0)
            p = 16
        if topics < 0 or not 0 <= version <= 11:
            raise SchemaException("topics")
        self._isolation_level = IsolationLevel.for_id(level) if level else IsolationLevel.READ_UNCOMMITTED
        self._fetch_data = {}
        p = _read_topics(b, p, topics, version, self._fetch_data)
        self._to_forget = []
        self._rack_id = ""
        if version >= 7:
            p = _read_forgotten(b, p, self._to_forget)
        if version >= 11:
            self._rack_id = _read_string(b, p)[0]
        return self

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.FETCH.request_schema(self._version))
        result.set(REPLICA_ID_KEY_NAME, self._replica_id)
        result.set(MAX_WAIT_KEY_NAME, self._max_wait)
        result.set(MIN_BYTES_KEY_NAME, self._min_bytes)
        result.set_if_exists(MAX_BYTES_KEY_NAME, self._max_bytes)
        result.set_if_exists(ISOLATION_LEVEL_KEY_NAME, self._isolation_level.id)
        result.set_if_exists(SESSION_ID, self._metadata.session_id())
        result.set_if_exists(EPOCH, self._metadata.epoch())
        result.set_if_exists(RACK_ID_KEY_NAME, self._rack_id)
        topics = []
        for topic, partitions in batch_by_topic(self._fetch_data.items()):
            entry = result.instance(TOPICS_KEY_NAME).set(TOPIC_NAME, topic)
            parts = []
            for partition, data in partitions:
                part = entry.instance(PARTITIONS_KEY_NAME)
                part.set(PARTITION_ID, partition)
                part.set(FETCH_OFFSET_KEY_NAME, data.fetch_offset)
                part.set(MAX_BYTES_KEY_NAME, data.max_bytes)
                part.set_if_exists(LOG_START_OFFSET_KEY_NAME, data.log_start_offset)
                part.set_if_exists(CURRENT_LEADER_EPOCH, data.current_leader_epoch)
                parts.append(part)
            topics.append(entry.set(PARTITIONS_KEY_NAME, parts))
        result.set(TOPICS_KEY_NAME, topics)
        if result.has_field(FORGOTTEN_TOPICS_DATA):
            forgotten: dict[str, list[int]] = {}
            for topic, partition in self._to_forget:
                forgotten.setdefault(topic, []).append(partition)
            result.set(
                FORGOTTEN_TOPICS_DATA,
                [
                    result.instance(FORGOTTEN_TOPICS_DATA).set(TOPIC_NAME, topic).set(PARTITIONS_KEY_NAME, numbers)
                    for topic, numbers in forgotten.items()
                ],
            )
        return result

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> FetchResponse:
        """The error for every partition that the request names, and for the whole."""
        error = Errors.for_exception(e)
        data = FetchResponse.PartitionData(error, -1, -1, -1, None, MemoryRecords.EMPTY)
        return FetchResponse(
            error, dict.fromkeys(self._fetch_data, data), throttle_time_ms, self._metadata.session_id()
        )

    def replica_id(self) -> int:
        """The follower's broker id; -1 for consumers, -2 for debugging tools."""
        return self._replica_id

    def max_wait(self) -> int:
        """How long to wait for the minimum, in ms."""
        return self._max_wait

    def min_bytes(self) -> int:
        """How many bytes the answer should have at least."""
        return self._min_bytes

    def max_bytes(self) -> int:
        """How many bytes the answer may have, but for its first batch."""
        return self._max_bytes

    def fetch_data(self) -> dict[TopicPartition, PartitionData]:
        """What to read, in the order of the request."""
        return self._fetch_data

    def to_forget(self) -> list[TopicPartition]:
        """The partitions to take out of the session."""
        return self._to_forget

    def is_from_follower(self) -> bool:
        """Whether a broker asks."""
        return self._replica_id >= 0

    def isolation_level(self) -> IsolationLevel:
        """How much of open transactions to see."""
        return self._isolation_level

    def metadata(self) -> FetchMetadata:
        """Session and epoch."""
        return self._metadata

    def rack_id(self) -> str:
        """The consumer's rack, empty if it does not say."""
        return self._rack_id


# __init__ is for those who make a request, not for one that came in.
_new_request = FetchRequest.__new__


def _read_string(b: memoryview, p: int) -> tuple[str, int]:
    (n,) = _SHORT(b, p)
    p += 2
    q: int = p + n
    if not 0 <= n <= LONGEST_REPLACEABLE or q > len(b):
        raise SchemaException("string")
    return str(b[p:q], "utf-8", "replace"), q


def _read_topics(
    b: memoryview, p: int, topics: int, version: int, fetch_data: dict[TopicPartition, FetchRequest.PartitionData]
) -> int:
    """Read the partitions into ``fetch_data``; the position behind them."""
    partition_data = FetchRequest.PartitionData
    while topics:
        topics -= 1
        topic, p = _read_string(b, p)
        (partitions,) = _INT(b, p)
        p += 4
        if partitions < 0:
            raise SchemaException("partitions")
        while partitions:
            partitions -= 1
            epoch = log_start_offset = -1
            if version >= 9:
                partition, epoch, offset, log_start_offset, max_bytes = _PARTITION_V9(b, p)
                p += 28
            elif version >= 5:
                partition, offset, log_start_offset, max_bytes = _PARTITION_V5(b, p)
                p += 24
            else:
                partition, offset, max_bytes = _PARTITION_V0(b, p)
                p += 16
            fetch_data[_new_tuple(TopicPartition, (topic, partition))] = _new_tuple(
                partition_data, (offset, log_start_offset, max_bytes, epoch)
            )
    return p


def _read_forgotten(b: memoryview, p: int, to_forget: list[TopicPartition]) -> int:
    """Read the forgotten partitions into ``to_forget``; the position behind them."""
    (topics,) = _INT(b, p)
    p += 4
    if topics < 0:
        raise SchemaException("forgotten topics")
    while topics:
        topics -= 1
        topic, p = _read_string(b, p)
        (count,) = _INT(b, p)
        p += 4
        if not 0 <= count <= len(b) - p:
            raise SchemaException("forgotten partitions")
        numbers = struct.unpack_from(f">{count}i", b, p)
        p += 4 * count
        to_forget += [TopicPartition(topic, number) for number in numbers]
    return p


def batch_by_topic(entries: Iterable[tuple[TopicPartition, Any]]) -> list[tuple[str, list[tuple[int, Any]]]]:
    """Neighbours of one topic put together; a topic that comes back later is listed again, as its order counts.

    Mirrors FetchRequest.TopicAndPartitionData.batchByTopic.
    """
    topics: list[tuple[str, list[tuple[int, Any]]]] = []
    last = None
    for (topic, partition), data in entries:
        if topic != last:
            topics.append((topic, []))
            last = topic
        topics[-1][1].append((partition, data))
    return topics
