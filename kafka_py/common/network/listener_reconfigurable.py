"""A reconfigurable that belongs to one listener.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ListenerReconfigurable.java @ 3.7.1
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName


class ListenerReconfigurable(abc.ABC):
    """Takes new values of the configs of its listener while the broker runs.

    Mirrors: org.apache.kafka.common.network.ListenerReconfigurable @ 3.7.1
    """

    @abc.abstractmethod
    def listener_name(self) -> ListenerName:
        """The listener whose prefixed configs are handed in."""

    @abc.abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the first values."""

    @abc.abstractmethod
    def reconfigurable_configs(self) -> set[str]:
        """Names of the configs that may change."""

    @abc.abstractmethod
    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        """Refuse bad new values. Raises ConfigException."""

    @abc.abstractmethod
    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """Take validated new values."""
