"""A lab of three brokers, and another terminal from which they are killed, stopped and started while records flow."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from kafka_py.testing.local_cluster import BIN
from tests.integration.support import wait_until

pytestmark = pytest.mark.slow

# Shorter than usual, for what the experiments wait for: that ZooKeeper forgets a broker, and leaders a follower.
SOON = ("--override", "zookeeper.session.timeout.ms=2000", "--override", "replica.lag.time.max.ms=2000")


class Terminal:
    """A shell that has sourced the lab's lab.env, in the folder of the clone."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.environment = {**os.environ, "TMPDIR": str(folder)}

    def run(self, script: str) -> tuple[int, str]:
        """The script's exit code, and everything it said."""
        script = f'eval "$(bin/kafka-lab.py env)"; {script}'
        command = subprocess.run(
            ["bash", "-c", script], cwd=BIN.parent, env=self.environment, capture_output=True, text=True, timeout=60
        )
        return command.returncode, command.stdout + command.stderr

    def lab(self, line: str) -> str:
        code, said = self.run(f"bin/kafka-lab.py {line}")
        assert code == 0, said
        return said

    def described(self) -> list[tuple[str, set[str]]]:
        """Leader and ISR of each partition of the lab's topic."""
        code, said = self.run("bin/kafka-topics.py --describe --zookeeper $ZK --topic lab")
        assert code == 0, said
        rows = [dict(zip((words := line.split())[::2], words[1::2], strict=True)) for line in said.splitlines()[1:]]
        return [(row["Leader:"], set(row["Isr:"].split(","))) for row in rows]

    def wait_for(self, isr: str, what: str) -> None:
        """Until each partition has these in sync, and is led by one of them."""
        wanted = set(isr.split(","))
        wait_until(lambda: all(have == wanted and leader in wanted for leader, have in self.described()), 30, what)


Record = tuple[int | None, int | None, bytes | None]


def record(message: Message) -> Record:
    return message.partition(), message.offset(), message.value()


def records_up_to(servers: str, wanted: set[Record]) -> set[Record]:
    """Everything in the lab's topic, in each partition at least as far as the last one wanted.

    There may be more than what was acknowledged: what was sent again because the answer was lost.
    """
    last = {partition: max(offset or 0 for p, offset, _ in wanted if p == partition) for partition, _, _ in wanted}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "lab", "enable.auto.commit": False})
    found: set[Record] = set()
    try:
        consumer.assign([TopicPartition("lab", partition or 0, 0) for partition in last])
        while last:
            messages = consumer.consume(1000, timeout=20)
            assert messages, f"nothing comes before {last}"
            for message in messages:
                assert message.error() is None
                found.add(record(message))
                if (message.offset() or 0) >= last.get(message.partition(), 1 << 62):
                    del last[message.partition()]
    finally:
        consumer.close()
    return found


class Flow:
    """Produces until it is told to end; every record must be acknowledged by all replicas in sync."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.acknowledged: set[Record] = set()
        self.failed: list[KafkaError] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Flow:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "enable.idempotence": False})
        number = 0
        while not self._end.is_set():
            producer.produce("lab", b"flow %d" % number, on_delivery=self._delivered)
            number += 1
            producer.poll(0.01)
        producer.flush(30)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
        else:
            self.acknowledged.add(record(message))


@pytest.fixture
def lab(tmp_path: pathlib.Path) -> Iterator[subprocess.Popen[str]]:
    """A lab of three brokers that has said how it is reached; its output is in tmp_path/said."""
    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(b"line %d\n" % i for i in range(100)))
    command = [sys.executable, str(BIN / "kafka-lab.py"), "--brokers", "3", "--port", "0", *SOON, str(lines)]
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, text=True, env=Terminal(tmp_path).environment)
    try:
        wait_until(lambda: process.poll() is not None or [*tmp_path.glob("kafka_py-*/lab.env")], 60, "the lab")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def test_brokers_come_and_go_while_the_lab_stays_up(lab: subprocess.Popen[str], tmp_path: pathlib.Path) -> None:
    terminal = Terminal(tmp_path)
    _, servers = terminal.run("echo $BROKERS")
    with Flow(servers.strip()) as flow:
        assert "is killed" in terminal.lab("kill 1")
        assert terminal.run("bin/kafka-lab.py kill 1")[0] == 1, "it is dead already"
        terminal.wait_for("0,2", "the partitions move")
        assert "Broker 1 serves again" in terminal.lab("start_broker 1")
        terminal.wait_for("0,1,2", "the broker is back in the ISR")

        # as the pages do it, by process id
        terminal.run("kill -STOP $P2")
        assert "broker 2: is stopped" in terminal.lab("status")
        terminal.wait_for("0,1", "the one that hangs is left behind")
        assert "goes on" in terminal.lab("cont 2")
        terminal.wait_for("0,1,2", "it catches up")

        assert "exit status 0" in terminal.lab("term 0")
        terminal.lab("start_broker 0")
        terminal.wait_for("0,1,2", "all are in sync again")
        logs = "$L0/controller.log* $L1/controller.log* $L2/controller.log*"  # a new one begins with each hour
        code, elected = terminal.run(f"grep -h 'successfully elected as the controller' {logs}")
        assert code == 0
    assert len(elected.splitlines()) >= 2
    assert flow.failed == []
    assert flow.acknowledged
    assert flow.acknowledged <= records_up_to(servers.strip(), flow.acknowledged)

    lab.send_signal(signal.SIGINT)
    assert lab.wait(60) == 0
    said = (tmp_path / "said").read_text()
    for line in ("Broker 1 has ended (SIGKILL)", "Broker 1 is back", "Broker 2 is stopped", "Broker 2 goes on"):
        assert line in said
    assert not any(path.is_dir() for path in tmp_path.glob("kafka_py-*")), "nothing is left of it"
