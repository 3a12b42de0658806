"""The function of lab 6, given a Spark session and the broker's files.

Ours, no original. Run by child.py, as the only part of the labs that needs Spark.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from kafka_py import spark as kafka_spark
from kafka_py.labs.child import attempt, load
from kafka_py.labs.finding import Finding

QUESTIONS = {
    "records": "records that were written",
    "committed": "records that a read_committed consumer gets",
    "markers": "offsets without a record of anybody's",
}


def findings(file: pathlib.Path, log_dir: str, servers: str) -> list[Finding]:
    """Compare what the function gives with the truth, a JSON object on the standard input."""
    truth = sys.stdin.read()
    answer = load(file).answer
    session = kafka_spark.session_builder().appName("lab-6").master("local[1]").getOrCreate()
    try:
        kafka_spark.register(session)
        return compared(lambda: answer(session, log_dir, servers), json.loads(truth))
    finally:
        session.stop()


def compared(answer: Callable[[], Any], right: Mapping[str, int]) -> list[Finding]:
    """Whether it gives a dict with these numbers."""
    given: dict[str, Any] = {}

    def call() -> str:
        found = answer()
        if not isinstance(found, dict):
            return f"it gives {found!r}, not a dict"
        given.update(found)
        return ""

    called = attempt("the function gives an answer", call)
    return [called, *(_compare(name, text, given, right[name]) for name, text in QUESTIONS.items() if called.good)]


def _compare(name: str, text: str, given: dict[str, Any], right: int) -> Finding:
    good = given.get(name) == right
    return Finding(f"{name}: {text}", good, "" if good else f"{given.get(name)!r} is not what is in the log")
