"""The labs on the page of the X-ray: which there are, what the one that runs asks, and its buttons.

Ours, no original. A button does what the command does, by the way of the command: over the socket of the lab, on whose
only thread an exercise is checked.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any

from kafka_py.lab.control import ask
from kafka_py.labs.catalog import EXERCISES, Sheet
from kafka_py.labs.commands import JSON, WORDS
from kafka_py.labs.exercise import Exercise
from kafka_py.labs.results import Results

Json = dict[str, Any]
LANGUAGES = ("en", "zh")


class LabBoard:
    """What the page shows of an exercise that runs, and of all others.

    Thread: HTTP threads; the exercise itself is the lab's.
    """

    def __init__(self, exercise: Exercise, home: pathlib.Path, folder: pathlib.Path) -> None:
        """``home`` has the lab's socket; ``folder`` the answers and results of whoever does the labs."""
        self._exercise = exercise
        self._home = home
        self._results = Results(folder)

    def listing(self) -> Json:
        """All labs, the number of the one that runs, its sheet by language, and what its last check found."""
        number = self._exercise.about.number
        last = next((one for one in self._results.all() if one["lab"] == number), None)
        return {
            "labs": [self._line(entry.load()) for entry in EXERCISES.values()],
            "running": number,
            "sheets": {language: Sheet(self._exercise, language).task for language in LANGUAGES},
            "last": last,
        }

    def _line(self, exercise: Exercise) -> Json:
        about = exercise.about
        return {
            "number": about.number,
            "title": {"en": about.title, "zh": about.title_zh},
            "minutes": about.minutes,
            "kinds": list(about.kinds),
            "passed": self._results.passed(about.number),
        }

    def do(self, word: str) -> Json:
        """``check``, ``hint`` or ``reset``: ``{"exit": code, "said": lines}``, of a check ``{"exit", "result"}``.

        Raises KeyError for another word, OSError when the lab ends meanwhile.
        """
        if word not in WORDS:
            raise KeyError("no such button")
        said: list[str] = []
        words: Sequence[str] = (word, JSON) if word == "check" else (word,)
        code = ask(self._home, words, said.append)
        if word == "check":
            return {"exit": code, "result": json.loads("\n".join(said))}
        return {"exit": code, "said": said}
