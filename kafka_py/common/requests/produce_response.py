"""Where the batches went.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ProduceResponse.java @ 1.1.1
         (versions 6 to 8 as in 2.5)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.produce_response_data import ProduceResponseData
from kafka_py.common.topic_partition import TopicPartition

_TOPIC = struct.Struct(">h").pack
_INT = struct.Struct(">i").pack
_PARTITION_V0 = struct.Struct(">ihq").pack
_PARTITION_V2 = struct.Struct(">ihqq").pack
_PARTITION_V5 = struct.Struct(">ihqqq").pack
_ONE_TOPIC = struct.Struct(">ih").pack
_ONE_PARTITION_V5 = struct.Struct(">iihqqqi").pack  # number of partitions, the partition, throttle time
_ONE_PARTITION_V8 = struct.Struct(">iihqqqihi").pack  # before the throttle time: no refused record, no message


class PartitionResponse:
    """What became of one partition's batch.

    Mirrors: org.apache.kafka.common.requests.ProduceResponse.PartitionResponse
    Differs: of KIP-467 (version 8) the broker gives the message, which says why a batch was refused, and does not
        name the single records.
    """

    __slots__ = ("base_offset", "error", "error_message", "log_append_time", "log_start_offset", "record_errors")

    def __init__(
        self,
        error: Errors,
        base_offset: int = -1,
        log_append_time: int = -1,
        log_start_offset: int = -1,
        error_message: str | None = None,
        record_errors: Sequence[ProduceResponseData.Topic.Partition.RecordError] = (),
    ) -> None:
        self.error = error
        self.record_errors = record_errors
        self.error_message = error_message
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionResponse) and str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]  # DelayedProduce changes the error

    def __str__(self) -> str:
        return (
            f"{{error: {self.error},offset: {self.base_offset},logAppendTime: {self.log_append_time}, "
            f"logStartOffset: {self.log_start_offset}}}"
        )

    __repr__ = __str__


_PartitionResponse = PartitionResponse


class ProduceResponse(AbstractResponse):
    """Error and offsets of each partition.

    Mirrors: org.apache.kafka.common.requests.ProduceResponse
    Differs: written straight to bytes; the schema serves readers and tests.
    """

    __slots__ = ("_responses", "_throttle_time")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.PRODUCE
    LATEST: ClassVar[int] = ApiKeys.PRODUCE.latest_version()
    INVALID_OFFSET: ClassVar[int] = -1

    PartitionResponse: TypeAlias = _PartitionResponse

    def __init__(self, responses: dict[TopicPartition, PartitionResponse], throttle_time: int = 0) -> None:
        self._responses = responses
        self._throttle_time = throttle_time

    @staticmethod
    def schema(version: int) -> Schema:
        """The layout at a version that is declared."""
        return ProduceResponseData.schema(version)

    @classmethod
    def parse(cls, buffer: Any, version: int) -> ProduceResponse:
        return cls._from_data(ProduceResponseData.read(buffer, version)[0])

    @classmethod
    def _from_data(cls, data: ProduceResponseData) -> ProduceResponse:
        responses = {
            TopicPartition(topic.topic, p.partition): cls.PartitionResponse(
                p.error, p.base_offset, p.log_append_time, p.log_start_offset, p.error_message, p.record_errors
            )
            for topic in data.responses
            for p in topic.partition_responses
        }
        return cls(responses, data.throttle_time_ms)

    def to_struct(self, version: int) -> Struct:
        topics = [
            ProduceResponseData.Topic(
                topic=topic,
                partition_responses=[
                    ProduceResponseData.Topic.Partition(
                        partition=partition,
                        error_code=_error_code(response.error, version),
                        base_offset=response.base_offset,
                        log_append_time=response.log_append_time,
                        log_start_offset=response.log_start_offset,
                        record_errors=list(response.record_errors),
                        error_message=response.error_message,
                    )
                    for partition, response in partitions
                ],
            )
            for topic, partitions in self._by_topic().items()
        ]
        return ProduceResponseData(responses=topics, throttle_time_ms=self._throttle_time).struct_at(version)

    def _by_topic(self) -> dict[str, list[tuple[int, PartitionResponse]]]:
        by_topic: dict[str, list[tuple[int, ProduceResponse.PartitionResponse]]] = {}
        for (topic, partition), response in self._responses.items():
            by_topic.setdefault(topic, []).append((partition, response))
        return by_topic

    def to_parts(self, version: int, header: bytes = b"") -> Parts:
        responses = self._responses
        if len(responses) == 1 and version >= 5:
            # Nearly every request: one partition, one write.
            for (topic, partition), r in responses.items():
                name = topic.encode()
                start = header + _ONE_TOPIC(1, len(name)) + name
                code, offset, time, log_start = r.error.code, r.base_offset, r.log_append_time, r.log_start_offset
                throttle = self._throttle_time
                if version < 8:
                    return [start + _ONE_PARTITION_V5(1, partition, code, offset, time, log_start, throttle)]
                if r.error_message is None and not r.record_errors:
                    return [start + _ONE_PARTITION_V8(1, partition, code, offset, time, log_start, 0, -1, throttle)]
        by_topic = self._by_topic()
        out: list[Any] = [header, _INT(len(by_topic))]
        for topic, partitions in by_topic.items():
            name = topic.encode()
            out.append(_TOPIC(len(name)) + name + _INT(len(partitions)))
            for partition, r in partitions:
                code = _error_code(r.error, version)
                if version >= 5:
                    out.append(_PARTITION_V5(partition, code, r.base_offset, r.log_append_time, r.log_start_offset))
                elif version >= 2:
                    out.append(_PARTITION_V2(partition, code, r.base_offset, r.log_append_time))
                else:
                    out.append(_PARTITION_V0(partition, code, r.base_offset))
                if version >= 8:
                    out.append(_INT(len(r.record_errors)))
                    out += [
                        _INT(e.batch_index) + _nullable_string(e.batch_index_error_message) for e in r.record_errors
                    ]
                    out.append(_nullable_string(r.error_message))
        if version >= 1:
            out.append(_INT(self._throttle_time))
        return [b"".join(out)]

    def responses(self) -> dict[TopicPartition, PartitionResponse]:
        """The outcome of each partition."""
        return self._responses

    def get_throttle_time(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time

    throttle_time_ms = get_throttle_time

    def error_counts(self) -> dict[Errors, int]:
        responses = self._responses
        if len(responses) == 1:
            for response in responses.values():
                return {response.error: 1}
        return self.error_counts_of(response.error for response in responses.values())

    def should_client_throttle(self, version: int) -> bool:
        return version >= 6


def _error_code(error: Errors, version: int) -> int:
    """Clients below version 4 take KAFKA_STORAGE_ERROR for final; the other makes them look for a new leader."""
    if version <= 3 and error is Errors.KAFKA_STORAGE_ERROR:
        return Errors.NOT_LEADER_FOR_PARTITION.code
    return error.code


def _nullable_string(text: str | None) -> bytes:
    if text is None:
        return _TOPIC(-1)
    data = text.encode()
    return _TOPIC(len(data)) + data
