"""Sockets that speak the protocol with next to no cost of their own, so that the broker is what is measured."""

from __future__ import annotations

import collections
import dataclasses
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence

from crc32c import crc32c

from benchmarks import frames
from benchmarks.frames import Address

RECEIVE_BYTES = 256 * 1024
ANSWER_TIMEOUT_S = 30.0
LEADER_TIMEOUT_S = 15.0
LEADER_POLL_S = 0.005
LOWEST_PRODUCE, WANTED_PRODUCE, HIGHEST_PRODUCE = 3, 7, 8
LOWEST_FETCH, WANTED_FETCH, HIGHEST_FETCH = 4, 4, 11


class SkippedError(Exception):
    """The broker or the machine lacks what the workload needs."""


class VerificationError(Exception):
    """The broker acknowledged something else than what it holds now."""


class Connection:
    """A blocking connection."""

    def __init__(self, address: Address, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        self.socket = socket.create_connection(address, timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def receive(self) -> bytes:
        """One answer, its size included; raises ConnectionError when the broker closes."""
        answer = self._some(65536)
        while len(answer) < 4:
            answer += self._some(65536)
        size = 4 + int.from_bytes(answer[:4], "big")
        while len(answer) < size:
            answer += self._some(size - len(answer))
        return answer

    def _some(self, limit: int) -> bytes:
        data = self.socket.recv(limit)
        if not data:
            raise ConnectionError("the broker closed the connection")
        return data

    def call(self, request: bytes) -> bytes:
        self.send(request)
        return self.receive()


@dataclasses.dataclass(frozen=True)
class Settings:
    """Where a workload's load goes, and how much of it."""

    host: str
    port: int
    pid: int | None = None
    seconds: float = 2.0
    max_bytes: int = 2_000_000_000

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)


class Session:
    """A broker as seen by one workload: its versions, and the topics made for the workload and deleted after it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.topics: list[str] = []
        self._leaders: dict[tuple[str, int], Address] = {}
        with Connection(settings.address) as connection:
            self.versions = frames.parse_api_versions(connection.call(frames.api_versions_request()))
        self.produce_version = self.pick(frames.PRODUCE, LOWEST_PRODUCE, WANTED_PRODUCE, HIGHEST_PRODUCE)
        self.fetch_version = self.pick(frames.FETCH, LOWEST_FETCH, WANTED_FETCH, HIGHEST_FETCH)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.delete_topics()

    def pick(self, api: int, lowest: int, wanted: int, highest: int) -> int:
        """The version nearest to the wanted one that both sides have; raises SkippedError when there is none."""
        low, high = self.versions.get(api, (0, -1))
        common = range(max(low, lowest), min(high, highest) + 1)
        if not common:
            raise SkippedError(f"api {api}: the broker has versions {low} to {high}, we {lowest} to {highest}")
        return min(common, key=lambda version: abs(version - wanted))

    def create_topic(self, partitions: int = 1) -> str:
        """Create a topic of our own and wait until all its partitions have leaders.

        A broker that has just started answers before it is a member of its cluster: it is asked again.
        """
        topic = f"bench-{os.urandom(5).hex()}"
        deadline = time.perf_counter() + LEADER_TIMEOUT_S
        with Connection(self.settings.address) as connection:
            while True:
                try:
                    frames.parse_create_topic(connection.call(frames.create_topic_request(topic, partitions)))
                    break
                except frames.BrokerError as error:
                    not_yet = error.code in (frames.INVALID_REPLICATION_FACTOR, frames.NOT_CONTROLLER)
                    if not not_yet or time.perf_counter() > deadline:
                        raise
                time.sleep(LEADER_POLL_S)
            self.topics.append(topic)
            while len(leaders := frames.parse_metadata(connection.call(frames.metadata_request(topic)))) < partitions:
                if time.perf_counter() > deadline:
                    raise TimeoutError(f"only partitions {sorted(leaders)} of {topic} got a leader")
                time.sleep(LEADER_POLL_S)
        self._leaders.update({(topic, partition): leader for partition, leader in leaders.items()})
        return topic

    def delete_topics(self) -> None:
        """Delete what create_topic has made; raises BrokerError when the broker refuses."""
        topics, self.topics = self.topics, []
        if topics:
            with Connection(self.settings.address) as connection:
                frames.parse_delete_topics(connection.call(frames.delete_topics_request(topics)))

    def connect(self, topic: str, partition: int = 0) -> Connection:
        """A connection to the leader of a partition of ours."""
        return Connection(self._leaders[topic, partition])

    def produce_frame(self, topic: str, partition: int, batch: bytes) -> bytes:
        return frames.produce_request(self.produce_version, topic, partition, batch)

    def end_offset(self, topic: str, partition: int = 0) -> int:
        with self.connect(topic, partition) as connection:
            return frames.parse_end_offset(connection.call(frames.end_offset_request(topic, partition)))

    def verify_end_offset(self, topic: str, expected: int, partitions: int = 1) -> None:
        """Raise VerificationError unless the end offsets of the partitions add up to what was acknowledged."""
        found = sum(self.end_offset(topic, partition) for partition in range(partitions))
        if found != expected:
            raise VerificationError(f"{expected} records were acknowledged, the end offsets say {found}")


# -- loops ----------------------------------------------------------------------------------------------------------

Check = Callable[[bytes | bytearray, int], None]


def produce_check(topic: str) -> Check:
    """A check of an answer to Session.produce_frame that begins at a position of a buffer."""
    error_at = frames.produce_error_at(topic)
    return lambda answer, start: frames.check_produced(answer, error_at, start)


def closed_loop(connections: Sequence[Connection], request: bytes, seconds: float, check: Check) -> list[float]:
    """One small request in flight on each connection until the time is up; the latency of each answer, in seconds."""
    poller = select.epoll()
    clock = time.perf_counter
    by_fd = {connection.socket.fileno(): connection.socket for connection in connections}
    sent = {}
    for fd, sock in by_fd.items():
        poller.register(fd, select.EPOLLIN)
        sent[fd] = clock()
        sock.send(request)
    done: list[float] = []
    end = clock() + seconds
    live = len(by_fd)
    while live:
        events = poller.poll(ANSWER_TIMEOUT_S)
        if not events:
            raise TimeoutError(f"{live} requests were not answered")
        for fd, _ in events:
            sock = by_fd[fd]
            answer = sock.recv(RECEIVE_BYTES)
            now = clock()
            if len(answer) < 4 or len(answer) != 4 + int.from_bytes(answer[:4], "big"):
                raise ConnectionError(f"{len(answer)} bytes are not one whole answer")
            check(answer, 0)
            done.append(now - sent[fd])
            if now < end:
                sent[fd] = clock()
                sock.send(request)
            else:
                live -= 1
    poller.close()
    return done


class _Pipe:
    """One connection of a Pipeline and what is under way on it."""

    __slots__ = ("in_flight", "input", "request", "rest", "send_times", "socket", "waits_for_room")

    def __init__(self, connection: Connection, request: bytes) -> None:
        self.socket = connection.socket
        self.request = memoryview(request)
        self.rest = self.request[:0]  # of a request that was begun
        self.in_flight = 0
        self.send_times: collections.deque[float] = collections.deque()
        self.input = bytearray()
        self.waits_for_room = False


class Pipeline:
    """Sends the same request again and again on each connection, at most ``depth`` unanswered ones on each."""

    def __init__(self, connections: Sequence[Connection], requests: Sequence[bytes], depth: int, check: Check) -> None:
        self._poller = select.epoll()
        self._depth = depth
        self._check = check
        self._pipes: dict[int, _Pipe] = {}
        self._left = 0
        self._in_flight = 0
        self.latencies: list[float] = []
        for connection, request in zip(connections, requests, strict=True):
            connection.socket.setblocking(False)
            self._pipes[connection.socket.fileno()] = _Pipe(connection, request)
            self._poller.register(connection.socket.fileno(), select.EPOLLIN)

    def run(self, seconds: float, limit: int) -> int:
        """Run until the time is up or ``limit`` requests were sent, and all are answered; how many were answered."""
        self.latencies.clear()
        self._left = limit
        end = time.perf_counter() + seconds
        for fd, pipe in self._pipes.items():
            self._push(fd, pipe)
        while self._in_flight:
            events = self._poller.poll(ANSWER_TIMEOUT_S)
            if not events:
                raise TimeoutError(f"{self._in_flight} requests were not answered")
            if time.perf_counter() > end:
                self._left = 0
            for fd, event in events:
                pipe = self._pipes[fd]
                if event & ~select.EPOLLOUT:
                    self._pull(pipe)
                self._push(fd, pipe)
        return len(self.latencies)

    def _push(self, fd: int, pipe: _Pipe) -> None:
        """Send until enough is in flight, or the socket takes no more."""
        full = False
        while not full and (pipe.rest or (self._left > 0 and pipe.in_flight < self._depth)):
            if not pipe.rest:
                pipe.rest = pipe.request
                pipe.in_flight += 1
                self._left -= 1
                self._in_flight += 1
                pipe.send_times.append(time.perf_counter())
            try:
                pipe.rest = pipe.rest[pipe.socket.send(pipe.rest) :]
            except BlockingIOError:
                full = True
        if full != pipe.waits_for_room:
            pipe.waits_for_room = full
            self._poller.modify(fd, select.EPOLLIN | (select.EPOLLOUT if full else 0))

    def _pull(self, pipe: _Pipe) -> None:
        """Take what has arrived, and the whole answers out of it."""
        try:
            data = pipe.socket.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionError("the broker closed the connection")
        now = time.perf_counter()
        buffer = pipe.input
        buffer += data
        start = 0
        while len(buffer) - start >= 4:
            size = 4 + int.from_bytes(buffer[start : start + 4], "big")
            if len(buffer) - start < size:
                break
            self._check(buffer, start)
            start += size
            pipe.in_flight -= 1
            self._in_flight -= 1
            self.latencies.append(now - pipe.send_times.popleft())
        del buffer[:start]

    def close(self) -> None:
        """Let go of the poller; the connections are their owner's, and blocking again."""
        self._poller.close()
        for pipe in self._pipes.values():
            pipe.socket.settimeout(ANSWER_TIMEOUT_S)


class Fetcher:
    """Reads one partition in order, one Fetch at a time, and looks only at the headers of the batches."""

    def __init__(self, session: Session, topic: str, partition: int = 0, max_bytes: int = 1 << 20) -> None:
        self._version = session.fetch_version
        self._topic, self._partition, self._max_bytes = topic, partition, max_bytes
        self._connection = session.connect(topic, partition)
        self._buffer = memoryview(bytearray(max_bytes + (1 << 20) + 4096))
        self._crc_checked = False
        self.socket = self._connection.socket
        self.offset = 0
        self.bytes = 0
        self.records = 0
        self.high_watermark = -1

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def send(self, max_wait_ms: int = 500) -> None:
        """Ask for what comes next; the broker waits so long for it when there is nothing."""
        frame = frames.fetch_request(
            self._version, self._topic, self._partition, self.offset, self._max_bytes, max_wait_ms
        )
        self._connection.send(frame)

    def receive(self) -> int:
        """Read the answer; gives the bytes of whole batches it brought. Raises VerificationError for a gap."""
        size = self._receive_all()
        found = frames.parse_fetch(self._buffer, self._version, size)
        self.high_watermark = found.high_watermark
        position = found.start
        while found.end - position >= frames.BATCH_OVERHEAD:
            base, length = struct.unpack_from(">qi", self._buffer, position)
            if found.end - position < 12 + length:
                break  # the last batch may be cut off
            if not self._crc_checked:
                self._check_crc(position, length)
            (last_delta,) = struct.unpack_from(">i", self._buffer, position + 23)
            # The first batch may begin before the offset asked for; all others follow each other.
            if base > self.offset or base + last_delta < self.offset:
                raise VerificationError(f"a batch of offsets {base} to {base + last_delta}, not {self.offset}")
            self.records += base + last_delta + 1 - self.offset
            self.offset = base + last_delta + 1
            position += 12 + length
        self.bytes += position - found.start
        return position - found.start

    def _check_crc(self, position: int, length: int) -> None:
        self._crc_checked = True
        (expected,) = struct.unpack_from(">I", self._buffer, position + 17)
        if crc32c(self._buffer[position + 21 : position + 12 + length]) != expected:
            raise VerificationError("the checksum of a fetched batch is wrong")

    def _receive_all(self) -> int:
        """One answer into the buffer; gives its size."""
        got, size = 0, 4
        while got < size:
            count = self.socket.recv_into(self._buffer[got : max(size, 65536) if size == 4 else size])
            if not count:
                raise ConnectionError("the broker closed the connection")
            got += count
            if size == 4 and got >= 4:
                size = 4 + int.from_bytes(self._buffer[:4], "big")
                if size > len(self._buffer):
                    raise BufferError(f"an answer of {size} bytes to a request for {self._max_bytes}")
        return size
