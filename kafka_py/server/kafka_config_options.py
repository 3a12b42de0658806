"""The broker's options, one line each: attribute, key, type, default, check, importance and what it does.

Everything that knows options comes out of this table: parsing, the attributes of KafkaConfig, DescribeConfigs and the
documentation. A `fixed` option is read once; a `dynamic` one follows /config/brokers while the broker runs; a `general`
one has no attribute of its own, because KafkaConfig combines it with others or a listener may override it.

Mirrors: core/src/main/scala/kafka/server/KafkaConfig.scala @ 1.1.1 (Defaults, the documentation and configDef)
"""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any, ClassVar

from kafka_py.common.config.config_def import ConfigDef
from kafka_py.common.config.sasl_configs import SaslConfigs as Sasl
from kafka_py.common.config.ssl_configs import SslConfigs as Ssl
from kafka_py.common.config.types.password import Password
from kafka_py.server.kafka_config_keys import KafkaConfigKeys as K

BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = ConfigDef.Type
HIGH, MEDIUM, LOW = ConfigDef.Importance
ValidString, ValidList = ConfigDef.ValidString, ConfigDef.ValidList
at_least = ConfigDef.Range.at_least
REQUIRED = ConfigDef.NO_DEFAULT_VALUE

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DOUBLE_MAX = 1.7976931348623157e308
LATEST = "2.5-IV0"
PROTOCOLS = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"


class Option:
    """One line of the table, and the stand-in on the class for an attribute that every instance sets."""

    __slots__ = ("attribute", "key", "mode")

    def __init__(self, key: ConfigDef.ConfigKey, mode: str) -> None:
        """The row itself, and whether it is fixed, dynamic or general."""
        self.key = key
        self.mode = mode
        self.attribute = ""

    def __set_name__(self, owner: type[KafkaConfigOptions], name: str) -> None:
        """Enter the row in its class's table."""
        self.attribute = name
        owner.CONFIG_DEF.define_key(self.key)
        if self.mode != "general":
            owner.ATTRIBUTES[name] = self.key.name
        if self.mode == "dynamic":
            owner.DYNAMIC_ATTRIBUTES.append(name)


def fixed(*row: Any) -> Any:
    """An option that keeps the value it had at start-up."""
    return Option(ConfigDef.ConfigKey(*row), "fixed")


def dynamic(*row: Any) -> Any:
    """An option whose attribute follows the dynamic configuration."""
    return Option(ConfigDef.ConfigKey(*row), "dynamic")


def general(*row: Any) -> Any:
    """An option without an attribute of its own."""
    return Option(ConfigDef.ConfigKey(*row), "general")


