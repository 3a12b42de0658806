"""The outcome of a down-conversion.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/ConvertedRecords.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from kafka_py.common.record.records import Records
    from kafka_py.common.record.records_processing_stats import RecordsProcessingStats

T_co = TypeVar("T_co", bound="Records", covariant=True)


class ConvertedRecords(Generic[T_co]):
    """Records in an older format together with what the conversion cost.

    Mirrors: org.apache.kafka.common.record.ConvertedRecords
    """

    __slots__ = ("_records", "_records_processing_stats")

    def __init__(self, records: T_co, records_processing_stats: RecordsProcessingStats) -> None:
        self._records = records
        self._records_processing_stats = records_processing_stats

    def records(self) -> T_co:
        """Return the converted records."""
        return self._records

    def records_processing_stats(self) -> RecordsProcessingStats:
        """Return the cost of the conversion."""
        return self._records_processing_stats
