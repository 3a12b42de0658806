"""The labs on the page: a button does what the command does, on the lab's thread."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Iterator, Sequence

import pytest

from kafka_py.lab.control import ControlServer, Tell
from kafka_py.labs.board import LabBoard
from kafka_py.labs.catalog import EXERCISES
from kafka_py.labs.finding import Finding
from kafka_py.labs.results import Results


@pytest.fixture
def board(tmp_path: pathlib.Path) -> LabBoard:
    return LabBoard(EXERCISES[5].load(), tmp_path, tmp_path)


@pytest.fixture
def asked(tmp_path: pathlib.Path) -> Iterator[list[list[str]]]:
    """What the lab was asked; it answers two commands."""
    found: list[list[str]] = []

    def execute(words: Sequence[str], tell: Tell) -> int:
        found.append(list(words))
        tell('{"passed": false, "checks": []}' if words[0] == "check" else "look\nagain")
        return 1

    with ControlServer(tmp_path, execute) as control:

        def serve() -> None:
            for _ in range(2):
                control.serve(10_000)

        thread = threading.Thread(target=serve, name="lab")
        thread.start()
        yield found
        thread.join()


def test_all_labs_are_listed_with_the_sheet_of_the_one_that_runs(board: LabBoard, tmp_path: pathlib.Path) -> None:
    told = board.listing()
    assert [each["number"] for each in told["labs"]] == list(EXERCISES)
    assert (told["running"], told["last"]) == (5, None)
    assert all("5" in told["sheets"][language].splitlines()[0] for language in ("en", "zh"))
    assert "## Hints" not in told["sheets"]["en"]
    Results(tmp_path).keep(EXERCISES[5].load(), [Finding("done", True)], 1)
    told = board.listing()
    assert told["last"]["passed"]
    assert [each["number"] for each in told["labs"] if each["passed"]] == [5]


def test_buttons_are_commands(board: LabBoard, asked: list[list[str]]) -> None:
    assert board.do("check") == {"exit": 1, "result": {"passed": False, "checks": []}}
    assert board.do("hint") == {"exit": 1, "said": ["look", "again"]}
    assert asked == [["check", "--json"], ["hint"]]


def test_a_button_that_is_none_and_a_lab_that_is_gone(board: LabBoard) -> None:
    with pytest.raises(KeyError, match="button"):
        board.do("solve")
    with pytest.raises(FileNotFoundError):
        board.do("check")