class KafkaConfigOptions(K):
    """The table as a class body, so that every attribute of a KafkaConfig has its type and its text in one place."""

    CONFIG_DEF: ClassVar[ConfigDef] = ConfigDef()
    ATTRIBUTES: ClassVar[dict[str, str]] = {}
    DYNAMIC_ATTRIBUTES: ClassVar[list[str]] = []

    # fmt: off
    # -- ZooKeeper
    zk_connect: str = fixed(K.ZK_CONNECT_PROP, STRING, REQUIRED, None, HIGH, "ZooKeeper servers as host:port, comma separated, with an optional chroot path after the last one")
    zk_session_timeout_ms: int = fixed(K.ZK_SESSION_TIMEOUT_MS_PROP, INT, 6000, None, HIGH, "Time without a heartbeat after which ZooKeeper ends the broker's session and its ephemeral nodes vanish")
    _zk_connection_timeout_ms = general(K.ZK_CONNECTION_TIMEOUT_MS_PROP, INT, None, None, HIGH, "How long start-up waits for the first ZooKeeper connection; zookeeper.session.timeout.ms when not set")
    zk_sync_time_ms: int = fixed(K.ZK_SYNC_TIME_MS_PROP, INT, 2000, None, LOW, "How far a ZooKeeper follower may lag its leader; known, not used")
    zk_enable_secure_acls: bool = fixed(K.ZK_ENABLE_SECURE_ACLS_PROP, BOOLEAN, False, None, HIGH, "Whether new znodes are protected by ACLs")
    zk_max_in_flight_requests: int = fixed(K.ZK_MAX_IN_FLIGHT_REQUESTS_PROP, INT, 10, at_least(1), HIGH, "Number of ZooKeeper requests that may be without an answer before the next one waits")

    # -- General
    broker_id_generation_enable: bool = fixed(K.BROKER_ID_GENERATION_ENABLE_PROP, BOOLEAN, True, None, MEDIUM, "Whether a broker with broker.id=-1 takes a generated id; look at reserved.broker.max.id when this is on")
    max_reserved_broker_id: int = fixed(K.MAX_RESERVED_BROKER_ID_PROP, INT, 1000, at_least(0), MEDIUM, "Largest id that may be given in broker.id; generated ids begin above it")
    broker_id: int = fixed(K.BROKER_ID_PROP, INT, -1, None, HIGH, "Number of this broker in the cluster; -1 asks for a generated one, which meta.properties then keeps")
    message_max_bytes: int = dynamic(K.MESSAGE_MAX_BYTES_PROP, INT, 1000012, at_least(0), HIGH, "Largest record batch the broker accepts; max.message.bytes sets it per topic")
    num_network_threads: int = dynamic(K.NUM_NETWORK_THREADS_PROP, INT, 3, at_least(1), HIGH, "Processor threads per listener: they read requests from and write responses to sockets")
    num_io_threads: int = dynamic(K.NUM_IO_THREADS_PROP, INT, 8, at_least(1), HIGH, "Request handler threads: they do what a request asks, file access included")
    _num_replica_alter_log_dirs_threads = general(K.NUM_REPLICA_ALTER_LOG_DIRS_THREADS_PROP, INT, None, None, HIGH, "Threads that move replicas between log directories; one per directory when not set")
    background_threads: int = dynamic(K.BACKGROUND_THREADS_PROP, INT, 10, at_least(1), HIGH, "Threads of the scheduler that runs periodic work")
    queued_max_requests: int = fixed(K.QUEUED_MAX_REQUESTS_PROP, INT, 500, at_least(1), HIGH, "Requests that may wait for a handler before processors stop reading")
    queued_max_bytes: int = fixed(K.QUEUED_MAX_BYTES_PROP, LONG, -1, None, MEDIUM, "Bytes of waiting requests above which no more are read; -1 sets no limit")
    request_timeout_ms: int = fixed(K.REQUEST_TIMEOUT_MS_PROP, INT, 30000, None, HIGH, "How long a request this broker sends waits for its response")

    # -- Authorizer
    authorizer_class_name: str = fixed(K.AUTHORIZER_CLASS_NAME_PROP, STRING, "", None, LOW, "Class that decides whether a principal may do something; empty lets everybody do everything")

    # -- Socket server
    port: int = fixed(K.PORT_PROP, INT, 9092, None, HIGH, "DEPRECATED: port to listen on when listeners is not set")
    host_name: str = fixed(K.HOST_NAME_PROP, STRING, "", None, HIGH, "DEPRECATED: address to bind to when listeners is not set; empty binds to all interfaces")
    _listeners = general(K.LISTENERS_PROP, STRING, None, None, HIGH, "Addresses to listen on, as NAME://host:port, comma separated; 0.0.0.0 or no host means all interfaces")
    _advertised_host_name = general(K.ADVERTISED_HOST_NAME_PROP, STRING, None, None, HIGH, "DEPRECATED: host to publish when neither advertised.listeners nor listeners is set")
    _advertised_port = general(K.ADVERTISED_PORT_PROP, INT, None, None, HIGH, "DEPRECATED: port to publish when neither advertised.listeners nor listeners is set")
    _advertised_listeners = general(K.ADVERTISED_LISTENERS_PROP, STRING, None, None, HIGH, "Addresses published to clients when they differ from listeners; 0.0.0.0 cannot be published")
    _listener_security_protocol_map = general(K.LISTENER_SECURITY_PROTOCOL_MAP_PROP, STRING, PROTOCOLS, None, LOW, "Security protocol of each listener name, as NAME:PROTOCOL, comma separated; listener.name.<name>. prefixes set the rest per listener")
    socket_send_buffer_bytes: int = fixed(K.SOCKET_SEND_BUFFER_BYTES_PROP, INT, -1, None, HIGH, "SO_SNDBUF of accepted sockets; -1 leaves it to the system, which is the default here (102400 in Kafka)")
    socket_receive_buffer_bytes: int = fixed(K.SOCKET_RECEIVE_BUFFER_BYTES_PROP, INT, -1, None, HIGH, "SO_RCVBUF of the listening sockets; -1 leaves it to the system, which is the default here (102400 in Kafka)")
    socket_request_max_bytes: int = fixed(K.SOCKET_REQUEST_MAX_BYTES_PROP, INT, 100 * 1024 * 1024, at_least(1), HIGH, "Largest request; a connection that announces more is closed before anything is read")
    max_connections_per_ip: int = fixed(K.MAX_CONNECTIONS_PER_IP_PROP, INT, INT_MAX, at_least(1), MEDIUM, "Connections one address may have open at a time")
    _max_connections_per_ip_overrides = general(K.MAX_CONNECTIONS_PER_IP_OVERRIDES_PROP, STRING, "", None, MEDIUM, "Other limits for single addresses, as host:count, comma separated")
    connections_max_idle_ms: int = fixed(K.CONNECTIONS_MAX_IDLE_MS_PROP, LONG, 600000, None, MEDIUM, "Silence after which a connection is closed")
    socket_listen_backlog_size: int = fixed(K.SOCKET_LISTEN_BACKLOG_SIZE_PROP, INT, 50, at_least(1), MEDIUM, "Connections that may wait for the acceptor; Linux cuts it to net.core.somaxconn [3.7]")
    max_connections: int = dynamic(K.MAX_CONNECTIONS_PROP, INT, INT_MAX, at_least(0), MEDIUM, "Connections the broker holds at a time; a listener prefix limits one listener [3.7]")
    max_connection_creation_rate: int = dynamic(K.MAX_CONNECTION_CREATION_RATE_PROP, INT, INT_MAX, at_least(0), MEDIUM, "Connections accepted per second; a listener prefix limits one listener [3.7]")
    failed_authentication_delay_ms: int = fixed(K.FAILED_AUTHENTICATION_DELAY_MS_PROP, INT, 100, at_least(0), LOW, "How long the close of a connection that failed to authenticate is put off [3.7]")
    _control_plane_listener_name = general(K.CONTROL_PLANE_LISTENER_NAME_PROP, STRING, None, None, HIGH, "Listener kept for the controller, with an acceptor, a processor and a handler of its own [3.7]")
    _early_start_listeners = general(K.EARLY_START_LISTENERS_PROP, STRING, None, None, HIGH, "Listeners that may start before the authorizer is ready [3.7]")

    # -- Rack
    rack: str | None = fixed(K.RACK_PROP, STRING, None, None, MEDIUM, "Rack or zone of this broker; replicas are spread over racks")

    # -- Log
    num_partitions: int = fixed(K.NUM_PARTITIONS_PROP, INT, 1, at_least(1), MEDIUM, "Partitions of a topic that is created without a number")
    _log_dir = general(K.LOG_DIR_PROP, STRING, "/tmp/kafka-logs", None, HIGH, "The one data directory; log.dirs takes precedence")
    _log_dirs = general(K.LOG_DIRS_PROP, STRING, None, None, HIGH, "Data directories, comma separated; partitions are spread over them")
    log_segment_bytes: int = dynamic(K.LOG_SEGMENT_BYTES_PROP, INT, 1024 * 1024 * 1024, at_least(14), HIGH, "Size at which a segment file is closed and the next begun")
    _log_roll_time_millis = general(K.LOG_ROLL_TIME_MILLIS_PROP, LONG, None, None, HIGH, "Age in milliseconds at which the active segment is closed; log.roll.hours when not set")
    _log_roll_time_hours = general(K.LOG_ROLL_TIME_HOURS_PROP, INT, 168, at_least(1), HIGH, "Age in hours at which the active segment is closed; log.roll.ms takes precedence")
    _log_roll_time_jitter_millis = general(K.LOG_ROLL_TIME_JITTER_MILLIS_PROP, LONG, None, None, HIGH, "Upper bound of the random time taken off log.roll.ms; log.roll.jitter.hours when not set")
    _log_roll_time_jitter_hours = general(K.LOG_ROLL_TIME_JITTER_HOURS_PROP, INT, 0, at_least(0), HIGH, "The same in hours; log.roll.jitter.ms takes precedence")
    _log_retention_time_millis = general(K.LOG_RETENTION_TIME_MILLIS_PROP, LONG, None, None, HIGH, "Age in milliseconds above which segments are deleted; log.retention.minutes when not set, -1 sets no limit")
    _log_retention_time_minutes = general(K.LOG_RETENTION_TIME_MINUTES_PROP, INT, None, None, HIGH, "The same in minutes; log.retention.hours when not set")
    _log_retention_time_hours = general(K.LOG_RETENTION_TIME_HOURS_PROP, INT, 168, None, HIGH, "The same in hours, the last resort of the three")
    log_retention_bytes: int = dynamic(K.LOG_RETENTION_BYTES_PROP, LONG, -1, None, HIGH, "Size of a partition above which its oldest segments are deleted; -1 sets no limit")
    log_cleanup_interval_ms: int = fixed(K.LOG_CLEANUP_INTERVAL_MS_PROP, LONG, 300000, at_least(1), MEDIUM, "Time between two looks for segments to delete")
    log_cleanup_policy: list[str] = dynamic(K.LOG_CLEANUP_POLICY_PROP, LIST, "delete", ValidList.in_("compact", "delete"), MEDIUM, "What happens to old segments: delete, compact, or both")
    log_cleaner_threads: int = fixed(K.LOG_CLEANER_THREADS_PROP, INT, 1, at_least(0), MEDIUM, "Threads that compact logs")
    log_cleaner_io_max_bytes_per_second: float = fixed(K.LOG_CLEANER_IO_MAX_BYTES_PER_SECOND_PROP, DOUBLE, DOUBLE_MAX, None, MEDIUM, "Upper bound of what compaction reads and writes together, per second on average")
    log_cleaner_dedupe_buffer_size: int = fixed(K.LOG_CLEANER_DEDUPE_BUFFER_SIZE_PROP, LONG, 128 * 1024 * 1024, None, MEDIUM, "Memory for the key maps of all cleaner threads together")
    log_cleaner_io_buffer_size: int = fixed(K.LOG_CLEANER_IO_BUFFER_SIZE_PROP, INT, 512 * 1024, at_least(0), MEDIUM, "Memory for the read and write buffers of all cleaner threads together")
    log_cleaner_dedupe_buffer_load_factor: float = fixed(K.LOG_CLEANER_DEDUPE_BUFFER_LOAD_FACTOR_PROP, DOUBLE, 0.9, None, MEDIUM, "How full a key map may get: fuller cleans more at a time and collides more often")
    log_cleaner_backoff_ms: int = fixed(K.LOG_CLEANER_BACKOFF_MS_PROP, LONG, 15000, at_least(0), MEDIUM, "Pause of a cleaner thread that finds nothing to do")
    log_cleaner_min_clean_ratio: float = dynamic(K.LOG_CLEANER_MIN_CLEAN_RATIO_PROP, DOUBLE, 0.5, None, MEDIUM, "Share of uncompacted bytes from which a log is worth compacting")
    log_cleaner_enable: bool = fixed(K.LOG_CLEANER_ENABLE_PROP, BOOLEAN, True, None, MEDIUM, "Whether logs are compacted at all; the offsets topic needs it")
    log_cleaner_delete_retention_ms: int = dynamic(K.LOG_CLEANER_DELETE_RETENTION_MS_PROP, LONG, 86400000, None, MEDIUM, "How long tombstones stay in a compacted log")
    log_cleaner_min_compaction_lag_ms: int = dynamic(K.LOG_CLEANER_MIN_COMPACTION_LAG_MS_PROP, LONG, 0, None, MEDIUM, "Time for which a new record is safe from compaction")
    log_index_size_max_bytes: int = dynamic(K.LOG_INDEX_SIZE_MAX_BYTES_PROP, INT, 10 * 1024 * 1024, at_least(4), MEDIUM, "Room for an offset index")
    log_index_interval_bytes: int = dynamic(K.LOG_INDEX_INTERVAL_BYTES_PROP, INT, 4096, at_least(0), MEDIUM, "Bytes of log between two entries of the offset index")
    log_flush_interval_messages: int = dynamic(K.LOG_FLUSH_INTERVAL_MESSAGES_PROP, LONG, LONG_MAX, at_least(1), HIGH, "Number of records after which a log is forced to disk")
    log_delete_delay_ms: int = dynamic(K.LOG_DELETE_DELAY_MS_PROP, LONG, 60000, at_least(0), HIGH, "Time between taking a segment out of its log and removing its file")
    log_flush_scheduler_interval_ms: int = fixed(K.LOG_FLUSH_SCHEDULER_INTERVAL_MS_PROP, LONG, LONG_MAX, None, HIGH, "Time between two looks for logs to force to disk")
    _log_flush_interval_ms = general(K.LOG_FLUSH_INTERVAL_MS_PROP, LONG, None, None, HIGH, "Age of unflushed records at which a log is forced to disk; log.flush.scheduler.interval.ms when not set")
    log_flush_offset_checkpoint_interval_ms: int = fixed(K.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS_PROP, INT, 60000, at_least(0), HIGH, "Time between two writes of the recovery points")
    log_flush_start_offset_checkpoint_interval_ms: int = fixed(K.LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS_PROP, INT, 60000, at_least(0), HIGH, "Time between two writes of the log start offsets")
    log_pre_allocate_enable: bool = dynamic(K.LOG_PRE_ALLOCATE_PROP, BOOLEAN, False, None, MEDIUM, "Whether a segment file is created at its full size")
    num_recovery_threads_per_data_dir: int = dynamic(K.NUM_RECOVERY_THREADS_PER_DATA_DIR_PROP, INT, 1, at_least(1), HIGH, "Threads per data directory that load logs at start-up and flush them at shutdown")
    auto_create_topics_enable: bool = fixed(K.AUTO_CREATE_TOPICS_ENABLE_PROP, BOOLEAN, True, None, HIGH, "Whether asking for the metadata of an unknown topic creates it")
    min_in_sync_replicas: int = dynamic(K.MIN_IN_SYNC_REPLICAS_PROP, INT, 1, at_least(1), HIGH, "With acks=all: smallest ISR that accepts a write")
    log_message_format_version_string: str = fixed(K.LOG_MESSAGE_FORMAT_VERSION_PROP, STRING, LATEST, None, MEDIUM, "Record format to store, named by a broker version; all stored records must be of it or older")
    _log_message_timestamp_type = general(K.LOG_MESSAGE_TIMESTAMP_TYPE_PROP, STRING, "CreateTime", ValidString.in_("CreateTime", "LogAppendTime"), MEDIUM, "Whose clock a record's timestamp is: the producer's (CreateTime) or the broker's (LogAppendTime)")
    log_message_timestamp_difference_max_ms: int = dynamic(K.LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP, LONG, LONG_MAX, None, MEDIUM, "Largest distance between a CreateTime timestamp and the broker's clock")
    _create_topic_policy_class_name = general(K.CREATE_TOPIC_POLICY_CLASS_NAME_PROP, CLASS, None, None, LOW, "CreateTopicPolicy that may refuse the creation of a topic")
    _alter_config_policy_class_name = general(K.ALTER_CONFIG_POLICY_CLASS_NAME_PROP, CLASS, None, None, LOW, "AlterConfigPolicy that may refuse a change of configuration")

    # -- Replication
    controller_socket_timeout_ms: int = fixed(K.CONTROLLER_SOCKET_TIMEOUT_MS_PROP, INT, 30000, None, MEDIUM, "How long the controller waits for a broker's response")
    default_replication_factor: int = fixed(K.DEFAULT_REPLICATION_FACTOR_PROP, INT, 1, None, MEDIUM, "Replicas of an automatically created topic")
    replica_lag_time_max_ms: int = fixed(K.REPLICA_LAG_TIME_MAX_MS_PROP, LONG, 10000, None, HIGH, "How long a follower may be behind the end of the log before it leaves the ISR")
    replica_socket_timeout_ms: int = fixed(K.REPLICA_SOCKET_TIMEOUT_MS_PROP, INT, 30000, None, HIGH, "How long a follower waits for a fetch response; at least replica.fetch.wait.max.ms")
    replica_socket_receive_buffer_bytes: int = fixed(K.REPLICA_SOCKET_RECEIVE_BUFFER_BYTES_PROP, INT, 64 * 1024, None, HIGH, "SO_RCVBUF of a follower's sockets")
    replica_fetch_max_bytes: int = fixed(K.REPLICA_FETCH_MAX_BYTES_PROP, INT, 1024 * 1024, at_least(0), MEDIUM, "Bytes a follower asks for per partition; a larger first batch is still sent whole")
    replica_fetch_wait_max_ms: int = fixed(K.REPLICA_FETCH_WAIT_MAX_MS_PROP, INT, 500, None, HIGH, "How long the leader may keep a follower's fetch waiting; less than replica.lag.time.max.ms")
    replica_fetch_backoff_ms: int = fixed(K.REPLICA_FETCH_BACKOFF_MS_PROP, INT, 1000, at_least(0), MEDIUM, "Pause of a fetcher thread after an error")
    replica_fetch_min_bytes: int = fixed(K.REPLICA_FETCH_MIN_BYTES_PROP, INT, 1, None, HIGH, "Bytes a follower's fetch waits for, up to replica.fetch.wait.max.ms")
    replica_fetch_response_max_bytes: int = fixed(K.REPLICA_FETCH_RESPONSE_MAX_BYTES_PROP, INT, 10 * 1024 * 1024, at_least(0), MEDIUM, "Bytes a follower asks for in all; a larger first batch is still sent whole")
    num_replica_fetchers: int = dynamic(K.NUM_REPLICA_FETCHERS_PROP, INT, 1, None, HIGH, "Fetcher threads per leader")
    replica_high_watermark_checkpoint_interval_ms: int = fixed(K.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS_PROP, LONG, 5000, None, HIGH, "Time between two writes of the high watermarks")
    fetch_purgatory_purge_interval_requests: int = fixed(K.FETCH_PURGATORY_PURGE_INTERVAL_REQUESTS_PROP, INT, 1000, None, MEDIUM, "Number of finished fetches after which their watchers are swept")
    producer_purgatory_purge_interval_requests: int = fixed(K.PRODUCER_PURGATORY_PURGE_INTERVAL_REQUESTS_PROP, INT, 1000, None, MEDIUM, "Number of finished produce requests after which their watchers are swept")
    delete_records_purgatory_purge_interval_requests: int = fixed(K.DELETE_RECORDS_PURGATORY_PURGE_INTERVAL_REQUESTS_PROP, INT, 1, None, MEDIUM, "Number of finished record deletions after which their watchers are swept")
    auto_leader_rebalance_enable: bool = fixed(K.AUTO_LEADER_REBALANCE_ENABLE_PROP, BOOLEAN, True, None, HIGH, "Whether leadership is moved back to preferred replicas from time to time")
    leader_imbalance_per_broker_percentage: int = fixed(K.LEADER_IMBALANCE_PER_BROKER_PERCENTAGE_PROP, INT, 10, None, HIGH, "Share of partitions not led by their preferred replica above which a broker is balanced")
    leader_imbalance_check_interval_seconds: int = fixed(K.LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS_PROP, LONG, 300, None, HIGH, "Time between two looks for imbalance")
    unclean_leader_election_enable: bool = dynamic(K.UNCLEAN_LEADER_ELECTION_ENABLE_PROP, BOOLEAN, False, None, HIGH, "Whether a replica outside the ISR may lead when nobody else is left, at the price of losing records")
    _inter_broker_security_protocol = general(K.INTER_BROKER_SECURITY_PROTOCOL_PROP, STRING, "PLAINTEXT", None, MEDIUM, "Security protocol between brokers; not together with inter.broker.listener.name")
    inter_broker_protocol_version_string: str = fixed(K.INTER_BROKER_PROTOCOL_VERSION_PROP, STRING, LATEST, None, MEDIUM, "Version of the protocol between brokers; raise it once all brokers run the new release")
    _inter_broker_listener_name = general(K.INTER_BROKER_LISTENER_NAME_PROP, STRING, None, None, MEDIUM, "Listener that brokers use among themselves; not together with security.inter.broker.protocol")

    # -- Controlled shutdown
    controlled_shutdown_max_retries: int = fixed(K.CONTROLLED_SHUTDOWN_MAX_RETRIES_PROP, INT, 3, None, MEDIUM, "How often a stopping broker asks the controller to move its leaders")
    controlled_shutdown_retry_backoff_ms: int = fixed(K.CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS_PROP, LONG, 5000, None, MEDIUM, "Pause between two such requests")
    controlled_shutdown_enable: bool = fixed(K.CONTROLLED_SHUTDOWN_ENABLE_PROP, BOOLEAN, True, None, MEDIUM, "Whether a stopping broker hands over its leaders first")

    # -- Groups
    group_min_session_timeout_ms: int = fixed(K.GROUP_MIN_SESSION_TIMEOUT_MS_PROP, INT, 6000, None, MEDIUM, "Shortest session timeout a group member may ask for")
    group_max_session_timeout_ms: int = fixed(K.GROUP_MAX_SESSION_TIMEOUT_MS_PROP, INT, 300000, None, MEDIUM, "Longest session timeout a group member may ask for")
    group_initial_rebalance_delay: int = fixed(K.GROUP_INITIAL_REBALANCE_DELAY_MS_PROP, INT, 3000, None, MEDIUM, "How long a new group waits for more members before its first rebalance")
    group_max_size: int = fixed(K.GROUP_MAX_SIZE_PROP, INT, 2**31 - 1, at_least(1), MEDIUM, "Most members a group may have")

    # -- Offsets
    offset_metadata_max_size: int = fixed(K.OFFSET_METADATA_MAX_SIZE_PROP, INT, 4096, None, HIGH, "Largest metadata text beside a committed offset")
    offsets_load_buffer_size: int = fixed(K.OFFSETS_LOAD_BUFFER_SIZE_PROP, INT, 5 * 1024 * 1024, at_least(1), HIGH, "Bytes read at a time when a coordinator loads offsets")
    offsets_topic_replication_factor: int = fixed(K.OFFSETS_TOPIC_REPLICATION_FACTOR_PROP, SHORT, 3, at_least(1), HIGH, "Replicas of the offsets topic; it is not created while there are fewer brokers")
    offsets_topic_partitions: int = fixed(K.OFFSETS_TOPIC_PARTITIONS_PROP, INT, 50, at_least(1), HIGH, "Partitions of the offsets topic; not to be changed later")
    offsets_topic_segment_bytes: int = fixed(K.OFFSETS_TOPIC_SEGMENT_BYTES_PROP, INT, 100 * 1024 * 1024, at_least(1), HIGH, "Segment size of the offsets topic; small ones compact and load sooner")
    _offsets_topic_compression_codec = general(K.OFFSETS_TOPIC_COMPRESSION_CODEC_PROP, INT, 0, None, HIGH, "Codec of the offsets topic: 0 none, 1 gzip, 2 snappy, 3 lz4")
    offsets_retention_minutes: int = fixed(K.OFFSETS_RETENTION_MINUTES_PROP, INT, 1440, at_least(1), HIGH, "Age at which a committed offset is forgotten")
    offsets_retention_check_interval_ms: int = fixed(K.OFFSETS_RETENTION_CHECK_INTERVAL_MS_PROP, LONG, 600000, at_least(1), HIGH, "Time between two looks for offsets to forget")
    offset_commit_timeout_ms: int = fixed(K.OFFSET_COMMIT_TIMEOUT_MS_PROP, INT, 5000, at_least(1), HIGH, "How long a commit waits for the replicas of the offsets topic")
    offset_commit_required_acks: int = fixed(K.OFFSET_COMMIT_REQUIRED_ACKS_PROP, SHORT, -1, None, HIGH, "Acks a commit needs; -1 means the whole ISR and should stay")
    delete_topic_enable: bool = fixed(K.DELETE_TOPIC_ENABLE_PROP, BOOLEAN, True, None, HIGH, "Whether topics can be deleted")
    compression_type: str = dynamic(K.COMPRESSION_TYPE_PROP, STRING, "producer", None, HIGH, "Codec of stored batches: gzip, snappy, lz4, uncompressed, or producer, which keeps what was sent")

    # -- Transactions
    transactional_id_expiration_ms: int = fixed(K.TRANSACTIONAL_ID_EXPIRATION_MS_PROP, INT, 604800000, at_least(1), HIGH, "Silence after which a transactional id is forgotten")
    transaction_max_timeout_ms: int = fixed(K.TRANSACTIONS_MAX_TIMEOUT_MS_PROP, INT, 900000, at_least(1), HIGH, "Longest transaction timeout a producer may ask for")
    transaction_topic_min_isr: int = fixed(K.TRANSACTIONS_TOPIC_MIN_ISR_PROP, INT, 2, at_least(1), HIGH, "min.insync.replicas of the transaction topic")
    transactions_load_buffer_size: int = fixed(K.TRANSACTIONS_LOAD_BUFFER_SIZE_PROP, INT, 5 * 1024 * 1024, at_least(1), HIGH, "Bytes read at a time when a coordinator loads transactions")
    transaction_topic_replication_factor: int = fixed(K.TRANSACTIONS_TOPIC_REPLICATION_FACTOR_PROP, SHORT, 3, at_least(1), HIGH, "Replicas of the transaction topic; it is not created while there are fewer brokers")
    transaction_topic_partitions: int = fixed(K.TRANSACTIONS_TOPIC_PARTITIONS_PROP, INT, 50, at_least(1), HIGH, "Partitions of the transaction topic; not to be changed later")
    transaction_topic_segment_bytes: int = fixed(K.TRANSACTIONS_TOPIC_SEGMENT_BYTES_PROP, INT, 100 * 1024 * 1024, at_least(1), HIGH, "Segment size of the transaction topic")
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = fixed(K.TRANSACTIONS_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS_PROP, INT, 60000, at_least(1), LOW, "Time between two looks for transactions that took too long")
    transaction_remove_expired_transactional_id_cleanup_interval_ms: int = fixed(K.TRANSACTIONS_REMOVE_EXPIRED_TRANSACTIONAL_ID_CLEANUP_INTERVAL_MS_PROP, INT, 3600000, at_least(1), LOW, "Time between two looks for transactional ids to forget")
    transaction_partition_verification_enable: bool = fixed(K.TRANSACTION_PARTITION_VERIFICATION_ENABLE_PROP, BOOLEAN, True, None, LOW, "Whether the coordinator is asked if a partition belongs to the transaction before the first records are appended")

    # -- Fetch sessions
    max_incremental_fetch_session_cache_slots: int = fixed(K.MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS, INT, 1000, at_least(0), MEDIUM, "Number of incremental fetch sessions kept")

    # -- Metrics
    metric_num_samples: int = fixed(K.METRIC_NUM_SAMPLES_PROP, INT, 2, at_least(1), LOW, "Samples kept for each metric")
    metric_sample_window_ms: int = fixed(K.METRIC_SAMPLE_WINDOW_MS_PROP, LONG, 30000, at_least(1), LOW, "Time one sample covers")
    _metric_reporter_classes = general(K.METRIC_REPORTER_CLASSES_PROP, LIST, "", None, LOW, "Classes that are told of every metric; known, not used")
    metric_recording_level: str = fixed(K.METRIC_RECORDING_LEVEL_PROP, STRING, "INFO", None, LOW, "How detailed the recorded metrics are")

    # -- Quotas
    producer_quota_bytes_per_second_default: int = fixed(K.PRODUCER_QUOTA_BYTES_PER_SECOND_DEFAULT_PROP, LONG, LONG_MAX, at_least(1), HIGH, "DEPRECATED: bytes per second for a producer without a quota of its own")
    consumer_quota_bytes_per_second_default: int = fixed(K.CONSUMER_QUOTA_BYTES_PER_SECOND_DEFAULT_PROP, LONG, LONG_MAX, at_least(1), HIGH, "DEPRECATED: bytes per second for a consumer without a quota of its own")
    num_quota_samples: int = fixed(K.NUM_QUOTA_SAMPLES_PROP, INT, 11, at_least(1), LOW, "Samples kept for client quotas")
    num_replication_quota_samples: int = fixed(K.NUM_REPLICATION_QUOTA_SAMPLES_PROP, INT, 11, at_least(1), LOW, "Samples kept for replication quotas")
    num_alter_log_dirs_replication_quota_samples: int = fixed(K.NUM_ALTER_LOG_DIRS_REPLICATION_QUOTA_SAMPLES_PROP, INT, 11, at_least(1), LOW, "Samples kept for the quota of moves between log directories")
    quota_window_size_seconds: int = fixed(K.QUOTA_WINDOW_SIZE_SECONDS_PROP, INT, 1, at_least(1), LOW, "Seconds one sample of client quotas covers")
    replication_quota_window_size_seconds: int = fixed(K.REPLICATION_QUOTA_WINDOW_SIZE_SECONDS_PROP, INT, 1, at_least(1), LOW, "Seconds one sample of replication quotas covers")
    alter_log_dirs_replication_quota_window_size_seconds: int = fixed(K.ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_SIZE_SECONDS_PROP, INT, 1, at_least(1), LOW, "Seconds one sample of the quota of moves between log directories covers")

    # -- TLS: may differ per listener, so read with values_with_prefix_override
    _principal_builder_class = general(K.PRINCIPAL_BUILDER_CLASS_PROP, CLASS, None, None, MEDIUM, "Class that makes a principal out of an authenticated connection")
    _ssl_protocol = general(K.SSL_PROTOCOL_PROP, STRING, Ssl.DEFAULT_SSL_PROTOCOL, None, MEDIUM, "TLS protocol family")
    _ssl_provider = general(K.SSL_PROVIDER_PROP, STRING, None, None, MEDIUM, "Security provider; known, not used")
    _ssl_enabled_protocols = general(K.SSL_ENABLED_PROTOCOLS_PROP, LIST, Ssl.DEFAULT_SSL_ENABLED_PROTOCOLS, None, MEDIUM, "TLS versions to accept")
    _ssl_keystore_type = general(K.SSL_KEYSTORE_TYPE_PROP, STRING, Ssl.DEFAULT_SSL_KEYSTORE_TYPE, None, MEDIUM, "Format of the key store")
    _ssl_keystore_location = general(K.SSL_KEYSTORE_LOCATION_PROP, STRING, None, None, MEDIUM, "File with the broker's key and certificate")
    _ssl_keystore_password = general(K.SSL_KEYSTORE_PASSWORD_PROP, PASSWORD, None, None, MEDIUM, "Password of the key store")
    _ssl_key_password = general(K.SSL_KEY_PASSWORD_PROP, PASSWORD, None, None, MEDIUM, "Password of the key in the key store")
    _ssl_truststore_type = general(K.SSL_TRUSTSTORE_TYPE_PROP, STRING, Ssl.DEFAULT_SSL_TRUSTSTORE_TYPE, None, MEDIUM, "Format of the trust store")
    _ssl_truststore_location = general(K.SSL_TRUSTSTORE_LOCATION_PROP, STRING, None, None, MEDIUM, "File with the certificates to trust")
    _ssl_truststore_password = general(K.SSL_TRUSTSTORE_PASSWORD_PROP, PASSWORD, None, None, MEDIUM, "Password of the trust store; without it the store is read but not checked")
    _ssl_key_manager_algorithm = general(K.SSL_KEY_MANAGER_ALGORITHM_PROP, STRING, Ssl.DEFAULT_SSL_KEYMANGER_ALGORITHM, None, MEDIUM, "Key manager algorithm; known, not used")
    _ssl_trust_manager_algorithm = general(K.SSL_TRUST_MANAGER_ALGORITHM_PROP, STRING, Ssl.DEFAULT_SSL_TRUSTMANAGER_ALGORITHM, None, MEDIUM, "Trust manager algorithm; known, not used")
    _ssl_endpoint_identification_algorithm = general(K.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM_PROP, STRING, None, None, LOW, "How a server's host name is checked against its certificate")
    _ssl_secure_random_implementation = general(K.SSL_SECURE_RANDOM_IMPLEMENTATION_PROP, STRING, None, None, LOW, "Random number generator for TLS; known, not used")
    _ssl_client_auth = general(K.SSL_CLIENT_AUTH_PROP, STRING, "none", ValidString.in_("required", "requested", "none"), MEDIUM, "Whether clients show a certificate: required, requested or none")
    _ssl_cipher_suites = general(K.SSL_CIPHER_SUITES_PROP, LIST, [], None, MEDIUM, "Cipher suites to accept; all of them when empty")

    # -- SASL: may differ per listener, too
    sasl_mechanism_inter_broker_protocol: str = dynamic(K.SASL_MECHANISM_INTER_BROKER_PROTOCOL_PROP, STRING, Sasl.DEFAULT_SASL_MECHANISM, None, MEDIUM, "SASL mechanism between brokers")
    _sasl_jaas_config = general(K.SASL_JAAS_CONFIG_PROP, PASSWORD, None, None, MEDIUM, "JAAS login context, in the format of a JAAS file")
    _sasl_enabled_mechanisms = general(K.SASL_ENABLED_MECHANISMS_PROP, LIST, ["GSSAPI"], None, MEDIUM, "SASL mechanisms that clients may use")
    _sasl_kerberos_service_name = general(K.SASL_KERBEROS_SERVICE_NAME_PROP, STRING, None, None, MEDIUM, "Kerberos principal name of the service")
    _sasl_kerberos_kinit_cmd = general(K.SASL_KERBEROS_KINIT_CMD_PROP, STRING, Sasl.DEFAULT_KERBEROS_KINIT_CMD, None, MEDIUM, "Path of kinit; known, not used")
    _sasl_kerberos_ticket_renew_window_factor = general(K.SASL_KERBEROS_TICKET_RENEW_WINDOW_FACTOR_PROP, DOUBLE, 0.80, None, MEDIUM, "Share of a ticket's life after which it is renewed; known, not used")
    _sasl_kerberos_ticket_renew_jitter = general(K.SASL_KERBEROS_TICKET_RENEW_JITTER_PROP, DOUBLE, 0.05, None, MEDIUM, "Random share added to that time; known, not used")
    _sasl_kerberos_min_time_before_relogin = general(K.SASL_KERBEROS_MIN_TIME_BEFORE_RELOGIN_PROP, LONG, 60000, None, MEDIUM, "Shortest time between two logins; known, not used")
    _sasl_kerberos_principal_to_local_rules = general(K.SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES_PROP, LIST, ["DEFAULT"], None, MEDIUM, "Rules that make a user name out of a Kerberos principal; the first that matches counts")

    # -- Delegation tokens
    delegation_token_master_key: Password | None = fixed(K.DELEGATION_TOKEN_MASTER_KEY_PROP, PASSWORD, None, None, MEDIUM, "Secret that signs delegation tokens, the same on all brokers; without it there are no tokens")
    delegation_token_max_life_ms: int = fixed(K.DELEGATION_TOKEN_MAX_LIFE_TIME_PROP, LONG, 604800000, at_least(1), MEDIUM, "Age beyond which a token cannot be renewed")
    delegation_token_expiry_time_ms: int = fixed(K.DELEGATION_TOKEN_EXPIRY_TIME_MS_PROP, LONG, 86400000, at_least(1), MEDIUM, "Time for which a token holds before it must be renewed")
    delegation_token_expiry_check_interval_ms: int = fixed(K.DELEGATION_TOKEN_EXPIRY_CHECK_INTERVAL_MS_PROP, LONG, 3600000, at_least(1), LOW, "Time between two looks for expired tokens")

    # -- Passwords among dynamic settings
    _password_encoder_secret = general(K.PASSWORD_ENCODER_SECRET_PROP, PASSWORD, None, None, MEDIUM, "Secret that encodes passwords among the dynamic settings of this broker")
    _password_encoder_old_secret = general(K.PASSWORD_ENCODER_OLD_SECRET_PROP, PASSWORD, None, None, MEDIUM, "The secret before the last change; passwords found encoded with it are encoded anew")
    _password_encoder_key_factory_algorithm = general(K.PASSWORD_ENCODER_KEY_FACTORY_ALGORITHM_PROP, STRING, None, None, LOW, "Algorithm that makes a key out of the secret")
    password_encoder_cipher_algorithm: str = dynamic(K.PASSWORD_ENCODER_CIPHER_ALGORITHM_PROP, STRING, "AES/CBC/PKCS5Padding", None, LOW, "Cipher that encodes the passwords")
    password_encoder_key_length: int = dynamic(K.PASSWORD_ENCODER_KEY_LENGTH_PROP, INT, 128, at_least(8), LOW, "Length of the key in bits")
    password_encoder_iterations: int = dynamic(K.PASSWORD_ENCODER_ITERATIONS_PROP, INT, 4096, at_least(1024), LOW, "Iterations of the key's derivation")

    # -- Ours
    http_listener: str = fixed(K.HTTP_LISTENER_PROP, STRING, "127.0.0.1:9404", None, LOW, "Where /metrics and /jmx are served; port 0 takes a free one, none serves nothing")
    cpu_affinity: str = fixed(K.CPU_AFFINITY_PROP, STRING, "auto", None, LOW, "Cores of the process: auto binds it to one while other processes leave it that and lets it go while they do not, none leaves it to the system, else a list such as 0,2-3")
    xray: str = fixed(K.XRAY_PROP, STRING, "off", ValidString.in_("off", "on", "step"), LOW, "Live view of the broker's inside: on lets it be watched, step lets its threads be held as well")
    xray_token: Password | None = fixed(K.XRAY_TOKEN_PROP, PASSWORD, None, None, LOW, "What who holds threads must send along; none: made up at each start and written to the log")
    xray_schedule: str = fixed(K.XRAY_SCHEDULE_PROP, STRING, "", None, LOW, "File with the order in which threads are to pass the X-ray's points; empty: any order")
    xray_side_by_side: str = fixed(K.XRAY_SIDE_BY_SIDE_PROP, STRING, "", None, LOW, "Folder of a site that kafka-sidebyside has made, to which the X-ray's sources lead; empty: none")
    api_level: str = fixed(K.API_LEVEL_PROP, STRING, "2.5.1", ValidString.in_("1.1.1", "2.5.1"), LOW, "Release whose request versions are offered to clients")
    # fmt: on
