"""The kinds of control records.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/ControlRecordType.java @ 1.1.1

The key of a control record: version int16 | type int16. Newer versions may only add fields.
"""

from __future__ import annotations

import struct
from typing import ClassVar

from kafka_py.common.errors import InvalidRecordException
from kafka_py.utils.logging import Logging

_KEY = struct.Struct(">hh")


class ControlRecordType(Logging):
    """Abort and commit markers; UNKNOWN stands for types of newer brokers, to be skipped.

    Mirrors: org.apache.kafka.common.record.ControlRecordType
    Differs: record_key returns the serialized key instead of a Struct.
    """

    logger_name = "org.apache.kafka.common.record.ControlRecordType"

    ABORT: ClassVar[ControlRecordType]
    COMMIT: ClassVar[ControlRecordType]
    UNKNOWN: ClassVar[ControlRecordType]

    CURRENT_CONTROL_RECORD_KEY_VERSION: ClassVar[int] = 0
    CURRENT_CONTROL_RECORD_KEY_SIZE: ClassVar[int] = 4

    def __init__(self, type: int, name: str) -> None:
        self.type = type
        self.name = name

    def record_key(self) -> bytes:
        """Return the key of a control record of this type; ValueError for UNKNOWN."""
        if self is ControlRecordType.UNKNOWN:
            raise ValueError("Cannot serialize UNKNOWN control record type")
        return _KEY.pack(ControlRecordType.CURRENT_CONTROL_RECORD_KEY_VERSION, self.type)

    @classmethod
    def parse_type_id(cls, key: bytes | bytearray | memoryview) -> int:
        """Return the type number of a key; InvalidRecordException if it is too short or of a negative version."""
        if len(key) < cls.CURRENT_CONTROL_RECORD_KEY_SIZE:
            raise InvalidRecordException(
                "Invalid value size found for end control record key. Must have at least "
                f"{cls.CURRENT_CONTROL_RECORD_KEY_SIZE} bytes, but found only {len(key)}"
            )
        version, type_id = _KEY.unpack_from(key)
        if version < 0:
            raise InvalidRecordException(
                f"Invalid version found for control record: {version}. May indicate data corruption"
            )
        if version != cls.CURRENT_CONTROL_RECORD_KEY_VERSION:
            cls.UNKNOWN.debug(
                "Received unknown control record key version %d. Parsing as version %d",
                version,
                cls.CURRENT_CONTROL_RECORD_KEY_VERSION,
            )
        return int(type_id)

    @classmethod
    def from_type_id(cls, type_id: int) -> ControlRecordType:
        """Return the type with that number, UNKNOWN if there is none."""
        if type_id == 0:
            return cls.ABORT
        return cls.COMMIT if type_id == 1 else cls.UNKNOWN

    @classmethod
    def parse(cls, key: bytes | bytearray | memoryview) -> ControlRecordType:
        """Return the type that a control record's key says."""
        return cls.from_type_id(cls.parse_type_id(key))

    def __repr__(self) -> str:
        """Show the name."""
        return self.name


ControlRecordType.ABORT = ControlRecordType(0, "ABORT")
ControlRecordType.COMMIT = ControlRecordType(1, "COMMIT")
ControlRecordType.UNKNOWN = ControlRecordType(-1, "UNKNOWN")
