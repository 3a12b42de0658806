"""How many partitions a topic is to have.

Mirrors: clients/src/main/java/org/apache/kafka/clients/admin/NewPartitions.java @ 1.1.1 (here, since requests may not
         build on clients)
"""

from __future__ import annotations

from typing import Self


class NewPartitions:
    """The number of partitions after growth and, if the caller decides, the brokers of each new one.

    Mirrors: org.apache.kafka.clients.admin.NewPartitions
    """

    __slots__ = ("_new_assignments", "_total_count")

    def __init__(self, total_count: int, new_assignments: list[list[int]] | None) -> None:
        self._total_count = total_count
        self._new_assignments = new_assignments

    @classmethod
    def increase_to(cls, total_count: int, new_assignments: list[list[int]] | None = None) -> Self:
        """Grow to that many; new_assignments: the replicas of each new partition, the preferred leader first."""
        return cls(total_count, new_assignments)

    def total_count(self) -> int:
        """How many there will be."""
        return self._total_count

    def assignments(self) -> list[list[int]] | None:
        """The replicas of each new partition, None to leave that to the controller."""
        return self._new_assignments

    def __str__(self) -> str:
        assignments = "null" if self._new_assignments is None else self._new_assignments
        return f"(totalCount={self._total_count}, newAssignments={assignments})"

    __repr__ = __str__
