"""Every request ends up here, in the handler of its API.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1
Read next: kafka_apis_{records,metadata,admin,reassignments,cluster,groups,transactions}.py (the handlers, by family),
           auth_helper.py and request_handler_helper.py (what all of them need)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.server.auth_helper import AuthHelper
from kafka_py.server.kafka_apis_admin import KafkaApisAdmin
from kafka_py.server.kafka_apis_cluster import KafkaApisCluster
from kafka_py.server.kafka_apis_groups import KafkaApisGroups
from kafka_py.server.kafka_apis_metadata import KafkaApisMetadata
from kafka_py.server.kafka_apis_records import KafkaApisRecords
from kafka_py.server.kafka_apis_transactions import KafkaApisTransactions
from kafka_py.server.kafka_request_handler import ApiRequestHandler
from kafka_py.server.request_handler_helper import RequestHandlerHelper
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.utils.time import Time
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from kafka_py.network.request_channel import Request, RequestChannel
    from kafka_py.security.auth.authorizer import Authorizer
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.api_version_manager import ApiVersionManager
    from kafka_py.server.broker_topic_stats import BrokerTopicStats
    from kafka_py.server.fetch_session import FetchManager
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache
    from kafka_py.server.metadata_support import ZkSupport
    from kafka_py.server.quota_factory import QuotaFactory
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.request_local import RequestLocal
    from kafka_py.zk.kafka_zk_client import KafkaZkClient

    Handler = Callable[[Request], None]


class ApiHandler(NamedTuple):
    """A line of the dispatch table: the handler of an API, given the KafkaApis that has it, and which versions."""

    of: Callable[[KafkaApis], Handler]
    min_version: int
    max_version: int


class KafkaApis(ApiRequestHandler, Logging):
    """Dispatches requests to their handlers.

    Mirrors: kafka.server.KafkaApis
    Thread: request handlers; callbacks also run on whatever thread completes a delayed operation.
    Differs: Scala's match over the keys is the table HANDLERS, from which ApiVersions is answered, too; a key without a
        handler is neither offered nor served. The handlers are methods of six objects, one for each family of APIs.
    Left out: what AuthHelper, RequestHandlerHelper and the families have here, see docs/left-out.tsv
    """

    HANDLERS: ClassVar[dict[ApiKeys, ApiHandler]] = {
        ApiKeys.PRODUCE: ApiHandler(lambda apis: apis.handle_produce_request, 0, 8),
        ApiKeys.FETCH: ApiHandler(lambda apis: apis.handle_fetch_request, 0, 11),
        ApiKeys.LIST_OFFSETS: ApiHandler(lambda apis: apis.handle_list_offset_request, 0, 5),
        ApiKeys.METADATA: ApiHandler(lambda apis: apis.handle_topic_metadata_request, 0, 9),
        ApiKeys.LEADER_AND_ISR: ApiHandler(lambda apis: apis.handle_leader_and_isr_request, 0, 4),
        ApiKeys.STOP_REPLICA: ApiHandler(lambda apis: apis.handle_stop_replica_request, 0, 2),
        ApiKeys.UPDATE_METADATA: ApiHandler(lambda apis: apis.handle_update_metadata_request, 0, 6),
        ApiKeys.CONTROLLED_SHUTDOWN: ApiHandler(lambda apis: apis.handle_controlled_shutdown_request, 0, 3),
        ApiKeys.OFFSET_COMMIT: ApiHandler(lambda apis: apis.handle_offset_commit_request, 0, 8),
        ApiKeys.OFFSET_FETCH: ApiHandler(lambda apis: apis.handle_offset_fetch_request, 0, 7),
        ApiKeys.FIND_COORDINATOR: ApiHandler(lambda apis: apis.handle_find_coordinator_request, 0, 3),
        ApiKeys.JOIN_GROUP: ApiHandler(lambda apis: apis.handle_join_group_request, 0, 7),
        ApiKeys.HEARTBEAT: ApiHandler(lambda apis: apis.handle_heartbeat_request, 0, 4),
        ApiKeys.LEAVE_GROUP: ApiHandler(lambda apis: apis.handle_leave_group_request, 0, 4),
        ApiKeys.SYNC_GROUP: ApiHandler(lambda apis: apis.handle_sync_group_request, 0, 5),
        ApiKeys.DESCRIBE_GROUPS: ApiHandler(lambda apis: apis.handle_describe_group_request, 0, 5),
        ApiKeys.LIST_GROUPS: ApiHandler(lambda apis: apis.handle_list_groups_request, 0, 3),
        ApiKeys.API_VERSIONS: ApiHandler(lambda apis: apis.handle_api_versions_request, 0, 3),
        ApiKeys.CREATE_TOPICS: ApiHandler(lambda apis: apis.handle_create_topics_request, 0, 2),
        ApiKeys.DELETE_TOPICS: ApiHandler(lambda apis: apis.handle_delete_topics_request, 0, 1),
        ApiKeys.DELETE_RECORDS: ApiHandler(lambda apis: apis.handle_delete_records_request, 0, 0),
        ApiKeys.INIT_PRODUCER_ID: ApiHandler(lambda apis: apis.handle_init_producer_id_request, 0, 3),
        ApiKeys.OFFSET_FOR_LEADER_EPOCH: ApiHandler(lambda apis: apis.handle_offset_for_leader_epoch_request, 0, 3),
        ApiKeys.ADD_PARTITIONS_TO_TXN: ApiHandler(lambda apis: apis.handle_add_partition_to_txn_request, 0, 1),
        ApiKeys.ADD_OFFSETS_TO_TXN: ApiHandler(lambda apis: apis.handle_add_offsets_to_txn_request, 0, 1),
        ApiKeys.END_TXN: ApiHandler(lambda apis: apis.handle_end_txn_request, 0, 1),
        ApiKeys.WRITE_TXN_MARKERS: ApiHandler(lambda apis: apis.handle_write_txn_markers_request, 0, 0),
        ApiKeys.TXN_OFFSET_COMMIT: ApiHandler(lambda apis: apis.handle_txn_offset_commit_request, 0, 3),
        ApiKeys.DESCRIBE_CONFIGS: ApiHandler(lambda apis: apis.handle_describe_configs_request, 0, 1),
        ApiKeys.ALTER_CONFIGS: ApiHandler(lambda apis: apis.handle_alter_configs_request, 0, 0),
        ApiKeys.ALTER_REPLICA_LOG_DIRS: ApiHandler(lambda apis: apis.handle_alter_replica_log_dirs_request, 0, 0),
        ApiKeys.DESCRIBE_LOG_DIRS: ApiHandler(lambda apis: apis.handle_describe_log_dirs_request, 0, 0),
        ApiKeys.CREATE_PARTITIONS: ApiHandler(lambda apis: apis.handle_create_partitions_request, 0, 0),
        ApiKeys.DELETE_GROUPS: ApiHandler(lambda apis: apis.handle_delete_groups_request, 0, 2),
        ApiKeys.ELECT_LEADERS: ApiHandler(lambda apis: apis.admin.reassignments.handle_elect_replica_leader, 0, 2),
        ApiKeys.ALTER_PARTITION_REASSIGNMENTS: ApiHandler(
            lambda apis: apis.admin.reassignments.handle_alter_partition_reassignments_request, 0, 0
        ),
        ApiKeys.LIST_PARTITION_REASSIGNMENTS: ApiHandler(
            lambda apis: apis.admin.reassignments.handle_list_partition_reassignments_request, 0, 0
        ),
        ApiKeys.OFFSET_DELETE: ApiHandler(lambda apis: apis.handle_offset_delete_request, 0, 0),
    }

    def __init__(
        self,
        request_channel: RequestChannel,
        replica_manager: ReplicaManager,
        admin_manager: AdminManager,
        group_coordinator: GroupCoordinator,
        txn_coordinator: TransactionCoordinator,
        controller: KafkaController,
        zk_client: KafkaZkClient,
        broker_id: int,
        config: KafkaConfig,
        metadata_cache: MetadataCache,
        metrics: Metrics,
        authorizer: Authorizer | None,
        quotas: QuotaFactory.QuotaManagers,
        fetch_manager: FetchManager,
        broker_topic_stats: BrokerTopicStats,
        cluster_id: str,
        time: Time,
        token_manager: Any = None,
        api_version_manager: ApiVersionManager | None = None,
        metadata_support: ZkSupport | None = None,
    ) -> None:
        """The first 18 are those of 1.1.1, in its order; metadata_support bundles three of them, as in 3.7.1."""
        self.request_channel = request_channel
        self.replica_manager = replica_manager
        self.admin_manager = admin_manager
        self.group_coordinator = group_coordinator
        self.txn_coordinator = txn_coordinator
        self.controller = controller
        self.zk_client = zk_client
        self.broker_id = broker_id
        self.config = config
        self.metadata_cache = metadata_cache
        self.metrics = metrics
        self.authorizer = authorizer
        self.quotas = quotas
        self.fetch_manager = fetch_manager
        self.broker_topic_stats = broker_topic_stats
        self.cluster_id = cluster_id
        self.time = time
        self.token_manager = token_manager
        self.api_version_manager = api_version_manager
        self.metadata_support = metadata_support
        self.log_ident = f"[KafkaApi-{broker_id}] "
        self.auth_helper = AuthHelper(authorizer)
        self.request_helper = RequestHandlerHelper(request_channel, quotas, time, self.log_ident)
        self.handle_error = self.request_helper.handle_error
        self.send_response = self.request_helper.send_response
        ident, auth, helper = self.log_ident, self.auth_helper, self.request_helper
        self.records = KafkaApisRecords(
            ident,
            auth,
            helper,
            request_channel,
            replica_manager,
            metadata_cache,
            quotas,
            fetch_manager,
            broker_topic_stats,
            time,
        )
        self.metadata = KafkaApisMetadata(
            ident,
            auth,
            helper,
            admin_manager,
            controller,
            zk_client,
            config,
            metadata_cache,
            cluster_id,
            api_version_manager,
            group_coordinator,
            txn_coordinator,
        )
        self.admin: KafkaApisAdmin = KafkaApisAdmin(
            ident, auth, helper, replica_manager, admin_manager, controller, metadata_cache
        )
        self.cluster = KafkaApisCluster(
            ident, auth, helper, replica_manager, admin_manager, controller, group_coordinator, txn_coordinator
        )
        self.groups = KafkaApisGroups(ident, auth, helper, group_coordinator, zk_client, config, metadata_cache, time)
        self.transactions = KafkaApisTransactions(
            ident, auth, helper, txn_coordinator, group_coordinator, replica_manager, config, metadata_cache, time
        )
        # the names that 1.1.1 has for them here
        self.handle_produce_request: Handler = self.records.handle_produce_request
        self.handle_fetch_request: Handler = self.records.handle_fetch_request
        self.handle_list_offset_request: Handler = self.records.handle_list_offset_request
        self.handle_offset_for_leader_epoch_request: Handler = self.records.handle_offset_for_leader_epoch_request
        self.handle_topic_metadata_request: Handler = self.metadata.handle_topic_metadata_request
        self.handle_find_coordinator_request: Handler = self.metadata.handle_find_coordinator_request
        self.handle_api_versions_request: Handler = self.metadata.handle_api_versions_request
        self.handle_create_topics_request: Handler = self.metadata.handle_create_topics_request
        self.handle_delete_topics_request: Handler = self.metadata.handle_delete_topics_request
        self.handle_create_partitions_request: Handler = self.admin.handle_create_partitions_request
        self.handle_delete_records_request: Handler = self.admin.handle_delete_records_request
        self.handle_alter_configs_request: Handler = self.admin.handle_alter_configs_request
        self.handle_describe_configs_request: Handler = self.admin.handle_describe_configs_request
        self.handle_alter_replica_log_dirs_request: Handler = self.admin.handle_alter_replica_log_dirs_request
        self.handle_describe_log_dirs_request: Handler = self.admin.handle_describe_log_dirs_request
        self.handle_leader_and_isr_request: Handler = self.cluster.handle_leader_and_isr_request
        self.handle_stop_replica_request: Handler = self.cluster.handle_stop_replica_request
        self.handle_update_metadata_request: Handler = self.cluster.handle_update_metadata_request
        self.handle_controlled_shutdown_request: Handler = self.cluster.handle_controlled_shutdown_request
        self.handle_join_group_request: Handler = self.groups.handle_join_group_request
        self.handle_sync_group_request: Handler = self.groups.handle_sync_group_request
        self.handle_heartbeat_request: Handler = self.groups.handle_heartbeat_request
        self.handle_leave_group_request: Handler = self.groups.handle_leave_group_request
        self.handle_offset_commit_request: Handler = self.groups.handle_offset_commit_request
        self.handle_offset_fetch_request: Handler = self.groups.handle_offset_fetch_request
        self.handle_describe_group_request: Handler = self.groups.handle_describe_group_request
        self.handle_list_groups_request: Handler = self.groups.handle_list_groups_request
        self.handle_delete_groups_request: Handler = self.groups.handle_delete_groups_request
        self.handle_offset_delete_request: Handler = self.groups.handle_offset_delete_request
        self.handle_init_producer_id_request: Handler = self.transactions.handle_init_producer_id_request
        self.handle_add_partition_to_txn_request: Handler = self.transactions.handle_add_partition_to_txn_request
        self.handle_add_offsets_to_txn_request: Handler = self.transactions.handle_add_offsets_to_txn_request
        self.handle_end_txn_request: Handler = self.transactions.handle_end_txn_request
        self.handle_write_txn_markers_request: Handler = self.transactions.handle_write_txn_markers_request
        self.handle_txn_offset_commit_request: Handler = self.transactions.handle_txn_offset_commit_request
        self._handlers: dict[ApiKeys, Handler] = {key: handler.of(self) for key, handler in self.HANDLERS.items()}

    def handle(self, request: Request, request_local: RequestLocal | None = None) -> None:
        """Let the request's handler do its work; whatever it raises becomes an error response or a closed connection.

        Only FatalExitError gets through, for it ends the process.
        """
        try:
            if self.logger.trace_enabled:
                self.trace(
                    "Handling request:%s from connection %s;securityProtocol:%s,principal:%s",
                    request.request_desc(True),
                    request.context.connection_id,
                    request.context.security_protocol,
                    request.context.principal,
                )
            self._handlers[request.header.api_key](request)
        except FatalExitError:
            raise
        except Exception as e:  # noqa: BLE001 -- whatever is wrong with one request must not end the handler
            self.handle_error(request, e)
        finally:
            # A request that was answered on the way has its time already.
            if request.api_local_complete_time_nanos < 0:
                request.api_local_complete_time_nanos = self.time.nanoseconds()

    def close(self) -> None:
        """Nothing is held here that would have to be let go; the line is for whoever follows a shutdown."""
        self.info("Shutdown complete.")
