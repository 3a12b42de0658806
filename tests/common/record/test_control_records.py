"""Keys and values of control records."""

from __future__ import annotations

import struct

import pytest

from kafka_py.common.errors import InvalidRecordException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker


@pytest.mark.ported("ControlRecordTypeTest.testParseUnknownType")
@pytest.mark.ported("ControlRecordTypeTest.testParseUnknownVersion")
@pytest.mark.parametrize(
    ("version", "type_id", "expected"),
    [
        (0, 0, ControlRecordType.ABORT),
        (0, 1, ControlRecordType.COMMIT),
        (0, 337, ControlRecordType.UNKNOWN),
        (5, 0, ControlRecordType.ABORT),
    ],
)
def test_parse(version: int, type_id: int, expected: ControlRecordType) -> None:
    assert ControlRecordType.parse(struct.pack(">hhi", version, type_id, 23432)) is expected


def test_bad_keys() -> None:
    with pytest.raises(InvalidRecordException, match="at least 4 bytes"):
        ControlRecordType.parse(b"\x00\x00\x00")
    with pytest.raises(InvalidRecordException, match="Invalid version"):
        ControlRecordType.parse(struct.pack(">hh", -1, 0))
    with pytest.raises(ValueError, match="UNKNOWN"):
        ControlRecordType.UNKNOWN.record_key()


@pytest.mark.ported("EndTransactionMarkerTest.testSerde")
@pytest.mark.ported("EndTransactionMarkerTest.testDeserializeNewerVersion")
def test_serde() -> None:
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 79)
    assert EndTransactionMarker.deserialize_value(ControlRecordType.COMMIT, marker.serialize_value()) == marker
    newer = struct.pack(">hii", 1, 79, 12)
    assert EndTransactionMarker.deserialize_value(ControlRecordType.COMMIT, newer) == marker


@pytest.mark.ported("EndTransactionMarkerTest.testUnknownControlTypeNotAllowed")
@pytest.mark.ported("EndTransactionMarkerTest.testCannotDeserializeUnknownControlType")
def test_unknown_control_type_not_allowed() -> None:
    with pytest.raises(ValueError, match="Invalid control record type"):
        EndTransactionMarker(ControlRecordType.UNKNOWN, 24)
    with pytest.raises(ValueError, match="Invalid control record type"):
        EndTransactionMarker.deserialize_value(ControlRecordType.UNKNOWN, bytes(6))


@pytest.mark.ported("EndTransactionMarkerTest.testIllegalNegativeVersion")
@pytest.mark.ported("EndTransactionMarkerTest.testNotEnoughBytes")
@pytest.mark.parametrize("value", [b"\x00", bytes(5), struct.pack(">hi", -1, 0)])
def test_bad_values(value: bytes) -> None:
    with pytest.raises(InvalidRecordException):
        EndTransactionMarker.deserialize_value(ControlRecordType.ABORT, value)
