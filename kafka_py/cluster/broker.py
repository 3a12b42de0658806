"""A broker of the cluster as its registration in ZooKeeper tells it.

Mirrors: core/src/main/scala/kafka/cluster/Broker.scala @ 1.1.1
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import BrokerEndPointNotAvailableException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.security.auth.security_protocol import SecurityProtocol


@dataclass(frozen=True)
class Broker:
    """Id, listeners and rack of one broker; no two listeners may have the same name.

    Mirrors: kafka.cluster.Broker
    Left out: toString -- ``__str__``
    Differs: the two further constructors are Broker.create and Broker.from_broker_end_point; end_points is kept
        as a tuple, so that a broker can be put in a set.
    """

    id: int
    end_points: tuple[EndPoint, ...]
    rack: str | None = None

    def __post_init__(self) -> None:
        """Make the listeners a tuple and refuse two of one name (ValueError)."""
        object.__setattr__(self, "end_points", tuple(self.end_points))
        if len({end_point.listener_name for end_point in self.end_points}) != len(self.end_points):
            listed = ",".join(map(str, self.end_points))
            raise ValueError(f"There is more than one end point with the same listener name: {listed}")

    @classmethod
    def create(
        cls, broker_id: int, host: str, port: int, listener_name: ListenerName, protocol: SecurityProtocol
    ) -> Broker:
        """A broker with one listener and no rack."""
        return cls(broker_id, (EndPoint(host, port, listener_name, protocol),))

    @classmethod
    def from_broker_end_point(
        cls, bep: BrokerEndPoint, listener_name: ListenerName, protocol: SecurityProtocol
    ) -> Broker:
        """A broker that is known by one address only."""
        return cls.create(bep.id, bep.host, bep.port, listener_name, protocol)

    def node(self, listener_name: ListenerName) -> Node:
        """The address behind that listener; raises BrokerEndPointNotAvailableException when there is none."""
        found = self.get_node(listener_name)
        if found is None:
            raise self._not_available(listener_name)
        return found

    def get_node(self, listener_name: ListenerName) -> Node | None:
        """The address behind that listener, or None."""
        end_point = self._end_point(listener_name)
        return None if end_point is None else Node(self.id, end_point.host or "", end_point.port, self.rack)

    def broker_end_point(self, listener_name: ListenerName) -> BrokerEndPoint:
        """As node(), in the form without rack; raises BrokerEndPointNotAvailableException."""
        end_point = self._end_point(listener_name)
        if end_point is None:
            raise self._not_available(listener_name)
        return BrokerEndPoint(self.id, end_point.host or "", end_point.port)

    def _end_point(self, listener_name: ListenerName) -> EndPoint | None:
        # A broker has one to three listeners: a walk costs less than a map beside the tuple.
        return next((e for e in self.end_points if e.listener_name == listener_name), None)

    def _not_available(self, listener_name: ListenerName) -> BrokerEndPointNotAvailableException:
        return BrokerEndPointNotAvailableException(
            f"End point with listener name {listener_name.value()} not found for broker {self.id}"
        )

    def __str__(self) -> str:
        """`id : (listeners) : rack`, as in Kafka's log lines."""
        return f"{self.id} : ({','.join(map(str, self.end_points))}) : {'null' if self.rack is None else self.rack}"
