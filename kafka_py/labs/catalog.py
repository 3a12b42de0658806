"""All exercises by their numbers, and where their sheets are.

Ours, no original. An exercise's module is loaded when somebody asks for it.
"""

from __future__ import annotations

import importlib
import pathlib
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_py.labs.exercise import Exercise

_HINTS: Final = {"en": "\n## Hints\n", "zh": "\n## 提示\n"}
SHEETS: Final = pathlib.Path(__file__).resolve().parent / "sheets"


class Entry(NamedTuple):
    """Where an exercise is: ``kafka_py.labs.<module>``, and the name of its class there."""

    module: str
    name: str

    def load(self) -> Exercise:
        """The exercise."""
        made: Exercise = getattr(importlib.import_module(f"kafka_py.labs.{self.module}"), self.name)()
        return made


EXERCISES: Mapping[int, Entry] = {
    1: Entry("acceptor_and_processor", "AcceptorAndProcessor"),
    2: Entry("request_queue", "RequestQueue"),
    3: Entry("produce_path", "ProducePath"),
    4: Entry("purgatory", "Purgatory"),
    5: Entry("failover", "Failover"),
    6: Entry("spark_on_segments", "SparkOnSegments"),
    7: Entry("rebalance", "Rebalance"),
    8: Entry("divergence", "Divergence"),
}


class Sheet:
    """The text of an exercise in ``en`` or ``zh``: what to do, and, behind a heading of their own, hints."""

    def __init__(self, exercise: Exercise, language: str) -> None:
        """Raises OSError when there is none."""
        self.path = SHEETS / language / f"{exercise.about.number}-{exercise.about.slug}.md"
        text = self.path.read_text(encoding="utf-8")
        self.task, _, hints = text.partition(_HINTS[language])
        self.hints = [" ".join(one.split()) for one in re.split(r"^\d+\. ", hints, flags=re.M)[1:]]
