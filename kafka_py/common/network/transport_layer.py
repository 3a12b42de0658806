"""The bytes of a connection, plain or encrypted.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/TransportLayer.java @ 3.7.1
"""

from __future__ import annotations

import abc
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.network.nio_selector import SelectionKey
    from kafka_py.common.record.file_channel import FileChannel

BytesLike = bytes | bytearray | memoryview


class TransportLayer(abc.ABC):
    """Reads and writes a non-blocking socket.

    Mirrors: org.apache.kafka.common.network.TransportLayer @ 3.7.1
    Differs: `read_ahead` lends bytes out of a buffer shared by all channels of a selector, where Java reads size and
        payload of a message with a system call each; what one receive leaves over is kept for the next.
    """

    __slots__ = ("ahead", "ahead_end", "ahead_pos")

    ahead: bytearray
    ahead_pos: int
    ahead_end: int

    @abc.abstractmethod
    def ready(self) -> bool:
        """Whether the handshake is over."""

    @abc.abstractmethod
    def finish_connect(self) -> bool:
        """Complete a connect; whether it is complete. Raises OSError."""

    @abc.abstractmethod
    def disconnect(self) -> None:
        """Stop selecting the channel."""

    @abc.abstractmethod
    def is_connected(self) -> bool:
        """Whether the socket has a peer."""

    @abc.abstractmethod
    def is_open(self) -> bool:
        """Whether the socket has not been closed."""

    @abc.abstractmethod
    def socket_channel(self) -> socket.socket:
        """The socket."""

    @abc.abstractmethod
    def selection_key(self) -> SelectionKey:
        """The registration with the selector."""

    @abc.abstractmethod
    def handshake(self) -> None:
        """Take a step of the handshake. Raises AuthenticationException, OSError."""

    @abc.abstractmethod
    def read_ahead(self) -> int:
        """How many bytes are in `ahead` to be taken, reading once if there are none; 0 when nothing is here.

        They lie in a buffer that all channels of a selector share: call `keep` before another channel reads.
        Raises EOFError at the end of the stream, OSError.
        """

    @abc.abstractmethod
    def keep(self) -> None:
        """Put away the bytes of `ahead` that were not taken."""

    @abc.abstractmethod
    def read(self, dst: memoryview) -> int:
        """Read into ``dst``; bytes read, 0 when nothing is here. Raises EOFError, OSError."""

    @abc.abstractmethod
    def write(self, src: BytesLike, more: bool = False) -> int:
        """Write one buffer; bytes taken. ``more`` says that further bytes follow at once. Raises OSError."""

    @abc.abstractmethod
    def write_all(self, srcs: Sequence[BytesLike], more: bool = False) -> int:
        """Write several buffers with one call; bytes taken. Raises OSError."""

    @abc.abstractmethod
    def transfer_from(self, file_channel: FileChannel, position: int, count: int) -> int:
        """Send ``count`` bytes at ``position`` of the file; bytes taken. Raises OSError, EOFError."""

    @abc.abstractmethod
    def has_pending_writes(self) -> bool:
        """Whether bytes taken by `write` still wait inside the layer."""

    @abc.abstractmethod
    def has_bytes_buffered(self) -> bool:
        """Whether bytes read from the socket wait inside the layer."""

    @abc.abstractmethod
    def add_interest_ops(self, ops: int) -> None:
        """Select for these operations too."""

    @abc.abstractmethod
    def remove_interest_ops(self, ops: int) -> None:
        """Select for these operations no longer."""

    @abc.abstractmethod
    def is_mute(self) -> bool:
        """Whether the channel is not selected for reading."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the socket."""
