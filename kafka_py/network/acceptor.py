"""Threads that accept connections and hand them to processors.

Mirrors: core/src/main/scala/kafka/network/SocketServer.scala (Acceptor) @ 3.7.1
Posts:   start-up-network-threads (3.6), socket-server (0.11)
Read next: processor.py, connection_quotas.py
"""

from __future__ import annotations

import errno
import heapq
import socket
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from kafka_py.common.errors import (
    ClosedChannelException,
    ConfigException,
    ConnectionThrottledException,
    IllegalStateException,
    KafkaException,
    RuntimeException,
    TooManyConnectionsException,
)
from kafka_py.common.network.addresses import AcceptedSocket, peer_address
from kafka_py.common.network.listener_reconfigurable import ListenerReconfigurable
from kafka_py.common.network.nio_selector import OP_ACCEPT, NioSelector, SelectionKey
from kafka_py.common.network.selectable import Selectable
from kafka_py.network.abstract_server_thread import AbstractServerThread
from kafka_py.network.connection_quotas import LISTENER_METRIC_TAG, close_socket
from kafka_py.network.processor import Processor
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.concurrent import CompletableFuture, ReentrantLock
from kafka_py.utils.threads import runs_on

if TYPE_CHECKING:
    from kafka_py.cluster.end_point import EndPoint
    from kafka_py.common.memory.memory_pool import MemoryPool
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.security.auth.security_protocol import SecurityProtocol
    from kafka_py.common.utils.time import Time
    from kafka_py.metrics.yammer import MetricName
    from kafka_py.network.connection_quotas import ConnectionQuotas
    from kafka_py.network.request_channel import RequestChannel
    from kafka_py.network.socket_server import SocketServer
    from kafka_py.security.credential_provider import CredentialProvider
    from kafka_py.server.api_version_manager import ApiVersionManager

_SELECT_TIMEOUT_MS = 500
# of the process or the machine: the connection stays in the backlog, and the port stays readable
_WITHOUT_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_RESOURCES_PAUSE_MS = 100


class DelayedCloseSocket:
    """A connection that came too fast and is closed later, so that the client does not come again at once.

    Mirrors: kafka.network.Acceptor.DelayedCloseSocket @ 3.7.1
    """

    __slots__ = ("end_throttle_time_ms", "socket")

    def __init__(self, sock: socket.socket, end_throttle_time_ms: int) -> None:
        self.socket = sock
        self.end_throttle_time_ms = end_throttle_time_ms

    def compare(self, that: DelayedCloseSocket) -> int:
        """Below 0 if this one's time comes first."""
        return self.end_throttle_time_ms - that.end_throttle_time_ms

    def __lt__(self, other: DelayedCloseSocket) -> bool:
        return self.compare(other) < 0


