"""Three small classes of the selector.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Selector.java (its nested classes) @ 3.7.1
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.network.channel_metadata_registry import ChannelMetadataRegistry

if TYPE_CHECKING:
    from kafka_py.common.network.cipher_information import CipherInformation
    from kafka_py.common.network.client_information import ClientInformation
    from kafka_py.common.network.kafka_channel import KafkaChannel
    from kafka_py.common.network.selector import Selector
    from kafka_py.common.network.selector_metrics import SelectorMetrics


class CloseMode(enum.Enum):
    """How a channel is closed.

    Mirrors: org.apache.kafka.common.network.Selector.CloseMode @ 3.7.1
    """

    GRACEFUL = 0  # requests that have arrived are still handed out, then the disconnect is told
    NOTIFY_ONLY = 1  # they are thrown away, the disconnect is told
    DISCARD_NO_NOTIFY = 2  # they are thrown away, and nobody is told

    @property
    def notify_disconnect(self) -> bool:
        """Whether `disconnected` will tell of it."""
        return self is not CloseMode.DISCARD_NO_NOTIFY


class SelectorChannelMetadataRegistry(ChannelMetadataRegistry):
    """Counts connections by cipher and by client library.

    Mirrors: org.apache.kafka.common.network.Selector.SelectorChannelMetadataRegistry @ 3.7.1
    """

    __slots__ = ("_cipher_information", "_client_information", "_sensors")

    def __init__(self, sensors: SelectorMetrics) -> None:
        self._sensors = sensors
        self._cipher_information: CipherInformation | None = None  # thread: poller
        self._client_information: ClientInformation | None = None  # thread: poller

    def register_cipher_information(self, cipher_information: CipherInformation) -> None:
        """Count this connection under its cipher, and no longer under the one before."""
        if self._cipher_information is not None:
            if self._cipher_information == cipher_information:
                return
            self._sensors.connections_by_cipher.decrement(self._cipher_information)
        self._cipher_information = cipher_information
        self._sensors.connections_by_cipher.increment(cipher_information)

    def cipher_information(self) -> CipherInformation | None:
        """The cipher, or None."""
        return self._cipher_information

    def register_client_information(self, client_information: ClientInformation) -> None:
        """Count this connection under its client library, and no longer under the one before."""
        if self._client_information is not None:
            if self._client_information == client_information:
                return
            self._sensors.connections_by_client.decrement(self._client_information)
        self._client_information = client_information
        self._sensors.connections_by_client.increment(client_information)

    def client_information(self) -> ClientInformation | None:
        """The client library, or None."""
        return self._client_information

    def close(self) -> None:
        """Count this connection no longer."""
        if self._cipher_information is not None:
            self._sensors.connections_by_cipher.decrement(self._cipher_information)
            self._cipher_information = None
        if self._client_information is not None:
            self._sensors.connections_by_client.decrement(self._client_information)
            self._client_information = None


class DelayedAuthenticationFailureClose:
    """A connection that failed to authenticate and is closed after a delay.

    Mirrors: org.apache.kafka.common.network.Selector.DelayedAuthenticationFailureClose @ 3.7.1
    """

    def __init__(self, selector: Selector, channel: KafkaChannel, end_time_nanos: int) -> None:
        self._selector = selector
        self._channel = channel
        self._end_time_nanos = end_time_nanos
        self._closed = False  # thread: poller

    def try_close(self, current_time_nanos: int) -> bool:
        """Close it if its time has come; whether it is closed."""
        if self._end_time_nanos <= current_time_nanos:
            self.close_now()
        return self._closed

    def close_now(self) -> None:
        """Close it. Raises IllegalStateException the second time."""
        if self._closed:
            raise IllegalStateException("Attempt to close a channel that has already been closed")
        self._selector.handle_close_on_authentication_failure(self._channel)
        self._closed = True
