"""Run what the pages say "try it" to, against a real broker, and compare what they show.

    python tools/page_outputs.py            run the blocks of all pages and rewrite outputs that are stale
    python tools/page_outputs.py --check    change nothing; end with 1 if an output is stale

A block is run if it begins with a prompt: `$` for the shell, `>>>` for Python. One that cannot be run by a test stands
behind `<!-- not tested: why -->`. The blocks of a page run one after the other, in a folder of their own, on a
ZooKeeper and a broker of their own with config/server.properties, or in a lab of three brokers; ports and folders are
put in the place of those on the page, and back again. What changes from run to run (times, shares, checksums …) is
masked on both sides, and a line `...` stands for any number of lines. tests/integration/test_pages.py does the same.
"""

from __future__ import annotations

import contextlib
import doctest
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^(<!-- not tested: [^>]+ -->\n)?```\n((?:\$ |>>> ).*?)^```$", re.M | re.S)
PAGES = (
    "why-fast-and-available",
    "start-up-network-threads",
    "socket-server",
    "reading-writing-configuring",
    "the-produce-path",
    "groups",
    "transactions",
    "failover",
)
# Pages whose commands are typed into a lab of three brokers, broker 2 being the controller.
LABS = ("failover",)
LAB_OPTIONS = (
    "replica.lag.time.max.ms=1500",
    "zookeeper.session.timeout.ms=2000",
    "auto.leader.rebalance.enable=false",
)
# A topic of its own and its first records, where a page's text says that they are there.
BEFORE = {
    "groups": "bin/kafka-topics.py --zookeeper localhost:2181 --create --topic t --partitions 1 --replication-factor 1",
    "transactions": "bin/kafka-topics.py --zookeeper localhost:2181 --create --topic t --partitions 1 "
    "--replication-factor 1",
    "the-produce-path": "bin/kafka-topics.py --create --zookeeper localhost:2181 --replication-factor 1 --partitions 1 "
    "--topic test; seq 1 1000 | bin/kafka-console-producer.py --broker-list localhost:9092 --topic test",
    "reading-writing-configuring": "bin/kafka-topics.py --zookeeper localhost:2181 --create --topic t --partitions 1 "
    "--replication-factor 1",
}
MASKS = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", "TIME"),
    (r"CreateTime: \d+", "CreateTime: TIME"),
    (r"crc: \d+", "crc: CRC"),
    (r"(?<=\} )[01]\.\d+(?:e-\d+)?$", "SHARE"),
    (r"data-pl\.\.T?-9092", "data-pl..PORT"),
    (r"Cluster ID = \S{22}", "Cluster ID = ID"),
    (r"in \d+ ms", "in N ms"),
    (r"commitTimestamp=\d+", "commitTimestamp=TIME"),
    (r"pid \d+", "pid N"),
    (r"after \d+\.\d s", "after N s"),
    (r"(?<=Controller id=2 epoch=)\d+", "N"),
    (r"dir=/tmp/kafka_py-[^/]+/", "dir=LAB/"),
)
TIMEOUT_S = 60.0


class Block(NamedTuple):
    """A block that is run: where its text begins on the page, and the text."""

    start: int
    text: str


def blocks_of(page: str) -> list[Block]:
    """Those that are tested."""
    return [Block(found.start(2), found[2]) for found in BLOCK.finditer(page) if found[1] is None]


def steps_of(block: str) -> list[tuple[str, list[str]]]:
    """(command, lines it shows) of a shell block; a command goes on after a backslash and to a here-document's end."""
    steps: list[tuple[str, list[str]]] = []
    goes_on = ""
    for line in block.splitlines():
        if goes_on:
            steps[-1] = (f"{steps[-1][0]}\n{line}", [])
            goes_on = "" if line == goes_on or (goes_on == "\\" and not line.endswith("\\")) else goes_on
        elif line.startswith("$ "):
            steps.append((line[2:], []))
            here = re.search(r"<<'?(\w+)'?", line)
            goes_on = here[1] if here else "\\" if line.endswith("\\") else ""
        else:
            steps[-1][1].append(line)
    return steps


def masked(line: str) -> str:
    for pattern, name in MASKS:
        line = re.sub(pattern, name, line)
    return line.rstrip()


