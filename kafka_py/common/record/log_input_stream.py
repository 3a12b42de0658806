"""The interface of a source of batches.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/LogInputStream.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from kafka_py.common.record.record_batch import RecordBatch

T_co = TypeVar("T_co", bound="RecordBatch", covariant=True)


class LogInputStream(Protocol, Generic[T_co]):
    """Yields batches one by one.

    Mirrors: org.apache.kafka.common.record.LogInputStream
    """

    def next_batch(self) -> T_co | None:
        """Return the next batch, None at the end; OSError or CorruptRecordException."""
