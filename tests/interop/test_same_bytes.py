"""The same requests to our broker and to Apache's: the same answers, the same files, the same nodes in ZooKeeper."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from crc32c import crc32c

from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.utils.time import Time
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic
from tests.interop import raw
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.awaiting import files
from tests.interop.raw import Node, RawConnection, TopicSpec

pytestmark = pytest.mark.slow

NOW = Time.SYSTEM.milliseconds() // 1000 * 1000 - 60_000
PROPERTIES = {"log.index.interval.bytes": "300", "num.partitions": "2", "log.message.timestamp.type": "CreateTime"}
CODECS = (CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4)
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "rolled": {"segment.bytes": "3000", "retention.ms": "-1"},
    "codecs": {"segment.bytes": "9000"},
    "producers": {"segment.bytes": "2000"},
    "converted": {},
    "old": {"message.format.version": "0.10.0", "segment.bytes": "2000"},
    "oldest": {"message.format.version": "0.9.0"},
    "untouched": {},
}


class Sides(NamedTuple):
    """A cluster with our broker, one with Apache's; each has an embedded ZooKeeper of its own."""

    ours: LocalCluster
    theirs: LocalCluster


def value(i: int) -> bytes:
    return b"value-%d-" % i + bytes(range(i % 90))


def records(first: int, count: int, **how: object) -> MemoryRecords:
    """A batch of records whose timestamps go up and down."""
    made = [
        SimpleRecord(NOW + 10 * first + (7 * i) % 5, b"%d" % i if i % 3 else None, value(first + i))
        for i in range(count)
    ]
    return MemoryRecords.with_records(*made, **how)  # type: ignore[arg-type]


def with_headers(first: int) -> MemoryRecords:
    headers = [RecordHeader("trace", b"\x01\x02"), RecordHeader("empty", b""), RecordHeader("none", None)]
    return MemoryRecords.with_records(
        SimpleRecord(NOW + first, b"k", b"v", headers), SimpleRecord(NOW + first + 1, b"tombstone", None)
    )


