"""The lab says what becomes of its brokers, whoever did it, and lab.env names those that run."""

from __future__ import annotations

import pathlib
import subprocess
from typing import Any

import pytest

from kafka_py.lab.broker_watch import BrokerWatch
from tests.lab.fakes import cluster_of


class Watched:
    """A cluster, and what is said of it."""

    def __init__(self, count: int, home: pathlib.Path) -> None:
        self.cluster = cluster_of(count, home)
        self.said: list[str] = []
        self.watch = BrokerWatch(self.cluster, self.said.append)

    def news(self) -> str:
        self.said.clear()
        self.watch.look()
        return "\n".join(self.said)

    def process(self, id: int) -> Any:
        return self.cluster.brokers[id].process

    def shell(self, words: str) -> str:
        """What a shell makes of words after it has sourced lab.env."""
        script = f'. "$1"; echo {words}'
        command = ["sh", "-uc", script, "sh", str(self.cluster.home / "lab.env")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.rstrip("\n")


def test_a_broker_dies_and_returns(tmp_path: pathlib.Path) -> None:
    lab = Watched(3, tmp_path)
    assert lab.news() == ""
    lab.process(1).kill()
    assert lab.news().splitlines() == [
        f"Broker 1 has ended (SIGKILL); its last words are in {tmp_path}/broker-1/out",
        "  Brokers 0, 2 and ZooKeeper stay up. Who leads now, and to start it again:",
        "  bin/kafka-topics.py --zookeeper z:1 --describe",
        "  bin/kafka-lab.py start_broker 1",
    ]
    assert lab.news() == "", "once is enough"
    lab.cluster.brokers[1].start()
    assert lab.news() == "Broker 1 is back: pid 201, at 127.0.0.1:1"


def test_a_broker_that_hangs_goes_on(tmp_path: pathlib.Path) -> None:
    lab = Watched(2, tmp_path)
    lab.process(0).is_stopped = True
    assert lab.news() == "Broker 0 is stopped (SIGSTOP)"
    lab.process(1).kill()
    assert "  Broker 0 and ZooKeeper stay up." in lab.news(), "it is there, and may go on"
    lab.process(0).is_stopped = False
    assert lab.news() == "Broker 0 goes on"
    lab.process(0).stop()
    assert lab.news().startswith("Broker 0 has ended (exit status 0); ")
    assert "  ZooKeeper stays up." in lab.said[0]


def test_killed_and_started_between_two_looks(tmp_path: pathlib.Path) -> None:
    lab = Watched(1, tmp_path)
    lab.process(0).kill()
    lab.cluster.brokers[0].start()
    assert lab.news() == "Broker 0 is back: pid 200, at 127.0.0.1:1"


@pytest.mark.parametrize("folder", ["lab", "a lab's"])
def test_lab_env(tmp_path: pathlib.Path, folder: str) -> None:
    home = tmp_path / folder
    lab = Watched(2, home)
    assert lab.shell("$ZK $BROKERS $P $P0 $P1 $B $B1 $M1") == (
        "z:1 127.0.0.1:1,127.0.0.1:1 100 100 101 127.0.0.1:1 127.0.0.1:1 127.0.0.1:9405"
    )
    assert lab.shell('"$D1:$L1:$D:$L:$KAFKA_LAB"') == (
        f"{home}/broker-1/data-0:{home}/broker-1/logs:{home}/broker-0/data-0:{home}/broker-0/logs:{home}"
    )
    lab.process(0).kill()
    lab.watch.look()
    assert lab.shell('"<$P> <$P0> <$P1>"') == "<> <> <101>"
    lab.cluster.brokers[0].start()
    lab.watch.look()
    assert lab.shell('"<$P> <$P0> <$P1>"') == "<200> <200> <101>"
