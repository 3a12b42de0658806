"""The socket server with real threads and raw clients."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.errors import ConfigException, KafkaException, RuntimeException
from kafka_py.common.network.client_information import ClientInformation
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
from kafka_py.metrics.yammer import Metrics as YammerMetrics
from kafka_py.network.processor import ConnectionId, Processor
from kafka_py.network.request_channel import NoOpResponse
from kafka_py.network.socket_server import SocketServer
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import CompletableFuture, ExecutionException
from tests.network.socket_server_support import (
    ANSWER,
    HEARTBEAT_BODY,
    PLAINTEXT,
    Client,
    TestableSocketServer,
    acceptor_of,
    answer,
    answer_next,
    config,
    heartbeat,
    make,
    message,
    receive_request,
    stop,
    wait_until,
)


@pytest.fixture
def server() -> Iterator[SocketServer]:
    made = make()
    yield made
    stop(made)


@pytest.fixture
def testable() -> Iterator[TestableSocketServer]:
    made = make(TestableSocketServer)
    assert isinstance(made, TestableSocketServer)
    yield made
    stop(made)


def head(correlation_id: int = 77) -> bytes:
    return struct.pack(">i", correlation_id)


@pytest.mark.ported("SocketServerTest.simpleRequest")
def test_simple_request(server: SocketServer) -> None:
    with Client(server) as client:
        heartbeat(client)
        answer_next(server)
        assert client.receive() == head() + ANSWER


@pytest.mark.ported("SocketServerTest.testPipelinedRequestOrdering")
def test_pipelined_requests_are_handed_out_one_by_one(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    with Client(server) as client:
        client.sock.sendall(b"".join(message(12, 0, HEARTBEAT_BODY, i) for i in range(300)))
        for i in range(300):
            request = receive_request(channel)
            assert request.header.correlation_id == i
            if i < 3:
                assert channel.receive_request(5) is None
            answer(channel, request)
            assert client.receive() == head(i) + ANSWER


def test_requests_byte_by_byte(server: SocketServer) -> None:
    with Client(server) as client:
        for byte in message(12, 0, HEARTBEAT_BODY):
            client.sock.sendall(bytes([byte]))
        answer_next(server)
        assert client.receive() == head() + ANSWER


def test_large_request_and_answer(server: SocketServer) -> None:
    big = bytes(range(256)) * 20_000
    with Client(server) as client:
        sender = threading.Thread(target=client.send, args=(12, 0, HEARTBEAT_BODY + big))
        sender.start()
        channel = server.data_plane_request_channel
        request = receive_request(channel)
        sender.join()
        assert request.size_in_bytes == len(HEARTBEAT_BODY) + len(big) + 10
        answer(channel, request, big)
        assert client.receive() == head() + big
        heartbeat(client)
        answer_next(server)
        assert client.receive() == head() + ANSWER


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 100 * 1024 * 1024 + 1),
        struct.pack(">i", 0),
        struct.pack(">i", 9) + bytes(9),
        b"GET / HTTP/1.1\r\n\r\n",
        bytes.fromhex("16030100a2010000"),
        message(43, 0, b""),
        message(-1, 0, b""),
        message(32767, 0, b""),
        message(12, 6, HEARTBEAT_BODY),
        message(12, -1, HEARTBEAT_BODY),
        message(12, 0, HEARTBEAT_BODY[:-1]),
        message(12, 0, b""),
    ],
    ids=lambda data: data[:14].hex(),
)
@pytest.mark.ported("SocketServerTest.tooBigRequestIsRejected")
def test_bad_input_closes_its_own_connection_only(server: SocketServer, data: bytes) -> None:
    with Client(server) as good, Client(server) as bad:
        heartbeat(good)
        answer_next(server)
        good.receive()
        bad.sock.sendall(data)
        assert bad.is_closed()
        heartbeat(good)
        answer_next(server)
        assert good.receive() == head() + ANSWER
        wait_until(lambda: server.connection_count("127.0.0.1") == 1)


@pytest.mark.ported("SocketServerTest.testDisabledRequestIsRejected")
def test_disabled_request_is_rejected(server: SocketServer) -> None:
    with Client(server) as client:
        client.send(3, 0, b"\0\0\0\0")
        assert client.is_closed()


def test_a_good_request_before_a_bad_one_is_handed_out(server: SocketServer) -> None:
    with Client(server) as client:
        client.sock.sendall(message(12, 0, HEARTBEAT_BODY) + struct.pack(">i", -5))
        answer_next(server)
        assert client.receive() == head() + ANSWER
        assert client.is_closed()


@pytest.mark.parametrize(
    ("version", "body", "name", "software_version"),
    [(3, b"\x06kcat\x2d"[:5] + b"\x2d\x041.7\0", "kcat-", "1.7"), (0, b"", "unknown", "unknown")],
)
@pytest.mark.ported("SocketServerTest.testClientInformationWithLatestApiVersionsRequest")
def test_client_information(server: SocketServer, version: int, body: bytes, name: str, software_version: str) -> None:
    channel = server.data_plane_request_channel
    if version == 3:
        body, name = b"\x05kcat\x041.7\0", "kcat"
    header_tags = b"\0" if version == 3 else b""
    with Client(server) as client:
        client.send(18, version, header_tags + body)
        request = receive_request(channel)
        assert request.context.client_information == ClientInformation.EMPTY
        channel.send_no_op_response(request)
        heartbeat(client)
        request = receive_request(channel)
        assert request.context.client_information == ClientInformation(name, software_version)
        channel.send_no_op_response(request)


@pytest.mark.ported("SocketServerTest.testRequestPerSecAndDeprecatedRequestsPerSecMetrics")
def test_requests_per_second_and_times(server: SocketServer) -> None:
    metrics = server.data_plane_request_channel.metrics["Heartbeat"]
    before = metrics.request_rate.count, metrics.total_time_hist.count
    with Client(server) as client:
        for _ in range(3):
            heartbeat(client)
            answer_next(server)
            client.receive()
    wait_until(lambda: metrics.total_time_hist.count == before[1] + 3)
    assert metrics.request_rate.count == before[0] + 3
    assert metrics.request_bytes_hist.max >= len(HEARTBEAT_BODY)
    names = {name.m_bean_name for name in YammerMetrics.default_registry().all_metrics()}
    assert "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Heartbeat" in names
    assert "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Heartbeat" in names


@pytest.mark.ported("SocketServerTest.testStagedListenerStartup")
def test_staged_listener_startup() -> None:
    made = make(
        start=False,
        listeners="EXTERNAL://127.0.0.1:0,INTERNAL://127.0.0.1:0,CONTROL://127.0.0.1:0",
        listener_security_protocol_map="EXTERNAL:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROL:PLAINTEXT",
        inter_broker_listener_name="INTERNAL",
        control_plane_listener_name="CONTROL",
    )
    external, internal, control = map(ListenerName, ("EXTERNAL", "INTERNAL", "CONTROL"))
    future: CompletableFuture[None] = CompletableFuture()
    end_point = made.endpoints[external]
    enabled = made.enable_request_processing({end_point: future})
    assert not enabled.is_done()
    future_of = {e.listener_name: a.started_future for e, a in made.data_plane_acceptors.items()}
    assert not future_of[internal].is_done(), "it waits for all futures"
    future.complete(None)
    enabled.get(5000)
    assert len({made.bound_port(name) for name in (external, internal, control)}) == 3
    with Client(made, external) as client:
        heartbeat(client)
        answer_next(made)
        assert client.receive() == head() + ANSWER
    control_channel = made.control_plane_request_channel_opt
    assert control_channel is not None
    with Client(made, control) as client:
        heartbeat(client)
        request = receive_request(control_channel)
        assert request.context.from_privileged_listener
        answer(control_channel, request)
        assert client.receive() == head() + ANSWER
    names = {t.name for t in threading.enumerate()}
    assert "control-plane-kafka-network-thread-0-ListenerName(CONTROL)-PLAINTEXT-0" in names
    assert "data-plane-kafka-socket-acceptor-ListenerName(EXTERNAL)-PLAINTEXT-0" in names
    stop(made)
    assert not [t for t in threading.enumerate() if "-plane-kafka-" in t.name and "handler" not in t.name]


@pytest.mark.ported("SocketServerTest.testStagedListenerShutdownWhenConnectionQueueIsFull")
def test_shutdown_before_start() -> None:
    made = make(start=False)
    enabled = made.enable_request_processing({made.endpoints[PLAINTEXT]: CompletableFuture()})
    stop(made)
    assert not enabled.is_done()
    with pytest.raises(RuntimeException, match="SocketServer is stopped"):
        made.enable_request_processing()


@pytest.mark.ported("SocketServerTest.testAuthorizerFailureCausesEnableRequestProcessingFailure")
def test_authorizer_failure() -> None:
    made = make(start=False)
    failed: CompletableFuture[None] = CompletableFuture()
    failed.complete_exceptionally(RuntimeError("authorizer startup failed"))
    enabled = made.enable_request_processing({made.endpoints[PLAINTEXT]: failed})
    with pytest.raises(ExecutionException, match="authorizer startup failed"):
        enabled.get(5000)
    stop(made)


@pytest.mark.ported("SocketServerTest.testFailedAcceptorStartupCausesEnableRequestProcessingFailure")
def test_failed_acceptor_startup() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        made = make(start=False, listeners=f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(ExecutionException, match="Unable to start acceptor for"):
            made.enable_request_processing().get(5000)
        stop(made)


def test_a_taken_port_is_found_before_it_is_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        made = make(start=False, listeners=f"PLAINTEXT://127.0.0.1:{port}")
        with pytest.raises(KafkaException, match=f"failed to bind to 127.0.0.1:{port}: Address already in use"):
            made.check_ports()
    made.check_ports()
    assert acceptor_of(made).server_channel is None
    stop(made)


@pytest.mark.ported("SocketServerTest.testAcceptorStartOpensPortIfNeeded")
def test_a_fixed_port_is_opened_by_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    made = make(start=False, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    assert acceptor_of(made).server_channel is None
    with pytest.raises(ConnectionRefusedError):
        Client(made)
    made.enable_request_processing().get(5000)
    with Client(made) as client:
        heartbeat(client)
        answer_next(made)
        assert client.receive() == head() + ANSWER
    stop(made)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_port_that_cannot_be_bound_fails_the_constructor_and_leaves_nothing_open() -> None:
    for host in ("192.0.2.1", "no..host"):
        with pytest.raises(KafkaException, match=f"Socket server failed to bind to {re.escape(host)}:0: "):
            make(listeners=f"PLAINTEXT://{host}:0")


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_other_security_protocols_are_refused_at_start(protocol: str) -> None:
    with pytest.raises(ConfigException, match=f"Security protocol {protocol} of listener X is not supported"):
        make(
            listeners="PLAINTEXT://127.0.0.1:0,X://127.0.0.1:0",
            listener_security_protocol_map=f"PLAINTEXT:PLAINTEXT,X:{protocol}",
        )


@pytest.mark.ported("SocketServerTest.testGracefulClose")
def test_graceful_close(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    client = Client(server)
    for i in range(10):
        client.send(12, 0, HEARTBEAT_BODY, i)
    client.sock.close()
    for i in range(10):
        request = receive_request(channel)
        assert request.header.correlation_id == i
        channel.send_no_op_response(request)
    wait_until(lambda: server.connection_count("127.0.0.1") == 0)


@pytest.mark.ported("SocketServerTest.testNoOpAction")
def test_no_op_action(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    with Client(server) as client:
        for i in range(3):
            client.send(12, 0, HEARTBEAT_BODY, i)
        for i in range(3):
            request = receive_request(channel)
            assert request.header.correlation_id == i
            channel.send_response(NoOpResponse(request))


def test_close_connection(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    meter = channel.metrics["Heartbeat"]
    with Client(server) as client:
        heartbeat(client)
        request = receive_request(channel)
        channel.close_connection(request, {Errors.NOT_COORDINATOR: 1})
        assert client.is_closed()
    assert meter._error_meters[Errors.NOT_COORDINATOR].get_or_create_meter().count >= 1
    wait_until(lambda: server.connection_count("127.0.0.1") == 0)


@pytest.mark.ported("SocketServerTest.testConnectionId")
def test_connection_id(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    clients = [Client(server) for _ in range(3)]
    ids = []
    for client in clients:
        heartbeat(client)
        request = receive_request(channel)
        ids.append(request.context.connection_id)
        parsed = ConnectionId.from_string(request.context.connection_id)
        assert parsed is not None
        assert (parsed.remote_host, parsed.remote_port) == client.sock.getsockname()
        assert (parsed.local_host, parsed.local_port) == client.sock.getpeername()
    assert [ConnectionId.from_string(id).index for id in ids if ConnectionId.from_string(id)] == [0, 1, 2]  # type: ignore[union-attr]
    for client in clients:
        client.sock.close()


@pytest.mark.parametrize("text", ["127.0.0.1:9092-127.0.0.1:9093-0", "::1:9092-::1:9093-7", "a:1-b:2-2147483647"])
def test_connection_id_from_string(text: str) -> None:
    parsed = ConnectionId.from_string(text)
    assert str(parsed) == text


@pytest.mark.parametrize("text", ["", "127.0.0.1:9092-127.0.0.1:9093", "a:1-b:2-x", "a-b-0", "a:1-b:2-3-4"])
def test_connection_id_of_another_form(text: str) -> None:
    assert ConnectionId.from_string(text) is None


@pytest.mark.ported("SocketServerTest.testIdleConnection")
def test_idle_connection() -> None:
    time = MockTime()
    made = make(time=time, connections_max_idle_ms=60_000)
    with Client(made) as client:
        heartbeat(client)
        answer_next(made)
        client.receive()
        wait_until(lambda: made.connection_count("127.0.0.1") == 1)
        time.sleep(61_000)
        made._data_plane_processors()[0].wakeup()
        assert client.is_closed()
        wait_until(lambda: made.connection_count("127.0.0.1") == 0)
    stop(made)


@pytest.mark.ported("SocketServerTest.testConnectionIdReuse")
def test_connection_id_reuse(testable: TestableSocketServer) -> None:
    testable.processor.fixed_connection_id = "127.0.0.1:1-127.0.0.1:2-0"
    channel = testable.data_plane_request_channel
    first = Client(testable)
    heartbeat(first)
    answer_next(testable)
    first.receive()
    with Client(testable) as second:
        assert second.is_closed(), "the id is in use"
    assert first.stays_open()
    assert testable.connection_count("127.0.0.1") == 1
    first.sock.close()
    wait_until(lambda: not testable.processor.selector.channels)
    with Client(testable) as third:
        heartbeat(third)
        answer_next(testable)
        assert third.receive() == head() + ANSWER
    assert channel.request_queue.is_empty()


@pytest.mark.ported("SocketServerTest.testSocketsCloseOnShutdown")
def test_sockets_close_on_shutdown() -> None:
    made = make()
    with Client(made) as client:
        heartbeat(client)
        answer_next(made)
        client.receive()
        stop(made)
        made.shutdown()
        assert client.is_closed()
        with pytest.raises(ConnectionRefusedError):
            Client(made)


@pytest.mark.ported("SocketServerTest.testSessionPrincipal")
def test_session_principal(server: SocketServer) -> None:
    with Client(server) as client:
        heartbeat(client)
        request = answer_next(server)
        assert request.session.principal == KafkaPrincipal.ANONYMOUS
        assert request.session.client_address == request.context.client_address == "127.0.0.1"
        assert request.session.sanitized_user == "ANONYMOUS"


@pytest.mark.ported("SocketServerTest.testClientDisconnectionUpdatesRequestMetrics")
def test_client_disconnection_updates_request_metrics(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    histogram = channel.metrics["Heartbeat"].total_time_hist
    before = histogram.count
    client = Client(server)
    heartbeat(client)
    request = receive_request(channel)
    client.reset()
    answer(channel, request, bytes(50_000_000))
    wait_until(lambda: histogram.count == before + 1)
    wait_until(lambda: server.connection_count("127.0.0.1") == 0)
    assert server._data_plane_processors()[0].inflight_response_count == 0


@pytest.mark.ported("SocketServerTest.testClientDisconnectionWithOutstandingReceivesProcessedUntilFailedSend")
def test_outstanding_requests_are_processed_until_a_send_fails(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    client = Client(server)
    client.sock.sendall(b"".join(message(12, 0, HEARTBEAT_BODY, i) for i in range(5)))
    for i in range(3):
        request = receive_request(channel)
        assert request.header.correlation_id == i
        if i == 0:
            client.sock.close()
        channel.send_no_op_response(request)
    answer(channel, receive_request(channel), bytes(50_000_000))
    wait_until(lambda: server.connection_count("127.0.0.1") == 0)


@pytest.mark.ported("SocketServerTest.testBrokerSendAfterChannelClosedUpdatesRequestMetrics")
def test_answer_after_the_channel_was_closed(testable: TestableSocketServer) -> None:
    channel = testable.data_plane_request_channel
    histogram = channel.metrics["Heartbeat"].total_time_hist
    before = histogram.count
    with Client(testable) as client:
        heartbeat(client)
        request = receive_request(channel)
        channel.close_connection(request, {})
        assert client.is_closed()
        answer(channel, request)
        wait_until(lambda: histogram.count == before + 2)
    assert testable.processor.inflight_response_count == 0


@pytest.mark.ported("SocketServerTest.testRequestMetricsAfterStop")
def test_stop_processing_requests_then_metrics_are_still_there(server: SocketServer) -> None:
    with Client(server) as client:
        heartbeat(client)
        answer_next(server)
        client.receive()
    wait_until(lambda: server.data_plane_request_channel.metrics["Heartbeat"].total_time_hist.count > 0)
    server.stop_processing_requests()
    assert server.data_plane_request_channel.metrics["Heartbeat"].total_time_hist.count > 0
    server.data_plane_request_channel.send_no_op_response(make_detached_request(server))


def make_detached_request(server: SocketServer) -> Any:
    class Detached:
        processor = 99
        api_local_complete_time_nanos = -1
        response_complete_time_nanos = -1
        callback_request_dequeue_time_nanos = None

    return Detached()


@pytest.mark.ported("SocketServerTest.testMetricCollectionAfterShutdown")
def test_metric_collection_after_shutdown() -> None:
    made = make()
    stop(made)
    values = [
        metric.value()
        for name, metric in YammerMetrics.default_registry().all_metrics().items()
        if name.name.endswith(("IdlePercent", "NetworkProcessorAvgIdlePercent", "ExpiredConnectionsKilledCount"))
        and hasattr(metric, "value")
    ]
    assert all(isinstance(value, float) for value in values)


@pytest.mark.ported("SocketServerTest.testProcessorMetricsTags")
def test_processor_metrics_tags(server: SocketServer) -> None:
    tags = [name.tags for name in server.metrics.metrics() if name.group == "socket-server-metrics" and name.tags]
    assert tags
    for tag in tags:
        if "networkProcessor" in tag:
            assert (tag["listener"], tag["networkProcessor"]) == ("PLAINTEXT", "0")


@pytest.mark.parametrize("control_plane", [False, True])
@pytest.mark.ported("SocketServerTest.testInterBrokerListenerAsPrivilegedListener")
def test_privileged_listener(control_plane: bool) -> None:
    props: dict[str, Any] = {"control_plane_listener_name": "CONTROL"} if control_plane else {}
    made = make(
        listeners="EXTERNAL://127.0.0.1:0,INTERNAL://127.0.0.1:0,CONTROL://127.0.0.1:0",
        listener_security_protocol_map="EXTERNAL:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROL:PLAINTEXT",
        inter_broker_listener_name="INTERNAL",
        **props,
    )
    found = {}
    for name in ("EXTERNAL", "INTERNAL"):
        with Client(made, ListenerName(name)) as client:
            heartbeat(client)
            request = answer_next(made)
            assert request.context.listener_name == ListenerName(name)
            found[name] = request.context.from_privileged_listener
            client.receive()
    assert found == {"EXTERNAL": False, "INTERNAL": not control_plane}
    stop(made)


@pytest.mark.ported("SocketServerTest.testListenBacklogSize")
def test_listen_backlog_size() -> None:
    made = make(socket_listen_backlog_size=128)
    assert acceptor_of(made)._listen_backlog_size == 128
    stop(made)


@pytest.mark.ported("SocketServerTest.testUnmuteChannelWithBufferedReceives")
def test_latency_of_buffered_requests(server: SocketServer) -> None:
    channel = server.data_plane_request_channel
    with Client(server) as client:
        client.sock.sendall(b"".join(message(12, 0, HEARTBEAT_BODY, i) for i in range(20)))
        for _ in range(20):
            request = channel.receive_request(250)
            assert request is not None, "a buffered request must not wait for a poll's timeout"
            channel.send_no_op_response(request)  # type: ignore[arg-type]


def test_round_robin_and_resize() -> None:
    made = make(num_network_threads=3)
    acceptor = acceptor_of(made)
    clients = [Client(made) for _ in range(6)]
    wait_until(lambda: [len(p.selector.channels) for p in acceptor.processors] == [2, 2, 2])
    assert [p.id for p in acceptor.processors] == [0, 1, 2]
    from kafka_py.network.acceptor import DataPlaneAcceptor

    assert isinstance(acceptor, DataPlaneAcceptor)
    for bad, text in ((0, "at least 1"), (7, "not be greater than double the current value 3")):
        with pytest.raises(ConfigException, match=text):
            acceptor.validate_reconfiguration({"num.network.threads": bad})
    acceptor.validate_reconfiguration({"num.network.threads": 2})
    acceptor.reconfigure({"num.network.threads": 2})
    assert [p.id for p in acceptor.processors] == [0, 1]
    wait_until(lambda: made.connection_count("127.0.0.1") == 4)
    assert sorted(made.data_plane_request_channel.processors) == [0, 1]
    acceptor.reconfigure({"num.network.threads": 4})
    assert [p.id for p in acceptor.processors] == [0, 1, 3, 4]
    more = [Client(made) for _ in range(4)]
    wait_until(lambda: made.connection_count("127.0.0.1") == 8)
    for client in clients + more:
        client.sock.close()
    stop(made)


def test_add_and_remove_listeners(server: SocketServer) -> None:
    end_point = config(
        listeners="PLAINTEXT://127.0.0.1:0,EXTRA://127.0.0.1:0",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT",
    ).listeners[1]
    server.add_listeners([end_point])
    acceptor = server.data_plane_acceptors[end_point]
    acceptor.started_future.get(5000)
    with socket.create_connection(("127.0.0.1", acceptor.local_port)) as sock:
        wait_until(lambda: server.connection_count("127.0.0.1") == 1)
        server.remove_listeners([end_point])
        assert sock.recv(1) == b""
    assert end_point not in server.data_plane_acceptors
    assert server.connection_count("127.0.0.1") == 0


def test_a_listener_that_cannot_be_added_leaves_nothing(server: SocketServer) -> None:
    tls = config(
        listeners="PLAINTEXT://127.0.0.1:0,EXTRA://127.0.0.1:0",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,EXTRA:SSL",
    ).listeners[1]
    for _ in range(2):
        with pytest.raises(ConfigException, match="SSL of listener EXTRA is not supported"):
            server.add_listeners([tls])
        assert tls not in server.data_plane_acceptors
        assert [name.value() for name in server.connection_quotas.max_connections_per_listener] == ["PLAINTEXT"]
        assert list(server.data_plane_request_channel.processors) == [0]


def test_processors_that_cannot_all_be_made_leave_none(server: SocketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    acceptor = acceptor_of(server)
    make_processor = acceptor.new_processor
    made: list[Processor] = []

    def fail_the_third(*args: Any) -> Processor:
        if len(made) == 2:
            raise KafkaException("Too many open files")
        made.append(make_processor(*args))
        return made[-1]

    monkeypatch.setattr(acceptor, "new_processor", fail_the_third)
    with pytest.raises(KafkaException, match="Too many open files"):
        acceptor.add_processors(3)
    assert len(made) == 2
    assert not any(processor.thread.is_alive() for processor in made)
    assert len(acceptor.processors) == 1
    assert list(server.data_plane_request_channel.processors) == [0]
    with Client(server) as client:
        heartbeat(client)
        answer_next(server)
        assert client.receive() == head() + ANSWER


def test_broker_wide_limits_are_reconfigured(server: SocketServer) -> None:
    new = config(max_connections_per_ip=7, max_connections=9, max_connection_creation_rate=11)
    server.validate_reconfiguration(new)
    server.reconfigure(server.config, new)
    quotas = server.connection_quotas
    assert (quotas.default_max_connections_per_ip, quotas._broker_max_connections) == (7, 9)
    assert server.reconfigurable_configs == {
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "max.connections",
        "max.connection.creation.rate",
    }


def test_unknown_listener_has_no_port(server: SocketServer) -> None:
    with pytest.raises(KafkaException, match="Tried to check for port of non-existing protocol"):
        server.bound_port(ListenerName("OTHER"))
