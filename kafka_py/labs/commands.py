"""What another terminal may ask of an exercise that runs: check, hint and reset, beside everything a lab can do.

Ours, no original.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaException as LibrdkafkaException

from kafka_py.common.errors import KafkaException
from kafka_py.common.utils.time import Time
from kafka_py.lab.control import Tell
from kafka_py.labs.exercise import Bench, Exercise
from kafka_py.labs.finding import Finding
from kafka_py.labs.results import Results

Execute = Callable[[Sequence[str], Tell], int]
JSON = "--json"
WORDS = ("check", "hint", "reset")


class ExerciseCommands:
    """Carries out the commands of another terminal while an exercise runs.

    Thread: the lab's only one
    """

    def __init__(
        self, exercise: Exercise, bench: Bench, hints: Sequence[str], others: Execute, time: Time = Time.SYSTEM
    ) -> None:
        """``others`` carries out what is not about the exercise."""
        self._exercise = exercise
        self._bench = bench
        self._others = others
        self._time = time
        self._hints = hints
        self._hints_told = 0  # thread: lab
        self.wants_reset = False  # thread: lab

    def execute(self, words: Sequence[str], tell: Tell) -> int:
        """Do it and tell what came of it; 0, or 1 when something is missing, was refused or failed."""
        if not words or words[0] not in WORDS:
            return self._others(words, tell)
        number = next((word for word in words[1:] if word != JSON), str(self._exercise.about.number))
        if number != str(self._exercise.about.number):
            tell(f"Lab {self._exercise.about.number} runs, not lab {number}")
            return 1
        match words[0]:
            case "check":
                return self._check(tell, as_json=JSON in words)
            case "hint":
                return self._hint(tell)
            case _:
                self.wants_reset = True
                tell(f"Lab {self._exercise.about.number} begins again")
                return 0

    def _check(self, tell: Tell, as_json: bool) -> int:
        findings = self._findings()
        entry = Results(self._bench.folder).keep(self._exercise, findings, self._time.milliseconds())
        if as_json:
            tell(json.dumps(entry, ensure_ascii=False))
        else:
            for finding in findings:
                tell(finding.line)
            good = sum(finding.good for finding in findings)
            tell(f"{good} of {len(findings)}" + (": done" if entry["passed"] else ""))
        return 0 if entry["passed"] else 1

    def _findings(self) -> list[Finding]:
        """Those of the exercise; a cluster that is broken in a way it does not expect is one, too."""
        try:
            return self._exercise.check(self._bench)
        except (OSError, RuntimeError, ValueError, KafkaException, LibrdkafkaException) as e:
            return [Finding("the cluster can be looked at", False, f"{type(e).__name__}: {e}")]

    def _hint(self, tell: Tell) -> int:
        """The next hint; the last again and again."""
        at = min(self._hints_told, len(self._hints) - 1)
        self._hints_told += 1
        tell(f"({at + 1} of {len(self._hints)}) {self._hints[at]}")
        return 0
