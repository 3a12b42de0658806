"""Kafka's bytes, built by hand so that they can be built wrong, and a bare connection to send them through.

Nothing here uses the broker's encoders; only replies are read with its schemas.
"""

from __future__ import annotations

import contextlib
import gzip
import socket
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import crc32c

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.testing.local_cluster import LocalBroker

PRODUCE, FETCH, LIST_OFFSETS, METADATA, LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, CONTROLLED_SHUTDOWN = range(8)
FIND_COORDINATOR, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS = 10, 18, 19, 20
DELETE_RECORDS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 21, 22, 23
DESCRIBE_CONFIGS, ALTER_CONFIGS, CREATE_PARTITIONS = 32, 33, 37
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
TIMEOUT_S = 10


# -- Primitive types ----------------------------------------------------------------------------------------------


def i8(value: int) -> bytes:
    return struct.pack(">b", value)


def i16(value: int) -> bytes:
    return struct.pack(">h", value)


def i32(value: int) -> bytes:
    return struct.pack(">i", value)


def i64(value: int) -> bytes:
    return struct.pack(">q", value)


def string(value: bytes | None) -> bytes:
    return i16(-1) if value is None else i16(len(value)) + value


def blob(value: bytes | None) -> bytes:
    return i32(-1) if value is None else i32(len(value)) + value


def array(*items: bytes) -> bytes:
    return i32(len(items)) + b"".join(items)


def varint(value: int) -> bytes:
    """Zig-zag, as records have it."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


# -- Requests -----------------------------------------------------------------------------------------------------


def frame(payload: bytes) -> bytes:
    return i32(len(payload)) + payload


def header(api: int, version: int, correlation: int = 1, client: bytes | None = b"raw") -> bytes:
    return i16(api) + i16(version) + i32(correlation) + string(client)


def request(api: int, version: int, body: bytes, correlation: int = 1, client: bytes | None = b"raw") -> bytes:
    return frame(header(api, version, correlation, client) + body)


def produce(
    topic: bytes,
    records: bytes | None,
    partition: int = 0,
    *,
    version: int = 5,
    acks: int = -1,
    more: bytes = b"",
    transaction: bytes | None = None,
) -> bytes:
    """A body with one record set; ``more`` is put behind it, as further partitions of the topic."""
    count = 1 + (1 if more else 0)
    partitions = i32(count) + i32(partition) + blob(records) + more
    transactional_id = string(transaction) if version >= 3 else b""
    return transactional_id + i16(acks) + i32(5000) + array(string(topic) + partitions)


def list_offsets(topic: bytes, partition: int = 0, timestamp: int = -1) -> bytes:
    """Of version 1."""
    return i32(-1) + array(string(topic) + array(i32(partition) + i64(timestamp)))


def fetch(
    topic: bytes | None,
    offset: int = 0,
    partition: int = 0,
    *,
    max_wait: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_bytes: int = 1 << 20,
    isolation: int = 0,
    session: tuple[int, int] = (0, -1),
) -> bytes:
    """Of version 7; without a topic it asks for none, as the next request of a session may."""
    wanted = b"" if topic is None else i32(partition) + i64(offset) + i64(-1) + i32(partition_bytes)
    topics = array() if topic is None else array(string(topic) + array(wanted))
    return (
        i32(-1)
        + i32(max_wait)
        + i32(min_bytes)
        + i32(max_bytes)
        + i8(isolation)
        + i32(session[0])
        + i32(session[1])
        + topics
        + array()
    )


def metadata(*topics: bytes, create: bool = False) -> bytes:
    """Of version 4 or 5."""
    return array(*map(string, topics)) + i8(create)


def create_topic(
    name: bytes,
    partitions: int = 1,
    replication: int = 1,
    assignment: Sequence[tuple[int, Sequence[int]]] = (),
    config: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    return (
        string(name)
        + i32(partitions)
        + i16(replication)
        + array(*(i32(p) + array(*map(i32, replicas)) for p, replicas in assignment))
        + array(*(string(key) + string(value) for key, value in config))
    )


def create_topics(*topics: bytes, timeout: int = 10_000, validate_only: bool = False) -> bytes:
    """Of version 1 or 2."""
    return array(*topics) + i32(timeout) + i8(validate_only)


def delete_topics(*topics: bytes, timeout: int = 10_000) -> bytes:
    return array(*map(string, topics)) + i32(timeout)


# -- Records ------------------------------------------------------------------------------------------------------


def record(
    value: bytes | None = b"value",
    delta: int = 0,
    *,
    key: bytes | None = b"key",
    headers: bytes = b"\0",
    length: int | bytes | None = None,
    key_length: int | None = None,
    value_length: int | None = None,
    trailing: bytes = b"",
) -> bytes:
    """A record of format 2. The three lengths are told truly unless they are given; headers come encoded."""
    key_part = varint((-1 if key is None else len(key)) if key_length is None else key_length) + (key or b"")
    told = (-1 if value is None else len(value)) if value_length is None else value_length
    body = b"\0" + varint(0) + varint(delta) + key_part + varint(told) + (value or b"") + headers + trailing
    if isinstance(length, bytes):
        return length + body
    return varint(len(body) if length is None else length) + body


def batch(
    records: bytes = b"",
    count: int = 1,
    *,
    codec: int = 0,
    attributes: int = 0,
    magic: int = 2,
    base_offset: int = 0,
    last_delta: int | None = None,
    told_count: int | None = None,
    crc: int | None = None,
    length: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    timestamp: int | None = None,
) -> bytes:
    """A batch of format 2 over encoded (and compressed) records; id, epoch and sequence are the producer's."""
    now = int(time.time() * 1000) if timestamp is None else timestamp
    covered = struct.pack(
        ">hiqqqhii",
        attributes | codec,
        count - 1 if last_delta is None else last_delta,
        now,
        now,
        *producer,
        count if told_count is None else told_count,
    )
    covered += records or record()
    checksum = crc32c.crc32c(covered) if crc is None else crc
    told = 4 + 1 + 4 + len(covered) if length is None else length
    return struct.pack(">qiibI", base_offset, told, 0, magic, checksum) + covered


