"""A socket server on a port of its own, clients of raw sockets, and handlers in the test's hands."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, ClassVar

from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.channel_builder import ChannelBuilder
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.network.selector import Selector
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.utils.time import Time
from kafka_py.network.acceptor import Acceptor, DataPlaneAcceptor
from kafka_py.network.processor import Processor
from kafka_py.network.request_channel import Request, RequestChannel, SendResponse
from kafka_py.network.socket_server import SocketServer
from kafka_py.security.credential_provider import CredentialProvider
from kafka_py.server.api_version_manager import SimpleApiVersionManager
from kafka_py.server.kafka_config import KafkaConfig

PLAINTEXT = ListenerName("PLAINTEXT")
CORRELATION_ID = 77


class Handler:
    """A line of the table of handlers."""

    min_version, max_version = 0, 5


HANDLERS = {ApiKeys.PRODUCE: Handler(), ApiKeys.HEARTBEAT: Handler(), ApiKeys.API_VERSIONS: Handler()}


def config(**props: Any) -> KafkaConfig:
    """A broker's configuration; names with underscores for dots."""
    given = {
        "zookeeper.connect": "none:1",
        "broker.id": "0",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "num.network.threads": "1",
        **{name.replace("_", "."): str(value) for name, value in props.items()},
    }
    return KafkaConfig(given)


class TestableSelector(Selector):
    """Fails where it is told to, and counts."""

    __test__ = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fail_once: dict[str, Exception] = {}
        self.failed: list[str] = []

    def _maybe_fail(self, operation: str) -> None:
        error = self.fail_once.pop(operation, None)
        if error is not None:
            self.failed.append(operation)
            raise error

    def register(self, id: str, socket_channel: socket.socket) -> None:
        self._maybe_fail("register")
        super().register(id, socket_channel)

    def send(self, send: Any) -> None:
        self._maybe_fail("send")
        super().send(send)

    def poll(self, timeout: int) -> None:
        self._maybe_fail("poll")
        super().poll(timeout)

    def mute(self, id: str, channel: Any = None) -> None:
        self._maybe_fail("mute")
        super().mute(id, channel)

    def unmute(self, id: str, channel: Any = None) -> None:
        self._maybe_fail("unmute")
        super().unmute(id, channel)

    def close(self, id: str | None = None) -> None:
        if id is not None:
            self._maybe_fail("close")
        super().close(id)


class TestableProcessor(Processor):
    """Has a TestableSelector, and may be told what to call its connections."""

    __test__ = False
    fixed_connection_id: str | None = None

    def create_selector(self, channel_builder: ChannelBuilder) -> TestableSelector:
        return TestableSelector(
            self.max_request_size,
            self._connections_max_idle_ms,
            self._metrics,
            self._time,
            "socket-server",
            self.metric_tags,
            channel_builder,
            metrics_per_connection=False,
            record_time_per_connection=True,
            memory_pool=self._memory_pool,
            log_ident=self.log_ident,
        )

    def connection_id(self, sock: socket.socket) -> str:
        return self.fixed_connection_id or super().connection_id(sock)


class TestableAcceptor(DataPlaneAcceptor):
    """Makes TestableProcessors."""

    __test__ = False
    PROCESSOR_CLASS: ClassVar[type[Processor]] = TestableProcessor


class TestableSocketServer(SocketServer):
    """Made of the parts above."""

    __test__ = False

    def create_data_plane_acceptor(
        self, end_point: Any, is_privileged_listener: bool, request_channel: RequestChannel
    ) -> DataPlaneAcceptor:
        return self._new_acceptor(TestableAcceptor, end_point, is_privileged_listener, request_channel)

    @property
    def processor(self) -> TestableProcessor:
        found = self._data_plane_processors()[0]
        assert isinstance(found, TestableProcessor)
        return found

    @property
    def testable_selector(self) -> TestableSelector:
        found = self.processor.selector
        assert isinstance(found, TestableSelector)
        return found


def make(
    server_class: type[SocketServer] = SocketServer,
    time: Time = Time.SYSTEM,
    start: bool = True,
    handlers: Any = None,
    **props: Any,
) -> SocketServer:
    """A server, started unless told otherwise."""
    manager = SimpleApiVersionManager("BROKER", HANDLERS if handlers is None else handlers)
    server = server_class(config(**props), Metrics(time=time), time, CredentialProvider([]), manager)
    if start:
        server.enable_request_processing().get(5000)
    return server


def stop(server: SocketServer) -> None:
    server.shutdown()
    server.metrics.close()


class Client:
    """A raw connection."""

    def __init__(self, server: SocketServer, listener: ListenerName = PLAINTEXT) -> None:
        self.sock = socket.create_connection(("127.0.0.1", server.bound_port(listener)), 5)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *args: object) -> None:
        self.sock.close()

    def send(self, api_key: int, version: int, body: bytes, correlation_id: int = CORRELATION_ID) -> None:
        self.sock.sendall(message(api_key, version, body, correlation_id))

    def receive(self) -> bytes:
        head = self._exactly(4)
        return self._exactly(struct.unpack(">i", head)[0])

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self.sock.recv(count - len(found))
            if not more:
                raise EOFError
            found += more
        return found

    def is_closed(self) -> bool:
        """Whether the server has closed the connection; waits for it."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True

    def stays_open(self, ms: int = 30) -> bool:
        """Whether nothing comes for a while."""
        self.sock.settimeout(ms / 1000)
        try:
            return bool(self.sock.recv(1))
        except TimeoutError:
            return True
        except ConnectionError:
            return False
        finally:
            self.sock.settimeout(5)

    def reset(self) -> None:
        """Close with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def message(
    api_key: int, version: int, body: bytes, correlation_id: int = CORRELATION_ID, client: bytes = b""
) -> bytes:
    whole = struct.pack(">hhih", api_key, version, correlation_id, len(client)) + client + body
    return struct.pack(">i", len(whole)) + whole


def heartbeat(client: Client, correlation_id: int = CORRELATION_ID) -> None:
    client.send(12, 0, HEARTBEAT_BODY, correlation_id)


HEARTBEAT_BODY = b"\0\1g" + struct.pack(">i", 1) + b"\0\1m"
ANSWER = b"answer"


def receive_request(channel: RequestChannel, timeout_ms: int = 5000) -> Request:
    request = channel.receive_request(timeout_ms)
    assert isinstance(request, Request), request
    request.request_dequeue_time_nanos = Time.SYSTEM.nanoseconds()
    return request


def answer(channel: RequestChannel, request: Request, payload: bytes = ANSWER, on_complete: Any = None) -> None:
    """Send the payload behind the correlation id."""
    head = struct.pack(">i", request.header.correlation_id)
    send = NetworkSend(request.context.connection_id, [head, payload])
    channel.send_response(SendResponse(request, send, None, on_complete))


def answer_next(server: SocketServer) -> Request:
    request = receive_request(server.data_plane_request_channel)
    answer(server.data_plane_request_channel, request)
    return request


def wait_until(condition: Callable[[], bool], what: str = "", seconds: float = 5) -> None:
    """Look until it is so."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.002)):
        if condition():
            return
        pause.wait(0.002)
    assert condition(), f"still not so: {what}"


def acceptor_of(server: SocketServer) -> Acceptor:
    found = server.data_plane_acceptor("PLAINTEXT")
    assert found is not None
    return found
