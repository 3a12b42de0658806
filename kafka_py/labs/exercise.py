"""What an exercise is: a cluster that is prepared, questions and tasks, and a check of what was done.

Ours, no original.

Read next: catalog.py, all of them; session.py, which keeps one running
"""

from __future__ import annotations

import pathlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

from kafka_py.labs.answers import Answers
from kafka_py.labs.finding import Finding
from kafka_py.labs.xray_client import XrayClient
from kafka_py.testing.cluster import Cluster

KINDS: Final = ("observe", "tune", "break", "schedule", "implement")


class Question(NamedTuple):
    """Something to be found out and written into the file of answers.

    ``name`` is the word before the colon there; ``text`` may name notes in braces; ``truth`` gives what is true of this
    very cluster, as text: the only right answer, or several.
    """

    name: str
    text: str
    truth: Callable[[Bench], str | Sequence[str]]


class Bench:
    """What an exercise works on: its cluster, the folder of whoever does it, and what it noted at the beginning.

    Thread: the lab's only one
    """

    def __init__(self, cluster: Cluster, folder: pathlib.Path, token: str) -> None:
        """``token`` opens the X-rays of all brokers; ``folder`` has the files of answers."""
        self.cluster = cluster
        self.folder = folder
        self.token = token
        # Whatever the exercise wants to know again when it checks.
        self.notes: dict[str, Any] = {}  # thread: lab

    def xray(self, broker: int = 0) -> XrayClient:
        """The X-ray of a broker."""
        return XrayClient(self.cluster.broker(broker).metrics_port, self.token)

    @property
    def servers(self) -> str:
        """For clients' bootstrap.servers."""
        return self.cluster.bootstrap_servers

    def file(self, name: str) -> pathlib.Path:
        """A file of whoever does the exercise."""
        return self.folder / name

    def write_new(self, name: str, text: str) -> None:
        """Make a file for whoever does the exercise; one that is there stays."""
        if not self.file(name).exists():
            self.file(name).write_text(text, encoding="utf-8")


class About(NamedTuple):
    """What is known of an exercise before it starts; its hints are at the end of its sheet.

    ``number`` and ``slug`` name it and its sheet; ``kinds`` are of KINDS, ``minutes`` is what a workshop gives it,
    ``pages`` are those of docs that it goes with. The cluster has ``brokers`` brokers with ``properties``.
    """

    number: int
    slug: str
    title: str
    title_zh: str
    kinds: tuple[str, ...]
    minutes: int
    pages: tuple[str, ...]
    questions: tuple[Question, ...] = ()
    brokers: int = 1
    log_dirs: int = 1
    properties: Mapping[str, str] = MappingProxyType({})


class Exercise(ABC):
    """One of the labs: what it is about, how it is prepared, and how its tasks are checked."""

    about: ClassVar[About]

    @property
    def answers_file(self) -> str:
        """The name of the file of answers."""
        return f"answers-{self.about.number}.txt"

    @abstractmethod
    def prepare(self, bench: Bench) -> None:
        """Make what the exercise needs: topics, records, files. Called once, when all brokers serve."""

    @abstractmethod
    def check_work(self, bench: Bench) -> list[Finding]:
        """Look whether the tasks are done; what the questions ask is looked at by ``check``."""

    def lacking(self) -> str:
        """What this machine lacks for it, and how to get it; "" for nothing, as most need nothing."""
        return ""

    def finish(self, bench: Bench) -> None:
        """End what ``prepare`` has left running, however far it came; most leave nothing."""
        bench.notes.clear()

    def begin(self, bench: Bench) -> None:
        """prepare, and the file of answers with a line for each question.

        The cluster is a new one, and so are most of the right answers: those of before become remarks.
        """
        self.prepare(bench)
        if self.about.questions:
            file = bench.file(self.answers_file)
            before = Answers.read(file)
            file.write_text(
                "\n".join(self._line(bench, question, before) for question in self.about.questions), "utf-8"
            )

    @staticmethod
    def _line(bench: Bench, question: Question, before: Answers) -> str:
        remark = f"# before: {before[question.name]}\n" if before[question.name] else ""
        return f"# {question.text.format_map(bench.notes)}\n{remark}{question.name}:\n"

    def check(self, bench: Bench) -> list[Finding]:
        """All findings, in the sheet's order: tasks first, then the questions."""
        found = [*self.check_work(bench), *self._check_answers(bench)]
        return [finding._replace(why="") if finding.good else finding for finding in found]

    def _check_answers(self, bench: Bench) -> list[Finding]:
        if not self.about.questions:
            return []
        answers = Answers.read(bench.file(self.answers_file))
        return [answers.compare(question.name, question.truth(bench)) for question in self.about.questions]
