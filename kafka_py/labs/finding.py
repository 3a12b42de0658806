"""What a check finds.

Ours, no original.
"""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """What a check found of one part of an exercise; ``why`` says what is missing where it is not good."""

    text: str
    good: bool
    why: str = ""

    @property
    def line(self) -> str:
        """For people: ``[ok]`` or ``[--]``, and what it is about."""
        return f"[{'ok' if self.good else '--'}] {self.text}" + (f": {self.why}" if self.why and not self.good else "")
