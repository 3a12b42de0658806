"""The one way to end the process, so that tests can watch it being taken.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/Exit.java @ 1.1.1
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import ClassVar

from kafka_py.utils.concurrent import ReentrantLock

Procedure = Callable[[int, str | None], None]
_hooks: list[tuple[str, Callable[[], None]]] = []
_hooks_lock = ReentrantLock()  # held while the hooks run


def _run_shutdown_hooks() -> None:
    """Run each hook once, side by side on threads of their own, as a JVM does, and wait for them.

    Who exits while they run waits for them as well: the process must not end in the middle of a clean shutdown.
    """
    with _hooks_lock:
        threads = [threading.Thread(target=hook, name=name) for name, hook in _hooks]
        _hooks.clear()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _default_exit(status_code: int, message: str | None) -> None:
    _run_shutdown_hooks()
    if threading.current_thread() is threading.main_thread():
        sys.exit(status_code)
    # Raised on any other thread, SystemExit would end that thread alone.
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status_code)


def _default_halt(status_code: int, message: str | None) -> None:
    os._exit(status_code)


class Exit:
    """Ends the process through procedures that tests may replace.

    Mirrors: org.apache.kafka.common.utils.Exit
    Differs: keeps the shutdown hooks, which the JVM keeps for Java; `exit` runs them before the process ends.
    """

    _exit_procedure: ClassVar[Procedure] = staticmethod(_default_exit)
    _halt_procedure: ClassVar[Procedure] = staticmethod(_default_halt)

    @staticmethod
    def exit(status_code: int, message: str | None = None) -> None:
        """Run the shutdown hooks and end the process."""
        Exit._exit_procedure(status_code, message)

    @staticmethod
    def halt(status_code: int, message: str | None = None) -> None:
        """End the process at once, without hooks."""
        Exit._halt_procedure(status_code, message)

    @staticmethod
    def set_exit_procedure(procedure: Procedure) -> None:
        """Call this from now on instead of ending the process."""
        Exit._exit_procedure = staticmethod(procedure)

    @staticmethod
    def set_halt_procedure(procedure: Procedure) -> None:
        """Call this from now on instead of halting the process."""
        Exit._halt_procedure = staticmethod(procedure)

    @staticmethod
    def reset_exit_procedure() -> None:
        """End the process again."""
        Exit._exit_procedure = staticmethod(_default_exit)

    @staticmethod
    def reset_halt_procedure() -> None:
        """Halt the process again."""
        Exit._halt_procedure = staticmethod(_default_halt)

    @staticmethod
    def add_shutdown_hook(name: str, hook: Callable[[], None]) -> None:
        """Run the hook, on a thread of that name, when the process exits."""
        _hooks.append((name, hook))
