"""The control record that ends a transaction.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/EndTransactionMarker.java @ 1.1.1

Its value: version int16 | coordinator epoch int32.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import InvalidRecordException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.default_record import DefaultRecord
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from kafka_py.common.record.record import Record

_VALUE = struct.Struct(">hi")


class EndTransactionMarker(Logging):
    """Commit or abort, with the epoch of the transaction coordinator that decided it.

    Mirrors: org.apache.kafka.common.record.EndTransactionMarker
    """

    logger_name = "org.apache.kafka.common.record.EndTransactionMarker"

    CURRENT_END_TXN_MARKER_VERSION: ClassVar[int] = 0
    CURRENT_END_TXN_MARKER_VALUE_SIZE: ClassVar[int] = 6
    CURRENT_END_TXN_SCHEMA_RECORD_SIZE: ClassVar[int] = DefaultRecord.size_in_bytes_of(0, 0, bytes(4), bytes(6), ())

    def __init__(self, type: ControlRecordType, coordinator_epoch: int) -> None:
        _ensure_transaction_marker_control_type(type)
        self._type = type
        self._coordinator_epoch = coordinator_epoch

    def coordinator_epoch(self) -> int:
        """Return the epoch of the coordinator."""
        return self._coordinator_epoch

    def control_type(self) -> ControlRecordType:
        """Return COMMIT or ABORT."""
        return self._type

    def serialize_value(self) -> bytes:
        """Return the value of the control record."""
        return _VALUE.pack(EndTransactionMarker.CURRENT_END_TXN_MARKER_VERSION, self._coordinator_epoch)

    @classmethod
    def deserialize(cls, record: Record) -> EndTransactionMarker:
        """Read a control record; InvalidRecordException if it is malformed."""
        return cls.deserialize_value(ControlRecordType.parse(record.key() or b""), record.value() or b"")

    @classmethod
    def deserialize_value(cls, type: ControlRecordType, value: bytes | bytearray | memoryview) -> EndTransactionMarker:
        """Read a value; InvalidRecordException if it is malformed, ValueError if type is UNKNOWN."""
        _ensure_transaction_marker_control_type(type)
        if len(value) < cls.CURRENT_END_TXN_MARKER_VALUE_SIZE:
            raise InvalidRecordException(
                "Invalid value size found for end transaction marker. Must have at least "
                f"{cls.CURRENT_END_TXN_MARKER_VALUE_SIZE} bytes, but found only {len(value)}"
            )
        version, coordinator_epoch = _VALUE.unpack_from(value)
        if version < 0:
            raise InvalidRecordException(
                f"Invalid version found for end transaction marker: {version}. May indicate data corruption"
            )
        marker = cls(type, coordinator_epoch)
        if version > cls.CURRENT_END_TXN_MARKER_VERSION:
            marker.debug(
                "Received end transaction marker value version %d. Parsing as version %d",
                version,
                cls.CURRENT_END_TXN_MARKER_VERSION,
            )
        return marker

    def __eq__(self, other: object) -> bool:
        """Equal when type and epoch are."""
        return (
            isinstance(other, EndTransactionMarker)
            and self._coordinator_epoch == other._coordinator_epoch
            and self._type is other._type
        )

    def __hash__(self) -> int:
        """Hash of type and epoch."""
        return hash((self._type.type, self._coordinator_epoch))


def _ensure_transaction_marker_control_type(type: ControlRecordType) -> None:
    if type is not ControlRecordType.COMMIT and type is not ControlRecordType.ABORT:
        raise ValueError(f"Invalid control record type for end transaction marker {type}")
