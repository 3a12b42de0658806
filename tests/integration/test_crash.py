"""Durability: what was acknowledged is there after kill -9, in order and without gaps; a clean stop skips recovery."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import subprocess
import sys

import pytest
from confluent_kafka import Consumer, TopicPartition
from kazoo.exceptions import NoNodeError

from kafka_py.common.protocol.types.struct import Struct
from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from kafka_py.tools.java_runtime import find_java
from tests.integration.clients import (
    by_partition,
    consume_confluent,
    create_topic,
    produce,
    topic_name,
    wait_for_leaders,
)
from tests.integration.support import size_of_logs, wait_until, zookeeper
from tests.integration.wire import (
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    PRODUCE,
    Connection,
    batch,
    codes,
    i32,
    list_offsets,
    record,
    string,
    values_of,
)
from tests.integration.wire import produce as produce_request

pytestmark = pytest.mark.slow

no_java = pytest.mark.skipif(find_java() is None, reason="no Java runtime for Apache ZooKeeper")

# Produces numbered records and prints partition, offset and number of each that is acknowledged, "failed" and why for
# others; until it is killed, or the file that is named last appears.
ENDLESS_PRODUCER = """
import os
import sys
from confluent_kafka import Producer
address, topic, codec, end = sys.argv[1:]
p = Producer({"bootstrap.servers": address, "linger.ms": 2, "enable.idempotence": True, "compression.type": codec,
              "batch.size": 100000, "message.timeout.ms": 60000, "socket.timeout.ms": 3000,
              "retry.backoff.ms": 50, "reconnect.backoff.max.ms": 200})
def done(error, m):
    number = m.value().decode().split()[0]
    sys.stdout.write("%d %d %s\\n" % (m.partition(), m.offset(), number) if error is None else "failed: %s\\n" % error)
n = 0
while not os.path.exists(end):
    try:
        p.produce(topic, b"%d %s" % (n, b"x" * (n % 400)), partition=n % 3, on_delivery=done)
        n += 1
    except BufferError:
        p.poll(0.05)
    p.poll(0)
p.flush(60)
"""


class EndlessProducer:
    """The process that runs ENDLESS_PRODUCER, and what it was told."""

    def __init__(self, home: pathlib.Path, broker: LocalBroker, topic: str, codec: str) -> None:
        script = home / "producer.py"
        script.write_text(ENDLESS_PRODUCER)
        self._acked, self._end = home / "acked.txt", home / "end"
        command = [sys.executable, "-u", str(script), broker.address, topic, codec, str(self._end)]
        with open(self._acked, "wb") as out, open(os.devnull, "wb") as nothing:
            self._process = subprocess.Popen(command, stdout=out, stderr=nothing)

    def wait_for(self, more: int) -> None:
        """Until so many bytes more of acknowledgements have come."""
        wanted = self._acked.stat().st_size + more

        def there() -> bool:
            assert self._process.poll() is None
            return self._acked.stat().st_size >= wanted

        wait_until(there, 60, f"{more} bytes of acknowledgements")

    def end(self) -> None:
        """Let it finish what it has begun."""
        self._end.touch()
        assert self._process.wait(60) == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def acked(self) -> list[tuple[int, ...]]:
        """Partition, offset and number of all that was acknowledged."""
        lines = self._acked.read_text().split("\n")[:-1]
        failed = [line for line in lines if line.startswith("failed")]
        assert failed[:3] == [], len(failed)
        return [tuple(map(int, line.split())) for line in lines if line.count(" ") == 2]


def assert_kept(broker: LocalBroker, topic: str, acked: list[tuple[int, ...]]) -> None:
    """All of it is there and nothing twice, in the order of the numbers, without a gap in the offsets."""
    ends = [end_offset(broker, topic, p) for p in range(3)]
    found = by_partition(consume_confluent(broker.address, topic, 3, sum(ends)))
    stored: dict[tuple[int, ...], int] = {}
    for p, records in found.items():
        assert [offset for offset, _, _ in records] == list(range(ends[p])), f"partition {p} has gaps"
        numbers = [int((value or b"").split()[0]) for _, _, value in records]
        assert numbers == sorted(set(numbers)), f"partition {p} has records twice, or out of order"
        stored.update({(p, offset): number for offset, number in enumerate(numbers)})
    assert [record for record in acked if stored.get(record[:2]) != record[2]] == []


def end_offset(broker: LocalBroker, topic: str, partition: int) -> int:
    """Clients are told who leads a moment before the leader itself is; until then it refuses (3 or 6)."""
    with Connection(broker) as connection:

        def answered() -> Struct | None:
            answer = connection.call(LIST_OFFSETS, 1, list_offsets(topic.encode(), partition))
            assert codes(answer) in ([0], [3], [6])
            return answer if codes(answer) == [0] else None

        found: int = next(values_of(wait_until(answered), "offset"))
        return found


@pytest.mark.parametrize(
    ("own_cluster", "seed", "codec"),
    [
        ("embedded", 1, "none"),
        ("embedded", 2, "lz4"),
        pytest.param("real", 3, "gzip", marks=[pytest.mark.zookeeper, no_java]),
        pytest.param("real", 4, "none", marks=[pytest.mark.zookeeper, no_java]),
    ],
    indirect=["own_cluster"],
)
def test_kill_9_while_producing_loses_nothing(own_cluster: Cluster, seed: int, codec: str) -> None:
    broker = own_cluster.start().brokers[0]
    topic = create_topic(broker.address, topic_name(), partitions=3)
    producer = EndlessProducer(own_cluster.home, broker, topic, codec)
    try:
        producer.wait_for(random.Random(seed).randrange(20_000, 400_000))
        broker.process.kill()
    finally:
        producer.kill()
    assert len(producer.acked()) > 500
    own_cluster.start_broker(broker.id)
    wait_for_leaders(broker.address, topic, 3)
    assert_kept(broker, topic, producer.acked())


@pytest.mark.parametrize(("seed", "codec"), [(5, "none"), (6, "zstd")])
def test_a_producer_goes_on_through_kills(own_cluster: Cluster, seed: int, codec: str) -> None:
    """It sends again what was not acknowledged; the broker, started anew, knows what it had of it."""
    broker = own_cluster.start().brokers[0]
    topic = create_topic(broker.address, topic_name(), partitions=3)
    chosen = random.Random(seed)
    producer = EndlessProducer(own_cluster.home, broker, topic, codec)
    try:
        for _ in range(2):
            producer.wait_for(chosen.randrange(20_000, 200_000))
            own_cluster.restart(broker.id, "kill")
        producer.wait_for(20_000)
        producer.end()
    finally:
        producer.kill()
    assert_kept(broker, topic, producer.acked())


def forget(cluster: LocalCluster, broker: LocalBroker) -> None:
    """What the end of a killed broker's session would do, without waiting for it."""
    with zookeeper(cluster.zookeeper_connect) as client:
        for path in (f"/brokers/ids/{broker.id}", "/controller"):
            with contextlib.suppress(NoNodeError):
                client.delete(path)


