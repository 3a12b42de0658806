"""The processes in which PySpark runs this package: which Python they are, how they log, how they end."""

from __future__ import annotations

import gc
import importlib.machinery
import io
import os
import pathlib
import subprocess
import sys
import traceback
import types
from contextlib import redirect_stderr
from typing import Any

import pytest

import kafka_py.spark
from kafka_py.spark import worker
from kafka_py.spark.local_session import reason_of
from tests.spark.made_logs import make_log_dir

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Made as anybody makes a session, but over Unix sockets, where workers are told at once that nobody listens.
PLAIN_SESSION = """
import sys
sys.path.insert(0, sys.argv[2])
from pyspark.sql import SparkSession
import kafka_py.spark
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.python.unix.domain.socket.enabled", "true")
spark = builder.getOrCreate()
kafka_py.spark.register(spark)
frame = spark.read.format("kafka_segments").option("logDirs", sys.argv[1]).option("subscribe", "t").load()
print("rows", frame.count(), len(frame.take(1)))
spark.stop()
"""


def module(name: str, **attributes: object) -> types.ModuleType:
    made = types.ModuleType("__main__")
    made.__spec__ = importlib.machinery.ModuleSpec(name, None)
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


def test_a_worker_says_nothing_when_spark_has_gone_first() -> None:
    daemon: Any = module("pyspark.daemon", traceback=traceback)
    worker.set_up(daemon)
    said = io.StringIO()
    for failure in (BrokenPipeError("hung up"), ValueError("wrong")):
        with redirect_stderr(said):
            try:
                raise failure
            except (OSError, ValueError):
                daemon.traceback.print_exc()
    assert "wrong" in said.getvalue()
    assert "hung up" not in said.getvalue()
    assert daemon.traceback.format_exception_only(ValueError("x")) == ["ValueError: x\n"]


def test_a_worker_looks_through_its_modules_for_garbage_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def collect() -> int:
        done.append("collect")
        return 3

    monkeypatch.setattr(gc, "collect", collect)
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    daemon: Any = module("pyspark.daemon", traceback=traceback, gc=gc)
    worker.set_up(daemon)
    assert [daemon.gc.collect() for _ in range(3)] == [3, 3, 3]
    assert done == ["collect", "freeze", "collect", "collect"]
    assert daemon.gc.isenabled() == gc.isenabled()


def test_no_other_process_is_touched() -> None:
    for main in (None, module("pytest", traceback=traceback), module("pyspark.daemon")):
        before = dict(vars(main)) if main else None
        worker.set_up(main)
        assert (dict(vars(main)) if main else None) == before


def test_the_reason_is_one_line() -> None:
    page = (
        "[PYTHON_DATA_SOURCE_ERROR] Failed when Python data source instance read.\nTraceback (most recent call last):\n"
        '  File "/x/transport.py", line 41, in report\n'
        "kafka_py.spark.transport.DataLossError: t-0 are gone. Some data may have been lost: ask\n\n"
        "\tat org.apache.spark.sql.Something.java:1\nCaused by: org.apache.spark.SparkException: Job aborted\n"
    )
    expected = "kafka_py.spark.transport.DataLossError: t-0 are gone. Some data may have been lost: ask"
    assert reason_of(RuntimeError(page)) == expected
    syntax = "[PARSE_SYNTAX_ERROR] Syntax error at end of input.(line 1)\n\tat org.apache.Parser"
    assert reason_of(RuntimeError(syntax)) == "[PARSE_SYNTAX_ERROR] Syntax error at end of input.(line 1)"


class Context:
    """What is asked of a SparkContext."""

    def __init__(self, master: str, conf: dict[str, str]) -> None:
        self.master = master
        self.pythonExec = "python3"
        self.environment: dict[str, str] = {}
        self.getConf = lambda: conf


@pytest.mark.parametrize(
    ("master", "environment", "conf", "expected"),
    [
        ("local[2]", {}, {}, sys.executable),
        ("local-cluster[2,1,1024]", {}, {}, sys.executable),
        ("local[2]", {"PYSPARK_PYTHON": "/usr/bin/other"}, {}, "python3"),
        ("local[2]", {}, {"spark.pyspark.python": "/usr/bin/other"}, "python3"),
        ("spark://elsewhere:7077", {}, {}, "python3"),
    ],
)
def test_which_python_the_workers_are(
    monkeypatch: pytest.MonkeyPatch, master: str, environment: dict[str, str], conf: dict[str, str], expected: str
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    session: Any = types.SimpleNamespace(sparkContext=Context(master, conf))
    kafka_py.spark._find_workers(session)
    assert session.sparkContext.pythonExec == expected
    assert session.sparkContext.environment == ({"PYTHONPATH": str(ROOT)} if master.startswith("local") else {})


@pytest.mark.slow
@pytest.mark.spark
def test_a_plain_session_works_and_ends_without_traces(tmp_path: pathlib.Path) -> None:
    """Though the first python3 of the PATH knows nothing of numpy, and the package is installed nowhere."""
    home = make_log_dir(tmp_path / "logs")
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_PYTHON", "PYTHONPATH")}
    environment["PATH"] = f"{other.parent}{os.pathsep}{environment['PATH']}"
    ended = subprocess.run(
        [sys.executable, "-c", PLAIN_SESSION, str(home), str(ROOT)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    assert "rows 222 1" in ended.stdout
    assert "BrokenPipeError" not in ended.stderr
    assert "Traceback" not in ended.stderr
