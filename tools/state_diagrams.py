"""Draw the state machines of the code in docs/*.md from the tables that the code itself goes by.

    python tools/state_diagrams.py            rewrite the diagrams
    python tools/state_diagrams.py --check    change nothing; name the stale diagrams, end with 1 if there are any

A diagram is a mermaid block below a line `<!-- states module:TABLE -->`. A table is a dictionary in one of two forms:
state -> the states it may be reached from, or event -> state before -> state after.
tests/style/test_state_diagrams.py fails when a diagram is not what its table says, or a table is drawn nowhere.
"""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
from collections.abc import Mapping
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^<!-- states (\S+):(\w+) -->\n```mermaid\n(.*?)^```$", re.M | re.S)
TABLE = re.compile(r"^(VALID_PREVIOUS_STATES|\w*TRANSITIONS)\b.* = \{", re.M)


def pages() -> list[pathlib.Path]:
    return sorted((ROOT / "docs").glob("*.md"))


def tables() -> set[tuple[str, str]]:
    """(module, name) of every table of transitions in the package."""
    found = set()
    for path in sorted((ROOT / "kafka_py").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found |= {(module, name) for name in TABLE.findall(path.read_text(encoding="utf-8"))}
    return found


def edges(table: Mapping[Any, Any]) -> list[tuple[str, str, str]]:
    """(before, after, event or nothing) for each step that the table allows, in its order."""
    found = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            found += [(before.name, after.name, key.name) for before, after in value.items()]
        else:
            found += [(before.name, key.name, "") for before in sorted(value, key=list(table).index)]
    return found


def diagram(table: Mapping[Any, Any]) -> str:
    """The body of the mermaid block."""
    lines = ["stateDiagram-v2"]
    for before, after, event in edges(table):
        lines.append(f"    {before} --> {after}" + (f": {event}" if event else ""))
    return "\n".join(lines) + "\n"


def refreshed(text: str) -> tuple[str, list[str]]:
    """(the page with its diagrams as the tables are now, the headings of stale ones); ImportError, AttributeError."""
    stale: list[str] = []

    def replace(block: re.Match[str]) -> str:
        module, name, body = block.groups()
        drawn = diagram(getattr(importlib.import_module(module), name))
        if drawn != body:
            stale.append(f"{module}:{name}")
        return f"<!-- states {module}:{name} -->\n```mermaid\n{drawn}```"

    return BLOCK.sub(replace, text), stale


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT))
    check = "--check" in arguments
    failed = False
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new, stale = refreshed(text)
        for heading in stale:
            print(f"{page.name}: {'stale' if check else 'refreshed'}: {heading}")
        failed = failed or (check and bool(stale))
        if new != text and not check:
            page.write_text(new, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
