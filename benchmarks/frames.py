"""Requests as bytes, written here by hand, and the few answers the load generators look into.

Independent of the broker's own codecs, so that a load can drive any broker and a slip in ours cannot hide itself; a
test compares the two. Only the fields that the loads need, and versions that brokers from 1.1 to today share.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from crc32c import crc32c

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS = 0, 1, 2, 3, 18, 19, 20
INVALID_REPLICATION_FACTOR, NOT_CONTROLLER = 38, 41
CLIENT_ID = "bench"
BATCH_OVERHEAD = 61


class Address(NamedTuple):
    host: str
    port: int


class BrokerError(RuntimeError):
    """The broker answered with an error code."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what}: error {code}")
        self.code = code


# -- records --------------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """Zigzag, seven bits a byte, the lowest first."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def record(offset_delta: int, value: bytes) -> bytes:
    """A record of magic 2 without key and headers, its timestamp that of the batch."""
    body = b"\0" + varint(0) + varint(offset_delta) + varint(-1) + varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def record_batch(
    values: Sequence[bytes], timestamp_ms: int, codec: int = 0, compress: Callable[[bytes], bytes] = bytes
) -> bytes:
    """A batch of magic 2 with a valid checksum, as a producer without an id sends it; uncompressed by default."""
    records = compress(b"".join(record(delta, value) for delta, value in enumerate(values)))
    count = len(values)
    checked = struct.pack(">hiqqqhii", codec, count - 1, timestamp_ms, timestamp_ms, -1, -1, -1, count) + records
    return struct.pack(">qiibI", 0, 9 + len(checked), 0, 2, crc32c(checked)) + checked


# -- requests -------------------------------------------------------------------------------------------------------


def string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">h", len(encoded)) + encoded


