"""Requests as bytes to one broker, so that the same ones can go to another; and the tree of a ZooKeeper."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from kafka_py.common.record.memory_records import MemoryRecords

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH = 0, 1, 2, 3, 23
CREATE_TOPICS, DELETE_TOPICS = 19, 20
CLIENT_ID = "interop"


class RawConnection:
    """A blocking connection to a broker on this machine; a context manager."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def call(self, request: bytes) -> bytes:
        """The answer without its size; empty when the broker closes the connection instead."""
        self._socket.sendall(request)
        try:
            (size,) = struct.unpack(">i", self._exactly(4))
            return self._exactly(size)
        except ConnectionError:
            return b""

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            some = self._socket.recv(count - len(data))
            if not some:
                raise ConnectionResetError("the broker closed the connection")
            data += some
        return bytes(data)


def string(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def request(api: int, version: int, body: bytes, correlation_id: int = 7) -> bytes:
    message = struct.pack(">hhi", api, version, correlation_id) + string(CLIENT_ID) + body
    return struct.pack(">i", len(message)) + message


def produce(version: int, topic: str, partition: int, records: bytes | MemoryRecords, acks: int = -1) -> bytes:
    """A Produce request of one partition."""
    data = bytes(records.buffer) if isinstance(records, MemoryRecords) else records
    transactional_id = struct.pack(">h", -1) if version >= 3 else b""
    body = transactional_id + struct.pack(">hii", acks, 30_000, 1) + string(topic)
    return request(PRODUCE, version, body + struct.pack(">iii", 1, partition, len(data)) + data)


def fetch(version: int, topic: str, partition: int, offset: int, max_bytes: int = 1 << 20) -> bytes:
    """A Fetch request of one partition, outside any session, that does not wait."""
    parts = [struct.pack(">iii", -1, 0, 0)]
    if version >= 3:
        parts.append(struct.pack(">i", max_bytes))
    if version >= 4:
        parts.append(b"\0")
    if version >= 7:
        parts.append(struct.pack(">ii", 0, -1))
    parts += [struct.pack(">i", 1), string(topic), struct.pack(">iiq", 1, partition, offset)]
    if version >= 5:
        parts.append(struct.pack(">q", -1))
    parts.append(struct.pack(">i", max_bytes))
    if version >= 7:
        parts.append(struct.pack(">i", 0))
    return request(FETCH, version, b"".join(parts))


def list_offsets(version: int, topic: str, partition: int, timestamp: int) -> bytes:
    """A ListOffsets request of one partition."""
    isolation = b"\0" if version >= 2 else b""
    body = struct.pack(">i", -1) + isolation + struct.pack(">i", 1) + string(topic)
    how_many = struct.pack(">i", 5) if version == 0 else b""
    return request(LIST_OFFSETS, version, body + struct.pack(">iiq", 1, partition, timestamp) + how_many)


def offset_for_leader_epoch(topic: str, partition: int, epoch: int) -> bytes:
    """An OffsetForLeaderEpoch request of one partition."""
    body = struct.pack(">i", 1) + string(topic) + struct.pack(">iii", 1, partition, epoch)
    return request(OFFSET_FOR_LEADER_EPOCH, 0, body)


def metadata(version: int, topics: Sequence[str]) -> bytes:
    """A Metadata request that creates nothing (of versions that can say so)."""
    body = struct.pack(">i", len(topics)) + b"".join(map(string, topics))
    return request(METADATA, version, body + (b"\0" if version >= 4 else b""))


class TopicSpec(NamedTuple):
    """A topic in a CreateTopics request."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    assignment: Sequence[tuple[int, Sequence[int]]] = ()
    config: Sequence[tuple[str, str | None]] = ()


def create_topics(version: int, *topics: TopicSpec, validate_only: bool = False) -> bytes:
    """A CreateTopics request that waits for 10 s."""
    body = struct.pack(">i", len(topics))
    for topic in topics:
        body += string(topic.name) + struct.pack(">ih", topic.partitions, topic.replication_factor)
        body += struct.pack(">i", len(topic.assignment))
        for partition, replicas in topic.assignment:
            body += struct.pack(f">ii{len(replicas)}i", partition, len(replicas), *replicas)
        body += struct.pack(">i", len(topic.config))
        for key, value in topic.config:
            body += string(key) + (struct.pack(">h", -1) if value is None else string(value))
    body += struct.pack(">i", 10_000)
    return request(CREATE_TOPICS, version, body + (bytes([validate_only]) if version >= 1 else b""))


def delete_topics(version: int, *topics: str) -> bytes:
    """A DeleteTopics request that waits for 10 s."""
    body = struct.pack(">i", len(topics)) + b"".join(map(string, topics)) + struct.pack(">i", 10_000)
    return request(DELETE_TOPICS, version, body)


class Node(NamedTuple):
    """What a ZooKeeper keeps at a path, as far as a client put it there."""

    data: bytes
    is_ephemeral: bool
    version: int
    children_version: int
    acl: tuple[str, ...]


def zookeeper_tree(connect: str) -> dict[str, Node]:
    """Every path with its node, but for ZooKeeper's own and for nodes that are deleted while it is looked at."""
    client = KazooClient(connect)
    client.start()
    found: dict[str, Node] = {}
    try:
        left = ["/"]
        while left:
            path = left.pop()
            try:
                data, stat = client.get(path)
                acl, _ = client.get_acls(path)
                children = client.get_children(path)
            except NoNodeError:
                continue
            if path != "/":
                entries = tuple(sorted(f"{a.id.scheme}:{a.id.id}:{a.perms}" for a in acl))
                found[path] = Node(data or b"", stat.ephemeralOwner != 0, stat.version, stat.cversion, entries)
            left += [f"{path.rstrip('/')}/{child}" for child in children if child != "zookeeper"]
    finally:
        client.stop()
        client.close()
    return found
