"""Futures and thread pools: java.util.concurrent's executors.

Imported through `kafka_py.utils.concurrent`.
"""

from __future__ import annotations

import _thread
import heapq
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, cast

from kafka_py.utils.concurrent_locks import INTERRUPT_SLICE_S, _interrupted, check_interrupted, forget_interrupt

T = TypeVar("T")
U = TypeVar("U")
ThreadFactory = Callable[[Callable[[], None]], threading.Thread]


class ExecutionException(Exception):
    """A task failed; the failure is the `__cause__`.

    Mirrors: java.util.concurrent.ExecutionException
    """


class CancellationException(Exception):
    """The result was asked of a task that has been cancelled.

    Mirrors: java.util.concurrent.CancellationException
    """


class RejectedExecutionException(Exception):
    """A task came after the pool had been shut down.

    Mirrors: java.util.concurrent.RejectedExecutionException
    """


class CompletableFuture(Generic[T]):
    """A result that will be known later; whoever learns it first completes the future.

    Mirrors: java.util.concurrent.CompletableFuture
    """

    def __init__(self) -> None:
        self._done = False  # volatile: writer under _changed
        self._value: T | None = None  # volatile: writer under _changed
        self._error: BaseException | None = None  # volatile: writer under _changed
        self._callbacks: list[Callable[[T | None, BaseException | None], Any]] = []  # guarded by: _changed
        self._changed = threading.Condition(_thread.allocate_lock())

    @staticmethod
    def all_of(futures: Iterable[CompletableFuture[Any]]) -> CompletableFuture[None]:
        """A future that completes when all of these have, with the first failure if one failed."""
        waiting = list(futures)
        result: CompletableFuture[None] = CompletableFuture()
        if not waiting:
            result.complete(None)
            return result
        left = [len(waiting)]
        guard = _thread.allocate_lock()

        def one_done(_: Any, error: BaseException | None) -> None:
            with guard:
                left[0] -= 1
                last = left[0] == 0
            if last:
                failed = next((f._error for f in waiting if f._error is not None), None)
                result._finish(None, failed)

        for future in waiting:
            future.when_complete(one_done)
        return result

    def _finish(self, value: T | None, error: BaseException | None) -> bool:
        with self._changed:
            if self._done:
                return False
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(value, error)
        return True

    def complete(self, value: T) -> bool:
        """Give the result; False if the future was complete already."""
        return self._finish(value, None)

    def complete_exceptionally(self, error: BaseException) -> bool:
        """Give the failure; False if the future was complete already."""
        return self._finish(None, error)

    def cancel(self, may_interrupt_if_running: bool = False) -> bool:
        """Complete with a CancellationException; whether the future is cancelled now."""
        return self._finish(None, CancellationException()) or self.is_cancelled()

    def is_done(self) -> bool:
        """Whether a result, a failure or a cancellation is there."""
        return self._done

    def is_cancelled(self) -> bool:
        """Whether the future was cancelled."""
        return isinstance(self._error, CancellationException)

    def _await(self, timeout_ms: float | None) -> None:
        deadline = None if timeout_ms is None else time.monotonic_ns() + int(timeout_ms * 1_000_000)
        with self._changed:
            while not self._done:
                if _interrupted:
                    check_interrupted()
                left = INTERRUPT_SLICE_S
                if deadline is not None:
                    left = min(left, (deadline - time.monotonic_ns()) / 1e9)
                    if left <= 0:
                        raise TimeoutError(f"not complete after {timeout_ms} ms")
                self._changed.wait(left)

    def get(self, timeout_ms: float | None = None) -> T:
        """The result, waited for; ExecutionException if it failed, TimeoutError after timeout_ms."""
        if not self._done:
            self._await(timeout_ms)
        if isinstance(self._error, CancellationException):
            raise self._error
        if self._error is not None:
            raise ExecutionException(repr(self._error)) from self._error
        return cast("T", self._value)

    def join(self) -> T:
        """The result, waited for without limit; ExecutionException if it failed."""
        return self.get()

    def exception_now(self) -> BaseException | None:
        """The failure if there is one."""
        return self._error

    def when_complete(self, fn: Callable[[T | None, BaseException | None], Any]) -> CompletableFuture[T]:
        """Call fn(result, failure) once complete: at once if it is, else on the thread that completes."""
        with self._changed:
            if not self._done:
                self._callbacks.append(fn)
                return self
        fn(self._value, self._error)
        return self

    def handle(self, fn: Callable[[T | None, BaseException | None], U]) -> CompletableFuture[U]:
        """A future of fn(result, failure)."""
        result: CompletableFuture[U] = CompletableFuture()

        def run(value: T | None, error: BaseException | None) -> None:
            try:
                result.complete(fn(value, error))
            except Exception as e:  # noqa: BLE001  # the failure belongs to whoever waits for the result
                result.complete_exceptionally(e)

        self.when_complete(run)
        return result

    def then_apply(self, fn: Callable[[T], U]) -> CompletableFuture[U]:
        """A future of fn(result); a failure passes on."""
        result: CompletableFuture[U] = CompletableFuture()

        def run(value: T | None, error: BaseException | None) -> None:
            if error is not None:
                result.complete_exceptionally(error)
                return
            try:
                result.complete(fn(cast("T", value)))
            except Exception as e:  # noqa: BLE001  # as above
                result.complete_exceptionally(e)

        self.when_complete(run)
        return result


