"""Locks, conditions, latches, atomics and thread interruption: java.util.concurrent's ways to make a thread wait.

Imported through `kafka_py.utils.concurrent`, which is the one door to all of them.

A Java thread may be interrupted while it blocks; a Python thread may not. `interrupt(thread)` sets a flag, and every
wait here without a time limit looks at it a few times a second, so an interrupted thread leaves its wait within
`INTERRUPT_SLICE_S` with an `InterruptedException`.
"""

from __future__ import annotations

import _thread
import threading
import time
from collections import deque
from types import TracebackType
from typing import Any, Generic, TypeVar

from kafka_py.utils.free_threading import FREE_THREADED

T = TypeVar("T")
INTERRUPT_SLICE_S = 0.1
# By thread id; the thread stands beside it, for ids are used again, and it may have ended before it looked.
_interrupted: dict[int, threading.Thread] = {}
get_ident = _thread.get_ident


class InterruptedException(Exception):
    """A waiting thread was told to stop waiting.

    Mirrors: java.lang.InterruptedException
    """


def interrupt(thread: threading.Thread) -> None:
    """Ask a thread to leave the wait it is in, or the next one it enters."""
    if thread.ident is not None and thread.is_alive():
        _interrupted[thread.ident] = thread


def is_interrupted(thread: threading.Thread | None = None) -> bool:
    """Whether the thread (default: the calling one) has been asked to leave its wait and has not done so yet."""
    asked = threading.current_thread() if thread is None else thread
    return asked.ident is not None and _interrupted.get(asked.ident) is asked


def check_interrupted() -> None:
    """Raise InterruptedException, and clear the flag, if the calling thread was interrupted."""
    if _interrupted:
        thread = _interrupted.pop(get_ident(), None)
        if thread is not None and thread is threading.current_thread():
            raise InterruptedException


def forget_interrupt() -> None:
    """Clear the calling thread's flag: called as a thread ends."""
    _interrupted.pop(get_ident(), None)


class ReentrantLock(_thread.RLock):  # type: ignore[misc]  # typeshed calls it final; CPython lets it be a base
    """A lock its holder may take again; it knows who holds it.

    Mirrors: java.util.concurrent.locks.ReentrantLock
    Differs: stands on the interpreter's own lock, so `with lock:` runs no Python code.
    """

    def __init__(self, fair: bool = False) -> None:
        super().__init__()
        self.fair = fair

    def lock(self) -> None:
        """Wait until the lock is ours."""
        self.acquire()

    def unlock(self) -> None:
        """Give back one hold; RuntimeError if we hold none."""
        self.release()

    def try_lock(self, timeout_ms: float = 0) -> bool:
        """Take the lock if it is free, or becomes free within timeout_ms."""
        if timeout_ms <= 0:
            return bool(self.acquire(False))
        return bool(self.acquire(True, timeout_ms / 1000))

    def is_held_by_current_thread(self) -> bool:
        """Whether the calling thread holds the lock."""
        return bool(self._is_owned())  # type: ignore[attr-defined]  # what threading.Condition uses too

    def new_condition(self) -> Condition:
        """A condition to await while this lock is held."""
        return Condition(self)


