"""The pages: Scala or Java on the left, Python on the right, a row for each member, and an index to search.

Ours, no original. Every text of either source is escaped; what a page does, it does without a server and without a net.

Read next: side_by_side.py, the command
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pygments.formatters import HtmlFormatter
from pygments.lexers import JavaLexer, PythonLexer, ScalaLexer
from pygments.token import STANDARD_TYPES

from kafka_py.sidebyside.original import Member, members_of
from kafka_py.sidebyside.ours import Original, OurMember, Ours

if TYPE_CHECKING:
    from pygments.lexer import Lexer

SAME, DIFFERS, LEFT_OUT, UNSAID = "same", "differs", "left-out", "unsaid"
_BLANKS = re.compile(r'^((?:<span class="w">)?)( *)')  # with or without a highlighter's opinion of them
GRADES = (SAME, DIFFERS, LEFT_OUT, UNSAID)
Read = Callable[[Original], str | None]


class Row(NamedTuple):
    """A member of theirs, and ours that stands for it, or why there is none."""

    member: Member
    ours: OurMember | None
    grade: str
    note: str


class Comparison(NamedTuple):
    """A file of theirs with all rows, and what is ours beyond it."""

    original: Original
    text: str
    rows: Sequence[Row]

    @property
    def title(self) -> str:
        """The file's name without its ending."""
        return Path(self.original.path).stem

    @property
    def page(self) -> str:
        """The page's file name: the last folder and the title."""
        path = Path(self.original.path)
        return f"{path.parent.name}.{path.stem}.html"

    def count(self, grade: str) -> int:
        """Rows of a grade."""
        return sum(row.grade == grade for row in self.rows)


def compare(ours: Ours, original: Original, text: str) -> Comparison:
    """Put the two sides of a file together. Members of one name (overloads) meet the same one of ours."""
    rows = []
    for member in members_of(text, original.is_java):
        found = ours.find(original, member)
        if found is not None:
            note = ours.note(original, member, found)
            rows.append(Row(member, found, DIFFERS if note else SAME, note))
        else:
            reason = ours.reason(original, member)
            rows.append(Row(member, None, LEFT_OUT if reason else UNSAID, reason))
    return Comparison(original, text, rows)


def highlighted(text: str, lexer: Lexer) -> list[str]:
    """The lines as HTML, each whole by itself."""
    lines = [""]
    for kind, value in lexer.get_tokens(text):
        while kind not in STANDARD_TYPES:
            kind = kind.parent
        css = STANDARD_TYPES[kind]
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append("")
            if part:
                lines[-1] += f'<span class="{css}">{html.escape(part)}</span>' if css else html.escape(part)
    return lines


