"""The clients of the conformance suite: how each is made ready and run, and the table of docs/clients.md.

What is fetched or built is kept outside the repository, under the cache directory that Apache Kafka's jars are in. The
names of its folders have a checksum of what they were made from.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_py.testing.local_cluster import ROOT, LocalCluster
from kafka_py.tools.java_runtime import find_java
from tests.interop.apache_kafka import CENTRAL, UnavailableError, cache_dir
from tests.interop.clients.steps import STEPS

HERE = pathlib.Path(__file__).parent
PAGE = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- the table: tools/client_table.py -->\n", "<!-- end of the table -->\n"
AT_ONCE = 2
RUN_S = 150.0
MAKE_S = 280.0
SLF4J = ("org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar", "org/slf4j/slf4j-nop/1.7.36/slf4j-nop-1.7.36.jar")
JAVA_OPTIONS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# A rebalance waits for nobody, and internal topics are as they are in a cluster of three.
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "4",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "6",
}


class Result(NamedTuple):
    """A step of a client: ok is True, False or "skipped"."""

    step: str
    ok: bool | str
    why: str
    ms: int


class Client(NamedTuple):
    """Its name on the page, and what makes the command that the bootstrap servers are added to.

    Steps that fail may be tried once more where the client has a race of its own, which is told here.
    """

    name: str
    command: Callable[[], Sequence[str]]
    race: str = ""


def cluster(home: pathlib.Path) -> LocalCluster:
    """Three of our brokers, not started."""
    return LocalCluster(3, home=home, properties=PROPERTIES)


def needed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise UnavailableError(f"{program} is not installed")
    return found


def made(name: str, sources: Iterable[pathlib.Path], make: Callable[[pathlib.Path], None], *more: str) -> pathlib.Path:
    """The folder that was made from these sources, now or earlier."""
    digest = hashlib.sha256("".join(more).encode())
    for source in sorted(sources):
        digest.update(source.read_bytes())
    folder = cache_dir() / "clients" / f"{name}-{digest.hexdigest()[:12]}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        (folder / "made").touch()
    return folder


def run_to_make(command: Sequence[str], folder: pathlib.Path) -> None:
    """UnavailableError when it cannot fetch what it needs."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MAKE_S)
    except subprocess.TimeoutExpired as e:
        raise UnavailableError(f"{command[0]} did not end within {MAKE_S} s") from e
    if done.returncode:
        raise UnavailableError(f"{' '.join(command)}:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")


def python(module: str) -> Sequence[str]:
    return [sys.executable, "-m", f"tests.interop.clients.{module}"]


def kcat() -> Sequence[str]:
    if shutil.which("kafkacat") is None:
        needed("kcat")
    return python("kcat_client")


def _fetch(path: str, folder: pathlib.Path) -> None:
    try:
        with urllib.request.urlopen(f"{CENTRAL}/{path}", timeout=60) as answer:
            (folder / path.rpartition("/")[2]).write_bytes(answer.read())
    except OSError as e:
        raise UnavailableError(f"{path}: {e}") from e


def java(version: str) -> Sequence[str]:
    """The one source, compiled against the jar of the version."""
    program, compiler = find_java(), needed("javac")
    if program is None:
        raise UnavailableError("there is no Java")
    era = "older" if version.startswith("1.") else "newer"
    sources = [HERE / "java" / name for name in ("Conformance.java", "Era.java", f"{era}/ThisEra.java")]
    jar = f"org/apache/kafka/kafka-clients/{version}/kafka-clients-{version}.jar"

    def make(folder: pathlib.Path) -> None:
        for path in (jar, *SLF4J):
            _fetch(path, folder)
        run_to_make([compiler, "-nowarn", "-cp", "*", "-d", ".", *map(str, sources)], folder)

    folder = made(f"java-{version}", sources, make, jar, *SLF4J)
    return [str(program), *JAVA_OPTIONS, "-cp", f"{folder}/*:{folder}", "Conformance"]


