"""Sends lines through brokers and gets them back, with librdkafka; and tells the way of one of the requests.

Ours, no original. The story comes from the broker's own journal (kafka.py.xray=on).
"""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kafka_py.lab.control import say
from kafka_py.testing.local_cluster import LocalBroker
from kafka_py.xray.request_journal import STAMPS

_TIMEOUT_S = 30
_STATIONS = {
    "start": "read from the socket by the network thread",
    "requestDequeue": "taken from the request queue by the handler",
    "apiLocalComplete": "KafkaApis done: the batch is in the log",
    "responseComplete": "response ready: all replicas in sync have the batch",
    "responseDequeue": "response taken by the network thread",
    "end": "last byte handed to the socket",
}


def create_topic(servers: str, topic: str, partitions: int, replicas: int) -> None:
    """Create the topic; one that is there already will do."""
    admin = AdminClient({"bootstrap.servers": servers, "client.id": "kafka-lab"})
    try:
        admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(_TIMEOUT_S)
    except KafkaException as e:
        if e.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


Sent = dict[int, list[tuple[int, bytes | None]]]


def produce(servers: str, topic: str, lines: Sequence[bytes]) -> Sent:
    """Send the lines, wait for every acknowledgement; partition -> (offset, line). Raises for one that fails."""
    sent: Sent = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        sent.setdefault(_int(message.partition()), []).append((_int(message.offset()), message.value()))

    producer = Producer({"bootstrap.servers": servers, "client.id": "kafka-lab", "acks": "all", "linger.ms": 5})
    for i, line in enumerate(lines):
        producer.produce(topic, line, b"%d" % i, on_delivery=delivered)
        producer.poll(0)
    if producer.flush(_TIMEOUT_S):
        raise TimeoutError("Some records were not acknowledged")
    return {partition: sorted(records) for partition, records in sent.items()}


def consume(servers: str, topic: str, sent: Sent) -> Sent:
    """Read the same ranges of offsets back."""
    # Nothing is committed: without a group coordinator, closing would wait for one.
    consumer = Consumer(
        {"bootstrap.servers": servers, "client.id": "kafka-lab", "group.id": "kafka-lab", "enable.auto.commit": False}
    )
    received: Sent = {}
    left = sum(map(len, sent.values()))
    try:
        consumer.assign([TopicPartition(topic, partition, records[0][0]) for partition, records in sent.items()])
        while left:
            messages = consumer.consume(min(left, 1000), timeout=_TIMEOUT_S)
            if not messages:
                break
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                received.setdefault(_int(message.partition()), []).append((_int(message.offset()), message.value()))
            left -= len(messages)
    finally:
        consumer.close()
    return received


def _int(value: int | None) -> int:
    assert value is not None, "a delivered message has a partition and an offset"
    return value


def journal(broker: LocalBroker, **wanted: str) -> list[Mapping[str, Any]]:
    """The broker's finished requests with these properties."""
    url = f"http://127.0.0.1:{broker.metrics_port}/xray/requests?{urllib.parse.urlencode(wanted)}"
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
        found: list[Mapping[str, Any]] = json.load(answer)["requests"]
        return found


def tell_the_story(broker: LocalBroker) -> None:
    """Print the way of one Produce request through the broker's threads, and who did how much."""
    requests = journal(broker, clientId="kafka-lab")
    produced = [r for r in requests if r["api"] in ("PRODUCE", "Produce")]
    if not produced:
        say(f"\nBroker {broker.id} had no Produce request: it leads none of the partitions.")
        return
    one = produced[-1]
    stamps = one["stampsMicros"]
    say(f"\nOne {one['api']} v{one['version']} request on broker {broker.id}, connection {one['connection']}:")
    say(f"  network thread  {one['networkThread']}")
    say(f"  handler thread  {one['handlerThread']}")
    before = 0.0
    for name in STAMPS:
        at = stamps[name]
        say(f"  {at:>10.1f} us  (+{at - before:>8.1f})  {name:<17} {_STATIONS[name]}")
        before = at
    say(f"Requests of this client on broker {broker.id}, by thread:")
    for kind in ("networkThread", "handlerThread"):
        counts: dict[str, int] = {}
        for request in requests:
            counts[str(request[kind])] = counts.get(str(request[kind]), 0) + 1
        for name, count in sorted(counts.items()):
            say(f"  {count:>5}  {name}")
