"""Two requests on one connection, two handlers, and an order in which the handlers answer: with and without muting.

Ours, no original. Socket server, processor, selector and request channel are the broker's own; the handlers are not.
Without muting the network thread reads on while a request is handled: that takes three methods, put out of action here.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import struct
from collections.abc import Iterator
from typing import Final
from unittest import mock

from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.kafka_channel import KafkaChannel
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.network.selector import Selector
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.time import Time
from kafka_py.network.processor import Processor
from kafka_py.network.request_channel import Request, RequestChannel, SendResponse
from kafka_py.network.socket_server import SocketServer
from kafka_py.security.credential_provider import CredentialProvider
from kafka_py.server.api_version_manager import SimpleApiVersionManager
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.concurrent import CountDownLatch, Semaphore, untapped
from kafka_py.xray.passage import Passage
from kafka_py.xray.schedule import Replay, Schedule

HANDLERS: Final = ("handler-0", "handler-1")
REQUESTS: Final = (1, 2)
POINT: Final = "response-queue"
LABEL: Final = "Heartbeat"
_WAIT_MS: Final = 500.0
_PATIENCE_MS: Final = 5000
_HEARTBEAT = b"\0\1g" + struct.pack(">i", 1) + b"\0\1m"


class _Versions:
    """What the socket server wants to know of a handler."""

    min_version, max_version = 0, 3


@contextlib.contextmanager
def without_muting() -> Iterator[None]:
    """A connection is read while a request of it is handled."""
    with (
        mock.patch.object(Selector, "mute", return_value=None),
        mock.patch.object(KafkaChannel, "handle_channel_mute_event", return_value=None),
        mock.patch.object(Processor, "try_unmute_channel", return_value=None),
    ):
        yield


class OneByOne(Replay):
    """A replay in which a step has been taken when the answer is sent.

    Thread: any
    """

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule, wait_ms=_WAIT_MS, grace_ms=2 * _PATIENCE_MS)
        self.sent = Semaphore(0)

    def leave(self, passage: Passage) -> None:
        """On the handler, when its answer is in the queue: wait for the network thread to write it."""
        if passage.point == POINT:
            with untapped():
                self.sent.acquire()
        super().leave(passage)


def answered(schedule: Schedule) -> list[int]:
    """The correlation ids as the client gets them back.

    Raises ScheduleStuck when the handlers cannot go in that order.
    """
    server = server_with(processors=1)
    try:
        with OneByOne(schedule) as replay, _client(server) as client:
            client.sendall(b"".join(_request(id) for id in REQUESTS))
            threads = _handlers(server.data_plane_request_channel, replay.sent)
            try:
                got = [_answer(client) for _ in REQUESTS]
            finally:
                replay.sent.release(len(REQUESTS))  # nobody waits for an answer that does not come
            for thread in threads:
                thread.join()
        return got
    finally:
        server.shutdown()
        server.metrics.close()


def server_with(processors: int) -> SocketServer:
    """A socket server on a free port of this machine that has started; whoever has it shuts it down."""
    config = KafkaConfig(
        {
            "zookeeper.connect": "none:1",
            "broker.id": "0",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "num.network.threads": str(processors),
        }
    )
    versions = SimpleApiVersionManager("BROKER", {ApiKeys.HEARTBEAT: _Versions()})
    server = SocketServer(config, Metrics(time=Time.SYSTEM), Time.SYSTEM, CredentialProvider([]), versions)
    server.enable_request_processing().get(_PATIENCE_MS)
    return server


def _client(server: SocketServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.bound_port(ListenerName("PLAINTEXT"))), _PATIENCE_MS / 1000)


def _request(correlation_id: int) -> bytes:
    whole = struct.pack(">hhih", ApiKeys.HEARTBEAT.id, 0, correlation_id, 0) + _HEARTBEAT
    return struct.pack(">i", len(whole)) + whole


def _answer(client: socket.socket) -> int:
    """The correlation id of the next answer. Raises EOFError at the connection's end."""
    data = b""
    while len(data) < 8:
        more = client.recv(8 - len(data))
        if not more:
            raise EOFError("the broker has closed the connection")
        data += more
    size, correlation_id = struct.unpack(">ii", data)
    client.recv(size - 4)
    return int(correlation_id)


def _handlers(channel: RequestChannel, sent: Semaphore) -> list[KafkaThread]:
    """One for each request: the second begins to look when the first has one."""
    taken, threads = CountDownLatch(0), []
    for name in HANDLERS:
        before, taken = taken, CountDownLatch(1)
        work = functools.partial(_handle, channel, sent, before, taken)
        threads.append(KafkaThread.daemon_thread(name, work))
    for thread in threads:
        thread.start()
    return threads


def _handle(channel: RequestChannel, sent: Semaphore, before: CountDownLatch, taken: CountDownLatch) -> None:
    before.await_(_PATIENCE_MS)
    request = channel.receive_request(_PATIENCE_MS)
    taken.count_down()
    if isinstance(request, Request):
        request.request_dequeue_time_nanos = Time.SYSTEM.nanoseconds()
        head = struct.pack(">i", request.header.correlation_id)
        send = NetworkSend(request.context.connection_id, [head, b"answer"])
        channel.send_response(SendResponse(request, send, None, lambda _: sent.release()))
