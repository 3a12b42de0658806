"""What all exercises have in common: answers, results, and the commands of another terminal."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaException as LibrdkafkaException

from kafka_py.lab import kafka_lab
from kafka_py.lab.broker_watch import environment, link_commands
from kafka_py.labs import cli, session
from kafka_py.labs.answers import Answers
from kafka_py.labs.catalog import Entry
from kafka_py.labs.commands import ExerciseCommands
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding
from kafka_py.labs.results import Results
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.installation import HERE
from tests.lab.fakes import cluster_of


class Counting(Exercise):
    """Done when somebody has counted to the number that it noted, and has written that number down."""

    about = About(
        number=9,
        slug="counting",
        title="Counting",
        title_zh="数数",
        kinds=("observe",),
        minutes=1,
        pages=(),
        questions=(Question("last", "Where does it end?", lambda bench: ("7", "seven")),),
    )
    broken: Exception | None = None

    def prepare(self, bench: Bench) -> None:
        bench.notes["counted"] = 0

    def check_work(self, bench: Bench) -> list[Finding]:
        if self.broken is not None:
            raise self.broken
        return [Finding("counted", bench.notes["counted"] == 7, f"only to {bench.notes['counted']}")]


class Terminal:
    """Another terminal, which hears what the lab says."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.exercise = Counting()
        self.bench = Bench(cluster_of(1, folder), folder, "token")
        self.exercise.begin(self.bench)
        self.others: list[list[str]] = []
        hints = ("look", "look again")
        self.commands = ExerciseCommands(self.exercise, self.bench, hints, self._others, MockTime())

    def _others(self, words: Sequence[str], tell: Any) -> int:
        self.others.append(list(words))
        return 5

    def does(self, line: str) -> tuple[int, str]:
        said: list[str] = []
        return self.commands.execute(line.split(), said.append), "\n".join(said)


@pytest.fixture
def terminal(tmp_path: pathlib.Path) -> Terminal:
    return Terminal(tmp_path)


def test_a_check_tells_what_is_missing_until_nothing_is(terminal: Terminal) -> None:
    file = terminal.bench.file("answers-9.txt")
    assert file.read_text() == "# Where does it end?\nlast:\n"
    told = "[--] counted: only to 0\n[--] last: answers-9.txt does not answer it yet\n0 of 2"
    assert terminal.does("check 9") == (1, told)
    assert not Results(terminal.bench.folder).passed(9)

    terminal.bench.notes["counted"] = 7
    file.write_text("last: 8  # I think")
    assert terminal.does("check") == (1, "[ok] counted\n[--] last: 8 is not what this cluster shows\n1 of 2")
    file.write_text("last： Seven\n")  # noqa: RUF001
    assert terminal.does("check") == (0, "[ok] counted\n[ok] last\n2 of 2: done")
    assert Results(terminal.bench.folder).passed(9)


def test_a_check_as_json_is_one_line_for_a_board(terminal: Terminal) -> None:
    code, said = terminal.does("check 9 --json")
    told = json.loads(said)
    assert (code, told["lab"], told["title"], told["passed"]) == (1, 9, "Counting", False)
    assert told["checks"][0] == {"text": "counted", "good": False, "why": "only to 0"}
    assert Results(terminal.bench.folder).all() == [told]


@pytest.mark.parametrize("broken", [OSError("nobody is there"), LibrdkafkaException("nobody is there")])
def test_a_cluster_that_does_not_answer_is_a_finding(terminal: Terminal, broken: Exception) -> None:
    terminal.exercise.broken = broken
    why = f"{type(broken).__name__}: nobody is there"
    assert terminal.does("check") == (1, f"[--] the cluster can be looked at: {why}\n0 of 1")


def test_hints_come_one_by_one(terminal: Terminal) -> None:
    assert [terminal.does("hint")[1] for _ in range(3)] == [
        "(1 of 2) look",
        "(2 of 2) look again",
        "(2 of 2) look again",
    ]


def test_what_is_not_about_the_exercise_is_for_the_lab(terminal: Terminal) -> None:
    assert terminal.does("kill 0") == (5, "")
    assert terminal.others == [["kill", "0"]]
    assert terminal.does("check 3") == (1, "Lab 9 runs, not lab 3")
    assert not terminal.commands.wants_reset
    assert terminal.does("reset") == (0, "Lab 9 begins again")
    assert terminal.commands.wants_reset


def test_answers_of_before_become_remarks(terminal: Terminal) -> None:
    file = terminal.bench.file("answers-9.txt")
    file.write_text("last: 7\n")
    terminal.exercise.begin(terminal.bench)
    assert file.read_text() == "# Where does it end?\n# before: 7\nlast:\n"
    terminal.bench.write_new("lab_9.py", "mine")
    terminal.bench.write_new("lab_9.py", "the template")
    assert terminal.bench.file("lab_9.py").read_text() == "mine"


def test_commands_have_their_bare_names_after_lab_env(tmp_path: pathlib.Path) -> None:
    cluster = cluster_of(1, tmp_path)
    assert "PATH=" not in environment(cluster)
    link_commands(cluster)
    assert f"export PATH={tmp_path}/commands:$PATH\n" in environment(cluster)
    for name in ("kafka-lab", "kafka-topics", "zookeeper-shell"):
        assert (tmp_path / "commands" / name).resolve() == HERE.root / "bin" / f"{name}.py"


@pytest.mark.parametrize(
    ("given", "good"), [("a: 1,2", True), ("a: [1, 2]", True), ("a: 2 1", False), ("a:", False), ("b: 1 2", False)]
)
def test_what_makes_no_difference_in_an_answer(tmp_path: pathlib.Path, given: str, good: bool) -> None:
    file = tmp_path / "answers.txt"
    file.write_text(given)
    assert Answers.read(file).compare("a", "1 2").good is good
    assert not Answers.read(tmp_path / "none.txt").compare("a", "").good


def test_results_are_kept_by_number_and_a_later_one_wins(tmp_path: pathlib.Path) -> None:
    results = Results(tmp_path)
    assert results.all() == []
    results.keep(Counting(), [Finding("a", False)], 1)
    results.keep(Counting(), [Finding("a", True)], 2)
    assert [(entry["lab"], entry["passed"], entry["checkedMs"]) for entry in results.all()] == [(9, True, 2)]


def test_the_list_marks_what_was_passed(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "EXERCISES", {9: Entry("counting", "Counting")})
    monkeypatch.setattr(Entry, "load", lambda entry: Counting())
    assert kafka_lab.main(["labs"]) == 0
    assert capsys.readouterr().out == "[ ] 9  Counting / 数数 (1 min; observe)\n"
    Results(tmp_path).keep(Counting(), [Finding("a", True)], 1)
    assert kafka_lab.main(["labs"]) == 0
    assert capsys.readouterr().out.startswith("[x] 9")
    assert kafka_lab.main(["labs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["passed"] is True


def test_who_reads_no_further_hears_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    """`kafka-lab labs | head`: what started the command ends it quietly."""

    def nobody_reads(folder: pathlib.Path) -> str:
        raise BrokenPipeError

    monkeypatch.setattr(session, "listing", nobody_reads)
    with pytest.raises(BrokenPipeError):
        kafka_lab.main(["labs"])


def test_without_a_lab_there_is_nothing_to_check(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("KAFKA_LAB", raising=False)
    assert cli.main(["check", "2"]) == 3
    assert "No lab of yours runs" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["check", "77"])
