#!/usr/bin/env python3
"""Compiles the broker's request path; the broker uses it as long as the sources stay as they are.

    python3 bin/kafka-compile.py            compile (two to four minutes)
    python3 bin/kafka-compile.py --wheel    make wheels, one with what is compiled, in dist/
    python3 bin/kafka-compile.py --remove   delete what was compiled
    python3 bin/kafka-compile.py --check    say what is missing on this machine

Needs a C compiler and Python's C headers; mypy comes from PyPI.
"""

from _venv import ensure_venv, rerun_inside

rerun_inside(ensure_venv("compile"))

from _launch import main  # noqa: E402

main("kafka_py.tools.compiled_build")
