"""Our side: which of our functions and attributes stand for the members of a Scala or Java file.

Ours, no original. What mirrors what is told by the modules themselves: `Mirrors:` in a docstring names the file and its
version, `Differs:` and `Left out:` say how it differs. The text of ours is read, nothing of it is run.

Read next: original.py, the other side; site.py
"""

from __future__ import annotations

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_py.sidebyside.original import Member, own_name

_PATH = re.compile(r"\b((?:[\w-]+/)+src/main/(?:scala|java)/[\w/]+/)(\w+\.(?:scala|java))((?:, \w+\.(?:scala|java))*)")
_VERSION = re.compile(r"@ (\d+\.\d+\.\d+)")
_FIELD = re.compile(r"^ {0,4}(Differs|Left out):\s*(.*?)(?=^ {0,4}[A-Z][\w ]*:|\Z)", re.M | re.S)
# names that are written otherwise in Python
_IN_PYTHON = {"tostring": "str", "equals": "eq", "hashcode": "hash", "this": "init", "compareto": "lt"}


class Original(NamedTuple):
    """A file of Apache Kafka, in a version."""

    path: str
    version: str

    @property
    def is_java(self) -> bool:
        """Whether it is not Scala."""
        return self.path.endswith(".java")


class OurMember(NamedTuple):
    """A function, or the place where an attribute is made; lines are counted from 1, both ends are in it."""

    module: str  # the path from the root, kafka_py/network/processor.py
    cls: str
    name: str
    first: int
    last: int
    differs: str = ""

    @property
    def title(self) -> str:
        """Class.member."""
        return f"{self.cls}.{self.name}" if self.cls else self.name


# what holds for many members at once, and so stands nowhere one by one: file, member, reason
_IN_GENERAL = (
    (
        r"/common/requests/",
        r".*",
        "what a message's fields say, Message does for all (common/protocol/message.py)",
    ),
    (r"/KafkaConfig\.scala", r".*Doc$", "the text stands in the option's declaration (server/kafka_config_options.py)"),
    (r"", r".*(Doc|Opt)$", "the text stands where the option is declared"),
)


class Ours:
    """All of our modules, by what they mirror."""

    def __init__(self, root: Path) -> None:
        """``root`` is the folder that has kafka_py."""
        self._members: dict[str, list[OurMember]] = defaultdict(list)
        self._versions: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.notes: dict[tuple[str, str], str] = {}  # by path and class: what it says of its differences
        self._reasons: dict[tuple[str, str], str] = {}
        for path in sorted((root / "kafka_py").rglob("*.py")):
            self._read(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        table = root / "docs" / "left-out.tsv"
        if table.exists():  # it comes with a clone, not with an installed package
            self._read_reasons(table)

    def _read(self, module: str, text: str) -> None:
        tree = ast.parse(text)
        originals = originals_of(ast.get_docstring(tree) or "")
        if not originals:
            return
        members = list(_members(module, tree))
        for path, version in originals:
            self._members[path] += members
            # a module that has the file's own name knows best which version is read
            namesake = own_name(Path(path).stem) == own_name(Path(module).stem)
            self._versions[path][version] += len(members) + 10_000 * namesake
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._read_fields(originals, node)

    def _read_fields(self, originals: Iterable[Original], node: ast.ClassDef) -> None:
        for field, text in _FIELD.findall(ast.get_docstring(node) or ""):
            said = " ".join(text.split())
            if field == "Left out":
                names, _, why = said.partition(" -- ")
                for name in re.findall(r"\w+", names):
                    self._reasons[own_name(node.name), own_name(name)] = why or said
            else:
                for original in originals:
                    self.notes[original.path, node.name] = said

    def _read_reasons(self, table: Path) -> None:
        with table.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                cls = own_name(row["scala_class"].rpartition(".")[2])
                for name in row["member"].split(","):
                    self._reasons[cls, own_name(name.strip())] = row["reason"]

    def originals(self) -> list[Original]:
        """Every file that is mirrored, in the version that is read."""
        return [Original(path, max(versions, key=lambda v: versions[v])) for path, versions in self._versions.items()]

    def members_of(self, original: Original) -> list[OurMember]:
        """All that is ours in the modules that mirror the file."""
        return self._members[original.path]

    def reason(self, original: Original, member: Member) -> str:
        """Why it is not here, "" if nobody says."""
        cls = own_name(member.cls)
        said = self._reasons.get((cls, own_name(member.name))) or self._reasons.get((cls, ""))
        if said:
            return said
        for path, name, why in _IN_GENERAL:
            if re.search(path, original.path) and re.match(name, member.name):
                return why
        return ""

    def note(self, original: Original, member: Member, found: OurMember) -> str:
        """How ours differs: what its docstring says, or the sentences of its class's that name it."""
        said = self.notes.get((original.path, member.cls), "")
        names = {own_name(member.name), own_name(found.name)}
        sentences = re.split(r"(?<=[.;]) ", said)
        named = [each for each in sentences if names & {own_name(word) for word in re.findall(r"\w+", each)}]
        return " ".join([*([found.differs] if found.differs else []), *named])

    def find(self, original: Original, member: Member) -> OurMember | None:
        """What stands for it: a member of our class of that name, or else of any class of these modules."""
        name = own_name(member.name)
        names = {name, _IN_PYTHON.get(name, name), *(["init"] if name == own_name(member.cls) else [])}
        there = [ours for ours in self._members[original.path] if own_name(ours.name) in names]
        of_class = [ours for ours in there if own_name(ours.cls) == own_name(member.cls)]
        return next(iter(of_class or there), None)


def originals_of(docstring: str) -> list[Original]:
    """The files that a module's docstring says it mirrors."""
    at = docstring.find("Mirrors:")
    if at < 0:
        return []
    text = docstring[at:]
    found = []
    for match in _PATH.finditer(text):
        version = _VERSION.search(text, match.end())
        if version is not None:
            names = [match[2], *match[3].replace(",", " ").split()]
            found += [Original(match[1] + name, version[1]) for name in names]
    return list(dict.fromkeys(found))


def _members(module: str, tree: ast.AST, cls: str = "") -> Iterator[OurMember]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield OurMember(module, cls, node.name, _first(node), node.end_lineno or node.lineno)
            yield from _members(module, node, node.name)
        elif isinstance(node, ast.FunctionDef):
            said = ast.get_docstring(node) or ""
            yield OurMember(module, cls, node.name, _first(node), node.end_lineno or node.lineno, _differs(said))
            if node.name == "__init__":
                yield from _attributes(module, node, cls)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield OurMember(module, cls, target.id, node.lineno, node.end_lineno or node.lineno)


def _differs(docstring: str) -> str:
    return " ".join(text.strip() for field, text in _FIELD.findall(docstring) if field == "Differs")


def _attributes(module: str, init: ast.FunctionDef, cls: str) -> Iterator[OurMember]:
    for node in ast.walk(init):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    yield OurMember(module, cls, target.attr, node.lineno, node.end_lineno or node.lineno)


def _first(node: ast.ClassDef | ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
