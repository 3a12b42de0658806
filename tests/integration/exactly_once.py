"""Consume, transform, produce, exactly once, while clients, leaders and coordinators are killed: driver and checker.

Some workers, each a process of its own with a transactional id of its own, share a consumer group. In each transaction
a worker copies a few records of the input to two outputs, with the partition and offset each came from, and commits
its offsets with them; every now and then it aborts on purpose, and such copies say so. A plan that follows from a
number kills (SIGKILL) workers, the leaders of the topics, and the coordinators of the group and of the transactions;
it also holds a worker (SIGSTOP), starts another with its id, and lets the first one go on as a zombie.

A consumer with isolation.level=read_committed reads along. In the end it, and another one that begins then, must have
seen each record of the input once in each output, in the order of its partition, and nothing that was aborted; no
partition may hold back what is committed, and the group's offsets stand at the end of the input. What is expected is
read from the input topic, for only that tells what became of a record whose producer never heard of it.

tests/integration/test_exactly_once.py does so with a few kills. Many:

    python -m tests.integration.exactly_once --kills 50 --seed 1 [--home DIRECTORY]

prints what is killed and what was found, keeps the logs in the directory if one is given, and ends with 1 if anything
is missing or there twice.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import faulthandler
import functools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]
from kazoo.exceptions import KazooException

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from kafka_py.zk.scala_map_order import java_string_hash
from tests.integration.support import wait_until, wait_until_forgotten, zookeeper

if TYPE_CHECKING:
    from kazoo.client import KazooClient

ROOT = pathlib.Path(__file__).parents[2]
INPUT, OUTPUTS = "eos-in", ("eos-out", "eos-audit")
OFFSETS_TOPIC, TXN_TOPIC = "__consumer_offsets", "__transaction_state"
GROUP = "eos-copiers"
PARTITIONS = 4
COORDINATED_PARTITIONS = 5
WORKERS = 3
RECORDS_PER_S = 100
MOST_IN_A_TRANSACTION = 50
ABORTED_ON_PURPOSE = 0.1
KINDS = ("worker", "leader", "group coordinator", "transaction coordinator")
STRATEGIES = ("range", "cooperative-sticky")
STALLED_S = 90  # nothing new for so long: it will not come any more
# how a worker ends that another took the place of, or that knows no way on; and one that does not end when told to
FENCED, STARTED_OVER, DID_NOT_OBEY = 3, 4, 5
LOST_ITS_PLACE = 6  # a rebalance began while it went back to what it had read
HUNG = -signal.SIGALRM  # within the client

PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": str(COORDINATED_PARTITIONS),
    "offsets.topic.segment.bytes": "100000",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": str(COORDINATED_PARTITIONS),
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.segment.bytes": "100000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "3000",
    "leader.imbalance.check.interval.seconds": "5",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.dedupe.buffer.size": "2000000",
}
Source = tuple[int, int]  # partition and offset in the input


# ---- what was copied, and whether that is right


class Copy(NamedTuple):
    """A record of an output: where it stands, what it is a copy of, and what the worker was going to do with it."""

    partition: int
    offset: int
    source: Source
    payload: str
    attempt: str
    to_be_aborted: bool

    @classmethod
    def of(cls, partition: int, offset: int, value: bytes) -> Copy:
        source_partition, source_offset, payload, attempt, end = value.decode().split("|")
        return cls(partition, offset, (int(source_partition), int(source_offset)), payload, attempt, end == "abort")

    @staticmethod
    def value(source: Source, payload: str, attempt: str, to_be_aborted: bool) -> bytes:
        return f"{source[0]}|{source[1]}|{payload}|{attempt}|{'abort' if to_be_aborted else 'commit'}".encode()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is wrong with an output; nothing if all are empty."""

    missing: list[Source]
    twice: list[Source]
    aborted: list[Copy]
    foreign: list[Copy]
    disordered: list[Copy]

    @property
    def is_exactly_once(self) -> bool:
        return not any(dataclasses.astuple(self))

    def __str__(self) -> str:
        if self.is_exactly_once:
            return "exactly once"
        found = ((field.name, getattr(self, field.name)) for field in dataclasses.fields(self))
        return ", ".join(f"{len(those)} {name} ({those[:3]} …)" for name, those in found if those)


