"""Markers on their way to the leaders, and the transactions that wait for them."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from kafka_py.clients.client_response import ClientResponse
from kafka_py.clients.cluster_connection_states import LONG_MAX
from kafka_py.clients.kafka_client import KafkaClient
from kafka_py.common.errors import IllegalStateException
from kafka_py.common.inter_broker_send_thread import RequestAndCompletionHandler
from kafka_py.common.metrics.metrics import Metrics as KafkaMetrics
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.transaction_result import TransactionResult
from kafka_py.common.requests.write_txn_markers_request import TxnMarkerEntry, WriteTxnMarkersRequest
from kafka_py.common.requests.write_txn_markers_response import WriteTxnMarkersResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.coordinator.transaction.delayed_txn_marker import DelayedTxnMarker
from kafka_py.coordinator.transaction.transaction_marker_channel_manager import (
    TransactionMarkerChannelManager,
    TxnMarkerQueue,
)
from kafka_py.coordinator.transaction.transaction_metadata import (
    CompleteCommit,
    PrepareCommit,
    TransactionMetadata,
)
from kafka_py.coordinator.transaction.transaction_state_manager import TransactionStateManager
from kafka_py.metrics.yammer import Metrics
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.metadata_cache import MetadataCache
from kafka_py.testing.mock_time import MockTime
from tests.coordinator.transaction.txn_fakes import Append, FakeTransactionStateManager

P1, P2 = TopicPartition("topic1", 0), TopicPartition("topic1", 1)
BROKER1, BROKER2 = Node(1, "host", 10), Node(2, "otherhost", 10)
TXN1, TXN2 = "txnId1", "txnId2"
COMMIT = TransactionResult.COMMIT
BACKOFF = TransactionMarkerChannelManager.RETRY_BACKOFF_MS


class FakeMetadataCache:
    """Knows the leaders that the test says: None for a partition that is gone, no_node() for one out of reach."""

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, Node | None] = {P1: BROKER1, P2: BROKER2}

    def get_partition_leader_endpoint(self, topic: str, partition: int, listener_name: ListenerName) -> Node | None:
        assert listener_name == ListenerName("PLAINTEXT")
        return self.leaders.get(TopicPartition(topic, partition))


class FakeClient:
    """A client that is woken, polled and closed."""

    def __init__(self) -> None:
        self.wakeups = 0
        self.polls: list[int] = []

    def wakeup(self) -> None:
        self.wakeups += 1

    def poll(self, timeout: int, now: int) -> list[ClientResponse]:
        self.polls.append(timeout)
        return []

    def initiate_close(self) -> None:
        self.wakeups += 1

    def close(self, node_id: str | None = None) -> None:
        self.polls.clear()


class Cluster:
    """A channel manager and all that it is connected with."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.cache = FakeMetadataCache()
        self.client = FakeClient()
        self.states = FakeTransactionStateManager()
        self.states.partitions = {TXN1: 0, TXN2: 1}
        self.purgatory: DelayedOperationPurgatory[DelayedTxnMarker] = DelayedOperationPurgatory(
            "txn-purgatory-name", reaper_enabled=False, timer_enabled=False
        )
        self.txn1 = self.states.have(prepared(TXN1, 0, {P1, P2}))
        self.txn2 = self.states.have(prepared(TXN2, 1, {P1}))
        self.manager = TransactionMarkerChannelManager(
            KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": "1"}, do_log=False),
            cast("MetadataCache", self.cache),
            cast("KafkaClient", self.client),
            cast("TransactionStateManager", self.states),
            self.purgatory,
            self.time,
        )

    def add(self, metadata: TransactionMetadata, coordinator_epoch: int = 0) -> None:
        """Have the markers of a prepared transaction sent."""
        new_metadata = metadata.prepare_complete(self.time.milliseconds())
        self.manager.add_txn_markers_to_send(
            metadata.transactional_id, coordinator_epoch, COMMIT, metadata, new_metadata
        )

    def waiting(self, broker: Node, txn_topic_partition: int | None = None) -> int:
        queue = self.manager.queue_for_broker(broker.id)
        return 0 if queue is None else queue.total_num_markers(txn_topic_partition)

    def requests(self) -> dict[Node, set[TxnMarkerEntry]]:
        """What the sender would send now."""
        return {r.destination: set(markers_of(r)) for r in self.manager.generate_requests()}

    def answer_all(self, error: Errors = Errors.NONE) -> int:
        """Answer whatever is to be sent now with the error; how many requests there were."""
        requests = self.manager.generate_requests()
        for request in requests:
            answer(request, error)
        return len(requests)


