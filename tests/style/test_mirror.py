"""A class that says it mirrors one of Kafka's is whole: each member is here, or listed as left out."""

from __future__ import annotations

import ast
import collections
import functools
import importlib
import inspect
import pathlib
import pkgutil
import re
import sys

import pytest

import kafka_py
from tests.style.sources import nodes_of, tree_of

ROOT = pathlib.Path(__file__).parents[2]
VERSIONS = ("1.1.1", "2.5.1", "3.7.1")
NEEDS_EXTRA = {"kafka_py.spark"}  # imported only where pyspark and pyarrow are installed
DECLARED = "kafka_py.common.requests."  # messages: what 1.1.1 has getters for are fields
Index = dict[tuple[str, str], set[str]]


def snake(name: str) -> str:
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def index_of(version: str) -> Index:
    """(package, owner) -> names of its methods, from the tables of the originals' names."""
    index: Index = collections.defaultdict(set)
    for table in (ROOT / "docs").glob(f"*-{version}.tsv"):
        language = table.name.partition("-")[0]
        for row in table.read_text().splitlines():
            path, kind, owner, name, _ = row.split("\t")
            package = path.split(f"/{language}/")[1].rsplit("/", 1)[0].replace("/", ".")
            if kind == "def":
                index[package, owner].add(name)
            else:
                index[package, f"{owner}.{name}".lstrip(".")]
    return index


INDEX = {version: index_of(version) for version in VERSIONS}


def left_out_rows() -> dict[str, set[str]]:
    """Scala class -> members that docs/left-out.tsv lists for it; every row gives a reason."""
    rows: dict[str, set[str]] = collections.defaultdict(set)
    for line in (ROOT / "docs/left-out.tsv").read_text().splitlines()[1:]:
        scala, members, reason = line.split("\t")
        assert reason.strip(), f"no reason given: {line}"
        rows[scala] |= set(re.findall(r"\w+", members))
    return rows


LEFT_OUT = left_out_rows()


def python_classes() -> list[type]:
    found = []
    for info in pkgutil.walk_packages(kafka_py.__path__, "kafka_py."):
        if any(info.name.startswith(name) for name in NEEDS_EXTRA) or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == info.name:
                found.append(cls)
                found += nested(cls)
    return found


def nested(cls: type) -> list[type]:
    inner = [c for c in vars(cls).values() if inspect.isclass(c) and c.__qualname__.startswith(cls.__qualname__ + ".")]
    return inner + [deeper for c in inner for deeper in nested(c)]


CLASSES = python_classes()
KAFKAS = [
    c
    for c in CLASSES
    if re.search(r"^Mirrors: (org\.apache\.)?kafka\.", inspect.cleandoc(vars(c).get("__doc__") or ""), re.M)
]
MIRRORS = [c for c in KAFKAS if not c.__module__.startswith(DECLARED)]
MESSAGES = [c for c in KAFKAS if c.__module__.startswith(DECLARED)]


def field(doc: str, name: str) -> str:
    found = re.search(rf"^{name}:(.*(?:\n +.*)*)", doc, re.M)
    return found[1] if found else ""


def key_of(scala: str, index: Index) -> tuple[str, str] | None:
    """Split kafka.pkg.Outer.Inner where the package ends; None when there is no such class."""
    parts = scala.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        key = (".".join(parts[:cut]), ".".join(parts[cut:]))
        if key in index:
            return key
    return None


def mirrored(cls: type) -> tuple[str, Index]:
    found = re.match(
        r"((?:org\.apache\.)?kafka[\w.]+)(?:.*@ *(\d\.\d\.\d))?",
        field(inspect.cleandoc(cls.__doc__ or ""), "Mirrors").strip(),
    )
    assert found, f"{cls}: Mirrors: names no class"
    return found[1], INDEX[found[2] or "1.1.1"]


@pytest.mark.parametrize("cls", MIRRORS, ids=lambda c: f"{c.__module__}.{c.__qualname__}")
def test_mirrored_class_is_whole(cls: type) -> None:
    doc = inspect.cleandoc(cls.__doc__ or "")
    scala, index = mirrored(cls)
    key = key_of(scala, index)
    assert key is not None, f"{scala} is not a class of that version of Kafka"
    left_out = set(re.findall(r"\w+", re.split(r" -- | — ", field(doc, "Left out"))[0])) | LEFT_OUT[scala]
    here = set().union(*(vars(base) for base in cls.__mro__ if base is not object)) | init_attributes(cls)
    missing = {m for m in index[key] if not python_names(m) & here} - {"this", "apply"}
    assert missing - left_out == set(), "in Kafka, not in Python, not listed as left out"


