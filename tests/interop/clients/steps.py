"""The steps of the conformance suite for the Python clients: each client is an adapter, its steps stand here.

    python -m tests.interop.clients.confluent_kafka_client BOOTSTRAP [STEP …]

prints one JSON line per step. The suites in other languages have the same steps under the same names.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

TopicPartition = tuple[str, int]
WAIT_S = 25.0
CLOSE_S = 1.5
RANGE, ROUND_ROBIN, STICKY, COOPERATIVE = "range", "roundrobin", "sticky", "cooperative-sticky"


class Skipped(Exception):
    """The client has no such thing; the text says what it lacks."""


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int
    value: bytes


class Consumer(Protocol):
    """A member of a group, or one that wants to be."""

    events: list[tuple[str, frozenset[TopicPartition]]]

    def poll(self, seconds: float) -> list[Record]: ...
    def assignment(self) -> set[TopicPartition]: ...
    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None: ...
    def commit_async(self, done: Callable[[object], None]) -> None: ...
    def committed(self, partition: TopicPartition) -> int | None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    def pause(self, partition: TopicPartition) -> None: ...
    def resume(self, partition: TopicPartition) -> None: ...
    def close(self) -> None: ...


class Transactions(Protocol):
    """A producer with a transactional id, initialised."""

    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, value: bytes) -> None: ...
    def send_offsets(self, consumer: Any, offsets: Mapping[TopicPartition, int]) -> None: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...
    def close(self) -> None: ...


class Client(Protocol):
    """What a client library offers. A method it cannot offer raises Skipped."""

    def create_topic(self, name: str, partitions: int) -> None: ...
    def produce(self, topic: str, partition: int, values: Iterable[bytes]) -> None: ...
    def consumer(self, group: str, topics: list[str], **options: Any) -> Consumer:
        """Options: assignor, instance_id, read_committed, feeds (the transactional id its offsets go to)."""
        ...

    def transactions(self, transactional_id: str) -> Transactions: ...
    def is_fenced(self, error: Exception) -> bool: ...
    def groups(self) -> set[str]: ...
    def describe(self, group: str) -> tuple[str, int]:
        """State and number of members."""
        ...

    def delete_group(self, group: str) -> None: ...
    def alter_offset(self, group: str, partition: TopicPartition, offset: int) -> None: ...
    def delete_offset(self, group: str, partition: TopicPartition) -> None: ...
    def offset_of(self, group: str, partition: TopicPartition) -> int | None: ...
    def close(self) -> None: ...


def name(what: str) -> str:
    return f"{what}-{uuid.uuid4().hex[:8]}"


_threads = ThreadPoolExecutor(4)


def poll_all(members: list[Consumer]) -> list[Record]:
    """Poll the members at the same time, as members in programs of their own do."""
    if len(members) == 1:
        return members[0].poll(0.1)
    return [record for found in _threads.map(lambda member: member.poll(0.3), members) for record in found]


def wait(members: list[Consumer], true: Callable[[], object], what: str) -> list[Record]:
    """Poll the members until it is true; the records that came."""
    found: list[Record] = []
    deadline = time.monotonic() + WAIT_S
    while not true():
        if time.monotonic() > deadline:
            owned = [sorted(member.assignment()) for member in members]
            raise AssertionError(f"never: {what}; owned: {owned}, read: {len(found)}")
        found += poll_all(members)
    return found


def read(member: Consumer, count: int) -> list[Record]:
    """Exactly this many records."""
    found: list[Record] = []
    deadline = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records; owned: {sorted(member.assignment())}"
        found += member.poll(0.1)
    assert len(found) == count, f"{len(found)} records instead of {count}"
    return found


def numbered(count: int, since: int = 0) -> list[bytes]:
    return [f"value {i}".encode() for i in range(since, since + count)]


class Steps:
    """The steps, in the order in which they run. Each stands alone: topics, groups and ids of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.open: list[Consumer] = []

    def consumer(self, group: str, topics: list[str], **options: Any) -> Consumer:
        made = self.client.consumer(group, topics, **options)
        self.open.append(made)
        return made

    def close(self, consumer: Consumer) -> float:
        """Close it; the seconds that took."""
        self.open.remove(consumer)
        since = time.monotonic()
        consumer.close()
        return time.monotonic() - since

    def _topic(self, what: str, partitions: int = 1, records: int = 0) -> str:
        topic = name(what)
        self.client.create_topic(topic, partitions)
        if records:
            self.client.produce(topic, 0, numbered(records))
        return topic

    def _shared(self, assignor: str, sizes: list[int]) -> None:
        """Two members of two topics of three partitions: they share as the assignor says, and one can take all."""
        topics = [self._topic(f"{assignor}-{n}", 3) for n in (1, 2)]
        every = {(topic, partition) for topic in topics for partition in range(3)}
        group = name(assignor)
        one = self.consumer(group, topics, assignor=assignor)
        wait([one], lambda: one.assignment() == every, "the first member owns all")
        two = self.consumer(group, topics, assignor=assignor)
        both = [one, two]

        def shared() -> bool:
            shares = sorted(len(member.assignment()) for member in both)
            return shares == sizes and one.assignment() | two.assignment() == every

        wait(both, shared, f"two members with {sizes}")
        kept = one.assignment()
        for topic, partition in sorted(every):
            self.client.produce(topic, partition, [b"x"])
        found: list[Record] = []
        deadline = time.monotonic() + WAIT_S
        while len(found) < 6 and time.monotonic() < deadline:
            found += poll_all(both)
        assert {(r.topic, r.partition) for r in found} == every, f"read only {found}"
        one.events.clear()
        self.close(two)
        wait([one], lambda: one.assignment() == every, "who stays owns all")
        if assignor == COOPERATIVE:
            revoked = frozenset[TopicPartition]().union(*(p for what, p in one.events if what == "revoked"))
            assert not revoked & kept, f"revoked for no reason: {sorted(revoked & kept)}"

    def subscribe_range(self) -> None:
        self._shared(RANGE, [2, 4])

    def subscribe_round_robin(self) -> None:
        self._shared(ROUND_ROBIN, [3, 3])

    def subscribe_sticky(self) -> None:
        self._shared(STICKY, [3, 3])

    def subscribe_cooperative(self) -> None:
        self._shared(COOPERATIVE, [3, 3])

    def static_member(self) -> None:
        """A static member that comes back has what it had, and nobody else is disturbed."""
        topic, group = self._topic("static", 4), name("static")
        one = self.consumer(group, [topic], instance_id="one")
        two = self.consumer(group, [topic], instance_id="two")
        both = [one, two]
        wait(both, lambda: all(len(m.assignment()) == 2 for m in both), "two static members with two each")
        had = two.assignment()
        one.events.clear()
        self.close(two)
        again = self.consumer(group, [topic], instance_id="two")
        wait([one, again], lambda: again.assignment() == had, "who came back has what it had")
        for _ in range(5):
            one.poll(0.1)
        assert not one.events, f"the other member was disturbed: {one.events}"

    def _commit(self, commit: Callable[[Consumer], None], expected: int) -> None:
        topic, group = self._topic("commit", 1, 10), name("commit")
        one = self.consumer(group, [topic])
        assert [r.value for r in read(one, 10)] == numbered(10)
        commit(one)
        assert one.committed((topic, 0)) == expected
        self.client.produce(topic, 0, numbered(5, 10))
        self.close(one)
        two = self.consumer(group, [topic])
        assert [r.value for r in read(two, 15 - expected)] == numbered(15 - expected, expected)

    def commit_sync(self) -> None:
        self._commit(lambda member: member.commit(), 10)

    def commit_async(self) -> None:
        def commit(member: Consumer) -> None:
            errors: list[object] = []
            member.commit_async(errors.append)
            wait([member], lambda: errors, "the answer to a commit")
            assert errors == [None], errors

        self._commit(commit, 10)

    def commit_specific(self) -> None:
        self._commit(lambda member: member.commit({next(iter(member.assignment())): 3}), 3)

    def seek(self) -> None:
        topic = self._topic("seek", 1, 10)
        one = self.consumer(name("seek"), [topic])
        read(one, 10)
        one.seek((topic, 0), 4)
        assert [r.offset for r in read(one, 6)] == list(range(4, 10))

    def pause_resume(self) -> None:
        topic = self._topic("pause", 2, 3)
        one = self.consumer(name("pause"), [topic])
        read(one, 3)
        one.pause((topic, 0))
        for partition in (0, 1):
            self.client.produce(topic, partition, numbered(2))
        found = read(one, 2)
        for _ in range(5):
            found += one.poll(0.1)
        assert {r.partition for r in found} == {1}, f"read a paused partition: {found}"
        one.resume((topic, 0))
        assert [r.partition for r in read(one, 2)] == [0, 0]

    def rebalance_callbacks(self) -> None:
        topic, group = self._topic("callbacks", 4), name("callbacks")
        one = self.consumer(group, [topic])

        def told(*wanted: tuple[str, int]) -> Callable[[], bool]:
            """Whether these callbacks have come from now on, the empty ones left aside; nothing but them may."""
            one.events.clear()

            def came() -> bool:
                kinds = [(what, len(partitions)) for what, partitions in one.events if partitions]
                assert kinds == list(wanted[: len(kinds)]), kinds
                return len(kinds) == len(wanted)

            return came

        wait([one], lambda: any(len(partitions) == 4 for _, partitions in one.events), "all assigned")
        came = told(("revoked", 4), ("assigned", 2))
        two = self.consumer(group, [topic])
        wait([one, two], came, "two each")
        wait([one, two], lambda: len(two.assignment()) == 2, "two each")
        came = told(("revoked", 2), ("assigned", 4))
        self.close(two)
        wait([one], came, "all again")

    def close_at_once(self) -> None:
        topic, group = self._topic("close", 4), name("close")
        one, two = self.consumer(group, [topic]), self.consumer(group, [topic])
        wait([one, two], lambda: len(one.assignment()) == len(two.assignment()) == 2, "two each")
        took = self.close(two)
        assert took < CLOSE_S, f"close() took {took:.1f} s"
        since = time.monotonic()
        wait([one], lambda: len(one.assignment()) == 4, "who stays owns all")
        took = time.monotonic() - since
        assert took < 5, f"the partitions came after {took:.1f} s"
        took = self.close(one)
        assert took < CLOSE_S, f"close() of the last member took {took:.1f} s"

    def txn_consume_transform_produce(self) -> None:
        source, target, group = self._topic("source", 1, 10), self._topic("target"), name("transform")
        id = name("transform")
        one = self.consumer(group, [source], feeds=id)
        producer = self.client.transactions(id)
        found = read(one, 10)
        producer.begin()
        for record in found:
            producer.send(target, 0, record.value.upper())
        producer.send_offsets(one, {(source, 0): 10})
        producer.commit()
        producer.close()
        # the coordinator of transactions answers before its markers are everywhere
        wait([one], lambda: one.committed((source, 0)) == 10, "the offset is committed")
        reader = self.consumer(name("reader"), [target], read_committed=True)
        assert [r.value for r in read(reader, 10)] == [v.upper() for v in numbered(10)]

    def txn_abort(self) -> None:
        source, topic, group = self._topic("source", 1, 3), self._topic("abort"), name("abort")
        id = name("abort")
        one = self.consumer(group, [source], feeds=id)
        read(one, 3)
        producer = self.client.transactions(id)
        producer.begin()
        for value in numbered(5):
            producer.send(topic, 0, value)
        producer.send_offsets(one, {(source, 0): 3})
        producer.abort()
        producer.begin()
        for value in numbered(5, 5):
            producer.send(topic, 0, value)
        producer.commit()
        producer.close()
        reader = self.consumer(name("reader"), [topic], read_committed=True)
        assert [r.value for r in read(reader, 5)] == numbered(5, 5)
        dirty = self.consumer(name("reader"), [topic], read_committed=False)
        assert [r.value for r in read(dirty, 10)] == numbered(10)
        assert one.committed((source, 0)) is None, "an aborted offset is committed"

    def txn_fencing(self) -> None:
        topic, id = self._topic("fencing"), name("fencing")
        zombie = self.client.transactions(id)
        zombie.begin()
        zombie.send(topic, 0, b"zombie")
        successor = self.client.transactions(id)
        successor.begin()
        successor.send(topic, 0, b"successor")
        successor.commit()
        try:
            zombie.send(topic, 0, b"zombie again")
            zombie.commit()
        except Exception as e:
            if not self.client.is_fenced(e):
                raise
        else:
            raise AssertionError("the zombie committed")
        reader = self.consumer(name("reader"), [topic], read_committed=True)
        assert [r.value for r in read(reader, 1)] == [b"successor"]
        successor.close()
        zombie.close()

    def _member(self, what: str) -> tuple[str, str, Consumer]:
        topic, group = self._topic(what, 1, 5), name(what)
        one = self.consumer(group, [topic])
        read(one, 5)
        one.commit()
        return topic, group, one

    def admin_list_groups(self) -> None:
        _, group, _ = self._member("list")
        assert group in self.client.groups()

    def admin_describe_group(self) -> None:
        _, group, one = self._member("describe")
        assert self.client.describe(group) == ("stable", 1)
        self.close(one)
        assert self.client.describe(group) == ("empty", 0)

    def admin_delete_group(self) -> None:
        _, group, one = self._member("delete")
        try:
            self.client.delete_group(group)
        except Exception as e:
            if "empty" not in f"{type(e).__name__} {e}".lower():
                raise
        else:
            raise AssertionError("a group with a member was deleted")
        self.close(one)
        self.client.delete_group(group)
        assert group not in self.client.groups()

    def admin_alter_offsets(self) -> None:
        topic, group, one = self._member("alter")
        self.close(one)
        self.client.alter_offset(group, (topic, 0), 2)
        assert self.client.offset_of(group, (topic, 0)) == 2
        assert [r.offset for r in read(self.consumer(group, [topic]), 3)] == [2, 3, 4]

    def admin_delete_offsets(self) -> None:
        topic, group, one = self._member("forget")
        assert self.client.offset_of(group, (topic, 0)) == 5
        self.close(one)
        self.client.delete_offset(group, (topic, 0))
        assert self.client.offset_of(group, (topic, 0)) is None


STEPS = [
    step
    for step, value in vars(Steps).items()
    if not step.startswith("_") and step not in ("consumer", "close") and callable(value)
]


def report(step: str, run: Callable[[], None]) -> None:
    """Run a step and print its line."""
    since = time.monotonic()
    ok: bool | str = True
    why = ""
    try:
        run()
    except Skipped as e:
        ok, why = "skipped", str(e)
    except Exception as e:
        ok, why = False, f"{type(e).__name__}: {e}"
        traceback.print_exc()
    print(json.dumps({"step": step, "ok": ok, "why": why, "ms": int((time.monotonic() - since) * 1000)}), flush=True)


def main(make: Callable[[str], Client], arguments: list[str] | None = None) -> None:
    """Run the steps that are named, or all of them."""
    bootstrap, *wanted = arguments or sys.argv[1:]
    client = make(bootstrap)
    for step in wanted or STEPS:
        steps = Steps(client)
        report(step, getattr(steps, step))
        for consumer in reversed(steps.open):
            consumer.close()
    client.close()
