"""A thread that repeats one piece of work until it is told to stop.

Mirrors: core/src/main/scala/kafka/utils/ShutdownableThread.scala @ 1.1.1
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.utils.exit import Exit
from kafka_py.common.utils.kafka_thread import set_os_thread_name
from kafka_py.utils.concurrent import CountDownLatch, ReentrantLock, forget_interrupt, interrupt
from kafka_py.utils.logging import Logging


class ShutdownableThread(threading.Thread, Logging, ABC):
    """Calls do_work() again and again; shutting down has two steps, asking and waiting.

    Mirrors: kafka.utils.ShutdownableThread
    Thread: its own; initiate_shutdown and await_shutdown are called by whoever started it.
    Locks: _lock, while it starts and while it is asked to end.
    Differs: as in later Kafka nobody waits for a thread that could not be started.
    """

    def __init__(self, name: str, is_interruptible: bool = True) -> None:
        super().__init__(name=name, daemon=False)
        self.is_interruptible = is_interruptible
        self.log_ident = f"[{name}]: "
        self._shutdown_initiated = CountDownLatch(1)
        self._shutdown_complete = CountDownLatch(1)
        self._lock = ReentrantLock()

    def shutdown(self) -> None:
        """Ask the thread to stop and wait until it has."""
        self.initiate_shutdown()
        self.await_shutdown()

    @property
    def is_shutdown_complete(self) -> bool:
        """Whether the thread has done its last work."""
        return self._shutdown_complete.get_count() == 0

    def initiate_shutdown(self) -> bool:
        """Ask the thread to stop; False if it had been asked before."""
        with self._lock:
            if not self.is_running:
                return False
            self.info("Shutting down")
            self._shutdown_initiated.count_down()
            if self.is_interruptible:
                interrupt(self)
            return True

    def await_shutdown(self) -> None:
        """Wait for the end that initiate_shutdown asked for; a thread that was never started has ended."""
        if self.ident is not None:
            self._shutdown_complete.await_()
        self.info("Shutdown completed")

    def pause(self, timeout_ms: float) -> None:
        """Wait so long, or until the thread is asked to stop."""
        if self._shutdown_initiated.await_(timeout_ms):
            self.trace("shutdownInitiated latch count reached zero. Shutdown called.")

    @abstractmethod
    def do_work(self) -> None:
        """One turn; an exception ends the thread."""

    def run(self) -> None:
        """Turn after turn until asked to stop."""
        set_os_thread_name(self.name)
        self.info("Starting")
        try:
            while self.is_running:
                self.do_work()
        except FatalExitError as e:
            self._shutdown_initiated.count_down()
            self._shutdown_complete.count_down()
            self.info("Stopped")
            Exit.exit(e.status_code)
        except BaseException as e:  # noqa: BLE001  # the thread ends here; what ended it belongs in the log
            if self.is_running:
                self.error("Error due to", exc=e)
        finally:
            self._shutdown_complete.count_down()
            forget_interrupt()
        self.info("Stopped")

    @property
    def is_running(self) -> bool:
        """Whether nobody has asked the thread to stop."""
        return self._shutdown_initiated.get_count() != 0
