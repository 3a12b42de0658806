"""What this package sets right in the processes in which PySpark runs it.

PySpark's daemon forks a process for each task at a time, and for each planning; all that it can be told is in the
environment. Three things are better done from inside, when this package is imported there:

- Spark closes the socket of a worker that it needs no longer: after a minute, after LIMIT, at the end. The worker then
  tries to say that it cannot read on. Over TCP nobody notices; over a Unix socket the write fails at once, and the
  daemon prints a trace (of BrokenPipeError) for what is the usual end.
- Behind each task the daemon has Python's garbage collector look at every object there is. Nearly all of them belong to
  modules and stay; that look was a third of what a worker did in a short task.
- Nobody has set up logging there, so warnings came without time and level.
"""

from __future__ import annotations

import gc
import logging
import sys
import traceback
from types import ModuleType
from typing import Any

LOG_FORMAT = "[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
_DAEMON = "pyspark.daemon"


class QuietTraceback:
    """Stands in for the module ``traceback`` in the daemon: of a socket that Spark has closed it says nothing.

    Thread: any; it has no state.
    """

    def print_exc(self) -> None:
        """Print the exception that is being handled, unless there is nobody any more whom the worker could answer."""
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            traceback.print_exc()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the module's."""
        return getattr(traceback, name)


class SparingCollector:
    """Stands in for the module ``gc`` in the daemon: what has outlived the first task is not looked at any more.

    Thread: a worker's only one
    """

    def __init__(self) -> None:
        self._spared = False  # thread: worker

    def collect(self) -> int:
        """Collect garbage, after the first time only among what is new since then; how many objects were found."""
        found = gc.collect()
        if not self._spared:
            self._spared = True
            gc.freeze()
        return found

    def __getattr__(self, name: str) -> Any:
        """Everything else is the module's."""
        return getattr(gc, name)


def is_worker(main: ModuleType | None) -> bool:
    """Whether this process was forked by PySpark's daemon."""
    spec = getattr(main, "__spec__", None)
    return spec is not None and spec.name == _DAEMON and getattr(main, "traceback", None) is traceback


def set_up(main: ModuleType | None) -> None:
    """In a worker: end without a trace, spare the collector, and log with time and level. Elsewhere nothing."""
    if main is not None and is_worker(main):
        main.traceback = QuietTraceback()  # type: ignore[attr-defined]
        main.gc = SparingCollector()  # type: ignore[attr-defined]
        logging.basicConfig(format=LOG_FORMAT)  # does nothing where somebody has set it up
