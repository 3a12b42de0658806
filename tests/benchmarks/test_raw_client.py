"""The loops of the load generators against a peer on a thread."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from benchmarks import frames
from benchmarks.brokers import Broker
from benchmarks.frames import Address, BrokerError
from benchmarks.raw_client import (
    Connection,
    Fetcher,
    Pipeline,
    Session,
    Settings,
    SkippedError,
    VerificationError,
    closed_loop,
    produce_check,
)

NOW = 1_500_000_000_000
PARTITION = struct.Struct(">ihqqq")


def produced(code: int) -> bytes:
    body = struct.pack(">i", 1) + frames.string("top") + struct.pack(">i", 1) + PARTITION.pack(0, code, 5, -1, 0)
    return struct.pack(">ii", 8 + len(body), 1) + body + struct.pack(">i", 0)


def fetched(records: bytes) -> bytes:
    body = struct.pack(">ii", 0, 1) + frames.string("top") + struct.pack(">ii", 1, 0)
    body += struct.pack(">hqqi", 0, 7, 7, 0) + struct.pack(">i", len(records)) + records
    return struct.pack(">ii", 4 + len(body), 1) + body


class Peer:
    """Answers each request on each connection by what ``reply`` makes of it; closes a connection for None."""

    def __init__(self, reply: Callable[[bytes], bytes | None]) -> None:
        self._reply = reply
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname())
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            accepted, _ = self._listener.accept()
            if len(self._threads) > 8 or not self._is_open(accepted):
                accepted.close()
                return
            self._start(lambda sock=accepted: self._serve(sock))  # type: ignore[misc]  # bound now

    def _is_open(self, sock: socket.socket) -> bool:
        return bool(sock.recv(1, socket.MSG_PEEK))

    def _serve(self, sock: socket.socket) -> None:
        with sock, sock.makefile("rb") as stream:
            while size := stream.read(4):
                reply = self._reply(stream.read(int.from_bytes(size, "big")))
                if reply is None:
                    return
                sock.sendall(reply)

    def close(self) -> None:
        socket.create_connection(self.address).close()  # one that sends nothing ends the accepting
        for thread in self._threads:
            thread.join()
        self._listener.close()


@pytest.fixture
def peers() -> Iterator[Callable[[Callable[[bytes], bytes | None]], Peer]]:
    made: list[Peer] = []

    def make(reply: Callable[[bytes], bytes | None]) -> Peer:
        made.append(Peer(reply))
        return made[-1]

    yield make
    for peer in made:
        peer.close()


Peers = Callable[[Callable[[bytes], bytes | None]], Peer]
REQUEST = frames.produce_request(5, "top", 0, frames.record_batch([b"x"], NOW))


def test_closed_loop_answers_every_request(peers: Peers) -> None:
    peer = peers(lambda _: produced(0))
    with Connection(peer.address) as one, Connection(peer.address) as two:
        took = closed_loop([one, two], REQUEST, 0.02, produce_check("top"))
    assert len(took) >= 2
    assert min(took) > 0


def test_closed_loop_does_not_overlook_an_error(peers: Peers) -> None:
    peer = peers(lambda _: produced(6))
    with Connection(peer.address) as connection, pytest.raises(BrokerError, match="error 6"):
        closed_loop([connection], REQUEST, 0.02, produce_check("top"))


def test_pipeline_sends_as_many_as_it_may(peers: Peers) -> None:
    seen: list[bytes] = []

    def reply(request: bytes) -> bytes:
        seen.append(request)
        return produced(0)

    # Larger than the socket's buffers: the requests go out in parts.
    request = frames.produce_request(5, "top", 0, frames.record_batch([bytes(900_000)], NOW))
    with Connection(peers(reply).address) as connection:
        pipeline = Pipeline([connection], [request], 5, produce_check("top"))
        assert pipeline.run(10.0, 12) == 12
        assert len(pipeline.latencies) == 12
        assert pipeline.run(10.0, 2) == 2
        pipeline.close()
        assert connection.socket.gettimeout()
    assert seen == [request[4:]] * 14


def test_pipeline_notices_that_the_peer_closes(peers: Peers) -> None:
    with Connection(peers(lambda _: None).address) as connection:
        pipeline = Pipeline([connection], [REQUEST], 1, produce_check("top"))
        with pytest.raises(ConnectionError):
            pipeline.run(10.0, 1)
        pipeline.close()


def serving(records: list[bytes]) -> Callable[[bytes], bytes | None]:
    """A broker with Produce 0-5 and Fetch 0-7, and one partition: an answer for each fetch."""
    waiting = list(records)

    def reply(request: bytes) -> bytes | None:
        if request[:2] == struct.pack(">h", frames.API_VERSIONS):
            body = struct.pack(">ihi", 1, 0, 2) + struct.pack(">hhhhhh", 0, 0, 5, 1, 0, 7)
            return struct.pack(">i", len(body)) + body
        return fetched(waiting.pop(0))

    return reply


def session_of(peer: Peer) -> Session:
    session = Session(Settings(*peer.address))
    session._leaders["top", 0] = peer.address
    return session


def batch(base: int, count: int) -> bytes:
    return struct.pack(">q", base) + frames.record_batch([b"x"] * count, NOW)[8:]


def test_fetcher_follows_the_offsets(peers: Peers) -> None:
    whole = batch(0, 3) + batch(3, 2)
    peer = peers(serving([whole + batch(5, 1)[:-1], b"", batch(3, 4)]))
    session = session_of(peer)
    assert (session.produce_version, session.fetch_version) == (5, 4)
    with Fetcher(session, "top") as fetcher:
        fetcher.send()
        assert fetcher.receive() == len(whole)  # the batch that was cut off does not count
        assert (fetcher.offset, fetcher.records, fetcher.high_watermark) == (5, 5, 7)
        fetcher.send()
        assert fetcher.receive() == 0
        fetcher.send()
        fetcher.receive()
        assert (fetcher.offset, fetcher.records) == (7, 7)  # of a batch that began before only the rest is new


@pytest.mark.parametrize("wrong", [batch(1, 1), batch(0, 1)[:-1] + b"!"], ids=["gap", "checksum"])
def test_fetcher_verifies(peers: Peers, wrong: bytes) -> None:
    with Fetcher(session_of(peers(serving([wrong]))), "top") as fetcher:
        fetcher.send()
        with pytest.raises(VerificationError):
            fetcher.receive()


def test_versions_that_do_not_meet(peers: Peers) -> None:
    session = session_of(peers(serving([])))
    assert session.pick(frames.FETCH, 4, 11, 11) == 7
    with pytest.raises(SkippedError, match="api 1"):
        session.pick(frames.FETCH, 8, 8, 9)
    with pytest.raises(SkippedError, match="api 77"):
        session.pick(77, 0, 0, 9)


def test_broker_specifications() -> None:
    running = Broker("10.0.0.1:9092,pid=12")
    assert (running.address, running.pid, running.is_ours_to_start) == (Address("10.0.0.1", 9092), 12, False)
    assert Broker("kafka_py@HEAD~1").warm_up_s < Broker("kafka-1.1.1").warm_up_s
    for text in ("kafka", "localhost", "kafka-1.1", "kafka_py@"):
        with pytest.raises(ValueError, match="neither"):
            Broker(text)
