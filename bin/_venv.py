"""Makes the project's virtual environment, so that a clone needs nothing but Python (kafka-lab and run-tests)."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
MINIMUM = (3, 11)


def ensure_venv(*extras: str) -> pathlib.Path:
    """Create .venv if there is none, install the project with these extras, return the path of its python.

    What was installed is remembered by a stamp that holds the hash of setup.cfg, so a second call costs nothing.
    """
    if sys.version_info < MINIMUM:
        sys.exit(f"kafka_py needs Python {MINIMUM[0]}.{MINIMUM[1]} or newer; this is {sys.version.split()[0]}")
    home = ROOT / ".venv"
    python = home / "bin" / "python"
    if not python.exists():
        print(f"Making the virtual environment {home} ...", flush=True)
        venv.create(home, with_pip=True)
    digest = hashlib.sha256((ROOT / "setup.cfg").read_bytes()).hexdigest()
    wanted = [extra for extra in ("", *extras) if not stamp(home, extra, digest).exists()]
    if wanted:
        named = ",".join(extra for extra in wanted if extra)
        target = f"{ROOT}[{named}]" if named else str(ROOT)
        print(f"Installing kafka_py{f'[{named}]' if named else ''} and what it depends on ...", flush=True)
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", "-q"]
        subprocess.run([*pip, "-e", target], check=True)
        for extra in wanted:
            stamp(home, extra, digest).touch()
    return python


def stamp(home: pathlib.Path, extra: str, digest: str) -> pathlib.Path:
    return home / f".kafka_py-{extra or 'base'}-{digest[:16]}"


def rerun_inside(python: pathlib.Path) -> None:
    """Replace this process by the same command under the virtual environment's python, unless it runs there already."""
    if pathlib.Path(sys.prefix) != ROOT / ".venv":
        os.execv(python, [str(python), *sys.argv])
