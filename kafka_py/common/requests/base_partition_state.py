"""What LeaderAndIsr and UpdateMetadata both say of a partition.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/BasePartitionState.java @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple


class BasePartitionState(NamedTuple):
    """Leader, in-sync replicas and replicas, with the epochs of controller and leader.

    Mirrors: org.apache.kafka.common.requests.BasePartitionState
    """

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: list[int]
    zk_version: int
    replicas: list[int]
