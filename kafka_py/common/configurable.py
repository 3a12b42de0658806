"""Something that takes its settings after construction.

Mirrors: clients/src/main/java/org/apache/kafka/common/Configurable.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Configurable(Protocol):
    """An object created by class name and then given the settings it needs.

    Mirrors: org.apache.kafka.common.Configurable
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take settings by name."""
