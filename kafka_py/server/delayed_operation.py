"""Requests that wait for something: the purgatory.

Mirrors: core/src/main/scala/kafka/server/DelayedOperation.scala @ 1.1.1

A produce that waits for its replicas, a fetch that waits for data, a join that waits for the other members: each is
tried at once, and if that fails watched under its keys. Whoever changes what a key stands for calls
`check_and_complete(key)`. What nobody completes in time, the reaper expires.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from kafka_py.common.utils.time import Time
from kafka_py.metrics.kafka_metrics_group import KafkaMetricsGroup
from kafka_py.utils.concurrent import AtomicBoolean, AtomicInteger, ReentrantLock
from kafka_py.utils.free_threading import FREE_THREADED
from kafka_py.utils.logging import Logging
from kafka_py.utils.pool import Pool
from kafka_py.utils.shutdownable_thread import ShutdownableThread
from kafka_py.utils.timer.timer import SystemTimer, Timer
from kafka_py.utils.timer.timer_task import TimerTask


class DelayedOperation(TimerTask, Logging):
    """Something that is done once: when it can be, or when its time is over.

    `force_complete` wins once, and calls `on_complete`; a timer that wins calls `on_expiration` after it.

    Mirrors: kafka.server.DelayedOperation
    Thread: tried by whichever thread changes a watched key; expired by executor-{purgatory}.
    Locks: `lock` is held while try_complete runs, so that is never run by two threads at once.
    """

    def __init__(self, delay_ms: int, lock: ReentrantLock | None = None) -> None:
        self.delay_ms = delay_ms
        self._completed = AtomicBoolean(False)  # atomic
        self._try_complete_pending = AtomicBoolean(False)  # atomic
        self.lock = ReentrantLock() if lock is None else lock
        # somebody else's: its holder may be at anything, and need not look again at what was missed meanwhile
        self.has_foreign_lock = lock is not None

    def force_complete(self) -> bool:
        """Complete whether or not the condition holds; False if somebody else has done so already."""
        if self._completed.compare_and_set(False, True):
            self.cancel()
            self.on_complete()
            return True
        return False

    @property
    def is_completed(self) -> bool:
        """Whether it is done, or being done."""
        return self._completed.get()

    @abstractmethod
    def on_expiration(self) -> None:
        """Called after on_complete when time ran out."""

    @abstractmethod
    def on_complete(self) -> None:
        """Do it; called exactly once."""

    @abstractmethod
    def try_complete(self) -> bool:
        """If the condition holds call force_complete and answer what that answers, else answer False."""

    def maybe_try_complete(self) -> bool:
        """try_complete, unless another thread is at it; whether this thread completed the operation.

        A thread that finds the lock taken leaves a mark, and the holder, when it is through, tries again for it: the
        state may have changed after the holder had looked. If a mark was there already the holder is sure to see it.
        """
        while True:
            done = False
            if self.lock.acquire(False):
                try:
                    self._try_complete_pending.set(False)
                    done = self.try_complete()
                finally:
                    self.lock.release()
                retry = self._try_complete_pending.get_in_order()
            else:
                retry = not self._try_complete_pending.get_and_set(True)
            if self.is_completed or not retry:
                return done

    @property
    def is_missed(self) -> bool:
        """Whether somebody found the lock taken and nobody has looked since."""
        return self._try_complete_pending.get() and not self.is_completed

    def try_complete_missed(self) -> None:
        """Wait for the lock and look, for those that did not wait. Caller holds no lock."""
        with self.lock:
            self._try_complete_pending.set(False)
            self.try_complete()

    def run(self) -> None:
        """The timer calls this when the delay is over."""
        if self.force_complete():
            self.on_expiration()


T = TypeVar("T", bound=DelayedOperation)


class DelayedOperationPurgatory(KafkaMetricsGroup, Generic[T]):
    """Operations under their watch keys, and the timer that ends their wait.

    Mirrors: kafka.server.DelayedOperationPurgatory
    Thread: ExpirationReaper-{broker}-{purgatory} turns the timer; any thread watches and checks.
    Locks: `_remove_watchers_lock`, so that nobody starts to watch in a list that is being thrown away.
    Differs: looking a key up takes no lock while there is a GIL, so a check of a key that nobody watches costs no more
    than one look-up. Without it the lock sees to it that whoever changes a thing and then checks for watchers, and who
    begins to watch and then looks at the thing, do not miss each other (docs/memory-model.md). The lock is a plain one.
    A timer is made if none is given (apply in Scala). What was passed over because the lock that it was given (a
    group's) was taken, the timer's thread looks at: the lock's holder would not, and a commit that all replicas have
    would run out of time (KAFKA-8334; 2.7 waits for the lock, and sees to it that who completes holds no other).
    """

    def __init__(
        self,
        purgatory_name: str,
        timeout_timer: Timer | None = None,
        broker_id: int = 0,
        purge_interval: int = 1000,
        reaper_enabled: bool = True,
        timer_enabled: bool = True,
        time: Time = Time.SYSTEM,
    ) -> None:
        """``time`` is the clock of the timer that is made if none is given."""
        self.purgatory_name = purgatory_name
        self._timeout_timer = timeout_timer or SystemTimer(purgatory_name, time=time)
        self._purge_interval = purge_interval
        self._reaper_enabled = reaper_enabled
        self._timer_enabled = timer_enabled
        self._watchers_for_key: Pool[Hashable, _Watchers[T]] = Pool(lambda key: _Watchers(self, key))  # atomic
        self._remove_watchers_lock = ReentrantLock()
        # whether anything is watched under a key: one look-up in C, for those who would check with every append
        self.watches = self._watches_in_order if FREE_THREADED else self._watchers_for_key.contains
        self._estimated_total_operations = AtomicInteger(0)  # atomic
        self._expiration_reaper = _ExpiredOperationReaper(self, broker_id)
        self._metrics_tags = {"delayedOperation": purgatory_name}
        self.new_gauge("PurgatorySize", lambda: self.watched, self._metrics_tags)
        self.new_gauge("NumDelayedOperations", lambda: self.delayed, self._metrics_tags)
        if reaper_enabled:
            self._expiration_reaper.start()

    def try_complete_else_watch(self, operation: T, watch_keys: Sequence[Hashable]) -> bool:
        """Complete the operation now, or watch it under its keys; whether it is completed, by this thread.

        It is tried before and after the keys are watched: what happens between the two tries and after the second
        is seen by a check, for by then the operation stands under every key. If another thread completes it in
        between, it stays in some lists for nothing until the reaper purges them.
        """
        assert watch_keys, "The watch key list can't be empty"
        # nobody else knows the operation yet, so no lock is needed
        if operation.try_complete():
            return True
        watch_created = False
        for key in watch_keys:
            if operation.is_completed:
                return False
            self._watch_for_operation(key, operation)
            if not watch_created:
                watch_created = True
                self._estimated_total_operations.increment_and_get()
        if operation.maybe_try_complete():
            return True
        if not operation.is_completed:
            if self._timer_enabled:
                self._timeout_timer.add(operation)
            if operation._completed.get():  # by another thread, just now
                operation.cancel()
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Try the operations watched under the key; how many this thread completed."""
        watchers = self._watchers_in_order(key) if FREE_THREADED else self._watchers_for_key.get(key)
        return 0 if watchers is None else watchers.try_complete_watched()

    def _watchers_in_order(self, key: Hashable) -> _Watchers[T] | None:
        """Free-threaded: the watchers of a key, looked up after all that this thread has written before."""
        with self._remove_watchers_lock:
            return self._watchers_for_key.get(key)

    def _watches_in_order(self, key: Hashable) -> bool:
        """Free-threaded: whether anything is watched under the key."""
        return self._watchers_in_order(key) is not None

    @property
    def watched(self) -> int:
        """How many operations stand in the lists; one under two keys counts twice, completed ones count too."""
        return sum([watchers.count_watched for watchers in self._all_watchers])

    @property
    def delayed(self) -> int:
        """How many operations the timer holds."""
        return self._timeout_timer.size

    def cancel_for_key(self, key: Hashable) -> list[T]:
        """Stop watching a key: its operations leave timer and list without being completed, and are answered."""
        with self._remove_watchers_lock:
            watchers = self._watchers_for_key.remove(key)
            return [] if watchers is None else watchers.cancel()

    @property
    def _all_watchers(self) -> list[_Watchers[T]]:
        return self._watchers_for_key.values

    def _watch_for_operation(self, key: Hashable, operation: T) -> None:
        with self._remove_watchers_lock:
            self._watchers_for_key.get_and_maybe_put(key).watch(operation)

    def _remove_key_if_empty(self, key: Hashable, watchers: _Watchers[T]) -> None:
        with self._remove_watchers_lock:
            # skip if the key has got another list meanwhile
            if self._watchers_for_key.get(key) is watchers and watchers.is_empty:
                self._watchers_for_key.remove(key)

    def shutdown(self) -> None:
        """Stop the reaper and the timer; waiting operations are left as they are."""
        if self._reaper_enabled:
            self._expiration_reaper.shutdown()
        self._timeout_timer.shutdown()
        self.remove_metric("PurgatorySize", self._metrics_tags)
        self.remove_metric("NumDelayedOperations", self._metrics_tags)

    def look_again(self, operation: T) -> None:
        """Have the timer's thread, which holds no lock, look at an operation that was passed over."""
        self._timeout_timer.add(_LookAgain(operation))

    def advance_clock(self, timeout_ms: int) -> None:
        """Expire what is due, and purge the lists when many completed operations still stand in them.

        The estimate of those is all that were ever watched less those the timer still holds; it is set back before
        the purge, so operations completed meanwhile make it a little too high, never too low.
        """
        self._timeout_timer.advance_clock(timeout_ms)
        if self._estimated_total_operations.get() - self.delayed > self._purge_interval:
            self._estimated_total_operations.get_and_set(self.delayed)
            self.debug("Begin purging watch lists")
            purged = sum([watchers.purge_completed() for watchers in self._all_watchers])
            self.debug("Purged %d elements from watch lists.", purged)

    def __repr__(self) -> str:
        return f"<DelayedOperationPurgatory {self.purgatory_name} watched={self.watched} delayed={self.delayed}>"


class _LookAgain(TimerTask):
    """Looks at an operation whose lock was taken when somebody wanted to; due at once."""

    def __init__(self, operation: DelayedOperation) -> None:
        self.delay_ms = 0
        self._operation = operation

    def run(self) -> None:
        """Wait for the lock and look."""
        self._operation.try_complete_missed()


class _Watchers(Generic[T]):
    """The operations watched under one key, oldest first.

    Mirrors: kafka.server.DelayedOperationPurgatory.Watchers
    Differs: a dict without values in place of a linked queue, so that taking one out does not search.
    """

    __slots__ = ("_operations", "_purgatory", "key")

    def __init__(self, purgatory: DelayedOperationPurgatory[T], key: Hashable) -> None:
        self._purgatory = purgatory
        self.key = key
        self._operations: dict[T, None] = {}  # atomic: put, pop, list()

    @property
    def count_watched(self) -> int:
        """How many there are."""
        return len(self._operations)

    @property
    def is_empty(self) -> bool:
        """Whether there is none."""
        return not self._operations

    def watch(self, operation: T) -> None:
        """Add one."""
        self._operations[operation] = None

    def try_complete_watched(self) -> int:
        """Try each; drop the completed ones; how many this thread completed."""
        completed = 0
        operations = self._operations
        for operation in list(operations):
            if operation.is_completed:
                operations.pop(operation, None)
            elif operation.maybe_try_complete():
                operations.pop(operation, None)
                completed += 1
            elif operation.has_foreign_lock and operation.is_missed:
                self._purgatory.look_again(operation)
        if not operations:
            self._purgatory._remove_key_if_empty(self.key, self)
        return completed

    def cancel(self) -> list[T]:
        """Take all out of the timer and the list, and answer them."""
        cancelled = list(self._operations)
        for operation in cancelled:
            operation.cancel()
            self._operations.pop(operation, None)
        return cancelled

    def purge_completed(self) -> int:
        """Drop those that others have completed; how many."""
        purged = 0
        for operation in list(self._operations):
            if operation.is_completed:
                self._operations.pop(operation, None)
                purged += 1
        if not self._operations:
            self._purgatory._remove_key_if_empty(self.key, self)
        return purged


class _ExpiredOperationReaper(ShutdownableThread):
    """Turns the purgatory's timer.

    Mirrors: kafka.server.DelayedOperationPurgatory.ExpiredOperationReaper
    Thread: ExpirationReaper-{broker}-{purgatory}
    """

    logger_name = "kafka.server.DelayedOperationPurgatory$ExpiredOperationReaper"

    def __init__(self, purgatory: DelayedOperationPurgatory[T], broker_id: int) -> None:
        super().__init__(f"ExpirationReaper-{broker_id}-{purgatory.purgatory_name}", is_interruptible=False)
        self._purgatory = purgatory

    def do_work(self) -> None:
        """Wait up to 200 ms for something to expire."""
        self._purgatory.advance_clock(200)
