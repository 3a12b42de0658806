"""What the controller tells brokers, and what a stopping broker asks the controller.

Mirrors: core/src/main/scala/kafka/server/KafkaApis.scala @ 1.1.1 (these handlers)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import StaleBrokerEpochException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.controlled_shutdown_request import ControlledShutdownRequest
from kafka_py.common.requests.controlled_shutdown_response import ControlledShutdownResponse
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.requests.update_metadata_response import UpdateMetadataResponse
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.utils import core_utils
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.cluster.partition import Partition
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.coordinator.group.group_coordinator import GroupCoordinator
    from kafka_py.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from kafka_py.network.request_channel import Request
    from kafka_py.server.admin_manager import AdminManager
    from kafka_py.server.auth_helper import AuthHelper
    from kafka_py.server.replica_manager import ReplicaManager
    from kafka_py.server.request_handler_helper import RequestHandlerHelper

# Topics are not asked whether they exist in these handlers: the controller's word is final, also about topics that are
# being deleted.


class KafkaApisCluster(Logging):
    """The handlers of requests between brokers. Thread: as KafkaApis."""

    logger_name: ClassVar[str] = "kafka.server.KafkaApis"

    def __init__(
        self,
        log_ident: str,
        auth_helper: AuthHelper,
        request_helper: RequestHandlerHelper,
        replica_manager: ReplicaManager,
        admin_manager: AdminManager,
        controller: KafkaController,
        group_coordinator: GroupCoordinator,
        txn_coordinator: TransactionCoordinator,
    ) -> None:
        self.log_ident = log_ident
        self._auth_helper = auth_helper
        self._request_helper = request_helper
        self._replica_manager = replica_manager
        self._admin_manager = admin_manager
        self._controller = controller
        self._group_coordinator = group_coordinator
        self._txn_coordinator = txn_coordinator

    def handle_leader_and_isr_request(self, request: Request) -> None:
        """Become leader or follower of partitions."""
        leader_and_isr_request = request.body(LeaderAndIsrRequest)
        if self._auth_helper.authorize(request.session, Operation.ClusterAction, Resource.CLUSTER_RESOURCE):
            if self._is_broker_epoch_stale("LeaderAndIsr", leader_and_isr_request.broker_epoch):
                response = leader_and_isr_request.get_error_response(0, StaleBrokerEpochException())
            else:
                response = self._replica_manager.become_leader_or_follower(
                    request.header.correlation_id, leader_and_isr_request, self._on_leadership_change
                )
            self._request_helper.send_response_exempt_throttle(request, response)
        else:
            exception = Errors.CLUSTER_AUTHORIZATION_FAILED.exception()
            assert exception is not None
            self._request_helper.send_response_maybe_throttle(
                request, lambda throttle_time_ms: leader_and_isr_request.get_error_response(throttle_time_ms, exception)
            )

    def _on_leadership_change(
        self, updated_leaders: Iterable[Partition], updated_followers: Iterable[Partition]
    ) -> None:
        """Runs under the replica state change lock, so that coordinators see changes in their order."""
        for partition in updated_leaders:
            if partition.topic == Topic.GROUP_METADATA_TOPIC_NAME:
                self._group_coordinator.handle_group_immigration(partition.partition_id)
            elif partition.topic == Topic.TRANSACTION_STATE_TOPIC_NAME:
                self._txn_coordinator.handle_txn_immigration(partition.partition_id, partition.get_leader_epoch)
        for partition in updated_followers:
            self._resign(partition.topic_partition, partition.get_leader_epoch)

    def _resign(self, topic_partition: TopicPartition, leader_epoch: int | None) -> None:
        """Let the coordinator of a partition's groups or transactions forget them; an epoch is not always told."""
        if topic_partition.topic == Topic.GROUP_METADATA_TOPIC_NAME:
            self._group_coordinator.handle_group_emigration(topic_partition.partition)
        elif topic_partition.topic == Topic.TRANSACTION_STATE_TOPIC_NAME:
            self._txn_coordinator.handle_txn_emigration(topic_partition.partition, leader_epoch)

    def handle_stop_replica_request(self, request: Request) -> None:
        """Stop following partitions, and delete them if asked to."""
        stop_replica_request = request.body(StopReplicaRequest)
        if self._auth_helper.authorize(request.session, Operation.ClusterAction, Resource.CLUSTER_RESOURCE):
            result: dict[TopicPartition, Errors] = {}
            error = Errors.STALE_BROKER_EPOCH
            if not self._is_broker_epoch_stale("stop replica", stop_replica_request.broker_epoch):
                result, error = self._replica_manager.stop_replicas(stop_replica_request)
            # A replica that is moved away gets no LeaderAndIsr: it may have been the leader's.
            for tp, stopped in result.items():
                if stopped is Errors.NONE and stop_replica_request.delete_partitions:
                    self._resign(tp, None)
            self._request_helper.send_response_exempt_throttle(request, StopReplicaResponse(error, result))
        else:
            refused: dict[TopicPartition, Errors] = dict.fromkeys(
                stop_replica_request.partitions(), Errors.CLUSTER_AUTHORIZATION_FAILED
            )
            self._request_helper.send_response_maybe_throttle(
                request, lambda _: StopReplicaResponse(Errors.CLUSTER_AUTHORIZATION_FAILED, refused)
            )
        core_utils.swallow(self._replica_manager.replica_fetcher_manager.shutdown_idle_fetcher_threads, self)

    def handle_update_metadata_request(self, request: Request) -> None:
        """Take over the controller's view of the cluster, and look again at who waits for topics."""
        update_request = request.body(UpdateMetadataRequest)
        if not self._auth_helper.authorize(request.session, Operation.ClusterAction, Resource.CLUSTER_RESOURCE):
            self._request_helper.send_response_maybe_throttle(
                request, lambda _: UpdateMetadataResponse(Errors.CLUSTER_AUTHORIZATION_FAILED)
            )
            return
        if self._is_broker_epoch_stale("update metadata", update_request.broker_epoch):
            response = UpdateMetadataResponse(Errors.STALE_BROKER_EPOCH)
            self._request_helper.send_response_exempt_throttle(request, response)
            return
        deleted_partitions = self._replica_manager.maybe_update_metadata_cache(
            request.header.correlation_id, update_request
        )
        if deleted_partitions:
            self._group_coordinator.handle_deleted_partitions(deleted_partitions)
        if self._admin_manager.has_delayed_topic_operations:
            self._admin_manager.try_complete_delayed_metadata()
            for topic in {tp.topic: None for tp in update_request.partition_states()}:
                self._admin_manager.try_complete_delayed_topic_operations(topic)
        self._request_helper.send_response_exempt_throttle(request, UpdateMetadataResponse(Errors.NONE))

    def handle_controlled_shutdown_request(self, request: Request) -> None:
        """Move leadership off a broker that wants to stop; answered by the controller's thread."""
        shutdown_request = request.body(ControlledShutdownRequest)
        self._auth_helper.authorize_cluster_operation(request, Operation.ClusterAction)

        def controlled_shutdown_callback(result: set[TopicPartition] | BaseException) -> None:
            if isinstance(result, BaseException):
                response = shutdown_request.get_error_response(0, result)
            else:
                response = ControlledShutdownResponse(Errors.NONE, result)
            self._request_helper.send_response_exempt_throttle(request, response)

        self._controller.controlled_shutdown(
            shutdown_request.broker_id, shutdown_request.broker_epoch, controlled_shutdown_callback
        )

    def _is_broker_epoch_stale(self, name: str, broker_epoch_in_request: int) -> bool:
        """Whether the request was meant for a life of this broker that is over (KIP-380); -1 is of any life.

        A higher epoch than ours is right: the controller may hear of our registration before we do.
        """
        broker_epoch = self._controller.broker_epoch
        if broker_epoch_in_request == -1 or broker_epoch_in_request >= broker_epoch:
            return False
        self.info(
            "Received %s request with broker epoch %d smaller than the current broker epoch %d",
            name,
            broker_epoch_in_request,
            broker_epoch,
        )
        return True