def prepared(transactional_id: str, producer_id: int, partitions: set[TopicPartition]) -> TransactionMetadata:
    return TransactionMetadata(transactional_id, producer_id, producer_id, 0, -1, 0, PrepareCommit, partitions, 0, 0)


def markers_of(request: RequestAndCompletionHandler) -> list[TxnMarkerEntry]:
    built = cast("WriteTxnMarkersRequest", request.request.build(0))
    return built.markers()


def answer(request: RequestAndCompletionHandler, error: Errors) -> None:
    errors: dict[int, dict[TopicPartition, Errors]] = {}
    for marker in markers_of(request):
        errors.setdefault(marker.producer_id, {}).update(dict.fromkeys(marker.partitions, error))
    header = RequestHeader(ApiKeys.WRITE_TXN_MARKERS, 0, "client", 1)
    request.handler(ClientResponse(header, None, "1", 0, 0, False, None, WriteTxnMarkersResponse.of(errors)))


def marker(producer_id: int, *partitions: TopicPartition) -> TxnMarkerEntry:
    return TxnMarkerEntry(producer_id, 0, 0, COMMIT, partitions)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.manager.shutdown()


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldGenerateEmptyMapWhenNoRequestsOutstanding")
def test_nothing_to_send(cluster: Cluster) -> None:
    assert cluster.requests() == {}


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldGenerateRequestPerPartitionPerBroker")
def test_each_broker_gets_one_request(cluster: Cluster) -> None:
    cluster.add(cluster.txn1)
    cluster.add(cluster.txn2)
    assert cluster.purgatory.watched == 2
    assert [cluster.waiting(BROKER1, partition) for partition in (None, 0, 1)] == [2, 1, 1]
    assert [cluster.waiting(BROKER2, partition) for partition in (None, 0, 1)] == [1, 1, 0]
    assert cluster.client.wakeups == 2
    assert cluster.requests() == {BROKER1: {marker(0, P1), marker(1, P1)}, BROKER2: {marker(0, P2)}}
    assert cluster.requests() == {}


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldSkipSendMarkersWhenLeaderNotFound")
def test_a_partition_that_is_gone_needs_no_marker(cluster: Cluster) -> None:
    cluster.cache.leaders[P1] = None
    cluster.states.answers = [Errors.NONE]
    cluster.add(cluster.txn1)
    cluster.add(cluster.txn2)
    assert cluster.purgatory.watched == 1
    assert cluster.txn1.topic_partitions == {P2}
    assert cluster.txn2.state is CompleteCommit
    assert cluster.manager.queue_for_broker(BROKER1.id) is None
    assert [cluster.waiting(BROKER2, partition) for partition in (None, 0, 1)] == [1, 1, 0]


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldSaveForLaterWhenLeaderUnknownButNotAvailable")
def test_a_leader_out_of_reach_is_looked_for_again(cluster: Cluster) -> None:
    cluster.cache.leaders[P1] = Node.no_node()
    cluster.add(cluster.txn1)
    cluster.add(cluster.txn2)
    assert cluster.purgatory.watched == 2
    assert cluster.manager.queue_for_broker(BROKER1.id) is None
    assert [cluster.waiting(BROKER2, partition) for partition in (None, 0, 1)] == [1, 1, 0]
    unknown = cluster.manager.queue_for_unknown_broker
    assert [unknown.total_num_markers(partition) for partition in (None, 0, 1)] == [2, 1, 1]
    assert cluster.requests() == {BROKER2: {marker(0, P2)}}
    assert unknown.total_num_markers() == 2
    cluster.cache.leaders[P1] = BROKER1
    assert cluster.requests() == {}  # not so soon after the last look
    cluster.time.sleep(BACKOFF)
    assert cluster.requests() == {BROKER1: {marker(0, P1), marker(1, P1)}}
    assert unknown.total_num_markers() == 0


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldRemoveMarkersForTxnPartitionWhenPartitionEmigrated")
def test_what_waits_for_a_partition_of_the_log_goes_with_it(cluster: Cluster) -> None:
    cluster.add(cluster.txn1)
    cluster.add(cluster.txn2)
    cluster.manager.remove_markers_for_txn_topic_partition(0)
    assert cluster.purgatory.watched == 1
    assert [cluster.waiting(BROKER1, partition) for partition in (None, 0, 1)] == [1, 0, 1]
    assert [cluster.waiting(BROKER2, partition) for partition in (None, 0, 1)] == [0, 0, 0]
    assert cluster.requests() == {BROKER1: {marker(1, P1)}}
    cluster.cache.leaders[P1] = Node.no_node()
    cluster.manager.add_txn_markers_to_broker_queue(TXN2, 1, 0, COMMIT, 0, [P1])
    cluster.manager.remove_markers_for_txn_topic_partition(1)
    assert cluster.purgatory.watched == 0
    assert cluster.manager.queue_for_unknown_broker.total_num_markers() == 0


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldCompleteAppendToLogOnEndTxnWhenSendMarkersSucceed")
def test_the_last_marker_completes_the_transaction(cluster: Cluster) -> None:
    cluster.states.answers = [Errors.NONE]
    cluster.add(cluster.txn1)
    first, second = cluster.manager.generate_requests()
    answer(first, Errors.NONE)
    assert (cluster.txn1.state, len(cluster.txn1.topic_partitions)) == (PrepareCommit, 1)
    assert cluster.states.appends == []
    answer(second, Errors.NONE)
    assert (cluster.txn1.state, cluster.txn1.pending_state) == (CompleteCommit, None)
    assert cluster.purgatory.watched == 0
    assert cluster.waiting(BROKER1) == 0
    assert len(cluster.states.appends) == 1


