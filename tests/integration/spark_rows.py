"""Whole rows, headers included: as a consumer is given them, and as the segment reader finds them in files."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any, NamedTuple

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, TopicPartition

from tests.integration.support import wait_until
from tests.spark.made_logs import replica_dirs

Header = tuple[str, bytes | None]


class Seen(NamedTuple):
    """A record; its time in milliseconds, whose kind is 0 for CreateTime and 1 for LogAppendTime."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    kind: int
    headers: list[Header] | None


def consume_all(address: str, topic: str, partitions: int, isolation: str = "read_uncommitted") -> list[Seen]:
    """All that a consumer is given until it is at the end of every partition, sorted by partition and offset."""
    settings = {"bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True}
    consumer = Consumer({**settings, "isolation.level": isolation, "enable.partition.eof": True})
    rows: list[Seen] = []
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        while partitions:
            message = consumer.poll(30)
            assert message is not None, f"{len(rows)} came, and no end"
            error, partition, offset = message.error(), message.partition(), message.offset()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                partitions -= 1
                continue
            assert partition is not None
            assert offset is not None
            kind, timestamp = message.timestamp()
            headers: Any = message.headers()
            is_append_time = int(kind == TIMESTAMP_LOG_APPEND_TIME)
            rows.append(Seen(partition, offset, message.key(), message.value(), timestamp, is_append_time, headers))
    finally:
        consumer.close()
    return sorted(rows, key=lambda row: row[:2])


def plain(data: Any) -> bytes | None:
    """A binary value of Spark's."""
    return None if data is None else bytes(data)


def copy_of(log_dir: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    """The files of a running broker at which nobody produces, once its checkpoint says that all may be read."""
    wait_until(lambda: all(r.high_watermark == r.log_end_offset for r in replica_dirs([str(log_dir)])), what="the mark")
    # checkpoints are written beside the old ones, and renamed when they are whole
    shutil.copytree(log_dir, to, ignore=shutil.ignore_patterns("*.tmp"))
    return to
