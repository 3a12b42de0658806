"""Collections as Scala prints them, for messages that Kafka makes by putting one into a text.

Ours, no original.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def as_scala(value: object, kind: str = "List") -> str:
    """``List(1, 2)``, ``Set(a-0)``, ``Map(a-0 -> List(1))``, ``(a-0,List(1))``; kind names the outermost sequence."""
    if isinstance(value, str) or hasattr(value, "_fields"):
        return str(value)  # a named tuple is a class of its own, not a tuple
    if isinstance(value, Mapping):
        return f"Map({', '.join(f'{as_scala(k)} -> {as_scala(v)}' for k, v in value.items())})"
    if isinstance(value, tuple):
        return f"({','.join(map(as_scala, value))})"
    if isinstance(value, set | frozenset):
        return f"Set({', '.join(map(as_scala, sorted(value)))})"
    if isinstance(value, Iterable):
        return f"{kind}({', '.join(map(as_scala, value))})"
    return str(value)
