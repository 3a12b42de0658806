"""How a selector lets go of its channels.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Selector.java (close and what leads to it) @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.network.channel_state import ChannelState
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector_support import CloseMode, DelayedAuthenticationFailureClose
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.network.channel_builder import ChannelBuilder
    from kafka_py.common.network.idle_expiry_manager import IdleExpiryManager
    from kafka_py.common.network.kafka_channel import KafkaChannel
    from kafka_py.common.network.nio_selector import NioSelector, SelectionKey
    from kafka_py.common.network.selector_metrics import SelectorMetrics
    from kafka_py.common.utils.time import Time


class SelectorClosing(Selectable, Logging):
    """The part of Selector that closes: by the owner, by the peer, by idleness, after failed authentication.

    Thread:  the one that polls the selector.
    """

    logger_name: ClassVar[str] = "org.apache.kafka.common.network.Selector"

    channels: dict[str, KafkaChannel]
    nio_selector: NioSelector
    _time: Time
    _nanoseconds: Callable[[], int]
    _sensors: SelectorMetrics
    _channel_builder: ChannelBuilder
    _idle_expiry_manager: IdleExpiryManager | None
    _closing_channels: dict[str, KafkaChannel]
    _connected: list[str]
    _disconnected: dict[str, ChannelState]
    _immediately_connected_keys: dict[SelectionKey, None]
    _keys_with_buffered_read: dict[SelectionKey, None]
    _explicitly_muted_channels: set[KafkaChannel]
    _delayed_closing_channels: dict[str, DelayedAuthenticationFailureClose] | None
    _failed_authentication_delay_ms: int

    @abc.abstractmethod
    def _maybe_read_from_closing_channel(self, channel: KafkaChannel) -> bool:
        """Whether the channel still has a request to be handed out."""

    def close(self, id: str | None = None) -> None:
        """Close one channel without a notice, or without ``id`` everything. Raises the first error, after all."""
        if id is None:
            self._close_all()
            return
        channel = self.channels.get(id)
        if channel is not None:
            # nobody is told, but the state should not lie
            channel.set_state(ChannelState.LOCAL_CLOSE)
            self._close_channel(channel, CloseMode.DISCARD_NO_NOTIFY)
        else:
            closing = self._closing_channels.pop(id, None)
            if closing is not None:
                self._do_close(closing, False)

    def _close_all(self) -> None:
        first: Exception | None = None
        for id in [*self.channels, *self._closing_channels]:
            try:
                self.close(id)
            except Exception as e:  # noqa: BLE001  sensors left behind would fail the next selector of that name
                self.error("Failed to close release connections of %s", id, exc=e)
                first = first or e
        for closer in (self.nio_selector.close, self._sensors.close, self._channel_builder.close):
            try:
                closer()
            except Exception as e:  # noqa: BLE001  the others are to be closed all the same
                first = first or e
        if isinstance(first, RuntimeError):
            raise first

    def complete_delayed_channel_close(self, current_time_nanos: int) -> None:
        """Close channels that failed to authenticate and whose delay is over."""
        delayed = self._delayed_closing_channels
        while delayed:
            if not next(iter(delayed.values())).try_close(current_time_nanos):
                break

    def maybe_close_oldest_connection(self, current_time_nanos: int) -> None:
        """Close one connection that has been idle too long, if there is one."""
        idle = self._idle_expiry_manager
        if idle is None:
            return
        expired = idle.poll_expired_connection(current_time_nanos)
        if expired is None:
            return
        connection_id, last_active = expired
        channel = self.channels.get(connection_id)
        if channel is not None:
            self.trace(
                "About to close the idle connection from %s due to being idle for %d millis",
                connection_id,
                (current_time_nanos - last_active) // 1_000_000,
            )
            channel.set_state(ChannelState.EXPIRED)
            self._close_channel(channel, CloseMode.GRACEFUL)

    def _maybe_delay_close_on_authentication_failure(self, channel: KafkaChannel) -> None:
        end = self._nanoseconds() + self._failed_authentication_delay_ms * 1_000_000
        delayed = DelayedAuthenticationFailureClose(self, channel, end)
        if self._delayed_closing_channels is not None:
            self._delayed_closing_channels[channel.id] = delayed
        else:
            delayed.close_now()

    def handle_close_on_authentication_failure(self, channel: KafkaChannel) -> None:
        """Send the answer that waited, and close."""
        try:
            channel.complete_close_on_authentication_failure()
        except Exception as e:  # noqa: BLE001  the channel is closed in any case
            self.error("Exception handling close on authentication failure node %s", channel.id, exc=e)
        finally:
            self._close_channel(channel, CloseMode.GRACEFUL)

    def _close_channel(self, channel: KafkaChannel, close_mode: CloseMode) -> None:
        """Begin to close, and finish unless requests that have arrived are to be handed out first."""
        channel.disconnect()
        if channel.id in self._connected:  # it broke in the poll in which it connected
            self._connected.remove(channel.id)
        # A producer with acks=0 may send and close at once: one poll sees the requests and the end. They are handed
        # out one by one, each after the answer to the one before, until a send fails or none is left.
        if close_mode is CloseMode.GRACEFUL and self._maybe_read_from_closing_channel(channel):
            self._closing_channels[channel.id] = channel
            self.debug("Tracking closing connection %s to process outstanding requests", channel.id)
        else:
            self._do_close(channel, close_mode.notify_disconnect)
        self.channels.pop(channel.id, None)
        if self._delayed_closing_channels is not None:
            self._delayed_closing_channels.pop(channel.id, None)
        if self._idle_expiry_manager is not None:
            self._idle_expiry_manager.remove(channel.id)

    def _do_close(self, channel: KafkaChannel, notify_disconnect: bool) -> None:
        key = channel.selection_key()
        try:
            self._immediately_connected_keys.pop(key, None)
            self._keys_with_buffered_read.pop(key, None)
            channel.close()
        except OSError as e:
            self.error("Exception closing connection to node %s:", channel.id, exc=e)
        finally:
            key.cancel()
            key.attachment = None
        self._sensors.connection_closed.record(1, self._time.milliseconds())
        self._explicitly_muted_channels.discard(channel)
        if notify_disconnect:
            self._disconnected[channel.id] = channel.state()

    def closing_channel(self, id: str) -> KafkaChannel | None:
        """The channel, if it is closed but still has requests to be handed out; or None."""
        return self._closing_channels.get(id)

    def closing_channels(self) -> dict[str, KafkaChannel]:
        """All such channels."""
        return self._closing_channels

    def lowest_priority_channel(self) -> KafkaChannel | None:
        """The channel to close first when there are too many: a closing one, else the one idle longest."""
        if self._closing_channels:
            return next(iter(self._closing_channels.values()))
        if self._idle_expiry_manager is not None and self._idle_expiry_manager.lru_connections:
            return self.channel(next(iter(self._idle_expiry_manager.lru_connections)))
        return next(iter(self.channels.values()), None)

    def channel(self, id: str) -> KafkaChannel | None:
        """The open channel, or None."""
        return self.channels.get(id)

    def delayed_closing_channels(self) -> dict[str, DelayedAuthenticationFailureClose] | None:
        """Channels that failed to authenticate and wait to be closed; None without a delay."""
        return self._delayed_closing_channels
