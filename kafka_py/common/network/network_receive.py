"""One size-delimited message on its way in.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/NetworkReceive.java @ 3.7.1
"""

from __future__ import annotations

import struct
from typing import ClassVar, Final

from kafka_py.common.errors import InvalidReceiveException
from kafka_py.common.memory.buffer_recycler import grow
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.network.receive import Receive
from kafka_py.common.network.transport_layer import TransportLayer

_SIZE = struct.Struct(">i").unpack_from
_SIZE_BYTES: Final = 4
_NO_POOL: Final = MemoryPool.NONE


class NetworkReceive(Receive):
    """Four bytes of size, big-endian and signed, then that many bytes of payload.

    Mirrors: org.apache.kafka.common.network.NetworkReceive @ 3.7.1
    Thread:  the one that polls the selector.
    Differs: memory grows with the bytes that have come, never with what the size claims, so that a size alone costs
        nothing; a message that arrived whole is copied out of the shared buffer and takes one system call.
    """

    UNKNOWN_SOURCE: ClassVar[str] = ""
    UNLIMITED: ClassVar[int] = -1

    # Most receives are whole after one read and never set these on themselves.
    _head = b""  # the first bytes of a size that came in pieces
    _requested = -1
    _buffer: bytearray | None = None
    _received = 0
    received_payload: memoryview | None = None  # what payload() answers

    def __init__(
        self,
        max_size: int = -1,
        source: str = "",
        memory_pool: MemoryPool = MemoryPool.NONE,
        buffer: memoryview | None = None,
    ) -> None:
        """``max_size`` -1 means no limit; a ``buffer`` makes a receive that is complete."""
        self._max_size = max_size
        self._source = source
        self._pool = memory_pool
        if buffer is not None:
            self.received_payload = buffer  # handoff: poller -> handler

    def source(self) -> str:
        """The connection's id."""
        return self._source

    def complete(self) -> bool:
        """Whether size and payload are here in full."""
        return self.received_payload is not None

    def read_from(self, channel: TransportLayer) -> int:
        """Take what has arrived, at most one message; bytes taken, with the size's.

        Raises InvalidReceiveException for a size below 0 or above the limit, EOFError, OSError.
        """
        taken = 0
        if self._requested < 0:
            count = channel.read_ahead()
            if not count:
                return 0
            start = channel.ahead_pos
            if count >= _SIZE_BYTES and not self._head:
                size: int = _SIZE(channel.ahead, start)[0]
                taken = _SIZE_BYTES
            else:
                taken = min(_SIZE_BYTES - len(self._head), count)
                self._head += bytes(channel.ahead[start : start + taken])
                if len(self._head) < _SIZE_BYTES:
                    channel.ahead_pos = start + taken
                    channel.keep()
                    return taken
                size = _SIZE(self._head)[0]
            if size < 0:
                raise InvalidReceiveException(f"Invalid receive (size = {size})")
            if size > self._max_size != -1:
                raise InvalidReceiveException(f"Invalid receive (size = {size} larger than {self._max_size})")
            self._requested = size
            start += taken
            if taken + size <= count and (self._pool is _NO_POOL or not size):
                self.received_payload = memoryview(channel.ahead[start : start + size])
                channel.ahead_pos = start + size
                if taken + size < count:
                    channel.keep()
                return taken + size
            channel.ahead_pos = start
        return taken + self._read_payload(channel)

    def _read_payload(self, channel: TransportLayer) -> int:
        buffer = self._buffer
        size = self._requested
        if buffer is None:
            buffer = self._buffer = self._pool.try_allocate(size)
            if buffer is None:  # the pool is empty: the channel mutes itself until it is not
                channel.keep()
                return 0
        first = received = self._received
        waiting = channel.ahead_end - channel.ahead_pos
        if waiting:
            count = min(waiting, size - received)
            if received + count > len(buffer):
                grow(buffer, min(size, max(2 * len(buffer), received + count)))
            with memoryview(channel.ahead) as ahead:
                buffer[received : received + count] = ahead[channel.ahead_pos : channel.ahead_pos + count]
            channel.ahead_pos += count
            channel.keep()
            received += count
        try:
            while received < size:
                if received == len(buffer):
                    grow(buffer, min(size, 2 * received))
                end = min(size, len(buffer))
                with memoryview(buffer) as whole, whole[received:end] as room:
                    count = channel.read(room)
                received += count
                if received < end:
                    break
        finally:
            self._received = received
        if received == size:
            self.received_payload = memoryview(buffer)[:size]
        return received - first

    def required_memory_amount_known(self) -> bool:
        """Whether the size is known."""
        return self._requested != -1

    def memory_allocated(self) -> bool:
        """Whether memory for the message has been booked."""
        return self._buffer is not None or self.received_payload is not None

    def close(self) -> None:
        """Give the memory back, of a receive that nobody took."""
        if self._buffer is not None:
            self.received_payload = None
            self._pool.give_back(self._requested, self._buffer)
            self._buffer = None

    def payload(self) -> memoryview | None:
        """The message without its size, writable; None before it is complete."""
        return self.received_payload

    def bytes_read(self) -> int:
        """Bytes so far, with the size's."""
        if self.received_payload is not None:
            return _SIZE_BYTES + len(self.received_payload)
        return (_SIZE_BYTES if self._requested >= 0 else len(self._head)) + self._received

    def size(self) -> int:
        """Bytes of the complete message, with the size's."""
        payload = self.received_payload
        return _SIZE_BYTES + (len(payload) if payload is not None else max(self._requested, 0))

    def __repr__(self) -> str:
        return f"NetworkReceive(source={self._source}, requested={self._requested}, received={self._received})"
