"""Rules for the names of topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/internals/Topic.java @ 1.1.1
"""

from __future__ import annotations

import re
from typing import ClassVar

from kafka_py.common.errors import InvalidTopicException


class Topic:
    """Which names a topic may have, which are Kafka's own, and which would share a metric's name.

    Mirrors: org.apache.kafka.common.internals.Topic
    """

    GROUP_METADATA_TOPIC_NAME: ClassVar[str] = "__consumer_offsets"
    TRANSACTION_STATE_TOPIC_NAME: ClassVar[str] = "__transaction_state"
    LEGAL_CHARS: ClassVar[str] = "[a-zA-Z0-9._-]"
    MAX_NAME_LENGTH: ClassVar[int] = 249

    _INTERNAL_TOPICS: ClassVar[frozenset[str]] = frozenset({GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME})
    _VALID: ClassVar[re.Pattern[str]] = re.compile(LEGAL_CHARS + "*", re.ASCII)

    @staticmethod
    def validate(topic: str) -> None:
        """Raise InvalidTopicException unless the name is legal."""
        if not topic:
            raise InvalidTopicException("Topic name is illegal, it can't be empty")
        if topic in (".", ".."):
            raise InvalidTopicException('Topic name cannot be "." or ".."')
        if len(topic) > Topic.MAX_NAME_LENGTH:
            raise InvalidTopicException(
                f"Topic name is illegal, it can't be longer than {Topic.MAX_NAME_LENGTH} "
                f"characters, topic name: {topic}"
            )
        if not Topic.contains_valid_pattern(topic):
            raise InvalidTopicException(
                f'Topic name "{topic}" is illegal, it contains a character other than '
                "ASCII alphanumerics, '.', '_' and '-'"
            )

    @staticmethod
    def is_internal(topic: str) -> bool:
        """Whether the topic is one that Kafka keeps for itself."""
        return topic in Topic._INTERNAL_TOPICS

    @staticmethod
    def has_collision_chars(topic: str) -> bool:
        """Whether the name holds a character that metric names fold into another."""
        return "_" in topic or "." in topic

    @staticmethod
    def has_collision(topic_a: str, topic_b: str) -> bool:
        """Whether the metric names of two topics would be the same."""
        return topic_a.replace(".", "_") == topic_b.replace(".", "_")

    @staticmethod
    def contains_valid_pattern(topic: str) -> bool:
        """Whether the name has legal characters only."""
        return Topic._VALID.fullmatch(topic) is not None
