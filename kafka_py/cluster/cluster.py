"""The brokers that a component knows of, by id.

Mirrors: core/src/main/scala/kafka/cluster/Cluster.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_py.cluster.broker import Broker


class Cluster:
    """A set of brokers keyed by their ids; not synchronised.

    Mirrors: kafka.cluster.Cluster
    Left out: toString -- ``__str__``
    """

    def __init__(self, broker_list: Iterable[Broker] = ()) -> None:
        """Start with the given brokers; of two with one id the later stays."""
        self._brokers = {broker.id: broker for broker in broker_list}  # thread: of its owner

    def get_broker(self, broker_id: int) -> Broker | None:
        """The broker of that id, if it is known."""
        return self._brokers.get(broker_id)

    def add(self, broker: Broker) -> None:
        """Add the broker, or replace the one of its id."""
        self._brokers[broker.id] = broker

    def remove(self, broker_id: int) -> None:
        """Forget the broker of that id; nothing happens if it is unknown."""
        self._brokers.pop(broker_id, None)

    @property
    def size(self) -> int:
        """How many brokers are known."""
        return len(self._brokers)

    def __str__(self) -> str:
        """`Cluster(broker, broker)`."""
        return f"Cluster({', '.join(map(str, self._brokers.values()))})"
