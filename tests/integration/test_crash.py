"""Durability: what was acknowledged is there after kill -9, in order and without gaps; a clean stop skips recovery."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess
import sys

import pytest

from kafka_py.common.protocol.types.struct import Struct
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
from tests.integration.support import wait_until, wait_until_forgotten
from tests.integration.wire import LIST_OFFSETS, Connection, codes, list_offsets, values_of

pytestmark = pytest.mark.slow

no_java = pytest.mark.skipif(find_java() is None, reason="no Java runtime for Apache ZooKeeper")

# Produces numbered records for ever and prints partition, offset and number of each that is acknowledged.
ENDLESS_PRODUCER = """
import sys
from confluent_kafka import Producer
p = Producer({"bootstrap.servers": sys.argv[1], "acks": "all", "linger.ms": 2, "enable.idempotence": True,
              "compression.type": sys.argv[3], "message.timeout.ms": 5000, "socket.timeout.ms": 3000})
def done(error, m):
    if error is None:
        sys.stdout.write("%d %d %s\\n" % (m.partition(), m.offset(), m.value().decode().split()[0]))
n = 0
while True:
    try:
        p.produce(sys.argv[2], b"%d %s" % (n, b"x" * (n % 400)), partition=n % 3, on_delivery=done)
        n += 1
    except BufferError:
        p.poll(0.05)
    p.poll(0)
"""


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
def test_kill_9_while_producing_loses_nothing(own_cluster: LocalCluster, seed: int, codec: str) -> None:
    own_cluster.start()
    broker = own_cluster.brokers[0]
    topic = create_topic(broker.address, topic_name(), partitions=3)
    script = own_cluster.home / "producer.py"
    script.write_text(ENDLESS_PRODUCER)
    acked_file = own_cluster.home / "acked.txt"
    with open(acked_file, "wb") as out, open(os.devnull, "wb") as nothing:
        producer = subprocess.Popen(
            [sys.executable, "-u", str(script), broker.address, topic, codec], stdout=out, stderr=nothing
        )
        try:
            wanted = random.Random(seed).randrange(20_000, 400_000)
            while acked_file.stat().st_size < wanted:
                assert producer.poll() is None
            broker.process.kill()
        finally:
            producer.kill()
            producer.wait()
    wait_until_forgotten(own_cluster, broker)
    lines = acked_file.read_text().split("\n")[:-1]
    acked = [tuple(map(int, line.split())) for line in lines if line.count(" ") == 2]
    assert len(acked) > 500

    broker.start()
    wait_for_leaders(broker.address, topic, 3)
    ends = [end_offset(broker, topic, p) for p in range(3)]
    found = by_partition(consume_confluent(broker.address, topic, 3, sum(ends)))
    for p, records in found.items():
        assert [offset for offset, _, _ in records] == list(range(len(records))), f"partition {p} has gaps"
    stored = {(p, o): int((v or b"").split()[0]) for p, records in found.items() for o, _, v in records}
    missing = [(p, o, n) for p, o, n in acked if stored.get((p, o)) != n]
    assert missing == []
    numbers = [n for _, n in sorted(stored.items())]
    assert len(set(numbers)) == len(numbers), "the idempotent producer wrote a record twice"


def test_a_clean_stop_leaves_its_marker_and_moves_on(own_cluster: LocalCluster) -> None:
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


def test_a_torn_tail_is_cut_at_the_last_whole_batch(own_cluster: LocalCluster) -> None:
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
    wait_until_forgotten(own_cluster, broker)
    broker.start()
    for topic in topics.values():
        rows = consume_confluent(broker.address, topic, 1, 19)
        assert [row.value for row in rows] == [b"value-%d" % i * 10 for i in range(19)]
        produce(broker.address, topic, [(None, b"after")])
        assert consume_confluent(broker.address, topic, 1, 20)[-1].offset == 19


def test_two_brokers_cannot_share_a_log_directory(own_cluster: LocalCluster, tmp_path: pathlib.Path) -> None:
    own_cluster.start()
    properties = {**own_cluster.brokers[0].properties, "listeners": "PLAINTEXT://127.0.0.1:0"}
    path = tmp_path / "second.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in properties.items()))
    start = pathlib.Path(__file__).parents[2] / "bin/kafka-server-start.py"
    done = subprocess.run([sys.executable, str(start), str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Failed to acquire lock on file .lock" in done.stdout + done.stderr
