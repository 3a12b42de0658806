"""A bound that a metric must keep.

Mirrors: clients/src/main/java/org/apache/kafka/common/metrics/Quota.java @ 1.1.1
"""

from __future__ import annotations


class Quota:
    """An upper or a lower bound.

    Mirrors: org.apache.kafka.common.metrics.Quota
    """

    __slots__ = ("_bound", "_upper")

    def __init__(self, bound: float, upper: bool) -> None:
        self._bound = bound
        self._upper = upper

    @staticmethod
    def upper_bound(upper_bound: float) -> Quota:
        """Values up to the bound are accepted."""
        return Quota(upper_bound, True)

    @staticmethod
    def lower_bound(lower_bound: float) -> Quota:
        """Values from the bound on are accepted."""
        return Quota(lower_bound, False)

    def is_upper_bound(self) -> bool:
        """Whether larger values break the quota."""
        return self._upper

    def bound(self) -> float:
        """The bound itself."""
        return self._bound

    def acceptable(self, value: float) -> bool:
        """Whether the value keeps the quota."""
        return value <= self._bound if self._upper else value >= self._bound

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quota):
            return NotImplemented
        return self._bound == other._bound and self._upper == other._upper

    def __hash__(self) -> int:
        return hash((self._bound, self._upper))

    def __repr__(self) -> str:
        return f"{'upper' if self._upper else 'lower'}={self._bound}"
