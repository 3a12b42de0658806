"""How far the loading of a log directory is, told in the broker's log.

Ours, no original of its own: in 3.x a part of LogManager.loadLogs
Read next: log/log_manager.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.utils.concurrent import AtomicInteger, AtomicLong

if TYPE_CHECKING:
    import pathlib

    from kafka_py.common.utils.time import Time
    from kafka_py.utils.logging import Logging


class LoadProgress:
    """Says how far the loading of a directory is.

    A line comes whenever a log is finished a few seconds after the last line, and with the last log. After a crash
    thousands of logs take minutes, and nothing else tells how many are still to come.

    Thread: those of the directory's pool.
    """

    INTERVAL_MS = 5000

    def __init__(self, logging: Logging, dir: pathlib.Path, total: int, time: Time) -> None:
        self._logging = logging
        self._dir = dir
        self._total = total
        self._time = time
        self._start_ms = time.milliseconds()
        self._done = AtomicInteger()  # atomic
        self._said_at_ms = AtomicLong(self._start_ms)  # atomic

    def log_done(self) -> None:
        """Count a log that was loaded, or could not be."""
        done = self._done.increment_and_get()
        now, said_at_ms = self._time.milliseconds(), self._said_at_ms.get()
        if done < self._total and (
            now - said_at_ms < self.INTERVAL_MS or not self._said_at_ms.compare_and_set(said_at_ms, now)
        ):
            return
        ms = now - self._start_ms
        self._logging.info("Finished with %d of %d logs in %s after %d ms", done, self._total, self._dir, ms)
