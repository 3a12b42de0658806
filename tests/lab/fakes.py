"""A cluster that is none: brokers whose processes obey at once, or do not."""

from __future__ import annotations

import pathlib
import signal
from typing import Any

from kafka_py.testing.cluster import Cluster
from kafka_py.testing.local_cluster import LocalBroker


class FakeProcess:
    """Runs, is stopped or has ended, as the signals say that it was sent."""

    def __init__(self, pid: int, output: pathlib.Path) -> None:
        self.pid = pid
        self.output = output
        self.is_running = True
        self.is_stopped = False
        self.how_it_ended = ""
        self.obeys = True

    def end(self, how: str) -> None:
        self.is_running, self.is_stopped, self.how_it_ended = False, False, how

    def kill(self) -> None:
        self.end("SIGKILL")

    def stop(self) -> int:
        self.end("exit status 0")
        return 0

    def signal(self, number: int) -> None:
        if self.obeys:
            self.is_stopped = number == signal.SIGSTOP


class FakeBroker(LocalBroker):
    """Its process is started by nobody."""

    def __init__(self, id: int, home: pathlib.Path) -> None:
        super().__init__(id, home / f"broker-{id}", {"log.dirs": str(home / f"broker-{id}" / "data-0")})
        self.port = 1  # nobody listens there
        self.metrics_port = 9404 + id
        self.starts = 0
        self.fake: Any = None
        self.start()

    @property
    def process(self) -> Any:
        return self.fake

    def start(self, environment: Any = None) -> LocalBroker:
        self.starts += 1
        self.fake = FakeProcess(100 * self.starts + self.id, self.home / "out")
        return self


def cluster_of(count: int, home: pathlib.Path) -> Any:
    """So many brokers with process ids 100, 101 …; in their second life 200, 201 …"""
    cluster: Any = Cluster(0, home=home, zookeeper="z:1")
    cluster.brokers = [FakeBroker(id, home) for id in range(count)]
    return cluster
