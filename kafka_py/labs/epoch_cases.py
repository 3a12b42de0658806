"""The function of lab 8 in the place of LeaderEpochFileCache's own: where a leader epoch ended.

Ours, no original. Run by child.py.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final
from unittest import mock

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.labs.child import attempt, load
from kafka_py.labs.finding import Finding
from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import EpochEntry
from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_py.server.log_offset_metadata import LogOffsetMetadata

EndOffset = Callable[[Sequence[tuple[int, int]], int, int], int]
_EPOCHS: Final = ((2, 10), (3, 25), (6, 40))
_LOG_END: Final = 55
_CASES: Final = (
    ("a replica without epochs", (), 0, -1),
    ("who asks for no epoch", _EPOCHS, -1, -1),
    ("the newest epoch", _EPOCHS, 6, _LOG_END),
    ("an epoch that another followed", _EPOCHS, 2, 25),
    ("the epoch before a gap", _EPOCHS, 3, 40),
    ("an epoch in which nothing was written", _EPOCHS, 4, 40),
    ("an epoch older than all", _EPOCHS, 1, -1),
    ("an epoch that is yet to come", _EPOCHS, 7, -1),
)


class _Checkpoint:
    """Keeps the entries of a test in memory."""

    def __init__(self) -> None:
        self.entries: list[EpochEntry] = []  # thread: its maker

    def write(self, epochs: Collection[EpochEntry]) -> None:
        """Keep them."""
        self.entries = list(epochs)

    def read(self) -> list[EpochEntry]:
        """What was kept."""
        return self.entries


def findings(file: pathlib.Path) -> list[Finding]:
    """The function is tried case by case, and then in a cache that has been through two leaders."""
    end_offset_for: EndOffset = load(file).end_offset_for
    found = [attempt(text, _of, end_offset_for, *case) for text, *case in _CASES]
    return [*found, attempt("in a cache", _in_a_cache, end_offset_for)]


def _of(end_offset_for: EndOffset, epochs: Sequence[tuple[int, int]], requested: int, right: int) -> str:
    found = end_offset_for(list(epochs), requested, _LOG_END)
    return "" if found == right else f"epoch {requested} of {list(epochs)}, log end {_LOG_END}: it is not {found}"


def _in_a_cache(end_offset_for: EndOffset) -> str:
    def in_its_place(cache: Any, requested: int) -> int:
        epochs = [(entry.epoch, entry.start_offset) for entry in cache.epoch_entries()]
        return end_offset_for(epochs, requested, cache._leo().message_offset)

    with mock.patch.object(LeaderEpochFileCache, "end_offset_for", in_its_place):
        cache = LeaderEpochFileCache(TopicPartition("fork", 0), lambda: LogOffsetMetadata(30), _Checkpoint())
        cache.assign(0, 0)
        cache.assign(2, 12)
        found = [cache.end_offset_for(epoch) for epoch in (0, 1, 2, 3)]
    return "" if found == [12, 12, 30, -1] else f"epochs 0 to 3 of a log with epoch 0 from 0 and 2 from 12 on: {found}"
