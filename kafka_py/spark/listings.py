"""What was found in log directories the last time, so that a stream need not list thousands of them for each batch.

A directory whose time has not changed has the same files as before: segments, indexes and checkpoints come, go and are
renamed, all of which the directory's time shows. What grows in between is the last segment, so that one is looked at.

Read next: layout.py, which finds what is kept here
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

from kafka_py.common.utils.time import Time

T = TypeVar("T")
# A time this young may stay the same although something changes again: file systems count in ticks, old ones seconds.
_SETTLED_MS = 2_000


class _Stamp(NamedTuple):
    """What tells that a file or directory has not changed."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> _Stamp:
        stat = os.stat(path)
        return cls(stat.st_ino, stat.st_size, stat.st_mtime_ns)

    def is_settled(self, now_ms: int) -> bool:
        """Whether whatever happens from now on gives another stamp."""
        return now_ms - self.mtime_ns // 1_000_000 > _SETTLED_MS


class Listings:
    """Answers by path, each kept until what it was made of has changed.

    Thread: its transport's
    """

    def __init__(self, time: Time = Time.SYSTEM) -> None:
        self._time = time
        self._kept: dict[tuple[str, str], tuple[_Stamp, object]] = {}

    def of(self, path: str | os.PathLike[str], kind: str, find: Callable[[], T]) -> T:
        """What ``find`` returned when it was last called for this kind of thing at the path, or returns now.

        Raises FileNotFoundError when the path is gone, and what ``find`` raises.
        """
        key = kind, os.fspath(path)
        stamp = _Stamp.of(path)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == stamp:
            return cast("T", kept[1])
        settled = stamp.is_settled(self._time.milliseconds())  # looked at before, as something may change meanwhile
        found = find()
        if settled:
            self._kept[key] = stamp, found
        else:
            self._kept.pop(key, None)
        return found
