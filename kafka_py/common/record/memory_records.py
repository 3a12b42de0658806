"""Batches in memory.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/MemoryRecords.java @ 1.1.1
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from kafka_py.common.errors import IllegalStateException, KafkaException
from kafka_py.common.record.abstract_records import AbstractRecords
from kafka_py.common.record.byte_buffer_log_input_stream import ByteBufferLogInputStream
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import HEADER, LENGTH, MAGIC, DefaultRecordBatch
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.common.utils.time import Time
from kafka_py.utils.logging import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.record.converted_records import ConvertedRecords
    from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
    from kafka_py.common.record.memory_records_builder import MemoryRecordsBuilder, RecordsInfo
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.simple_record import SimpleRecord
    from kafka_py.common.topic_partition import TopicPartition

    Buffer = bytes | bytearray | memoryview
    MutableBatch = DefaultRecordBatch | ByteBufferLegacyRecordBatch

_log = get_logger("org.apache.kafka.common.record.MemoryRecords")
_unpack_header = HEADER.unpack_from


class BatchRetention(Enum):
    """What compaction does with a batch.

    Mirrors: org.apache.kafka.common.record.MemoryRecords.RecordFilter.BatchRetention
    """

    DELETE = "delete without looking at the records"
    RETAIN_EMPTY = "keep the batch even if no record is left"
    DELETE_EMPTY = "delete the batch if no record is left"


class RecordFilter(ABC):
    """Decides what compaction keeps.

    Mirrors: org.apache.kafka.common.record.MemoryRecords.RecordFilter
    """

    BatchRetention: TypeAlias = BatchRetention

    @abstractmethod
    def check_batch_retention(self, batch: RecordBatch) -> BatchRetention:
        """Return what to do with a batch as a whole."""

    @abstractmethod
    def should_retain_record(self, record_batch: RecordBatch, record: Record) -> bool:
        """Return whether to keep a record."""


class FilterResult(NamedTuple):
    """What filter_to read and kept; output holds exactly the bytes to write.

    Mirrors: org.apache.kafka.common.record.MemoryRecords.FilterResult
    """

    output: bytearray
    messages_read: int
    bytes_read: int
    messages_retained: int
    bytes_retained: int
    max_offset: int
    max_timestamp: int
    shallow_offset_of_max_timestamp: int


class MemoryRecords(AbstractRecords):
    """A view of batches that were received or read; new ones are made by MemoryRecordsBuilder.

    Mirrors: org.apache.kafka.common.record.MemoryRecords
    Differs: batches are cut out once and kept, so that each layer of the produce path sees the same objects.
    """

    __slots__ = ("_batches", "_valid_bytes", "buffer")

    EMPTY: ClassVar[MemoryRecords]
    RecordFilter: TypeAlias = RecordFilter
    FilterResult: TypeAlias = FilterResult

    def __init__(self, buffer: Buffer) -> None:
        self.buffer: memoryview = buffer if type(buffer) is memoryview else memoryview(buffer)
        self._batches: list[MutableBatch] | None = None  # thread: of its owner
        self._valid_bytes = -1  # thread: of its owner

    @staticmethod
    def readable_records(buffer: Buffer) -> MemoryRecords:
        """Return the records that lie in buffer."""
        return MemoryRecords(buffer)

    def size_in_bytes(self) -> int:
        """Return the size, a partial last batch included."""
        return len(self.buffer)

    def write_to(self, channel: Any, position: int, length: int) -> int:
        """Write up to length bytes from position with channel.write; ValueError beyond the end."""
        if position + length > len(self.buffer):
            raise ValueError(
                f"position+length should not be greater than buffer.limit(), position: {position}, "
                f"length: {length}, buffer.limit(): {len(self.buffer)}"
            )
        return int(channel.write(self.buffer[position : position + length]))

    def write_fully_to(self, channel: Any) -> int:
        """Write everything, partial last batch included, with as many channel.write calls as it takes."""
        size = len(self.buffer)
        written: int = channel.write(self.buffer)
        while written < size:
            written += channel.write(self.buffer[written:])
        return written

    def valid_bytes(self) -> int:
        """Return the size without a partial last batch."""
        if self._valid_bytes < 0:
            self._valid_bytes = sum(batch.size_in_bytes() for batch in self.batches())
        return self._valid_bytes

    def batches(self) -> Iterator[MutableBatch]:
        """Iterate over the complete batches; CorruptRecordException when it comes to a wrong size or magic."""
        batches = self._batches
        if batches is None:
            if self.single_batch() is None:
                return self._cut_batches()
            batches = self._batches
            assert batches is not None, "single_batch has cut it"
        return iter(batches)

    def single_batch(self) -> DefaultRecordBatch | None:
        """Return the batch if there is exactly one, of magic 2 and complete: what a producer sends. None otherwise."""
        batches = self._batches
        if batches is None:
            buffer = self.buffer
            size = len(buffer)
            if size < 61:
                return None
            header = _unpack_header(buffer)
            if header[LENGTH] + LOG_OVERHEAD != size or header[MAGIC] != 2:
                return None
            batch = DefaultRecordBatch(buffer, header)
            self._batches = [batch]
            return batch
        if len(batches) == 1:
            first = batches[0]
            if type(first) is DefaultRecordBatch and len(first.buffer) == len(self.buffer):
                return first
        return None

    def _cut_batches(self) -> Iterator[MutableBatch]:
        stream = ByteBufferLogInputStream(self.buffer)
        batches: list[MutableBatch] = []
        while (batch := stream.next_batch()) is not None:
            batches.append(batch)
            yield batch
        self._batches = batches

    def down_convert(self, to_magic: int, first_offset: int, time: Time) -> ConvertedRecords[MemoryRecords]:
        """Rebuild all batches above to_magic in that older format."""
        return self._down_convert(self.batches(), to_magic, first_offset, time)

    def filter_to(
        self,
        partition: TopicPartition,
        record_filter: RecordFilter,
        destination_buffer: Buffer | int,
        max_record_batch_size: int,
        decompression_buffer_supplier: BufferSupplier | None = None,
    ) -> FilterResult:
        """Copy what the filter keeps; the caller writes result.output and goes on after result.bytes_read.

        destination_buffer only says how much to produce at a time (its size): after the first batch that exceeds
        it, the result is returned early. A batch that exceeds max_record_batch_size is kept, with a warning.
        """
        capacity = destination_buffer if isinstance(destination_buffer, int) else len(destination_buffer)
        run = _FilterRun(partition, record_filter, max_record_batch_size, decompression_buffer_supplier)
        for batch in self.batches():
            run.filter_batch(batch)
            if run.out.position() > capacity:
                break
        return run.result()

    def __eq__(self, other: object) -> bool:
        """Equal when the bytes are."""
        return isinstance(other, MemoryRecords) and self.buffer == other.buffer

    def __hash__(self) -> int:
        """Hash of the size (the buffer may be writable)."""
        return hash(len(self.buffer))

    def __repr__(self) -> str:
        """Show the records of all batches; CORRUPTED where they cannot be read."""
        shown: list[str] = []
        for batch in self.batches():
            try:
                shown.extend(f"(record={record})" for record in batch)
            except (KafkaException, ValueError):
                shown.append("(record=CORRUPTED)")
        return "[" + ", ".join(shown) + "]"

    @staticmethod
    def builder(
        buffer: ByteBufferOutputStream | Buffer | int | None = None,
        magic: int = RecordBatch.CURRENT_MAGIC_VALUE,
        compression_type: CompressionType = CompressionType.NONE,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        base_offset: int = 0,
        log_append_time: int | None = None,
        producer_id: int = RecordBatch.NO_PRODUCER_ID,
        producer_epoch: int = RecordBatch.NO_PRODUCER_EPOCH,
        base_sequence: int = RecordBatch.NO_SEQUENCE,
        is_transactional: bool = False,
        partition_leader_epoch: int = RecordBatch.NO_PARTITION_LEADER_EPOCH,
        is_control_batch: bool = False,
    ) -> MemoryRecordsBuilder:
        """Return a builder.

        A stream is written on from its position; of any other buffer only the size counts, as the write limit.
        """
        from kafka_py.common.record.memory_records_builder import MemoryRecordsBuilder

        if log_append_time is None:
            log_append_time = RecordBatch.NO_TIMESTAMP
            if timestamp_type is TimestampType.LOG_APPEND_TIME:
                log_append_time = Time.SYSTEM.milliseconds()
        if isinstance(buffer, ByteBufferOutputStream):
            stream, write_limit, owned = buffer, max(0, buffer.initial_capacity() - buffer.position()), False
        else:
            write_limit = buffer if isinstance(buffer, int) else len(buffer or b"")
            stream, owned = ByteBufferOutputStream(write_limit), True
        return MemoryRecordsBuilder(
            stream,
            magic,
            compression_type,
            timestamp_type,
            base_offset,
            log_append_time,
            producer_id,
            producer_epoch,
            base_sequence,
            is_transactional,
            is_control_batch,
            partition_leader_epoch,
            write_limit,
            owns_buffer=owned,
        )

    @staticmethod
    def with_records(
        *records: SimpleRecord,
        magic: int = RecordBatch.CURRENT_MAGIC_VALUE,
        initial_offset: int = 0,
        compression_type: CompressionType = CompressionType.NONE,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        producer_id: int = RecordBatch.NO_PRODUCER_ID,
        producer_epoch: int = RecordBatch.NO_PRODUCER_EPOCH,
        base_sequence: int = RecordBatch.NO_SEQUENCE,
        partition_leader_epoch: int = RecordBatch.NO_PARTITION_LEADER_EPOCH,
        is_transactional: bool = False,
    ) -> MemoryRecords:
        """Return one batch of these records (EMPTY for none)."""
        if not records:
            return MemoryRecords.EMPTY
        builder = MemoryRecords.builder(
            AbstractRecords.estimate_size_in_bytes(magic, compression_type, records),
            magic,
            compression_type,
            timestamp_type,
            initial_offset,
            None,
            producer_id,
            producer_epoch,
            base_sequence,
            is_transactional,
            partition_leader_epoch,
        )
        for record in records:
            builder.append(record)
        return builder.build()

    @staticmethod
    def with_idempotent_records(
        *records: SimpleRecord, producer_id: int, producer_epoch: int, base_sequence: int, **others: Any
    ) -> MemoryRecords:
        """Return one batch with a producer's state; the other arguments are those of with_records."""
        return MemoryRecords.with_records(
            *records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence, **others
        )

    @staticmethod
    def with_transactional_records(*records: SimpleRecord, **others: Any) -> MemoryRecords:
        """Return one batch that is part of a transaction, with a producer's state."""
        return MemoryRecords.with_idempotent_records(*records, is_transactional=True, **others)

    @staticmethod
    def with_end_transaction_marker(
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
        timestamp: int | None = None,
        initial_offset: int = 0,
        partition_leader_epoch: int = RecordBatch.NO_PARTITION_LEADER_EPOCH,
    ) -> MemoryRecords:
        """Return the control batch that ends a transaction; timestamp None means now."""
        stream = ByteBufferOutputStream()
        MemoryRecords.write_end_transactional_marker(
            stream,
            initial_offset,
            Time.SYSTEM.milliseconds() if timestamp is None else timestamp,
            partition_leader_epoch,
            producer_id,
            producer_epoch,
            marker,
        )
        return MemoryRecords(stream.buffer)

    @staticmethod
    def write_end_transactional_marker(
        stream: ByteBufferOutputStream,
        initial_offset: int,
        timestamp: int,
        partition_leader_epoch: int,
        producer_id: int,
        producer_epoch: int,
        marker: EndTransactionMarker,
    ) -> None:
        """Append the control batch that ends a transaction to stream."""
        builder = MemoryRecords.builder(
            stream,
            base_offset=initial_offset,
            log_append_time=timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=True,
            partition_leader_epoch=partition_leader_epoch,
            is_control_batch=True,
        )
        builder.append_end_txn_marker(timestamp, marker)
        builder.close()


