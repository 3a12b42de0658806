"""The broker's command line."""

from __future__ import annotations

import pathlib
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py import kafka, kafka_server_stop
from kafka_py.common.utils.exit import Exit
from kafka_py.kafka import Kafka
from kafka_py.utils.affinity_follower import AffinityFollower


class Exited(Exception):
    pass


@pytest.fixture
def file(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "server.properties"
    path.write_text("broker.id=1\nzookeeper.connect=z\n")
    return str(path)


@pytest.fixture(autouse=True)
def exits() -> Iterator[None]:
    def leave(status: int, message: str | None = None) -> None:
        raise Exited(status)

    Exit.set_exit_procedure(leave)
    yield
    Exit.reset_exit_procedure()


@pytest.mark.ported("KafkaTest.testGetKafkaConfigFromArgs")
def test_overrides_stand_before_the_file(file: str) -> None:
    assert Kafka.get_props_from_args([file])["broker.id"] == "1"
    props = Kafka.get_props_from_args([file, "--override", "broker.id=2", "--override", "log.cleanup.policy=compact"])
    assert (props["broker.id"], props["log.cleanup.policy"], props["zookeeper.connect"]) == ("2", "compact", "z")


@pytest.mark.ported("KafkaTest.testGetKafkaConfigFromArgsNonArgsAtTheBegging")
@pytest.mark.ported("KafkaTest.testGetKafkaConfigFromArgsNoArgs")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "USAGE: kafka-server-start.py [-daemon] server.properties [--override property=value]*"),
        (["FILE", "broker.id=1", "--override", "a=b"], "Found non argument parameters: broker.id=1"),
        (["FILE", "--nonsense"], "nonsense"),
    ],
)
def test_wrong_arguments(file: str, args: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exited, match="1"):
        Kafka.get_props_from_args([file if arg == "FILE" else arg for arg in args])
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("num.network.threads=zero", "Invalid value zero for configuration num.network.threads: Not a number of type"),
        ("broker.id=-5", "broker.id must be equal or greater than -1"),
        ("listeners=FOO://:1", "No security protocol defined for listener FOO"),
    ],
)
def test_a_bad_configuration_ends_with_status_1(
    file: str, override: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert Kafka.main([file, "--override", override, "--override", "kafka.py.cpu.affinity=none"]) == 1
    assert "Exiting Kafka due to fatal exception" in caplog.messages
    assert words in (caplog.text)


@pytest.mark.parametrize(("affinity", "followed"), [("auto", 1), (" Auto", 1), ("none", 0), ("0", 0)])
def test_only_auto_follows_the_machine_and_ends_with_the_broker(
    file: str, affinity: str, followed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Follower:
        """One that was started, and is shut down."""

        def shutdown(self) -> None:
            calls.append("shutdown")

    def start(cores: list[int]) -> Follower:
        calls.append("start")
        return Follower()

    calls: list[str] = []
    monkeypatch.setattr(kafka, "pin_process", lambda value: "as asked")
    monkeypatch.setattr(AffinityFollower, "start_if_bound", start)
    assert Kafka.main([file, "--override", "broker.id=-5", "--override", f"kafka.py.cpu.affinity={affinity}"]) == 1
    assert calls == ["start", "shutdown"] * followed


def test_a_missing_file_ends_with_status_1(caplog: pytest.LogCaptureFixture) -> None:
    assert Kafka.main(["/no/such/file"]) == 1
    assert "/no/such/file does not exist. The configuration files that come with kafka_py are in " in caplog.text


def test_brokers_are_known_by_their_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        (11, "11 python bin/kafka-server-start.py config/server.properties"),
        (12, "12 python -m kafka_py.kafka other.properties"),
        (13, "13 vi kafka.py"),
        (14, "14 /venv/bin/python /venv/bin/kafka-server-start third.properties"),
        (15, "15 /venv/bin/python -P -m kafka_py.tools.launch kafka-server-start third.properties"),
        (16, "16 python bin/kafka-run-class.py kafka.Kafka third.properties"),
        (17, "17 java -cp x kafka.Kafka third.properties"),
        (18, "18 tail -f kafka-server-start.py.log kafka-server-startup"),
    ]
    killed: list[int] = []
    monkeypatch.setattr(kafka_server_stop, "processes", lambda: lines)
    monkeypatch.setattr(kafka_server_stop, "working_directory", {11: pathlib.Path("/srv/kafka")}.get)
    monkeypatch.setattr("os.kill", lambda pid, number: killed.append(pid))
    assert kafka_server_stop.main([]) == 0
    assert killed == [11, 12, 14, 15, 16]
    killed.clear()
    assert kafka_server_stop.main(["/etc/other.properties"]) == 0
    assert killed == [12]
    killed.clear()
    assert kafka_server_stop.main(["/srv/kafka/config/server.properties"]) == 0
    assert killed == [11]
    assert kafka_server_stop.main(["/elsewhere/server.properties"]) == 1
    assert capsys.readouterr().out == "No kafka server to stop\n"


def test_the_second_signal_hurries_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    done: list[str] = []
    startable = SimpleNamespace(shutdown=lambda: done.append("stop"), hurry_shutdown=lambda: done.append("hurry"))
    Kafka._register_signals(cast("Any", startable))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        handlers[number](number, None)
        for thread in threading.enumerate():
            if thread.name.startswith("kafka-shutdown-"):
                thread.join()
    assert done == ["stop", "hurry"]
