"""How decisions reach the brokers: a batch is filled event by event, then queued to one send thread per broker.

Mirrors: core/src/main/scala/kafka/controller/ControllerChannelManager.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_py.api.api_version import (
    KAFKA_0_9_0,
    KAFKA_0_10_0_IV1,
    KAFKA_0_10_2_IV0,
    KAFKA_1_0_IV0,
    KAFKA_2_2_IV0,
    KAFKA_2_4_IV0,
    KAFKA_2_4_IV1,
)
from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.clients.network_client_utils import NetworkClientUtils
from kafka_py.common.errors import IllegalStateException, KafkaException
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.controller.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import LinkedBlockingQueue, ReentrantLock
from kafka_py.utils.logging import Logging
from kafka_py.utils.shutdownable_thread import ShutdownableThread

if TYPE_CHECKING:
    from kafka_py.api.api_version import ApiVersion
    from kafka_py.clients.client_response import ClientResponse
    from kafka_py.cluster.broker import Broker
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.node import Node
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.common.utils.time import Time
    from kafka_py.controller.kafka_controller import KafkaController
    from kafka_py.controller.state_change_logger import StateChangeLogger
    from kafka_py.server.kafka_config import KafkaConfig

ResponseCallback = Callable[["AbstractResponse"], None]
T = TypeVar("T")
StopReplicaCallback = Callable[["AbstractResponse", int], None]


class QueueItem(NamedTuple):
    """A request on its way to one broker.

    Mirrors: kafka.controller.QueueItem
    """

    api_key: ApiKeys
    request: AbstractRequest.Builder
    callback: ResponseCallback | None


class ControllerBrokerStateInfo(NamedTuple):
    """What the controller keeps per broker: client, queue and thread.

    Mirrors: kafka.controller.ControllerBrokerStateInfo
    """

    network_client: NetworkClient
    broker_node: Node
    message_queue: LinkedBlockingQueue[QueueItem]
    request_send_thread: RequestSendThread


class StopReplicaRequestInfo(NamedTuple):
    """One replica to stop, whether its data goes too, and who wants the answer.

    Mirrors: kafka.controller.StopReplicaRequestInfo
    """

    replica: PartitionAndReplica
    delete_partition: bool
    callback: StopReplicaCallback | None


class Callbacks:
    """What a state machine calls when a broker answered a StopReplica: (response, broker id).

    Mirrors: kafka.controller.Callbacks
    """

    def __init__(
        self, stop_replica_response_callback: Callable[[AbstractResponse, int], None] = lambda response, broker_id: None
    ) -> None:
        self.stop_replica_response_callback = stop_replica_response_callback


class ControllerChannelManager(KafkaMetricsGroup):
    """Holds one connection, queue and send thread per live broker.

    Mirrors: kafka.controller.ControllerChannelManager
    Thread:  controller-event-thread; the gauges are read by any.
    Locks:   _broker_lock guards the map of brokers; the event thread changes it, metrics threads read it.
    Differs: TotalQueueSize ends with its manager; in the original it shows the queues of the first term for ever. The
        brokers are told what they hear over their control plane, if there is one, as from 2.2 on (KIP-291).
    """

    QUEUE_SIZE_METRIC_NAME = "QueueSize"
    TOTAL_QUEUE_SIZE_METRIC_NAME = "TotalQueueSize"

    def __init__(
        self,
        controller_context: ControllerContext,
        config: KafkaConfig,
        time: Time,
        metrics: Metrics,
        state_change_logger: StateChangeLogger,
        thread_name_prefix: str | None = None,
    ) -> None:
        self._controller_context = controller_context
        self._config = config
        self._time = time
        self._metrics = metrics
        self._state_change_logger = state_change_logger
        self._thread_name_prefix = thread_name_prefix
        self.log_ident = f"[Channel manager on controller {config.broker_id}]: "
        self._broker_lock = ReentrantLock()
        self._broker_state_info: dict[int, ControllerBrokerStateInfo] = {}  # guarded by: _broker_lock
        self.new_gauge(self.TOTAL_QUEUE_SIZE_METRIC_NAME, self._total_queue_size)
        with self._broker_lock:
            for broker in controller_context.live_brokers:
                self._add_new_broker(broker)

    def _total_queue_size(self) -> int:
        with self._broker_lock:
            return sum(info.message_queue.size() for info in self._broker_state_info.values())

    def startup(self) -> None:
        with self._broker_lock:
            for broker_id in self._broker_state_info:
                self.start_request_send_thread(broker_id)

    def shutdown(self) -> None:
        with self._broker_lock:
            for info in list(self._broker_state_info.values()):
                self._remove_existing_broker(info)
        self.remove_metric(self.TOTAL_QUEUE_SIZE_METRIC_NAME)

    def send_request(
        self,
        broker_id: int,
        api_key: ApiKeys,
        request: AbstractRequest.Builder,
        callback: ResponseCallback | None = None,
    ) -> None:
        """Queue the request; never blocks. A broker that is gone gets nothing: it will learn all when it is back."""
        with self._broker_lock:
            info = self._broker_state_info.get(broker_id)
            if info is None:
                self.warn("Not sending request %s to broker %s, since it is offline.", request, broker_id)
            else:
                info.message_queue.put(QueueItem(api_key, request, callback))

    def add_broker(self, broker: Broker) -> None:
        with self._broker_lock:
            if broker.id not in self._broker_state_info:
                self._add_new_broker(broker)
                self.start_request_send_thread(broker.id)

    def remove_broker(self, broker_id: int) -> None:
        with self._broker_lock:
            self._remove_existing_broker(self._broker_state_info[broker_id])

    def _add_new_broker(self, broker: Broker) -> None:
        """Caller holds _broker_lock."""
        config = self._config
        queue: LinkedBlockingQueue[QueueItem] = LinkedBlockingQueue()
        self.debug("Controller %s trying to connect to broker %s", config.broker_id, broker.id)
        listener_name = config.control_plane_listener_name or config.inter_broker_listener_name
        security_protocol = config.control_plane_security_protocol or config.inter_broker_security_protocol
        node = broker.node(listener_name)
        client = self._network_client(node, listener_name, security_protocol)
        name = f"Controller-{config.broker_id}-to-broker-{broker.id}-send-thread"
        if self._thread_name_prefix is not None:
            name = f"{self._thread_name_prefix}:{name}"
        thread = RequestSendThread(
            config.broker_id,
            self._controller_context,
            queue,
            client,
            node,
            config,
            self._time,
            self._state_change_logger,
            name,
        )
        self.new_gauge(self.QUEUE_SIZE_METRIC_NAME, queue.size, self._queue_size_tags(broker.id))
        self._broker_state_info[broker.id] = ControllerBrokerStateInfo(client, node, queue, thread)

    def _network_client(
        self, node: Node, listener_name: ListenerName, security_protocol: SecurityProtocol
    ) -> NetworkClient:
        config = self._config
        builder = ChannelBuilders.client_channel_builder(security_protocol, config, listener_name)
        log_context = f"[Controller id={config.broker_id}, targetBrokerId={node.id}] "
        selector = Selector(
            NetworkReceive.UNLIMITED,
            Selector.NO_IDLE_TIMEOUT_MS,
            self._metrics,
            self._time,
            "controller-channel",
            {"broker-id": str(node.id)},
            builder,
            metrics_per_connection=False,
        )
        return NetworkClient(
            selector,
            ManualMetadataUpdater([node]),
            str(config.broker_id),
            max_in_flight_requests_per_connection=1,
            reconnect_backoff_ms=0,
            reconnect_backoff_max=0,
            socket_send_buffer=Selectable.USE_DEFAULT_BUFFER_SIZE,
            socket_receive_buffer=Selectable.USE_DEFAULT_BUFFER_SIZE,
            request_timeout_ms=config.request_timeout_ms,
            time=self._time,
            discover_broker_versions=False,
            api_versions=ApiVersions(),
            log_context=log_context,
        )

    def _queue_size_tags(self, broker_id: int) -> dict[str, str]:
        return {"broker-id": str(broker_id)}

    def _remove_existing_broker(self, info: ControllerBrokerStateInfo) -> None:
        """Caller holds _broker_lock."""
        try:
            # The thread ends before its client is closed: the client belongs to one thread at a time.
            info.request_send_thread.shutdown()
            info.network_client.close()
            info.message_queue.clear()
            self.remove_metric(self.QUEUE_SIZE_METRIC_NAME, self._queue_size_tags(info.broker_node.id))
            del self._broker_state_info[info.broker_node.id]
        except Exception as e:  # noqa: BLE001 -- the other brokers still have to be removed
            self.error("Error while removing broker by the controller", exc=e)

    def start_request_send_thread(self, broker_id: int) -> None:
        """Start the broker's thread unless it runs already. Caller holds _broker_lock."""
        thread = self._broker_state_info[broker_id].request_send_thread
        if thread.ident is None:
            thread.start()


