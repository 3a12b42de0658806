"""The programs of docs/testing.md, as they stand there: a cluster driven from Go and from Java."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

import pytest

from kafka_py.testing.guardian import processes_of
from kafka_py.testing.local_cluster import BIN, ROOT
from kafka_py.tools.java_runtime import find_java
from tests.interop.apache_kafka import UnavailableError, fetch_jars
from tests.interop.clients import suite

pytestmark = pytest.mark.slow
TIMEOUT_S = 120


def block(language: str) -> str:
    """The page's program in that language; there is one."""
    page = (ROOT / "docs" / "testing.md").read_text()
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    return str(text)


def run(command: Sequence[str], folder: pathlib.Path) -> str:
    """What the program prints, which finds kafka-test-cluster on its path as if it were installed; nothing is left."""
    programs = folder / "bin"
    programs.mkdir()
    installed = programs / "kafka-test-cluster"
    installed.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{BIN / "kafka-test-cluster.py"}" "$@"\n')
    installed.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(processes_of(folder)) == []
    assert [path for path in folder.glob("kafka_py-*") if path.is_dir()] == []
    return done.stdout


def test_go(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "orders_test.go"
    source.write_text(block("go"))
    module = [suite.HERE / "go" / name for name in ("go.mod", "go.sum")]

    def make(folder: pathlib.Path) -> None:
        for path in (*module, source):
            shutil.copy(path, folder)
        suite.run_to_make([suite.needed("go"), "test", "-c", "-o", "orders.test", "."], folder)

    try:
        program = suite.made("go-testing", [*module, source], make) / "orders.test"
    except UnavailableError as e:
        pytest.skip(str(e))
    assert "PASS: TestWhatWasAcknowledgedOutlivesTheLeader" in run([str(program), "-test.v"], tmp_path)


def test_java(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "Orders.java"
    source.write_text(block("java"))
    try:
        compiler, java, libs = suite.needed("javac"), find_java(), fetch_jars()
    except UnavailableError as e:
        pytest.skip(str(e))
    assert java is not None, "who has a compiler has a Java"
    compiling = [compiler, "-cp", f"{libs}/*", "-d", ".", source.name]
    done = subprocess.run(compiling, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert run([str(java), *suite.JAVA_OPTIONS, "-cp", f"{libs}/*:.", "Orders"], tmp_path) == "[before, after]\n"
