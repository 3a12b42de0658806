"""A mutable integer cell, handed to code that counts offsets forward.

Mirrors: core/src/main/scala/kafka/common/LongRef.scala @ 1.1.1
"""

from __future__ import annotations


class LongRef:
    """Holds one integer that a callee may advance.

    Mirrors: kafka.common.LongRef
    Thread: whichever holds the object; it has no lock.
    """

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value  # thread: of its owner

    def add_and_get(self, delta: int) -> int:
        """Add `delta` and return the new value."""
        self.value += delta
        return self.value

    def get_and_add(self, delta: int) -> int:
        """Return the value from before `delta` was added."""
        result = self.value
        self.value = result + delta
        return result

    def get_and_increment(self) -> int:
        """Return the value from before one was added."""
        return self.get_and_add(1)

    def increment_and_get(self) -> int:
        """Add one and return the new value."""
        return self.add_and_get(1)

    def get_and_decrement(self) -> int:
        """Return the value from before one was taken off."""
        return self.get_and_add(-1)

    def decrement_and_get(self) -> int:
        """Take one off and return the new value."""
        return self.add_and_get(-1)

    def __repr__(self) -> str:
        return f"LongRef({self.value})"
