"""A server that sends back what it gets, and channels over a fake transport."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence

from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.network.nio_selector import NioSelector, SelectionKey
from kafka_py.common.network.selector import Selector
from kafka_py.common.network.transport_layer import BytesLike, TransportLayer
from kafka_py.common.record.file_channel import FileChannel

DEADLINE_POLLS = 200


def frame(payload: bytes) -> bytes:
    """A payload behind its size."""
    return struct.pack(">i", len(payload)) + payload


class EchoServer:
    """Accepts on a port of its own; a thread for each connection."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self._connections: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._echo, args=(connection,))
            self._threads.append(thread)
            thread.start()

    @staticmethod
    def _echo(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := connection.recv(65536):
                connection.sendall(data)

    def close_connections(self) -> None:
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listening.close()
        self.close_connections()


class FakeTransport(TransportLayer):
    """Hands out prepared pieces and takes what it is told to take."""

    __slots__ = ("events", "gathered", "interest", "pieces", "room")

    def __init__(self, pieces: Sequence[bytes | None] = (), room: Sequence[int] = ()) -> None:
        self.ahead = bytearray()
        self.ahead_pos = self.ahead_end = 0
        self.pieces = list(pieces)  # what each read finds: None is nothing yet, b"" the end of the stream
        self.room = list(room)  # how much each write takes; everything when used up
        self.gathered = bytearray()
        self.interest = 1
        self.events: list[str] = []

    def ready(self) -> bool:
        return True

    def finish_connect(self) -> bool:
        return True

    def disconnect(self) -> None:
        self.events.append("disconnect")

    def is_connected(self) -> bool:
        return True

    def is_open(self) -> bool:
        return True

    def socket_channel(self) -> socket.socket:
        closed = socket.socket()
        closed.close()
        return closed

    def selection_key(self) -> SelectionKey:
        raise OSError("no key here")

    def handshake(self) -> None:
        self.events.append("handshake")

    def read_ahead(self) -> int:
        if self.ahead_pos == self.ahead_end:
            if not self.pieces:
                return 0
            piece = self.pieces.pop(0)
            if piece is None:
                return 0
            if not piece:
                raise EOFError
            self.ahead, self.ahead_pos, self.ahead_end = bytearray(piece), 0, len(piece)
        return self.ahead_end - self.ahead_pos

    def keep(self) -> None:
        self.ahead = self.ahead[self.ahead_pos : self.ahead_end]
        self.ahead_pos, self.ahead_end = 0, len(self.ahead)

    def read(self, dst: memoryview) -> int:
        count = min(self.read_ahead(), len(dst))
        dst[:count] = self.ahead[self.ahead_pos : self.ahead_pos + count]
        self.ahead_pos += count
        return count

    def write(self, src: BytesLike, more: bool = False) -> int:
        self.events.append(f"write{len(src)}{'+' if more else ''}")
        return self._take(bytes(src))

    def write_all(self, srcs: Sequence[BytesLike], more: bool = False) -> int:
        self.events.append(f"writev{[len(s) for s in srcs]}{'+' if more else ''}")
        return self._take(b"".join(bytes(s) for s in srcs))

    def transfer_from(self, file_channel: FileChannel, position: int, count: int) -> int:
        self.events.append(f"file{position}:{count}")
        return self._take(b"f" * count)

    def _take(self, data: bytes) -> int:
        count = min(self.room.pop(0), len(data)) if self.room else len(data)
        self.gathered += data[:count]
        return count

    def has_pending_writes(self) -> bool:
        return False

    def has_bytes_buffered(self) -> bool:
        return self.ahead_pos != self.ahead_end

    def add_interest_ops(self, ops: int) -> None:
        self.interest |= ops

    def remove_interest_ops(self, ops: int) -> None:
        self.interest &= ~ops

    def is_mute(self) -> bool:
        return not self.interest & 1

    def close(self) -> None:
        self.events.append("close")


class FakeFileRecords:
    """A slice of a log file, as a Send sees it."""

    def __init__(self, size: int, start: int = 0) -> None:
        self._size = size
        self._start = start
        self._channel = FileChannel(-1)

    def size_in_bytes(self) -> int:
        return self._size

    def write_to(self, channel: TransportLayer, position: int, length: int) -> int:
        return channel.transfer_from(self._channel, self._start + position, length)


def poll_until(selector: Selector, condition: Callable[[], bool], timeout_ms: int = 50) -> None:
    """Poll until the condition holds."""
    for _ in range(DEADLINE_POLLS):
        if condition():
            return
        selector.poll(timeout_ms)
    assert condition(), f"still not so: {selector}"


def connect(selector: Selector, id: str, address: tuple[str, int]) -> None:
    """Connect and wait for it."""
    selector.connect(id, address, -1, -1)
    for _ in range(DEADLINE_POLLS):
        selector.poll(50)
        if id in selector.connected():
            return
    raise AssertionError(f"{id} is not connected: {selector.disconnected()}")


def request(selector: Selector, id: str, payload: bytes) -> bytes:
    """Send and wait for the echo."""
    selector.send(NetworkSend(id, payload))
    for _ in range(DEADLINE_POLLS):
        selector.poll(50)
        for receive in selector.completed_receives():
            if receive.source() == id:
                return text(receive)
    raise AssertionError(f"no answer from {id}")


def text(receive: NetworkReceive) -> bytes:
    payload = receive.payload()
    assert payload is not None
    return bytes(payload)


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """(ours, non-blocking; theirs) over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        theirs = socket.create_connection(listening.getsockname())
        ours, _ = listening.accept()
    ours.setblocking(False)
    return ours, theirs


__all__ = ["EchoServer", "FakeFileRecords", "FakeTransport", "NioSelector", "connect", "frame", "poll_until", "request"]
