"""Nobody keeps a function that nobody calls: each is named by the package, bin/ or docs/, or mirrors a member."""

from __future__ import annotations

import ast
import pathlib
import re

from tests.style.sources import nodes_of
from tests.style.test_mirror import INDEX, snake

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "kafka_py"
WORD = re.compile(r"[A-Za-z_]\w+")
# Called by the interpreter or a library by a name of theirs: HTTP servers, pytest, syntax trees, option parsers, Spark.
CALLED_BY_OTHERS = re.compile(r"__\w+__|pytest_\w+|do_[A-Z]+|log_message|visit_\w+|format_help|pushFilters")
# Classes that are what another library's are, or stand for one of them, have the members of those.
OTHERS = re.compile(r"^Mirrors: (java|joptsimple|com\.yammer|org\.apache\.(zookeeper|spark))", re.M)
BASES = ("DataSource", "Reader", "Writer", "KazooClient", "ConnectionHandler", "SequentialThreadingHandler")
# What only tests look at or do, so that they need not reach inside.
FOR_TESTS = {
    "await_held",
    "drop_connections",
    "expire_session",
    "held_bytes",
    "immediately_connected_keys",
    "record_conversion_stats",
}


def named() -> dict[str, int]:
    """How often a word stands in the package, bin/ and docs/, definitions of functions apart."""
    found: dict[str, int] = {}
    paths = [*PACKAGE.rglob("*.py"), *(ROOT / "bin").glob("*"), *(ROOT / "docs").glob("*.md"), ROOT / "setup.cfg"]
    for path in paths:
        if path.is_file():
            for word in WORD.findall(re.sub(r"(?m)^ *def \w+", "", path.read_text())):
                found[word] = found.get(word, 0) + 1
    return found


def mirrored_members() -> set[str]:
    return {snake(name).rstrip("_") for index in INDEX.values() for names in index.values() for name in names}


def members_of_others(path: pathlib.Path) -> set[ast.AST]:
    found: set[ast.AST] = set()
    for cls in (n for n in nodes_of(path) if isinstance(n, ast.ClassDef)):
        bases = [ast.unparse(base).partition("[")[0] for base in cls.bases]
        if OTHERS.search(ast.get_docstring(cls) or "") or any(base.endswith(BASES) for base in bases):
            found.update(cls.body)
    return found


def test_each_function_is_named_somewhere() -> None:
    words, mirrored = named(), mirrored_members()
    idle = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in nodes_of(path)
        if isinstance(node, ast.FunctionDef)
        and not words.get(node.name)
        and not CALLED_BY_OTHERS.fullmatch(node.name)
        and node.name.strip("_") not in mirrored
        and node.name not in FOR_TESTS
        and node not in members_of_others(path)
    ]
    assert idle == []
