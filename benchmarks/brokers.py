"""Starts the brokers that are compared, each on a ZooKeeper of its own, or finds the one that runs already.

A specification is one of
    HOST:PORT[,pid=N]   a broker that runs; without its process id neither its processor time nor memory is known
    kafka_py            this working tree, its sources as they stand
    kafka_py,compiled   the same with the modules that bin/kafka-compile.py has made
    kafka_py@REVISION   the same of another revision, out of git; with ,compiled it is compiled first, a minute or two
    kafka_py[@REVISION][,compiled],python=PATH    under another interpreter that has its packages: builds of Python
                        differ a lot
    kafka-1.1.1         Apache Kafka of that version, by Maven, with a heap of 1 GB; needs Java, and mvn the first time
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import resource
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping

from benchmarks import frames
from benchmarks.frames import Address, BrokerError
from benchmarks.measure import process_rss_mb, process_threads
from benchmarks.raw_client import Connection
from kafka_py.testing.local_cluster import LocalCluster, LocalProcess
from kafka_py.tools.java_runtime import cache_dir, require_java
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 60.0
POLL_S = 0.002
RUNNING = re.compile(r"(?P<host>[^:,]+):(?P<port>\d+)(,pid=(?P<pid>\d+))?")
OURS = re.compile(r"kafka_py(@(?P<revision>[^,]+))?(?P<compiled>,compiled)?(,python=(?P<python>.+))?")
APACHE = re.compile(r"kafka-(?P<version>\d+\.\d+\.\d+)")
# What Kafka's own start script gives the JVM.
JVM_OPTIONS = (
    "-Xms1G",
    "-Xmx1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
LOG4J = """log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={file}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>benchmarks</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.12</artifactId><version>{version}</version>\
</dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-log4j12</artifactId><version>1.7.25</version></dependency>
  </dependencies>
</project>
"""


@dataclasses.dataclass(frozen=True)
class Program:
    """How a kind of broker is started: from its home and properties file to its command and environment."""

    command: Callable[[pathlib.Path, pathlib.Path], tuple[list[str], Mapping[str, str]]]
    properties: Mapping[str, str]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def apache_kafka_jars(version: str) -> pathlib.Path:
    """The folder of Apache Kafka's jars, fetched by Maven the first time. Raises RuntimeError."""
    folder = cache_dir() / f"kafka-{version}"
    jars = folder / "libs"
    if any(jars.glob("kafka_*.jar")) and any(jars.glob("slf4j-log4j12-*.jar")):
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise RuntimeError(f"Apache Kafka {version} is fetched with Maven: put mvn on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(POM.format(version=version))
    command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"Maven did not fetch Apache Kafka {version}:\n{done.stdout[-2000:]}")
    return jars


def apache_kafka(version: str) -> Program:
    jars = apache_kafka_jars(version)

    def command(home: pathlib.Path, properties: pathlib.Path) -> tuple[list[str], Mapping[str, str]]:
        log4j = home / "log4j.properties"
        log4j.write_text(LOG4J.format(file=home / "server.log"))
        options = [*JVM_OPTIONS, f"-Dlog4j.configuration=file:{log4j}", "-cp", f"{jars}/*"]
        return [str(require_java()), *options, "kafka.Kafka", str(properties)], {}

    return Program(command, {})


def kafka_py(tree: pathlib.Path, python: str, compiled: bool) -> Program:
    def command(home: pathlib.Path, properties: pathlib.Path) -> tuple[list[str], Mapping[str, str]]:
        return [python, str(tree / "bin" / "kafka-server-start.py"), str(properties)], {
            "LOG_DIR": str(home / "logs"),
            "PYTHONPATH": str(tree),
            ENVIRONMENT_VARIABLE: str(int(compiled)),
        }

    return Program(command, {"kafka.py.http.listener": "127.0.0.1:0"})


