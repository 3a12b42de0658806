"""A well-behaved client beside the others: it writes a record, reads it back, and measures how long that takes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from types import TracebackType

from kafka_py.testing.local_cluster import LocalBroker
from tests.integration.clients import create_topic, topic_name, wait_for_leaders
from tests.integration.wire import (
    FETCH,
    METADATA,
    PRODUCE,
    Connection,
    batch,
    codes,
    fetch,
    metadata,
    produce,
    record,
    values_of,
)

PATIENCE_S = 2.0


class Canary:
    """One connection, never opened again: whoever disturbs it makes the next beat fail."""

    def __init__(self, broker: LocalBroker) -> None:
        self._topic = create_topic(broker.address, topic_name("canary")).encode()
        wait_for_leaders(broker.address, self._topic.decode(), 1)
        self._connection = Connection(broker)
        self._next_offset = 0
        self._guard = threading.Lock()

    def __enter__(self) -> Canary:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def beat(self) -> float:
        """Produce with acks=all, fetch it back, ask for metadata; how long each took on average, in seconds."""
        with self._guard:
            offset, correlation = self._next_offset, self._next_offset * 3
            data = batch(record(b"beat %d" % offset))
            began = time.monotonic()
            written = self._connection.call(PRODUCE, 5, produce(self._topic, data), correlation)
            assert codes(written) == [0]
            assert list(values_of(written, "base_offset")) == [offset]
            read = self._connection.call(FETCH, 7, fetch(self._topic, offset), correlation + 1)
            assert codes(read) == [0, 0]
            assert bytes(next(values_of(read, "record_set")))[61:] == data[61:]
            known = self._connection.call(METADATA, 5, metadata(self._topic), correlation + 2)
            assert codes(known) == [0, 0]
            took = time.monotonic() - began
            self._next_offset += 1
            assert took < PATIENCE_S, f"the canary waited {took:.3f} s"
            return took

    @contextlib.contextmanager
    def beating(self) -> Iterator[list[float]]:
        """Beat all the time while the block runs; the times. Whatever a beat raises is raised at the end."""
        stop = threading.Event()
        times: list[float] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                while not stop.wait(0.005):
                    times.append(self.beat())
            except BaseException as e:
                errors.append(e)

        thread = threading.Thread(target=run, name="canary")
        thread.start()
        try:
            yield times
        finally:
            stop.set()
            thread.join()
        if errors:
            raise errors[0]
