"""Readiness selection over epoll, with the wake-up that another thread may call.

Mirrors: java.nio.channels.Selector and SelectionKey, as far as Kafka uses them
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import ValuesView
from typing import Any, Final

from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.free_threading import FREE_THREADED

OP_READ: Final = 1
OP_WRITE: Final = 4
OP_CONNECT: Final = 8
OP_ACCEPT: Final = 16

_IN: Final = select.EPOLLIN
_OUT: Final = select.EPOLLOUT
_BROKEN: Final = select.EPOLLERR | select.EPOLLHUP
# epoll's events for each set of interest ops, so that a change of interest is one index away
_EVENTS: Final = [
    (_IN if ops & (OP_READ | OP_ACCEPT) else 0) | (_OUT if ops & (OP_WRITE | OP_CONNECT) else 0) for ops in range(32)
]
SCRATCH_BYTES: Final = 128 * 1024


class SelectionKey:
    """One socket's registration with a selector: what is wanted, and what the last select found.

    Mirrors: java.nio.channels.SelectionKey
    Thread:  the one that polls the selector.
    Differs: giving up OP_READ leaves epoll as it is; epoll is told when data arrives that nobody wants. A connection
        whose requests are answered before the next one comes is so muted and unmuted without a system call. One whose
        next request came too early is out of epoll by then, and stays so: when it wants to read again, the next
        select takes it for readable without asking. Only if that read left it wanting more is epoll told of it.
    """

    __slots__ = ("attachment", "channel", "early", "fd", "interest", "ready", "registered", "selector", "valid")

    def __init__(self, selector: NioSelector, channel: socket.socket, interest: int) -> None:
        self.selector = selector
        self.channel = channel
        self.fd = channel.fileno()
        self.interest = interest  # thread: poller
        # the events that epoll has been told
        self.registered = 0  # thread: poller
        # it left epoll because data came before it was wanted
        self.early = False  # thread: poller
        self.ready = 0  # thread: poller
        self.valid = True  # thread: poller
        self.attachment: Any = None

    def add(self, ops: int) -> None:
        """Select for ``ops`` too."""
        interest = self.interest | ops
        if interest != self.interest:
            self.interest = interest
            if _EVENTS[interest] & ~self.registered and self.valid:
                if self.early and interest == OP_READ:
                    self.early = False
                    self.selector.expect(self)
                else:
                    self.selector.tell(self)

    def remove(self, ops: int) -> None:
        """Select for ``ops`` no longer."""
        interest = self.interest & ~ops
        if interest != self.interest:
            self.interest = interest
            if ops != OP_READ and self.valid:
                self.selector.tell(self)

    def is_readable(self) -> bool:
        """Whether the last select found something to read."""
        return bool(self.ready & OP_READ)

    def is_writable(self) -> bool:
        """Whether the last select found room to write."""
        return bool(self.ready & OP_WRITE)

    def is_acceptable(self) -> bool:
        """Whether the last select found a connection to accept."""
        return bool(self.ready & OP_ACCEPT)

    def is_valid(self) -> bool:
        """Whether the key has not been cancelled."""
        return self.valid

    def cancel(self) -> None:
        """End the registration; call it before the socket is closed, for its number may be used again at once."""
        if self.valid:
            self.valid = False
            self.selector.forget(self)


class _Wakeup:
    """An eventfd that is closed when the last one that may write to it has let go.

    So a wakeup() in the middle of close() never writes to a descriptor that is somebody else's file by then.
    """

    __slots__ = ("_close", "fd")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._close = os.close  # held here: it is still there when the interpreter has let go of its modules

    def __del__(self) -> None:
        self._close(self.fd)


class NioSelector:
    """Finds the keys that can make progress.

    Mirrors: java.nio.channels.Selector
    Thread:  one thread selects and owns the keys; any thread calls wakeup().
    Locks:   none. The waker sets `_woken` and then looks at `_sleeping`; the sleeper sets `_sleeping` and then looks at
        `_woken`: one of the two sees the other, so a wake-up is never lost and the eventfd is written about once per
        sleep. (A lock around the write would be held until the writer has the interpreter again, which takes it
        milliseconds while others compute: they would all queue up for it.)
        Free-threaded there is no such wait, but only a lock makes one of the two see the other: `_sleep_lock`, around
        each of those steps, never around a system call (docs/memory-model.md).
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._keys: dict[int, SelectionKey] = {}  # thread: poller
        self._wakeup_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._wakeup: _Wakeup | None = _Wakeup(self._wakeup_fd)  # volatile: poller
        # Edge-triggered: each write is told once, so nobody has to read the descriptor empty again.
        self._epoll.register(self._wakeup_fd, _IN | select.EPOLLET)
        # to be taken for readable by the next select, and those of the last one
        self._expected: list[SelectionKey] = []  # thread: poller
        self._on_trial: list[SelectionKey] = []  # thread: poller
        self._sleeping = False  # volatile: poller
        self._woken = False  # volatile: any
        self._written = False  # volatile: any
        self._sleep_lock = ReentrantLock()
        self._open = True  # volatile: poller
        self._scratch: bytearray | None = None  # thread: poller

    @property
    def scratch(self) -> bytearray:
        """128 KiB that every channel of this selector reads into first."""
        if self._scratch is None:
            self._scratch = bytearray(SCRATCH_BYTES)
        return self._scratch

    def register(self, channel: socket.socket, interest: int) -> SelectionKey:
        """Begin to select ``channel`` for the operations ``interest``. Raises OSError."""
        key = SelectionKey(self, channel, interest)
        self._keys[key.fd] = key
        try:
            self.tell(key)
        except OSError:
            del self._keys[key.fd]
            raise
        return key

    def tell(self, key: SelectionKey) -> None:
        """Make epoll's events those that the key wants; a key that wants none leaves epoll. Raises OSError."""
        events = _EVENTS[key.interest]
        if events == key.registered:
            return
        if not key.registered:
            self._epoll.register(key.fd, events)
        elif events:
            self._epoll.modify(key.fd, events)
        else:
            self._epoll.unregister(key.fd)
        key.registered = events

    def expect(self, key: SelectionKey) -> None:
        """Let the next select take the key for readable: there was data for it when it left epoll."""
        self._expected.append(key)

    def forget(self, key: SelectionKey) -> None:
        """Drop a cancelled key."""
        if self._keys.get(key.fd) is key:
            del self._keys[key.fd]
            if key.registered and self._open:
                self._epoll.unregister(key.fd)
        key.registered = 0

    def select(self, timeout_ms: int) -> list[SelectionKey]:
        """Keys that are ready, waiting up to ``timeout_ms`` for the first; their `ready` tells for what."""
        if self._on_trial:
            self._end_trials()
        if FREE_THREADED:
            events = self._poll_in_order(timeout_ms)
        else:
            if timeout_ms and not self._expected:
                self._sleeping = True
                events = self._epoll.poll(0 if self._woken else timeout_ms / 1000)
                self._sleeping = False
            else:
                events = self._epoll.poll(0)
            self._woken = False
        keys = self._keys
        found = []
        for fd, event in events:
            key = keys.get(fd)
            if key is None:
                if fd == self._wakeup_fd:
                    self._written = False
                continue
            interest = key.interest
            if event == _IN and interest == OP_READ:  # nearly always; epoll has then been told of reading alone
                key.ready = OP_READ
                found.append(key)
                continue
            if event & _BROKEN:
                ops = interest  # whatever is wanted will now report the error
            elif interest <= OP_READ | OP_WRITE:
                ops = event & interest
            else:
                ops = interest if event & _EVENTS[interest] else 0
            if ops:
                key.ready = ops
                found.append(key)
            if key.registered != _EVENTS[interest]:
                self.tell(key)  # data for a muted channel: only now is epoll told
                key.early = not interest
        if self._expected:
            self._take_for_readable(found)
        return found

    def _poll_in_order(self, timeout_ms: int) -> list[tuple[int, int]]:
        """Free-threaded: what epoll finds, waiting for it unless somebody has called wakeup() or a key is expected."""
        sleeps = bool(timeout_ms) and not self._expected
        if sleeps:
            with self._sleep_lock:
                sleeps = self._sleeping = not self._woken
        events = self._epoll.poll(timeout_ms / 1000 if sleeps else 0)
        with self._sleep_lock:
            self._sleeping = self._woken = False
        return events

    def _take_for_readable(self, found: list[SelectionKey]) -> None:
        """Add the expected keys to the ready ones, and try whether they were."""
        self._expected, self._on_trial = self._on_trial, self._expected
        for key in self._on_trial:
            if key.interest == OP_READ and not key.registered and key.valid:
                key.ready = OP_READ
                found.append(key)

    def _end_trials(self) -> None:
        """Tell epoll of the keys that want more than was there; who got a whole request and is muted stays out."""
        for key in self._on_trial:
            if key.interest and key.valid:
                self.tell(key)
            key.early = not key.registered
        self._on_trial.clear()

    def wakeup(self) -> bool:
        """Make the select that sleeps return, or the next one not sleep; whether one slept and nobody woke it yet."""
        if FREE_THREADED:
            return self._wakeup_in_order()
        self._woken = True
        if self._sleeping and not self._written:
            wakeup = self._wakeup
            if wakeup is not None:
                self._written = True
                os.eventfd_write(wakeup.fd, 1)
                return True
        return False

    def _wakeup_in_order(self) -> bool:
        """Free-threaded: as wakeup()."""
        with self._sleep_lock:
            self._woken = True
            wakeup = self._wakeup
            if wakeup is None or not self._sleeping or self._written:
                return False
            self._written = True
        os.eventfd_write(wakeup.fd, 1)
        return True

    def keys(self) -> ValuesView[SelectionKey]:
        """All registrations."""
        return self._keys.values()

    def is_open(self) -> bool:
        """Whether close() has not been called."""
        return self._open

    def close(self) -> None:
        """Give epoll and the eventfd back; the sockets stay open."""
        if self._open:
            self._open = False
            self._sleeping = False
            for key in self._keys.values():
                key.valid = False
            self._keys.clear()
            self._epoll.close()
            self._wakeup = None

    def __repr__(self) -> str:
        return f"NioSelector(keys={len(self._keys)}, sleeping={self._sleeping}, open={self._open})"
