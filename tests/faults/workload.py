"""Clients that go on whatever happens to the brokers, and note in a history what they do: threads of this process.

A plain and an idempotent producer write to one topic, a transactional one to another; readers of both isolation levels
read along, and so do the two members of a group, which commits. Whoever meets an error that is final begins anew.
In the end all writing stops, the readers go to the end, and two others read everything from the beginning.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.faults.checker import COMMITTED, UNCOMMITTED, Place
from tests.faults.history import History, Value

EVENTS, LEDGER = "events", "ledger"
GROUP = "fault-group"
PARTITIONS = 3
PLACES = [Place(topic, partition) for topic in (EVENTS, LEDGER) for partition in range(PARTITIONS)]
TOPIC_CONFIG = {"min.insync.replicas": "2", "segment.bytes": "200000", "retention.ms": "-1"}
MOST_IN_FLIGHT = 50
PAUSE_S = 0.03
ABORTED_ON_PURPOSE = 0.2
# longer than any fault lasts: a transaction must not be aborted while its records are still on their way
TRANSACTION_TIMEOUT_S = 170
END_TIMEOUT_S = 120
_GIVE_UP_S = 8
_ANEW_S = 0.3
_STAYS_S = (4, 12)
# A broker that hangs is left after a few seconds, not after a minute.
_PATIENCE = {
    "socket.timeout.ms": 5000,
    "topic.metadata.refresh.interval.ms": 1000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
    "log_level": 0,
}
_KINDS: dict[str, dict[str, object]] = {
    "plain": {
        "max.in.flight.requests.per.connection": 1,
        "message.timeout.ms": _GIVE_UP_S * 1000,
        # RETRIED_S of the checker counts on it
        "retry.backoff.ms": 200,
    },
    "idempotent": {"enable.idempotence": True, "message.timeout.ms": TRANSACTION_TIMEOUT_S * 1000},
    "transactional": {
        "transactional.id": "fault-ledger",
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_S * 1000,
        "message.timeout.ms": TRANSACTION_TIMEOUT_S * 1000,
    },
}


class Acknowledged:
    """When writes were accepted, by place: whether they are again, and how long they were not."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._changed = threading.Condition()
        self._since = 0.0
        self._accepted: set[Place] = set()
        self._last = dict.fromkeys(PLACES, 0.0)
        self._pause = 0.0

    def note(self, place: Place, tried: float, acked: float) -> None:
        with self._changed:
            self._pause = max(self._pause, acked - self._last[place])
            self._last[place] = acked
            if tried >= self._since:
                self._accepted.add(place)
                self._changed.notify_all()

    def watch(self) -> None:
        """From now on pauses count."""
        with self._changed:
            self._last = dict.fromkeys(PLACES, self._history.now())
            self._pause = 0.0

    def pause(self) -> float:
        """The longest time since ``watch`` without a write that was accepted, of any place."""
        with self._changed:
            return max(self._pause, self._history.now() - min(self._last.values()))

    def wait(self, timeout_s: float) -> None:
        """Until a write to each place is accepted that is tried from now on. Raises TimeoutError."""
        with self._changed:
            self._since = self._history.now()
            self._accepted.clear()
            if not self._changed.wait_for(lambda: len(self._accepted) == len(PLACES), timeout_s):
                missing = [str(place) for place in PLACES if place not in self._accepted]
                raise TimeoutError(f"no write was accepted within {timeout_s:g} s by {', '.join(missing)}")


class Client(threading.Thread):
    """A thread that lives until it is told to stop; what it could not cope with is kept."""

    def __init__(self, name: str, bootstrap: str, history: History) -> None:
        super().__init__(name=f"fault-{name}", daemon=True)
        self.who = name
        self._servers = bootstrap
        self._history = history
        self._stopping = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.live()
                self._stopping.wait(_ANEW_S)
        except BaseException as e:
            self.failure = e

    def live(self) -> None:
        """Until an error that is final, or the end."""
        raise NotImplementedError

    def stop(self) -> None:
        self._stopping.set()