class Acceptor(AbstractServerThread):
    """Accepts and configures the connections of one end point, and deals them out round-robin.

    Mirrors: kafka.network.Acceptor @ 3.7.1
    Thread:  run: "{plane}-kafka-socket-acceptor-{listener}-{protocol}-{port}".
    Locks:   _lock for the list of processors and the start.
    Differs: `throttled_sockets` is a heap that gives the earliest first. Scala's PriorityQueue gives the latest, so
        that Kafka closes none of them before the last one's time has come. Without descriptors for new connections it
        tries ten times a second; Kafka's acceptor keeps a core busy and writes a stack trace each time round.
    """

    METRIC_PREFIX: ClassVar[str] = ""
    THREAD_PREFIX: ClassVar[str] = ""
    PROCESSOR_CLASS: ClassVar[type[Processor]] = Processor  # tests put a subclass here

    def __init__(
        self,
        socket_server: SocketServer,
        end_point: EndPoint,
        config: KafkaConfig,
        node_id: int,
        connection_quotas: ConnectionQuotas,
        time: Time,
        is_privileged_listener: bool,
        request_channel: RequestChannel,
        metrics: Metrics,
        credential_provider: CredentialProvider,
        log_ident: str,
        memory_pool: MemoryPool,
        api_version_manager: ApiVersionManager,
    ) -> None:
        """Port 0 is opened at once, so that it is known; another one in start(), when it will be served.

        Raises KafkaException when port 0 cannot be bound.
        """
        super().__init__(
            connection_quotas,
            f"{self.thread_prefix()}-kafka-socket-acceptor-"
            f"{end_point.listener_name}-{end_point.security_protocol}-{end_point.port}",
        )
        self.log_ident = log_ident
        self.socket_server = socket_server
        self.end_point = end_point
        self.config = config  # volatile: reconfiguration
        self._node_id = node_id
        self._time = time
        self._is_privileged_listener = is_privileged_listener
        self._request_channel = request_channel
        self._metrics = metrics
        self._credential_provider = credential_provider
        self._memory_pool = memory_pool
        self._api_version_manager = api_version_manager
        self.send_buffer_size = config.socket_send_buffer_bytes
        self.recv_buffer_size = config.socket_receive_buffer_bytes
        self._listen_backlog_size = config.socket_listen_backlog_size
        self._nio_selector = NioSelector()
        self.server_channel: socket.socket | None = None  # volatile: whoever opens it, under _lock
        self.local_port = end_point.port
        if not end_point.port:
            try:
                self.server_channel = self._open_server_socket(end_point.host, 0, self._listen_backlog_size)
            except BaseException:
                self._nio_selector.close()
                raise
            self.local_port = int(self.server_channel.getsockname()[1])
            self.info("Opened wildcard endpoint %s:%d", end_point.host, self.local_port)
        self._lock = ReentrantLock()
        self.processors: list[Processor] = []  # volatile: reconfiguration, under _lock
        self._blocked_percent_meter = self.new_meter(
            f"{self.metric_prefix()}AcceptorBlockedPercent",
            "blocked time",
            {LISTENER_METRIC_TAG: end_point.listener_name.value()},
            rate_unit="NANOSECONDS",
        )
        self._current_processor_index = 0  # thread: acceptor
        self.throttled_sockets: list[DelayedCloseSocket] = []  # thread: acceptor
        self._started = False  # guarded by: _lock
        self.started_future: CompletableFuture[None] = CompletableFuture()  # atomic

    def metric_name(self, name: str, tags: Mapping[str, str] = MappingProxyType({})) -> MetricName:
        """Metrics of all kinds of acceptors are called Acceptor's."""
        return self.explicit_metric_name("kafka.network", "Acceptor", name, tags)

    def metric_prefix(self) -> str:
        """What the plane puts before metric names."""
        return self.METRIC_PREFIX

    def thread_prefix(self) -> str:
        """What the plane puts before thread names."""
        return self.THREAD_PREFIX

    def start(self) -> None:
        """Open the port if it is not open, start processors and this thread; `started_future` tells how it went."""
        name = self.end_point.listener_name
        with self._lock:
            try:
                if not self.should_run.get():
                    raise ClosedChannelException
                if self.server_channel is None:
                    self.server_channel = self._open_server_socket(
                        self.end_point.host, self.end_point.port, self._listen_backlog_size
                    )
                    self.debug("Opened endpoint %s:%d", self.end_point.host, self.end_point.port)
                self.debug("Starting processors for listener %s", name)
                for processor in self.processors:
                    processor.start()
                self.debug("Starting acceptor thread for listener %s", name)
                self.thread.start()
                self._started = True
                self.started_future.complete(None)
            except ClosedChannelException as e:
                self.debug("Refusing to start acceptor for %s since the acceptor has already been shut down.", name)
                self.started_future.complete_exceptionally(e)
            except Exception as e:  # noqa: BLE001  the future tells whoever waits for the start
                self.error("Unable to start acceptor for %s", name, exc=e)
                error = RuntimeException(f"Unable to start acceptor for {name}")
                error.__cause__ = e
                self.started_future.complete_exceptionally(error)

    def remove_processors(self, remove_count: int) -> None:
        """End the last ``remove_count`` processors and their connections; responses to them are dropped."""
        with self._lock:
            keep = len(self.processors) - remove_count
            to_remove = self.processors[keep:]
            # out of the list first: they get no more connections
            self.processors = self.processors[:keep]
            self._end_processors(to_remove)

    def _end_processors(self, processors: Sequence[Processor]) -> None:
        for processor in processors:
            processor.close()
        for processor in processors:
            self._request_channel.remove_processor(processor.id)

    def begin_shutdown(self) -> None:
        """Tell this thread and its processors to end."""
        if self.should_run.get_and_set(False):
            self.wakeup()
            self.connection_quotas.stop_waiting(self.end_point.listener_name)
            with self._lock:
                for processor in self.processors:
                    processor.begin_shutdown()

    def close(self) -> None:
        """End this thread and its processors, and close what was open. Nothing happens the second time."""
        self.begin_shutdown()
        if self.thread.ident is None:
            self._close_all()  # run() would have
        self.join()
        with self._lock:
            for processor in self.processors:
                processor.close()

    @runs_on("acceptor")
    def run(self) -> None:
        """Accept until told to end; no error of a connection ends the loop."""
        server_channel = self.server_channel
        assert server_channel is not None, "start() has opened it"
        self._nio_selector.register(server_channel, OP_ACCEPT)
        self.startup_complete()
        try:
            while self.should_run.get():
                try:
                    self.accept_new_connections()
                    self.close_throttled_connections()
                except Exception as e:  # noqa: BLE001  a thread that ends would stop all clients, for one's error
                    self.error("Error occurred", exc=e)
        finally:
            self._close_all()
            self.shutdown_complete()

    def _close_all(self) -> None:
        self.debug("Closing server socket, selector, and any throttled sockets.")
        if self.server_channel is not None:
            close_socket(self.server_channel, self)
        self._nio_selector.close()
        for throttled in self.throttled_sockets:
            close_socket(throttled.socket, self)
        self.throttled_sockets.clear()

    def check_port(self) -> None:
        """Raise KafkaException if start() would find its port taken; it comes late, when ZooKeeper knows of us."""
        if self.server_channel is None:
            self._open_server_socket(self.end_point.host, self.end_point.port, None).close()

    def _open_server_socket(self, host: str | None, port: int, listen_backlog_size: int | None) -> socket.socket:
        """A listening socket (without a backlog only a bound one); without a host, of IPv4 and IPv6.

        Raises KafkaException.
        """
        shown = host if host and host.strip() else "0.0.0.0"
        try:
            if host and host.strip():
                family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            elif socket.has_dualstack_ipv6():
                family, address = socket.AF_INET6, ("::", port)
            else:
                family, address = socket.AF_INET, ("0.0.0.0", port)
            server_channel = socket.socket(family, socket.SOCK_STREAM)
        except (OSError, UnicodeError) as e:
            raise KafkaException(f"Socket server failed to bind to {shown}:{port}: {e}.", e) from e
        try:
            server_channel.setblocking(False)
            server_channel.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6 and shown == "0.0.0.0":
                server_channel.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            if self.recv_buffer_size != Selectable.USE_DEFAULT_BUFFER_SIZE:
                server_channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.recv_buffer_size)
            server_channel.bind(address)
            if listen_backlog_size is None:
                return server_channel
            server_channel.listen(listen_backlog_size)
        except OSError as e:
            server_channel.close()
            raise KafkaException(f"Socket server failed to bind to {shown}:{port}: {e.strerror or e}.", e) from e
        self.info("Awaiting socket connections on %s:%d.", shown, server_channel.getsockname()[1])
        return server_channel

    @runs_on("acceptor")
    def accept_new_connections(self) -> None:
        """Wait for connections and hand each to a processor that has room, waiting for the last one if none has."""
        for key in self._nio_selector.select(_SELECT_TIMEOUT_MS):
            if not self.should_run.get():
                break
            try:
                if not key.is_acceptable():
                    raise IllegalStateException("Unrecognized key state for acceptor thread.")
                socket_channel = self.accept(key)
                if socket_channel is not None:
                    self._assign_to_a_processor(socket_channel)
            except Exception as e:  # noqa: BLE001  the next connection is none the worse for this one
                self.error("Error while accepting connection", exc=e)

    def _assign_to_a_processor(self, socket_channel: socket.socket) -> None:
        with self._lock:
            retries_left = len(self.processors)
        while True:
            retries_left -= 1
            with self._lock:  # their number may have shrunk since
                self._current_processor_index %= len(self.processors)
                processor = self.processors[self._current_processor_index]
            self._current_processor_index += 1
            if self.assign_new_connection(socket_channel, processor, retries_left <= 0):
                return

    def accept(self, key: SelectionKey) -> socket.socket | None:
        """The accepted and configured connection; None when it was refused, delayed or gone. Raises OSError."""
        try:
            socket_channel = AcceptedSocket.accept_from(key.channel)
        except BlockingIOError:
            return None
        except OSError as e:
            if e.errno in _WITHOUT_RESOURCES:
                self._time.sleep(_RESOURCES_PAUSE_MS)
            raise
        address = socket_channel.remote[0]
        name = self.end_point.listener_name
        try:
            self.connection_quotas.inc(name, address, self._blocked_percent_meter)
            self.configure_accepted_socket_channel(socket_channel)
        except TooManyConnectionsException as e:
            self.info(
                "Rejected connection from %s, address already has the configured maximum of %d connections.",
                e.ip,
                e.count,
            )
            self.close_channel(name, socket_channel, address)
        except ConnectionThrottledException as e:
            self.debug("Delaying closing of connection from %s for %d ms", address, e.throttle_time_ms)
            end = e.start_throttle_time_ms + e.throttle_time_ms
            heapq.heappush(self.throttled_sockets, DelayedCloseSocket(socket_channel, end))
        except OSError as e:
            self.error("Encountered an error while configuring the connection, closing it.", exc=e)
            self.close_channel(name, socket_channel, address)
        except BaseException:
            socket_channel.close()
            raise
        else:
            return socket_channel
        return None

    def configure_accepted_socket_channel(self, socket_channel: socket.socket) -> None:
        """Non-blocking, without Nagle's delay, with keep-alive. Raises OSError."""
        socket_channel.setblocking(False)
        socket_channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        socket_channel.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self.send_buffer_size != Selectable.USE_DEFAULT_BUFFER_SIZE:
            socket_channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.send_buffer_size)

    @runs_on("acceptor")
    def close_throttled_connections(self) -> None:
        """Close the throttled connections whose time has come."""
        throttled = self.throttled_sockets
        time_ms = self._time.milliseconds() if throttled else 0
        while throttled and throttled[0].end_throttle_time_ms < time_ms:
            closing = heapq.heappop(throttled)
            self.debug("Closing socket from ip %s", peer_address(closing.socket))
            close_socket(closing.socket, self)

    def assign_new_connection(self, socket_channel: socket.socket, processor: Processor, may_block: bool) -> bool:
        """Give the connection to ``processor``; False when its queue is full and ``may_block`` is not set."""
        if not processor.accept(socket_channel, may_block, self._blocked_percent_meter):
            return False
        if self.is_debug_enabled:
            self._log_accepted(socket_channel, processor)
        return True

    def _log_accepted(self, socket_channel: socket.socket, processor: Processor) -> None:
        try:
            self.debug(
                "Accepted connection from %s on %s and assigned it to processor %d,"
                " sendBufferSize [actual|requested]: [%d|%d] recvBufferSize [actual|requested]: [%d|%d]",
                socket_channel.getpeername(),
                socket_channel.getsockname(),
                processor.id,
                socket_channel.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
                self.send_buffer_size,
                socket_channel.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
                self.recv_buffer_size,
            )
        except OSError as e:
            self.debug("Accepted connection that is gone already", exc=e)

    def wakeup(self) -> None:
        """End a wait for connections."""
        self._nio_selector.wakeup()

    def add_processors(self, to_create: int) -> None:
        """Make more processors; they start at once if this thread has started.

        Raises what new_processor does, and none has been added then.
        """
        name, protocol = self.end_point.listener_name, self.end_point.security_protocol
        with self._lock:
            added: list[Processor] = []
            try:
                for _ in range(to_create):
                    processor = self.new_processor(self.socket_server.next_processor_id(), name, protocol)
                    added.append(processor)
                    self._request_channel.add_processor(processor)
                    if self._started:
                        processor.start()
            except BaseException:
                self._end_processors(added)  # nobody else knows of them
                raise
            self.processors = self.processors + added

    def new_processor(self, id: int, listener_name: ListenerName, security_protocol: SecurityProtocol) -> Processor:
        """A processor of this end point."""
        name = (
            f"{self.thread_prefix()}-kafka-network-thread-{self._node_id}-"
            f"{self.end_point.listener_name}-{self.end_point.security_protocol}-{id}"
        )
        return self.PROCESSOR_CLASS(
            id,
            self._time,
            self.config.socket_request_max_bytes,
            self._request_channel,
            self.connection_quotas,
            self.config.connections_max_idle_ms,
            self.config.failed_authentication_delay_ms,
            listener_name,
            security_protocol,
            self.config,
            self._metrics,
            self._credential_provider,
            self._memory_pool,
            self.log_ident,
            Processor.CONNECTION_QUEUE_SIZE,
            self._is_privileged_listener,
            self._api_version_manager,
            name,
        )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.end_point}, port={self.local_port}, processors={len(self.processors)}, "
            f"throttled={len(self.throttled_sockets)}, running={self.is_running})"
        )


