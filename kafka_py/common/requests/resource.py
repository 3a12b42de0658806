"""A thing that has a configuration.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/Resource.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.requests.resource_type import ResourceType


class Resource:
    """A topic or broker by type and name; the empty broker name stands for all brokers.

    Mirrors: org.apache.kafka.common.requests.Resource
    """

    __slots__ = ("_name", "_type")

    def __init__(self, type_: ResourceType, name: str) -> None:
        self._type = type_
        self._name = name

    def type(self) -> ResourceType:
        """Its kind."""
        return self._type

    def name(self) -> str:
        """Its name."""
        return self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resource) and self._type is other._type and self._name == other._name

    def __hash__(self) -> int:
        return hash((self._type.id(), self._name))

    def __str__(self) -> str:
        return f"Resource(type={self._type}, name='{self._name}'}}"

    __repr__ = __str__
