"""How a partition's leader writes the ISR into ZooKeeper.

Mirrors: core/src/main/scala/kafka/utils/ReplicationUtils.scala @ 1.1.1
Read next: cluster/partition.py (Partition.maybe_expand_isr, maybe_shrink_isr)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.api.leader_and_isr import LeaderAndIsr
    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.zk.kafka_zk_client import KafkaZkClient


class ReplicationUtils(Logging):
    """Conditional update of `/brokers/topics/T/partitions/P/state`.

    Mirrors: kafka.utils.ReplicationUtils
    Differs: the ZooKeeper paths and JSON (a higher layer) are imported inside the methods
    """

    @classmethod
    def update_leader_and_isr(
        cls,
        zk_client: KafkaZkClient,
        partition: TopicPartition,
        new_leader_and_isr: LeaderAndIsr,
        controller_epoch: int,
    ) -> tuple[bool, int]:
        """Write leader and ISR if the node still has `new_leader_and_isr.zk_version`; (written, new version or -1).

        The controller epoch written is that of the controller which made the leadership decision, not of the
        controller in office: a controller that reads the state must see whose decision it rests on.
        """
        from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
        from kafka_py.zk.zk_data import TopicPartitionStateZNode

        _LOGGER.debug("Updated ISR for %s to %s", partition, new_leader_and_isr.isr)
        path = TopicPartitionStateZNode.path(partition)
        data = TopicPartitionStateZNode.encode(LeaderIsrAndControllerEpoch(new_leader_and_isr, controller_epoch))
        return zk_client.conditional_update_path(
            path, data, new_leader_and_isr.zk_version, cls._check_leader_and_isr_zk_data
        )

    @staticmethod
    def _check_leader_and_isr_zk_data(
        zk_client: KafkaZkClient, path: str, expected_leader_and_isr_info: bytes
    ) -> tuple[bool, int]:
        """After a version conflict: was the conflicting write our own, whose answer got lost? (yes, version)."""
        from kafka_py.zk.zk_data import TopicPartitionStateZNode

        try:
            written_data, written_stat = zk_client.get_data_and_stat(path)
            if written_data is None:
                return False, -1
            expected = TopicPartitionStateZNode.decode(expected_leader_and_isr_info, written_stat)
            written = TopicPartitionStateZNode.decode(written_data, written_stat)
        except Exception as e:  # noqa: BLE001  whatever went wrong, the update cannot be claimed as ours
            _LOGGER.debug("Cannot compare the state at %s with the expected one", path, exc=e)
            return False, -1
        if expected is not None and expected == written:
            return True, written_stat.version
        return False, -1


_LOGGER = ReplicationUtils()
