"""The Node clients' programs: node/ copied to the cache, with the packages that package-lock.json fixes beside it."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess

from tests.interop.apache_kafka import UnavailableError, cache_dir

SOURCES = pathlib.Path(__file__).parent / "node"
FETCH_TIMEOUT_S = 300


def command(name: str) -> list[str]:
    """What starts the program; UnavailableError where there is no Node or the packages cannot be fetched."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise UnavailableError("there is no Node here")
    lock = hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()[:16]
    home = cache_dir() / "node" / lock
    if not (home / "node_modules").exists():
        _fetch(npm, home)
    for source in SOURCES.glob("*.mjs"):
        shutil.copy(source, home)
    return [node, str(home / f"{name}.mjs")]


def _fetch(npm: str, home: pathlib.Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    for source in SOURCES.glob("package*.json"):
        shutil.copy(source, home)
    fetching = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(fetching, cwd=home, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
    if done.returncode:
        raise UnavailableError(f"npm could not fetch the packages:\n{done.stderr[-2000:]}")
