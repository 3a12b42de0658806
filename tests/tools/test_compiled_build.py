"""The copy that mypyc gets says what the source says, line by line."""

from __future__ import annotations

import ast
import pathlib
import sysconfig
import textwrap

import pytest

from kafka_py.tools import compiled_build
from kafka_py.tools.compiled_build import MODULES, build, main, remove
from kafka_py.tools.compiled_source import CompileError, Hierarchy, Preparation, prepare
from kafka_py.utils.compiled import compiled_dir

ROOT = pathlib.Path(__file__).parents[2]
HEAD = "from __future__ import annotations\n\n"


def prepared(text: str, open_classes: set[str] | None = None) -> str:
    source = HEAD + textwrap.dedent(text).lstrip("\n")
    result = Preparation("kafka_py.m", source, open_classes or set()).run()
    assert result.count("\n") == source.count("\n")
    ast.parse(result)
    return result


def test_a_constant_of_the_module_becomes_final() -> None:
    assert prepared("LIMIT = 5\nNAMES: list[str] = []\n") == (
        "from __future__ import annotations; from typing import Final as _Final\n\n"
        "LIMIT: _Final = 5\nNAMES: _Final[list[str]] = []\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "A = 1\nA = 2\n",
        "A = 1\ndef f() -> None:\n    global A\n    A = 2\n",
        "A = 1\nfor A in range(3): print(A)\n",
        "import typing\nT = typing.TypeVar('T')\n",
        "class C:\n    A = 1\n",
        "class C: ...\n_C = C\n",
        "Ids = dict[str, int]\n",
        "Number = int | float\n",
        "from typing import Final\nA: Final = 1\n",
    ],
)
def test_what_is_no_constant_stays(text: str) -> None:
    assert prepared(text) == HEAD + text


def test_the_check_of_threads_goes() -> None:
    text = "class C:\n    @property\n    @runs_on('network')\n    def f(self) -> int:\n        return 1\n"
    assert prepared(text) == HEAD + text.replace("    @runs_on('network')", "")


def test_bases_that_only_make_a_class_abstract_go() -> None:
    text = "import abc\nclass A(abc.ABC):\n    x: int\nclass B(A, abc.ABC):\n    y: int\n"
    assert prepared(text) == HEAD + text.replace("A(abc.ABC)", "A").replace("(A, abc.ABC)", "(A)")


def test_abc_before_another_base_is_refused() -> None:
    with pytest.raises(CompileError, match="ABC must be the last base"):
        prepared("class A(ABC, B):\n    x: int\n")


def test_an_alias_of_a_method_becomes_a_method() -> None:
    text = "class C:\n    def f(self, x: int, y: int = 2) -> str:\n        return ''\n\n    g = f\n"
    new = "def g(self, x: int, y: int=2) -> str: return C.f(self, x, y)"
    assert prepared(text) == HEAD + text.replace("g = f", new)


def test_an_alias_that_no_rule_covers_is_refused() -> None:
    with pytest.raises(CompileError, match=r"kafka_py\.m:5: no rule for an alias of f"):
        prepared("class C:\n    @staticmethod\n    def f() -> None: ...\n\n    g = f\n")


def test_a_nested_name_is_given_to_the_class() -> None:
    text = "class C:\n    Part: TypeAlias = _Part\n    Other: TypeAlias = _Other\n\nD = 1\n"
    assert 'setattr(C, "Part", _Part); setattr(C, "Other", _Other)\nD: _Final' in prepared(text)


def test_a_class_that_is_open_says_so() -> None:
    result = prepared("import x\n\n\nclass C:\n    y: int\n", {"kafka_py.m.C"})
    assert "import x\n\n@_mypyc_attr(allow_interpreted_subclasses=True)\nclass C:" in result
    assert "\nif TYPE_CHECKING: from mypy_extensions import mypyc_attr as _mypyc_attr\n" in result


def test_a_generator_that_is_returned_is_refused() -> None:
    with pytest.raises(CompileError, match=r"kafka_py\.m:4: let a function with `yield` make this iterator"):
        prepared("def f(a):\n    return (x for x in a)\n")


def test_slots_that_are_read_are_refused() -> None:
    with pytest.raises(CompileError, match=r"kafka_py\.m:7: there are no __slots__ to be read"):
        prepared("class C:\n    __slots__ = ('a',)\n\n    def f(self):\n        return self.__slots__\n")


