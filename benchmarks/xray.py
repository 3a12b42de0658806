"""What watching costs: the same paced load on one broker, with nobody at `/xray/events` and with three watchers there.

    python -m benchmarks.xray                      # 2,000 Produce requests a second, six pairs, one minute
    python -m benchmarks.xray --watchers 1 --pairs 10 --seconds 5

The load is small (one record of 100 bytes a request, on four connections), and steady: a request that is due is sent
unless too many on its connection are unanswered. Sections without and with watchers take turns, so that what else the
machine does falls on both. Printed are the requests answered a second, the broker's processor time for each, and the
medians of the ratios of neighbours. The watchers are a process of their own that reads and throws away.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence

from benchmarks import frames
from benchmarks.measure import Figures, process_cpu_s
from benchmarks.raw_client import Check, Connection, Session, Settings, produce_check
from kafka_py.testing.local_cluster import LocalCluster

CONNECTIONS = 4
DEPTH = 64  # unanswered requests on one connection
WARM_UP_S = 3.0
SETTLE_S = 0.7
WATCH = """
import select, socket, sys
port, count, after = map(int, sys.argv[1:])
socks = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
for sock in socks:
    sock.sendall(b"GET /xray/events?after=%d HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (after, port))
    sock.recv(65536)
print("watching", flush=True)
room = memoryview(bytearray(1 << 18))
while True:
    for sock in select.select(socks, [], [])[0]:
        if not sock.recv_into(room):
            sys.exit("the broker closed the connection")
"""


@contextlib.contextmanager
def watchers(port: int, count: int) -> Iterator[None]:
    """So many readers of the events while the block runs."""
    if not count:
        yield
        return
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/xray/state?view=broker", timeout=30) as answer:
        after = json.load(answer)["broker"]["lastEvent"]
    command = [sys.executable, "-c", WATCH, str(port), str(count), str(after)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise RuntimeError("nobody could watch")
        yield
        if process.poll() is not None:
            raise RuntimeError("the watchers ended before the load")
    finally:
        process.kill()
        process.communicate()


class PacedLoad:
    """Sends a request on each connection in turn, so many a second."""

    def __init__(self, connections: Sequence[Connection], request: bytes, per_second: float, check: Check) -> None:
        self._sockets = [connection.socket for connection in connections]
        self._request = request
        self._interval_s = len(self._sockets) / per_second
        self._in_flight = dict.fromkeys(self._sockets, 0)
        self._input = {sock: bytearray() for sock in self._sockets}
        self._check = check

    def run(self, seconds: float) -> int:
        """How many requests were answered in that time."""
        answered = 0
        due = time.perf_counter()
        end = due + seconds
        while (now := time.perf_counter()) < end:
            if now >= due:
                due += self._interval_s
                self._send()
                continue
            for sock in select.select(self._sockets, [], [], due - now)[0]:
                answered += self._receive(sock)
        return answered

    def _send(self) -> None:
        for sock in self._sockets:
            if self._in_flight[sock] < DEPTH:
                sock.sendall(self._request)
                self._in_flight[sock] += 1

    def _receive(self, sock: socket.socket) -> int:
        """Take what has arrived on it; how many whole answers that completed."""
        data = sock.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker closed the connection")
        buffer = self._input[sock]
        buffer += data
        start = count = 0
        while len(buffer) - start >= 4:
            size = 4 + int.from_bytes(buffer[start : start + 4], "big")
            if len(buffer) - start < size:
                break
            self._check(buffer, start)
            start += size
            count += 1
        del buffer[:start]
        self._in_flight[sock] -= count
        return count


def section(load: PacedLoad, pid: int, seconds: float) -> Figures:
    """One measured section of the load."""
    load.run(SETTLE_S)
    before, began = sum(process_cpu_s(pid)), time.perf_counter()
    answered = load.run(seconds)
    wall = time.perf_counter() - began
    return {"requests_s": answered / wall, "cpu_us": (sum(process_cpu_s(pid)) - before) / answered * 1e6}


def compared(without: Sequence[Figures], with_: Sequence[Figures]) -> Figures:
    """Medians of both, and of the ratios of neighbours."""
    pairs = list(zip(without, with_, strict=True))
    figures = {}
    for name in ("requests_s", "cpu_us"):
        figures[f"{name}_alone"] = statistics.median(a[name] for a, _ in pairs)
        figures[f"{name}_watched"] = statistics.median(b[name] for _, b in pairs)
        figures[f"{name}_ratio"] = statistics.median(b[name] / a[name] for a, b in pairs)
    return figures


def line(figures: Figures) -> str:
    return f"{figures['requests_s']:6.0f}/s {figures['cpu_us']:5.0f} us"


def run(options: argparse.Namespace) -> Figures:
    """Start a broker and measure; prints each pair."""
    properties = {"kafka.py.xray": options.xray, "kafka.py.cpu.affinity": options.affinity}
    with LocalCluster(1, properties=properties) as cluster, contextlib.ExitStack() as stack:
        broker = cluster.brokers[0]
        session = stack.enter_context(Session(Settings("127.0.0.1", broker.port, broker.process.pid)))
        topic = session.create_topic()
        connections = [stack.enter_context(session.connect(topic)) for _ in range(CONNECTIONS)]
        request = session.produce_frame(topic, 0, frames.record_batch([bytes(100)], int(time.time() * 1000)))
        load = PacedLoad(connections, request, options.rate, produce_check(topic))
        load.run(WARM_UP_S)
        found: tuple[list[Figures], list[Figures]] = ([], [])
        for _ in range(options.pairs):
            for results, count in zip(found, (0, options.watchers), strict=True):
                with watchers(broker.metrics_port, count):
                    results.append(section(load, broker.process.pid, options.seconds))
            print(*(line(results[-1]) for results in found), sep="   ", flush=True)
    return compared(*found)


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole.add_argument("--rate", type=float, default=2000, help="requests a second")
    whole.add_argument("--watchers", type=int, default=3)
    whole.add_argument("--pairs", type=int, default=6)
    whole.add_argument("--seconds", type=float, default=4.0, help="length of a measured section")
    whole.add_argument("--xray", choices=("on", "step", "off"), default="on")
    whole.add_argument("--affinity", default="none", help="kafka.py.cpu.affinity of the broker")
    return whole


if __name__ == "__main__":
    print(json.dumps({name: round(value, 3) for name, value in run(parser().parse_args()).items()}))
