"""Coordinators that move between brokers of both kinds: one goes on with what the other wrote into internal topics."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.integration.support import wait_until
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.mixed_cluster import APACHE, OURS, PATIENCE_S, MixedCluster

pytestmark = pytest.mark.slow

PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "2",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
GROUPS = [f"group-{n}" for n in range(8)]  # on all partitions of __consumer_offsets
IDS = [f"id-{n}" for n in range(4)]
PARTITIONS = [TopicPartition("input", p) for p in range(2)]
INTERNAL = ("__consumer_offsets", "__transaction_state")


@contextlib.contextmanager
def consumer(cluster: MixedCluster, group: str, **config: str) -> Iterator[Consumer]:
    base = {"bootstrap.servers": cluster.bootstrap, "group.id": group, "enable.auto.commit": "false"}
    made = Consumer({**base, "auto.offset.reset": "earliest", **config})
    try:
        yield made
    finally:
        made.close()


def committed(cluster: MixedCluster, group: str) -> list[int]:
    """The group's offsets, from whoever coordinates it now."""
    with consumer(cluster, group) as asking:

        def found() -> list[int] | None:
            try:
                return [tp.offset for tp in asking.committed(PARTITIONS, 5)]
            except KafkaException:
                return None  # the coordinator is moving

        return wait_until(found, PATIENCE_S, f"the offsets of {group}")


def commit(cluster: MixedCluster, group: str, offset: int) -> None:
    with consumer(cluster, group) as committing:
        offsets = [TopicPartition(tp.topic, tp.partition, offset + tp.partition) for tp in PARTITIONS]

        def done() -> bool:
            try:
                return all(tp.error is None for tp in committing.commit(offsets=offsets, asynchronous=False))
            except KafkaException:
                return False

        wait_until(done, PATIENCE_S, f"a commit of {group}")


def subscribed(cluster: MixedCluster, group: str) -> int:
    """How many partitions the only member of a group gets: its generation is written down by the coordinator."""
    with consumer(cluster, group) as member:
        member.subscribe(["input"])

        def assigned() -> int:
            member.poll(0.2)
            return len(member.assignment())

        return wait_until(assigned, PATIENCE_S, f"an assignment in {group}")


def write(cluster: MixedCluster, number: int) -> list[str]:
    """A transaction that counts and one that does not by a new producer of each id; what counts.

    New ones, because librdkafka's stay without a coordinator when both brokers have gone and come back in turn.
    """
    for id in IDS:
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": id})
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        producer.produce("output", f"{id} {number}", partition=0)
        with consumer(cluster, f"of-{id}") as reading:
            offsets = [TopicPartition("input", 0, number)]
            producer.send_offsets_to_transaction(offsets, reading.consumer_group_metadata(), PATIENCE_S)
        producer.commit_transaction(PATIENCE_S)
        producer.begin_transaction()
        producer.produce("output", f"{id} {number} never", partition=0)
        producer.flush(PATIENCE_S)
        producer.abort_transaction(PATIENCE_S)
    return [f"{id} {number}" for id in IDS]


def read_committed(cluster: MixedCluster, count: int) -> list[str]:
    with consumer(cluster, "reader", **{"isolation.level": "read_committed"}) as reader:
        reader.assign([TopicPartition("output", 0, 0)])
        values: list[str] = []

        def read() -> bool:
            message = reader.poll(1)
            if message is not None and message.error() is None:
                values.append((message.value() or b"").decode())
            return message is None and len(values) >= count

        wait_until(read, PATIENCE_S, f"{count} values")
        return values


@pytest.mark.parametrize("kinds", [(OURS, APACHE), (APACHE, OURS)], ids="-".join)
def test_groups_and_transactions_move_to_the_other_kind_and_back(
    apache: ApacheKafka, tmp_path: pathlib.Path, kinds: tuple[str, str]
) -> None:
    with MixedCluster(apache, tmp_path, kinds, properties=PROPERTIES) as cluster:
        cluster.create("input", [[0, 1], [1, 0]])
        cluster.create("output", [[0, 1]])
        expected: list[str] = []
        for turn, gone in enumerate((None, 0, None, 1, None)):
            if gone is not None:
                cluster.stop(gone)
                for topic in INTERNAL:
                    cluster.wait_for_isr(topic, gone)
            for n, group in enumerate(GROUPS):
                assert committed(cluster, group) == ([-1001, -1001] if turn == 0 else [turn + n, turn + n + 1])
                commit(cluster, group, turn + 1 + n)
            assert subscribed(cluster, "members") == 2
            expected += write(cluster, turn)
            for id in IDS:
                assert committed(cluster, f"of-{id}")[0] == turn
            if gone is not None:
                cluster.start(gone)
                for topic in (*INTERNAL, "input", "output"):
                    cluster.wait_for_isr(topic)
        assert read_committed(cluster, len(expected)) == expected
