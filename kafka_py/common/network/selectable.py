"""What the clients of a selector may ask of it.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Selectable.java @ 3.7.1
"""

from __future__ import annotations

import abc
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from kafka_py.common.network.channel_state import ChannelState
    from kafka_py.common.network.network_receive import NetworkReceive
    from kafka_py.common.network.send import Send


class Selectable(abc.ABC):
    """Connects, sends and receives on many channels without blocking on any of them.

    Mirrors: org.apache.kafka.common.network.Selectable @ 3.7.1
    """

    USE_DEFAULT_BUFFER_SIZE: ClassVar[int] = -1  # leave SO_SNDBUF and SO_RCVBUF as the operating system sets them

    @abc.abstractmethod
    def connect(self, id: str, address: tuple[str, int], send_buffer_size: int, receive_buffer_size: int) -> None:
        """Start to connect to ``address`` under the name ``id``. Raises OSError."""

    @abc.abstractmethod
    def wakeup(self) -> None:
        """Make a poll that sleeps, or the next one, return at once."""

    @abc.abstractmethod
    def close(self, id: str | None = None) -> None:
        """Close one channel, or without ``id`` the selector and all its channels."""

    @abc.abstractmethod
    def send(self, send: Send) -> None:
        """Begin to write ``send`` to the channel it names."""

    @abc.abstractmethod
    def poll(self, timeout: int) -> None:
        """Do the I/O that is possible, waiting up to ``timeout`` ms for some. Raises OSError."""

    @abc.abstractmethod
    def completed_sends(self) -> Collection[Send]:
        """Sends that the last poll finished."""

    @abc.abstractmethod
    def completed_receives(self) -> Collection[NetworkReceive]:
        """Receives that the last poll finished, at most one per channel."""

    @abc.abstractmethod
    def disconnected(self) -> dict[str, ChannelState]:
        """Channels that the last poll found closed, with the state they closed in."""

    @abc.abstractmethod
    def connected(self) -> list[str]:
        """Channels whose connection the last poll completed."""

    @abc.abstractmethod
    def mute(self, id: str) -> None:
        """Stop reading from one channel."""

    @abc.abstractmethod
    def unmute(self, id: str) -> None:
        """Read from it again."""

    @abc.abstractmethod
    def mute_all(self) -> None:
        """Stop reading from all channels."""

    @abc.abstractmethod
    def unmute_all(self) -> None:
        """Read from all channels again."""

    @abc.abstractmethod
    def is_channel_ready(self, id: str) -> bool:
        """Whether the channel is connected and authenticated."""
