"""Groups as users have them: every client subscribes, shares, commits, comes back and goes."""

from __future__ import annotations

import asyncio
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration import wire
from tests.integration.clients import create_topic, produce, topic_name
from tests.integration.support import wait_until, zookeeper

pytestmark = pytest.mark.slow

OFFSET_COMMIT, OFFSET_FETCH = 8, 9
COUNT = 200
SESSION_MS = 6000
NONE = -1001  # no offset, as librdkafka says it


@pytest.fixture
def topic(embedded_cluster: LocalCluster) -> str:
    """A topic of two partitions, half of COUNT records in each."""
    return filled_topic(embedded_cluster.bootstrap_servers)


def filled_topic(address: str) -> str:
    topic = create_topic(address, topic_name("groups"), partitions=2)
    acked = produce(address, topic, [(b"%d" % i, b"v%d" % i) for i in range(COUNT)], partitioner="murmur2_random")
    assert sum(map(len, acked.values())) == COUNT
    return topic


class Member:
    """A consumer of confluent-kafka, and what it was told of partitions."""

    def __init__(self, address: str, group: str, topic: str, **settings: Any) -> None:
        self.assigned: set[int] = set()
        self.revocations = 0
        self.errors: list[KafkaError] = []
        self.values: list[bytes | None] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 100,
                "error_cb": self.errors.append,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self.consumer.subscribe([topic], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned |= {p.partition for p in partitions}

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revocations += 1
        self.assigned -= {p.partition for p in partitions}

    def poll(self, timeout_s: float = 0.05) -> None:
        """What comes in that time; errors of the consumer are kept, too."""
        for message in self.consumer.consume(500, timeout_s):
            error = message.error()
            if error is None:
                self.values.append(message.value())
            else:
                self.errors.append(error)

    def close(self) -> float:
        """How many seconds that took."""
        begin = time.monotonic()
        self.consumer.close()
        return time.monotonic() - begin


def until(condition: Callable[[], bool], *members: Member, what: str = "") -> None:
    """Let the members poll until that is so."""

    def poll() -> bool:
        for member in members:
            member.poll()
        return condition()

    wait_until(poll, 30, what)


def committed(address: str, group: str, topic: str) -> dict[int, int]:
    """What the group has committed, as another who asks is told.

    A broker that has just started is named as coordinator a moment before it knows of it; librdkafka then gives up.
    """
    asker = Consumer({"bootstrap.servers": address, "group.id": group})

    def asked() -> list[TopicPartition] | None:
        try:
            return asker.committed([TopicPartition(topic, n) for n in range(2)], 20)
        except KafkaException as e:
            if e.args[0].code() != KafkaError.NOT_COORDINATOR:
                raise
            return None

    try:
        return {p.partition: p.offset for p in wait_until(asked, 20, "a coordinator")}
    finally:
        asker.close()


# -- Every client ------------------------------------------------------------------------------------------------------


def read_confluent(address: str, group: str, topic: str) -> list[bytes | None]:
    member = Member(address, group, topic)
    until(lambda: len(member.values) >= COUNT, member)
    member.consumer.commit(asynchronous=False)
    assert member.close() < 2
    return member.values


def read_kafka_python(address: str, group: str, topic: str) -> list[bytes | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its own, from reading its schemas
        from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    values = [message.value for _, message in zip(range(COUNT), consumer, strict=False)]
    consumer.commit()
    begin = time.monotonic()
    consumer.close()
    assert time.monotonic() - begin < 2
    return values


def read_aiokafka(address: str, group: str, topic: str) -> list[bytes | None]:
    from aiokafka import AIOKafkaConsumer

    async def run() -> list[bytes | None]:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        values: list[bytes | None] = []
        while len(values) < COUNT:
            polled = await consumer.getmany(timeout_ms=20_000)
            assert polled, "nothing more comes"
            values += [message.value for messages in polled.values() for message in messages]
        await consumer.commit()
        begin = time.monotonic()
        await consumer.stop()
        assert time.monotonic() - begin < 2
        return values

    return asyncio.run(run())


def read_kcat(address: str, group: str, topic: str) -> list[bytes | None]:
    command = ["kcat", "-b", address, "-q", "-G", group, "-c", str(COUNT), "-X", "auto.offset.reset=earliest", topic]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return list(done.stdout.split())


READERS = [read_confluent, read_kafka_python, read_aiokafka, read_kcat]


@pytest.mark.parametrize("read", READERS, ids=["confluent-kafka", "kafka-python", "aiokafka", "kcat"])
def test_a_group_of_one_reads_all_and_goes_on_where_it_was(
    embedded_cluster: LocalCluster, kcat: str, topic: str, read: Callable[[str, str, str], Sequence[bytes | None]]
) -> None:
    address = embedded_cluster.bootstrap_servers
    assert set(read(address, topic, topic)) == {b"v%d" % i for i in range(COUNT)}
    offsets = committed(address, topic, topic)
    assert sum(offsets.values()) == COUNT
    produce(address, topic, [(b"k", b"later")])
    member = Member(address, topic, topic)
    until(lambda: bool(member.values), member)
    assert member.values == [b"later"]
    member.close()


# -- Several members ---------------------------------------------------------------------------------------------------


@pytest.fixture
def member(embedded_cluster: LocalCluster, topic: str) -> Iterator[Callable[..., Member]]:
    """Makes members of one group of that topic, and closes them."""
    made: list[Member] = []

    def make(**settings: Any) -> Member:
        made.append(Member(embedded_cluster.bootstrap_servers, topic, topic, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_and_take_over(member: Callable[..., Member], strategy: str) -> None:
    first = member(partition_assignment_strategy=strategy)
    until(lambda: first.assigned == {0, 1}, first)
    second = member(partition_assignment_strategy=strategy)
    until(lambda: len(first.assigned) == len(second.assigned) == 1, first, second)
    assert first.assigned | second.assigned == {0, 1}
    assert second.close() < 2
    until(lambda: first.assigned == {0, 1}, first)
    assert first.errors == second.errors == []


def test_a_member_that_dies_is_missed_after_its_session(
    embedded_cluster: LocalCluster, kcat: str, topic: str, member: Callable[..., Member]
) -> None:
    command = [kcat, "-b", embedded_cluster.bootstrap_servers, "-q", "-G", topic, "-X", "session.timeout.ms=1000"]
    other = subprocess.Popen([*command, topic], stdout=subprocess.DEVNULL)
    try:
        first = member()
        until(lambda: len(first.assigned) == 1, first, what="the other's share")
    finally:
        other.kill()
        other.wait()
    until(lambda: first.assigned == {0, 1}, first)


def test_a_static_member_comes_back_to_what_it_had(member: Callable[..., Member]) -> None:
    first, second = member(group_instance_id="a"), member(group_instance_id="b")
    until(lambda: len(first.assigned) == len(second.assigned) == 1, first, second)
    revoked, had = first.revocations, set(second.assigned)
    second.close()
    again = member(group_instance_id="b")
    until(lambda: bool(again.assigned), first, again)
    assert (again.assigned, first.revocations) == (had, revoked)


def test_of_two_with_the_same_name_the_first_is_fenced(member: Callable[..., Member]) -> None:
    first = member(group_instance_id="a")
    until(lambda: first.assigned == {0, 1}, first)
    second = member(group_instance_id="a")

    def is_fenced() -> bool:
        return any(error.code() == KafkaError._FATAL for error in first.errors)

    until(lambda: second.assigned == {0, 1} and is_fenced(), first, second)


def test_a_commit_of_who_is_no_member_any_more_is_refused(
    embedded_cluster: LocalCluster, topic: str, member: Callable[..., Member]
) -> None:
    first = member()
    until(lambda: first.assigned == {0, 1}, first)
    body = wire.string(topic.encode()) + wire.i32(1) + wire.string(b"gone") + wire.i64(-1) + one_offset(topic, 5)
    with wire.Connection(embedded_cluster.brokers[0]) as connection:
        assert wire.codes(connection.call(OFFSET_COMMIT, 2, body)) == [25]  # UNKNOWN_MEMBER_ID


def one_offset(topic: str, offset: int) -> bytes:
    """An offset of partition 0, as in OffsetCommit 0 and 2."""
    partition = wire.i32(0) + wire.i64(offset) + wire.string(b"")
    return wire.array(wire.string(topic.encode()) + wire.array(partition))


# -- Restarts, ZooKeeper, administrators -------------------------------------------------------------------------------


def test_commits_and_members_survive_a_restart(own_cluster: LocalCluster) -> None:
    address = own_cluster.start().bootstrap_servers
    topic = filled_topic(address)
    first = Member(address, "g", topic)
    until(lambda: len(first.values) == COUNT, first)
    first.consumer.commit(asynchronous=False)
    before = committed(address, "g", topic)
    revoked = first.revocations
    broker = own_cluster.brokers[0]
    assert broker.process.stop() == 0
    broker.start()
    assert committed(address, "g", topic) == before
    produce(address, topic, [(b"k", b"later")])
    until(lambda: len(first.values) == COUNT + 1, first)
    assert first.revocations == revoked, "the coordinator did not remember its member"
    first.close()


def offset_in(broker: LocalBroker, version: int, group: bytes, topic: str) -> int:
    body = wire.string(group) + wire.array(wire.string(topic.encode()) + wire.array(wire.i32(0)))
    with wire.Connection(broker) as connection:
        (offset,) = wire.values_of(connection.call(OFFSET_FETCH, version, body), "offset")
    return int(offset)


def test_version_0_keeps_offsets_in_zookeeper_and_others_in_the_log(embedded_cluster: LocalCluster, topic: str) -> None:
    broker, group = embedded_cluster.brokers[0], topic.encode()
    assert set(committed(broker.address, topic, topic).values()) == {NONE}  # the coordinator is there from now on
    with wire.Connection(broker) as connection:
        answer = connection.call(OFFSET_COMMIT, 0, wire.string(group) + one_offset(topic, 7))
        assert wire.codes(answer) == [0]
        simple = wire.string(group) + wire.i32(-1) + wire.string(b"") + wire.i64(-1) + one_offset(topic, 9)
        assert wire.codes(connection.call(OFFSET_COMMIT, 2, simple)) == [0]
    assert (offset_in(broker, 0, group, topic), offset_in(broker, 1, group, topic)) == (7, 9)
    with zookeeper(embedded_cluster.zookeeper_connect) as client:
        assert client.get(f"/consumers/{topic}/offsets/{topic}/0")[0] == b"7"


def test_administrators_see_and_delete_groups(
    embedded_cluster: LocalCluster, topic: str, member: Callable[..., Member]
) -> None:
    address = embedded_cluster.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": address})
    first = member(client_id="somebody")
    until(lambda: len(first.values) == COUNT, first)
    first.consumer.commit(asynchronous=False)
    listed = admin.list_consumer_groups().result().valid
    assert topic in {group.group_id for group in listed}
    described = admin.describe_consumer_groups([topic], include_authorized_operations=True)[topic].result()
    assert (described.state, described.partition_assignor) == (ConsumerGroupState.STABLE, "range")
    (seen,) = described.members
    assert (seen.client_id, seen.host) == ("somebody", "/127.0.0.1")
    assert {p.partition for p in seen.assignment.topic_partitions} == {0, 1}
    assert {operation.name for operation in described.authorized_operations} == {"READ", "DESCRIBE", "DELETE"}
    with pytest.raises(Exception, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([topic])[topic].result()
    first.close()
    admin.delete_consumer_groups([topic])[topic].result()
    assert set(committed(address, topic, topic).values()) == {NONE}


def test_offsets_go_with_their_topic(embedded_cluster: LocalCluster, topic: str) -> None:
    address = embedded_cluster.bootstrap_servers
    read_confluent(address, topic, topic)
    admin = AdminClient({"bootstrap.servers": address})

    def kept() -> list[TopicPartition]:
        found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(topic)])[topic].result()
        return list(found.topic_partitions)

    assert len(kept()) == 2
    admin.delete_topics([topic])[topic].result()
    wait_until(lambda: not kept(), what="the offsets' end")
