"""The compiled wheel: the pure one's content, the modules, and what installers look at."""

from __future__ import annotations

import base64
import csv
import hashlib
import pathlib
import sys
import zipfile

import pytest

from kafka_py.tools.compiled_source import CompileError
from kafka_py.tools.compiled_wheel import add_modules, platform_tag
from kafka_py.utils.compiled import Compiled, Form, Manifest, packaged_dir, sources_of

TAG = "cp399-cp399-plan9_vax"
META = "kafka_py-0.1.0.dist-info"


@pytest.fixture
def pure(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "kafka_py-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("kafka_py/__init__.py", "")
        wheel.writestr("kafka_py/log.py", "A = 1\n")
        wheel.writestr("kafka_py/config/server.properties", "broker.id=0\n")
        wheel.writestr(f"{META}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n")
        wheel.writestr(f"{META}/RECORD", "kafka_py/__init__.py,,\n")
    return path


@pytest.fixture
def compiled(tmp_path: pathlib.Path) -> pathlib.Path:
    source = tmp_path / "clone"
    (source / "kafka_py").mkdir(parents=True)
    (source / "kafka_py/__init__.py").touch()
    (source / "kafka_py/log.py").write_text("A = 1\n")
    folder = tmp_path / "compiled"
    (folder / "kafka_py").mkdir(parents=True)
    (folder / "kafka_py/log.so").write_bytes(b"\x7fELF")
    (folder / "shared.so").write_bytes(b"\x7fELF shared")
    Manifest(sources_of(source), {"kafka_py.log": "kafka_py/log.so", "shared": "shared.so"}).write(folder)
    return folder


def test_the_tag_names_interpreter_and_platform() -> None:
    python, abi, platform = platform_tag().split("-")
    assert python == f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert abi.startswith(python)
    assert platform != "any"


def test_it_has_everything_and_the_modules(pure: pathlib.Path, compiled: pathlib.Path) -> None:
    made = add_modules(pure, compiled, TAG)
    assert made == pure.with_name(f"kafka_py-0.1.0-{TAG}.whl")
    with zipfile.ZipFile(made) as wheel, zipfile.ZipFile(pure) as before:
        new = {f"kafka_py/_compiled/{name}" for name in ("manifest.json", "shared.so", "kafka_py/log.so")}
        assert set(wheel.namelist()) == {*before.namelist(), *new}
        assert wheel.read("kafka_py/_compiled/kafka_py/log.so") == b"\x7fELF"
        assert wheel.read(f"{META}/WHEEL").decode() == f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAG}\n"
        rows = list(csv.reader(wheel.read(f"{META}/RECORD").decode().splitlines()))
        assert rows[-1] == [f"{META}/RECORD", "", ""]
        assert {name for name, *_ in rows} == set(wheel.namelist())
        for name, digest, size in rows[:-1]:
            content = wheel.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={expected}", len(content))


def test_installed_it_is_used(pure: pathlib.Path, compiled: pathlib.Path, tmp_path: pathlib.Path) -> None:
    site = tmp_path / "site-packages"
    with zipfile.ZipFile(add_modules(pure, compiled, TAG)) as wheel:
        wheel.extractall(site)
    before = list(sys.meta_path), Compiled.form, Compiled.module_count, Compiled.changed
    try:
        assert Compiled.choose(site, "1") is Form.COMPILED
        assert Manifest.read(packaged_dir(site)) is not None
    finally:
        sys.meta_path[:], Compiled.form, Compiled.module_count, Compiled.changed = before


def test_modules_of_other_sources_are_refused(pure: pathlib.Path, compiled: pathlib.Path) -> None:
    with zipfile.ZipFile(pure, "a") as wheel:
        wheel.writestr("kafka_py/new.py", "")
    with pytest.raises(
        CompileError, match=r"other sources than kafka_py-0\.1\.0-py3-none-any\.whl: .*kafka_py/new\.py"
    ):
        add_modules(pure, compiled, TAG)


def test_there_must_be_something_compiled(pure: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(CompileError, match="Nothing is compiled"):
        add_modules(pure, tmp_path / "nowhere", TAG)