class Future(CompletableFuture[T]):
    """The result of a task given to a pool; cancelling it keeps the task from starting.

    Mirrors: java.util.concurrent.FutureTask
    """

    def __init__(self, task: Callable[[], T]) -> None:
        super().__init__()
        self.task = task  # volatile: whoever cancels it

    def run(self) -> None:
        """Run the task once and keep what it answers or raises."""
        if self._done:
            return
        try:
            self.complete(self.task())
        except BaseException as e:  # noqa: BLE001  # a task's failure must not end the pool's thread
            self.complete_exceptionally(e)


class _Pool(ABC):
    """What the two pools share: their threads and how they end.

    Mirrors: java.util.concurrent.ThreadPoolExecutor, which is the base of the other one there
    """

    def __init__(self, threads: int, thread_factory: ThreadFactory | None) -> None:
        self.core_pool_size = threads  # volatile: writer under _changed
        self._factory: ThreadFactory = thread_factory or (lambda run: threading.Thread(target=run, daemon=True))
        self._threads: list[threading.Thread] = []
        self._changed = threading.Condition(_thread.allocate_lock())
        self._shutdown = False  # volatile: writer under _changed

    def _add_thread(self) -> None:
        """One more worker, while there are fewer than asked for. Caller holds _changed.

        Raises RuntimeError when the machine has no thread to give; so call it before a task is queued.
        """
        if len(self._threads) < self.core_pool_size:
            thread = self._factory(self._work_and_forget)
            thread.start()
            self._threads.append(thread)

    def _work_and_forget(self) -> None:
        try:
            self._work()
        finally:
            forget_interrupt()

    @abstractmethod
    def _work(self) -> None:
        """Run tasks until the pool is shut down."""

    def set_core_pool_size(self, threads: int) -> None:
        """Let there be this many threads; too many leave when they have finished their task."""
        with self._changed:
            self.core_pool_size = threads
            self._changed.notify_all()

    def _is_surplus(self) -> bool:
        """Whether the calling worker should leave because the pool shrank. Caller holds _changed."""
        if len(self._threads) <= self.core_pool_size:
            return False
        self._threads.remove(threading.current_thread())
        return True

    def is_terminated(self) -> bool:
        """Whether the pool is shut down and its threads have ended."""
        return self._shutdown and not any(t.is_alive() for t in self._threads)

    def get_pool_size(self) -> int:
        """How many threads have been started."""
        return len(self._threads)

    def await_termination(self, timeout_ms: float) -> bool:
        """After a shutdown, wait for the threads to end; False if timeout_ms ran out first."""
        deadline = time.monotonic_ns() + int(timeout_ms * 1_000_000)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, (deadline - time.monotonic_ns()) / 1e9))
        return not any(t.is_alive() for t in self._threads)


