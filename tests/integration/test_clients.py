"""What users connect: every client reads what another wrote, in every codec, and the admin calls do what they say."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.clients import (
    READERS,
    Row,
    by_partition,
    consume_confluent,
    consume_kcat,
    create_topic,
    produce,
    topic_name,
)

pytestmark = pytest.mark.slow

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
KAFKA_PYTHON_CODECS = ["none", "gzip", "snappy"]  # it takes the others from packages that nothing else here needs
LINES = [
    line[:900]
    for path in sorted(pathlib.Path(pathlib.__file__).parent.glob("*.py"))[:40]
    for line in path.read_bytes().replace(b"\t", b" ").split(b"\n")
    if line.strip()
][:20_000]
RECORDS = [(b"key-%d" % (i % 97), line) for i, line in enumerate(LINES)]


@pytest.mark.parametrize("codec", CODECS)
def test_all_clients_read_the_same(cluster: LocalCluster, kcat: str, codec: str) -> None:
    address = cluster.bootstrap_servers
    topic = create_topic(address, topic_name(codec), partitions=3)
    acked = produce(address, topic, RECORDS, compression_type=codec)
    assert sum(map(len, acked.values())) == len(RECORDS)
    expected = {p: sorted(rows) for p, rows in acked.items()}
    for p, rows in expected.items():
        assert [offset for offset, _, _ in rows] == list(range(len(rows))), f"offsets of partition {p} have gaps"
    for name, reader in READERS.items():
        if name == "kafka-python" and codec not in KAFKA_PYTHON_CODECS:
            continue
        assert by_partition(reader(address, topic, 3, len(RECORDS))) == expected, name
    assert by_partition(consume_kcat(kcat, address, topic, 3, len(RECORDS))) == expected


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(cluster: LocalCluster, acks: str) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name())
    produce(cluster.bootstrap_servers, topic, RECORDS[:2000], acks=acks)
    rows = consume_confluent(cluster.bootstrap_servers, topic, 1, 2000)
    assert [row.value for row in rows] == [value for _, value in RECORDS[:2000]]


def test_null_empty_and_large_values(cluster: LocalCluster) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name())
    records = [(None, None), (b"", b""), (b"k", b"x" * 900_000), (None, b"v")]
    produce(cluster.bootstrap_servers, topic, records)
    rows = consume_confluent(cluster.bootstrap_servers, topic, 1, 4)
    assert rows == [Row(0, i, key, value) for i, (key, value) in enumerate(records)]


def test_a_record_that_is_too_large_is_refused(cluster: LocalCluster) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name(), config={"max.message.bytes": "10000"})
    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        produce(cluster.bootstrap_servers, topic, [(None, b"x" * 20_000)])
    produce(cluster.bootstrap_servers, topic, [(None, b"small")])


def test_the_idempotent_producer(cluster: LocalCluster) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name(), partitions=2)
    acked = produce(cluster.bootstrap_servers, topic, RECORDS[:5000], enable_idempotence=True)
    rows = consume_confluent(cluster.bootstrap_servers, topic, 2, 5000)
    assert by_partition(rows) == {p: sorted(r) for p, r in acked.items()}


def test_topics_are_created_by_asking_for_them(cluster: LocalCluster) -> None:
    topic = topic_name("auto")
    produce(cluster.bootstrap_servers, topic, [(None, b"first")])
    assert [r.value for r in consume_confluent(cluster.bootstrap_servers, topic, 1, 1)] == [b"first"]


def test_kcat_lists_brokers_and_topics(cluster: LocalCluster, kcat: str) -> None:
    topic = create_topic(cluster.bootstrap_servers, topic_name("listed"), partitions=2)
    command = [kcat, "-b", cluster.bootstrap_servers, "-L", "-t", topic]
    listing = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    assert f"broker 0 at {cluster.bootstrap_servers} (controller)" in listing
    assert f'topic "{topic}" with 2 partitions' in listing
    assert "partition 1, leader 0, replicas: 0, isrs: 0" in listing


def test_admin_calls(cluster: LocalCluster) -> None:
    address = cluster.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": address})
    topic = create_topic(address, topic_name("admin"), partitions=3)
    assert set(admin.list_topics(topic, timeout=10).topics[topic].partitions) == {0, 1, 2}
    with pytest.raises(KafkaException, match=r"TOPIC_ALREADY_EXISTS|already exists"):
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10)
    with pytest.raises(KafkaException, match=r"INVALID_REPLICATION_FACTOR|larger than available"):
        admin.create_topics([NewTopic("three", 1, 3)])["three"].result(10)
    with pytest.raises(KafkaException, match=r"INVALID_TOPIC|illegal"):
        admin.create_topics([NewTopic("not/legal", 1, 1)])["not/legal"].result(10)
    admin.delete_topics([topic], operation_timeout=10)[topic].result(20)
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        admin.delete_topics([topic])[topic].result(10)


def test_offsets_by_time(cluster: LocalCluster) -> None:
    address = cluster.bootstrap_servers
    topic = create_topic(address, topic_name("time"))
    produce(address, topic, RECORDS[:100])
    consumer = Consumer({"bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False})
    try:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 100)
        found = consumer.offsets_for_times([TopicPartition(topic, 0, 1)], timeout=10)
        assert found[0].offset == 0
        late = consumer.offsets_for_times([TopicPartition(topic, 0, 1 << 45)], timeout=10)
        assert late[0].offset == -1
    finally:
        consumer.close()
