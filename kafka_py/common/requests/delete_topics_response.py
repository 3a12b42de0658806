"""What became of the topics to delete.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteTopicsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT16, INT32, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class DeleteTopicsResponse(ResponseMessage, key=ApiKeys.DELETE_TOPICS, latest=4, flexible=4):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.DeleteTopicsResponse
    """

    class TopicError(ErrorEntry):
        """What became of a topic."""

        topic: str = field(STRING)
        error_code: int = field(INT16)

    throttle_time_ms: int = field(INT32, since=1, default=0)
    topic_error_codes: list[TopicError] = field(ListOf(TopicError))

    def __init__(self, errors: dict[str, Errors], throttle_time_ms: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topic_error_codes = [
            self.TopicError(topic=topic, error_code=error.code) for topic, error in errors.items()
        ]

    def errors(self) -> dict[str, Errors]:
        """The error of each topic."""
        return {entry.topic: entry.error for entry in self.topic_error_codes}
