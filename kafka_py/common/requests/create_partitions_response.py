"""Whether the partitions were added.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreatePartitionsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.api_error import ApiError

TOPIC_ERRORS_KEY_NAME = "topic_errors"

CREATE_PARTITIONS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(TOPIC_ERRORS_KEY_NAME, ArrayOf(Schema(TOPIC_NAME, ERROR_CODE, ERROR_MESSAGE)))
)


class CreatePartitionsResponse(AbstractResponse):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.CreatePartitionsResponse
    """

    __slots__ = ("_errors", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_PARTITIONS

    def __init__(self, throttle_time_ms: int, errors: dict[str, ApiError]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._errors = errors

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_PARTITIONS_RESPONSE_V0]

    @classmethod
    def from_struct(cls, struct: Struct) -> CreatePartitionsResponse:
        errors = {entry.get(TOPIC_NAME): ApiError.from_struct(entry) for entry in struct.get(TOPIC_ERRORS_KEY_NAME)}
        return cls(struct.get(THROTTLE_TIME_MS), errors)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.CREATE_PARTITIONS.response_schema(version))
        entries = []
        for topic, error in self._errors.items():
            entry = result.instance(TOPIC_ERRORS_KEY_NAME).set(TOPIC_NAME, topic)
            error.write(entry)
            entries.append(entry)
        return result.set(THROTTLE_TIME_MS, self._throttle_time_ms).set(TOPIC_ERRORS_KEY_NAME, entries)

    def errors(self) -> dict[str, ApiError]:
        """The error of each topic."""
        return self._errors

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(error.error() for error in self._errors.values())
