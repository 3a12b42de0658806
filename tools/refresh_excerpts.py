"""Bring docs/*.md up to date with the code: rewrite the body of each block that names what it shows.

    ```python module:Class.method     the source of it
    ```mermaid module:TABLE           the state machine whose transitions the table lists, drawn
    <!-- table: requests -->          which requests have a handler, up to <!-- end -->

    python tools/refresh_excerpts.py            rewrite the pages
    python tools/refresh_excerpts.py --check    change nothing; name the stale excerpts, end with 1 if there are any

tests/style/test_docs_excerpts.py fails when an excerpt is not the source of what its heading names.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import pathlib
import re
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(python|mermaid) (\S+):(\S+)\n(.*?)^```$", re.M | re.S)


TABLE = re.compile(r"^<!-- table: (\w+) -->\n(.*?)^<!-- end -->$", re.M | re.S)
# What the requests of 1.1.1 without a handler wait for, by the ids of their keys.
WAIT_FOR = {
    "security": {17, 29, 30, 31, 36, 38, 39, 40, 41},
}


def pages() -> list[pathlib.Path]:
    """Those of docs and, behind them, their translations in docs/zh."""
    return [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/zh").glob("*.md"))]


def body_of(kind: str, module: str, name: str) -> str:
    """What belongs into a block; ImportError, AttributeError when there is no such thing."""
    return source_of(module, name) if kind == "python" else diagram_of(named(module, name))


def named(module: str, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), importlib.import_module(module))


def diagram_of(table: Mapping[Any, Any]) -> str:
    """A state machine as Mermaid draws it.

    The table has for each state those that may come before it, or for each event what it makes of which state.
    """
    steps = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            steps += [(text_of(before), text_of(after), f" : {text_of(key)}") for before, after in value.items()]
        else:
            steps += [(text_of(before), text_of(key), "") for before in value]
    order = [text_of(key) for key in table]
    steps.sort(key=lambda step: [order.index(state) if state in order else 0 for state in step[:2]])
    return "stateDiagram-v2\n" + "".join(f"    {before} --> {after}{event}\n" for before, after, event in steps)


def text_of(state: object) -> str:
    return state.name if isinstance(state, enum.Enum) else str(state)


def source_of(module: str, name: str) -> str:
    """The text of the class, function, method or property; ImportError, AttributeError when it is not there."""
    found: object = named(module, name)
    if isinstance(found, property):
        found = found.fget
    return textwrap.dedent(inspect.getsource(found)).strip() + "\n"  # type: ignore[arg-type]


def requests_table() -> str:
    """The keys of Kafka 1.1.1 with their handlers here, and the versions that are offered."""
    from kafka_py.common.protocol.api_keys import ApiKeys
    from kafka_py.server.kafka_apis import KafkaApis

    lines = ["| key | API | handler | versions |", "|---|---|---|---|"]
    for key in sorted(ApiKeys.values(), key=lambda key: key.id):
        handler = KafkaApis.HANDLERS.get(key)
        if handler is None:
            reason = next(what for what, ids in WAIT_FOR.items() if key.id in ids)
            lines.append(f"| {key.id} | {key.name} | not yet: {reason} | |")
        else:
            name = handler.of.__code__.co_names[-1]
            lines.append(f"| {key.id} | {key.name} | `{name}` | {handler.min_version} to {handler.max_version} |")
    return "\n".join(lines) + "\n"


TABLES = {"requests": requests_table}


def refreshed(text: str) -> tuple[str, list[str], list[str]]:
    """(the page with its excerpts as the code is now, headings of stale ones, headings that name nothing)."""
    stale: list[str] = []
    lost: list[str] = []

    def replace(block: re.Match[str]) -> str:
        kind, module, name, body = block.groups()
        try:
            source = body_of(kind, module, name)
        except (ImportError, AttributeError, TypeError, OSError) as e:
            lost.append(f"{module}:{name} ({e})")
            return block[0]
        if source != body:
            stale.append(f"{module}:{name}")
        return f"```{kind} {module}:{name}\n{source}```"

    def fill(block: re.Match[str]) -> str:
        name, body = block.groups()
        table = TABLES[name]()
        if table != body:
            stale.append(f"table: {name}")
        return f"<!-- table: {name} -->\n{table}<!-- end -->"

    return TABLE.sub(fill, BLOCK.sub(replace, text)), stale, lost


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT))
    check = "--check" in arguments
    failed = False
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new, stale, lost = refreshed(text)
        for heading in stale:
            print(f"{page.name}: {'stale' if check else 'refreshed'}: {heading}")
        for heading in lost:
            print(f"{page.name}: not found: {heading}")
        failed = failed or bool(lost) or (check and bool(stale))
        if new != text and not check:
            page.write_text(new, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