def test_a_transaction_without_partitions_completes_at_once(cluster: Cluster) -> None:
    cluster.states.answers = [Errors.NONE]
    empty = cluster.states.have(prepared("empty", 3, set()))
    cluster.add(empty)
    assert empty.state is CompleteCommit
    assert cluster.purgatory.watched == 0
    assert cluster.requests() == {}


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldAbortAppendToLogOnEndTxnWhenNotCoordinatorError")
@pytest.mark.parametrize("error", [Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS], ids=str)
def test_a_coordinator_no_more_leaves_the_completion_to_the_next(cluster: Cluster, error: Errors) -> None:
    cluster.states.answers = [error]
    cluster.add(cluster.txn2)
    cluster.answer_all()
    assert (cluster.txn2.state, cluster.txn2.pending_state) == (PrepareCommit, None)
    assert cluster.purgatory.watched == 0
    cluster.time.sleep(BACKOFF)
    cluster.answer_all()
    assert len(cluster.states.appends) == 1


@pytest.mark.ported(
    "TransactionMarkerChannelManagerTest.shouldRetryAppendToLogOnEndTxnWhenCoordinatorNotAvailableError"
)
def test_a_log_that_is_not_available_is_tried_again(cluster: Cluster) -> None:
    cluster.states.answers = [Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_NOT_AVAILABLE, Errors.NONE]
    cluster.add(cluster.txn2)
    wakeups = cluster.client.wakeups
    cluster.answer_all()
    assert cluster.txn2.pending_state is CompleteCommit
    assert cluster.client.wakeups == wakeups + 1
    cluster.manager.do_work()
    assert cluster.client.polls == [BACKOFF]
    for state in (PrepareCommit, CompleteCommit):
        cluster.time.sleep(BACKOFF)
        cluster.manager.generate_requests()
        assert cluster.txn2.state is state
    assert cluster.purgatory.watched == 0
    cluster.manager.do_work()
    assert cluster.client.polls == [BACKOFF, LONG_MAX]


def test_an_error_of_the_log_that_cannot_be_is_raised(cluster: Cluster) -> None:
    cluster.states.answers = [Errors.UNKNOWN_SERVER_ERROR]
    cluster.add(cluster.txn2)
    with pytest.raises(IllegalStateException, match=r"Unexpected error .*UnknownServerException while appending"):
        cluster.answer_all()


def test_a_refused_marker_is_tried_again_after_a_pause(cluster: Cluster) -> None:
    cluster.states.answers = [Errors.NONE]
    cluster.add(cluster.txn2)
    assert cluster.answer_all(Errors.NOT_LEADER_FOR_PARTITION) == 1
    cluster.cache.leaders[P1] = BROKER2
    assert cluster.requests() == {}
    cluster.manager.do_work()
    assert cluster.client.polls == [BACKOFF]
    cluster.time.sleep(BACKOFF)
    [request] = cluster.manager.generate_requests()
    assert (request.destination, markers_of(request)) == (BROKER2, [marker(1, P1)])
    answer(request, Errors.NONE)
    assert cluster.txn2.state is CompleteCommit