def requests() -> Iterator[bytes]:
    """What is asked of both, in this order."""
    for version in range(3, 6):
        yield raw.produce(version, "plain", 0, records(version, 4))
    yield raw.produce(5, "plain", 1, with_headers(9))
    for i in range(60):
        yield raw.produce(5, "rolled", 0, records(i, 1 + i % 4))
    for i in range(24):
        yield raw.produce(5, "codecs", i % 2, records(i, 30, compression_type=CODECS[i // 2 % 4]))
    for i in range(40):
        batch = records(i, 2, producer_id=4000, producer_epoch=i // 25, base_sequence=2 * (i % 25))
        yield raw.produce(5, "producers", 0, batch)
    for codec in CODECS:
        yield raw.produce(2, "old", 0, records(1, 20, magic=1, compression_type=codec))
    for i in range(30):
        yield raw.produce(2, "old", 1, records(i, 3, magic=1))
    for version in (0, 1, 2):
        yield raw.produce(version, "oldest", 0, records(5, 3, magic=0))
        yield raw.produce(version, "converted", 0, records(6, 3, magic=0))
        yield raw.produce(2, "converted", 1, records(version, 4, magic=1))


def refused() -> Iterator[bytes]:
    """Requests that both refuse, each in a way of its own."""
    good = records(1, 3)
    torn = bytearray(good.buffer)
    torn[-1] ^= 1
    for acks in (2, -2):
        yield raw.produce(5, "plain", 0, good, acks=acks)
    yield raw.produce(5, "plain", 9, good)
    yield raw.produce(5, "plain", -1, good)
    for name in ("nothing", "../../x", "", "a" * 300, "__consumer_offsets"):
        yield raw.produce(5, name, 0, good)
    yield raw.produce(5, "plain", 0, bytes(torn))
    yield raw.produce(5, "plain", 0, bytes(good.buffer)[:-5])
    yield raw.produce(5, "plain", 0, records(1, 2, producer_id=77, producer_epoch=0, base_sequence=5))
    for sequence in (0, 9, 20, 48, 50):
        batch = records(1, 2, producer_id=4000, producer_epoch=1, base_sequence=sequence)
        yield raw.produce(5, "producers", 0, batch)
    yield raw.produce(5, "producers", 0, records(1, 2, producer_id=4000, producer_epoch=0, base_sequence=0))
    yield raw.produce(5, "plain", 0, MemoryRecords.with_records(SimpleRecord(NOW, None, b"x" * 1_100_000)))
    yield raw.produce(2, "plain", 0, b"")
    for data in wrong_batches():
        yield raw.produce(5, "plain", 0, data)
    for version in (-1, 6, 99, 32767):
        yield raw.request(raw.LIST_OFFSETS, version, b"")
    for api in (-1, 44, 99):
        yield raw.request(api, 0, b"")
    whole = raw.produce(5, "plain", 0, good)[4:]
    for size in (0, 3, 9, 14, 25, 40, len(whole) - 1):
        yield struct.pack(">i", size) + whole[:size]
    for size in (-1, -(2**31), 2**31 - 1, 104_857_601):
        yield struct.pack(">i", size) + whole[:50]


def administration() -> Iterator[bytes]:
    """Topics that are made, are refused, or are only checked, and some that are deleted."""
    specs = [
        TopicSpec("made", 2, 1, (), [("retention.ms", "12345")]),
        TopicSpec("made"),
        TopicSpec("assigned", -1, -1, [(0, [0]), (1, [0])]),
        TopicSpec("a.b"),
        TopicSpec("a_b"),
        *(TopicSpec(name) for name in ("", ".", "..", "n/o", "n o", "x" * 250, "\u00fc", "__consumer_offsets")),
        *(TopicSpec("no", partitions, 1) for partitions in (0, -1, -5)),
        *(TopicSpec("no", 1, factor) for factor in (0, -1, -5, 2, 3)),
        TopicSpec("no", 2, 1, [(0, [0])]),
        TopicSpec("no", -1, -1, [(1, [0])]),
        TopicSpec("no", -1, -1, [(0, [0]), (0, [0])]),
        TopicSpec("no", -1, -1, [(0, [5])]),
        TopicSpec("no", -1, -1, [(0, [0, 0])]),
        TopicSpec("no", -1, -1, [(0, [])]),
        TopicSpec("no", 1, 1, (), [("nonsense", "1")]),
        TopicSpec("no", 1, 1, (), [("retention.ms", "abc")]),
        TopicSpec("no", 1, 1, (), [("retention.ms", "")]),
        TopicSpec("no", 1, 1, (), [("min.cleanable.dirty.ratio", "2")]),
        TopicSpec("no", 1, 1, (), [("cleanup.policy", "keep")]),
        TopicSpec("no", 1, 1, (), [("min.insync.replicas", "0")]),
        TopicSpec("no", 1, 1, (), [("unclean.leader.election.enable", "perhaps")]),
        TopicSpec("no", 1, 1, (), [("segment.bytes", "99999999999")]),
    ]
    for version in (2, 1, 0):
        for spec in specs:
            if version >= 1:
                yield raw.create_topics(version, spec, validate_only=True)
            yield raw.create_topics(version, spec)
        yield raw.create_topics(version, TopicSpec("twice"), TopicSpec("twice"))
        yield raw.create_topics(version)
    for version in (0, 1):
        for name in ("nothing", "", "n/o", "made", "made", "a.b"):
            yield raw.delete_topics(version, name)
        yield raw.delete_topics(version)


def wrong_batches() -> Iterator[bytes]:
    """Batches that are not what they say, with checksums that are right."""
    good = bytes(records(1, 3).buffer)
    lies = [(">b", 16, magic) for magic in (0, 1, 3, -1)]
    lies += [(">i", 8, length) for length in (-1, 13, 20, len(good) + 50)]
    # not 16, a transaction: without a transactional id 1.1.1 writes it (CVE-2018-17196)
    lies += [(">h", 21, attributes) for attributes in (1, 2, 3, 5, 7, 8, 32)]
    lies += [(">i", 23, delta) for delta in (-1, 0, 1, 5, 2**31 - 1)]
    lies += [(">i", 57, count) for count in (-1, 0, 2, 4, 2**31 - 1)]
    lies += [(">q", 43, 99), (">q", 0, 12)]  # a producer without a sequence; a base offset
    for format_, position, lie in lies:
        batch = bytearray(good)
        struct.pack_into(format_, batch, position, lie)
        struct.pack_into(">I", batch, 17, crc32c(batch[21:]))
        yield bytes(batch)
    yield good + good
    yield good[:11]
    yield b""
    yield bytes(61)


def questions() -> Iterator[bytes]:
    """Requests that change nothing."""
    for topic in TOPICS:
        for partition in (0, 1, 2):
            for version in (0, 1, 2):
                for timestamp in (-1, -2, NOW + 95, NOW + 10**9):
                    yield raw.list_offsets(version, topic, partition, timestamp)
            for epoch in (0, 1, -1):
                yield raw.offset_for_leader_epoch(topic, partition, epoch)
    for topic in ("plain", "rolled", "producers", "converted", "oldest"):
        for version in range(8):
            for offset in (0, 5, 44, 10**6, -3):
                yield raw.fetch(version, topic, 0, offset)
                yield raw.fetch(version, topic, 0, offset, max_bytes=150)
    for version in range(4, 8):  # older versions have to compress anew, in bytes that are the libraries' own
        for topic, partition in (("codecs", 0), ("codecs", 1), ("old", 0), ("old", 1), ("old", 7), ("nowhere", 0)):
            yield raw.fetch(version, topic, partition, 3)


def differences(asked: list[bytes], ours: list[bytes], theirs: list[bytes]) -> list[str]:
    """A text of each request, cut short, and the answers that it got, where these differ."""
    rows = zip(asked, ours, theirs, strict=True)
    return [f"{request[:300]!r}\nours:   {our!r}\ntheirs: {their!r}" for request, our, their in rows if our != their]


def call(broker: LocalBroker, request: bytes) -> bytes:
    with RawConnection(broker.port) as connection:
        return connection.call(request)


def no_error(answer: bytes) -> bool:
    """Whether an answer to a Produce request of one partition says that it was appended."""
    name = int.from_bytes(answer[8:10], "big")
    return answer[18 + name : 20 + name] == b"\0\0"


def answers(broker: LocalBroker, asked: list[bytes]) -> list[bytes]:
    return [call(broker, request) for request in asked]


@pytest.fixture(scope="module")
def sides(apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Both with all topics."""
    with (
        LocalCluster(home=tmp_path_factory.mktemp("ours"), properties=PROPERTIES) as ours,
        apache.cluster(tmp_path_factory.mktemp("theirs"), PROPERTIES) as theirs,
    ):
        for side in (ours, theirs):
            for topic, config in TOPICS.items():
                create_topic(side.bootstrap_servers, topic, 2, config)
        yield Sides(ours, theirs)


@pytest.fixture(scope="module")
def produced(sides: Sides) -> Sides:
    """The sides after all requests, whose answers were the same."""
    asked = list(requests())
    ours, theirs = (answers(side.brokers[0], asked) for side in sides)
    for i, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        assert our == their, f"request {i}: {asked[i]!r}"
        assert no_error(our), f"request {i}: {asked[i]!r}"
    return sides


def test_refusals(produced: Sides) -> None:
    asked = list(refused())
    ours, theirs = (answers(side.brokers[0], asked) for side in produced)
    assert differences(asked, ours, theirs) == []


def test_administration(produced: Sides) -> None:
    asked = list(administration())
    ours, theirs = (answers(side.brokers[0], asked) for side in produced)
    assert differences(asked, ours, theirs) == []


def test_answers(produced: Sides) -> None:
    asked = list(questions())
    ours, theirs = (answers(side.brokers[0], asked) for side in produced)
    for request, our, their in zip(asked, ours, theirs, strict=True):
        assert our == their, request


def comparable_metadata(answer: bytes, version: int, side: LocalCluster) -> tuple[bytes, set[bytes]]:
    """An answer without the port and the cluster's id; its two partitions, which come in the order of a hash map."""
    answer = answer.replace(side.brokers[0].port.to_bytes(4, "big"), b"port")
    answer = re.sub(rb"\x00\x16[\w-]{22}", b"cluster id", answer)
    size = 2 + 4 + 4 + 8 + 8 + (4 if version >= 5 else 0)
    return answer[: -2 * size], {answer[-2 * size : -size], answer[-size:]}


def test_metadata(produced: Sides) -> None:
    for version in range(6):
        for topic in (*TOPICS, *(["nowhere"] if version >= 4 else [])):
            asked = raw.metadata(version, [topic])
            ours, theirs = (comparable_metadata(call(side.brokers[0], asked), version, side) for side in produced)
            assert ours == theirs, (version, topic)


# -- ZooKeeper --

# Controllers are fenced by what is written once more than in 1.1.1 (KAFKA-6082, KIP-380); in the end it is the same.
WRITTEN_TWICE = ("/controller_epoch", "/brokers/ids/0")


def plain(path: str, node: Node, side: LocalCluster) -> Node:
    """The node without what differs between any two brokers: ports, times and the cluster's id."""
    data = node.data.replace(b"%d" % side.brokers[0].port, b"PORT")
    data = re.sub(rb'("timestamp":")\d{13}"', rb'\1TIME"', data)
    if re.fullmatch(r"/config/topics/[^/]+|/brokers/topics/[^/]+", path):
        # The inner maps of theirs are hash maps.
        fields = {k: dict(sorted(v.items())) if isinstance(v, dict) else v for k, v in json.loads(data).items()}
        data = json.dumps(fields, separators=(",", ":")).encode()
    if path == "/cluster/id":
        data = re.sub(rb'"id":"[\w-]{22}"', b'"id":"ID"', data)
    if path in WRITTEN_TWICE:
        node = node._replace(version=-1)
    return node._replace(data=data)


def trees(sides: Sides) -> list[dict[str, Node]]:
    found = []
    for side in sides:
        tree = raw.zookeeper_tree(side.zookeeper_connect)
        found.append({path: plain(path, node, side) for path, node in tree.items()})
    return found


def test_zookeeper(produced: Sides) -> None:
    ours, theirs = trees(produced)
    assert ours.keys() == theirs.keys()
    for path, node in theirs.items():
        assert ours[path] == node, path
    assert theirs["/brokers/ids/0"].is_ephemeral
    assert b'"segment.bytes":"3000"' in theirs["/config/topics/rolled"].data


# -- files --


def test_what_a_clean_stop_leaves(produced: Sides) -> None:
    for side in produced:
        side.brokers[0].process.stop()
    ours, theirs = (files(side.brokers[0].log_dirs[0]) for side in produced)
    assert ours.keys() == theirs.keys()
    for name, content in theirs.items():
        assert ours[name] == content, name
    assert sum(name.endswith(".log") for name in theirs) > 3 * len(TOPICS)
    for kind in (".index", ".timeindex", ".snapshot"):
        assert any(content for name, content in theirs.items() if name.endswith(kind))
    our_tree, their_tree = trees(produced)
    assert our_tree == their_tree
    assert "/brokers/ids/0" not in their_tree