class DataPlaneAcceptor(Acceptor, ListenerReconfigurable):
    """Accepts connections of clients and brokers; num.network.threads may change while it runs.

    Mirrors: kafka.network.DataPlaneAcceptor @ 3.7.1
    Thread, Locks: as Acceptor.
    """

    THREAD_PREFIX: ClassVar[str] = "data-plane"
    METRIC_PREFIX: ClassVar[str] = ""
    LISTENER_RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = frozenset({KafkaConfig.NUM_NETWORK_THREADS_PROP})

    def listener_name(self) -> ListenerName:
        """The listener."""
        return self.end_point.listener_name

    def reconfigurable_configs(self) -> set[str]:
        """The number of network threads."""
        return set(self.LISTENER_RECONFIGURABLE_CONFIGS)

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        """The number may at most be halved or doubled at a time. Raises ConfigException."""
        for name in self.LISTENER_RECONFIGURABLE_CONFIGS & configs.keys():
            new, old = int(configs[name]), len(self.processors)
            if new == old:
                continue
            error = f"Dynamic thread count update validation failed for {name}={new}"
            if new <= 0:
                raise ConfigException(f"{error}, value should be at least 1")
            if new < old // 2:
                raise ConfigException(f"{error}, value should be at least half the current value {old}")
            if new > old * 2:
                raise ConfigException(f"{error}, value should not be greater than double the current value {old}")

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """Start or end network threads."""
        new, old = int(configs[KafkaConfig.NUM_NETWORK_THREADS_PROP]), len(self.processors)
        if new == old:
            return
        self.info(
            "Resizing network thread pool size for %s listener from %d to %d", self.end_point.listener_name, old, new
        )
        if new > old:
            self.add_processors(new - old)
        else:
            self.remove_processors(old - new)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Make the first network threads."""
        self.add_processors(int(configs[KafkaConfig.NUM_NETWORK_THREADS_PROP]))


class ControlPlaneAcceptor(Acceptor):
    """Accepts the controller's connections, when control.plane.listener.name sets a listener apart for it.

    Mirrors: kafka.network.ControlPlaneAcceptor @ 3.7.1
    """

    THREAD_PREFIX: ClassVar[str] = "control-plane"
    METRIC_PREFIX: ClassVar[str] = "ControlPlane"

    def processor_opt(self) -> Processor | None:
        """Its one processor, once it is made."""
        return self.processors[0] if self.processors else None
