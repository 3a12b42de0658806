"""Batches in a file, read no further than their headers until someone asks.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/FileLogInputStream.java @ 1.1.1
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from typing import TYPE_CHECKING, TypeAlias

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
from kafka_py.common.record.abstract_record_batch import AbstractRecordBatch
from kafka_py.common.record.default_record_batch import (
    ATTRIBUTES,
    BASE_SEQUENCE,
    LAST_OFFSET_DELTA,
    PARTITION_LEADER_EPOCH,
    PRODUCER_EPOCH,
    PRODUCER_ID,
    RECORDS_COUNT,
    DefaultRecordBatch,
)
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records import LOG_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.compression_type import CompressionType
    from kafka_py.common.record.file_channel import FileChannel
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.timestamp_type import TimestampType
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

_HEADER_SIZE_UP_TO_MAGIC = 17
_OFFSET_AND_SIZE = struct.Struct(">qi")

# One read brings a whole magic 2 header, or an older message up to its key length.
_READ_SIZE = DefaultRecordBatch.RECORD_BATCH_OVERHEAD


class FileChannelRecordBatch(AbstractRecordBatch):
    """A batch in a file: the header is in memory, the rest is read when first needed and then kept.

    Mirrors: org.apache.kafka.common.record.FileLogInputStream.FileChannelRecordBatch
    """

    __slots__ = ("_batch_size", "_channel", "_full_batch", "_header_batch", "_magic", "_offset", "_position")

    def __init__(
        self, offset: int, magic: int, channel: FileChannel, position: int, batch_size: int, header: bytes
    ) -> None:
        self._offset = offset
        self._magic = magic
        self._channel = channel
        self._position = position
        self._batch_size = batch_size
        self._header_batch: RecordBatch = self.to_memory_record_batch(header)
        self._full_batch: RecordBatch | None = None  # thread: of its owner

    @abstractmethod
    def to_memory_record_batch(self, buffer: bytes | bytearray) -> RecordBatch:
        """Return a batch of the right format over buffer."""

    def position(self) -> int:
        """Return where in the file the batch begins."""
        return self._position

    def magic(self) -> int:
        """Return the format version."""
        return self._magic

    def compression_type(self) -> CompressionType:
        """Return the codec."""
        return self._header_batch.compression_type()

    def timestamp_type(self) -> TimestampType:
        """Return what the timestamps mean."""
        return self._header_batch.timestamp_type()

    def checksum(self) -> int:
        """Return the stored checksum."""
        return self._header_batch.checksum()

    def max_timestamp(self) -> int:
        """Return the largest timestamp."""
        return self._header_batch.max_timestamp()

    def size_in_bytes(self) -> int:
        """Return the size with offset and size fields."""
        return LOG_OVERHEAD + self._batch_size

    def is_valid(self) -> bool:
        """Return whether size and checksum are right."""
        return self.load_full_batch().is_valid()

    def ensure_valid(self) -> None:
        """Raise InvalidRecordException if size or checksum is wrong."""
        self.load_full_batch().ensure_valid()

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records."""
        return iter(self.load_full_batch())

    def streaming_iterator(self, buffer_supplier: BufferSupplier | None = None) -> Generator[Record, None, None]:
        """Iterate over the records, decompressing piece by piece."""
        return self.load_full_batch().streaming_iterator(buffer_supplier)

    def write_to(self, out: ByteBufferOutputStream) -> None:
        """Append the bytes of the batch to out."""
        out.write(self._load(self.size_in_bytes(), "record batch"))

    def load_full_batch(self) -> RecordBatch:
        """Return the whole batch in memory; KafkaException if it cannot be read."""
        if self._full_batch is None:
            self._full_batch = self.to_memory_record_batch(self._load(self.size_in_bytes(), "full record batch"))
        return self._full_batch

    def _load(self, size: int, description: str) -> bytes:
        try:
            data = self._channel.read(size, self._position)
        except OSError as e:
            raise KafkaException(f"Failed to read {description} at position {self._position}") from e
        if len(data) < size:
            raise KafkaException(
                f"Failed to read `{description}` from file channel: expected to read {size} bytes, but reached "
                f"end of file after reading {len(data)} bytes. Started read from position {self._position}."
            )
        return data

    def __eq__(self, other: object) -> bool:
        """Equal when place, size and file are."""
        return (
            isinstance(other, FileChannelRecordBatch)
            and self._offset == other._offset
            and self._position == other._position
            and self._batch_size == other._batch_size
            and self._channel is other._channel
        )

    def __hash__(self) -> int:
        """Hash of offset, place and size."""
        return hash((self._offset, self._position, self._batch_size))

    def __repr__(self) -> str:
        """Show format, offset and size."""
        return f"FileChannelRecordBatch(magic: {self._magic}, offset: {self._offset}, size: {self._batch_size})"


