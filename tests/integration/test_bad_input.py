"""Bytes that are no request, requests that end too early, and crowds: one connection pays, the others notice nothing.

The expected answers are those of Apache Kafka 1.1.1, except where it lets one client exhaust its memory.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import pathlib
import random
import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kafka_py.common.protocol.types.struct import Struct
from kafka_py.server.kafka_apis import KafkaApis
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.canary import Canary
from tests.integration.clients import create_topic, topic_name, wait_for_leaders
from tests.integration.support import fds, peak_rss, reset_peak_rss, rss, sockets, wait_until
from tests.integration.wire import (
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    FETCH,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    Connection,
    array,
    batch,
    codes,
    crowd,
    fetch,
    frame,
    header,
    i8,
    i16,
    i32,
    i64,
    list_offsets,
    metadata,
    parse,
    produce,
    record,
    request,
    string,
    values_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undisturbed")]

MB = 1 << 20
MAX_REQUEST = 104_857_600
GOLDEN = pathlib.Path(__file__).parents[1] / "data" / "protocol_golden.jsonl.gz"


class Case(NamedTuple):
    """One row: its name, and what is sent."""

    name: str
    sent: bytes


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    return embedded_cluster.brokers[0]


@pytest.fixture(scope="module")
def topic(broker: LocalBroker) -> bytes:
    name = create_topic(broker.address, topic_name("bad"))
    wait_for_leaders(broker.address, name, 1)
    return name.encode()


def end_offset(broker: LocalBroker, topic: bytes, partition: int = 0) -> int:
    with Connection(broker) as connection:
        answer = connection.call(LIST_OFFSETS, 1, list_offsets(topic, partition))
        assert codes(answer) == [0]
        found: int = next(values_of(answer, "offset"))
        return found


# -- What is answered by closing the connection ---------------------------------------------------------------------

SIZES = [
    Case("size-minus-1", i32(-1)),
    Case("size-smallest", i32(-(2**31))),
    Case("size-largest", i32(2**31 - 1)),
    Case("size-one-too-large", i32(MAX_REQUEST + 1)),
    *(Case(f"frame-of-{n}-bytes", frame(bytes(n))) for n in range(10)),
]
OTHER_PROTOCOLS = [
    Case("http-1", b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n"),
    Case("http-2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Case("tls", bytes.fromhex("16030102000100fc0303") + bytes(64)),
    Case("ssh", b"SSH-2.0-OpenSSH_9.6\r\n"),
    Case("redis", b"*1\r\n$4\r\nPING\r\n"),
    Case("smtp", b"EHLO example.org\r\n"),
]
# Keys that exist in later Kafka, never existed, or are served elsewhere only.
KEYS = [
    Case(f"api-key-{key}", request(key, 0, bytes(64)))
    for key in (44, 51, 67, 68, 74, 99, 32767, -1, -32768, *(k for k in range(43) if k not in (
        {api.id for api in KafkaApis.HANDLERS}
    )))
]  # fmt: skip
VERSIONS = [
    Case(f"{api.name}-version-{version}", request(api.id, version, bytes(64)))
    for api, handler in KafkaApis.HANDLERS.items()
    if api.id != API_VERSIONS
    for version in (-1, handler.max_version + 1, 99, 32767)
]
HEADERS = [
    Case("client-id-longer-than-the-frame", frame(i16(API_VERSIONS) + i16(0) + i32(1) + i16(10) + b"raw")),
    Case("client-id-of-32767-that-is-not-there", frame(i16(API_VERSIONS) + i16(0) + i32(1) + i16(32767))),
    Case("no-client-id", frame(i16(API_VERSIONS) + i16(0) + i32(1))),
    Case("half-a-client-id-length", frame(i16(API_VERSIONS) + i16(0) + i32(1) + b"\0")),
]
Made = tuple[str, int, int, Callable[[int], bytes]]  # name, API, version, the body with that length in it
STRINGS: list[Made] = [
    ("metadata-topic", METADATA, 4, lambda n: i32(1) + i16(n) + b"abc"),
    ("produce-topic", PRODUCE, 5, lambda n: i16(-1) + i16(1) + i32(9) + i32(1) + i16(n) + b"abc"),
    ("fetch-topic", FETCH, 4, lambda n: i32(-1) + i32(0) * 2 + i32(99) + i8(0) + i32(1) + i16(n) + b"abc"),
    ("list-offsets-topic", LIST_OFFSETS, 1, lambda n: i32(-1) + i32(1) + i16(n) + b"abc"),
    ("create-topic", CREATE_TOPICS, 0, lambda n: i32(1) + i16(n) + b"abc"),
    ("delete-topic", DELETE_TOPICS, 0, lambda n: i32(1) + i16(n) + b"abc"),
    ("coordinator-key", FIND_COORDINATOR, 0, lambda n: i16(n) + b"abc"),
]
ARRAYS: list[Made] = [
    ("produce-topics", PRODUCE, 5, lambda n: i16(-1) + i16(1) + i32(9) + i32(n) + string(b"abc") + array()),
    ("produce-partitions", PRODUCE, 5, lambda n: i16(-1) + i16(1) + i32(9) + i32(1) + string(b"a") + i32(n)),
    ("record-set", PRODUCE, 5, lambda n: produce(b"abc", b"")[:-4] + i32(n) + b"."),
    ("list-offsets-topics", LIST_OFFSETS, 1, lambda n: i32(-1) + i32(n) + string(b"abc") + array()),
    ("create-topics", CREATE_TOPICS, 0, lambda n: i32(n) + string(b"abc")),
    ("delete-topics", DELETE_TOPICS, 0, lambda n: i32(n) + string(b"abc")),
]
LENGTHS = [
    Case(f"{what}-{length}", request(api, version, make(length)))
    for made, lengths in (
        (STRINGS, (-1, -2, -32768, 4, 32767)),  # three bytes follow
        (ARRAYS, (-2, -(2**31), 2, 32767, 2**31 - 1)),  # one element follows
    )
    for what, api, version, make in made
    for length in lengths
]
TYPES = [
    Case("fetch-isolation-7", request(FETCH, 7, fetch(b"abc", isolation=7))),
    Case("fetch-isolation-minus-1", request(FETCH, 7, fetch(b"abc", isolation=-1))),
    Case("list-offsets-isolation-9", request(LIST_OFFSETS, 2, i32(-1) + i8(9) + array())),
    Case("find-coordinator-type-7", request(FIND_COORDINATOR, 1, string(b"group") + i8(7))),
]


@pytest.mark.parametrize(
    "case", SIZES + OTHER_PROTOCOLS + KEYS + VERSIONS + HEADERS + LENGTHS + TYPES, ids=lambda case: case.name
)
def test_closed_without_an_answer(broker: LocalBroker, case: Case) -> None:
    with Connection(broker) as connection:
        connection.send(case.sent)
        assert connection.receive() is None


def test_every_strict_prefix_of_a_body_is_refused(broker: LocalBroker) -> None:
    """A sample over all requests that are served; none of them reaches its handler."""
    served = {api.id: handler for api, handler in KafkaApis.HANDLERS.items()}
    chosen = random.Random(7)
    tried = 0
    with gzip.open(GOLDEN, "rt") as lines:
        vectors: list[dict[str, Any]] = [json.loads(line) for line in lines]
    for vector in vectors:
        handler = served.get(vector.get("api_key", -1))
        if vector.get("type") != "request" or handler is None or vector["version"] > handler.max_version:
            continue
        payload = bytes.fromhex(vector["frame"])[4:]
        head = len(payload) - len(vector["hex"]) // 2
        lengths = range(head, len(payload))
        for length in chosen.sample(lengths, min(len(lengths), 4)):
            with Connection(broker) as connection:
                connection.send(frame(payload[:length]))
                assert connection.receive() is None, (vector["id"], length - head)
            tried += 1
    assert tried > 300


# -- What is answered although it looks odd -------------------------------------------------------------------------

CLIENT_IDS = [
    Case("null", i16(-1)),
    Case("length-minus-2", i16(-2)),
    Case("length-smallest", i16(-32768)),
    Case("empty", string(b"")),
    Case("32767-bytes", string(b"x" * 32767)),
    Case("bad-utf-8", string(b"\xff\xfe\xc0\x80\xed\xa0\x80")),
    Case("nul", string(b"a\0b")),
    Case("quotes-and-jmx", string(b"a\"',=:*?\\\n\r\t b")),
]


@pytest.mark.parametrize("case", CLIENT_IDS, ids=lambda case: case.name)
def test_any_client_id_is_served(broker: LocalBroker, topic: bytes, case: Case) -> None:
    with Connection(broker) as connection:
        for api, version, body in (
            (METADATA, 5, metadata(topic)),
            (PRODUCE, 5, produce(topic, batch())),
            (FETCH, 7, fetch(topic)),
        ):
            connection.send(frame(i16(api) + i16(version) + i32(5) + case.sent + body))
            assert set(codes(connection.answer(api, version, 5))) == {0}


@pytest.mark.parametrize("correlation", [0, -1, 2**31 - 1, -(2**31)])
def test_any_correlation_id_comes_back(broker: LocalBroker, correlation: int) -> None:
    with Connection(broker) as connection:
        assert codes(connection.call(API_VERSIONS, 0, b"", correlation)) == [0]


@pytest.mark.parametrize("version", [4, 99, 32767, -1, -32768])
def test_api_versions_of_an_unknown_version(broker: LocalBroker, version: int) -> None:
    """Error 35 in the form of version 0, with the versions that would be understood; the connection stays."""
    with Connection(broker) as connection:
        connection.send(request(API_VERSIONS, version, b""))
        answer = connection.answer(API_VERSIONS, 0)
        assert codes(answer) == [35]
        assert list(values_of(answer, "api_key")) == [API_VERSIONS]
        assert codes(connection.call(API_VERSIONS, 0, b"", 2)) == [0]


def test_bytes_behind_the_last_field_are_ignored(broker: LocalBroker, topic: bytes) -> None:
    with Connection(broker) as connection:
        for api, version, body in (
            (API_VERSIONS, 0, b""),
            (METADATA, 5, metadata(topic)),
            (PRODUCE, 5, produce(topic, batch())),
            (LIST_OFFSETS, 1, list_offsets(topic)),
            (FETCH, 7, fetch(topic)),
            (INIT_PRODUCER_ID, 0, string(None) + i32(1000)),
        ):
            assert set(codes(connection.call(api, version, body + b"trailing bytes"))) == {0}, api


# -- Time and order ---------------------------------------------------------------------------------------------------


def test_one_byte_at_a_time(broker: LocalBroker, topic: bytes) -> None:
    with Connection(broker) as connection:
        for offset in (end_offset(broker, topic), None):
            for byte in request(PRODUCE, 5, produce(topic, batch())):
                connection.send(bytes([byte]))
            answer = connection.answer(PRODUCE, 5)
            assert codes(answer) == [0]
            assert offset is None or list(values_of(answer, "base_offset")) == [offset]


def test_300_pipelined_requests_are_answered_in_order(broker: LocalBroker, topic: bytes) -> None:
    first = end_offset(broker, topic)
    kinds = [
        (PRODUCE, 5, produce(topic, batch(), acks=1)),
        (LIST_OFFSETS, 1, list_offsets(topic)),
        (METADATA, 5, metadata(topic)),
    ]
    with Connection(broker) as connection:
        connection.send(b"".join(request(*kinds[i % 3], correlation=i) for i in range(300)))
        for i in range(300):
            api, version, _ = kinds[i % 3]
            answer = connection.answer(api, version, i)
            assert set(codes(answer)) == {0}
            if api == PRODUCE:
                assert list(values_of(answer, "base_offset")) == [first + i // 3]
            elif api == LIST_OFFSETS:
                assert list(values_of(answer, "offset")) == [first + i // 3 + 1], "answered before its predecessor"
        assert connection.is_silent()


def test_a_good_request_before_a_bad_one(broker: LocalBroker, topic: bytes) -> None:
    """The good one is carried out; its answer may be lost with the connection."""
    before = end_offset(broker, topic)
    with Connection(broker) as connection:
        connection.send(request(PRODUCE, 5, produce(topic, batch())) + i32(-1))
        reply = connection.receive()
        if reply is not None:
            assert codes(parse(PRODUCE, 5, reply)) == [0]
            assert connection.receive() is None
    wait_until(lambda: end_offset(broker, topic) == before + 1)


@pytest.mark.parametrize("ending", ["fin", "rst"])
def test_a_request_that_never_ends(broker: LocalBroker, topic: bytes, ending: str) -> None:
    """It is waited for; a client that goes away meanwhile leaves nothing behind."""
    before, open_before = end_offset(broker, topic), sockets(broker.process.pid)
    with Connection(broker) as connection:
        connection.send(request(PRODUCE, 5, produce(topic, batch()))[:-1])
        assert connection.is_silent()
        if ending == "fin":
            connection.socket.shutdown(socket.SHUT_WR)
            assert connection.receive() is None
        else:
            connection.reset()
    wait_until(lambda: sockets(broker.process.pid) <= open_before, what="the socket's end")
    assert end_offset(broker, topic) == before


# -- Crowds ----------------------------------------------------------------------------------------------------------

BEGINNINGS = [
    Case("two-bytes-of-a-size", b"\0\0"),
    Case("a-size", i32(1000)),
    Case("half-a-header", frame(header(METADATA, 5))[:9]),
    Case("half-a-produce", request(PRODUCE, 5, produce(b"topic", batch()))[:60]),
]


def test_200_that_begin_and_say_no_more(broker: LocalBroker, canary: Canary) -> None:
    pid = broker.process.pid
    before = sockets(pid)
    with contextlib.ExitStack() as stack, canary.beating() as times:
        for beginning in BEGINNINGS:
            stack.enter_context(crowd(broker, 50, beginning.sent))
        seen = len(times)
        wait_until(lambda: len(times) > seen + 20)
        assert sockets(pid) >= before + 200
    wait_until(lambda: sockets(pid) <= before, what="the sockets' end")


def test_500_idle_connections(broker: LocalBroker, canary: Canary) -> None:
    pid = broker.process.pid
    before = sockets(pid)
    with canary.beating(), crowd(broker, 500):
        wait_until(lambda: sockets(pid) >= before + 500)
    wait_until(lambda: sockets(pid) <= before, what="the sockets' end")


def test_200_that_connect_and_reset(broker: LocalBroker, canary: Canary) -> None:
    pid = broker.process.pid
    before = sockets(pid)
    with canary.beating():
        for i in range(200):
            connection = Connection(broker)
            if i % 2:
                connection.send(request(METADATA, 5, metadata()))
            connection.reset()
    wait_until(lambda: sockets(pid) <= before, what="the sockets' end")


def test_who_announces_much_gets_no_memory_for_it(broker: LocalBroker, canary: Canary) -> None:
    """20 times "100 MB follow" and 104 bytes: Kafka sets 2 GB aside."""
    pid = broker.process.pid
    reset_peak_rss(pid)
    before = rss(pid)
    announcement = i32(MAX_REQUEST) + header(PRODUCE, 5) + bytes(91)
    with canary.beating() as times, crowd(broker, 20, announcement) as connections:
        seen = len(times)
        wait_until(lambda: len(times) > seen + 20)
        assert peak_rss(pid) - before <= 64 * MB
        assert all(connection.is_silent(0.01) for connection in connections)


def test_who_reads_slowly_waits_alone(broker: LocalBroker, canary: Canary) -> None:
    """Ten clients ask for 90 MB in all and read nothing of it."""
    name = create_topic(broker.address, topic_name("slow"))
    wait_for_leaders(broker.address, name, 1)
    topic = name.encode()
    with Connection(broker) as connection:
        for _ in range(4):
            assert codes(connection.call(PRODUCE, 5, produce(topic, batch(record(bytes(900_000)))))) == [0]
    pid = broker.process.pid
    reset_peak_rss(pid)
    before = rss(pid)
    asked = request(FETCH, 7, fetch(topic, max_bytes=4 * MB, partition_bytes=4 * MB)) * 10
    with canary.beating() as times, crowd(broker, 10, asked, receive_buffer=4096) as connections:
        seen = len(times)
        wait_until(lambda: len(times) > seen + 50)
        assert peak_rss(pid) - before <= 128 * MB
        for _ in range(10):  # whoever reads on gets everything
            answer = connections[0].answer(FETCH, 7)
            assert sum(len(records) for records in values_of(answer, "record_set")) > 900_000


def test_3000_client_ids_cost_little(broker: LocalBroker) -> None:
    pid = broker.process.pid
    before = rss(pid)
    with Connection(broker) as connection:
        for i in range(3000):
            connection.send(request(METADATA, 5, metadata(), i, b"client-%d" % i))
        for i in range(3000):
            answer: Struct = connection.answer(METADATA, 5, i)
            assert codes(answer) == []
    assert rss(pid) - before <= 64 * MB


def test_random_bytes(broker: LocalBroker) -> None:
    """Whatever comes: an answer, a wait, or this connection's end, and nothing is kept open afterwards."""
    chosen = random.Random(11)
    pid = broker.process.pid
    before = fds(pid)
    for _ in range(200):
        api = chosen.choice(list(KafkaApis.HANDLERS)).id
        junk = chosen.randbytes(chosen.randrange(200))
        version = chosen.randrange(8)
        with Connection(broker) as connection:
            connection.send(request(api, version, junk))
            connection.socket.shutdown(socket.SHUT_WR)
            while (reply := connection.receive()) is not None:
                assert struct.unpack(">i", reply[:4]) == (1,)
    wait_until(lambda: fds(pid) <= before, what="the sockets' end")


def test_a_partition_number_beyond_any(broker: LocalBroker, topic: bytes) -> None:
    with Connection(broker) as connection:
        body = i32(-1) + array(string(topic) + array(i32(-(2**31)) + i64(-1), i32(2**31 - 1) + i64(-1)))
        assert codes(connection.call(LIST_OFFSETS, 1, body)) == [3, 3]
