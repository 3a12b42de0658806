"""Messages of magic 0 and 1, record by record through the project's own record classes: right, not fast.

Nothing has written these formats by default since 0.11; they are read because old segments still hold them.

Ours: Kafka has one reader for all formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kafka_py.common.errors import CorruptRecordException, KafkaException
from kafka_py.common.record.abstract_legacy_record_batch import ByteBufferLegacyRecordBatch
from kafka_py.common.record.zstd_streams import MAX_DECOMPRESSED_SIZE

# What a row costs beside its key and value, roughly; so that a wrapper around very many empty messages is bounded, too.
_ROW_OVERHEAD = 64


class LegacyRow(NamedTuple):
    """One message; timestamps in milliseconds. Magic 0 has timestamp -1 and type -1, as Kafka's consumer shows it."""

    key: bytes | None
    value: bytes | None
    offset: int
    timestamp: int
    timestamp_type: int


def legacy_rows(batch: memoryview, check_crcs: bool) -> Iterator[LegacyRow]:
    """The message in ``batch``, or those inside of it if it is compressed, with absolute offsets.

    Raises CorruptRecordException for a structure or compressed data that is wrong, for a wrong CRC if check_crcs, and
    for messages of more than MAX_DECOMPRESSED_SIZE bytes in one batch.
    """
    taken = 0
    try:
        outer = ByteBufferLegacyRecordBatch(batch)
        if check_crcs:
            outer.ensure_valid()
        for record in outer:
            if check_crcs:
                record.ensure_valid()
            key, value = record.key(), record.value()
            row = LegacyRow(
                None if key is None else bytes(key),
                None if value is None else bytes(value),
                record.offset(),
                record.timestamp(),
                record.timestamp_type().id,  # type: ignore[attr-defined]
            )
            taken += len(row.key or b"") + len(row.value or b"") + _ROW_OVERHEAD
            if taken > MAX_DECOMPRESSED_SIZE:
                raise CorruptRecordException(f"A batch expands to more than {MAX_DECOMPRESSED_SIZE} bytes")
            yield row
    except CorruptRecordException:
        raise
    except (KafkaException, ValueError, IndexError, EOFError, OSError, RuntimeError) as e:
        raise CorruptRecordException(f"Found a message that cannot be read: {e}") from e
