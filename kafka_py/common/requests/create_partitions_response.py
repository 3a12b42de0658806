"""Whether the partitions were added.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreatePartitionsResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.response_message import ResponseMessage


class CreatePartitionsResponse(ResponseMessage, key=ApiKeys.CREATE_PARTITIONS, latest=2, flexible=2):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.CreatePartitionsResponse
    """

    class TopicError(ErrorEntry):
        """What became of a topic."""

        topic: str = field(STRING)
        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING)

    throttle_time_ms: int = field(INT32, default=0)
    topic_errors: list[TopicError] = field(ListOf(TopicError))

    def __init__(self, throttle_time_ms: int, errors: dict[str, ApiError]) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topic_errors = [
            self.TopicError(topic=topic, error_code=error.error().code, error_message=error.short_message())
            for topic, error in errors.items()
        ]

    def errors(self) -> dict[str, ApiError]:
        """The error of each topic."""
        return {entry.topic: ApiError(entry.error, entry.error_message) for entry in self.topic_errors}
