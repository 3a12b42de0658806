"""What the last check of each exercise found, kept in a file for whoever does them, and for a board of the whole room.

Ours, no original.
"""

from __future__ import annotations

import getpass
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from kafka_py.labs.exercise import Exercise
from kafka_py.labs.finding import Finding

FILE = "labs.json"


class Results:
    """The file of results in a folder: one entry for each exercise that was checked.

    Thread: any; whoever writes last wins
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self._file = folder / FILE

    def all(self) -> list[dict[str, Any]]:
        """By number; none when nothing was checked here. Raises ValueError for a file that is none of ours."""
        if not self._file.exists():
            return []
        found: list[dict[str, Any]] = json.loads(self._file.read_text(encoding="utf-8"))
        return found

    def keep(self, exercise: Exercise, findings: Sequence[Finding], now_ms: int) -> dict[str, Any]:
        """Note what was found, in place of what was found before; gives the entry."""
        entry = {
            "lab": exercise.about.number,
            "title": exercise.about.title,
            "who": getpass.getuser(),
            "passed": all(finding.good for finding in findings),
            "checkedMs": now_ms,
            "checks": [finding._asdict() for finding in findings],
        }
        others = [one for one in self.all() if one["lab"] != exercise.about.number]
        kept = sorted([*others, entry], key=lambda one: int(one["lab"]))
        self._file.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        return entry

    def passed(self, number: int) -> bool:
        """Whether the last check of that exercise found nothing missing."""
        return any(one["lab"] == number and one["passed"] for one in self.all())