@pytest.mark.parametrize("error", [Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS, None], ids=str)
def test_a_term_that_is_over_when_the_markers_are_written_appends_nothing(
    cluster: Cluster, error: Errors | None
) -> None:
    cluster.add(cluster.txn2)
    cluster.txn2.topic_partitions.clear()
    if error is None:
        cluster.states.have(prepared(TXN2, 1, {P1}), coordinator_epoch=1)
    else:
        cluster.states.states[TXN2] = error
    cluster.manager.complete_send_markers_for_txn_id(TXN2, 0)
    assert cluster.purgatory.watched == 0
    assert cluster.states.appends == []


@pytest.mark.parametrize("error", [Errors.UNKNOWN_SERVER_ERROR, None], ids=str)
def test_a_state_that_cannot_be_when_the_markers_are_written(cluster: Cluster, error: Errors | None) -> None:
    cluster.add(cluster.txn2)
    cluster.txn2.topic_partitions.clear()
    if error is None:
        del cluster.states.states[TXN2]
    else:
        cluster.states.states[TXN2] = error
    with pytest.raises(IllegalStateException):
        cluster.manager.complete_send_markers_for_txn_id(TXN2, 0)


@pytest.mark.parametrize("error", [Errors.NOT_COORDINATOR, None], ids=str)
def test_partitions_that_are_gone_are_not_skipped_for_another_term(cluster: Cluster, error: Errors | None) -> None:
    cluster.add(cluster.txn2)
    cluster.cache.leaders[P1] = None
    later = cluster.states.have(prepared(TXN2, 1, {P1}), coordinator_epoch=1)
    if error is not None:
        cluster.states.states[TXN2] = error
    cluster.manager.add_txn_markers_to_broker_queue(TXN2, 1, 0, COMMIT, 0, [P1])
    assert cluster.purgatory.watched == 0
    assert later.topic_partitions == {P1}
    del cluster.states.states[TXN2]
    with pytest.raises(IllegalStateException, match="no metadata in the cache"):
        cluster.manager.add_txn_markers_to_broker_queue(TXN2, 1, 0, COMMIT, 0, [P1])


def test_a_late_answer_of_an_earlier_term_does_not_touch_the_present_one(cluster: Cluster) -> None:
    """KAFKA-16352: the transaction of the new term hung in PrepareCommit."""
    cluster.states.answers = [Errors.NONE]
    cluster.add(cluster.txn2, coordinator_epoch=0)
    [late] = cluster.manager.generate_requests()
    # the partition went to another broker and came back: loaded, it sends its markers again
    cluster.manager.remove_markers_for_txn_topic_partition(1)
    loaded = cluster.states.have(prepared(TXN2, 1, {P1}), coordinator_epoch=2)
    cluster.add(loaded, coordinator_epoch=2)
    answer(late, Errors.NONE)
    assert loaded.topic_partitions == {P1}
    cluster.answer_all()
    assert loaded.state is CompleteCommit
    assert cluster.purgatory.watched == 0


def test_markers_asked_for_twice_complete_the_transaction_once(cluster: Cluster) -> None:
    """KAFKA-10080: a second completion was appended after the first."""
    cluster.states.answers = [Errors.NONE]
    cluster.add(cluster.txn2)
    cluster.txn2.pending_state = None
    cluster.add(cluster.txn2)
    assert cluster.purgatory.watched == 1
    cluster.txn2.topic_partitions.clear()
    for _ in range(2):
        cluster.manager.complete_send_markers_for_txn_id(TXN2, 0)
    assert cluster.txn2.state is CompleteCommit
    assert len(cluster.states.appends) == 1


def test_a_completion_that_meets_another_look_is_not_lost(cluster: Cluster) -> None:
    """KAFKA-9777: who found the lock taken left a mark that nobody looked at."""
    done: list[bool] = []

    class Slow(DelayedTxnMarker):
        def try_complete(self) -> bool:
            completed = super().try_complete()
            if not completed and not done:
                done.append(True)
                # meanwhile the last marker is written, and its answer is looked at by a thread that finds us here
                cluster.txn2.topic_partitions.clear()
                self._try_complete_pending.set(True)
            return completed

    called: list[str] = []
    operation = Slow(cluster.txn2, lambda: called.append("complete"))
    assert operation.maybe_try_complete()
    assert called == ["complete"]