def go(package: str) -> Sequence[str]:
    """A program of the Go module beside this file."""
    program = needed("go")
    sources = [path for path in (HERE / "go").rglob("*") if path.suffix in (".go", ".mod", ".sum")]

    def make(folder: pathlib.Path) -> None:
        run_to_make([program, "build", "-C", str(HERE / "go"), "-o", str(folder), f"./{package}"], folder)

    return [str(made(f"go-{package}", sources, make) / package)]


def node(script: str) -> Sequence[str]:
    """A script of the node package beside this file."""
    program, npm = needed("node"), needed("npm")
    sources = [path for path in (HERE / "node").iterdir() if path.suffix in (".json", ".mjs")]

    def make(folder: pathlib.Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        run_to_make([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder)

    return [program, str(made("node", sources, make) / script)]


def driven(program: Sequence[str]) -> Sequence[str]:
    """The steps, taken by a program in another language that does what they say."""
    return [*python("driven_client"), shlex.join(program)]


CLIENTS = (
    Client("confluent-kafka", lambda: python("confluent_kafka_client")),
    Client(
        "kafka-python",
        lambda: python("kafka_python_client"),
        race="a join that ends between two polls is not noticed, and the member joins anew",
    ),
    Client("aiokafka", lambda: python("aiokafka_client")),
    Client("kcat", kcat),
    Client("Java 1.1.1", lambda: java("1.1.1")),
    Client("Java 2.8.2", lambda: java("2.8.2")),
    Client("Java 3.9.1", lambda: java("3.9.1")),
    Client("Java 4.1.1", lambda: java("4.1.1")),
    Client("franz-go", lambda: driven(go("franz"))),
    Client("Sarama", lambda: driven(go("sarama"))),
    Client("KafkaJS", lambda: driven(node("kafkajs.mjs"))),
    Client("@platformatic/kafka", lambda: driven(node("platformatic.mjs"))),
)


def run(client: Client, bootstrap_servers: str) -> list[Result]:
    """Run all steps; a step that did not come is a failed one. Raises UnavailableError."""
    command = [*client.command(), bootstrap_servers]
    found = _results(command)
    failed = [result.step for result in found.values() if not result.ok]
    if failed and client.race:
        found |= _results([*command, *failed])
    return [found.get(step, Result(step, False, "nothing came", 0)) for step in STEPS]


def _results(command: Sequence[str]) -> dict[str, Result]:
    """What came, by step; what else went wrong is printed."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=RUN_S)
        out = done.stdout
        if done.returncode:
            print(f"{command} ended with {done.returncode}: {done.stderr[-1500:]}")
    except subprocess.TimeoutExpired as e:
        out = (e.stdout or b"").decode()
        print(f"{command} did not end within {RUN_S} s")
    found = {}
    for line in out.splitlines():
        if line.startswith("{"):
            result = Result(**json.loads(line))
            found[result.step] = result
    return found


def cell(result: Result) -> str:
    """What the page says of a step: nothing where it passes, else the reason."""
    if result.ok is True:
        return ""
    return result.why if result.ok == "skipped" else f"FAILS: {result.why}"


def render(cells: Mapping[str, Mapping[str, str]]) -> str:
    """The table, and under it the reasons; cells are by client and step."""
    lines = [f"| step | {' | '.join(cells)} |", f"|---|{'---|' * len(cells)}"]
    reasons: dict[str, int] = {}
    for step in STEPS:
        row = []
        for told in cells.values():
            why = told[step]
            row.append(f"[{reasons.setdefault(why, len(reasons) + 1)}]" if why else "passes")
        lines.append(f"| {step} | {' | '.join(row)} |")
    return "\n".join([*lines, "", *(f"{number}. {why}" for why, number in reasons.items()), ""])


def table(page: str) -> str:
    return page.partition(BEGIN)[2].partition(END)[0]


def parse(table: str) -> dict[str, dict[str, str]]:
    """The cells of a table that was rendered."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    reasons = dict(re.findall(r"^(\d+)\. (.*)$", table, re.M))
    header, _, *steps = rows
    return {
        client: {row[0]: "" if row[column] == "passes" else reasons[row[column].strip("[]")] for row in steps}
        for column, client in enumerate(header)
        if column
    }
