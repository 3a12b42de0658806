"""A site of two small files: what meets what, what is said of the rest, and that no text becomes HTML."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess

import pytest

from kafka_py.sidebyside import side_by_side
from kafka_py.sidebyside.ours import Original, Ours, originals_of
from kafka_py.sidebyside.site import DIFFERS, LEFT_OUT, SAME, UNSAID, compare
from tests.sidebyside.made import JAVA, OURS, SCALA

KETTLE = Original("core/src/main/scala/kafka/made/Kettle.scala", "1.1.1")
CUP = Original("clients/src/main/java/org/made/Cup.java", "2.5.1")


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A clone of ours."""
    (tmp_path / "kafka_py/made").mkdir(parents=True)
    (tmp_path / "kafka_py/made/kettle.py").write_text(OURS, encoding="utf-8")
    (tmp_path / "docs").mkdir()
    table = "scala_class\tmember\treason\norg.made.Cup\tfill\tthere is no tea\n"
    (tmp_path / "docs/left-out.tsv").write_text(table, encoding="utf-8")
    return tmp_path


@pytest.fixture
def kafka(tmp_path: pathlib.Path) -> pathlib.Path:
    """A clone of theirs, with both releases."""
    clone = tmp_path / "kafka"
    for original, text in ((KETTLE, SCALA), (CUP, JAVA)):
        path = clone / original.path
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "made"], ["tag", "1.1.1"], ["tag", "2.5.1"]):
        subprocess.run([*git, *command], check=True)
    return clone


def test_what_a_module_mirrors() -> None:
    spoon = Original("clients/src/main/java/org/made/Spoon.java", "2.5.1")
    assert originals_of(OURS.split('"""')[1]) == [KETTLE, CUP, spoon]
    assert originals_of("Ours, no original.") == []


def test_each_member_meets_its_own_or_a_reason(root: pathlib.Path) -> None:
    ours = Ours(root)
    rows = {f"{r.member.cls}.{r.member.name}": r for r in compare(ours, KETTLE, SCALA).rows}
    assert {name: row.grade for name, row in rows.items()} == {
        "Kettle.Default": SAME,
        "Kettle.apply": LEFT_OUT,
        "Kettle.lock": UNSAID,
        "Kettle.boils": SAME,
        "Kettle.boil": DIFFERS,
        "Kettle.pour": SAME,
        "Kettle.whistle": LEFT_OUT,
        "Kettle.Lid": SAME,
        "Lid.lift": DIFFERS,
    }
    assert rows["Kettle.boil"].note == "boil does not wait;"
    assert rows["Kettle.whistle"].note == "nobody listens"
    assert rows["Lid.lift"].note == "slowly."
    pour = rows["Kettle.pour"].ours
    assert pour is not None
    assert (pour.module, pour.title) == ("kafka_py/made/kettle.py", "Kettle._pour")
    cup = {r.member.name: (r.grade, r.note) for r in compare(ours, CUP, JAVA).rows}
    assert cup["toString"] == (SAME, "")
    assert cup["fill"] == (LEFT_OUT, "there is no tea")


def test_a_site_is_written(
    root: pathlib.Path, kafka: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "ROOT", root)
    out = root / "out"
    assert side_by_side.main(["--kafka", str(kafka), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("2 files: ")  # there is no Spoon
    page = (out / "made.Kettle.html").read_text(encoding="utf-8")
    assert 'id="Kettle.pour"' in page
    assert "kafka_py/made/kettle.py:" in page
    assert "&lt;shining&gt;" in page
    assert "<shining>" not in page
    assert "<b>" not in (out / "made.Cup.html").read_text(encoding="utf-8")
    places = json.loads((out / "index.json").read_text(encoding="utf-8"))
    assert places["Kettle.pour"] == places["Kettle._pour"] == "made.Kettle.html#Kettle.pour"
    assert "made.Cup.html" in (out / "index.html").read_text(encoding="utf-8")
    assert {"side.css", "side.js", "code.css", "places.js"} <= {path.name for path in out.iterdir()}


def test_releases_that_the_clone_lacks_are_named(
    root: pathlib.Path, kafka: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "ROOT", root)
    subprocess.run(["git", "-C", str(kafka), "tag", "-d", "2.5.1"], check=True, capture_output=True)
    assert side_by_side.main(["--kafka", str(kafka), "--out", str(root / "out")]) == 1
    assert capsys.readouterr().err == f"{kafka} has no 2.5.1: git -C {kafka} fetch origin tag 2.5.1\n"
    assert not (root / "out").exists()


def test_without_pygments_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(side_by_side, "find_spec", lambda name: None)
    assert side_by_side.main(["--kafka", "nowhere"]) == 1
    assert capsys.readouterr().err == "kafka-sidebyside needs Pygments: pip install pygments\n"


def test_both_languages_have_the_same_words() -> None:
    script = (pathlib.Path(side_by_side.__file__).parent / "static/side.js").read_text(encoding="utf-8")
    bodies = re.findall(r"^  (?:en|zh): \{(.*?)\},$", script, re.M | re.S)
    english, chinese = (re.findall(r'"?([a-z-]+)"?: "', body) for body in bodies)
    assert english == chinese
    assert {SAME, DIFFERS, LEFT_OUT, UNSAID, "ours", "title"} <= set(english)
