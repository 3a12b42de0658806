"""What there is to tell of a call at a point: one function for each tapped method.

Ours, no original. A reader is called on the thread that makes the call, with the object, the positional arguments and
(after the call) the answer; it takes no lock that others hold for long, and answers None when there is nothing to see.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.xray.passage import Passage, RequestInfo

if TYPE_CHECKING:
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.network.request_channel import Request

_ids = itertools.count(1)
_operation_ids = itertools.count(1)
_here = threading.local()
_lock = ReentrantLock()
_requests: weakref.WeakKeyDictionary[Any, RequestInfo] = (
    weakref.WeakKeyDictionary()
)  # written under _lock; one look is one step
_operations: weakref.WeakKeyDictionary[Any, _Watched] = weakref.WeakKeyDictionary()  # guarded by: _lock
Args = Sequence[Any]
MOST_TOLD = 8  # partitions of a request of the controller


class _Watched:
    """An operation in a purgatory, as its events tell of it."""

    __slots__ = ("id", "keys", "label", "purgatory", "request")

    def __init__(self, purgatory: str, keys: list[str], request: RequestInfo | None, label: str) -> None:
        self.id = next(_operation_ids)
        self.purgatory = purgatory
        self.keys = keys
        self.request = request
        self.label = label

    def told(self) -> dict[str, Any]:
        """The fields of its events."""
        return {"operation": self.id, "purgatory": self.purgatory, "keys": self.keys}


def forget() -> None:
    """Nobody watches any more."""
    with _lock:
        _requests.clear()
        _operations.clear()


# -- requests


def _topics_of(body: Any) -> tuple[str, ...]:
    """The topics that a Produce or a Fetch names."""
    partitions: Iterable[TopicPartition] = ()
    if isinstance(body, FetchRequest):
        partitions = body.fetch_data()
    elif isinstance(body, ProduceRequest):
        partitions = body.partitions()  # known even when its records were let go: who watches may have come late
    return tuple(dict.fromkeys(tp.topic for tp in partitions))


def info_of(request: Request) -> RequestInfo:
    """What is known of a request; its number is given when it is first seen."""
    info = _requests.get(request)
    if info is not None:
        return info
    header, body = request.header, request.body()
    follower = body.replica_id() if isinstance(body, FetchRequest) and body.is_from_follower() else None
    info = RequestInfo(
        next(_ids),
        header.api_key.name,
        header.api_version,
        header.client_id,
        request.context.connection_id,
        header.correlation_id,
        _topics_of(body),
        follower,
    )
    with _lock:
        return _requests.setdefault(request, info)


def current() -> RequestInfo | None:
    """The request that the calling thread handles."""
    info: RequestInfo | None = getattr(_here, "request", None)
    return info


def _passage(
    point: str, method: str, info: RequestInfo | None, topic: str | None = None, label: str = "", **fields: Any
) -> Passage:
    if not label and info is not None:
        label = info.api
    return Passage(point, method, info, topic, label, fields)


def accept(processor: Any, args: Args, result: Any) -> Passage:
    """Processor.accept: a connection is queued for the network thread."""
    depth = processor.new_connections.size()
    return _passage("accept", "Processor.accept", None, processor=processor.id, queue="newConnections", depth=depth)


def receive(processor: Any, args: Args, result: Any) -> Passage | None:
    """Processor._to_request: a request was read whole."""
    if result is None:
        return None
    info = info_of(result)
    method = "Processor.process_completed_receives"
    return _passage("receive", method, info, processor=processor.id, request=info.whole())


def put_request(channel: Any, args: Args, result: Any) -> Passage | None:
    """RequestChannel.send_request."""
    passages = put_requests(channel, ([args[0]],), None)
    return passages[0] if passages else None


def put_requests(channel: Any, args: Args, result: Any) -> list[Passage]:
    """RequestChannel.send_requests: the requests of one poll are queued."""
    depth = channel.request_queue.size()
    return [
        _passage(
            "request-queue",
            "RequestChannel.send_request",
            info_of(request),
            queue="requestQueue",
            depth=depth + i,
            processor=request.processor,
        )
        for i, request in enumerate(args[0])
        if hasattr(request, "header")
    ]


def handle(request: Request) -> Passage:
    """A handler has taken the request."""
    info = _here.request = info_of(request)
    return _passage("handle", "KafkaApis.handle", info)


def handled() -> None:
    """The handler is through with it."""
    _here.request = None


def put_response(processor: Any, args: Args, result: Any) -> Passage:
    """Processor.enqueue_response."""
    depth = processor.response_queue.size()
    info = info_of(args[0].request)
    return _passage(
        "response-queue",
        "Processor.enqueue_response",
        info,
        queue="responseQueue",
        depth=depth,
        processor=processor.id,
        response=type(args[0]).__name__,
    )


def take_response(processor: Any, args: Args, result: Any) -> Passage | None:
    """Processor.dequeue_response: the network thread has taken one."""
    if result is None:
        return None
    depth = processor.response_queue.size()
    return _passage(
        "respond",
        "Processor.process_new_responses",
        info_of(result.request),
        queue="responseQueue",
        depth=depth,
        processor=processor.id,
        response=type(result).__name__,
    )


def send(processor: Any, args: Args, result: Any) -> Passage:
    """Processor.send_response: it is about to be written."""
    response, response_send = args[0], args[1]
    info = info_of(response.request)
    return _passage("send", "Processor.send_response", info, processor=processor.id, bytes=response_send.size())


def end(request: Any, args: Args, result: Any) -> Passage:
    """Request.update_request_metrics: its answer is sent, or dropped."""
    stamps = (
        request.start_time_nanos,
        request.request_dequeue_time_nanos,
        request.api_local_complete_time_nanos,
        request.response_complete_time_nanos,
        request.response_dequeue_time_nanos,
    )
    start = stamps[0]
    micros = [max(0, at - start) // 1000 if at > 0 else None for at in stamps]
    return _passage("end", "Request.update_request_metrics", info_of(request), stampsUs=micros)


# -- the log


def append(partition: Any, args: Args, result: Any) -> Passage:
    """Partition.append_records_to_leader, or to a follower: no lock is held yet."""
    tp = partition.topic_partition
    bytes_ = args[0].size_in_bytes() if args and hasattr(args[0], "size_in_bytes") else None
    return _passage(
        "append", "Partition.append_records_to_leader", current(), tp.topic, partition=str(tp), bytes=bytes_
    )


def appended(partition: Any, args: Args, result: Any) -> Passage:
    """The records are in the log."""
    tp = partition.topic_partition
    fields: dict[str, Any] = {"partition": str(tp)}
    if result is not None:
        fields |= {"base": result.first_offset, "last": result.last_offset}
    return _passage("appended", "Partition.append_records_to_leader", current(), tp.topic, **fields)


def high_watermark(replica: Any, args: Args, result: Any) -> Passage | None:
    """Replica.high_watermark is set: tell it where it moves."""
    old, new = replica.high_watermark.message_offset, args[0].message_offset
    if old == new:
        return None
    tp = replica.topic_partition
    fields = {"partition": str(tp), "from": old, "to": new}
    return _passage("high-watermark", "Replica.high_watermark", current(), tp.topic, str(tp), **fields)


def isr(partition: Any, args: Args, result: Any) -> Passage:
    """Partition._update_isr: a new ISR is about to be written to ZooKeeper; leaderIsrUpdateLock is held."""
    tp = partition.topic_partition
    new = sorted(replica.broker_id for replica in args[0])
    return _passage("isr", "Partition._update_isr", current(), tp.topic, str(tp), partition=str(tp), isr=new)


def will_shrink_isr(partition: Any, args: Args, result: Any) -> Passage | None:
    """Partition.maybe_shrink_isr: the leader is about to look who lags; no lock is held yet."""
    if not partition._is_leader_replica_local:
        return None
    tp = partition.topic_partition
    return _passage("isr", "Partition.maybe_shrink_isr", None, tp.topic, f"look {tp}", partition=str(tp))


def fetch(fetcher: Any, args: Args, result: Any) -> Passage:
    """ReplicaFetcherThread.fetch: a follower is about to ask its leader."""
    return _passage("fetch", "ReplicaFetcherThread.fetch", None, leader=fetcher.source_broker.id)


def fetched(fetcher: Any, args: Args, result: Any) -> Passage:
    """The leader has answered."""
    partitions = [str(tp) for tp, _ in result]
    return _passage(
        "fetched", "ReplicaFetcherThread.fetch", None, leader=fetcher.source_broker.id, partitions=partitions
    )


# -- purgatories and timers


def will_watch(purgatory: Any, args: Args, result: Any) -> None:
    """DelayedOperationPurgatory.try_complete_else_watch: note the keys, should the operation have to wait."""
    _here.watching = (args[0], args[1])


def watch(purgatory: Any, args: Args, result: Any) -> Passage | None:
    """DelayedOperationPurgatory._watch_for_operation: the first of an operation's keys."""
    operation = args[1]
    with _lock:
        if operation in _operations:
            return None
        watching = getattr(_here, "watching", None)
        keys = watching[1] if watching is not None and watching[0] is operation else [args[0]]
        watched = _Watched(purgatory.purgatory_name, [_text(key) for key in keys], current(), type(operation).__name__)
        _operations[operation] = watched
    method = "DelayedOperationPurgatory.try_complete_else_watch"
    return _passage("watch", method, watched.request, label=watched.label, **watched.told())