def judge(source: Mapping[Source, str], copies: Iterable[Copy]) -> Verdict:
    """Compare an output with the input: partition and offset -> payload."""
    seen: collections.Counter[Source] = collections.Counter()
    last = dict.fromkeys(range(PARTITIONS), -1)
    aborted, foreign, disordered = [], [], []
    for copy in sorted(copies):
        if copy.to_be_aborted:
            aborted.append(copy)
        elif source.get(copy.source) != copy.payload or copy.partition != copy.source[0]:
            foreign.append(copy)
        else:
            seen[copy.source] += 1
            if copy.source[1] < last[copy.partition]:
                disordered.append(copy)
            last[copy.partition] = max(last[copy.partition], copy.source[1])
    twice = [it for it, count in seen.items() if count > 1]
    return Verdict(sorted(set(source) - set(seen)), twice, aborted, foreign, disordered)


# ---- a worker


class MustAbort(Exception):
    """The transaction cannot be committed, the next one may."""


class Worker:
    """Copies until SIGTERM; runs in a process of its own."""

    def __init__(self, bootstrap: str, transactional_id: str, seed: int, strategy: str) -> None:
        self._rng = random.Random(seed)
        self._stopping = threading.Event()
        self._name = f"{transactional_id}-{os.getpid()}"
        self._attempts = 0
        self._batch: list[Any] = []
        self._assigned: set[int] = set()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "partition.assignment.strategy": strategy,
                "session.timeout.ms": 3000,
                "heartbeat.interval.ms": 300,
                "topic.metadata.refresh.interval.ms": 2000,
                "log_level": 3,
            }
        )
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                # Brokers may be away for longer: transactions are aborted while their records and offsets are still on
                # their way, and what comes later must not be taken for part of the next one.
                "transaction.timeout.ms": 10000,
                "linger.ms": 0,
                "log_level": 3,
            }
        )

    def run(self) -> None:
        signal.signal(signal.SIGTERM, lambda number, frame: self._stopping.set())
        faulthandler.register(signal.SIGUSR1)
        _persistently(lambda: self._producer.init_transactions(20))
        print("ready", flush=True)
        self._consumer.subscribe([INPUT], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke)
        while not self._stopping.is_set():
            self._fill()
            if self._batch:
                with _or_die(40):
                    self._transact()
        self._consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._assigned |= {it.partition for it in partitions}

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """What was read of these partitions, and not yet copied, is another's now."""
        gone = {it.partition for it in partitions}
        self._assigned -= gone
        self._batch = [message for message in self._batch if message.partition() not in gone]

    def _fill(self) -> None:
        """Read some records; the callbacks above run meanwhile, and at no other time."""
        until = time.monotonic() + 0.1
        size = self._rng.randrange(1, MOST_IN_A_TRANSACTION)
        while len(self._batch) < size and (left := until - time.monotonic()) > 0:
            message = self._consumer.poll(left)
            if message is not None and message.error() is None:
                self._batch.append(message)

    def _transact(self) -> None:
        batch, self._batch = self._batch, []
        on_purpose = self._rng.random() < ABORTED_ON_PURPOSE
        self._attempts += 1
        _persistently(self._producer.begin_transaction)
        try:
            self._copy(batch, on_purpose)
            if on_purpose:
                _persistently(lambda: self._producer.flush(20))
                raise MustAbort("on purpose")
            ends = {it.partition(): it.offset() + 1 for it in batch}
            offsets = [TopicPartition(INPUT, partition, end) for partition, end in ends.items()]
            metadata = self._consumer.consumer_group_metadata()
            with _or_die(15):
                _persistently(lambda: self._producer.send_offsets_to_transaction(offsets, metadata, 10))
            signal.alarm(40)
            _persistently(lambda: self._producer.commit_transaction(20))
            print(f"committed {len(batch)}", flush=True)
        except MustAbort as e:
            print(f"aborted {len(batch)} {e}", flush=True)
            _persistently(lambda: self._producer.abort_transaction(20), aborts=True)
            self._rewind(batch)

    def _copy(self, batch: Sequence[Any], on_purpose: bool) -> None:
        for message in batch:
            source = (message.partition(), message.offset())
            attempt = f"{self._name}-{self._attempts}"
            value = Copy.value(source, message.value().decode(), attempt, on_purpose)
            for topic in OUTPUTS:
                _persistently(functools.partial(self._producer.produce, topic, value, partition=source[0]))
            self._producer.poll(0)

    def _rewind(self, batch: Sequence[Any]) -> None:
        """Read the batch again; partitions that went meanwhile are read by others.

        SystemExit(LOST_ITS_PLACE) when one is going just now, of which it would not be told before it polls.
        """
        for message in reversed(batch):
            if message.partition() in self._assigned:
                first = min(it.offset() for it in batch if it.partition() == message.partition())
                try:
                    self._consumer.seek(TopicPartition(INPUT, message.partition(), first))
                except KafkaException as e:
                    print(f"lost its place {e.args[0]}", flush=True)
                    raise SystemExit(LOST_ITS_PLACE) from e


