"""A message of buffers whose framing is the caller's affair.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ByteBufferSend.java @ 3.7.1
"""

from __future__ import annotations

import struct

from kafka_py.common.network.send import Send
from kafka_py.common.network.transport_layer import BytesLike, TransportLayer


class ByteBufferSend(Send):
    """Writes some buffers one after another.

    Mirrors: org.apache.kafka.common.network.ByteBufferSend @ 3.7.1
    Differs: knows its destination, as in 1.1.1.
    """

    __slots__ = ("_buffers", "_destination", "_pending", "_remaining", "_size")

    def __init__(self, destination: str, *buffers: BytesLike) -> None:
        self._destination = destination
        self._buffers = [memoryview(buffer) for buffer in buffers if len(buffer)]
        self._size = self._remaining = sum(map(len, self._buffers))
        self._pending = False

    @classmethod
    def size_prefixed(cls, destination: str, buffer: BytesLike) -> ByteBufferSend:
        """A send of ``buffer`` behind its length."""
        return cls(destination, struct.pack(">i", len(buffer)), buffer)

    def destination(self) -> str:
        """The connection's id."""
        return self._destination

    destination_id = destination

    def completed(self) -> bool:
        """Whether every byte has left the transport layer."""
        return self._remaining <= 0 and not self._pending

    def size(self) -> int:
        """Bytes of all buffers."""
        return self._size

    def remaining(self) -> int:
        """Bytes not yet written."""
        return self._remaining

    def write_to(self, channel: TransportLayer) -> int:
        """Write what the transport takes now; bytes written. Raises OSError."""
        written = channel.write_all(self._buffers[:1024]) if self._buffers else 0
        self._remaining -= written
        self._pending = channel.has_pending_writes()
        left = written
        while left:
            first = self._buffers[0]
            if left < len(first):
                self._buffers[0] = first[left:]
                break
            left -= len(first)
            del self._buffers[0]
        return written

    def __repr__(self) -> str:
        return f"ByteBufferSend(size={self._size}, remaining={self._remaining}, pending={self._pending})"