def _text(key: Any) -> str:
    """A watch key for people: ``a-0`` for a partition's."""
    return "-".join(map(str, key)) if isinstance(key, tuple) else str(key)


def complete(operation: Any, args: Args, result: Any) -> Passage | None:
    """DelayedOperation.force_complete of an operation that waits; whoever is first completes it."""
    if operation.is_completed:
        return None
    return _of_watched(operation, "complete", "DelayedOperation.force_complete")


def expire(operation: Any, args: Args, result: Any) -> Passage | None:
    """DelayedOperation.run: its time is over."""
    return _of_watched(operation, "expire", "DelayedOperation.run")


def _of_watched(operation: Any, point: str, method: str) -> Passage | None:
    with _lock:
        watched = _operations.get(operation)
    if watched is None:
        return None
    return _passage(point, method, watched.request, label=watched.label, **watched.told(), by=_by())


def _by() -> dict[str, Any]:
    """Whose doing it is: the request that this thread handles, else the thread."""
    info = current()
    if info is None:
        return {"thread": threading.current_thread().name}
    by: dict[str, Any] = {"id": info.id, "api": info.api}
    if info.follower is not None:
        by["follower"] = info.follower
    return by


def completed(operation: Any, args: Args, result: Any) -> Passage | None:
    """It is done, by this thread."""
    return _of_watched(operation, "completed", "DelayedOperation.force_complete") if result else None


