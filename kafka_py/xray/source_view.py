"""The source of a class or method by the name the page shows, and its place in Kafka.

Ours, no original. Only what is in this package is found; nothing is imported for it but modules that are there already.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,3}")
_MIRRORS = re.compile(r"^\s*Mirrors: +(\S+\.(?:scala|java))(?: \(\w+\))? @ (\d+\.\d+\.\d+)", re.MULTILINE)
_URL = "https://github.com/apache/kafka/blob/{version}/{path}"
_PACKAGE = "kafka_py"


def source(name: str) -> dict[str, Any]:
    """``{name, file, line, text, scala: {path, version, url} | null}`` of a name; KeyError if there is none."""
    if not _NAME.fullmatch(name):
        raise KeyError("a name is Class or Class.member")
    head, *rest = name.split(".")
    for module_name, module in sorted(sys.modules.items()):
        found = vars(module).get(head) if module_name.split(".")[0] == _PACKAGE and module is not None else None
        if getattr(found, "__module__", None) == module_name:
            text = _text_of(found, rest)
            if text is not None:
                return {"name": name, **text, "scala": _scala(module.__doc__ or "")}
    raise KeyError("no source of that name")


def _text_of(found: Any, rest: list[str]) -> dict[str, Any] | None:
    """File, line and text of a member; None if it has no such member, or no text (compiled, or a field)."""
    for member in rest:
        found = inspect.getattr_static(found, member, None)
        found = found.fget if isinstance(found, property) else found
        found = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    try:
        lines, line = inspect.getsourcelines(inspect.unwrap(found))
        file = inspect.getsourcefile(inspect.unwrap(found)) or ""
    except (TypeError, OSError):
        return None
    parts = file.replace("\\", "/").rpartition(f"/{_PACKAGE}/")
    return {"file": f"{_PACKAGE}/{parts[2]}", "line": line, "text": "".join(lines)}


def _scala(docstring: str) -> dict[str, str] | None:
    match = _MIRRORS.search(docstring)
    if match is None:
        return None
    path, version = match[1], match[2]
    return {"path": path, "version": version, "url": _URL.format(path=path, version=version)}
