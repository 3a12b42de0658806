"""Settings of Kafka's Java clients, for librdkafka: command lines and files of the tools name the former.

Ours, no original. Most names are the same. Some differ, some values do; what librdkafka does not have is left out with
the warning that Kafka's clients give for settings that they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from kafka_py.utils.logging import get_logger

Client = TypeVar("Client")
_RENAMED = {
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
}
# librdkafka has no serializers, no reporters and no limits on what a poll gives: nothing to warn of
_WITHOUT_MEANING = (
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
    "max.poll.records",
    "max.block.ms",
    "exclude.internal.topics",
)
_ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_UNKNOWN = re.compile(r'No such configuration property: "(.*)"')


def translated(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under librdkafka's names and with its values."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in _WITHOUT_MEANING:
            continue
        if name == "buffer.memory":
            found["queue.buffering.max.kbytes"] = max(int(value) >> 10, 1)
        elif name == "partition.assignment.strategy":
            found[name] = ",".join(_assignor(part.strip()) for part in str(value).split(","))
        elif name == "auto.offset.reset" and value == "none":
            found[name] = "error"
        else:
            found[_RENAMED.get(name, name)] = value
    return found


def _assignor(name: str) -> str:
    """range of org.apache.kafka.clients.consumer.RangeAssignor; a name that is none of them stays."""
    return _ASSIGNORS.get(name.rpartition(".")[2], name)


def connected(client: Callable[[dict[str, Any]], Client], settings: Mapping[str, Any]) -> Client:
    """A client of these settings, in Java's names or librdkafka's; raises KafkaException for a value that is wrong."""
    left = translated(settings)
    while True:
        try:
            return client(left)
        except KafkaException as e:
            error = e.args[0]
            unknown = _UNKNOWN.match(error.str()) if isinstance(error, KafkaError) else None
            if unknown is None or left.pop(unknown[1], None) is None:
                raise
            get_logger("org.apache.kafka.clients").warn(
                "The configuration '%s' was supplied but isn't a known config.", unknown[1]
            )
