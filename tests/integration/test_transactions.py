"""Transactions as users have them: all of it or nothing, by one producer, and together with what was consumed."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.clients import create_topic, produce, topic_name
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow

NONE = -1001  # no offset, as librdkafka says it


@pytest.fixture
def topic(embedded_cluster: LocalCluster) -> str:
    return create_topic(embedded_cluster.bootstrap_servers, topic_name("txn"))


def producer_of(address: str, transactional_id: str, **settings: Any) -> Producer:
    """One that has its id and epoch."""
    more = {name.replace("_", "."): value for name, value in settings.items()}
    made = Producer({"bootstrap.servers": address, "transactional.id": transactional_id, **more})
    made.init_transactions(30)
    return made


def write(producer: Producer, topic: str, *values: bytes) -> None:
    """Send, and wait until it is in the log."""
    errors: list[KafkaError] = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error) if error else None)
    assert producer.flush(30) == 0
    if errors:
        raise KafkaException(errors[0])


def consumer_of(address: str, group: str, isolation: str = "read_committed") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )


def read(address: str, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
    """What such a consumer sees from the beginning to where it says that there is no more now."""
    consumer = consumer_of(address, "unused", isolation)
    values: list[bytes | None] = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(20)
            assert message is not None, "neither a record nor the end"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return values
            values.append(message.value())
    finally:
        consumer.close()


def will_read(address: str, topic: str, *values: bytes) -> None:
    """Markers are written a moment after the end of a transaction is answered."""
    wait_until(lambda: read(address, topic) == list(values), what=f"{values!r}")


def test_all_of_a_transaction_or_nothing(embedded_cluster: LocalCluster, topic: str) -> None:
    address = embedded_cluster.bootstrap_servers
    producer = producer_of(address, topic)
    producer.begin_transaction()
    write(producer, topic, b"1", b"2")
    assert read(address, topic) == []
    assert read(address, topic, "read_uncommitted") == [b"1", b"2"]
    producer.commit_transaction(30)
    will_read(address, topic, b"1", b"2")
    producer.begin_transaction()
    write(producer, topic, b"never")
    producer.abort_transaction(30)
    producer.begin_transaction()
    write(producer, topic, b"3")
    producer.commit_transaction(30)
    will_read(address, topic, b"1", b"2", b"3")
    assert read(address, topic, "read_uncommitted") == [b"1", b"2", b"never", b"3"]


def test_a_new_producer_fences_the_old_one_and_ends_what_it_began(embedded_cluster: LocalCluster, topic: str) -> None:
    address = embedded_cluster.bootstrap_servers
    old = producer_of(address, topic)
    old.begin_transaction()
    write(old, topic, b"of the old one")
    new = producer_of(address, topic)
    new.begin_transaction()
    write(new, topic, b"of the new one")
    with pytest.raises(KafkaException) as fenced:
        old.commit_transaction(30)
    assert fenced.value.args[0].fatal()

    def goes_on() -> None:
        old.begin_transaction()  # which the client may take a moment longer to refuse
        write(old, topic, b"of nobody")

    with pytest.raises(KafkaException):
        goes_on()
    new.commit_transaction(30)
    will_read(address, topic, b"of the new one")


def test_who_takes_too_long_is_aborted(embedded_cluster: LocalCluster, topic: str) -> None:
    address = embedded_cluster.bootstrap_servers
    slow = producer_of(address, topic, transaction_timeout_ms=1000)
    slow.begin_transaction()
    write(slow, topic, b"too late")
    produce(address, topic, [(None, b"behind it")])
    assert read(address, topic) == []
    will_read(address, topic, b"behind it")
    with pytest.raises(KafkaException):
        slow.commit_transaction(30)
    assert read(address, topic) == [b"behind it"]


def test_consume_transform_produce(embedded_cluster: LocalCluster, topic: str) -> None:
    """Each record is copied once, although every third transaction is aborted and begun again."""
    address = embedded_cluster.bootstrap_servers
    source = create_topic(address, topic_name("source"))
    records = [b"%d" % i for i in range(30)]
    produce(address, source, [(None, value) for value in records])
    consumer, producer = consumer_of(address, topic), producer_of(address, topic)
    consumer.subscribe([source])
    transactions = 0
    copied = 0
    deadline = time.monotonic() + 60
    while copied < len(records):
        assert time.monotonic() < deadline
        messages = [m for m in consumer.consume(4, 1) if m.error() is None]
        if not messages:
            continue
        producer.begin_transaction()
        for message in messages:
            producer.produce(topic, b"copy of " + (message.value() or b""))
        next_offset = (messages[-1].offset() or 0) + 1
        offsets = [TopicPartition(source, 0, next_offset)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
        transactions += 1
        if transactions % 3 == 0:
            producer.abort_transaction(30)
            consumer.seek(TopicPartition(source, 0, copied))
        else:
            producer.commit_transaction(30)
            copied = next_offset
        (committed,) = consumer.committed([TopicPartition(source, 0)], 30)
        assert committed.offset == (copied or NONE)
    consumer.close()
    assert transactions >= 10
    will_read(address, topic, *(b"copy of " + value for value in records))


def test_offsets_of_who_left_the_group_are_refused(embedded_cluster: LocalCluster, topic: str) -> None:
    """KIP-447: a zombie's offsets do not pass, for its generation is over, although nobody fenced its producer."""
    address = embedded_cluster.bootstrap_servers
    consumer, producer = consumer_of(address, topic), producer_of(address, topic)
    consumer.subscribe([topic])
    wait_until(lambda: consumer.poll(0.1) is not None, what="the end of an empty partition")
    zombie = consumer.consumer_group_metadata()
    consumer.close()
    producer.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 5)], zombie, 30)
    assert refused.value.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID
    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction(30)


