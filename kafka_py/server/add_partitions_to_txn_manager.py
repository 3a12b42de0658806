"""Asks the coordinators of transactions whether partitions belong to them.

Mirrors: core/src/main/scala/kafka/server/AddPartitionsToTxnManager.scala @ 3.7.1
Read next: transaction_verification.py (who asks); coordinator/transaction/transaction_coordinator.py
    (handle_verify_partitions_in_transaction: who answers); common/inter_broker_send_thread.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from kafka_py.api.api_version import KAFKA_2_5_IV0
from kafka_py.common.inter_broker_send_thread import InterBrokerSendThread, RequestAndCompletionHandler
from kafka_py.common.internals.topic import Topic
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_py.common.requests.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.server.network_utils import build_network_client
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.clients.client_response import ClientResponse
    from kafka_py.clients.kafka_client import KafkaClient
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.node import Node
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.server.kafka_config import KafkaConfig
    from kafka_py.server.metadata_cache import MetadataCache

AppendCallback: TypeAlias = Callable[[dict["TopicPartition", Errors]], None]


class LocalCoordinator(Protocol):
    """The coordinator of this broker, as far as it is asked here."""

    def partition_for(self, transactional_id: str) -> int:
        """The partition of the transaction log that an id belongs to."""

    def handle_verify_partitions_in_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        response_callback: Callable[[Mapping[TopicPartition, Errors]], None],
    ) -> None:
        """Answer for each partition whether the transaction has it."""


class TransactionDataAndCallback(NamedTuple):
    """One question, who waits for its answer, and since when (ms).

    Mirrors: kafka.server.TransactionDataAndCallbacks @ 3.7.1
    Differs: one for each transaction; Kafka keeps three maps by transactional id.
    """

    transaction_data: AddPartitionsToTxnTransaction
    callback: AppendCallback
    start_time_ms: int


class AddPartitionsToTxnManager(InterBrokerSendThread, KafkaMetricsGroup):
    """Sends each coordinator one request at a time, with all that was asked meanwhile.

    A callback gets the partitions that are not verified, with the reason; none if all are, and none if the coordinator
    is a broker that cannot be asked: that is one of a cluster whose inter.broker.protocol.version is below 2.5-IV0,
    which may be a Scala 1.1.1. This broker's own coordinator is asked without a request.

    Mirrors: kafka.server.AddPartitionsToTxnManager @ 3.7.1
    Thread:  AddPartitionsToTxnSenderThread-{broker} sends and hears; request handlers ask. Callbacks run on either.
    Locks:   _lock, for what waits to be sent; no callback runs under it.
    Differs: which versions another broker knows follows the inter-broker protocol, as for all that brokers send each
        other here, and is not negotiated: version 4 is not among those that clients are offered.
    Left out: topicPartitionsToError -- _refuse
    """

    def __init__(
        self,
        config: KafkaConfig,
        client: KafkaClient,
        metadata_cache: MetadataCache,
        coordinator: LocalCoordinator,
        time: Time,
    ) -> None:
        super().__init__(f"AddPartitionsToTxnSenderThread-{config.broker_id}", client, time)
        self._broker_id = config.broker_id
        self._metadata_cache = metadata_cache
        self._coordinator = coordinator
        self._unsent_expiry_ms = config.request_timeout_ms
        self._listener_name = config.inter_broker_listener_name
        self._others_can_be_asked = config.inter_broker_protocol_version >= KAFKA_2_5_IV0
        self._lock = ReentrantLock()
        self._inflight_nodes: set[Node] = set()  # thread: AddPartitionsToTxnSenderThread
        self._nodes_to_transactions: dict[Node, dict[str, TransactionDataAndCallback]] = {}  # guarded by: _lock
        self.verification_failure_rate = self.new_meter("VerificationFailureRate", "failures")
        self.verification_time_ms = self.new_histogram("VerificationTimeMs")

    @classmethod
    def apply(
        cls,
        config: KafkaConfig,
        metrics: Metrics,
        metadata_cache: MetadataCache,
        coordinator: LocalCoordinator,
        time: Time,
    ) -> AddPartitionsToTxnManager:
        """A manager with a client of its own for the inter-broker listener."""
        log_context = f"[AddPartitionsToTxnManager broker={config.broker_id}] "
        client = build_network_client("AddPartitionsManager", config, metrics, time, log_context)
        return cls(config, client, metadata_cache, coordinator, time)

    @property
    def unsent_expiry_ms(self) -> int:
        """request.timeout.ms."""
        return self._unsent_expiry_ms

    def verify_transaction(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        topic_partitions: Sequence[TopicPartition],
        callback: AppendCallback,
    ) -> None:
        """Ask the coordinator of the id; the callback runs exactly once, on this thread or another."""
        node = self._get_transaction_coordinator(transactional_id)
        if node is None:
            callback(dict.fromkeys(topic_partitions, Errors.COORDINATOR_NOT_AVAILABLE))
        elif node.id == self._broker_id:
            self._ask_local_coordinator(transactional_id, producer_id, producer_epoch, topic_partitions, callback)
        elif not self._others_can_be_asked:
            callback({})
        else:
            topics: dict[str, list[int]] = {}
            for topic, partition in topic_partitions:
                topics.setdefault(topic, []).append(partition)
            data = AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                verify_only=True,
                topics=[AddPartitionsToTxnTopic(topic=topic, partitions=parts) for topic, parts in topics.items()],
            )
            self._add_txn_data(node, TransactionDataAndCallback(data, callback, self._time.milliseconds()))

    def _get_transaction_coordinator(self, transactional_id: str) -> Node | None:
        node = self._metadata_cache.get_partition_leader_endpoint(
            Topic.TRANSACTION_STATE_TOPIC_NAME, self._coordinator.partition_for(transactional_id), self._listener_name
        )
        return None if node is None or node.is_empty() else node

    def _ask_local_coordinator(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        topic_partitions: Sequence[TopicPartition],
        callback: AppendCallback,
    ) -> None:
        def answered(errors: Mapping[TopicPartition, Errors]) -> None:
            callback(self._unverified(errors))

        self._coordinator.handle_verify_partitions_in_transaction(
            transactional_id, producer_id, producer_epoch, topic_partitions, answered
        )

    def _add_txn_data(self, node: Node, asked: TransactionDataAndCallback) -> None:
        """Have the question sent. Of two about one transactional id the one of the greater epoch is, or the later.

        The other one is answered at once: INVALID_PRODUCER_EPOCH for the smaller epoch; at the same epoch the client
        has come again, and the first question ends with NETWORK_EXCEPTION.
        """
        refused: TransactionDataAndCallback | None = None
        error = Errors.INVALID_PRODUCER_EPOCH
        with self._lock:
            transactions = self._nodes_to_transactions.setdefault(node, {})
            transactional_id = asked.transaction_data.transactional_id
            existing = transactions.get(transactional_id)
            if existing is not None:
                epoch, existing_epoch = asked.transaction_data.producer_epoch, existing.transaction_data.producer_epoch
                refused = existing if existing_epoch <= epoch else asked
                if existing_epoch == epoch:
                    error = Errors.NETWORK_EXCEPTION
            if refused is not asked:
                transactions[transactional_id] = asked
        if refused is not None:
            self._refuse(refused, error)
        self.wakeup()

    def _refuse(self, asked: TransactionDataAndCallback, error: Errors) -> None:
        self._send_callback(asked, dict.fromkeys(asked.transaction_data.partitions(), error))

    def _send_callback(self, asked: TransactionDataAndCallback, errors: Mapping[TopicPartition, Errors]) -> None:
        self.verification_time_ms.update(self._time.milliseconds() - asked.start_time_ms)
        asked.callback(self._unverified(errors))

    def _unverified(self, errors: Mapping[TopicPartition, Errors]) -> dict[TopicPartition, Errors]:
        """The partitions with an error, counted."""
        unverified = {partition: error for partition, error in errors.items() if error is not Errors.NONE}
        if unverified:
            self.verification_failure_rate.mark(len(unverified))
        return unverified

    def generate_requests(self) -> list[RequestAndCompletionHandler]:
        """A request for each coordinator that has answered the one before."""
        requests = []
        with self._lock:
            for node in [node for node in self._nodes_to_transactions if node not in self._inflight_nodes]:
                self._inflight_nodes.add(node)
                transactions = self._nodes_to_transactions.pop(node)
                builder = AddPartitionsToTxnRequest.Builder.for_broker(
                    asked.transaction_data for asked in transactions.values()
                )
                handler = _AddPartitionsToTxnHandler(self, node, transactions)
                requests.append(RequestAndCompletionHandler(node, builder, handler))
        return requests

    def on_complete(
        self, node: Node, transactions: Mapping[str, TransactionDataAndCallback], response: ClientResponse
    ) -> None:
        """Tell who asked. Runs on: AddPartitionsToTxnSenderThread."""
        self._inflight_nodes.discard(node)
        body = response.response_body()
        if response.was_disconnected() or body is None:
            self.warn("AddPartitionsToTxnRequest failed for node %s with a network exception.", response.destination())
            self._refuse_all(transactions, Errors.NETWORK_EXCEPTION)
        else:
            assert isinstance(body, AddPartitionsToTxnResponse), "the answer to AddPartitionsToTxn"
            error = Errors.for_code(body.error_code)
            if error is Errors.NONE:
                self._answer_each(transactions, body)
            else:
                self.error("AddPartitionsToTxnRequest for node %s returned with error %s.", node, error)
                # that brokers may not ask each other is nothing that a client could do something about
                is_refused = error is Errors.CLUSTER_AUTHORIZATION_FAILED
                self._refuse_all(transactions, Errors.INVALID_TXN_STATE if is_refused else error)
        self.wakeup()

    def _refuse_all(self, transactions: Mapping[str, TransactionDataAndCallback], error: Errors) -> None:
        for asked in transactions.values():
            self._refuse(asked, error)

    def _answer_each(
        self, transactions: Mapping[str, TransactionDataAndCallback], response: AddPartitionsToTxnResponse
    ) -> None:
        answered = {result.transactional_id: result.errors() for result in response.results_by_transaction}
        for transactional_id, asked in transactions.items():
            errors = answered.get(transactional_id)
            if errors is None:  # an answer that leaves one out has not verified it
                self._refuse(asked, Errors.NETWORK_EXCEPTION)
            else:
                self._send_callback(asked, errors)

    def shutdown(self) -> None:
        """End the thread; who still waits gets no answer, for nobody could append any more."""
        super().shutdown()
        self.remove_metric("VerificationFailureRate")
        self.remove_metric("VerificationTimeMs")


class _AddPartitionsToTxnHandler:
    """Hears the answer of one coordinator.

    Mirrors: kafka.server.AddPartitionsToTxnManager.AddPartitionsToTxnHandler @ 3.7.1
    Left out: onComplete, buildErrorMap, sendCallbacksToAll -- the manager's on_complete and _refuse_all
    """

    def __init__(
        self, manager: AddPartitionsToTxnManager, node: Node, transactions: Mapping[str, TransactionDataAndCallback]
    ) -> None:
        self._manager = manager
        self._node = node
        self._transactions = transactions

    def __call__(self, response: ClientResponse) -> None:
        self._manager.on_complete(self._node, self._transactions, response)
