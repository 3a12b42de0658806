"""Writing LZ4 frames.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/KafkaLZ4BlockOutputStream.java @ 1.1.1

    magic 04 22 4D 18 | FLG | BD | header checksum | blocks: size uint32 (high bit: stored), data | end mark 0
All integers are little-endian. Blocks do not refer to each other.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, ClassVar

import cramjam
from xxhash import xxh32_intdigest

from kafka_py.common.errors import IllegalStateException

if TYPE_CHECKING:
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream

_UINT32_LE = struct.Struct("<I")


class FLG:
    """The flag byte of the frame descriptor.

    Mirrors: org.apache.kafka.common.record.KafkaLZ4BlockOutputStream.FLG
    """

    __slots__ = ("_block_checksum", "_block_independence", "_content_checksum", "_content_size", "_version")

    VERSION: ClassVar[int] = 1

    def __init__(self, flg: int = 0x60) -> None:
        if flg & 3:
            raise RuntimeError("Reserved bits must be 0")
        self._content_checksum = flg >> 2 & 1
        self._content_size = flg >> 3 & 1
        self._block_checksum = flg >> 4 & 1
        self._block_independence = flg >> 5 & 1
        self._version = flg >> 6 & 3
        if not self._block_independence:
            raise RuntimeError("Dependent block stream is unsupported")
        if self._version != FLG.VERSION:
            raise RuntimeError(f"Version {self._version} is unsupported")

    @classmethod
    def from_byte(cls, flg: int) -> FLG:
        """Take the byte apart; RuntimeError for what Kafka does not read."""
        return cls(flg)

    def to_byte(self) -> int:
        """Return the byte."""
        return (
            self._content_checksum << 2
            | self._content_size << 3
            | self._block_checksum << 4
            | self._block_independence << 5
            | self._version << 6
        )

    def is_content_checksum_set(self) -> bool:
        """Return whether a checksum of the content follows the end mark."""
        return self._content_checksum == 1

    def is_content_size_set(self) -> bool:
        """Return whether the header has the content size."""
        return self._content_size == 1

    def is_block_checksum_set(self) -> bool:
        """Return whether a checksum follows each block."""
        return self._block_checksum == 1

    def get_version(self) -> int:
        """Return the format version."""
        return self._version


class BD:
    """The block size byte of the frame descriptor.

    Mirrors: org.apache.kafka.common.record.KafkaLZ4BlockOutputStream.BD
    """

    __slots__ = ("_block_size_value",)

    def __init__(self, bd: int = 0x40) -> None:
        if bd & 15:
            raise RuntimeError("Reserved2 field must be 0")
        self._block_size_value = bd >> 4 & 7
        if not 4 <= self._block_size_value <= 7:
            raise RuntimeError("Block size value must be between 4 and 7")
        if bd >> 7 & 1:
            raise RuntimeError("Reserved3 field must be 0")

    @classmethod
    def from_byte(cls, bd: int) -> BD:
        """Take the byte apart; RuntimeError for a size that does not exist."""
        return cls(bd)

    def get_block_maximum_size(self) -> int:
        """Return the largest block in bytes: 64 KB, 256 KB, 1 MB or 4 MB."""
        return 1 << (2 * self._block_size_value + 8)

    def to_byte(self) -> int:
        """Return the byte."""
        return self._block_size_value << 4


class KafkaLZ4BlockOutputStream:
    """Compresses independent blocks of 64 KB (by default) into a frame.

    Mirrors: org.apache.kafka.common.record.KafkaLZ4BlockOutputStream
    """

    __slots__ = (
        "_block",
        "_finished",
        "_flg",
        "_max_block_size",
        "_out",
        "_use_broken_flag_descriptor_checksum",
    )

    MAGIC: ClassVar[int] = 0x184D2204
    LZ4_FRAME_INCOMPRESSIBLE_MASK: ClassVar[int] = 0x80000000
    CLOSED_STREAM: ClassVar[str] = "The stream is already closed"
    BLOCKSIZE_64KB: ClassVar[int] = 4
    BLOCKSIZE_256KB: ClassVar[int] = 5
    BLOCKSIZE_1MB: ClassVar[int] = 6
    BLOCKSIZE_4MB: ClassVar[int] = 7

    def __init__(
        self,
        out: ByteBufferOutputStream,
        block_size: int = 4,
        block_checksum: bool = False,
        use_broken_flag_descriptor_checksum: bool = False,
    ) -> None:
        bd = BD(block_size << 4)
        self._out = out
        self._flg = FLG(0x70 if block_checksum else 0x60)
        self._max_block_size = bd.get_block_maximum_size()
        self._use_broken_flag_descriptor_checksum = use_broken_flag_descriptor_checksum
        self._block = bytearray()  # thread: of its owner
        self._finished = False  # thread: of its owner
        self._write_header(bd)

    def use_broken_flag_descriptor_checksum(self) -> bool:
        """Return whether the header checksum also covers the magic, as Kafka before 0.10 had it (magic 0)."""
        return self._use_broken_flag_descriptor_checksum

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Compress data as blocks fill; IllegalStateException after close."""
        if self._finished:
            raise IllegalStateException(KafkaLZ4BlockOutputStream.CLOSED_STREAM)
        self._block += data
        # A full block waits for more bytes, as in Kafka: it may turn out to be the last one.
        while len(self._block) > self._max_block_size:
            self._write_block(self._max_block_size)

    def flush(self) -> None:
        """Write the block begun so far."""
        if not self._finished:
            self._write_block(len(self._block))

    def close(self) -> None:
        """Write the last block and the end mark."""
        if self._finished:
            return
        self._write_block(len(self._block))
        self._out.write(_UINT32_LE.pack(0))
        self._finished = True

    def _write_header(self, bd: BD) -> None:
        header = _UINT32_LE.pack(KafkaLZ4BlockOutputStream.MAGIC) + bytes((self._flg.to_byte(), bd.to_byte()))
        covered = header if self._use_broken_flag_descriptor_checksum else header[4:]
        self._out.write(header + bytes((xxh32_intdigest(covered) >> 8 & 0xFF,)))

    def _write_block(self, size: int) -> None:
        if size == 0:
            return
        block = bytes(self._block[:size])
        del self._block[:size]
        data = bytes(cramjam.lz4.compress_block(block, store_size=False))
        stored = 0
        if len(data) >= size:
            data = block
            stored = KafkaLZ4BlockOutputStream.LZ4_FRAME_INCOMPRESSIBLE_MASK
        self._out.write(_UINT32_LE.pack(len(data) | stored))
        self._out.write(data)
        if self._flg.is_block_checksum_set():
            self._out.write(_UINT32_LE.pack(xxh32_intdigest(data)))
