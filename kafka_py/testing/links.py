"""The links between the brokers of a cluster, and between a broker and ZooKeeper, which can be cut and slowed.

Ours, no original. A proxy stands before each broker's inter-broker listener and, once for each broker, before
ZooKeeper. Who calls a broker is told by the client id of the first request. What may not pass is kept, as TCP would
send it again and again: the connection stays open, nobody is told of anything, and after healing all of it arrives.

Read next: first_bytes.py; cluster.py, the verbs
"""

from __future__ import annotations

import collections
import contextlib
import selectors
import socket
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from kafka_py.common.utils.kafka_thread import KafkaThread
from kafka_py.common.utils.time import Time
from kafka_py.testing.first_bytes import Caller, Session, caller_of, session_of
from kafka_py.utils.concurrent import ReentrantLock

End: TypeAlias = int | Literal["zookeeper"]
Way: TypeAlias = tuple[End, End]
ZOOKEEPER: Final = "zookeeper"
THREAD_NAME = "cluster-links"
_CHUNK = 1 << 16
# More is left in the sender's socket, so that it notices.
_MOST_KEPT = 1 << 20


class Rules:
    """What may pass from one end to another, and how late.

    Thread: any; the verbs write, the links' thread reads
    """

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._cut: set[Way] = set()  # guarded by: _lock
        self._held: set[Way] = set()  # guarded by: _lock
        self._delays: dict[Way, float] = {}  # guarded by: _lock

    def cut(self, way: Way) -> None:
        """Nothing passes any more from the first end to the second."""
        with self._lock:
            self._cut.add(way)

    def hold_fetcher(self, follower: End, leader: End) -> None:
        """The follower's fetchers hear nothing of the leader any more, nor it of them."""
        with self._lock:
            self._held.add((follower, leader))

    def release_fetcher(self, follower: End, leader: End) -> None:
        with self._lock:
            self._held.discard((follower, leader))

    def delay(self, way: Way, delay_ms: float) -> None:
        """What is sent from now on arrives so much later; 0 for at once."""
        with self._lock:
            self._delays[way] = delay_ms

    def heal(self, way: Way) -> None:
        """Everything passes that way, and at once."""
        with self._lock:
            self._cut.discard(way)
            self._delays.pop(way, None)

    def heal_all(self) -> None:
        """Held fetchers, too, are released."""
        with self._lock:
            self._cut.clear()
            self._held.clear()
            self._delays.clear()

    def lets_pass(self, way: Way, fetch: Way | None) -> bool:
        """Whether bytes may go that way; ``fetch``: follower and leader, on a fetcher's connection."""
        with self._lock:
            return way not in self._cut and fetch not in self._held

    def delay_of(self, way: Way) -> float:
        """In milliseconds."""
        with self._lock:
            return self._delays.get(way, 0.0)

    def snapshot(self) -> dict[str, list[str]]:
        """What is cut, slow or held now, for people: ``0>1`` is the way from broker 0 to broker 1."""
        with self._lock:
            return {
                "cut": sorted(f"{a}>{b}" for a, b in self._cut),
                "slow": sorted(f"{a}>{b} {ms:g} ms" for (a, b), ms in self._delays.items() if ms),
                "held fetchers": sorted(f"{a} of {b}" for a, b in self._held),
            }


class _Pipe:
    """One direction of a connection: what was read of one socket and is not yet written to the other.

    Thread: cluster-links
    """

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        # Each with the time at which it was read, in ms; b"" is the end.
        self.chunks: collections.deque[tuple[float, bytes]] = collections.deque()  # thread: cluster-links
        self.kept = 0  # thread: cluster-links
        self.blocked = False  # thread: cluster-links
        self.ended = False  # thread: cluster-links
        self.finished = False  # thread: cluster-links

    @property
    def reads(self) -> bool:
        return not self.ended and self.kept < _MOST_KEPT

    def read(self, now: float) -> bytes | None:
        """What came; b"" for the end, of whatever kind, None when it was a false alarm."""
        try:
            data = self.source.recv(_CHUNK)
        except BlockingIOError:
            return None
        except OSError:  # reset: the other side hears of it when what came before has passed
            data = b""
        self.chunks.append((now, data))
        self.kept += len(data)
        self.ended = not data
        return data

    def write(self, now: float, delay_ms: float) -> float | None:
        """Write what is due; the time at which the next is, None when nothing waits for a time. Raises OSError."""
        self.blocked = False
        while self.chunks:
            read_at, data = self.chunks[0]
            if read_at + delay_ms > now:
                return read_at + delay_ms
            if not data:
                self.finished = True
                self.sink.shutdown(socket.SHUT_WR)
                self.chunks.clear()
                return None
            sent = self._send(data)
            self.kept -= sent
            if sent < len(data):
                self.blocked = True
                self.chunks[0] = (read_at, data[sent:])
                return None
            self.chunks.popleft()
        return None

    def _send(self, data: bytes) -> int:
        try:
            return self.sink.send(data)
        except BlockingIOError:
            return 0


