"""What a group was, from look to look: its generations, states and members, while an exercise runs.

Ours, no original.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.time import Time
from kafka_py.labs.xray_client import XrayClient

_EVERY_MS = 100


class GroupLook(NamedTuple):
    """A group at one moment; ``partitions``: how many each member has, by the member's id."""

    state: str
    generation: int
    protocol: str
    leader: str
    partitions: Mapping[str, int]


class GroupWatch:
    """Looks at a group ten times a second, and keeps what differs from the look before.

    Thread: of its owner; the thread group-watch looks
    """

    def __init__(self, xray: XrayClient, group: str) -> None:
        self._xray = xray
        self._group = group
        self._looks: list[GroupLook] = []  # atomic: append, list(), slices
        self._ended = False  # volatile: its owner writes it
        self._thread = KafkaThread.daemon_thread("group-watch", self._watch)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._ended = True
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended:
            try:
                found = [one for one in self._xray.state("groups") or [] if one["id"] == self._group]
            except (OSError, ValueError):
                found = []  # the broker is away, or being started
            if found and (not self._looks or self._look(found[0]) != self._looks[-1]):
                self._looks.append(self._look(found[0]))
            Time.SYSTEM.sleep(_EVERY_MS)

    @staticmethod
    def _look(told: Mapping[str, Any]) -> GroupLook:
        partitions = {member["id"]: len(member["partitions"] or ()) for member in told["members"]}
        return GroupLook(told["state"], told["generation"], told["protocol"] or "", told["leader"] or "", partitions)

    @property
    def looks(self) -> list[GroupLook]:
        """All that differed, in order."""
        return list(self._looks)

    @property
    def stable(self) -> list[GroupLook]:
        """Those at which the group was Stable."""
        return [look for look in self.looks if look.state == "Stable"]