class ThreadPoolExecutor(_Pool):
    """A fixed number of threads that run tasks in the order they came.

    Mirrors: java.util.concurrent.ThreadPoolExecutor (as Executors.newFixedThreadPool makes it)
    """

    def __init__(self, threads: int, thread_factory: ThreadFactory | None = None) -> None:
        super().__init__(threads, thread_factory)
        self._tasks: deque[Future[Any]] = deque()

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Queue a task; RejectedExecutionException after shutdown."""
        future = Future(task)
        with self._changed:
            if self._shutdown:
                raise RejectedExecutionException("the pool is shut down")
            self._add_thread()
            self._tasks.append(future)
            self._changed.notify()
        return future

    execute = submit

    def invoke_all(self, tasks: Iterable[Callable[[], T]]) -> list[Future[T]]:
        """Run all tasks and wait for them."""
        futures = [self.submit(task) for task in tasks]
        for future in futures:
            future._await(None)
        return futures

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._tasks:
                    if self._shutdown or self._is_surplus():
                        return
                    self._changed.wait()
                future = self._tasks.popleft()
            future.run()

    def shutdown(self) -> None:
        """Refuse new tasks; the queued ones still run."""
        with self._changed:
            self._shutdown = True
            self._changed.notify_all()

    def shutdown_now(self) -> list[Future[Any]]:
        """Refuse new tasks and drop the queued ones, which are answered."""
        with self._changed:
            self._shutdown = True
            dropped = list(self._tasks)
            self._tasks.clear()
            self._changed.notify_all()
        return dropped


class ScheduledFuture(Future[Any]):
    """A task of a ScheduledThreadPoolExecutor: due at a time, perhaps again and again.

    Mirrors: java.util.concurrent.ScheduledFuture
    """

    def __init__(self, pool: ScheduledThreadPoolExecutor, task: Callable[[], Any], due_ns: int, period_ns: int) -> None:
        super().__init__(task)
        self._pool = pool
        self.due_ns = due_ns  # volatile: holder of the pool's _changed
        self.period_ns = period_ns
        # where in the pool's heap, and whether there
        self.sequence = 0  # volatile: holder of the pool's _changed
        self.queued = False  # volatile: holder of the pool's _changed

    def __lt__(self, other: ScheduledFuture) -> bool:
        return (self.due_ns, self.sequence) < (other.due_ns, other.sequence)

    def get_delay(self) -> int:
        """Milliseconds until due."""
        return (self.due_ns - time.monotonic_ns()) // 1_000_000

    @property
    def is_periodic(self) -> bool:
        """Whether the task runs again after it has run."""
        return self.period_ns > 0

    def cancel(self, may_interrupt_if_running: bool = False) -> bool:
        """Keep the task from starting (again) and let go of it; whether it is cancelled now."""
        cancelled = super().cancel()
        if cancelled:
            self.task = _nothing
        self._pool._forget(self)
        return cancelled


def _nothing() -> None:
    """Stands for the task of a future that was cancelled, so that it does not outlive its cancellation."""


class ScheduledThreadPoolExecutor(_Pool):
    """A fixed number of threads that run tasks when they fall due, once or at a fixed rate.

    Mirrors: java.util.concurrent.ScheduledThreadPoolExecutor
    Differs: works as Kafka sets it up: after shutdown neither delayed nor periodic tasks run any more, and a
    cancelled task is gone at once. Its place in the heap is kept until such places are the half of it: a broker has
    a periodic task for every log, and looking for one of them would make deleting all of them a quadratic affair.
    """

    def __init__(self, threads: int, thread_factory: ThreadFactory | None = None) -> None:
        super().__init__(threads, thread_factory)
        self._heap: list[ScheduledFuture] = []  # volatile: writer under _changed
        # in the heap
        self._cancelled = 0  # volatile: writer under _changed
        self._sequence = 0  # guarded by: _changed

    def schedule(self, task: Callable[[], Any], delay_ms: float) -> ScheduledFuture:
        """Run the task once, delay_ms from now; RejectedExecutionException after shutdown."""
        return self._add(task, delay_ms, 0)

    def schedule_at_fixed_rate(self, task: Callable[[], Any], delay_ms: float, period_ms: float) -> ScheduledFuture:
        """Run the task delay_ms from now and every period_ms after that, until it raises or is cancelled."""
        if period_ms <= 0:
            raise ValueError("period must be positive")
        return self._add(task, delay_ms, period_ms)

    def _add(self, task: Callable[[], Any], delay_ms: float, period_ms: float) -> ScheduledFuture:
        due_ns = time.monotonic_ns() + int(max(0, delay_ms) * 1_000_000)
        future = ScheduledFuture(self, task, due_ns, int(period_ms * 1_000_000))
        with self._changed:
            if self._shutdown:
                raise RejectedExecutionException("the pool is shut down")
            self._add_thread()
            self._push(future)
        return future

    def _push(self, future: ScheduledFuture) -> None:
        """Wake a thread if the task is the next one; the others are waited for already. Caller holds _changed."""
        self._sequence += 1
        future.sequence = self._sequence
        future.queued = True
        heapq.heappush(self._heap, future)
        if self._heap[0] is future:
            self._changed.notify()

    def _forget(self, future: ScheduledFuture) -> None:
        with self._changed:
            if future.queued:
                future.queued = False
                self._cancelled += 1
                if self._cancelled * 2 > len(self._heap):
                    self._heap = [waiting for waiting in self._heap if waiting.queued]
                    heapq.heapify(self._heap)
                    self._cancelled = 0

    def _pop(self) -> ScheduledFuture:
        """Take the next task; another thread shall wait for the one after it. Caller holds _changed."""
        future = heapq.heappop(self._heap)
        future.queued = False
        if self._heap:
            self._changed.notify()
        return future

    def _next_due(self) -> ScheduledFuture | None:
        """Wait for the task due soonest; None once the pool is shut down."""
        with self._changed:
            while not self._shutdown and not self._is_surplus():
                if not self._heap:
                    self._changed.wait()
                    continue
                if not self._heap[0].queued:
                    heapq.heappop(self._heap)
                    self._cancelled -= 1
                    continue
                left_ns = self._heap[0].due_ns - time.monotonic_ns()
                if left_ns <= 0:
                    return self._pop()
                self._changed.wait(min(left_ns / 1e9, threading.TIMEOUT_MAX))
        return None

    def _work(self) -> None:
        while (future := self._next_due()) is not None:
            if future.is_periodic:
                self._run_periodic(future)
            else:
                future.run()

    def _run_periodic(self, future: ScheduledFuture) -> None:
        if future.is_done():
            return
        try:
            future.task()
        except BaseException as e:  # noqa: BLE001  # as in Java, a task that raises does not run again
            future.complete_exceptionally(e)
            return
        with self._changed:
            if not self._shutdown and not future.is_done():
                future.due_ns += future.period_ns
                self._push(future)

    def get_queue_size(self) -> int:
        """How many tasks wait for their time."""
        return len(self._heap) - self._cancelled

    def shutdown(self) -> None:
        """Refuse new tasks, drop the waiting ones and let the threads end."""
        self.shutdown_now()

    def shutdown_now(self) -> list[ScheduledFuture]:
        """As shutdown; the dropped tasks are answered."""
        with self._changed:
            self._shutdown = True
            dropped = [future for future in self._heap if future.queued]
            self._heap, self._cancelled = [], 0
            self._changed.notify_all()
        for future in dropped:
            future._finish(None, CancellationException())
        return dropped
