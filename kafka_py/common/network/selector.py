"""Many connections on one thread: sizes and payloads in, messages out, nothing ever waits for one of them.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Selector.java @ 3.7.1
Read next: kafka_channel.py, nio_selector.py; docs/threads.md
"""

from __future__ import annotations

import errno
import random
import selectors
import socket
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from kafka_py.common.errors import AuthenticationException, IllegalStateException, KafkaException
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.network.channel_state import ChannelState
from kafka_py.common.network.client_information import ClientInformation
from kafka_py.common.network.delayed_response_authentication_exception import DelayedResponseAuthenticationException
from kafka_py.common.network.idle_expiry_manager import IdleExpiryManager
from kafka_py.common.network.nio_selector import OP_CONNECT, OP_READ, OP_WRITE, NioSelector, SelectionKey
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector_metrics import SelectorMetrics
from kafka_py.common.network.selector_support import (
    CloseMode,
    DelayedAuthenticationFailureClose,
    SelectorChannelMetadataRegistry,
)
from kafka_py.utils.logging import Logging
from kafka_py.utils.stack_limiter import StackLimiter, in_short

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.channel_builder import ChannelBuilder
    from kafka_py.common.network.kafka_channel import KafkaChannel
    from kafka_py.common.network.network_receive import NetworkReceive
    from kafka_py.common.network.send import Send
    from kafka_py.common.utils.time import Time

# NioSelector speaks epoll itself (a third less CPU than the standard module); the ops are the same two questions
assert selectors.EVENT_READ == OP_READ
_READY: Final = ChannelState.READY
_REPORT_INTERVAL_NS: Final = 10_000_000
_CloseMode = CloseMode


