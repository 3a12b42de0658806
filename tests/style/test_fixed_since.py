"""docs/fixed-since-1.1.1.md names a test for each defect that is mended here, and no defect of the code is missing."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.style.sources import nodes_of

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/fixed-since-1.1.1.md").read_text(encoding="utf-8")
# The code tells of these because 1.1.1's way of mending them is ours, too.
MENDED_IN_1_1_1 = {"KAFKA-4298": pathlib.Path("kafka_py/common/record/memory_records.py")}
ENTRIES = re.findall(r"^\*\*(.+?)\*\*(.*)\n((?:- .*\n)+)", PAGE, re.M)


@pytest.mark.parametrize(("title", "lines"), [(title, lines) for title, _, lines in ENTRIES])
def test_three_lines_of_which_the_last_is_a_test_that_exists(title: str, lines: str) -> None:
    happens, mended, test = lines.splitlines()
    assert re.match(r"- \d\.\d\.\d: ", happens)
    assert re.match(r"- (Mended in|Open in) \d", mended)
    found = re.fullmatch(r"- `(tests/[\w/]+\.py)::(\w+)`", test)
    assert found, test
    path, name = found.groups()
    assert name in {getattr(node, "name", None) for node in nodes_of(ROOT / path)}


def test_every_defect_that_the_code_names_is_on_the_page() -> None:
    named = {
        number: path.relative_to(ROOT)
        for path in (ROOT / "kafka_py").rglob("*.py")
        for number in re.findall(r"KAFKA-\d+|CVE-\d+-\d+", path.read_text(encoding="utf-8"))
    }
    assert {number: path for number, path in named.items() if number not in PAGE} == MENDED_IN_1_1_1
