"""Codecs: framings byte by byte, round trips, damaged and hostile input."""

from __future__ import annotations

import gzip
import itertools
import random
import tracemalloc
import zlib

import cramjam
import pytest
import snappy

from benchmarks.codecs import lz4
from kafka_py.common.errors import InvalidRecordException, KafkaException
from kafka_py.common.record.buffer_supplier import BufferSupplier
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.decompression_stream import DecompressionStream
from kafka_py.common.record.default_record_batch import DefaultRecordBatch
from kafka_py.common.record.kafka_lz4_block_input_stream import KafkaLZ4BlockInputStream
from kafka_py.common.record.kafka_lz4_block_output_stream import KafkaLZ4BlockOutputStream
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.utils.byte_buffer_output_stream import ByteBufferOutputStream
from kafka_py.common.utils.byte_utils import ByteUtils

rnd = random.Random(20)
PAYLOADS = [
    b"",
    b"x",
    b"hello " * 20,
    bytes(65536),
    bytes(65537),
    rnd.randbytes(70_000),
    rnd.randbytes(1000) * 300,
]
CODECS = [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD]


def compress(codec: CompressionType, data: bytes, magic: int = 2, piece: int = 10_000) -> bytes:
    out = ByteBufferOutputStream()
    stream = codec.wrap_for_output(out, magic)
    for start in range(0, len(data), piece):
        stream.write(data[start : start + piece])
    stream.close()  # type: ignore[attr-defined]
    return bytes(out.buffer)


def read_all(stream: DecompressionStream) -> bytes:
    chunks = []
    while chunk := stream.next_chunk():
        chunks.append(chunk)
    stream.close()
    return b"".join(chunks)


def decompress(codec: CompressionType, data: bytes, magic: int = 2) -> bytes:
    return read_all(codec.wrap_for_input(memoryview(data), magic))


@pytest.mark.ported("KafkaLZ4Test.testCompression")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("payload", PAYLOADS, ids=len)
@pytest.mark.parametrize("magic", [0, 2])
def test_round_trip(codec: CompressionType, payload: bytes, magic: int) -> None:
    assert decompress(codec, compress(codec, payload, magic), magic) == payload


def test_ids_and_names() -> None:
    for number, name in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        assert CompressionType.for_id(number) is CompressionType.for_name(name)
        assert CompressionType.for_id(number).id == number
    for unknown in (-1, 5, 7):
        with pytest.raises(ValueError, match="Unknown compression type id"):
            CompressionType.for_id(unknown)
    with pytest.raises(ValueError, match="Unknown compression name"):
        CompressionType.for_name("LZ4")


def test_of_many_gzip_members_the_rest_is_not_copied_for_each() -> None:
    """A member takes 20 bytes: 50,000 of them in a request would keep a handler busy for seconds."""
    data = gzip.compress(b"") * 5000 + gzip.compress(b"end")
    tracemalloc.start()
    try:
        assert decompress(CompressionType.GZIP, data) == b"end"
        assert tracemalloc.get_traced_memory()[1] < len(data)
    finally:
        tracemalloc.stop()


def test_gzip_is_read_by_others_and_members_follow_on() -> None:
    data = compress(CompressionType.GZIP, b"hello " * 50)
    assert data[:10] == bytes.fromhex("1f8b0800000000000000")
    assert gzip.decompress(data) == b"hello " * 50
    assert decompress(CompressionType.GZIP, data + gzip.compress(b"more")) == b"hello " * 50 + b"more"
    assert decompress(CompressionType.GZIP, data + b"trailing bytes that are no gzip") == b"hello " * 50


def test_xerial_framing() -> None:
    payload = bytes(range(256)) * 300
    data = compress(CompressionType.SNAPPY, payload)
    assert data[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    position, blocks = 16, []
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        blocks.append(snappy.uncompress(data[position + 4 : position + 4 + size]))
        position += 4 + size
    assert b"".join(blocks) == payload
    assert [len(block) for block in blocks] == [32768, 32768, len(payload) - 65536]
    assert decompress(CompressionType.SNAPPY, data + data) == payload * 2


def test_raw_snappy() -> None:
    assert decompress(CompressionType.SNAPPY, snappy.compress(b"raw " * 100)) == b"raw " * 100


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff" * 5, b"\xff\xff\xff\xff\x0f123", b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x09ab"],
)
def test_snappy_lies(data: bytes) -> None:
    with pytest.raises((OSError, KafkaException)):
        decompress(CompressionType.SNAPPY, data)


