"""What brokers and administrators tell the controller: their nodes in ZooKeeper, and what the bytes mean.

Mirrors: core/src/main/scala/kafka/zk/ZkData.scala @ 1.1.1 (notifications and wishes; zk_data offers them too)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.zk.zk_json import encode_as_bytes, parse_bytes, required


class IsrChangeNotificationZNode:
    """Parent of the notes that ISRs have changed.

    Mirrors: kafka.zk.IsrChangeNotificationZNode
    """

    path: Final = "/isr_change_notification"


class IsrChangeNotificationSequenceZNode:
    """One note that ISRs have changed.

    Mirrors: kafka.zk.IsrChangeNotificationSequenceZNode
    """

    SEQUENCE_NUMBER_PREFIX: Final = "isr_change_"
    VERSION: Final = 1  # IsrChangeNotificationHandler.Version of the controller

    @classmethod
    def path(cls, sequence_number: str = "") -> str:
        """Without a number: what to create sequential nodes under."""
        return f"{IsrChangeNotificationZNode.path}/{cls.SEQUENCE_NUMBER_PREFIX}{sequence_number}"

    @classmethod
    def encode(cls, partitions: Collection[TopicPartition]) -> bytes:
        """The partitions whose ISR changed."""
        return encode_as_bytes({"version": cls.VERSION, "partitions": _partition_list(partitions)})

    @staticmethod
    def decode(data: bytes) -> set[TopicPartition]:
        """The partitions whose ISR changed; empty for what is no JSON."""
        return _partition_set(data)

    @classmethod
    def sequence_number(cls, path: str) -> str:
        """What follows the prefix."""
        return path[path.rindex(cls.SEQUENCE_NUMBER_PREFIX) + len(cls.SEQUENCE_NUMBER_PREFIX) :]


def _partition_list(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]


def _partition_set(data: bytes) -> set[TopicPartition]:
    fields = parse_bytes(data)
    if fields is None:
        return set()
    return {
        TopicPartition(required(entry, "topic"), int(required(entry, "partition")))
        for entry in required(fields, "partitions")
    }


class LogDirEventNotificationZNode:
    """Parent of the notes that a log directory has failed.

    Mirrors: kafka.zk.LogDirEventNotificationZNode
    """

    path: Final = "/log_dir_event_notification"


class LogDirEventNotificationSequenceZNode:
    """One note that a broker's log directory has failed.

    Mirrors: kafka.zk.LogDirEventNotificationSequenceZNode
    """

    SEQUENCE_NUMBER_PREFIX: Final = "log_dir_event_"
    LOG_DIR_FAILURE_EVENT: Final = 1

    @classmethod
    def path(cls, sequence_number: str) -> str:
        """The node of that number."""
        return f"{LogDirEventNotificationZNode.path}/{cls.SEQUENCE_NUMBER_PREFIX}{sequence_number}"

    @classmethod
    def encode(cls, broker_id: int) -> bytes:
        """Whose directory failed."""
        return encode_as_bytes({"version": 1, "broker": broker_id, "event": cls.LOG_DIR_FAILURE_EVENT})

    @staticmethod
    def decode(data: bytes) -> int | None:
        """Id of the broker; None for what is no JSON."""
        fields = parse_bytes(data)
        return None if fields is None else int(required(fields, "broker"))

    @classmethod
    def sequence_number(cls, path: str) -> str:
        """What follows the prefix."""
        return path[path.rindex(cls.SEQUENCE_NUMBER_PREFIX) + len(cls.SEQUENCE_NUMBER_PREFIX) :]


class AdminZNode:
    """Root of what administrators ask of the controller.

    Mirrors: kafka.zk.AdminZNode
    """

    path: Final = "/admin"


class DeleteTopicsZNode:
    """Parent of the topics to delete.

    Mirrors: kafka.zk.DeleteTopicsZNode
    """

    path: Final = f"{AdminZNode.path}/delete_topics"


class DeleteTopicsTopicZNode:
    """One topic to delete.

    Mirrors: kafka.zk.DeleteTopicsTopicZNode
    """

    @staticmethod
    def path(topic: str) -> str:
        """/admin/delete_topics/TOPIC."""
        return f"{DeleteTopicsZNode.path}/{topic}"


class ReassignPartitionsZNode:
    """The partitions that are to move, and where.

    Mirrors: kafka.zk.ReassignPartitionsZNode
    """

    path: Final = f"{AdminZNode.path}/reassign_partitions"

    @staticmethod
    def encode(reassignment: Mapping[TopicPartition, Iterable[int]]) -> bytes:
        """New replicas of each partition."""
        partitions = [
            {"topic": tp.topic, "partition": tp.partition, "replicas": list(replicas)}
            for tp, replicas in reassignment.items()
        ]
        return encode_as_bytes({"version": 1, "partitions": partitions})

    @staticmethod
    def decode(data: bytes) -> dict[TopicPartition, list[int]]:
        """New replicas of each partition; empty for what is no JSON or has no partitions."""
        partitions = (parse_bytes(data) or {}).get("partitions") or []
        return {
            TopicPartition(required(entry, "topic"), int(required(entry, "partition"))): [
                int(replica) for replica in required(entry, "replicas")
            ]
            for entry in partitions
        }


class PreferredReplicaElectionZNode:
    """The partitions whose leadership is to go back to the first replica.

    Mirrors: kafka.zk.PreferredReplicaElectionZNode
    """

    path: Final = f"{AdminZNode.path}/preferred_replica_election"

    @staticmethod
    def encode(partitions: Collection[TopicPartition]) -> bytes:
        """The partitions."""
        return encode_as_bytes({"version": 1, "partitions": _partition_list(partitions)})

    @staticmethod
    def decode(data: bytes) -> set[TopicPartition]:
        """The partitions; empty for what is no JSON."""
        return _partition_set(data)
