"""The state machines are drawn in docs/ from the tables of the code: see tools/state_diagrams.py."""

from __future__ import annotations

import enum
import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("state_diagrams", ROOT / "tools/state_diagrams.py")
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)

PAGES = {page.name: page.read_text(encoding="utf-8") for page in tool.pages()}


class State(enum.Enum):
    OFF = 0
    ON = 1


class Event(enum.Enum):
    PRESSED = 0


@pytest.mark.parametrize("page", [name for name, text in PAGES.items() if tool.BLOCK.search(text)])
def test_a_diagram_is_what_its_table_says(page: str) -> None:
    _, stale = tool.refreshed(PAGES[page])
    assert stale == [], "stale: run tools/state_diagrams.py"


def test_every_table_is_drawn() -> None:
    drawn = {(module, name) for text in PAGES.values() for module, name, _ in tool.BLOCK.findall(text)}
    assert tool.tables() == drawn


def test_both_forms_of_a_table() -> None:
    by_previous = {State.ON: frozenset({State.ON, State.OFF}), State.OFF: frozenset({State.ON})}
    assert tool.diagram(by_previous).split("\n")[1:-1] == ["    ON --> ON", "    OFF --> ON", "    ON --> OFF"]
    by_event = {Event.PRESSED: {State.OFF: State.ON, State.ON: State.OFF}}
    assert tool.edges(by_event) == [("OFF", "ON", "PRESSED"), ("ON", "OFF", "PRESSED")]


def test_refresh_rewrites_a_stale_diagram() -> None:
    heading = "<!-- states kafka_py.controller.partition_state_machine:VALID_PREVIOUS_STATES -->"
    new, stale = tool.refreshed(f"before\n\n{heading}\n```mermaid\nold\n```\n\nafter\n")
    assert stale == ["kafka_py.controller.partition_state_machine:VALID_PREVIOUS_STATES"]
    assert "    NonExistentPartition --> NewPartition\n" in new
    assert tool.refreshed(new) == (new, [])
