"""Batches in a byte buffer.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/ByteBufferLogInputStream.java @ 1.1.1
"""

from __future__ import annotations

import struct

from kafka_py.common.errors import CorruptRecordException
from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.legacy_record import LegacyRecord
from kafka_py.common.record.records import LOG_OVERHEAD

_INT32 = struct.Struct(">i")
_INT_MAX = 0x7FFFFFFF


class ByteBufferLogInputStream:
    """Cuts a buffer into batches without copying; a partial batch at the end is left out.

    Mirrors: org.apache.kafka.common.record.ByteBufferLogInputStream
    """

    __slots__ = ("_buffer", "_max_message_size", "_position")

    def __init__(self, buffer: memoryview, max_message_size: int = _INT_MAX) -> None:
        self._buffer = buffer
        self._max_message_size = max_message_size
        self._position = 0  # thread: of its owner

    def next_batch(self) -> DefaultRecordBatch | ByteBufferLegacyRecordBatch | None:
        """Return the next batch, None if no complete one is left; CorruptRecordException for size or magic."""
        buffer, position = self._buffer, self._position
        remaining = len(buffer) - position
        if remaining < LOG_OVERHEAD:
            return None
        record_size = _INT32.unpack_from(buffer, position + 8)[0]
        # Magic 0 has the smallest overhead; stricter checks follow with the checksum.
        if record_size < LegacyRecord.RECORD_OVERHEAD_V0:
            raise CorruptRecordException(
                f"Record size is less than the minimum record overhead ({LegacyRecord.RECORD_OVERHEAD_V0})"
            )
        if record_size > self._max_message_size:
            raise CorruptRecordException(
                f"Record size exceeds the largest allowable message size ({self._max_message_size})."
            )
        end = position + record_size + LOG_OVERHEAD
        if end > len(buffer):
            return None
        magic = buffer[position + 16]
        self._position = end
        if magic == 2:
            return DefaultRecordBatch(buffer[position:end])
        if magic < 2:
            return ByteBufferLegacyRecordBatch(buffer[position:end])
        raise CorruptRecordException(f"Invalid magic found in record: {magic if magic < 128 else magic - 256}")
