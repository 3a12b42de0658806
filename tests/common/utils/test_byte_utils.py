"""Varints, unsigned integers and checksums."""

from __future__ import annotations

import pytest

from kafka_py.common.utils.byte_utils import ByteUtils
from kafka_py.common.utils.crc32c import Crc32C

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1

VARINTS = [
    (0, "00"),
    (-1, "01"),
    (1, "02"),
    (63, "7E"),
    (-64, "7F"),
    (64, "80 01"),
    (-65, "81 01"),
    (8191, "FE 7F"),
    (-8192, "FF 7F"),
    (8192, "80 80 01"),
    (-8193, "81 80 01"),
    (1048575, "FE FF 7F"),
    (1048576, "80 80 80 01"),
    (134217727, "FE FF FF 7F"),
    (134217728, "80 80 80 80 01"),
    (INT_MAX, "FE FF FF FF 0F"),
    (INT_MIN, "FF FF FF FF 0F"),
]
VARLONGS = [
    *VARINTS,
    (17179869183, "FE FF FF FF 7F"),
    (-17179869185, "81 80 80 80 80 01"),
    (LONG_MAX, "FE FF FF FF FF FF FF FF FF 01"),
    (LONG_MIN, "FF FF FF FF FF FF FF FF FF 01"),
]


@pytest.mark.ported("ByteUtilsTest.testVarintSerde")
@pytest.mark.parametrize(("value", "encoded"), VARINTS)
def test_varint_serde(value: int, encoded: str) -> None:
    out = bytearray()
    ByteUtils.write_varint(value, out)
    assert out == bytes.fromhex(encoded)
    assert ByteUtils.read_varint(b"??" + out, 2) == (value, 2 + len(out))
    assert ByteUtils.size_of_varint(value) == len(out)


@pytest.mark.ported("ByteUtilsTest.testVarlongSerde")
@pytest.mark.parametrize(("value", "encoded"), VARLONGS)
def test_varlong_serde(value: int, encoded: str) -> None:
    out = bytearray()
    ByteUtils.write_varlong(value, out)
    assert out == bytes.fromhex(encoded)
    assert ByteUtils.read_varlong(memoryview(out), 0) == (value, len(out))
    assert ByteUtils.size_of_varlong(value) == len(out)


@pytest.mark.ported("ByteUtilsTest.testInvalidVarint")
def test_invalid_varint() -> None:
    with pytest.raises(ValueError, match="Varint is too long"):
        ByteUtils.read_varint(b"\xff\xff\xff\xff\xff\x01", 0)
    with pytest.raises(IndexError):
        ByteUtils.read_varint(b"\xff\xff", 0)


@pytest.mark.ported("ByteUtilsTest.testInvalidVarlong")
def test_invalid_varlong() -> None:
    with pytest.raises(ValueError, match="Varlong is too long"):
        ByteUtils.read_varlong(b"\xff" * 10 + b"\x01", 0)


def test_unsigned_varint_sizes() -> None:
    for value in (0, 127, 128, 16383, 16384, (1 << 32) - 1):
        out = bytearray()
        ByteUtils.write_unsigned_varint(value, out)
        assert ByteUtils.read_unsigned_varint(out, 0) == (value, len(out))


def test_crc32c_of_known_vectors() -> None:
    assert Crc32C.compute(b"123456789") == 0xE3069283
    assert Crc32C.compute(bytes(32)) == 0x8A9136AA
    assert Crc32C.compute(memoryview(b"..123456789.."), 2, 9) == 0xE3069283
    assert Crc32C.update(Crc32C.compute(b"1234"), b"56789") == 0xE3069283
