"""While followers stand still a log grows above its high watermark, and no reader is given what is up there.

Nor, of committed data, what is above the first open transaction. Three brokers, two of which are stopped by a signal;
neither ZooKeeper nor the leader takes notice of that within the time of these tests.
"""

from __future__ import annotations

import pathlib
import signal
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.embedded.zookeeper_server import ZooKeeperServer
from kafka_py.spark.options import READ_COMMITTED, READ_UNCOMMITTED, KafkaSourceOptions
from kafka_py.spark.source import KafkaBatch
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration import wire
from tests.integration.support import wait_until
from tests.spark.made_logs import replica_dirs

pytestmark = [pytest.mark.slow]

NEVER_MS = 600_000
PROPERTIES = {
    "replica.lag.time.max.ms": str(NEVER_MS),
    "zookeeper.session.timeout.ms": str(NEVER_MS),
    "controlled.shutdown.enable": "false",  # the last one would try for long to find another leader
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.index.size.max.bytes": "50000",
    "log.index.interval.bytes": "500",
    "transaction.partition.verification.enable": "false",  # a batch of a transaction comes without a coordinator
}
TOPIC = "watched"
PLAIN, UNDECIDED = 0, 1  # partitions; the second one has an open transaction
STABLE, IN_TRANSACTION, BEHIND, ABOVE = 400, 10, 100, 300  # numbers of records, in the order they are written
TRANSACTIONAL = 1 << 4
Values = dict[int, list[bytes]]  # partition -> values, each at the place that its offset is


class Paused(NamedTuple):
    """The cluster while its followers stand still: offsets by partition, and every value that was acknowledged."""

    cluster: LocalCluster
    values: Values
    high_watermark: dict[int, int]
    stable: dict[int, int]

    @property
    def leader(self) -> LocalBroker:
        return self.cluster.brokers[0]

    def options(self, source: str) -> dict[str, str]:
        """Where to read from, by a name of SOURCES."""
        own = {"logDirs": ",".join(str(d) for d in self.leader.log_dirs)}
        every = {"brokers": ",".join(f"{b.id}={d}" for b in self.cluster.brokers for d in b.log_dirs)}
        live = {"kafka.bootstrap.servers": self.leader.address}
        given = {
            "leader's files": own,
            "everybody's files": every,
            "leader's files, live offsets": {**own, **live},
            "everybody's files, live offsets": {**every, **live},
            "over the wire": live,
        }
        return {"subscribe": TOPIC, **given[source]}


FILES = ("leader's files", "everybody's files")
LIVE_FILES = ("leader's files, live offsets", "everybody's files, live offsets")
SOURCES = (*FILES, *LIVE_FILES, "over the wire")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three brokers, and a ZooKeeper that lets sessions live for as long as they want."""
    data, home = tmp_path_factory.mktemp("zookeeper"), tmp_path_factory.mktemp("watermark")
    with (
        ZooKeeperServer(data, max_client_cnxns=0, force_sync=False, max_session_timeout=NEVER_MS) as zookeeper,
        LocalCluster(3, zookeeper=zookeeper.connect_string, home=home, properties=PROPERTIES) as started,
    ):
        yield started


@pytest.fixture(scope="module")
def paused(cluster: LocalCluster) -> Iterator[Paused]:
    """Records that all replicas have, and behind them records that only the leader has."""
    leader, *followers = cluster.brokers
    partitions = [[b.id for b in cluster.brokers]] * 2
    config = {"min.insync.replicas": "1", "segment.bytes": "10000"}
    admin = AdminClient({"bootstrap.servers": leader.address})
    for future in admin.create_topics([NewTopic(TOPIC, 2, replica_assignment=partitions, config=config)]).values():
        future.result(30)
    values: Values = {PLAIN: [], UNDECIDED: []}
    fill(leader, values, STABLE, acks="all")
    begin_transaction(leader, values)
    fill(leader, values, BEHIND, acks="all")
    high_watermark = {partition: len(found) for partition, found in values.items()}
    wait_for_checkpoints(cluster, high_watermark)
    try:
        for broker in followers:
            broker.process.signal(signal.SIGSTOP)
        wait_until(lambda: all(stands_still(broker.process.pid) for broker in followers), what="the followers' stop")
        fill(leader, values, ABOVE, acks="1")
        yield Paused(cluster, values, high_watermark, {**high_watermark, UNDECIDED: STABLE})
    finally:
        resume(cluster)


@pytest.fixture(scope="module")
def resumed(paused: Paused) -> Paused:
    """The same when its followers go on; tests that want them paused must come before."""
    resume(paused.cluster)
    everything = {partition: len(found) for partition, found in paused.values.items()}
    wait_until(lambda: latest(paused.leader, READ_UNCOMMITTED) == everything, what="the followers")
    wait_for_checkpoints(paused.cluster, everything)
    return paused._replace(high_watermark=everything, stable={**everything, UNDECIDED: STABLE})


def wait_for_checkpoints(cluster: LocalCluster, offsets: dict[int, int]) -> None:
    """Wait until every broker's file says so."""
    wait_until(lambda: all(checkpointed(broker) == offsets for broker in cluster.brokers), what="the checkpoints")


def resume(cluster: LocalCluster) -> None:
    for broker in cluster.brokers[1:]:
        broker.process.signal(signal.SIGCONT)


