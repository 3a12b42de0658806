"""Tell which sections of a page have changed since docs/zh/<the same name> was translated from it.

A translation ends with one comment, in which each heading of its English page stands behind the checksum of what is
under it; code blocks apart, since those must be the same in both.

    python tools/translations.py            name the stale sections; end with 1 if there are any
    python tools/translations.py --accept   the translations are right again: write today's checksums into them

tests/style/test_docs_translations.py fails when a section is stale.
"""

from __future__ import annotations

import hashlib
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
COMMENT = re.compile(r"\n?<!-- translated from:\n(.*?)-->\n", re.S)
LINE = re.compile(r"^(\w+)  (.+)$", re.M)


def fences(text: str) -> list[str]:
    """The code blocks of a page, in order: a translation has the same."""
    return FENCE.findall(text)


def checksums(text: str) -> dict[str, str]:
    """Of each section its heading and the checksum of its prose."""
    parts = re.split(r"^#+ (.+)$", FENCE.sub("```", text), flags=re.M)
    return {
        heading: hashlib.sha256(body.strip().encode()).hexdigest()[:12]
        for heading, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def stale_sections(english: str, translation: str) -> list[str]:
    """The headings that are new, changed or gone since the translation's checksums were written."""
    comment = COMMENT.search(translation)
    then = {heading: checksum for checksum, heading in LINE.findall(comment[1])} if comment else {}
    now = checksums(english)
    return [heading for heading in {**now, **then} if now.get(heading) != then.get(heading)]


def accepted(english: str, translation: str) -> str:
    """The translation with the checksums of the English page as it is now."""
    lines = "".join(f"{checksum}  {heading}\n" for heading, checksum in checksums(english).items())
    return f"{COMMENT.sub('', translation).rstrip()}\n\n<!-- translated from:\n{lines}-->\n"


def translations(docs: pathlib.Path) -> list[tuple[pathlib.Path, pathlib.Path]]:
    """(English page, translation) of each page that has both; docs/zh/index.md is a page of its own."""
    pages = sorted((docs / "zh").glob("*.md"))
    return [(docs / page.name, page) for page in pages if page.name != "index.md"]


def main(arguments: list[str], docs: pathlib.Path = DOCS) -> int:
    found = False
    for page, translation in translations(docs):
        english, chinese = page.read_text(encoding="utf-8"), translation.read_text(encoding="utf-8")
        for heading in stale_sections(english, chinese):
            found = True
            print(f"zh/{page.name}: {'accepted' if '--accept' in arguments else 'stale'}: {heading}")
        if "--accept" in arguments:
            translation.write_text(accepted(english, chinese), encoding="utf-8")
    return int(found and "--accept" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
