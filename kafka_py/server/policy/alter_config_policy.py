"""A say in how topics and brokers may be configured.

Mirrors: clients/src/main/java/org/apache/kafka/server/policy/AlterConfigPolicy.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kafka_py.common.config.config_resource import ConfigResource


class AlterConfigPolicy(ABC):
    """Looks at every AlterConfigs before it is carried out; the class is named by alter.config.policy.class.name.

    Mirrors: org.apache.kafka.server.policy.AlterConfigPolicy
    Thread: request handlers, several at a time.
    """

    class RequestMetadata(NamedTuple):
        """What is to be configured, and all of its settings.

        Mirrors: org.apache.kafka.server.policy.AlterConfigPolicy.RequestMetadata
        """

        resource: ConfigResource
        configs: Mapping[str, str | None]

        def __str__(self) -> str:
            return f"AlterConfigPolicy.RequestMetadata(resource={self.resource}, configs={self.configs})"

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the broker's options."""

    @abstractmethod
    def validate(self, request_metadata: RequestMetadata) -> None:
        """Raise PolicyViolationException to refuse the settings."""

    @abstractmethod
    def close(self) -> None:
        """The broker stops."""
