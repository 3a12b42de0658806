"""Topics that Apache Kafka 1.1.1 wrote go into an archive, and back into segments that Apache Kafka serves."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterator

import pytest

from kafka_py.spark.archive import ArchiveSettings, archive
from kafka_py.spark.restore import RestoreSettings, restore
from kafka_py.testing.local_cluster import LocalBroker
from tests.integration.clients import create_topic, produce, wait_for_leaders
from tests.integration.spark_rows import Seen, consume_all, copy_of
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.awaiting import wait_until_gone

pytestmark = pytest.mark.slow

PROPERTIES = {
    "log.segment.bytes": "10000",
    "log.index.size.max.bytes": "50000",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "zookeeper.session.timeout.ms": "2000",
}
CODECS = ("none", "gzip", "snappy", "lz4")
PARTITIONS = 2
COUNT = 2000


@pytest.fixture
def broker(apache: ApacheKafka, tmp_path: pathlib.Path) -> Iterator[LocalBroker]:
    cluster = apache.cluster(tmp_path / "cluster", PROPERTIES)
    cluster.start()
    yield cluster.brokers[0]
    cluster.close()


def rows_of(broker: LocalBroker, topic: str) -> list[Seen]:
    wait_for_leaders(broker.address, topic, PARTITIONS)
    return consume_all(broker.address, topic, PARTITIONS)


def test_lost_partitions_come_back_from_the_archive(
    apache: ApacheKafka, broker: LocalBroker, tmp_path: pathlib.Path
) -> None:
    log_dir, zookeeper = broker.log_dirs[0], broker.properties["zookeeper.connect"]
    before = {}
    for codec in CODECS:
        create_topic(broker.address, codec, PARTITIONS)
        records = [(b"%d" % (i % 50) if i % 3 else None, b"x" * (i % 90) if i % 7 else None) for i in range(COUNT)]
        produce(broker.address, codec, records, compression_type=codec, batch_num_messages=50)
        before[codec] = rows_of(broker, codec)
        assert len(before[codec]) == COUNT
    copy = copy_of(log_dir, tmp_path / "copy")
    settings = ArchiveSettings(max_file_bytes=20_000)
    archive(None, str(copy), tmp_path / "archive", subscribe=",".join(CODECS), settings=settings)
    broker.process.stop()
    wait_until_gone(zookeeper, broker.id)
    for codec in CODECS:
        for partition in range(PARTITIONS):
            shutil.rmtree(log_dir / f"{codec}-{partition}")
        done = restore(None, tmp_path / "archive", log_dir, [codec], RestoreSettings(10_000, codec=codec))
        assert sum(partition.records for partition in done) == COUNT
    kinds = (".log", ".index", ".timeindex")
    files = sorted(path for codec in CODECS for path in log_dir.glob(f"{codec}-*/*") if path.suffix in kinds)
    assert len(files) > 3 * len(CODECS) * PARTITIONS
    text, complaints = apache.dump(files, "--deep-iteration")
    assert complaints == ""
    assert "isvalid: false" not in text
    broker.start()
    for codec in CODECS:
        assert rows_of(broker, codec) == before[codec]
        produce(broker.address, codec, [(b"k", b"one more")] * 10)
        after = rows_of(broker, codec)
        assert len(after) == COUNT + 10
        assert [row for row in after if row.value != b"one more"] == before[codec]
    assert "Found a corrupted index" not in broker.process.text()
