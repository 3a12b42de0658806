"""What was read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FetchResponse.java @ 1.1.1 (versions 8 to 11 as in 2.3)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, TypeAlias

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT64, RECORDS, Parts
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.topic_partition import TopicPartition

RESPONSES_KEY_NAME = "responses"
PARTITIONS_KEY_NAME = "partition_responses"
PARTITION_HEADER_KEY_NAME = "partition_header"
HIGH_WATERMARK_KEY_NAME = "high_watermark"
LAST_STABLE_OFFSET_KEY_NAME = "last_stable_offset"
LOG_START_OFFSET_KEY_NAME = "log_start_offset"
ABORTED_TRANSACTIONS_KEY_NAME = "aborted_transactions"
RECORD_SET_KEY_NAME = "record_set"
PRODUCER_ID_KEY_NAME = "producer_id"
FIRST_OFFSET_KEY_NAME = "first_offset"

_HIGH_WATERMARK_FIELD = Field(HIGH_WATERMARK_KEY_NAME, INT64, "The first offset that is not yet committed")
_LAST_STABLE_OFFSET_FIELD = Field(
    LAST_STABLE_OFFSET_KEY_NAME, INT64, "The first offset whose transaction is not yet decided"
)
_LOG_START_OFFSET_FIELD = Field(LOG_START_OFFSET_KEY_NAME, INT64, "The first offset of the log")
FETCH_RESPONSE_ABORTED_TRANSACTION_V4 = Schema(
    Field(PRODUCER_ID_KEY_NAME, INT64, "The producer id of an aborted transaction"),
    Field(FIRST_OFFSET_KEY_NAME, INT64, "Its first offset"),
)
_ABORTED_TRANSACTIONS_FIELD = Field(
    ABORTED_TRANSACTIONS_KEY_NAME, ArrayOf(FETCH_RESPONSE_ABORTED_TRANSACTION_V4, nullable=True)
)
PREFERRED_READ_REPLICA = Field.Int32("preferred_read_replica", "The replica to read from next, -1 for the leader")

FETCH_RESPONSE_PARTITION_HEADER_V0 = Schema(PARTITION_ID, ERROR_CODE, _HIGH_WATERMARK_FIELD)
FETCH_RESPONSE_PARTITION_HEADER_V4 = Schema(
    PARTITION_ID, ERROR_CODE, _HIGH_WATERMARK_FIELD, _LAST_STABLE_OFFSET_FIELD, _ABORTED_TRANSACTIONS_FIELD
)
FETCH_RESPONSE_PARTITION_HEADER_V5 = Schema(
    PARTITION_ID,
    ERROR_CODE,
    _HIGH_WATERMARK_FIELD,
    _LAST_STABLE_OFFSET_FIELD,
    _LOG_START_OFFSET_FIELD,
    _ABORTED_TRANSACTIONS_FIELD,
)
FETCH_RESPONSE_PARTITION_HEADER_V11 = Schema(
    PARTITION_ID,
    ERROR_CODE,
    _HIGH_WATERMARK_FIELD,
    _LAST_STABLE_OFFSET_FIELD,
    _LOG_START_OFFSET_FIELD,
    _ABORTED_TRANSACTIONS_FIELD,
    PREFERRED_READ_REPLICA,
)


def _responses(partition_header: Schema) -> Field:
    partition = Schema(Field(PARTITION_HEADER_KEY_NAME, partition_header), Field(RECORD_SET_KEY_NAME, RECORDS))
    topic = Schema(TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(partition)))
    return Field(RESPONSES_KEY_NAME, ArrayOf(topic))


SESSION_ID = Field.Int32("session_id", "The fetch session's id")

FETCH_RESPONSE_V0 = Schema(_responses(FETCH_RESPONSE_PARTITION_HEADER_V0))
FETCH_RESPONSE_V1 = Schema(THROTTLE_TIME_MS, _responses(FETCH_RESPONSE_PARTITION_HEADER_V0))
FETCH_RESPONSE_V2 = FETCH_RESPONSE_V1
FETCH_RESPONSE_V3 = FETCH_RESPONSE_V2
FETCH_RESPONSE_V4 = Schema(THROTTLE_TIME_MS, _responses(FETCH_RESPONSE_PARTITION_HEADER_V4))
FETCH_RESPONSE_V5 = Schema(THROTTLE_TIME_MS, _responses(FETCH_RESPONSE_PARTITION_HEADER_V5))
FETCH_RESPONSE_V6 = FETCH_RESPONSE_V5
FETCH_RESPONSE_V7 = Schema(THROTTLE_TIME_MS, ERROR_CODE, SESSION_ID, _responses(FETCH_RESPONSE_PARTITION_HEADER_V5))
FETCH_RESPONSE_V8 = FETCH_RESPONSE_V7
FETCH_RESPONSE_V9 = FETCH_RESPONSE_V8
FETCH_RESPONSE_V10 = FETCH_RESPONSE_V9
FETCH_RESPONSE_V11 = Schema(THROTTLE_TIME_MS, ERROR_CODE, SESSION_ID, _responses(FETCH_RESPONSE_PARTITION_HEADER_V11))

_INT = struct.Struct(">i").pack
_START_V1 = struct.Struct(">ii").pack  # throttle time, number of topics
_START_V7 = struct.Struct(">ihii").pack  # with error and session id
_SHORT = struct.Struct(">h").pack
_PARTITION_V0 = struct.Struct(">ihqi").pack  # up to the size of the record set
_PARTITION_V4 = struct.Struct(">ihqqi").pack  # up to the number of aborted transactions
_PARTITION_V5 = struct.Struct(">ihqqqi").pack
_PARTITION_V5_NO_ABORTED = struct.Struct(">ihqqqii").pack  # with the size of the record set
_PARTITION_V11_NO_ABORTED = struct.Struct(">ihqqqiii").pack  # with preferred replica and size of the record set


class AbortedTransaction(NamedTuple):
    """A transaction whose records a read_committed consumer must drop.

    Mirrors: org.apache.kafka.common.requests.FetchResponse.AbortedTransaction
    """

    producer_id: int
    first_offset: int

    def __str__(self) -> str:
        return f"(producerId={self.producer_id}, firstOffset={self.first_offset})"

    def __repr__(self) -> str:
        return str(self)


class PartitionData(NamedTuple):
    """What was read of one partition; ``records`` is any Records object.

    Mirrors: org.apache.kafka.common.requests.FetchResponse.PartitionData
    """

    error: Errors
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted_transactions: list[FetchResponse.AbortedTransaction] | None
    records: Any
    preferred_read_replica: int = -1

    def __str__(self) -> str:
        aborted = "null" if self.aborted_transactions is None else self.aborted_transactions
        return (
            f"(error={self.error}, highWaterMark={self.high_watermark}, "
            f"lastStableOffset = {self.last_stable_offset}, logStartOffset = {self.log_start_offset}, "
            f"abortedTransactions = {aborted}, recordsSizeInBytes={self.records.size_in_bytes()})"
        )

    def __repr__(self) -> str:
        return str(self)


_AbortedTransaction = AbortedTransaction
_PartitionData = PartitionData


class FetchResponse(AbstractResponse):
    """Records of each partition with the offsets a reader needs, and the fetch session's id.

    Mirrors: org.apache.kafka.common.requests.FetchResponse
    Differs: written straight to parts: runs of header bytes between record sets, which stay where they are, be that a
             buffer or a region of a log file. Read from a peer, ``records`` is a slice of the message (None if null).
    """

    __slots__ = ("_error", "_response_data", "_session_id", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.FETCH
    INVALID_HIGHWATERMARK: ClassVar[int] = -1
    INVALID_LAST_STABLE_OFFSET: ClassVar[int] = -1
    INVALID_LOG_START_OFFSET: ClassVar[int] = -1
    INVALID_PREFERRED_REPLICA_ID: ClassVar[int] = -1

    AbortedTransaction: TypeAlias = _AbortedTransaction

    PartitionData: TypeAlias = _PartitionData

    def __init__(
        self,
        error: Errors,
        response_data: dict[TopicPartition, PartitionData],
        throttle_time_ms: int,
        session_id: int,
    ) -> None:
        self._error = error
        self._response_data = response_data
        self._throttle_time_ms = throttle_time_ms
        self._session_id = session_id

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            FETCH_RESPONSE_V0,
            FETCH_RESPONSE_V1,
            FETCH_RESPONSE_V2,
            FETCH_RESPONSE_V3,
            FETCH_RESPONSE_V4,
            FETCH_RESPONSE_V5,
            FETCH_RESPONSE_V6,
            FETCH_RESPONSE_V7,
            FETCH_RESPONSE_V8,
            FETCH_RESPONSE_V9,
            FETCH_RESPONSE_V10,
            FETCH_RESPONSE_V11,
        ]

    @classmethod
    def from_struct(cls, struct: Struct) -> FetchResponse:
        response_data = {}
        for topic in struct.get(RESPONSES_KEY_NAME):
            name = topic.get(TOPIC_NAME)
            for partition in topic.get(PARTITIONS_KEY_NAME):
                header = partition.get(PARTITION_HEADER_KEY_NAME)
                aborted = header.get_or_else(ABORTED_TRANSACTIONS_KEY_NAME, None)
                records = partition.get(RECORD_SET_KEY_NAME)
                response_data[TopicPartition(name, header.get(PARTITION_ID))] = cls.PartitionData(
                    Errors.for_code(header.get(ERROR_CODE)),
                    header.get(HIGH_WATERMARK_KEY_NAME),
                    header.get_or_else(LAST_STABLE_OFFSET_KEY_NAME, cls.INVALID_LAST_STABLE_OFFSET),
                    header.get_or_else(LOG_START_OFFSET_KEY_NAME, cls.INVALID_LOG_START_OFFSET),
                    None
                    if aborted is None
                    else [
                        cls.AbortedTransaction(a.get(PRODUCER_ID_KEY_NAME), a.get(FIRST_OFFSET_KEY_NAME))
                        for a in aborted
                    ],
                    # A newer peer may send null where there is nothing.
                    MemoryRecords.EMPTY if records is None else MemoryRecords.readable_records(records),
                    header.get_or_else(PREFERRED_READ_REPLICA, cls.INVALID_PREFERRED_REPLICA_ID),
                )
        return cls(
            Errors.for_code(struct.get_or_else(ERROR_CODE, 0)),
            response_data,
            struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME),
            struct.get_or_else(SESSION_ID, 0),
        )

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.FETCH.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms)
        result.set_if_exists(ERROR_CODE, self._error.code)
        result.set_if_exists(SESSION_ID, self._session_id)
        topics: list[Struct] = []
        last = None
        for (topic, number), data in self._response_data.items():
            if topic != last:
                topics.append(result.instance(RESPONSES_KEY_NAME).set(TOPIC_NAME, topic).set(PARTITIONS_KEY_NAME, []))
                last = topic
            partition = topics[-1].instance(PARTITIONS_KEY_NAME)
            header = partition.instance(PARTITION_HEADER_KEY_NAME)
            header.set(PARTITION_ID, number)
            header.set(ERROR_CODE, _error_code(data.error, version))
            header.set(HIGH_WATERMARK_KEY_NAME, data.high_watermark)
            header.set_if_exists(LAST_STABLE_OFFSET_KEY_NAME, data.last_stable_offset)
            header.set_if_exists(LOG_START_OFFSET_KEY_NAME, data.log_start_offset)
            if data.aborted_transactions is not None and header.has_field(ABORTED_TRANSACTIONS_KEY_NAME):
                aborted = [Struct(FETCH_RESPONSE_ABORTED_TRANSACTION_V4, list(a)) for a in data.aborted_transactions]
                header.set(ABORTED_TRANSACTIONS_KEY_NAME, aborted)
            header.set_if_exists(PREFERRED_READ_REPLICA, data.preferred_read_replica)
            partition.set(PARTITION_HEADER_KEY_NAME, header).set(RECORD_SET_KEY_NAME, data.records)
            topics[-1].get(PARTITIONS_KEY_NAME).append(partition)
        return result.set(RESPONSES_KEY_NAME, topics)

    def to_parts(self, version: int, header: bytes = b"") -> Parts:
        topics: list[tuple[str, list[tuple[int, FetchResponse.PartitionData]]]] = []
        last = None
        for (topic, partition), data in self._response_data.items():
            if topic != last:
                last = topic
                partitions: list[tuple[int, FetchResponse.PartitionData]] = []
                topics.append((topic, partitions))
            partitions.append((partition, data))
        if version >= 7:
            head = header + _START_V7(self._throttle_time_ms, self._error.code, self._session_id, len(topics))
        elif version >= 1:
            head = header + _START_V1(self._throttle_time_ms, len(topics))
        else:
            head = header + _INT(len(topics))
        parts: Parts = []
        partition_header = _partition_header
        for topic, partitions in topics:
            name = topic.encode()
            head += _SHORT(len(name)) + name + _INT(len(partitions))
            for partition, data in partitions:
                records = data.records
                size = records.size_in_bytes()
                head += partition_header(version, partition, data, size)
                if size:
                    parts.append(head)
                    parts.append(getattr(records, "buffer", records))
                    head = b""
        if head:
            parts.append(head)
        return parts

    def error(self) -> Errors:
        """The error of the whole: the fetch session's."""
        return self._error

    def response_data(self) -> dict[TopicPartition, PartitionData]:
        """What was read, in the order of the request."""
        return self._response_data

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def session_id(self) -> int:
        """The fetch session's id."""
        return self._session_id

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(data.error for data in self._response_data.values())

    def should_client_throttle(self, version: int) -> bool:
        return version >= 8

    @staticmethod
    def size_of(version: int, part_iterator: Iterable[tuple[TopicPartition, PartitionData]]) -> int:
        """Bytes of a response with these partitions, with the size in front of it; only sizes are looked at."""
        size = 4 + (14 if version >= 7 else 8 if version >= 1 else 4)
        partition_size = 42 if version >= 11 else 38 if version >= 5 else 30 if version >= 4 else 18
        last = None
        for (topic, _), data in part_iterator:
            if topic != last:
                last = topic
                size += 2 + len(topic.encode()) + 4
            size += partition_size + data.records.size_in_bytes()
            if version >= 4 and data.aborted_transactions:
                size += 16 * len(data.aborted_transactions)
        return size


