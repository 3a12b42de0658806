"""What became of the topics to create.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateTopicsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.response_message import ResponseMessage


class CreateTopicsResponse(ResponseMessage, key=ApiKeys.CREATE_TOPICS, latest=5, flexible=5):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.CreateTopicsResponse
    """

    class TopicError(ErrorEntry):
        """What became of a topic."""

        class Config(Message):
            """A configuration that the new topic has."""

            name: str = field(STRING)
            value: str | None = field(NULLABLE_STRING)
            read_only: bool = field(BOOLEAN)
            config_source: int = field(INT8, default=-1)
            is_sensitive: bool = field(BOOLEAN)

        topic: str = field(STRING)
        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING, since=1, default=None)
        topic_config_error_code: int = field(INT16, "Why the configuration is not shown", since=5, tag=0, default=0)
        num_partitions: int = field(INT32, since=5, default=-1)
        replication_factor: int = field(INT16, since=5, default=-1)
        configs: list[Config] | None = field(ListOf(Config), since=5, nullable=5, default_factory=list)

    throttle_time_ms: int = field(INT32, since=2, default=0)
    topic_errors: list[TopicError] = field(ListOf(TopicError))

    def __init__(self, errors: dict[str, ApiError], throttle_time_ms: int = 0) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topic_errors = [
            self.TopicError(topic=topic, error_code=error.error().code, error_message=error.short_message())
            for topic, error in errors.items()
        ]

    def errors(self) -> dict[str, ApiError]:
        """The error of each topic."""
        return {entry.topic: ApiError(entry.error, entry.error_message) for entry in self.topic_errors}