MemoryRecords.EMPTY = MemoryRecords(b"")


class _FilterRun:
    """The running totals of one filter_to, and its output."""

    __slots__ = (
        "_bytes_read",
        "_bytes_retained",
        "_filter",
        "_max_offset",
        "_max_record_batch_size",
        "_max_timestamp",
        "_messages_read",
        "_messages_retained",
        "_partition",
        "_shallow_offset_of_max_timestamp",
        "_supplier",
        "out",
    )

    def __init__(
        self,
        partition: TopicPartition,
        record_filter: RecordFilter,
        max_record_batch_size: int,
        supplier: BufferSupplier | None,
    ) -> None:
        self._partition = partition
        self._filter = record_filter
        self._max_record_batch_size = max_record_batch_size
        self._supplier = supplier
        self.out = ByteBufferOutputStream()
        self._messages_read = 0  # thread: of its owner
        self._bytes_read = 0  # thread: of its owner
        self._messages_retained = 0  # thread: of its owner
        self._bytes_retained = 0  # thread: of its owner
        self._max_offset = -1  # thread: of its owner
        self._max_timestamp = RecordBatch.NO_TIMESTAMP  # thread: of its owner
        self._shallow_offset_of_max_timestamp = -1  # thread: of its owner

    def filter_batch(self, batch: MutableBatch) -> None:
        """Copy, rebuild, empty or drop one batch."""
        self._bytes_read += batch.size_in_bytes()
        retention = self._filter.check_batch_retention(batch)
        if retention is BatchRetention.DELETE:
            return
        retained, as_it_is = self._retained_records(batch)
        if retained and as_it_is:
            batch.write_to(self.out)
            self._count(len(retained), batch.size_in_bytes(), batch.max_timestamp(), batch.last_offset())
        elif retained:
            self._rebuild(batch, retained)
        elif retention is BatchRetention.RETAIN_EMPTY:
            self._write_empty(batch)

    def result(self) -> FilterResult:
        """Return totals and output."""
        return FilterResult(
            self.out.buffer,
            self._messages_read,
            self._bytes_read,
            self._messages_retained,
            self._bytes_retained,
            self._max_offset,
            self._max_timestamp,
            self._shallow_offset_of_max_timestamp,
        )

    def _retained_records(self, batch: MutableBatch) -> tuple[list[Record], bool]:
        """Return the records to keep, and whether the batch can be copied as it is.

        A wrapper below magic 2 may hold messages of another magic (KAFKA-4298): rebuilding mends that.
        """
        magic = batch.magic()
        as_it_is = True
        retained: list[Record] = []
        for record in batch.streaming_iterator(self._supplier):
            self._messages_read += 1
            if self._filter.should_retain_record(batch, record):
                if not record.has_magic(magic):
                    as_it_is = False
                self._max_offset = max(self._max_offset, record.offset())
                retained.append(record)
            else:
                as_it_is = False
        return retained, as_it_is

    def _count(self, messages: int, size: int, max_timestamp: int, shallow_offset: int) -> None:
        self._messages_retained += messages
        self._bytes_retained += size
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._shallow_offset_of_max_timestamp = shallow_offset

    def _rebuild(self, batch: MutableBatch, retained: list[Record]) -> None:
        start = self.out.position()
        info = _build_retained_records_into(batch, retained, self.out)
        size = self.out.position() - start
        if size > batch.size_in_bytes() and size > self._max_record_batch_size:
            _log.warn(
                "Record batch from %s with last offset %d exceeded max record batch size %d after cleaning "
                "(new size is %d). Consumers with version earlier than 0.10.1.0 may need to increase their "
                "fetch sizes.",
                self._partition,
                batch.last_offset(),
                self._max_record_batch_size,
                size,
            )
        self._count(len(retained), size, info.max_timestamp, info.shallow_offset_of_max_timestamp)

    def _write_empty(self, batch: MutableBatch) -> None:
        if batch.magic() < RecordBatch.MAGIC_VALUE_V2:
            raise IllegalStateException("Empty batches are only supported for magic v2 and above")
        DefaultRecordBatch.write_empty_header(
            self.out,
            batch.magic(),
            batch.producer_id(),
            batch.producer_epoch(),
            batch.base_sequence(),
            batch.base_offset(),
            batch.last_offset(),
            batch.partition_leader_epoch(),
            batch.timestamp_type(),
            batch.max_timestamp(),
            batch.is_transactional(),
            batch.is_control_batch(),
        )


def _build_retained_records_into(
    original: MutableBatch, retained: list[Record], out: ByteBufferOutputStream
) -> RecordsInfo:
    """Append a batch of the retained records that keeps the original's offsets, sequence numbers and codec."""
    magic = original.magic()
    log_append_time = (
        original.max_timestamp()
        if original.timestamp_type() is TimestampType.LOG_APPEND_TIME
        else RecordBatch.NO_TIMESTAMP
    )
    builder = MemoryRecords.builder(
        out,
        magic,
        original.compression_type(),
        original.timestamp_type(),
        original.base_offset() if magic >= RecordBatch.MAGIC_VALUE_V2 else retained[0].offset(),
        log_append_time,
        original.producer_id(),
        original.producer_epoch(),
        original.base_sequence(),
        original.is_transactional(),
        original.partition_leader_epoch(),
        original.is_control_batch(),
    )
    for record in retained:
        builder.append(record)
    if magic >= RecordBatch.MAGIC_VALUE_V2:
        # Without the original last offset the producer's next sequence number would look out of order.
        builder.override_last_offset(original.last_offset())
    builder.close()
    return builder.info()