class _Connection:
    """Two sockets and the two pipes between them.

    Thread: cluster-links
    """

    def __init__(self, door: Door, client: socket.socket) -> None:
        """Begin to connect to whoever stands behind the door. Raises OSError when nobody does."""
        self.door = door
        self.client = client
        self.server = socket.socket()
        self.caller = None if door.caller is None else Caller(door.caller, False)  # thread: cluster-links
        self._head: bytes | None = b""  # thread: cluster-links
        self.watched: dict[socket.socket, int] = {}  # thread: cluster-links
        self.connected = False  # thread: cluster-links
        for sock in (client, self.server):
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.there = _Pipe(client, self.server)
        self.back = _Pipe(self.server, client)
        self._connect()

    def _connect(self) -> None:
        try:
            with contextlib.suppress(BlockingIOError):
                self.server.connect(self.door.behind())
        except OSError:
            self.server.close()
            raise

    @property
    def is_over(self) -> bool:
        return self.there.finished and self.back.finished

    def close(self) -> None:
        self.client.close()
        self.server.close()

    def events(self, sock: socket.socket) -> int:
        """What to wait for at one of the two sockets; 0 for nothing."""
        inward, outward = (self.there, self.back) if sock is self.client else (self.back, self.there)
        if sock is self.server and not self.connected:
            return selectors.EVENT_WRITE
        reads = selectors.EVENT_READ if inward.reads else 0
        return reads | (selectors.EVENT_WRITE if outward.blocked and self._passes(outward) else 0)

    def take(self, sock: socket.socket, events: int, now: float) -> None:
        """Read what has come. Raises OSError."""
        if sock is self.server and not self.connected and events & selectors.EVENT_WRITE:
            error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, "nobody listens behind the proxy")
            self.connected = True
        if events & selectors.EVENT_READ:
            pipe = self.there if sock is self.client else self.back
            data = pipe.read(now)
            if data is not None and self._head is not None:
                self._look_at(pipe, self._head + data, not data)

    def _look_at(self, pipe: _Pipe, head: bytes, ended: bool) -> None:
        """Learn from a broker's first request who calls, or from ZooKeeper's first answer which session it is."""
        if self.door.caller is None and pipe is self.there:
            self.caller = Caller(None, False) if ended else caller_of(head)
            self._head = head if self.caller is None else None
        elif self.door.caller is not None and pipe is self.back:
            session = session_of(head)
            self._head = head if session is None else None
            if session is not None and session.id:
                self.door.session = session

    def give(self, now: float) -> float | None:
        """Write what may be written; the time at which more may, None when that does not depend on time."""
        if not self.connected:
            return None
        due = [pipe.write(now, self._delay(pipe)) for pipe in (self.there, self.back) if self._passes(pipe)]
        return min((time for time in due if time is not None), default=None)

    def _way(self, pipe: _Pipe) -> Way | None:
        """None between ends that no rule names."""
        if self.caller is None or self.caller.broker is None:
            return None
        ends: Way = (self.caller.broker, self.door.owner)
        return ends if pipe is self.there else ends[::-1]

    def _passes(self, pipe: _Pipe) -> bool:
        if self.caller is None:
            return False
        way = self._way(pipe)
        fetch = self._way(self.there) if self.caller.fetcher else None
        return way is None or self.door.rules.lets_pass(way, fetch)

    def _delay(self, pipe: _Pipe) -> float:
        way = self._way(pipe)
        return 0.0 if way is None else self.door.rules.delay_of(way)


class Door:
    """A port through which one end of links is reached.

    Thread: made by the cluster's owner, used by cluster-links
    """

    def __init__(self, rules: Rules, owner: End, behind: Callable[[], tuple[str, int]], caller: int | None) -> None:
        """``behind`` says where the owner itself listens; ``caller`` is the only one who comes here, if there is."""
        self.rules = rules
        self.owner: End = owner
        self.behind = behind
        self.caller = caller
        self.session: Session | None = None  # volatile: cluster-links writes it, the verbs read it
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.listener.setblocking(False)

    @property
    def port(self) -> int:
        port: int = self.listener.getsockname()[1]
        return port


