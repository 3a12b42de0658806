"""The commands of bin/, run as a user runs them, against a broker that serves."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.testing.local_cluster import BIN, LocalBroker, LocalCluster
from tests.integration.clients import create_topic, produce, topic_name, wait_for_leaders
from tests.integration.support import children, wait_until, zookeeper

pytestmark = pytest.mark.slow


class Ended:
    """A command that has ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.said = done.returncode, done.stdout, done.stdout + done.stderr

    def lines(self) -> list[str]:
        return self.out.splitlines()


def run(name: str, *arguments: str, given: str = "", env: dict[str, str] | None = None) -> Ended:
    command = [sys.executable, str(BIN / f"{name}.py"), *arguments]
    return Ended(
        subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})}
        )
    )


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


# -- kafka-topics ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["--zookeeper", "--bootstrap-server"])
def test_kafka_topics(embedded_cluster: LocalCluster, by: str) -> None:
    """The life of a topic, told by either side of the cluster."""
    address = embedded_cluster.zookeeper_connect if by == "--zookeeper" else embedded_cluster.bootstrap_servers
    topic = topic_name("tool")

    def topics(*arguments: str) -> Ended:
        return run("kafka-topics", by, address, *arguments)

    made = topics("--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1",
                  "--config", "retention.ms=123456")  # fmt: skip
    assert (made.code, made.out) == (0, f'Created topic "{topic}".\n')
    wait_for_leaders(embedded_cluster.bootstrap_servers, topic, 2)
    assert topic in topics("--list").lines()
    again = topics("--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1")
    assert again.code == 1
    assert f"Topic '{topic}' already exists." in again.said
    described = topics("--describe", "--topic", topic)
    assert described.code == 0
    assert described.lines() == [
        f"Topic:{topic}\tPartitionCount:2\tReplicationFactor:1\tConfigs:retention.ms=123456",
        f"\tTopic: {topic}\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0",
        f"\tTopic: {topic}\tPartition: 1\tLeader: 0\tReplicas: 0\tIsr: 0",
    ]
    deleted = topics("--delete", "--topic", topic)
    assert deleted.code == 0
    assert f"Topic {topic} is marked for deletion." in deleted.out
    with zookeeper(embedded_cluster.zookeeper_connect) as client:
        wait_until(lambda: topic not in children(client, "/brokers/topics"), what="the deletion")
    assert topic not in topics("--list").lines()


def test_kafka_topics_refuses(embedded_cluster: LocalCluster) -> None:
    address = embedded_cluster.zookeeper_connect
    small = ("--partitions", "1", "--replication-factor")
    too_many = run("kafka-topics", "--zookeeper", address, "--create", "--topic", topic_name(), *small, "3")
    assert too_many.code == 1
    assert "Replication factor: 3 larger than available brokers: 1." in too_many.said
    illegal = run("kafka-topics", "--zookeeper", address, "--create", "--topic", "a/b", *small, "1")
    assert illegal.code == 1
    assert "is illegal" in illegal.said
    nothing = run("kafka-topics", "--zookeeper", address)
    assert nothing.code == 1
    assert "Command must include exactly one action" in nothing.said


def test_kafka_topics_adds_partitions(embedded_cluster: LocalCluster) -> None:
    topic = create_topic(embedded_cluster.bootstrap_servers, topic_name("tool"))
    altered = run("kafka-topics", "--zookeeper", embedded_cluster.zookeeper_connect, "--alter", "--topic", topic,
                  "--partitions", "3")  # fmt: skip
    assert altered.code == 0
    assert "Adding partitions succeeded!" in altered.out
    wait_for_leaders(embedded_cluster.bootstrap_servers, topic, 3)


# -- The console ----------------------------------------------------------------------------------------------------


def consumed(broker: LocalBroker, topic: str, *arguments: str) -> list[str]:
    ended = run("kafka-console-consumer", "--bootstrap-server", broker.address, "--topic", topic,
                "--timeout-ms", "2000", *arguments)  # fmt: skip
    assert ended.code == 0, ended.said
    return ended.lines()


@pytest.fixture(scope="module")
def filled(broker: LocalBroker) -> str:
    """Three keyed records in partition 0, put there by the console producer."""
    topic = create_topic(broker.address, topic_name("console"))
    ended = run("kafka-console-producer", "--broker-list", broker.address, "--topic", topic,
                "--property", "parse.key=true", "--property", "key.separator=:", given="a:1\nb:2\nä:ö\n")  # fmt: skip
    assert ended.code == 0, ended.said
    return topic


