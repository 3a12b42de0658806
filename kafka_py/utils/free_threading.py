"""Whether this Python was built to run its threads side by side; docs/memory-model.md says what follows from that.

Ours, without an original: a JVM always does.
"""

from __future__ import annotations

import sys
from typing import Final

# A property of the build, so it cannot change while code that has chosen by it runs. Such a build may still have the
# lock, because the user wants it (PYTHON_GIL=1) or an extension module needs it: what is right without is right with.
FREE_THREADED: Final = "t" in sys.abiflags


def gil_enabled() -> bool:
    """Whether one interpreter's lock keeps threads from running side by side right now."""
    return not FREE_THREADED or bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def describe() -> str:
    """What the interpreter is in this respect, for the log."""
    if not FREE_THREADED:
        return "with the GIL"
    return "free-threaded build, but with the GIL" if gil_enabled() else "free-threaded, without the GIL"
