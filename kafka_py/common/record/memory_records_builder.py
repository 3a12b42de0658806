"""Writing batches of any format and codec.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/MemoryRecordsBuilder.java @ 1.1.1
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, cast

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.record.abstract_legacy_record_batch import AbstractLegacyRecordBatch
from kafka_py.common.record.abstract_records import AbstractRecords
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record import DefaultRecord
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record import Record
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records import Records
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.record.timestamp_type import TimestampType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_py.common.header.header import Header
    from kafka_py.common.record.compression_type import Compressor, OutputStream
    from kafka_py.common.record.control_record_type import ControlRecordType
    from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

    Buffer = bytes | bytearray | memoryview

_INT_MAX = 0x7FFFFFFF
_OFFSET_AND_SIZE = struct.Struct(">qi")


class RecordsInfo(NamedTuple):
    """The largest timestamp of a built batch and the offset that the time index keeps for it.

    Mirrors: org.apache.kafka.common.record.MemoryRecordsBuilder.RecordsInfo
    """

    max_timestamp: int
    shallow_offset_of_max_timestamp: int


class MemoryRecordsBuilder:
    """Appends records to a growing buffer, through a compressor if there is a codec, and closes with the header.

    Mirrors: org.apache.kafka.common.record.MemoryRecordsBuilder
    Thread: one at a time; a producer's builder is guarded by its batch.
    Differs: append and append_with_offset take a record or its fields (Java overloads them).
    """

    RecordsInfo: TypeAlias = RecordsInfo

    COMPRESSION_RATE_ESTIMATION_FACTOR: ClassVar[float] = 1.05

    def __init__(
        self,
        buffer_stream: ByteBufferOutputStream,
        magic: int,
        compression_type: CompressionType,
        timestamp_type: TimestampType,
        base_offset: int,
        log_append_time: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        is_transactional: bool,
        is_control_batch: bool,
        partition_leader_epoch: int,
        write_limit: int,
        owns_buffer: bool = False,
    ) -> None:
        if magic > RecordBatch.MAGIC_VALUE_V0 and timestamp_type is TimestampType.NO_TIMESTAMP_TYPE:
            raise ValueError("TimestampType must be set for magic >= 0")
        if magic < RecordBatch.MAGIC_VALUE_V2:
            if is_transactional:
                raise ValueError(f"Transactional records are not supported for magic {magic}")
            if is_control_batch:
                raise ValueError(f"Control records are not supported for magic {magic}")
        self._buffer_stream = buffer_stream
        self._magic = magic
        self._compression_type = compression_type
        self._timestamp_type = timestamp_type
        self._base_offset = base_offset
        self._log_append_time = log_append_time
        self._is_control_batch = is_control_batch
        self._partition_leader_epoch = partition_leader_epoch
        self._write_limit = write_limit
        # Built records may be a view only of a buffer that no other builder will grow.
        self._owns_buffer = owns_buffer

        self._producer_id = producer_id  # thread: of its owner
        self._producer_epoch = producer_epoch  # thread: of its owner
        self._base_sequence = base_sequence  # thread: of its owner
        self._is_transactional = is_transactional  # thread: of its owner

        self._uncompressed_records_size_in_bytes = 0  # thread: of its owner
        self._num_records = 0  # thread: of its owner
        self._actual_compression_ratio = 1.0  # thread: of its owner
        self._estimated_compression_ratio = 1.0  # thread: of its owner
        self._max_timestamp = RecordBatch.NO_TIMESTAMP  # thread: of its owner
        self._offset_of_max_timestamp = -1  # thread: of its owner
        self._last_offset: int | None = None  # thread: of its owner
        self._first_timestamp: int | None = None  # thread: of its owner
        self._built_records: MemoryRecords | None = None  # thread: of its owner
        self._closed = False  # thread: of its owner
        self._aborted = False  # thread: of its owner

        self._initial_position = buffer_stream.position()
        self._batch_header_size_in_bytes = AbstractRecords.record_batch_header_size_in_bytes(magic, compression_type)
        buffer_stream.set_position(self._initial_position + self._batch_header_size_in_bytes)
        stream: OutputStream | None = compression_type.wrap_for_output(buffer_stream, magic)
        self._append_stream = stream  # thread: of its owner

    def buffer(self) -> bytearray:
        """Return the buffer written so far."""
        return self._buffer_stream.buffer

    def initial_capacity(self) -> int:
        """Return the size that the buffer was created for."""
        return self._buffer_stream.initial_capacity()

    def compression_ratio(self) -> float:
        """Return compressed by uncompressed size of the closed batch."""
        return self._actual_compression_ratio

    def compression_type(self) -> CompressionType:
        """Return the codec."""
        return self._compression_type

    def is_control_batch(self) -> bool:
        """Return whether control records are written."""
        return self._is_control_batch

    def is_transactional(self) -> bool:
        """Return whether the batch is part of a transaction."""
        return self._is_transactional

    def build(self) -> MemoryRecords:
        """Close the batch and return it; IllegalStateException after abort."""
        if self._aborted:
            raise IllegalStateException("Attempting to build an aborted record batch")
        self.close()
        if self._built_records is None:
            self._built_records = self._records_of_buffer()
        return self._built_records

    def info(self) -> RecordsInfo:
        """Return the largest timestamp and the offset to index it with (the last one, for whole batches)."""
        last_offset = -1 if self._last_offset is None else self._last_offset
        whole_batch = self._compression_type is not CompressionType.NONE or self._magic >= RecordBatch.MAGIC_VALUE_V2
        if self._timestamp_type is TimestampType.LOG_APPEND_TIME:
            return RecordsInfo(self._log_append_time, last_offset if whole_batch else self._base_offset)
        if self._max_timestamp == RecordBatch.NO_TIMESTAMP:
            return RecordsInfo(RecordBatch.NO_TIMESTAMP, last_offset)
        return RecordsInfo(self._max_timestamp, last_offset if whole_batch else self._offset_of_max_timestamp)

    def num_records(self) -> int:
        """Return how many records were appended."""
        return self._num_records

    def uncompressed_bytes_written(self) -> int:
        """Return the size that the batch would have without codec."""
        return self._uncompressed_records_size_in_bytes + self._batch_header_size_in_bytes

    def set_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Set what the header says of the producer; IllegalStateException once closed."""
        if self.is_closed():
            raise IllegalStateException(
                "Trying to set producer state of an already closed batch. This indicates a bug on the client."
            )
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._is_transactional = is_transactional

    def override_last_offset(self, last_offset: int) -> None:
        """Keep the last offset of a batch whose last records were compacted away."""
        if self._closed:
            raise IllegalStateException("Cannot override the last offset after the records have been built")
        self._last_offset = last_offset

    def close_for_record_appends(self) -> None:
        """End the compressed stream; no record can follow."""
        stream, self._append_stream = self._append_stream, None
        if stream is not None and stream is not self._buffer_stream:
            cast("Compressor", stream).close()

    def abort(self) -> None:
        """Throw away what was written."""
        self.close_for_record_appends()
        self._buffer_stream.set_position(self._initial_position)
        self._aborted = True

    def reopen_and_rewrite_producer_state(
        self, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
    ) -> None:
        """Let the next close write the header anew with another producer state."""
        if self._aborted:
            raise IllegalStateException("Should not reopen a batch which is already aborted.")
        self._built_records = None
        self._closed = False
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._is_transactional = is_transactional

    def close(self) -> None:
        """Write the header; IllegalStateException after abort, ValueError for an impossible producer state."""
        if self._aborted:
            raise IllegalStateException("Cannot close MemoryRecordsBuilder as it has already been aborted")
        if self._closed:
            return
        self._validate_producer_state()
        self.close_for_record_appends()
        self._closed = True
        if self._num_records == 0:
            self._buffer_stream.set_position(self._initial_position)
        elif self._magic > RecordBatch.MAGIC_VALUE_V1:
            self._set_compression_ratio(self._write_default_batch_header())
        elif self._compression_type is not CompressionType.NONE:
            self._set_compression_ratio(self._write_legacy_compressed_wrapper_header())

    def append(
        self,
        record: Record | SimpleRecord | LegacyRecord | int,
        key: Buffer | None = None,
        value: Buffer | None = None,
        headers: Sequence[Header] = (),
    ) -> int | None:
        """Append a record, or timestamp, key, value and headers, at the next offset.

        A stored Record keeps its own offset. Returns the CRC of the message below magic 2. ValueError for what the
        format cannot hold, IllegalStateException once closed.
        """
        if isinstance(record, Record):
            return self._append_with_offset(
                record.offset(),
                self._is_control_batch,
                record.timestamp(),
                record.key(),
                record.value(),
                record.headers(),
            )
        return self.append_with_offset(self._next_sequential_offset(), record, key, value, headers)

    def append_with_offset(
        self,
        offset: int,
        record: Record | SimpleRecord | LegacyRecord | int,
        key: Buffer | None = None,
        value: Buffer | None = None,
        headers: Sequence[Header] = (),
    ) -> int | None:
        """Append a record, or timestamp, key, value and headers, at that offset (see append)."""
        if isinstance(record, int):
            return self._append_with_offset(offset, False, record, key, value, headers)
        if isinstance(record, SimpleRecord):
            return self._append_with_offset(offset, False, record.timestamp, record.key, record.value, record.headers)
        if isinstance(record, LegacyRecord):
            return self._append_with_offset(offset, False, record.timestamp(), record.key(), record.value(), ())
        return self._append_with_offset(
            offset, False, record.timestamp(), record.key(), record.value(), record.headers()
        )

    def append_end_txn_marker(self, timestamp: int, marker: EndTransactionMarker) -> int | None:
        """Append the control record that commits or aborts; ValueError without producer id or transaction."""
        if self._producer_id == RecordBatch.NO_PRODUCER_ID:
            raise ValueError("End transaction marker requires a valid producerId")
        if not self._is_transactional:
            raise ValueError("End transaction marker depends on batch transactional flag being enabled")
        return self._append_control_record(timestamp, marker.control_type(), marker.serialize_value())

    def append_unchecked_with_offset(self, offset: int, record: LegacyRecord) -> None:
        """Append a message as it is, whatever it holds (tests build wrong sets with this)."""
        stream = self._ensure_open_for_record_append()
        size = record.size_in_bytes()
        stream.write(_OFFSET_AND_SIZE.pack(self._to_inner_offset(offset), size))
        stream.write(record.buffer())
        self._record_written(offset, record.timestamp(), size + Records.LOG_OVERHEAD)

    def has_room_for(
        self, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Sequence[Header] = ()
    ) -> bool:
        """Return whether one more record fits the write limit; the first one always does."""
        if self.is_full():
            return False
        if self._num_records == 0:
            return True
        if self._magic < RecordBatch.MAGIC_VALUE_V2:
            record_size = Records.LOG_OVERHEAD + LegacyRecord.record_size(self._magic, key, value)
        else:
            timestamp_delta = 0 if self._first_timestamp is None else timestamp - self._first_timestamp
            record_size = DefaultRecord.size_in_bytes_of(
                self._next_sequential_offset() - self._base_offset, timestamp_delta, key, value, headers
            )
        # Conservative: how well the new record compresses is not taken into account.
        return self._write_limit >= self._estimated_bytes_written() + record_size

    def is_closed(self) -> bool:
        """Return whether the header is written."""
        return self._closed

    def is_full(self) -> bool:
        """Return whether nothing more may be appended; a batch takes one record however large."""
        return self._append_stream is None or (
            self._num_records > 0 and self._write_limit <= self._estimated_bytes_written()
        )

    def estimated_size_in_bytes(self) -> int:
        """Return the size, exact if closed or uncompressed."""
        if self._closed:
            return self._buffer_stream.position() - self._initial_position
        return self._estimated_bytes_written()

    def magic(self) -> int:
        """Return the format version."""
        return self._magic

    def producer_id(self) -> int:
        """Return the producer id of the header."""
        return self._producer_id

    def producer_epoch(self) -> int:
        """Return the producer epoch of the header."""
        return self._producer_epoch

    def base_sequence(self) -> int:
        """Return the first sequence number of the header."""
        return self._base_sequence

    def _records_of_buffer(self) -> MemoryRecords:
        if self._num_records == 0:
            return MemoryRecords.EMPTY
        written = memoryview(self._buffer_stream.buffer)
        if self._owns_buffer:
            return MemoryRecords(written)
        with written:
            return MemoryRecords(bytearray(written[self._initial_position :]))

    def _set_compression_ratio(self, written_compressed: int) -> None:
        self._actual_compression_ratio = written_compressed / (self._uncompressed_records_size_in_bytes or 1)

    def _validate_producer_state(self) -> None:
        if self._producer_id == RecordBatch.NO_PRODUCER_ID:
            if self._is_transactional:
                raise ValueError("Cannot write transactional messages without a valid producer ID")
            return
        if self._producer_epoch == RecordBatch.NO_PRODUCER_EPOCH:
            raise ValueError("Invalid negative producer epoch")
        if self._base_sequence < 0 and not self._is_control_batch:
            raise ValueError("Invalid negative sequence number used")
        if self._magic < RecordBatch.MAGIC_VALUE_V2:
            raise ValueError(f"Idempotent messages are not supported for magic {self._magic}")

    def _write_default_batch_header(self) -> int:
        buffer = self._buffer_stream.buffer
        size = len(buffer) - self._initial_position
        log_append_time = self._timestamp_type is TimestampType.LOG_APPEND_TIME
        assert self._last_offset is not None
        assert self._first_timestamp is not None
        DefaultRecordBatch.write_header(
            buffer,
            self._initial_position,
            self._base_offset,
            self._last_offset - self._base_offset,
            size,
            self._magic,
            self._compression_type,
            self._timestamp_type,
            self._first_timestamp,
            self._log_append_time if log_append_time else self._max_timestamp,
            self._producer_id,
            self._producer_epoch,
            self._base_sequence,
            self._is_transactional,
            self._is_control_batch,
            self._partition_leader_epoch,
            self._num_records,
        )
        return size - DefaultRecordBatch.RECORD_BATCH_OVERHEAD

    def _write_legacy_compressed_wrapper_header(self) -> int:
        buffer = self._buffer_stream.buffer
        position = self._initial_position
        wrapper_size = len(buffer) - position - Records.LOG_OVERHEAD
        log_append_time = self._timestamp_type is TimestampType.LOG_APPEND_TIME
        _OFFSET_AND_SIZE.pack_into(buffer, position, self._last_offset, wrapper_size)
        LegacyRecord.write_compressed_record_header(
            buffer,
            position + Records.LOG_OVERHEAD,
            self._magic,
            wrapper_size,
            self._log_append_time if log_append_time else self._max_timestamp,
            self._compression_type,
            self._timestamp_type,
        )
        return wrapper_size - LegacyRecord.record_overhead(self._magic)

    def _append_with_offset(
        self,
        offset: int,
        is_control_record: bool,
        timestamp: int,
        key: Buffer | None,
        value: Buffer | None,
        headers: Sequence[Header],
    ) -> int | None:
        if is_control_record != self._is_control_batch:
            raise ValueError("Control records can only be appended to control batches")
        if self._last_offset is not None and offset <= self._last_offset:
            raise ValueError(
                f"Illegal offset {offset} following previous offset {self._last_offset} "
                "(Offsets must increase monotonically)."
            )
        if timestamp < 0 and timestamp != RecordBatch.NO_TIMESTAMP:
            raise ValueError(f"Invalid negative timestamp {timestamp}")
        if self._magic < RecordBatch.MAGIC_VALUE_V2 and headers:
            raise ValueError(f"Magic v{self._magic} does not support record headers")
        if self._first_timestamp is None:
            self._first_timestamp = timestamp
        if self._magic > RecordBatch.MAGIC_VALUE_V1:
            self._append_default_record(offset, timestamp, key, value, headers)
            return None
        return self._append_legacy_record(offset, timestamp, key, value)

    def _append_control_record(self, timestamp: int, type: ControlRecordType, value: bytes) -> int | None:
        return self._append_with_offset(self._next_sequential_offset(), True, timestamp, type.record_key(), value, ())

    def _append_default_record(
        self, offset: int, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Sequence[Header]
    ) -> None:
        stream = self._ensure_open_for_record_append()
        assert self._first_timestamp is not None
        out = bytearray()
        size = DefaultRecord.write_to(
            out, offset - self._base_offset, timestamp - self._first_timestamp, key, value, headers
        )
        stream.write(out)
        self._record_written(offset, timestamp, size)

    def _append_legacy_record(self, offset: int, timestamp: int, key: Buffer | None, value: Buffer | None) -> int:
        stream = self._ensure_open_for_record_append()
        if self._timestamp_type is TimestampType.LOG_APPEND_TIME:
            timestamp = self._log_append_time
        size = LegacyRecord.record_size(self._magic, key, value)
        out = bytearray()
        AbstractLegacyRecordBatch.write_header(out, self._to_inner_offset(offset), size)
        crc = LegacyRecord.write(out, self._magic, timestamp, key, value, CompressionType.NONE, self._timestamp_type)
        stream.write(out)
        self._record_written(offset, timestamp, size + Records.LOG_OVERHEAD)
        return crc

    def _to_inner_offset(self, offset: int) -> int:
        # Inside of a magic 1 wrapper offsets count from its first message.
        if self._magic > 0 and self._compression_type is not CompressionType.NONE:
            return offset - self._base_offset
        return offset

    def _record_written(self, offset: int, timestamp: int, size: int) -> None:
        if self._num_records == _INT_MAX:
            raise ValueError(f"Maximum number of records per batch exceeded, max records: {_INT_MAX}")
        if offset - self._base_offset > _INT_MAX:
            raise ValueError(f"Maximum offset delta exceeded, base offset: {self._base_offset}, last offset: {offset}")
        self._num_records += 1
        self._uncompressed_records_size_in_bytes += size
        self._last_offset = offset
        if self._magic > RecordBatch.MAGIC_VALUE_V0 and timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
            self._offset_of_max_timestamp = offset

    def _ensure_open_for_record_append(self) -> OutputStream:
        if self._append_stream is None:
            raise IllegalStateException(
                "Tried to append a record, but MemoryRecordsBuilder is closed for record appends"
            )
        return self._append_stream

    def _estimated_bytes_written(self) -> int:
        if self._compression_type is CompressionType.NONE:
            return self._batch_header_size_in_bytes + self._uncompressed_records_size_in_bytes
        return self._batch_header_size_in_bytes + int(
            self._uncompressed_records_size_in_bytes
            * self._estimated_compression_ratio
            * MemoryRecordsBuilder.COMPRESSION_RATE_ESTIMATION_FACTOR
        )

    def _next_sequential_offset(self) -> int:
        return self._base_offset if self._last_offset is None else self._last_offset + 1
