"""The error of a record or batch whose structure or checksum is wrong.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/InvalidRecordException.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.errors import InvalidRecordException

__all__ = ["InvalidRecordException"]
