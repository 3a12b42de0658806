"""What LeaderAndIsr and UpdateMetadata both say of a partition.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/BasePartitionState.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self, TypeVar

from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.topic_partition import TopicPartition

S = TypeVar("S", bound="BasePartitionState")


class BasePartitionState(Message):
    """Leader, in-sync replicas and replicas, with the epochs of controller and leader.

    Mirrors: org.apache.kafka.common.requests.BasePartitionState
    Differs: the states of both requests extend it, as they are written; ``base_partition_state`` is the state itself.
             A state knows its partition from when it is part of a request. Each request declares anew up to which
             version the topic is named by every state; later ones have the states by topic.
    """

    topic: str = field(STRING)
    partition: int = field(INT32)
    controller_epoch: int = field(INT32)
    leader: int = field(INT32, "The leader's broker id, -1 without one")
    leader_epoch: int = field(INT32)
    isr: list[int] = field(ListOf(INT32), "The broker ids of the in-sync replicas")
    zk_version: int = field(INT32, "The version of the partition's znode")
    replicas: list[int] = field(ListOf(INT32), "The broker ids of all replicas")

    def __init__(
        self,
        controller_epoch: int,
        leader: int,
        leader_epoch: int,
        isr: list[int],
        zk_version: int,
        replicas: list[int],
    ) -> None:
        self.topic, self.partition = "", -1  # volatile: whoever puts it into a request; all say the same
        self.controller_epoch = controller_epoch
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.zk_version = zk_version
        self.replicas = replicas

    @property
    def base_partition_state(self) -> Self:
        """The part that is common to both requests."""
        return self

    def of(self, tp: TopicPartition) -> Self:
        """The state itself, which now knows its partition."""
        self.topic, self.partition = tp
        return self


def states_by_topic(states: Iterable[S]) -> dict[str, list[S]]:
    """The states of each topic, in the order in which the topics come."""
    topics: dict[str, list[S]] = {}
    for state in states:
        topics.setdefault(state.topic, []).append(state)
    return topics
