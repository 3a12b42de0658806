"""The exception of administrative operations, under the name of the original's file.

Mirrors: core/src/main/scala/kafka/admin/AdminOperationException.scala @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.errors import AdminOperationException

__all__ = ["AdminOperationException"]