def export_revision(revision: str, folder: pathlib.Path) -> pathlib.Path:
    """The files of a revision in a folder. Raises CalledProcessError for one that git does not know."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


def compile_tree(tree: pathlib.Path, python: str) -> None:
    """Compile the request path of an exported revision: a minute or two. Raises CalledProcessError."""
    command = [python, "-m", "kafka_py.tools.compiled_build"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)


class Broker:
    """The broker of a specification; a context manager for one that is started here."""

    def __init__(self, spec: str, workdir: str | None = None, properties: Mapping[str, str] | None = None) -> None:
        """``properties`` come on top of those that every broker here is started with."""
        self.spec = spec
        self._properties = properties or {}
        self.pid: int | None = None
        self.ready_s = 0.0
        self.rss_idle_mb = 0.0
        self._workdir = workdir
        self._home: pathlib.Path | None = None
        self._cluster: LocalCluster | None = None
        self._process: LocalProcess | None = None
        self._command: list[str] = []
        self._environment: Mapping[str, str] = {}
        self._running = RUNNING.fullmatch(spec)
        if self._running:
            self.address = Address(self._running["host"], int(self._running["port"]))
            self.pid = int(self._running["pid"]) if self._running["pid"] else None
        elif not OURS.fullmatch(spec) and not APACHE.fullmatch(spec):
            forms = "kafka_py[@REVISION][,compiled][,python=PATH]"
            raise ValueError(f"{spec!r} is neither HOST:PORT nor {forms} nor kafka-X.Y.Z")

    @property
    def home(self) -> pathlib.Path:
        """Where a broker that was started here keeps its logs and, unless told otherwise, its data."""
        assert self._home is not None, "not started here"
        return self._home

    @property
    def zookeeper_connect(self) -> str:
        """Where the ZooKeeper of a broker that was started here listens."""
        assert self._cluster is not None, "not started here"
        return self._cluster.zookeeper_connect

    @property
    def is_ours_to_start(self) -> bool:
        return self._running is None

    @property
    def warm_up_s(self) -> float:
        """How long it should be under load before it is measured: long for a JVM."""
        return 20.0 if APACHE.fullmatch(self.spec) else 3.0

    @property
    def has_died(self) -> bool:
        return self._process is not None and not self._process.is_running

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _program(self, home: pathlib.Path) -> Program:
        apache, ours = APACHE.fullmatch(self.spec), OURS.fullmatch(self.spec)
        if apache:
            return apache_kafka(apache["version"])
        assert ours
        revision, python, compiled = ours["revision"], ours["python"] or sys.executable, ours["compiled"] is not None
        tree = export_revision(revision, home / "tree") if revision else ROOT
        if revision and compiled:
            compile_tree(tree, python)
        return kafka_py(tree, python, compiled)

    def start(self) -> Broker:
        """Start ZooKeeper and the broker; ready_s is the time from its start to its first answer."""
        if self._running:
            return self
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # for a load of many connections; they inherit it
        self._home = home = pathlib.Path(tempfile.mkdtemp(prefix="benchmark-", dir=self._workdir))
        try:
            program = self._program(home)
            self._cluster = LocalCluster(0, home=home)
            self._cluster.start_zookeeper()
            self.address = Address("127.0.0.1", free_port())
            properties = {
                "broker.id": "0",
                "listeners": f"PLAINTEXT://127.0.0.1:{self.address.port}",
                "log.dirs": str(home / "data"),
                "zookeeper.connect": self._cluster.zookeeper_connect,
                "offsets.topic.replication.factor": "1",
                "log.segment.delete.delay.ms": "100",
                **program.properties,
                **self._properties,
            }
            path = home / "server.properties"
            path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
            self._command, self._environment = program.command(home, path)
            process = self._start_process()
            self.rss_idle_mb = process_rss_mb(process.pid)
        except BaseException:
            self.stop()
            raise
        return self

    def _start_process(self) -> LocalProcess:
        """Start the broker on the home and properties that are there; back when it answers."""
        before = time.perf_counter()
        self._process = LocalProcess("broker", self._command, self.home, self._environment)
        self.pid = self._process.pid
        self._wait_until_ready(self._process)
        self.ready_s = time.perf_counter() - before
        return self._process

    def _wait_until_ready(self, process: LocalProcess) -> None:
        deadline = time.perf_counter() + START_TIMEOUT_S
        while True:
            try:
                with Connection(self.address, 5.0) as connection:
                    frames.parse_api_versions(connection.call(frames.api_versions_request()))
                    return
            except (OSError, struct.error, BrokerError) as error:
                if not process.is_running or time.perf_counter() > deadline:
                    raise RuntimeError(f"{self.spec} did not start ({error}):\n{process.text()[-3000:]}") from error
            time.sleep(POLL_S)

    @property
    def threads(self) -> int:
        return process_threads(self.pid) if self.pid else 0

    def stop(self) -> None:
        """Stop what was started here and remove its files."""
        if self._process is not None:
            self._process.stop(10)
        if self._cluster is not None:
            self._cluster.close()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
        self._process = self._cluster = self._home = None
