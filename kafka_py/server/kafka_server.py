"""The life of a broker: what is started in which order, and stopped in which.

Mirrors: core/src/main/scala/kafka/server/KafkaServer.scala @ 1.1.1 (the last step of start-up, the control plane and
         the names of the request processors: 3.7.1)
Posts:   why-fast-and-available (start-up and network), start-up-network-threads (the same in 3.6: broker_server.py)
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_py.api.api_version import KAFKA_0_9_0
from kafka_py.cluster.broker import Broker
from kafka_py.common.cluster_resource import ClusterResource
from kafka_py.common.cluster_resource_listener import ClusterResourceListener
from kafka_py.common.errors import (
    ConfigException,
    DisconnectException,
    GenerateBrokerIdException,
    IllegalStateException,
    InconsistentBrokerIdException,
)
from kafka_py.common.metrics.jmx_reporter import JmxReporter
from kafka_py.common.metrics.metric_config import MetricConfig
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.metrics.recording_level import RecordingLevel
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.security.scram.scram_mechanism import ScramMechanism
from kafka_py.common.utils.app_info_parser import AppInfoParser
from kafka_py.common.utils.time import Time
from kafka_py.controller.kafka_controller import KafkaController
from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
from kafka_py.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_manager import LogManager
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.metrics.yammer import Metrics as YammerMetrics
from kafka_py.network.acceptor import ControlPlaneAcceptor, DataPlaneAcceptor
from kafka_py.network.socket_server import SocketServer
from kafka_py.security.credential_provider import CredentialProvider
from kafka_py.server.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from kafka_py.server.admin_manager import AdminManager
from kafka_py.server.api_version_manager import SimpleApiVersionManager, ranges_at
from kafka_py.server.broker_metadata_checkpoint import BrokerMetadata, BrokerMetadataCheckpoint
from kafka_py.server.broker_states import (
    BrokerShuttingDown,
    BrokerState,
    NotRunning,
    PendingControlledShutdown,
    RunningAsBroker,
    Starting,
)
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.config_handler import (
    BrokerConfigHandler,
    ClientIdConfigHandler,
    ConfigHandler,
    TopicConfigHandler,
    UserConfigHandler,
)
from kafka_py.server.config_type import ConfigType
from kafka_py.server.dynamic_config_manager import DynamicConfigManager
from kafka_py.server.fetch_session import FetchManager, FetchSessionCache
from kafka_py.server.kafka_apis import KafkaApis
from kafka_py.server.kafka_request_handler import KafkaRequestHandlerPool
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.server.metadata_cache import MetadataCache
from kafka_py.server.metadata_support import ZkSupport
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_manager import ReplicaManager
from kafka_py.server.transaction_verification import TransactionVerification
from kafka_py.utils import core_utils
from kafka_py.utils.concurrent import AtomicBoolean, AtomicInteger, CountDownLatch
from kafka_py.utils.kafka_scheduler import KafkaScheduler
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.node import Node
    from kafka_py.metrics.exporter import MetricsExporter
    from kafka_py.network.request_channel import RequestChannel
    from kafka_py.security.auth.authorizer import Authorizer
    from kafka_py.server.controlled_shutdown_client import ControlledShutdownClient
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.kafka_request_handler import ApiRequestHandler
    from kafka_py.xray.xray import Xray

P = TypeVar("P")
META_PROPERTIES = "meta.properties"

_LOOK_FOR_OTHERS_MS = 100  # while a controlled shutdown waits for its next attempt
_ZOOKEEPER_AT_STOP_MS = 2000  # the longest that a stop waits for ZooKeeper


class KafkaServer(KafkaMetricsGroup):
    """One broker.

    Mirrors: kafka.server.KafkaServer
    Thread: startup on the main thread, shutdown on that of the shutdown hook.
    Differs: one pool of handlers per plane, as in 3.7.1; the metrics endpoint starts where Kafka loads its own; the
        garbage collector's generations are frozen before the first request is served. A stop ends whether ZooKeeper
        answers or not: the controller is looked up in the metadata cache, as from 3.0 on (KAFKA-9189), and whoever
        waits for ZooKeeper's connection is told within zookeeper.connection.timeout.ms, and 2 s, that it does not
        come. The last broker of a cluster asks only once who takes over from it; Kafka's asks for 15 s. A log directory
        that takes no meta.properties goes offline, where Kafka exits.
    Left out: notifyClusterListeners for KafkaMetricsReporters -- there are none
    """

    MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS = 120000

    # The parts, in the order in which they come into being; None before that.
    _zk_client: KafkaZkClient | None = None
    _cluster_id: str | None = None
    kafka_scheduler: KafkaScheduler | None = None
    metrics: Metrics | None = None
    _broker_topic_stats: BrokerTopicStats | None = None
    quota_managers: QuotaFactory.QuotaManagers | None = None
    log_dir_failure_channel: LogDirFailureChannel | None = None
    log_manager: LogManager | None = None
    metadata_cache: MetadataCache | None = None
    credential_provider: CredentialProvider | None = None
    api_version_manager: SimpleApiVersionManager | None = None
    socket_server: SocketServer | None = None
    replica_manager: ReplicaManager | None = None
    broker_info: BrokerInfo | None = None
    token_manager: Any = None
    kafka_controller: KafkaController | None = None
    admin_manager: AdminManager | None = None
    group_coordinator: GroupCoordinator | None = None
    transaction_coordinator: TransactionCoordinator | None = None
    authorizer: Authorizer | None = None
    fetch_manager: FetchManager | None = None
    data_plane_request_processor: KafkaApis | None = None
    data_plane_request_handler_pool: KafkaRequestHandlerPool | None = None
    control_plane_request_processor: KafkaApis | None = None
    control_plane_request_handler_pool: KafkaRequestHandlerPool | None = None
    metrics_exporter: MetricsExporter | None = None
    xray: Xray | None = None
    dynamic_config_handlers: dict[str, ConfigHandler] | None = None
    dynamic_config_manager: DynamicConfigManager | None = None

    def __init__(
        self,
        config: KafkaConfig,
        time: Time = Time.SYSTEM,
        thread_name_prefix: str | None = None,
    ) -> None:
        """Nothing is started yet."""
        self.config = config
        self.time = self._time_of(time)
        self._thread_name_prefix = thread_name_prefix
        self._startup_complete = AtomicBoolean(False)  # atomic
        self._is_shutting_down = AtomicBoolean(False)  # atomic
        self._is_starting_up = AtomicBoolean(False)  # atomic
        self._shutdown_latch = CountDownLatch(1)  # volatile: startup
        self._hurry_latch = CountDownLatch(1)  # atomic
        self._controlled_shutdown_client: ControlledShutdownClient | None = None  # volatile: shutdown
        self._jmx_prefix = "kafka.server"
        self.broker_state = BrokerState()
        self.correlation_id = AtomicInteger(0)  # atomic
        self.broker_meta_props_file = META_PROPERTIES
        self.broker_metadata_checkpoints = {
            log_dir: BrokerMetadataCheckpoint(os.path.join(log_dir, META_PROPERTIES)) for log_dir in config.log_dirs
        }
        self.new_gauge("BrokerState", lambda: self.broker_state.current_state)
        self.new_gauge("ClusterId", lambda: self.cluster_id)
        self.new_gauge("yammer-metrics-count", lambda: YammerMetrics.default_registry().size)

    # -- What others ask for ----------------------------------------------------------------------------------------

    @property
    def zk_client(self) -> KafkaZkClient:
        """The connection to ZooKeeper; AssertionError before there is one."""
        assert self._zk_client is not None, "there is no ZooKeeper client before startup"
        return self._zk_client

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, once it is known."""
        return self._cluster_id

    @property
    def broker_topic_stats(self) -> BrokerTopicStats | None:
        """The topic meters."""
        return self._broker_topic_stats

    @property
    def apis(self) -> KafkaApis | None:
        """The request processor of the data plane, under its name of 1.1.1."""
        return self.data_plane_request_processor

    @property
    def request_handler_pool(self) -> KafkaRequestHandlerPool | None:
        """The handlers of the data plane, under their name of 1.1.1."""
        return self.data_plane_request_handler_pool

    @staticmethod
    def copy_kafka_config_to_log(kafka_config: KafkaConfig) -> dict[str, Any]:
        """The broker's options that are defaults of topics, under the topics' names for them."""
        return {
            LogConfig.SEGMENT_BYTES_PROP: kafka_config.log_segment_bytes,
            LogConfig.SEGMENT_MS_PROP: kafka_config.log_roll_time_millis,
            LogConfig.SEGMENT_JITTER_MS_PROP: kafka_config.log_roll_time_jitter_millis,
            LogConfig.SEGMENT_INDEX_BYTES_PROP: kafka_config.log_index_size_max_bytes,
            LogConfig.FLUSH_MESSAGES_PROP: kafka_config.log_flush_interval_messages,
            LogConfig.FLUSH_MS_PROP: kafka_config.log_flush_interval_ms,
            LogConfig.RETENTION_BYTES_PROP: kafka_config.log_retention_bytes,
            LogConfig.RETENTION_MS_PROP: kafka_config.log_retention_time_millis,
            LogConfig.MAX_MESSAGE_BYTES_PROP: kafka_config.message_max_bytes,
            LogConfig.INDEX_INTERVAL_BYTES_PROP: kafka_config.log_index_interval_bytes,
            LogConfig.DELETE_RETENTION_MS_PROP: kafka_config.log_cleaner_delete_retention_ms,
            LogConfig.MIN_COMPACTION_LAG_MS_PROP: kafka_config.log_cleaner_min_compaction_lag_ms,
            LogConfig.FILE_DELETE_DELAY_MS_PROP: kafka_config.log_delete_delay_ms,
            LogConfig.MIN_CLEANABLE_DIRTY_RATIO_PROP: kafka_config.log_cleaner_min_clean_ratio,
            LogConfig.CLEANUP_POLICY_PROP: kafka_config.log_cleanup_policy,
            LogConfig.MIN_IN_SYNC_REPLICAS_PROP: kafka_config.min_in_sync_replicas,
            LogConfig.COMPRESSION_TYPE_PROP: kafka_config.compression_type,
            LogConfig.UNCLEAN_LEADER_ELECTION_ENABLE_PROP: kafka_config.unclean_leader_election_enable,
            LogConfig.PRE_ALLOCATE_ENABLE_PROP: kafka_config.log_pre_allocate_enable,
            LogConfig.MESSAGE_FORMAT_VERSION_PROP: kafka_config.log_message_format_version.version,
            LogConfig.MESSAGE_TIMESTAMP_TYPE_PROP: kafka_config.log_message_timestamp_type.name,
            LogConfig.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP: kafka_config.log_message_timestamp_difference_max_ms,
        }

    @staticmethod
    def metric_config(kafka_config: KafkaConfig) -> MetricConfig:
        """How metrics are sampled."""
        return MetricConfig(
            samples=kafka_config.metric_num_samples,
            time_window_ms=kafka_config.metric_sample_window_ms,
            record_level=RecordingLevel.for_name(kafka_config.metric_recording_level),
        )

    # -- Who it is: ZooKeeper session, cluster id, broker id, registration -----------------------------------------

    def _init_zk_client(self, time: Time) -> None:
        config = self.config
        self.info("Connecting to zookeeper on %s", config.zk_connect)
        if config.zk_enable_secure_acls:
            # Kafka looks into the JAAS file whether ZooKeeper is to be authenticated to; there is none here.
            raise ConfigException(
                f"{config.ZK_ENABLE_SECURE_ACLS_PROP} is true, but the verification of the JAAS login file failed."
            )

        def create_zk_client(zk_connect: str) -> KafkaZkClient:
            return KafkaZkClient.apply(
                zk_connect,
                False,
                config.zk_session_timeout_ms,
                config.zk_connection_timeout_ms,
                config.zk_max_in_flight_requests,
                time,
            )

        servers, slash, chroot = config.zk_connect.partition("/")
        if servers and slash:
            zk_client = create_zk_client(servers)
            zk_client.make_sure_persistent_path_exists(slash + chroot)
            self.info("Created zookeeper path %s", slash + chroot)
            zk_client.close()
        self._zk_client = create_zk_client(config.zk_connect)
        self._zk_client.create_top_level_paths()

    def _get_or_generate_cluster_id(self, zk_client: KafkaZkClient) -> str:
        """The id under /cluster/id, which the first broker of a cluster makes up."""
        return zk_client.get_cluster_id() or zk_client.create_or_get_cluster_id(core_utils.generate_uuid_as_base64())

    def create_broker_info(self) -> BrokerInfo:
        """What to register: advertised listeners with the ports really bound and a host others can resolve."""
        assert self.socket_server is not None
        end_points = []
        for end_point in self.config.advertised_listeners:
            if end_point.port == 0:
                end_point = replace(end_point, port=self.socket_server.bound_port(end_point.listener_name))
            if end_point.host is None or not end_point.host.strip():
                end_point = replace(end_point, host=_canonical_host_name())
            end_points.append(end_point)
        broker = Broker(self.config.broker_id, tuple(end_points), self.config.rack)
        return BrokerInfo.create(broker, self.config.inter_broker_protocol_version, -1)

    def _get_broker_id_and_offline_dirs(self) -> tuple[int, list[str]]:
        """The id of this broker, and the log directories whose meta.properties cannot be read.

        The configured id must be that of meta.properties, in all directories; without a configured one it is taken
        from there, or generated. Raises InconsistentBrokerIdException.
        """
        broker_id = self.config.broker_id
        stored: set[int] = set()
        offline_dirs = []
        for log_dir, checkpoint in self.broker_metadata_checkpoints.items():
            try:
                metadata = checkpoint.read()
            except OSError as e:
                offline_dirs.append(log_dir)
                self.error("Fail to read %s under log directory %s", META_PROPERTIES, log_dir, exc=e)
            else:
                if metadata is not None:
                    stored.add(metadata.broker_id)
        if len(stored) > 1:
            found = ", ".join(map(str, sorted(stored)))
            raise InconsistentBrokerIdException(
                "Failed to match broker.id across log.dirs. This could happen if multiple brokers shared a log "
                f"directory (log.dirs) or partial data was manually copied from another broker. Found Set({found})"
            )
        if stored:
            [stored_id] = stored
            if 0 <= broker_id != stored_id:
                raise InconsistentBrokerIdException(
                    f"Configured broker.id {broker_id} doesn't match stored broker.id {stored_id} in "
                    "meta.properties. If you moved your data, make sure your configured broker.id matches. If you "
                    "intend to create a new broker, you should remove all data in your data directories (log.dirs)."
                )
            broker_id = stored_id
        elif broker_id < 0 and self.config.broker_id_generation_enable:
            broker_id = self._generate_broker_id()
        return broker_id, offline_dirs

    def _checkpoint_broker_id(self, broker_id: int) -> None:
        """Write meta.properties into every log directory that works and has none; where that fails it goes offline."""
        assert self.log_manager is not None
        for log_dir, checkpoint in self.broker_metadata_checkpoints.items():
            path = os.path.abspath(log_dir)
            try:
                if self.log_manager.is_log_dir_online(path) and checkpoint.read() is None:
                    checkpoint.write(BrokerMetadata(broker_id))
            except OSError as e:
                assert self.log_dir_failure_channel is not None
                msg = f"Failed to write {META_PROPERTIES} in directory {path}"
                self.log_dir_failure_channel.maybe_add_offline_log_dir(path, msg, e)

    def _generate_broker_id(self) -> int:
        """The next number of /brokers/seqid, above the ids that may be configured."""
        try:
            return self.zk_client.generate_broker_sequence_id() + self.config.max_reserved_broker_id
        except Exception as e:
            self.error("Failed to generate broker.id due to ", exc=e)
            raise GenerateBrokerIdException("Failed to generate broker.id", e) from e

    # -- Start ------------------------------------------------------------------------------------------------------

    def startup(self) -> None:
        """Start everything; whatever goes wrong stops everything again and is raised."""
        try:
            self.info("starting")
            if self._is_shutting_down.get():
                raise IllegalStateException("Kafka server is still shutting down, cannot re-start!")
            if self._startup_complete.get() or not self._is_starting_up.compare_and_set(False, True):
                return
            self.broker_state.new_state(Starting)
            self._start_identity()
            self._start_storage()
            self._start_replication()
            self._start_coordinators()
            self._start_request_processing()
            self.broker_state.new_state(RunningAsBroker)
            self._shutdown_latch = CountDownLatch(1)
            self._startup_complete.set(True)
            self._is_starting_up.set(False)
            AppInfoParser.register_app_info(self._jmx_prefix, str(self.config.broker_id), self.metrics)
            self.info("started")
        except BaseException as e:
            self.fatal("Fatal error during KafkaServer startup. Prepare to shutdown", exc=e)
            self._is_starting_up.set(False)
            self.shutdown()
            raise

    def _start_identity(self) -> None:
        """ZooKeeper, cluster id, broker id, dynamic configuration."""
        self._init_zk_client(self.time)
        self._cluster_id = self._get_or_generate_cluster_id(self.zk_client)
        self.info("Cluster ID = %s", self.cluster_id)
        broker_id, self._initial_offline_dirs = self._get_broker_id_and_offline_dirs()
        self.config.broker_id = broker_id
        self.log_ident = f"[KafkaServer id={broker_id}] "
        # Changes made from here on are applied when the DynamicConfigManager starts.
        self.config.dynamic_config.initialize(self.zk_client)

    def _start_storage(self) -> None:
        """Scheduler, metrics, quotas and logs."""
        config = self.config
        self.kafka_scheduler = KafkaScheduler(config.background_threads)
        self.kafka_scheduler.startup()
        reporters = [JmxReporter(self._jmx_prefix)]
        self.metrics = Metrics(KafkaServer.metric_config(config), reporters, self.time, True)
        self._broker_topic_stats = BrokerTopicStats(PLATFORM_MBEAN_SERVER)
        self.quota_managers = QuotaFactory.instantiate(config, self.metrics, self.time, self._thread_name_prefix or "")
        self.notify_cluster_listeners(reporters)
        self.log_dir_failure_channel = LogDirFailureChannel(len(config.log_dirs))
        self.log_manager = LogManager.apply(
            config,
            self._initial_offline_dirs,
            self.zk_client,
            self.broker_state,
            self.kafka_scheduler,
            self.time,
            self._broker_topic_stats,
            self.log_dir_failure_channel,
        )
        self.log_manager.startup()

    def _start_replication(self) -> None:
        """Metadata, sockets (no request is read before the end of start-up), replicas, registration, controller."""
        config = self.config
        assert self.metrics is not None
        self.metadata_cache = MetadataCache.zk_metadata_cache(config.broker_id)
        self.api_version_manager = SimpleApiVersionManager(
            "broker", ranges_at(self.config.api_level, KafkaApis.HANDLERS)
        )
        self.credential_provider = CredentialProvider([m.mechanism_name() for m in ScramMechanism])
        self.socket_server = SocketServer(
            config, self.metrics, self.time, self.credential_provider, self.api_version_manager
        )
        # 1.1.1 has its ports open by now; they are opened last, but a taken one must be found before we register.
        self.socket_server.check_ports()
        self.replica_manager = self.create_replica_manager(self._is_shutting_down)
        self.replica_manager.startup()
        self.broker_info = self.create_broker_info()
        self.zk_client.register_broker_in_zk(self.broker_info)
        # The id is ours now: it may go into meta.properties.
        self._checkpoint_broker_id(config.broker_id)
        self.kafka_controller = KafkaController(
            config,
            self.zk_client,
            self.time,
            self.metrics,
            self.broker_info,
            self.token_manager,
            self._thread_name_prefix,
        )
        self.kafka_controller.startup()
        self.admin_manager = AdminManager(config, self.metrics, self.metadata_cache, self.zk_client, self.time)

    def _start_coordinators(self) -> None:
        """Coordinators, authorizer and fetch sessions."""
        config = self.config
        replica_manager = self.replica_manager
        assert replica_manager is not None
        assert self.metrics is not None
        assert self.metadata_cache is not None
        self.group_coordinator = GroupCoordinator.apply(
            config, self.zk_client, replica_manager, self.time, self.metrics
        )
        self.group_coordinator.startup()
        self.transaction_coordinator = TransactionCoordinator.apply(
            config,
            replica_manager,
            KafkaScheduler(1, "transaction-log-manager-"),
            self.zk_client,
            self.metrics,
            self.metadata_cache,
            self.time,
        )
        self.transaction_coordinator.startup()
        if config.transaction_partition_verification_enable:
            replica_manager.transaction_verification = TransactionVerification(
                AddPartitionsToTxnManager.apply(
                    config, self.metrics, self.metadata_cache, self.transaction_coordinator, self.time
                ),
                lambda tp: replica_manager.get_partition_and_leader_replica_if_local(tp)[0],
            )
            replica_manager.transaction_verification.startup()
        if config.authorizer_class_name:
            self.authorizer = core_utils.create_object(config.authorizer_class_name)
            self.authorizer.configure(config.originals())
        self.fetch_manager = FetchManager(
            self.time,
            FetchSessionCache(
                config.max_incremental_fetch_session_cache_slots, self.MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS
            ),
        )

    def _start_request_processing(self) -> None:
        """Handlers, dynamic configuration, and at last the network."""
        config = self.config
        assert self.socket_server is not None
        if self.xray is not None:
            self.xray.start()
        channel = self.socket_server.data_plane_request_channel
        self.data_plane_request_processor = self.create_kafka_apis(channel)
        self.data_plane_request_handler_pool = KafkaRequestHandlerPool(
            config.broker_id,
            channel,
            self._observed(self.data_plane_request_processor),
            self.time,
            config.num_io_threads,
            f"{DataPlaneAcceptor.METRIC_PREFIX}RequestHandlerAvgIdlePercent",
            DataPlaneAcceptor.THREAD_PREFIX,
        )
        control_channel = self.socket_server.control_plane_request_channel_opt
        if control_channel is not None:
            self.control_plane_request_processor = self.create_kafka_apis(control_channel)
            self.control_plane_request_handler_pool = KafkaRequestHandlerPool(
                config.broker_id,
                control_channel,
                self._observed(self.control_plane_request_processor),
                self.time,
                1,
                f"{ControlPlaneAcceptor.METRIC_PREFIX}RequestHandlerAvgIdlePercent",
                ControlPlaneAcceptor.THREAD_PREFIX,
            )
        self._start_metrics_exporter()
        # Whoever can be reconfigured is known before the first notification may come.
        config.dynamic_config.add_reconfigurables(self)
        self._start_dynamic_config_manager()
        # What is there now stays: the collector need not look at it again. It stops all threads while it looks, so it
        # does that before anybody waits for an answer.
        gc.collect()
        gc.freeze()
        # a listener that cannot be opened ends the start-up
        self.socket_server.enable_request_processing({}).join()

    def _start_dynamic_config_manager(self) -> None:
        assert self.log_manager is not None
        assert self.quota_managers is not None
        assert self.credential_provider is not None
        self.dynamic_config_handlers = {
            ConfigType.TOPIC: TopicConfigHandler(self.log_manager, self.config, self.quota_managers),
            ConfigType.CLIENT: ClientIdConfigHandler(self.quota_managers),
            ConfigType.USER: UserConfigHandler(self.quota_managers, self.credential_provider),
            ConfigType.BROKER: BrokerConfigHandler(self.config, self.quota_managers),
        }
        self.dynamic_config_manager = DynamicConfigManager(self.zk_client, self.dynamic_config_handlers)
        self.dynamic_config_manager.startup()

    def _time_of(self, time: Time) -> Time:
        """The clock as it is, or one that can stand (kafka.py.xray)."""
        if self.config.xray == "off":
            return time
        from kafka_py.xray.xray import Xray  # only a watched broker needs it

        self.xray = Xray(self.config, time)
        return self.xray.time

    def _observed(self, apis: KafkaApis) -> ApiRequestHandler:
        """The handler as it is, or with the X-ray before it (kafka.py.xray)."""
        return apis if self.xray is None else self.xray.observe(apis)

    def _start_metrics_exporter(self) -> None:
        """Serve /metrics and /jmx; a broker that cannot is still a broker."""
        listener = self.config.http_listener
        if listener == "none":
            return
        # Imported late: http.server and prometheus_client are only needed with an endpoint.
        from kafka_py.metrics.exporter import MetricsExporter

        try:
            self.metrics_exporter = MetricsExporter(listener)
            pages = None
            if self.xray is not None:
                from kafka_py.xray.pages import XrayPages  # only a watched broker has them

                pages = XrayPages.install(self, self.metrics_exporter, listener)
            self.metrics_exporter.startup()
            if pages is not None:
                pages.announce(self.metrics_exporter.port)
        except ValueError as e:
            raise ConfigException(self.config.HTTP_LISTENER_PROP, listener, "Expected host:port or none") from e
        except OSError as e:
            self.metrics_exporter = None
            self.warn("No metrics endpoint: cannot listen on %s: %s", listener, e)

    def notify_cluster_listeners(self, cluster_listeners: Iterable[object]) -> None:
        """Tell those who want to know it the cluster's id."""
        resource = ClusterResource(self.cluster_id)
        for listener in cluster_listeners:
            if isinstance(listener, ClusterResourceListener):
                listener.on_update(resource)

    def create_replica_manager(self, is_shutting_down: AtomicBoolean) -> ReplicaManager:
        """The replica manager; a seam for tests and for BrokerServer."""
        assert self.metrics is not None
        assert self.kafka_scheduler is not None
        assert self.log_manager is not None
        assert self.quota_managers is not None
        assert self._broker_topic_stats is not None
        assert self.metadata_cache is not None
        assert self.log_dir_failure_channel is not None
        return ReplicaManager(
            self.config,
            self.metrics,
            self.time,
            self.zk_client,
            self.kafka_scheduler,
            self.log_manager,
            is_shutting_down,
            self.quota_managers,
            self._broker_topic_stats,
            self.metadata_cache,
            self.log_dir_failure_channel,
        )

    def create_kafka_apis(self, request_channel: RequestChannel) -> KafkaApis:
        """The request processor of one plane."""
        assert self.replica_manager is not None
        assert self.admin_manager is not None
        assert self.group_coordinator is not None
        assert self.transaction_coordinator is not None
        assert self.kafka_controller is not None
        assert self.metadata_cache is not None
        assert self.metrics is not None
        assert self.quota_managers is not None
        assert self.fetch_manager is not None
        assert self._broker_topic_stats is not None
        assert self._cluster_id is not None
        return KafkaApis(
            request_channel,
            self.replica_manager,
            self.admin_manager,
            self.group_coordinator,
            self.transaction_coordinator,
            self.kafka_controller,
            self.zk_client,
            self.config.broker_id,
            self.config,
            self.metadata_cache,
            self.metrics,
            self.authorizer,
            self.quota_managers,
            self.fetch_manager,
            self._broker_topic_stats,
            self._cluster_id,
            self.time,
            self.token_manager,
            api_version_manager=self.api_version_manager,
            metadata_support=ZkSupport(
                self.admin_manager, self.kafka_controller, self.zk_client, None, self.metadata_cache
            ),
        )

    # -- Stop -------------------------------------------------------------------------------------------------------

    def _controlled_shutdown(self) -> None:
        """Ask the controller to move leadership off this broker; go on without when it cannot."""
        if not (self._startup_complete.get() and self.config.controlled_shutdown_enable):
            return
        self.info("Starting controlled shutdown")
        self.broker_state.new_state(PendingControlledShutdown)
        if not self._do_controlled_shutdown(self.config.controlled_shutdown_max_retries):
            self.warn("Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed")

    def _do_controlled_shutdown(self, retries: int) -> bool:
        # Imported late: only a broker that stops needs to be a client of its controller.
        from kafka_py.server.controlled_shutdown_client import ControlledShutdownClient

        assert self.metrics is not None
        client = ControlledShutdownClient(self.config, self.metrics, self.time, self.log_ident)
        self._controlled_shutdown_client = client
        succeeded = False
        try:
            remaining_retries = retries
            previous_controller: Node | None = None
            io_exception = False
            while not succeeded and remaining_retries > 0 and self._hurry_latch.get_count() > 0:
                remaining_retries -= 1
                controller = self._find_controller()
                # The latest controller is the one to ask, over a connection of its own.
                if controller is not None and (io_exception or controller != previous_controller):
                    io_exception = False
                    if previous_controller is not None:
                        client.disconnect(previous_controller)
                    previous_controller = controller
                    client.set_controller(controller)
                if previous_controller is not None:
                    try:
                        succeeded = self._ask(client, previous_controller)
                    except (OSError, DisconnectException) as e:
                        io_exception = True
                        self.warn(
                            "Error during controlled shutdown, possibly because leader movement took longer than the "
                            "configured controller.socket.timeout.ms and/or request.timeout.ms: %s",
                            e,
                        )
                if not succeeded:
                    if not self.zk_client.is_connected:
                        self.warn("Not retrying controlled shutdown: without ZooKeeper no leader can be moved")
                        break
                    if not self._await_another_attempt():
                        self.warn("Not retrying controlled shutdown: no other broker is alive to lead")
                        break
                    self.warn("Retrying controlled shutdown after the previous attempt failed...")
        finally:
            client.close()
        return succeeded

    def _await_another_attempt(self) -> bool:
        """Wait for controlled.shutdown.retry.backoff.ms, or until no other broker is alive; False if none is."""
        assert self.metadata_cache is not None
        left_ms = self.config.controlled_shutdown_retry_backoff_ms
        while True:
            if all(broker.id == self.config.broker_id for broker in self.metadata_cache.get_alive_brokers()):
                return False
            if left_ms <= 0 or self._hurry_latch.await_(min(left_ms, _LOOK_FOR_OTHERS_MS)):
                return True
            left_ms -= _LOOK_FOR_OTHERS_MS

    def _ask(self, client: ControlledShutdownClient, controller: Node) -> bool:
        """Whether the controller has taken all leaders away; OSError or DisconnectException without an answer."""
        version = 0 if self.config.inter_broker_protocol_version < KAFKA_0_9_0 else 1
        response = client.ask(controller, version)
        if response.error() is Errors.NONE and not response.partitions_remaining():
            self.info("Controlled shutdown succeeded")
            return True
        self.info("Remaining partitions to move: %s", ",".join(map(str, response.partitions_remaining())))
        self.info("Error from controller: %s", response.error())
        return False

    def _find_controller(self) -> Node | None:
        """Where the controller listens, as far as we were told: asking ZooKeeper might take for ever."""
        assert self.metadata_cache is not None
        controller_id = self.metadata_cache.get_controller_id()
        if controller_id is None:
            self.info("No controller present in the metadata cache")
            return None
        node = self.metadata_cache.get_alive_broker_node(controller_id, self.config.inter_broker_listener_name)
        if node is None:
            self.info("Broker registration for controller %s is not available in the metadata cache", controller_id)
        return node

    def hurry_shutdown(self) -> None:
        """Have a shutdown under way wait for nobody: no answer of the controller, no other attempt, no ZooKeeper.

        What it still does it does in order: logs are flushed and marked as clean.
        """
        self.info("Shutting down without waiting for the controller and ZooKeeper")
        self._hurry_latch.count_down()
        if self._controlled_shutdown_client is not None:
            self._controlled_shutdown_client.initiate_close()
        self._limit_waits_for_zookeeper(0)

    def _limit_waits_for_zookeeper(self, limit_ms: int) -> None:
        """Handlers, schedulers and the controller are waited for below, and may be waiting for it themselves."""
        if self._zk_client is not None:
            self._zk_client.limit_waits(limit_ms)

    def shutdown(self) -> None:
        """Stop everything, in an order in which nobody misses what is gone; a second call does nothing."""
        try:
            self.info("shutting down")
            if self._is_starting_up.get():
                raise IllegalStateException("Kafka server is still starting up, cannot shut down!")
            # The latch is looked at first because it is changed last: two callers cannot both get in.
            if self._shutdown_latch.get_count() > 0 and self._is_shutting_down.compare_and_set(False, True):
                # who is held could not stop
                self._stop(self.xray, lambda part: part.close())
                self._limit_waits_for_zookeeper(min(self.config.zk_connection_timeout_ms, _ZOOKEEPER_AT_STOP_MS))
                core_utils.swallow(self._controlled_shutdown, self)
                self.broker_state.new_state(BrokerShuttingDown)
                self._stop_parts()
                self.broker_state.new_state(NotRunning)
                self._startup_complete.set(False)
                self._is_shutting_down.set(False)
                core_utils.swallow(
                    lambda: AppInfoParser.unregister_app_info(
                        self._jmx_prefix, str(self.config.broker_id), self.metrics
                    ),
                    self,
                )
                self._shutdown_latch.count_down()
                self.info("shut down completed")
        except BaseException as e:
            self.fatal("Fatal error during KafkaServer shutdown.", exc=e)
            self._is_shutting_down.set(False)
            raise

    def _stop_parts(self) -> None:
        """No new requests, no handlers, no background work; then the parts themselves; the sockets close last.

        The controller still answers controlled shutdown requests of others while it goes, hence the sockets' place.
        """
        sockets = self.socket_server
        self._stop(self.dynamic_config_manager, lambda part: part.shutdown())
        self._stop(sockets, lambda part: part.stop_processing_requests())
        self._stop(self.data_plane_request_handler_pool, lambda part: part.shutdown())
        self._stop(self.control_plane_request_handler_pool, lambda part: part.shutdown())
        self._stop(self.kafka_scheduler, lambda part: part.shutdown())
        self._stop(self.data_plane_request_processor, lambda part: part.close())
        self._stop(self.control_plane_request_processor, lambda part: part.close())
        self._stop(self.authorizer, lambda part: part.close())
        self._stop(self.admin_manager, lambda part: part.shutdown())
        self._stop(self.transaction_coordinator, lambda part: part.shutdown())
        self._stop(self.group_coordinator, lambda part: part.shutdown())
        self._stop(self.token_manager, lambda part: part.shutdown())
        self._stop(self.replica_manager, lambda part: part.shutdown())
        self._stop(self.log_manager, lambda part: part.shutdown())
        self._stop(self.kafka_controller, lambda part: part.shutdown())
        self._stop(self._zk_client, lambda part: part.close())
        self._stop(self.quota_managers, lambda part: part.shutdown())
        self._stop(sockets, lambda part: part.shutdown())
        self._stop(self.metrics, lambda part: part.close())
        self._stop(self._broker_topic_stats, lambda part: part.close())
        self._stop(self.metrics_exporter, lambda part: part.shutdown())

    def _stop(self, part: P | None, how: Callable[[P], object]) -> None:
        """Stop a part, if there is one; what goes wrong is logged, and the next one is stopped all the same."""
        if part is not None:
            core_utils.swallow(lambda: how(part), self)

    def await_shutdown(self) -> None:
        """Wait until shutdown() is done."""
        self._shutdown_latch.await_()

    def get_log_manager(self) -> LogManager | None:
        """The log manager."""
        return self.log_manager

    def bound_port(self, listener_name: ListenerName) -> int:
        """The port a listener is really bound to."""
        assert self.socket_server is not None
        return self.socket_server.bound_port(listener_name)


def _canonical_host_name() -> str:
    """What InetAddress.getLocalHost.getCanonicalHostName answers: the full name, or the address when it has none."""
    name = socket.gethostname()
    try:
        return socket.getfqdn(socket.gethostbyname(name))
    except OSError:
        return name
