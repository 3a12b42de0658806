"""What the integration tests need of the operating system and of ZooKeeper: waiting, counting, looking at processes."""

from __future__ import annotations

import contextlib
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster

T = TypeVar("T")
PAGE = os.sysconf("SC_PAGE_SIZE")


def wait_until(condition: Callable[[], T | None], timeout_s: float = 20, what: str = "") -> T:
    """Poll until the condition gives something true, and give that; AssertionError when the time is up."""
    deadline = time.monotonic() + timeout_s
    pause = 0.002
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what or condition}"
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


@contextlib.contextmanager
def zookeeper(connect: str) -> Iterator[KazooClient]:
    client = KazooClient(hosts=connect)
    client.start(20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def children(client: KazooClient, path: str) -> list[str]:
    """The names below a node; none if there is no such node."""
    try:
        found: list[str] = client.get_children(path)
    except NoNodeError:
        return []
    return sorted(found)


def wait_until_forgotten(cluster: LocalCluster, broker: LocalBroker) -> None:
    """Wait for the session of a killed broker to end; until then nobody can start with its id."""
    with zookeeper(cluster.zookeeper_connect) as client:
        wait_until(lambda: str(broker.id) not in children(client, "/brokers/ids"), what="the session's end")


def rss(pid: int) -> int:
    """Resident bytes."""
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def peak_rss(pid: int) -> int:
    """The most that was ever resident since the last reset_peak_rss, in bytes."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def reset_peak_rss(pid: int) -> None:
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def size_of_logs(partition: pathlib.Path) -> int:
    """Bytes of a partition's segments; a broker that runs may rename one at any time."""
    size = 0
    for path in partition.glob("*.log"):
        with contextlib.suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def fds(pid: int) -> int:
    """How many files and sockets the process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def sockets(pid: int) -> int:
    """How many sockets the process has open."""
    found = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # closed since the directory was read
            found += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
    return found


def thread_names(pid: int) -> list[str]:
    """What the kernel calls the threads: the first 15 bytes of their names."""
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):  # ended since the directory was read
            names.append(pathlib.Path(f"/proc/{pid}/task/{task}/comm").read_text().rstrip("\n"))
    return sorted(names)
