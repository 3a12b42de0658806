"""The network side of a broker: listeners, their threads, and the channels to the request handlers.

Mirrors: core/src/main/scala/kafka/network/SocketServer.scala @ 3.7.1
Posts:   why-fast-and-available (1.1), start-up-network-threads (3.6), socket-server (0.11)
Read next: acceptor.py, processor.py, connection_quotas.py, request_channel.py
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from kafka_py.common.errors import (
    ConnectionThrottledException,
    KafkaException,
    RuntimeException,
    TimeoutException,
    TooManyConnectionsException,
)
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.memory.simple_memory_pool import SimpleMemoryPool
from kafka_py.common.metrics.stats.meter import Meter
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.network.abstract_server_thread import AbstractServerThread
from kafka_py.network.acceptor import Acceptor, ControlPlaneAcceptor, DataPlaneAcceptor, DelayedCloseSocket
from kafka_py.network.connection_quotas import (
    METRICS_GROUP,
    ConnectionQuotaEntity,
    ConnectionQuotas,
    ListenerConnectionQuota,
    close_socket,
)
from kafka_py.network.processor import ConnectionId, Processor, io_wait_ratio_of
from kafka_py.network.request_channel import RequestChannel
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.utils.concurrent import AtomicInteger, CompletableFuture, ConcurrentHashMap, ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.cluster.end_point import EndPoint
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.utils.time import Time
    from kafka_py.security.credential_provider import CredentialProvider
    from kafka_py.server.api_version_manager import ApiVersionManager

__all__ = [
    "AbstractServerThread",
    "Acceptor",
    "ConnectionId",
    "ConnectionQuotaEntity",
    "ConnectionQuotas",
    "ConnectionThrottledException",
    "ControlPlaneAcceptor",
    "DataPlaneAcceptor",
    "DelayedCloseSocket",
    "ListenerConnectionQuota",
    "Processor",
    "SocketServer",
    "TooManyConnectionsException",
]

_CONTROL_PLANE_QUEUE_SIZE = 20
A = TypeVar("A", bound=Acceptor)


class SocketServer(KafkaMetricsGroup):
    """Owns the acceptors of all listeners, and through them the processors and their connections.

    Two planes:
    data plane: for each listener 1 acceptor with N processors; M handlers take the requests of all of them.
    control plane (control.plane.listener.name): 1 acceptor with 1 processor and 1 handler, for the controller alone,
    so that its requests never wait behind clients'.

    Mirrors: kafka.network.SocketServer @ 3.7.1
    Thread:  start-up, shutdown and reconfiguration; gauges are read by any.
    Locks:   _lock, before those of acceptors.
    Differs: the end does not wait for handlers to make room in a full request queue: Kafka's does, for ever if they
        are stuck. A listener that cannot be added leaves nothing behind.
    Left out: controllerListeners -- they belong to KRaft
    """

    METRICS_GROUP: ClassVar[str] = METRICS_GROUP
    RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = frozenset(
        {
            KafkaConfig.MAX_CONNECTIONS_PER_IP_PROP,
            KafkaConfig.MAX_CONNECTIONS_PER_IP_OVERRIDES_PROP,
            KafkaConfig.MAX_CONNECTIONS_PROP,
            KafkaConfig.MAX_CONNECTION_CREATION_RATE_PROP,
        }
    )
    LISTENER_RECONFIGURABLE_CONFIGS: ClassVar[frozenset[str]] = ListenerConnectionQuota.RECONFIGURABLE

    def __init__(
        self,
        config: KafkaConfig,
        metrics: Metrics,
        time: Time,
        credential_provider: CredentialProvider,
        api_version_manager: ApiVersionManager,
    ) -> None:
        """Make acceptors and processors of all listeners; no thread starts, and only port 0 is opened.

        Raises KafkaException when it cannot be, ConfigException for a security protocol that is not served.
        """
        self.config = config
        self.metrics = metrics
        self.time = time
        self.credential_provider = credential_provider
        self.api_version_manager = api_version_manager
        self.max_queued_requests = config.queued_max_requests
        self.node_id = config.broker_id
        listener_type = api_version_manager.listener_type
        self.log_ident = f"[SocketServer listenerType={listener_type}, nodeId={self.node_id}] "
        self._memory_pool_sensor = metrics.sensor("MemoryPoolUtilization")
        self._memory_pool_sensor.add(
            Meter(
                metrics.metric_name("MemoryPoolAvgDepletedPercent", METRICS_GROUP),
                metrics.metric_name("MemoryPoolDepletedTimeTotal", METRICS_GROUP),
                unit="MILLISECONDS",
            )
        )
        self._memory_pool: MemoryPool = MemoryPool.NONE
        if config.queued_max_bytes > 0:
            self._memory_pool = SimpleMemoryPool(
                config.queued_max_bytes, config.socket_request_max_bytes, False, self._memory_pool_sensor, time
            )
        self.data_plane_acceptors: ConcurrentHashMap[EndPoint, DataPlaneAcceptor] = ConcurrentHashMap()  # atomic
        self.data_plane_request_channel = RequestChannel(
            self.max_queued_requests, DataPlaneAcceptor.METRIC_PREFIX, time, api_version_manager.new_request_metrics()
        )
        self.control_plane_acceptor_opt: ControlPlaneAcceptor | None = None  # volatile: start-up
        self.control_plane_request_channel_opt: RequestChannel | None = None
        if config.control_plane_listener_name is not None:
            self.control_plane_request_channel_opt = RequestChannel(
                _CONTROL_PLANE_QUEUE_SIZE,
                ControlPlaneAcceptor.METRIC_PREFIX,
                time,
                api_version_manager.new_request_metrics(),
            )
        self._next_processor_id = AtomicInteger(0)  # atomic
        self.connection_quotas = ConnectionQuotas(config, time, metrics)
        self._all_authorizer_futures_complete: CompletableFuture[None] = CompletableFuture()  # atomic
        self._lock = ReentrantLock()
        self._stopped = False  # guarded by: _lock
        self._new_gauges()
        try:
            control_plane_listener = config.control_plane_listener
            if control_plane_listener is not None:
                self.create_control_plane_acceptor_and_processor(control_plane_listener)
            for end_point in config.data_plane_listeners:
                self.create_data_plane_acceptor_and_processors(end_point)
        except BaseException:
            self.shutdown()  # so that a start that fails leaves no port open
            raise

    def _new_gauges(self) -> None:
        data, control = DataPlaneAcceptor.METRIC_PREFIX, ControlPlaneAcceptor.METRIC_PREFIX
        self.new_gauge(f"{data}NetworkProcessorAvgIdlePercent", self._data_plane_idle)
        self.new_gauge(f"{control}NetworkProcessorAvgIdlePercent", self._control_plane_idle)
        self.new_gauge("MemoryPoolAvailable", self._memory_pool.available_memory)
        self.new_gauge("MemoryPoolUsed", lambda: self._memory_pool.size() - self._memory_pool.available_memory())
        self.new_gauge(
            f"{data}ExpiredConnectionsKilledCount",
            lambda: float(sum(p.expired_connections_killed_count for p in self._data_plane_processors())),
        )
        self.new_gauge(
            f"{control}ExpiredConnectionsKilledCount",
            lambda: float(sum(p.expired_connections_killed_count for p in self._control_plane_processors())),
        )

    def _data_plane_processors(self) -> list[Processor]:
        with self._lock:
            return [p for acceptor in self.data_plane_acceptors.values() for p in acceptor.processors]

    def _control_plane_processors(self) -> list[Processor]:
        with self._lock:
            acceptor = self.control_plane_acceptor_opt
            return [] if acceptor is None else acceptor.processors[:1]

    def _idle_ratio(self, processor: Processor) -> float:
        name = self.metrics.metric_name("io-wait-ratio", METRICS_GROUP, "", processor.metric_tags)
        return io_wait_ratio_of(self.metrics, name)

    def _data_plane_idle(self) -> float:
        ratios = [self._idle_ratio(processor) for processor in self._data_plane_processors()]
        return sum(ratios) / len(ratios) if ratios else 1.0

    def _control_plane_idle(self) -> float:
        ratios = [self._idle_ratio(processor) for processor in self._control_plane_processors()]
        return ratios[0] if ratios else float("nan")

    def next_processor_id(self) -> int:
        """Processors are numbered over all listeners, as they were when the server made them itself."""
        return self._next_processor_id.get_and_increment()

    def check_ports(self) -> None:
        """Raise KafkaException if the port of a listener is taken by another process. Ours: see Acceptor.check_port."""
        with self._lock:
            for acceptor in self.data_plane_acceptors.values():
                acceptor.check_port()
            if self.control_plane_acceptor_opt is not None:
                self.control_plane_acceptor_opt.check_port()

    def enable_request_processing(
        self, authorizer_futures: Mapping[EndPoint, CompletableFuture[None]] | None = None
    ) -> CompletableFuture[None]:
        """Let each listener open its port and serve as soon as its future completes.

        A listener without a future of its own waits for all of them. The future returned completes when all acceptors
        have started, and fails when one did not. Raises RuntimeException when the server is stopped.
        """
        futures = authorizer_futures or {}
        with self._lock:
            if self._stopped:
                raise RuntimeException("Can't enable request processing: SocketServer is stopped.")
            self.info("Enabling request processing.")
            if self.control_plane_acceptor_opt is not None:
                self._chain_acceptor_future(self.control_plane_acceptor_opt, futures)
            for acceptor in self.data_plane_acceptors.values():
                self._chain_acceptor_future(acceptor, futures)
            _chain_future(CompletableFuture.all_of(futures.values()), self._all_authorizer_futures_complete)
            acceptors: list[Acceptor] = list(self.data_plane_acceptors.values())
            if self.control_plane_acceptor_opt is not None:
                acceptors.append(self.control_plane_acceptor_opt)
            enabled: CompletableFuture[None] = CompletableFuture()
            _chain_future(CompletableFuture.all_of([acceptor.started_future for acceptor in acceptors]), enabled)
            return enabled

    def _chain_acceptor_future(self, acceptor: Acceptor, futures: Mapping[EndPoint, CompletableFuture[None]]) -> None:
        # by name: the port of an end point may be known only now
        name = acceptor.end_point.listener_name.value()
        found = [future for end_point, future in futures.items() if end_point.listener_name.value() == name]
        self._start_when_complete(acceptor, found[0] if found else self._all_authorizer_futures_complete)

    @staticmethod
    def _start_when_complete(acceptor: Acceptor, future: CompletableFuture[None]) -> None:
        def start(_: None, error: BaseException | None) -> None:
            if error is not None:
                acceptor.started_future.complete_exceptionally(error)
            else:
                acceptor.start()  # completes started_future, one way or the other

        future.when_complete(start)

    def create_data_plane_acceptor_and_processors(self, endpoint: EndPoint) -> None:
        """Make a listener's acceptor and processors, or nothing of them.

        Raises RuntimeException when the server is stopped, KafkaException, ConfigException.
        """
        with self._lock:
            if self._stopped:
                raise RuntimeException("Can't create new data plane acceptor and processors: SocketServer is stopped.")
            parsed = self.config.values_from_this_config_with_prefix_override(endpoint.listener_name.config_prefix())
            self.connection_quotas.add_listener(self.config, endpoint.listener_name)
            is_privileged_listener = (
                self.control_plane_request_channel_opt is None
                and self.config.inter_broker_listener_name == endpoint.listener_name
            )
            try:
                acceptor = self.create_data_plane_acceptor(
                    endpoint, is_privileged_listener, self.data_plane_request_channel
                )
                self.data_plane_acceptors.put(endpoint, acceptor)
                self.config.add_reconfigurable(acceptor)
                acceptor.configure(parsed)
            except BaseException:
                self.remove_listeners([endpoint])  # a listener without processors would hold its port
                raise
            self.info("Created data-plane acceptor and processors for endpoint : %s", endpoint.listener_name)

    def create_control_plane_acceptor_and_processor(self, endpoint: EndPoint) -> None:
        """Make the control plane's acceptor and processor. Raises RuntimeException when the server is stopped."""
        with self._lock:
            if self._stopped:
                raise RuntimeException(
                    "Can't create new control plane acceptor and processor: SocketServer is stopped."
                )
            self.connection_quotas.add_listener(self.config, endpoint.listener_name)
            assert self.control_plane_request_channel_opt is not None, "the config names the listener"
            acceptor = self.create_control_plane_acceptor(endpoint, self.control_plane_request_channel_opt)
            self.control_plane_acceptor_opt = acceptor
            acceptor.add_processors(1)
            self.info("Created control-plane acceptor and processor for endpoint : %s", endpoint.listener_name)

    @property
    def endpoints(self) -> dict[ListenerName, EndPoint]:
        """The configured end points, by listener."""
        return {end_point.listener_name: end_point for end_point in self.config.listeners}

    def create_data_plane_acceptor(
        self, end_point: EndPoint, is_privileged_listener: bool, request_channel: RequestChannel
    ) -> DataPlaneAcceptor:
        """The acceptor of a listener; tests put their own here."""
        return self._new_acceptor(DataPlaneAcceptor, end_point, is_privileged_listener, request_channel)

    def create_control_plane_acceptor(
        self, end_point: EndPoint, request_channel: RequestChannel
    ) -> ControlPlaneAcceptor:
        """The acceptor of the control plane, whose listener is always privileged."""
        return self._new_acceptor(ControlPlaneAcceptor, end_point, True, request_channel)

    def _new_acceptor(
        self, plane: type[A], end_point: EndPoint, is_privileged_listener: bool, request_channel: RequestChannel
    ) -> A:
        return plane(
            self,
            end_point,
            self.config,
            self.node_id,
            self.connection_quotas,
            self.time,
            is_privileged_listener,
            request_channel,
            self.metrics,
            self.credential_provider,
            self.log_ident,
            self._memory_pool,
            self.api_version_manager,
        )

    def stop_processing_requests(self) -> None:
        """End acceptors and processors and close all connections; requests in the queue are thrown away."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            self.info("Stopping socket server request processors")
            acceptors: list[Acceptor] = list(self.data_plane_acceptors.values())
            if self.control_plane_acceptor_opt is not None:
                acceptors.append(self.control_plane_acceptor_opt)
            for acceptor in acceptors:
                acceptor.begin_shutdown()
            for processor in [*self._data_plane_processors(), *self._control_plane_processors()]:
                processor.stop_queueing()
            for acceptor in acceptors:
                acceptor.close()
            self.data_plane_request_channel.clear()
            if self.control_plane_request_channel_opt is not None:
                self.control_plane_request_channel_opt.clear()
            self.info("Stopped socket server request processors")

    def shutdown(self) -> None:
        """End everything: all threads have ended and all ports are free when this returns. May be called twice."""
        self.info("Shutting down socket server")
        self._all_authorizer_futures_complete.complete_exceptionally(
            TimeoutException("The socket server was shut down before the Authorizer could be completely initialized.")
        )
        with self._lock:
            self.stop_processing_requests()
            self.data_plane_request_channel.shutdown()
            if self.control_plane_request_channel_opt is not None:
                self.control_plane_request_channel_opt.shutdown()
            self.connection_quotas.close()
        self.info("Shutdown completed")

    def bound_port(self, listener_name: ListenerName) -> int:
        """The port a listener is on, also when the configuration says 0. Raises KafkaException without it."""
        end_point = self.endpoints.get(listener_name)
        acceptor: Acceptor | None = None if end_point is None else self.data_plane_acceptors.get(end_point)
        if end_point is not None and acceptor is None:
            acceptor = self.control_plane_acceptor_opt
        if acceptor is None:
            raise KafkaException(
                "Tried to check for port of non-existing protocol",
                KafkaException(f"Could not find listenerName : {listener_name} in data-plane or control-plane"),
            )
        return acceptor.local_port

    def add_listeners(self, listeners_added: Sequence[EndPoint]) -> None:
        """Serve further listeners from now on. Raises RuntimeException when the server is stopped."""
        with self._lock:
            if self._stopped:
                raise RuntimeException("can't add new listeners: SocketServer is stopped.")
            self.info("Adding data-plane listeners for endpoints %s", [str(e) for e in listeners_added])
            for endpoint in listeners_added:
                self.create_data_plane_acceptor_and_processors(endpoint)
                acceptor = self.data_plane_acceptors[endpoint]
                # there is no future of its own: it starts when all the others are complete
                self._start_when_complete(acceptor, self._all_authorizer_futures_complete)

    def remove_listeners(self, listeners_removed: Sequence[EndPoint]) -> None:
        """Serve these listeners no longer, and close their connections."""
        with self._lock:
            self.info("Removing data-plane listeners for endpoints %s", [str(e) for e in listeners_removed])
            for endpoint in listeners_removed:
                self.connection_quotas.remove_listener(self.config, endpoint.listener_name)
                acceptor = self.data_plane_acceptors.remove(endpoint)
                if acceptor is not None:
                    acceptor.begin_shutdown()
                    acceptor.close()
                    self.config.remove_reconfigurable(acceptor)

    @property
    def reconfigurable_configs(self) -> set[str]:
        """The broker-wide connection limits."""
        return set(self.RECONFIGURABLE_CONFIGS)

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        """Any limit that KafkaConfig accepts will do; the overrides must name hosts. Raises OSError."""
        ConnectionQuotas._by_address(new_config.max_connections_per_ip_overrides)

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        """Take the limits that have changed."""
        quotas = self.connection_quotas
        per_ip = new_config.max_connections_per_ip
        if per_ip != old_config.max_connections_per_ip:
            self.info("Updating maxConnectionsPerIp: %d", per_ip)
            quotas.update_max_connections_per_ip(per_ip)
        overrides = new_config.max_connections_per_ip_overrides
        if overrides != old_config.max_connections_per_ip_overrides:
            self.info("Updating maxConnectionsPerIpOverrides: %s", ",".join(f"{k}={v}" for k, v in overrides.items()))
            quotas.update_max_connections_per_ip_override(overrides)
        max_connections = new_config.max_connections
        if max_connections != old_config.max_connections:
            self.info("Updating broker-wide maxConnections: %d", max_connections)
            quotas.update_broker_max_connections(max_connections)
        rate = new_config.max_connection_creation_rate
        if rate != old_config.max_connection_creation_rate:
            self.info("Updating broker-wide maxConnectionCreationRate: %d", rate)
            quotas.update_broker_max_connection_rate(rate)

    def connection_count(self, address: str) -> int:
        """Open connections of an IP address."""
        return self.connection_quotas.get(address)

    def data_plane_acceptor(self, listener_name: str) -> DataPlaneAcceptor | None:
        """The acceptor of a listener, by name."""
        for end_point, acceptor in self.data_plane_acceptors.items():
            if end_point.listener_name.value() == listener_name:
                return acceptor
        return None

    @staticmethod
    def close_socket(channel: socket.socket, logging: Logging) -> None:
        """Close a socket; an error is logged, not raised."""
        close_socket(channel, logging)

    def __repr__(self) -> str:
        return f"SocketServer(nodeId={self.node_id}, acceptors={self.data_plane_acceptors.values()})"


def _chain_future(source: CompletableFuture[None], destination: CompletableFuture[None]) -> None:
    """Let ``destination`` end as ``source`` does."""

    def end(_: None, error: BaseException | None) -> None:
        if error is not None:
            destination.complete_exceptionally(error)
        else:
            destination.complete(None)

    source.when_complete(end)
