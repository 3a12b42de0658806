"""The kinds of quota.

Mirrors: core/src/main/scala/kafka/server/QuotaFactory.scala @ 1.1.1 (QuotaType, in a file of its own so that the
managers need not import the factory that builds them)
"""

from __future__ import annotations

from typing import ClassVar


class QuotaType:
    """What a quota limits; the name appears in sensor and metric names.

    Mirrors: kafka.server.QuotaType
    """

    __slots__ = ("name",)

    Fetch: ClassVar[QuotaType]
    Produce: ClassVar[QuotaType]
    Request: ClassVar[QuotaType]
    LeaderReplication: ClassVar[QuotaType]
    FollowerReplication: ClassVar[QuotaType]
    AlterLogDirsReplication: ClassVar[QuotaType]

    def __init__(self, name: str) -> None:
        """The name of the case object."""
        self.name = name

    def __str__(self) -> str:
        """The name."""
        return self.name


for _name in ("Fetch", "Produce", "Request", "LeaderReplication", "FollowerReplication", "AlterLogDirsReplication"):
    setattr(QuotaType, _name, QuotaType(_name))
