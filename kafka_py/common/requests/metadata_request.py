"""Who leads which partition, and where are the brokers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/MetadataRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.metadata_response import MetadataResponse

TOPICS_KEY_NAME = "topics"
ALLOW_AUTO_TOPIC_CREATION_KEY_NAME = "allow_auto_topic_creation"

METADATA_REQUEST_V0 = Schema(Field(TOPICS_KEY_NAME, ArrayOf(STRING), "The topics"))

METADATA_REQUEST_V1 = Schema(Field(TOPICS_KEY_NAME, ArrayOf(STRING, nullable=True), "The topics"))

METADATA_REQUEST_V2 = METADATA_REQUEST_V1

METADATA_REQUEST_V3 = METADATA_REQUEST_V2

METADATA_REQUEST_V4 = Schema(
    Field(TOPICS_KEY_NAME, ArrayOf(STRING, nullable=True), "The topics"),
    Field(ALLOW_AUTO_TOPIC_CREATION_KEY_NAME, BOOLEAN, "Whether unknown topics may be created"),
)

METADATA_REQUEST_V5 = METADATA_REQUEST_V4


class MetadataRequest(AbstractRequest):
    """Names of topics; None asks for all of them.

    Mirrors: org.apache.kafka.common.requests.MetadataRequest
    """

    __slots__ = ("_allow_auto_topic_creation", "_topics")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.METADATA

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
            return MetadataRequest(version, self._topics, self._allow_auto_topic_creation)

        def __str__(self) -> str:
            topics = "<ALL>" if self._topics is None else ",".join(self._topics)
            return f"(type=MetadataRequest, topics={topics})"

    def __init__(self, version: int, topics: list[str] | None, allow_auto_topic_creation: bool = True) -> None:
        super().__init__(version)
        self._topics = topics
        self._allow_auto_topic_creation = allow_auto_topic_creation

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            METADATA_REQUEST_V0,
            METADATA_REQUEST_V1,
            METADATA_REQUEST_V2,
            METADATA_REQUEST_V3,
            METADATA_REQUEST_V4,
            METADATA_REQUEST_V5,
        ]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> MetadataRequest:
        return cls(version, struct.get(TOPICS_KEY_NAME), struct.get_or_else(ALLOW_AUTO_TOPIC_CREATION_KEY_NAME, True))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.METADATA.request_schema(self._version))
        result.set(TOPICS_KEY_NAME, self._topics)
        return result.set_if_exists(ALLOW_AUTO_TOPIC_CREATION_KEY_NAME, self._allow_auto_topic_creation)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> MetadataResponse:
        error = Errors.for_exception(e)
        topics = [MetadataResponse.TopicMetadata(error, topic, False, []) for topic in self._topics or ()]
        return MetadataResponse([], None, MetadataResponse.NO_CONTROLLER_ID, topics, throttle_time_ms)

    def is_all_topics(self) -> bool:
        """Whether the list is null, which from version 1 on asks for all topics."""
        return self._topics is None

    def topics(self) -> list[str] | None:
        """The names; None for all (in version 0 an empty list)."""
        return self._topics

    def allow_auto_topic_creation(self) -> bool:
        """Whether unknown topics may be created."""
        return self._allow_auto_topic_creation
