"""Raised by a sanity check when an index file cannot be what a broker wrote; the index is then rebuilt from its log.

Mirrors: core/src/main/scala/kafka/log/CorruptIndexException.scala @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.errors import CorruptIndexException

__all__ = ["CorruptIndexException"]
