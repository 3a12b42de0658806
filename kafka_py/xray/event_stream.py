"""The broker's events as server-sent events, for a bounded number of watchers.

Ours, no original. A watcher that reads slowly holds nobody up: its socket fills, its thread waits (for 30 s at most),
and the ring of events goes on without it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka_py.common.utils.time import Time
from kafka_py.metrics.exporter import Page, Stream, json_page

if TYPE_CHECKING:
    from kafka_py.xray.controls import Controls

MOST_WATCHERS = 16
MOST_EVENTS = 2000  # in one batch, about
BATCH_MS = 50  # at least, from one batch to the next
HEARTBEAT_MS = 10_000  # after so long without events a comment tells that the connection lives


class EventStreams:
    """Hands out streams, at most sixteen at a time; the next watcher gets a 503."""

    def __init__(self, most: int = MOST_WATCHERS, time: Time = Time.SYSTEM) -> None:
        self._places = threading.BoundedSemaphore(most)
        self._time = time

    def open(self, controls: Controls, after: int) -> Page | Stream:
        """The events behind that id, as they come, to the end of the connection."""
        if not self._places.acquire(blocking=False):
            return json_page({"error": "too many watch already"}, 503)
        controls.watch()
        return Stream("text/event-stream; charset=utf-8", EventStream(self._places, controls, after, self._time))


class EventStream(Iterator[bytes]):
    """The batches for one watcher.

    Thread: that of its connection.
    """

    def __init__(self, places: threading.BoundedSemaphore, controls: Controls, after: int, time: Time) -> None:
        self._places = places
        self._controls = controls
        self._last = after  # thread: of the connection
        self._time = time
        self._told = False  # thread: of the connection
        self._closed = False  # thread: of the connection

    def __next__(self) -> bytes:
        """The next batch, or a comment."""
        if not self._told:
            self._told = True
            return b"retry: 1000\n\n"
        self._time.sleep(BATCH_MS)
        if self._controls.closed:
            raise StopIteration
        batch = self._controls.events.batch(self._last, MOST_EVENTS, HEARTBEAT_MS)
        if batch is None:
            return b": still here\n\n"
        self._last = batch.last_id
        return f"id: {batch.last_id}\nevent: batch\ndata: {batch.text}\n\n".encode()

    def close(self) -> None:
        """The watcher is gone; with the last one the taps are taken out."""
        if not self._closed:
            self._closed = True
            self._controls.unwatch()
            self._places.release()
