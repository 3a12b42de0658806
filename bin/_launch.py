"""Finds kafka_py and its packages, for the scripts beside this file; kafka_py/tools/launch.py does the rest.

Each of them is two lines: `from _launch import main` and `main("package.module")`.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(module: str, *prefix: str) -> None:
    """Run `module`'s main with the command line; prefix stands before what the user gave."""
    use_the_clone("pyspark" if module.startswith("kafka_py.spark.") else "kazoo")
    from kafka_py.tools.launch import run

    run(module, sys.argv[0], [*prefix, *sys.argv[1:]])


def use_the_clone(package: str) -> None:
    """Find kafka_py and its packages, this one too: in this interpreter, or else in the .venv beside bin/."""
    if (ROOT / "kafka_py").is_dir():
        sys.path.insert(0, str(ROOT))
    has_broker = importlib.util.find_spec("kazoo") is not None
    if has_broker and importlib.util.find_spec(package) is not None:
        return
    python = ROOT / ".venv" / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        os.execv(python, [str(python), *sys.argv])
    if has_broker:
        return  # the command says itself what it lacks
    sys.exit(
        "kafka_py's packages are not installed. Install them with `pip install .` in the folder of the clone, "
        "or have them installed in a virtual environment by `python3 bin/run-tests.py`."
    )