class Condition:
    """Lets holders of a lock wait until another holder says that something changed.

    Mirrors: java.util.concurrent.locks.Condition
    Differs: does not stand on threading.Condition. There a waiter whose slice of time has run out takes the lock before
        it leaves the list of waiters, and a signal that comes in between reaches nobody; who waits in slices would wait
        for ever. Here all slices are one wait, and a signal that comes as the time runs out is a signal.
    """

    def __init__(self, lock: ReentrantLock | None = None) -> None:
        self.lock = ReentrantLock() if lock is None else lock
        self._waiters: deque[_thread.LockType] = deque()  # volatile: holders of lock; each is locked until signalled

    def __enter__(self) -> Condition:
        self.lock.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.lock.release()

    def await_(self, timeout_ms: float | None = None) -> bool:
        """Give up the lock until signalled, at most timeout_ms; False if the time ran out. Caller holds the lock.

        Raises RuntimeError without the lock, InterruptedException.
        """
        if _interrupted:
            check_interrupted()
        self._check_held()
        lock: Any = self.lock  # for the two methods that give up all holds at once and take them again
        turn = _thread.allocate_lock()
        turn.acquire()
        self._waiters.append(turn)
        holds = lock._release_save()
        signalled = interrupted = False
        try:
            signalled = _await_turn(turn, timeout_ms)
        except InterruptedException:
            interrupted = True
            raise
        finally:
            lock._acquire_restore(holds)
            if not signalled:
                try:
                    self._waiters.remove(turn)
                except ValueError:  # signalled while we went for the lock
                    signalled = True
                    if interrupted:
                        self.signal()  # it is for the next then
        return signalled

    def signal(self) -> None:
        """Wake the thread that has waited longest. Caller holds the lock, else RuntimeError."""
        self._check_held()
        if self._waiters:
            self._waiters.popleft().release()

    def signal_all(self) -> None:
        """Wake every waiting thread. Caller holds the lock, else RuntimeError."""
        self._check_held()
        while self._waiters:
            self._waiters.popleft().release()

    def _check_held(self) -> None:
        if not self.lock.is_held_by_current_thread():
            raise RuntimeError("the lock of the condition is not held by this thread")


def _await_turn(turn: _thread.LockType, timeout_ms: float | None) -> bool:
    """Wait for the release of a held lock, at most timeout_ms, looking for an interrupt; whether it was released."""
    deadline = None if timeout_ms is None else time.monotonic_ns() + int(timeout_ms * 1_000_000)
    left = INTERRUPT_SLICE_S
    while True:
        if deadline is not None:
            left = min(INTERRUPT_SLICE_S, (deadline - time.monotonic_ns()) / 1e9)
            if left <= 0:
                return turn.acquire(False)
        if turn.acquire(True, left):
            return True
        if _interrupted:
            check_interrupted()


class _ReadLock:
    """The shared half of a ReentrantReadWriteLock."""

    __slots__ = ("_owner",)

    def __init__(self, owner: ReentrantReadWriteLock) -> None:
        self._owner = owner

    def lock(self) -> None:
        self._owner.acquire_read()

    def unlock(self) -> None:
        self._owner.release_read()

    def __enter__(self) -> _ReadLock:
        self._owner.acquire_read()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._owner.release_read()

    def is_held_by_current_thread(self) -> bool:
        """Whether the calling thread reads, or writes (a writer may read)."""
        return self._owner.get_read_hold_count() > 0 or self._owner.is_write_locked_by_current_thread()


class _WriteLock:
    """The exclusive half of a ReentrantReadWriteLock."""

    __slots__ = ("_owner",)

    def __init__(self, owner: ReentrantReadWriteLock) -> None:
        self._owner = owner

    def lock(self) -> None:
        self._owner.acquire_write()

    def unlock(self) -> None:
        self._owner.release_write()

    def __enter__(self) -> _WriteLock:
        self._owner.acquire_write()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._owner.release_write()

    def is_held_by_current_thread(self) -> bool:
        """Whether the calling thread writes."""
        return self._owner.is_write_locked_by_current_thread()


