"""Queues that hand work from one thread to another: java.util.concurrent's, on the interpreter's own.

Imported through `kafka_py.utils.concurrent`. A hand-off is the most frequent thing a broker's threads do with each
other, so an uncontended put or poll here is little more than one call into `queue.SimpleQueue` or `deque`.

The lab and the X-ray watch and hold hand-offs by replacing methods on these classes (`concurrent_hooks`). So call
them through the queue (`queue.put(x)`), and cache the queue, not its bound methods.
"""

from __future__ import annotations

import _thread
import heapq
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from kafka_py.utils.concurrent_locks import INTERRUPT_SLICE_S, _interrupted, check_interrupted
from kafka_py.utils.free_threading import FREE_THREADED

T = TypeVar("T")


def _snapshot(items: deque[T]) -> list[T]:
    """What is in a deque that others change: without the GIL one that changes meanwhile refuses to be walked on."""
    while True:
        try:
            return list(items)
        except RuntimeError:
            continue


class ArrayBlockingQueue(Generic[T]):
    """A bounded first-in first-out queue; putting into a full one waits.

    Mirrors: java.util.concurrent.ArrayBlockingQueue
    Locks:   none for the queue as a whole. The free places are the items of a `SimpleQueue`: taking one before an item
        is put makes the bound exact. A consumer that finds nothing waits at a lock of its own. It announces itself
        before it looks again, a producer appends before it looks for waiters: one of the two sees the other.
        Threads that run side by side need a lock for that, `_turns`, around the announcement and the look for waiters:
        what one has written before it looks elsewhere is not surely there for the other yet (docs/memory-model.md).
    Differs: one waiter is woken at a time, the one that came last; if it finds more than it takes, it wakes the next.
        So a request costs one change of threads, however many handlers wait.
    """

    def __init__(self, capacity: int, fair: bool = False, name: str = "") -> None:
        if capacity <= 0:
            raise ValueError("capacity must be positive")
        self.capacity = capacity
        self.fair = fair
        self.name = name
        self._items: deque[T] = deque()
        self._places: SimpleQueue[None] = SimpleQueue()
        for _ in range(capacity):
            self._places.put(None)
        self._waiters: list[_thread.LockType] = []
        # somebody is on the way from its wait to the items
        self._waking = False  # volatile: any
        self._turns = _thread.allocate_lock()  # free-threaded only: for the two above

    def _wake_in_order(self) -> None:
        """Free-threaded: let one waiter go on, if there is one and none is on its way; call it after an append."""
        with self._turns:
            if self._waking or not self._waiters:
                return
            self._waking = True
            turn = self._waiters.pop()
        turn.release()

    def _wake(self) -> None:
        """Let one waiter go on, if there is one."""
        self._waking = True
        try:
            turn = self._waiters.pop()
        except IndexError:
            self._waking = False
            if self._items and self._waiters:  # it came while we looked, and trusted in the wake-up under way
                self._wake()
            return
        turn.release()

    def put(self, item: T) -> None:
        """Append, waiting for a free place."""
        if self._places.qsize():
            self._places.get()
        else:
            _take_interruptibly(self._places)
        self._items.append(item)
        if FREE_THREADED:
            self._wake_in_order()
        elif self._waiters and not self._waking:
            self._wake()

    def put_all(self, items: Iterable[T]) -> None:
        """Append several, waiting for free places; one waiting consumer wakes, and wakes the next as it takes."""
        places, append = self._places, self._items.append
        for item in items:
            if places.qsize():
                places.get()
            else:
                if FREE_THREADED:
                    self._wake_in_order()
                elif self._waiters and not self._waking:
                    self._wake()
                _take_interruptibly(places)
            append(item)
        if FREE_THREADED:
            self._wake_in_order()
        elif self._waiters and not self._waking:
            self._wake()

    def offer(self, item: T, timeout_ms: float = 0) -> bool:
        """Append if there is a free place, or one within timeout_ms; whether it was appended."""
        try:
            if timeout_ms > 0:
                self._places.get(True, timeout_ms / 1000)
            elif self._places.qsize():
                self._places.get(False)
            else:
                return False
        except Empty:
            return False
        self._items.append(item)
        if FREE_THREADED:
            self._wake_in_order()
        elif self._waiters and not self._waking:
            self._wake()
        return True

    def add(self, item: T) -> bool:
        """Append, or RuntimeError if the queue is full."""
        if not self.offer(item):
            raise RuntimeError("Queue full")
        return True

    def poll(self, timeout_ms: float = 0) -> T | None:
        """The oldest item, waiting at most timeout_ms for one; None if there is none."""
        if self._items:
            try:
                item = self._items.popleft()
            except IndexError:  # another consumer was faster
                pass
            else:
                self._places.put(None)
                return item
        if timeout_ms <= 0:
            return None
        return self._wait_in_order(timeout_ms) if FREE_THREADED else self._wait_for_item(timeout_ms)

    def _wait_in_order(self, timeout_ms: float) -> T | None:
        """Free-threaded: the oldest item, waiting for one; what _wait_for_item does, with its steps in order."""
        deadline = time.monotonic_ns() + int(timeout_ms * 1_000_000)
        left = timeout_ms / 1000
        items, waiters = self._items, self._waiters
        while True:
            turn = _thread.allocate_lock()
            turn.acquire()
            with self._turns:
                waiters.append(turn)
            if not items and left > 0:
                turn.acquire(True, left)
            with self._turns:
                if turn in waiters:
                    waiters.remove(turn)
                else:
                    self._waking = False
            try:
                item = items.popleft()
            except IndexError:
                left = (deadline - time.monotonic_ns()) / 1e9
                if left <= 0:
                    return None
                continue
            if items:
                self._wake_in_order()
            self._places.put(None)
            return item

    def _wait_for_item(self, timeout_ms: float) -> T | None:
        deadline = time.monotonic_ns() + int(timeout_ms * 1_000_000)
        left = timeout_ms / 1000
        items, waiters = self._items, self._waiters
        turn = _thread.allocate_lock()
        turn.acquire()
        while True:
            waiters.append(turn)
            if not items and left > 0:
                turn.acquire(True, left)
            try:
                waiters.remove(turn)
            except ValueError:  # somebody has called us, and may still be about to release that lock
                self._waking = False
                turn = _thread.allocate_lock()
                turn.acquire()
            try:
                item = items.popleft()
            except IndexError:
                left = (deadline - time.monotonic_ns()) / 1e9
                if left <= 0:
                    return None
                continue
            if items and waiters and not self._waking:
                self._wake()
            self._places.put(None)
            return item

    def take(self) -> T:
        """The oldest item, waiting for one."""
        while True:
            if _interrupted:
                check_interrupted()
            item = self.poll(INTERRUPT_SLICE_S * 1000)
            if item is not None:
                return item

    def size(self) -> int:
        """How many items there are."""
        return len(self._items)

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return not self._items

    def remaining_capacity(self) -> int:
        """How many places are free."""
        return self._places.qsize()

    def drain_to(self, target: list[T], max_elements: int | None = None) -> int:
        """Move the items (at most max_elements) to the list; how many."""
        return _drain(self, target, max_elements)

    def clear(self) -> None:
        """Throw the items away."""
        _drain(self, [], None)

    def __len__(self) -> int:
        return len(self._items)


