"""The members of Kafka's classes: which there are, and in which lines of their Scala or Java file.

Ours, no original. No compiler, but a reader of braces: strings and comments are passed over, a class is what begins
with `class`, `object`, `trait`, `interface` or `enum`, and a member what begins like one at the depth of its class.
What is said before a member (comments, annotations) belongs to it.

Read next: ours.py, which finds the other side; site.py, which puts them side by side
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TYPE = re.compile(
    r"^\s*(?:(?:public|private(?:\[\w+\])?|protected(?:\[\w+\])?|static|final|abstract|sealed|case|implicit)\s+)*"
    r"(class|object|trait|interface|enum)\s+(\w+)"
)
_SCALA_MEMBER = re.compile(
    r"^\s*(?:(?:override|private(?:\[\w+\])?|protected(?:\[\w+\])?|final|implicit|lazy|abstract|@\w+(?:\([^)]*\))?)\s+)*"
    r"(def|val|var)\s+(`[^`]+`|[\w$]+|[^\s\w(]+)"
)
_JAVA_MEMBER = re.compile(
    r"^\s*(?:(?:public|private|protected|static|final|abstract|synchronized|default|native)\s+)*"
    r"(?:<[^>]+>\s+)?(?:[\w.$]+(?:<.*?>)?(?:\[\])*\s+)?(\w+)\s*\("
)
# a line that goes on with the head of a class or a method, or with an expression
_GOES_ON = re.compile(r"^\s*(extends\b|with\b|implements\b|throws\b|\{|=\s|\.\w)")
_NO_MEMBER = frozenset(
    ["if", "for", "while", "switch", "catch", "return", "new", "synchronized", "super", "this", "throw", "else"]
)
_TOKEN = re.compile(r'"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*|[{}()\n]')


class Member(NamedTuple):
    """A member of a class; lines are counted from 1, both ends are in it. kind: def, val, var or class."""

    cls: str
    name: str
    kind: str
    first: int
    last: int


class _Type(NamedTuple):
    name: str
    depth: int  # of what is in it
    body: int  # the first line of that, counted from 0


def depths(text: str) -> tuple[list[int], list[int], list[bool]]:
    """For each line: how deep in braces and in parentheses it begins, and whether within a comment or a string."""
    braces, parentheses, within = [0], [0], [False]
    brace = parenthesis = position = 0
    while (token := _TOKEN.search(text, position)) is not None:
        position = token.end()
        match token[0]:
            case "\n":
                braces.append(brace)
                parentheses.append(parenthesis)
                within.append(False)
            case "{":
                brace += 1
            case "}":
                brace -= 1
            case "(":
                parenthesis += 1
            case ")":
                parenthesis -= 1
            case "/*" | '"""':
                end = text.find("*/" if token[0] == "/*" else '"""', position)
                end = len(text) if end < 0 else end + len(token[0])
                lines = text.count("\n", position, end)
                braces += [brace] * lines
                parentheses += [parenthesis] * lines
                within += [True] * lines
                position = end
    return braces, parentheses, within


def members_of(text: str, is_java: bool) -> list[Member]:
    """The members of all classes of a file, in its order; nested classes are members of theirs, too."""
    lines = text.split("\n")
    return [_with_what_is_said_before(member, lines) for member in _begun(text, is_java)]


def _begun(text: str, is_java: bool) -> Iterator[Member]:
    braces, parentheses, within = depths(text)
    types: list[_Type] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        at = number - 1
        if within[at] or parentheses[at]:
            continue
        while types and at >= types[-1].body and braces[at] < types[-1].depth:
            types.pop()
        if types and at < types[-1].body:
            continue
        depth = types[-1].depth if types else 0
        if braces[at] != depth:
            continue
        opened = _TYPE.match(line)
        if opened is not None:
            owner = types[-1].name if types else ""
            last = _end(number, lines, braces, parentheses)
            if owner:
                yield Member(owner, opened[2], "class", number, last)
            body = next((i for i in range(number, last) if braces[i] > depth), None)
            if body is not None:
                types.append(_Type(opened[2], depth + 1, body))
            continue
        name, kind = _member_name(line, is_java, types)
        if name:
            yield Member(types[-1].name, name, kind, number, _end(number, lines, braces, parentheses))


def _member_name(line: str, is_java: bool, types: list[_Type]) -> tuple[str, str]:
    if not types:
        return "", ""
    if not is_java:
        found = _SCALA_MEMBER.match(line)
        return (found[2].strip("`"), found[1]) if found is not None else ("", "")
    found = _JAVA_MEMBER.match(line)
    if found is None or found[1] in _NO_MEMBER or line.rstrip().endswith(");"):
        return "", ""
    return found[1], "def"


def _end(first: int, lines: list[str], braces: list[int], parentheses: list[int]) -> int:
    """The last line of what begins in this one: it goes on while it is deeper, or the next line belongs to its head."""
    depth, last = braces[first - 1], first
    while last < len(braces) and (
        braces[last] > depth or parentheses[last] > 0 or (braces[last] == depth and _GOES_ON.match(lines[last]))
    ):
        last += 1
    return last


def _with_what_is_said_before(member: Member, lines: list[str]) -> Member:
    first = member.first
    while first > 1 and re.match(r"\s*(@|//|/\*|\*)", lines[first - 2]):
        first -= 1
    return member._replace(first=first)


def own_name(name: str) -> str:
    """A name without underscores and case, by which both sides meet."""
    return name.replace("_", "").lower()
