"""What must be true of a cluster whatever was done to it: looked at in ZooKeeper, in the brokers and by a consumer.

Ours, no original.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from kafka_py.api.leader_and_isr import LeaderAndIsr
from kafka_py.common import topic_partition as names
from kafka_py.labs.clients import TIMEOUT_S, wait_for
from kafka_py.labs.exercise import Bench
from kafka_py.labs.finding import Finding

_LEADER_MOVES = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


def _end(consumer: Consumer, partition: TopicPartition) -> int:
    """The offset after the last; asks again while the leader is another than the one that was asked."""
    ends: list[int] = []

    def told() -> bool:
        try:
            ends.append(consumer.get_watermark_offsets(partition, timeout=TIMEOUT_S)[1])
        except KafkaException as e:
            if e.args[0].code() not in _LEADER_MOVES:
                raise
        return bool(ends)

    wait_for(told, f"a leader that tells where {partition.topic} ends")
    return ends[0]


def values_of(servers: str, topic: str, partition: int = 0) -> list[str]:
    """All values of a partition that may be read now. Raises KafkaException, TimeoutError."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "lab-look", "enable.partition.eof": True})
    try:
        end = _end(consumer, TopicPartition(topic, partition))
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


def epochs(bench: Bench, topics: Sequence[str]) -> dict[str, int]:
    """The controller epoch, and the leader epoch of the first partition of each topic."""
    return {"controller": controller_epoch(bench), **{topic: state_of(bench, topic).leader_epoch for topic in topics}}


def epochs_only_grow(bench: Bench, before: Mapping[str, int]) -> Finding:
    """Whether no epoch is less than it was; ``before`` is what ``epochs`` gave then."""
    now = epochs(bench, [name for name in before if name != "controller"])
    back = [f"{name}: {before[name]}, now {now[name]}" for name in before if now[name] < before[name]]
    return Finding("no epoch has gone back", not back, "; ".join(back))


def one_leader(bench: Bench, topic: str) -> Finding:
    """Whether every broker that has a replica names the leader and the leader epoch that ZooKeeper does."""
    state = state_of(bench, topic)
    told: dict[int, tuple[int, int]] = {}
    for broker in bench.cluster.brokers:
        for partition in bench.xray(broker.id).state("partitions", topic=topic):
            told[broker.id] = (partition["leader"], partition["leaderEpoch"])
    good = set(told.values()) == {(state.leader, state.leader_epoch)}
    why = f"ZooKeeper says {(state.leader, state.leader_epoch)}, the brokers {told}"
    return Finding(f"all agree who leads {topic}, and in which epoch", good, why)


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
