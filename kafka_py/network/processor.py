"""Threads that read requests and write responses.

Mirrors: core/src/main/scala/kafka/network/SocketServer.scala (Processor) @ 3.7.1
Posts:   why-fast-and-available (1.1), start-up-network-threads (3.6), socket-server (0.11),
         reading-writing-configuring (0.8)
Read next: request_channel.py, ../common/network/selector.py
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.errors import IllegalStateException, InvalidRequestException
from kafka_py.common.network.addresses import canonical_address, inet_address, peer_address, peer_of
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.client_information import ClientInformation
from kafka_py.common.network.kafka_channel import ChannelMuteEvent, KafkaChannel
from kafka_py.common.network.selector import Selector as KSelector
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.reconfigurable import Reconfigurable
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.request_context import RequestContext
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.time import Time
from kafka_py.network.abstract_server_thread import AbstractServerThread
from kafka_py.network.connection_quotas import LISTENER_METRIC_TAG, METRICS_GROUP
from kafka_py.network.request_channel import (
    CloseConnectionResponse,
    EndThrottlingResponse,
    NoOpResponse,
    Request,
    Response,
    SendResponse,
    Session,
    StartThrottlingResponse,
)
from kafka_py.utils.concurrent import ArrayBlockingQueue, InterruptedException, LinkedBlockingDeque, interrupt
from kafka_py.utils.control_throwable import ControlThrowable
from kafka_py.utils.stack_limiter import StackLimiter, in_short
from kafka_py.utils.threads import runs_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.memory.memory_pool import MemoryPool
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.channel_builder import ChannelBuilder
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.network.network_receive import NetworkReceive
    from kafka_py.common.network.send import Send
    from kafka_py.metrics.yammer import Meter
    from kafka_py.network.connection_quotas import ConnectionQuotas
    from kafka_py.network.request_channel import RequestChannel
    from kafka_py.security.credential_provider import CredentialProvider
    from kafka_py.server.api_version_manager import ApiVersionManager
    from kafka_py.server.kafka_config import KafkaConfig

_system_nanoseconds = Time.SYSTEM.nanoseconds
_API_VERSIONS: Final = ApiKeys.API_VERSIONS
_SASL_HANDSHAKE: Final = ApiKeys.SASL_HANDSHAKE
_REQUEST_RECEIVED: Final = ChannelMuteEvent.REQUEST_RECEIVED
_RESPONSE_SENT: Final = ChannelMuteEvent.RESPONSE_SENT
_MAX_INDEX: Final = 0x7FFFFFFF
_POLL_TIMEOUT_MS: Final = 300
_MAX_ENABLED_APIS: Final = 1000  # more than there are; ApiVersions is let in at any version


@dataclass(frozen=True, slots=True)
class ConnectionId:
    """A connection's name: both ends, and an index because a client's port may come again.

    Mirrors: kafka.network.Processor.ConnectionId @ 3.7.1
    Left out: toString -- it is __str__
    """

    local_host: str
    local_port: int
    remote_host: str
    remote_port: int
    index: int

    @staticmethod
    def from_string(s: str) -> ConnectionId | None:
        """The inverse of str(); None for text of another form."""
        parts = s.split("-")
        if len(parts) != 3 or not parts[2].isdigit():
            return None
        local = BrokerEndPoint.parse_host_port(parts[0])
        remote = BrokerEndPoint.parse_host_port(parts[1])
        if local is None or remote is None:
            return None
        return ConnectionId(*local, *remote, int(parts[2]))

    def __str__(self) -> str:
        return f"{self.local_host}:{self.local_port}-{self.remote_host}:{self.remote_port}-{self.index}"


_ConnectionId = ConnectionId


def use_clock(nanoseconds: Callable[[], int]) -> None:
    """Stamp responses by another clock than the system's."""
    global _system_nanoseconds
    _system_nanoseconds = nanoseconds


