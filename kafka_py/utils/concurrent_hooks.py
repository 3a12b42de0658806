"""The seams through which the X-ray sees every hand-off and the lab holds threads still.

Imported through `kafka_py.utils.concurrent`.

While no tap is installed the queues and latches run as they are written, with not one instruction more: installing
a tap replaces methods on their classes, and removing the last tap puts the originals back.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from kafka_py.utils.concurrent_locks import (
    Condition,
    CountDownLatch,
    ReentrantLock,
    ReentrantReadWriteLock,
    Semaphore,
)
from kafka_py.utils.concurrent_queues import (
    ArrayBlockingQueue,
    ConcurrentLinkedQueue,
    DelayQueue,
    LinkedBlockingDeque,
    LinkedBlockingQueue,
)


class Tap(Protocol):
    """Sees both sides of every hand-off, on the thread that makes it.

    `op` is "put", "put_all", "take", "wait", "lock" or "select"; `target` is the queue, latch, condition, semaphore,
    read-write lock or selector; `item` is what is put (a list for put_all), None before a take, what was taken after
    it (None if nothing was there), and for the others None before and the answer after.
    """

    def before(self, op: str, target: object, item: object) -> None:
        """Called before the operation; may hold the thread by not returning."""

    def after(self, op: str, target: object, item: object) -> None:
        """Called when the operation is done."""


_POINTS: list[tuple[type, str, str]] = [
    *[
        (cls, method, op)
        for cls in (ArrayBlockingQueue, LinkedBlockingQueue)
        for method, op in (
            ("put", "put"), ("offer", "put"), ("add", "put"), ("put_all", "put_all"),
            ("poll", "take"), ("take", "take"),
        )
    ],
    *[
        (LinkedBlockingDeque, method, "put")
        for method in (
            "put", "put_last", "put_first", "offer", "offer_first", "offer_last", "add", "add_first", "add_last",
        )
    ],
    (LinkedBlockingDeque, "put_all", "put_all"),
    *[(LinkedBlockingDeque, m, "take") for m in ("poll", "poll_first", "poll_last", "take", "take_first", "take_last")],
    *[(ConcurrentLinkedQueue, m, op) for m, op in (("add", "put"), ("offer", "put"), ("poll", "take"))],
    *[
        (DelayQueue, m, op)
        for m, op in (("offer", "put"), ("add", "put"), ("put", "put"), ("poll", "take"), ("take", "take"))
    ],
    (CountDownLatch, "await_", "wait"),
    (Condition, "await_", "wait"),
    (Semaphore, "acquire", "wait"),
    (ReentrantReadWriteLock, "acquire_read", "lock"),
    (ReentrantReadWriteLock, "acquire_write", "lock"),
]  # fmt: skip
OPS = frozenset({"put", "put_all", "take", "wait", "lock", "select"})
_taps: tuple[Tap, ...] = ()
_wanted: dict[int, frozenset[str]] = {}  # guarded by: _install_lock; id of a tap -> the ops it asked for
_originals: dict[tuple[type, str], Callable[..., Any]] = {}
_install_lock = ReentrantLock()
_inside = threading.local()


def add_point(cls: type, method: str, op: str) -> None:
    """Let taps see a hand-over of another class too (the selectors', which are not from here); once is enough.

    Call it before taps are installed: those that are in see it only when the next comes or goes.
    """
    with _install_lock:
        if (cls, method, op) not in _POINTS:
            _POINTS.append((cls, method, op))


@contextmanager
def untapped() -> Iterator[None]:
    """Hand-overs in this block belong to the watching itself: no tap sees them."""
    was = getattr(_inside, "busy", False)
    _inside.busy = True
    try:
        yield
    finally:
        _inside.busy = was


def _tapped(original: Callable[..., Any], op: str) -> Callable[..., Any]:
    putting = op.startswith("put")

    @functools.wraps(original)
    def tapped(self: object, *args: Any, **kwargs: Any) -> Any:
        # A queue's own methods call each other, and a tap may use queues: only the outermost call is a hand-off.
        if getattr(_inside, "busy", False):
            return original(self, *args, **kwargs)
        _inside.busy = True
        try:
            if op == "put_all":
                args = (list(args[0]), *args[1:])
            item = args[0] if putting and args else kwargs.get("item")
            taps = _taps
            for tap in taps:
                tap.before(op, self, item)
            result = original(self, *args, **kwargs)
            for tap in taps:
                tap.after(op, self, item if putting else result)
            return result
        finally:
            _inside.busy = False

    return tapped


def install_tap(tap: Tap, ops: Collection[str] = OPS) -> None:
    """Let the tap see every hand-off from now on, or those of some ops: methods of others are left alone.

    Taps are called in the order they were installed. While several are in, each sees what any of them asked for.
    """
    global _taps
    with _install_lock:
        _taps = (*_taps, tap)
        _wanted[id(tap)] = frozenset(ops)
        _replace_methods()


def remove_tap(tap: Tap) -> None:
    """Undo install_tap; with the last tap the classes get their own methods back."""
    global _taps
    with _install_lock:
        _taps = tuple(t for t in _taps if t is not tap)
        _wanted.pop(id(tap), None)
        _replace_methods()


def _replace_methods() -> None:
    """Put in what the taps ask for, and take out what none does any more. Caller holds _install_lock."""
    wanted: frozenset[str] = frozenset().union(*_wanted.values())
    for cls, method, op in _POINTS:
        if op in wanted and (cls, method) not in _originals:
            _originals[cls, method] = cls.__dict__[method]
            setattr(cls, method, _tapped(_originals[cls, method], op))
        elif op not in wanted and (cls, method) in _originals:
            setattr(cls, method, _originals.pop((cls, method)))


class Gate:
    """A tap that holds threads before a hand-off and lets them go one by one, or all.

    `selects(op, target, item)` says which hand-offs the gate watches; all others pass.
    """

    def __init__(self, selects: Callable[[str, object, object], bool] = lambda op, target, item: True) -> None:
        self._selects = selects
        self._changed = threading.Condition()
        self._open = True  # volatile: writer under _changed
        self._passes = 0  # guarded by: _changed
        self._held: dict[str, tuple[str, object, object]] = {}

    def before(self, op: str, target: object, item: object) -> None:
        """Hold the calling thread while the gate is closed."""
        if self._open or not self._selects(op, target, item):
            return
        name = threading.current_thread().name
        with self._changed:
            self._held[name] = (op, target, item)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open or self._passes > 0)
            if not self._open:
                self._passes -= 1
            del self._held[name]
            self._changed.notify_all()

    def after(self, op: str, target: object, item: object) -> None:
        """Nothing: a hand-off that was let through is not held again."""
        return

    def close(self) -> None:
        """Hold every thread that comes to the gate from now on."""
        with self._changed:
            self._open = False
            self._passes = 0

    def step(self, n: int = 1) -> None:
        """Let n threads pass; those that are held first, then the next to come."""
        with self._changed:
            self._passes += n
            self._changed.notify_all()

    def open(self) -> None:
        """Let all threads pass."""
        with self._changed:
            self._open = True
            self._passes = 0
            self._changed.notify_all()

    @property
    def held(self) -> dict[str, tuple[str, object, object]]:
        """Name of each held thread -> (op, target, item) it is held at."""
        with self._changed:
            return dict(self._held)

    def await_held(self, n: int = 1, timeout_ms: float = 5000) -> bool:
        """Wait until n threads are held; False if timeout_ms ran out first."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._held) >= n, timeout_ms / 1000)
