"""A ZooKeeper and some brokers on this machine, each a process of its own, started by the commands that users have.

Used by the lab, the integration tests and the benchmarks. Nothing here knows the broker's insides: processes are
started, watched through what they print, and stopped or killed by signals.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType

from kafka_py.common.utils.time import Time
from kafka_py.utils.installation import HERE

ROOT = HERE.root
BIN = ROOT / "bin"
STARTED = re.compile(r"\[KafkaServer id=\d+\] started")
LISTENING = re.compile(r"Awaiting socket connections on \S*?:(\d+)")
METRICS = re.compile(r"Metrics at http://[^:]+:(\d+)")
ZOOKEEPER_LISTENING = re.compile(r"binding to port \S*?:(\d+)")
# Metadata, version 1, of no topic: size, key, version, correlation id, no client id, no topic.
_METADATA_REQUEST = struct.pack(">ihhihi", 14, 3, 1, 0, -1, 0)
# The name of the listener for the other brokers, where there is one of its own.
INTERNAL = "INTERNAL"
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60


class LocalProcess:
    """One child process whose output goes to a file that can be read while it runs."""

    def __init__(self, name: str, command: Sequence[str], home: pathlib.Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.output = home / f"{name}.out"
        self._time = Time.SYSTEM
        with open(self.output, "ab") as out:
            self._process = subprocess.Popen(
                command,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                # Compiled once for all starts, whatever the caller's own habit.
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def is_stopped(self) -> bool:
        """Whether it is held by SIGSTOP; False once it has ended."""
        try:
            return pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except FileNotFoundError:
            return False

    @property
    def how_it_ended(self) -> str:
        """The signal that ended it or its exit status, for people; RuntimeError while it runs."""
        status = self._process.poll()
        if status is None:
            raise RuntimeError(f"{self.name} is running")
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def text(self) -> str:
        """Everything it has printed since its first start in this directory."""
        return self.output.read_text(errors="replace")

    def wait_for(self, pattern: re.Pattern[str], since: int = 0, timeout_s: float = START_TIMEOUT_S) -> re.Match[str]:
        """Wait until it prints something that matches, behind the character ``since`` of its output.

        Raises RuntimeError with the end of its output when it ends first or the time is up.
        """
        deadline = self._time.milliseconds() + timeout_s * 1000
        while True:
            ended = not self.is_running
            found = pattern.search(self.text(), since)
            if found:
                return found
            if ended or self._time.milliseconds() > deadline:
                what = f"ended with {self._process.returncode}" if ended else "did not say"
                raise RuntimeError(f"{self.name} {what} before {pattern.pattern!r}:\n{self.text()[since:][-4000:]}")
            self._time.sleep(10)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self.is_running:
            self._process.kill()
        self._process.wait()

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> int:
        """SIGTERM, then wait; gives the exit code. What does not stop in time is killed and reported as -9."""
        if self.is_running:
            self._process.terminate()
            self._process.send_signal(signal.SIGCONT)  # one held by SIGSTOP could not obey
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL


class LocalBroker:
    """One broker: its properties, its directories, and the process that runs it, if any."""

    def __init__(self, id: int, home: pathlib.Path, properties: Mapping[str, str]) -> None:
        self.id = id
        self.home = home
        self.properties = dict(properties)
        self.port = 0  # thread: of its owner
        self.internal_port = 0  # thread: of its owner
        self.metrics_port = 0  # thread: of its owner
        self._since = 0  # thread: of its owner
        self._process: LocalProcess | None = None  # thread: of its owner
        home.mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log_dirs(self) -> list[pathlib.Path]:
        return [pathlib.Path(part) for part in self.properties["log.dirs"].split(",")]

    @property
    def logs(self) -> pathlib.Path:
        """The folder of server.log, controller.log, state-change.log …"""
        return self.home / "logs"

    @property
    def was_started(self) -> bool:
        return self._process is not None

    @property
    def process(self) -> LocalProcess:
        """The running (or last) process; RuntimeError before the first start."""
        if self._process is None:
            raise RuntimeError(f"broker {self.id} was never started")
        return self._process

    def start(self, environment: Mapping[str, str] | None = None) -> LocalBroker:
        """Start the broker and wait until it serves. Ports it got by chance are kept for its next start."""
        self.begin(environment)
        self.wait_until_it_serves()
        self.wait_until_it_knows(1)
        return self

    def begin(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the process, and wait for nothing."""
        path = self.home / "server.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))
        self._since = len(self._process.text()) if self._process is not None else 0
        command = [*HERE.command_line("kafka-server-start"), str(path)]
        env = {"LOG_DIR": str(self.logs), **(environment or {})}
        self._process = LocalProcess(f"broker-{self.id}", command, self.home, env)

    def wait_until_it_serves(self) -> None:
        """Wait until it says so, and remember its ports. Raises RuntimeError when it ends before."""
        process, since = self.process, self._since
        process.wait_for(STARTED, since)
        self.port, *others = (int(found[1]) for found in LISTENING.finditer(process.text(), since))
        listeners = f"PLAINTEXT://127.0.0.1:{self.port}"
        if INTERNAL in self.properties["listeners"]:
            self.internal_port = others[0]
            listeners += f",{INTERNAL}://127.0.0.1:{self.internal_port}"
        self.properties["listeners"] = listeners
        found = METRICS.search(process.text(), since)
        self.metrics_port = int(found[1]) if found else 0
        if found:
            self.properties["kafka.py.http.listener"] = f"127.0.0.1:{self.metrics_port}"

    def wait_until_it_knows(self, count: int) -> None:
        """Wait until the controller has told it of `count` brokers; RuntimeError when it ends or the time is up.

        Whoever asks earlier may be told of fewer, and librdkafka's admin client asks again only after seconds.
        """
        deadline = Time.SYSTEM.milliseconds() + START_TIMEOUT_S * 1000
        while True:
            ended = not self.process.is_running
            if self._brokers_in_metadata() >= count:
                return
            if ended or Time.SYSTEM.milliseconds() > deadline:
                what = "ended before it was" if ended else "was not"
                raise RuntimeError(f"broker {self.id} {what} told of {count} broker(s) by the controller")
            Time.SYSTEM.sleep(5)

    def _brokers_in_metadata(self) -> int:
        """How many brokers it names: behind size and correlation id of its answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), START_TIMEOUT_S) as connection:
                connection.sendall(_METADATA_REQUEST)
                with connection.makefile("rb") as answer:
                    return int.from_bytes(answer.read(12)[8:], "big")
        except OSError:
            return 0


class LocalCluster:
    """A context manager: one ZooKeeper and N brokers in a temporary or given directory.

    zookeeper is "embedded", "real" (Apache ZooKeeper, needs a Java runtime) or the connect string of one that runs.
    port is the first broker's; the others take the next ones. 0 lets the system choose.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        zookeeper: str = "embedded",
        home: pathlib.Path | None = None,
        properties: Mapping[str, str] | None = None,
        log_dirs: int = 1,
    ) -> None:
        self._temporary = home is None
        self.home = home or pathlib.Path(tempfile.mkdtemp(prefix="kafka_py-"))
        self._zookeeper_kind = zookeeper
        self.zookeeper: LocalProcess | None = None  # thread: of its owner
        self.zookeeper_connect = "" if zookeeper in ("embedded", "real") else zookeeper  # thread: of its owner
        self.brokers = [
            LocalBroker(id, self.home / f"broker-{id}", self._properties(id, port, log_dirs, properties or {}))
            for id in range(brokers)
        ]

    def _properties(self, id: int, port: int, log_dirs: int, more: Mapping[str, str]) -> dict[str, str]:
        home = self.home / f"broker-{id}"
        return {
            "broker.id": str(id),
            "listeners": f"PLAINTEXT://127.0.0.1:{port + id if port else 0}",
            "log.dirs": ",".join(str(home / f"data-{n}") for n in range(log_dirs)),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "kafka.py.http.listener": "127.0.0.1:0",
            **more,
        }

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(broker.address for broker in self.brokers)

    def __enter__(self) -> LocalCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> LocalCluster:
        try:
            if not self.zookeeper_connect:
                self.start_zookeeper()
            for broker in self.brokers:  # all at once: most of a start is one processor's work
                broker.properties["zookeeper.connect"] = self._zookeeper_connect_of(broker)
                broker.begin()
            for broker in self.brokers:
                broker.wait_until_it_serves()
            for broker in self.brokers:
                broker.wait_until_it_knows(len(self.brokers))
        except BaseException:
            self.close()
            raise
        return self

    def _zookeeper_connect_of(self, broker: LocalBroker) -> str:
        """Where a broker finds ZooKeeper."""
        return self.zookeeper_connect

    def start_zookeeper(self, port: int = 0) -> None:
        """Start ZooKeeper on the port (0 = any free one) over the cluster's own data directory."""
        path = self.home / "zookeeper.properties"
        real = self._zookeeper_kind == "real"
        chosen = port or (_free_port() if real else 0)
        path.write_text(
            f"dataDir={self.home / 'zookeeper'}\nclientPort={chosen}\nclientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\ntickTime=500\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
        )
        command = [*HERE.command_line("zookeeper-server-start"), *(["--real"] if real else []), str(path)]
        since = len(self.zookeeper.text()) if self.zookeeper is not None else 0
        self.zookeeper = LocalProcess("zookeeper", command, self.home, {"LOG_DIR": str(self.home / "zk-logs")})
        bound = int(self.zookeeper.wait_for(ZOOKEEPER_LISTENING, since)[1])
        self.zookeeper_connect = f"127.0.0.1:{bound}"

    def close(self) -> None:
        """Stop everything, brokers first, and remove the directory if it was a temporary one."""
        for broker in self.brokers:
            if broker.was_started and broker.process.is_running:
                broker.process.stop()
        if self.zookeeper is not None:
            self.zookeeper.stop()
        if self._temporary:
            shutil.rmtree(self.home, ignore_errors=True)


def _free_port() -> int:
    """A port nobody listens on now; only for servers that cannot be asked to choose one."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port
