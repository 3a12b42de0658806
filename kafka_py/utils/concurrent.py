"""java.util.concurrent for kafka_py: every lock, wait and hand-off of mirrored code comes from here.

That one place is what lets tests run without sleeping, the X-ray see each hand-off and the lab hold a thread still
(`install_tap`, `Gate`). The classes live in four files by kind; import them from this one.
"""

from __future__ import annotations

from kafka_py.utils.concurrent_collections import ConcurrentHashMap, CopyOnWriteArrayList
from kafka_py.utils.concurrent_executors import (
    CancellationException,
    CompletableFuture,
    ExecutionException,
    Future,
    RejectedExecutionException,
    ScheduledFuture,
    ScheduledThreadPoolExecutor,
    ThreadPoolExecutor,
)
from kafka_py.utils.concurrent_hooks import Gate, Tap, add_point, install_tap, remove_tap, untapped
from kafka_py.utils.concurrent_locks import (
    AtomicBoolean,
    AtomicInteger,
    AtomicLong,
    AtomicReference,
    Condition,
    CountDownLatch,
    InterruptedException,
    ReentrantLock,
    ReentrantReadWriteLock,
    Semaphore,
    forget_interrupt,
    interrupt,
    is_interrupted,
)
from kafka_py.utils.concurrent_queues import (
    ArrayBlockingQueue,
    ConcurrentLinkedQueue,
    Delayed,
    DelayQueue,
    LinkedBlockingDeque,
    LinkedBlockingQueue,
)

__all__ = [
    "ArrayBlockingQueue",
    "AtomicBoolean",
    "AtomicInteger",
    "AtomicLong",
    "AtomicReference",
    "CancellationException",
    "CompletableFuture",
    "ConcurrentHashMap",
    "ConcurrentLinkedQueue",
    "Condition",
    "CopyOnWriteArrayList",
    "CountDownLatch",
    "DelayQueue",
    "Delayed",
    "ExecutionException",
    "Future",
    "Gate",
    "InterruptedException",
    "LinkedBlockingDeque",
    "LinkedBlockingQueue",
    "ReentrantLock",
    "ReentrantReadWriteLock",
    "RejectedExecutionException",
    "ScheduledFuture",
    "ScheduledThreadPoolExecutor",
    "Semaphore",
    "Tap",
    "ThreadPoolExecutor",
    "add_point",
    "forget_interrupt",
    "install_tap",
    "interrupt",
    "is_interrupted",
    "remove_tap",
    "untapped",
]
