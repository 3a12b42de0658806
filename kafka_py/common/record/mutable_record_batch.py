"""The interface of a batch whose header can be changed where it lies.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/MutableRecordBatch.java @ 1.1.1
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from kafka_py.common.record.abstract_record_batch import AbstractRecordBatch

if TYPE_CHECKING:
    from kafka_py.common.record.timestamp_type import TimestampType


class MutableRecordBatch(AbstractRecordBatch):
    """A batch in memory: the broker writes offsets, epoch and timestamps into the received bytes.

    Mirrors: org.apache.kafka.common.record.MutableRecordBatch
    """

    __slots__ = ()

    @abstractmethod
    def set_last_offset(self, offset: int) -> None:
        """Move the batch so that it ends with offset."""

    @abstractmethod
    def set_max_timestamp(self, timestamp_type: TimestampType, max_timestamp: int) -> None:
        """Set type and value, recomputing the checksum only if something changes."""

    @abstractmethod
    def set_partition_leader_epoch(self, epoch: int) -> None:
        """Set the epoch of the appending leader."""

    def set_last_offset_and_epoch(self, offset: int, epoch: int) -> None:
        """Do what set_last_offset and set_partition_leader_epoch do."""
        self.set_last_offset(offset)
        self.set_partition_leader_epoch(epoch)
