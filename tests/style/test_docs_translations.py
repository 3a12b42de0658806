"""A translation has the code blocks of its page, and none of its page's sections has changed since."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("translations", ROOT / "tools/translations.py")
assert _spec is not None
assert _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)

PAGE = "# Title\nIntro.\n## 1. One\nProse.\n```\n# no heading\n```\n## 2. Two\nMore.\n"


def test_translations_are_as_new_as_their_pages() -> None:
    stale = [
        f"{page.name}: {heading}"
        for page, translation in tool.translations(ROOT / "docs")
        for heading in tool.stale_sections(page.read_text("utf-8"), translation.read_text("utf-8"))
    ]
    assert stale == [], "translate these again, then: tools/translations.py --accept"


def test_translations_have_the_code_blocks_of_their_pages() -> None:
    for page, translation in tool.translations(ROOT / "docs"):
        assert tool.fences(translation.read_text("utf-8")) == tool.fences(page.read_text("utf-8")), page.name


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("Prose.", "Prose.", []),
        ("Prose.", "Other prose.", ["1. One"]),
        ("# no heading", "# other code", []),
        ("## 2. Two", "## 2. Second", ["2. Second", "2. Two"]),
    ],
)
def test_the_sections_that_changed_are_named(old: str, new: str, stale: list[str]) -> None:
    chinese = tool.accepted(PAGE, "# 标题\n")
    assert tool.stale_sections(PAGE.replace(old, new), chinese) == stale


def test_a_translation_without_checksums_is_stale_as_a_whole() -> None:
    assert tool.stale_sections(PAGE, "# 标题\n") == ["Title", "1. One", "2. Two"]


def test_accept_renews_the_checksums_and_nothing_else(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "zh").mkdir()
    (tmp_path / "p.md").write_text(PAGE, encoding="utf-8")
    zh = tmp_path / "zh/p.md"
    zh.write_text("# 标题\n", encoding="utf-8")
    assert tool.main([], tmp_path) == 1
    assert capsys.readouterr().out.splitlines()[1] == "zh/p.md: stale: 1. One"
    assert tool.main(["--accept"], tmp_path) == 0
    assert tool.main([], tmp_path) == 0
    assert zh.read_text(encoding="utf-8").startswith("# 标题\n\n<!-- translated from:\n")
    once = zh.read_text(encoding="utf-8")
    tool.main(["--accept"], tmp_path)
    assert zh.read_text(encoding="utf-8") == once