class DefaultFileChannelRecordBatch(FileChannelRecordBatch):
    """A magic 2 batch in a file; `header` as in DefaultRecordBatch.

    Mirrors: org.apache.kafka.common.record.DefaultRecordBatch.DefaultFileChannelRecordBatch
    """

    __slots__ = ("header",)

    def to_memory_record_batch(self, buffer: bytes | bytearray) -> DefaultRecordBatch:
        """Return a magic 2 batch over buffer."""
        batch = DefaultRecordBatch(buffer)
        self.header = batch.header
        return batch

    def base_offset(self) -> int:
        """Return the first offset."""
        return self._offset

    def last_offset(self) -> int:
        """Return the last offset."""
        return self._offset + self.header[LAST_OFFSET_DELTA]

    def producer_id(self) -> int:
        """Return the producer id, -1 if there is none."""
        return self.header[PRODUCER_ID]

    def producer_epoch(self) -> int:
        """Return the producer epoch, -1 if there is none."""
        return self.header[PRODUCER_EPOCH]

    def base_sequence(self) -> int:
        """Return the first sequence number, -1 if there is none."""
        return self.header[BASE_SEQUENCE]

    def last_sequence(self) -> int:
        """Return the last sequence number, -1 if there is none."""
        return self._header_batch.last_sequence()

    def count_or_null(self) -> int:
        """Return the number of records that the header claims."""
        return self.header[RECORDS_COUNT]

    def is_transactional(self) -> bool:
        """Return whether the batch is part of a transaction."""
        return self.header[ATTRIBUTES] & 0x10 != 0

    def is_control_batch(self) -> bool:
        """Return whether the batch holds a transaction marker."""
        return self.header[ATTRIBUTES] & 0x20 != 0

    def partition_leader_epoch(self) -> int:
        """Return the epoch of the leader that appended the batch."""
        return self.header[PARTITION_LEADER_EPOCH]


class LegacyFileChannelRecordBatch(FileChannelRecordBatch):
    """A message of magic 0 or 1 in a file.

    Mirrors: org.apache.kafka.common.record.AbstractLegacyRecordBatch.LegacyFileChannelRecordBatch
    """

    __slots__ = ()

    def to_memory_record_batch(self, buffer: bytes | bytearray) -> ByteBufferLegacyRecordBatch:
        """Return a message over buffer."""
        return ByteBufferLegacyRecordBatch(buffer)

    def base_offset(self) -> int:
        """Return the offset of the first record; reads and decompresses a wrapper."""
        return self.load_full_batch().base_offset()

    def last_offset(self) -> int:
        """Return the offset of the last record."""
        return self._offset


class FileLogInputStream:
    """Walks the batches between two positions of a file, one read of a header each.

    Mirrors: org.apache.kafka.common.record.FileLogInputStream
    """

    __slots__ = ("_channel", "_end", "_position")

    FileChannelRecordBatch: TypeAlias = FileChannelRecordBatch

    def __init__(self, channel: FileChannel, start: int, end: int) -> None:
        self._channel = channel
        self._position = start  # thread: of its owner
        self._end = end

    def next_batch(self) -> DefaultFileChannelRecordBatch | LegacyFileChannelRecordBatch | None:
        """Return the next batch, None if no complete one is left.

        CorruptRecordException for an impossible size, EOFError if the file ends before its known size.
        """
        position = self._position
        if position >= self._end - _HEADER_SIZE_UP_TO_MAGIC:
            return None
        header = self._channel.read(min(_READ_SIZE, self._end - position), position)
        if len(header) < _HEADER_SIZE_UP_TO_MAGIC:
            raise EOFError(
                f"Failed to read `log header` from file channel: expected to read {_HEADER_SIZE_UP_TO_MAGIC} bytes, "
                f"but reached end of file after reading {len(header)} bytes. Started read from position {position}."
            )
        offset, size = _OFFSET_AND_SIZE.unpack_from(header)
        if size < LegacyRecord.RECORD_OVERHEAD_V0:
            raise CorruptRecordException(
                f"Record size is smaller than minimum record overhead ({LegacyRecord.RECORD_OVERHEAD_V0})."
            )
        if position > self._end - LOG_OVERHEAD - size:
            return None
        self._position = position + LOG_OVERHEAD + size
        magic = header[16] if header[16] < 128 else header[16] - 256
        if magic < RecordBatch.MAGIC_VALUE_V2:
            return LegacyFileChannelRecordBatch(offset, magic, self._channel, position, size, header)
        return DefaultFileChannelRecordBatch(offset, magic, self._channel, position, size, header)
