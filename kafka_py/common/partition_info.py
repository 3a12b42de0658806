"""What a client knows of a partition.

Mirrors: clients/src/main/java/org/apache/kafka/common/PartitionInfo.java @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.common.node import Node


class PartitionInfo(NamedTuple):
    """Leader, replicas and in-sync replicas of a partition; leader is None while there is none.

    Mirrors: org.apache.kafka.common.PartitionInfo
    """

    topic: str
    partition: int
    leader: Node | None
    replicas: list[Node]
    in_sync_replicas: list[Node]
    offline_replicas: list[Node] = []  # noqa: RUF012 - never changed

    def __str__(self) -> str:
        leader = "none" if self.leader is None else self.leader.id_string()
        return (
            f"Partition(topic = {self.topic}, partition = {self.partition}, leader = {leader}, "
            f"replicas = {_format_node_ids(self.replicas)}, isr = {_format_node_ids(self.in_sync_replicas)}, "
            f"offlineReplicas = {_format_node_ids(self.offline_replicas)})"
        )


def _format_node_ids(nodes: list[Node]) -> str:
    return f"[{','.join(node.id_string() for node in nodes)}]"
