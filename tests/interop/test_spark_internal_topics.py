"""What Apache Kafka's coordinators and ours wrote, read from a copy of the files: groups, offsets, transactions, lag.

And topics with transactions in every codec: committed rows are those that a consumer of committed data was given.
"""

from __future__ import annotations

import pathlib
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_py.common.utils.time import Time
from kafka_py.spark.internal_topics import consumer_offsets, group_metadata, lag, transactions
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, produce
from tests.integration.spark_rows import Seen, consume_all, copy_of, plain
from tests.interop.apache_kafka import ApacheKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

INTERNAL = {
    "offsets.topic.num.partitions": "3",
    "offsets.topic.segment.bytes": "2000",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.bytes": "20000",
    "log.index.interval.bytes": "500",
    "log.cleaner.enable": "false",
    "log.index.size.max.bytes": "50000",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
CODECS = ("none", "gzip", "snappy", "lz4")


class Written(NamedTuple):
    """A copy of the broker's log directory, and what it told its clients then."""

    offsets_expire: bool  # each at a time of its own, as before KIP-211
    log_dir: str
    committed: dict[tuple[str, str, int], tuple[int, str]]  # group, topic, partition -> offset, metadata
    members: dict[str, str]  # the member that was in a group at the end -> its client id
    stable: dict[str, list[Seen]]  # topic -> rows for a reader of committed data
    all_rows: dict[str, list[Seen]]  # topic -> rows for any reader
    dumped: dict[str, dict[str, Any]]  # transactional id -> what Apache's DumpLogSegments says last


def commit(address: str, group: str, *turns: list[TopicPartition]) -> None:
    """Commit offsets without joining the group, one turn after the other."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False})
    try:
        for offsets in turns:
            consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


def transactional(address: str, name: str, codec: str = "none") -> Producer:
    settings = {"bootstrap.servers": address, "transactional.id": name, "compression.type": codec, "linger.ms": 5}
    producer = Producer({**settings, "transaction.timeout.ms": 60_000, "batch.num.messages": 20})
    producer.init_transactions(30)
    return producer


def write_transactions(address: str, topic: str, codec: str) -> Producer:
    """Two producers' transactions, some committed, some aborted, between a third's records; the last is left open."""
    one, two = (transactional(address, f"{topic}-{n}", codec) for n in (1, 2))
    for turn in range(8):
        one.begin_transaction()
        two.begin_transaction()
        for i in range(60):
            for producer, who in ((one, b"one"), (two, b"two")):
                headers: dict[str, str | bytes | None] = {"turn": b"%d" % turn, "none": None}
                value = None if i % 10 == 9 else b"%s %d %d " % (who, turn, i) + b"x" * (i % 40)
                producer.produce(topic, value, b"%d" % i, partition=0, headers=headers if i % 3 == 0 else None)
        assert one.flush(30) == two.flush(30) == 0
        produce(address, topic, [(b"plain", b"%d" % turn)] * 5, compression_type=codec)
        if turn % 3 == 1:
            one.abort_transaction(30)
        else:
            one.commit_transaction(30)
        if turn == 7:
            break  # two's last one is never decided
        if turn % 2:
            two.commit_transaction(30)
        else:
            two.abort_transaction(30)
    produce(address, topic, [(b"behind", b"the open transaction")], compression_type=codec)
    return two


def commit_in_transactions(address: str) -> Producer:
    """Group "txn" has offset 1 of three partitions; three transactions commit 2, one each; the last is left open."""
    commit(address, "txn", [TopicPartition("t", p, 1) for p in range(3)])
    member = Consumer({"bootstrap.servers": address, "group.id": "txn", "enable.auto.commit": False})
    for partition, end in enumerate(("commit", "abort", "leave")):
        producer = transactional(address, f"offsets-{end}")
        producer.begin_transaction()
        offsets = [TopicPartition("t", partition, 2)]
        producer.send_offsets_to_transaction(offsets, member.consumer_group_metadata(), 30)
        if end == "commit":
            producer.commit_transaction(30)
        elif end == "abort":
            producer.abort_transaction(30)
    member.close()
    return producer


def join(address: str, group: str, client_id: str) -> Consumer:
    """A member of the group, subscribed to t, that has been assigned its partitions."""
    settings = {"bootstrap.servers": address, "group.id": group, "client.id": client_id, "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.subscribe(["t"])
    deadline = time.monotonic() + 30
    while not consumer.assignment():
        assert time.monotonic() < deadline
        consumer.poll(0.05)
    return consumer


def write_groups(apache: ApacheKafka, address: str) -> None:
    """Groups by the console consumer and by commits; some are overwritten, expire, or are deleted."""
    simple = [
        [TopicPartition("t", 0, turn, metadata=f"turn {turn}"), TopicPartition("t", 1, 2 * turn)] for turn in range(30)
    ]
    commit(address, "simple", *simple)
    commit(address, "deleted", [TopicPartition("t", 0, 3)])
    delete = ("--bootstrap-server", address, "--delete", "--group", "deleted")
    assert "was successful" in apache.run("kafka.admin.ConsumerGroupCommand", *delete).stdout
    arguments = ("--bootstrap-server", address, "--topic", "t", "--group", "console", "--from-beginning")
    done = apache.run("kafka.tools.ConsoleConsumer", *arguments, "--max-messages", "30", "--timeout-ms", "30000")
    assert "Processed a total of 30 messages" in done.stderr + done.stdout


def dumped_transactions(apache: ApacheKafka, log_dir: pathlib.Path) -> dict[str, dict[str, Any]]:
    """Transactional id -> producerId, state and so on of its last record, as Apache's own tool decodes it."""
    logs = sorted(log_dir.glob("__transaction_state-*/*.log"))
    text, _ = apache.dump(logs, "--transaction-log-decoder", "--print-data-log")
    found = {}
    pattern = r"payload:transactionalId=(\S+) |key: transactionalId=(\S+) payload: (.*)"
    for match in re.finditer(pattern, text):
        fields = re.fullmatch(
            r"producerId:(?P<producerId>\d+),producerEpoch:(?P<producerEpoch>\d+),state=(?P<state>\w+),"
            r"partitions=(?P<partitions>.*),txnLastUpdateTimestamp=(?P<updated>\d+),txnTimeoutMs=(?P<timeout>\d+)",
            match[3],
        )
        assert fields is not None, match[0]
        found[match[2]] = fields.groupdict()
    return found


@pytest.fixture(scope="module", params=["apache", "ours"])
def written(
    apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Written]:
    home = tmp_path_factory.mktemp("internal")
    is_theirs = request.param == "apache"
    cluster = apache.cluster(home, INTERNAL) if is_theirs else LocalCluster(home=home, properties=INTERNAL)
    cluster.start()
    try:
        broker: LocalBroker = cluster.brokers[0]
        address = broker.address
        create_topic(address, "t", 3)
        produce(address, "t", [(b"%d" % i, b"value") for i in range(300)])
        write_groups(apache, address)
        undecided = [commit_in_transactions(address)]
        undecided += [write_transactions(address, create_topic(address, f"txn-{c}"), c) for c in CODECS]
        living = join(address, "living", "the-member")
        living.commit(offsets=[TopicPartition("t", 2, 11)], asynchronous=False)
        committed = {
            (group, "t", p.partition): (p.offset, p.metadata or "")
            for group in ("simple", "deleted", "console", "txn", "living")
            for p in committed_now(address, group)
            if p.offset >= 0
        }
        stable = {f"txn-{codec}": consume_all(address, f"txn-{codec}", 1, "read_committed") for codec in CODECS}
        all_rows = {f"txn-{codec}": consume_all(address, f"txn-{codec}", 1) for codec in CODECS}
        log_dir = copy_of(broker.log_dirs[0], broker.home / "copy")
        members = {str(living.memberid()): "the-member"}
        living.close()
        for producer in undecided:  # a client that is left with an open transaction does not go quietly
            producer.abort_transaction(30)
        dumped = dumped_transactions(apache, log_dir)
        yield Written(is_theirs, str(log_dir), committed, members, stable, all_rows, dumped)
    finally:
        cluster.close()


def committed_now(address: str, group: str) -> list[TopicPartition]:
    """Whatever the open transactions will decide: a reader of committed data would have to wait for them (KIP-447)."""
    settings = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer({**settings, "isolation.level": "read_uncommitted"})
    try:
        return consumer.committed([TopicPartition("t", p) for p in range(3)], timeout=30)
    finally:
        consumer.close()


def test_committed_offsets_are_those_that_the_coordinator_gives(spark: SparkSession, written: Written) -> None:
    rows = consumer_offsets(spark, written.log_dir).collect()
    # librdkafka ends the text that it sends with a NUL
    found = {(r["group"], r["topic"], r["partition"]): (r["offset"], r["metadata"].rstrip("\0")) for r in rows}
    assert found == written.committed
    assert {p: offset for (group, _, p), (offset, _) in found.items() if group == "txn"} == {0: 2, 1: 1, 2: 1}
    assert found["simple", "t", 0] == (29, "turn 29")
    assert any(group == "console" for group, _, _ in found)
    later = Time.SYSTEM.milliseconds() + 2 * 24 * 3600 * 1000
    left = consumer_offsets(spark, written.log_dir, now_ms=later).count()
    if written.offsets_expire:
        assert {(row["expireTimestamp"] - row["commitTimestamp"]).days for row in rows} == {1}
        assert left == 0
    else:
        assert {row["expireTimestamp"] for row in rows} == {None}
        assert left == len(rows)


def test_groups(spark: SparkSession, written: Written) -> None:
    groups = {row["group"]: row for row in group_metadata(spark, written.log_dir).collect()}
    assert set(groups) == {"console", "living"}  # simple consumers have offsets, but no group
    living, console = groups["living"], groups["console"]
    assert (living["state"], living["protocolType"], living["protocol"]) == ("Stable", "consumer", "range")
    assert {member["memberId"]: member["clientId"] for member in living["members"]} == written.members
    assert living["leader"] == living["members"][0]["memberId"]
    assert living["members"][0]["subscription"] == ["t"]
    assert [(p["topic"], p["partition"]) for p in living["members"][0]["assignment"]] == [("t", p) for p in range(3)]
    assert (console["state"], console["members"], console["leader"]) == ("Empty", [], None)


def test_transactions(spark: SparkSession, written: Written) -> None:
    rows = {row["transactionalId"]: row for row in transactions(spark, written.log_dir).collect()}
    assert set(rows) == set(written.dumped) != set()
    for name, said in written.dumped.items():
        row = rows[name]
        assert (row["producerId"], row["producerEpoch"]) == (int(said["producerId"]), int(said["producerEpoch"]))
        assert (row["state"], row["transactionTimeoutMs"]) == (said["state"], int(said["timeout"]))
        assert round(row["lastUpdateTimestamp"].timestamp() * 1000) == int(said["updated"])
        partitions = {f"{p['topic']}-{p['partition']}" for p in row["partitions"]}
        assert partitions == set(re.findall(r"[\w-]+-\d+", said["partitions"]))
    states = {name: row["state"] for name, row in rows.items()}
    assert states["offsets-commit"] == "CompleteCommit"
    assert states["offsets-abort"] == "CompleteAbort"
    assert states["offsets-leave"] == states["txn-none-2"] == "Ongoing"


def test_lag(spark: SparkSession, written: Written) -> None:
    rows = {(row["group"], row["partition"]): row for row in lag(spark, written.log_dir).collect()}
    assert set(rows) == {(group, p) for group in ("simple", "console", "txn", "living") for p in range(3)}
    ends = {p: rows["simple", p]["highWatermark"] for p in range(3)}
    assert sum(ends.values()) == 300
    for (group, partition), row in rows.items():
        committed = written.committed.get((group, "t", partition), (None, ""))[0]
        assert row["committedOffset"] == committed
        assert row["highWatermark"] == ends[partition]
        assert row["lag"] == (None if committed is None else ends[partition] - committed)
    assert rows["simple", 2]["lag"] is None


def read(spark: SparkSession, log_dir: str, topic: str, isolation: str) -> list[Seen]:
    options = {"logDirs": log_dir, "subscribe": topic, "includeHeaders": "true", "kafka.isolation.level": isolation}
    frame = spark.read.format("kafka_segments").options(**options).load()
    columns = ("partition", "offset", "key", "value", "unix_millis(timestamp)", "timestampType", "headers")
    return [
        Seen(
            p, offset, plain(key), plain(value), at, kind, headers and [(h["key"], plain(h["value"])) for h in headers]
        )
        for p, offset, key, value, at, kind, headers in frame.selectExpr(*columns).orderBy("offset").collect()
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_committed_rows_are_those_of_a_consumer(spark: SparkSession, written: Written, codec: str) -> None:
    topic = f"txn-{codec}"
    assert 400 < len(written.stable[topic]) < len(written.all_rows[topic])
    assert len(list(pathlib.Path(written.log_dir, f"{topic}-0").glob("*.txnindex"))) > 0
    assert read(spark, written.log_dir, topic, "read_committed") == written.stable[topic]
    assert read(spark, written.log_dir, topic, "read_uncommitted") == written.all_rows[topic]
