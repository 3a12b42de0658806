"""Makes channels of one security protocol.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ChannelBuilder.java @ 3.7.1
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_py.common.memory.memory_pool import MemoryPool
    from kafka_py.common.network.channel_metadata_registry import ChannelMetadataRegistry
    from kafka_py.common.network.kafka_channel import KafkaChannel
    from kafka_py.common.network.nio_selector import SelectionKey


class ChannelBuilder(abc.ABC):
    """Puts transport layer and authenticator of a connection together.

    Mirrors: org.apache.kafka.common.network.ChannelBuilder @ 3.7.1
    """

    @abc.abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the configs of the listener or client."""

    @abc.abstractmethod
    def build_channel(
        self,
        id: str,
        key: SelectionKey,
        max_receive_size: int,
        memory_pool: MemoryPool,
        metadata_registry: ChannelMetadataRegistry,
    ) -> KafkaChannel:
        """A channel over the socket of ``key``. Raises KafkaException."""

    @abc.abstractmethod
    def close(self) -> None:
        """Release what the builder holds."""
