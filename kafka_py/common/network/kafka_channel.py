"""One connection: its transport, who is at the other end, and what is being read and written.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/KafkaChannel.java @ 3.7.1
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_py.common.errors import AuthenticationException, IllegalStateException, SslAuthenticationException
from kafka_py.common.network.addresses import peer_address, peer_of
from kafka_py.common.network.channel_state import ChannelState
from kafka_py.common.network.delayed_response_authentication_exception import DelayedResponseAuthenticationException
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.nio_selector import OP_READ, OP_WRITE
from kafka_py.common.network.reauthentication_context import ReauthenticationContext

if TYPE_CHECKING:
    from kafka_py.common.memory.memory_pool import MemoryPool
    from kafka_py.common.network.authenticator import Authenticator
    from kafka_py.common.network.channel_metadata_registry import ChannelMetadataRegistry
    from kafka_py.common.network.nio_selector import SelectionKey
    from kafka_py.common.network.send import Send
    from kafka_py.common.network.transport_layer import TransportLayer
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
    from kafka_py.common.security.auth.kafka_principal_serde import KafkaPrincipalSerde

_MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS: Final = 1_000_000_000


class ChannelMuteState(enum.Enum):
    """Whether a channel is read from, and if not, what has to happen first.

    Mirrors: org.apache.kafka.common.network.KafkaChannel.ChannelMuteState @ 3.7.1
    """

    NOT_MUTED = 0
    MUTED = 1
    MUTED_AND_RESPONSE_PENDING = 2
    MUTED_AND_THROTTLED = 3
    MUTED_AND_THROTTLED_AND_RESPONSE_PENDING = 4

    __hash__ = object.__hash__  # members are looked for in TRANSITIONS; Enum hashes their names


class ChannelMuteEvent(enum.Enum):
    """What the socket server tells a channel.

    Mirrors: org.apache.kafka.common.network.KafkaChannel.ChannelMuteEvent @ 3.7.1
    """

    REQUEST_RECEIVED = 0
    RESPONSE_SENT = 1
    THROTTLE_STARTED = 2
    THROTTLE_ENDED = 3

    __hash__ = object.__hash__  # as above


_ChannelMuteState = ChannelMuteState
_ChannelMuteEvent = ChannelMuteEvent
_NOT_MUTED: Final = ChannelMuteState.NOT_MUTED
_MUTED: Final = ChannelMuteState.MUTED
_PENDING: Final = ChannelMuteState.MUTED_AND_RESPONSE_PENDING
_THROTTLED: Final = ChannelMuteState.MUTED_AND_THROTTLED
_BOTH: Final = ChannelMuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING

# event -> state before -> state after; every other pair is an error
TRANSITIONS: Final[dict[ChannelMuteEvent, dict[ChannelMuteState, ChannelMuteState]]] = {
    ChannelMuteEvent.REQUEST_RECEIVED: {_MUTED: _PENDING},
    ChannelMuteEvent.RESPONSE_SENT: {_PENDING: _MUTED, _BOTH: _THROTTLED},
    ChannelMuteEvent.THROTTLE_STARTED: {_PENDING: _BOTH},
    ChannelMuteEvent.THROTTLE_ENDED: {_THROTTLED: _MUTED, _BOTH: _PENDING},
}


class KafkaChannel:
    """A connection with at most one receive and one send in progress.

    Mirrors: org.apache.kafka.common.network.KafkaChannel @ 3.7.1
    Thread:  the one that polls the selector.
    Differs: equality is identity, since ids are unique among the channels of a selector.
    """

    ChannelMuteState: TypeAlias = _ChannelMuteState
    ChannelMuteEvent: TypeAlias = _ChannelMuteEvent

    __slots__ = (
        "_authenticator",
        "_authenticator_creator",
        "_disconnected",
        "_last_reauthentication_start_nanos",
        "_max_receive_size",
        "_memory_pool",
        "_metadata_registry",
        "_mid_write",
        "_mute_state",
        "_peer_host",
        "_receive",
        "_remote_address",
        "_successful_authentications",
        "_was_ready",
        "current_send",
        "id",
        "network_thread_time_nanos",
        "present_state",
        "session",
        "transport_layer",
    )

    def __init__(
        self,
        id: str,
        transport_layer: TransportLayer,
        authenticator_creator: Callable[[], Authenticator],
        max_receive_size: int,
        memory_pool: MemoryPool,
        metadata_registry: ChannelMetadataRegistry,
    ) -> None:
        self.id = id
        self.transport_layer = transport_layer
        self._authenticator_creator = authenticator_creator
        self._authenticator = authenticator_creator()  # thread: poller
        self.network_thread_time_nanos = 0  # thread: poller
        self._max_receive_size = max_receive_size
        self._memory_pool = memory_pool
        self._metadata_registry = metadata_registry
        self._receive: NetworkReceive | None = None  # thread: poller
        # set through set_send and begin_send
        self.current_send: Send | None = None  # thread: poller
        self._disconnected = False  # thread: poller
        self._mute_state = _NOT_MUTED  # thread: poller
        # set through set_state
        self.present_state = ChannelState.NOT_CONNECTED  # thread: poller
        self._remote_address: str | None = None  # thread: poller
        self._successful_authentications = 0  # thread: poller
        self._mid_write = False  # thread: poller
        self._last_reauthentication_start_nanos = 0  # thread: poller
        # ready() once true stays true until a re-authentication begins
        self._was_ready = False  # thread: poller
        self._peer_host: str | None = None  # thread: poller
        # the owner's: what it worked out once for this connection
        self.session: object = None  # thread: poller

    def close(self) -> None:
        """Close transport, authenticator, unfinished receive and registry. Raises the first error, after all four."""
        self._disconnected = True
        if self._peer_host is None:
            self._peer_host = peer_address(self.transport_layer.socket_channel())
        first: Exception | None = None
        closers: list[Callable[[], None]] = [self.transport_layer.close, self._authenticator.close]
        if self._receive is not None:
            closers.append(self._receive.close)
        closers.append(self._metadata_registry.close)
        for closer in closers:
            try:
                closer()
            except Exception as e:  # noqa: BLE001  the other parts must be closed all the same
                first = first or e
        if first is not None:
            raise first

    def principal(self) -> KafkaPrincipal:
        """Who is at the other end."""
        return self._authenticator.principal()

    def principal_serde(self) -> KafkaPrincipalSerde | None:
        """How to write the principal into an envelope, if it can be."""
        return self._authenticator.principal_serde()

    def prepare(self) -> None:
        """Take a step of handshake and authentication. Raises AuthenticationException, OSError."""
        authenticating = False
        try:
            if not self.transport_layer.ready():
                self.transport_layer.handshake()
            if self.transport_layer.ready() and not self._authenticator.complete():
                authenticating = True
                self._authenticator.authenticate()
        except AuthenticationException as e:
            # clients learn of it, so that they stop instead of trying again as after a broken connection
            self.present_state = ChannelState(ChannelState.State.AUTHENTICATION_FAILED, e, self._remote_address)
            if authenticating:
                self._delay_close_on_authentication_failure()
                raise DelayedResponseAuthenticationException(e) from e
            raise
        if self.ready():
            self._successful_authentications += 1
            self.present_state = ChannelState.READY

    def disconnect(self) -> None:
        """Stop selecting; what was received may still be answered."""
        self._disconnected = True
        if self.present_state is ChannelState.NOT_CONNECTED and self._remote_address is not None:
            self.present_state = ChannelState(ChannelState.State.NOT_CONNECTED, None, self._remote_address)
        if self._peer_host is None:
            self._peer_host = peer_address(self.transport_layer.socket_channel())
        self.transport_layer.disconnect()

    def state(self) -> ChannelState:
        """Where the channel stands."""
        return self.present_state

    def set_state(self, state: ChannelState) -> None:
        """Say where the channel stands."""
        self.present_state = state

    def finish_connect(self) -> bool:
        """Complete the connect; whether it is complete. Raises OSError."""
        connected = self.transport_layer.finish_connect()
        if connected:
            self._remote_address = self._ask_remote_address()
            if self.ready():
                self.present_state = ChannelState.READY
            else:
                self.present_state = ChannelState(ChannelState.State.AUTHENTICATE, None, self._remote_address)
        return connected

    def is_connected(self) -> bool:
        """Whether the socket has a peer."""
        return self.transport_layer.is_connected()

    def selection_key(self) -> SelectionKey:
        """The registration with the selector."""
        return self.transport_layer.selection_key()

    def mute(self) -> None:
        """Stop reading, in whatever state of disconnection; nothing changes when muted already."""
        if self._mute_state is _NOT_MUTED:
            if not self._disconnected:
                self.transport_layer.remove_interest_ops(OP_READ)
            self._mute_state = _MUTED

    def maybe_unmute(self) -> bool:
        """Read again, unless a response is pending or a throttle is on; whether the channel is read from now."""
        state = self._mute_state
        if state is _MUTED:
            if not self._disconnected:
                self.transport_layer.add_interest_ops(OP_READ)
            self._mute_state = _NOT_MUTED
            return True
        return state is _NOT_MUTED

    def handle_channel_mute_event(self, event: ChannelMuteEvent) -> None:
        """Move the mute state. Raises IllegalStateException when the event cannot happen in this state."""
        after = TRANSITIONS[event].get(self._mute_state)
        if after is None:
            raise IllegalStateException(f"Cannot transition from {self._mute_state.name} for {event.name}")
        self._mute_state = after

    def mute_state(self) -> ChannelMuteState:
        """The mute state."""
        return self._mute_state

    def _delay_close_on_authentication_failure(self) -> None:
        self.transport_layer.remove_interest_ops(OP_WRITE)

    def complete_close_on_authentication_failure(self) -> None:
        """Let the authenticator send its last answer. Raises OSError."""
        self.transport_layer.add_interest_ops(OP_WRITE)
        self._authenticator.handle_authentication_failure()

    def is_muted(self) -> bool:
        """Whether the channel is not read from."""
        return self._mute_state is not _NOT_MUTED

    def is_in_mutable_state(self) -> bool:
        """Whether the channel waits for memory, so that the lack of it is a reason to mute it."""
        # without a receive, or with its memory booked, the channel needs nothing from the pool
        if self._receive is None or self._receive.memory_allocated():
            return False
        return self.transport_layer.ready()

    def ready(self) -> bool:
        """Whether handshake and authentication are over."""
        if not self._was_ready:
            self._was_ready = self.transport_layer.ready() and self._authenticator.complete()
        return self._was_ready

    def has_send(self) -> bool:
        """Whether a send is in progress."""
        return self.current_send is not None

    def socket_address(self) -> str:
        """The peer's IP address as text; also after the socket was closed."""
        if self._peer_host is None:
            self._peer_host = peer_address(self.transport_layer.socket_channel())
        return self._peer_host

    def socket_description(self) -> str:
        """The peer's address, or our own while there is no peer."""
        if address := self.socket_address():
            return f"/{address}"
        try:
            return f"{self.transport_layer.socket_channel().getsockname()[0]}"
        except OSError:
            return "?"

    def set_send(self, send: Send) -> None:
        """Begin a send. Raises IllegalStateException while another is in progress."""
        self.begin_send(send)
        self.transport_layer.add_interest_ops(OP_WRITE)

    def begin_send(self, send: Send) -> None:
        """Begin a send that the caller writes at once; epoll hears of it only if something is left."""
        if self.current_send is not None:
            raise IllegalStateException(
                "Attempt to begin a send operation with prior send operation still in progress, connection id is "
                + self.id
            )
        self.current_send = send

    def maybe_complete_send(self) -> Send | None:
        """The send, if all of it is written; the channel is then free for the next."""
        send = self.current_send
        if send is None or not send.completed():
            return None
        self._mid_write = False
        self.transport_layer.remove_interest_ops(OP_WRITE)
        self.current_send = None
        return send

    def read(self) -> int:
        """Read what has arrived of the present message; bytes read. Raises EOFError, OSError, InvalidReceiveException.

        Mutes the channel when the memory pool has nothing for a message whose size is known.
        """
        receive = self._receive
        if receive is None:
            receive = self._receive = NetworkReceive(self._max_receive_size, self.id, self._memory_pool)
        try:
            count = receive.read_from(self.transport_layer)
        except SslAuthenticationException as e:
            # TLS 1.3 may fail to authenticate after the handshake
            self.present_state = ChannelState(ChannelState.State.AUTHENTICATION_FAILED, e, self._remote_address)
            raise
        if (
            receive.received_payload is None
            and receive.required_memory_amount_known()
            and not receive.memory_allocated()
            and self.is_in_mutable_state()
        ):
            self.mute()
        return count

    def current_receive(self) -> NetworkReceive | None:
        """The receive in progress."""
        return self._receive

    def maybe_complete_receive(self) -> NetworkReceive | None:
        """The receive, if all of it is here; the next read begins another."""
        receive = self._receive
        if receive is None or receive.received_payload is None:
            return None
        self._receive = None
        return receive

    def write(self) -> int:
        """Write what the socket takes of the present send; bytes written. Raises OSError, EOFError."""
        if self.current_send is None:
            return 0
        self._mid_write = True
        return self.current_send.write_to(self.transport_layer)

    def add_network_thread_time_nanos(self, nanos: int) -> None:
        """Add time that the network thread spent on this channel."""
        self.network_thread_time_nanos += nanos

    def get_and_reset_network_thread_time_nanos(self) -> int:
        """That time since the last call."""
        current = self.network_thread_time_nanos
        self.network_thread_time_nanos = 0
        return current

    def has_bytes_buffered(self) -> bool:
        """Whether bytes read from the socket wait in the transport layer."""
        return self.transport_layer.has_bytes_buffered()

    def successful_authentications(self) -> int:
        """How often the other end has authenticated."""
        return self._successful_authentications

    def maybe_begin_server_reauthentication(
        self, sasl_handshake_network_receive: NetworkReceive, now_nanos_supplier: Callable[[], int]
    ) -> bool:
        """Begin to authenticate the client anew, if sessions expire and the last time is a second ago.

        Raises IllegalStateException on a channel that is not ready, AuthenticationException, OSError.
        """
        if not self.ready():
            raise IllegalStateException(
                'KafkaChannel should be "ready" when processing SASL Handshake for potential re-authentication'
            )
        if self._authenticator.server_session_expiration_time_nanos() is None:
            return False
        now_nanos = now_nanos_supplier()
        # a client that authenticates again within a second is not served: it would keep the thread busy
        since = now_nanos - self._last_reauthentication_start_nanos
        if self._last_reauthentication_start_nanos and since < _MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS:
            return False
        self._last_reauthentication_start_nanos = now_nanos
        self._swap_authenticators_and_begin_reauthentication(
            ReauthenticationContext(self._authenticator, sasl_handshake_network_receive, now_nanos)
        )
        return True

    def maybe_begin_client_reauthentication(self, now_nanos_supplier: Callable[[], int]) -> bool:
        """Begin to authenticate ourselves anew, between two sends, when it is time. Raises as the server's."""
        if not self.ready():
            raise IllegalStateException(
                'KafkaChannel should always be "ready" when it is checked for possible re-authentication'
            )
        when = self._authenticator.client_session_reauthentication_time_nanos()
        if self._mute_state is not _NOT_MUTED or self._mid_write or when is None:
            return False
        now_nanos = now_nanos_supplier()
        if now_nanos < when:
            return False
        self._swap_authenticators_and_begin_reauthentication(
            ReauthenticationContext(self._authenticator, self._receive, now_nanos)
        )
        self._receive = None
        return True

    def reauthentication_latency_ms(self) -> int | None:
        """How long the last re-authentication took."""
        return self._authenticator.reauthentication_latency_ms()

    def server_authentication_session_expired(self, now_nanos: int) -> bool:
        """Whether the client should have authenticated anew by now."""
        expiration = self._authenticator.server_session_expiration_time_nanos()
        return expiration is not None and now_nanos > expiration

    def poll_response_received_during_reauthentication(self) -> NetworkReceive | None:
        """A response that came between the steps of a re-authentication, once."""
        return self._authenticator.poll_response_received_during_reauthentication()

    def connected_client_supports_reauthentication(self) -> bool:
        """Whether the client could authenticate anew."""
        return self._authenticator.connected_client_supports_reauthentication()

    def _swap_authenticators_and_begin_reauthentication(self, context: ReauthenticationContext) -> None:
        """Replace the authenticator; the new one closes the old one."""
        self._was_ready = False
        self._authenticator = self._authenticator_creator()
        self._authenticator.reauthenticate(context)

    def channel_metadata_registry(self) -> ChannelMetadataRegistry:
        """Cipher and client library of the connection."""
        return self._metadata_registry

    def _ask_remote_address(self) -> str | None:
        try:
            host, port = peer_of(self.transport_layer.socket_channel())
        except (OSError, ValueError):
            return None
        return f"/{host}:{port}"

    def __repr__(self) -> str:
        return f"KafkaChannel(id={self.id}, state={self.present_state.state().name}, mute={self._mute_state.name})"
