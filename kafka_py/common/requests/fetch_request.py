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
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import LONGEST_REPLACEABLE, Parts
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.fetch_metadata import FetchMetadata
from kafka_py.common.requests.fetch_request_data import FetchRequestData
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.topic_partition import TopicPartition

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
        self._isolation_level = IsolationLevel.READ_UNCOMMITTED  # thread: its maker
        self._max_bytes = _MAX_INT  # thread: its maker
        self._metadata = FetchMetadata.LEGACY  # thread: its maker
        self._to_forget: list[TopicPartition] = []  # thread: its maker
        self._rack_id = ""  # thread: its maker

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
    LATEST: ClassVar[int] = ApiKeys.FETCH.latest_version()
    FLEXIBLE: ClassVar[int] = FetchRequestData.FLEXIBLE
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
        self._version = version  # thread: its maker
        self._replica_id = replica_id  # thread: its maker
        self._max_wait = max_wait  # thread: its maker
        self._min_bytes = min_bytes  # thread: its maker
        self._max_bytes = max_bytes  # thread: its maker
        self._fetch_data = fetch_data  # thread: its maker
        self._isolation_level = isolation_level  # thread: its maker
        self._to_forget = to_forget if to_forget is not None else []  # thread: its maker
        self._metadata = metadata  # thread: its maker
        self._rack_id = rack_id  # thread: its maker

    @staticmethod
    def schema(version: int) -> Schema:
        """The layout at a version that is declared."""
        return FetchRequestData.schema(version)

    @classmethod
    def _from_data(cls, data: FetchRequestData, version: int) -> FetchRequest:
        fetch_data = {
            TopicPartition(topic.topic, p.partition): cls.PartitionData(
                p.fetch_offset, p.log_start_offset, p.max_bytes, p.current_leader_epoch
            )
            for topic in data.topics
            for p in topic.partitions
        }
        return cls(
            version,
            data.replica_id,
            data.max_wait_time,
            data.min_bytes,
            data.max_bytes,
            fetch_data,
            IsolationLevel.for_id(data.isolation_level),
            [
                TopicPartition(topic.topic, partition)
                for topic in data.forgotten_topics
                for partition in topic.partitions
            ],
            FetchMetadata(data.session_id, data.epoch),
            data.rack_id,
        )

    @classmethod
    def parse(cls, buffer: Any, version: int) -> FetchRequest:
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        try:
            return cls._parse_flat(view, version)
        except (struct.error, SchemaException):
            # Let the schema say what is wrong with the bytes.
            return cls._from_data(FetchRequestData.read(view, version)[0], version)

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

    def _data(self) -> FetchRequestData:
        topic_class = FetchRequestData.Topic
        topics = [
            topic_class(
                topic=topic,
                partitions=[
                    topic_class.Partition(
                        partition=partition,
                        current_leader_epoch=data.current_leader_epoch,
                        fetch_offset=data.fetch_offset,
                        log_start_offset=data.log_start_offset,
                        max_bytes=data.max_bytes,
                    )
                    for partition, data in partitions
                ],
            )
            for topic, partitions in batch_by_topic(self._fetch_data.items())
        ]
        forgotten: dict[str, list[int]] = {}
        for name, number in self._to_forget:
            forgotten.setdefault(name, []).append(number)
        return FetchRequestData(
            replica_id=self._replica_id,
            max_wait_time=self._max_wait,
            min_bytes=self._min_bytes,
            max_bytes=self._max_bytes,
            isolation_level=self._isolation_level.id,
            session_id=self._metadata.session_id(),
            epoch=self._metadata.epoch(),
            topics=topics,
            forgotten_topics=[
                FetchRequestData.ForgottenTopic(topic=name, partitions=numbers) for name, numbers in forgotten.items()
            ],
            rack_id=self._rack_id,
        )

    def to_struct(self) -> Struct:
        return self._data().struct_at(self._version)

    def to_parts(self) -> Parts:
        out: Parts = []
        self._data().write(out, self._version)
        return out

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
