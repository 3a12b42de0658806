"""One queue and one thread: everything the controller does happens there, one event after the other.

Mirrors: core/src/main/scala/kafka/controller/ControllerEventManager.scala @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.common.utils.time import Time
from kafka_py.controller.controller_state import ControllerState
from kafka_py.utils.concurrent import LinkedBlockingDeque, ReentrantLock
from kafka_py.utils.shutdownable_thread import ShutdownableThread

if TYPE_CHECKING:
    from kafka_py.metrics.yammer import Timer


class ControllerEvent(ABC):
    """Something that happened in ZooKeeper, on a broker or in time, and what the controller does about it.

    Mirrors: kafka.controller.ControllerEvent
    Left out: state -- an attribute of each event, annotated here
    Thread:  process runs on controller-event-thread, and nowhere else.
    """

    state: ControllerState

    @abstractmethod
    def process(self) -> None:
        """Do the work; what it raises is logged by the event thread, which goes on."""

    def preempt(self) -> None:
        """The event will never be processed: tell whoever waits for it. Runs on the thread that drops it."""
        return

    def __repr__(self) -> str:
        return type(self).__name__


class ShutdownEventThread(ControllerEvent):
    """The last event of a queue: the thread that takes it ends.

    Mirrors: kafka.controller.KafkaController.ShutdownEventThread
    """

    state = ControllerState.ControllerShutdown

    def process(self) -> None:
        """Nothing is left to do: the thread recognises this event before it would process it."""
        return None


class QueuedEvent(NamedTuple):
    """An event that waits, and since when; kafka.controller.QueuedEvent from 2.1 on."""

    event: ControllerEvent
    enqueue_time_ms: int


class ControllerEventManager:
    """Queues controller events and runs them in order on its own thread.

    Mirrors: kafka.controller.ControllerEventManager
    Thread:  any puts; controller-event-thread takes.
    Locks:   _put_lock makes clear_and_put one step, so that no event slips in between the clearing and the put.
    Differs: an event that is dropped, because the queue is cleared or nobody reads it any more, hears of it (later
        Kafka has preempt for that); else the expiry thread would wait for ever for an Expire that close() has
        dropped, the closing of the ZooKeeper client for that thread, and a broker for its ControlledShutdown. Each
        event waits with the time at which it came, as from 2.1 on.
    """

    CONTROLLER_EVENT_THREAD_NAME = "controller-event-thread"

    def __init__(
        self,
        controller_id: int,
        rate_and_time_metrics: Mapping[ControllerState, Timer],
        event_processed_listener: Callable[[ControllerEvent], None],
        time: Time = Time.SYSTEM,
    ) -> None:
        self.controller_id = controller_id
        self.rate_and_time_metrics = rate_and_time_metrics
        self.event_processed_listener = event_processed_listener
        self._time = time
        self._state = ControllerState.Idle  # volatile: controller-event-thread
        self._put_lock = ReentrantLock()
        self._closed = False  # guarded by: _put_lock
        # a deque, as one can look into it without taking anything out
        self._queue: LinkedBlockingDeque[QueuedEvent] = LinkedBlockingDeque()  # handoff: any -> event
        self._thread = self.ControllerEventThread(self)

    @property
    def state(self) -> ControllerState:
        """What the event thread is busy with; Idle between two events."""
        return self._state

    def waiting(self) -> list[tuple[ControllerEvent, int]]:
        """The events that wait, the next one first, and for how many ms each has waited."""
        now = self._time.milliseconds()
        return [(queued.event, now - queued.enqueue_time_ms) for queued in self._queue]

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Drop what is queued, let the running event finish, and wait until the thread has ended."""
        self.clear_and_put(ShutdownEventThread())
        self._thread.await_shutdown()

    def put(self, event: ControllerEvent) -> None:
        """Queue the event behind all others; never blocks. After close() it is dropped."""
        with self._put_lock:
            closed = self._closed
            if not closed:
                self._enqueue(event)
        if closed:
            self._drop([event])

    def clear_and_put(self, event: ControllerEvent) -> None:
        """Forget every queued event and queue this one (session expiry and shutdown)."""
        drained: list[QueuedEvent] = []
        with self._put_lock:
            self._queue.drain_to(drained)
            dropped = [queued.event for queued in drained]
            if self._closed:
                dropped.append(event)
            else:
                self._enqueue(event)
            self._closed = self._closed or isinstance(event, ShutdownEventThread)
        self._drop(dropped)

    def _enqueue(self, event: ControllerEvent) -> None:
        """Caller holds _put_lock."""
        self._queue.put(QueuedEvent(event, self._time.milliseconds()))

    def _drop(self, events: list[ControllerEvent]) -> None:
        for event in events:
            try:
                event.preempt()
            except Exception as e:  # noqa: BLE001 -- the others must hear of it too
                self._thread.error("Error while dropping event %s", event, exc=e)

    class ControllerEventThread(ShutdownableThread):
        """Takes one event at a time, processes it, then lets the listener refresh the gauges.

        Mirrors: kafka.controller.ControllerEventManager.ControllerEventThread
        """

        def __init__(self, manager: ControllerEventManager) -> None:
            super().__init__(ControllerEventManager.CONTROLLER_EVENT_THREAD_NAME, is_interruptible=False)
            self.log_ident = f"[ControllerEventThread controllerId={manager.controller_id}] "
            self._manager = manager

        def do_work(self) -> None:
            manager = self._manager
            event = manager._queue.take().event
            if isinstance(event, ShutdownEventThread):
                self.initiate_shutdown()
                return
            manager._state = event.state
            try:
                with manager.rate_and_time_metrics[event.state].time():
                    event.process()
            except Exception as e:  # noqa: BLE001 -- the controller outlives a failed event, as Kafka's does
                self.error("Error processing event %s", event, exc=e)
            try:
                manager.event_processed_listener(event)
            except Exception as e:  # noqa: BLE001 -- the listener only refreshes gauges
                self.error("Error while invoking listener for processed event %s", event, exc=e)
            manager._state = ControllerState.Idle