@pytest.mark.ported("CompressionTypeTest.testLZ4FramingMagicV0")
@pytest.mark.ported("CompressionTypeTest.testLZ4FramingMagicV1")
def test_lz4_framing_by_magic() -> None:
    old = CompressionType.LZ4.wrap_for_output(ByteBufferOutputStream(), 0)
    new = CompressionType.LZ4.wrap_for_output(ByteBufferOutputStream(), 1)
    assert isinstance(old, KafkaLZ4BlockOutputStream)
    assert isinstance(new, KafkaLZ4BlockOutputStream)
    assert old.use_broken_flag_descriptor_checksum()
    assert not new.use_broken_flag_descriptor_checksum()
    frame = compress(CompressionType.LZ4, b"data", 1)
    assert frame[:7] == bytes.fromhex("04224d18604082")
    broken = compress(CompressionType.LZ4, b"data", 0)
    assert broken[:6] == frame[:6]
    assert broken[6] != frame[6]
    assert decompress(CompressionType.LZ4, broken, 0) == b"data"
    assert decompress(CompressionType.LZ4, frame, 0) == b"data"
    with pytest.raises(KafkaException, match="descriptor corrupted"):
        decompress(CompressionType.LZ4, broken, 1)


def test_lz4_frames_are_read_by_others() -> None:
    payload = rnd.randbytes(500) * 400
    assert bytes(cramjam.lz4.decompress(compress(CompressionType.LZ4, payload))) == payload


def test_lz4_dependent_blocks_are_refused() -> None:
    with pytest.raises(KafkaException, match="Dependent block stream is unsupported"):
        decompress(CompressionType.LZ4, bytes(cramjam.lz4.compress(b"abc" * 1000)))


@pytest.mark.ported("KafkaLZ4Test.testHeaderPrematureEnd")
@pytest.mark.ported("KafkaLZ4Test.testNotSupported")
@pytest.mark.ported("KafkaLZ4Test.testBadFrameChecksum")
@pytest.mark.ported("KafkaLZ4Test.testBadBlockSize")
@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 0x00, KafkaLZ4BlockInputStream.NOT_SUPPORTED),
        (6, 0xFF, KafkaLZ4BlockInputStream.DESCRIPTOR_HASH_MISMATCH),
        (4, 0x61, "Reserved bits"),
        (4, 0xA0, "Version 2 is unsupported"),
        (5, 0x30, "Block size value"),
    ],
)
def test_lz4_bad_headers(place: int, value: int, message: str) -> None:
    frame = bytearray(compress(CompressionType.LZ4, b"data" * 100))
    frame[place] = value
    with pytest.raises((OSError, RuntimeError)) as raised:
        KafkaLZ4BlockInputStream(memoryview(frame))
    assert message in str(raised.value)
    with pytest.raises(OSError, match="prematurely"):
        KafkaLZ4BlockInputStream(memoryview(frame)[:2])


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("checksum", [False, True])
def test_lz4_block_sizes_and_checksums(block_size: int, checksum: bool) -> None:
    payload = rnd.randbytes(300) * 10
    out = ByteBufferOutputStream()
    stream = KafkaLZ4BlockOutputStream(out, block_size, checksum)
    stream.write(payload)
    stream.flush()
    stream.write(b"end")
    stream.close()
    supplier = BufferSupplier.create()
    assert read_all(KafkaLZ4BlockInputStream(memoryview(out.buffer), supplier)) == payload + b"end"
    assert len(supplier.get(1 << (2 * block_size + 8))) == 1 << (2 * block_size + 8)
    with pytest.raises(RuntimeError, match="already closed"):
        stream.write(b"more")


LZ4_OPTIONS = list(itertools.product([4, 5, 6, 7], *[[False, True]] * 3))


@pytest.mark.parametrize(("block_size", "block_checksum", "content_checksum", "content_size"), LZ4_OPTIONS)
def test_lz4_frames_with_every_option(
    block_size: int, block_checksum: bool, content_checksum: bool, content_size: bool
) -> None:
    """Of a stored block and compressed ones, in blocks of 64 KiB."""
    data = rnd.randbytes(1 << 16) + b"0123456789abcdef" * 5000
    frame = lz4(data, block_size, block_checksum, content_checksum, content_size)
    assert decompress(CompressionType.LZ4, frame) == data
    assert decompress(CompressionType.LZ4, frame, 0) == data
    short = lz4(b"12345678" * 9, block_size, block_checksum, content_checksum, content_size)
    for end in range(len(short)):
        with pytest.raises((OSError, KafkaException), match=r"prematurely|unsupported"):
            decompress(CompressionType.LZ4, short[:end])


@pytest.mark.parametrize("data", [b"12345678" * 9, b"stored"], ids=["compressed", "stored"])
def test_lz4_checksums_that_are_wrong(data: bytes) -> None:
    """Of a block and of the header they count; that of the content is not looked at, as in Kafka."""
    frame = lz4(data, 4, block_checksum=True, content_checksum=True, content_size=True)
    header_checksum, block_checksum, content_checksum = 14, len(frame) - 12, len(frame) - 4
    for place, message in ((header_checksum, "descriptor corrupted"), (block_checksum, "Block checksum mismatch")):
        damaged = bytearray(frame)
        damaged[place] ^= 1
        with pytest.raises((OSError, KafkaException), match=message):
            decompress(CompressionType.LZ4, bytes(damaged))
    damaged = bytearray(frame)
    damaged[content_checksum] ^= 1
    assert decompress(CompressionType.LZ4, bytes(damaged)) == data


