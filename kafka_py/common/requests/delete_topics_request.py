"""Delete these topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteTopicsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.request_message import RequestMessage


class DeleteTopicsRequest(RequestMessage, key=ApiKeys.DELETE_TOPICS, latest=4, flexible=4):
    """Names of topics, and how long to wait until all brokers have let them go.

    Mirrors: org.apache.kafka.common.requests.DeleteTopicsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"topic_error_codes": "topics"}

    topic_names: list[str] = field(ListOf(STRING), wire="topics")
    timeout: int = field(INT32, "How long to wait, in ms")

    class Builder(RequestMessage.Builder):
        """Holds the request.

        Mirrors: org.apache.kafka.common.requests.DeleteTopicsRequest.Builder
        """

        def __init__(self, topics: Collection[str], timeout: int) -> None:
            super().__init__(DeleteTopicsRequest(topic_names=list(topics), timeout=timeout))
            self._topics = topics
            self._timeout = timeout

        def __str__(self) -> str:
            return f"(type=DeleteTopicsRequest, topics=({', '.join(self._topics)}), timeout={self._timeout})"

    @property
    def topics(self) -> set[str]:
        """The topics to delete, each once."""
        return set(self.topic_names)