def message(
    value: bytes | None = b"value",
    *,
    magic: int = 1,
    codec: int = 0,
    key: bytes | None = None,
    offset: int = 0,
    crc: int | None = None,
    length: int | None = None,
) -> bytes:
    """A message of format 0 or 1; a wrapper when the value is a compressed set and the codec says so."""
    body = i8(magic) + i8(codec)
    if magic == 1:
        body += i64(int(time.time() * 1000))
    body += blob(key) + blob(value)
    checksum = zlib.crc32(body) if crc is None else crc
    told = 4 + len(body) if length is None else length
    return i64(offset) + i32(told) + struct.pack(">I", checksum) + body


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


# -- Connections --------------------------------------------------------------------------------------------------


class Connection:
    """A bare socket to a broker; every wait ends after TIMEOUT_S. 127.0.0.2 and the like are sources of their own."""

    def __init__(self, broker: LocalBroker | int, receive_buffer: int | None = None, source: str | None = None) -> None:
        port = broker if isinstance(broker, int) else broker.port
        self.socket = socket.socket()
        self.socket.settimeout(TIMEOUT_S)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            if source is not None:
                self.socket.bind((source, 0))
            self.socket.connect(("127.0.0.1", port))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            self.socket.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def reset(self) -> None:
        """Close with an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send; a broker that has closed meanwhile shows when reading."""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            self.socket.sendall(data)

    def receive(self) -> bytes | None:
        """The payload of the next reply; None when the broker has closed. TimeoutError when nothing comes."""
        size = self._exactly(4)
        return None if size is None else self._exactly(struct.unpack(">i", size)[0])

    def _exactly(self, count: int) -> bytes | None:
        data = bytearray()
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                assert not data, f"the broker closed within a reply, after {len(data)} of {count} bytes"
                return None
            data += more
        return bytes(data)

    def is_silent(self, seconds: float = 0.1) -> bool:
        """Whether nothing comes and the connection stays open for that long."""
        self.socket.settimeout(seconds)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        except ConnectionResetError:
            return False
        finally:
            self.socket.settimeout(TIMEOUT_S)
        return False

    def call(self, api: int, version: int, body: bytes, correlation: int = 1, client: bytes | None = b"raw") -> Struct:
        """Send a request and give the body of its reply; ConnectionError when the broker closes instead."""
        self.send(request(api, version, body, correlation, client))
        return self.answer(api, version, correlation)

    def answer(self, api: int, version: int, correlation: int = 1) -> Struct:
        """The reply to a request that was sent; ConnectionError when the broker closes instead."""
        reply = self.receive()
        if reply is None:
            raise ConnectionError("the broker closed the connection")
        assert reply[:4] == i32(correlation)
        return parse(api, version, reply)


@contextlib.contextmanager
def crowd(
    broker: LocalBroker, count: int, sent: bytes = b"", receive_buffer: int | None = None
) -> Iterator[list[Connection]]:
    """Many connections, each of which has sent the same; closed at the end.

    The broker's backlog is 50 (socket.listen.backlog.size): whoever comes when it is full waits a second. So before it
    is, one more connection waits for its turn.
    """
    with contextlib.ExitStack() as stack:
        made = []
        for i in range(count):
            if i % 40 == 39:
                with Connection(broker) as last:
                    last.call(API_VERSIONS, 0, b"")
            made.append(stack.enter_context(Connection(broker, receive_buffer)))
            made[-1].send(sent)
        yield made


def parse(api: int, version: int, reply: bytes) -> Struct:
    """The body behind the correlation id and, in flexible versions, no tagged field."""
    key = ApiKeys.for_id(api)
    return key.response_schema(version).read(memoryview(reply)[4 + key.response_header_version(version) :])


def values_of(answer: Any, name: str) -> Iterator[Any]:
    """All values of a field of that name, wherever in the reply, in the order of the bytes."""
    if isinstance(answer, Struct):
        for field in answer.schema.fields:
            value = answer.get(field)
            if field.definition.name == name:
                yield value
            else:
                yield from values_of(value, name)
    elif isinstance(answer, list | tuple):
        for item in answer:
            yield from values_of(item, name)


def codes(answer: Struct) -> list[int]:
    """All error codes of a reply."""
    return list(values_of(answer, "error_code"))
