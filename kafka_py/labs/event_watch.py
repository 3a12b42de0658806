"""Keeps what a broker's X-ray tells of some kinds of events, while an exercise runs.

Ours, no original.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.labs.clients import wait_for
from kafka_py.labs.xray_client import XrayClient


class EventWatch:
    """Events of the kinds that are wanted, from now until the broker ends.

    Thread: of its owner; the thread event-watch reads
    """

    def __init__(self, xray: XrayClient, kinds: Collection[str]) -> None:
        """Returns when the broker is watched. Raises OSError, TimeoutError."""
        self._xray = xray
        self._kinds = kinds
        self._begin = xray.state("broker")["lastEvent"]
        self._seen = self._begin  # volatile: event-watch writes it
        self._found: list[dict[str, Any]] = []  # atomic: append, list(), slices
        KafkaThread.daemon_thread("event-watch", self._read).start()
        wait_for(lambda: self._seen > self._begin, "a first event")

    def _read(self) -> None:
        for event in self._xray.events(self._begin):
            self._seen = event["id"]
            if event["kind"] in self._kinds:
                self._found.append(event)

    def events(self) -> list[dict[str, Any]]:
        """What has come, in order."""
        return list(self._found)
