"""Data on its way in.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Receive.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.network.transport_layer import TransportLayer


class Receive(abc.ABC):
    """A message being read, a piece at a time, from one source.

    Mirrors: org.apache.kafka.common.network.Receive @ 3.7.1
    """

    __slots__ = ()

    @abc.abstractmethod
    def source(self) -> str:
        """The id of the connection it comes from."""

    @abc.abstractmethod
    def complete(self) -> bool:
        """Whether every byte is here."""

    @abc.abstractmethod
    def read_from(self, channel: TransportLayer) -> int:
        """Read what has arrived; bytes read. Raises EOFError at the end of the stream, OSError."""

    @abc.abstractmethod
    def required_memory_amount_known(self) -> bool:
        """Whether the size of the message is known yet."""

    @abc.abstractmethod
    def memory_allocated(self) -> bool:
        """Whether the memory for the message has been booked."""

    @abc.abstractmethod
    def close(self) -> None:
        """Give the memory back."""
