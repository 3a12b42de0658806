"""The file of answers: lines of ``name: answer``; what stands behind # is a remark.

Ours, no original.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping, Sequence

from kafka_py.labs.finding import Finding


class Answers:
    """What somebody has written into the file."""

    def __init__(self, given: Mapping[str, str], file: str) -> None:
        self._given = given
        self._file = file

    @classmethod
    def read(cls, file: pathlib.Path) -> Answers:
        """The file's answers; none where there is no file."""
        given = {}
        if file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                name, colon, answer = line.partition("#")[0].replace("：", ":").partition(":")  # noqa: RUF001
                if colon and answer.strip():
                    given[name.strip()] = answer.strip()
        return cls(given, file.name)

    def __getitem__(self, name: str) -> str:
        """What was answered; "" when nothing was."""
        return self._given.get(name, "")

    def compare(self, name: str, truth: str | Sequence[str]) -> Finding:
        """Whether it is right. The truth itself is not told."""
        right = [truth] if isinstance(truth, str) else list(truth)
        if name not in self._given:
            return Finding(name, False, f"{self._file} does not answer it yet")
        good = _plain(self[name]) in [_plain(one) for one in right]
        return Finding(name, good, "" if good else f"{self[name]} is not what this cluster shows")


def _plain(text: str) -> str:
    """Without what makes no difference: case, blanks, and the commas between items."""
    return " ".join(re.split(r"[\s,;，、]+", text.strip().strip("[](){}.").lower()))  # noqa: RUF001