class LinkedBlockingQueue(Generic[T]):
    """A first-in first-out queue without a bound.

    Mirrors: java.util.concurrent.LinkedBlockingQueue
    Differs: takes no capacity; Kafka uses it unbounded, and the bounded one is ArrayBlockingQueue.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._items: SimpleQueue[T] = SimpleQueue()

    def put(self, item: T) -> None:
        """Append."""
        self._items.put(item)

    def put_all(self, items: Iterable[T]) -> None:
        """Append several."""
        put = self._items.put
        for item in items:
            put(item)

    def offer(self, item: T, timeout_ms: float = 0) -> bool:
        """Append; there is always a place."""
        self._items.put(item)
        return True

    def add(self, item: T) -> bool:
        """Append."""
        self._items.put(item)
        return True

    def poll(self, timeout_ms: float = 0) -> T | None:
        """The oldest item, waiting at most timeout_ms for one; None if there is none."""
        try:
            if timeout_ms > 0:
                return self._items.get(True, timeout_ms / 1000)
            return self._items.get(False) if self._items.qsize() else None
        except Empty:
            return None

    def take(self) -> T:
        """The oldest item, waiting for one."""
        return _take_interruptibly(self._items)

    def size(self) -> int:
        """How many items there are."""
        return self._items.qsize()

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return self._items.qsize() == 0

    def remaining_capacity(self) -> int:
        """As many as an int of Java holds."""
        return 0x7FFFFFFF - self._items.qsize()

    def drain_to(self, target: list[T], max_elements: int | None = None) -> int:
        """Move the items (at most max_elements) to the list; how many."""
        return _drain(self, target, max_elements)

    def clear(self) -> None:
        """Throw the items away."""
        _drain(self, [], None)

    def __len__(self) -> int:
        return self._items.qsize()


def _take_interruptibly(queue: SimpleQueue[T]) -> T:
    """Wait for an item without limit, but notice an interrupt."""
    while True:
        if _interrupted:
            check_interrupted()
        try:
            return queue.get(True, INTERRUPT_SLICE_S)
        except Empty:
            continue


def _drain(queue: ArrayBlockingQueue[T] | LinkedBlockingQueue[T], target: list[T], max_elements: int | None) -> int:
    moved = 0
    while max_elements is None or moved < max_elements:
        item = queue.poll()
        if item is None:
            break
        target.append(item)
        moved += 1
    return moved


class LinkedBlockingDeque(Generic[T]):
    """A queue with two ends.

    Mirrors: java.util.concurrent.LinkedBlockingDeque
    Differs: unbounded. A producer takes the lock only while a consumer sleeps: the consumer announces itself before
    it looks, the producer appends before it looks, so one of the two sees the other. On a free-threaded build the
    producer always takes it, for only a lock gives those steps an order there (docs/memory-model.md).
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._items: deque[T] = deque()
        self._waiters = 0  # volatile: writer under _not_empty
        self._not_empty = threading.Condition(_thread.allocate_lock())

    def _wake(self) -> None:
        with self._not_empty:
            self._not_empty.notify()

    def put_last(self, item: T) -> None:
        """Append at the end."""
        self._items.append(item)
        if FREE_THREADED or self._waiters:
            self._wake()

    def put_first(self, item: T) -> None:
        """Insert before all others."""
        self._items.appendleft(item)
        if FREE_THREADED or self._waiters:
            self._wake()

    def put(self, item: T) -> None:
        """Append at the end."""
        self._items.append(item)
        if FREE_THREADED or self._waiters:
            self._wake()

    def put_all(self, items: Iterable[T]) -> None:
        """Append several at the end."""
        self._items.extend(items)
        if FREE_THREADED or self._waiters:
            with self._not_empty:
                self._not_empty.notify_all()

    def offer(self, item: T, timeout_ms: float = 0) -> bool:
        """Append at the end; there is always a place."""
        self.put_last(item)
        return True

    def offer_first(self, item: T) -> bool:
        """Insert before all others; there is always a place."""
        self.put_first(item)
        return True

    def add(self, item: T) -> bool:
        """Append at the end."""
        self.put_last(item)
        return True

    add_last = add
    offer_last = add
    add_first = offer_first

    def poll_first(self, timeout_ms: float = 0) -> T | None:
        """The first item, waiting at most timeout_ms for one; None if there is none."""
        if self._items:
            try:
                return self._items.popleft()
            except IndexError:  # another consumer was faster
                if timeout_ms <= 0:
                    return None
        return self._wait_for_item(timeout_ms, first=True) if timeout_ms > 0 else None

    poll = poll_first

    def poll_last(self, timeout_ms: float = 0) -> T | None:
        """The last item, waiting at most timeout_ms for one; None if there is none."""
        if self._items:
            try:
                return self._items.pop()
            except IndexError:
                if timeout_ms <= 0:
                    return None
        return self._wait_for_item(timeout_ms, first=False) if timeout_ms > 0 else None

    def take_first(self) -> T:
        """The first item, waiting for one."""
        while True:
            if _interrupted:
                check_interrupted()
            item = self.poll_first(INTERRUPT_SLICE_S * 1000)
            if item is not None:
                return item

    take = take_first

    def take_last(self) -> T:
        """The last item, waiting for one."""
        while True:
            if _interrupted:
                check_interrupted()
            item = self.poll_last(INTERRUPT_SLICE_S * 1000)
            if item is not None:
                return item

    def _wait_for_item(self, timeout_ms: float, *, first: bool) -> T | None:
        deadline = time.monotonic_ns() + int(timeout_ms * 1_000_000)
        with self._not_empty:
            self._waiters += 1
            try:
                while True:
                    if self._items:
                        try:
                            return self._items.popleft() if first else self._items.pop()
                        except IndexError:  # taken by a thread that had not to wait
                            continue
                    left = (deadline - time.monotonic_ns()) / 1e9
                    if left <= 0:
                        return None
                    self._not_empty.wait(left)
            finally:
                self._waiters -= 1

    def peek_first(self) -> T | None:
        """The first item, left where it is; None if there is none."""
        try:
            return self._items[0]
        except IndexError:
            return None

    peek = peek_first

    def remove(self, item: T) -> bool:
        """Remove one occurrence; whether there was one."""
        try:
            self._items.remove(item)
        except ValueError:
            return False
        return True

    def size(self) -> int:
        """How many items there are."""
        return len(self._items)

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return not self._items

    def drain_to(self, target: list[T], max_elements: int | None = None) -> int:
        """Move the items (at most max_elements) to the list, first ones first; how many."""
        moved = 0
        while self._items and (max_elements is None or moved < max_elements):
            item = self.poll_first()
            if item is None:
                break
            target.append(item)
            moved += 1
        return moved

    def clear(self) -> None:
        """Throw the items away."""
        self._items.clear()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(_snapshot(self._items))


