"""The page's files without a browser: both languages say the same things, names exist, nothing becomes HTML."""

from __future__ import annotations

import ast
import functools
import json
import pathlib
import re

import pytest

import kafka_py
from tests.xray.fake_xray import STATIC

SCRIPTS = sorted(STATIC.rglob("*.js"))
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser")


def messages(language: str) -> dict[str, str]:
    told: dict[str, str] = json.loads((STATIC / f"messages.{language}.json").read_text())
    return told


@functools.cache
def members() -> frozenset[str]:
    """Every class, and every Class.member, of the broker's sources."""
    found = set()
    for path in pathlib.Path(kafka_py.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                defined = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
                found |= {node.name, *(f"{node.name}.{name}" for name in defined)}
    return frozenset(found)


def test_both_languages_have_the_same_sentences_with_the_same_gaps() -> None:
    english, chinese = messages("en"), messages("zh")
    assert list(english) == list(chinese)
    for key, sentence in english.items():
        assert sentence, key
        assert sorted(re.findall(r"\{\w+\}", sentence)) == sorted(re.findall(r"\{\w+\}", chinese[key])), key


def test_every_sentence_asked_for_is_there_and_none_is_idle() -> None:
    text = "".join(path.read_text() for path in [*SCRIPTS, STATIC / "index.html"])
    known = messages("en")
    asked = set(re.findall(r'\bt\("([^"]+)"', text)) | set(re.findall(r'data-text="([^"]+)"', text))
    families = set(re.findall(r"\bt\(`(\w+)\.\$", text))
    assert asked - set(known) == set()
    assert {key for key in known if key not in asked and key.partition(".")[0] not in families} == set()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_data_never_becomes_html(path: pathlib.Path) -> None:
    text = path.read_text()
    assert [word for word in FORBIDDEN if word in text] == []
    assert re.findall(r"[^\w]style: ", text) == []  # what the content security policy would refuse


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_modules_that_are_imported_are_there(path: pathlib.Path) -> None:
    for wanted in re.findall(r'from "(\.[^"]+)"', path.read_text()):
        assert (path.parent / wanted).is_file(), wanted


def test_names_on_the_page_are_those_of_the_source() -> None:
    text = "".join(path.read_text() for path in SCRIPTS)
    named = set(re.findall(r'\bname\("([\w.]+)"', text)) | set(re.findall(r'\bof: "([\w.]+)"', text))
    named |= set(re.findall(r'title: "([A-Z]\w+)"', text))
    assert len(named) > 15
    assert named - members() == set()
