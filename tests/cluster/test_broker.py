"""Broker and Cluster as values."""

from __future__ import annotations

import pytest

from kafka_py.cluster.broker import Broker
from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.cluster.cluster import Cluster
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import BrokerEndPointNotAvailableException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol

NAME = ListenerName("PLAINTEXT")


def broker(broker_id: int, host: str = "myhost", port: int = 9092) -> Broker:
    return Broker.create(broker_id, host, port, NAME, SecurityProtocol.PLAINTEXT)


@pytest.mark.ported("BrokerEndPointTest.testHashAndEquals")
def test_brokers_are_equal_by_value() -> None:
    assert broker(1) == broker(1)
    assert hash(broker(1)) == hash(broker(1))
    assert broker(1) not in (broker(2), broker(1, "other"), broker(1, port=1111))
    assert {broker(1): "found"}[broker(1)] == "found"
    assert Broker.from_broker_end_point(BrokerEndPoint(1, "myhost", 9092), NAME, SecurityProtocol.PLAINTEXT) == broker(
        1
    )


def test_addresses_by_listener() -> None:
    node = broker(1).node(NAME)
    assert (node.id, node.host, node.port) == (1, "myhost", 9092)
    assert broker(1).get_node(ListenerName("SSL")) is None
    for method in (broker(1).node, broker(1).broker_end_point):
        with pytest.raises(
            BrokerEndPointNotAvailableException, match="End point with listener name SSL not found for broker 1"
        ):
            method(ListenerName("SSL"))


def test_two_listeners_of_one_name_are_refused() -> None:
    twice = EndPoint("h", 1, NAME, SecurityProtocol.PLAINTEXT), EndPoint("h", 2, NAME, SecurityProtocol.SSL)
    with pytest.raises(ValueError, match="There is more than one end point with the same listener name: EndPoint"):
        Broker(1, twice)


def test_text() -> None:
    assert str(broker(1)).startswith("1 : (EndPoint(myhost,9092,ListenerName(PLAINTEXT),PLAINTEXT)) : null")


def test_cluster() -> None:
    cluster = Cluster([broker(1), broker(2)])
    cluster.add(broker(2, "moved"))
    assert cluster.size == 2
    assert cluster.get_broker(2) == broker(2, "moved")
    cluster.remove(2)
    cluster.remove(9)
    assert cluster.get_broker(2) is None
    assert str(cluster) == f"Cluster({broker(1)})"
