"""What became of the topics to create.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateTopicsResponse.java @ 1.1.1
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

TOPIC_ERROR_CODE = Schema(TOPIC_NAME, ERROR_CODE)

TOPIC_ERROR = Schema(TOPIC_NAME, ERROR_CODE, ERROR_MESSAGE)

CREATE_TOPICS_RESPONSE_V0 = Schema(Field(TOPIC_ERRORS_KEY_NAME, ArrayOf(TOPIC_ERROR_CODE)))

CREATE_TOPICS_RESPONSE_V1 = Schema(Field(TOPIC_ERRORS_KEY_NAME, ArrayOf(TOPIC_ERROR)))

CREATE_TOPICS_RESPONSE_V2 = Schema(THROTTLE_TIME_MS, Field(TOPIC_ERRORS_KEY_NAME, ArrayOf(TOPIC_ERROR)))


class CreateTopicsResponse(AbstractResponse):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.CreateTopicsResponse
    """

    __slots__ = ("_errors", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_TOPICS

    def __init__(self, errors: dict[str, ApiError], throttle_time_ms: int = 0) -> None:
        self._errors = errors
        self._throttle_time_ms = throttle_time_ms

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_TOPICS_RESPONSE_V0, CREATE_TOPICS_RESPONSE_V1, CREATE_TOPICS_RESPONSE_V2]

    @classmethod
    def from_struct(cls, struct: Struct) -> CreateTopicsResponse:
        errors = {entry.get(TOPIC_NAME): ApiError.from_struct(entry) for entry in struct.get(TOPIC_ERRORS_KEY_NAME)}
        return cls(errors, struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME))

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.CREATE_TOPICS.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms)
        entries = []
        for topic, error in self._errors.items():
            entry = result.instance(TOPIC_ERRORS_KEY_NAME).set(TOPIC_NAME, topic)
            error.write(entry)
            entries.append(entry)
        return result.set(TOPIC_ERRORS_KEY_NAME, entries)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def errors(self) -> dict[str, ApiError]:
        """The error of each topic."""
        return self._errors

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(error.error() for error in self._errors.values())