class Site:
    """Writes the pages into a folder.

    Thread: the one that made it.
    """

    def __init__(self, ours: Ours, root: Path, out: Path) -> None:
        """``root`` is the folder that has kafka_py; ``out`` is made if need be."""
        self._ours = ours
        self._root = root
        self._out = out
        self._python: dict[str, list[str]] = {}
        self._places: dict[str, str] = {}  # Class.member -> page#anchor
        self._comparisons: list[Comparison] = []
        out.mkdir(parents=True, exist_ok=True)

    def add(self, comparison: Comparison) -> None:
        """Write the page of a file."""
        self._comparisons.append(comparison)
        lexer = JavaLexer() if comparison.original.is_java else ScalaLexer()
        left = highlighted(comparison.text, lexer)
        parts = []
        cls = None
        for row in comparison.rows:
            if row.member.cls != cls:
                cls = row.member.cls
                note = self._ours.notes.get((comparison.original.path, cls), "")
                parts.append(_class_heading(cls, note))
            parts.append(self._row(comparison, row, left))
        body = f'<main class="page">{_file_heading(comparison)}{"".join(parts)}{self._beyond(comparison)}</main>'
        self._write(comparison.page, comparison.title, body)

    def _row(self, comparison: Comparison, row: Row, left: Sequence[str]) -> str:
        member, ours = row.member, row.ours
        anchor = f"{member.cls}.{member.name}"
        self._places.setdefault(anchor, f"{comparison.page}#{anchor}")
        if ours is not None:
            self._places.setdefault(ours.title, f"{comparison.page}#{anchor}")
        their = _code(left, member.first, member.last)
        if ours is not None:
            place = f"{ours.module}:{ours.first}"
            right = f'<p class="place">{html.escape(place)}</p>{_code(self._lines(ours.module), ours.first, ours.last)}'
        else:
            right = f'<p class="none" data-t="{row.grade}"></p><p>{html.escape(row.note)}</p>'
        note = f'<p class="note">{html.escape(row.note)}</p>' if ours is not None and row.note else ""
        name = html.escape(anchor)
        return (
            f'<section class="row {row.grade}" id="{name}"><h3><a href="#{name}">{name}</a></h3>{note}'
            f'<div class="two"><div>{their}</div><div>{right}</div></div></section>'
        )

    def _beyond(self, comparison: Comparison) -> str:
        """What is ours in the classes that stand on the page, and of nobody there."""
        taken = {row.ours for row in comparison.rows}
        classes = {row.ours.cls for row in comparison.rows if row.ours is not None}
        more = [
            member
            for member in self._ours.members_of(comparison.original)
            if member.cls in classes and member.cls and member not in taken and member.last > member.first + 1
        ]
        if not more:
            return ""
        items = "".join(
            f"<details><summary>{html.escape(member.title)} <small>{html.escape(member.module)}:{member.first}</small>"
            f"</summary>{_code(self._lines(member.module), member.first, member.last)}</details>"
            for member in more
        )
        return f'<h2 data-t="ours"></h2>{items}'

    def _lines(self, module: str) -> list[str]:
        if module not in self._python:
            text = (self._root / module).read_text(encoding="utf-8")
            self._python[module] = highlighted(text, PythonLexer(stripnl=False))
        return self._python[module]

    def finish(self) -> None:
        """Write the index, the search's data and the style."""
        totals = {grade: sum(each.count(grade) for each in self._comparisons) for grade in GRADES}
        rows = "".join(_index_row(each) for each in sorted(self._comparisons, key=lambda each: each.original.path))
        heads = "".join(f'<th data-t="{grade}"></th>' for grade in GRADES)
        sums = "".join(f"<td>{totals[grade]:,}</td>" for grade in GRADES)
        table = (
            f'<table><thead><tr><th data-t="file"></th><th></th>{heads}</tr></thead><tbody>{rows}</tbody>'
            f'<tfoot><tr><td data-t="all"></td><td></td>{sums}</tr></tfoot></table>'
        )
        self._write("index.html", "kafka_py", f'<main><h1 data-t="title"></h1><p data-t="intro"></p>{table}</main>')
        (self._out / "index.json").write_text(json.dumps(self._places, indent=0), encoding="utf-8")
        data = json.dumps(self._places).replace("<", "\\u003c")
        (self._out / "places.js").write_text(f"const PLACES = {data};\n", encoding="utf-8")
        static = files("kafka_py.sidebyside") / "static"
        for name in ("side.css", "side.js"):
            (self._out / name).write_text((static / name).read_text(encoding="utf-8"), encoding="utf-8")
        (self._out / "code.css").write_text(_code_styles(), encoding="utf-8")

    @property
    def totals(self) -> Mapping[str, int]:
        """How many members there are of each grade."""
        return {grade: sum(each.count(grade) for each in self._comparisons) for grade in GRADES}

    def _write(self, name: str, title: str, body: str) -> None:
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(title)} · kafka_py</title>"
            '<link rel="stylesheet" href="side.css"><link rel="stylesheet" href="code.css">'
            '<header><a href="index.html">kafka_py</a><input id="search" type="search" autocomplete="off" '
            'aria-controls="found"><ul id="found" hidden></ul><button id="language"></button></header>'
            f'{body}<script src="places.js"></script><script src="side.js"></script></html>'
        )
        (self._out / name).write_text(page, encoding="utf-8")


def _code(lines: Sequence[str], first: int, last: int) -> str:
    """Some lines, without the blanks that all of them begin with."""
    some = lines[first - 1 : last]
    blanks = min((len(found[2]) for line in some if (found := _BLANKS.match(line)) and line.strip()), default=0)
    shown = "\n".join(_BLANKS.sub(lambda found: found[1] + found[2][blanks:], line, count=1) for line in some)
    return f'<pre class="code" tabindex="0" data-first="{first}">{shown}</pre>'


def _class_heading(cls: str, note: str) -> str:
    said = f'<p class="note">{html.escape(note)}</p>' if note else ""
    return f'<h2 id="{html.escape(cls)}">{html.escape(cls)}</h2>{said}'


def _file_heading(comparison: Comparison) -> str:
    path, version = comparison.original
    title = html.escape(comparison.title)
    return f'<h1>{title}</h1><p class="place">{html.escape(path)} @ {html.escape(version)}</p>'


def _index_row(comparison: Comparison) -> str:
    counts = "".join(f"<td>{comparison.count(grade) or ''}</td>" for grade in GRADES)
    whole = len(comparison.rows) or 1
    shares = "".join(
        f'<i class="{grade}" style="flex:{comparison.count(grade)}"></i>' for grade in GRADES if comparison.count(grade)
    )
    folder = html.escape(Path(comparison.original.path).parent.name)
    return (
        f'<tr><td><a href="{html.escape(comparison.page)}">{html.escape(comparison.title)}</a> '
        f"<small>{folder} @ {comparison.original.version}</small></td>"
        f'<td><div class="bar" title="{whole}">{shares}</div></td>{counts}</tr>'
    )


def _code_styles() -> str:
    light = HtmlFormatter(style="default").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