class Writer(Client):
    """A producer of one kind. Its number goes up with each record; a new life has a new name."""

    def __init__(self, kind: str, bootstrap: str, history: History, acknowledged: Acknowledged, seed: int) -> None:
        super().__init__(kind, bootstrap, history)
        self._kind = kind
        self._acknowledged = acknowledged
        self._rng = random.Random(seed)
        self._lives = 0
        self._n = 0
        self._in_flight = 0
        self._failed = False

    def live(self) -> None:
        name = f"{self._kind}-{self._lives}"
        self._lives += 1
        self._in_flight, self._failed = 0, False
        self._history.write(name, "begin", kind=self._kind)
        config = {
            "bootstrap.servers": self._servers,
            "acks": "all",
            "linger.ms": 2,
            **_PATIENCE,
            **_KINDS[self._kind],
        }
        producer = Producer(config)
        try:
            if self._kind == "transactional":
                self._transactions(producer, name)
            else:
                self._records(producer, name)
        except KafkaException as e:
            self._history.write(name, "over", error=str(e))
        finally:
            producer.purge()
            producer.flush(1)

    def _records(self, producer: Producer, name: str) -> None:
        while not self._stopping.is_set() and not self._failed:
            if self._in_flight < MOST_IN_FLIGHT:
                self._send(producer, name, EVENTS, None)
            producer.poll(PAUSE_S)
        if not self._failed:
            producer.flush(END_TIMEOUT_S)

    def _send(self, producer: Producer, name: str, topic: str, txn: str | None) -> None:
        partition, n = self._rng.randrange(PARTITIONS), self._n
        self._n += 1
        place = Place(topic, partition)
        value = Value(name, topic, partition, n).to_bytes(self._rng.randrange(60, 400))
        tried = self._history.write(name, "try", topic=topic, partition=partition, n=n, txn=txn)

        def delivered(error: KafkaError | None, message: Message) -> None:
            self._in_flight -= 1
            where: dict[str, Any] = {"topic": topic, "partition": partition, "n": n}
            if error is not None:
                self._history.write(name, "fail", error=error.name(), **where)
                self._failed |= error.fatal() or self._kind == "transactional"
            else:
                acked = self._history.write(name, "ack", offset=message.offset(), **where)
                self._acknowledged.note(place, tried, acked)

        self._in_flight += 1
        producer.produce(topic, value, partition=partition, on_delivery=delivered)

    # -- Transactions

    def _transactions(self, producer: Producer, name: str) -> None:
        producer.init_transactions(TRANSACTION_TIMEOUT_S)
        number = 0
        while not self._stopping.is_set():
            txn = f"{name}.{number}"
            number += 1
            self._note(name, txn, "begun")
            producer.begin_transaction()
            for _ in range(self._rng.randrange(1, 12)):
                self._send(producer, name, LEDGER, txn)
                producer.poll(PAUSE_S)
            # Nothing may be on its way when it is ended: before KIP-890 it could become part of the next transaction.
            if producer.flush(TRANSACTION_TIMEOUT_S) or self._failed:
                self._note(name, txn, "unknown")
                return
            abort = self._rng.random() < ABORTED_ON_PURPOSE
            self._note(name, txn, "aborting" if abort else "committing")
            end = producer.abort_transaction if abort else producer.commit_transaction
            self._repeat(lambda end=end: end(END_TIMEOUT_S))  # type: ignore[misc]
            self._note(name, txn, "aborted" if abort else "committed")

    def _note(self, name: str, txn: str, state: str) -> None:
        self._history.write(name, "txn", txn=txn, state=state)

    @staticmethod
    def _repeat(action: Callable[[], object]) -> None:
        """While the client says that it may be repeated; raises KafkaException for anything else."""
        deadline = time.monotonic() + END_TIMEOUT_S
        while True:
            try:
                action()
                return
            except KafkaException as e:
                if not e.args[0].retriable() or time.monotonic() > deadline:
                    raise


