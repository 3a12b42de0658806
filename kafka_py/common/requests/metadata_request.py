"""Who leads which partition, and where are the brokers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/MetadataRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, field
from kafka_py.common.protocol.types.type import BOOLEAN, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage


class MetadataRequest(RequestMessage, key=ApiKeys.METADATA, latest=9, flexible=9):
    """Names of topics; None asks for all of them, as an empty list does in version 0.

    Mirrors: org.apache.kafka.common.requests.MetadataRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"topic_metadata": "topics"}

    topics: list[str] | None = field(ListOf(STRING, boxed=True), nullable=1)
    allow_auto_topic_creation: bool = field(BOOLEAN, "Whether unknown topics may be created", since=4, default=True)
    include_cluster_authorized_operations: bool = field(BOOLEAN, since=8, default=False)
    include_topic_authorized_operations: bool = field(BOOLEAN, since=8, default=False)

    class Builder(AbstractRequest.Builder):
        """Refuses versions that cannot say what is asked.

        Mirrors: org.apache.kafka.common.requests.MetadataRequest.Builder
        """

        def __init__(self, topics: list[str] | None, allow_auto_topic_creation: bool) -> None:
            super().__init__(ApiKeys.METADATA)
            self._topics = topics
            self._allow_auto_topic_creation = allow_auto_topic_creation

        @staticmethod
        def all_topics() -> MetadataRequest.Builder:
            """Ask for all topics."""
            # Auto-creation makes no difference here, and earlier versions can only say yes.
            return MetadataRequest.Builder(None, True)

        def topics(self) -> list[str] | None:
            """The names, None for all."""
            return self._topics

        def is_all_topics(self) -> bool:
            """Whether all topics are asked for."""
            return self._topics is None

        def build(self, version: int | None = None) -> MetadataRequest:
            version = self._version_or_latest(version)
            if version < 1:
                raise UnsupportedVersionException("MetadataRequest versions older than 1 are not supported.")
            if not self._allow_auto_topic_creation and version < 4:
                raise UnsupportedVersionException(
                    "MetadataRequest versions older than 4 don't support the allowAutoTopicCreation field"
                )
            return MetadataRequest(
                version=version, topics=self._topics, allow_auto_topic_creation=self._allow_auto_topic_creation
            )

        def __str__(self) -> str:
            topics = "<ALL>" if self._topics is None else ",".join(self._topics)
            return f"(type=MetadataRequest, topics={topics})"

    def is_all_topics(self) -> bool:
        """Whether the list is null, which from version 1 on asks for all topics."""
        return self.topics is None
