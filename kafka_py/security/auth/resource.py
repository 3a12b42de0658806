"""A thing access is granted to.

Mirrors: core/src/main/scala/kafka/security/auth/Resource.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.security.auth.resource_type import ResourceType


class Resource:
    """Kind and name of a thing; the one resource of kind Cluster has a name of its own.

    Mirrors: core/src/main/scala/kafka/security/auth/Resource.scala/Resource
    """

    __slots__ = ("name", "resource_type")

    SEPARATOR = ":"
    CLUSTER_RESOURCE_NAME = "kafka-cluster"
    CLUSTER_RESOURCE: ClassVar[Resource]
    PRODUCER_ID_RESOURCE_NAME = "producer-id"
    WILD_CARD_RESOURCE = "*"

    def __init__(self, resource_type: ResourceType, name: str) -> None:
        """Name the thing."""
        self.resource_type = resource_type
        self.name = name

    @classmethod
    def from_string(cls, text: str) -> Resource:
        """Read `Kind:name`; raises ValueError for text of another form."""
        kind, separator, name = text.partition(cls.SEPARATOR)
        if not separator:
            raise ValueError(f"expected a string in format ResourceType:ResourceName but got {text}")
        return cls(ResourceType.from_string(kind), name)

    def __eq__(self, other: object) -> bool:
        """Equal to the same name of the same kind."""
        return isinstance(other, Resource) and self.resource_type is other.resource_type and self.name == other.name

    def __hash__(self) -> int:
        """Hash of kind and name."""
        return hash((self.resource_type.name, self.name))

    def __str__(self) -> str:
        """`Kind:name`."""
        return f"{self.resource_type.name}{self.SEPARATOR}{self.name}"


Resource.CLUSTER_RESOURCE = Resource(ResourceType.Cluster, Resource.CLUSTER_RESOURCE_NAME)