class ReentrantReadWriteLock:
    """Many readers or one writer; either may take its own lock again, and a writer may read.

    Mirrors: java.util.concurrent.locks.ReentrantReadWriteLock
    Differs: new readers queue behind a waiting writer, so that readers who never pause cannot starve one. A thread
    that asks to write while it only reads gets a RuntimeError, where Java would hang it for ever.
    """

    def __init__(self, fair: bool = False) -> None:
        self.fair = fair
        self._changed = threading.Condition(_thread.allocate_lock())
        self._readers: dict[int, int] = {}
        self._writer: int | None = None  # volatile: writer under _changed
        self._write_holds = 0  # guarded by: _changed
        self._waiting_writers = 0  # guarded by: _changed
        self._read_lock = _ReadLock(self)
        self._write_lock = _WriteLock(self)

    def read_lock(self) -> _ReadLock:
        """The shared lock."""
        return self._read_lock

    def write_lock(self) -> _WriteLock:
        """The exclusive lock."""
        return self._write_lock

    def acquire_read(self) -> None:
        """Wait until nobody else writes, then count as a reader."""
        me = get_ident()
        readers = self._readers
        with self._changed:
            if me not in readers and self._writer != me:
                while self._writer is not None or self._waiting_writers:
                    self._changed.wait()
            readers[me] = readers.get(me, 0) + 1

    def release_read(self) -> None:
        """Give back one read hold; RuntimeError if we hold none."""
        me = get_ident()
        readers = self._readers
        with self._changed:
            holds = readers.get(me, 0)
            if holds == 0:
                raise RuntimeError("attempt to unlock read lock, not locked by current thread")
            if holds > 1:
                readers[me] = holds - 1
                return
            del readers[me]
            if not readers and self._waiting_writers:
                self._changed.notify_all()

    def acquire_write(self) -> None:
        """Wait until nobody else reads or writes, then be the writer."""
        me = get_ident()
        with self._changed:
            if self._writer == me:
                self._write_holds += 1
                return
            if me in self._readers:
                raise RuntimeError("a thread that holds the read lock cannot take the write lock as well")
            self._waiting_writers += 1
            try:
                while self._writer is not None or self._readers:
                    self._changed.wait()
            finally:
                self._waiting_writers -= 1
            self._writer = me
            self._write_holds = 1

    def release_write(self) -> None:
        """Give back one write hold; RuntimeError if we are not the writer."""
        with self._changed:
            if self._writer != get_ident():
                raise RuntimeError("attempt to unlock write lock, not locked by current thread")
            self._write_holds -= 1
            if self._write_holds == 0:
                self._writer = None
                self._changed.notify_all()

    def is_write_locked_by_current_thread(self) -> bool:
        """Whether the calling thread is the writer."""
        return self._writer == get_ident()

    def get_read_hold_count(self) -> int:
        """How often the calling thread holds the read lock."""
        return self._readers.get(get_ident(), 0)


class CountDownLatch:
    """A gate that opens, for good, when it has been counted down to zero.

    Mirrors: java.util.concurrent.CountDownLatch
    """

    def __init__(self, count: int) -> None:
        if count < 0:
            raise ValueError("count < 0")
        self._count = count  # volatile: writer under _zero
        self._zero = threading.Condition(_thread.allocate_lock())

    def count_down(self) -> None:
        """One less to wait for; the call that reaches zero lets every waiter go."""
        with self._zero:
            if self._count > 0:
                self._count -= 1
                if self._count == 0:
                    self._zero.notify_all()

    def get_count(self) -> int:
        """How many count-downs are still missing."""
        return self._count

    def await_(self, timeout_ms: float | None = None) -> bool:
        """Wait for zero, at most timeout_ms; False if the time ran out first."""
        if self._count == 0:
            return True
        deadline = None if timeout_ms is None else time.monotonic_ns() + int(timeout_ms * 1_000_000)
        with self._zero:
            while self._count > 0:
                if _interrupted:
                    check_interrupted()
                left = INTERRUPT_SLICE_S
                if deadline is not None:
                    left = min(left, (deadline - time.monotonic_ns()) / 1e9)
                    if left <= 0:
                        return False
                self._zero.wait(left)
        return True


