"""What became of the topics to delete.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteTopicsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.requests.abstract_response import AbstractResponse

TOPIC_ERROR_CODES_KEY_NAME = "topic_error_codes"

TOPIC_ERROR_CODE = Schema(TOPIC_NAME, ERROR_CODE)

DELETE_TOPICS_RESPONSE_V0 = Schema(Field(TOPIC_ERROR_CODES_KEY_NAME, ArrayOf(TOPIC_ERROR_CODE)))

DELETE_TOPICS_RESPONSE_V1 = Schema(THROTTLE_TIME_MS, Field(TOPIC_ERROR_CODES_KEY_NAME, ArrayOf(TOPIC_ERROR_CODE)))


class DeleteTopicsResponse(AbstractResponse):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.DeleteTopicsResponse
    """

    __slots__ = ("_errors", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_TOPICS

    def __init__(self, errors: dict[str, Errors], throttle_time_ms: int = 0) -> None:
        self._errors = errors
        self._throttle_time_ms = throttle_time_ms

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_TOPICS_RESPONSE_V0, DELETE_TOPICS_RESPONSE_V1]

    @classmethod
    def from_struct(cls, struct: Struct) -> DeleteTopicsResponse:
        errors = {
            entry.get(TOPIC_NAME): Errors.for_code(entry.get(ERROR_CODE))
            for entry in struct.get(TOPIC_ERROR_CODES_KEY_NAME)
        }
        return cls(errors, struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME))

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.DELETE_TOPICS.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms)
        return result.set(
            TOPIC_ERROR_CODES_KEY_NAME,
            [
                result.instance(TOPIC_ERROR_CODES_KEY_NAME).set(TOPIC_NAME, topic).set(ERROR_CODE, error.code)
                for topic, error in self._errors.items()
            ],
        )

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def errors(self) -> dict[str, Errors]:
        """The error of each topic."""
        return self._errors

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(self._errors.values())
