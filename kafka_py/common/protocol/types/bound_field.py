"""A field at its place in a schema, under the path it has in Kafka.

Mirrors: clients/src/main/java/org/apache/kafka/common/protocol/types/BoundField.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.types.field import BoundField

__all__ = ["BoundField"]
