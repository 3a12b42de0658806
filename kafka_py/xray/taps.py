"""Where the X-ray looks: the hand-overs of mirrored classes, whose methods are replaced while somebody watches.

Ours, no original. The classes keep their text: the first listener puts the replaced methods in, the last takes them
out again. A thread that is inside a method when that happens ends it as it began it.

Taps are the process's: with several brokers in one process every listener sees the passages of all of them.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py.utils.compiled import Compiled, Form
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import get_logger
from kafka_py.xray import readers
from kafka_py.xray.passage import Passage
from kafka_py.xray.request_journal import ObservedApis

if TYPE_CHECKING:
    from kafka_py.network.request_channel import Request
    from kafka_py.server.request_local import RequestLocal
    from kafka_py.xray.passage import Listener

Reader = Callable[[Any, Sequence[Any], Any], Passage | Sequence[Passage] | None]


class Point(NamedTuple):
    """A method at which threads are seen.

    `before` makes the passages of a call that is about to be made, `after` those of one that was made; None: there is
    nothing to see. They are given the object, the call's positional arguments, and the answer (None before the call).
    """

    module: str
    owner: str
    member: str
    before: Reader | None = None
    after: Reader | None = None

    @property
    def method(self) -> str:
        """Class.member."""
        return f"{self.owner}.{self.member}"

    def find(self) -> type:
        """The class."""
        found: Any = importlib.import_module(f"kafka_py.{self.module}")
        for name in self.owner.split("."):
            found = getattr(found, name)
        assert isinstance(found, type)
        return found


TAPPED: tuple[Point, ...] = (
    Point("network.processor", "Processor", "accept", before=readers.accept),
    Point("network.processor", "Processor", "_to_request", after=readers.receive),
    Point("network.request_channel", "RequestChannel", "send_request", before=readers.put_request),
    Point("network.request_channel", "RequestChannel", "send_requests", before=readers.put_requests),
    Point("cluster.partition", "Partition", "append_records_to_leader", before=readers.append, after=readers.appended),
    Point(
        "cluster.partition",
        "Partition",
        "append_records_to_follower_or_future_replica",
        before=readers.append,
        after=readers.appended,
    ),
    Point(
        "server.delayed_operation", "DelayedOperationPurgatory", "try_complete_else_watch", before=readers.will_watch
    ),
    Point("server.delayed_operation", "DelayedOperationPurgatory", "_watch_for_operation", before=readers.watch),
    Point(
        "server.delayed_operation",
        "DelayedOperation",
        "force_complete",
        before=readers.complete,
        after=readers.completed,
    ),
    Point("server.delayed_operation", "DelayedOperation", "run", before=readers.expire),
    Point("network.processor", "Processor", "enqueue_response", before=readers.put_response),
    Point("network.processor", "Processor", "dequeue_response", after=readers.take_response),
    Point("network.processor", "Processor", "send_response", before=readers.send),
    Point("network.request_channel", "Request", "update_request_metrics", after=readers.end),
    Point(
        "server.replica_fetcher_thread", "ReplicaFetcherThread", "fetch", before=readers.fetch, after=readers.fetched
    ),
    Point("utils.timer.timer", "SystemTimer", "advance_clock", after=readers.tick),
    Point("coordinator.group.group_metadata", "GroupMetadata", "transition_to", before=readers.group),
    Point(
        "coordinator.transaction.transaction_metadata",
        "TransactionMetadata",
        "complete_transition_to",
        before=readers.transaction,
    ),
    Point(
        "controller.controller_channel_manager",
        "RequestSendThread",
        "_send_until_answered",
        before=readers.controller_send,
    ),
    Point("cluster.partition", "Partition", "_update_isr", before=readers.isr),
    Point("cluster.partition", "Partition", "maybe_shrink_isr", before=readers.will_shrink_isr),
    Point("cluster.replica", "Replica", "high_watermark", before=readers.high_watermark),
    Point("zookeeper.zoo_keeper_client", "ZooKeeperClient", "handle_requests", before=readers.zookeeper),
)
_CONTROLLER_EVENTS = "kafka_py.controller.controller_event_manager"

_log = get_logger("kafka.xray.Taps")
_listeners: tuple[Listener, ...] = ()  # volatile: writer under _lock
_lock = ReentrantLock()
_put_in: list[tuple[type, str, Any]] = []  # guarded by: _lock


def _arrive(seen: Passage | Sequence[Passage]) -> None:
    """Have all listeners let the thread pass, one after the other."""
    if isinstance(seen, Passage):
        for listener in _listeners:
            listener.arrive(seen)
    else:
        for passage in seen:
            _arrive(passage)


def _leave(seen: Passage | Sequence[Passage]) -> None:
    if isinstance(seen, Passage):
        for listener in _listeners:
            listener.leave(seen)
    else:
        for passage in seen:
            _leave(passage)


def _unread(point: Point, error: Exception) -> None:
    """A look that fails is told in the log, and the thread goes on as if unseen."""
    _log.error("Nobody sees %s: it could not be read", point.method, exc=error)


def _tapped(point: Point, original: Callable[..., Any]) -> Callable[..., Any]:
    """The method that looks first, or looks behind it, or both."""
    before, after = point.before, point.after
    if before is not None:
        original = _tapped_before(point, original, before)
    return original if after is None else _tapped_behind(point, original, after)


def _tapped_before(point: Point, original: Callable[..., Any], reader: Reader) -> Callable[..., Any]:
    @functools.wraps(original)
    def tapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            seen = reader(self, args, None)
        except Exception as e:  # noqa: BLE001  whoever only looks must not end what is looked at
            _unread(point, e)
            seen = None
        if not seen:
            return original(self, *args, **kwargs)
        _arrive(seen)
        try:
            return original(self, *args, **kwargs)
        finally:
            _leave(seen)

    return tapped


def _tapped_behind(point: Point, original: Callable[..., Any], reader: Reader) -> Callable[..., Any]:
    @functools.wraps(original)
    def tapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        try:
            seen = reader(self, args, result)
        except Exception as e:  # noqa: BLE001  whoever only looks must not end what is looked at
            _unread(point, e)
            return result
        if seen:
            _arrive(seen)
            _leave(seen)
        return result

    return tapped


def _handled(handle: Callable[[Request, RequestLocal], None], request: Request, request_local: RequestLocal) -> None:
    """What ObservedApis calls while somebody watches: the handler has the request now."""
    seen = readers.handle(request)
    _arrive(seen)
    try:
        handle(request, request_local)
    finally:
        readers.handled()
        _leave(seen)


def _points() -> list[Point]:
    """TAPPED, and `process` of every controller event."""
    events = importlib.import_module(_CONTROLLER_EVENTS).ControllerEvent
    importlib.import_module("kafka_py.controller.kafka_controller_events")
    found = list(TAPPED)
    left = list(events.__subclasses__())
    while left:
        cls = left.pop()
        left += cls.__subclasses__()
        package, _, module = cls.__module__.partition(".")
        if package == "kafka_py" and "process" in cls.__dict__:  # others made their own: there is no telling where
            found.append(Point(module, cls.__qualname__, "process", before=readers.controller_event))
    return found


def _put(point: Point) -> None:
    """Replace a method or a property's setter; a native one of the compiled form is left alone. Caller holds _lock."""
    owner = point.find()
    original = owner.__dict__.get(point.member)
    if isinstance(original, FunctionType):
        setattr(owner, point.member, _tapped(point, original))
    elif isinstance(original, property) and isinstance(original.fset, FunctionType):
        setattr(owner, point.member, original.setter(_tapped(point, original.fset)))
    else:
        return
    _put_in.append((owner, point.member, original))


