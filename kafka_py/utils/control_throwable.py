"""The exception that is control flow and no error.

Mirrors: scala.util.control.ControlThrowable of the Scala library
"""

from __future__ import annotations


class ControlThrowable(BaseException):
    """Passes every catch-all: the loops of the broker re-raise it.

    Mirrors: scala.util.control.ControlThrowable
    Differs: derives from BaseException, so `except Exception` never meets it.
    """
