"""A producer as its coordinator knows it.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/ProducerIdAndEpoch.java @ 2.5.1 (a class of the producer's
in 1.1.1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kafka_py.common.record.record_batch import RecordBatch


@dataclass(frozen=True, slots=True)
class ProducerIdAndEpoch:
    """An id and its epoch; NONE has neither.

    Mirrors: org.apache.kafka.common.utils.ProducerIdAndEpoch @ 2.5.1
    """

    NONE: ClassVar[ProducerIdAndEpoch]

    producer_id: int
    epoch: int

    def is_valid(self) -> bool:
        """Whether there is a producer id."""
        return self.producer_id > RecordBatch.NO_PRODUCER_ID

    def __str__(self) -> str:
        return f"(producerId={self.producer_id}, epoch={self.epoch})"


ProducerIdAndEpoch.NONE = ProducerIdAndEpoch(RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH)