class ConcurrentLinkedQueue(Generic[T]):
    """An unbounded first-in first-out queue nobody waits on.

    Mirrors: java.util.concurrent.ConcurrentLinkedQueue
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items: deque[T] = deque(items)

    def add(self, item: T) -> bool:
        """Append."""
        self._items.append(item)
        return True

    offer = add

    def poll(self) -> T | None:
        """The oldest item; None if there is none."""
        if not self._items:
            return None
        try:
            return self._items.popleft()
        except IndexError:
            return None

    def peek(self) -> T | None:
        """The oldest item, left where it is; None if there is none."""
        try:
            return self._items[0]
        except IndexError:
            return None

    def remove(self, item: T) -> bool:
        """Remove one occurrence; whether there was one."""
        try:
            self._items.remove(item)
        except ValueError:
            return False
        return True

    def size(self) -> int:
        """How many items there are."""
        return len(self._items)

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return not self._items

    def clear(self) -> None:
        """Throw the items away."""
        self._items.clear()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(_snapshot(self._items))

    def __contains__(self, item: object) -> bool:
        return item in _snapshot(self._items)


class Delayed(Protocol):
    """What a DelayQueue holds: something that becomes due; ordered by when.

    Mirrors: java.util.concurrent.Delayed
    """

    def get_delay(self) -> int:
        """Milliseconds until due; 0 or less when due."""

    def __lt__(self, other: object, /) -> bool: ...


D = TypeVar("D", bound=Delayed)


class DelayQueue(Generic[D]):
    """A queue whose items can be taken only once they are due, soonest first.

    Mirrors: java.util.concurrent.DelayQueue
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._heap: list[D] = []
        self._changed = threading.Condition(_thread.allocate_lock())

    def offer(self, item: D) -> bool:
        """Add an item."""
        with self._changed:
            heapq.heappush(self._heap, item)
            if self._heap[0] is item:
                self._changed.notify()
        return True

    add = offer
    put = offer

    def poll(self, timeout_ms: float = 0) -> D | None:
        """The item due soonest, waiting at most timeout_ms for one to fall due; None if none does."""
        deadline = time.monotonic_ns() + int(timeout_ms * 1_000_000) if timeout_ms > 0 else 0
        with self._changed:
            while True:
                delay_ms = float(self._heap[0].get_delay()) if self._heap else 1e9
                if delay_ms <= 0:
                    return heapq.heappop(self._heap)
                left_ms = (deadline - time.monotonic_ns()) / 1e6 if deadline else 0.0
                if left_ms <= 0:
                    return None
                self._changed.wait(min(left_ms, delay_ms) / 1000)

    def take(self) -> D:
        """The item due soonest, waiting until one falls due."""
        while True:
            if _interrupted:
                check_interrupted()
            item = self.poll(INTERRUPT_SLICE_S * 1000)
            if item is not None:
                return item

    def remove(self, item: D) -> bool:
        """Take an item out before it is due; whether it was there."""
        with self._changed:
            for i, candidate in enumerate(self._heap):
                if candidate is item:
                    del self._heap[i]
                    heapq.heapify(self._heap)
                    return True
        return False

    def peek(self) -> D | None:
        """The item due soonest, due or not; None if there is none."""
        with self._changed:
            return self._heap[0] if self._heap else None

    def size(self) -> int:
        """How many items there are, due or not."""
        return len(self._heap)

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return not self._heap

    def clear(self) -> None:
        """Throw the items away."""
        with self._changed:
            self._heap.clear()

    def __len__(self) -> int:
        return len(self._heap)
