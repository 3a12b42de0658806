"""The last finished requests, with the threads that had them and Kafka's six time stamps.

Ours, no original. It stands on the two places every request passes: KafkaApis.handle, where a handler has it, and
update_request_metrics, the one place where it ends. Off (the default) it costs one comparison per request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from kafka_py.common.utils.time import Time
from kafka_py.metrics.exporter import Page, json_page
from kafka_py.network.request_channel import Request
from kafka_py.server.kafka_request_handler import ApiRequestHandler
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.server.request_local import RequestLocal

    Handle: TypeAlias = Callable[[Request, RequestLocal], None]
    HandleTap: TypeAlias = Callable[[Handle, Request, RequestLocal], None]

CAPACITY = 2000
# Kafka's six stamps: when the request was read, taken by a handler, done locally, completed (after a stay in
# purgatory, if any), taken by the network thread as a response, and sent.
STAMPS = (
    "start",
    "requestDequeue",
    "apiLocalComplete",
    "responseComplete",
    "responseDequeue",
    "end",
)


class RequestJournal:
    """A ring of the last CAPACITY requests; filled by handlers and network threads, read by the HTTP thread.

    Locks: _lock guards the ring.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = ReentrantLock()
        self._entries: list[dict[str, Any]] = []  # guarded by: _lock
        self._ended = 0  # guarded by: _lock

    def start(self) -> None:
        """From now on every request that ends is noted here, until stop."""
        Request.completed_tap = self.completed

    def stop(self) -> None:
        Request.completed_tap = None

    def observe(self, apis: ApiRequestHandler) -> ObservedApis:
        """The same handler, which also notes the thread it runs on."""
        return ObservedApis(apis)

    def completed(self, request: Request, end_time_nanos: int) -> None:
        """Note a request that has ended; called by the network thread that sent its response."""
        stamps = (
            request.start_time_nanos,
            request.request_dequeue_time_nanos,
            request.api_local_complete_time_nanos,
            request.response_complete_time_nanos,
            request.response_dequeue_time_nanos,
            end_time_nanos,
        )
        header, context = request.header, request.context
        entry = {
            "api": header.api_key.name,
            "version": header.api_version,
            "clientId": header.client_id,
            "correlationId": header.correlation_id,
            "connection": context.connection_id,
            "listener": str(context.listener_name.value()),
            "networkThread": threading.current_thread().name,
            "handlerThread": request.handled_by,
            "processor": request.processor,
            "endMicros": Time.SYSTEM.nanoseconds() / 1000,
            "stampsMicros": {name: (at - stamps[0]) / 1000 for name, at in zip(STAMPS, stamps, strict=True)},
        }
        with self._lock:
            self._ended += 1
            self._entries.append(entry)
            if len(self._entries) > self._capacity:
                del self._entries[: self._capacity // 4]

    def entries(self, **wanted: str) -> Sequence[Mapping[str, Any]]:
        """The entries whose fields have these values (compared as text), oldest first."""
        with self._lock:
            entries = list(self._entries)
        return [e for e in entries if all(str(e.get(name)) == value for name, value in wanted.items())]

    def page(self, query: Mapping[str, str]) -> Page:
        """``/xray/requests?clientId=…&api=…`` as JSON: how many have ended, and those that are still here."""
        with self._lock:
            ended = self._ended
        return json_page({"ended": ended, "requests": self.entries(**query)})


class ObservedApis(ApiRequestHandler):
    """Stands before KafkaApis and writes the handler's thread name onto the request.

    It is there from the broker's start: a handler keeps its bound `handle` for good, so this is where a tap that comes
    later sees requests pass.
    """

    handle_tap: ClassVar[HandleTap | None] = None

    def __init__(self, apis: ApiRequestHandler) -> None:
        self._handle = apis.handle
        self.try_complete_actions = apis.try_complete_actions  # type: ignore[method-assign]

    def handle(self, request: Request, request_local: RequestLocal) -> None:
        request.handled_by = threading.current_thread().name
        tap = ObservedApis.handle_tap
        if tap is None:
            self._handle(request, request_local)
        else:
            tap(self._handle, request, request_local)
