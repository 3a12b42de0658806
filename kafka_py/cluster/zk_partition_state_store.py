"""What a partition's leader reads of ZooKeeper, and writes to it.

Mirrors: core/src/main/scala/kafka/cluster/Partition.scala @ 2.5.1 (ZkPartitionStateStore)
Read next: utils/replication_utils.py, cluster/partition.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.server.config_type import ConfigType
from kafka_py.utils.replication_utils import ReplicationUtils
from kafka_py.zk.admin_zk_client import AdminZkClient

if TYPE_CHECKING:
    from kafka_py.api.leader_and_isr import LeaderAndIsr
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
    from kafka_py.server.replica_manager import ReplicaManager


class ZkPartitionStateStore:
    """The ISR of one partition, and the settings of its topic, in ZooKeeper.

    The one place where an ISR is written: what later became AlterPartitionManager.

    Mirrors: core/src/main/scala/kafka/cluster/Partition.scala/ZkPartitionStateStore @ 2.5.1
    Thread: those of Partition, which holds its leader_isr_update_lock.
    Differs: shrinkIsr and expandIsr are one method; Partition marks their meters.
    """

    def __init__(self, topic_partition: TopicPartition, replica_manager: ReplicaManager) -> None:
        self._topic_partition = topic_partition
        self._manager = replica_manager

    def fetch_topic_config(self) -> dict[str, str]:
        """The settings of the topic that differ from the broker's."""
        return AdminZkClient(self._manager.zk_client).fetch_entity_config(ConfigType.TOPIC, self._topic_partition.topic)

    def fetch_state(self) -> LeaderIsrAndControllerEpoch | None:
        """Leader, ISR and their epochs; None when the topic is gone."""
        return self._manager.zk_client.get_topic_partition_state(self._topic_partition)

    def update_isr(self, controller_epoch: int, leader_and_isr: LeaderAndIsr) -> int | None:
        """Write the ISR if its zk_version is still that of the node; the new version, None when it is not.

        The controller will be told of the change. An exception leaves open what ZooKeeper has now.
        """
        manager = self._manager
        update_succeeded, new_version = ReplicationUtils.update_leader_and_isr(
            manager.zk_client, self._topic_partition, leader_and_isr, controller_epoch
        )
        if update_succeeded:
            manager.record_isr_change(self._topic_partition)
            return new_version
        manager.failed_isr_updates_rate.mark()
        return None
