"""Whose configuration is meant: a topic's or a broker's.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/ConfigResource.java @ 1.1.1
"""

from __future__ import annotations

import enum


class ConfigResource:
    """A kind of resource and its name; the empty name is the default of all resources of the kind.

    Mirrors: org.apache.kafka.common.config.ConfigResource
    Differs: type and name are attributes.
    """

    class Type(enum.Enum):
        """The kinds of resource that have a configuration.

        Mirrors: org.apache.kafka.common.config.ConfigResource.Type
        """

        BROKER = "BROKER"
        TOPIC = "TOPIC"
        UNKNOWN = "UNKNOWN"

    __slots__ = ("name", "type")

    def __init__(self, type_: ConfigResource.Type, name: str) -> None:
        """Name the resource."""
        self.type = type_
        self.name = name

    @property
    def is_default(self) -> bool:
        """Whether this stands for all resources of its kind."""
        return not self.name

    def __eq__(self, other: object) -> bool:
        """Equal to the same name of the same kind."""
        return isinstance(other, ConfigResource) and self.type is other.type and self.name == other.name

    def __hash__(self) -> int:
        """Hash of kind and name."""
        return hash((self.type, self.name))

    def __repr__(self) -> str:
        """The text of Kafka's messages."""
        return f"ConfigResource{{type={self.type.name}, name='{self.name}'}}"
