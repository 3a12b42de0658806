"""Where a new topic's replicas go.

Mirrors: core/src/main/scala/kafka/admin/AdminUtils.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar, Final

from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.common.errors import (
    AdminOperationException,
    InvalidPartitionsException,
    InvalidReplicationFactorException,
)
from kafka_py.utils.logging import Logging


class AdminUtils(Logging):
    """Assigns replicas to brokers so that leaders, followers and racks are spread evenly.

    Mirrors: kafka.admin.AdminUtils
    Left out: addPartitions, validateReplicaAssignment, deleteTopic, isConsumerGroupActive, deleteConsumerGroupInZK,
        deleteConsumerGroupInfoForTopicInZK, deleteAllConsumerGroupInfoForTopicInZK, topicExists, getBrokerMetadatas,
        createTopic, validateCreateOrUpdateTopic, createOrUpdateTopicPartitionAssignmentPathInZK,
        writeTopicPartitionAssignment, changeClientIdConfig, changeUserOrUserClientIdConfig, validateTopicConfig,
        changeTopicConfig, changeBrokerConfig, changeEntityConfig, getConfigChangeZnodeData, writeEntityConfig,
        fetchEntityConfig, fetchAllTopicConfigs, fetchAllEntityConfigs, fetchAllChildEntityConfigs
        -- deprecated twins of AdminZkClient's methods on the old ZkUtils
    """

    rand: ClassVar[Random] = Random()
    ADMIN_CLIENT_ID: Final = "__admin_client"
    ENTITY_CONFIG_CHANGE_ZNODE_PREFIX: Final = "config_change_"

    @classmethod
    def assign_replicas_to_brokers(
        cls,
        broker_metadatas: Sequence[BrokerMetadata],
        n_partitions: int,
        replication_factor: int,
        fixed_start_index: int = -1,
        start_partition_id: int = -1,
    ) -> dict[int, list[int]]:
        """Partition -> brokers, the preferred leader first.

        Leaders go round the brokers from a random one on (or fixed_start_index). A partition's followers stand behind
        its leader at a distance that grows by one with each round, so that a broker's load spreads over all others when
        it fails. On brokers 0-4 with fixed_start_index 0, partitions 0-4 have leaders 0-4 and partition 0 followers 1
        and 2; partition 5 has leader 0 again and followers 2 and 3.

        With racks the brokers are first put in an order that alternates the racks, and a follower is skipped while its
        rack has a replica already and another rack has none.

        Raises InvalidPartitionsException, InvalidReplicationFactorException, and AdminOperationException when only some
        of the brokers have a rack.
        """
        if n_partitions <= 0:
            raise InvalidPartitionsException("Number of partitions must be larger than 0.")
        if replication_factor <= 0:
            raise InvalidReplicationFactorException("Replication factor must be larger than 0.")
        if replication_factor > len(broker_metadatas):
            raise InvalidReplicationFactorException(
                f"Replication factor: {replication_factor} larger than available brokers: {len(broker_metadatas)}."
            )
        if all(broker.rack is None for broker in broker_metadatas):
            ids = [broker.id for broker in broker_metadatas]
            return cls._assign_replicas_to_brokers_rack_unaware(
                n_partitions, replication_factor, ids, fixed_start_index, start_partition_id
            )
        if any(broker.rack is None for broker in broker_metadatas):
            raise AdminOperationException("Not all brokers have rack information for replica rack aware assignment.")
        return cls._assign_replicas_to_brokers_rack_aware(
            n_partitions, replication_factor, broker_metadatas, fixed_start_index, start_partition_id
        )

    @classmethod
    def _start(cls, fixed_start_index: int, n_brokers: int) -> int:
        return fixed_start_index if fixed_start_index >= 0 else cls.rand.randrange(n_brokers)

    @classmethod
    def _assign_replicas_to_brokers_rack_unaware(
        cls,
        n_partitions: int,
        replication_factor: int,
        broker_list: Sequence[int],
        fixed_start_index: int,
        start_partition_id: int,
    ) -> dict[int, list[int]]:
        ret: dict[int, list[int]] = {}
        n_brokers = len(broker_list)
        start_index = cls._start(fixed_start_index, n_brokers)
        first_partition_id = max(0, start_partition_id)
        next_replica_shift = cls._start(fixed_start_index, n_brokers)
        for partition_id in range(first_partition_id, first_partition_id + n_partitions):
            if partition_id > 0 and partition_id % n_brokers == 0:
                next_replica_shift += 1
            first = (partition_id + start_index) % n_brokers
            followers = [
                broker_list[cls.replica_index(first, next_replica_shift, j, n_brokers)]
                for j in range(replication_factor - 1)
            ]
            ret[partition_id] = [broker_list[first], *followers]
        return ret

    @classmethod
    def _assign_replicas_to_brokers_rack_aware(
        cls,
        n_partitions: int,
        replication_factor: int,
        broker_metadatas: Sequence[BrokerMetadata],
        fixed_start_index: int,
        start_partition_id: int,
    ) -> dict[int, list[int]]:
        rack_of = {broker.id: broker.rack for broker in broker_metadatas if broker.rack is not None}
        num_racks = len(set(rack_of.values()))
        arranged = cls.get_rack_alternated_broker_list(rack_of)
        n_brokers = len(arranged)
        ret: dict[int, list[int]] = {}
        start_index = cls._start(fixed_start_index, n_brokers)
        first_partition_id = max(0, start_partition_id)
        next_replica_shift = cls._start(fixed_start_index, n_brokers)
        for partition_id in range(first_partition_id, first_partition_id + n_partitions):
            if partition_id > 0 and partition_id % n_brokers == 0:
                next_replica_shift += 1
            first = (partition_id + start_index) % n_brokers
            replicas = [arranged[first]]
            racks = {rack_of[arranged[first]]}
            k = 0
            while len(replicas) < replication_factor:
                broker = arranged[cls.replica_index(first, next_replica_shift * num_racks, k, n_brokers)]
                k += 1
                # Skipped while another rack has no replica yet, or (with more replicas than racks) while another broker
                # has none: the first k that passes both is taken.
                if (rack_of[broker] not in racks or len(racks) == num_racks) and (
                    broker not in replicas or len(replicas) == n_brokers
                ):
                    replicas.append(broker)
                    racks.add(rack_of[broker])
            ret[partition_id] = replicas
        return ret

    @classmethod
    def get_rack_alternated_broker_list(cls, broker_rack_map: Mapping[int, str]) -> list[int]:
        """The brokers in an order that takes one from each rack in turn, racks by name and brokers by id.

        Racks a: 0, 1, b: 2, c: 3, 4 give 0, 2, 3, 1, 4.
        """
        by_rack = cls.get_inverse_map(broker_rack_map)
        longest = max(map(len, by_rack.values()), default=0)
        racks = sorted(by_rack)
        return [by_rack[rack][turn] for turn in range(longest) for rack in racks if turn < len(by_rack[rack])]

    @staticmethod
    def get_inverse_map(broker_rack_map: Mapping[int, str]) -> dict[str, list[int]]:
        """Rack -> its brokers in ascending order."""
        inverse: dict[str, list[int]] = {}
        for broker_id in sorted(broker_rack_map):
            inverse.setdefault(broker_rack_map[broker_id], []).append(broker_id)
        return inverse

    @staticmethod
    def parse_replica_assignment(replica_assignments_string: str, start_partition_id: int) -> dict[int, list[int]]:
        """`1:2,2:3` -> {start: [1, 2], start + 1: [2, 3]}; raises ValueError for what is no number."""
        return {
            partition_id: [int(broker_id.strip()) for broker_id in part.split(":")]
            for partition_id, part in enumerate(replica_assignments_string.split(","), start_partition_id)
        }

    @staticmethod
    def replica_index(first_replica_index: int, second_replica_shift: int, replica_index: int, n_brokers: int) -> int:
        """Place of a follower in the list of brokers: never the leader's, whatever the shift."""
        shift = 1 + (second_replica_shift + replica_index) % (n_brokers - 1)
        return (first_replica_index + shift) % n_brokers