def _reader_config(bootstrap: str, isolation: str, group: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "check.crcs": True,
        "fetch.wait.max.ms": 100,
        "fetch.error.backoff.ms": 50,
        **_PATIENCE,
    }


class Reader(Client):
    """Reads all partitions from the beginning, and goes on until the end that it is told of."""

    def __init__(self, name: str, bootstrap: str, history: History, isolation: str) -> None:
        super().__init__(name, bootstrap, history)
        self._isolation = isolation
        self._next: dict[Place, int] = dict.fromkeys(PLACES, 0)

    def live(self) -> None:
        consumer = Consumer(_reader_config(self._servers, self._isolation, "unused"))
        try:
            consumer.assign([TopicPartition(*place, offset) for place, offset in self._next.items()])
            while not self._stopping.is_set():
                self.take(consumer.consume(500, 0.2))
        finally:
            consumer.close()

    def take(self, messages: list[Message]) -> None:
        for message in messages:
            error, offset = message.error(), message.offset()
            place = Place(str(message.topic()), _int(message.partition()))
            if error is None:
                self._next[place] = _int(offset) + 1
                note_read(self._history, self.who, message, self._isolation)
            elif error.code() == KafkaError._PARTITION_EOF and offset is not None:
                self._next[place] = max(self._next[place], offset)
            elif error.fatal():
                raise KafkaException(error)

    def read_to_the_end(self, ends: dict[Place, int]) -> None:
        """On the caller's thread. What was there to read and how far it came is noted."""
        consumer = Consumer(_reader_config(self._servers, self._isolation, "unused"))
        deadline = time.monotonic() + END_TIMEOUT_S
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in ends])
            while any(self._next[place] < end for place, end in ends.items()) and time.monotonic() < deadline:
                self.take(consumer.consume(500, 0.2))
        finally:
            consumer.close()
        for place, end in ends.items():
            where = {"topic": place.topic, "partition": place.partition, "isolation": self._isolation}
            self._history.write(self.who, "end", end=end, reached=self._next[place], **where)


