"""A single-node ZooKeeper: speaks the client protocol to kazoo and Java clients, and keeps its tree on disk.

It has no ensemble: when its machine fails, ZooKeeper is gone until the machine is back. For more than one machine run
Apache ZooKeeper (`bin/zookeeper-server-start.py --real`, or any other) and name it in zookeeper.connect.

One thread serves all clients: each turn reads all sockets that are ready, carries out their requests, hands the
changes to the thread that brings them to disk, and lets those replies go whose changes are there. So it hears its
clients, and answers their pings, however long the disk takes.

Read next: embedded/request_processor.py (the requests), embedded/data_tree.py, embedded/sync_request_processor.py,
embedded/txn_log.py
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import selectors
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kafka_py.common.utils.time import Time
from kafka_py.embedded.four_letter_words import COMMANDS
from kafka_py.embedded.jute import JuteException, Reader, Writer
from kafka_py.embedded.request_processor import RequestProcessor
from kafka_py.embedded.sync_request_processor import Synced, SyncRequestProcessor
from kafka_py.embedded.txn_log import TxnLog
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.logging import Logging
from kafka_py.xray.held_time import HeldTime
from kafka_py.zookeeper.zoo_defs import Id

if TYPE_CHECKING:
    from types import TracebackType

_LENGTH = struct.Struct(">i")
_REPLY_HEADER = struct.Struct(">iqi")
_MAX_REQUEST = 0xFFFFF + 1024  # jute.maxbuffer of ZooKeeper, and the room it allows above it
_RECEIVE = 1 << 16
_MAX_UNSENT = 1 << 22  # bytes of answers; a client that does not take them is not read any further
_SESSIONLESS_TIMEOUT_MS = 10_000  # for a connection without a session, as in ZooKeeper
_ACCEPT_PAUSE_MS = 1000  # after an accept that failed, as it does without free file descriptors


class _Held:
    """Answers that wait until a batch of the log is on disk."""

    __slots__ = ("answers", "count", "number")

    def __init__(self, number: int) -> None:
        """None yet, for the batch of that number."""
        self.number = number
        self.answers = bytearray()  # thread: of the server
        self.count = 0  # thread: of the server


class ServerCnxn(Logging):
    """One client's connection: bytes in, replies out, and the session it speaks for.

    Thread: the server's.
    """

    logger_name = "kafka_py.embedded.ServerCnxn"

    def __init__(self, server: ZooKeeperServer, sock: socket.socket, address: tuple[str, int]) -> None:
        """A connection whose session is not known yet."""
        self.server = server
        self.socket = sock
        self.address = address
        self.session_id = 0  # thread: of the server
        self.auth_ids = [Id("ip", address[0])]  # thread: of the server
        self.received = 0  # thread: of the server
        self.sent = 0  # thread: of the server
        self._in = bytearray()  # thread: of the server
        self._out = bytearray()  # thread: of the server
        self._held: deque[_Held] = deque()  # thread: of the server
        self._held_size = 0  # thread: of the server
        self._closing = False  # thread: of the server
        self._closed = False  # thread: of the server
        self._held_back = False  # thread: of the server
        self._events = selectors.EVENT_READ  # thread: of the server

    # ----- in -----

    def read(self) -> None:
        """Take what the socket has, and carry out the requests in it."""
        if self._closing:
            return
        try:
            data = self.socket.recv(_RECEIVE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._in += data
        self.process_input()

    def hear_out(self) -> None:
        """Before the session is given up: what has arrived counts, and so does what we leave unread for the disk."""
        if self._held_back and (self._held or self.server.sync.is_full):
            self.server.touch(self.session_id)
        elif not self._closed:
            self.read()

    def process_input(self) -> None:
        """Carry out the requests that have come, as far as there is room for their answers."""
        try:
            self._process_input()
        except (JuteException, struct.error) as e:
            self.warn("Closing the connection of %s: %s", self.address, e)
            self._in.clear()
            self.close_after_replies()

    def _process_input(self) -> None:
        position = 0
        while len(self._in) - position >= 4 and not self._closing and not self._closed and not self._is_full:
            length = _LENGTH.unpack_from(self._in, position)[0]
            if not self.session_id and position == 0:
                command = COMMANDS.get(bytes(self._in[:4]))
                if command is not None:
                    self._out += command(self.server, self).encode()
                    self.close_after_replies()
                    return
            if not 0 <= length <= _MAX_REQUEST:
                raise JuteException(f"Len error {length}")
            end = position + 4 + length
            if end > len(self._in):
                break
            self._process(bytes(self._in[position + 4 : end]))
            position = end
        del self._in[:position]
        self._held_back = self._is_full
        if self._held_back:
            self.server.held[self] = self.server.dirty[self] = None

    def _process(self, request: bytes) -> None:
        self.received += 1
        self.server.received += 1
        if self.session_id:
            self.server.touch(self.session_id)
            self.server.processor.process(self, request)
        else:
            self._connect(Reader(request))

    def _connect(self, reader: Reader) -> None:
        """The first request opens a session or resumes one; a session that is gone is answered with timeout 0."""
        reader.read_int()
        last_zxid_seen, timeout_ms = reader.read_long(), reader.read_int()
        session_id, passwd = reader.read_long(), reader.read_buffer()
        knows_read_only = reader.remaining > 0
        if last_zxid_seen > self.server.tree.last_zxid:
            self.warn(
                "Refusing session request for client %s as it has seen zxid 0x%x our last zxid is 0x%x client must try "
                "another server",
                self.address,
                last_zxid_seen,
                self.server.tree.last_zxid,
            )
            self.close()
            return
        self.session_id, timeout_ms = self.server.open_session(self, session_id, passwd, timeout_ms)
        out = Writer().write_int(0).write_int(timeout_ms).write_long(self.session_id)
        out.write_buffer(password_of(self.session_id) if self.session_id else bytes(16))
        if knows_read_only:
            out.write_bool(False)
        self._send(out.out)
        if self.session_id:
            self.server.sessionless.pop(self, None)
        else:
            self.close_after_replies()

    # ----- out -----

    @property
    def _is_full(self) -> bool:
        return len(self._out) + self._held_size >= _MAX_UNSENT or self.server.sync.is_full

    @property
    def outstanding(self) -> int:
        """How many answers wait for the disk."""
        return sum(held.count for held in self._held)

    def reply(self, xid: int, zxid: int, code: int, body: bytes | bytearray) -> None:
        """Send an answer once everything that it may tell of is on disk."""
        self._send(_REPLY_HEADER.pack(xid, zxid, code) + body)

    def pong(self, xid: int) -> None:
        """Answer a ping at once: it tells of nothing, and clients take it out of order."""
        self._out += _LENGTH.pack(_REPLY_HEADER.size)
        self._out += _REPLY_HEADER.pack(xid, self.server.synced.zxid, 0)
        self._count_sent()
        self.server.dirty[self] = None

    def _send(self, message: bytes | bytearray) -> None:
        if self._closed:
            return
        server = self.server
        number = server.sync.number
        if number > server.synced.number:
            if not self._held or self._held[-1].number != number:
                self._held.append(_Held(number))
                server.held[self] = None
            held = self._held[-1]
            held.count += 1
            out = held.answers
            self._held_size += _LENGTH.size + len(message)
        else:
            out = self._out
            server.dirty[self] = None
        out += _LENGTH.pack(len(message))
        out += message
        self._count_sent()

    def _count_sent(self) -> None:
        self.sent += 1
        self.server.sent += 1

    def release(self, number: int) -> None:
        """The log is on disk up to that batch: what has waited for it may leave."""
        while self._held and self._held[0].number <= number:
            answers = self._held.popleft().answers
            self._held_size -= len(answers)
            self._out += answers
        if not self._held:
            self.server.held.pop(self, None)
        self.server.dirty[self] = None

    def close_after_replies(self) -> None:
        """Read no more, and close once all answers are sent."""
        self._closing = True
        self.server.dirty[self] = None

    def flush(self) -> None:
        """Write what the socket takes; the rest goes when it takes more."""
        if self._closed:
            return
        if self._out:
            try:
                sent = self.socket.send(self._out)
            except BlockingIOError:
                sent = 0
            except OSError:
                self.close()
                return
            del self._out[:sent]
        if not self._out and not self._held and self._closing:
            self.close()
            return
        events = selectors.EVENT_WRITE if self._out else 0
        if not self._closing and not self._is_full:
            events |= selectors.EVENT_READ
            if self._held_back:
                self.server.waiting[self] = None
        if events != self._events:
            self._watch(events)

    def _watch(self, events: int) -> None:
        """Tell the selector what to wait for; it does not take 0."""
        selector = self.server.selector
        if not events:
            selector.unregister(self.socket)
        elif not self._events:
            selector.register(self.socket, events, self)
        else:
            selector.modify(self.socket, events, self)
        self._events = events

    def close(self) -> None:
        """Drop the connection; the session lives on until its timeout."""
        if not self._closed:
            self._closed = True
            if self._events:
                self._watch(0)
            self.server.forget(self)
            self.socket.close()


class ZooKeeperServer(Logging):
    """The server: a listening socket, the sessions, and the thread that serves them.

    Thread: one, named NIOServerCxnFactory as in ZooKeeper, beside the SyncThread:0 of its SyncRequestProcessor; startup
        and shutdown are called from outside.
    """

    logger_name = "kafka_py.embedded.ZooKeeperServer"

    def __init__(
        self,
        data_dir: str | os.PathLike[str],
        port: int = 0,
        host: str = "127.0.0.1",
        tick_time: int = 3000,
        max_client_cnxns: int = 60,
        force_sync: bool = True,
        snap_count: int = 100_000,
        min_session_timeout: int = -1,
        max_session_timeout: int = -1,
        time: Time | None = None,
    ) -> None:
        """Times in ms; port 0 takes a free one; session timeouts default to 2 and 20 ticks, as in ZooKeeper."""
        self.host = host
        self.port = port  # volatile: startup
        self.tick_time = tick_time
        self.min_session_timeout = min_session_timeout if min_session_timeout > 0 else tick_time * 2
        self.max_session_timeout = max_session_timeout if max_session_timeout > 0 else tick_time * 20
        self.max_client_cnxns = max_client_cnxns
        self._time = time or Time.SYSTEM
        self.held_time = time if isinstance(time, HeldTime) else None
        self._txn_log = TxnLog(data_dir, force_sync, snap_count)
        self.data_dir = data_dir
        self.received = 0  # thread: of the server
        self.sent = 0  # thread: of the server
        self.selector = selectors.DefaultSelector()  # thread: of the server
        self.connections: dict[ServerCnxn, None] = {}  # thread: of the server
        self.dirty: dict[ServerCnxn, None] = {}  # thread: of the server
        self.waiting: dict[ServerCnxn, None] = {}  # thread: of the server
        self.held: dict[ServerCnxn, None] = {}  # thread: of the server
        self.synced = Synced(0, 0)  # thread: of the server
        self.sessionless: dict[ServerCnxn, int] = {}  # thread: of the server
        self._accept_again_ms = 0  # thread: of the server
        self._by_session: dict[int, ServerCnxn] = {}  # thread: of the server
        self._deadlines: dict[int, int] = {}  # thread: of the server
        self._next_session_id = 0  # thread: of the server
        self._listener: socket.socket | None = None  # volatile: startup, shutdown
        self._wakeup: tuple[socket.socket, socket.socket] | None = None  # volatile: startup, shutdown
        self._running = False  # volatile: startup, shutdown
        self.has_failed = False  # volatile: thread of the server
        self._actions: list[Callable[[], None]] = []  # atomic: append, pop
        self._thread: threading.Thread | None = None  # volatile: startup
        self._stopped = CountDownLatch(1)

    @property
    def connect_string(self) -> str:
        """`host:port`, for zookeeper.connect."""
        return f"{self.host}:{self.port}"

    def startup(self) -> ZooKeeperServer:
        """Read the tree from disk, listen, and start the thread; raises OSError when the port or the data is taken."""
        self.tree = self._txn_log.recover()
        self.processor = RequestProcessor(self.tree, self._txn_log, self._time)
        self.sync = SyncRequestProcessor(self._txn_log, self.tree.last_zxid, self._wake)
        self.synced = self.sync.synced
        self._next_session_id = (self._time.milliseconds() << 24 & 0xFFFFFFFFFFFFFF) | 1 << 56
        for session_id in self.tree.sessions:
            self.touch(session_id)  # its client gets a whole timeout to find us again
        try:
            self._listener = listener = socket.create_server((self.host, self.port), backlog=128)
        except OSError:
            self._txn_log.close()
            raise
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        self._wakeup = socket.socketpair()
        self.selector.register(listener, selectors.EVENT_READ, None)
        self.selector.register(self._wakeup[0], selectors.EVENT_READ, None)
        self._running = True
        self.sync.startup()
        self._thread = threading.Thread(target=self._run, name="NIOServerCxnFactory", daemon=True)
        self._thread.start()
        self.info("binding to port %s:%d", self.host, self.port)
        self.warn("This ZooKeeper has no ensemble: it is for one machine only. Its data is in %s", self._txn_log.folder)
        return self

    def shutdown(self) -> None:
        """Stop serving; sessions stay, and may be resumed after the next startup within their timeouts."""
        if self._thread is not None:
            self._running = False
            self._wake()
            self._thread.join()
            self._thread = None

    def await_shutdown(self) -> None:
        """Wait until the server has stopped."""
        self._stopped.await_()

    def __enter__(self) -> ZooKeeperServer:
        """Start."""
        return self.startup()

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        """Stop."""
        self.shutdown()

    def expire_session(self, session_id: int) -> None:
        """End a session as if its client had been silent for too long; for tests and labs."""
        self.run_on_server_thread(lambda: self._expire(session_id))

    def drop_connections(self) -> None:
        """Close all connections, and leave the sessions; for tests and labs."""

        def drop() -> None:
            for connection in list(self.connections):
                connection.close()

        self.run_on_server_thread(drop)

    def run_on_server_thread(self, action: Callable[[], None]) -> None:
        """Have the server's thread do something, and wait until it is done."""
        done = CountDownLatch(1)

        def run() -> None:
            try:
                action()
            finally:
                done.count_down()

        self._actions.append(run)
        self._wake()
        done.await_()

    def _wake(self) -> None:
        if self._wakeup is not None:
            with contextlib.suppress(OSError):  # the thread has ended by itself, and needs no waking
                self._wakeup[1].send(b"\0")

    # ----- the thread -----

    def _run(self) -> None:
        try:
            while self._running:
                self._turn()
            self._finish()
        except Exception as e:  # noqa: BLE001  the thread's outermost handler
            # Most likely a log that cannot be written or synced: nobody must hear an answer that may be lost.
            self.has_failed = True
            self.fatal("The transaction log failed, stopping: replies that wait are not sent", exc=e)
        finally:
            self._close()

    def _turn(self) -> None:
        """One round: read and carry out what has come, pass it on to the disk, answer what is there."""
        for key, mask in self.selector.select(self._select_timeout_s()):
            connection = key.data
            if connection is None:
                self._service(key.fileobj)
            else:
                if mask & selectors.EVENT_WRITE:
                    self.dirty[connection] = None
                if mask & selectors.EVENT_READ:
                    connection.read()
        waiting, self.waiting = self.waiting, {}
        for connection in waiting:
            connection.process_input()
        self._expire_sessions()
        self._expire_sessionless()
        while self._actions:
            self._actions.pop(0)()
        if self.sync.submit(self.tree):
            self.sync.await_progress()
        self._release()
        self._flush()

    def _release(self) -> None:
        """Let the answers go whose changes have come to disk since the last time; raises what made the disk fail."""
        if self.sync.failure is not None:
            raise self.sync.failure
        if self.sync.synced is not self.synced:
            self.synced = self.sync.synced
            for connection in list(self.held):
                connection.release(self.synced.number)

    def _finish(self) -> None:
        """Bring to disk and answer what was read."""
        self.sync.submit(self.tree)
        self.sync.shutdown()
        self._release()
        self._flush()

    def _flush(self) -> None:
        while self.dirty:
            dirty, self.dirty = self.dirty, {}
            for connection in dirty:
                connection.flush()

    def _service(self, fileobj: object) -> None:
        if self._wakeup is not None and fileobj is self._wakeup[0]:
            self._wakeup[0].recv(_RECEIVE)
        else:
            self._accept()

    def _accept(self) -> bool:
        """Accept one connection; whether there was one."""
        assert self._listener is not None
        try:
            sock, address = self._listener.accept()
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                self.error("Cannot accept a connection", exc=e)
                self.selector.unregister(self._listener)  # which stays ready: each turn would fail anew
                self._accept_again_ms = self._time.hi_res_clock_ms() + _ACCEPT_PAUSE_MS
            return False
        sock.setblocking(False)
        with contextlib.suppress(OSError):  # some systems refuse it for a client that has gone again already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        same_host = sum(1 for other in self.connections if other.address[0] == address[0])
        if 0 < self.max_client_cnxns <= same_host:
            self.warn("Too many connections from %s - max is %d", address[0], self.max_client_cnxns)
            sock.close()
            return True
        connection = ServerCnxn(self, sock, address[:2])
        self.connections[connection] = None
        self.sessionless[connection] = self._time.hi_res_clock_ms() + _SESSIONLESS_TIMEOUT_MS
        self.selector.register(sock, selectors.EVENT_READ, connection)
        return True

    def _close(self) -> None:
        self.sync.shutdown()
        for connection in list(self.connections):
            connection.close()
        self.selector.close()
        for sock in (self._listener, *(self._wakeup or ())):
            if sock is not None:
                sock.close()
        with contextlib.suppress(OSError):  # already told by _run
            self._txn_log.close()
        self._stopped.count_down()

    # ----- sessions -----

    def open_session(
        self, connection: ServerCnxn, session_id: int, passwd: bytes | None, timeout_ms: int
    ) -> tuple[int, int]:
        """(session, its timeout): a new one for id 0, else the one asked for; (0, 0) when that is gone."""
        timeout_ms = min(max(timeout_ms, self.min_session_timeout), self.max_session_timeout)
        if session_id == 0:
            self._next_session_id += 1
            session_id = self._next_session_id
            self.processor.create_session(session_id, timeout_ms)
        elif session_id not in self.tree.sessions or passwd != password_of(session_id):
            return 0, 0
        elif (before := self._by_session.get(session_id)) is not None:
            before.close()  # the client has moved to this connection
        timeout_ms = self.tree.sessions[session_id]
        self._by_session[session_id] = connection
        self.touch(session_id)
        return session_id, timeout_ms

    def touch(self, session_id: int) -> None:
        """The session's client is alive."""
        timeout_ms = self.tree.sessions.get(session_id)
        if timeout_ms is not None:
            self._deadlines[session_id] = self._time.hi_res_clock_ms() + timeout_ms

    def _select_timeout_s(self) -> float:
        if self.dirty or self.waiting or self._actions:
            return 0
        now = self._time.hi_res_clock_ms()
        until = min(self._deadlines.values(), default=now + self.tick_time)
        if self._accept_again_ms:
            until = min(until, self._accept_again_ms)
        return min(max(until - now, 0), self.tick_time) / 1000

    def _expire_sessions(self) -> None:
        now = self._time.hi_res_clock_ms()
        due = self._due(now)
        if due:
            self._hear_out(due)
            due = self._due(now)
        for session_id in due:
            if session_id in self.tree.sessions:
                self.info("Expiring session 0x%x, timeout of %dms exceeded", session_id, self.tree.sessions[session_id])
            self._expire(session_id)

    def _due(self, now: int) -> list[int]:
        return [session_id for session_id, deadline in self._deadlines.items() if deadline <= now]

    def _hear_out(self, due: Iterable[int]) -> None:
        """Read what these sessions' clients have sent while we were not scheduled, also over new connections."""
        if not self._accept_again_ms:
            while self._accept():
                continue
        heard = [self._by_session[session_id] for session_id in due if session_id in self._by_session]
        for connection in [*heard, *self.sessionless]:
            connection.hear_out()

    def _expire_sessionless(self) -> None:
        """Close connections that never began a session; and accept others again when it is time for it."""
        now = self._time.hi_res_clock_ms()
        while self.sessionless:
            connection, deadline = next(iter(self.sessionless.items()))  # the oldest
            if deadline > now:
                break
            self.warn("Closing the connection of %s: it has no session", connection.address)
            connection.close()
        if 0 < self._accept_again_ms <= now and self._listener is not None:
            self._accept_again_ms = 0
            self.selector.register(self._listener, selectors.EVENT_READ, None)

    def _expire(self, session_id: int) -> None:
        self._deadlines.pop(session_id, None)
        connection = self._by_session.get(session_id)
        if connection is not None:
            connection.close()
        self.processor.close_session(session_id)

    def forget(self, connection: ServerCnxn) -> None:
        """A connection is being closed."""
        self.connections.pop(connection, None)
        self.dirty.pop(connection, None)
        self.waiting.pop(connection, None)
        self.held.pop(connection, None)
        self.sessionless.pop(connection, None)
        self.processor.watches.remove_connection(connection)
        if self._by_session.get(connection.session_id) is connection:
            del self._by_session[connection.session_id]


def password_of(session_id: int) -> bytes:
    """The 16 bytes that a client shows to resume a session; as in ZooKeeper they follow from the id."""
    return hashlib.sha256(b"kafka_py embedded session %d" % session_id).digest()[:16]
