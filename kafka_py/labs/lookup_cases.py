"""The function of lab 3 in the place of the index's own: which entry is the last that is not above an offset.

Ours, no original. Run by child.py.
"""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable
from typing import Any, Final
from unittest import mock

from kafka_py.labs.child import attempt, load
from kafka_py.labs.finding import Finding
from kafka_py.log.abstract_index import AbstractIndex
from kafka_py.log.index_entry import OffsetPosition
from kafka_py.log.offset_index import OffsetIndex

Slot = Callable[[Callable[[int], int], int, int], int]
_BASE: Final = 1000
_ENTRIES: Final = 1000
# A binary search of 1,000 entries looks at ten; one that is not quite the shortest may look at some more.
_MOST_LOOKS: Final = 24


class Looks:
    """Keys 0, 10, 20 …, and how many of them were looked at."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self.made = 0  # thread: its maker

    def __call__(self, n: int) -> int:
        if not 0 <= n < self.entries:
            raise IndexError(f"there is no entry {n}, only 0 to {self.entries - 1}")
        self.made += 1
        return 10 * n


def findings(file: pathlib.Path) -> list[Finding]:
    """The function is tried with keys of its own, and then in an index with a file."""
    slot: Slot = load(file).slot
    return [
        attempt("an index without entries", lambda: _of(slot, 0, 5, -1)),
        attempt("an offset below the first entry", lambda: _of(slot, 3, -1, -1)),
        attempt("an offset that has an entry", lambda: _of(slot, 7, 40, 4)),
        attempt("an offset between two entries", lambda: _of(slot, 7, 49, 4)),
        attempt("the first entry", lambda: _of(slot, 7, 0, 0)),
        attempt("behind the last entry", lambda: _of(slot, 7, 1000, 6)),
        attempt("a thousand entries, and few are looked at", _looks_at_few, slot),
        attempt("in an index with a file", _in_an_index, slot),
    ]


def _of(slot: Slot, entries: int, target: int, right: int) -> str:
    keys = list(range(0, 10 * entries, 10))[:8]
    found = slot(Looks(entries), entries, target)
    return "" if found == right else f"of {target} in {keys} it is {found}"


def _looks_at_few(slot: Slot) -> str:
    most = 0
    for target in range(0, 10 * _ENTRIES, 7):
        keys = Looks(_ENTRIES)
        found = slot(keys, _ENTRIES, target)
        if found != target // 10:
            return f"of {target} in 0, 10, 20 … 9990 it is {found}"
        most = max(most, keys.made)
    return "" if most <= _MOST_LOOKS else f"it looked at {most}"


def _in_an_index(slot: Slot) -> str:
    def in_its_place(index: Any, buffer: Any, target: int, entity: str) -> int:
        return slot(lambda n: int(index._key_at(buffer, n)), index.entries, target)

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(AbstractIndex, "_largest_lower_bound_slot_for", in_its_place),
    ):
        index = OffsetIndex(pathlib.Path(folder) / "00000000000000001000.index", _BASE, 50 * OffsetIndex.ENTRY_SIZE)
        try:
            for n in range(50):
                index.append(_BASE + 3 + 5 * n, 100 * n)
            for offset in range(_BASE, _BASE + 260):
                n = (offset - _BASE - 3) // 5
                right = (
                    OffsetPosition(_BASE, 0) if n < 0 else OffsetPosition(_BASE + 3 + 5 * min(n, 49), 100 * min(n, 49))
                )
                if index.lookup(offset) != right:
                    return f"offset {offset} is looked for from {index.lookup(offset)}, not from {right}"
        finally:
            index.close()
    return ""
