"""Runs what somebody wrote for an exercise in a process of its own, on the sources: it may hang, crash or end itself.

    python -m kafka_py.labs.child kafka_py.labs.acceptor_cases /somewhere/lab_1.py

Ours, no original. The module that is named has ``findings(file, ...)``, which is given the path and what else there is.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import traceback
from types import ModuleType
from typing import Any, Final

from kafka_py.labs.finding import Finding
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE
from kafka_py.utils.installation import ROOT

TIMEOUT_S: Final = 60
_RESULT: Final = "findings: "


def run(cases: str, file: pathlib.Path, *more: str, hidden: str = "", timeout_s: float = TIMEOUT_S) -> list[Finding]:
    """What the cases find of a file; one finding says why when there is no file, or it does not get to an end.

    ``more`` is on the command line of the process, where all can see it; ``hidden`` is on its standard input.
    """
    if not file.exists():
        return [Finding(file.name, False, "there is no such file")]
    command = [sys.executable, "-m", "kafka_py.labs.child", cases, str(file), *more]
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    environment = {**os.environ, "PYTHONPATH": path, ENVIRONMENT_VARIABLE: "0"}
    try:
        done = subprocess.run(command, input=hidden, capture_output=True, text=True, timeout=timeout_s, env=environment)
    except subprocess.TimeoutExpired:
        return [Finding(file.name, False, f"it does not come to an end within {timeout_s:g} s")]
    for line in done.stdout.splitlines():
        if line.startswith(_RESULT):
            return [Finding(*one) for one in json.loads(line.removeprefix(_RESULT))]
    said = (done.stderr or done.stdout).strip().splitlines()
    return [Finding(file.name, False, said[-1] if said else f"it ended with {done.returncode}")]


def load(file: pathlib.Path) -> ModuleType:
    """The file as a module; whatever it raises."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attempt(text: str, case: Any, *args: Any) -> Finding:
    """What comes of a case, which gives "" or what is wrong: an error in what was written is a finding, too."""
    try:
        wrong: str = case(*args)
    except Exception as e:  # noqa: BLE001  somebody's own code may raise anything
        place = traceback.extract_tb(e.__traceback__)[-1]
        return Finding(text, False, f"{type(e).__name__}: {e} ({pathlib.Path(place.filename).name}:{place.lineno})")
    return Finding(text, not wrong, wrong)


def main(args: list[str]) -> int:
    """Print the findings as JSON, behind whatever the file itself prints."""
    cases, file, *more = args
    findings = importlib.import_module(cases).findings(pathlib.Path(file), *more)
    print(f"\n{_RESULT}{json.dumps(findings)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
