"""RecordVersion, the name that Kafka gave to RecordFormat in 2.0."""

from __future__ import annotations

from kafka_py.common.record.record_format import RecordFormat as RecordVersion

__all__ = ["RecordVersion"]
