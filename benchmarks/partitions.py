"""What a partition costs to create and to delete, and whether it costs more the more there are.

    python -m benchmarks.partitions                                      # kafka_py beside kafka-1.1.1
    python -m benchmarks.partitions kafka_py kafka_py@HEAD~1 --sizes 100,400 -n 2

Each broker starts on a ZooKeeper of its own, and for every size in turn makes so many partitions, in topics of
`--per-topic`, and deletes them again. They are made when a client's metadata names a leader for each, and gone when
neither a directory nor a znode of them is left. Printed for each size: seconds, microseconds of the broker's processor
time per partition, requests that ZooKeeper got per partition, and after creating them the broker's memory and open
files; at last the ratios of the brokers, and of the largest size to the smallest. Whole, as JSON, in benchmarks/out.

Processor time is what to judge by on a machine that does other things too.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from benchmarks import frames
from benchmarks.brokers import Broker
from benchmarks.frames import BrokerError
from benchmarks.measure import Figures, process_cpu_s, process_rss_mb
from benchmarks.raw_client import Connection
from benchmarks.report import number
from benchmarks.run import save

POLL_S = 0.02
LONGEST_STEP_S = 900.0
REQUEST_TIMEOUT_MS = 200_000
BAR_WIDTH = 30
REQUEST_TIMED_OUT = 7
RECEIVED = re.compile(r"^Received: (\d+)", re.MULTILINE)
SHOWN = ("create_s", "create_cpu_us", "create_zk", "delete_s", "delete_cpu_us", "delete_zk", "rss_mb", "open_files")


class Progress:
    """A bar on the terminal; nothing when standard error is not one."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self.total = total

    def show(self, done: int) -> None:
        if sys.stderr.isatty():
            filled = BAR_WIDTH * done // self.total
            end = "\n" if done == self.total else ""
            bar = "#" * filled + "." * (BAR_WIDTH - filled)
            print(f"\r{self._label:34} [{bar}] {done}/{self.total}", end=end, file=sys.stderr, flush=True)


