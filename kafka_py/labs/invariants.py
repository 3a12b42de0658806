"""What must be true of a cluster whatever was done to it: looked at in ZooKeeper, in the brokers and by a consumer.

Ours, no original.
"""

from __future__ import annotations

from collections.abc import Collection

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common import topic_partition as names
from kafka_py.labs.clients import TIMEOUT_S
from kafka_py.labs.exercise import Bench
from kafka_py.labs.finding import Finding


def values_of(servers: str, topic: str, partition: int = 0) -> list[str]:
    """All values of a partition that may be read now. Raises KafkaException."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "lab-look", "enable.partition.eof": True})
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=TIMEOUT_S)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        found: list[str] = []
        while end > 0:
            message = consumer.poll(TIMEOUT_S)
            if message is None:
                raise TimeoutError(f"{topic}-{partition} could not be read to its end")
            error = message.error()
            if error is not None and error.name() == "_PARTITION_EOF":
                break
            if error is not None:
                raise KafkaException(error)
            found.append((message.value() or b"").decode(errors="replace"))
        return found
    finally:
        consumer.close()


def state_of(bench: Bench, topic: str, partition: int = 0) -> LeaderAndIsr:
    """What ZooKeeper says: leader, leader epoch, ISR. Raises ValueError for a partition that it does not know."""
    with bench.cluster.zookeeper_client() as client:
        state = client.get_topic_partition_state(names.TopicPartition(topic, partition))
    if state is None:
        raise ValueError(f"ZooKeeper knows no {topic}-{partition}")
    return state.leader_and_isr


def controller_epoch(bench: Bench) -> int:
    """How many controllers there have been."""
    with bench.cluster.zookeeper_client() as client:
        found = client.get_controller_epoch()
    return 0 if found is None else found[0]


def all_run(bench: Bench) -> Finding:
    """Whether every broker runs, and none is stopped."""
    gone = [str(b.id) for b in bench.cluster.brokers if not b.process.is_running or b.process.is_stopped]
    return Finding("all brokers run", not gone, f"broker {', '.join(gone)} does not")


def nothing_is_held(bench: Bench) -> Finding:
    """Whether every link is as it was at the beginning."""
    links = [f"{what}: {', '.join(which)}" for what, which in bench.cluster.links().items() if which]
    return Finding("no link is cut and no fetcher is held", not links, "; ".join(links))


def replicas_agree(bench: Bench, topic: str, replicas: int) -> Finding:
    """Whether all are in sync, end where the leader ends, and the high watermark is where the last of them is."""
    text = f"the replicas of {topic} are in sync and equal"
    leader = state_of(bench, topic).leader
    if leader < 0 or not bench.cluster.broker(leader).process.is_running:
        return Finding(text, False, "it has no leader")
    (partition,) = bench.xray(leader).state("partitions", topic=topic)
    ends = {replica["broker"]: replica["logEnd"] for replica in partition["replicas"]}
    mark = next(replica["highWatermark"] for replica in partition["replicas"] if replica["local"])
    if len(partition["isr"]) < replicas:
        return Finding(text, False, f"the ISR is {partition['isr']}")
    return Finding(text, set(ends.values()) == {mark}, f"log ends are {ends}, the high watermark is {mark}")


def nothing_lost(bench: Bench, topic: str, acknowledged: Collection[str]) -> Finding:
    """Whether every record that was acknowledged by the ISR can be read."""
    missing = set(acknowledged) - set(values_of(bench.servers, topic))
    return Finding(f"what was acknowledged in {topic} is there", not missing, f"{len(missing)} records are not")
