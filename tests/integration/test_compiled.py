"""The broker says whether compiled modules run, and does what KAFKA_PY_COMPILED says.

With KAFKA_PY_COMPILED=1 in the environment all tests of this folder run their brokers compiled, with 0 interpreted.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from kafka_py.testing.local_cluster import ROOT, LocalCluster
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, Manifest, compiled_dir, sources_of

pytestmark = pytest.mark.slow


def is_current() -> bool:
    manifest = Manifest.read(compiled_dir(ROOT))
    return manifest is not None and not manifest.changed(sources_of(ROOT))


def mapped_libraries(pid: int) -> set[str]:
    """The extension modules of ours that a process has loaded."""
    return {
        line.split()[-1]
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
        if str(compiled_dir(ROOT)) in line
    }


def test_the_broker_says_what_runs_and_runs_it(embedded_cluster: LocalCluster) -> None:
    wish = os.environ.get(ENVIRONMENT_VARIABLE)
    process = embedded_cluster.brokers[0].process
    told = re.search(r"INFO Request path: (.*) \(kafka\.Kafka\$\)", process.text())
    assert told is not None
    if wish != "0" and is_current():
        assert re.fullmatch(r"\d+ compiled modules", told[1])
        loaded = mapped_libraries(process.pid)
        # one that only compiled modules import, such as processor, needs no file of its own to be loaded
        assert {"kafka_apis", "log", "acceptor"} <= {pathlib.Path(file).name.partition(".")[0] for file in loaded}
    else:
        assert told[1].startswith("interpreted")
        assert mapped_libraries(process.pid) == set()


@pytest.fixture
def other_clone(tmp_path: pathlib.Path) -> pathlib.Path:
    """A clone of its own, in which nothing is compiled."""
    for name in ("bin", "config", "kafka_py"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "server.properties").write_text("broker.id=none\n")
    return tmp_path


def start(clone: pathlib.Path, wish: str | None) -> tuple[int, str]:
    """Start a broker that cannot come up, for its settings are wrong: its exit code and what it said."""
    environment = {name: value for name, value in os.environ.items() if name != ENVIRONMENT_VARIABLE}
    if wish is not None:
        environment[ENVIRONMENT_VARIABLE] = wish
    done = subprocess.run(
        [sys.executable, str(clone / "bin/kafka-server-start.py"), str(clone / "server.properties")],
        capture_output=True,
        text=True,
        timeout=60,
        env={**environment, "LOG_DIR": str(clone / "logs")},
    )
    return done.returncode, done.stdout + done.stderr


def test_who_insists_on_compiled_modules_gets_no_others(other_clone: pathlib.Path) -> None:
    code, said = start(other_clone, "1")
    assert (code, said.strip()) == (
        1,
        "KAFKA_PY_COMPILED=1, but interpreted: nothing is compiled for this Python; run bin/kafka-compile.py",
    )


def test_a_build_from_other_sources_is_not_used_but_told(other_clone: pathlib.Path) -> None:
    folder = compiled_dir(other_clone)
    folder.mkdir(parents=True)
    sources = sources_of(other_clone)
    del sources["kafka_py/log/log.py"]
    Manifest(sources, {"kafka_py.log.log": "kafka_py/log/log.so"}).write(folder)
    _, said = start(other_clone, None)
    assert re.search(r"WARN The compiled modules are not used: 1 source files .*kafka_py/log/log\.py", said)
    assert "INFO Request path: interpreted: the sources have changed since they were compiled" in said
