"""The Go clients' programs, built once from go/ (whose go.sum fixes what is fetched) into the cache."""

from __future__ import annotations

import hashlib
import pathlib
import shutil
import subprocess

from tests.interop.apache_kafka import UnavailableError, cache_dir

SOURCES = pathlib.Path(__file__).parent / "go"
BUILD_TIMEOUT_S = 300


def built(name: str) -> str:
    """The program's path; UnavailableError where there is no Go or the modules cannot be fetched."""
    go = shutil.which("go")
    if go is None:
        raise UnavailableError("there is no Go here")
    digest = hashlib.sha256()
    for source in sorted(p for p in SOURCES.rglob("*") if p.is_file()):
        digest.update(source.read_bytes())
    program = cache_dir() / "go" / f"{name}-{digest.hexdigest()[:16]}"
    if not program.exists():
        _build(go, name, program)
    return str(program)


def _build(go: str, name: str, program: pathlib.Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-o", str(program), f"./{name}"]
    done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S)
    if done.returncode:
        raise UnavailableError(f"{name} could not be built:\n{done.stderr[-2000:]}")