def tick(timer: Any, args: Args, result: Any) -> Passage | None:
    """SystemTimer.advance_clock: something fell due; no lock is held."""
    return _passage("timer-tick", "SystemTimer.advance_clock", None, tasks=timer.size) if result else None


# -- controller, coordinators, ZooKeeper


def controller_event(event: Any, args: Args, result: Any) -> Passage:
    """ControllerEvent.process."""
    name = type(event).__name__
    state = getattr(event, "state", None)
    return _passage("controller-event", f"{name}.process", None, label=name, event=name, state=str(state))


def controller_send(thread: Any, args: Args, result: Any) -> Passage:
    """RequestSendThread: what the controller is about to tell a broker."""
    item, broker = args[0], thread.broker_node.id
    request = item.request
    partitions = request._partitions if isinstance(request, StopReplicaRequest.Builder) else request._partition_states
    what = [_told_of(tp, partitions) for tp in itertools.islice(partitions, MOST_TOLD)]
    api = item.api_key.name
    return _passage(
        "controller-send",
        "RequestSendThread.do_work",
        None,
        label=f"{api} to {broker}",
        api=api,
        broker=broker,
        what=what,
        count=len(partitions),
    )


def _told_of(tp: TopicPartition, partitions: Any) -> str:
    """The partition, and leader, epoch and in-sync replicas where the request tells of them."""
    if not isinstance(partitions, Mapping):
        return str(tp)
    state = partitions[tp]
    return f"{tp} leader {state.leader} epoch {state.leader_epoch} isr {','.join(map(str, state.isr))}"


def group(metadata: Any, args: Args, result: Any) -> Passage:
    """GroupMetadata.transition_to; the group's lock is held."""
    fields = {"group": metadata.group_id, "from": str(metadata.current_state), "to": str(args[0])}
    return _passage("group", "GroupMetadata.transition_to", current(), label=str(args[0]), **fields)


def transaction(metadata: Any, args: Args, result: Any) -> Passage:
    """TransactionMetadata.complete_transition_to; the transaction's lock is held."""
    to = str(metadata.pending_state)
    fields = {"transactionalId": metadata.transactional_id, "from": str(metadata.state), "to": to}
    return _passage("transaction", "TransactionMetadata.complete_transition_to", current(), label=to, **fields)


def zookeeper(client: Any, args: Args, result: Any) -> Passage | None:
    """ZooKeeperClient.handle_requests."""
    requests = args[0]
    if not requests:
        return None
    what = [f"{type(request).__name__.removesuffix('Request')} {getattr(request, 'path', '')}" for request in requests]
    method = "ZooKeeperClient.handle_requests"
    return _passage("zookeeper", method, current(), label=what[0], requests=what[:20], count=len(what))