def _partition_header(version: int, partition: int, data: FetchResponse.PartitionData, size: int) -> bytes:
    """The partition's fields up to and with the size of its record set."""
    error, high_watermark, last_stable_offset, log_start_offset, aborted, _, preferred_read_replica = data
    code = error.code
    if version <= 5:
        code = _error_code(error, version)
    if aborted is None and version >= 5:
        if version >= 11:
            return _PARTITION_V11_NO_ABORTED(
                partition, code, high_watermark, last_stable_offset, log_start_offset, -1, preferred_read_replica, size
            )
        return _PARTITION_V5_NO_ABORTED(partition, code, high_watermark, last_stable_offset, log_start_offset, -1, size)
    if version < 4:
        return _PARTITION_V0(partition, code, high_watermark, size)
    count = -1 if aborted is None else len(aborted)
    if version >= 5:
        head = _PARTITION_V5(partition, code, high_watermark, last_stable_offset, log_start_offset, count)
    else:
        head = _PARTITION_V4(partition, code, high_watermark, last_stable_offset, count)
    if aborted:
        head += struct.pack(f">{2 * count}q", *(number for transaction in aborted for number in transaction))
    if version >= 11:
        head += _INT(preferred_read_replica)
    return head + _INT(size)


def _error_code(error: Errors, version: int) -> int:
    """Clients below version 6 take KAFKA_STORAGE_ERROR for final; the other makes them look for a new leader."""
    if version <= 5 and error is Errors.KAFKA_STORAGE_ERROR:
        return Errors.NOT_LEADER_FOR_PARTITION.code
    return error.code
