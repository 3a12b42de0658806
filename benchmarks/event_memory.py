"""What events cost in memory: so many a second into the X-ray's ring for a while, with watchers that read all of them.

    python -m benchmarks.event_memory                                # 100,000 a second for 30 s, three watchers
    python -m benchmarks.event_memory --rate 20000 --seconds 5

No broker could make so many: threads of this process write what a Produce tells when it appends, and others read
blocks of JSON as the streams of `/xray/events` do. Printed are the events a second, what the watchers read and missed,
and the resident memory after a quarter of the time and at its end.
"""

from __future__ import annotations

import argparse
import json
import resource
import threading
import time

from benchmarks.measure import Figures
from kafka_py.xray.event_log import EventLog
from kafka_py.xray.passage import Passage, RequestInfo

WRITERS = 2
SLICE_S = 0.01
BATCH = 2_000  # events a watcher asks for


def resident_mb() -> float:
    """Of this process, now."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


class Watcher(threading.Thread):
    """Reads what comes, as JSON."""

    def __init__(self, events: EventLog, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        self._events = events
        self._ended = ended
        self.bytes_read = 0

    def run(self) -> None:
        after = 0
        while not self._ended.is_set():
            batch = self._events.batch(after, BATCH, 100)
            if batch is not None:
                after = batch.last_id
                self.bytes_read += len(batch.text)


def write(events: EventLog, per_second: float, seconds: float) -> None:
    """Put so many events a second into the ring."""
    request = RequestInfo(7, "Produce", 7, "perf-producer", "127.0.0.1:9092-127.0.0.1:50000-0", 12, ("orders",))
    due = time.perf_counter()
    end, written = due + seconds, 0
    while (now := time.perf_counter()) < end:
        if now < due:
            time.sleep(due - now)
        due += SLICE_S
        for _ in range(round(per_second * SLICE_S)):
            fields = {"partition": "orders-0", "base": written, "bytes": 77}
            events.put("append", Passage("append", "Partition.append_records_to_leader", request, "orders", "", fields))
            written += 1


def write_together(events: EventLog, share: float, seconds: float) -> None:
    """All writers at once."""
    writers = [threading.Thread(target=write, args=(events, share, seconds)) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()


def run(options: argparse.Namespace) -> Figures:
    """Write and watch; the figures of it."""
    events, ended = EventLog(), threading.Event()
    watchers = [Watcher(events, ended) for _ in range(options.watchers)]
    for watcher in watchers:
        watcher.start()
    share = options.rate / WRITERS
    began = time.perf_counter()
    write_together(events, share, options.seconds / 4)
    quarter = resident_mb()
    write_together(events, share, options.seconds * 3 / 4)
    wall = time.perf_counter() - began
    ended.set()
    for watcher in watchers:
        watcher.join()
    return {
        "events_s": events.last_id / wall,
        "read_mb": sum(watcher.bytes_read for watcher in watchers) / 1e6,
        "missed": float(events.missed),
        "quarter_mb": quarter,
        "end_mb": resident_mb(),
    }


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole.add_argument("--rate", type=float, default=100_000, help="events a second")
    whole.add_argument("--watchers", type=int, default=3)
    whole.add_argument("--seconds", type=float, default=30.0)
    return whole


if __name__ == "__main__":
    print(json.dumps({name: round(value, 1) for name, value in run(parser().parse_args()).items()}))
