"""The four clients behind one face: produce with confluent-kafka, read a topic back with each of them."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.integration.support import wait_until


class Row(NamedTuple):
    """What every client can tell of a record."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def topic_name(prefix: str = "t") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def create_topic(bootstrap: str, name: str, partitions: int = 1, config: dict[str, str] | None = None) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, 1, config=config or {})]).values():
        future.result(30)
    return name


def wait_for_leaders(bootstrap: str, topic: str, partitions: int) -> None:
    """A broker that has just started learns from the controller, a moment later, what it leads."""
    admin = AdminClient({"bootstrap.servers": bootstrap})

    def led() -> bool:
        found = admin.list_topics(topic, timeout=10).topics[topic].partitions
        return len(found) == partitions and all(p.error is None and p.leader >= 0 for p in found.values())

    wait_until(led, what=f"leaders of {topic}")


def _int(value: int | None) -> int:
    assert value is not None
    return value


def produce(
    bootstrap: str, topic: str, records: Sequence[tuple[bytes | None, bytes | None]], **config: Any
) -> dict[int, list[tuple[int, bytes | None, bytes | None]]]:
    """Produce all, wait for every acknowledgement; partition -> (offset, key, value) as acknowledged.

    Raises KafkaException with the first error.
    """
    acked: dict[int, list[tuple[int, bytes | None, bytes | None]]] = {}
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            errors.append(error)
        else:
            offset = message.offset()  # None with acks=0: nobody said which it got
            row = (-1 if offset is None else offset, message.key(), message.value())
            acked.setdefault(_int(message.partition()), []).append(row)

    settings = {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5, **config}
    producer = Producer({name.replace("_", "."): value for name, value in settings.items()})
    for key, value in records:
        while True:
            try:
                producer.produce(topic, value=value, key=key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(60)
    assert left == 0, f"{left} records were not acknowledged"
    if errors:
        raise KafkaException(errors[0])
    return acked


def consume_confluent(bootstrap: str, topic: str, partitions: int, count: int) -> list[Row]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 5,
            "check.crcs": True,
        }
    )
    rows: list[Row] = []
    try:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        idle = 0
        while len(rows) < count and idle < 30:
            messages = consumer.consume(min(10_000, count - len(rows)), timeout=1)
            idle = 0 if messages else idle + 1
            for m in messages:
                assert m.error() is None, m.error()
                rows.append(Row(_int(m.partition()), _int(m.offset()), m.key(), m.value()))
    finally:
        consumer.close()
    return rows


def consume_kafka_python(bootstrap: str, topic: str, partitions: int, count: int) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its own, from reading its schemas
        from kafka import KafkaConsumer
        from kafka import TopicPartition as KafkaPythonTopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    rows: list[Row] = []
    try:
        assigned = [KafkaPythonTopicPartition(topic, p) for p in range(partitions)]
        consumer.assign(assigned)
        consumer.seek_to_beginning(*assigned)
        while len(rows) < count:
            polled = consumer.poll(timeout_ms=20_000)
            if not polled:
                break
            for messages in polled.values():
                rows += [Row(m.partition, m.offset, m.key, m.value) for m in messages]
    finally:
        consumer.close()
    return rows


def consume_aiokafka(bootstrap: str, topic: str, partitions: int, count: int) -> list[Row]:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as AIOTopicPartition

    async def run() -> list[Row]:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id=None, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        rows: list[Row] = []
        try:
            assigned = [AIOTopicPartition(topic, p) for p in range(partitions)]
            consumer.assign(assigned)
            await consumer.seek_to_beginning(*assigned)
            while len(rows) < count:
                polled = await consumer.getmany(timeout_ms=20_000)
                if not polled:
                    break
                for messages in polled.values():
                    rows += [Row(m.partition, m.offset, m.key, m.value) for m in messages]
        finally:
            await consumer.stop()
        return rows

    return asyncio.run(run())


def consume_kcat(kcat: str, bootstrap: str, topic: str, partitions: int, count: int) -> list[Row]:
    """Values and keys must be free of tabs and newlines."""
    rows: list[Row] = []
    for partition in range(partitions):
        command = [kcat, "-b", bootstrap, "-C", "-t", topic, "-p", str(partition), "-o", "beginning", "-e", "-q"]
        command += ["-Z", "-f", "%p\t%o\t%k\t%s\n"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=120)
        for line in done.stdout.splitlines():
            p, offset, key, value = line.split(b"\t")
            rows.append(Row(int(p), int(offset), None if key == b"NULL" else key, None if value == b"NULL" else value))
    assert len(rows) <= count
    return rows


READERS: dict[str, Callable[[str, str, int, int], list[Row]]] = {
    "confluent-kafka": consume_confluent,
    "kafka-python": consume_kafka_python,
    "aiokafka": consume_aiokafka,
}


def by_partition(rows: Sequence[Row]) -> dict[int, list[tuple[int, bytes | None, bytes | None]]]:
    """Partition -> records in the order they were received."""
    found: dict[int, list[tuple[int, bytes | None, bytes | None]]] = {}
    for row in rows:
        found.setdefault(row.partition, []).append((row.offset, row.key, row.value))
    return found
