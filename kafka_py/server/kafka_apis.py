"""Every request ends up here, in the handler of its API.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1
Read next: kafka_apis_{records,metadata,admin,cluster,transactions}.py (the handlers, by family)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.server.kafka_apis_base import ApiHandler
from kafka_py.server.kafka_apis_records import KafkaApisRecords

if TYPE_CHECKING:
    from kafka_py.network.request_channel import Request
    from kafka_py.server.request_local import RequestLocal


class KafkaApis(KafkaApisRecords):
    """Dispatches requests to their handlers.

    Mirrors: kafka.server.KafkaApis
    Thread: request handlers.
    Differs: Scala's match over the keys is the table HANDLERS, from which ApiVersions is answered, too; a key without a
        handler is neither offered nor served. The handlers live in five classes by family, each of which extends the
        next: KafkaApisRecords, …Metadata, …Admin, …Cluster, …Transactions.
    """

    HANDLERS: ClassVar[dict[ApiKeys, ApiHandler]] = {
        ApiKeys.PRODUCE: ApiHandler("handle_produce_request", 0, 7),
        ApiKeys.FETCH: ApiHandler("handle_fetch_request", 0, 11),
        ApiKeys.LIST_OFFSETS: ApiHandler("handle_list_offset_request", 0, 2),
        ApiKeys.METADATA: ApiHandler("handle_topic_metadata_request", 0, 5),
        ApiKeys.LEADER_AND_ISR: ApiHandler("handle_leader_and_isr_request", 0, 1),
        ApiKeys.STOP_REPLICA: ApiHandler("handle_stop_replica_request", 0, 0),
        ApiKeys.UPDATE_METADATA: ApiHandler("handle_update_metadata_request", 0, 4),
        ApiKeys.CONTROLLED_SHUTDOWN: ApiHandler("handle_controlled_shutdown_request", 0, 1),
        ApiKeys.FIND_COORDINATOR: ApiHandler("handle_find_coordinator_request", 0, 0),
        ApiKeys.API_VERSIONS: ApiHandler("handle_api_versions_request", 0, 3),
        ApiKeys.CREATE_TOPICS: ApiHandler("handle_create_topics_request", 0, 2),
        ApiKeys.DELETE_TOPICS: ApiHandler("handle_delete_topics_request", 0, 1),
        ApiKeys.DELETE_RECORDS: ApiHandler("handle_delete_records_request", 0, 0),
        ApiKeys.INIT_PRODUCER_ID: ApiHandler("handle_init_producer_id_request", 0, 0),
        ApiKeys.OFFSET_FOR_LEADER_EPOCH: ApiHandler("handle_offset_for_leader_epoch_request", 0, 0),
        ApiKeys.DESCRIBE_CONFIGS: ApiHandler("handle_describe_configs_request", 0, 1),
        ApiKeys.ALTER_CONFIGS: ApiHandler("handle_alter_configs_request", 0, 0),
        ApiKeys.DESCRIBE_LOG_DIRS: ApiHandler("handle_describe_log_dirs_request", 0, 0),
        ApiKeys.CREATE_PARTITIONS: ApiHandler("handle_create_partitions_request", 0, 0),
    }

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
            self._handle_error(request, e)
        finally:
            # A request that was answered on the way has its time already.
            if request.api_local_complete_time_nanos < 0:
                request.api_local_complete_time_nanos = self.time.nanoseconds()

    def close(self) -> None:
        """Nothing is held here that would have to be let go; the line is for whoever follows a shutdown."""
        self.info("Shutdown complete.")
