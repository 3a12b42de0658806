"""Batches in a segment file, or a slice of one.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/FileRecords.java @ 1.1.1
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.common.record.abstract_records import AbstractRecords
from kafka_py.common.record.converted_records import ConvertedRecords
from kafka_py.common.record.file_channel import FileChannel
from kafka_py.common.record.file_log_input_stream import FileLogInputStream
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.record_batch import RecordBatch
from kafka_py.common.record.record_batch_iterator import RecordBatchIterator
from kafka_py.common.record.records import LOG_OVERHEAD
from kafka_py.common.record.records_processing_stats import RecordsProcessingStats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka_py.common.record.file_log_input_stream import (
        DefaultFileChannelRecordBatch,
        LegacyFileChannelRecordBatch,
    )
    from kafka_py.common.record.memory_records import MemoryRecords
    from kafka_py.common.record.records import Records
    from kafka_py.common.utils.time import Time

_INT_MAX = 0x7FFFFFFF
_HEADER_SIZE_UP_TO_MAGIC = 17

# Up to the last offset delta of magic 2 (ends at byte 27): offset, size, epoch, magic, crc, attributes, delta.
_SEARCH_HEADER = struct.Struct(">qiibIhi")

# An index entry comes every 4,096 bytes by default, so a look-up seldom goes on for longer than this.
_SEARCH_CHUNK = 4096 + 256


class LogOffsetPosition(NamedTuple):
    """Where in the file the batch with an offset lies.

    Mirrors: org.apache.kafka.common.record.FileRecords.LogOffsetPosition
    """

    offset: int
    position: int
    size: int


class TimestampAndOffset(NamedTuple):
    """A record's timestamp and offset.

    Mirrors: org.apache.kafka.common.record.FileRecords.TimestampAndOffset
    """

    timestamp: int
    offset: int


class FileRecords(AbstractRecords):
    """A file of batches that is appended to, searched, truncated, renamed and sent with sendfile.

    Mirrors: org.apache.kafka.common.record.FileRecords
    Thread: appends, truncation and closing under Log.lock; reading by anyone, at absolute positions.
    Differs: `slice` is Kafka's later name of `read(position, size)`; the size is a plain int.
    """

    __slots__ = ("_channel", "_end", "_file", "_is_slice", "_size", "_start")

    LogOffsetPosition: TypeAlias = LogOffsetPosition
    TimestampAndOffset: TypeAlias = TimestampAndOffset

    def __init__(self, file: Path, channel: FileChannel, start: int, end: int, is_slice: bool) -> None:
        self._file = file  # volatile: renamer under Log.lock
        self._channel = channel
        self._start = start
        self._end = end
        self._is_slice = is_slice
        if is_slice:
            # no look at the file: a slice is made per fetched partition
            self._size = end - start  # volatile: writer under Log.lock
        else:
            limit = min(channel.size(), end)
            self._size = limit - start
            channel.position = limit

    @staticmethod
    def open(
        file: Path | str,
        mutable: bool = True,
        file_already_exists: bool = False,
        init_file_size: int = 0,
        preallocate: bool = False,
    ) -> FileRecords:
        """Open a segment file; a preallocated one starts empty although the file has init_file_size bytes."""
        path = Path(file)
        channel = FileChannel.open(path, mutable)
        fresh = preallocate and mutable and not file_already_exists
        if fresh:
            channel.truncate(init_file_size)
        return FileRecords(path, channel, 0, 0 if not file_already_exists and preallocate else _INT_MAX, False)

    @property
    def file(self) -> Path:
        """The path of the file, the new one after rename_to."""
        return self._file

    @property
    def start(self) -> int:
        """The position in the file where a slice begins (0 for a whole file)."""
        return self._start

    def channel(self) -> FileChannel:
        """Return the open file, which slices share."""
        return self._channel

    def size_in_bytes(self) -> int:
        """Return the size of the slice, or of what was appended."""
        return self._size

    def read_into(self, buffer: bytearray | memoryview, position: int) -> memoryview:
        """Fill buffer from a position; return a view of what was read (less only at the end of the file)."""
        count = self._channel.read_into(buffer, self._start + position)
        return memoryview(buffer)[:count]

    def slice(self, position: int, size: int) -> FileRecords:
        """Return a view of at most size bytes from position; it ends where this one ends now."""
        if position < 0:
            raise ValueError(f"Invalid position: {position}")
        if size < 0:
            raise ValueError(f"Invalid size: {size}")
        start = self._start + position
        end = min(start + size, self._start + self._size)
        return FileRecords(self._file, self._channel, start, end, True)

    def read(self, position: int, size: int) -> FileRecords:
        """Return a view of at most size bytes from position (Kafka 1.1.1's name of slice)."""
        return self.slice(position, size)

    def append(self, records: MemoryRecords) -> int:
        """Write all bytes at the end; return the count. OSError leaves the known size as it was."""
        written = records.write_fully_to(self._channel)
        self._size += written
        return written

    def flush(self) -> None:
        """Wait until everything is on disk."""
        self._channel.force()

    def close(self) -> None:
        """Flush, cut off preallocated space and close."""
        if not self._channel.is_open():
            return
        self.flush()
        self.trim()
        self._channel.close()

    def close_handlers(self) -> None:
        """Close without writing anything: the disk may have failed."""
        self._channel.close()

    def delete_if_exists(self) -> bool:
        """Close and delete the file; return whether there was one."""
        self._channel.close()
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True

    def trim(self) -> None:
        """Cut off preallocated space."""
        self.truncate_to(self._size)

    def set_file(self, file: Path) -> None:
        """Note that the file was renamed by someone else."""
        self._file = file

    def rename_to(self, file: Path | str) -> None:
        """Rename the file atomically; the new name counts even after an error. Raises OSError.

        Never by copying: what is written later through the open descriptor would not be in the copy.
        """
        target = Path(file)
        try:
            os.replace(self._file, target)
        finally:
            self._file = target

    def truncate_to(self, target_size: int) -> int:
        """Cut the file down; return the bytes cut off. KafkaException for a size outside of 0..size.

        The file is touched only if it is larger: its modification time matters to retention.
        """
        original_size = self._size
        if target_size > original_size or target_size < 0:
            raise KafkaException(
                f"Attempt to truncate log segment to {target_size} bytes failed, "
                f" size of this log segment is {original_size} bytes."
            )
        if target_size < self._channel.size():
            self._channel.truncate(target_size)
            self._size = target_size
        return original_size - target_size

    def down_convert(self, to_magic: int, first_offset: int, time: Time) -> ConvertedRecords[Records]:
        """Rebuild all batches above to_magic in that older format.

        If there is no complete batch, these records come back as they are: old clients see from the size field
        that they must fetch more.
        """
        converted = self._down_convert(self.batches(), to_magic, first_offset, time)
        if converted.records_processing_stats().num_records_converted() == 0:
            return ConvertedRecords(self, RecordsProcessingStats.EMPTY)
        return ConvertedRecords(converted.records(), converted.records_processing_stats())

    def write_to(self, channel: Any, position: int, length: int) -> int:
        """Send up to length bytes from position with sendfile; return the bytes sent.

        A transport layer gets transfer_from(file channel, absolute position, count); anything else needs fileno().
        KafkaException if the file was truncated below this slice.
        """
        new_size = min(self._channel.size(), self._end) - self._start
        if new_size < self._size:
            raise KafkaException(
                f"Size of FileRecords {self._file} has been truncated during write: "
                f"old size {self._size}, new size {new_size}"
            )
        count = min(length, self._size - position)  # never past a slice, whatever length says
        transfer_from = getattr(channel, "transfer_from", None)
        if transfer_from is not None:
            return int(transfer_from(self._channel, self._start + position, count))
        return self._channel.transfer_to(self._start + position, count, channel.fileno())

    def search_for_offset_with_size(self, target_offset: int, starting_position: int) -> LogOffsetPosition | None:
        """Return the first batch from starting_position on whose last offset reaches target_offset, or None.

        Reads the file in chunks and looks at headers only: every fetch comes through here.
        """
        end = self._end if self._is_slice else self._size
        read = self._channel.read
        unpack = _SEARCH_HEADER.unpack_from
        chunk, chunk_start = b"", 0
        position = starting_position
        while position < end - _HEADER_SIZE_UP_TO_MAGIC:
            at = position - chunk_start
            if at + _SEARCH_HEADER.size > len(chunk):
                chunk = _read_chunk(read(min(_SEARCH_CHUNK, end - position), position))
                chunk_start, at = position, 0
            offset, size, _, magic, _, _, last_offset_delta = unpack(chunk, at)
            if size < LegacyRecord.RECORD_OVERHEAD_V0:
                raise CorruptRecordException(
                    f"Record size is smaller than minimum record overhead ({LegacyRecord.RECORD_OVERHEAD_V0})."
                )
            following = position + LOG_OVERHEAD + size
            if following > end:
                return None
            if magic > 1:
                offset += last_offset_delta
            if offset >= target_offset:
                return LogOffsetPosition(offset, position, LOG_OVERHEAD + size)
            position = following
        return None

    def search_for_timestamp(
        self, target_timestamp: int, starting_position: int, starting_offset: int
    ) -> TimestampAndOffset | None:
        """Return the first record from starting_position and starting_offset on that is not older, or None."""
        for batch in self.batches_from(starting_position):
            if batch.max_timestamp() < target_timestamp:
                continue
            for record in batch:
                timestamp = record.timestamp()
                if timestamp >= target_timestamp and record.offset() >= starting_offset:
                    return TimestampAndOffset(timestamp, record.offset())
        return None

    def largest_timestamp_after(self, starting_position: int) -> TimestampAndOffset:
        """Return the largest timestamp of the batches from a position on with the last offset of its batch."""
        max_timestamp = RecordBatch.NO_TIMESTAMP
        offset_of_max_timestamp = -1
        for batch in self.batches_from(starting_position):
            timestamp = batch.max_timestamp()
            if timestamp > max_timestamp:
                max_timestamp = timestamp
                offset_of_max_timestamp = batch.last_offset()
        return TimestampAndOffset(max_timestamp, offset_of_max_timestamp)

    def batches(self) -> Iterator[DefaultFileChannelRecordBatch | LegacyFileChannelRecordBatch]:
        """Iterate over the complete batches; they stay readable as long as the file is open."""
        return self.batches_from(self._start)

    def batches_from(self, start: int) -> Iterator[DefaultFileChannelRecordBatch | LegacyFileChannelRecordBatch]:
        """Iterate over the complete batches from an absolute position in the file on."""
        end = self._end if self._is_slice else self._size
        return RecordBatchIterator(FileLogInputStream(self._channel, start, end))

    def __repr__(self) -> str:
        """Show file and range."""
        return f"FileRecords(file={self._file}, start={self._start}, end={self._start + self._size})"


def _read_chunk(chunk: bytes) -> bytes:
    """Return what was read, padded so that a header can always be unpacked; KafkaException if it has no magic."""
    if len(chunk) < _HEADER_SIZE_UP_TO_MAGIC:
        raise KafkaException(
            f"Failed to read `log header` from file channel: reached end of file after reading {len(chunk)} bytes."
        )
    if len(chunk) < _SEARCH_HEADER.size:
        return chunk + bytes(_SEARCH_HEADER.size - len(chunk))
    return chunk
