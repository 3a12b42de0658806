"""More requests than a broker can handle, so that its request queue stays full until somebody has mercy.

Ours, no original. Each request asks for settings of many topics, each of which is a round trip to ZooKeeper for the
handler: cheap to receive, dear to handle. A connection has one request at the broker at a time, so there are as many
connections as the queue has places, and some more.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct

from kafka_py.common.utils.kafka_thread import KafkaThread

TOPICS = 50
_DESCRIBE_CONFIGS, _TOPIC = 32, 2
_TURN_S = 0.1
_SIZE = struct.Struct(">i")


def request() -> bytes:
    """DescribeConfigs, version 0, of no setting of so many topics that need not exist."""
    names = [f"flood-{n}".encode() for n in range(TOPICS)]
    resources = b"".join(struct.pack(">bh", _TOPIC, len(name)) + name + _SIZE.pack(0) for name in names)
    body = struct.pack(">hhih", _DESCRIBE_CONFIGS, 0, 0, 5) + b"flood" + _SIZE.pack(TOPICS) + resources
    return _SIZE.pack(len(body)) + body


class _Asker:
    """One connection, which asks again whenever it was answered.

    Thread: request-flood
    """

    def __init__(self, address: tuple[str, int], request: bytes) -> None:
        self.socket = socket.create_connection(address)
        self._request = request
        self._read = b""  # thread: request-flood
        self.socket.sendall(request)

    def hear(self) -> bool:
        """Read what has come, and ask again after a whole answer; False at the connection's end."""
        data = self.socket.recv(1 << 16)
        self._read += data
        if len(self._read) >= _SIZE.size and len(self._read) >= _SIZE.size + _SIZE.unpack_from(self._read)[0]:
            self._read = b""
            self.socket.sendall(self._request)
        return bool(data)


class RequestFlood:
    """Runs from ``start`` to ``close``.

    Thread: of its owner; the thread request-flood asks again
    """

    def __init__(self, address: tuple[str, int], connections: int) -> None:
        """Connect so often. Raises OSError."""
        self._selector = selectors.DefaultSelector()
        self._closing = False  # volatile: written by the owner
        text = request()
        for _ in range(connections):
            asker = _Asker(address, text)
            self._selector.register(asker.socket, selectors.EVENT_READ, asker)
        self._thread = KafkaThread.daemon_thread("request-flood", self._run)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Hang up everywhere."""
        self._closing = True
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.data.socket.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(_TURN_S):
                goes_on = False
                with contextlib.suppress(OSError):  # the broker has ended
                    goes_on = key.data.hear()
                if not goes_on:
                    self._selector.unregister(key.fileobj)
                    key.data.socket.close()
