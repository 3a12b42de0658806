"""How much a failure that others can cause again and again may write to the log.

Kafka writes the stack of every request that it refuses, twice for some: who sends nonsense fills the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time

_LONGEST = 400


class StackLimiter:
    """Gives out the stack of each kind of failure once a minute; a line that names the failure comes every time.

    A kind is the exception's class and the place in the code that raised it, so there are never many of them.

    Thread: any; two at the same moment may both get a stack.
    """

    INTERVAL_MS = 60_000

    def __init__(self, time: Time) -> None:
        """Count by that clock."""
        self._time = time
        self._shown_at_ms: dict[tuple[type, str, int], int] = {}  # atomic: get, put

    def stack_of(self, e: BaseException, always: bool = False) -> BaseException | None:
        """The exception when its stack is to be logged: `always` (at DEBUG, say), or for the first time in a minute."""
        if always:
            return e
        kind, now = self._kind_of(e), self._time.milliseconds()
        shown_at_ms = self._shown_at_ms.get(kind)
        if shown_at_ms is not None and now - shown_at_ms < self.INTERVAL_MS:
            return None
        self._shown_at_ms[kind] = now
        return e

    @staticmethod
    def _kind_of(e: BaseException) -> tuple[type, str, int]:
        trace = e.__traceback__
        if trace is None:
            return type(e), "", 0
        while trace.tb_next is not None:
            trace = trace.tb_next
        return type(e), trace.tb_frame.f_code.co_filename, trace.tb_lineno


def in_short(what: object) -> str:
    """Its text, or the beginning of a long one; an exception with the name of its class."""
    text = f"{type(what).__name__}: {what}" if isinstance(what, BaseException) else str(what)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
