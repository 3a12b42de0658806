"""The lab says which form runs, and stays up while brokers come to their ends."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.lab import kafka_lab
from kafka_py.lab.kafka_lab import KafkaLab, create_topic, default_file, form_line, parse, replication_factor
from kafka_py.testing.local_cluster import LocalProcess
from kafka_py.utils.compiled import Form


class Stop:
    """Waits for Ctrl-C: what happens meanwhile, turn by turn; after the last turn it comes."""

    def __init__(self, *turns: Any) -> None:
        self.turns = list(turns)

    def await_(self, timeout_ms: float) -> bool:
        if not self.turns:
            return True
        self.turns.pop(0)()
        return False


def cluster_of(count: int) -> Any:
    brokers = [
        SimpleNamespace(
            id=i,
            home=pathlib.Path(f"/home/broker-{i}"),
            process=SimpleNamespace(is_running=True, how_it_ended="SIGKILL", output=f"broker-{i}.out"),
        )
        for i in range(count)
    ]
    return SimpleNamespace(brokers=brokers, bootstrap_servers="b:1", zookeeper_connect="z:1")


def stay_up(cluster: Any, *turns: Any) -> Stop:
    lab: Any = KafkaLab(parse([]))
    lab._stop = Stop(*turns)
    lab._stay_up(cluster)
    stop: Stop = lab._stop
    return stop


def kill(cluster: Any, id: int) -> Any:
    return lambda: setattr(cluster.brokers[id].process, "is_running", False)


def nothing() -> None:
    """A turn without events."""


def test_a_killed_broker_leaves_the_rest_up(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = cluster_of(3)
    stop = stay_up(cluster, nothing, kill(cluster, 0), nothing, nothing)
    assert stop.turns == [], "until Ctrl-C"
    said = capsys.readouterr().out
    assert said.count("has ended") == 1
    assert "Broker 0 has ended (SIGKILL); its last words are in broker-0.out" in said
    assert "Brokers 1, 2 and ZooKeeper stay up" in said
    assert "bin/kafka-server-start.py /home/broker-0/server.properties" in said


def test_the_lab_ends_with_its_last_broker(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = cluster_of(2)
    stop = stay_up(cluster, kill(cluster, 1), nothing, kill(cluster, 0), nothing, nothing)
    assert len(stop.turns) == 2
    said = capsys.readouterr().out
    assert "Broker 0 and ZooKeeper stay up" in said
    assert "Broker 0 has ended (SIGKILL)" in said
    assert "No broker is left" in said


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

    monkeypatch.setattr(kafka_lab, "AdminClient", Admin)
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
