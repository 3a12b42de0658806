"""Checking what producers send, and giving it offsets.

Mirrors: core/src/main/scala/kafka/log/LogValidator.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kafka_py.common.errors import (
    InvalidRecordException,
    InvalidTimestampException,
    UnsupportedForMessageFormatException,
)
from kafka_py.common.long_ref import LongRef
from kafka_py.common.record.abstract_records import AbstractRecords
from kafka_py.common.record.buffer_supplier import BufferSupplier
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.default_record_batch import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_SEQUENCE,
    FIRST_TIMESTAMP,
    LAST_OFFSET_DELTA,
    LENGTH,
    PRODUCER_ID,
    RECORDS_COUNT,
    DefaultRecordBatch,
)
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.record_walker import RecordWalk, walk_only_record
from kafka_py.common.record.records_processing_stats import RecordsProcessingStats
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.message.compression_codec import NoCompressionCodec
from kafka_py.utils.logging import Logging
from kafka_py.utils.yield_gil import yield_gil

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_py.common.record.memory_records_builder import MemoryRecordsBuilder
    from kafka_py.common.record.mutable_record_batch import MutableRecordBatch
    from kafka_py.common.record.record import Record
    from kafka_py.common.utils.time import Time
    from kafka_py.message.compression_codec import CompressionCodec

_LONG_MAX = (1 << 63) - 1
_LOG_APPEND_TIME_BIT = 0x08
_COMPRESSION_CODEC_MASK = 0x07
_CONTROL_FLAG_MASK = 0x20
_LOG_APPEND_TIME = TimestampType.LOG_APPEND_TIME
_CREATE_TIME = TimestampType.CREATE_TIME
_new_tuple = tuple.__new__  # a third of the time that a NamedTuple's own takes

# Rebuilding takes some 5 us a record.
_RECORDS_PER_YIELD = 256


class ValidationAndOffsetAssignResult(NamedTuple):
    """The records to append, with what the log needs to know of them.

    Mirrors: kafka.log.LogValidator.ValidationAndOffsetAssignResult
    """

    validated_records: MemoryRecords
    max_timestamp: int
    shallow_offset_of_max_timestamp: int
    message_size_maybe_changed: bool
    records_processing_stats: RecordsProcessingStats

    @property
    def record_conversion_stats(self) -> RecordsProcessingStats:
        """records_processing_stats under its name since Kafka 2.0."""
        return self.records_processing_stats


# What is asked of each record: now, compacted topic, timestamp type, largest difference to now. Plain tuples on the
# way through here: a named one costs a tenth of the whole validation of a small batch.
_Demands = tuple[int, bool, TimestampType, int]
# What checking a batch brings to light: records, largest timestamp, its first record, offsets as expected, size.
_Findings = tuple[int, int, int, bool, int]


class LogValidator(Logging):
    """Validates batches, converts them if the topic's format or codec differs, and assigns offsets.

    Mirrors: kafka.log.LogValidator
    Thread: the handler that appends, under Log.lock.
    Differs: batches of magic 2 are walked (record_walker) instead of iterated. Only if the walk finds anything
    unusual are Record objects made, which then raise what Kafka raises. Decompressed records are never collected: if
    a compressed batch must be rebuilt, it is decompressed a second time, straight into the new one. A client's batch
    of magic 2 whose records are not numbered 0, 1, 2 ... is rebuilt also if it is not compressed: with an offset far
    ahead, which Kafka takes as it is, a record would make all later ones of its key obsolete in a compacted topic.
    """

    ValidationAndOffsetAssignResult: TypeAlias = ValidationAndOffsetAssignResult

    @staticmethod
    def validate_messages_and_assign_offsets(
        records: MemoryRecords,
        offset_counter: LongRef,
        time: Time,
        now: int,
        source_codec: CompressionCodec,
        target_codec: CompressionCodec,
        compacted_topic: bool,
        magic: int,
        timestamp_type: TimestampType,
        timestamp_diff_max_ms: int,
        partition_leader_epoch: int,
        is_from_client: bool,
    ) -> ValidationAndOffsetAssignResult:
        """Check all records and assign offsets from offset_counter on, which is advanced.

        In place where possible: the result then holds the same bytes with a new base offset and leader epoch (and
        maximum timestamp). Otherwise, for another format or codec, the records are rebuilt.

        Raises InvalidRecordException, InvalidTimestampException, UnsupportedForMessageFormatException; for damaged
        compressed data KafkaException, for an endless length varint ValueError.
        """
        if source_codec is NoCompressionCodec and target_codec is NoCompressionCodec:
            demands = (now, compacted_topic, timestamp_type, timestamp_diff_max_ms)
            batch = records.single_batch() if magic == 2 else None
            if batch is not None:
                return LogValidator._assign_offsets_to_single_batch(
                    batch, records, offset_counter, time, demands, partition_leader_epoch, is_from_client
                )
            if records.has_matching_magic(magic):
                return LogValidator._assign_offsets_non_compressed(
                    records, offset_counter, time, demands, partition_leader_epoch, is_from_client, magic
                )
            return LogValidator._convert_and_assign_offsets_non_compressed(
                records, offset_counter, time, demands, magic, partition_leader_epoch, is_from_client
            )
        return LogValidator.validate_messages_and_assign_offsets_compressed(
            records,
            offset_counter,
            time,
            now,
            source_codec,
            target_codec,
            compacted_topic,
            magic,
            timestamp_type,
            timestamp_diff_max_ms,
            partition_leader_epoch,
            is_from_client,
        )

    @staticmethod
    def _validate_batch(batch: RecordBatch, is_from_client: bool, to_magic: int) -> None:
        if is_from_client:
            if type(batch) is DefaultRecordBatch:
                header = batch.header
                last_offset_delta = header[LAST_OFFSET_DELTA]
                if (
                    last_offset_delta < 0
                    or header[RECORDS_COUNT] != last_offset_delta + 1  # count of records
                    or header[ATTRIBUTES] & _CONTROL_FLAG_MASK
                    or (
                        header[PRODUCER_ID] > -1 and header[BASE_SEQUENCE] < 0
                    )  # a producer id without a sequence number
                ):
                    _refuse_client_batch(batch)
            else:
                _refuse_client_batch(batch)
        if to_magic < RecordBatch.MAGIC_VALUE_V2:
            if batch.is_transactional():
                raise UnsupportedForMessageFormatException(
                    f"Transactional records cannot be used with magic version {to_magic}"
                )
            if batch.has_producer_id():
                raise UnsupportedForMessageFormatException(
                    f"Idempotent records cannot be used with magic version {to_magic}"
                )

    @staticmethod
    def _validate_record(batch: RecordBatch, record: Record, demands: _Demands) -> None:
        if not record.has_magic(batch.magic()):
            raise InvalidRecordException(f"Log record magic does not match outer magic {batch.magic()}")
        # Only the messages inside of a wrapper have a checksum of their own; that of an uncompressed message is the
        # checksum of its batch, which the log has checked, and magic 2 has one per batch.
        if batch.magic() <= RecordBatch.MAGIC_VALUE_V1 and batch.is_compressed():
            record.ensure_valid()
        now, compacted_topic, timestamp_type, timestamp_diff_max_ms = demands
        LogValidator._validate_key(record, compacted_topic)
        LogValidator._validate_timestamp(batch, record, now, timestamp_type, timestamp_diff_max_ms)

    @staticmethod
    def _convert_and_assign_offsets_non_compressed(
        records: MemoryRecords,
        offset_counter: LongRef,
        time: Time,
        demands: _Demands,
        to_magic_value: int,
        partition_leader_epoch: int,
        is_from_client: bool,
    ) -> ValidationAndOffsetAssignResult:
        start_nanos = time.nanoseconds()
        # The builder would refuse a transaction in an old format with a nameless error: the batch's check goes first.
        LogValidator._validate_batch(next(records.batches()), is_from_client, to_magic_value)
        builder = _new_builder(
            records, to_magic_value, CompressionType.NONE, offset_counter, demands, partition_leader_epoch
        )
        for batch in records.batches():
            LogValidator._validate_batch(batch, is_from_client, to_magic_value)
            for record in batch:
                LogValidator._validate_record(batch, record, demands)
                builder.append_with_offset(offset_counter.get_and_increment(), record)
        converted_records = builder.build()
        info = builder.info()
        stats = RecordsProcessingStats(
            builder.uncompressed_bytes_written(), builder.num_records(), time.nanoseconds() - start_nanos
        )
        return ValidationAndOffsetAssignResult(
            converted_records, info.max_timestamp, info.shallow_offset_of_max_timestamp, True, stats
        )

    @staticmethod
    def _assign_offsets_to_single_batch(
        batch: DefaultRecordBatch,
        records: MemoryRecords,
        offset_counter: LongRef,
        time: Time,
        demands: _Demands,
        partition_leader_epoch: int,
        is_from_client: bool,
    ) -> ValidationAndOffsetAssignResult:
        """_assign_offsets_non_compressed for the one batch of magic 2 that nearly every append consists of."""
        LogValidator._validate_batch(batch, is_from_client, 2)
        base_offset = batch.header[BASE_OFFSET]
        findings = _walk_records(batch, demands, base_offset)
        if findings is None:
            findings = _iterate_records(batch, demands, False, base_offset)
        count, max_timestamp, offset_of_max_timestamp, sequential, _ = findings
        if not sequential and is_from_client:
            return LogValidator._convert_and_assign_offsets_non_compressed(
                records, offset_counter, time, demands, 2, partition_leader_epoch, is_from_client
            )
        if max_timestamp > -1:
            offset_of_max_timestamp += offset_counter.value
        last_offset = offset_counter.add_and_get(count) - 1
        batch.set_last_offset_and_epoch(last_offset, partition_leader_epoch)
        now, _, timestamp_type, _ = demands
        if timestamp_type is _LOG_APPEND_TIME:
            max_timestamp = now
            offset_of_max_timestamp = last_offset
        batch.set_max_timestamp(timestamp_type, max_timestamp)
        return _new_tuple(
            ValidationAndOffsetAssignResult,
            (records, max_timestamp, offset_of_max_timestamp, False, RecordsProcessingStats.EMPTY),
        )

    @staticmethod
    def _assign_offsets_non_compressed(
        records: MemoryRecords,
        offset_counter: LongRef,
        time: Time,
        demands: _Demands,
        partition_leader_epoch: int,
        is_from_client: bool,
        magic: int,
    ) -> ValidationAndOffsetAssignResult:
        max_timestamp = -1
        offset_of_max_timestamp = -1
        initial_offset = offset_counter.value
        now, _, timestamp_type, _ = demands
        log_append_time = timestamp_type is _LOG_APPEND_TIME
        validate_batch = LogValidator._validate_batch
        for batch in records.batches():
            validate_batch(batch, is_from_client, magic)
            expected_offset = batch.base_offset() if magic >= 2 else 0
            count, max_batch_timestamp, index_of_max, sequential, _ = _check_records(
                batch, demands, expected_offset=expected_offset
            )
            if magic >= 2 and not sequential and is_from_client:
                offset_counter.value = initial_offset
                return LogValidator._convert_and_assign_offsets_non_compressed(
                    records, offset_counter, time, demands, magic, partition_leader_epoch, is_from_client
                )
            first_offset = offset_counter.value
            offset_counter.value = next_offset = first_offset + count
            if max_batch_timestamp > max_timestamp:
                max_timestamp = max_batch_timestamp
                offset_of_max_timestamp = first_offset + index_of_max
            if magic >= 2:
                batch.set_last_offset_and_epoch(next_offset - 1, partition_leader_epoch)
            else:
                batch.set_last_offset(next_offset - 1)
            if magic > 0:
                batch.set_max_timestamp(timestamp_type, now if log_append_time else max_batch_timestamp)
        if log_append_time:
            max_timestamp = now
            offset_of_max_timestamp = offset_counter.value - 1 if magic >= 2 else initial_offset
        return _new_tuple(
            ValidationAndOffsetAssignResult,
            (records, max_timestamp, offset_of_max_timestamp, False, RecordsProcessingStats.EMPTY),
        )

    @staticmethod
    def validate_messages_and_assign_offsets_compressed(
        records: MemoryRecords,
        offset_counter: LongRef,
        time: Time,
        now: int,
        source_codec: CompressionCodec,
        target_codec: CompressionCodec,
        compacted_topic: bool,
        to_magic: int,
        timestamp_type: TimestampType,
        timestamp_diff_max_ms: int,
        partition_leader_epoch: int,
        is_from_client: bool,
    ) -> ValidationAndOffsetAssignResult:
        """Check compressed records, or records to be compressed, and assign offsets (see the caller).

        The payload is kept unless codec or format change, the target is magic 0 (absolute inner offsets), or the
        inner offsets are not 0, 1, 2 ...
        """
        demands = (now, compacted_topic, timestamp_type, timestamp_diff_max_ms)
        in_place_assignment = source_codec is target_codec and to_magic > RecordBatch.MAGIC_VALUE_V0
        max_timestamp = RecordBatch.NO_TIMESTAMP
        count = 0
        uncompressed_size_in_bytes = 0
        refuse_compressed = source_codec is not NoCompressionCodec
        for batch in records.batches():
            LogValidator._validate_batch(batch, is_from_client, to_magic)
            uncompressed_size_in_bytes += AbstractRecords.record_batch_header_size_in_bytes(
                to_magic, batch.compression_type()
            )
            # Control records are compressed only if they came compressed.
            if source_codec is NoCompressionCodec and batch.is_control_batch():
                in_place_assignment = True
            records_in_batch, max_batch_timestamp, _, sequential, size = _check_records(
                batch, demands, refuse_compressed, count
            )
            uncompressed_size_in_bytes += size
            count += records_in_batch
            if records_in_batch and not _format_matches(batch, to_magic):
                in_place_assignment = False
            if batch.magic() > RecordBatch.MAGIC_VALUE_V0 and to_magic > RecordBatch.MAGIC_VALUE_V0:
                max_timestamp = max(max_timestamp, max_batch_timestamp)
                if not sequential:
                    in_place_assignment = False
        if not in_place_assignment:
            return LogValidator._build_records_and_assign_offsets(
                records,
                offset_counter,
                time,
                demands,
                to_magic,
                CompressionType.for_id(target_codec.codec),
                partition_leader_epoch,
                uncompressed_size_in_bytes,
            )
        batch = next(records.batches())
        last_offset = offset_counter.add_and_get(count) - 1
        batch.set_last_offset(last_offset)
        if timestamp_type is TimestampType.LOG_APPEND_TIME:
            max_timestamp = now
        if to_magic >= RecordBatch.MAGIC_VALUE_V1:
            batch.set_max_timestamp(timestamp_type, max_timestamp)
        if to_magic >= RecordBatch.MAGIC_VALUE_V2:
            batch.set_partition_leader_epoch(partition_leader_epoch)
        return ValidationAndOffsetAssignResult(
            records, max_timestamp, last_offset, False, RecordsProcessingStats(uncompressed_size_in_bytes, 0, -1)
        )

    @staticmethod
    def _build_records_and_assign_offsets(
        records: MemoryRecords,
        offset_counter: LongRef,
        time: Time,
        demands: _Demands,
        magic: int,
        compression_type: CompressionType,
        partition_leader_epoch: int,
        uncompressed_size_in_bytes: int,
    ) -> ValidationAndOffsetAssignResult:
        start_nanos = time.nanoseconds()
        builder = _new_builder(records, magic, compression_type, offset_counter, demands, partition_leader_epoch)
        for batch in records.batches():
            for record in batch:
                offset = offset_counter.get_and_increment()
                builder.append_with_offset(offset, record)
                if offset % _RECORDS_PER_YIELD == 0:
                    yield_gil()
        built_records = builder.build()
        info = builder.info()
        # As in Kafka this counts every record that was rebuilt, whether its format changed or only its codec.
        stats = RecordsProcessingStats(
            uncompressed_size_in_bytes + builder.uncompressed_bytes_written(),
            builder.num_records(),
            time.nanoseconds() - start_nanos,
        )
        return ValidationAndOffsetAssignResult(
            built_records, info.max_timestamp, info.shallow_offset_of_max_timestamp, True, stats
        )

    @staticmethod
    def _validate_key(record: Record, compacted_topic: bool) -> None:
        if compacted_topic and not record.has_key():
            raise InvalidRecordException("Compacted topic cannot accept message without key.")

    @staticmethod
    def _validate_timestamp(
        batch: RecordBatch, record: Record, now: int, timestamp_type: TimestampType, timestamp_diff_max_ms: int
    ) -> None:
        timestamp = record.timestamp()
        if (
            timestamp_type is TimestampType.CREATE_TIME
            and timestamp != RecordBatch.NO_TIMESTAMP
            and abs(timestamp - now) > timestamp_diff_max_ms
            and timestamp_diff_max_ms < _LONG_MAX
        ):
            raise InvalidTimestampException(
                f"Timestamp {timestamp} of message with offset {record.offset()} is out of range. The timestamp should "
                f"be within [{now - timestamp_diff_max_ms}, {now + timestamp_diff_max_ms}]"
            )
        if batch.timestamp_type() is TimestampType.LOG_APPEND_TIME:
            raise InvalidTimestampException(
                f"Invalid timestamp type in message {record}. Producer should not set timestamp type to LogAppendTime."
            )


def _refuse_client_batch(batch: RecordBatch) -> None:
    """Raise for what only clients get wrong: offset range, count, sequence number, control bit."""
    if batch.magic() >= RecordBatch.MAGIC_VALUE_V2:
        base_offset, last_offset, count = batch.base_offset(), batch.last_offset(), batch.count_or_null()
        count_from_offsets = last_offset - base_offset + 1
        if count_from_offsets <= 0:
            raise InvalidRecordException(f"Batch has an invalid offset range: [{base_offset}, {last_offset}]")
        if count is None or count <= 0:
            raise InvalidRecordException(f"Invalid reported count for record batch: {count}")
        if count_from_offsets != count:
            raise InvalidRecordException(
                f"Inconsistent batch offset range [{base_offset}, {last_offset}] and count of records {count}"
            )
    if batch.has_producer_id() and batch.base_sequence() < 0:
        raise InvalidRecordException(
            f"Invalid sequence number {batch.base_sequence()} in record batch with producerId {batch.producer_id()}"
        )
    if batch.is_control_batch():
        raise InvalidRecordException("Clients are not allowed to write control records")


def _format_matches(batch: RecordBatch, to_magic: int) -> bool:
    """Return whether records of the batch are in the format of to_magic (checked: inner magic equals outer)."""
    magic = batch.magic()
    return to_magic >= magic if magic >= RecordBatch.MAGIC_VALUE_V2 else to_magic == magic


def _new_builder(
    records: MemoryRecords,
    magic: int,
    compression_type: CompressionType,
    offset_counter: LongRef,
    demands: _Demands,
    partition_leader_epoch: int,
) -> MemoryRecordsBuilder:
    # Offsets are assigned only to what comes straight from a producer: with magic 2 that is a single batch, and
    # older formats have no producer state, so the first batch speaks for all.
    first = next(records.batches())
    return MemoryRecords.builder(
        records.size_in_bytes(),
        magic,
        compression_type,
        demands[2],
        offset_counter.value,
        demands[0],
        first.producer_id(),
        first.producer_epoch(),
        first.base_sequence(),
        first.is_transactional(),
        partition_leader_epoch,
    )


def _check_records(
    batch: MutableRecordBatch, demands: _Demands, refuse_compressed: bool = False, expected_offset: int = 0
) -> _Findings:
    """Check every record of a batch: by walking the bytes if that finds nothing to object to, else one by one."""
    if type(batch) is DefaultRecordBatch:
        findings = _walk_records(batch, demands, expected_offset)
        if findings is not None:
            return findings
    return _iterate_records(batch, demands, refuse_compressed, expected_offset)


def _walk_records(batch: DefaultRecordBatch, demands: _Demands, expected_offset: int) -> _Findings | None:
    """Return what the walk finds, None if anything is unusual."""
    header = batch.header
    base_offset, attributes, first_timestamp, count = (
        header[BASE_OFFSET],
        header[ATTRIBUTES],
        header[FIRST_TIMESTAMP],
        header[RECORDS_COUNT],
    )
    if count <= 0 or attributes & _LOG_APPEND_TIME_BIT:
        return None
    if count == 1 and not attributes & _COMPRESSION_CODEC_MASK and first_timestamp >= 0:
        has_key = walk_only_record(batch.buffer)
        if has_key is not None:
            if not has_key and demands[1]:
                return None
            if demands[3] < _LONG_MAX and not _timestamps_in_range(first_timestamp, first_timestamp, demands):
                return None
            return 1, first_timestamp, 0, base_offset == expected_offset, header[LENGTH] - 49
    walk = RecordWalk(count)
    if attributes & _COMPRESSION_CODEC_MASK:
        stream = batch.compression_type().wrap_for_input(batch.buffer[61:], 2, BufferSupplier.SHARED)
        well_formed = walk.walk_stream(stream)
        stream.close()
        size = walk.size
    else:
        data = bytes(batch.buffer)
        well_formed = walk.walk_all(data, 61)
        size = len(data) - 61
    if not well_formed or (walk.has_null_key and demands[1]):
        return None
    max_timestamp = first_timestamp + walk.max_delta
    if not _timestamps_in_range(first_timestamp + walk.min_delta, max_timestamp, demands):
        return None
    sequential = walk.sequential and base_offset == expected_offset
    if max_timestamp <= RecordBatch.NO_TIMESTAMP:
        return count, RecordBatch.NO_TIMESTAMP, -1, sequential, size
    return count, max_timestamp, walk.index_of_max, sequential, size


def _timestamps_in_range(smallest: int, largest: int, demands: _Demands) -> bool:
    """Return whether all timestamps between the two are allowed for sure."""
    now, _, timestamp_type, diff = demands
    if diff >= _LONG_MAX or timestamp_type is not _CREATE_TIME:
        return largest <= _LONG_MAX and smallest >= -_LONG_MAX
    if smallest == largest == -1:
        return True
    return now - diff <= smallest and largest <= now + diff


def _iterate_records(
    batch: MutableRecordBatch, demands: _Demands, refuse_compressed: bool, expected_offset: int
) -> _Findings:
    """Check record after record, raising what Kafka raises at the first that is wrong."""
    max_timestamp = RecordBatch.NO_TIMESTAMP
    index_of_max = -1
    sequential = True
    count = size = 0
    has_timestamps = batch.magic() > RecordBatch.MAGIC_VALUE_V0
    validate: Callable[[RecordBatch, Record, _Demands], None] = LogValidator._validate_record
    for record in batch:
        validate(batch, record, demands)
        if refuse_compressed and record.is_compressed():
            raise InvalidRecordException(
                f"Compressed outer record should not have an inner record with a compression attribute set: {record}"
            )
        if has_timestamps and record.timestamp() > max_timestamp:
            max_timestamp = record.timestamp()
            index_of_max = count
        if record.offset() != expected_offset + count:
            sequential = False
        size += record.size_in_bytes()
        count += 1
    return count, max_timestamp, index_of_max, sequential, size
