"""Where the batches went.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ProduceResponse.java @ 1.1.1
         (versions 6 and 7 as in 2.1)
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar, TypeAlias

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT64, Parts
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.topic_partition import TopicPartition

RESPONSES_KEY_NAME = "responses"
PARTITION_RESPONSES_KEY_NAME = "partition_responses"
BASE_OFFSET_KEY_NAME = "base_offset"
LOG_APPEND_TIME_KEY_NAME = "log_append_time"
LOG_START_OFFSET_KEY_NAME = "log_start_offset"

_BASE_OFFSET_FIELD = Field(BASE_OFFSET_KEY_NAME, INT64, "The offset of the first record")
_LOG_APPEND_TIME_FIELD = Field(
    LOG_APPEND_TIME_KEY_NAME, INT64, "The broker's clock at the append, -1 if the records keep their own timestamps"
)
LOG_START_OFFSET_FIELD = Field.Int64(LOG_START_OFFSET_KEY_NAME, "The first offset of the log", -1)


def _responses(*fields: Field) -> Field:
    topic = Schema(TOPIC_NAME, Field(PARTITION_RESPONSES_KEY_NAME, ArrayOf(Schema(*fields))))
    return Field(RESPONSES_KEY_NAME, ArrayOf(topic))


PRODUCE_RESPONSE_V0 = Schema(_responses(PARTITION_ID, ERROR_CODE, _BASE_OFFSET_FIELD))
PRODUCE_RESPONSE_V1 = Schema(_responses(PARTITION_ID, ERROR_CODE, _BASE_OFFSET_FIELD), THROTTLE_TIME_MS)
PRODUCE_RESPONSE_V2 = Schema(
    _responses(PARTITION_ID, ERROR_CODE, _BASE_OFFSET_FIELD, _LOG_APPEND_TIME_FIELD), THROTTLE_TIME_MS
)
PRODUCE_RESPONSE_V3 = PRODUCE_RESPONSE_V2
PRODUCE_RESPONSE_V4 = PRODUCE_RESPONSE_V3
PRODUCE_RESPONSE_V5 = Schema(
    _responses(PARTITION_ID, ERROR_CODE, _BASE_OFFSET_FIELD, _LOG_APPEND_TIME_FIELD, LOG_START_OFFSET_FIELD),
    THROTTLE_TIME_MS,
)
PRODUCE_RESPONSE_V6 = PRODUCE_RESPONSE_V5
PRODUCE_RESPONSE_V7 = PRODUCE_RESPONSE_V6

_TOPIC = struct.Struct(">h").pack
_INT = struct.Struct(">i").pack
_PARTITION_V0 = struct.Struct(">ihq").pack
_PARTITION_V2 = struct.Struct(">ihqq").pack
_PARTITION_V5 = struct.Struct(">ihqqq").pack
_ONE_TOPIC = struct.Struct(">ih").pack
_ONE_PARTITION_V5 = struct.Struct(">iihqqqi").pack  # number of partitions, the partition, throttle time


class PartitionResponse:
    """What became of one partition's batch.

    Mirrors: org.apache.kafka.common.requests.ProduceResponse.PartitionResponse
    """

    __slots__ = ("base_offset", "error", "log_append_time", "log_start_offset")

    def __init__(
        self, error: Errors, base_offset: int = -1, log_append_time: int = -1, log_start_offset: int = -1
    ) -> None:
        self.error = error
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
    INVALID_OFFSET: ClassVar[int] = -1

    PartitionResponse: TypeAlias = _PartitionResponse

    def __init__(self, responses: dict[TopicPartition, PartitionResponse], throttle_time: int = 0) -> None:
        self._responses = responses
        self._throttle_time = throttle_time

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            PRODUCE_RESPONSE_V0,
            PRODUCE_RESPONSE_V1,
            PRODUCE_RESPONSE_V2,
            PRODUCE_RESPONSE_V3,
            PRODUCE_RESPONSE_V4,
            PRODUCE_RESPONSE_V5,
            PRODUCE_RESPONSE_V6,
            PRODUCE_RESPONSE_V7,
        ]

    @classmethod
    def from_struct(cls, struct: Struct) -> ProduceResponse:
        responses = {}
        for topic_response in struct.get(RESPONSES_KEY_NAME):
            topic = topic_response.get(TOPIC_NAME)
            for part in topic_response.get(PARTITION_RESPONSES_KEY_NAME):
                responses[TopicPartition(topic, part.get(PARTITION_ID))] = cls.PartitionResponse(
                    Errors.for_code(part.get(ERROR_CODE)),
                    part.get(BASE_OFFSET_KEY_NAME),
                    part.get_or_else(LOG_APPEND_TIME_KEY_NAME, -1),
                    part.get_or_else(LOG_START_OFFSET_FIELD, cls.INVALID_OFFSET),
                )
        return cls(responses, struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME))

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.PRODUCE.response_schema(version))
        topic_schema = result.instance(RESPONSES_KEY_NAME)
        topics = []
        for topic, partitions in self._by_topic().items():
            parts = []
            for partition, response in partitions:
                part = topic_schema.instance(PARTITION_RESPONSES_KEY_NAME)
                part.set(PARTITION_ID, partition)
                part.set(ERROR_CODE, _error_code(response.error, version))
                part.set(BASE_OFFSET_KEY_NAME, response.base_offset)
                part.set_if_exists(LOG_APPEND_TIME_KEY_NAME, response.log_append_time)
                part.set_if_exists(LOG_START_OFFSET_FIELD, response.log_start_offset)
                parts.append(part)
            entry = result.instance(RESPONSES_KEY_NAME)
            topics.append(entry.set(TOPIC_NAME, topic).set(PARTITION_RESPONSES_KEY_NAME, parts))
        return result.set(RESPONSES_KEY_NAME, topics).set_if_exists(THROTTLE_TIME_MS, self._throttle_time)

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
                return [
                    header
                    + _ONE_TOPIC(1, len(name))
                    + name
                    + _ONE_PARTITION_V5(
                        1,
                        partition,
                        r.error.code,
                        r.base_offset,
                        r.log_append_time,
                        r.log_start_offset,
                        self._throttle_time,
                    )
                ]
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
