"""Helpers for maps that are keyed by partition.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/CollectionUtils.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from kafka_py.common.topic_partition import TopicPartition

V = TypeVar("V")
H = TypeVar("H", bound=Hashable)


def group_data_by_topic(data: Mapping[TopicPartition, V]) -> dict[str, dict[int, V]]:
    """The same data by topic and then by partition."""
    by_topic: dict[str, dict[int, V]] = {}
    for (topic, partition), value in data.items():
        by_topic.setdefault(topic, {})[partition] = value
    return by_topic


def named_twice(items: Iterable[H]) -> set[H]:
    """The items that occur more than once. Ours."""
    seen: set[H] = set()
    twice: set[H] = set()
    for item in items:
        (twice if item in seen else seen).add(item)
    return twice
