"""Every exercise has a sheet in both languages, which names its questions and shows the same commands."""

from __future__ import annotations

import re

import pytest

from kafka_py.labs.catalog import EXERCISES, Sheet
from kafka_py.labs.exercise import KINDS, Exercise

ALL = [entry.load() for entry in EXERCISES.values()]
NAMES = [f"{exercise.about.number}-{exercise.about.slug}" for exercise in ALL]
CODE = re.compile(r"`([^`]+)`")


@pytest.mark.parametrize("exercise", ALL, ids=NAMES)
def test_the_sheet_tells_what_is_asked(exercise: Exercise) -> None:
    english, chinese = (Sheet(exercise, language).task for language in ("en", "zh"))
    assert english.startswith(f"# Lab {exercise.about.number} · {exercise.about.title}\n")
    assert chinese.startswith(f"# 实验 {exercise.about.number} · {exercise.about.title_zh}\n")
    for sheet in (english, chinese):
        assert sheet.count("\n## ") == 3, "what to do, what to find out, the check"
        assert f"`kafka-lab check {exercise.about.number}`" in sheet
        for question in exercise.about.questions:
            assert f"- `{question.name}`" in sheet
        for page in exercise.about.pages:
            assert f"/{page}.md" in sheet
    assert f"{exercise.about.minutes} minutes · {', '.join(exercise.about.kinds)} · " in english
    assert f"{exercise.about.minutes} 分钟 · " in chinese


@pytest.mark.parametrize("exercise", ALL, ids=NAMES)
def test_both_sheets_show_the_same_commands_and_names(exercise: Exercise) -> None:
    english, chinese = (Sheet(exercise, language).task for language in ("en", "zh"))
    assert sorted(CODE.findall(english)) == sorted(CODE.findall(chinese))
    english_hints, chinese_hints = (Sheet(exercise, language).hints for language in ("en", "zh"))
    assert len(english_hints) == len(chinese_hints) >= 2
    for one, other in zip(english_hints, chinese_hints, strict=True):
        assert sorted(CODE.findall(one)) == sorted(CODE.findall(other))


def test_numbers_and_kinds() -> None:
    assert [exercise.about.number for exercise in ALL] == list(EXERCISES) == list(range(1, 9))
    assert {kind for exercise in ALL for kind in exercise.about.kinds} == set(KINDS)
    assert len({exercise.about.slug for exercise in ALL}) == len(ALL)
    assert sum(exercise.about.minutes for exercise in ALL[:6]) <= 240