class Selector(Selectable, Logging):
    """Non-blocking I/O on many connections, each known by an id.

    Mirrors: org.apache.kafka.common.network.Selector @ 3.7.1
    Thread:  one thread calls everything but wakeup(), which any may call.
    Differs: `send` writes at once and selects for writing only what the socket did not take; such sends are handed
        out by the next poll or by `collect_completed_sends`. The sensors hear of polls, bytes and messages every 10 ms,
        and when a poll that may not wait finds nothing. Muting tells epoll nothing until data comes (see
        SelectionKey). Pipelined requests that one read brought wait in the transport layer, as buffered bytes.
    """

    logger_name: ClassVar[str] = "org.apache.kafka.common.network.Selector"
    NO_IDLE_TIMEOUT_MS: ClassVar[int] = -1
    NO_FAILED_AUTHENTICATION_DELAY: ClassVar[int] = 0
    CloseMode: TypeAlias = _CloseMode

    def __init__(
        self,
        max_receive_size: int,
        connection_max_idle_ms: int,
        metrics: Metrics,
        time: Time,
        metric_grp_prefix: str,
        metric_tags: Mapping[str, str],
        channel_builder: ChannelBuilder,
        *,
        metrics_per_connection: bool = True,
        record_time_per_connection: bool = False,
        failed_authentication_delay_ms: int = 0,
        memory_pool: MemoryPool = MemoryPool.NONE,
        log_ident: str = "",
    ) -> None:
        """``connection_max_idle_ms`` -1 never closes idle connections. Raises KafkaException."""
        try:
            self.nio_selector = NioSelector()
        except OSError as e:
            raise KafkaException(str(e)) from e
        self.log_ident = log_ident
        self._max_receive_size = max_receive_size
        self._time = time
        self._stacks = StackLimiter(time)
        self._nanoseconds = time.nanoseconds
        self.channels: dict[str, KafkaChannel] = {}
        self._explicitly_muted_channels: set[KafkaChannel] = set()
        self._out_of_memory = False  # thread: poller
        self._completed_sends: list[Send] = []  # thread: poller
        self._sent_at_once: list[Send] = []  # completed inside send(), not handed out yet
        self._completed_receives: dict[str, NetworkReceive] = {}
        self._immediately_connected_keys: dict[SelectionKey, None] = {}
        self._closing_channels: dict[str, KafkaChannel] = {}
        self._keys_with_buffered_read: dict[SelectionKey, None] = {}  # thread: poller
        self._disconnected: dict[str, ChannelState] = {}
        self._connected: list[str] = []
        self._failed_sends: list[str] = []
        self._sensors = SelectorMetrics(
            metrics, metric_grp_prefix, metric_tags, metrics_per_connection, self._channel_count, time.milliseconds()
        )
        self._channel_builder = channel_builder
        self._record_time_per_connection = record_time_per_connection
        self._idle_expiry_manager = (
            None if connection_max_idle_ms < 0 else IdleExpiryManager(time, connection_max_idle_ms)
        )
        self._memory_pool = memory_pool
        self._bounded_memory = memory_pool is not MemoryPool.NONE
        self._low_mem_threshold = memory_pool.size() // 10
        self._failed_authentication_delay_ms = failed_authentication_delay_ms
        self._delayed_closing_channels: dict[str, DelayedAuthenticationFailureClose] | None = (
            {} if failed_authentication_delay_ms > self.NO_FAILED_AUTHENTICATION_DELAY else None
        )
        # whether the last poll could read: else memory is short, and polling without a wait would spin
        self._made_read_progress_last_poll = True  # thread: poller
        self._per_connection = metrics_per_connection
        # since the last report to the sensors: polls and their times, bytes and messages in and out, largest message
        self._next_report_ns = 0  # thread: poller
        self._polls = self._select_ns = self._io_ns = 0  # thread: poller
        self._bytes_in = self._reads = self._messages_in = 0  # thread: poller
        self._bytes_out = self._writes = self._messages_out = 0  # thread: poller
        self._message_bytes_out = self._largest_out = 0  # thread: poller

    def _channel_count(self) -> int:
        return len(self.channels)

    # -- connections ------------------------------------------------------------------------------------------

    def connect(self, id: str, address: tuple[str, int], send_buffer_size: int, receive_buffer_size: int) -> None:
        """Begin to connect; `connected` or `disconnected` of a later poll tells how it went.

        Raises IllegalStateException for an id in use, OSError when it fails at once or the name is unknown.
        """
        self._ensure_not_registered(id)
        try:
            family, kind, proto, _, where = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        except (socket.gaierror, UnicodeError) as e:
            raise OSError(f"Can't resolve address: {address[0]}:{address[1]}") from e
        channel = socket.socket(family, kind, proto)
        key: SelectionKey | None = None
        try:
            self._configure_socket_channel(channel, send_buffer_size, receive_buffer_size)
            connected = self.do_connect(channel, where)
            key = self.register_channel(id, channel, OP_CONNECT)
            if connected:
                self.logger.debug("%sImmediately connected to node %s", self.log_ident, id)
                self._immediately_connected_keys[key] = None
                key.remove(OP_CONNECT)
        except (OSError, RuntimeError):
            if key is not None:
                self._immediately_connected_keys.pop(key, None)
                key.cancel()
            self.channels.pop(id, None)
            channel.close()
            raise

    def do_connect(self, channel: socket.socket, address: tuple[str, int] | tuple[object, ...]) -> bool:
        """Begin the connect; whether it is complete already. Raises OSError. Tests replace it."""
        error = channel.connect_ex(address)
        if error == errno.EINPROGRESS:
            return False
        if error:
            raise OSError(error, f"connect to {address}: {errno.errorcode.get(error, error)}")
        return True

    @staticmethod
    def _configure_socket_channel(channel: socket.socket, send_buffer_size: int, receive_buffer_size: int) -> None:
        channel.setblocking(False)
        channel.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if send_buffer_size != Selectable.USE_DEFAULT_BUFFER_SIZE:
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_size)
        if receive_buffer_size != Selectable.USE_DEFAULT_BUFFER_SIZE:
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_size)
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def register(self, id: str, socket_channel: socket.socket) -> None:
        """Take over an accepted, non-blocking socket. Raises IllegalStateException for an id in use, OSError."""
        self._ensure_not_registered(id)
        self.register_channel(id, socket_channel, OP_READ)
        self._sensors.connection_created.record(1, self._time.milliseconds())
        # a client that never sends ApiVersions is to be counted too
        registry = self.channels[id].channel_metadata_registry()
        if registry.client_information() is None:
            registry.register_client_information(ClientInformation.EMPTY)

    def _ensure_not_registered(self, id: str) -> None:
        if id in self.channels:
            raise IllegalStateException(f"There is already a connection for id {id}")
        if id in self._closing_channels:
            raise IllegalStateException(f"There is already a connection for id {id} that is still being closed")

    def register_channel(self, id: str, socket_channel: socket.socket, interested_ops: int) -> SelectionKey:
        """Select the socket and build its channel. Raises OSError."""
        key = self.nio_selector.register(socket_channel, interested_ops)
        channel = self._build_and_attach_kafka_channel(socket_channel, id, key)
        self.channels[id] = channel
        if self._idle_expiry_manager is not None:
            self._idle_expiry_manager.update(id, self._nanoseconds())
        return key

    def _build_and_attach_kafka_channel(self, sock: socket.socket, id: str, key: SelectionKey) -> KafkaChannel:
        try:
            channel = self._channel_builder.build_channel(
                id, key, self._max_receive_size, self._memory_pool, SelectorChannelMetadataRegistry(self._sensors)
            )
        except Exception as e:
            key.cancel()
            sock.close()
            raise OSError(f"Channel could not be created for socket {sock}") from e
        key.attachment = channel
        return channel

    def wakeup(self) -> None:
        """Make the poll that sleeps, or the next one, return at once."""
        self.nio_selector.wakeup()

    # -- sending ----------------------------------------------------------------------------------------------

    def send(self, send: Send) -> None:
        """Begin to write ``send``, and write what the socket takes.

        A failed write is found by the next poll, which tells of it in `disconnected`. Raises IllegalStateException
        without such a connection or with a send in progress, after which the connection is closed.
        """
        connection_id = send.destination()
        channel = self.channels.get(connection_id)
        if channel is None:
            self._open_or_closing_channel_or_fail(connection_id)
            # the channel stays in the state in which it began to close; `disconnected` will tell
            self._failed_sends.append(connection_id)
            return
        if channel.current_send is None and channel.present_state is _READY:
            idle = self._idle_expiry_manager
            if idle is not None:  # Java's poll, which finds the socket writable, calls update
                idle.lru_connections[connection_id] = self._nanoseconds()
                idle.lru_connections.move_to_end(connection_id)
            try:
                written = send.write_to(channel.transport_layer)
            except Exception as e:  # noqa: BLE001  the next poll meets it again and closes, as Java's poll does
                self.logger.debug("%sWrite to %s failed", self.log_ident, connection_id, exc=e)
            else:
                if send.completed():
                    self._note_written(channel, written, send)
                    self._sent_at_once.append(send)
                    return
                self._note_written(channel, written, None)
        try:
            channel.set_send(send)
        except Exception as e:
            channel.set_state(ChannelState.FAILED_SEND)
            self._failed_sends.append(connection_id)  # so that the next poll tells of it
            self._close_channel(channel, CloseMode.DISCARD_NO_NOTIFY)
            self.error(
                "Unexpected exception during send, closing connection %s and rethrowing exception.",
                connection_id,
                exc=e,
            )
            raise

    def collect_completed_sends(self) -> None:
        """Move the sends that `send` finished into `completed_sends`, without a poll."""
        if self._sent_at_once:
            self._completed_sends += self._sent_at_once
            self._sent_at_once.clear()

    # -- polling ----------------------------------------------------------------------------------------------

    def poll(self, timeout: int) -> None:
        """Do what I/O is possible, waiting up to ``timeout`` ms when nothing is.

        Afterwards `completed_sends`, `completed_receives`, `connected` and `disconnected` hold what happened. At most
        one receive is completed per channel. Raises ValueError for a negative timeout, OSError.
        """
        if timeout < 0:
            raise ValueError("timeout should be >= 0")
        made_read_progress_last_call = self._made_read_progress_last_poll
        self.clear()
        if self._sent_at_once:
            self.collect_completed_sends()
            timeout = 0
        if self._out_of_memory and not self._memory_pool.is_out_of_memory():
            # first of all: who waited for memory may have all of its message in a buffer, and nothing in the socket
            made_read_progress_last_call = True
            self._recover_from_memory_pressure()
        data_in_buffers = bool(self._keys_with_buffered_read)
        if self._immediately_connected_keys or (made_read_progress_last_call and data_in_buffers):
            timeout = 0

        start_select = self._nanoseconds()
        ready_keys = self.select(timeout)
        end_select = self._nanoseconds()
        if ready_keys or self._immediately_connected_keys or data_in_buffers:
            if data_in_buffers:
                # those whose socket has more as well are polled once, with the others
                buffered = self._keys_with_buffered_read
                for key in ready_keys:
                    buffered.pop(key, None)
                self._keys_with_buffered_read = {}
                for key in buffered:
                    key.ready = 0
                self.poll_selection_keys(list(buffered), False, end_select)
            self.poll_selection_keys(ready_keys, False, end_select)
            if self._immediately_connected_keys:
                self.poll_selection_keys(list(self._immediately_connected_keys), True, end_select)
                self._immediately_connected_keys.clear()
        else:
            self._made_read_progress_last_poll = True  # nothing to do is progress too
        end_io = self._nanoseconds()
        self._polls += 1
        self._select_ns += end_select - start_select
        self._io_ns += end_io - end_select
        if end_io >= self._next_report_ns or not (timeout or ready_keys):
            self._report(end_io)
        if self._delayed_closing_channels:
            self.complete_delayed_channel_close(end_io)
        # the time before the I/O: a connection that was just served is not the one to close
        self.maybe_close_oldest_connection(end_select)

    def _recover_from_memory_pressure(self) -> None:
        self.trace("Broker no longer low on memory - unmuting incoming sockets")
        for channel in self.channels.values():
            if channel.is_in_mutable_state() and channel not in self._explicitly_muted_channels:
                channel.maybe_unmute()
                if channel.has_bytes_buffered():
                    self._keys_with_buffered_read[channel.selection_key()] = None
        self._out_of_memory = False

    def _report(self, now_nanos: int) -> None:
        """Tell the sensors what has happened since the last time."""
        self._next_report_ns = now_nanos + _REPORT_INTERVAL_NS
        now_ms = self._time.milliseconds()
        sensors = self._sensors
        sensors.select_time.record(self._select_ns, now_ms, self._polls)
        sensors.io_time.record(self._io_ns, now_ms, self._polls)
        self._polls = self._select_ns = self._io_ns = 0
        sensors.update_gauges()
        if self._reads:
            sensors.bytes_received.record(self._bytes_in, now_ms, self._reads)
            sensors.bytes_transferred.record(self._bytes_in, now_ms, self._reads)
            if self._messages_in:
                sensors.responses_received.record(self._messages_in, now_ms, self._messages_in)
            self._bytes_in = self._reads = self._messages_in = 0
        if self._writes:
            sensors.bytes_sent.record(self._bytes_out, now_ms, self._writes)
            sensors.bytes_transferred.record(self._bytes_out, now_ms, self._writes)
            if self._messages_out:
                sensors.requests_sent.record(self._message_bytes_out, now_ms, self._messages_out, self._largest_out)
            self._bytes_out = self._writes = self._messages_out = self._message_bytes_out = self._largest_out = 0

    def poll_selection_keys(
        self, selection_keys: Iterable[SelectionKey], is_immediately_connected: bool, current_time_nanos: int
    ) -> None:
        """Serve each key: finish its connect, authenticate, read, write; an error closes that channel only."""
        sensors = self._sensors
        per_connection = sensors.metrics_per_connection
        lru = None if self._idle_expiry_manager is None else self._idle_expiry_manager.lru_connections
        muted = self._explicitly_muted_channels
        receives = self._completed_receives
        nanoseconds = self._nanoseconds
        record_time = self._record_time_per_connection
        channel_start = current_time_nanos
        if self._bounded_memory:
            selection_keys = self._determine_handling_order(selection_keys)
        for key in selection_keys:
            channel: KafkaChannel = key.attachment
            id = channel.id
            if per_connection:
                sensors.maybe_register_connection_metrics(id)
            if lru is not None:  # IdleExpiryManager.update, spelled out
                lru[id] = current_time_nanos
                lru.move_to_end(id)
            writing = False
            ready = key.ready
            transport = channel.transport_layer
            try:
                prepared = channel.present_state is _READY and not (is_immediately_connected or ready & OP_CONNECT)
                if not prepared:
                    prepared = self._prepare_channel(channel, key, is_immediately_connected)
                    ready = key.ready
                if prepared:
                    if channel not in muted:
                        if (ready & OP_READ or transport.ahead_pos != transport.ahead_end) and id not in receives:
                            self.attempt_read(channel)
                        if transport.ahead_pos != transport.ahead_end and not (
                            channel.is_muted() and self._out_of_memory
                        ):
                            self._keys_with_buffered_read[key] = None
                    if ready & OP_WRITE and channel.current_send is not None:
                        writing = True
                        self.attempt_write(key, channel, current_time_nanos)
                    if not key.valid:
                        self._close_channel(channel, CloseMode.GRACEFUL)
            except Exception as e:  # noqa: BLE001  whatever one peer does, the others go on
                self._handle_channel_error(channel, e, writing)
            finally:
                if record_time:
                    now = nanoseconds()
                    channel.network_thread_time_nanos += now - channel_start
                    channel_start = now

    def _prepare_channel(self, channel: KafkaChannel, key: SelectionKey, is_immediately_connected: bool) -> bool:
        """Finish connect and authentication as far as they go; False while the connect is not complete."""
        if is_immediately_connected or key.ready & OP_CONNECT:
            if not channel.finish_connect():
                return False
            self._connected.append(channel.id)
            self._sensors.connection_created.record(1, self._time.milliseconds())
            sock = channel.transport_layer.socket_channel()
            self.debug(
                "Created socket with SO_RCVBUF = %d, SO_SNDBUF = %d to node %s",
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
                channel.id,
            )
            key.ready &= ~OP_CONNECT
        if not channel.ready() and channel.is_connected():
            channel.prepare()
            if channel.ready():
                self._record_authentication(channel)
        if channel.state() is ChannelState.NOT_CONNECTED and channel.ready():
            channel.set_state(_READY)
        early = channel.poll_response_received_during_reauthentication()
        if early is not None:
            self.add_to_completed_receives(channel, early)
        if not channel.ready():
            key.ready &= ~(OP_READ | OP_WRITE)
        return True

    def _record_authentication(self, channel: KafkaChannel) -> None:
        now_ms = self._time.milliseconds()
        again = channel.successful_authentications() > 1
        if again:
            self._sensors.successful_reauthentication.record(1, now_ms)
            latency = channel.reauthentication_latency_ms()
            if latency is None:
                self.warn(
                    "Should never happen: re-authentication latency for a re-authenticated channel was null; "
                    "continuing..."
                )
            else:
                self._sensors.reauthentication_latency.record(latency, now_ms)
        else:
            self._sensors.successful_authentication.record(1, now_ms)
            if not channel.connected_client_supports_reauthentication():
                self._sensors.successful_authentication_no_reauth.record(1, now_ms)
        self.debug("Successfully %sauthenticated with %s", "re-" if again else "", channel.socket_description())

    def _handle_channel_error(self, channel: KafkaChannel, e: Exception, writing: bool) -> None:
        desc = f"{channel.socket_description()} (channelId={channel.id})"
        if isinstance(e, OSError | EOFError):
            self.debug("Connection with %s disconnected", desc, exc=e)
        elif isinstance(e, AuthenticationException):
            again = channel.successful_authentications() > 0
            failed = self._sensors.failed_reauthentication if again else self._sensors.failed_authentication
            failed.record(1, self._time.milliseconds())
            self.info("Failed %sauthentication with %s (%s)", "re-" if again else "", desc, e)
        else:
            self.warn(
                "Unexpected error from %s; closing connection: %s",
                desc,
                in_short(e),
                exc=self._stacks.stack_of(e, self.is_debug_enabled),
            )
        if isinstance(e, DelayedResponseAuthenticationException):
            self._maybe_delay_close_on_authentication_failure(channel)
        else:
            self._close_channel(channel, CloseMode.NOTIFY_ONLY if writing else CloseMode.GRACEFUL)

    def attempt_write(self, key: SelectionKey, channel: KafkaChannel, now_nanos: int) -> None:
        """Go on with the channel's send, unless the channel now authenticates anew. Raises OSError, EOFError."""
        if (
            channel.has_send()
            and channel.ready()
            and key.is_writable()
            and not channel.maybe_begin_client_reauthentication(lambda: now_nanos)
        ):
            self.write(channel)

    def write(self, channel: KafkaChannel) -> None:
        """Write what the socket takes, and note a send that is complete. Raises OSError, EOFError."""
        bytes_sent = channel.write()
        # a transport with pending writes may complete a send without having written anything now
        send = channel.maybe_complete_send()
        self._note_written(channel, bytes_sent, send)
        if send is not None:
            self._completed_sends.append(send)

    def _note_written(self, channel: KafkaChannel, bytes_sent: int, send: Send | None) -> None:
        """Count what was written, and the send if it is complete; the sensors hear of it once per poll."""
        if bytes_sent > 0:
            self._writes += 1
            self._bytes_out += bytes_sent
        if send is not None:
            size = send.size()
            self._messages_out += 1
            self._message_bytes_out += size
            if size > self._largest_out:
                self._largest_out = size
        if self._per_connection:
            now_ms = self._time.milliseconds()
            if bytes_sent > 0:
                self._sensors.record_node(channel.id, "bytes-sent", bytes_sent, now_ms)
            if send is not None:
                self._sensors.record_node(channel.id, "requests-sent", send.size(), now_ms)

    def _determine_handling_order(self, selection_keys: Iterable[SelectionKey]) -> Iterable[SelectionKey]:
        """When memory is short, another order each time, so that it is not always the same ones that get it."""
        if not self._out_of_memory and self._memory_pool.available_memory() < self._low_mem_threshold:
            shuffled = list(selection_keys)
            random.shuffle(shuffled)
            return shuffled
        return selection_keys

    def attempt_read(self, channel: KafkaChannel) -> None:
        """Read what has arrived for the channel, and note a receive that is complete. Raises EOFError, OSError."""
        count = channel.read()
        if count:
            self._reads += 1
            self._bytes_in += count
            if self._per_connection:
                self._sensors.record_node(channel.id, "bytes-received", count, self._time.milliseconds())
            receive = channel.maybe_complete_receive()
            if receive is not None:
                self.add_to_completed_receives(channel, receive)
                self._made_read_progress_last_poll = True
                return
        if channel.is_muted():
            self._out_of_memory = True  # it muted itself for want of memory
            if count:
                self._made_read_progress_last_poll = True
        else:
            self._made_read_progress_last_poll = True

    def _maybe_read_from_closing_channel(self, channel: KafkaChannel) -> bool:
        """Whether a channel that is closing still has a request to be handed out; reads one if it may."""
        if channel.state().state() is not ChannelState.State.READY:
            return False
        if channel in self._explicitly_muted_channels or channel.id in self._completed_receives:
            return True
        try:
            self.attempt_read(channel)
        except Exception as e:  # noqa: BLE001  the channel is at its end anyhow
            self.trace("Read from closing channel failed, ignoring exception", exc=e)
            return False
        return channel.id in self._completed_receives

    # -- results ----------------------------------------------------------------------------------------------

    def completed_sends(self) -> list[Send]:
        """Sends that are written."""
        return self._completed_sends

    def completed_receives(self) -> Collection[NetworkReceive]:
        """Receives that are complete, one per channel at most."""
        return self._completed_receives.values()

    def disconnected(self) -> dict[str, ChannelState]:
        """Channels that are gone, and the state they were in."""
        return self._disconnected

    def connected(self) -> list[str]:
        """Channels whose connect is complete."""
        return self._connected

    def mute(self, id: str, channel: KafkaChannel | None = None) -> None:
        """Do not read from the channel until unmute(). Raises IllegalStateException without such a channel.

        A caller that has the channel of that id passes it, which saves looking for it.
        """
        if channel is None:
            channel = self._open_or_closing_channel_or_fail(id)
        channel.mute()
        self._explicitly_muted_channels.add(channel)
        if self._keys_with_buffered_read:
            self._keys_with_buffered_read.pop(channel.selection_key(), None)

    def unmute(self, id: str, channel: KafkaChannel | None = None) -> None:
        """Read from the channel again, as soon as its state allows. Raises IllegalStateException."""
        if channel is None:
            channel = self._open_or_closing_channel_or_fail(id)
        if channel.maybe_unmute():
            self._explicitly_muted_channels.discard(channel)
            if channel.has_bytes_buffered():
                self._keys_with_buffered_read[channel.selection_key()] = None
                self._made_read_progress_last_poll = True

    def mute_all(self) -> None:
        """Read from no channel."""
        for channel in self.channels.values():
            self.mute(channel.id, channel)

    def unmute_all(self) -> None:
        """Read from every channel."""
        for channel in self.channels.values():
            self.unmute(channel.id, channel)

    def clear_completed_receives(self) -> None:
        """Let go of the receives; the server does so as soon as they are queued, for memory's sake."""
        self._completed_receives.clear()

    def clear_completed_sends(self) -> None:
        """Let go of the sends."""
        self._completed_sends.clear()

    def clear(self) -> None:
        """Empty the results, and close channels that were waiting for their last requests to be handed out."""
        self._completed_sends.clear()
        self._completed_receives.clear()
        if self._connected:
            self._connected.clear()
        if self._disconnected:
            self._disconnected.clear()
        if self._closing_channels:
            for id, channel in list(self._closing_channels.items()):
                send_failed = id in self._failed_sends
                if send_failed:
                    self._failed_sends.remove(id)
                if send_failed or not self._maybe_read_from_closing_channel(channel):
                    self._do_close(channel, True)
                    del self._closing_channels[id]
        if self._failed_sends:
            for id in self._failed_sends:
                self._disconnected[id] = ChannelState.FAILED_SEND
            self._failed_sends.clear()
        self._made_read_progress_last_poll = False

    def select(self, timeout_ms: int) -> list[SelectionKey]:
        """Ready keys, waiting up to ``timeout_ms`` for one. Raises ValueError for a negative time, OSError."""
        if timeout_ms < 0:
            raise ValueError("timeout should be >= 0")
        return self.nio_selector.select(timeout_ms)

    # -- closing ----------------------------------------------------------------------------------------------

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

    # -- channels ---------------------------------------------------------------------------------------------

    def is_channel_ready(self, id: str) -> bool:
        """Whether the channel is open, connected and authenticated."""
        channel = self.channels.get(id)
        return channel is not None and channel.ready()

    def _open_or_closing_channel_or_fail(self, id: str) -> KafkaChannel:
        channel = self.channels.get(id) or self._closing_channels.get(id)
        if channel is None:
            raise IllegalStateException(
                f"Attempt to retrieve channel for which there is no connection. Connection id {id} "
                f"existing connections {list(self.channels)}"
            )
        return channel

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

    def add_to_completed_receives(self, channel: KafkaChannel, network_receive: NetworkReceive) -> None:
        """Note a complete receive. Raises IllegalStateException when the channel has one already."""
        id = channel.id
        if id in self._completed_receives:
            raise IllegalStateException(f"Attempting to add second completed receive to channel {id}")
        self._completed_receives[id] = network_receive
        self._messages_in += 1
        if self._per_connection:
            self._sensors.record_node(id, "responses-received", network_receive.size(), self._time.milliseconds())

    def immediately_connected_keys(self) -> Collection[SelectionKey]:
        """Keys whose connect was complete at once and that the next poll serves."""
        return self._immediately_connected_keys

    def keys(self) -> Collection[SelectionKey]:
        """All keys."""
        return list(self.nio_selector.keys())

    def is_out_of_memory(self) -> bool:
        """Whether a channel muted itself for want of memory."""
        return self._out_of_memory

    def is_made_read_progress_last_poll(self) -> bool:
        """Whether the last poll could read something."""
        return self._made_read_progress_last_poll

    def __repr__(self) -> str:
        return (
            f"Selector(channels={len(self.channels)}, closing={len(self._closing_channels)}, "
            f"muted={len(self._explicitly_muted_channels)}, buffered={len(self._keys_with_buffered_read)})"
        )
