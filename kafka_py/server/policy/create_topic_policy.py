"""A say in which topics may be created.

Mirrors: clients/src/main/java/org/apache/kafka/server/policy/CreateTopicPolicy.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class CreateTopicPolicy(ABC):
    """Looks at every CreateTopics before it is carried out; the class is named by create.topic.policy.class.name.

    Mirrors: org.apache.kafka.server.policy.CreateTopicPolicy
    Thread: request handlers of the controller's broker, several at a time.
    """

    class RequestMetadata(NamedTuple):
        """The topic that somebody wants; either the two numbers are None or the assignment is.

        Mirrors: org.apache.kafka.server.policy.CreateTopicPolicy.RequestMetadata
        """

        topic: str
        num_partitions: int | None
        replication_factor: int | None
        replicas_assignments: Mapping[int, Sequence[int]] | None
        configs: Mapping[str, str | None]

        def __str__(self) -> str:
            return (
                f"CreateTopicPolicy.RequestMetadata(topic={self.topic}, numPartitions={self.num_partitions}, "
                f"replicationFactor={self.replication_factor}, replicasAssignments={self.replicas_assignments}, "
                f"configs={self.configs})"
            )

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the broker's options."""

    @abstractmethod
    def validate(self, request_metadata: RequestMetadata) -> None:
        """Raise PolicyViolationException to refuse the topic."""

    @abstractmethod
    def close(self) -> None:
        """The broker stops."""
