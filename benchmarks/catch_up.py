"""How fast a follower that was away catches up, ours beside Apache Kafka's, behind a leader of ours.

    python -m benchmarks.catch_up                    # 1 GB, each follower once
    python -m benchmarks.catch_up --mb 300 -n 3

Two brokers; the leader is ours. The follower is stopped, so many MB are written to the leader in batches of 64 KiB (how
fast, is told, too), the follower is started, and from when it serves on it is timed until it is in the ISR again.
The followers take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import statistics
import tempfile
import time

from benchmarks import frames
from benchmarks.frames import Address
from benchmarks.measure import Figures
from benchmarks.raw_client import Connection
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.mixed_cluster import APACHE, OURS, MixedCluster

TOPIC = "caught-up"
VALUE = bytes(range(256)) * 4
CONNECTIONS = 4
PROPERTIES = {"log.segment.bytes": "104857600", "replica.fetch.max.bytes": "1048576"}


def fill(address: Address, mb: float) -> float:
    """Write so many MB, acks=1; MB per second."""
    batch = frames.record_batch([VALUE] * 64, int(time.time() * 1000))
    request = frames.produce_request(3, TOPIC, 0, batch)
    error_at = frames.produce_error_at(TOPIC)
    rounds, began = max(1, round(mb * 1e6 / len(batch) / CONNECTIONS)), time.perf_counter()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(Connection(address)) for _ in range(CONNECTIONS)]
        for _ in range(rounds):
            for connection in connections:
                connection.send(request)
            for connection in connections:
                frames.check_produced(connection.receive(), error_at)
    count = rounds * CONNECTIONS
    return count * len(batch) / 1e6 / (time.perf_counter() - began)


def catch_up(apache: ApacheKafka, kind: str, mb: float, home: pathlib.Path) -> Figures:
    """One follower that was away while so much was written."""
    with MixedCluster(apache, home, (OURS, kind), properties=PROPERTIES) as cluster:
        cluster.create(TOPIC, [[0, 1]])
        cluster.stop(1)
        cluster.wait_for_isr(TOPIC, 1)
        written = fill(Address("127.0.0.1", cluster.brokers[0].port), mb)
        cluster.start(1)
        began = time.perf_counter()
        while 1 not in cluster.state(TOPIC, 0)["isr"]:
            time.sleep(0.01)
        return {"produce_mb_s": written, "catch_up_mb_s": mb / (time.perf_counter() - began)}


def run(options: argparse.Namespace) -> Figures:
    """Medians of both followers, and what ours is to theirs and to the rate at which the leader was written to."""
    found: dict[str, list[Figures]] = {OURS: [], APACHE: []}
    with tempfile.TemporaryDirectory(prefix="catch-up-") as folder:
        apache = ApacheKafka(pathlib.Path(folder))
        for turn in range(options.n):
            for kind, figures in found.items():
                figures.append(catch_up(apache, kind, options.mb, pathlib.Path(folder, f"{kind}-{turn}")))
                print(kind, json.dumps({name: round(value, 1) for name, value in figures[-1].items()}), flush=True)
    ours = statistics.median(each["catch_up_mb_s"] for each in found[OURS])
    theirs = statistics.median(each["catch_up_mb_s"] for each in found[APACHE])
    produced = statistics.median(each["produce_mb_s"] for each in [*found[OURS], *found[APACHE]])
    return {"ours_mb_s": ours, "beside_apache": ours / theirs, "beside_produce": ours / produced}


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole.add_argument("--mb", type=float, default=1000)
    whole.add_argument("-n", type=int, default=1, help="times each")
    return whole


if __name__ == "__main__":
    print(json.dumps({name: round(value, 2) for name, value in run(parser().parse_args()).items()}))
