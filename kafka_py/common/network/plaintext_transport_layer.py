"""Bytes as they are.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/PlaintextTransportLayer.java @ 3.7.1
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafka_py.common.network.nio_selector import OP_CONNECT, OP_READ, SelectionKey
from kafka_py.common.network.transport_layer import BytesLike, TransportLayer

if TYPE_CHECKING:
    from kafka_py.common.record.file_channel import FileChannel

_MSG_MORE: Final = socket.MSG_MORE
_NO_BYTES: Final = bytearray()


class PlaintextTransportLayer(TransportLayer):
    """The socket itself.

    Mirrors: org.apache.kafka.common.network.PlaintextTransportLayer @ 3.7.1
    Thread:  the one that polls the selector.
    Differs: reads go to the selector's shared buffer first, so `has_bytes_buffered` is true while pipelined requests
        wait there; the selector treats them as it treats the rest of a TLS record.
    """

    __slots__ = ("_key", "_owned", "_socket")

    def __init__(self, key: SelectionKey) -> None:
        self._key = key
        self._socket = key.channel
        # what was read and not yet used is ahead[ahead_pos:ahead_end]
        self.ahead = _NO_BYTES  # thread: poller
        self.ahead_pos = 0  # thread: poller
        self.ahead_end = 0  # thread: poller
        # whether `ahead` is ours, or the selector's scratch, lent
        self._owned = False  # thread: poller

    def ready(self) -> bool:
        """Always: there is no handshake."""
        return True

    def finish_connect(self) -> bool:
        """Complete the connect and select for reading instead; whether it is complete. Raises OSError."""
        error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error in (errno.EINPROGRESS, errno.EALREADY):
            return False
        if error:
            raise OSError(error, os.strerror(error))
        if not self.is_connected():
            return False
        self._key.add(OP_READ)
        self._key.remove(OP_CONNECT)
        return True

    def disconnect(self) -> None:
        """Cancel the key."""
        self._key.cancel()

    def is_connected(self) -> bool:
        """Whether the socket has a peer."""
        try:
            self._socket.getpeername()
        except OSError:
            return False
        return True

    def is_open(self) -> bool:
        """Whether the socket has not been closed."""
        return self._socket.fileno() >= 0

    def socket_channel(self) -> socket.socket:
        """The socket."""
        return self._socket

    def selection_key(self) -> SelectionKey:
        """The registration with the selector."""
        return self._key

    def handshake(self) -> None:
        """Plain connections have none."""
        return

    def read_ahead(self) -> int:
        """How many bytes are in `ahead`, reading once from the socket if there are none. Raises EOFError, OSError.

        What is left over must be put away with `keep` before another channel reads.
        """
        left = self.ahead_end - self.ahead_pos
        if left:
            return left
        scratch = self._key.selector.scratch
        try:
            count = self._socket.recv_into(scratch)
        except BlockingIOError:
            return 0
        if not count:
            raise EOFError
        self.ahead = scratch
        self.ahead_pos = 0
        self.ahead_end = count
        self._owned = False
        return count

    def keep(self) -> None:
        """Copy what is left of the lent bytes, or let them go when nothing is."""
        if self.ahead_pos == self.ahead_end:
            self.ahead = _NO_BYTES
            self.ahead_pos = self.ahead_end = 0
        elif not self._owned:
            self.ahead = self.ahead[self.ahead_pos : self.ahead_end]
            self.ahead_end = len(self.ahead)
            self.ahead_pos = 0
            self._owned = True

    def read(self, dst: memoryview) -> int:
        """Read into ``dst``; 0 when nothing is here. Raises EOFError, OSError."""
        left = self.ahead_end - self.ahead_pos
        if left:
            count = min(left, len(dst))
            dst[:count] = memoryview(self.ahead)[self.ahead_pos : self.ahead_pos + count]
            self.ahead_pos += count
            self.keep()
            return count
        try:
            count = self._socket.recv_into(dst)
        except BlockingIOError:
            return 0
        if not count and len(dst):
            raise EOFError
        return count

    def write(self, src: BytesLike, more: bool = False) -> int:
        """Write one buffer; bytes taken, 0 when the socket is full. Raises OSError."""
        try:
            return self._socket.send(src, _MSG_MORE if more else 0)
        except BlockingIOError:
            return 0

    def write_all(self, srcs: Sequence[BytesLike], more: bool = False) -> int:
        """Write several buffers with one sendmsg; bytes taken. Raises OSError."""
        try:
            return self._socket.sendmsg(srcs, (), _MSG_MORE if more else 0)
        except BlockingIOError:
            return 0

    def transfer_from(self, file_channel: FileChannel, position: int, count: int) -> int:
        """Send file bytes with sendfile; bytes taken. Raises OSError, and EOFError when the file has become shorter."""
        try:
            sent = file_channel.transfer_to(position, count, self._socket.fileno())
        except BlockingIOError:
            return 0
        if not sent and count:
            raise EOFError(f"the file ends before {position + count}")
        return sent

    def has_pending_writes(self) -> bool:
        """Never: what the socket took is on its way."""
        return False

    def has_bytes_buffered(self) -> bool:
        """Whether a receive left bytes over."""
        return self.ahead_pos != self.ahead_end

    def add_interest_ops(self, ops: int) -> None:
        """Select for ``ops`` too."""
        self._key.add(ops)

    def remove_interest_ops(self, ops: int) -> None:
        """Select for ``ops`` no longer."""
        self._key.remove(ops)

    def is_mute(self) -> bool:
        """Whether the channel is not selected for reading."""
        return self._key.valid and not self._key.interest & OP_READ

    def close(self) -> None:
        """Close the socket. Raises OSError."""
        self._key.cancel()
        self._socket.close()