def test_the_console_shows_values(broker: LocalBroker, filled: str) -> None:
    assert consumed(broker, filled, "--from-beginning", "--max-messages", "3") == ["1", "2", "ö"]


def test_the_console_shows_keys_and_times(broker: LocalBroker, filled: str) -> None:
    options = ("print.key=true", "print.timestamp=true", "key.separator=|")
    properties = [word for option in options for word in ("--property", option)]
    lines = consumed(broker, filled, "--from-beginning", "--max-messages", "3", *properties)
    assert [re.sub(r"\d{13}", "T", line) for line in lines] == [
        "CreateTime:T|a|1", "CreateTime:T|b|2", "CreateTime:T|ä|ö"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("offset", "expected"), [("0", ["1", "2", "ö"]), ("2", ["ö"]), ("earliest", ["1", "2", "ö"]), ("latest", [])]
)
def test_the_console_begins_where_it_is_told(
    broker: LocalBroker, filled: str, offset: str, expected: list[str]
) -> None:
    assert consumed(broker, filled, "--partition", "0", "--offset", offset) == expected


def test_the_console_compresses_and_waits_for_acks(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("console"))
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        ended = run("kafka-console-producer", "--broker-list", broker.address, "--topic", topic,
                    "--compression-codec", codec, "--request-required-acks", "-1", given=f"{codec}\n")  # fmt: skip
        assert ended.code == 0, ended.said
    assert consumed(broker, topic, "--from-beginning", "--max-messages", "4") == ["gzip", "snappy", "lz4", "zstd"]


def test_the_console_needs_a_topic() -> None:
    for name in ("kafka-console-producer", "kafka-console-consumer"):
        assert run(name).code == 1


# -- Groups ---------------------------------------------------------------------------------------------------------


def groups(broker: LocalBroker, *arguments: str) -> list[list[str]]:
    """The words of each line that kafka-consumer-groups prints; empty lines do not count."""
    ended = run("kafka-consumer-groups", "--bootstrap-server", broker.address, *arguments)
    assert ended.code == 0, ended.said
    return [line.split() for line in ended.lines() if line]


@pytest.fixture(scope="module")
def read_once(broker: LocalBroker) -> tuple[str, str]:
    """A topic with 20 records, and a group that has read 12 of them by the console."""
    topic, group = create_topic(broker.address, topic_name("group")), topic_name("g")
    produce(broker.address, topic, [(None, b"%d" % i) for i in range(20)])
    assert len(consumed(broker, topic, "--group", group, "--from-beginning", "--max-messages", "12")) == 12
    return topic, group


def test_the_console_reads_on_where_its_group_was(broker: LocalBroker) -> None:
    topic, group = create_topic(broker.address, topic_name("group")), topic_name("g")
    produce(broker.address, topic, [(None, b"%d" % i) for i in range(5)])
    member = ("--group", group, "--from-beginning")
    assert consumed(broker, topic, *member, "--max-messages", "2") == ["0", "1"], "what is not printed is not committed"
    assert consumed(broker, topic, *member) == ["2", "3", "4"]
    assert consumed(broker, topic, *member) == []


def test_the_console_reads_the_topics_of_a_whitelist(broker: LocalBroker) -> None:
    names = [create_topic(broker.address, topic_name("white")) for _ in range(2)]
    for name in names:
        produce(broker.address, name, [(None, name.encode())])
    ended = run("kafka-console-consumer", "--bootstrap-server", broker.address, "--whitelist", "|".join(names),
                "--from-beginning", "--max-messages", "2")  # fmt: skip
    assert sorted(ended.lines()) == sorted(names)


def test_the_console_shows_what_a_group_has_committed(broker: LocalBroker, read_once: tuple[str, str]) -> None:
    topic, group = read_once
    formatter = "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter"
    lines = consumed(broker, "__consumer_offsets", "--from-beginning", "--formatter", formatter)
    own = [line for line in lines if line.startswith(f"[{group},{topic},0]::OffsetAndMetadata(offset=12, ")]
    assert own, lines