class Semaphore:
    """A number of permits; who finds none waits.

    Mirrors: java.util.concurrent.Semaphore
    """

    def __init__(self, permits: int) -> None:
        self._permits = permits  # volatile: writer under _free
        self._free = threading.Condition(_thread.allocate_lock())

    def acquire(self) -> None:
        """Take a permit, waiting for one."""
        with self._free:
            while self._permits <= 0:
                self._free.wait(INTERRUPT_SLICE_S)
                if _interrupted:
                    check_interrupted()
            self._permits -= 1

    def release(self, permits: int = 1) -> None:
        """Give back permits."""
        with self._free:
            self._permits += permits
            self._free.notify(permits)


class AtomicInteger:
    """An int that several threads may change without losing a change.

    Mirrors: java.util.concurrent.atomic.AtomicInteger
    Differs: does not wrap at 2**31; where the wrap matters (correlation ids) the caller masks.
    """

    __slots__ = ("_lock", "_value")

    def __init__(self, initial_value: int = 0) -> None:
        self._value = initial_value  # volatile: writer under _lock
        self._lock = _thread.allocate_lock()

    def get(self) -> int:
        """The value now."""
        return self._value

    def set(self, value: int) -> None:
        """Replace the value."""
        with self._lock:
            self._value = value

    def get_and_set(self, value: int) -> int:
        """Replace the value and answer the old one."""
        with self._lock:
            old = self._value
            self._value = value
            return old

    def add_and_get(self, delta: int) -> int:
        """Add and answer the new value."""
        with self._lock:
            self._value += delta
            return self._value

    def get_and_add(self, delta: int) -> int:
        """Add and answer the old value."""
        with self._lock:
            old = self._value
            self._value = old + delta
            return old

    def increment_and_get(self) -> int:
        """Add one and answer the new value."""
        with self._lock:
            self._value += 1
            return self._value

    def get_and_increment(self) -> int:
        """Add one and answer the old value."""
        with self._lock:
            old = self._value
            self._value = old + 1
            return old

    def decrement_and_get(self) -> int:
        """Take one off and answer the new value."""
        with self._lock:
            self._value -= 1
            return self._value

    def compare_and_set(self, expected: int, value: int) -> bool:
        """Replace the value if it is the expected one; whether it was."""
        with self._lock:
            if self._value != expected:
                return False
            self._value = value
            return True

    def __repr__(self) -> str:
        return str(self._value)


class AtomicLong(AtomicInteger):
    """As AtomicInteger; Python's ints have no width.

    Mirrors: java.util.concurrent.atomic.AtomicLong
    """

    __slots__ = ()


class AtomicReference(Generic[T]):
    """A reference that several threads may swap; compared by identity.

    Mirrors: java.util.concurrent.atomic.AtomicReference
    Differs: `get` is a plain read. It sees what was set before in the order of some lock, but not surely what another
    thread sets at this moment; who has just written elsewhere, and must not miss that, reads with `get_in_order`.
    """

    __slots__ = ("_lock", "_value")

    def __init__(self, initial_value: T) -> None:
        self._value = initial_value  # volatile: writer under _lock
        self._lock = _thread.allocate_lock()

    def get(self) -> T:
        """The object now."""
        return self._value

    def get_in_order(self) -> T:
        """The object now, read after all that this thread has written before: what Java's get always does."""
        if FREE_THREADED:
            with self._lock:
                return self._value
        return self._value

    def set(self, value: T) -> None:
        """Replace the object."""
        with self._lock:
            self._value = value

    def get_and_set(self, value: T) -> T:
        """Replace the object and answer the old one."""
        with self._lock:
            old = self._value
            self._value = value
            return old

    def compare_and_set(self, expected: T, value: T) -> bool:
        """Replace the object if it is that very one; whether it was."""
        with self._lock:
            if self._value is not expected:
                return False
            self._value = value
            return True

    def __repr__(self) -> str:
        return repr(self._value)


class AtomicBoolean(AtomicReference[bool]):
    """A flag that exactly one of several threads may win.

    Mirrors: java.util.concurrent.atomic.AtomicBoolean
    """

    __slots__ = ()

    def __init__(self, initial_value: bool = False) -> None:
        super().__init__(initial_value)
