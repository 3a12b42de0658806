"""What the clients of a cluster tried, what was acknowledged and what they read: one line of JSON for each event.

Every event says when it was (seconds since the history began, by one clock for all), who, and what:

    begin    kind: plain, idempotent, transactional; the writer begins a life, its numbers begin anew
    try      topic, partition, n, txn (or null): written before the client is told to send
    ack      topic, partition, n, offset, or fail: the client gave up, the record may be there or not
    txn      txn, state: begun, committing, committed, aborting, aborted, unknown
    read     topic, partition, offset, isolation, and of the value: writer, n, or damaged
    end      topic, partition, isolation, end, reached: who reads for the last time, how far there was to read, and got
    commit   since, topic, partition, offset: a member of the group committed, and was told that it is done
    fetched  since, topic, partition, offset: the group's committed offset, as it was told
    fault    kind; healed kind: what was done to the cluster meanwhile
    unclean  topic, partition, since: acknowledged later than then, and before this event, it may be lost
"""

from __future__ import annotations

import json
import pathlib
import queue
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

Event = dict[str, Any]


class Value(NamedTuple):
    """A record's value: it tells where it belongs, and whether it is whole."""

    writer: str
    topic: str
    partition: int
    n: int

    def to_bytes(self, size: int) -> bytes:
        head = f"{self.writer}/{self.topic}/{self.partition}/{self.n}/"
        body = head.encode().ljust(size, b"x")
        return body + b"/%08x" % zlib.crc32(body)

    @classmethod
    def of(cls, data: bytes | None) -> Value | None:
        """None for one that is damaged."""
        body, slash, checksum = (data or b"").rpartition(b"/")
        if not slash or checksum != b"%08x" % zlib.crc32(body):
            return None
        writer, topic, partition, n, _ = body.decode().split("/")
        return cls(writer, topic, int(partition), int(n))


class History:
    """Events are written as they come, by any thread, and read when all is over.

    They go through a queue: whoever calls back from inside of a client may be interrupted by another event of its own.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._began = time.monotonic()
        self._thread = threading.Thread(name="fault-history", target=self._write_all, daemon=True)
        self._thread.start()

    def now(self) -> float:
        return round(time.monotonic() - self._began, 6)

    def write(self, who: str, what: str, **more: Any) -> float:
        """Note an event; the time it was given."""
        at = self.now()
        self._events.put({"at": at, "who": who, "what": what, **more})
        return at

    def close(self) -> None:
        """Once more does nothing."""
        if self._thread.is_alive():
            self._events.put(None)
            self._thread.join()

    def _write_all(self) -> None:
        with self.path.open("w") as file:
            while (event := self._events.get()) is not None:
                file.write(json.dumps(event, separators=(",", ":")) + "\n")


def read_history(path: pathlib.Path) -> Iterator[Event]:
    with path.open() as lines:
        for line in lines:
            yield json.loads(line)
