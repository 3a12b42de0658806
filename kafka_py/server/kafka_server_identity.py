"""Who a broker is: its ZooKeeper session, cluster id, broker id and what it registers.

Mirrors: core/src/main/scala/kafka/server/KafkaServer.scala @ 1.1.1 (these methods)
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

from kafka_py.cluster.broker import Broker
from kafka_py.common.errors import ConfigException, GenerateBrokerIdException, InconsistentBrokerIdException
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.broker_metadata_checkpoint import BrokerMetadata, BrokerMetadataCheckpoint
from kafka_py.utils import core_utils
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from kafka_py.zk.zk_data import BrokerInfo

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time
    from kafka_py.log.log_manager import LogManager
    from kafka_py.network.socket_server import SocketServer
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel

META_PROPERTIES = "meta.properties"


class KafkaServerIdentity(KafkaMetricsGroup):
    """The part of KafkaServer that finds out and keeps who it is.

    Thread: that of KafkaServer.startup.
    Differs: a log directory that takes no meta.properties goes offline, where Kafka exits.
    """

    logger_name = "kafka.server.KafkaServer"

    config: KafkaConfig
    broker_metadata_checkpoints: dict[str, BrokerMetadataCheckpoint]
    _zk_client: KafkaZkClient | None = None
    log_manager: LogManager | None = None
    log_dir_failure_channel: LogDirFailureChannel | None = None
    socket_server: SocketServer | None = None

    @property
    def zk_client(self) -> KafkaZkClient:
        """The connection to ZooKeeper; AssertionError before there is one."""
        assert self._zk_client is not None, "there is no ZooKeeper client before startup"
        return self._zk_client

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


def _canonical_host_name() -> str:
    """What InetAddress.getLocalHost.getCanonicalHostName answers: the full name, or the address when it has none."""
    name = socket.gethostname()
    try:
        return socket.getfqdn(socket.gethostbyname(name))
    except OSError:
        return name
