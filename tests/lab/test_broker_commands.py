"""Brokers are killed, ended, stopped, continued and started again; what makes no sense is refused with a reason."""

from __future__ import annotations

import pathlib
import socket
from typing import Any

import pytest

from kafka_py.lab.broker_commands import COMMANDS, VERBS, BrokerCommands
from kafka_py.testing.mock_time import MockTime
from tests.lab.fakes import cluster_of


class Lab:
    """Commands of three brokers that are not there; ``sessions`` says how often ZooKeeper still knows a dead one."""

    def __init__(self, home: pathlib.Path) -> None:
        self.cluster = cluster_of(3, home)
        self.sessions = 0
        self.time = MockTime()
        self.commands = BrokerCommands(self.cluster, self.time, self.is_registered)

    def is_registered(self, connect: str, id: int) -> bool:
        assert (connect, id) == ("z:1", 1)
        self.sessions -= 1
        return self.sessions >= 0

    def does(self, line: str) -> tuple[int, str]:
        said: list[str] = []
        return self.commands.execute(line.split(), said.append), "\n".join(said)

    @property
    def process(self) -> Any:
        return self.cluster.brokers[1].process


@pytest.fixture
def lab(tmp_path: pathlib.Path) -> Lab:
    return Lab(tmp_path)


def test_kill_and_start(lab: Lab) -> None:
    assert lab.does("kill 1") == (0, "Broker 1, pid 101, is killed")
    assert not lab.process.is_running
    for again in ("kill", "term", "stop", "cont"):
        code, said = lab.does(f"{again} 1")
        assert (code, said) == (1, "Broker 1 has ended (SIGKILL); start it: bin/kafka-lab.py start_broker 1")
    assert lab.does("start_broker 1") == (0, "Broker 1 serves again: pid 201, after 0.0 s")
    assert lab.does("start_broker 1") == (1, "Broker 1 runs already: pid 201")


def test_start_waits_until_the_session_of_the_last_life_has_ended(lab: Lab) -> None:
    lab.does("kill 1")
    lab.sessions = 20
    code, said = lab.does("start_broker 1")
    assert code == 0
    assert said.splitlines() == [
        "ZooKeeper believes in broker 1 until its session ends; it can start only then ...",
        "Broker 1 serves again: pid 201, after 0.0 s",
    ]


def test_start_beside_one_that_was_started_by_hand(lab: Lab) -> None:
    lab.does("kill 1")
    lab.sessions = 1_000_000
    code, said = lab.does("start_broker 1")
    assert (code, said.splitlines()[-1]) == (1, "Somebody else is registered as broker 1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        lab.cluster.brokers[1].port = server.getsockname()[1]
        code, said = lab.does("start_broker 1")
    assert code == 1
    assert "was broker 1 started by hand?" in said


def test_a_start_that_fails_says_why(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.does("kill 1")

    def start() -> None:
        raise RuntimeError("broker-1 ended with 1 before 'started'")

    monkeypatch.setattr(lab.cluster.brokers[1], "start", start)
    assert lab.does("start_broker 1") == (1, "broker-1 ended with 1 before 'started'")


def test_stop_and_cont(lab: Lab) -> None:
    assert lab.does("cont 1") == (1, "Broker 1 is not stopped")
    assert lab.does("stop 1") == (0, "Broker 1, pid 101, is stopped")
    assert lab.process.is_stopped
    assert lab.does("stop 1") == (1, "Broker 1 is stopped already")
    assert lab.does("term 1")[0] == 1, "it would not notice"
    assert lab.does("start_broker 1") == (1, "Broker 1 runs already: pid 101")
    assert lab.does("cont 1") == (0, "Broker 1, pid 101, goes on")
    assert not lab.process.is_stopped
    lab.does("stop 1")
    assert lab.does("kill 1") == (0, "Broker 1, pid 101, is killed")


def test_one_that_does_not_obey(lab: Lab) -> None:
    lab.process.obeys = False
    assert lab.does("stop 1") == (1, "Broker 1 does not obey SIGSTOP")


def test_term(lab: Lab) -> None:
    assert lab.does("term 1") == (0, "Broker 1 has ended (exit status 0) after 0.0 s")


def test_status(lab: Lab) -> None:
    lab.does("kill 0")
    lab.does("stop 2")
    assert lab.does("status") == (
        0,
        "broker 0: has ended (SIGKILL)\n"
        "broker 1: runs, pid 101, at 127.0.0.1:1\n"
        "broker 2: is stopped, pid 102, at 127.0.0.1:1",
    )


def test_env_is_what_lab_env_holds(lab: Lab) -> None:
    code, said = lab.does("env")
    assert code == 0
    assert "export P1=101 B1=127.0.0.1:1 M1=127.0.0.1:9405 " in said


@pytest.mark.parametrize("id", ["3", "-1", "one"])
def test_no_such_broker(lab: Lab, id: str) -> None:
    assert lab.does(f"kill {id}") == (1, f"There is no broker {id}; this lab has 0, 1, 2")


@pytest.mark.parametrize("line", ["kill", "kill 1 2", "status 1", "reboot 1"])
def test_what_no_lab_knows(lab: Lab, line: str) -> None:
    assert lab.does(line) == (1, f"The lab does not know `{line}`; it knows {', '.join([*COMMANDS, *VERBS])}")


def test_what_else_befalls_clusters_are_their_verbs(lab: Lab) -> None:
    assert lab.does("slow_link 0 2 50 --one-way") == (0, "slow_link a=0 b=2 delay_ms=50 one_way=true: done")
    assert lab.cluster.links()["slow"] == ["0>2 50 ms"]
    assert lab.does("slow_link 0 7 50") == (1, "There is no broker 7; there are 0, 1, 2")
    assert lab.does("slow_link 0") == (1, "slow_link wants b, delay_ms; slow_link a b delay_ms [one_way]")
    assert lab.does("heal") == (0, "heal: done")
    assert lab.cluster.links()["slow"] == []
