"""Kinds of things that have a configuration or an access list.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ResourceType.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class ResourceType:
    """A kind of resource, by its id on the wire.

    Mirrors: org.apache.kafka.common.requests.ResourceType
    """

    __slots__ = ("_id", "name")

    UNKNOWN: ClassVar[ResourceType]
    ANY: ClassVar[ResourceType]
    TOPIC: ClassVar[ResourceType]
    GROUP: ClassVar[ResourceType]
    BROKER: ClassVar[ResourceType]
    _VALUES: ClassVar[tuple[ResourceType, ...]]

    def __init__(self, id_: int, name: str) -> None:
        self._id = id_
        self.name = name

    def id(self) -> int:
        """What stands for it on the wire."""
        return self._id

    @classmethod
    def for_id(cls, id_: int) -> ResourceType:
        """The type of an id, UNKNOWN for one of a later version; ValueError below zero."""
        if id_ < 0:
            raise ValueError(f"id should be positive, id: {id_}")
        return cls._VALUES[id_] if id_ < len(cls._VALUES) else cls.UNKNOWN

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


ResourceType._VALUES = tuple(
    ResourceType(id_, name) for id_, name in enumerate(("UNKNOWN", "ANY", "TOPIC", "GROUP", "BROKER"))
)
(
    ResourceType.UNKNOWN,
    ResourceType.ANY,
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.BROKER,
) = ResourceType._VALUES
