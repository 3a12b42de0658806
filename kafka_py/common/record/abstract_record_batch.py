"""What all batches share.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/AbstractRecordBatch.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.record.record_batch import RecordBatch


class AbstractRecordBatch(RecordBatch):
    """Answers that follow from other answers of a batch.

    Mirrors: org.apache.kafka.common.record.AbstractRecordBatch
    """

    __slots__ = ()

    def has_producer_id(self) -> bool:
        """Return whether a producer id is set."""
        return self.producer_id() > RecordBatch.NO_PRODUCER_ID

    def next_offset(self) -> int:
        """Return the offset that follows the batch."""
        return self.last_offset() + 1

    def is_compressed(self) -> bool:
        """Return whether the codec is not NONE."""
        return self.compression_type().id != 0