def test_a_transaction_outlives_a_restart_of_its_coordinator(own_cluster: Cluster) -> None:
    address = own_cluster.start().bootstrap_servers
    topic = create_topic(address, topic_name("txn"))
    producer = producer_of(address, topic)
    producer.begin_transaction()
    write(producer, topic, b"before")
    broker = own_cluster.brokers[0]
    assert broker.process.stop() == 0
    broker.start()
    assert read(address, topic) == []
    write(producer, topic, b"after")
    producer.commit_transaction(30)
    will_read(address, topic, b"before", b"after")
    own_cluster.restart(broker.id, "kill")
    assert read(address, topic) == [b"before", b"after"]
    again = producer_of(address, topic)
    again.begin_transaction()
    write(again, topic, b"later")
    again.commit_transaction(30)
    will_read(address, topic, b"before", b"after", b"later")


# -- Other clients -----------------------------------------------------------------------------------------------------


def with_kafka_python(address: str, topic: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its own, from reading its schemas
        from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=address, transactional_id=topic)
    producer.init_transactions()
    for value, commit in ((b"yes", True), (b"no", False), (b"again", True)):
        producer.begin_transaction()
        producer.send(topic, value).get(30)
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()


def with_aiokafka(address: str, topic: str) -> None:
    from aiokafka import AIOKafkaProducer

    async def run() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=address, transactional_id=topic)
        await producer.start()
        for value, commit in ((b"yes", True), (b"no", False), (b"again", True)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, value)
            if commit:
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()
        await producer.stop()

    asyncio.run(run())


@pytest.mark.parametrize("transact", [with_kafka_python, with_aiokafka], ids=["kafka-python", "aiokafka"])
def test_other_clients_commit_and_abort(
    embedded_cluster: LocalCluster, topic: str, transact: Callable[[str, str], None]
) -> None:
    transact(embedded_cluster.bootstrap_servers, topic)
    will_read(embedded_cluster.bootstrap_servers, topic, b"yes", b"again")
    found = read(embedded_cluster.bootstrap_servers, topic, "read_uncommitted")
    assert found == [b"yes", b"no", b"again"]
