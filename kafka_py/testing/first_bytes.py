"""What the first bytes of a connection say: which broker speaks, or which ZooKeeper session it is.

Ours, no original. Both answers are None as long as bytes are missing.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

# Size, API key, API version, correlation id, length of the client id
_REQUEST = struct.Struct(">ihhih")
# Size, protocol version, timeout, session id, length of the password
_CONNECT_RESPONSE = struct.Struct(">iiiqi")
_CONNECT_REQUEST = struct.Struct(">iqiqi")
_CLOSE_SESSION = struct.pack(">iii", 8, 1, -11)
# The controller's channels and the controlled shutdown are called by the bare id.
_BROKER = re.compile(r"(?:broker-)?(\d+)(?:-(fetcher)-\d+|-txn-marker-sender)?")


class Caller(NamedTuple):
    """Who opened a connection: a broker's id, None for one that is no broker; fetcher: whether one of its fetchers."""

    broker: int | None
    fetcher: bool


class Session(NamedTuple):
    """What a client must know to take a ZooKeeper session over; id 0 when the server refused one."""

    id: int
    password: bytes
    timeout_ms: int


def caller_of(head: bytes) -> Caller | None:
    """Who sent this first request, by its client id."""
    if len(head) < _REQUEST.size:
        return None
    length = _REQUEST.unpack_from(head)[4]
    if len(head) < _REQUEST.size + length:
        return None
    client_id = head[_REQUEST.size : _REQUEST.size + max(0, length)].decode(errors="replace")
    found = _BROKER.fullmatch(client_id)
    return Caller(int(found[1]), found[2] is not None) if found else Caller(None, False)


def session_of(head: bytes) -> Session | None:
    """The session that ZooKeeper's first answer gives."""
    if len(head) < _CONNECT_RESPONSE.size:
        return None
    _, _, timeout_ms, id, length = _CONNECT_RESPONSE.unpack_from(head)
    if len(head) < _CONNECT_RESPONSE.size + length:
        return None
    return Session(id, head[_CONNECT_RESPONSE.size : _CONNECT_RESPONSE.size + max(0, length)], timeout_ms)


def end_of(session: Session) -> bytes:
    """All that a second client says to end a session: that it takes it over, and at once that it closes it."""
    body = _CONNECT_REQUEST.pack(0, 0, session.timeout_ms, session.id, len(session.password)) + session.password + b"\0"
    return struct.pack(">i", len(body)) + body + _CLOSE_SESSION
