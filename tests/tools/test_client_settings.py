"""Settings of Java's clients become librdkafka's; what it does not have is left out with Kafka's warning."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from kafka_py.tools.client_settings import connected, translated

JAVA = "org.apache.kafka.clients.consumer"


def test_names_and_values_that_differ() -> None:
    assert translated(
        {
            "bootstrap.servers": "b:1",
            "receive.buffer.bytes": 5,
            "fetch.max.wait.ms": "6",
            "max.request.size": 7,
            "buffer.memory": "33554432",
            "key.serializer": "x",
            "max.poll.records": 1,
            "auto.offset.reset": "none",
            "partition.assignment.strategy": f"{JAVA}.RoundRobinAssignor, {JAVA}.RangeAssignor",
        }
    ) == {
        "bootstrap.servers": "b:1",
        "socket.receive.buffer.bytes": 5,
        "fetch.wait.max.ms": "6",
        "message.max.bytes": 7,
        "queue.buffering.max.kbytes": 32768,
        "auto.offset.reset": "error",
        "partition.assignment.strategy": "roundrobin,range",
    }
    assert translated({"partition.assignment.strategy": f"{JAVA}.CooperativeStickyAssignor"}) == {
        "partition.assignment.strategy": "cooperative-sticky"
    }


def test_what_librdkafka_does_not_have_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "interceptor.classes": "x", "typo": 1}
    assert isinstance(connected(Producer, settings), Producer)
    assert sorted(record.getMessage() for record in caplog.records) == [
        "The configuration 'interceptor.classes' was supplied but isn't a known config.",
        "The configuration 'typo' was supplied but isn't a known config.",
    ]


def test_a_wrong_value_is_no_warning() -> None:
    with pytest.raises(KafkaException, match=r"isolation\.level"):
        connected(Consumer, {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "isolation.level": "odd"})
