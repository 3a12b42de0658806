"""What the handlers of all API families share: collaborators, authorization and the ways to answer.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (its constructor and the private methods at its end)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafka_py.common.errors import ClusterAuthorizationException, IllegalStateException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.server.kafka_request_handler import ApiRequestHandler
from kafka_py.utils.logging import Logging
from kafka_py.utils.stack_limiter import StackLimiter, in_short
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from kafka_py.network.request_channel import Request, RequestChannel, Session
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
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class ApiHandler(NamedTuple):
    """A line of the dispatch table: who handles an API, and which versions."""

    name: str
    min_version: int
    max_version: int


class KafkaApisBase(ApiRequestHandler, Logging):
    """Constructor and answer paths of KafkaApis; each API family extends the one before.

    Thread: request handlers; the callbacks also run on whatever thread completes a delayed operation.
    """

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"
    HANDLERS: ClassVar[dict[ApiKeys, ApiHandler]] = {}

    def __init__(
        self,
        request_channel: RequestChannel,
        replica_manager: ReplicaManager,
        admin_manager: AdminManager,
        group_coordinator: object | None,
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
        """The first 18 are those of 1.1.1, in its order."""
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
        self._stacks = StackLimiter(time)
        self.token_manager = token_manager
        self.api_version_manager = api_version_manager
        self.metadata_support = metadata_support
        self.log_ident = f"[KafkaApi-{broker_id}] "
        self._admin_zk_client = AdminZkClient(zk_client)
        self._told_of_coordinator = False  # volatile: request handlers; two at once tell it twice
        self._handlers: dict[ApiKeys, Callable[[Request], None]] = {
            key: getattr(self, handler.name) for key, handler in self.HANDLERS.items()
        }

    # -- Authorization ----------------------------------------------------------------------------------------------

    def _authorize(self, session: Session, operation: Operation, resource: Resource) -> bool:
        """Without an authorizer everybody may do everything."""
        return self.authorizer is None or self.authorizer.authorize(session, operation, resource)

    def authorize_cluster_action(self, request: Request) -> None:
        """Raise ClusterAuthorizationException unless the sender may act as a broker."""
        self._authorize_cluster(request, Operation.ClusterAction)

    def authorize_cluster_alter(self, request: Request) -> None:
        """Raise ClusterAuthorizationException unless the sender may change the cluster."""
        self._authorize_cluster(request, Operation.Alter)

    def authorize_cluster_describe(self, request: Request) -> None:
        """Raise ClusterAuthorizationException unless the sender may look at the cluster."""
        self._authorize_cluster(request, Operation.Describe)

    def _authorize_cluster(self, request: Request, operation: Operation) -> None:
        if not self._authorize(request.session, operation, Resource.CLUSTER_RESOURCE):
            raise ClusterAuthorizationException(f"Request {request} is not authorized.")

    # -- Answers ----------------------------------------------------------------------------------------------------

    def _update_records_processing_stats(
        self, request: Request, tp: TopicPartition, processing_stats: RecordsProcessingStats
    ) -> None:
        """Count records that had to be converted, for the topic and for the request."""
        conversions = processing_stats.num_records_converted()
        if conversions > 0:
            api_key = request.header.api_key
            for stats in (
                self.broker_topic_stats.topic_stats(tp.topic),
                self.broker_topic_stats.all_topics_stats,
            ):
                if api_key is ApiKeys.PRODUCE:
                    stats.produce_message_conversions_rate.mark(conversions)
                elif api_key is ApiKeys.FETCH:
                    stats.fetch_message_conversions_rate.mark(conversions)
                else:
                    raise IllegalStateException("Message conversion info is recorded only for Produce/Fetch requests")
            request.message_conversions_time_nanos = processing_stats.conversion_time_nanos()
        request.temporary_memory_bytes = processing_stats.temporary_memory_bytes()

    def _handle_error(self, request: Request, e: BaseException) -> None:
        """Answer a request whose handling failed."""
        may_throttle = isinstance(e, ClusterAuthorizationException) or not request.header.api_key.cluster_action
        self.error(
            "Error when handling request %s: %s",
            in_short(request.loggable_request(True)),
            in_short(e),
            exc=self._stacks.stack_of(e, self.is_debug_enabled),
        )
        if may_throttle:
            self._send_error_response_maybe_throttle(request, e)
        else:
            self._send_error_response_exempt_throttle(request, e)

    def _send_response_maybe_throttle(
        self, request: Request, create_response: Callable[[int], AbstractResponse]
    ) -> None:
        """Answer a client, later if it uses too much of the broker's time."""
        quota = self.quotas.request
        if quota.quotas_enabled:
            quota.maybe_record_and_throttle_request(
                request, lambda throttle_time_ms: self._send_response(request, create_response(throttle_time_ms))
            )
        else:
            self.request_channel.send_response(request, create_response(0), None)

    def _send_error_response_maybe_throttle(self, request: Request, error: BaseException) -> None:
        self.quotas.request.maybe_record_and_throttle_request(
            request, lambda throttle_ms: self._send_error_or_close_connection(request, error, throttle_ms)
        )

    def _send_response_exempt_throttle(self, request: Request, response: AbstractResponse) -> None:
        """Answer a broker, or another whose time is not rationed."""
        self.quotas.request.maybe_record_exempt(request)
        self._send_response(request, response)

    def _send_error_response_exempt_throttle(self, request: Request, error: BaseException) -> None:
        self.quotas.request.maybe_record_exempt(request)
        self._send_error_or_close_connection(request, error, 0)

    def _send_error_or_close_connection(self, request: Request, error: BaseException, throttle_ms: int) -> None:
        """Close where no answer is expected: there is no other way to tell."""
        request_body = request.body()
        response = request_body.get_error_response(throttle_ms, error)
        if response is None:
            self._close_connection(request, request_body.error_counts(error))
        else:
            self._send_response(request, response)

    def _send_no_op_response_exempt_throttle(self, request: Request) -> None:
        """End a request that gets no answer, such as Produce with acks=0."""
        self.quotas.request.maybe_record_exempt(request)
        self._send_response(request, None)

    def _close_connection(self, request: Request, error_counts: dict[Errors, int]) -> None:
        """End a request without an answer by ending its connection."""
        self.request_channel.close_connection(request, error_counts)

    def _send_response(self, request: Request, response: AbstractResponse | None) -> None:
        """Hand the answer, or the fact that there is none, to the connection's processor; errors are counted there."""
        if response is None:
            self.request_channel.send_no_op_response(request)
        else:
            self.request_channel.send_response(request, response, None)
