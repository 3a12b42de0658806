"""The codecs as the broker's configuration names them.

Mirrors: core/src/main/scala/kafka/message/CompressionCodec.scala @ 1.1.1 (ZStdCompressionCodec: @ 2.1)
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import UnknownCodecException


class BrokerCompressionCodec:
    """A value of the configuration compression.type: a codec, "uncompressed" or "producer".

    Mirrors: core/src/main/scala/kafka/message/CompressionCodec.scala, trait and object BrokerCompressionCodec
    """

    __slots__ = ("name",)

    broker_compression_codecs: ClassVar[list[BrokerCompressionCodec]]
    broker_compression_options: ClassVar[list[str]]

    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def is_valid(compression_type: str) -> bool:
        """Return whether compression.type may have that value."""
        return compression_type.lower() in BrokerCompressionCodec.broker_compression_options

    @staticmethod
    def get_compression_codec(compression_type: str) -> CompressionCodec:
        """Return the codec of that name, none for "uncompressed"; UnknownCodecException if there is none."""
        if compression_type.lower() == UncompressedCodec.name:
            return NoCompressionCodec
        return CompressionCodec.get_compression_codec(compression_type)

    @staticmethod
    def get_target_compression_codec(compression_type: str, producer_compression: CompressionCodec) -> CompressionCodec:
        """Return the codec to store with: the producer's own if the configuration says "producer"."""
        if compression_type == ProducerCompressionCodec.name:
            return producer_compression
        return BrokerCompressionCodec.get_compression_codec(compression_type)

    def __repr__(self) -> str:
        """Show the name."""
        return f"{type(self).__name__}({self.name})"


class CompressionCodec(BrokerCompressionCodec):
    """A codec with its number in batch attributes.

    Mirrors: core/src/main/scala/kafka/message/CompressionCodec.scala, trait and object CompressionCodec
    """

    __slots__ = ("codec",)

    def __init__(self, codec: int, name: str) -> None:
        super().__init__(name)
        self.codec = codec

    @staticmethod
    def get_compression_codec(compression_type: int | str) -> CompressionCodec:
        """Return the codec with that number or name (in any case); UnknownCodecException if there is none."""
        if isinstance(compression_type, int):
            found = _BY_CODEC.get(compression_type)
        else:
            found = _BY_NAME.get(compression_type.lower())
        if found is None:
            raise UnknownCodecException(f"{compression_type} is an unknown compression codec")
        return found


NoCompressionCodec = CompressionCodec(0, "none")
GZIPCompressionCodec = CompressionCodec(1, "gzip")
SnappyCompressionCodec = CompressionCodec(2, "snappy")
LZ4CompressionCodec = CompressionCodec(3, "lz4")
ZStdCompressionCodec = CompressionCodec(4, "zstd")
DefaultCompressionCodec = CompressionCodec(GZIPCompressionCodec.codec, GZIPCompressionCodec.name)
UncompressedCodec = BrokerCompressionCodec("uncompressed")
ProducerCompressionCodec = BrokerCompressionCodec("producer")

_CODECS = (
    NoCompressionCodec,
    GZIPCompressionCodec,
    SnappyCompressionCodec,
    LZ4CompressionCodec,
    ZStdCompressionCodec,
)
_BY_CODEC = {codec.codec: codec for codec in _CODECS}
_BY_NAME = {codec.name: codec for codec in _CODECS}

BrokerCompressionCodec.broker_compression_codecs = [
    UncompressedCodec,
    ZStdCompressionCodec,
    LZ4CompressionCodec,
    SnappyCompressionCodec,
    GZIPCompressionCodec,
    ProducerCompressionCodec,
]
BrokerCompressionCodec.broker_compression_options = [
    codec.name for codec in BrokerCompressionCodec.broker_compression_codecs
]