class Member(Client):
    """One of a group; what it has read it commits, twice a second, and waits for the answer.

    It leaves after some seconds and comes back, so that the others are told anew where to go on.
    """

    def __init__(self, name: str, bootstrap: str, history: History) -> None:
        super().__init__(name, bootstrap, history)
        self._positions: dict[Place, int] = {}
        self._rng = random.Random(name)

    def live(self) -> None:
        self._positions = {}
        patience = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 300_000}
        consumer = Consumer({**_reader_config(self._servers, COMMITTED, GROUP), **patience})
        consumer.subscribe([EVENTS, LEDGER], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
        try:
            committed_at = time.monotonic()
            leaves_at = committed_at + self._rng.uniform(*_STAYS_S)
            while not self._stopping.is_set() and time.monotonic() < leaves_at:
                for message in consumer.consume(500, 0.1):
                    if message.error() is None:
                        place = Place(str(message.topic()), _int(message.partition()))
                        self._positions[place] = _int(message.offset()) + 1
                if time.monotonic() - committed_at > 0.5:
                    committed_at = time.monotonic()
                    self._commit(consumer)
        finally:
            consumer.close()

    def _commit(self, consumer: Consumer) -> None:
        positions, self._positions = self._positions, {}
        if positions:
            since = self._history.now()
            asked = [TopicPartition(*place, offset) for place, offset in positions.items()]
            try:
                answers = consumer.commit(offsets=asked, asynchronous=False)
            except KafkaException as e:
                self._history.write(self.who, "not committed", error=e.args[0].name())
                return
            for tp in answers or ():
                if tp.error is None:
                    where = {"topic": tp.topic, "partition": tp.partition, "offset": tp.offset}
                    self._history.write(self.who, "commit", since=since, **where)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._positions = {}
        since = self._history.now()
        try:
            answers = consumer.committed(partitions, timeout=10)
        except KafkaException as e:  # the consumer asks again by itself
            self._history.write(self.who, "not fetched", error=e.args[0].name())
            return
        note_fetched(self._history, self.who, since, answers)

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._positions = {}


def note_read(history: History, who: str, message: Message, isolation: str) -> None:
    value = Value.of(message.value())
    where: dict[str, Any] = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
    if value is None:
        history.write(who, "read", isolation=isolation, damaged=True, **where)
    else:
        said = {"writer": value.writer, "n": value.n, "of": [value.topic, value.partition]}
        history.write(who, "read", isolation=isolation, **said, **where)


def note_fetched(history: History, who: str, since: float, answers: list[TopicPartition]) -> None:
    for tp in answers:
        if tp.error is None and tp.offset >= 0:
            history.write(who, "fetched", since=since, topic=tp.topic, partition=tp.partition, offset=tp.offset)


def _int(value: int | None) -> int:
    assert value is not None
    return value


class Workload:
    """All clients of a run."""

    def __init__(self, bootstrap: str, history: History, seed: int) -> None:
        self._servers = bootstrap
        self._history = history
        self.acknowledged = Acknowledged(history)
        self.writers = [Writer(kind, bootstrap, history, self.acknowledged, seed) for kind in _KINDS]
        self.others: list[Client] = [
            Reader("along-uncommitted", bootstrap, history, UNCOMMITTED),
            Reader("along-committed", bootstrap, history, COMMITTED),
            Member("member-0", bootstrap, history),
            Member("member-1", bootstrap, history),
        ]

    def create_topics(self, replicas: int) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers, "log_level": 0})
        topics = [NewTopic(topic, PARTITIONS, replicas, config=TOPIC_CONFIG) for topic in (EVENTS, LEDGER)]
        for future in admin.create_topics(topics).values():
            future.result(60)

    @contextlib.contextmanager
    def running(self) -> Iterator[Workload]:
        try:
            for client in (*self.others, *self.writers):
                client.start()
            yield self
        finally:
            self._stop(self.writers)
            self._stop(self.others)

    def _stop(self, clients: list[Any]) -> None:
        for client in clients:
            client.stop()
        for client in clients:
            if client.is_alive():
                client.join(2 * END_TIMEOUT_S)

    def finish(self) -> dict[Place, int]:
        """When all is healed: stop writing, read everything, and say where each partition ends. Raises RuntimeError."""
        self._stop(self.writers)
        ends = self._ends()
        for isolation in (UNCOMMITTED, COMMITTED):
            Reader(f"last-{isolation}", self._servers, self._history, isolation).read_to_the_end(ends)
        self._stop(self.others)
        self._fetch_committed()
        for client in (*self.writers, *self.others):
            if client.is_alive() or client.failure is not None:
                raise RuntimeError(f"{client.who} did not end well: {client.failure!r}")
        return ends

    def _ends(self) -> dict[Place, int]:
        consumer = Consumer(_reader_config(self._servers, UNCOMMITTED, "unused"))
        try:
            return {place: self._end_of(consumer, place) for place in PLACES}
        finally:
            consumer.close()

    @staticmethod
    def _end_of(consumer: Consumer, place: Place) -> int:
        """A leader that has just begun says OFFSET_NOT_AVAILABLE; that may not last."""
        deadline = time.monotonic() + END_TIMEOUT_S
        while True:
            try:
                return int(consumer.get_watermark_offsets(TopicPartition(*place), timeout=30, cached=False)[1])
            except KafkaException:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _fetch_committed(self) -> None:
        consumer = Consumer(_reader_config(self._servers, UNCOMMITTED, GROUP))
        try:
            since = self._history.now()
            answers = consumer.committed([TopicPartition(*place) for place in PLACES], timeout=30)
            note_fetched(self._history, "last-member", since, answers)
        finally:
            consumer.close()