def test_what_finds_no_blank_line_is_refused() -> None:
    with pytest.raises(CompileError, match=r"kafka_py\.m:3: a blank line is needed"):
        prepared("import x\nclass C:\n    y: int\n", {"kafka_py.m.C"})


@pytest.mark.parametrize("base", ["enum.Enum", "NamedTuple", "Protocol", "KafkaException", "ValueError"])
def test_classes_that_are_not_native_stay(base: str) -> None:
    text = f"class C({base}):\n    def f(self) -> None: ...\n\n    g = f\n"
    assert prepared(text, {"kafka_py.m.C"}) == HEAD + text


def hierarchy(**modules: str) -> Hierarchy:
    return Hierarchy({f"kafka_py.{name}": ast.parse(text) for name, text in modules.items()})


def test_classes_are_followed_through_imports_and_aliases() -> None:
    found = hierarchy(
        a="class Base: ...\nclass Inner: ...\n_Inner = Inner\nclass Outer:\n    Inner: TypeAlias = _Inner\n",
        b="from kafka_py.a import Outer\nfrom kafka_py.a import Base as B\nclass C(Outer.Inner): ...\nclass D(B): ...",
    )
    assert found.bases("kafka_py.b.C", "kafka_py.b") == ["kafka_py.a.Inner"]
    assert found.bases("kafka_py.b.D", "kafka_py.b") == ["kafka_py.a.Base"]


def test_only_what_is_subclassed_outside_allows_it() -> None:
    found = hierarchy(
        a="class Root: ...\nclass Base(Root): ...\nclass Alone(Root): ...\n",
        b="import threading\nfrom kafka_py.a import Base\nclass C(threading.Thread, Base): ...",
    )
    assert found.open_classes({"kafka_py.a"}) == {"kafka_py.a.Base", "kafka_py.a.Root"}


def test_a_class_whose_objects_are_made_without_init_is_open() -> None:
    found = hierarchy(
        a="class Base: ...\nclass C(Base): ...\nclass D(Base): ...\n_new = C.__new__\n_t = tuple.__new__\n"
    )
    assert found.open_classes({"kafka_py.a"}) == {"kafka_py.a.C", "kafka_py.a.Base"}


def test_two_compiled_bases_stand_with_the_further_one_first() -> None:
    modules = {"a": "class Root: ...\nclass More(Root): ...\n"}
    good = "from kafka_py.a import Root, More\nclass P(Root): ...\nclass C(More, P): ...\n"
    hierarchy(**modules, b=good).check_layouts({"kafka_py.a"})
    with pytest.raises(CompileError, match=r"kafka_py\.b\.C: .*kafka_py\.a\.More"):
        hierarchy(**modules, b=good.replace("C(More, P)", "C(P, More)")).check_layouts({"kafka_py.a"})


@pytest.mark.slow
def test_every_module_of_the_list_is_prepared_and_keeps_its_lines(tmp_path: pathlib.Path) -> None:
    for path in (ROOT / "kafka_py").rglob("*.py"):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    prepare(tmp_path, MODULES)
    for module in MODULES:
        path = pathlib.Path(module.replace(".", "/")).with_suffix(".py")
        assert places(tmp_path / path) >= places(ROOT / path)


def places(path: pathlib.Path) -> set[tuple[str, int]]:
    """Every function, every raise and every return of a file, with its line."""
    tree = ast.parse(path.read_text())
    return {
        (node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node), node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Raise | ast.Return)
    }


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -pthread")
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": "/no/such/folder"})
    assert main([]) == 1
    told = capsys.readouterr().err
    assert "no-such-compiler is not on the PATH" in told
    assert "/no/such/folder/Python.h" in told
    assert main(["--check"]) == 1
    assert "Missing: a C compiler (no-such-compiler" in capsys.readouterr().out


def test_what_was_compiled_can_be_removed(tmp_path: pathlib.Path) -> None:
    compiled_dir(tmp_path).mkdir(parents=True)
    assert remove(tmp_path)
    assert not remove(tmp_path)
    assert not compiled_dir(tmp_path).exists()


def test_nothing_is_compiled_for_a_free_threaded_build(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_build, "FREE_THREADED", True)
    with pytest.raises(CompileError, match="free-threaded"):
        build(tmp_path)