def test_a_delayed_marker_never_expires_and_gives_the_lock_back_first(cluster: Cluster) -> None:
    held: list[bool] = []
    operation = DelayedTxnMarker(cluster.txn2, lambda: held.append(cluster.txn2.lock.is_held_by_current_thread()))
    assert not operation.try_complete()
    with pytest.raises(IllegalStateException, match="has timed out, this should never happen"):
        operation.on_expiration()
    cluster.txn2.topic_partitions.clear()
    assert operation.try_complete()
    assert held == [False]


def test_a_broker_that_moved_gets_the_markers_at_its_new_address(cluster: Cluster) -> None:
    cluster.add(cluster.txn2)
    moved = Node(1, "host", 11)
    cluster.cache.leaders[P1] = moved
    cluster.add(cluster.txn1)
    assert set(cluster.requests()) == {moved, BROKER2}


def test_a_queue_that_is_dropped_takes_its_markers_along() -> None:
    queue = TxnMarkerQueue(BROKER1)
    assert queue.remove_markers_for_txn_topic_partition(5) == []
    assert queue.total_num_markers(5) == 0
    assert queue.drain() == []


@pytest.mark.ported("TransactionMarkerChannelManagerTest.shouldCreateMetricsOnStarting")
def test_gauges(cluster: Cluster) -> None:
    prefix = "kafka.coordinator.transaction:type=TransactionMarkerChannelManager,name="
    names = {f"{prefix}UnknownDestinationQueueSize", f"{prefix}LogAppendRetryQueueSize"}
    registry = Metrics.default_registry()
    found = {str(name): metric for name, metric in registry.all_metrics().items() if str(name) in names}
    assert found.keys() == names
    cluster.manager.shutdown()
    assert not names & {str(name) for name in registry.all_metrics()}


class Leader(threading.Thread):
    """A broker on a socket: it drops the connection of the first request, and answers the next ones."""

    def __init__(self) -> None:
        super().__init__(name="leader", daemon=True)
        self._server = socket.create_server(("localhost", 0))
        self._server.settimeout(10)
        self.node = Node(1, "localhost", self._server.getsockname()[1])
        self.seen: list[tuple[int, str, list[TxnMarkerEntry]]] = []

    def run(self) -> None:
        with self._server:
            for answers in (False, True):
                connection, _ = self._server.accept()
                with connection, connection.makefile("rb") as stream:
                    self._serve(connection, stream.read, answers)

    def _serve(self, connection: socket.socket, read: Callable[[int], bytes], answers: bool) -> None:
        while size := read(4):
            frame = read(*struct.unpack(">i", size))
            header = RequestHeader.parse(frame)
            request = WriteTxnMarkersRequest.parse(memoryview(frame)[header.size :], header.api_version)
            self.seen.append((header.api_version, header.client_id or "", request.markers()))
            if not answers:
                return
            errors = {m.producer_id: dict.fromkeys(m.partitions, Errors.NONE) for m in request.markers()}
            payload = WriteTxnMarkersResponse.of(errors).serialize(header.api_version, header.to_response_header())
            connection.sendall(struct.pack(">i", len(payload)) + payload)


def test_markers_go_over_the_network_again_after_a_disconnect(cluster: Cluster) -> None:
    leader = Leader()
    leader.start()
    cluster.cache.leaders = {P1: leader.node, P2: leader.node}
    metrics = KafkaMetrics()
    manager = TransactionMarkerChannelManager.apply(
        KafkaConfig.from_props({"zookeeper.connect": "z", "broker.id": "3"}, do_log=False),
        metrics,
        cast("MetadataCache", cluster.cache),
        cast("TransactionStateManager", cluster.states),
        cluster.purgatory,
        Time.SYSTEM,
        "",
    )
    completed = threading.Event()
    answer_append = cluster.states.answer

    def answer_and_tell(append: Append, error: Errors) -> None:
        answer_append(append, error)
        completed.set()

    cluster.states.answer = answer_and_tell  # type: ignore[method-assign]
    cluster.states.answers = [Errors.NONE]
    manager.start()
    try:
        assert manager.name == "TxnMarkerSenderThread-3"
        new_metadata = cluster.txn1.prepare_complete(0)
        manager.add_txn_markers_to_send(TXN1, 0, COMMIT, cluster.txn1, new_metadata)
        assert completed.wait(10)
    finally:
        manager.shutdown()
        metrics.close()
        leader.join(10)
    assert cluster.txn1.state is CompleteCommit
    assert [(version, client_id) for version, client_id, _ in leader.seen] == [(0, "broker-3-txn-marker-sender")] * 2
    assert [{*m.partitions} for _, _, [m] in leader.seen] == [{P1, P2}] * 2
