"""What a client may want to do with a resource.

Mirrors: core/src/main/scala/kafka/security/auth/Operation.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import KafkaException


class Operation:
    """One kind of access; ``code`` is its number on the wire, that of Java's AclOperation.

    Mirrors: core/src/main/scala/kafka/security/auth/Operation.scala/Operation
    Left out: toJava, fromJava -- the ACL APIs come with security
    """

    __slots__ = ("code", "name")

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

    def __init__(self, name: str, code: int) -> None:
        """The name of the case object and its number."""
        self.name = name
        self.code = code

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
        return [getattr(cls, name) for name in _CODES]

    def __str__(self) -> str:
        """The name."""
        return self.name


_CODES = {
    "Read": 3,
    "Write": 4,
    "Create": 5,
    "Delete": 6,
    "Alter": 7,
    "Describe": 8,
    "ClusterAction": 9,
    "AlterConfigs": 11,
    "DescribeConfigs": 10,
    "IdempotentWrite": 12,
    "All": 2,
}
for _name, _code in _CODES.items():
    setattr(Operation, _name, Operation(_name, _code))
