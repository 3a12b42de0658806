"""Every case of the listed classes of Kafka's own tests is ported, or left out with a reason.

See tools/ported_cases.py.
"""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("ported_cases", ROOT / "tools/ported_cases.py")
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)

TABLE = tool.cases(tool.TABLE.read_text(encoding="utf-8"))
SMALL = tool.cases("heading\nATest\tone\t\nATest\ttwo\tScala only\nBTest\tone\t\n")


def test_every_listed_case_is_ported_or_left_out_with_a_reason() -> None:
    assert tool.problems(TABLE, tool.marks()) == []


def test_all_classes_are_listed() -> None:
    assert {case.cls for case in TABLE} == {tool.source_of(entry)[2] for entry in tool.SOURCES}


@pytest.mark.parametrize(
    ("marked", "problems"),
    [
        ({"ATest.one", "BTest.one"}, []),
        ({"BTest.one"}, ["ATest.one: neither a mark nor a reason"]),
        ({"ATest.one", "ATest.two", "BTest.one"}, ["ATest.two: marked in a test and yet left out"]),
        ({"ATest.one", "ATest.three", "BTest.one"}, ["ATest.three: no such case"]),
        ({"ATest.one", "BTest.one", "OtherTest.any"}, []),
    ],
)
def test_problems(marked: set[str], problems: list[str]) -> None:
    assert tool.problems(SMALL, marked) == problems


def test_report() -> None:
    heading, *lines = tool.report(SMALL, {"ATest.one": {}}).splitlines()
    assert heading.split() == ["class", "cases", "covered", "left", "out"]
    assert [line.split() for line in lines[:3]] == [
        ["ATest", "2", "1", "1"],
        ["BTest", "1", "0", "0"],
        ["all", "3", "1", "1"],
    ]
    assert lines[3:] == ["ATest.two: Scala only"]


def test_a_case_may_stand_in_the_table_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        tool.cases("heading\nATest\tone\t\nATest\tone\t\n")


def test_marks_are_read_without_importing() -> None:
    source = '@pytest.mark.ported("A.a", changes="why")\n@pytest.mark.ported(\n    "A.b"\n)\ndef test(): ...\n'
    assert tool.marks_in(source) == {"A.a", "A.b"}
    with pytest.raises(ValueError, match="line 1: a mark must be a string"):
        tool.marks_in("@pytest.mark.ported(NAME)\ndef test(): ...\n")


def test_names_of_a_scala_test() -> None:
    source = """
class SomeTest {
  @Before
  def setUp() { }

  @Test(expected = classOf[Exception])
  @Ignore
  // why
  def oneThing(): Unit = { }

  def testForgotten() { }

  def testHelper(x: Int) { }

  @Test
  def testAnother() = { }
}
"""
    assert tool.names_of(source) == ["oneThing", "testForgotten", "testAnother"]
