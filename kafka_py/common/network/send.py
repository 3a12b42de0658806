"""Data on its way out.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Send.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.network.transport_layer import TransportLayer


class Send(abc.ABC):
    """A message being written, a piece at a time, to one destination.

    Mirrors: org.apache.kafka.common.network.Send @ 3.7.1 (destination() as in 1.1.1)
    """

    __slots__ = ()

    @abc.abstractmethod
    def destination(self) -> str:
        """The id of the connection it goes to."""

    @abc.abstractmethod
    def completed(self) -> bool:
        """Whether every byte has been handed to the transport."""

    @abc.abstractmethod
    def write_to(self, channel: TransportLayer) -> int:
        """Write what the transport takes now; bytes written. Raises OSError."""

    @abc.abstractmethod
    def size(self) -> int:
        """Bytes of the whole message."""