@pytest.mark.parametrize("cls", MESSAGES, ids=lambda c: f"{c.__module__}.{c.__qualname__}")
def test_a_message_mirrors_a_class(cls: type) -> None:
    original, index = mirrored(cls)
    assert key_of(original, index) is not None, f"{original} is not a class of that version of Kafka"


PYTHON_FORMS = {
    "toString": {"__str__", "__repr__"},
    "equals": {"__eq__"},
    "hashCode": {"__hash__"},
    "iterator": {"__iter__"},
}


def python_names(scala_member: str) -> set[str]:
    """What a member may be called here: snake_case, private or not, a getter as its property, Object's as dunders."""
    name = snake(scala_member).rstrip("_").replace("z_node", "znode")
    return {name, f"_{name}", f"{name}_", name.removeprefix("get_")} | PYTHON_FORMS.get(scala_member, set())


def init_attributes(cls: type) -> set[str]:
    return set().union(*(own_attributes(base) for base in cls.__mro__ if base.__module__.startswith("kafka_py")))


def own_attributes(cls: type) -> set[str]:
    module = sys.modules[cls.__module__]
    return attributes_in(pathlib.Path(module.__file__ or "")).get(cls.__qualname__, set())


@functools.cache
def attributes_in(path: pathlib.Path) -> dict[str, set[str]]:
    """Qualified name of each class of the file -> what is read or set of its self."""
    lines = path.read_text().splitlines()
    found: dict[str, set[str]] = {}

    def look(body: list[ast.stmt], within: str) -> None:
        for cls in [n for n in body if isinstance(n, ast.ClassDef)]:
            text = "\n".join(lines[cls.lineno : cls.end_lineno])
            found[within + cls.name] = set(re.findall(r"self\.(\w+)", text))
            look(cls.body, f"{within}{cls.name}.")

    look(tree_of(path).body, "")
    return found


def test_left_out_rows_name_real_members_that_are_not_here() -> None:
    by_scala = {mirrored(c)[0]: c for c in MIRRORS}
    stale = []
    for scala, members in LEFT_OUT.items():
        cls = by_scala.get(scala)
        if cls is None:
            continue  # a whole class, a Java class or a document: nothing here to compare with
        stale += [f"{scala}.{m}" for m in members if python_names(m) & set(vars(cls))]
    assert stale == [], "listed in docs/left-out.tsv, but present"


DOC_REF = re.compile(r"`(?:(\w+\.scala)/)?([A-Z]\w*)\.(\w+)(?:\(\))?`")
REFS = [
    (p.name, *m)
    for p in sorted((ROOT / "docs").glob("*.md"))
    for m in DOC_REF.findall(re.sub(r"^```.*?^```", "", p.read_text(), flags=re.M | re.S))
]


@pytest.mark.parametrize("ref", REFS, ids=lambda r: f"{r[0]}:{r[1]}{r[2]}.{r[3]}")
def test_doc_reference_exists(ref: tuple[str, str, str, str]) -> None:
    _, scala_file, owner, member = ref
    if scala_file:
        assert any(k[1] == owner and member in v for index in INDEX.values() for k, v in index.items())
        return
    classes = [c for c in CLASSES if c.__name__ == owner]
    assert classes, f"no class named {owner}"
    assert any(hasattr(c, member) or member in init_attributes(c) for c in classes), f"{owner} has no {member}"


def test_no_method_of_ours_is_a_stub() -> None:
    """A body that is only a docstring, pass or NotImplementedError is allowed on abstract classes alone."""
    stubs = [
        f"{path.relative_to(ROOT)}:{method.lineno} {cls.name}.{method.name}"
        for path in sorted((ROOT / "kafka_py").rglob("*.py"))
        for cls in nodes_of(path)
        if isinstance(cls, ast.ClassDef) and not bases(cls) & {"ABC", "Protocol"}
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and not method.decorator_list and empty(method)
    ]
    assert stubs == []


def bases(cls: ast.ClassDef) -> set[str]:
    return {getattr(b, "id", getattr(b, "attr", "")) for b in cls.bases}


def empty(method: ast.FunctionDef) -> bool:
    body = [s for s in method.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, ast.Pass) or "NotImplementedError" in ast.unparse(s) for s in body)
