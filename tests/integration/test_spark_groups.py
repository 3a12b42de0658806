"""The views of groups, lag and transactions, over the directory of a broker of ours that real clients have used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position

from kafka_py import spark as kafka_spark
from kafka_py.spark.internal_topics import consumer_offsets, group_metadata, lag, transactions
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic
from tests.integration.support import wait_until

if TYPE_CHECKING:
    import pathlib

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PROPERTIES = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
RECORDS = 30  # of each partition


class Used(NamedTuple):
    """What clients did: a static member has read a partition, and a pipeline committed offsets in transactions."""

    log_dir: str
    member: Consumer
    undecided: Producer


def pipeline(address: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": address, "transactional.id": name, "transaction.timeout.ms": 60_000})
    producer.init_transactions(30)
    return producer


def turn(producer: Producer, member: Consumer, offset: int) -> None:
    """A record and an offset in a transaction, which is left open."""
    producer.begin_transaction()
    producer.produce("results", b"%d" % offset, partition=0)
    position = Position("sales", 0, offset)
    producer.send_offsets_to_transaction([position], member.consumer_group_metadata(), 15)
    assert producer.flush(30) == 0


def static_member(address: str) -> Consumer:
    """Has read both partitions and committed that it knows 12 records of one of them."""
    settings: dict[str, Any] = {"bootstrap.servers": address, "group.id": "readers", "group.instance.id": "desk-1"}
    member = Consumer(settings | {"client.id": "reader", "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    member.subscribe(["sales"])
    read = 0
    while read < 2 * RECORDS:
        message = member.poll(20)
        assert message is not None
        assert message.error() is None
        read += 1
    member.commit(offsets=[Position("sales", 1, 12, "by hand", 0)], asynchronous=False)
    return member


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    home: pathlib.Path = tmp_path_factory.mktemp("groups")
    cluster = LocalCluster(home=home, properties=PROPERTIES)
    cluster.start()
    try:
        broker: LocalBroker = cluster.brokers[0]
        create_topic(broker.address, "sales", 2)
        create_topic(broker.address, "results", 1)
        producer = Producer({"bootstrap.servers": broker.address})
        for i in range(2 * RECORDS):
            producer.produce("sales", b"%d" % i, partition=i % 2)
        assert producer.flush(30) == 0
        member = static_member(broker.address)
        simple = Consumer({"bootstrap.servers": broker.address, "group.id": "billing", "enable.auto.commit": False})
        done, undone, undecided = (pipeline(broker.address, f"billing-{n}") for n in range(3))
        turn(done, simple, 20)
        done.commit_transaction(30)
        turn(undone, simple, 25)
        undone.abort_transaction(30)
        turn(undecided, simple, 30)
        (log_dir,) = broker.log_dirs
        yield Used(str(log_dir), member, undecided)
        undecided.abort_transaction(30)
        simple.close()
        member.close()
    finally:
        cluster.close()


def test_groups_and_transactions_are_tables(spark: SparkSession, used: Used) -> None:
    """One test, since the broker goes on: what it checkpoints is waited for once."""
    wait_until(lambda: lag(spark, used.log_dir).where("lag IS NOT NULL").count() == 2, what="the checkpoints")
    found = consumer_offsets(spark, used.log_dir).orderBy("group").collect()
    assert [tuple(row[name] for name in ("group", "topic", "partition", "offset", "metadata")) for row in found] == [
        ("billing", "sales", 0, 20, ""),
        ("readers", "sales", 1, 12, "by hand\0"),  # confluent-kafka counts the zero byte in
    ]
    behind = lag(spark, used.log_dir).select("group", "partition", "committedOffset", "highWatermark", "lag")
    assert sorted(map(tuple, behind.collect())) == [
        ("billing", 0, 20, RECORDS, RECORDS - 20),
        ("billing", 1, None, RECORDS, None),
        ("readers", 0, None, RECORDS, None),
        ("readers", 1, 12, RECORDS, RECORDS - 12),
    ]
    (group,) = group_metadata(spark, used.log_dir).where("`group` = 'readers'").collect()
    (member,) = group["members"]
    assert (group["state"], member["groupInstanceId"], member["clientId"]) == ("Stable", "desk-1", "reader")
    assert sorted(map(tuple, member["assignment"])) == [("sales", 0), ("sales", 1)]
    states = {row["transactionalId"]: row["state"] for row in transactions(spark, used.log_dir).collect()}
    assert states == {"billing-0": "CompleteCommit", "billing-1": "CompleteAbort", "billing-2": "Ongoing"}
    new = {"startingOffsets": "committed", "kafka.group.id": "readers"}
    assert kafka_spark.read(spark, used.log_dir, "sales", **new).count() == RECORDS - 12 + RECORDS
