"""The name under which a metric is found.

Mirrors: clients/src/main/java/org/apache/kafka/common/MetricName.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Mapping


class MetricName:
    """Name, group and tags of a metric; the description takes no part in comparing.

    Mirrors: org.apache.kafka.common.MetricName
    """

    __slots__ = ("_hash", "description", "group", "name", "tags")

    def __init__(self, name: str, group: str, description: str = "", tags: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.group = group
        self.description = description
        self.tags: dict[str, str] = dict(tags or {})
        self._hash = hash((group, name, frozenset(self.tags.items())))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MetricName):
            return NotImplemented
        return self.name == other.name and self.group == other.group and self.tags == other.tags

    def __repr__(self) -> str:
        tags = ", ".join(f"{k}={v}" for k, v in self.tags.items())
        return f"MetricName [name={self.name}, group={self.group}, description={self.description}, tags={{{tags}}}]"