def test_groups_are_listed_and_described(broker: LocalBroker, read_once: tuple[str, str]) -> None:
    topic, group = read_once
    assert [group] in groups(broker, "--list")
    heading, row = groups(broker, "--describe", "--group", group)
    assert heading == ["TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
                       "CLIENT-ID"]  # fmt: skip
    assert row == [topic, "0", "12", "20", "8", "-", "-", "-"]
    assert groups(broker, "--describe", "--group", group, "--state")[1][-2:] == ["Empty", "0"]
    missing = groups(broker, "--describe", "--group", "nobody")
    assert missing == [["Error:", "Consumer", "group", "'nobody'", "does", "not", "exist."]]


def test_offsets_are_reset_and_forgotten_and_groups_deleted(broker: LocalBroker) -> None:
    topic, group = create_topic(broker.address, topic_name("group")), topic_name("g")
    produce(broker.address, topic, [(None, b"%d" % i) for i in range(5)])
    reset = ("--reset-offsets", "--group", group, "--topic", topic)
    assert groups(broker, *reset, "--to-offset", "3", "--execute")[1:] == [[topic, "0", "3"]]
    assert consumed(broker, topic, "--group", group) == ["3", "4"]
    assert groups(broker, *reset, "--shift-by", "-9", "--dry-run")[1:] == [[topic, "0", "0"]]
    assert groups(broker, *reset, "--by-duration", "PT1H", "--export") == [[f"{topic},0,0"]]
    assert groups(broker, "--describe", "--group", group)[1][:3] == [topic, "0", "5"], "nothing was changed"
    assert groups(broker, "--delete-offsets", "--group", group, "--topic", topic)[-1] == [topic, "0", "Successful"]
    groups(broker, *reset, "--to-latest", "--execute")
    deleted = groups(broker, "--delete", "--group", group)
    assert deleted == [f"Deletion of requested consumer groups ('{group}') was successful.".split()]
    again = groups(broker, "--delete", "--group", group)
    assert again[1] == f"* Group '{group}' could not be deleted due to: GROUP_ID_NOT_FOUND".split()


# -- Measuring and checking -----------------------------------------------------------------------------------------


def events(ended: Ended) -> list[dict[str, Any]]:
    assert ended.code == 0, ended.said
    return [json.loads(line) for line in ended.lines()]


def test_the_verifiable_clients(broker: LocalBroker) -> None:
    topic, group = create_topic(broker.address, topic_name("verify"), 2), topic_name("g")
    line = ("--bootstrap-server", broker.address, "--topic", topic, "--max-messages", "50")
    sent = events(run("kafka-verifiable-producer", *line, "--repeating-keys", "5", "--value-prefix", "1"))
    assert [event["name"] for event in (sent[0], *sent[-2:])] == ["startup_complete", "shutdown_complete", "tool_data"]
    acked = {(e["partition"], e["offset"]): (e["key"], e["value"]) for e in sent[1:-2]}
    assert (len(acked), sent[-1]["sent"], sent[-1]["acked"]) == (50, 50, 50)

    read = events(run("kafka-verifiable-consumer", *line, "--group-id", group, "--verbose"))
    names = [event["name"] for event in read]
    assert names[:2] + names[-2:] == [
        "startup_complete", "partitions_assigned", "partitions_revoked", "shutdown_complete"
    ]  # fmt: skip
    data = {(e["partition"], e["offset"]): (e["key"], e["value"]) for e in read if e["name"] == "record_data"}
    assert data == acked
    assert all(event["success"] for event in read if event["name"] == "offsets_committed")
    assert {row[4] for row in groups(broker, "--describe", "--group", group)[1:]} == {"0"}


