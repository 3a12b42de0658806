"""What the tests wait for, and the files of a log directory as they compare them."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from kazoo.client import KazooClient

from kafka_py.common.utils.time import Time
from tests.interop.raw import RawConnection, list_offsets

# Only the log cleaner's thread writes it; Apache's broker creates it empty.
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"

NOT_YET = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._UNKNOWN_TOPIC,
)


def files(data: pathlib.Path) -> dict[str, bytes | list[bytes]]:
    """The files of a log directory by path, but for the log cleaner's.

    Their bytes, or the sorted lines, without comments, of those that are written out of hash maps.
    """
    found: dict[str, bytes | list[bytes]] = {}
    for path in data.rglob("*"):
        name = re.sub(r"\.[0-9a-f]{32}-delete/", ".UUID-delete/", str(path.relative_to(data)))
        if path.is_file() and name != CLEANER_CHECKPOINT:
            content = path.read_bytes()
            is_map = path.parent == data and (name.endswith("-checkpoint") or name == "meta.properties")
            lines = sorted(line for line in content.splitlines() if not line.startswith(b"#"))
            found[name] = lines if is_map else content
    return found


def wait_until_gone(zookeeper: str, broker_id: int) -> None:
    """Wait until ZooKeeper has forgotten a broker that was stopped or killed."""
    client = KazooClient(zookeeper)
    client.start()
    try:
        for _ in range(1000):
            if client.exists(f"/brokers/ids/{broker_id}") is None:
                return
            Time.SYSTEM.sleep(10)
        raise AssertionError("the broker's session did not expire")
    finally:
        client.stop()
        client.close()


def watermarks(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """The partition's first and next offset.

    A broker that has just started is asked again: it leads nothing before the controller has told it so.
    """
    for _ in range(500):
        try:
            return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
        except KafkaException as e:
            if e.args[0].code() not in NOT_YET:
                raise
            Time.SYSTEM.sleep(20)
    raise AssertionError(f"{topic}-{partition} has no leader")


def wait_for_leaders(port: int, topics: Iterable[str]) -> None:
    """Wait until the broker leads partition 0 of each topic; asks in a way that needs no consumer group."""
    with RawConnection(port) as connection:
        for topic in topics:
            for _ in range(500):
                answer = connection.call(list_offsets(1, topic, 0, -1))
                error_at = 4 + 4 + 2 + len(topic) + 4 + 4
                if answer[error_at : error_at + 2] == b"\0\0":
                    break
                Time.SYSTEM.sleep(20)
            else:
                raise AssertionError(f"{topic} has no leader: {answer!r}")