def install(listener: Listener, first: bool = False) -> None:
    """Let the listener see every passage from now on.

    Listeners are called in the order in which they came. One that may hold threads is to be ``first``: what others
    tell of a passage shall be told when the thread really goes on.
    """
    global _listeners
    with _lock:
        if not _put_in:
            for point in _points():
                _put(point)
            ObservedApis.handle_tap = _handled
        _listeners = (listener, *_listeners) if first else (*_listeners, listener)


def remove(listener: Listener) -> None:
    """Undo install; with the last listener the classes get their own methods back."""
    global _listeners
    with _lock:
        _listeners = tuple(other for other in _listeners if other is not listener)
        if not _listeners:
            ObservedApis.handle_tap = None
            for owner, member, original in reversed(_put_in):
                setattr(owner, member, original)
            _put_in.clear()
            readers.forget()


def limits() -> list[str]:
    """What cannot be seen or held in the form that runs: sentences for people, none for the interpreted form."""
    if Compiled.form is not Form.COMPILED:
        return []
    native = []
    for point in _points():
        member = point.find().__dict__.get(point.member)
        setter = member.fset if isinstance(member, property) else member
        if not isinstance(setter, FunctionType):
            native.append(point.method)
    if not native:
        return []
    return [
        "The broker runs compiled: these methods are native and are neither seen nor held: "
        + ", ".join(native)
        + ". With KAFKA_PY_COMPILED=0 all are."
    ]
