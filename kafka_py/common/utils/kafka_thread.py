"""Threads with a name that can be found again, whose uncaught exceptions are logged.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/KafkaThread.java @ 1.1.1
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from kafka_py.utils.concurrent import forget_interrupt
from kafka_py.utils.logging import get_logger

_log = get_logger("org.apache.kafka.common.utils.KafkaThread")
_MAX_OS_NAME = 15


def os_thread_name(name: str) -> str:
    """What fits of a thread's name into the kernel's 15 bytes: the first 7 and the last 6, as the JVM does it."""
    encoded = name.encode("ascii", "replace").decode()
    return encoded if len(encoded) <= _MAX_OS_NAME else f"{encoded[:7]}..{encoded[-6:]}"


def set_os_thread_name(name: str) -> None:
    """Give the calling thread its name in `top -H`, where there is such a thing."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
        comm.write(os_thread_name(name))


class KafkaThread(threading.Thread):
    """A named thread that runs a callable, or a subclass's `run`.

    Mirrors: org.apache.kafka.common.utils.KafkaThread
    Differs: `daemon` is an attribute of every Python thread, so the factory is called daemon_thread.
    """

    def __init__(self, name: str, runnable: Callable[[], None] | None = None, daemon: bool = False) -> None:
        super().__init__(target=runnable, name=name, daemon=daemon)
        run = self.run
        # threading starts whatever `run` the instance has, so subclasses' own runs are wrapped as well
        self.run = lambda: self._run_logged(run)  # type: ignore[method-assign]  # volatile: the thread itself

    @classmethod
    def daemon_thread(cls, name: str, runnable: Callable[[], None]) -> KafkaThread:
        """An unstarted thread that does not keep the process alive."""
        return cls(name, runnable, daemon=True)

    @classmethod
    def non_daemon(cls, name: str, runnable: Callable[[], None]) -> KafkaThread:
        """An unstarted thread that keeps the process alive until it ends."""
        return cls(name, runnable, daemon=False)

    def _run_logged(self, run: Callable[[], None]) -> None:
        set_os_thread_name(self.name)
        try:
            run()
        except SystemExit:
            raise
        except BaseException as e:  # noqa: BLE001  # a thread's last words; there is nobody left to raise it to
            _log.error("Uncaught exception in thread '%s':", self.name, exc=e)
        finally:
            forget_interrupt()
            # the closure over self.run would keep the thread alive after its end
            del self.run
