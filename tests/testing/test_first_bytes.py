"""Who opened a connection is read from its first bytes, however few of them come at a time."""

from __future__ import annotations

import struct

import pytest

from kafka_py.testing.first_bytes import Caller, Session, caller_of, end_of, session_of


def first_request(client_id: str | None) -> bytes:
    text = b"" if client_id is None else client_id.encode()
    body = struct.pack(">hhih", 1, 7, 5, -1 if client_id is None else len(text)) + text + b"more"
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize(
    ("client_id", "caller"),
    [
        ("broker-12-fetcher-0", Caller(12, True)),
        ("broker-2-txn-marker-sender", Caller(2, False)),
        ("0", Caller(0, False)),
        ("rdkafka", Caller(None, False)),
        ("broker-1-fetcher-", Caller(None, False)),
        ("", Caller(None, False)),
        (None, Caller(None, False)),
    ],
)
def test_a_first_request_tells_who_sent_it(client_id: str | None, caller: Caller) -> None:
    head = first_request(client_id)
    assert caller_of(head) == caller
    whole = len(head) - len(b"more")
    assert [caller_of(head[:n]) for n in range(whole)] == [None] * whole


def test_the_first_answer_of_zookeeper_tells_the_session() -> None:
    head = struct.pack(">iiiqi", 37, 0, 6000, 77, 16) + b"p" * 16
    assert session_of(head + b"\0") == Session(77, b"p" * 16, 6000)
    assert [session_of(head[:n]) for n in range(len(head))] == [None] * len(head)


def test_a_session_is_taken_over_and_closed_in_one_breath() -> None:
    said = end_of(Session(77, b"p" * 16, 6000))
    size = int.from_bytes(said[:4], "big")
    assert struct.unpack(">iqiqi", said[4:32]) == (0, 0, 6000, 77, 16)
    assert said[32 : 4 + size] == b"p" * 16 + b"\0"
    assert said[4 + size :] == struct.pack(">iii", 8, 1, -11)
