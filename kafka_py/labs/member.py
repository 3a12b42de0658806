"""A member of a group that does nothing but be there, until it is killed.

    python -m kafka_py.labs.member BROKERS GROUP TOPIC CLIENT

Ours, no original.
"""

from __future__ import annotations

import sys

from confluent_kafka import Consumer

SESSION_MS = 6000


def main(args: list[str]) -> int:
    """Poll for ever; SIGTERM and SIGKILL end it without a word to the group."""
    servers, group, topic, client = args
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "client.id": client,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": "range",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    while True:
        consumer.poll(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
