"""What exercises need of clients: topics, a record that waits for its answer, a look whether a broker answers at all.

Ours, no original. The clients are librdkafka's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_py.common.utils.time import Time

TIMEOUT_S = 30.0
_LOOK_EVERY_MS = 50


def create_topic(
    servers: str,
    topic: str,
    partitions: int = 1,
    replicas: int = 1,
    config: Mapping[str, str] | None = None,
    assignment: Sequence[Sequence[int]] | None = None,
) -> None:
    """Create it; with ``assignment`` the partitions have these brokers. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": servers, "client.id": "lab"})
    settings = dict(config or {})
    if assignment is None:
        new = NewTopic(topic, partitions, replicas, config=settings)
    else:
        new = NewTopic(topic, len(assignment), replica_assignment=[list(ids) for ids in assignment], config=settings)
    admin.create_topics([new])[topic].result(TIMEOUT_S)


class Sender:
    """A producer whose records may stay unanswered for as long as somebody wants.

    Thread: of its owner
    """

    def __init__(self, servers: str, client: str = "lab", **settings: str | int) -> None:
        """``client`` is its client.id, by which the X-ray tells it from others."""
        patient = {"message.timeout.ms": 3_600_000, "socket.timeout.ms": 300_000, "linger.ms": 0}
        self._producer = Producer({"bootstrap.servers": servers, "client.id": client, **patient, **settings})
        self.offsets: list[int] = []  # thread: of its owner
        self.errors: list[KafkaError] = []  # thread: of its owner

    def send(self, topic: str, value: str | bytes, partition: int = -1, key: str | None = None) -> None:
        """Send it, and do not wait."""
        self._producer.produce(topic, value, key, partition, on_delivery=self._answered)
        self._producer.poll(0)

    def _answered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            offset = message.offset()
            self.offsets.append(-1 if offset is None else offset)

    def flush(self, timeout_s: float = TIMEOUT_S) -> None:
        """Wait for all answers. Raises KafkaException for the first error, TimeoutError when some are missing."""
        left = self._producer.flush(timeout_s)
        if self.errors:
            raise KafkaException(self.errors[0])
        if left:
            raise TimeoutError(f"{left} records were not answered within {timeout_s:g} s")

    def look(self) -> None:
        """Take note of the answers that have come."""
        self._producer.poll(0)

    def drop(self) -> None:
        """Forget what is not answered yet."""
        self._producer.purge()
        self._producer.flush(TIMEOUT_S)


def send(
    servers: str, topic: str, values: Sequence[str], partition: int = -1, client: str = "lab", **settings: str | int
) -> list[int]:
    """Send all and wait; their offsets. Raises KafkaException."""
    sender = Sender(servers, client, **settings)
    for value in values:
        sender.send(topic, value, partition)
    sender.flush()
    return sender.offsets


def answers(address: str, timeout_s: float = 3.0) -> bool:
    """Whether a broker answers a Metadata request of a new connection in time."""
    try:
        AdminClient({"bootstrap.servers": address, "client.id": "lab-look"}).list_topics(timeout=timeout_s)
    except KafkaException:
        return False
    return True


def wait_for(
    condition: Callable[[], object], what: str, timeout_s: float = TIMEOUT_S, time: Time = Time.SYSTEM
) -> None:
    """Call ``condition`` until it gives something true. Raises TimeoutError, which says what did not come about."""
    deadline = Time.SYSTEM.milliseconds() + timeout_s * 1000
    while not condition():
        if Time.SYSTEM.milliseconds() > deadline:
            raise TimeoutError(f"not within {timeout_s:g} s: {what}")
        Time.SYSTEM.sleep(_LOOK_EVERY_MS)