def test_a_verifiable_consumer_is_a_member_until_it_is_ended(broker: LocalBroker) -> None:
    topic, group = create_topic(broker.address, topic_name("verify"), 2), topic_name("g")
    command = [sys.executable, str(BIN / "kafka-verifiable-consumer.py"), "--bootstrap-server", broker.address,
               "--topic", topic, "--group-id", group, "--group-instance-id", "one"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as member:
        assert member.stdout is not None
        lines = [member.stdout.readline() for _ in range(2)]
        assert json.loads(lines[1])["partitions"] == [{"topic": topic, "partition": p} for p in range(2)]
        heading, row = groups(broker, "--describe", "--group", group, "--members", "--verbose")
        assert heading == ["CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
        assert row[0].startswith("one-")
        assert row[1:] == ["/127.0.0.1", "rdkafka", "2", f"{topic}(0,1)"]
        assert groups(broker, "--delete", "--group", group)[1][-1] == "NON_EMPTY_GROUP"
        member.send_signal(signal.SIGTERM)
        assert [json.loads(line)["name"] for line in member.stdout] == ["partitions_revoked", "shutdown_complete"]
    assert member.returncode == 0


def test_the_perf_tools(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("perf"))
    producing = ("--topic", topic, "--throughput", "-1", "--producer-props", f"bootstrap.servers={broker.address}")
    ended = run("kafka-producer-perf-test", *producing, "acks=all", "--num-records", "5000", "--record-size", "100")
    assert ended.code == 0, ended.said
    number = r"\d+\.\d+"
    assert re.fullmatch(
        rf"5000 records sent, {number} records/sec \({number} MB/sec\), {number} ms avg latency, "
        rf"{number} ms max latency, "
        r"\d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.\n",
        ended.out,
    )
    read = run("kafka-consumer-perf-test", "--bootstrap-server", broker.address, "--topic", topic, "--messages", "5000")
    assert read.code == 0, read.said
    heading, line = (line.split(", ") for line in read.lines())
    assert len(heading) == len(line)
    assert (line[2], line[4]) == ("0.4768", "5000")


def test_perf_in_transactions(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("perf"))
    ended = run("kafka-producer-perf-test", "--topic", topic, "--throughput", "2000", "--num-records", "500",
                "--record-size", "10", "--transaction-duration-ms", "50", "--transactional-id", topic_name("x"),
                "--producer-props", f"bootstrap.servers={broker.address}")  # fmt: skip
    assert ended.code == 0, ended.said
    assert ended.out.startswith("500 records sent")
    shown = consumed(broker, topic, "--from-beginning", "--isolation-level", "read_committed")
    assert len(shown) == 500


# -- Looking at files and versions ----------------------------------------------------------------------------------


def segment(broker: LocalBroker, topic: str, suffix: str = "log") -> pathlib.Path:
    found = [d / f"{topic}-0" / f"{0:020}.{suffix}" for d in broker.log_dirs if (d / f"{topic}-0").is_dir()]
    assert len(found) == 1
    return found[0]


def test_kafka_dump_log(broker: LocalBroker) -> None:
    topic = create_topic(broker.address, topic_name("dump"))
    produce(broker.address, topic, [(b"k%d" % i, b"v%d" % i) for i in range(50)], compression_type="lz4")
    log = str(segment(broker, topic))
    batches = run("kafka-dump-log", "--files", log)
    assert batches.code == 0
    assert batches.lines()[:2] == [f"Dumping {log}", "Starting offset: 0"]
    assert re.match(
        r"baseOffset: 0 lastOffset: \d+ .* isvalid: true .* compresscodec: LZ4 crc: \d+", batches.lines()[2]
    )
    records = run("kafka-dump-log", "--print-data-log", "--files", log).lines()[2:]
    assert [line.partition(" position")[0] for line in records] == [f"offset: {i}" for i in range(50)]
    assert [line.partition(" key: ")[2] for line in records] == [f"k{i} payload: v{i}" for i in range(50)]
    index = str(segment(broker, topic, "index"))
    assert run("kafka-dump-log", "--files", index).out == f"Dumping {index}\noffset: 0 position: 0\n"


def test_kafka_dump_log_of_nothing(tmp_path: pathlib.Path) -> None:
    assert run("kafka-dump-log").code == 1
    assert run("kafka-dump-log", "--files", str(tmp_path / f"{0:020}.log")).code != 0


def test_kafka_broker_api_versions(broker: LocalBroker) -> None:
    ended = run("kafka-broker-api-versions", "--bootstrap-server", broker.address)
    assert ended.code == 0
    assert ended.lines()[0] == f"{broker.address} (id: 0 rack: null) -> ("
    assert "\tProduce(0): 0 to 8 [usable: 8]," in ended.lines()
    assert "\tApiVersions(18): 0 to 3 [usable: 3]," in ended.lines()
    nobody = run("kafka-broker-api-versions", "--bootstrap-server", "127.0.0.1:1")
    assert nobody.code != 0


@pytest.mark.zookeeper
def test_zookeeper_shell(real_cluster: LocalCluster) -> None:
    assert_shell_works(real_cluster)


def test_zookeeper_shell_on_the_embedded_one(embedded_cluster: LocalCluster) -> None:
    assert_shell_works(embedded_cluster)


def assert_shell_works(cluster: LocalCluster) -> None:
    address = cluster.zookeeper_connect
    assert run("zookeeper-shell", address, "ls", "/brokers/ids").lines()[-1] == "[0]"
    registered = run("zookeeper-shell", address, "get", "/brokers/ids/0").out
    assert f'"endpoints":["PLAINTEXT://{cluster.brokers[0].address}"]' in registered
    dialogue = run("zookeeper-shell", address, given="ls /\nget /controller\nquit\n")
    assert dialogue.code == 0
    assert '"brokerid":0' in dialogue.out


def test_kafka_run_class(broker: LocalBroker, filled: str) -> None:
    """By the names of Kafka's classes, and of our modules."""
    log = str(segment(broker, filled))
    by_class = run("kafka-run-class", "kafka.tools.DumpLogSegments", "--files", log)
    assert by_class.code == 0
    assert by_class.out == run("kafka-dump-log", "--files", log).out
    assert run("kafka-run-class", "kafka_py.tools.dump_log_segments", "--files", log).out == by_class.out
    nothing = run("kafka-run-class")
    assert nothing.code == 1
    assert "USAGE" in nothing.said


def test_kafka_lab(tmp_path: pathlib.Path) -> None:
    told = tmp_path / "lines.txt"
    told.write_bytes(b"".join(b"line %d\n" % i for i in range(100)))
    ended = run("kafka-lab", "--once", "--port", "0", str(told))
    assert ended.code == 0, ended.said
    assert "Consumed 100 records: all equal." in ended.out
    assert "B has left, the group has rebalanced" in ended.out


# -- Start and stop -------------------------------------------------------------------------------------------------


@pytest.fixture
def properties(embedded_cluster: LocalCluster, tmp_path: pathlib.Path) -> pathlib.Path:
    """Of a broker in a part of ZooKeeper that is its own; the file's name tells it from all others."""
    path = tmp_path / f"{topic_name('stop')}.properties"
    path.write_text(
        "broker.id=5\nlisteners=PLAINTEXT://127.0.0.1:0\nkafka.py.http.listener=127.0.0.1:0\n"
        f"log.dirs={tmp_path / 'data'}\n"
        f"zookeeper.connect={embedded_cluster.zookeeper_connect}/{path.stem}\n"
    )
    return path


@pytest.fixture
def daemon(properties: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[int]:
    """The process id of a broker that was started with -daemon."""
    logs = tmp_path / "logs"
    started = run("kafka-server-start", "-daemon", str(properties), env={"LOG_DIR": str(logs)})
    assert (started.code, started.out) == (0, "")
    said = logs / "kafkaServer.out"
    wait_until(lambda: said.exists() and "[KafkaServer id=5] started" in said.read_text(), what="the start")
    pids = pids_of(properties)
    assert len(pids) == 1
    yield pids[0]
    for pid in pids_of(properties):
        os.kill(pid, signal.SIGKILL)


def pids_of(properties: pathlib.Path) -> list[int]:
    """The processes that have this file on their command line."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has ended meanwhile
                continue
            if str(properties).encode() in words:
                found.append(int(folder.name))
    return found


def test_start_as_a_daemon_and_stop(daemon: int, properties: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert os.getsid(daemon) == daemon, "it has a session of its own, so closing the terminal does not end it"
    elsewhere = tmp_path / "elsewhere" / properties.name
    assert run("kafka-server-stop", str(elsewhere)).code == 1, "a file of the same name in another folder"
    assert run("kafka-server-stop", str(properties)).code == 0
    wait_until(lambda: not pids_of(properties), what="the end")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    again = run("kafka-server-stop", str(properties))
    assert (again.code, again.out) == (1, "No kafka server to stop\n")
    for name in ("server.log", "controller.log", "state-change.log"):
        assert (tmp_path / "logs" / name).exists()


def test_override_on_the_command_line(properties: pathlib.Path, tmp_path: pathlib.Path) -> None:
    ended = run("kafka-server-start", str(properties), "--override", "num.io.threads=none",
                env={"LOG_DIR": str(tmp_path)})  # fmt: skip
    assert ended.code == 1
    assert "Invalid value none for configuration num.io.threads" in ended.said
