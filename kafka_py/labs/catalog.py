"""All exercises by their numbers, and where their sheets are.

Ours, no original. An exercise's module is loaded when somebody asks for it: one needs Spark.
"""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_py.labs.exercise import Exercise

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


def sheet_of(exercise: Exercise, language: str) -> pathlib.Path:
    """The text that tells what to do, in ``en`` or ``zh``."""
    return SHEETS / language / f"{exercise.number}-{exercise.slug}.md"