class Deadline:
    """Ends a wait that takes too long with a TimeoutError."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._end = time.perf_counter() + LONGEST_STEP_S

    def pause(self) -> None:
        if time.perf_counter() > self._end:
            raise TimeoutError(self._what)
        time.sleep(POLL_S)


class ZooKeeperOf:
    """The ZooKeeper of a broker: what it holds and how many requests it got."""

    def __init__(self, broker: Broker) -> None:
        self._host, _, port = broker.zookeeper_connect.partition(":")
        self._port = int(port)
        self._client = KazooClient(hosts=broker.zookeeper_connect)
        self._client.start()
        self.asked = 0  # by us

    def close(self) -> None:
        self._client.stop()
        self._client.close()

    def requests(self) -> int:
        """How many it has received from others than us, up to a few pings."""
        with socket.create_connection((self._host, self._port), 10) as connection:
            connection.sendall(b"srvr")
            with connection.makefile("rb") as answer:
                found = RECEIVED.search(answer.read().decode())
        assert found, "srvr tells how many packets were received"
        return int(found[1]) - self.asked

    def children(self, path: str) -> list[str]:
        self.asked += 1
        try:
            names: list[str] = self._client.get_children(path)
        except NoNodeError:
            return []
        return names


class Bench:
    """One broker under measurement."""

    def __init__(self, broker: Broker, per_topic: int) -> None:
        self._broker = broker
        self._per_topic = per_topic
        self._zookeeper = ZooKeeperOf(broker)
        assert broker.pid
        self._pid = broker.pid

    def close(self) -> None:
        self._zookeeper.close()

    def run(self, size: int) -> Figures:
        """Create so many partitions and delete them: what it took, and per partition."""
        topics: dict[str, int] = {}
        while (left := size - sum(topics.values())) > 0:
            topics[f"bench-{os.urandom(5).hex()}"] = min(left, self._per_topic)
        with Connection(self._broker.address, LONGEST_STEP_S) as connection:
            figures = self._step("create", size, lambda progress: self._create(connection, topics, progress))
            figures["rss_mb"] = process_rss_mb(self._pid)
            figures["open_files"] = float(len(os.listdir(f"/proc/{self._pid}/fd")))
            print_figures(self._broker.spec, size, figures)
            return figures | self._step(
                "delete", size, lambda progress: self._delete(connection, list(topics), progress)
            )

    def _step(self, name: str, size: int, work: Callable[[Progress], None]) -> Figures:
        requests, cpu, start = self._zookeeper.requests(), sum(process_cpu_s(self._pid)), time.perf_counter()
        work(Progress(f"{self._broker.spec}: {name}", size))
        return {
            f"{name}_s": time.perf_counter() - start,
            f"{name}_cpu_us": (sum(process_cpu_s(self._pid)) - cpu) / size * 1e6,
            f"{name}_zk": (self._zookeeper.requests() - requests) / size,
        }

    def _create(self, connection: Connection, topics: dict[str, int], progress: Progress) -> None:
        done = 0
        for topic, partitions in topics.items():
            self._create_topic(connection, topic, partitions)
            done += partitions
            progress.show(done)

    def _create_topic(self, connection: Connection, topic: str, partitions: int) -> None:
        deadline = Deadline(f"{topic} has no leaders")
        while True:
            request = frames.create_topic_request(topic, partitions, REQUEST_TIMEOUT_MS)
            try:
                frames.parse_create_topic(connection.call(request))
                break
            except BrokerError as error:  # it answers before it is a member of its cluster
                if error.code not in (frames.INVALID_REPLICATION_FACTOR, frames.NOT_CONTROLLER):
                    raise
            deadline.pause()
        while len(frames.parse_metadata(connection.call(frames.metadata_request(topic)))) < partitions:
            deadline.pause()

    def _delete(self, connection: Connection, topics: Sequence[str], progress: Progress) -> None:
        try:
            frames.parse_delete_topics(connection.call(frames.delete_topics_request(topics, REQUEST_TIMEOUT_MS)))
        except BrokerError as error:  # the deletion goes on
            if error.code != REQUEST_TIMED_OUT:
                raise
        deadline = Deadline("the topics are not gone")
        while self._zookeeper.children("/brokers/topics") or self._zookeeper.children("/admin/delete_topics"):
            deadline.pause()
        data = self._broker.home / "data"
        while left := sum(1 for path in data.iterdir() if path.name.startswith("bench-")):
            progress.show(max(progress.total - left, 0))
            deadline.pause()
        progress.show(progress.total)


def print_figures(spec: str, size: int, figures: Figures) -> None:
    shown = " ".join(f"{name}={number(figures[name])}" for name in SHOWN if name in figures)
    print(f"{spec:14} {size:6,} partitions: {shown}", flush=True)


def run(spec: str, sizes: Sequence[int], per_topic: int) -> dict[str, Figures]:
    """Start the broker, take it through the sizes, and print each."""
    found = {}
    with Broker(spec) as broker:
        bench = Bench(broker, per_topic)
        try:
            for size in sizes:
                figures = found[str(size)] = bench.run(size)
                print_figures(spec, size, {name: value for name, value in figures.items() if name.startswith("delete")})
        finally:
            bench.close()
    return found


def print_ratios(specs: Sequence[str], rounds: Sequence[dict[str, dict[str, Figures]]], sizes: Sequence[int]) -> None:
    """Of each size between the brokers, and of each broker between the sizes; medians over the rounds."""

    def median(spec: str, size: int, name: str) -> float:
        return statistics.median(one[spec][str(size)][name] for one in rounds)

    names = ("create_s", "create_cpu_us", "delete_s", "delete_cpu_us")
    if len(specs) == 2:
        for size in sizes:
            ratios = [f"{name} {median(specs[0], size, name) / median(specs[1], size, name):.2f}" for name in names]
            print(f"{specs[0]} / {specs[1]}, {size:,} partitions: " + ", ".join(ratios))
    least, most = min(sizes), max(sizes)
    for spec in specs if least < most else ():
        ratios = []
        for name in names:
            share = least / most if name.endswith("_s") else 1
            ratios.append(f"{name} {median(spec, most, name) / median(spec, least, name) * share:.2f}")
        print(f"{spec}: a partition of {most:,} / of {least:,}: " + ", ".join(ratios))


def main(arguments: Sequence[str]) -> int:
    """Run the brokers in turn, n times each."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that brokers are stopped
    parser = argparse.ArgumentParser(description="What a partition costs to create and to delete.")
    parser.add_argument("brokers", nargs="*", default=["kafka_py", "kafka-1.1.1"], metavar="BROKER")
    parser.add_argument("--sizes", default="1000,2000,5000", help="how many partitions, one after another")
    parser.add_argument("--per-topic", type=int, default=100)
    parser.add_argument("-n", "--rounds", type=int, default=1)
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.sizes.split(",")]
    rounds = [{spec: run(spec, sizes, options.per_topic) for spec in options.brokers} for _ in range(options.rounds)]
    print_ratios(options.brokers, rounds, sizes)
    save("partitions", options.brokers, {"per_topic": options.per_topic, "rounds": rounds})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
