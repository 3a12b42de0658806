"""A running exercise for a test: its cluster, and the check of another terminal."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator

import pytest

from kafka_py.labs.catalog import EXERCISES
from kafka_py.labs.exercise import Bench, Exercise
from kafka_py.labs.session import cluster_for


class Room:
    """One exercise that was started, and whoever does it."""

    def __init__(self, exercise: Exercise, bench: Bench) -> None:
        self.exercise = exercise
        self.bench = bench

    def answer(self, **answers: str) -> None:
        """Write these answers, and no others."""
        text = "".join(f"{name}: {answer}\n" for name, answer in answers.items())
        self.bench.file(self.exercise.answers_file).write_text(text)

    def missing(self) -> dict[str, str]:
        """What the check finds missing, and why; {} when all is done."""
        return {finding.text: finding.why for finding in self.exercise.check(self.bench) if not finding.good}


Start = Callable[[int], Room]


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts the exercise of a number."""
    with contextlib.ExitStack() as stack:

        def begin(number: int) -> Room:
            exercise = EXERCISES[number].load()
            folder = tmp_path / "folder"
            folder.mkdir()
            cluster = stack.enter_context(cluster_for(exercise, "token", home=tmp_path / "cluster"))
            bench = Bench(cluster, folder, "token")
            stack.callback(exercise.finish, bench)
            exercise.begin(bench)
            return Room(exercise, bench)

        yield begin
