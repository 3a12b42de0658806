"""A broker that cannot start says why and exits with 1; one that can, although something is wrong, starts.

The messages are those of Apache Kafka 1.1.1, except that one unusable log directory beside a good one does not matter.
"""

from __future__ import annotations

import pathlib
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from kafka_py.testing.local_cluster import BIN, LocalBroker, LocalCluster
from tests.integration.clients import create_topic, produce, topic_name

pytestmark = pytest.mark.slow

START = str(BIN / "kafka-server-start.py")


class Start(NamedTuple):
    """How a start ended."""

    code: int
    said: str


def start(home: pathlib.Path, properties: Mapping[str, str | None]) -> Start:
    """Start a broker that is expected to give up; None takes a property away."""
    path = home / "bad.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items() if value is not None))
    return run([str(path)], home)


def run(arguments: list[str], home: pathlib.Path) -> Start:
    done = subprocess.run(
        [sys.executable, START, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={"LOG_DIR": str(home / "logs"), "PATH": "/usr/bin:/bin"},
    )
    return Start(done.returncode, done.stdout + done.stderr)


@pytest.fixture
def sound(embedded_cluster: LocalCluster, tmp_path: pathlib.Path) -> dict[str, str | None]:
    """Properties with which a broker would start, in a part of ZooKeeper that is its own."""
    return {
        "broker.id": "7",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path / "data"),
        "zookeeper.connect": f"{embedded_cluster.zookeeper_connect}/{topic_name('chroot')}",
        "kafka.py.http.listener": "127.0.0.1:0",
    }


# -- Configuration ---------------------------------------------------------------------------------------------------

