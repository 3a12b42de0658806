"""Runs a piece of blocking code bit by bit: whoever drives it says when it goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Abandoned(BaseException):
    """The code is not wanted any more: its broker has crashed."""


class Fiber:
    """A thread that runs only while its driver waits for it, so that the two never run at once."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._go, self._came_back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._came_back.acquire()
        self._thread: threading.Thread | None = None
        self._abandoned = False
        self.is_waiting = False
        self.failure: BaseException | None = None

    def resume(self) -> None:
        """Run until the code waits or has ended; what it raised is raised here."""
        self.is_waiting = False
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="Fiber")
            self._thread.start()
        else:
            self._go.release()
        self._came_back.acquire()
        if not self.is_waiting:
            self._thread.join()
            self._thread = None
            failure, self.failure = self.failure, None
            if failure is not None:
                raise failure

    def wait(self) -> None:
        """Called by the code: give the turn back until `resume`; raises Abandoned."""
        self.is_waiting = True
        self._came_back.release()
        self._go.acquire()
        if self._abandoned:
            raise Abandoned

    def abandon(self) -> None:
        """End the code where it waits."""
        if self.is_waiting:
            self._abandoned = True
            self.resume()

    def _run(self) -> None:
        try:
            self._work()
        except Abandoned:
            pass
        except BaseException as e:
            self.failure = e
        self._came_back.release()
