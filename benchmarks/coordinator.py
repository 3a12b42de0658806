"""What groups and transactions cost: loading groups, committing offsets, committing transactions.

    python -m benchmarks.coordinator                          # kafka_py beside kafka-1.1.1
    python -m benchmarks.coordinator kafka_py --groups 100 --seconds 2

Each broker starts on a ZooKeeper of its own. So many groups commit for ten partitions each; then the broker is stopped
and started again, so that the coordinator is a new one, which has to read what the old one wrote. Printed are

    load_ms          milliseconds it spent on reading, by its own log, over all partitions of __consumer_offsets
    served_s         seconds from its first answer to the last group whose offsets it tells
    commit_p50_us    of commits of one member of a group, one after another; commit_p99_us of the slowest hundredth
    transactions_s   transactions of ten records a second, of one producer, one after another

Clients are librdkafka's, for both alike. Whole, as JSON, in benchmarks/out.
"""

from __future__ import annotations

import argparse
import re
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from benchmarks import frames
from benchmarks.brokers import Broker
from benchmarks.frames import BrokerError, Reader
from benchmarks.measure import Figures, quantile
from benchmarks.raw_client import Connection
from benchmarks.report import number
from benchmarks.run import save

OFFSET_COMMIT, OFFSET_FETCH = 8, 9
PARTITIONS = 10
RECORDS = 10
POLL_S = 0.005
LONGEST_WAIT_S = 120.0
# of a coordinator that is not there yet: loading, not available, not the coordinator
NOT_YET = (14, 15, 16)
LOADED = re.compile(r"Finished loading offsets and group metadata from \S+ in (\d+) milliseconds")
PROPERTIES = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class RestartedBroker(Broker):
    """A broker that can be started again on what it has written."""

    def restart(self) -> None:
        """Stop it and start it; back when it answers."""
        assert self._process is not None
        self._process.stop(30)
        self._start_process()

    def log_text(self) -> str:
        """All that it has logged."""
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.home.rglob("server.log*")))


def offset_commit_request(group: str, topic: str, offset: int) -> bytes:
    """Version 2, without a member, for PARTITIONS partitions."""
    parts = [frames.string(group), struct.pack(">i", -1), frames.string(""), struct.pack(">q", -1)]
    parts += [struct.pack(">i", 1), frames.string(topic), struct.pack(">i", PARTITIONS)]
    parts += [struct.pack(">iq", partition, offset) + frames.string("") for partition in range(PARTITIONS)]
    return frames.request(OFFSET_COMMIT, 2, 1, b"".join(parts))


def offset_fetch_request(group: str, topic: str) -> bytes:
    """Version 1, for PARTITIONS partitions."""
    ids = struct.pack(f">{PARTITIONS}i", *range(PARTITIONS))
    parts = [frames.string(group), struct.pack(">i", 1), frames.string(topic), struct.pack(">i", PARTITIONS), ids]
    return frames.request(OFFSET_FETCH, 1, 1, b"".join(parts))


def parse_offset_commit(answer: bytes, topic: str) -> None:
    """Raises BrokerError unless every partition was committed."""
    position = 8 + 4 + len(frames.string(topic)) + 4
    for _, code in struct.iter_unpack(">ih", answer[position:]):
        if code:
            raise BrokerError("OffsetCommit", code)


def parse_offset_fetch(answer: bytes, topic: str) -> set[int]:
    """The offsets of all partitions; raises BrokerError."""
    reader = Reader(answer)
    reader.position += 4 + len(frames.string(topic)) + 4
    found = set()
    for _ in range(PARTITIONS):
        _, offset, size = struct.unpack_from(">iqh", answer, reader.position)
        reader.position += 14 + max(size, 0)
        (code,) = struct.unpack_from(">h", answer, reader.position)
        reader.position += 2
        if code:
            raise BrokerError("OffsetFetch", code)
        found.add(offset)
    return found


def until_there(ask: Callable[[], None]) -> None:
    """Ask again until the coordinator is there; raises BrokerError for other errors, TimeoutError."""
    deadline = time.perf_counter() + LONGEST_WAIT_S
    while True:
        try:
            ask()
            return
        except BrokerError as error:
            if error.code not in NOT_YET:
                raise
        if time.perf_counter() > deadline:
            raise TimeoutError("there is no coordinator")
        time.sleep(POLL_S)


