"""Codec names and numbers of the broker's configuration."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import UnknownCodecException
from kafka_py.message.compression_codec import (
    BrokerCompressionCodec,
    CompressionCodec,
    GZIPCompressionCodec,
    LZ4CompressionCodec,
    NoCompressionCodec,
    SnappyCompressionCodec,
    ZStdCompressionCodec,
)


def test_codecs_are_found_by_number_and_name() -> None:
    codecs = [
        NoCompressionCodec,
        GZIPCompressionCodec,
        SnappyCompressionCodec,
        LZ4CompressionCodec,
        ZStdCompressionCodec,
    ]
    for number, codec in enumerate(codecs):
        assert codec.codec == number
        assert CompressionCodec.get_compression_codec(number) is codec
        assert CompressionCodec.get_compression_codec(codec.name.upper()) is codec


@pytest.mark.parametrize("codec", [7, -1, "uncompressed", "brotli"])
def test_unknown_codec(codec: int | str) -> None:
    with pytest.raises(UnknownCodecException):
        CompressionCodec.get_compression_codec(codec)


def test_values_of_compression_type() -> None:
    assert all(BrokerCompressionCodec.is_valid(name) for name in ("producer", "Uncompressed", "gzip", "lz4", "snappy"))
    assert not BrokerCompressionCodec.is_valid("none")
    target = BrokerCompressionCodec.get_target_compression_codec
    assert target("producer", SnappyCompressionCodec) is SnappyCompressionCodec
    assert target("uncompressed", SnappyCompressionCodec) is NoCompressionCodec
    assert target("lz4", SnappyCompressionCodec) is LZ4CompressionCodec
