"""Brokers for the tests of others: the fixtures in a pytest of their own, and the command that speaks JSON."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafka_py.testing.guardian import processes_of
from kafka_py.testing.local_cluster import BIN, ROOT
from tests.integration.clients import consume_confluent, produce
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, str(BIN / "kafka-test-cluster.py")]
PLUGIN = "kafka_py.testing.pytest_plugin"
TIMEOUT_S = 120

SOME_TESTS = """
import pytest

def test_one_that_breaks_the_shared_broker(kafka_broker):
    kafka_broker.kill(0)

def test_the_next_finds_it_running(kafka_broker):
    topic = kafka_broker.new_topic(partitions=2)
    assert set(kafka_broker.describe_topic(topic)) == {0, 1}
    assert topic is None, "see the log"

def test_without_brokers():
    assert False, "no log"

@pytest.mark.kafka(brokers=2, log_dirs=2, properties={"num.partitions": 3, "min.insync.replicas": 2})
def test_the_marker(kafka_cluster):
    found = kafka_cluster.broker(1).properties
    assert (found["num.partitions"], found["message.max.bytes"], len(kafka_cluster.brokers)) == ("3", "7000", 2)
    assert len(kafka_cluster.broker(0).log_dirs) == 2
    kafka_cluster.kill(1)
    kafka_cluster.stop(0)
    kafka_cluster.stop_zookeeper("stop")

@pytest.mark.kafka(properties={"num.partitions": "many"})
def test_what_does_not_start(kafka_cluster):
    pass
"""
CONFIGURATION = """[pytest]
kafka_properties =
    message.max.bytes=7000
    num.partitions=2
"""
HANGS = """
import threading

def test_hangs(kafka_cluster, kafka_broker):
    print("hangs", flush=True)
    threading.Event().wait()
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Where temporary files go; in the end no process serves from there, and no cluster's directory is left."""
    yield tmp_path
    wait_until(lambda: not list(processes_of(tmp_path)), what="the end of all processes")
    wait_until(lambda: not directories(tmp_path), what="the end of all directories")


def directories(folder: pathlib.Path) -> list[pathlib.Path]:
    """Those of clusters; the lock files of processors, which brokers leave, are none."""
    return [path for path in folder.glob("kafka_py-*") if path.is_dir()]


def environment(folder: pathlib.Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}


def pytest_command(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "--strict-markers", *options]