class Links:
    """All doors of a cluster, and the thread that carries bytes through them.

    Thread: of its owner; the thread cluster-links does the work
    """

    def __init__(self, time: Time = Time.SYSTEM) -> None:
        self.rules = Rules()
        self._time = time
        self._doors: list[Door] = []  # handoff: owner -> cluster-links
        self._connections: list[_Connection] = []  # thread: cluster-links
        self._selector = selectors.DefaultSelector()
        # Written to wake the thread, and read by it; none before the start.
        self._wakeup: tuple[socket.socket, socket.socket] | None = None  # handoff: owner -> cluster-links
        self._closing = False  # volatile: written by the owner, read by cluster-links
        self._thread = KafkaThread.daemon_thread(THREAD_NAME, self._run)

    def open_door(self, owner: End, behind: Callable[[], tuple[str, int]], caller: int | None = None) -> Door:
        """A new port on loopback before the owner. Only before ``start``."""
        door = Door(self.rules, owner, behind, caller)
        self._doors.append(door)
        return door

    def start(self) -> None:
        """Begin to let callers in."""
        for door in self._doors:
            self._selector.register(door.listener, selectors.EVENT_READ, door)
        self._wakeup = socket.socketpair()
        self._wakeup[1].setblocking(False)
        self._selector.register(self._wakeup[1], selectors.EVENT_READ)
        self._thread.start()

    def notice(self) -> None:
        """The rules have changed: have the thread look at once."""
        if self._wakeup is not None:
            self._wakeup[0].send(b"!")

    def close(self) -> None:
        """End the thread and every connection; once more does nothing."""
        if self._closing:
            return
        self._closing = True
        if self._wakeup is not None:
            self.notice()
            self._thread.join()
            for sock in self._wakeup:
                sock.close()
        for door in self._doors:
            door.listener.close()
        self._selector.close()

    # -- On the thread

    def _run(self) -> None:
        due: float | None = None
        while not self._closing:
            wait_s = None if due is None else max(0.0, due - self._now()) / 1000
            for key, events in self._selector.select(wait_s):
                self._take(key.fileobj, key.data, events)
            due = self._give()
        for connection in list(self._connections):
            self._end(connection)

    def _now(self) -> float:
        return self._time.hi_res_clock_ms()

    def _take(self, sock: object, owner: object, events: int) -> None:
        if isinstance(owner, Door):
            self._let_in(owner)
        elif isinstance(owner, _Connection) and isinstance(sock, socket.socket):
            if owner in self._connections:  # not ended by an earlier event of this round
                self._guarded(owner, lambda: owner.take(sock, events, self._now()))
        elif isinstance(sock, socket.socket):
            sock.recv(_CHUNK)

    def _let_in(self, door: Door) -> None:
        try:
            client, _ = door.listener.accept()
        except BlockingIOError:
            return
        try:
            self._connections.append(_Connection(door, client))
        except OSError:
            client.close()

    def _guarded(self, connection: _Connection, action: Callable[[], float | None]) -> float | None:
        """Whatever breaks at one side breaks the connection at the other."""
        try:
            return action()
        except OSError:
            self._end(connection)
            return None

    def _give(self) -> float | None:
        """Write what may be written everywhere; the next time at which more may be."""
        due = []
        for connection in list(self._connections):
            due.append(self._guarded(connection, lambda it=connection: it.give(self._now())))  # type: ignore[misc]
            if connection.is_over:
                self._end(connection)
            if connection in self._connections:
                self._watch(connection)
        return min((time for time in due if time is not None), default=None)

    def _watch(self, connection: _Connection) -> None:
        watched = connection.watched
        for sock in (connection.client, connection.server):
            events, before = connection.events(sock), watched.get(sock, 0)
            if events == before:
                continue
            watched[sock] = events
            if not before:
                self._selector.register(sock, events, connection)
            elif events:
                self._selector.modify(sock, events, connection)
            else:
                self._selector.unregister(sock)

    def _end(self, connection: _Connection) -> None:
        if connection not in self._connections:
            return
        self._connections.remove(connection)
        for sock, events in connection.watched.items():
            if events:
                self._selector.unregister(sock)
        connection.close()
