"""What was read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FetchResponse.java @ 1.1.1 (versions 8 to 11 as in 2.3)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, TypeAlias

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.fetch_response_data import FetchResponseData
from kafka_py.common.topic_partition import TopicPartition

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
    LATEST: ClassVar[int] = ApiKeys.FETCH.latest_version()
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
    def schema(version: int) -> Schema:
        """The layout at a version that is declared."""
        return FetchResponseData.schema(version)

    @classmethod
    def parse(cls, buffer: Any, version: int) -> FetchResponse:
        return cls._from_data(FetchResponseData.read(buffer, version)[0])

    @classmethod
    def _from_data(cls, data: FetchResponseData) -> FetchResponse:
        response_data = {}
        for topic in data.responses:
            for partition in topic.partition_responses:
                header, records = partition.partition_header, partition.record_set
                aborted = header.aborted_transactions
                response_data[TopicPartition(topic.topic, header.partition)] = cls.PartitionData(
                    header.error,
                    header.high_watermark,
                    header.last_stable_offset,
                    header.log_start_offset,
                    None
                    if aborted is None
                    else [cls.AbortedTransaction(a.producer_id, a.first_offset) for a in aborted],
                    # A newer peer may send null where there is nothing.
                    MemoryRecords.EMPTY if records is None else MemoryRecords.readable_records(records),
                    header.preferred_read_replica,
                )
        return cls(Errors.for_code(data.error_code), response_data, data.throttle_time_ms, data.session_id)

    def to_struct(self, version: int) -> Struct:
        topics: list[FetchResponseData.Topic] = []
        last = None
        for (topic, number), data in self._response_data.items():
            if topic != last:
                topics.append(FetchResponseData.Topic(topic=topic, partition_responses=[]))
                last = topic
            topics[-1].partition_responses.append(_written(number, data, version))
        return FetchResponseData(
            throttle_time_ms=self._throttle_time_ms,
            error_code=self._error.code,
            session_id=self._session_id,
            responses=topics,
        ).struct_at(version)

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


def _written(number: int, data: FetchResponse.PartitionData, version: int) -> FetchResponseData.Topic.Partition:
    partition_class = FetchResponseData.Topic.Partition
    header_class = partition_class.Header
    aborted = data.aborted_transactions
    header = header_class(
        partition=number,
        error_code=_error_code(data.error, version),
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [header_class.AbortedTransaction(producer_id=p, first_offset=first) for p, first in aborted],
        preferred_read_replica=data.preferred_read_replica,
    )
    return partition_class(partition_header=header, record_set=data.records)


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
