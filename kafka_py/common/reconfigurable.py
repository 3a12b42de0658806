"""Something whose settings may change while it works.

Mirrors: clients/src/main/java/org/apache/kafka/common/Reconfigurable.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Protocol, runtime_checkable

from kafka_py.common.configurable import Configurable


@runtime_checkable
class Reconfigurable(Configurable, Protocol):
    """A Configurable some of whose settings can be replaced later, after a check.

    Mirrors: org.apache.kafka.common.Reconfigurable
    """

    def reconfigurable_configs(self) -> Set[str]:
        """The settings that may change."""

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        """Raise ConfigException when these settings could not be taken."""

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        """Take the new settings, which were validated before."""
