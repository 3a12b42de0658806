"""The kinds of things access is granted to.

Mirrors: core/src/main/scala/kafka/security/auth/ResourceType.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import KafkaException
from kafka_py.common.protocol.errors import Errors


class ResourceType:
    """One kind of resource, and the error that denies access to it.

    Mirrors: core/src/main/scala/kafka/security/auth/ResourceType.scala/ResourceType
    Left out: toJava, fromJava -- the ACL APIs come with security
    """

    __slots__ = ("error", "name")

    Topic: ClassVar[ResourceType]
    Group: ClassVar[ResourceType]
    Cluster: ClassVar[ResourceType]
    TransactionalId: ClassVar[ResourceType]
    DelegationToken: ClassVar[ResourceType]

    def __init__(self, name: str, error: Errors) -> None:
        """The name of the case object and its error."""
        self.name = name
        self.error = error

    @classmethod
    def from_string(cls, resource_type: str) -> ResourceType:
        """The kind of that name, in any case; raises KafkaException when there is none."""
        for found in cls.values():
            if found.name.lower() == resource_type.lower():
                return found
        names = ",".join(map(str, cls.values()))
        raise KafkaException(f"{resource_type} not a valid resourceType name. The valid names are {names}")

    @classmethod
    def values(cls) -> list[ResourceType]:
        """All kinds."""
        return [cls.Topic, cls.Group, cls.Cluster, cls.TransactionalId, cls.DelegationToken]

    def __str__(self) -> str:
        """The name."""
        return self.name


ResourceType.Topic = ResourceType("Topic", Errors.TOPIC_AUTHORIZATION_FAILED)
ResourceType.Group = ResourceType("Group", Errors.GROUP_AUTHORIZATION_FAILED)
ResourceType.Cluster = ResourceType("Cluster", Errors.CLUSTER_AUTHORIZATION_FAILED)
ResourceType.TransactionalId = ResourceType("TransactionalId", Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
ResourceType.DelegationToken = ResourceType("DelegationToken", Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
