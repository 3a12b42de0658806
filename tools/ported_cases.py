"""Which cases of Kafka's own tests are ported, and which are left out and why.

Those of log, replication, controller, ZooKeeper, coordinators and the commands for groups.

    python tools/ported_cases.py                       a table: class, cases, covered, left out; then what is left out
    python tools/ported_cases.py --list REPO           rewrite docs/ported-tests.tsv from a clone of apache/kafka

docs/ported-tests.tsv names every case of these classes: class, case, and why it is left out, which is empty for a case
that a test here carries as its mark, `@pytest.mark.ported("Class.case")`. Marks are read from the source of the tests.
A case is a method that begins with @Test, or that is written like one although Kafka's authors forgot the annotation.
An entry of SOURCES names its release behind an @, without one it is of 1.1.1; its path is that below unit/kafka, or
with a / in front that below core/src/test/scala. A class goes by the name of its file. A mark for a case that such a
class has only in another release names that release: `Class@3.7.1.case`.
Ends with 1 if a case has neither a mark nor a reason, or a mark names none; tests/style/test_ported.py says the same.
"""

from __future__ import annotations

import ast
import itertools
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs/ported-tests.tsv"
HEADER = "class\tcase\tleft_out_because"
TESTS = "core/src/test/scala"
UNIT = "/unit/kafka/"
SOURCES = (
    "log/LogTest",
    "log/LogSegmentTest",
    "log/OffsetIndexTest",
    "log/TimeIndexTest",
    "log/TransactionIndexTest",
    "log/ProducerStateManagerTest",
    "log/LogValidatorTest",
    "log/LogCleanerTest",
    "log/LogCleanerManagerTest",
    "log/LogCleanerIntegrationTest",
    "log/LogCleanerLagIntegrationTest",
    "log/LogManagerTest",
    "log/LogConfigTest",
    "log/OffsetMapTest",
    "log/BrokerCompressionTest",
    "server/epoch/LeaderEpochFileCacheTest",
    "server/epoch/EpochDrivenReplicationProtocolAcceptanceTest",
    "server/epoch/LeaderEpochIntegrationTest",
    "server/AbstractFetcherThreadTest",
    "server/AlterReplicaLogDirsRequestTest",
    "server/ISRExpirationTest",
    "server/LeaderElectionTest",
    "server/LogDirFailureTest",
    "server/ReplicaAlterLogDirsThreadTest@2.0.1",
    "server/ReplicaFetcherThreadTest",
    "server/ReplicaManagerTest",
    "integration/UncleanLeaderElectionTest",
    "controller/ControllerEventManagerTest",
    "controller/ControllerFailoverTest",
    "controller/ControllerIntegrationTest",
    "controller/PartitionLeaderElectionAlgorithmsTest",
    "controller/PartitionStateMachineTest",
    "controller/ReplicaStateMachineTest",
    "zk/KafkaZkClientTest",
    "zookeeper/ZooKeeperClientTest",
    "coordinator/group/MemberMetadataTest@2.5.1",
    "coordinator/group/GroupMetadataTest@2.5.1",
    "coordinator/group/GroupMetadataManagerTest@2.5.1",
    "coordinator/group/GroupCoordinatorTest@2.5.1",
    "coordinator/transaction/ProducerIdManagerTest@2.5.1",
    "coordinator/transaction/TransactionCoordinatorConcurrencyTest@2.5.1",
    "coordinator/transaction/TransactionCoordinatorTest@2.5.1",
    "coordinator/transaction/TransactionLogTest@2.5.1",
    "coordinator/transaction/TransactionMarkerChannelManagerTest@2.5.1",
    "coordinator/transaction/TransactionMarkerRequestCompletionHandlerTest@2.5.1",
    "coordinator/transaction/TransactionMetadataTest@2.5.1",
    "coordinator/transaction/TransactionStateManagerTest@2.5.1",
    "/kafka/common/InterBrokerSendThreadTest",
    "/integration/kafka/api/RackAwareAutoTopicCreationTest",
    "admin/DeleteTopicTest",
    "admin/DescribeConsumerGroupTest",
    "admin/ListConsumerGroupTest",
    "admin/ResetConsumerGroupOffsetTest",
    "admin/DeleteConsumerGroupsTest",
    "admin/DeleteOffsetsConsumerGroupCommandIntegrationTest@2.5.1",
    "admin/ReassignPartitionsCommandTest",
    "admin/ReassignPartitionsCommandArgsTest",
    "admin/ReassignPartitionsClusterTest",
    "/integration/kafka/admin/ReassignPartitionsIntegrationTest",
    "admin/LeaderElectionCommandTest@2.5.1",
    "admin/PreferredReplicaLeaderElectionCommandTest@2.5.1",
    "/kafka/tools/ReplicaVerificationToolTest",
    "tools/ConsoleConsumerTest",
    "tools/ConsumerPerformanceTest",
)
DEFAULT_TAG = "1.1.1"
ANNOTATED = re.compile(r"^  @Test.*\n(?:  (?:@|//).*\n)*  (?:override )?def (\w+)", re.M)
WRITTEN_LIKE_ONE = re.compile(r"^  def (test[A-Z]\w*)\(\)", re.M)