class Processor(AbstractServerThread):
    """Owns one selector and every connection registered with it.

    Mirrors: kafka.network.Processor @ 3.7.1
    Thread:  run: "{plane}-kafka-network-thread-{node}-{listener}-{protocol}-{id}". Its doors: accept (acceptor),
        enqueue_response (any), wakeup, begin_shutdown, close.
    Locks:   none of its own.
    Differs: the requests of one poll are queued together; a response is written while it is taken from the queue, and
        one that the socket took whole is completed at once, before the poll. A connection's error is one line, with its
        stack once a minute or at DEBUG; Kafka logs two stacks for each. `close(connectionId)` is close_connection.
        Kafka leaks what is given back here: connections that are queued or closing when the processor ends, or come
        after it (the acceptor had chosen a processor that was then removed), are closed and give back their
        quota; a request that could not be made gives back its memory.
    """

    IDLE_PERCENT_METRIC_NAME: ClassVar[str] = "IdlePercent"
    NETWORK_PROCESSOR_METRIC_TAG: ClassVar[str] = "networkProcessor"
    LISTENER_METRIC_TAG: ClassVar[str] = LISTENER_METRIC_TAG
    CONNECTION_QUEUE_SIZE: ClassVar[int] = 20
    ConnectionId: TypeAlias = _ConnectionId

    def __init__(
        self,
        id: int,
        time: Time,
        max_request_size: int,
        request_channel: RequestChannel,
        connection_quotas: ConnectionQuotas,
        connections_max_idle_ms: int,
        failed_authentication_delay_ms: int,
        listener_name: ListenerName,
        security_protocol: SecurityProtocol,
        config: KafkaConfig,
        metrics: Metrics,
        credential_provider: CredentialProvider,
        memory_pool: MemoryPool,
        log_ident: str,
        connection_queue_size: int,
        is_privileged_listener: bool,
        api_version_manager: ApiVersionManager,
        thread_name: str,
    ) -> None:
        """Raises ConfigException for a security protocol that is not served."""
        super().__init__(connection_quotas, thread_name)
        self.id = id
        self.log_ident = log_ident
        self._time = time
        self._nanoseconds = time.nanoseconds
        self._stacks = StackLimiter(time)
        self.max_request_size = max_request_size
        self._request_channel = request_channel
        self._connections_max_idle_ms = connections_max_idle_ms
        self._failed_authentication_delay_ms = failed_authentication_delay_ms
        self._listener_name = listener_name
        self._security_protocol = security_protocol
        self._config = config
        self._metrics = metrics
        self._memory_pool = memory_pool
        self._connection_queue_size = connection_queue_size
        self._is_privileged_listener = is_privileged_listener
        self._api_version_manager = api_version_manager
        self.new_connections: ArrayBlockingQueue[socket.socket] = ArrayBlockingQueue(
            connection_queue_size
        )  # handoff: acceptor -> network
        self.response_queue: LinkedBlockingDeque[Response] = LinkedBlockingDeque()  # handoff: any -> network
        self._ended = False  # volatile: network; nobody will take new connections out of their queue
        self.inflight_responses: dict[str, SendResponse] = {}  # thread: network
        self.metric_tags = {
            LISTENER_METRIC_TAG: listener_name.value(),
            self.NETWORK_PROCESSOR_METRIC_TAG: str(id),
        }
        self._next_connection_index = 0  # thread: network
        self._enabled_apis: set[tuple[ApiKeys, int]] = set()  # thread: network
        self._sessions_expire = security_protocol not in (SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL)
        self.expired_connections_killed_count = 0  # volatile: network
        self._expired_connections_killed_count_metric_name = metrics.metric_name(
            "expired-connections-killed-count", METRICS_GROUP, "", self.metric_tags
        )
        self.selector = self.create_selector(
            ChannelBuilders.server_channel_builder(
                listener_name,
                listener_name == config.inter_broker_listener_name,
                security_protocol,
                config,
                credential_provider.credential_cache,
                credential_provider.token_cache,
                time,
                log_ident,
                lambda: api_version_manager.api_version_response(0),
            )
        )  # thread: network
        io_wait_ratio = metrics.metric_name("io-wait-ratio", METRICS_GROUP, "", self.metric_tags)
        # the gauge of old has no listener tag
        self._idle_tags = {self.NETWORK_PROCESSOR_METRIC_TAG: str(id)}
        self.new_gauge(self.IDLE_PERCENT_METRIC_NAME, lambda: io_wait_ratio_of(metrics, io_wait_ratio), self._idle_tags)
        metrics.add_metric(
            self._expired_connections_killed_count_metric_name,
            lambda config, now: float(self.expired_connections_killed_count),
        )

    def create_selector(self, channel_builder: ChannelBuilder) -> KSelector:
        """The selector; tests put their own here."""
        if isinstance(channel_builder, Reconfigurable):
            self._config.add_reconfigurable(channel_builder)
        return KSelector(
            self.max_request_size,
            self._connections_max_idle_ms,
            self._metrics,
            self._time,
            "socket-server",
            self.metric_tags,
            channel_builder,
            metrics_per_connection=False,
            record_time_per_connection=True,
            failed_authentication_delay_ms=self._failed_authentication_delay_ms,
            memory_pool=self._memory_pool,
            log_ident=self.log_ident,
        )

    @runs_on("network")
    def run(self) -> None:
        """Serve the connections until told to end; then close them."""
        self.startup_complete()
        try:
            while self._alive.get():
                try:
                    self.configure_new_connections()
                    self.process_new_responses()
                    self.poll()
                    self.process_completed_receives()
                    self.process_completed_sends()
                    self.process_disconnected()
                    self.close_excess_connections()
                except InterruptedException:
                    self.debug("Processor %d ends while the request queue is full", self.id)
                except Exception as e:  # noqa: BLE001
                    # A processor that ends would take all its connections with it and leave the acceptor with a queue
                    # that nobody empties. What one connection does wrong is dealt with inside the seven steps.
                    self.process_exception("Processor got uncaught exception.", e)
        finally:
            self.debug("Closing selector - processor %d", self.id)
            try:
                self.close_all()
            except Exception as e:  # noqa: BLE001  the thread is at its end
                self.error("%s", e, exc=e)
            self.shutdown_complete()

    def process_exception(self, error_message: str, throwable: BaseException) -> None:
        """Raise control flow again, log everything else."""
        if isinstance(throwable, ControlThrowable):
            raise throwable
        self.error("%s: %s", error_message, in_short(throwable), exc=self._stack_of(throwable))

    def _stack_of(self, throwable: BaseException) -> BaseException | None:
        return self._stacks.stack_of(throwable, self.is_debug_enabled)

    def _process_channel_exception(self, channel_id: str, error_message: str, throwable: BaseException) -> None:
        if self.open_or_closing_channel(channel_id) is not None:
            self.error(
                "Closing socket for %s because of error: %s",
                channel_id,
                in_short(throwable),
                exc=self._stack_of(throwable),
            )
            self.close_connection(channel_id)
            if isinstance(throwable, Exception):
                self.debug("%s", error_message)  # what has happened was just logged
                return
        self.process_exception(error_message, throwable)

    @runs_on("network")
    def process_new_responses(self) -> None:
        """Do what each queued response says, and complete the sends that went out whole."""
        if self.response_queue.is_empty():
            return
        while (response := self.dequeue_response()) is not None:
            channel_id = response.request.context.connection_id
            try:
                if isinstance(response, SendResponse):
                    self.send_response(response, response.response_send)
                elif isinstance(response, NoOpResponse):
                    # nothing to write; further requests may lie in the socket's buffer
                    self._update_request_metrics(response)
                    self.trace("Socket server received empty response to send, registering for read: %s", response)
                    # unmuted at once, unless the channel is throttled: then when the throttle ends
                    self.handle_channel_mute_event(channel_id, _RESPONSE_SENT)
                    self.try_unmute_channel(channel_id)
                elif isinstance(response, CloseConnectionResponse):
                    self._update_request_metrics(response)
                    self.trace("Closing socket connection actively according to the response code.")
                    self.close_connection(channel_id)
                elif isinstance(response, StartThrottlingResponse):
                    self.handle_channel_mute_event(channel_id, ChannelMuteEvent.THROTTLE_STARTED)
                elif isinstance(response, EndThrottlingResponse):
                    # unmuted only if the answer is sent
                    self.handle_channel_mute_event(channel_id, ChannelMuteEvent.THROTTLE_ENDED)
                    self.try_unmute_channel(channel_id)
                else:
                    raise ValueError(f"Unknown response type: {type(response)}")
            except Exception as e:  # noqa: BLE001  it concerns this channel only
                self._process_channel_exception(channel_id, f"Exception while processing response for {channel_id}", e)
        self.selector.collect_completed_sends()
        self.process_completed_sends()

    def send_response(self, response: SendResponse, response_send: Send) -> None:
        """Write an answer, or as much of it as the socket takes; the request stays in flight until it is sent."""
        request = response.request
        connection_id = request.context.connection_id
        if self.logger.trace_enabled:
            self.trace(
                "Socket server received response to send to %s, registering for write and sending data: %s",
                connection_id,
                response,
            )
        selector = self.selector
        if connection_id not in selector.channels:
            # closed by the client, or by us for being idle
            self.warn(
                "Attempting to send response via channel for which there is no open connection, connection id %s",
                connection_id,
            )
            request.update_request_metrics(0, response)
            if selector.closing_channel(connection_id) is None:
                return
        # also for a closing channel: the send fails, and with it end the requests that were waiting there
        self.inflight_responses[connection_id] = response
        try:
            selector.send(response_send)
        except BaseException:
            self.inflight_responses.pop(connection_id, None)
            raise

    @runs_on("network")
    def poll(self) -> None:
        """Let the selector do its I/O, without a wait when new connections are to be registered."""
        try:
            self.selector.poll(_POLL_TIMEOUT_MS if self.new_connections.is_empty() else 0)
        except (IllegalStateException, OSError) as e:
            # not raised: what was completed before the error is still to be processed
            self.error("Processor %d poll failed", self.id, exc=e)

    def parse_request_header(self, buffer: memoryview) -> RequestHeader:
        """The header of a request. Raises InvalidRequestException for an API or a version that is not served."""
        header = RequestHeader.parse(buffer)
        api = (header.api_key, header.api_version)
        if api not in self._enabled_apis:
            if not self._api_version_manager.is_api_enabled(*api):
                raise InvalidRequestException(
                    f"Received request api key {header.api_key} with version {header.api_version} which is not enabled"
                )
            if len(self._enabled_apis) < _MAX_ENABLED_APIS:
                self._enabled_apis.add(api)  # what is served does not change while the broker runs
        return header

    @runs_on("network")
    def process_completed_receives(self) -> None:
        """Make a request of each receive, queue them all, and mute their channels until they are answered."""
        receives = self.selector.completed_receives()
        if not receives:
            return
        now_nanos = self._nanoseconds()
        requests: list[Request] = []
        channels: list[KafkaChannel] = []
        for receive in receives:
            source = receive.source()
            request: Request | None = None
            try:
                channel = self.open_or_closing_channel(source)
                if channel is None:
                    # cannot happen: receives are processed right after the poll that completed them
                    raise IllegalStateException(
                        f"Channel {source} removed from selector before processing completed receive"
                    )
                request = self._to_request(channel, receive, now_nanos)
                if request is not None:
                    if request.header.api_key is _API_VERSIONS:
                        self._register_client_information(channel, request)
                    requests.append(request)
                    channels.append(channel)
            except Exception as e:  # noqa: BLE001  a bad request closes its own connection, nothing else
                if request is None:
                    receive.close()  # nobody else will give its memory back
                self._process_channel_exception(source, f"Exception while processing request from {source}", e)
        if len(requests) == 1:
            self._request_channel.send_request(requests[0])
        elif requests:
            self._request_channel.send_requests(requests)
        # An answer that comes before the mute waits in the response queue: only this thread takes it out.
        selector = self.selector
        for channel in channels:
            try:
                selector.mute(channel.id, channel)
                channel.handle_channel_mute_event(_REQUEST_RECEIVED)
            except Exception as e:  # noqa: BLE001  it concerns this channel only
                id = channel.id
                self._process_channel_exception(id, f"Exception while processing request from {id}", e)
        selector.clear_completed_receives()

    def _to_request(self, channel: KafkaChannel, receive: NetworkReceive, now_nanos: int) -> Request | None:
        """The request of a receive; None when it was for the authenticator, or came after the session's end."""
        payload = receive.payload()
        assert payload is not None, "a completed receive has its payload"
        header = self.parse_request_header(payload)
        if header.api_key is _SASL_HANDSHAKE and channel.maybe_begin_server_reauthentication(
            receive, self._nanoseconds
        ):
            self.trace("Begin re-authentication: %s", channel)
            return None
        if self._sessions_expire and channel.server_authentication_session_expired(now_nanos):
            self.debug("Disconnecting expired channel: %s : %s", channel, header)
            self.close_connection(channel.id)
            receive.close()
            self.expired_connections_killed_count += 1
            return None
        session = channel.session
        if session is None or not isinstance(session, Session):
            session = channel.session = Session(channel.principal(), channel.socket_address())
        context = RequestContext(
            header,
            channel.id,
            session.client_address,
            session.principal,
            self._listener_name,
            self._security_protocol,
            session.client_information,
            self._is_privileged_listener,
        )
        return Request(
            self.id, context, now_nanos, self._memory_pool, payload, self._request_channel.metrics, None, session
        )

    @staticmethod
    def _register_client_information(channel: KafkaChannel, request: Request) -> None:
        """Note which library the client uses (KIP-511), here so that the API layer need not know of channels."""
        body = request.body(ApiVersionsRequest)
        if body.is_valid():
            session = request.session
            session.client_information = ClientInformation(body.client_software_name, body.client_software_version)
            channel.channel_metadata_registry().register_client_information(session.client_information)

    @runs_on("network")
    def process_completed_sends(self) -> None:
        """End the requests whose answers are sent, and read on from their channels."""
        sends = self.selector.completed_sends()
        if not sends:
            return
        channels = self.selector.channels
        for send in sends:
            destination = send.destination()
            try:
                response = self.inflight_responses.pop(destination, None)
                if response is None:
                    raise IllegalStateException(f"Send for {destination} completed, but not in `inflightResponses`")
                # the callback first: it may still change the request's numbers
                on_complete = response.on_complete_callback
                if on_complete is not None:
                    on_complete(send)
                channel = channels.get(destination) or self.open_or_closing_channel(destination)
                if channel is None:
                    self._update_request_metrics(response)
                    continue
                nanos = channel.network_thread_time_nanos
                channel.network_thread_time_nanos = 0
                response.request.update_request_metrics(nanos, response)
                # unmuted at once, unless the channel is throttled: then when the throttle ends
                channel.handle_channel_mute_event(_RESPONSE_SENT)
                self.try_unmute_channel(destination, channel)
            except Exception as e:  # noqa: BLE001  it concerns this channel only
                self._process_channel_exception(
                    destination, f"Exception while processing completed send to {destination}", e
                )
        self.selector.clear_completed_sends()

    def _update_request_metrics(self, response: Response) -> None:
        request = response.request
        channel = self.open_or_closing_channel(request.context.connection_id)
        nanos = 0 if channel is None else channel.get_and_reset_network_thread_time_nanos()
        request.update_request_metrics(nanos, response)

    @runs_on("network")
    def process_disconnected(self) -> None:
        """Give back the quota of connections that the selector has closed, and end their requests."""
        disconnected = self.selector.disconnected()
        if not disconnected:
            return
        for connection_id in list(disconnected):
            try:
                parsed = ConnectionId.from_string(connection_id)
                if parsed is None:
                    raise IllegalStateException(f"connectionId has unexpected format: {connection_id}")
                response = self.inflight_responses.pop(connection_id, None)
                if response is not None:
                    self._update_request_metrics(response)
                self.connection_quotas.dec(self._listener_name, inet_address(parsed.remote_host))
            except Exception as e:  # noqa: BLE001  it concerns this connection only
                self.process_exception(f"Exception while processing disconnection of {connection_id}", e)

    @runs_on("network")
    def close_excess_connections(self) -> None:
        """Close one connection if the broker has too many, which happens when a protected listener took its slot."""
        if self.connection_quotas.max_connections_exceeded(self._listener_name):
            channel = self.selector.lowest_priority_channel()
            if channel is not None:
                self.close_connection(channel.id)

    def close_connection(self, connection_id: str) -> None:
        """Close a connection, give back its quota and drop its answer; nothing happens when it is gone already."""
        channel = self.open_or_closing_channel(connection_id)
        if channel is None:
            return
        self.debug("Closing selector connection %s", connection_id)
        address = channel.socket_address()
        if address:
            self.connection_quotas.dec(self._listener_name, address)
        self.selector.close(connection_id)
        response = self.inflight_responses.pop(connection_id, None)
        if response is not None:
            self._update_request_metrics(response)

    @runs_on("acceptor")
    def accept(self, socket_channel: socket.socket, may_block: bool, acceptor_idle_percent_meter: Meter) -> bool:
        """Queue a new connection; False when the queue is full and ``may_block`` is not set.

        Time spent waiting for a place is marked on the meter.
        """
        accepted = self.new_connections.offer(socket_channel)
        if not accepted and may_block:
            start_ns = self._nanoseconds()
            self.new_connections.put(socket_channel)
            acceptor_idle_percent_meter.mark(self._nanoseconds() - start_ns)
            accepted = True
        if accepted:
            if self._ended:
                self._close_new_connections()
            self.wakeup()
        return accepted

    @runs_on("network")
    def configure_new_connections(self) -> None:
        """Register queued connections, a few at a time, lest those that are open wait."""
        processed = 0
        while processed < self._connection_queue_size and not self.new_connections.is_empty():
            channel = self.new_connections.poll()
            if channel is None:
                break
            try:
                self.debug("Processor %d listening to new connection from %s", self.id, peer_address(channel))
                self.selector.register(self.connection_id(channel), channel)
                processed += 1
            except Exception as e:  # noqa: BLE001  it concerns this connection only; its socket must not leak
                remote_address = peer_address(channel)
                self.close_channel(self._listener_name, channel, remote_address)
                self.process_exception(f"Processor {self.id} closed connection from {remote_address}", e)

    def close_all(self) -> None:
        """Close queued, open and closing connections and the selector; all give their quota back."""
        # in this order: a connection that accept() puts too late for us is closed by accept()
        self._ended = True
        self._close_new_connections()
        for channel in [*self.selector.channels.values(), *self.selector.closing_channels().values()]:
            self.close_connection(channel.id)
        self.selector.close()
        self.remove_metric(self.IDLE_PERCENT_METRIC_NAME, self._idle_tags)

    def _close_new_connections(self) -> None:
        """Close the queued connections. Runs on: network, and after its end on acceptor."""
        while (channel := self.new_connections.poll()) is not None:
            address = peer_address(channel)
            if address:
                self.close_channel(self._listener_name, channel, address)
            else:
                channel.close()  # never counted: it did not come from an acceptor

    def connection_id(self, sock: socket.socket) -> str:
        """The id of a new connection. Raises OSError when it is gone already."""
        local = sock.getsockname()
        remote_host, remote_port = peer_of(sock)
        index = self._next_connection_index
        self._next_connection_index = 0 if index == _MAX_INDEX else index + 1
        return str(ConnectionId(canonical_address(str(local[0])), int(local[1]), remote_host, remote_port, index))

    def enqueue_response(self, response: Response) -> bool:
        """Hand a response over; the thread is woken only if it sleeps. Whether it was."""
        self.response_queue.put(response)
        return self.selector.nio_selector.wakeup()

    def dequeue_response(self) -> Response | None:
        """The next response, with the time of taking it noted; or None."""
        response = self.response_queue.poll()
        if response is not None:
            response.request.response_dequeue_time_nanos = _system_nanoseconds()
        return response

    @property
    def response_queue_size(self) -> int:
        """Responses that wait."""
        return self.response_queue.size()

    @property
    def inflight_response_count(self) -> int:
        """Responses that are being written."""
        return len(self.inflight_responses)

    def open_or_closing_channel(self, connection_id: str) -> KafkaChannel | None:
        """The channel, open or closing; call only what is safe on a closed one."""
        return self.selector.channels.get(connection_id) or self.selector.closing_channel(connection_id)

    def handle_channel_mute_event(self, connection_id: str, event: ChannelMuteEvent) -> None:
        """Tell the channel, if it is still there. Raises IllegalStateException."""
        channel = self.open_or_closing_channel(connection_id)
        if channel is not None:
            channel.handle_channel_mute_event(event)

    def try_unmute_channel(self, connection_id: str, channel: KafkaChannel | None = None) -> None:
        """Read from the channel again, if it is still there and nothing speaks against it."""
        if channel is None:
            channel = self.open_or_closing_channel(connection_id)
        if channel is not None:
            self.selector.unmute(channel.id, channel)

    def channel(self, connection_id: str) -> KafkaChannel | None:
        """The open channel, or None."""
        return self.selector.channel(connection_id)

    def start(self) -> None:
        """Start the thread."""
        self.thread.start()

    def wakeup(self) -> None:
        """End a poll that sleeps."""
        self.selector.wakeup()

    def begin_shutdown(self) -> None:
        """Tell the thread to end."""
        if self._alive.get_and_set(False):
            self.wakeup()

    def stop_queueing(self) -> None:
        """After begin_shutdown: do not wait either for a place in the request queue, and drop what finds none. Ours."""
        interrupt(self.thread)

    def close(self) -> None:
        """End the thread and take its metrics away."""
        try:
            self.begin_shutdown()
            if self.thread.ident is None:
                self.close_all()  # never started: run() would have
            self.join()
        finally:
            self.remove_metric(self.IDLE_PERCENT_METRIC_NAME, self._idle_tags)
            self._metrics.remove_metric(self._expired_connections_killed_count_metric_name)

    def __repr__(self) -> str:
        return (
            f"Processor(id={self.id}, listener={self._listener_name.value()}, "
            f"connections={len(self.selector.channels)}, new={self.new_connections.size()}, "
            f"responses={self.response_queue_size}, inflight={self.inflight_response_count}, "
            f"running={self.is_running})"
        )


def io_wait_ratio_of(metrics: Metrics, name: Any) -> float:
    """A selector's io-wait-ratio, at most 1; 0 when there is no such metric."""
    metric = metrics.metric(name)
    return 0.0 if metric is None else min(metric.value(), 1.0)