class RequestSendThread(ShutdownableThread):
    """Sends one broker its requests, one at a time and in order, for as long as it takes.

    Mirrors: kafka.controller.RequestSendThread
    Thread:  Controller-{id}-to-broker-{b}-send-thread owns the network client, all but initiate_close.
    Differs: once it is asked to stop it waits no longer for a broker that does not answer, as from 2.1.1 on
        (KAFKA-7576). In 1.1.1 the controller's only thread stands still until request.timeout.ms is over, and with it
        the elections for what the hung broker led.
    """

    def __init__(
        self,
        controller_id: int,
        controller_context: ControllerContext,
        queue: LinkedBlockingQueue[QueueItem],
        network_client: NetworkClient,
        broker_node: Node,
        config: KafkaConfig,
        time: Time,
        state_change_logger: StateChangeLogger,
        name: str,
    ) -> None:
        super().__init__(name)
        self.controller_id = controller_id
        self.controller_context = controller_context
        self.queue = queue  # handoff: event -> send
        self.network_client = network_client  # thread: send
        self.broker_node = broker_node
        self.config = config
        self.time = time
        self.state_change_logger = state_change_logger
        self._socket_timeout_ms: int = config.controller_socket_timeout_ms
        self.log_ident = f"[RequestSendThread controllerId={controller_id}] "

    def initiate_shutdown(self) -> bool:
        """Ask the thread to stop, also while it waits for a broker that does not answer."""
        if not super().initiate_shutdown():
            return False
        self.network_client.initiate_close()
        return True

    def do_work(self) -> None:
        """Take the next request and send it until the broker has answered or this thread is shut down."""
        item = self._next_item()
        if item is None:
            return
        try:
            response = self._send_until_answered(item)
            if response is not None:
                self._handle_response(item, response)
        except Exception as e:  # noqa: BLE001 -- the next request gets a new connection
            self.error(
                "Controller %s fails to send a request to broker %s", self.controller_id, self.broker_node, exc=e
            )
            self.network_client.close(str(self.broker_node.id))

    def _next_item(self) -> QueueItem | None:
        """The next request, or None when this thread shall end (Kafka interrupts the blocking take instead)."""
        while self.is_running:
            item = self.queue.poll(timeout_ms=100)
            if item is not None:
                return item
        return None

    def _send_until_answered(self, item: QueueItem) -> ClientResponse | None:
        while self.is_running:
            try:
                if self._broker_ready():
                    request = self.network_client.new_client_request(
                        str(self.broker_node.id), item.request, self.time.milliseconds(), True
                    )
                    return NetworkClientUtils.send_and_receive(self.network_client, request, self.time)
            except Exception as e:  # noqa: BLE001 -- whatever went wrong: reconnect and send again
                self.warn(
                    "Controller %s epoch %s fails to send request %s to broker %s. Reconnecting to broker.",
                    self.controller_id,
                    self.controller_context.epoch,
                    item.request,
                    self.broker_node,
                    exc=e,
                )
                self.network_client.close(str(self.broker_node.id))
            self._backoff()
        return None

    def _backoff(self) -> None:
        self.pause(100)

    def _handle_response(self, item: QueueItem, client_response: ClientResponse) -> None:
        header = client_response.request_header()
        api = header.api_key
        if api not in (ApiKeys.LEADER_AND_ISR, ApiKeys.STOP_REPLICA, ApiKeys.UPDATE_METADATA):
            raise KafkaException(f"Unexpected apiKey received: {item.api_key}")
        body = client_response.response_body()
        assert body is not None, "an answered request has a body"
        self.state_change_logger.with_controller_epoch(self.controller_context.epoch).trace(
            "Received response %s for request %s with correlation id %s sent to broker %s",
            body,
            api,
            header.correlation_id,
            self.broker_node,
        )
        if item.callback is not None:
            item.callback(body)

    def _broker_ready(self) -> bool:
        client, node = self.network_client, self.broker_node
        try:
            if not NetworkClientUtils.is_ready(client, node, self.time.milliseconds()):
                if not NetworkClientUtils.await_ready(client, node, self.time, self._socket_timeout_ms):
                    raise TimeoutError(f"Failed to connect within {self._socket_timeout_ms} ms")
                self.info("Controller %s connected to %s for sending state change requests", self.controller_id, node)
            return True
        except Exception as e:  # noqa: BLE001 -- not ready is an answer; the caller backs off
            self.warn("Controller %s's connection to broker %s was unsuccessful", self.controller_id, node, exc=e)
            client.close(str(node.id))
            return False


