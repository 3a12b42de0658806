"""The codecs of record batches.

Mirrors: clients/src/main/java/org/apache/kafka/common/record/CompressionType.java @ 1.1.1 (ZSTD: @ 2.1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from kafka_py.common.errors import KafkaException
from kafka_py.common.record.decompression_stream import BytesInputStream, DecompressionStream
from kafka_py.common.record.gzip_streams import GzipInputStream, GzipOutputStream
from kafka_py.common.record.kafka_lz4_block_input_stream import KafkaLZ4BlockInputStream
from kafka_py.common.record.kafka_lz4_block_output_stream import KafkaLZ4BlockOutputStream
from kafka_py.common.record.snappy_streams import SnappyInputStream, SnappyOutputStream
from kafka_py.common.record.zstd_streams import ZstdInputStream, ZstdOutputStream

if TYPE_CHECKING:
    from kafka_py.common.record.buffer_supplier import BufferSupplier
    from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream


class OutputStream(Protocol):
    """Where records are written: the buffer itself or a compressor in front of it."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take data."""


class Compressor(OutputStream, Protocol):
    """A stream that holds back data until it is closed."""

    def close(self) -> None:
        """Write what is held back."""


class CompressionType:
    """A codec: its id in batch attributes, its name in configurations, and its streams.

    Mirrors: org.apache.kafka.common.record.CompressionType
    Differs: knows ZSTD, which Kafka has since 2.1; who may use it is decided where requests are checked.
    """

    __slots__ = ("id", "name", "rate")

    NONE: ClassVar[CompressionType]
    GZIP: ClassVar[CompressionType]
    SNAPPY: ClassVar[CompressionType]
    LZ4: ClassVar[CompressionType]
    ZSTD: ClassVar[CompressionType]

    def __init__(self, id: int, name: str, rate: float) -> None:
        self.id = id
        self.name = name
        self.rate = rate

    @classmethod
    def values(cls) -> list[CompressionType]:
        """Return all codecs in the order of their ids."""
        return list(_TYPES)

    @classmethod
    def for_id(cls, id: int) -> CompressionType:
        """Return the codec with that id; ValueError if unknown."""
        if not 0 <= id < len(_TYPES):
            raise ValueError(f"Unknown compression type id: {id}")
        return _TYPES[id]

    @classmethod
    def for_name(cls, name: str) -> CompressionType:
        """Return the codec with that name; ValueError if unknown."""
        for compression_type in _TYPES:
            if compression_type.name == name:
                return compression_type
        raise ValueError(f"Unknown compression name: {name}")

    def wrap_for_output(self, buffer_stream: ByteBufferOutputStream, message_version: int) -> OutputStream:
        """Return the stream that compresses into buffer_stream; compressors must be closed."""
        if self.id == 0:
            return buffer_stream
        if self.id == 1:
            return GzipOutputStream(buffer_stream)
        if self.id == 2:
            return SnappyOutputStream(buffer_stream)
        if self.id == 3:
            return KafkaLZ4BlockOutputStream(buffer_stream, use_broken_flag_descriptor_checksum=message_version == 0)
        return ZstdOutputStream(buffer_stream)

    def wrap_for_input(
        self, buffer: memoryview, message_version: int, buffer_supplier: BufferSupplier | None = None
    ) -> DecompressionStream:
        """Return the stream that decompresses buffer; KafkaException if its beginning is damaged."""
        try:
            if self.id == 0:
                return BytesInputStream(buffer)
            if self.id == 1:
                return GzipInputStream(buffer)
            if self.id == 2:
                return SnappyInputStream(buffer)
            if self.id == 3:
                return KafkaLZ4BlockInputStream(buffer, buffer_supplier, message_version == 0)
            return ZstdInputStream(buffer)
        except (OSError, EOFError, RuntimeError) as e:
            raise KafkaException(str(e)) from e

    def __repr__(self) -> str:
        """Show the name as Java's enum does."""
        return self.name.upper()


CompressionType.NONE = CompressionType(0, "none", 1.0)
CompressionType.GZIP = CompressionType(1, "gzip", 1.0)
CompressionType.SNAPPY = CompressionType(2, "snappy", 1.0)
CompressionType.LZ4 = CompressionType(3, "lz4", 1.0)
CompressionType.ZSTD = CompressionType(4, "zstd", 1.0)

_TYPES = (
    CompressionType.NONE,
    CompressionType.GZIP,
    CompressionType.SNAPPY,
    CompressionType.LZ4,
    CompressionType.ZSTD,
)