def last_values(broker: LocalBroker, topic: str) -> dict[bytes | None, bytes | None]:
    """The last value of each key of a topic with one partition; the offsets may have gaps."""
    end = end_offset(broker, topic, 0)
    settings = {"bootstrap.servers": broker.address, "group.id": "unused", "enable.auto.commit": False}
    consumer = Consumer(settings)
    found: dict[bytes | None, bytes | None] = {}
    offset = -1
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while offset < end - 1:
            message = consumer.poll(30)
            assert message is not None, f"nothing after {offset}, the end is {end}"
            assert message.error() is None
            at = message.offset()
            assert at is not None
            assert at > offset
            offset = at
            found[message.key()] = message.value()
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize(("seed", "codec"), [(7, "none"), (8, "lz4")])
def test_many_kills_with_small_segments(own_cluster: Cluster, seed: int, codec: str) -> None:
    """An idempotent producer goes on through all of them, and a topic beside it is compacted meanwhile."""
    broker = own_cluster.brokers[0]
    broker.properties.update({"log.cleaner.backoff.ms": "20", "log.flush.scheduler.interval.ms": "100"})
    own_cluster.start()
    small = {"segment.bytes": "150000", "index.interval.bytes": "500", "flush.ms": "200"}
    topic = create_topic(broker.address, topic_name(), 3, small)
    compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"}
    compacted = create_topic(broker.address, topic_name("c"), 1, {**compact, "segment.bytes": "2000"})
    chosen = random.Random(seed)
    written: dict[bytes | None, bytes | None] = {}
    log = broker.log_dirs[0] / f"{compacted}-0"
    producer = EndlessProducer(own_cluster.home, broker, topic, codec)
    try:
        for cycle in range(11):
            records: list[tuple[bytes | None, bytes | None]] = [
                (b"key-%d" % chosen.randrange(40), b"%d.%d" % (cycle, i) * 20) for i in range(100)
            ]
            produce(broker.address, compacted, records, batch_num_messages=chosen.choice([1, 10]))
            written.update(records)
            producer.wait_for(chosen.randrange(2_000, 40_000))
            broker.process.kill()
            forget(own_cluster, broker)
            broker.start()
            wait_for_leaders(broker.address, compacted, 1)
        assert last_values(broker, compacted) == written
        assert size_of_logs(log) < 11 * 100 * 80, "nothing was compacted"
        producer.end()
    finally:
        producer.kill()
    assert_kept(broker, topic, producer.acked())


def test_a_clean_stop_leaves_its_marker_and_moves_on(own_cluster: Cluster) -> None:
    own_cluster.start()
    broker = own_cluster.brokers[0]
    topic = create_topic(broker.address, topic_name())
    produce(broker.address, topic, [(None, b"%d" % i) for i in range(1000)])
    assert broker.process.stop() == 0
    assert (broker.log_dirs[0] / ".kafka_cleanshutdown").exists()
    broker.start()
    assert not (broker.log_dirs[0] / ".kafka_cleanshutdown").exists()
    produce(broker.address, topic, [(None, b"%d" % i) for i in range(1000, 1010)])
    rows = consume_confluent(broker.address, topic, 1, 1010)
    assert [row.value for row in rows] == [b"%d" % i for i in range(1010)]


