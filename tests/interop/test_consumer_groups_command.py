"""kafka-consumer-groups of ours and Apache's print the same about the same groups, on their broker and on ours."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_py.testing.local_cluster import BIN, LocalCluster
from tests.integration.clients import create_topic, produce
from tests.interop.apache_kafka import ONE_BROKER, ApacheKafka

pytestmark = pytest.mark.slow

TOPIC, IDLE, LIVE = "read", "idle-group", "live-group"
COMMITTED = {0: 3, 1: 50, 2: 0}
COMMAND = "kafka.admin.ConsumerGroupCommand"


@pytest.fixture(scope="module", params=["ours", "apache"])
def cluster(
    request: pytest.FixtureRequest, apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    """A topic with 50 records in each partition, a group that has committed, and one with a member."""
    home = tmp_path_factory.mktemp(f"groups-{request.param}")
    properties = {**ONE_BROKER, "offsets.topic.replication.factor": "1", "group.initial.rebalance.delay.ms": "0"}
    made = (
        LocalCluster(home=home, properties=properties) if request.param == "ours" else apache.cluster(home, properties)
    )
    with made as started:
        servers = started.bootstrap_servers
        create_topic(servers, TOPIC, 3)
        produce(servers, TOPIC, [(b"%d" % (i % 40), b"v") for i in range(150)])
        member = Consumer({"bootstrap.servers": servers, "group.id": IDLE, "enable.auto.commit": False})
        member.commit(offsets=[TopicPartition(TOPIC, p, at) for p, at in COMMITTED.items()], asynchronous=False)
        member.close()
        live = Consumer({"bootstrap.servers": servers, "group.id": LIVE, "auto.offset.reset": "earliest"})
        live.subscribe([TOPIC])
        while live.poll(1) is None:
            pass
        live.commit(asynchronous=False)
        yield started
        live.close()


def lines_of(done: subprocess.CompletedProcess[str]) -> tuple[int, list[str], list[str]]:
    """Status and lines; in any order, as Scala's maps have none, warnings without time, and no table of options."""
    warned = re.sub(r"^\[[^\]]*\] WARN +", "", done.stderr.split("\nOption ")[0], flags=re.M)
    out, err = (sorted(line.rstrip() for line in text.splitlines()) for text in (done.stdout, warned))
    return done.returncode, out, err


@pytest.mark.parametrize(
    "line",
    [
        "--list",
        f"--describe --group {IDLE}",
        f"--describe --group {IDLE} --members",
        f"--describe --group {IDLE} --state",
        f"--describe --group {LIVE}",
        f"--describe --group {LIVE} --members --verbose",
        f"--describe --group {LIVE} --state",
        "--describe --group none",
        f"--reset-offsets --group {IDLE} --all-topics --shift-by 10 --dry-run",
        f"--reset-offsets --group {IDLE} --topic {TOPIC}:0,2 --to-datetime 2001-01-01T00:00:00.000 --export",
        f"--reset-offsets --group {LIVE} --all-topics --to-latest --execute",
        f"--reset-offsets --group {IDLE} --to-latest --dry-run",
        f"--delete --group {LIVE} --group none",
    ],
)
def test_both_say_the_same(apache: ApacheKafka, cluster: LocalCluster, line: str) -> None:
    arguments = ["--bootstrap-server", cluster.bootstrap_servers, *line.split()]
    command = [sys.executable, str(BIN / "kafka-consumer-groups.py"), *arguments]
    ours = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert lines_of(ours) == lines_of(apache.run(COMMAND, *arguments))


def test_what_one_exports_the_other_carries_out(apache: ApacheKafka, cluster: LocalCluster) -> None:
    server = ["--bootstrap-server", cluster.bootstrap_servers]
    reset = [*server, "--reset-offsets", "--group", "new-group"]
    exporting = [*reset, "--topic", TOPIC, "--to-offset", "7", "--export"]
    plan = subprocess.run(
        [sys.executable, str(BIN / "kafka-consumer-groups.py"), *exporting], capture_output=True, text=True, timeout=60
    ).stdout
    file = cluster.home / "plan.csv"
    file.write_text(plan.rstrip("\n"))  # Apache's cannot read the empty line that it writes itself
    carried_out = apache.run(COMMAND, *reset, "--from-file", str(file), "--execute")
    assert carried_out.returncode == 0
    assert [line.split() for line in sorted(carried_out.stdout.splitlines()) if TOPIC in line] == [
        [TOPIC, str(p), "7"] for p in range(3)
    ]
