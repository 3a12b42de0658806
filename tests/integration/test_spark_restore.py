"""Topics of one cluster go into an archive, and from there into another cluster, whose broker serves every record."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from kafka_py.spark.archive import ArchiveSettings, archive
from kafka_py.spark.restore import RestoreSettings, restore
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, produce, wait_for_leaders
from tests.integration.spark_rows import consume_all, copy_of
from tests.integration.support import wait_until_forgotten

pytestmark = pytest.mark.slow

PROPERTIES = {
    "log.segment.bytes": "50000",
    "log.index.size.max.bytes": "50000",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "zookeeper.session.timeout.ms": "2000",
}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 2
COUNT = 2000


@pytest.fixture
def clusters(tmp_path: pathlib.Path) -> Iterator[tuple[LocalCluster, LocalCluster]]:
    """The one where the topics are, and an empty one."""
    with (
        LocalCluster(home=tmp_path / "one", properties=PROPERTIES) as one,
        LocalCluster(home=tmp_path / "two", properties=PROPERTIES) as two,
    ):
        yield one, two


def fill(broker: LocalBroker, topic: str, codec: str) -> None:
    """Records with and without keys, values and headers, at times of their own."""
    producer = Producer({"bootstrap.servers": broker.address, "compression.type": codec, "batch.num.messages": 50})
    for i in range(COUNT):
        key = b"%d" % (i % 50) if i % 3 else None
        value = b"%d " % i * (i % 30) if i % 7 else None
        headers: dict[str, str | bytes | None] | None = {"i": b"%d" % i, "none": None} if i % 5 == 0 else None
        producer.produce(topic, value, key, partition=i % PARTITIONS, headers=headers, timestamp=1_600_000_000_000 + i)
    assert producer.flush(30) == 0


def test_topics_move_to_another_cluster(clusters: tuple[LocalCluster, LocalCluster], tmp_path: pathlib.Path) -> None:
    one, two = (cluster.brokers[0] for cluster in clusters)
    before = {}
    for topic in (*CODECS, "append-time"):
        config = {"message.timestamp.type": "LogAppendTime"} if topic == "append-time" else {}
        for broker in (one, two):  # records of 2020 are not to be deleted for their age
            create_topic(broker.address, topic, PARTITIONS, {**config, "retention.ms": "-1"})
        fill(one, topic, topic if topic in CODECS else "none")
        before[topic] = consume_all(one.address, topic, PARTITIONS)
        assert len(before[topic]) == COUNT
    copy = copy_of(one.log_dirs[0], tmp_path / "copy")
    settings = ArchiveSettings(max_file_bytes=20_000)
    archive(None, str(copy), tmp_path / "archive", subscribe=",".join(before), settings=settings)
    with pytest.raises(BlockingIOError):
        restore(None, tmp_path / "archive", two.log_dirs[0])
    two.process.stop()
    wait_until_forgotten(clusters[1], two)
    done = restore(None, tmp_path / "archive", two.log_dirs[0], settings=RestoreSettings(10_000, codec="lz4"))
    assert sum(partition.records for partition in done) == COUNT * len(before)
    assert min(partition.segments for partition in done) > 1
    two.start()
    for topic, rows in before.items():
        wait_for_leaders(two.address, topic, PARTITIONS)
        assert consume_all(two.address, topic, PARTITIONS) == rows
        produce(two.address, topic, [(b"k", b"one more")] * 10)
        after = consume_all(two.address, topic, PARTITIONS)
        assert [row for row in after if row.value != b"one more"] == rows
        assert len(after) == COUNT + 10
    two.process.stop()
    with pytest.raises(FileExistsError):
        restore(None, tmp_path / "archive", two.log_dirs[0])
