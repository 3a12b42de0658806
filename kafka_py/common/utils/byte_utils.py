"""Variable-length and unsigned integers in byte buffers.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/ByteUtils.java @ 1.1.1
"""

from __future__ import annotations

import struct

_UINT32 = struct.Struct(">I")
_UINT32_LE = struct.Struct("<I")

# A zig-zag number of k bytes carries 7 k bits: sizes by bit length, so that no loop runs per value.
_VARINT_SIZES = tuple(max(1, (bits + 6) // 7) for bits in range(65))


class ByteUtils:
    """Reads and writes integers; a reader takes a position and returns the value with the next position.

    Readers raise IndexError where Java underflows and ValueError where a varint does not end in time.

    Mirrors: org.apache.kafka.common.utils.ByteUtils
    Differs: a buffer is any bytes-like object with an explicit position; writers append to a bytearray.
    """

    @staticmethod
    def read_unsigned_varint(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
        """Read up to 5 bytes without zig-zag; as Java's int, bits above the 32nd are lost."""
        value = shift = 0
        while (byte := buffer[position]) & 0x80:
            value |= (byte & 0x7F) << shift
            position += 1
            shift += 7
            if shift > 28:
                raise ValueError(
                    "Varint is too long, the most significant bit in the 5th byte is set, "
                    f"converted value: {value & 0xFFFFFFFF:x}"
                )
        return (value | byte << shift) & 0xFFFFFFFF, position + 1

    @staticmethod
    def read_varint(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
        """Read a zig-zag 32-bit integer of up to 5 bytes."""
        value, position = ByteUtils.read_unsigned_varint(buffer, position)
        return (value >> 1) ^ -(value & 1), position

    @staticmethod
    def read_varlong(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
        """Read a zig-zag 64-bit integer of up to 10 bytes."""
        value = shift = 0
        while (byte := buffer[position]) & 0x80:
            value |= (byte & 0x7F) << shift
            position += 1
            shift += 7
            if shift > 63:
                raise ValueError(
                    "Varlong is too long, most significant bit in the 10th byte is set, "
                    f"converted value: {value & 0xFFFFFFFFFFFFFFFF:x}"
                )
        value = (value | byte << shift) & 0xFFFFFFFFFFFFFFFF
        return (value >> 1) ^ -(value & 1), position + 1

    @staticmethod
    def write_unsigned_varint(value: int, out: bytearray) -> None:
        """Append value (>= 0) in groups of 7 bits, lowest first."""
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)

    @staticmethod
    def write_varint(value: int, out: bytearray) -> None:
        """Append a signed 32-bit integer, zig-zag encoded."""
        ByteUtils.write_unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1, out)

    @staticmethod
    def write_varlong(value: int, out: bytearray) -> None:
        """Append a signed 64-bit integer, zig-zag encoded."""
        ByteUtils.write_unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1, out)

    @staticmethod
    def size_of_varint(value: int) -> int:
        """Return the number of bytes of a signed 32-bit integer."""
        return _VARINT_SIZES[(value << 1 if value >= 0 else (-value << 1) - 1).bit_length()]

    @staticmethod
    def size_of_varlong(value: int) -> int:
        """Return the number of bytes of a signed 64-bit integer."""
        return _VARINT_SIZES[(value << 1 if value >= 0 else (-value << 1) - 1).bit_length()]