class Bench:
    """One broker under measurement."""

    def __init__(self, broker: RestartedBroker, groups: int, seconds: float) -> None:
        self._broker = broker
        self._groups = [f"group-{number:05}" for number in range(groups)]
        self._seconds = seconds
        self._topic = "bench-committed"
        self._servers = f"{broker.address.host}:{broker.address.port}"

    def run(self) -> Figures:
        """All figures of the broker."""
        self._create_topic()
        return {**self._commits(), **self._transactions(), **self._load()}

    def _create_topic(self) -> None:
        def create() -> None:
            with Connection(self._broker.address) as connection:
                frames.parse_create_topic(connection.call(frames.create_topic_request(self._topic, PARTITIONS)))

        deadline = time.perf_counter() + LONGEST_WAIT_S
        while True:
            try:
                return create()
            except BrokerError as error:  # it answers before it is a member of its cluster
                not_yet = error.code in (frames.INVALID_REPLICATION_FACTOR, frames.NOT_CONTROLLER)
                if not not_yet or time.perf_counter() > deadline:
                    raise
            time.sleep(0.1)

    def _commits(self) -> Figures:
        settings = {"bootstrap.servers": self._servers, "group.id": "bench", "enable.auto.commit": False}
        consumer = Consumer(settings)
        consumer.subscribe([self._topic])
        deadline = time.perf_counter() + LONGEST_WAIT_S
        while not consumer.assignment():
            consumer.poll(0.1)
            if time.perf_counter() > deadline:
                raise TimeoutError("the member got no partitions")
        took, end, offset = [], time.perf_counter() + self._seconds, 0
        while (before := time.perf_counter()) < end:
            offset += 1
            consumer.commit(offsets=[Position(self._topic, 0, offset)], asynchronous=False)
            took.append(time.perf_counter() - before)
        consumer.close()
        ordered = sorted(took[len(took) // 5 :])  # the first fifth warms up
        return {"commit_p50_us": quantile(ordered, 0.5) * 1e6, "commit_p99_us": quantile(ordered, 0.99) * 1e6}

    def _transactions(self) -> Figures:
        producer = Producer({"bootstrap.servers": self._servers, "transactional.id": "bench", "linger.ms": 0})
        producer.init_transactions(LONGEST_WAIT_S)
        done, before = 0, time.perf_counter()
        while time.perf_counter() - before < self._seconds:
            producer.begin_transaction()
            for partition in range(RECORDS):
                producer.produce(self._topic, b"x" * 100, partition=partition % PARTITIONS)
            producer.commit_transaction(LONGEST_WAIT_S)
            done += 1
        return {"transactions_s": done / (time.perf_counter() - before)}

    def _load(self) -> Figures:
        with Connection(self._broker.address) as connection:
            for number_, group in enumerate(self._groups):

                def commit(group: str = group, offset: int = number_) -> None:
                    request = offset_commit_request(group, self._topic, offset)
                    parse_offset_commit(connection.call(request), self._topic)

                until_there(commit)
        before = len(LOADED.findall(self._broker.log_text()))
        self._broker.restart()
        start = time.perf_counter()
        with Connection(self._broker.address) as connection:
            for number_, group in enumerate(self._groups):

                def fetch(group: str = group, offset: int = number_) -> None:
                    found = parse_offset_fetch(connection.call(offset_fetch_request(group, self._topic)), self._topic)
                    assert found == {offset}, f"{group} is at {found}, not at {offset}"

                until_there(fetch)
        served = time.perf_counter() - start
        loads = LOADED.findall(self._broker.log_text())[before:]
        return {"load_ms": float(sum(map(int, loads))), "served_s": served}


def run(spec: str, groups: int, seconds: float) -> Figures:
    """Start the broker and measure it."""
    broker = RestartedBroker(spec, properties=PROPERTIES)
    with broker:
        figures = Bench(broker, groups, seconds).run()
    print(f"{spec:14} " + " ".join(f"{name}={number(value)}" for name, value in figures.items()), flush=True)
    return figures


def main(arguments: Sequence[str]) -> int:
    """Run the brokers in turn, n times each."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that brokers are stopped
    parser = argparse.ArgumentParser(description="What groups and transactions cost.")
    parser.add_argument("brokers", nargs="*", default=["kafka_py", "kafka-1.1.1"], metavar="BROKER")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of commits, and of transactions")
    parser.add_argument("-n", "--rounds", type=int, default=1)
    options = parser.parse_args(arguments)
    rounds = [
        {spec: run(spec, options.groups, options.seconds) for spec in options.brokers} for _ in range(options.rounds)
    ]
    if len(options.brokers) == 2:
        ours, theirs = (rounds[-1][spec] for spec in options.brokers)
        print(", ".join(f"{name} {ours[name] / theirs[name]:.2f}" for name in ours if theirs[name]))
    save("coordinator", options.brokers, {"groups": options.groups, "rounds": rounds})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