def test_buffers_are_shared_by_all_threads() -> None:
    shared = BufferSupplier.SHARED
    buffers = [shared.get(12_345) for _ in range(3)]
    for buffer in buffers:
        shared.release(buffer)
    again = [shared.get(12_345) for _ in range(3)]
    assert [len(buffer) for buffer in again] == [12_345] * 3
    assert [any(buffer is old for old in buffers) for buffer in again] == [True, True, False], "two of a size stay"
    shared.close()
    assert all(shared.get(12_345) is not buffer for buffer in buffers)


def test_lz4_block_that_claims_too_much() -> None:
    frame = bytearray(compress(CompressionType.LZ4, b"data" * 100))
    frame[7:11] = (65537).to_bytes(4, "little")
    with pytest.raises(OSError, match="exceeded max"):
        decompress(CompressionType.LZ4, bytes(frame))


def test_lz4_content_size_in_the_header_is_skipped() -> None:
    frame = compress(CompressionType.LZ4, b"data" * 100)
    header = b"\x68\x40" + (400).to_bytes(8, "little")
    sized = frame[:4] + header + b"\x00" + frame[7:]
    assert decompress(CompressionType.LZ4, sized, 0) == b"data" * 100


def bomb(codec: CompressionType, records: int, size: int) -> DefaultRecordBatch:
    """A batch that decompresses to records of size zero bytes each."""
    body = bytearray(b"\x00\x00\x00\x01")
    ByteUtils.write_varint(size, body)
    record = bytearray()
    ByteUtils.write_varint(len(body) + size + 1, record)
    data = bytes(record + body) + bytes(size + 1)
    payload = compress(codec, data * records, piece=1 << 20)
    out = ByteBufferOutputStream(0)
    builder = MemoryRecords.builder(out)
    builder.append(SimpleRecord(0, None, b""))
    builder.close()
    header = out.buffer[:61]
    header[8:12] = (49 + len(payload)).to_bytes(4, "big")
    header[22] = codec.id
    header[57:61] = records.to_bytes(4, "big")
    return DefaultRecordBatch(bytes(header) + payload)


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4])
def test_a_bomb_is_never_held_as_a_whole(codec: CompressionType) -> None:
    batch = bomb(codec, 80, 100_000)
    tracemalloc.start()
    try:
        assert sum(record.value_size() for record in batch) == 8_000_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_length_of_a_gigabyte_allocates_nothing() -> None:
    record = bytearray()
    ByteUtils.write_varint(1 << 30, record)
    batch = bomb(CompressionType.GZIP, 1, 10)
    payload = compress(CompressionType.GZIP, bytes(record) + bytes(100))
    lie = DefaultRecordBatch(bytes(batch.buffer[:61]) + payload)
    tracemalloc.start()
    try:
        with pytest.raises((KafkaException, InvalidRecordException)):
            list(lie)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_zstd_expansion_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_py.common.record.zstd_streams.MAX_DECOMPRESSED_SIZE", 1 << 20)
    assert decompress(CompressionType.ZSTD, compress(CompressionType.ZSTD, bytes(1 << 20))) == bytes(1 << 20)
    with pytest.raises(KafkaException, match="expands to more than"):
        decompress(CompressionType.ZSTD, compress(CompressionType.ZSTD, bytes((1 << 20) + 1)))


def test_readers_cross_chunks() -> None:
    out = bytearray()
    for number in (0, -1, 300, -70_000, 1 << 30):
        ByteUtils.write_varint(number, out)
    ByteUtils.write_varlong(-(1 << 50), out)
    stream = Drip(bytes(out) + b"abcdefghij")
    assert [stream.read_varint()[0] for _ in range(5)] == [0, -1, 300, -70_000, 1 << 30]
    assert stream.read_varlong() == (-(1 << 50), 8)
    assert bytes(stream.read_fully(4)) == b"abcd"
    stream.skip_fully(3)
    assert bytes(stream.read_fully(3)) == b"hij"
    assert stream.next_byte() is None
    with pytest.raises(EOFError):
        stream.read_fully(1)
    with pytest.raises(EOFError):
        stream.skip_fully(1)


class Drip(DecompressionStream):
    """Hands out its bytes one by one."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._left = data

    def next_chunk(self) -> bytes:
        chunk, self._left = self._left[:1], self._left[1:]
        return chunk


def test_zlib_reads_what_we_deflate() -> None:
    payload = rnd.randbytes(100) * 500
    data = compress(CompressionType.GZIP, payload, piece=7)
    assert zlib.decompress(data, 31) == payload