def run_pytest(folder: pathlib.Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A pytest of its own on a file with these tests."""
    (folder / "test_it.py").write_text(tests)
    (folder / "pytest.ini").write_text(
        "[pytest]\nkafka_properties =\n    message.max.bytes=7000\n    num.partitions=2\n"
    )
    command = pytest_command(*options, "test_it.py")
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def test_the_example_of_the_page(folder: pathlib.Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    [example] = [block for block in re.findall("```python\n(.*?)```", page, re.S) if "def test_" in block]
    done = run_pytest(folder, example)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_fixtures_markers_and_reports(folder: pathlib.Path) -> None:
    done = run_pytest(folder, SOME_TESTS, "-rA")
    found = {name: how for how, name in re.findall(r"^(PASSED|FAILED|ERROR) test_it.py::(\w+)", done.stdout, re.M)}
    assert found == {
        "test_one_that_breaks_the_shared_broker": "PASSED",
        "test_the_next_finds_it_running": "FAILED",
        "test_without_brokers": "FAILED",
        "test_the_marker": "PASSED",
        "test_what_does_not_start": "ERROR",
    }, done.stdout + done.stderr
    sections = re.findall(r"^-+ (kafka_\w+ \S+) -+$", done.stdout, re.M)
    assert sections == ["kafka_broker zookeeper", "kafka_broker broker-0"]
    log = re.split(r"^-+ kafka_broker broker-0 -+$", done.stdout, flags=re.M)[1].partition("____")[0]
    assert "Created log for partition topic-1-1" in log
    assert "[KafkaServer id=0] started" not in log, "it was started again before the test began"
    assert "The cluster did not start: broker-0 ended with 1" in done.stdout
    assert "many" in done.stdout.partition("did not start")[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_pytest_that_is_ended_leaves_nothing(folder: pathlib.Path, number: int) -> None:
    (folder / "test_it.py").write_text(HANGS)
    command = pytest_command("-s", "test_it.py")
    process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert any("hangs" in line for line in process.stdout)
        assert len(list(processes_of(folder))) == 6  # a ZooKeeper each, three brokers and one
        process.send_signal(number)


class Program:
    """The command as another program drives it."""

    def __init__(self, folder: pathlib.Path, command: Sequence[str] = COMMAND) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment(folder), stdin=pipe, stdout=pipe, text=True)

    def say(self, do: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": do, "do": do, **arguments}) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def do(self, do: str, **arguments: Any) -> Any:
        """What it gives; AssertionError for an error."""
        self.say(do, **arguments)
        answer = self.hear()
        assert answer == {"id": do, "ok": answer.get("ok")}
        return answer["ok"]

    def end(self) -> int:
        """Close its standard input; how it ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(TIMEOUT_S)


@pytest.fixture
def program(folder: pathlib.Path) -> Iterator[Program]:
    made = Program(folder)
    with made.process:
        yield made
        if made.process.poll() is None:
            made.process.terminate()


def test_a_program_kills_the_leader_and_waits_for_the_next(program: Program, folder: pathlib.Path) -> None:
    started = program.do(
        "start", brokers=3, properties={"min.insync.replicas": 2, "zookeeper.session.timeout.ms": 2000}
    )
    servers = started["bootstrap"]
    assert program.do("create_topic", topic="t", replicas=[0, 1, 2]) == "t"
    produce(servers, "t", [(None, b"before")])
    pid = started["brokers"][0]["pid"]
    assert pathlib.Path(f"/proc/{pid}").exists()
    program.do("kill", broker=0)
    assert not pathlib.Path(f"/proc/{pid}").exists()
    program.say("kill", broker=0)
    assert program.hear()["error"] == {"type": "Refused", "message": "Broker 0 has ended (SIGKILL)"}
    program.do("await_forgotten", broker=0)
    assert program.do("await_leader", topic="t", partition=0) in (1, 2)
    program.do("await_isr", topic="t", partition=0, isr=[2, 1])
    produce(servers, "t", [(None, b"after")])
    assert [row.value for row in consume_confluent(servers, "t", 1, 2)] == [b"before", b"after"]
    program.say("await_isr", topic="t", partition=0, isr=[0, 1, 2], timeout_s=0.1)
    assert program.hear()["error"]["type"] == "Timeout"
    program.do("start_broker", broker=0)
    program.do("await_no_under_replicated")
    assert [broker["state"] for broker in program.do("status")["brokers"]] == ["running"] * 3
    assert program.do("describe_topic", topic="t")["0"]["replicas"] == [0, 1, 2]
    program.do("delete_topic", topic="t")
    assert len(list(processes_of(folder))) == 4
    assert program.end() == 0
    assert list(processes_of(folder)) == []
    assert directories(folder) == []


def test_what_was_asked_for_is_done_before_the_end(folder: pathlib.Path) -> None:
    lines = ['{"do": "start"}', '{"do": "create_topic", "topic": "t"}', "?", '{"do": "status"}']
    done = subprocess.run(
        COMMAND, input="\n".join(lines), env=environment(folder), stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0
    assert [next(iter(set(json.loads(line)) - {"id"})) for line in done.stdout.splitlines()] == [
        "ok",
        "ok",
        "error",
        "ok",
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all_in_the_middle_of_a_wait(program: Program, number: int) -> None:
    program.do("start")
    program.say("await_isr", topic="t", partition=0, isr=[0], timeout_s=1000)
    program.process.send_signal(number)
    assert program.process.wait(TIMEOUT_S) == (143 if number == signal.SIGTERM else -number)


def test_the_end_of_the_parent_is_the_end(folder: pathlib.Path) -> None:
    """Whatever is being waited for, and though somebody else holds the command's standard input open."""
    parent = Program(folder, [sys.executable, "-c", "import subprocess, sys; subprocess.call(sys.argv[1:])", *COMMAND])
    with parent.process:
        parent.do("start")
        parent.say("await_isr", topic="t", partition=0, isr=[0], timeout_s=1000)
        parent.process.kill()
        parent.process.wait()
        wait_until(lambda: not list(processes_of(folder)), what="the end of all processes")
        assert parent.process.stdin is not None
        assert not parent.process.stdin.closed
