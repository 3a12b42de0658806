"""The output that the pages show is what their commands say: see tools/page_outputs.py."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("page_outputs", ROOT / "tools/page_outputs.py")
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
sys.modules["page_outputs"] = tool
_spec.loader.exec_module(tool)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("page", tool.PAGES)
def test_a_page_shows_what_its_commands_say(page: str, tmp_path: pathlib.Path) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    with tool.session_for(page) as session:
        assert tool.replay(page, session, text) == text, "stale: run tools/page_outputs.py"


@pytest.mark.parametrize(
    ("shown", "said", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", "..."], ["a"], True),
        (["a", "...", "d"], ["a", "b", "c", "d"], True),
        (["a"], ["a", "b"], False),
        (["[2026-01-01 00:00:00,123] INFO x in 4 ms"], ["[2027-02-02 11:11:11,456] INFO x in 17 ms"], True),
        (["answer of 94 bytes"], ["answer of 124 bytes"], False),
    ],
)
def test_lines_are_compared_but_for_what_changes(shown: list[str], said: list[str], same: bool) -> None:
    assert tool.is_as_shown(shown, said) is same


def test_commands_go_on_after_a_backslash_and_to_the_end_of_a_document() -> None:
    block = "$ ls \\\n  -l\nx\n$ cat <<'END'\n$ no\nEND\n$ pwd\n/\n"
    assert tool.steps_of(block) == [("ls \\\n  -l", ["x"]), ("cat <<'END'\n$ no\nEND", []), ("pwd", ["/"])]


def test_a_block_that_is_not_tested_says_why() -> None:
    page = "<!-- not tested: needs strace -->\n```\n$ strace ls\n```\n\n```\n$ ls\n```\n\n```\nplain\n```\n"
    assert [block.text for block in tool.blocks_of(page)] == ["$ ls\n"]
    assert re.findall("not tested: (.*) -->", page) == ["needs strace"]