def test_a_torn_tail_is_cut_at_the_last_whole_batch(own_cluster: Cluster) -> None:
    own_cluster.start()
    broker = own_cluster.brokers[0]
    topics = {cut: create_topic(broker.address, topic_name()) for cut in (1, 30, 61, 100)}
    for topic in topics.values():
        produce(broker.address, topic, [(None, b"value-%d" % i * 10) for i in range(20)], batch_num_messages=1)
    broker.process.kill()
    for cut, topic in topics.items():
        log = broker.log_dirs[0] / f"{topic}-0" / f"{0:020}.log"
        with open(log, "r+b") as file:
            file.truncate(log.stat().st_size - cut)
    own_cluster.start_broker(broker.id)
    for topic in topics.values():
        rows = consume_confluent(broker.address, topic, 1, 19)
        assert [row.value for row in rows] == [b"value-%d" % i * 10 for i in range(19)]
        produce(broker.address, topic, [(None, b"after")])
        assert consume_confluent(broker.address, topic, 1, 20)[-1].offset == 19


def spoil(directory: pathlib.Path, how: str) -> None:
    """Damage every index and snapshot of a partition, and leave files there that belong to no segment."""
    chosen = random.Random(how)
    for path in sorted(directory.glob("*.*")):
        if path.suffix not in (".index", ".timeindex", ".snapshot"):
            continue
        if how == "deleted":
            path.unlink()
        elif how == "random":
            path.write_bytes(chosen.randbytes(chosen.randrange(1, 200) * 8 + 3))
        elif how == "ones":
            path.write_bytes(b"\xff" * path.stat().st_size)
        else:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    (directory / f"{999999:020}.index").write_bytes(bytes(80))
    (directory / f"{888888:020}.timeindex").write_bytes(bytes(120))


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_damaged_indexes_and_snapshots_are_made_anew(own_cluster: Cluster, ending: str) -> None:
    """What is served does not change, and the last batches of an idempotent producer are still known."""
    broker = own_cluster.start().brokers[0]
    ways = ("deleted", "random", "ones", "truncated")
    config = {"segment.bytes": "20000", "index.interval.bytes": "500"}
    topic = create_topic(broker.address, topic_name(), len(ways), config)
    wait_for_leaders(broker.address, topic, len(ways))
    with Connection(broker) as connection:
        assigned = connection.call(INIT_PRODUCER_ID, 0, string(None) + i32(60_000))
        id = next(values_of(assigned, "producer_id"))
        for partition in range(len(ways)):
            for sequence in range(60):
                data = batch(record(b"%d " % sequence * 300), producer=(id, 0, sequence))
                assert codes(connection.call(PRODUCE, 5, produce_request(topic.encode(), data, partition))) == [0]
    before = by_partition(consume_confluent(broker.address, topic, len(ways), 60 * len(ways)))
    if ending == "kill":
        own_cluster.kill(broker.id)
        own_cluster.await_forgotten(broker.id)
    else:
        assert broker.process.stop() == 0
    for partition, how in enumerate(ways):
        spoil(broker.log_dirs[0] / f"{topic}-{partition}", how)
    broker.start()
    wait_for_leaders(broker.address, topic, len(ways))
    assert [end_offset(broker, topic, p) for p in range(len(ways))] == [60] * len(ways)
    assert by_partition(consume_confluent(broker.address, topic, len(ways), 60 * len(ways))) == before
    with Connection(broker) as connection:
        for partition in range(len(ways)):
            data = batch(record(b"59 " * 300), producer=(id, 0, 59))
            again = connection.call(PRODUCE, 5, produce_request(topic.encode(), data, partition))
            assert (codes(again), list(values_of(again, "base_offset"))) == ([0], [59]), ways[partition]
            more = batch(record(b"60"), producer=(id, 0, 60))
            assert codes(connection.call(PRODUCE, 5, produce_request(topic.encode(), more, partition))) == [0]
            left = {path.stem for path in (broker.log_dirs[0] / f"{topic}-{partition}").glob("*.*index")}
            assert not left & {f"{999999:020}", f"{888888:020}"}


def test_two_brokers_cannot_share_a_log_directory(own_cluster: Cluster, tmp_path: pathlib.Path) -> None:
    own_cluster.start()
    properties = {**own_cluster.brokers[0].properties, "listeners": "PLAINTEXT://127.0.0.1:0"}
    path = tmp_path / "second.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in properties.items()))
    start = pathlib.Path(__file__).parents[2] / "bin/kafka-server-start.py"
    done = subprocess.run([sys.executable, str(start), str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Failed to acquire lock on file .lock" in done.stdout + done.stderr
