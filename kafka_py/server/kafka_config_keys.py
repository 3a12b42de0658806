"""The names of the broker's options, as constants.

Mirrors: core/src/main/scala/kafka/server/KafkaConfig.scala @ 1.1.1 (the values ending in Prop); marked ones are 3.7.1's
"""

from __future__ import annotations


class KafkaConfigKeys:
    """What may stand before the equals sign in server.properties; KafkaConfig inherits every name."""

    # -- ZooKeeper
    ZK_CONNECT_PROP = "zookeeper.connect"
    ZK_SESSION_TIMEOUT_MS_PROP = "zookeeper.session.timeout.ms"
    ZK_CONNECTION_TIMEOUT_MS_PROP = "zookeeper.connection.timeout.ms"
    ZK_SYNC_TIME_MS_PROP = "zookeeper.sync.time.ms"
    ZK_ENABLE_SECURE_ACLS_PROP = "zookeeper.set.acl"
    ZK_MAX_IN_FLIGHT_REQUESTS_PROP = "zookeeper.max.in.flight.requests"

    # -- General
    BROKER_ID_GENERATION_ENABLE_PROP = "broker.id.generation.enable"
    MAX_RESERVED_BROKER_ID_PROP = "reserved.broker.max.id"
    BROKER_ID_PROP = "broker.id"
    MESSAGE_MAX_BYTES_PROP = "message.max.bytes"
    NUM_NETWORK_THREADS_PROP = "num.network.threads"
    NUM_IO_THREADS_PROP = "num.io.threads"
    NUM_REPLICA_ALTER_LOG_DIRS_THREADS_PROP = "num.replica.alter.log.dirs.threads"
    BACKGROUND_THREADS_PROP = "background.threads"
    QUEUED_MAX_REQUESTS_PROP = "queued.max.requests"
    QUEUED_MAX_BYTES_PROP = "queued.max.request.bytes"
    REQUEST_TIMEOUT_MS_PROP = "request.timeout.ms"

    # -- Authorizer
    AUTHORIZER_CLASS_NAME_PROP = "authorizer.class.name"

    # -- Socket server
    PORT_PROP = "port"
    HOST_NAME_PROP = "host.name"
    LISTENERS_PROP = "listeners"
    ADVERTISED_HOST_NAME_PROP = "advertised.host.name"
    ADVERTISED_PORT_PROP = "advertised.port"
    ADVERTISED_LISTENERS_PROP = "advertised.listeners"
    LISTENER_SECURITY_PROTOCOL_MAP_PROP = "listener.security.protocol.map"
    SOCKET_SEND_BUFFER_BYTES_PROP = "socket.send.buffer.bytes"
    SOCKET_RECEIVE_BUFFER_BYTES_PROP = "socket.receive.buffer.bytes"
    SOCKET_REQUEST_MAX_BYTES_PROP = "socket.request.max.bytes"
    MAX_CONNECTIONS_PER_IP_PROP = "max.connections.per.ip"
    MAX_CONNECTIONS_PER_IP_OVERRIDES_PROP = "max.connections.per.ip.overrides"
    CONNECTIONS_MAX_IDLE_MS_PROP = "connections.max.idle.ms"
    SOCKET_LISTEN_BACKLOG_SIZE_PROP = "socket.listen.backlog.size"
    MAX_CONNECTIONS_PROP = "max.connections"
    MAX_CONNECTION_CREATION_RATE_PROP = "max.connection.creation.rate"
    FAILED_AUTHENTICATION_DELAY_MS_PROP = "connection.failed.authentication.delay.ms"
    CONTROL_PLANE_LISTENER_NAME_PROP = "control.plane.listener.name"
    EARLY_START_LISTENERS_PROP = "early.start.listeners"

    # -- Rack
    RACK_PROP = "broker.rack"

    # -- Log
    NUM_PARTITIONS_PROP = "num.partitions"
    LOG_DIR_PROP = "log.dir"
    LOG_DIRS_PROP = "log.dirs"
    LOG_SEGMENT_BYTES_PROP = "log.segment.bytes"
    LOG_ROLL_TIME_MILLIS_PROP = "log.roll.ms"
    LOG_ROLL_TIME_HOURS_PROP = "log.roll.hours"
    LOG_ROLL_TIME_JITTER_MILLIS_PROP = "log.roll.jitter.ms"
    LOG_ROLL_TIME_JITTER_HOURS_PROP = "log.roll.jitter.hours"
    LOG_RETENTION_TIME_MILLIS_PROP = "log.retention.ms"
    LOG_RETENTION_TIME_MINUTES_PROP = "log.retention.minutes"
    LOG_RETENTION_TIME_HOURS_PROP = "log.retention.hours"
    LOG_RETENTION_BYTES_PROP = "log.retention.bytes"
    LOG_CLEANUP_INTERVAL_MS_PROP = "log.retention.check.interval.ms"
    LOG_CLEANUP_POLICY_PROP = "log.cleanup.policy"
    LOG_CLEANER_THREADS_PROP = "log.cleaner.threads"
    LOG_CLEANER_IO_MAX_BYTES_PER_SECOND_PROP = "log.cleaner.io.max.bytes.per.second"
    LOG_CLEANER_DEDUPE_BUFFER_SIZE_PROP = "log.cleaner.dedupe.buffer.size"
    LOG_CLEANER_IO_BUFFER_SIZE_PROP = "log.cleaner.io.buffer.size"
    LOG_CLEANER_DEDUPE_BUFFER_LOAD_FACTOR_PROP = "log.cleaner.io.buffer.load.factor"
    LOG_CLEANER_BACKOFF_MS_PROP = "log.cleaner.backoff.ms"
    LOG_CLEANER_MIN_CLEAN_RATIO_PROP = "log.cleaner.min.cleanable.ratio"
    LOG_CLEANER_ENABLE_PROP = "log.cleaner.enable"
    LOG_CLEANER_DELETE_RETENTION_MS_PROP = "log.cleaner.delete.retention.ms"
    LOG_CLEANER_MIN_COMPACTION_LAG_MS_PROP = "log.cleaner.min.compaction.lag.ms"
    LOG_INDEX_SIZE_MAX_BYTES_PROP = "log.index.size.max.bytes"
    LOG_INDEX_INTERVAL_BYTES_PROP = "log.index.interval.bytes"
    LOG_FLUSH_INTERVAL_MESSAGES_PROP = "log.flush.interval.messages"
    LOG_DELETE_DELAY_MS_PROP = "log.segment.delete.delay.ms"
    LOG_FLUSH_SCHEDULER_INTERVAL_MS_PROP = "log.flush.scheduler.interval.ms"
    LOG_FLUSH_INTERVAL_MS_PROP = "log.flush.interval.ms"
    LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS_PROP = "log.flush.offset.checkpoint.interval.ms"
    LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS_PROP = "log.flush.start.offset.checkpoint.interval.ms"
    LOG_PRE_ALLOCATE_PROP = "log.preallocate"
    NUM_RECOVERY_THREADS_PER_DATA_DIR_PROP = "num.recovery.threads.per.data.dir"
    AUTO_CREATE_TOPICS_ENABLE_PROP = "auto.create.topics.enable"
    MIN_IN_SYNC_REPLICAS_PROP = "min.insync.replicas"
    LOG_MESSAGE_FORMAT_VERSION_PROP = "log.message.format.version"
    LOG_MESSAGE_TIMESTAMP_TYPE_PROP = "log.message.timestamp.type"
    LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS_PROP = "log.message.timestamp.difference.max.ms"
    CREATE_TOPIC_POLICY_CLASS_NAME_PROP = "create.topic.policy.class.name"
    ALTER_CONFIG_POLICY_CLASS_NAME_PROP = "alter.config.policy.class.name"

    # -- Replication
    CONTROLLER_SOCKET_TIMEOUT_MS_PROP = "controller.socket.timeout.ms"
    DEFAULT_REPLICATION_FACTOR_PROP = "default.replication.factor"
    REPLICA_LAG_TIME_MAX_MS_PROP = "replica.lag.time.max.ms"
    REPLICA_SOCKET_TIMEOUT_MS_PROP = "replica.socket.timeout.ms"
    REPLICA_SOCKET_RECEIVE_BUFFER_BYTES_PROP = "replica.socket.receive.buffer.bytes"
    REPLICA_FETCH_MAX_BYTES_PROP = "replica.fetch.max.bytes"
    REPLICA_FETCH_WAIT_MAX_MS_PROP = "replica.fetch.wait.max.ms"
    REPLICA_FETCH_BACKOFF_MS_PROP = "replica.fetch.backoff.ms"
    REPLICA_FETCH_MIN_BYTES_PROP = "replica.fetch.min.bytes"
    REPLICA_FETCH_RESPONSE_MAX_BYTES_PROP = "replica.fetch.response.max.bytes"
    NUM_REPLICA_FETCHERS_PROP = "num.replica.fetchers"
    REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS_PROP = "replica.high.watermark.checkpoint.interval.ms"
    FETCH_PURGATORY_PURGE_INTERVAL_REQUESTS_PROP = "fetch.purgatory.purge.interval.requests"
    PRODUCER_PURGATORY_PURGE_INTERVAL_REQUESTS_PROP = "producer.purgatory.purge.interval.requests"
    DELETE_RECORDS_PURGATORY_PURGE_INTERVAL_REQUESTS_PROP = "delete.records.purgatory.purge.interval.requests"
    AUTO_LEADER_REBALANCE_ENABLE_PROP = "auto.leader.rebalance.enable"
    LEADER_IMBALANCE_PER_BROKER_PERCENTAGE_PROP = "leader.imbalance.per.broker.percentage"
    LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS_PROP = "leader.imbalance.check.interval.seconds"
    UNCLEAN_LEADER_ELECTION_ENABLE_PROP = "unclean.leader.election.enable"
    INTER_BROKER_SECURITY_PROTOCOL_PROP = "security.inter.broker.protocol"
    INTER_BROKER_PROTOCOL_VERSION_PROP = "inter.broker.protocol.version"
    INTER_BROKER_LISTENER_NAME_PROP = "inter.broker.listener.name"

    # -- Controlled shutdown
    CONTROLLED_SHUTDOWN_MAX_RETRIES_PROP = "controlled.shutdown.max.retries"
    CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS_PROP = "controlled.shutdown.retry.backoff.ms"
    CONTROLLED_SHUTDOWN_ENABLE_PROP = "controlled.shutdown.enable"

    # -- Groups
    GROUP_MIN_SESSION_TIMEOUT_MS_PROP = "group.min.session.timeout.ms"
    GROUP_MAX_SESSION_TIMEOUT_MS_PROP = "group.max.session.timeout.ms"
    GROUP_INITIAL_REBALANCE_DELAY_MS_PROP = "group.initial.rebalance.delay.ms"
    GROUP_MAX_SIZE_PROP = "group.max.size"

    # -- Offsets
    OFFSET_METADATA_MAX_SIZE_PROP = "offset.metadata.max.bytes"
    OFFSETS_LOAD_BUFFER_SIZE_PROP = "offsets.load.buffer.size"
    OFFSETS_TOPIC_REPLICATION_FACTOR_PROP = "offsets.topic.replication.factor"
    OFFSETS_TOPIC_PARTITIONS_PROP = "offsets.topic.num.partitions"
    OFFSETS_TOPIC_SEGMENT_BYTES_PROP = "offsets.topic.segment.bytes"
    OFFSETS_TOPIC_COMPRESSION_CODEC_PROP = "offsets.topic.compression.codec"
    OFFSETS_RETENTION_MINUTES_PROP = "offsets.retention.minutes"
    OFFSETS_RETENTION_CHECK_INTERVAL_MS_PROP = "offsets.retention.check.interval.ms"
    OFFSET_COMMIT_TIMEOUT_MS_PROP = "offsets.commit.timeout.ms"
    OFFSET_COMMIT_REQUIRED_ACKS_PROP = "offsets.commit.required.acks"
    DELETE_TOPIC_ENABLE_PROP = "delete.topic.enable"
    COMPRESSION_TYPE_PROP = "compression.type"

    # -- Transactions
    TRANSACTIONAL_ID_EXPIRATION_MS_PROP = "transactional.id.expiration.ms"
    TRANSACTIONS_MAX_TIMEOUT_MS_PROP = "transaction.max.timeout.ms"
    TRANSACTIONS_TOPIC_MIN_ISR_PROP = "transaction.state.log.min.isr"
    TRANSACTIONS_LOAD_BUFFER_SIZE_PROP = "transaction.state.log.load.buffer.size"
    TRANSACTIONS_TOPIC_REPLICATION_FACTOR_PROP = "transaction.state.log.replication.factor"
    TRANSACTIONS_TOPIC_PARTITIONS_PROP = "transaction.state.log.num.partitions"
    TRANSACTIONS_TOPIC_SEGMENT_BYTES_PROP = "transaction.state.log.segment.bytes"
    TRANSACTIONS_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS_PROP = (
        "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    )
    TRANSACTION_PARTITION_VERIFICATION_ENABLE_PROP = "transaction.partition.verification.enable"
    TRANSACTIONS_REMOVE_EXPIRED_TRANSACTIONAL_ID_CLEANUP_INTERVAL_MS_PROP = (
        "transaction.remove.expired.transaction.cleanup.interval.ms"
    )

    # -- Fetch sessions
    MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS = "max.incremental.fetch.session.cache.slots"

    # -- Metrics
    METRIC_NUM_SAMPLES_PROP = "metrics.num.samples"
    METRIC_SAMPLE_WINDOW_MS_PROP = "metrics.sample.window.ms"
    METRIC_REPORTER_CLASSES_PROP = "metric.reporters"
    METRIC_RECORDING_LEVEL_PROP = "metrics.recording.level"

    # -- Quotas
    PRODUCER_QUOTA_BYTES_PER_SECOND_DEFAULT_PROP = "quota.producer.default"
    CONSUMER_QUOTA_BYTES_PER_SECOND_DEFAULT_PROP = "quota.consumer.default"
    NUM_QUOTA_SAMPLES_PROP = "quota.window.num"
    NUM_REPLICATION_QUOTA_SAMPLES_PROP = "replication.quota.window.num"
    NUM_ALTER_LOG_DIRS_REPLICATION_QUOTA_SAMPLES_PROP = "alter.log.dirs.replication.quota.window.num"
    QUOTA_WINDOW_SIZE_SECONDS_PROP = "quota.window.size.seconds"
    REPLICATION_QUOTA_WINDOW_SIZE_SECONDS_PROP = "replication.quota.window.size.seconds"
    ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_SIZE_SECONDS_PROP = "alter.log.dirs.replication.quota.window.size.seconds"

    # -- TLS
    PRINCIPAL_BUILDER_CLASS_PROP = "principal.builder.class"
    SSL_PROTOCOL_PROP = "ssl.protocol"
    SSL_PROVIDER_PROP = "ssl.provider"
    SSL_ENABLED_PROTOCOLS_PROP = "ssl.enabled.protocols"
    SSL_KEYSTORE_TYPE_PROP = "ssl.keystore.type"
    SSL_KEYSTORE_LOCATION_PROP = "ssl.keystore.location"
    SSL_KEYSTORE_PASSWORD_PROP = "ssl.keystore.password"
    SSL_KEY_PASSWORD_PROP = "ssl.key.password"
    SSL_TRUSTSTORE_TYPE_PROP = "ssl.truststore.type"
    SSL_TRUSTSTORE_LOCATION_PROP = "ssl.truststore.location"
    SSL_TRUSTSTORE_PASSWORD_PROP = "ssl.truststore.password"
    SSL_KEY_MANAGER_ALGORITHM_PROP = "ssl.keymanager.algorithm"
    SSL_TRUST_MANAGER_ALGORITHM_PROP = "ssl.trustmanager.algorithm"
    SSL_ENDPOINT_IDENTIFICATION_ALGORITHM_PROP = "ssl.endpoint.identification.algorithm"
    SSL_SECURE_RANDOM_IMPLEMENTATION_PROP = "ssl.secure.random.implementation"
    SSL_CLIENT_AUTH_PROP = "ssl.client.auth"
    SSL_CIPHER_SUITES_PROP = "ssl.cipher.suites"

    # -- SASL
    SASL_MECHANISM_INTER_BROKER_PROTOCOL_PROP = "sasl.mechanism.inter.broker.protocol"
    SASL_JAAS_CONFIG_PROP = "sasl.jaas.config"
    SASL_ENABLED_MECHANISMS_PROP = "sasl.enabled.mechanisms"
    SASL_KERBEROS_SERVICE_NAME_PROP = "sasl.kerberos.service.name"
    SASL_KERBEROS_KINIT_CMD_PROP = "sasl.kerberos.kinit.cmd"
    SASL_KERBEROS_TICKET_RENEW_WINDOW_FACTOR_PROP = "sasl.kerberos.ticket.renew.window.factor"
    SASL_KERBEROS_TICKET_RENEW_JITTER_PROP = "sasl.kerberos.ticket.renew.jitter"
    SASL_KERBEROS_MIN_TIME_BEFORE_RELOGIN_PROP = "sasl.kerberos.min.time.before.relogin"
    SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES_PROP = "sasl.kerberos.principal.to.local.rules"

    # -- Delegation tokens
    DELEGATION_TOKEN_MASTER_KEY_PROP = "delegation.token.master.key"
    DELEGATION_TOKEN_MAX_LIFE_TIME_PROP = "delegation.token.max.lifetime.ms"
    DELEGATION_TOKEN_EXPIRY_TIME_MS_PROP = "delegation.token.expiry.time.ms"
    DELEGATION_TOKEN_EXPIRY_CHECK_INTERVAL_MS_PROP = "delegation.token.expiry.check.interval.ms"

    # -- Passwords among dynamic settings
    PASSWORD_ENCODER_SECRET_PROP = "password.encoder.secret"
    PASSWORD_ENCODER_OLD_SECRET_PROP = "password.encoder.old.secret"
    PASSWORD_ENCODER_KEY_FACTORY_ALGORITHM_PROP = "password.encoder.keyfactory.algorithm"
    PASSWORD_ENCODER_CIPHER_ALGORITHM_PROP = "password.encoder.cipher.algorithm"
    PASSWORD_ENCODER_KEY_LENGTH_PROP = "password.encoder.key.length"
    PASSWORD_ENCODER_ITERATIONS_PROP = "password.encoder.iterations"
    LOG_MAX_ID_MAP_SNAPSHOTS_PROP = "log.max.id.map.snapshots"  # a name 1.1.1 keeps without an option

    # -- Ours
    HTTP_LISTENER_PROP = "kafka.py.http.listener"
    CPU_AFFINITY_PROP = "kafka.py.cpu.affinity"
    XRAY_PROP = "kafka.py.xray"
    XRAY_TOKEN_PROP = "kafka.py.xray.token"
    XRAY_SCHEDULE_PROP = "kafka.py.xray.schedule"
    XRAY_SIDE_BY_SIDE_PROP = "kafka.py.xray.sidebyside"
    API_LEVEL_PROP = "kafka.py.api.level"
