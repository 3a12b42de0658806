"""What a client may want to do with a resource.

Mirrors: core/src/main/scala/kafka/security/auth/Operation.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import KafkaException


class Operation:
    """One kind of access.

    Mirrors: core/src/main/scala/kafka/security/auth/Operation.scala/Operation
    Left out: toJava, fromJava -- the ACL APIs come with security
    """

    __slots__ = ("name",)

    Read: ClassVar[Operation]
    Write: ClassVar[Operation]
    Create: ClassVar[Operation]
    Delete: ClassVar[Operation]
    Alter: ClassVar[Operation]
    Describe: ClassVar[Operation]
    ClusterAction: ClassVar[Operation]
    DescribeConfigs: ClassVar[Operation]
    AlterConfigs: ClassVar[Operation]
    IdempotentWrite: ClassVar[Operation]
    All: ClassVar[Operation]

    def __init__(self, name: str) -> None:
        """The name of the case object."""
        self.name = name

    @classmethod
    def from_string(cls, operation: str) -> Operation:
        """The operation of that name, in any case; raises KafkaException when there is none."""
        for found in cls.values():
            if found.name.lower() == operation.lower():
                return found
        names = ",".join(map(str, cls.values()))
        raise KafkaException(f"{operation} not a valid operation name. The valid names are {names}")

    @classmethod
    def values(cls) -> list[Operation]:
        """All operations."""
        return [getattr(cls, name) for name in _NAMES]

    def __str__(self) -> str:
        """The name."""
        return self.name


_NAMES = (
    "Read",
    "Write",
    "Create",
    "Delete",
    "Alter",
    "Describe",
    "ClusterAction",
    "AlterConfigs",
    "DescribeConfigs",
    "IdempotentWrite",
    "All",
)
for _name in _NAMES:
    setattr(Operation, _name, Operation(_name))
