"""The lab says which form runs, and stays up while brokers come to their ends."""

from __future__ import annotations

import pathlib
import signal
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.lab import kafka_lab, round_trip
from kafka_py.lab.kafka_lab import KafkaLab, default_file, form_line, main, parse, parse_command, replication_factor
from kafka_py.lab.round_trip import create_topic
from kafka_py.testing.local_cluster import LocalProcess
from kafka_py.utils.compiled import Form
from tests.lab.fakes import cluster_of


class Stop:
    """Waits for Ctrl-C: what happens meanwhile, turn by turn; after the last turn it comes."""

    def __init__(self, *turns: Callable[[], object]) -> None:
        self.turns = list(turns)

    def await_(self, timeout_ms: float) -> bool:
        if not self.turns:
            return True
        self.turns.pop(0)()
        return False


def stay_up(cluster: Any, monkeypatch: pytest.MonkeyPatch, *turns: Callable[[], object]) -> Stop:
    monkeypatch.setattr(kafka_lab, "_TURN_MS", 1)
    lab: Any = KafkaLab(parse([]))
    lab._stop = Stop(*turns)
    lab._stay_up(cluster)
    stop: Stop = lab._stop
    return stop


def nothing() -> None:
    """A turn without events."""


def test_the_lab_stays_up_whatever_becomes_of_its_brokers(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = cluster_of(2, tmp_path)
    first, second = (broker.process for broker in cluster.brokers)
    turns = (nothing, first.kill, nothing, second.kill, cluster.brokers[0].start, nothing)
    assert stay_up(cluster, monkeypatch, *turns).turns == [], "until Ctrl-C"
    said = capsys.readouterr().out
    assert "  bin/kafka-lab.py kill 1 " in said
    assert f"  . {tmp_path}/lab.env " in said
    assert said.count("has ended") == 2
    assert "Broker 0 is back: pid 200" in said


def test_commands_of_another_terminal(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = cluster_of(2, tmp_path)
    codes: list[int] = []

    def from_another_terminal(*words: str) -> Callable[[], None]:
        thread = threading.Thread(target=lambda: codes.append(main([*words, "--lab", str(tmp_path)])))
        return thread.start

    def until(count: int) -> Callable[[], None]:
        def give_time() -> None:
            if len(codes) < count:
                stop.turns.insert(0, give_time)

        return give_time

    stop = Stop(from_another_terminal("stop", "0"), until(1), from_another_terminal("stop", "0"), until(2))
    monkeypatch.setattr(kafka_lab, "_TURN_MS", 1)
    lab: Any = KafkaLab(parse([]))
    lab._stop = stop
    lab._stay_up(cluster)
    assert codes == [0, 1]
    said = capsys.readouterr().out.splitlines()
    assert "Broker 0, pid 100, is stopped" in said
    assert "Broker 0 is stopped already" in said


def test_where_no_lab_runs(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kill", "1", "--lab", str(tmp_path)]) == 3
    assert capsys.readouterr().err == f"kafka-lab: No lab runs in {tmp_path}\n"


@pytest.mark.parametrize("args", [["kill"], ["kill", "one"], ["status", "1"], ["--override", "listeners"]])
def test_a_command_line_that_makes_no_sense(args: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(args)


def test_properties_of_all_brokers() -> None:
    given = parse(["--override", "a=b=c", "--override", "d="]).override
    assert given == [("a", "b=c"), ("d", "")]


def test_help_tells_of_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "  stop N         SIGSTOP: " in capsys.readouterr().out


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_topics_survive_a_broker_where_there_are_several(
    brokers: int, replicas: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[tuple[str, int, int]] = []

    class Admin:
        """Knows what it was asked for."""

        def __init__(self, conf: dict[str, str]) -> None:
            assert conf["bootstrap.servers"] == "b:1"

        def create_topics(self, topics: list[Any]) -> dict[str, Any]:
            created.extend((t.topic, t.num_partitions, t.replication_factor) for t in topics)
            return {t.topic: SimpleNamespace(result=lambda timeout: None) for t in topics}

    monkeypatch.setattr(round_trip, "AdminClient", Admin)
    create_topic("b:1", "lab", 4, replication_factor(brokers))
    assert created == [("lab", 4, replicas)]


def test_how_a_process_has_ended(tmp_path: pathlib.Path) -> None:
    exited = LocalProcess("exited", ["sh", "-c", "exit 3"], tmp_path, {})
    killed = LocalProcess("killed", ["sleep", "60"], tmp_path, {})
    with pytest.raises(RuntimeError, match="killed is running"):
        assert killed.how_it_ended
    killed.kill()
    exited._process.wait()
    assert (exited.how_it_ended, killed.how_it_ended) == ("exit status 3", "SIGKILL")


def test_a_process_is_stopped_and_can_be_ended_all_the_same(tmp_path: pathlib.Path) -> None:
    process = LocalProcess("stopped", ["sleep", "60"], tmp_path, {})
    seen = [process.is_stopped]
    process.signal(signal.SIGSTOP)
    while not process.is_stopped:
        assert process.is_running
    assert process.stop() == -signal.SIGTERM
    assert [*seen, process.is_stopped] == [False, False]


@pytest.mark.parametrize(
    ("form", "how"),
    [
        ("85 compiled modules", "KAFKA_PY_COMPILED=0 runs the sources"),
        (Form.NOT_BUILT.value, "run bin/kafka-compile.py"),
        (Form.STALE.value, "run bin/kafka-compile.py"),
        (Form.SWITCHED_OFF.value, "without KAFKA_PY_COMPILED=0 compiled modules are used"),
    ],
)
def test_which_form_runs_and_how_to_get_the_other(form: str, how: str) -> None:
    said = form_line(f"first\n[2018-07-06 00:00:00,000] INFO Request path: {form} (kafka.Kafka$)\nlast\n")
    assert said.startswith(f"Request path: {form}; ")
    assert how in said
    assert "\n" not in said


def test_the_readme_of_the_clone_is_sent() -> None:
    assert default_file().name == "README.md"
    assert default_file().is_file()


@pytest.mark.parametrize(
    ("line", "words", "lab"),
    [
        ("kill 1", ["kill", "1"], None),
        ("status --lab /x", ["status"], "/x"),
        ("cut 0 zookeeper --one-way --lab /x", ["cut", "0", "zookeeper", "--one-way"], "/x"),
        ("await_isr lab 0 isr=0,2", ["await_isr", "lab", "0", "isr=0,2"], None),
    ],
)
def test_words_for_a_lab_that_runs(line: str, words: list[str], lab: str | None) -> None:
    assert parse_command(line.split()) == (words, lab)


@pytest.mark.parametrize("line", ["kill", "kill one", "kill 1 --gently", "status 1"])
def test_words_that_no_lab_would_understand(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_command(line.split())
    assert "usage: " in capsys.readouterr().err


def test_the_help_of_a_verb_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_command(["cut", "--help"])
    said = capsys.readouterr().out
    assert "kafka-lab.py cut a b [one_way] [--lab DIR]" in said
    assert "Let nothing pass between two ends" in said
