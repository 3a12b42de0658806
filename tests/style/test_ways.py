"""The rows of docs/ways.md are calls: each function exists, calls the next one, takes the lock, has its original."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import pathlib
import re

import pytest

from tests.style.test_mirror import INDEX

PAGE = (pathlib.Path(__file__).parents[2] / "docs/ways.md").read_text()
ROW = re.compile(r"^\| ([\w ]+) \| `([\w/]+)\.py` \| `([\w.]+)` \| (?:\*([\w.]+)\*)? ?\| (?:`(\w+)`)? ?\|$", re.M)
TABLES = [ROW.findall(part) for part in re.split(r"^\|---.*$", PAGE, flags=re.M)[1:]]
ROWS = [row for table in TABLES for row in table]
STEPS = [(a, b) for table in TABLES for a, b in itertools.pairwise(table) if a[0] == b[0]]
ROLES = re.findall(r"^\| ([\w ]+?) \| `", (pathlib.Path(__file__).parents[2] / "docs/threads.md").read_text(), re.M)


def source_of(path: str, name: str) -> str:
    module = importlib.import_module("kafka_py." + path.replace("/", "."))
    return inspect.getsource(functools.reduce(getattr, name.split("."), module))


def test_every_row_is_read() -> None:
    assert len(ROWS) == len(re.findall(r"^\| [\w ]+ \| `", PAGE, re.M))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2])
def test_the_function_takes_the_lock_on_a_thread_of_that_name(row: tuple[str, ...]) -> None:
    thread, path, name, _, lock = row
    source = source_of(path, name)
    assert thread in ROLES
    assert not lock or re.search(rf"with self\.{lock}\b", source)
    stated = re.search(r'@runs_on\("(\w+)"\)', source)
    assert stated is None or stated[1] == thread


@pytest.mark.parametrize(("caller", "called"), STEPS, ids=lambda row: row[2])
def test_each_calls_the_next(caller: tuple[str, ...], called: tuple[str, ...]) -> None:
    method = called[2].rpartition(".")[2]
    source = source_of(caller[1], caller[2])
    assert re.search(rf"[.\"]{method}\b|\b_handlers\[", source), f"{caller[2]} does not call {called[2]}"


@pytest.mark.parametrize("row", [row for row in ROWS if row[3]], ids=lambda row: row[3])
def test_the_original_has_such_a_member(row: tuple[str, ...]) -> None:
    owner, _, member = row[3].rpartition(".")
    found = [names for index in INDEX.values() for (_, known), names in index.items() if known == owner]
    assert any(member in names for names in found), f"no {member} in {owner}"