@contextlib.contextmanager
def _or_die(seconds: int) -> Iterator[None]:
    """End this process if the block takes too long.

    librdkafka 2.16 may wait for ever, beyond its own time limit, for a group coordinator that has left the metadata.
    """
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def _persistently(call: Callable[[], object], aborts: bool = False) -> None:
    """Call until it works; MustAbort when that is the way on, SystemExit(FENCED) when there is none."""
    while True:
        try:
            call()
            return
        except BufferError:
            time.sleep(0.05)
        except KafkaException as e:
            error = e.args[0]
            if error.fatal():
                print(f"fenced {error}", flush=True)
                raise SystemExit(FENCED) from e
            if error.txn_requires_abort() and not aborts:
                raise MustAbort(str(error)) from e
            if not error.retriable():
                print(f"starts over {error}", flush=True)
                raise SystemExit(STARTED_OVER) from e
            print(f"tries again after {error}", flush=True)


# ---- the driver


class WorkerProcess:
    """A worker, started again under the same transactional id as often as it takes."""

    def __init__(self, number: int, cluster: LocalCluster, home: pathlib.Path, seed: int, strategy: str) -> None:
        self.transactional_id = f"eos-worker-{number}"
        self.output = home / f"{self.transactional_id}.out"
        self._cluster = cluster
        self._seed = seed
        self._strategy = strategy
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._zombies: list[subprocess.Popen[bytes]] = []
        self.ends: collections.Counter[int] = collections.Counter()

    def start(self) -> None:
        self._starts += 1
        seed = str(self._seed * 1000 + self._starts)
        spec = [self._cluster.bootstrap_servers, self.transactional_id, seed, self._strategy]
        command = [sys.executable, "-m", "tests.integration.exactly_once", "--worker", *spec]
        with open(self.output, "ab") as out:
            self._process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT)

    def tend(self) -> None:
        """Start it again if it has ended, and bury zombies."""
        if self._process is not None and (code := self._process.poll()) is not None:
            self.ends[code] += 1
            self.start()
        for zombie in [it for it in self._zombies if it.poll() is not None]:
            self.ends[zombie.returncode] += 1
            self._zombies.remove(zombie)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def doubled(self) -> Iterator[None]:
        """Hold it; another takes over its id. Behind the block it goes on."""
        held = self._process
        assert held is not None
        held.send_signal(signal.SIGSTOP)
        self._zombies.append(held)
        self.start()
        yield
        held.send_signal(signal.SIGCONT)

    def show_where_it_is(self) -> None:
        """Have it write its stack into its output."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)

    @property
    def has_zombies(self) -> bool:
        return bool(self._zombies)

    def stop(self) -> None:
        for process in [self._process, *self._zombies]:
            if process is not None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in [self._process, *self._zombies]:
            if process is not None:
                try:
                    self.ends[process.wait(30)] += 1
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    self.ends[DID_NOT_OBEY] += 1
        self._process = None
        self._zombies.clear()

    def count(self, word: str) -> int:
        """How many lines it said that begin so."""
        if not self.output.exists():
            return 0
        return sum(line.startswith(word) for line in self.output.read_text(errors="replace").splitlines())


class Feeder:
    """Fills the input from a thread of this process until it is stopped."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120000,
                "topic.metadata.refresh.interval.ms": 2000,
                "log_level": 3,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exactly-once-feeder")

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.1):
            for _ in range(RECORDS_PER_S // 10):
                with contextlib.suppress(BufferError):
                    self._producer.produce(INPUT, str(number), partition=number % PARTITIONS)
                    number += 1
            self._producer.poll(0)

    def stop(self) -> None:
        """End, and wait for all that was produced."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._producer.flush(120)


class Reader:
    """Reads topics from the beginning on, from a thread of this process if it shall read along."""

    def __init__(self, bootstrap: str, topics: Sequence[str], isolation: str = "read_committed") -> None:
        self.rows: dict[str, list[tuple[int, int, bytes]]] = {topic: [] for topic in topics}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "eos-reader",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": isolation,
                "topic.metadata.refresh.interval.ms": 2000,
                "enable.partition.eof": True,
                "log_level": 3,
            }
        )
        self._consumer.assign([TopicPartition(topic, p, 0) for topic in topics for p in range(PARTITIONS)])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="exactly-once-reader")
        self._ends: set[tuple[str, int]] = set()
        self.errors: list[str] = []
        self._is_open = True

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._poll()

    def _poll(self) -> None:
        message: Any = self._consumer.poll(0.1)
        if message is None:
            return
        if message.error() is None:
            self._ends.discard((message.topic(), message.partition()))
            self.rows[message.topic()].append((message.partition(), message.offset(), message.value()))
        elif message.error().name() == "_PARTITION_EOF":
            self._ends.add((message.topic(), message.partition()))
        elif message.error().name() in ("_AUTO_OFFSET_RESET", "_LOG_TRUNCATION"):
            self.errors.append(f"{message.topic()}-{message.partition()}: {message.error()}")

    def read_to_the_end(self) -> dict[str, list[tuple[int, int, bytes]]]:
        """All rows up to the end as it is now; for a reader without a thread."""
        everything = PARTITIONS * len(self.rows)
        deadline = time.monotonic() + STALLED_S
        while len(self._ends) < everything:
            assert time.monotonic() < deadline, f"only the end of {sorted(self._ends)} was found"
            self._poll()
        self._consumer.close()
        return self.rows

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._is_open:
            self._is_open = False
            self._consumer.close()

    @property
    def count(self) -> int:
        return sum(map(len, self.rows.values()))


def copies(rows: Iterable[tuple[int, int, bytes]]) -> list[Copy]:
    return [Copy.of(*row) for row in rows]


def plan_of(seed: int, kills: int) -> list[str]:
    """What is killed, one after the other: every kind as often, with a zombie now and then."""
    rng = random.Random(seed)
    kinds = [KINDS[number % len(KINDS)] for number in range(kills)]
    rng.shuffle(kinds)
    for _ in range(max(1, kills // 8)):
        kinds.insert(rng.randrange(len(kinds) + 1), "zombie")
    return kinds


class ExactlyOnce:
    """A cluster of three brokers, the workers on it, and what happens to them."""

    def __init__(self, home: pathlib.Path, seed: int, say: Callable[[str], object] = print) -> None:
        self._rng = random.Random(seed)
        self._say = say
        self._began = time.monotonic()
        self.cluster = LocalCluster(3, home=home, properties=PROPERTIES)
        strategy = STRATEGIES[seed % len(STRATEGIES)]
        self.workers = [WorkerProcess(n, self.cluster, home, seed * 100 + n, strategy) for n in range(WORKERS)]
        self.kills = 0
        self._closing = contextlib.ExitStack()

    def __enter__(self) -> ExactlyOnce:
        try:
            self._closing.enter_context(self.cluster)
            self._zk: KazooClient = self._closing.enter_context(zookeeper(self.cluster.zookeeper_connect))
            self._admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers, "log_level": 3})
            for future in self._admin.create_topics([NewTopic(it, PARTITIONS, 3) for it in (INPUT, *OUTPUTS)]).values():
                future.result(30)
            self.wait_for_isrs(INPUT, *OUTPUTS)
            self.reader = Reader(self.cluster.bootstrap_servers, OUTPUTS)
            self._closing.callback(self.reader.stop)
            self.reader.start()
            self._feeder = Feeder(self.cluster.bootstrap_servers)
            self._closing.callback(self._feeder.stop)
            self._feeder.start()
            for worker in self.workers:
                self._closing.callback(worker.stop)
                worker.start()
            self.wait_for_progress()
        except BaseException:
            self._closing.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def log(self, what: str) -> None:
        self._say(f"{time.monotonic() - self._began:7.1f} s  {self.reader.count:6d} copies  {what}")

    # -- looking

    def _state(self, topic: str, partition: int) -> dict[str, Any]:
        """Leader and ISR, as ZooKeeper has them; empty if it has none."""
        try:
            data = self._zk.get(f"/brokers/topics/{topic}/partitions/{partition}/state")[0]
        except KazooException:
            return {}
        found: dict[str, Any] = json.loads(data)
        return found

    def leader(self, topic: str, partition: int) -> LocalBroker | None:
        leader = self._state(topic, partition).get("leader", -1)
        return self.cluster.brokers[leader] if leader >= 0 else None

    def wait_for_isrs(self, *topics: str, timeout_s: float = 60) -> None:
        partitions = {INPUT: PARTITIONS, **dict.fromkeys(OUTPUTS, PARTITIONS)}

        def all_in_sync() -> bool:
            self.tend()
            return all(
                len(self._state(topic, p).get("isr", ())) == 3
                for topic in topics
                for p in range(partitions.get(topic, COORDINATED_PARTITIONS))
            )

        wait_until(all_in_sync, timeout_s, f"three replicas in sync of {topics}")

    def tend(self) -> None:
        for worker in self.workers:
            worker.tend()

    def wait_for_progress(self, more: int = 1) -> None:
        """Wait until something is copied that was not before."""
        before = self.reader.count

        def copied() -> bool:
            self.tend()
            return self.reader.count >= before + more

        try:
            wait_until(copied, STALLED_S, "something new in the outputs")
        except AssertionError:
            for worker in self.workers:
                worker.show_where_it_is()
            raise

    # -- doing

    def carry_out(self, plan: Iterable[str]) -> None:
        for kind in plan:
            time.sleep(self._rng.uniform(0.2, 1.0))
            if kind == "zombie":
                self._make_a_zombie()
            elif kind == "worker":
                worker = self._rng.choice(self.workers)
                self.log(f"kills {worker.transactional_id}")
                worker.kill()
                self.kills += 1
            else:
                self._kill_broker(kind)
            self.wait_for_progress()

    def _make_a_zombie(self) -> None:
        worker = self._rng.choice(self.workers)
        self.log(f"takes the place of {worker.transactional_id}")
        with worker.doubled():
            time.sleep(self._rng.uniform(1.0, 4.0))
        self.log(f"the old {worker.transactional_id} goes on")

    def _kill_broker(self, kind: str) -> None:
        broker = self._broker_of(kind)
        self.log(f"kills broker {broker.id}: {kind}")
        broker.process.kill()
        self.kills += 1
        if self._rng.random() < 0.7:
            self.wait_for_progress()  # the others do without it
        wait_until_forgotten(self.cluster, broker)
        broker.start()
        self.log(f"broker {broker.id} is back")
        self.wait_for_isrs(INPUT, *OUTPUTS, OFFSETS_TOPIC, TXN_TOPIC)

    def _broker_of(self, kind: str) -> LocalBroker:
        if kind == "leader":
            topic, partition = self._rng.choice((INPUT, *OUTPUTS)), self._rng.randrange(PARTITIONS)
        elif kind == "group coordinator":
            topic, partition = OFFSETS_TOPIC, _partition_for(GROUP)
        else:
            topic, partition = TXN_TOPIC, _partition_for(self._rng.choice(self.workers).transactional_id)
        return wait_until(lambda: self.leader(topic, partition), what=f"a leader of {topic}-{partition}")

    # -- the end

    def finish(self) -> dict[Source, str]:
        """Stop feeding, wait until all is copied and no transaction is open, stop the workers; gives the input."""
        self._wait_for_zombies()
        self._feeder.stop()
        rows = Reader(self.cluster.bootstrap_servers, [INPUT]).read_to_the_end()[INPUT]
        source = {(partition, offset): value.decode() for partition, offset, value in rows}
        self.log(f"{len(source)} records are to be copied")
        while self.reader.count < len(OUTPUTS) * len(source):  # a copy too many would make up for one that is missing
            self.wait_for_progress()
        for worker in self.workers:
            worker.stop()
        wait_until(self._is_all_decided, 40, "the end of all transactions")
        ends = {partition: 1 + max(o for p, o in source if p == partition) for partition in range(PARTITIONS)}
        wait_until(lambda: self._committed() == ends, 20, f"the group's offsets at the end of the input, {ends}")
        self.log(f"all is copied; {self.kills} kills; {self.summary()}")
        return source

    def _committed(self) -> dict[int, int]:
        """Partition of the input -> the offset that the group goes on at."""
        consumer = Consumer({"bootstrap.servers": self.cluster.bootstrap_servers, "group.id": GROUP, "log_level": 3})
        try:
            found = consumer.committed([TopicPartition(INPUT, p) for p in range(PARTITIONS)], timeout=20)
            return {it.partition: it.offset for it in found}
        finally:
            consumer.close()

    def _wait_for_zombies(self) -> None:
        """Each is fenced as soon as it has something to copy."""

        def gone() -> bool:
            self.tend()
            return not any(worker.has_zombies for worker in self.workers)

        wait_until(gone, 60, "the end of all zombies")

    def _is_all_decided(self) -> bool:
        """Whether committed records can be read up to the end: nothing is held back by an open transaction."""
        return self._ends(IsolationLevel.READ_COMMITTED) == self._ends(IsolationLevel.READ_UNCOMMITTED)

    def _ends(self, isolation: IsolationLevel) -> dict[tuple[str, int], int]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, p): latest for topic in OUTPUTS for p in range(PARTITIONS)}
        answers = self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=20)
        return {(it.topic, it.partition): future.result(30).offset for it, future in answers.items()}

    def verdicts(self, source: Mapping[Source, str]) -> dict[str, Verdict]:
        """What the reader that read along has seen of each output, and what one sees that begins now."""
        later = Reader(self.cluster.bootstrap_servers, OUTPUTS).read_to_the_end()
        self.reader.stop()
        assert self.reader.errors == [], "the reader that read along had to stop"
        return {
            f"{topic}, read {when}": judge(source, copies(rows[topic]))
            for when, rows in (("along", self.reader.rows), ("afterwards", later))
            for topic in OUTPUTS
        }

    @property
    def unexpected_ends(self) -> dict[int, int]:
        """Exit statuses of workers that are none of: told to end, killed, fenced, hung, out of place; and how often."""
        ends = sum((worker.ends for worker in self.workers), collections.Counter())
        expected = (0, -signal.SIGKILL, FENCED, LOST_ITS_PLACE, HUNG)
        return {code: count for code, count in ends.items() if code not in expected}

    def summary(self) -> str:
        said = {word: sum(worker.count(word) for worker in self.workers) for word in ("committed", "aborted", "fenced")}
        ends = sum((worker.ends for worker in self.workers), collections.Counter())
        return f"{said}; exit statuses of workers {dict(ends)}"


def _partition_for(key: str) -> int:
    """As the coordinators do: the hash of Java's String, without its sign."""
    unsigned = java_string_hash(key)
    return abs(unsigned - (unsigned >> 31 << 32)) % COORDINATED_PARTITIONS


def main(arguments: Sequence[str]) -> int:
    """Kill as often as told; 1 if the outputs are not what they must be."""
    options = argparse.ArgumentParser(description="Exactly once, while clients and brokers are killed.")
    options.add_argument("--kills", type=int, default=50, help="how many processes are killed")
    options.add_argument("--seed", type=int, default=1, help="the plan follows from this number")
    options.add_argument("--home", type=pathlib.Path, help="where data and logs are kept (a temporary directory)")
    options.add_argument("--worker", nargs=4, metavar="TEXT", help=argparse.SUPPRESS)
    given = options.parse_args(arguments)
    if given.worker:
        bootstrap, transactional_id, seed, strategy = given.worker
        Worker(bootstrap, transactional_id, int(seed), strategy).run()
        return 0
    with contextlib.ExitStack() as closing:
        home = given.home or pathlib.Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="exactly-once-")))
        home.mkdir(parents=True, exist_ok=True)
        run = closing.enter_context(ExactlyOnce(home, given.seed, lambda line: print(line, flush=True)))
        run.carry_out(plan_of(given.seed, given.kills))
        verdicts = run.verdicts(run.finish())
        print("".join(f"{what}: {verdict}\n" for what, verdict in verdicts.items()), end="")
        if run.unexpected_ends:
            print(f"workers ended with {run.unexpected_ends}")
    return int(not all(verdict.is_exactly_once for verdict in verdicts.values()) or bool(run.unexpected_ends))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
