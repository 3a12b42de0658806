"""EndPoint and BrokerEndPoint; ported from Kafka's BrokerEndPointTest."""

from __future__ import annotations

import pytest

from kafka_py.cluster.broker import Broker
from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.errors import KafkaException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.zk.zk_data import BrokerIdZNode

SSL, PLAINTEXT = ListenerName("SSL"), ListenerName("PLAINTEXT")


def parse(json: str) -> Broker:
    return BrokerIdZNode.decode(1, json.encode()).broker


@pytest.mark.ported("BrokerEndPointTest.testFromJsonFutureVersion")
def test_registration_of_a_future_version() -> None:
    broker = parse(
        '{"foo":"bar","version":100,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"1416974968782",'
        '"endpoints":["SSL://localhost:9093"]}'
    )
    assert broker.broker_end_point(SSL) == BrokerEndPoint(1, "localhost", 9093)


@pytest.mark.ported("BrokerEndPointTest.testFromJsonV2")
def test_registration_of_version_2() -> None:
    broker = parse(
        '{"version":2,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"1416974968782",'
        '"endpoints":["PLAINTEXT://localhost:9092"]}'
    )
    assert broker.broker_end_point(PLAINTEXT) == BrokerEndPoint(1, "localhost", 9092)


@pytest.mark.ported("BrokerEndPointTest.testFromJsonV1")
def test_registration_of_version_1() -> None:
    broker = parse('{"jmx_port":-1,"timestamp":"1420485325400","host":"172.16.8.243","version":1,"port":9091}')
    assert broker.broker_end_point(PLAINTEXT) == BrokerEndPoint(1, "172.16.8.243", 9091)


@pytest.mark.ported("BrokerEndPointTest.testFromJsonV3")
def test_registration_of_version_3() -> None:
    broker = parse(
        '{"version":3,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"2233345666",'
        '"endpoints":["PLAINTEXT://host1:9092", "SSL://host1:9093"],"rack":"dc1"}'
    )
    assert broker.broker_end_point(SSL) == BrokerEndPoint(1, "host1", 9093)
    assert broker.rack == "dc1"


@pytest.mark.ported("BrokerEndPointTest.testFromJsonV4WithNullRack")
@pytest.mark.parametrize("rack", ['"rack":null', '"other":1'])
def test_registration_of_version_4(rack: str) -> None:
    broker = parse(
        '{"version":4,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"2233345666",'
        '"endpoints":["CLIENT://host1:9092", "REPLICATION://host1:9093"],'
        '"listener_security_protocol_map":{"CLIENT":"SSL", "REPLICATION":"PLAINTEXT"},' + rack + "}"
    )
    assert broker.broker_end_point(ListenerName("CLIENT")) == BrokerEndPoint(1, "host1", 9092)
    assert broker.rack is None
    assert broker.end_points[0].security_protocol == SecurityProtocol.SSL


@pytest.mark.ported("BrokerEndPointTest.testBrokerEndpointFromUri")
@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("localhost:9092", "localhost"),
        ("local_host:9092", "local_host"),
        ("[::1]:9092", "::1"),
        ("[fe80::b1da:69ca:57f7:63d8%3]:9092", "fe80::b1da:69ca:57f7:63d8%3"),
        ("MyHostname:9092", "MyHostname"),
    ],
)
def test_broker_end_point_from_text(text: str, host: str) -> None:
    end_point = BrokerEndPoint.create_broker_end_point(1, text)
    assert (end_point.id, end_point.host, end_point.port) == (1, host, 9092)
    assert end_point.connection_string() == text


@pytest.mark.parametrize("text", ["localhost", "localhost:-1", "a b:1", "host:99999999999", "host:1x"])
def test_text_that_is_no_broker_end_point(text: str) -> None:
    assert BrokerEndPoint.parse_host_port(text) is None
    with pytest.raises(KafkaException, match="to a broker endpoint"):
        BrokerEndPoint.create_broker_end_point(1, text)


@pytest.mark.ported("BrokerEndPointTest.testEndpointFromUri")
@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("PLAINTEXT://localhost:9092", "localhost", 9092),
        ("PLAINTEXT://local_host:9092", "local_host", 9092),
        ("PLAINTEXT://:9092", None, 9092),
        ("PLAINTEXT://[::1]:9092", "::1", 9092),
        ("PLAINTEXT://[fe80::b1da:69ca:57f7:63d8%3]:9092", "fe80::b1da:69ca:57f7:63d8%3", 9092),
        ("PLAINTEXT://MyHostname:-1", "MyHostname", -1),
    ],
)
def test_end_point_from_text_and_back(text: str, host: str | None, port: int) -> None:
    end_point = EndPoint.create_end_point(text)
    assert (end_point.host, end_point.port, end_point.connection_string) == (host, port, text)
    assert end_point.security_protocol == SecurityProtocol.PLAINTEXT


def test_end_points_with_named_listeners() -> None:
    protocols = {ListenerName("REPLICATION"): SecurityProtocol.SSL}
    end_point = EndPoint.create_end_point("replication://[::1]:9092", protocols)
    assert (end_point.listener_name, end_point.security_protocol) == (ListenerName("REPLICATION"), SecurityProtocol.SSL)
    with pytest.raises(ValueError, match="No security protocol defined for listener CLIENT"):
        EndPoint.create_end_point("CLIENT://host:1", protocols)
    with pytest.raises(KafkaException, match="Unable to parse host:1 to a broker endpoint"):
        EndPoint.create_end_point("host:1")


def test_bytes_of_a_broker_end_point() -> None:
    end_point = BrokerEndPoint(7, "höst", 9092)
    buffer = bytearray(end_point.size_in_bytes + 1)
    assert end_point.write_to(buffer) == end_point.size_in_bytes
    assert bytes(buffer[:-1]) == b"\0\0\0\7\0\5h\xc3\xb6st\0\0\x23\x84"
    assert BrokerEndPoint.read_from(memoryview(buffer)) == (end_point, end_point.size_in_bytes)