def stands_still(pid: int) -> bool:
    """Whether each thread is stopped by a signal."""
    stats = [path.read_text() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def fill(leader: LocalBroker, values: Values, count: int, acks: str) -> None:
    """Write to both partitions; each record must be acknowledged, at the next offset."""

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        partition, value = message.partition(), message.value()
        assert partition is not None
        assert value is not None
        assert message.offset() == len(values[partition])
        values[partition].append(value)

    producer = Producer({"bootstrap.servers": leader.address, "acks": acks, "batch.num.messages": 20, "linger.ms": 2})
    for i in range(count):
        for partition in values:
            producer.produce(TOPIC, b"%d of %d " % (i, count) * 3, partition=partition, on_delivery=delivered)
    assert producer.flush(30) == 0


def begin_transaction(leader: LocalBroker, values: Values) -> None:
    """A batch of a transaction that nobody ever decides about, as a transactional producer would send it."""
    written = [b"undecided %d" % i for i in range(IN_TRANSACTION)]
    records = b"".join(wire.record(value, i) for i, value in enumerate(written))
    batch = wire.batch(records, IN_TRANSACTION, attributes=TRANSACTIONAL, producer=(7, 0, 0))
    with wire.Connection(leader) as connection:
        answer = connection.call(wire.PRODUCE, 5, wire.produce(TOPIC.encode(), batch, UNDECIDED, transaction=b"x"))
    assert wire.codes(answer) == [0]
    values[UNDECIDED] += written


def latest(leader: LocalBroker, isolation: str) -> dict[int, int]:
    """The high watermarks, or the last stable offsets, that the leader tells a consumer."""
    level = wire.i8(isolation == READ_COMMITTED)
    asked = wire.array(*(wire.i32(partition) + wire.i64(-1) for partition in (PLAIN, UNDECIDED)))
    body = wire.i32(-1) + level + wire.array(wire.string(TOPIC.encode()) + asked)
    with wire.Connection(leader) as connection:
        answer = connection.call(wire.LIST_OFFSETS, 2, body)
    assert wire.codes(answer) == [0, 0]
    return dict(zip(wire.values_of(answer, "partition"), wire.values_of(answer, "offset"), strict=True))


def checkpointed(broker: LocalBroker) -> dict[int, int]:
    """The high watermarks in the broker's file: version, count, and a line for each partition."""
    found = {}
    for log_dir in broker.log_dirs:
        for line in (log_dir / "replication-offset-checkpoint").read_text().splitlines()[2:]:
            topic, partition, offset = line.split()
            if topic == TOPIC:
                found[int(partition)] = int(offset)
    return found


def read(options: dict[str, str]) -> dict[int, list[tuple[int, bytes]]]:
    """Partition -> offsets and values, in the order in which tasks give them."""
    reader = KafkaBatch(KafkaSourceOptions(options), ("partition", "offset", "value"))
    found: dict[int, list[tuple[int, bytes]]] = {PLAIN: [], UNDECIDED: []}
    for piece in reader.partitions():
        for table in reader.read(piece):
            for partition, offset, value in zip(*(column.to_pylist() for column in table.columns), strict=True):
                found[partition].append((offset, value))
    return found


def below(values: Values, ends: dict[int, int]) -> dict[int, list[tuple[int, bytes]]]:
    return {partition: list(enumerate(values[partition][:end])) for partition, end in ends.items()}


def test_the_log_grows_and_the_high_watermark_stands(paused: Paused) -> None:
    assert latest(paused.leader, READ_UNCOMMITTED) == paused.high_watermark
    assert latest(paused.leader, READ_COMMITTED) == paused.stable
    assert checkpointed(paused.leader) == paused.high_watermark
    dirs = [str(d) for d in paused.leader.log_dirs]
    ends = {r.partition: r.log_end_offset for r in replica_dirs(dirs) if r.topic == TOPIC}
    assert ends == {partition: mark + ABOVE for partition, mark in paused.high_watermark.items()}
    assert paused.stable[UNDECIDED] < paused.high_watermark[UNDECIDED] < ends[UNDECIDED]


@pytest.mark.parametrize("source", SOURCES)
def test_rows_end_below_the_high_watermark(paused: Paused, source: str) -> None:
    assert read(paused.options(source)) == below(paused.values, paused.high_watermark)
    assert latest(paused.leader, READ_UNCOMMITTED) == paused.high_watermark


@pytest.mark.parametrize("source", SOURCES)
def test_committed_rows_end_below_the_last_stable_offset(paused: Paused, source: str) -> None:
    found = read({**paused.options(source), "kafka.isolation.level": READ_COMMITTED})
    assert found == below(paused.values, paused.stable)
    assert latest(paused.leader, READ_COMMITTED) == paused.stable


@pytest.mark.parametrize("source", SOURCES)
def test_small_pieces_end_there_too(paused: Paused, source: str) -> None:
    """The mark is within a segment, and between entries of its index."""
    found = read({**paused.options(source), "maxPartitionBytes": "1500"})
    assert found == below(paused.values, paused.high_watermark)


@pytest.mark.parametrize("source", ["leader's files", *LIVE_FILES])
def test_whoever_asks_for_the_unsafe_end_is_given_all(paused: Paused, source: str) -> None:
    found = read({**paused.options(source), "endingOffsets": "unsafe-end"})
    assert found == {partition: list(enumerate(values)) for partition, values in paused.values.items()}


def test_over_the_wire_nobody_is_given_more(paused: Paused) -> None:
    found = read({**paused.options("over the wire"), "endingOffsets": "unsafe-end"})
    assert found == below(paused.values, paused.high_watermark)


@pytest.mark.parametrize("source", SOURCES)
def test_everything_comes_when_the_followers_go_on(resumed: Paused, source: str) -> None:
    assert read(resumed.options(source)) == below(resumed.values, resumed.high_watermark)
    committed = read({**resumed.options(source), "kafka.isolation.level": READ_COMMITTED})
    assert committed == below(resumed.values, resumed.stable)