def request(api: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """Size, header (version 1: with a client id) and body."""
    message = struct.pack(">hhi", api, version, correlation_id) + string(CLIENT_ID) + body
    return struct.pack(">i", len(message)) + message


def api_versions_request() -> bytes:
    return request(API_VERSIONS, 0, 18, b"")


def metadata_request(topic: str) -> bytes:
    """Version 4, of one topic, which is not to be created."""
    return request(METADATA, 4, 3, struct.pack(">i", 1) + string(topic) + b"\0")


def create_topic_request(topic: str, partitions: int, timeout_ms: int = 10000) -> bytes:
    """Version 2, one replica."""
    body = struct.pack(">i", 1) + string(topic) + struct.pack(">ihii", partitions, 1, 0, 0)
    return request(CREATE_TOPICS, 2, 19, body + struct.pack(">ib", timeout_ms, 0))


def delete_topics_request(topics: Sequence[str], timeout_ms: int = 10000) -> bytes:
    """Version 1."""
    body = struct.pack(">i", len(topics)) + b"".join(map(string, topics)) + struct.pack(">i", timeout_ms)
    return request(DELETE_TOPICS, 1, 20, body)


def end_offset_request(topic: str, partition: int) -> bytes:
    """ListOffsets version 1 of the latest offset."""
    body = struct.pack(">ii", -1, 1) + string(topic) + struct.pack(">iiq", 1, partition, -1)
    return request(LIST_OFFSETS, 1, 2, body)


def produce_request(version: int, topic: str, partition: int, batch: bytes, acks: int = 1) -> bytes:
    """Versions 3 to 8: one partition, no transactional id."""
    body = struct.pack(">hhii", -1, acks, 30000, 1) + string(topic) + struct.pack(">iii", 1, partition, len(batch))
    return request(PRODUCE, version, 1, body + batch)


def fetch_request(
    version: int, topic: str, partition: int, offset: int, max_bytes: int, max_wait_ms: int = 500, min_bytes: int = 1
) -> bytes:
    """Versions 4 to 11: one partition, outside any fetch session, uncommitted records too."""
    parts = [struct.pack(">iiiib", -1, max_wait_ms, min_bytes, max_bytes, 0)]
    if version >= 7:
        parts.append(struct.pack(">ii", 0, -1))
    parts += [struct.pack(">i", 1), string(topic), struct.pack(">ii", 1, partition)]
    if version >= 9:
        parts.append(struct.pack(">i", -1))
    parts.append(struct.pack(">q", offset))
    if version >= 5:
        parts.append(struct.pack(">q", -1))
    parts.append(struct.pack(">i", max_bytes))
    if version >= 7:
        parts.append(struct.pack(">i", 0))
    if version >= 11:
        parts.append(string(""))
    return request(FETCH, version, 1, b"".join(parts))


# -- answers --------------------------------------------------------------------------------------------------------


class Reader:
    """Takes fields from an answer, from behind its size and correlation id on."""

    def __init__(self, answer: bytes | bytearray | memoryview, position: int = 8) -> None:
        self._answer = answer
        self.position = position

    def take(self, format: str) -> Any:
        """The next field, of a format of ``struct`` without its byte order."""
        field = struct.Struct(">" + format)
        (value,) = field.unpack_from(self._answer, self.position)
        self.position += field.size
        return value

    def skip(self, count: int) -> None:
        self.position += count

    def string(self) -> str | None:
        length = self.take("h")
        if length < 0:
            return None
        start = self.position
        self.skip(length)
        return bytes(self._answer[start : self.position]).decode()

    def check(self, what: str) -> None:
        """Take an error code; raise BrokerError when there is one."""
        code = self.take("h")
        if code:
            raise BrokerError(what, code)


def parse_api_versions(answer: bytes) -> dict[int, tuple[int, int]]:
    """API key -> lowest and highest version, of an answer of version 0."""
    reader = Reader(answer)
    reader.check("ApiVersions")
    return {reader.take("h"): (reader.take("h"), reader.take("h")) for _ in range(reader.take("i"))}


def parse_metadata(answer: bytes) -> dict[int, Address]:
    """Partition -> its leader, of the one topic of an answer of version 4; those without a leader are left out."""
    reader = Reader(answer, 12)
    brokers = {}
    for _ in range(reader.take("i")):
        node, host, port, _rack = reader.take("i"), reader.string(), reader.take("i"), reader.string()
        brokers[node] = Address(host or "", port)
    reader.string()  # the cluster's id
    reader.take("i")  # the controller
    leaders = {}
    for _ in range(reader.take("i")):
        reader.take("h")
        reader.string()
        reader.take("b")
        for _ in range(reader.take("i")):
            error, partition, leader = reader.take("h"), reader.take("i"), reader.take("i")
            for _ in ("replicas", "in sync"):
                reader.skip(4 * reader.take("i"))
            if not error and leader in brokers:
                leaders[partition] = brokers[leader]
    return leaders


def parse_create_topic(answer: bytes) -> None:
    """Raises BrokerError when the topic was not created."""
    reader = Reader(answer, 16)
    reader.check(f"CreateTopics of {reader.string()}")


def parse_delete_topics(answer: bytes) -> None:
    """Raises BrokerError for the first topic that was not deleted."""
    reader = Reader(answer, 12)
    for _ in range(reader.take("i")):
        reader.check(f"DeleteTopics of {reader.string()}")


def parse_end_offset(answer: bytes) -> int:
    reader = Reader(answer, 12)
    reader.string()
    reader.skip(8)  # one partition, and its number
    reader.check("ListOffsets")
    reader.take("q")  # the timestamp
    offset: int = reader.take("q")
    return offset


def produce_error_at(topic: str) -> int:
    """Where in an answer to produce_request the error code stands, eight bytes of offset behind it."""
    return 4 + 4 + 4 + len(string(topic)) + 4 + 4


def check_produced(answer: bytes | bytearray, error_at: int, start: int = 0) -> None:
    """Raise BrokerError unless the answer that begins at ``start`` has no error code."""
    code = answer[start + error_at] << 8 | answer[start + error_at + 1]
    if code:
        raise BrokerError("Produce", code)


class FetchedRecords(NamedTuple):
    """What a fetch of one partition brought: the records lie between start and end of the answer."""

    start: int
    end: int
    high_watermark: int


def parse_fetch(answer: bytes | bytearray | memoryview, version: int, size: int) -> FetchedRecords:
    """Of an answer of ``size`` bytes to fetch_request; nothing at all when no partition was answered."""
    reader = Reader(answer, 12)
    if version >= 7:
        reader.check("Fetch")
        reader.take("i")
    if not reader.take("i"):
        return FetchedRecords(size, size, -1)
    reader.string()
    reader.skip(8)  # one partition, and its number
    reader.check("Fetch")
    high_watermark: int = reader.take("q")
    reader.skip(8 + (8 if version >= 5 else 0))
    aborted = reader.take("i")
    reader.skip(16 * max(aborted, 0) + (4 if version >= 11 else 0))
    length = reader.take("i")
    start = reader.position
    return FetchedRecords(start, min(start + max(length, 0), size), high_watermark)
