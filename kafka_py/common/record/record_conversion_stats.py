"""RecordConversionStats, the name that Kafka gave to RecordsProcessingStats in 2.0."""

from __future__ import annotations

from kafka_py.common.record.records_processing_stats import RecordsProcessingStats as RecordConversionStats

__all__ = ["RecordConversionStats"]
