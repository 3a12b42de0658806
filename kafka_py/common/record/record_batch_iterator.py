"""Iterating over a source of batches.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/RecordBatchIterator.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from kafka_py.common.errors import KafkaException

if TYPE_CHECKING:
    from kafka_py.common.record.log_input_stream import LogInputStream
    from kafka_py.common.record.record_batch import RecordBatch

T_co = TypeVar("T_co", bound="RecordBatch", covariant=True)


class RecordBatchIterator(Generic[T_co]):
    """Turns a LogInputStream into an iterator; I/O errors become KafkaException.

    Mirrors: org.apache.kafka.common.record.RecordBatchIterator
    """

    __slots__ = ("_log_input_stream",)

    def __init__(self, log_input_stream: LogInputStream[T_co]) -> None:
        self._log_input_stream = log_input_stream

    def __iter__(self) -> RecordBatchIterator[T_co]:
        """Return itself."""
        return self

    def __next__(self) -> T_co:
        """Return the next batch."""
        try:
            batch = self._log_input_stream.next_batch()
        except (OSError, EOFError) as e:
            raise KafkaException(str(e)) from e
        if batch is None:
            raise StopIteration
        return batch