# from which inter-broker protocol on which version is sent, as in 2.5.1
_LEADER_AND_ISR_VERSIONS = ((KAFKA_2_4_IV1, 4), (KAFKA_2_4_IV0, 3), (KAFKA_2_2_IV0, 2), (KAFKA_1_0_IV0, 1))
_UPDATE_METADATA_VERSIONS = (
    (KAFKA_2_4_IV1, 6),
    (KAFKA_2_2_IV0, 5),
    (KAFKA_1_0_IV0, 4),
    (KAFKA_0_10_2_IV0, 3),
    (KAFKA_0_10_0_IV1, 2),
    (KAFKA_0_9_0, 1),
)
_STOP_REPLICA_VERSIONS = ((KAFKA_2_4_IV1, 2), (KAFKA_2_2_IV0, 1))


class ControllerBrokerRequestBatch(Logging):
    """Collects what the brokers must be told by one event, so that each broker gets few requests.

    Mirrors: kafka.controller.ControllerBrokerRequestBatch
    Thread:  controller-event-thread owns every field.
    Differs: requests to brokers that are not live are dropped here, as from 2.2 on (KAFKA-7235). As from 2.0 on,
        UpdateMetadata names the partitions it is about, not all that are being deleted besides (KAFKA-6481), and as
        from 2.3 on, one StopReplica carries all partitions that share a fate (KAFKA-8294); 1.1.1 sends one for each
        partition, and the time for deleting many grows with the square of their number. From
        inter.broker.protocol.version 2.2 on each request says which life of the broker it is meant for (KIP-380).
    """

    def __init__(self, controller: KafkaController, state_change_logger: StateChangeLogger) -> None:
        self._controller = controller
        self._state_change_logger = state_change_logger
        self.controller_context = controller.controller_context
        self.controller_id: int = controller.config.broker_id
        self.leader_and_isr_request_map: dict[  # thread: event
            int, dict[TopicPartition, LeaderAndIsrRequest.PartitionState]
        ] = {}  # thread: event
        self.stop_replica_request_map: dict[int, list[StopReplicaRequestInfo]] = {}  # thread: event
        self.update_metadata_request_broker_set: set[int] = set()  # thread: event
        self.update_metadata_request_partition_info_map: dict[  # thread: event
            TopicPartition, UpdateMetadataRequest.PartitionState
        ] = {}  # thread: event

    def new_batch(self) -> None:
        """Begin; raises IllegalStateException when the batch before was not sent, as its changes would be lost."""
        not_empty = "Controller to broker state change requests batch is not empty while creating a new one. "
        if self.leader_and_isr_request_map:
            raise IllegalStateException(
                f"{not_empty}Some LeaderAndIsr state changes {self.leader_and_isr_request_map} might be lost "
            )
        if self.stop_replica_request_map:
            raise IllegalStateException(
                f"{not_empty}Some StopReplica state changes {self.stop_replica_request_map} might be lost "
            )
        if self.update_metadata_request_broker_set:
            raise IllegalStateException(
                f"{not_empty}Some UpdateMetadata state changes to brokers {self.update_metadata_request_broker_set} "
                f"with partition info {self.update_metadata_request_partition_info_map} might be lost "
            )

    def clear(self) -> None:
        self.leader_and_isr_request_map.clear()
        self.stop_replica_request_map.clear()
        self.update_metadata_request_broker_set.clear()
        self.update_metadata_request_partition_info_map.clear()

    def add_leader_and_isr_request_for_brokers(
        self,
        broker_ids: Sequence[int],
        topic_partition: TopicPartition,
        leader_isr_and_controller_epoch: LeaderIsrAndControllerEpoch,
        replicas: Sequence[int],
        is_new: bool,
    ) -> None:
        """Tell these brokers who leads the partition, and every broker's metadata cache as well."""
        leader_and_isr = leader_isr_and_controller_epoch.leader_and_isr
        for broker_id in broker_ids:
            if broker_id < 0:
                continue
            states = self.leader_and_isr_request_map.setdefault(broker_id, {})
            before = states.get(topic_partition)
            states[topic_partition] = LeaderAndIsrRequest.PartitionState(
                leader_isr_and_controller_epoch.controller_epoch,
                leader_and_isr.leader,
                leader_and_isr.leader_epoch,
                list(leader_and_isr.isr),
                leader_and_isr.zk_version,
                list(replicas),
                is_new or (before is not None and before.is_new),
            )
        self.add_update_metadata_request_for_brokers(
            sorted(self.controller_context.live_or_shutting_down_broker_ids), {topic_partition}
        )

    def add_stop_replica_request_for_brokers(
        self,
        broker_ids: Sequence[int],
        topic_partition: TopicPartition,
        delete_partition: bool,
        callback: Callable[[AbstractResponse, int], None],
    ) -> None:
        for broker_id in broker_ids:
            if broker_id >= 0:
                info = StopReplicaRequestInfo(
                    PartitionAndReplica(topic_partition, broker_id), delete_partition, callback
                )
                self.stop_replica_request_map.setdefault(broker_id, []).append(info)

    def add_update_metadata_request_for_brokers(
        self, broker_ids: Sequence[int], partitions: Collection[TopicPartition]
    ) -> None:
        """Queue metadata for the brokers: the given partitions, all if none is given."""
        to_be_deleted = self._controller.topic_deletion_manager.partitions_to_be_deleted
        self.update_metadata_request_broker_set |= {id for id in broker_ids if id >= 0}
        for tp in partitions or list(self.controller_context.partition_leadership_info):
            self._update_metadata_request_partition_info(tp, being_deleted=tp in to_be_deleted)

    def _update_metadata_request_partition_info(self, partition: TopicPartition, being_deleted: bool) -> None:
        context = self.controller_context
        state = context.partition_leadership_info.get(partition)
        if state is None:
            self.info("Leader not yet assigned for partition %s. Skip sending UpdateMetadataRequest.", partition)
            return
        replicas = context.partition_replica_assignment[partition]
        current = state.leader_and_isr
        if being_deleted:
            current = LeaderAndIsr.during_delete(current.isr)
        self.update_metadata_request_partition_info_map[partition] = UpdateMetadataRequest.PartitionState(
            state.controller_epoch,
            current.leader,
            current.leader_epoch,
            list(current.isr),
            current.zk_version,
            list(replicas),
            [id for id in replicas if not context.is_replica_online(id, partition)],
        )

    def send_requests_to_brokers(self, controller_epoch: int) -> None:
        """Queue everything: LeaderAndIsr first, then UpdateMetadata, then StopReplica.

        Raises IllegalStateException when something cannot be built; what was not queued stays in the batch.
        """
        try:
            self._send_leader_and_isr(controller_epoch)
            self._send_update_metadata(controller_epoch)
            self._send_stop_replica(controller_epoch)
        except Exception as e:
            left = "Haven't been able to send %s, current state of the map is %s. Exception message: %s"
            if self.leader_and_isr_request_map:
                self.error(left, "leader and isr requests", self.leader_and_isr_request_map, e)
            if self.update_metadata_request_broker_set:
                self.error(left, "metadata update requests", self.update_metadata_request_partition_info_map, e)
            if self.stop_replica_request_map:
                self.error(left, "stop replica requests", self.stop_replica_request_map, e)
            raise IllegalStateException(str(e)) from e

    def _of_live_brokers(self, request_map: dict[int, T]) -> list[tuple[int, T]]:
        """Without brokers that are gone, or have bounced: a new life must not hear what was meant for the old one."""
        live = self.controller_context.live_or_shutting_down_broker_ids
        return [(broker_id, wanted) for broker_id, wanted in request_map.items() if broker_id in live]

    def _send_leader_and_isr(self, controller_epoch: int) -> None:
        controller = self._controller
        log = self._state_change_logger.with_controller_epoch(controller_epoch)
        version = self._version_for(_LEADER_AND_ISR_VERSIONS)
        for broker_id, states in self._of_live_brokers(self.leader_and_isr_request_map):
            for tp, state in states.items():
                kind = "become-leader" if broker_id == state.base_partition_state.leader else "become-follower"
                log.trace(
                    "Sending %s LeaderAndIsr request %s to broker %s for partition %s", kind, state, broker_id, tp
                )
            leader_ids = {state.base_partition_state.leader for state in states.values()}
            leaders = {
                broker.node(controller.config.inter_broker_listener_name)
                for broker in self.controller_context.live_or_shutting_down_brokers
                if broker.id in leader_ids
            }
            request = LeaderAndIsrRequest.Builder(
                version,
                self.controller_id,
                controller_epoch,
                dict(states),
                leaders,
                self.controller_context.live_broker_id_and_epochs[broker_id],
            )
            controller.send_request(
                broker_id,
                ApiKeys.LEADER_AND_ISR,
                request,
                lambda response, broker_id=broker_id: controller.event_manager.put(  # type: ignore[misc]
                    controller.LeaderAndIsrResponseReceived(controller, response, broker_id)
                ),
            )
        self.leader_and_isr_request_map.clear()

    def _send_update_metadata(self, controller_epoch: int) -> None:
        log = self._state_change_logger.with_controller_epoch(controller_epoch)
        for tp, state in self.update_metadata_request_partition_info_map.items():
            log.trace(
                "Sending UpdateMetadata request %s to brokers %s for partition %s",
                state,
                self.update_metadata_request_broker_set,
                tp,
            )
        version = self._version_for(_UPDATE_METADATA_VERSIONS)
        states = dict(self.update_metadata_request_partition_info_map)
        brokers = {
            self._update_metadata_broker(b, version) for b in self.controller_context.live_or_shutting_down_brokers
        }
        epochs = self.controller_context.live_broker_id_and_epochs
        for broker_id in self.update_metadata_request_broker_set & epochs.keys():
            request = UpdateMetadataRequest.Builder(
                version, self.controller_id, controller_epoch, states, brokers, epochs[broker_id]
            )
            self._controller.send_request(broker_id, ApiKeys.UPDATE_METADATA, request, None)
        self.update_metadata_request_broker_set.clear()
        self.update_metadata_request_partition_info_map.clear()

    def _version_for(self, versions: Sequence[tuple[ApiVersion, int]]) -> int:
        """The first version whose protocol all brokers speak, else 0."""
        ibp = self._controller.config.inter_broker_protocol_version
        return next((version for since, version in versions if ibp >= since), 0)

    def _update_metadata_broker(self, broker: Broker, version: int) -> UpdateMetadataRequest.Broker:
        if version == 0:  # knows only plaintext endpoints
            listener = ListenerName.for_security_protocol(SecurityProtocol.PLAINTEXT)
            node = broker.node(listener)
            end_points = [UpdateMetadataRequest.EndPoint(node.host, node.port, SecurityProtocol.PLAINTEXT, listener)]
        else:
            end_points = [
                UpdateMetadataRequest.EndPoint(e.host or "", e.port, e.security_protocol, e.listener_name)
                for e in broker.end_points
            ]
        return UpdateMetadataRequest.Broker(broker.id, end_points, broker.rack)

    def _send_stop_replica(self, controller_epoch: int) -> None:
        for broker_id, infos in self._of_live_brokers(self.stop_replica_request_map):
            for delete in (True, False):
                self.debug(
                    "The stop replica request (delete = %s) sent to broker %s is %s",
                    "true" if delete else "false",
                    broker_id,
                    ",".join(str(info.replica) for info in infos if info.delete_partition is delete),
                )
            together: dict[tuple[bool, StopReplicaCallback | None], set[TopicPartition]] = {}
            for info in infos:
                together.setdefault((info.delete_partition, info.callback), set()).add(info.replica.topic_partition)
            for (delete, callback), partitions in together.items():
                self._send_one_stop_replica(broker_id, controller_epoch, delete, partitions, callback)
        self.stop_replica_request_map.clear()

    def _send_one_stop_replica(
        self,
        broker_id: int,
        controller_epoch: int,
        delete: bool,
        partitions: set[TopicPartition],
        callback: StopReplicaCallback | None,
    ) -> None:
        request = StopReplicaRequest.Builder(
            self.controller_id,
            controller_epoch,
            delete,
            partitions,
            self.controller_context.live_broker_id_and_epochs[broker_id],
            self._version_for(_STOP_REPLICA_VERSIONS),
        )
        answered = None if callback is None else lambda response: callback(response, broker_id)
        self._controller.send_request(broker_id, ApiKeys.STOP_REPLICA, request, answered)
