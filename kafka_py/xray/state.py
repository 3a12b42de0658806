"""Snapshots of a broker's parts for `/xray/state`: who it is, threads, queues, requests, partitions, purgatories.

Ours, no original. They are read from the live objects by the HTTP thread without any lock, for a held thread may have
it: single fields, and copies of dicts and lists, which Python makes in one step. A snapshot may so be a mixture of two
moments that lie next to each other. A view that changed too fast to be copied is null, and named under "busy".

Read next: state_cluster.py, the other views; pages.py, which serves them
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.common.utils.app_info_parser import KAFKA_VERSION
from kafka_py.network.request_channel import Request
from kafka_py.utils.compiled import Compiled
from kafka_py.xray import readers

if TYPE_CHECKING:
    from types import FrameType

    from kafka_py.cluster.partition import Partition
    from kafka_py.cluster.replica import Replica
    from kafka_py.log.log_segment import LogSegment
    from kafka_py.network.processor import Processor
    from kafka_py.network.request_channel import RequestChannel
    from kafka_py.server.delayed_operation import DelayedOperationPurgatory
    from kafka_py.server.kafka_server import KafkaServer
    from kafka_py.utils.timer.timing_wheel import TimingWheel

Json = dict[str, Any]
View = Callable[["KafkaServer", Mapping[str, str]], Any]
MOST_INDEX_ENTRIES = 200
MOST_ITEMS = 500  # of whatever a client can make many of
_ROLES = [
    (re.compile(pattern), role)
    for pattern, role in (
        ("socket-acceptor", "acceptor"),
        ("network-thread", "network"),
        ("request-handler", "handler"),
        ("FetcherThread", "fetcher"),
        ("^controller-event", "controller"),
        ("send-thread|SenderThread", "sender"),
        ("ExpirationReaper|^executor", "reaper"),
        ("cleaner", "cleaner"),
        ("metadata-manager|transaction-log", "coordinator"),
        ("scheduler", "scheduler"),
    )
]
_TAPS = re.compile(r"(concurrent_hooks|xray/\w+)\.py$")  # who looks stands in between
_WAITS = (
    (re.compile(r"(selectors|nio_selector)\.py$"), "select"),
    (re.compile(r"concurrent_(queues|executors)\.py$"), "waiting-queue"),
    (re.compile(r"(concurrent_locks|threading)\.py$"), "waiting-lock"),
)


def role_of(thread: str) -> str:
    """What a thread of this name is for."""
    return next((role for pattern, role in _ROLES if pattern.search(thread)), "other")


def broker(server: KafkaServer, query: Mapping[str, str]) -> Json:
    """Who it is; what the X-ray itself has to tell is added by the page."""
    listener = server.config.listeners[0]
    port = server.bound_port(listener.listener_name) if server.socket_server is not None else listener.port
    return {
        "id": server.config.broker_id,
        "host": listener.host,
        "port": port,
        "version": KAFKA_VERSION,
        "form": Compiled.describe(),
        "mode": server.config.xray,
        "clusterId": server.cluster_id,
        "state": server.broker_state.current_state,
    }


def threads(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """Every thread of the process: its role, and what it does at this moment."""
    frames = sys._current_frames()
    names = {id(queue): name for name, queue in _queues(server)}
    found = []
    for thread in sorted(threading.enumerate(), key=lambda thread: thread.name):
        frame = frames.get(thread.ident or 0)
        found.append({"name": thread.name, "role": role_of(thread.name), **_doing(frame, names), "requestId": None})
    return found


def _doing(frame: FrameType | None, names: Mapping[int, str]) -> Json:
    """state, on and method of a thread that stands in this frame."""
    state, on = "running", None
    while frame is not None:
        code = frame.f_code
        wait = next((wait for pattern, wait in _WAITS if pattern.search(code.co_filename)), None)
        ours = "kafka_py" in code.co_filename and not _TAPS.search(code.co_filename)
        if wait is None and ours:
            return {"state": state, "on": on, "method": code.co_qualname.replace(".<locals>", "")}
        if wait is not None:
            state = wait
            on = names.get(id(frame.f_locals.get("self")), on)
        frame = frame.f_back
    return {"state": state, "on": on, "method": None}


def _channels(server: KafkaServer) -> list[RequestChannel]:
    sockets = server.socket_server
    if sockets is None:
        return []
    control = sockets.control_plane_request_channel_opt
    return [sockets.data_plane_request_channel, *([] if control is None else [control])]


def _queues(server: KafkaServer) -> Iterable[tuple[str, Any]]:
    """The queues that requests and events go through, under the names that events give them."""
    for channel in _channels(server):
        prefix = channel.metric_name_prefix
        yield prefix + "requestQueue", channel.request_queue
        yield prefix + "callbackQueue", channel.callback_queue
        for processor in list(channel.processors.values()):
            yield f"{prefix}newConnections-{processor.id}", processor.new_connections
            yield f"{prefix}responseQueue-{processor.id}", processor.response_queue
    if server.kafka_controller is not None:
        yield "controllerEvents", server.kafka_controller.event_manager._queue


def queues(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """How much is in each queue, and how much may be."""
    return [
        {
            "name": name,
            "depth": queue.size(),
            "capacity": getattr(queue, "capacity", None),
            "owner": name.split("-")[-1] if "-" in name else None,
        }
        for name, queue in _queues(server)
    ]


def requests(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """The requests that wait somewhere: in a queue, for their answer's bytes to be sent, or in a purgatory's book."""
    found: dict[int, Json] = {}
    now = server.time.nanoseconds()
    for channel in _channels(server):
        for item in list(channel.request_queue._items):
            if isinstance(item, Request):
                _add(found, item, "request-queue", now)
        for processor in list(channel.processors.values()):
            for where, waiting in _answers(processor):
                _add(found, waiting, where, now)
    return list(found.values())[:MOST_ITEMS]


def _answers(processor: Processor) -> Iterable[tuple[str, Request]]:
    for response in list(getattr(processor.response_queue, "_items", ())):
        yield "response-queue", response.request
    for response in list(processor.inflight_responses.values()):
        yield "respond", response.request


def _add(found: dict[int, Json], request: Request, where: str, now: int) -> None:
    told = readers.info_of(request).whole()
    found[told["id"]] = {**told, "where": where, "sinceUs": (now - request.start_time_nanos) // 1000}


# -- partitions


def partitions(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """A ruler for each replica of each partition this broker has; `?topic=` for those of one topic."""
    manager = server.replica_manager
    if manager is None:
        return []
    wanted = query.get("topic")
    there = [p for p in manager._partitions.non_offline_partitions() if wanted in (None, p.topic)]
    there.sort(key=lambda partition: (partition.topic.startswith("__"), partition.topic, partition.partition_id))
    return [_partition(partition, server.time.milliseconds()) for partition in there[:MOST_ITEMS]]


def _partition(partition: Partition, now_ms: int) -> Json:
    local = partition.get_replica()
    replicas = sorted(partition._all_replicas_map.values, key=lambda replica: replica.broker_id)
    segments = [] if local is None or local.log is None else local.log.segments.values()
    return {
        "topic": partition.topic,
        "partition": partition.partition_id,
        "leader": partition._leader_replica_id_opt,
        "leaderEpoch": partition._leader_epoch,
        "isr": sorted(replica.broker_id for replica in partition._in_sync_replicas),
        "replicas": [_replica(each, now_ms) for each in replicas],
        "segments": [_segment(segment, end) for segment, end in zip(segments, _ends(segments), strict=True)],
    }


def _ends(segments: Sequence[LogSegment]) -> list[int | None]:
    """Where the next segment begins, for each but the last."""
    return [*(segment.base_offset for segment in segments[1:]), None][: len(segments)]


def _replica(replica: Replica, now_ms: int) -> Json:
    caught_up = replica._last_caught_up_time_ms
    log = replica.log
    return {
        "broker": replica.broker_id,
        "local": replica.is_local,
        "logStart": replica.log_start_offset if log is None else log.log_start_offset,
        "highWatermark": replica.high_watermark.message_offset,
        "lastStable": None if log is None else log.last_stable_offset,
        "logEnd": replica.log_end_offset.message_offset,
        "caughtUpMs": now_ms - caught_up if caught_up > 0 else None,
    }


def _segment(segment: LogSegment, end: int | None) -> Json:
    """`end` is exclusive; None is that of the active segment, which the log tells."""
    index = segment.offset_index
    entries = index.entries
    stride = max(1, -(-entries // MOST_INDEX_ENTRIES))
    return {
        "base": segment.base_offset,
        "end": segment.read_next_offset() if end is None else end,
        "bytes": segment.size,
        "index": [index.entry(n).offset for n in range(0, entries, stride)],
        "active": end is None,
    }


# -- purgatories


def purgatories(server: KafkaServer, query: Mapping[str, str]) -> list[Json]:
    """Who waits for which keys, and the timing wheel that ends the wait."""
    return [_purgatory(purgatory) for purgatory in _purgatories(server)]


def _purgatories(server: KafkaServer) -> Iterable[DelayedOperationPurgatory[Any]]:
    if server.replica_manager is not None:
        manager = server.replica_manager
        yield manager.delayed_produce_purgatory
        yield manager.delayed_fetch_purgatory
        yield manager.delayed_delete_records_purgatory
    if server.group_coordinator is not None:
        yield server.group_coordinator.heartbeat_purgatory
        yield server.group_coordinator.join_purgatory
    if server.transaction_coordinator is not None:
        yield server.transaction_coordinator._txn_marker_channel_manager._txn_marker_purgatory


def _purgatory(purgatory: DelayedOperationPurgatory[Any]) -> Json:
    timer = purgatory._timeout_timer
    wheel = getattr(timer, "_timing_wheel", None)
    watchers = list(purgatory._watchers_for_key.values)[:MOST_ITEMS]
    return {
        "name": purgatory.purgatory_name,
        "watched": purgatory.watched,
        "delayed": purgatory.delayed,
        "keys": [{"key": _label(each.key), "operations": _operations(list(each._operations))} for each in watchers],
        "wheel": None if wheel is None else _wheel(wheel),
    }


def _label(key: object) -> str:
    return str(getattr(key, "key_label", key))


def _operations(operations: Sequence[Any]) -> list[Json]:
    return [_operation(each) for each in operations[:MOST_ITEMS] if not each.is_completed]


def _operation(operation: Any) -> Json:
    """Its number and request are known if somebody watched when it came."""
    watched = readers._operations.get(operation)
    request = None if watched is None or watched.request is None else watched.request.short()
    number = None if watched is None else watched.id
    return {"id": number, "what": type(operation).__name__, "request": request, "expiresMs": operation.delay_ms}


def _wheel(wheel: TimingWheel) -> Json:
    levels = []
    level: TimingWheel | None = wheel
    while level is not None:
        buckets = [_length(bucket) for bucket in level._buckets]
        levels.append({"intervalMs": level._interval, "current": level._current_time, "buckets": buckets})
        level = level._overflow_wheel
    return {"tickMs": wheel._tick_ms, "size": wheel._wheel_size, "levels": levels}


def _length(bucket: Any) -> int:
    """How many entries a bucket has; counted without its lock, and so at most so many."""
    count, entry = 0, bucket._root.next
    while entry is not bucket._root and entry is not None and count < MOST_ITEMS:
        count, entry = count + 1, entry.next
    return count
