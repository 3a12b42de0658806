"""One size-delimited message on its way out.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/NetworkSend.java @ 3.7.1
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_py.common.network.send import Send
from kafka_py.common.network.transport_layer import BytesLike, TransportLayer

if TYPE_CHECKING:
    from kafka_py.common.record.file_records import FileRecords

_PACK_SIZE = struct.Struct(">i").pack
_IOV_MAX = 1024
_BYTES = (bytes, bytearray, memoryview)  # a tuple: isinstance is three times as fast with it as with a union
_JOIN_BELOW = 4096


class NetworkSend(Send):
    """Four bytes of size, then the parts: bytes, and slices of log files that go out with sendfile.

    Mirrors: org.apache.kafka.common.network.NetworkSend @ 3.7.1
    Thread:  built by a handler, written by the thread that polls the selector.
    Differs: holds the parts itself instead of a further Send (ByteBufferSend, RecordsSend and MultiSend in one).
    """

    # Most sends are written whole by one call and never set these on themselves.
    _index = 0
    _offset = 0

    def __init__(self, destination_id: str, parts: Sequence[BytesLike | FileRecords] | BytesLike) -> None:
        """``parts`` is the message without its size, which is put in front."""
        self._destination_id = destination_id
        if type(parts) is list and len(parts) == 1 and type(parts[0]) is bytes:  # nearly every response
            only = parts[0]
            total = len(only)
            self._size = self._remaining = total + 4
            self._parts: list[BytesLike | FileRecords] = [_PACK_SIZE(total) + only]
            return
        if isinstance(parts, _BYTES):
            parts = (parts,)
        first = parts[0] if parts else b""
        total = 0
        for part in parts:
            total += len(part) if isinstance(part, _BYTES) else part.size_in_bytes()
        self._size = self._remaining = total + 4  # handoff: handler -> poller
        if isinstance(first, (bytes, bytearray)) and len(first) < _JOIN_BELOW:
            self._parts = [_PACK_SIZE(total) + first, *parts[1:]]
        else:
            self._parts = [_PACK_SIZE(total), *parts]

    def destination(self) -> str:
        """The connection's id."""
        return self._destination_id

    destination_id = destination

    def completed(self) -> bool:
        """Whether every byte has been handed to the socket."""
        return self._remaining <= 0

    def size(self) -> int:
        """Bytes of the message, with the size's."""
        return self._size

    def remaining(self) -> int:
        """Bytes not yet written."""
        return self._remaining

    def write_to(self, channel: TransportLayer) -> int:
        """Write what the socket takes now; bytes written. Raises OSError, EOFError."""
        parts = self._parts
        if len(parts) == 1 and not self._offset:
            part = parts[0]
            if type(part) is bytes:
                written = channel.write(part)
                self._offset = written
                self._remaining -= written
                return written
        written = 0
        try:
            while self._index < len(parts):
                part = parts[self._index]
                if isinstance(part, _BYTES):
                    count, wanted = self._write_buffers(channel)
                else:
                    wanted = part.size_in_bytes() - self._offset
                    count = part.write_to(channel, self._offset, wanted) if wanted else 0
                    self._advance(count)
                written += count
                if count < wanted:
                    break
        finally:  # what went out before an error is out: the selector tries once more before it gives up
            self._remaining -= written
        return written

    def _write_buffers(self, channel: TransportLayer) -> tuple[int, int]:
        """Write the run of buffers at the present position with one call; bytes written, bytes offered."""
        run: list[BytesLike] = []
        wanted = 0
        end = self._index
        for part in self._parts[self._index : self._index + _IOV_MAX]:
            if not isinstance(part, _BYTES):
                break
            piece = memoryview(part)[self._offset :] if end == self._index and self._offset else part
            run.append(piece)
            wanted += len(piece)
            end += 1
        # what follows goes out with the next call: let the kernel wait for it and fill the segment
        more = end < len(self._parts)
        written = channel.write(run[0], more) if len(run) == 1 else channel.write_all(run, more)
        self._advance(written)
        return written, wanted

    def _advance(self, count: int) -> None:
        """Move the position over ``count`` written bytes, and over parts that are used up or empty."""
        parts = self._parts
        offset = self._offset + count
        while self._index < len(parts):
            part = parts[self._index]
            length = len(part) if isinstance(part, _BYTES) else part.size_in_bytes()
            if offset < length:
                break
            offset -= length
            parts[self._index] = b""  # a sent part need not stay in memory until the last one is
            self._index += 1
        self._offset = offset

    def __repr__(self) -> str:
        return f"NetworkSend(destinationId={self._destination_id}, size={self._size}, remaining={self._remaining})"
