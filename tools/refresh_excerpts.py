"""Bring the excerpts in docs/*.md up to date: rewrite the body of each block headed ```python module:Class.method.

    python tools/refresh_excerpts.py            rewrite the pages
    python tools/refresh_excerpts.py --check    change nothing; name the stale excerpts, end with 1 if there are any

tests/style/test_docs_excerpts.py fails when an excerpt is not the source of what its heading names.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python (\S+):(\S+)\n(.*?)^```$", re.M | re.S)


def pages() -> list[pathlib.Path]:
    return sorted((ROOT / "docs").glob("*.md"))


def source_of(module: str, name: str) -> str:
    """The text of the class, function, method or property; ImportError, AttributeError when it is not there."""
    found: object = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    if isinstance(found, property):
        found = found.fget
    return textwrap.dedent(inspect.getsource(found)).strip() + "\n"  # type: ignore[arg-type]


def refreshed(text: str) -> tuple[str, list[str], list[str]]:
    """(the page with its excerpts as the code is now, headings of stale ones, headings that name nothing)."""
    stale: list[str] = []
    lost: list[str] = []

    def replace(block: re.Match[str]) -> str:
        module, name, body = block.groups()
        try:
            source = source_of(module, name)
        except (ImportError, AttributeError, TypeError, OSError) as e:
            lost.append(f"{module}:{name} ({e})")
            return block[0]
        if source != body:
            stale.append(f"{module}:{name}")
        return f"```python {module}:{name}\n{source}```"

    return BLOCK.sub(replace, text), stale, lost


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