def is_as_shown(shown: list[str], said: list[str]) -> bool:
    """Whether the lines are those that a page shows, masks and `...` apart."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(masked(line)) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(masked(line) + "\n" for line in said)) is not None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class Session:
    """A folder with a ZooKeeper, a broker, and a shell to type into."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.ports = {port: free_port() for port in (9092, 2181, 9404)}
        self.broker_pid = 0
        self._started: list[subprocess.Popen[bytes]] = []
        for name in ("bin", "config", "kafka_py"):
            (folder / name).symlink_to(ROOT / name)

    def __enter__(self) -> Session:
        self._start("zookeeper-server", "zookeeper.properties", f"dataDir={self.folder}/zookeeper\nclientPort=2181\n")
        properties = (
            f"listeners=PLAINTEXT://:9092\nlog.dirs={self.folder}/kafka-logs\nkafka.py.http.listener=127.0.0.1:9404\n"
        )
        self.broker_pid = self._start("kafka-server", "server.properties", properties).pid
        deadline = time.monotonic() + TIMEOUT_S
        while "started (kafka.server.KafkaServer)" not in (self.folder / "broker.log").read_text():
            if time.monotonic() > deadline:
                raise TimeoutError((self.folder / "broker.log").read_text())
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            process.wait()

    def _start(self, program: str, config: str, more: str) -> subprocess.Popen[bytes]:
        own = {line.partition("=")[0] for line in more.splitlines()}
        lines = [
            line for line in (ROOT / "config" / config).read_text().splitlines() if line.partition("=")[0] not in own
        ]
        path = self.folder / config
        path.write_text(self.here("\n".join(lines) + "\n" + more))
        name = "broker.log" if program == "kafka-server" else f"{program}.log"
        environment = {**os.environ, "LOG_DIR": str(self.folder / "logs"), "KAFKA_PY_COMPILED": "0"}
        with open(self.folder / name, "wb") as log:
            command = [sys.executable, str(ROOT / "bin" / f"{program}-start.py"), str(path)]
            process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=environment)
        self._started.append(process)
        return process

    def here(self, text: str) -> str:
        """The text with the ports and folders of this session in place of the page's."""
        for shown, real in self.ports.items():
            text = re.sub(rf"\b{shown}\b", str(real), text)
        return text.replace("/tmp/kafka-logs", f"{self.folder}/kafka-logs")

    def there(self, text: str) -> str:
        """The text with the page's ports and folders."""
        for shown, real in self.ports.items():
            text = re.sub(rf"\b{real}\b", str(shown), text)
        return text.replace(f"{self.folder}/kafka-logs", "/tmp/kafka-logs")

    def type(self, command: str) -> list[str]:
        """What a shell says to a command."""
        path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "P": str(self.broker_pid), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "-c", self.here(re.sub(r"&$", "> background.log 2>&1 &", command))],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return self.there(done.stdout).splitlines()

    def replayed(self, block: str) -> str:
        """The block with what is said now, where that is not what it shows."""
        if block.startswith(">>> "):
            return self._replayed_python(block)
        out = []
        for command, shown in steps_of(block):
            said = self.type(command)
            out += [f"$ {command}", *(shown if is_as_shown(shown, said) else said)]
        return "\n".join(out) + "\n"

    def _replayed_python(self, block: str) -> str:
        command = [sys.executable, __file__, "--python"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command,
            input=self.here(block),
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        lines = block.splitlines(keepends=True)
        for first, count, said in reversed(json.loads(done.stdout)):
            lines[first : first + count] = [self.there(said)]
        return "".join(lines)


class LabSession(Session):
    """A folder with a lab of three brokers that runs, and a shell that has sourced its lab.env."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.ports = {}
        self._environment = ""

    def __enter__(self) -> Session:
        options = [word for option in LAB_OPTIONS for word in ("--override", option)]
        command = [sys.executable, str(ROOT / "bin/kafka-lab.py"), "--brokers", "3", "--port", "0", *options]
        with open(self.folder / "lab.log", "wb") as log:
            environment = {**os.environ, "KAFKA_PY_COMPILED": "0"}
            self._started.append(subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, env=environment))
        deadline = time.monotonic() + TIMEOUT_S
        while not (found := re.search(r"^  \. (\S+)", (self.folder / "lab.log").read_text(), re.M)):
            if time.monotonic() > deadline or self._started[0].poll() is not None:
                raise TimeoutError((self.folder / "lab.log").read_text())
            time.sleep(0.05)
        self._environment = f". {found[1]}; "
        self._make_controller(2)
        return self

    def _make_controller(self, broker: int) -> None:
        """Have one elected after the other until it is this broker."""
        while self.type("kafka-lab await_controller") != [f"await_controller: {broker}"]:
            self.type("zookeeper-shell $ZK delete /controller")

    def type(self, command: str) -> list[str]:
        # a log file begins anew with each hour
        return super().type(self._environment + re.sub(r"(\$L\d/[\w-]+\.log)\b", r"\1*", command))


def python_says(block: str) -> list[tuple[int, int, str]]:
    """Of the examples that say something else than the block: first line of the output, its lines, what is said."""
    found = []

    class Runner(doctest.DocTestRunner):
        def report_failure(self, out: object, test: object, example: doctest.Example, got: str) -> None:
            found.append((example.lineno + example.source.count("\n"), example.want.count("\n"), got))

        def report_unexpected_exception(
            self, out: object, test: object, example: doctest.Example, exc_info: tuple[object, object, object]
        ) -> None:
            self.report_failure(out, test, example, f"{exc_info[1]!r}\n")

    Runner().run(doctest.DocTestParser().get_doctest(block, {}, "page", None, 0), out=lambda text: None)
    return found


@contextlib.contextmanager
def session_for(page: str) -> Iterator[Session]:
    """A session in which has been done what the page begins with."""
    kind = LabSession if page in LABS else Session
    with tempfile.TemporaryDirectory(prefix="page-") as folder, kind(pathlib.Path(folder)) as session:
        if page in BEFORE:
            session.type(BEFORE[page])
        yield session


def replay(page: str, session: Session, text: str) -> str:
    """The page's text with what its blocks say now."""
    sys.path.insert(0, str(ROOT))
    for block in reversed([(b, session.replayed(b.text)) for b in blocks_of(text)]):
        (start, old), new = block
        text = text[:start] + new + text[start + len(old) :]
    return text


def main(arguments: list[str]) -> int:
    if arguments == ["--python"]:
        print(json.dumps(python_says(sys.stdin.read())))
        return 0
    stale = False
    for page in PAGES:
        path = ROOT / "docs" / f"{page}.md"
        text = path.read_text(encoding="utf-8")
        with session_for(page) as session:
            new = replay(page, session, text)
        if new != text:
            stale = True
            print(f"{path.name}: {'stale' if '--check' in arguments else 'refreshed'}")
            if "--check" not in arguments:
                path.write_text(new, encoding="utf-8")
    return int(stale and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
