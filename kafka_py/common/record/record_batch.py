"""The interface of a record batch, and the constants of all format versions.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/RecordBatch.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.compression_type import CompressionType
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.timestamp_type import TimestampType
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream


class RecordBatch(ABC):
    """A container of records: one message (set) below magic 2, a batch with one header from magic 2 on.

    What magic 0 and 1 cannot carry (producer, epoch, control bit, count) has its "absent" value as default here.

    Mirrors: org.apache.kafka.common.record.RecordBatch
    """

    __slots__ = ()

    MAGIC_VALUE_V0: ClassVar[int] = 0
    MAGIC_VALUE_V1: ClassVar[int] = 1
    MAGIC_VALUE_V2: ClassVar[int] = 2
    CURRENT_MAGIC_VALUE: ClassVar[int] = 2

    NO_TIMESTAMP: ClassVar[int] = -1
    NO_PRODUCER_ID: ClassVar[int] = -1
    NO_PRODUCER_EPOCH: ClassVar[int] = -1
    NO_SEQUENCE: ClassVar[int] = -1
    NO_PARTITION_LEADER_EPOCH: ClassVar[int] = -1

    @abstractmethod
    def is_valid(self) -> bool:
        """Return whether the stored checksum is right."""

    @abstractmethod
    def ensure_valid(self) -> None:
        """Raise InvalidRecordException if the size or the checksum is wrong."""

    @abstractmethod
    def checksum(self) -> int:
        """Return the stored checksum, unsigned."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest create time, or the append time, in ms."""

    @abstractmethod
    def timestamp_type(self) -> TimestampType:
        """Return what the timestamps mean; NO_TIMESTAMP_TYPE for magic 0."""

    def base_offset(self) -> int:
        """Return the first offset; from magic 2 on the one before compaction, below it by deep iteration."""
        return next(iter(self)).offset()

    @abstractmethod
    def last_offset(self) -> int:
        """Return the last offset, the one before compaction."""

    def next_offset(self) -> int:
        """Return the offset that follows the batch."""
        return self.last_offset() + 1

    def magic(self) -> int:
        """Return the format version (the current one unless a class says otherwise)."""
        return RecordBatch.CURRENT_MAGIC_VALUE

    def producer_id(self) -> int:
        """Return the producer id, -1 if there is none."""
        return RecordBatch.NO_PRODUCER_ID

    def producer_epoch(self) -> int:
        """Return the producer epoch, -1 if there is none."""
        return RecordBatch.NO_PRODUCER_EPOCH

    def has_producer_id(self) -> bool:
        """Return whether a producer id is set."""
        return self.producer_id() > RecordBatch.NO_PRODUCER_ID

    def base_sequence(self) -> int:
        """Return the first sequence number, -1 if there is none."""
        return RecordBatch.NO_SEQUENCE

    def last_sequence(self) -> int:
        """Return the last sequence number, -1 if there is none."""
        return RecordBatch.NO_SEQUENCE

    @abstractmethod
    def compression_type(self) -> CompressionType:
        """Return the codec of the batch."""

    @abstractmethod
    def size_in_bytes(self) -> int:
        """Return the size with header and log overhead."""

    def count_or_null(self) -> int | None:
        """Return the record count of the header, None below magic 2."""
        return None

    def is_compressed(self) -> bool:
        """Return whether the codec is not NONE."""
        return self.compression_type().id != 0

    @abstractmethod
    def write_to(self, out: ByteBufferOutputStream) -> None:
        """Append the bytes of the batch to out."""

    def is_transactional(self) -> bool:
        """Return whether the batch is part of a transaction."""
        return False

    def partition_leader_epoch(self) -> int:
        """Return the epoch of the leader that appended the batch, -1 if unknown (always below magic 2)."""
        return RecordBatch.NO_PARTITION_LEADER_EPOCH

    @abstractmethod
    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records; InvalidRecordException where the structure is wrong."""

    @abstractmethod
    def streaming_iterator(self, buffer_supplier: BufferSupplier | None = None) -> Generator[Record, None, None]:
        """Iterate over the records, decompressing piece by piece; close() it if not exhausted."""

    def is_control_batch(self) -> bool:
        """Return whether the batch holds control records (transaction markers)."""
        return False
