"""Every exercise has a sheet in both languages, which names its questions and shows the same commands."""

from __future__ import annotations

import re

import pytest

from kafka_py.labs.catalog import EXERCISES, sheet_of
from kafka_py.labs.exercise import KINDS, Exercise

ALL = [entry.load() for entry in EXERCISES.values()]
NAMES = [f"{exercise.number}-{exercise.slug}" for exercise in ALL]
CODE = re.compile(r"`([^`]+)`")


@pytest.mark.parametrize("exercise", ALL, ids=NAMES)
def test_the_sheet_tells_what_is_asked(exercise: Exercise) -> None:
    english, chinese = (sheet_of(exercise, language).read_text(encoding="utf-8") for language in ("en", "zh"))
    assert english.startswith(f"# Lab {exercise.number} · {exercise.title}\n")
    assert chinese.startswith(f"# 实验 {exercise.number} · {exercise.title_zh}\n")
    for sheet in (english, chinese):
        assert sheet.count("\n## ") == 3, "what to do, what to find out, the check"
        assert f"`kafka-lab check {exercise.number}`" in sheet
        for question in exercise.questions:
            assert f"- `{question.name}`" in sheet
        for page in exercise.pages:
            assert f"/{page}.md" in sheet
    assert f"{exercise.minutes} minutes · {', '.join(exercise.kinds)} · " in english
    assert f"{exercise.minutes} 分钟 · " in chinese


@pytest.mark.parametrize("exercise", ALL, ids=NAMES)
def test_both_sheets_show_the_same_commands_and_names(exercise: Exercise) -> None:
    english, chinese = (sheet_of(exercise, language).read_text(encoding="utf-8") for language in ("en", "zh"))
    assert sorted(CODE.findall(english)) == sorted(CODE.findall(chinese))


def test_numbers_and_kinds() -> None:
    assert [exercise.number for exercise in ALL] == list(EXERCISES) == list(range(1, 9))
    assert {kind for exercise in ALL for kind in exercise.kinds} == set(KINDS)
    assert len({exercise.slug for exercise in ALL}) == len(ALL)
    assert all(exercise.hints for exercise in ALL)
    assert sum(exercise.minutes for exercise in ALL[:6]) <= 240
