"""A line that says how far a long run has come, for people who sit before a terminal; others see nothing."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

_WIDTH = 30


class Progress:
    """A bar that is drawn again and again in one line of stderr, as a context manager."""

    def __init__(self, what: str, total: int, out: TextIO | None = None) -> None:
        self._what = what
        self._total = max(total, 1)
        self._done = 0  # thread: of its owner
        self._out = sys.stderr if out is None else out
        self._is_shown = self._out.isatty()

    def advance(self, count: int) -> None:
        """So many more are done."""
        self._done += count
        if self._is_shown:
            filled = _WIDTH * self._done // self._total
            bar = "#" * filled + "." * (_WIDTH - filled)
            self._out.write(f"\r{self._what} [{bar}] {100 * self._done // self._total:3} %")
            self._out.flush()

    def __enter__(self) -> Progress:
        """Draw the empty bar."""
        self.advance(0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the line."""
        if self._is_shown:
            self._out.write("\n")
            self._out.flush()