class Case(NamedTuple):
    """A row of the table; `reason` is empty for a case that is to be found by its mark."""

    cls: str
    name: str
    reason: str

    @property
    def mark(self) -> str:
        return f"{self.cls}.{self.name}"


def cases(text: str) -> list[Case]:
    """The rows of the table; ValueError if one is not three columns or stands there twice."""
    rows = [Case(*line.split("\t")) for line in text.splitlines()[1:]]
    if len({row.mark for row in rows}) != len(rows):
        raise ValueError("a case stands in the table twice")
    return rows


def marks_in(source: str) -> set[str]:
    """What the `ported` marks of a module name; ValueError if one is not written out as strings."""
    found: set[str] = set()
    if ".ported(" not in source:
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ported":
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"line {node.lineno}: a mark must be a string, to be found without importing")
                found.add(argument.value)
    return found


def marks() -> dict[str, set[pathlib.Path]]:
    """Case -> the test files that carry its mark."""
    found: dict[str, set[pathlib.Path]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for mark in marks_in(path.read_text(encoding="utf-8")):
            found.setdefault(mark, set()).add(path.relative_to(ROOT))
    return found


def problems(table: Iterable[Case], marked: Iterable[str]) -> list[str]:
    """What is wrong, a line each: cases nobody ported nor left out, both at once, marks that name no case."""
    table, marked = list(table), set(marked)
    known, classes = {case.mark for case in table}, {case.cls for case in table}
    wrong = [f"{c.mark}: neither a mark nor a reason" for c in table if c.mark not in marked and not c.reason.strip()]
    wrong += [f"{c.mark}: marked in a test and yet left out" for c in table if c.mark in marked and c.reason.strip()]
    wrong += [f"{m}: no such case" for m in sorted(marked - known) if m.split(".")[0] in classes]
    return wrong


def report(table: Iterable[Case], marked: Mapping[str, object]) -> str:
    """The table of classes with their counts, and the cases left out."""
    table = list(table)
    lines = [f"{'class':30} cases  covered  left out"]
    for cls, rows in itertools.groupby(table, key=lambda case: case.cls):
        lines += [_counts(cls, list(rows), marked)]
    lines.append(_counts("all", table, marked))
    lines += [f"{case.mark}: {case.reason}" for case in table if case.reason]
    return "\n".join(lines)


def _counts(heading: str, rows: list[Case], marked: Mapping[str, object]) -> str:
    covered = sum(case.mark in marked for case in rows)
    return f"{heading:30} {len(rows):5}  {covered:7}  {sum(bool(case.reason) for case in rows):8}"


def names_of(source: str) -> list[str]:
    """The cases of a Scala test class, in its order."""
    found = [*ANNOTATED.finditer(source), *WRITTEN_LIKE_ONE.finditer(source)]
    return list(dict.fromkeys(match[1] for match in sorted(found, key=lambda match: match.start(1))))


def source_of(entry: str) -> tuple[str, str, str]:
    """(path in the repository without its ending, tag, name of the class) of an entry of SOURCES."""
    path, _, tag = entry.partition("@")
    return TESTS + (path if path.startswith("/") else UNIT + path), tag or DEFAULT_TAG, path.rsplit("/", 1)[1]


def listed(repo: str, known: Iterable[Case]) -> str:
    """The table anew from the originals, with the reasons it has now."""
    reasons = {case.mark: case.reason for case in known}
    rows = [HEADER]
    for entry in SOURCES:
        path, tag, cls = source_of(entry)
        source = subprocess.run(
            ["git", "-C", repo, "show", f"{tag}:{path}.scala"], capture_output=True, text=True, check=True
        ).stdout
        rows += ["\t".join((cls, name, reasons.get(f"{cls}.{name}", ""))) for name in names_of(source)]
    return "\n".join(rows) + "\n"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--list"]:
        known = cases(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else []
        TABLE.write_text(listed(arguments[1], known), encoding="utf-8")
        return 0
    table, marked = cases(TABLE.read_text(encoding="utf-8")), marks()
    print(report(table, marked))
    wrong = problems(table, marked)
    print("\n".join(wrong), end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