CONFIGS: dict[str, tuple[dict[str, str | None], str]] = {
    "not-a-number": (
        {"num.network.threads": "zero"},
        "Invalid value zero for configuration num.network.threads: Not a number of type INT",
    ),
    "out-of-range": ({"num.network.threads": "0"}, "Value must be at least 1"),
    "not-a-boolean": ({"auto.create.topics.enable": "maybe"}, "Expected value to be either true or false"),
    "no-zookeeper": ({"zookeeper.connect": None}, 'Missing required configuration "zookeeper.connect"'),
    "unknown-listener": ({"listeners": "FOO://127.0.0.1:0"}, "No security protocol defined for listener FOO"),
    "two-listeners-of-one-name": (
        {"listeners": "PLAINTEXT://127.0.0.1:19092,PLAINTEXT://127.0.0.1:19093"},
        "Each listener must have a different name",
    ),
    "broker-id-minus-5": ({"broker.id": "-5"}, "broker.id must be equal or greater than -1"),
    "number-too-large": ({"log.segment.bytes": "99999999999"}, "log.segment.bytes"),
    "unknown-version": ({"inter.broker.protocol.version": "9.9"}, "9.9"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations(sound: dict[str, str | None], tmp_path: pathlib.Path, name: str) -> None:
    wrong, message = CONFIGS[name]
    ended = start(tmp_path, {**sound, **wrong})
    assert ended.code == 1
    assert message in ended.said


def test_the_command_line(tmp_path: pathlib.Path) -> None:
    usage = run([], tmp_path)
    assert usage.code == 1
    assert "USAGE" in usage.said
    missing = run([str(tmp_path / "no-such-file")], tmp_path)
    assert missing.code == 1
    assert "no-such-file" in missing.said


# -- What others have ------------------------------------------------------------------------------------------------


def test_zookeeper_is_not_there(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    nowhere = {"zookeeper.connect": "127.0.0.1:1", "zookeeper.connection.timeout.ms": "500"}
    ended = start(tmp_path, {**sound, **nowhere})
    assert ended.code == 1
    assert "Timed out waiting for connection" in ended.said


def test_the_port_is_taken(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = f"127.0.0.1:{server.getsockname()[1]}"
        ended = start(tmp_path, {**sound, "listeners": f"PLAINTEXT://{taken}"})
    assert ended.code == 1
    assert f"Socket server failed to bind to {taken}: Address already in use." in ended.said


def test_the_broker_id_is_taken(
    sound: dict[str, str | None], embedded_cluster: LocalCluster, tmp_path: pathlib.Path
) -> None:
    running = embedded_cluster.brokers[0]
    same = {"broker.id": str(running.id), "zookeeper.connect": embedded_cluster.zookeeper_connect}
    ended = start(tmp_path, {**sound, **same})
    assert ended.code == 1
    assert "node already exists and owner" in ended.said
    assert "does not match current session" in ended.said
    produce(running.address, create_topic(running.address, topic_name()), [(None, b"the other goes on")])


# -- Log directories -------------------------------------------------------------------------------------------------


def meta(data: pathlib.Path, text: str) -> None:
    data.mkdir()
    (data / "meta.properties").write_text(text)


def a_file(data: pathlib.Path) -> None:
    data.write_text("")


def lost_and_found(data: pathlib.Path) -> None:
    (data / "lost+found").mkdir(parents=True)


def recovery_points(data: pathlib.Path) -> None:
    data.mkdir()
    (data / "recovery-point-offset-checkpoint").write_text("0\n1\nthree words\n")


DIRECTORIES: dict[str, tuple[Callable[[pathlib.Path], None], str]] = {
    "a-file": (a_file, "none of the specified log dirs"),
    "another-brokers": (
        lambda data: meta(data, "version=0\nbroker.id=8\n"),
        "Configured broker.id 7 doesn't match stored broker.id 8 in meta.properties",
    ),
    "version-of-the-future": (lambda data: meta(data, "version=9\nbroker.id=7\n"), "none of the specified log dirs"),
    "garbage-in-meta-properties": (lambda data: meta(data, "garbage\n"), "Missing required property 'version'"),
    "directory-that-is-no-partition": (lost_and_found, "is not in the form of topic-partition"),
    "recovery-points": (recovery_points, "Malformed line in checkpoint file"),
}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_the_only_log_directory(sound: dict[str, str | None], tmp_path: pathlib.Path, name: str) -> None:
    prepare, message = DIRECTORIES[name]
    prepare(tmp_path / "data")
    ended = start(tmp_path, sound)
    assert ended.code == 1
    assert message in ended.said


def test_a_log_directory_that_cannot_be_made(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    ended = start(tmp_path, {**sound, "log.dirs": "/proc/nowhere"})
    assert ended.code == 1
    assert "none of the specified log dirs from /proc/nowhere can be created or validated" in ended.said


def test_the_same_directory_twice(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    ended = start(tmp_path, {**sound, "log.dirs": f"{data},{tmp_path}/data/../data"})
    assert ended.code == 1
    assert "Duplicate log directory found" in ended.said


def test_two_directories_of_two_brokers(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    for id in ("1", "2"):
        meta(tmp_path / id, f"version=0\nbroker.id={id}\n")
    ended = start(tmp_path, {**sound, "log.dirs": f"{tmp_path}/1,{tmp_path}/2"})
    assert ended.code == 1
    assert "InconsistentBrokerIdException" in ended.said


# -- What is no reason to give up ------------------------------------------------------------------------------------


def served(sound: dict[str, str | None], home: pathlib.Path, **more: str) -> str:
    """Start, write a record, stop; what the broker said."""
    properties = {key: value for key, value in {**sound, **more}.items() if value is not None}
    broker = LocalBroker(7, home / "broker", properties)
    broker.start()
    try:
        produce(broker.address, create_topic(broker.address, topic_name()), [(None, b"served")])
    finally:
        code = broker.process.stop()
    assert code == 0
    return broker.process.text()


def test_an_unknown_property(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    said = served(sound, tmp_path, **{"no.such.property": "1"})
    assert "no.such.property" in said


@pytest.mark.parametrize("bad", ["cannot-be-made", "version-of-the-future", "recovery-points"])
def test_one_of_two_directories(sound: dict[str, str | None], tmp_path: pathlib.Path, bad: str) -> None:
    """The other serves alone; Kafka gives up where the bad one is an empty directory it may not write to."""
    second = tmp_path / "second"
    if bad == "cannot-be-made":
        second = pathlib.Path("/proc/nowhere")
    else:
        DIRECTORIES[bad][0](second)
    said = served(sound, tmp_path, **{"log.dirs": f"{tmp_path / 'data'},{second}"})
    assert str(second) in said
    assert (tmp_path / "data" / "meta.properties").read_text().count("broker.id=7") == 1


def test_properties_as_java_reads_them(sound: dict[str, str | None], tmp_path: pathlib.Path) -> None:
    r"""Comments, continued lines, \u escapes, other separators, and the last of two."""
    path = tmp_path / "java.properties"
    lines = [f"{key} : {value}" for key, value in sound.items() if key != "log.dirs"]
    lines += ["! a comment \\", "# another", "log.dirs=/first/one", rf"log\u002edirs {tmp_path}/da\\", "    ta"]
    lines += ["num.network.threads=zero"]
    path.write_text("\n".join(lines).replace("da\\\\", "da\\") + "\n")
    ended = run([str(path)], tmp_path)
    assert ended.code == 1
    assert "Invalid value zero for configuration num.network.threads" in ended.said
