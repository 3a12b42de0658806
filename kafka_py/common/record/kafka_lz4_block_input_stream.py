"""Reading LZ4 frames.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/KafkaLZ4BlockInputStream.java @ 1.1.1
"""

from __future__ import annotations

import struct
from typing import ClassVar

import cramjam
from xxhash import xxh32_intdigest

from kafka_py.common.record.buffer_supplier import BufferSupplier
from kafka_py.common.record.decompression_stream import DecompressionStream
from kafka_py.common.record.kafka_lz4_block_output_stream import BD, FLG, KafkaLZ4BlockOutputStream

_UINT32_LE = struct.Struct("<I")
_INCOMPRESSIBLE_MASK = KafkaLZ4BlockOutputStream.LZ4_FRAME_INCOMPRESSIBLE_MASK


class KafkaLZ4BlockInputStream(DecompressionStream):
    """Decompresses independent blocks one by one; the content checksum, if any, is not looked at (as in Kafka).

    Mirrors: org.apache.kafka.common.record.KafkaLZ4BlockInputStream
    """

    __slots__ = (
        "_buffer_supplier",
        "_decompression_buffer",
        "_finished",
        "_flg",
        "_ignore_flag_descriptor_checksum",
        "_in",
        "_max_block_size",
        "_offset",
    )

    PREMATURE_EOS: ClassVar[str] = "Stream ended prematurely"
    NOT_SUPPORTED: ClassVar[str] = "Stream unsupported (invalid magic bytes)"
    BLOCK_HASH_MISMATCH: ClassVar[str] = "Block checksum mismatch"
    DESCRIPTOR_HASH_MISMATCH: ClassVar[str] = "Stream frame descriptor corrupted"

    def __init__(
        self,
        buffer: memoryview,
        buffer_supplier: BufferSupplier | None = None,
        ignore_flag_descriptor_checksum: bool = False,
    ) -> None:
        super().__init__()
        self._in = buffer
        self._offset = 0  # thread: of its owner
        self._ignore_flag_descriptor_checksum = ignore_flag_descriptor_checksum
        self._flg, self._max_block_size = self._read_header()
        self._buffer_supplier = buffer_supplier or BufferSupplier.NO_CACHING
        self._decompression_buffer: bytearray | None = None  # thread: of its owner
        self._finished = False  # thread: of its owner

    def ignore_flag_descriptor_checksum(self) -> bool:
        """Return whether the header checksum is left unchecked (magic 0: old clients wrote it wrong)."""
        return self._ignore_flag_descriptor_checksum

    def next_chunk(self) -> bytes:
        """Return the next non-empty block, b"" after the end mark; OSError for damaged or missing data."""
        while not self._finished:
            chunk = self._read_block()
            if chunk:
                return chunk
        return b""

    def available(self) -> int:
        """Return the decompressed bytes that need no further block."""
        return len(self._data) - self._position

    def close(self) -> None:
        """Give the block buffer back."""
        super().close()
        if self._decompression_buffer is not None:
            self._buffer_supplier.release(self._decompression_buffer)
            self._decompression_buffer = None

    def _read_header(self) -> tuple[FLG, int]:
        header = self._in
        if len(header) < 7:
            raise OSError(KafkaLZ4BlockInputStream.PREMATURE_EOS)
        if _UINT32_LE.unpack_from(header)[0] != KafkaLZ4BlockOutputStream.MAGIC:
            raise OSError(KafkaLZ4BlockInputStream.NOT_SUPPORTED)
        flg = FLG.from_byte(header[4])
        max_block_size = BD.from_byte(header[5]).get_block_maximum_size()
        end = 6
        if flg.is_content_size_set():
            end += 8
            if len(header) <= end:
                raise OSError(KafkaLZ4BlockInputStream.PREMATURE_EOS)
        self._offset = end + 1
        if self._ignore_flag_descriptor_checksum:
            return flg, max_block_size
        if header[end] != xxh32_intdigest(header[4:end]) >> 8 & 0xFF:
            raise OSError(KafkaLZ4BlockInputStream.DESCRIPTOR_HASH_MISMATCH)
        return flg, max_block_size

    def _read_uint32(self) -> int:
        end = self._offset + 4
        if end > len(self._in):
            raise OSError(KafkaLZ4BlockInputStream.PREMATURE_EOS)
        value = _UINT32_LE.unpack_from(self._in, self._offset)[0]
        self._offset = end
        return int(value)

    def _read_block(self) -> bytes:
        size = self._read_uint32()
        stored = size & _INCOMPRESSIBLE_MASK
        size &= ~_INCOMPRESSIBLE_MASK
        if size == 0:
            self._finished = True
            if self._flg.is_content_checksum_set():
                self._read_uint32()
            return b""
        if size > self._max_block_size:
            raise OSError(f"Block size {size} exceeded max: {self._max_block_size}")
        end = self._offset + size
        if end > len(self._in):
            raise OSError(KafkaLZ4BlockInputStream.PREMATURE_EOS)
        block = self._in[self._offset : end]
        chunk = bytes(block) if stored else self._decompress(block)
        self._offset = end
        if self._flg.is_block_checksum_set() and self._read_uint32() != xxh32_intdigest(block):
            raise OSError(KafkaLZ4BlockInputStream.BLOCK_HASH_MISMATCH)
        return chunk

    def _decompress(self, block: memoryview) -> bytes:
        buffer = self._decompression_buffer
        if buffer is None:
            buffer = self._decompression_buffer = self._buffer_supplier.get(self._max_block_size)
        try:
            size = cramjam.lz4.decompress_block_into(block, buffer, output_len=self._max_block_size)
        except cramjam.DecompressionError as e:
            raise OSError(str(e)) from e
        return bytes(memoryview(buffer)[:size])
