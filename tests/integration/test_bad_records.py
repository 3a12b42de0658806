"""Produce requests with something wrong in them: the error of Apache Kafka 1.1.1, nothing appended, nobody disturbed.

Bombs are refused or stored without their decompressed size ever being in memory, where Kafka would take it all.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import cramjam
import pytest

from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.canary import Canary
from tests.integration.clients import create_topic, topic_name, wait_for_leaders
from tests.integration.support import peak_rss, reset_peak_rss, rss
from tests.integration.wire import (
    CREATE_TOPICS,
    FETCH,
    GZIP,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    LZ4,
    PRODUCE,
    SNAPPY,
    ZSTD,
    Connection,
    array,
    batch,
    blob,
    codes,
    create_topics,
    fetch,
    gzipped,
    i16,
    i32,
    i64,
    list_offsets,
    message,
    produce,
    record,
    request,
    string,
    values_of,
    varint,
)  # fmt: skip
from tests.integration.wire import (
    create_topic as create_topic_request,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undisturbed")]

CLOSED: Final = None  # instead of a code: the connection ends without an answer
OK, CORRUPT, UNKNOWN_TOPIC, TOO_LARGE, INVALID_TOPIC, BAD_ACKS, BAD_TIMESTAMP = 0, 2, 3, 10, 17, 21, 32
UNKNOWN, OUT_OF_ORDER, DUPLICATE, FENCED, UNKNOWN_PRODUCER, BAD_CODEC = -1, 45, 46, 47, 59, 76
MB = 1 << 20


class Case(NamedTuple):
    """One row: its name, the record set, the codes that are allowed (CLOSED for none), the version."""

    name: str
    records: bytes | None
    expected: int | Sequence[int] | None
    version: int = 5


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture(scope="module")
def topic(broker: LocalBroker) -> bytes:
    name = create_topic(broker.address, topic_name("records"))
    wait_for_leaders(broker.address, name, 1)
    return name.encode()


def end_offset(broker: LocalBroker, topic: bytes) -> int:
    with Connection(broker) as connection:
        found: int = next(values_of(connection.call(LIST_OFFSETS, 1, list_offsets(topic)), "offset"))
        return found


def xerial(*blocks: bytes) -> bytes:
    """Snappy as Java producers write it; the blocks are compressed already."""
    return b"\x82SNAPPY\0" + i32(1) + i32(1) + b"".join(map(blob, blocks))


def snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def lz4(data: bytes) -> bytes:
    """A frame of one independent block; the seventh byte is the checksum of the two before it."""
    block = bytes(cramjam.lz4.compress_block(data, store_size=False))
    return bytes.fromhex("04224d18604082") + struct.pack("<I", len(block)) + block + bytes(4)


def spoilt(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def wrapper(*inner: bytes, codec: int = GZIP, magic: int = 1) -> bytes:
    """A compressed set of messages of format 0 or 1."""
    return message(gzipped(b"".join(inner)), codec=codec, magic=magic, offset=max(len(inner) - 1, 0))


GOOD = record()
TWO = record(b"a", 0) + record(b"b", 1)
HEADER_NULL_KEY = varint(1) + varint(-1) + varint(1) + b"v"

GOOD_ONES = [
    Case("plain", batch(GOOD), OK),
    Case("gzip", batch(gzipped(TWO), 2, codec=GZIP), OK),
    Case("snappy", batch(xerial(snappy(TWO)), 2, codec=SNAPPY), OK),
    Case("lz4", batch(lz4(TWO), 2, codec=LZ4), OK),
    Case("zstd-from-version-7", batch(bytes(cramjam.zstd.compress(TWO)), 2, codec=ZSTD), OK, 7),
    Case("v0-message", message(magic=0), OK, 0),
    Case("v1-message", message(magic=1), OK, 2),
    Case("v1-wrapper", wrapper(message(offset=0), message(offset=1)), OK, 2),
    Case("v2-request-with-an-empty-set", b"", OK, 2),
    Case("a-good-batch-and-half-of-another", batch(GOOD) + batch(GOOD)[:40], OK),
    Case("key-length-minus-9", batch(record(key=b"", key_length=-9)), OK),
    Case("wrong-offset-deltas-uncompressed", batch(record(b"a", 5) + record(b"b", 3), 2), OK),
]
NOT_A_BATCH = [
    *(Case(f"magic-{magic}", batch(GOOD, magic=magic), CLOSED) for magic in (0, 1, 3, -1)),
    Case("message-v0", message(magic=0), CLOSED),
    Case("message-v1", message(magic=1), CLOSED),
    Case("two-batches", batch(GOOD) * 2, CLOSED),
    Case("null-set", None, CLOSED),
    Case("empty-set", b"", CLOSED),
    Case("11-bytes", bytes(11), CLOSED),
    *(Case(f"batch-length-{n}", batch(GOOD, length=n), CLOSED) for n in (-1, 0, 13, 20, 1000, 2**31 - 1, -(2**31))),
    Case("v2-request-with-a-null-set", None, CLOSED, 2),
    Case("v2-request-with-magic-3", message(magic=3), CORRUPT, 2),
]
BAD_CHECKSUMS = [
    Case("crc-magic-0", message(magic=0, crc=1), CORRUPT, 0),
    Case("crc-magic-1", message(magic=1, crc=1), CORRUPT, 2),
    Case("crc-magic-2", batch(GOOD, crc=1), CORRUPT),
]
LYING_BATCHES = [
    *(Case(f"count-{n}", batch(TWO, 2, told_count=n), CORRUPT) for n in (0, 1, 3, -1, 2**31 - 1, -(2**31))),
    *(Case(f"last-delta-{n}", batch(TWO, 2, last_delta=n), CORRUPT) for n in (0, 2, -1, -2, 2**31 - 1, -(2**31))),
    Case("count-and-delta-agree-but-lie", batch(TWO, 3), CORRUPT),
    Case("count-and-delta-2-to-the-31", batch(TWO, told_count=-(2**31), last_delta=2**31 - 1), CORRUPT),
    Case("base-offset-7", batch(GOOD, base_offset=7), CORRUPT),
    Case("base-offset-minus-1", batch(GOOD, base_offset=-1), CORRUPT),
    Case("control-bit", batch(GOOD, attributes=0x20), CORRUPT),
    Case("producer-id-without-a-sequence", batch(GOOD, producer=(5, 0, -1)), CORRUPT),
    Case("log-append-time-bit", batch(GOOD, attributes=0x08), BAD_TIMESTAMP),
    Case("zstd-before-version-7", batch(bytes(cramjam.zstd.compress(TWO)), 2, codec=ZSTD), BAD_CODEC),
    *(Case(f"codec-{codec}", batch(GOOD, codec=codec), UNKNOWN) for codec in (5, 6, 7)),
]
LYING_RECORDS = [
    Case("length-beyond-the-batch", batch(record(length=1000)), CORRUPT),
    Case("length-negative", batch(record(length=-5)), CORRUPT),
    Case("length-zero", batch(record(length=0)), CORRUPT),
    Case("length-too-short", batch(record(length=len(GOOD) - 3)), CORRUPT),
    Case("key-length-beyond-the-record", batch(record(key_length=1000)), CORRUPT),
    Case("value-length-beyond-the-record", batch(record(value_length=1000)), CORRUPT),
    Case("headers-minus-1", batch(record(headers=varint(-1))), CORRUPT),
    Case("headers-2000000", batch(record(headers=varint(2_000_000))), CORRUPT),
    Case("headers-2-to-the-31", batch(record(headers=varint(2**31 - 1))), CORRUPT),
    Case("null-header-key", batch(record(headers=HEADER_NULL_KEY)), CORRUPT),
    Case("bytes-behind-the-headers", batch(record(trailing=b"?")), CORRUPT),
    Case("a-record-more-than-counted", batch(TWO, 1), CORRUPT),
    Case("size-varint-of-11-bytes", batch(record(length=b"\xff" * 10 + b"\1")), UNKNOWN),
]
COMPRESSED_LIES = [
    Case("gzip-garbage", batch(b"garbage, not gzip", codec=GZIP), UNKNOWN),
    Case("gzip-negative-record-length", batch(gzipped(record(length=-5)), codec=GZIP), (UNKNOWN, CORRUPT)),
    Case("gzip-truncated", batch(gzipped(TWO)[:-12], 2, codec=GZIP), CORRUPT),
    Case("gzip-trailing-record", batch(gzipped(TWO), 1, codec=GZIP), CORRUPT),
    Case("gzip-fewer-records", batch(gzipped(TWO), 3, codec=GZIP), CORRUPT),
    Case("snappy-garbage", batch(b"garbage, not snappy", codec=SNAPPY), UNKNOWN),
    Case("snappy-block-garbage", batch(xerial(b"\xff\xff\xff"), codec=SNAPPY), UNKNOWN),
    Case("snappy-block-length-lie", batch(xerial(snappy(TWO))[:-1], 2, codec=SNAPPY), (UNKNOWN, CORRUPT)),
    Case("snappy-claims-1-gb", batch(xerial(b"\x80\x80\x80\x80\x04" + b"\0a"), codec=SNAPPY), UNKNOWN),
    Case("lz4-garbage", batch(b"garbage, not lz4 at all", codec=LZ4), UNKNOWN),
    Case("lz4-header-checksum", batch(spoilt(lz4(TWO), 6), 2, codec=LZ4), UNKNOWN),
    Case("zstd-garbage", batch(b"garbage, not zstd at all", codec=ZSTD), (UNKNOWN, CORRUPT), 7),
    Case("zstd-truncated", batch(bytes(cramjam.zstd.compress(TWO))[:-3], 2, codec=ZSTD), (UNKNOWN, CORRUPT), 7),
]
OLD_WRAPPERS = [
    Case("inner-magic-differs", wrapper(message(magic=0)), CORRUPT, 2),
    Case("nested-compression", wrapper(wrapper(message())), CORRUPT, 2),
    Case("null-value", message(None, codec=GZIP), CORRUPT, 2),
    Case("no-inner-message", wrapper(), (UNKNOWN, CORRUPT), 2),
    Case("inner-length-lie", wrapper(message(length=10_000)), (UNKNOWN, CORRUPT), 2),
    Case("inner-length-negative", wrapper(message(length=-9)), (UNKNOWN, CORRUPT), 2),
    Case("inner-crc", wrapper(message(crc=1)), CORRUPT, 2),
    Case("v0-inner-crc", wrapper(message(magic=0, crc=1), magic=0), CORRUPT, 0),
]
SIZES = [
    Case("larger-than-message-max-bytes", batch(record(bytes(1_000_012))), TOO_LARGE),
    Case("v1-larger-than-message-max-bytes", message(bytes(1_000_012)), TOO_LARGE, 2),
]


@pytest.mark.parametrize(
    "case",
    GOOD_ONES + NOT_A_BATCH + BAD_CHECKSUMS + LYING_BATCHES + LYING_RECORDS + COMPRESSED_LIES + OLD_WRAPPERS + SIZES,
    ids=lambda case: case.name,
)
def test_record_sets(broker: LocalBroker, topic: bytes, case: Case) -> None:
    """The answer is as expected, and only what was accepted is in the log."""
    before = end_offset(broker, topic)
    with Connection(broker) as connection:
        connection.send(request(PRODUCE, case.version, produce(topic, case.records, version=case.version)))
        if case.expected is CLOSED:
            assert connection.receive() is None
            assert end_offset(broker, topic) == before
            return
        answer = connection.answer(PRODUCE, case.version)
        expected = [case.expected] if isinstance(case.expected, int) else list(case.expected)
        assert codes(answer)[0] in expected
        if case.expected != OK:
            assert end_offset(broker, topic) == before
        elif case.records:
            assert list(values_of(answer, "base_offset")) == [before]
            assert end_offset(broker, topic) > before
        assert codes(connection.call(LIST_OFFSETS, 1, list_offsets(topic), 2)) == [OK], "it can be used on"


def test_a_partial_tail_is_not_stored(broker: LocalBroker) -> None:
    name = create_topic(broker.address, topic_name("tail"))
    wait_for_leaders(broker.address, name, 1)
    whole = batch(GOOD)
    with Connection(broker) as connection:
        for _ in range(2):
            assert codes(connection.call(PRODUCE, 5, produce(name.encode(), whole + whole[:40]))) == [OK]
        stored = next(values_of(connection.call(FETCH, 7, fetch(name.encode())), "record_set"))
        assert len(stored) == 2 * len(whole)


# -- Where to, and how often acknowledged ----------------------------------------------------------------------------

BAD_TOPICS = {
    "unknown": b"no-such-topic",
    "traversal": b"../../x",
    "absolute": b"/etc/passwd",
    "slash": b"a/b",
    "nul": b"a\0b",
    "empty": b"",
    "300-characters": b"x" * 300,
    "not-utf-8": b"\xff\xfe",
    "dots": b"..",
}


@pytest.mark.parametrize("name", BAD_TOPICS)
def test_topics_that_are_not_there(broker: LocalBroker, name: str) -> None:
    with Connection(broker) as connection:
        assert codes(connection.call(PRODUCE, 5, produce(BAD_TOPICS[name], batch()))) == [UNKNOWN_TOPIC]


@pytest.mark.parametrize("partition", [1, 9999, -1, 2**31 - 1, -(2**31)])
def test_partitions_that_are_not_there(broker: LocalBroker, topic: bytes, partition: int) -> None:
    with Connection(broker) as connection:
        assert codes(connection.call(PRODUCE, 5, produce(topic, batch(), partition))) == [UNKNOWN_TOPIC]


def test_internal_topics_are_not_for_clients(broker: LocalBroker) -> None:
    """Except for one that calls itself __admin_client, as in Kafka."""
    internal = b"__consumer_offsets"
    with Connection(broker) as connection:
        made = codes(connection.call(CREATE_TOPICS, 1, create_topics(create_topic_request(internal, 5))))
        assert made in ([OK], [36])
        wait_for_leaders(broker.address, internal.decode(), 5)
        before = end_offset(broker, internal)
        assert codes(connection.call(PRODUCE, 5, produce(internal, batch()))) == [INVALID_TOPIC]
        assert end_offset(broker, internal) == before


@pytest.mark.parametrize("acks", [2, -2, 3, 32767, -32768])
def test_acks_that_mean_nothing(broker: LocalBroker, topic: bytes, acks: int) -> None:
    before = end_offset(broker, topic)
    with Connection(broker) as connection:
        assert codes(connection.call(PRODUCE, 5, produce(topic, batch(), acks=acks))) == [BAD_ACKS]
    assert end_offset(broker, topic) == before


def test_without_acks_there_is_no_answer(broker: LocalBroker, topic: bytes) -> None:
    before = end_offset(broker, topic)
    with Connection(broker) as connection:
        for _ in range(10):
            connection.send(request(PRODUCE, 5, produce(topic, batch(), acks=0)))
        answer = connection.call(LIST_OFFSETS, 1, list_offsets(topic), 77)
        assert list(values_of(answer, "offset")) == [before + 10]


@pytest.mark.parametrize("what", ["topic", "crc", "large"])
def test_without_acks_an_error_closes_the_connection(broker: LocalBroker, topic: bytes, what: str) -> None:
    body = {
        "topic": produce(b"no-such-topic", batch(), acks=0),
        "crc": produce(topic, batch(crc=1), acks=0),
        "large": produce(topic, batch(record(bytes(1_000_012))), acks=0),
    }[what]
    with Connection(broker) as connection:
        connection.send(request(PRODUCE, 5, body))
        assert connection.receive() is None


def test_odd_sets_of_partitions(broker: LocalBroker, topic: bytes) -> None:
    """The same partition twice: the last one counts. Nothing at all: an empty answer."""
    before = end_offset(broker, topic)
    start = string(None) + i16(-1) + i32(5000)
    with Connection(broker) as connection:
        twice = produce(topic, batch(TWO, 2), more=i32(0) + blob(batch(GOOD)))
        assert codes(connection.call(PRODUCE, 5, twice)) == [OK]
        assert end_offset(broker, topic) == before + 1
        assert codes(connection.call(PRODUCE, 5, start + array())) == []
        assert codes(connection.call(PRODUCE, 5, start + array(string(topic) + array()))) == []


def test_one_bad_partition_beside_a_good_one(broker: LocalBroker, topic: bytes) -> None:
    before = end_offset(broker, topic)
    with Connection(broker) as connection:
        body = produce(topic, batch(GOOD), more=i32(7) + blob(batch(GOOD)))
        assert sorted(codes(connection.call(PRODUCE, 5, body))) == [OK, UNKNOWN_TOPIC]
    assert end_offset(broker, topic) == before + 1


# -- Bombs ------------------------------------------------------------------------------------------------------------


def gzip_of(head: bytes, zeros: int, tail: bytes = b"") -> bytes:
    """Compressed without ever being whole in the tests' memory."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [squeeze.compress(head)]
    chunk = bytes(MB)
    parts += [squeeze.compress(chunk) for _ in range(zeros // MB)]
    parts += [squeeze.compress(bytes(zeros % MB) + tail), squeeze.flush()]
    return b"".join(parts)


def one_large_record(zeros: int, told: int | None = None) -> bytes:
    size = zeros if told is None else told
    inside = b"\0\0\0" + varint(-1) + varint(size)
    return gzip_of(varint(len(inside) + size + 1) + inside, zeros, b"\0")


def many_records(count: int, size: int) -> bytes:
    """A compressed batch of equal records but for their offsets."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [squeeze.compress(record(bytes(size), i, key=None)) for i in range(count)]
    return b"".join([*parts, squeeze.flush()])


def test_a_record_that_claims_1_gb(broker: LocalBroker, canary: Canary, topic: bytes) -> None:
    """Kafka allocates it and dies of it; here it is refused when the bytes do not come."""
    pid, offset = broker.process.pid, end_offset(broker, topic)
    reset_peak_rss(pid)
    before = rss(pid)
    with Connection(broker) as connection, canary.beating():
        for records in (one_large_record(1000, told=1 << 30), gzipped(record(b"abc", value_length=1 << 30))):
            code = codes(connection.call(PRODUCE, 5, produce(topic, batch(records, codec=GZIP))))[0]
            assert code in (UNKNOWN, CORRUPT)
    assert peak_rss(pid) - before <= 64 * MB
    assert end_offset(broker, topic) == offset


def zstd_bomb(count: int, size: int) -> bytes:
    squeeze = cramjam.zstd.Compressor()
    parts = []
    for i in range(count):
        squeeze.compress(record(bytes(size), i, key=None))
        parts.append(bytes(squeeze.flush()))
    return b"".join([*parts, bytes(squeeze.finish())])


class Bomb(NamedTuple):
    """What fits into less than 1 MB and unpacks to at least 200 MB."""

    name: str
    make: Callable[[], bytes]
    records: int
    codec: int = GZIP


BOMBS = [
    Bomb("one-record", lambda: one_large_record(200 * MB), 1),
    Bomb("200-records", lambda: many_records(200, MB), 200),
    Bomb("20000-records", lambda: many_records(20_000, 10 * 1024), 20_000),
    Bomb("zstd", lambda: zstd_bomb(200, MB), 200, ZSTD),
    Bomb("zstd-of-1-gb", lambda: zstd_bomb(1000, MB), 1000, ZSTD),
]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_bombs(broker: LocalBroker, canary: Canary, topic: bytes, bomb: Bomb) -> None:
    """Stored or refused, but never held unpacked."""
    data = batch(bomb.make(), bomb.records, codec=bomb.codec)
    assert len(data) < 1_000_000
    pid, offset = broker.process.pid, end_offset(broker, topic)
    reset_peak_rss(pid)
    before = rss(pid)
    with Connection(broker) as connection, canary.beating() as times:
        code = codes(connection.call(PRODUCE, 7, produce(topic, data)))[0]
    assert code in (OK, CORRUPT, TOO_LARGE, UNKNOWN)
    assert end_offset(broker, topic) == offset + (bomb.records if code == OK else 0)
    assert peak_rss(pid) - before <= 256 * MB
    assert max(times, default=0) <= 2.0


@pytest.mark.parametrize("stored", ["uncompressed", "lz4"])
def test_a_bomb_for_a_topic_with_a_codec_of_its_own(broker: LocalBroker, canary: Canary, stored: str) -> None:
    """It has to be unpacked and packed again; what is too large then is refused. An old client may fetch the rest."""
    name = create_topic(broker.address, topic_name("bomb"), config={"compression.type": stored})
    wait_for_leaders(broker.address, name, 1)
    pid = broker.process.pid
    reset_peak_rss(pid)
    before = rss(pid)
    data = batch(many_records(200, MB), 200, codec=GZIP)
    with Connection(broker) as connection, canary.beating() as times:
        code = codes(connection.call(PRODUCE, 5, produce(name.encode(), data)))[0]
        assert code == TOO_LARGE if stored == "uncompressed" else code in (OK, TOO_LARGE)
        if code == OK:
            old = i32(-1) + i32(0) + i32(1) + array(string(name.encode()) + array(i32(0) + i64(0) + i32(MB)))
            connection.send(request(FETCH, 2, old))
            assert connection.receive() is not None
    assert peak_rss(pid) - before <= 256 * MB
    assert max(times, default=0) <= 2.0


# -- Idempotence ------------------------------------------------------------------------------------------------------


class IdempotentProducer:
    """Sends batches of one record with whatever epoch and sequence it is told to."""

    def __init__(self, connection: Connection, topic: bytes) -> None:
        self._connection, self._topic = connection, topic
        answer = connection.call(INIT_PRODUCER_ID, 0, string(None) + i32(60_000))
        assert codes(answer) == [OK]
        self.id: int = next(values_of(answer, "producer_id"))

    def send(self, sequence: int, count: int = 1, epoch: int = 0) -> tuple[int, int]:
        """Error code and base offset."""
        data = batch(b"".join(record(b"v", i) for i in range(count)), count, producer=(self.id, epoch, sequence))
        answer = self._connection.call(PRODUCE, 5, produce(self._topic, data))
        return codes(answer)[0], next(values_of(answer, "base_offset"))


def test_sequences(broker: LocalBroker) -> None:
    name = create_topic(broker.address, topic_name("idempotent"))
    wait_for_leaders(broker.address, name, 1)
    with Connection(broker) as connection:
        producer = IdempotentProducer(connection, name.encode())
        assert [producer.send(i) for i in range(10)] == [(OK, i) for i in range(10)]
        assert producer.send(11)[0] == OUT_OF_ORDER, "a gap"
        assert [producer.send(i) for i in range(5, 10)] == [(OK, i) for i in range(5, 10)], "the last 5 again"
        assert producer.send(4)[0] == OUT_OF_ORDER, "older than what is remembered"
        assert producer.send(9, count=2)[0] == OUT_OF_ORDER, "a part of it was there"
        assert producer.send(10) == (OK, 10)
        assert producer.send(3, epoch=1)[0] == OUT_OF_ORDER, "a new epoch begins at 0"
        assert producer.send(0, epoch=1) == (OK, 11)
        assert producer.send(11, epoch=0)[0] == FENCED, "an old epoch"
    assert end_offset(broker, name.encode()) == 12


def test_the_sequence_of_a_producer_nobody_knows(broker: LocalBroker) -> None:
    """It is refused where others have written before: their records may have been deleted, and with them its state."""
    name = create_topic(broker.address, topic_name("idempotent"))
    wait_for_leaders(broker.address, name, 1)
    with Connection(broker) as connection:
        producer = IdempotentProducer(connection, name.encode())
        assert producer.send(5)[0] == UNKNOWN_PRODUCER
        assert producer.send(0) == (OK, 0)
    assert end_offset(broker, name.encode()) == 1


def test_the_sequence_wraps_around(broker: LocalBroker) -> None:
    """From 2^31 - 1 to 0; written as one batch, since sequences begin at 0."""
    name = create_topic(broker.address, topic_name("idempotent"))
    wait_for_leaders(broker.address, name, 1)
    with Connection(broker) as connection:
        producer = IdempotentProducer(connection, name.encode())
        assert producer.send(2**31 - 1)[0] in (OUT_OF_ORDER, UNKNOWN_PRODUCER)
        assert producer.send(0) == (OK, 0)
        assert producer.send(-1)[0] == CORRUPT
        assert producer.send(-(2**31))[0] == CORRUPT
    assert end_offset(broker, name.encode()) == 1


def test_producer_ids_are_not_given_twice(broker: LocalBroker, topic: bytes) -> None:
    with Connection(broker) as connection:
        ids = [IdempotentProducer(connection, topic).id for _ in range(50)]
    assert len(set(ids)) == 50
    assert struct.pack(">50q", *sorted(ids)) == struct.pack(">50q", *ids), "they grow"
