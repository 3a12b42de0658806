"""Delete these topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteTopicsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.delete_topics_response import DeleteTopicsResponse

TOPICS_KEY_NAME = "topics"
TIMEOUT_KEY_NAME = "timeout"

DELETE_TOPICS_REQUEST_V0 = Schema(
    Field(TOPICS_KEY_NAME, ArrayOf(STRING), "The topics"), Field(TIMEOUT_KEY_NAME, INT32, "How long to wait, in ms")
)

DELETE_TOPICS_REQUEST_V1 = DELETE_TOPICS_REQUEST_V0


class DeleteTopicsRequest(AbstractRequest):
    """Names of topics, and how long to wait until all brokers have let them go.

    Mirrors: org.apache.kafka.common.requests.DeleteTopicsRequest
    """

    __slots__ = ("_timeout", "_topics")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_TOPICS

    class Builder(AbstractRequest.Builder):
        """Holds the request.

        Mirrors: org.apache.kafka.common.requests.DeleteTopicsRequest.Builder
        """

        def __init__(self, topics: set[str], timeout: int) -> None:
            super().__init__(ApiKeys.DELETE_TOPICS)
            self._topics = topics
            self._timeout = timeout

        def build(self, version: int | None = None) -> DeleteTopicsRequest:
            return DeleteTopicsRequest(self._version_or_latest(version), self._topics, self._timeout)

        def __str__(self) -> str:
            return f"(type=DeleteTopicsRequest, topics=({', '.join(self._topics)}), timeout={self._timeout})"

    def __init__(self, version: int, topics: set[str], timeout: int) -> None:
        super().__init__(version)
        self._topics = topics
        self._timeout = timeout

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_TOPICS_REQUEST_V0, DELETE_TOPICS_REQUEST_V1]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> DeleteTopicsRequest:
        return cls(version, set(struct.get(TOPICS_KEY_NAME)), struct.get(TIMEOUT_KEY_NAME))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.DELETE_TOPICS.request_schema(self._version))
        return result.set(TOPICS_KEY_NAME, list(self._topics)).set(TIMEOUT_KEY_NAME, self._timeout)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DeleteTopicsResponse:
        return DeleteTopicsResponse(dict.fromkeys(self._topics, Errors.for_exception(e)), throttle_time_ms)

    def topics(self) -> set[str]:
        """The topics to delete."""
        return self._topics

    def timeout(self) -> int:
        """How long to wait, in ms."""
        return self._timeout
