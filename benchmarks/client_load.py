"""Loads of confluent-kafka (librdkafka), as users have them: linger 5 ms, its defaults else."""

from __future__ import annotations

import functools
import os
import time
from typing import Any

from benchmarks.broker_load import preload
from benchmarks.measure import Figures, Measurement, latencies
from benchmarks.raw_client import Session, VerificationError
from benchmarks.workload import Workload

CHUNK = 500
MAX_QUEUED_RECORDS = 150_000
MAX_QUEUED_BYTES = 200_000_000
CONSUME_AT_ONCE = 5_000
ONE_RECORD = 100
WARM_UP_S = 0.5


def bootstrap_of(session: Session) -> str:
    return f"{session.settings.host}:{session.settings.port}"


def rd_produce(session: Session, record_size: int, idempotent: bool = False) -> Figures:
    """One partition, as many records as the queue takes until the time is up."""
    from confluent_kafka import Producer

    topic = session.create_topic()
    failures: list[str] = []

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer(
        {
            "bootstrap.servers": bootstrap_of(session),
            "acks": "all" if idempotent else 1,
            "enable.idempotence": idempotent,
            "linger.ms": 5,
            "queue.buffering.max.messages": MAX_QUEUED_RECORDS + CHUNK,
            "queue.buffering.max.kbytes": 262_144,
            "message.timeout.ms": 60_000,
        }
    )
    values = [os.urandom(record_size) for _ in range(CHUNK)]
    messages = [{"value": value} for value in values]
    producer.produce(topic, values[0], partition=0, on_delivery=delivered)
    producer.flush(15)
    measurement = Measurement(session.settings.pid)
    end = time.perf_counter() + session.settings.seconds
    limit = session.settings.max_bytes // record_size
    sent = 0
    while time.perf_counter() < end and sent < limit:
        queued = len(producer)
        if queued > MAX_QUEUED_RECORDS - CHUNK or queued * record_size > MAX_QUEUED_BYTES:
            producer.poll(0.002)
            continue
        sent += producer.produce_batch(topic, [dict(message) for message in messages], partition=0)
        producer.poll(0)
    left = producer.flush(60)
    figures = measurement.stop(nbytes=(sent - left) * record_size, records=sent - left)
    if left or failures:
        raise VerificationError(f"{left} records were not delivered {failures[:1]}")
    session.verify_end_offset(topic, sent + 1)
    return figures


def rd_latency(session: Session) -> Figures:
    """One record at a time: the next is sent when the one before is acknowledged, without a linger."""
    from confluent_kafka import Producer

    topic = session.create_topic()
    failures: list[str] = []

    def delivered(error: Any, _message: Any) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": bootstrap_of(session), "acks": 1, "linger.ms": 0})
    value = os.urandom(ONE_RECORD)
    clock = time.perf_counter

    def one_at_a_time(seconds: float) -> list[float]:
        took = []
        before = clock()
        end = before + seconds
        while before < end:
            producer.produce(topic, value, partition=0, on_delivery=delivered)
            if producer.flush(15):
                raise VerificationError("a record was not delivered within 15 s")
            after = clock()
            took.append(after - before)
            before = after
        return took

    warm = one_at_a_time(WARM_UP_S)
    measurement = Measurement(session.settings.pid)
    took = one_at_a_time(session.settings.seconds)
    figures = measurement.stop(requests=len(took))
    if failures:
        raise VerificationError(failures[0])
    session.verify_end_offset(topic, len(warm) + len(took))
    return figures | latencies(took)


def rd_consume(session: Session, record_size: int, data: int) -> Figures:
    """One assigned partition from its start.

    librdkafka stops fetching for fetch.queue.backoff.ms when 100,000 records wait in its queue; the second it takes by
    default would be all that is measured of a fast broker.
    """
    from confluent_kafka import Consumer, TopicPartition

    topic = session.create_topic()
    records = preload(session, topic, data, record_size)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_of(session),
            "group.id": topic,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": False,
            "fetch.queue.backoff.ms": 2,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        got = len(_consumed(consumer, 1, 10.0))  # connected, and the first fetch is on its way
        measurement = Measurement(session.settings.pid)
        end = time.perf_counter() + session.settings.seconds
        first, last = got, None
        while got < records and time.perf_counter() < end:
            # never more than there are: consume waits for all it is asked for
            messages = _consumed(consumer, min(CONSUME_AT_ONCE, records - got), 5.0)
            got += len(messages)
            last = messages[-1]
        figures = measurement.stop(nbytes=(got - first) * record_size, records=got - first)
    finally:
        consumer.close()
    if last is not None and last.offset() != got - 1:
        raise VerificationError(f"{got} records came, the last one at offset {last.offset()}")
    return figures


def _consumed(consumer: Any, limit: int, timeout_s: float) -> list[Any]:
    """At least one message; raises RuntimeError when none comes in time, or an error instead."""
    messages: list[Any] = consumer.consume(limit, timeout_s)
    if not messages:
        raise RuntimeError(f"nothing came within {timeout_s} s")
    for message in (messages[0], messages[-1]):
        if message.error():
            raise RuntimeError(str(message.error()))
    return messages


WORKLOADS = (
    Workload(
        "rd_produce_100b", functools.partial(rd_produce, record_size=100), "mb_s", "librdkafka sends 100 byte records"
    ),
    Workload(
        "rd_produce_1k", functools.partial(rd_produce, record_size=1024), "mb_s", "librdkafka sends 1 KiB records"
    ),
    Workload(
        "rd_produce_idempotent",
        functools.partial(rd_produce, record_size=1024, idempotent=True),
        "mb_s",
        "the same with idempotence and acks=all",
    ),
    Workload("rd_latency", rd_latency, "lat_p50_us", "librdkafka sends one record, waits for its delivery, and so on"),
    Workload(
        "rd_consume_100b",
        functools.partial(rd_consume, record_size=100, data=192 << 20),
        "mb_s",
        "librdkafka reads 100 byte records",
    ),
    Workload(
        "rd_consume_1k",
        functools.partial(rd_consume, record_size=1024, data=768 << 20),
        "mb_s",
        "librdkafka reads 1 KiB records",
    ),
)
