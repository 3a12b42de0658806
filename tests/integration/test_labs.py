"""An exercise from its start to Ctrl-C, with the commands of another terminal, as somebody in a workshop has it."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kafka_py.testing.local_cluster import BIN, LocalProcess
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow

LAB = str(BIN / "kafka-lab.py")


class Place:
    """A folder in which somebody does an exercise."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder / "mine"
        self.folder.mkdir()
        self._environment = {**os.environ, "TMPDIR": str(folder)}
        script = f'cd "{self.folder}" && exec {sys.executable} {LAB} start 2 --language zh'
        self.lab = LocalProcess("lab", ["bash", "-c", script], folder, {"TMPDIR": str(folder)})

    def run(self, *words: str) -> tuple[int, str]:
        command = [sys.executable, LAB, *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    def is_ready(self) -> bool:
        assert self.lab.is_running, self.lab.text()
        return "Ctrl-C here ends the lab" in self.lab.text()


@pytest.fixture
def place(tmp_path: pathlib.Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.lab.stop()


def test_an_exercise_is_started_checked_reset_and_ended(place: Place) -> None:
    wait_until(place.is_ready, 60, "a lab that is ready")
    assert "# 实验 2 · 请求队列与处理线程" in place.lab.text()
    assert "## 提示" not in place.lab.text(), "hints come when they are asked for"
    assert (place.folder / "answers-2.txt").read_text().startswith("# Which thread is held?\nheld:\n")

    code, said = place.run("check", "2")
    assert (code, said.splitlines()[0]) == (1, "[ok] the broker answers")
    assert "[--] 4 handlers: there are 2" in said
    code, said = place.run("check", "--json")
    assert (code, json.loads(said)["passed"]) == (1, False)
    assert place.run("hint")[1].startswith("(1 of 4) X-ray")
    assert place.run("check", "3") == (1, "Lab 2 runs, not lab 3\n")
    assert "broker 0: runs" in place.run("status")[1]
    (env,) = place.folder.parent.glob("kafka_py-*/lab.env")
    shell = ["bash", "-c", f'. "{env}"; kafka-topics --zookeeper $ZK --list; kafka-lab hint 2']
    said = subprocess.run(shell, cwd=place.folder, capture_output=True, text=True, timeout=60).stdout
    assert said.startswith("slow\n(2 of 4)")

    told = len(place.lab.text())
    assert place.run("reset") == (0, "Lab 2 begins again\n")
    wait_until(lambda: "Ctrl-C here ends the lab" in place.lab.text()[told:], 60, "a lab that has begun again")
    assert place.run("labs")[1].splitlines()[0].startswith("[ ] ")
    place.lab.signal(signal.SIGINT)
    wait_until(lambda: not place.lab.is_running, 30, "the lab's end")
    assert place.lab.how_it_ended == "exit status 0"
