"""What is compiled is used as long as it was made from the sources that are there."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import sys
from collections.abc import Iterator

import pytest

from kafka_py.utils.compiled import (
    Compiled,
    CompiledFinder,
    CompiledMissingError,
    Form,
    Manifest,
    compiled_dir,
    packaged_dir,
    sources_of,
)

NAME = "kafka_py.log.some_log"


@pytest.fixture
def clone(tmp_path: pathlib.Path) -> pathlib.Path:
    """A clone with two source files and a thing that is none."""
    (tmp_path / "kafka_py/log/__pycache__").mkdir(parents=True)
    (tmp_path / "kafka_py/__init__.py").write_text("")
    (tmp_path / "kafka_py/log/some_log.py").write_text("A = 1\n")
    (tmp_path / "kafka_py/log/__pycache__/some_log.cpython-311.py").write_text("")
    (tmp_path / "kafka_py/py.typed").write_text("")
    return tmp_path


@pytest.fixture
def built(clone: pathlib.Path) -> pathlib.Path:
    """The clone with a manifest of its present sources."""
    folder = compiled_dir(clone)
    folder.mkdir(parents=True)
    modules = {NAME: "kafka_py/log/some_log.so", "abc__mypyc": "abc__mypyc.so"}
    Manifest(sources_of(clone), modules).write(folder)
    return clone


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    before = list(sys.meta_path), Compiled.form, Compiled.module_count, Compiled.changed
    yield
    sys.meta_path[:], Compiled.form, Compiled.module_count, Compiled.changed = before


def finders() -> list[CompiledFinder]:
    return [finder for finder in sys.meta_path if isinstance(finder, CompiledFinder)]


def test_sources_are_the_python_files_with_their_digests(clone: pathlib.Path) -> None:
    found = sources_of(clone)
    assert sorted(found) == ["kafka_py/__init__.py", "kafka_py/log/some_log.py"]
    assert found["kafka_py/log/some_log.py"] == hashlib.sha256(b"A = 1\n").hexdigest()


def test_a_manifest_comes_back_as_it_was_written(built: pathlib.Path) -> None:
    manifest = Manifest.read(compiled_dir(built))
    assert manifest is not None
    assert manifest.sources == sources_of(built)
    assert manifest.modules[NAME] == "kafka_py/log/some_log.so"


def test_no_manifest_where_nothing_was_built(clone: pathlib.Path) -> None:
    assert Manifest.read(compiled_dir(clone)) is None


def test_what_is_current_is_used(built: pathlib.Path) -> None:
    assert Compiled.choose(built, None) is Form.COMPILED
    assert Compiled.describe() == "1 compiled modules"
    spec = importlib.util.find_spec(NAME)
    assert spec is not None
    assert spec.origin == str(compiled_dir(built) / "kafka_py/log/some_log.so")


def test_other_modules_are_left_to_the_finders_behind(built: pathlib.Path) -> None:
    Compiled.choose(built, "1")
    assert len(finders()) == 1
    assert finders()[0].find_spec("kafka_py.log.log", None) is None


def test_a_copy_of_the_sources_is_as_good(built: pathlib.Path) -> None:
    os.utime(built / "kafka_py/log/some_log.py", ns=(0, 0))
    assert Compiled.choose(built, None) is Form.COMPILED


def test_what_came_in_a_wheel_is_used_and_stands_before_what_was_built_here(built: pathlib.Path) -> None:
    folder = packaged_dir(built)
    folder.mkdir()
    Manifest(sources_of(built), {NAME: "kafka_py/log/some_log.so"}).write(folder)
    assert Compiled.choose(built, "1") is Form.COMPILED
    assert importlib.util.find_spec(NAME).origin == str(folder / "kafka_py/log/some_log.so")  # type: ignore[union-attr]
    (built / "kafka_py/log/some_log.py").write_text("A = 2\n")
    assert Compiled.choose(built, None) is Form.STALE


@pytest.mark.parametrize("change", ["content", "new", "gone"])
def test_any_change_of_a_source_makes_it_stale(built: pathlib.Path, change: str) -> None:
    source = built / "kafka_py/log/some_log.py"
    match change:
        case "content":
            source.write_text("A = 12\n")
        case "new":
            source = built / "kafka_py/new.py"
            source.write_text("")
        case "gone":
            source.unlink()
    assert Compiled.choose(built, None) is Form.STALE
    assert Compiled.changed == [str(source.relative_to(built))]
    assert finders() == []


def test_the_environment_keeps_to_the_sources(built: pathlib.Path) -> None:
    assert Compiled.choose(built, "0") is Form.SWITCHED_OFF
    assert finders() == []


def test_nothing_built_means_the_sources(clone: pathlib.Path) -> None:
    assert Compiled.choose(clone, None) is Form.NOT_BUILT
    assert "interpreted" in Compiled.describe()


def test_the_environment_can_insist(clone: pathlib.Path) -> None:
    with pytest.raises(CompiledMissingError, match="nothing is compiled"):
        Compiled.choose(clone, "1")


def test_insisting_on_what_is_stale_fails_too(built: pathlib.Path) -> None:
    (built / "kafka_py/new.py").write_text("")
    with pytest.raises(CompiledMissingError, match="the sources have changed"):
        Compiled.choose(built, "1")


def test_builds_of_python_do_not_find_each_others_modules(built: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "abiflags", "t" if sys.abiflags == "" else "")
    assert Compiled.choose(built, None) is Form.NOT_BUILT
