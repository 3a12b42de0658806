"""Well-formed requests that ask for something wrong: the error codes of Apache Kafka 1.1.1, and nothing changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, topic_name, wait_for_leaders
from tests.integration.support import children, rss, wait_until, zookeeper
from tests.integration.wire import (
    ALTER_CONFIGS,
    CONTROLLED_SHUTDOWN,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    DESCRIBE_CONFIGS,
    FETCH,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    LEADER_AND_ISR,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
    STOP_REPLICA,
    UPDATE_METADATA,
    Connection,
    array,
    batch,
    codes,
    create_topics,
    delete_topics,
    fetch,
    i8,
    i16,
    i32,
    i64,
    list_offsets,
    metadata,
    produce,
    request,
    string,
    values_of,
)
from tests.integration.wire import create_topic as new_topic

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undisturbed")]

MB = 1 << 20


class Case(NamedTuple):
    """One row: its name, the body that is sent, the error codes of the answer."""

    name: str
    body: bytes
    expected: Sequence[int]


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture(scope="module")
def topic(broker: LocalBroker) -> bytes:
    """With three records."""
    name = create_topic(broker.address, topic_name("requests")).encode()
    wait_for_leaders(broker.address, name.decode(), 1)
    with Connection(broker) as connection:
        for _ in range(3):
            assert codes(connection.call(PRODUCE, 5, produce(name, batch()))) == [0]
    return name


@pytest.fixture
def connection(broker: LocalBroker) -> Iterator[Connection]:
    with Connection(broker) as opened:
        yield opened


# -- Fetch and its sessions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-1, 4, 2**62, -(2**63), 2**63 - 1])
def test_offsets_that_are_out_of_range(connection: Connection, topic: bytes, offset: int) -> None:
    answer = connection.call(FETCH, 7, fetch(topic, offset))
    assert codes(answer) == [0, 1]
    assert [bytes(r) for r in values_of(answer, "record_set")] == [b""]


def test_the_end_of_the_log_is_in_range(connection: Connection, topic: bytes) -> None:
    assert codes(connection.call(FETCH, 7, fetch(topic, 3))) == [0, 0]


@pytest.mark.parametrize("partition", [1, -1, 2**31 - 1])
def test_fetch_from_a_partition_that_is_not_there(connection: Connection, topic: bytes, partition: int) -> None:
    assert codes(connection.call(FETCH, 7, fetch(topic, partition=partition))) == [0, 3]


def test_fetch_from_a_topic_that_is_not_there(connection: Connection) -> None:
    assert codes(connection.call(FETCH, 7, fetch(b"../../etc"))) == [0, 3]


def test_negative_limits(connection: Connection, topic: bytes) -> None:
    for body in (fetch(topic, partition_bytes=-1), fetch(topic, max_bytes=-1)):
        assert codes(connection.call(FETCH, 7, body))[-1] == -1


def test_zero_bytes_and_endless_waits(connection: Connection, topic: bytes) -> None:
    """Minima and maxima at the ends of their ranges are answered at once where there is nothing to wait for."""
    assert codes(connection.call(FETCH, 7, fetch(topic, min_bytes=-1, max_wait=2**31 - 1))) == [0, 0]
    assert codes(connection.call(FETCH, 7, fetch(topic, max_wait=-1, min_bytes=2**31 - 1))) == [0, 0]
    assert codes(connection.call(FETCH, 7, fetch(topic, max_bytes=2**31 - 1, partition_bytes=2**31 - 1))) == [0, 0]
    assert codes(connection.call(FETCH, 7, fetch(topic, 3, min_bytes=0, max_wait=2**31 - 1))) == [0, 0]


def test_sessions(connection: Connection, topic: bytes) -> None:
    def asked(wanted: bytes | None, session: int, epoch: int) -> tuple[int, int]:
        answer = connection.call(FETCH, 7, fetch(wanted, session=(session, epoch)))
        return codes(answer)[0], next(values_of(answer, "session_id"))

    error, session = asked(topic, 0, 0)
    assert error == 0
    assert session > 0
    assert asked(None, session, 1) == (0, session)
    assert asked(None, session, 3)[0] == 71, "an epoch left out"
    assert asked(None, session, -2)[0] in (70, 71)
    assert asked(None, session + 1, 1)[0] == 70, "nobody's session"
    assert asked(None, 77, 1)[0] == 70
    assert asked(None, 12345, -2)[0] == 70
    assert asked(topic, session, -1) == (0, 0), "a full fetch, after which the session is over"
    assert asked(None, session, 2)[0] == 70


def test_3000_sessions_cost_little(broker: LocalBroker, connection: Connection, topic: bytes) -> None:
    """The cache holds 1000 (max.incremental.fetch.session.cache.slots); the others get full fetches."""
    pid = broker.process.pid
    before = rss(pid)
    granted = 0
    for i in range(0, 3000, 100):
        for j in range(100):
            connection.send(request(FETCH, 7, fetch(topic, 3, session=(0, 0)), i + j))
        for j in range(100):
            answer = connection.answer(FETCH, 7, i + j)
            assert codes(answer) == [0, 0]
            granted += next(values_of(answer, "session_id")) != 0
    assert 0 < granted <= 1000
    assert rss(pid) - before <= 64 * MB


# -- ListOffsets and OffsetForLeaderEpoch -----------------------------------------------------------------------------


def asked_offset(partition: int = 0, timestamp: int = -1) -> bytes:
    return i32(partition) + i64(timestamp)


def test_list_offsets_asks_twice_for_a_partition(connection: Connection, topic: bytes) -> None:
    body = i32(-1) + array(string(topic) + array(asked_offset(), asked_offset()))
    assert codes(connection.call(LIST_OFFSETS, 1, body)) == [42]


@pytest.mark.parametrize(("count", "expected"), [(-5, -1), (2**31 - 1, 0), (0, 0), (1, 0)])
def test_list_offsets_of_version_0(connection: Connection, topic: bytes, count: int, expected: int) -> None:
    body = i32(-1) + array(string(topic) + array(asked_offset() + i32(count)))
    assert codes(connection.call(LIST_OFFSETS, 0, body)) == [expected]


@pytest.mark.parametrize("timestamp", [-3, -(2**63), 0, 2**63 - 1])
def test_list_offsets_at_odd_times(connection: Connection, topic: bytes, timestamp: int) -> None:
    assert codes(connection.call(LIST_OFFSETS, 1, list_offsets(topic, timestamp=timestamp))) == [0]


def test_list_offsets_where_nothing_is(connection: Connection, topic: bytes) -> None:
    for name, partition in ((b"no-such-topic", 0), (b"../x", 0), (topic, 1), (topic, -1)):
        assert codes(connection.call(LIST_OFFSETS, 1, list_offsets(name, partition))) == [3]


@pytest.mark.parametrize("epoch", [-1, 99, 2**31 - 1, -(2**31)])
def test_offsets_of_epochs_that_never_were(connection: Connection, topic: bytes, epoch: int) -> None:
    """No error, and no offset but the undefined one."""
    answer = connection.call(OFFSET_FOR_LEADER_EPOCH, 0, array(string(topic) + array(i32(0) + i32(epoch))))
    assert codes(answer) == [0]
    assert list(values_of(answer, "end_offset")) == [-1]


def test_offset_of_an_epoch_where_nothing_is(connection: Connection, topic: bytes) -> None:
    for name, partition in ((b"no-such-topic", 0), (topic, 99)):
        body = array(string(name) + array(i32(partition) + i32(0)))
        assert codes(connection.call(OFFSET_FOR_LEADER_EPOCH, 0, body)) == [3]


# -- Metadata ---------------------------------------------------------------------------------------------------------

ILLEGAL_NAMES = [b"", b".", b"..", b"a/b", b"../../x", b"a b", b"a\0b", b"x" * 250, b"\xff", b"a:b", b"\n"]
LONGEST_NAME = b"x" * 32767


def shown(name: bytes) -> str:
    return repr(name[:12])[2:-1] + (f"...{len(name)}" if len(name) > 12 else "")


@pytest.mark.parametrize("name", [*ILLEGAL_NAMES, LONGEST_NAME], ids=shown)
def test_metadata_of_illegal_names(connection: Connection, name: bytes) -> None:
    assert codes(connection.call(METADATA, 5, metadata(name, create=True))) == [17]
    assert codes(connection.call(METADATA, 5, metadata(name))) == [3]


def test_metadata_of_20000_names(connection: Connection) -> None:
    answer = connection.call(METADATA, 5, metadata(*(b"none-%d" % i for i in range(20_000))))
    assert codes(answer) == [3] * 20_000


def test_metadata_does_not_create_unless_asked(connection: Connection) -> None:
    name = topic_name("never").encode()
    assert codes(connection.call(METADATA, 5, metadata(name))) == [3]
    assert codes(connection.call(METADATA, 5, metadata(name))) == [3]


# -- CreateTopics and DeleteTopics -------------------------------------------------------------------------------------


def creating(name: str, *topics: bytes, expected: Sequence[int]) -> Case:
    return Case(name, create_topics(*topics), expected)


CREATIONS = [
    *(creating(f"name-{shown(name)}", new_topic(name), expected=[17]) for name in ILLEGAL_NAMES),
    *(creating(f"partitions-{n}", new_topic(b"c1", n), expected=[37]) for n in (0, -1, -3, -(2**31))),
    *(creating(f"replication-{n}", new_topic(b"c2", 1, n), expected=[38]) for n in (0, -1, -2, 2, 99, 32767)),
    creating("sizes-and-assignment", new_topic(b"c3", 1, 1, assignment=[(0, [0])]), expected=[42]),
    creating("twice-in-one-request", new_topic(b"c4"), new_topic(b"c4"), expected=[42]),
    creating("a-replica-twice", new_topic(b"c5", -1, -1, assignment=[(0, [0, 0])]), expected=[39]),
    creating("uneven-assignment", new_topic(b"c6", -1, -1, assignment=[(0, [0]), (1, [0, 1])]), expected=[39]),
    # the message about such a name is cut to fit into the answer
    creating("longest-name", new_topic(LONGEST_NAME), expected=[17]),
    creating("unknown-config", new_topic(b"c10", config=[(b"no.such.config", b"1")]), expected=[40]),
    creating("bad-config-value", new_topic(b"c11", config=[(b"retention.ms", b"soon")]), expected=[-1]),
    creating("config-value-too-small", new_topic(b"c12", config=[(b"segment.bytes", b"-1")]), expected=[-1]),
    creating("null-config-value", new_topic(b"c13", config=[(b"retention.ms", None)]), expected=[-1]),
    creating("good-and-bad", new_topic(b"a/b"), new_topic(b"c14", 0), expected=[17, 37]),
    creating("nothing", expected=[]),
]


@pytest.mark.parametrize("case", CREATIONS, ids=lambda case: case.name)
def test_topics_that_cannot_be_created(connection: Connection, embedded_cluster: LocalCluster, case: Case) -> None:
    before = topics_in_zookeeper(embedded_cluster)
    for version in (1, 2):
        assert sorted(codes(connection.call(CREATE_TOPICS, version, case.body))) == sorted(case.expected)
    assert topics_in_zookeeper(embedded_cluster) == before


def topics_in_zookeeper(cluster: LocalCluster) -> list[str]:
    with zookeeper(cluster.zookeeper_connect) as client:
        return children(client, "/brokers/topics")


def test_create_what_is_there_or_would_collide(connection: Connection) -> None:
    name = topic_name("dots").encode()
    first, second = name + b".a", name + b"_a"
    assert codes(connection.call(CREATE_TOPICS, 1, create_topics(new_topic(first)))) == [0]
    assert codes(connection.call(CREATE_TOPICS, 1, create_topics(new_topic(first)))) == [36]
    assert codes(connection.call(CREATE_TOPICS, 1, create_topics(new_topic(second)))) == [17], "same metric names"


def test_a_partition_without_replicas_has_no_leader(broker: LocalBroker, connection: Connection) -> None:
    """As in Kafka it is created, and waited for in vain; the controller goes on."""
    hollow = new_topic(topic_name("hollow").encode(), -1, -1, assignment=[(0, [])])
    assert codes(connection.call(CREATE_TOPICS, 1, create_topics(hollow, timeout=100))) == [7]
    wait_for_leaders(broker.address, create_topic(broker.address, topic_name("next")), 1)


@pytest.mark.parametrize("timeout", [0, -1, 1])
def test_create_without_patience(broker: LocalBroker, connection: Connection, timeout: int) -> None:
    """Whether it is answered in time or not, the topic comes."""
    name = topic_name("hasty")
    answer = connection.call(CREATE_TOPICS, 1, create_topics(new_topic(name.encode()), timeout=timeout))
    assert codes(answer)[0] in ([0, 7] if timeout == 1 else [7])
    wait_for_leaders(broker.address, name, 1)


def test_validate_only_creates_nothing(connection: Connection) -> None:
    name = topic_name("dry").encode()
    body = create_topics(new_topic(name), validate_only=True)
    assert codes(connection.call(CREATE_TOPICS, 1, body)) == [0]
    assert codes(connection.call(METADATA, 5, metadata(name))) == [3]


@pytest.mark.parametrize("name", [b"no-such-topic", b"", b"../../x", b"/etc", b"a/b", b"x" * 300], ids=shown)
def test_topics_that_cannot_be_deleted(connection: Connection, name: bytes) -> None:
    assert codes(connection.call(DELETE_TOPICS, 1, delete_topics(name))) == [3]


def test_delete_twice(broker: LocalBroker, connection: Connection) -> None:
    name = create_topic(broker.address, topic_name("twice")).encode()
    assert codes(connection.call(DELETE_TOPICS, 1, delete_topics(name, name))) == [0]
    assert codes(connection.call(DELETE_TOPICS, 1, delete_topics(name))) == [3]


# -- Coordinators and producer ids -------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [b"", b"group", b"\xff\0", b"x" * 32767], ids=shown)
def test_find_coordinator(connection: Connection, key: bytes) -> None:
    """0, or 15 while there is no coordinator; any key will do."""
    assert codes(connection.call(FIND_COORDINATOR, 0, string(key)))[0] in (0, 15)


@pytest.mark.parametrize(
    ("transactional_id", "timeout", "expected"),
    [
        (None, 60_000, [0]),
        (None, 0, [0]),
        (None, -1, [0]),
        (b"", 60_000, [42]),
        (b"id", 0, [50, 15, 16]),
        (b"id", -1, [50, 15, 16]),
        (b"id", 2**31 - 1, [50, 15, 16]),
    ],
    ids=repr,
)
def test_init_producer_id(
    connection: Connection, transactional_id: bytes | None, timeout: int, expected: list[int]
) -> None:
    """15 and 16 as long as there is no transaction coordinator to look at the timeout."""
    answer = connection.call(INIT_PRODUCER_ID, 0, string(transactional_id) + i32(timeout))
    assert codes(answer)[0] in expected
    assert (next(values_of(answer, "producer_id")) >= 0) == (expected == [0])


# -- Partitions, records and configurations -------------------------------------------------------------------------


def create_partitions(*topics: tuple[bytes, int, Sequence[Sequence[int]] | None]) -> bytes:
    """Topic, new number of partitions, and the replicas of the new ones."""
    entries = []
    for name, count, assignment in topics:
        replicas = i32(-1) if assignment is None else array(*(array(*map(i32, brokers)) for brokers in assignment))
        entries.append(string(name) + i32(count) + replicas)
    return array(*entries) + i32(5000) + i8(0)


def test_partitions_that_cannot_be_added(connection: Connection, topic: bytes) -> None:
    for wanted, expected in (
        ((topic, 1, None), 37),
        ((topic, 0, None), 37),
        ((topic, -5, None), 37),
        ((topic, 2, [[99]]), 39),
        ((topic, 2, [[0, 0]]), 39),
        ((topic, 3, [[0]]), 39),
        ((b"no-such-topic", 3, None), 3),
    ):
        assert codes(connection.call(CREATE_PARTITIONS, 0, create_partitions(wanted))) == [expected], wanted
    twice = create_partitions((topic, 2, None), (topic, 3, None))
    assert codes(connection.call(CREATE_PARTITIONS, 0, twice)) == [42]
    assert codes(connection.call(METADATA, 5, metadata(topic))) == [0, 0], "one topic, one partition"


def test_records_that_cannot_be_deleted(connection: Connection, topic: bytes) -> None:
    for name, partition, offset, expected in (
        (topic, 0, 4, 1),
        (topic, 0, 2**62, 1),
        (topic, 0, -7, 1),
        (topic, 0, -(2**63), 1),
        (topic, 5, 0, 3),
        (b"no-such-topic", 0, 0, 3),
        (topic, 0, 0, 0),
    ):
        body = array(string(name) + array(i32(partition) + i64(offset))) + i32(2000)
        assert codes(connection.call(DELETE_RECORDS, 0, body)) == [expected], (name, partition, offset)
    assert codes(connection.call(FETCH, 7, fetch(topic, 0))) == [0, 0], "the first record is still there"


TOPIC, BROKER = 2, 4


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [(99, b"x", 42), (0, b"x", 42), (BROKER, b"1", 42), (BROKER, b"abc", 42), (TOPIC, b"a/b", 17)],
    ids=repr,
)
def test_configs_that_cannot_be_described(connection: Connection, kind: int, name: bytes, expected: int) -> None:
    body = array(i8(kind) + string(name) + i32(-1))
    assert codes(connection.call(DESCRIBE_CONFIGS, 0, body)) == [expected]


def test_a_negative_kind_of_config_is_no_request(connection: Connection) -> None:
    connection.send(request(DESCRIBE_CONFIGS, 0, array(i8(-1) + string(b"x") + i32(-1))))
    assert connection.receive() is None


def alter_configs(kind: int, name: bytes, key: bytes, value: bytes | None) -> bytes:
    return array(i8(kind) + string(name) + array(string(key) + string(value))) + i8(0)


def test_configs_that_cannot_be_altered(connection: Connection, topic: bytes) -> None:
    for body, expected in (
        (alter_configs(TOPIC, topic, b"retention.ms", b"soon"), 42),
        (alter_configs(TOPIC, topic, b"no.such.config", b"1"), 40),
        (alter_configs(77, topic, b"retention.ms", b"1"), 42),
        (alter_configs(TOPIC, b"no-such-topic", b"retention.ms", b"soon"), -1),
        (alter_configs(BROKER, b"99", b"num.io.threads", b"4"), 42),
    ):
        assert codes(connection.call(ALTER_CONFIGS, 0, body)) == [expected], body


# -- What only brokers send ------------------------------------------------------------------------------------------


def partition_state(topic: bytes, leader: int = 99, leader_epoch: int = 99, version: int = 1) -> bytes:
    """Of LeaderAndIsr 1 and UpdateMetadata 4, which differ in their last field."""
    state = string(topic) + i32(0) + i32(99) + i32(leader) + i32(leader_epoch) + array(i32(leader)) + i32(0)
    return state + array(i32(leader)) + (i8(0) if version == 1 else array())


def leader_and_isr(topic: bytes, controller_epoch: int) -> bytes:
    return i32(99) + i32(controller_epoch) + array(partition_state(topic)) + array()


def stop_replica(topic: bytes, controller_epoch: int) -> bytes:
    return i32(99) + i32(controller_epoch) + i8(1) + array(string(topic) + i32(0))


def update_metadata(topic: bytes, controller_epoch: int, protocol: int = 0, port: int = 9092) -> bytes:
    end_point = i32(port) + string(b"elsewhere") + string(b"PLAINTEXT") + i16(protocol)
    brokers = array(i32(99) + array(end_point) + string(None))
    return i32(99) + i32(controller_epoch) + array(partition_state(topic, version=4)) + brokers


def test_nobody_believes_an_old_controller(connection: Connection, topic: bytes) -> None:
    before = str(connection.call(METADATA, 5, metadata(topic)))
    for api, version, body in (
        (LEADER_AND_ISR, 1, leader_and_isr(topic, -1)),
        (STOP_REPLICA, 0, stop_replica(topic, -1)),
        (UPDATE_METADATA, 4, update_metadata(topic, -1)),
        (LEADER_AND_ISR, 1, leader_and_isr(topic, 0)),
        (STOP_REPLICA, 0, stop_replica(topic, 0)),
        (UPDATE_METADATA, 4, update_metadata(topic, 0)),
    ):
        assert codes(connection.call(api, version, body))[0] == 11
    assert str(connection.call(METADATA, 5, metadata(topic))) == before
    assert codes(connection.call(FETCH, 7, fetch(topic))) == [0, 0]


@pytest.mark.parametrize("epoch", [-1, 0])
@pytest.mark.parametrize(("protocol", "port"), [(77, 9092), (-1, 9092), (0, 70_000), (0, -5)])
def test_update_metadata_with_odd_end_points(
    broker: LocalBroker, topic: bytes, epoch: int, protocol: int, port: int
) -> None:
    """Answered or closed, where Kafka leaves the sender waiting; and not believed."""
    with Connection(broker) as connection:
        connection.send(request(UPDATE_METADATA, 4, update_metadata(topic, epoch, protocol, port)))
        reply = connection.receive()
        assert reply is None or reply[:4] == i32(1)
    with Connection(broker) as connection:
        assert list(values_of(connection.call(METADATA, 5, metadata(topic)), "node_id")) == [0]


@pytest.mark.parametrize("broker_id", [99, -1, 2**31 - 1])
def test_controlled_shutdown_of_a_broker_nobody_knows(connection: Connection, broker_id: int) -> None:
    assert codes(connection.call(CONTROLLED_SHUTDOWN, 1, i32(broker_id))) == [8]


def test_nothing_was_deleted(connection: Connection, topic: bytes) -> None:
    """After all of the above, the topic's records are where they were."""
    wait_until(lambda: codes(connection.call(METADATA, 5, metadata(topic))) == [0, 0])
    answer = connection.call(LIST_OFFSETS, 1, list_offsets(topic))
    assert list(values_of(answer, "offset")) == [3]
