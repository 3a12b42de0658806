"""A million records of real text through the broker in every codec, read back by every client and by Spark.

    python -m benchmarks.round_trip [--records 1000000] [--codecs none,gzip,…] [--readers …] [--spark]

Not a speed test: it says whether what comes back is what was sent, per partition and in order, and exits 1 if not.
The text is the standard library's source, repeated until there are enough lines; each line gets its number.
"""

from __future__ import annotations

import argparse
import hashlib
import pathlib
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from kafka_py.common.utils.time import Time
from kafka_py.spark.local_session import start_spark
from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.clients import READERS, Row, consume_kcat, create_topic

PARTITIONS = 4
_MEMORY = {"spark.driver.memory": "4g"}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Digest:
    """What a reader saw of each partition: how many records, and a hash over offsets, keys and values in order."""

    def __init__(self) -> None:
        self._counts = [0] * PARTITIONS
        self._hashes = [hashlib.blake2b(digest_size=16) for _ in range(PARTITIONS)]

    def add(self, partition: int, offset: int, key: bytes | None, value: bytes | None) -> None:
        if offset != self._counts[partition]:
            raise AssertionError(f"partition {partition}: offset {offset} where {self._counts[partition]} was due")
        self._counts[partition] += 1
        self._hashes[partition].update(b"%d\0%b\0%b\n" % (offset, key or b"", value or b""))

    def result(self) -> list[tuple[int, str]]:
        return [(n, h.hexdigest()) for n, h in zip(self._counts, self._hashes, strict=True)]

    @classmethod
    def of(cls, rows: list[Row]) -> list[tuple[int, str]]:
        digest = cls()
        for row in rows:
            digest.add(*row)
        return digest.result()


def lines(count: int) -> Iterator[bytes]:
    """Lines of the standard library's sources, each behind its number; tabs become blanks, for kcat's output."""
    sources = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    n = 0
    while True:
        for path in sources:
            for line in path.read_bytes().replace(b"\t", b" ").splitlines():
                if n == count:
                    return
                yield b"%d %b %b %b" % (n, line, line[::-1], line)  # thrice, for more than 100 bytes a record
                n += 1


def produce(servers: str, topic: str, codec: str, count: int) -> tuple[list[tuple[int, str]], int]:
    """Send them with acks=all; what was acknowledged, as a digest, and the bytes of all values."""
    acked: list[list[tuple[int, bytes]]] = [[] for _ in range(PARTITIONS)]
    sent_bytes = 0

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise AssertionError(error)
        partition, offset = message.partition(), message.offset()
        assert partition is not None
        assert offset is not None
        acked[partition].append((offset, message.value() or b""))

    producer = Producer({
        "bootstrap.servers": servers, "acks": "all", "compression.type": codec, "linger.ms": 5,
        "queue.buffering.max.messages": 200_000, "enable.idempotence": True,
    })  # fmt: skip
    for n, line in enumerate(lines(count)):
        sent_bytes += len(line)
        while True:
            try:
                producer.produce(topic, line, partition=n % PARTITIONS, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(120):
        raise AssertionError("Some records were not acknowledged")
    digest = Digest()
    for partition, records in enumerate(acked):
        for offset, value in sorted(records):
            digest.add(partition, offset, None, value)
    return digest.result(), sent_bytes


def read_with_spark(spark: Any, log_dirs: str, topic: str) -> list[tuple[int, str]]:
    """The same digest from the segments."""
    frame = spark.read.format("kafka_segments").option("logDirs", log_dirs).option("subscribe", topic).load()
    digest = Digest()
    for row in frame.select("partition", "offset", "key", "value").orderBy("partition", "offset").toLocalIterator():
        digest.add(row[0], row[1], row[2], row[3])
    return digest.result()


def run(options: argparse.Namespace) -> int:
    time = Time.SYSTEM
    kcat = shutil.which("kcat")
    failures = 0
    with (
        tempfile.TemporaryDirectory() as home,
        LocalCluster(properties={"replica.high.watermark.checkpoint.interval.ms": "500"}) as cluster,
    ):
        servers = cluster.bootstrap_servers
        spark: Any = start_spark("round trip", pathlib.Path(home), "local[2]", _MEMORY) if options.spark else None
        readers: dict[str, Callable[[str, str, int, int], list[Row]]] = dict(READERS)
        if kcat is not None:
            readers["kcat"] = lambda s, t, p, n: consume_kcat(kcat, s, t, p, n)
        for codec in options.codecs.split(","):
            topic = create_topic(servers, f"million-{codec}", PARTITIONS)
            began = time.milliseconds()
            sent, size = produce(servers, topic, codec, options.records)
            took = (time.milliseconds() - began) / 1000
            print(f"{codec}: {options.records} records, {size / 1e6:.0f} MB acknowledged in {took:.1f} s", flush=True)
            for name in options.readers.split(","):
                if name not in readers:
                    print(f"  {name}: not installed, skipped")
                    continue
                began = time.milliseconds()
                good = Digest.of(readers[name](servers, topic, PARTITIONS, options.records)) == sent
                failures += not good
                took = (time.milliseconds() - began) / 1000
                print(f"  {name}: {'equal' if good else 'DIFFERENT'} ({took:.1f} s)", flush=True)
            if spark is not None:
                time.sleep(1500)  # the high watermark is checkpointed every half second
                good = read_with_spark(spark, cluster.brokers[0].properties["log.dirs"], topic) == sent
                failures += not good
                print(f"  spark: {'equal' if good else 'DIFFERENT'}", flush=True)
        if spark is not None:
            spark.stop()
    print("All equal." if not failures else f"{failures} readers saw something else.")
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--codecs", default=",".join(CODECS))
    parser.add_argument("--readers", default=",".join([*READERS, "kcat"]))
    parser.add_argument("--spark", action="store_true")
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
