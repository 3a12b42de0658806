"""A handle on one ZooKeeper session with the manners of ZooKeeper's Java client, on top of kazoo.

Mirrors: org.apache.zookeeper.ZooKeeper (what kafka.zookeeper.ZooKeeperClient uses of it)
Read next: zookeeper/zoo_keeper_client.py
"""

from __future__ import annotations

import enum
import itertools
import logging
import math
import select
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import (
    EXCEPTIONS,
    AuthFailedError,
    ConnectionClosedError,
    ConnectionDropped,
    KazooException,
    SessionExpiredError,
)
from kazoo.handlers.threading import _STOP, SequentialThreadingHandler
from kazoo.protocol.connection import AUTH_XID, CLOSE_RESPONSE, STOP_CONNECTING, ConnectionHandler
from kazoo.protocol.paths import _prefix_root
from kazoo.protocol.serialization import (
    Auth,
    CheckVersion,
    Close,
    Create,
    Delete,
    Exists,
    GetACL,
    GetChildren2,
    GetData,
    MultiHeader,
    SetACL,
    SetData,
    Transaction,
    Watch,
    int_struct,
    long_struct,
    read_string,
    stat_struct,
    write_string,
)
from kazoo.protocol.states import Callback
from kazoo.protocol.states import KeeperState as KazooKeeperState
from kazoo.retry import KazooRetry

from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.op import (
    CheckOp,
    CheckResult,
    CreateOp,
    CreateResult,
    DeleteOp,
    DeleteResult,
    ErrorResult,
    OpResult,
    SetDataOp,
    SetDataResult,
    ZkOp,
    first_error,
)
from kafka_py.zookeeper.zoo_defs import ACL, CreateMode, Id, Stat
from kafka_py.zookeeper.zoo_keeper_events import EventType, KeeperState, WatchedEvent

# What kazoo has to say is told again by ZooKeeperClient in Kafka's words.
_QUIET = logging.getLogger("kafka_py.zookeeper.kazoo")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
_QUIET.setLevel(logging.CRITICAL)

# Pause between two rounds over the server list: 50 ms doubling up to 1 s (the Java client waits up to 1 s as well).
_RETRY = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_jitter": 0.1, "max_delay": 1.0, "ignore_expire": False}


class States(enum.Enum):
    """Where a handle stands: a closed one never comes back.

    Mirrors: org.apache.zookeeper.ZooKeeper.States
    """

    CONNECTING = "CONNECTING"
    CONNECTED = "CONNECTED"
    CONNECTEDREADONLY = "CONNECTEDREADONLY"
    CLOSED = "CLOSED"
    AUTH_FAILED = "AUTH_FAILED"

    def is_connected(self) -> bool:
        """Whether requests reach a server now."""
        return self in (States.CONNECTED, States.CONNECTEDREADONLY)

    def is_alive(self) -> bool:
        """Whether the handle still has, or may still get, a session."""
        return self not in (States.CLOSED, States.AUTH_FAILED)

    def __str__(self) -> str:
        """The bare name, as Java prints it."""
        return self.value


# Bytes of one request to watch again; more are cut in pieces: a server closes the connection on one above 1 MB.
_SET_WATCHES_MAX_LENGTH = 128 * 1024

_RECEIVE_BYTES = 64 * 1024
_SENT_TOGETHER = 64
_MAX_XID = 2**31 - 1

Watcher = Callable[[WatchedEvent], None]
Callback2 = Callable[[Code, Any], None]

_STATES = {
    KazooKeeperState.CONNECTED: States.CONNECTED,
    KazooKeeperState.CONNECTED_RO: States.CONNECTEDREADONLY,
    KazooKeeperState.CONNECTING: States.CONNECTING,
    KazooKeeperState.AUTH_FAILED: States.AUTH_FAILED,
    KazooKeeperState.EXPIRED_SESSION: States.CLOSED,
    KazooKeeperState.CLOSED: States.CLOSED,
}
_EVENTS = {
    KazooKeeperState.CONNECTED: KeeperState.SYNC_CONNECTED,
    KazooKeeperState.CONNECTED_RO: KeeperState.CONNECTED_READ_ONLY,
    KazooKeeperState.CONNECTING: KeeperState.DISCONNECTED,
    KazooKeeperState.AUTH_FAILED: KeeperState.AUTH_FAILED,
    KazooKeeperState.EXPIRED_SESSION: KeeperState.EXPIRED,
}
# States that nothing leads out of, with what a request hears then.
_ENDS: dict[str, type[KazooException]] = {
    KazooKeeperState.CLOSED: ConnectionClosedError,
    KazooKeeperState.EXPIRED_SESSION: SessionExpiredError,
    KazooKeeperState.AUTH_FAILED: AuthFailedError,
}


class _SetWatches(NamedTuple):
    """Tells a server, after a reconnect, which watches the session had: kazoo has no such request."""

    relative_zxid: int
    data: Sequence[str]
    exist: Sequence[str]
    child: Sequence[str]

    @property
    def type(self) -> int:
        return 101

    def serialize(self) -> bytes:
        out = bytearray(long_struct.pack(self.relative_zxid))
        for paths in (self.data, self.exist, self.child):
            out += int_struct.pack(len(paths))
            for path in paths:
                out += write_string(path)
        return bytes(out)

    @staticmethod
    def deserialize(data: bytes, offset: int) -> bool:
        return True

    @classmethod
    def in_pieces(cls, relative_zxid: int, *kinds: set[str]) -> Iterator[_SetWatches]:
        """As many requests as it takes; kinds: paths watched for data, for coming into being, for children."""
        piece: tuple[list[str], list[str], list[str]] = ([], [], [])
        length = 0
        for paths, chosen in zip(kinds, piece, strict=True):
            for path in sorted(paths):
                chosen.append(path)
                length += 4 + len(path.encode())
                if length >= _SET_WATCHES_MAX_LENGTH:
                    yield cls(relative_zxid, *map(list, piece))
                    length = 0
                    for done in piece:
                        done.clear()
        if length:
            yield cls(relative_zxid, *piece)


class _Multi(Transaction):  # type: ignore[misc]  # kazoo carries no types
    """A transaction whose answer tells the result of each operation: kazoo's drops codes that it does not know."""

    __slots__ = ()

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[OpResult]:
        results: list[OpResult] = []
        header, offset = MultiHeader.deserialize(data, offset)
        while not header.done:
            if header.type == Create.type:
                path, offset = read_string(data, offset)
                results.append(CreateResult(path))
            elif header.type == Delete.type:
                results.append(DeleteResult())
            elif header.type == SetData.type:
                results.append(SetDataResult(Stat(*stat_struct.unpack_from(data, offset))))
                offset += stat_struct.size
            elif header.type == CheckVersion.type:
                results.append(CheckResult())
            else:
                (code,) = int_struct.unpack_from(data, offset)
                offset += int_struct.size
                results.append(ErrorResult(Code.get(code)))
            header, offset = MultiHeader.deserialize(data, offset)
        return results


class _Reply:
    """What kazoo calls with an answer; the callback runs on kazoo's connection thread, so it must not block.

    Only the first answer counts: kazoo gives two to a request that comes while the connection is being closed.
    """

    __slots__ = ("_callback", "_on_error", "_on_value", "_unanswered")

    def __init__(
        self,
        callback: Callback2,
        on_value: Callable[[Any], tuple[Code, Any]] | None = None,
        on_error: Callable[[Code], None] | None = None,
    ) -> None:
        self._callback = callback
        self._on_value = on_value
        self._on_error = on_error
        self._unanswered = [True]  # atomic: pop; who gets it answers

    def set(self, value: Any = None) -> None:
        if self._is_first():
            try:
                code, result = self._on_value(value) if self._on_value is not None else (Code.OK, value)
            except Exception:
                self._callback(Code.SYSTEMERROR, None)  # a value of the wrong shape: whoever waits must hear of it
                raise
            self._callback(code, result)

    def set_exception(self, exception: BaseException) -> None:
        if self._is_first():
            code = code_of(exception)
            if self._on_error is not None:
                self._on_error(code)
            self._callback(code, None)

    def _is_first(self) -> bool:
        try:
            return self._unanswered.pop()
        except IndexError:
            return False


def code_of(exception: BaseException) -> Code:
    """The result code behind one of kazoo's exceptions; a closed handle answers SESSIONEXPIRED as in Java."""
    if isinstance(exception, ConnectionClosedError):
        return Code.SESSIONEXPIRED
    number = getattr(exception, "code", None) if isinstance(exception, KazooException) else None
    return Code.SYSTEMERROR if number is None else Code.get(number)


def stat_of(stat: Any) -> Stat:
    """kazoo's stat in our names."""
    return Stat(*stat)


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo carries no types
    """kazoo's threads under the names of Java's client, and without a join inside close().

    Kafka closes a handle while it holds a lock that a watcher may want: waiting there for the watcher's thread would
    be a deadlock, so the owner calls join_workers() when it holds no lock any more.
    """

    _running: bool

    def start(self) -> None:
        with self._state_change:
            if not self._running:
                self._running = True
                self._workers.append(self._create_thread_worker(self.callback_queue))

    def stop(self) -> None:
        with self._state_change:
            if self._running:
                self._running = False
                self.callback_queue.put(_STOP)

    def select(
        self, rlist: Sequence[Any], wlist: Sequence[Any], xlist: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """As select.select; kazoo's opens an epoll descriptor each time, when there may be none left to open."""
        poll = select.poll()
        for sockets, event in ((rlist, select.POLLIN), (wlist, select.POLLOUT)):
            for sock in sockets:
                poll.register(sock, event)
        ready = {fd for fd, _ in poll.poll(None if timeout is None else max(0, math.ceil(timeout * 1000)))}
        return [s for s in rlist if s.fileno() in ready], [s for s in wlist if s.fileno() in ready], []

    def spawn(self, func: Callable[..., object], *args: object, **kwargs: object) -> threading.Thread:
        role = "SendThread" if getattr(func, "__name__", "") == "zk_loop" else "EventThread"
        name = f"{threading.current_thread().name}-{role}"
        thread = threading.Thread(target=func, args=args, kwargs=kwargs, name=name, daemon=True)
        thread.start()
        return thread

    def join_workers(self, timeout_s: float) -> None:
        for worker in self._workers:
            if worker is not threading.current_thread():
                worker.join(timeout_s)


def _is_plain(queued: tuple[Any, Any]) -> bool:
    """Not kazoo's test markers, which have no type, nor a request that begins or ends something."""
    return getattr(queued[0], "type", Auth.type) not in (Auth.type, Close.type)


class _Connection(ConnectionHandler):  # type: ignore[misc]  # kazoo carries no types
    """kazoo's connection with the manners of Java's client.

    Watch events go to our handle alone. Each attempt to connect that fails also fails the requests that wait for it
    (kazoo would let them wait until there is a server again, and the broker's threads with them). And an answer that
    makes no sense costs the connection, not the session: kazoo's thread would end, with requests that never hear of it
    and nobody to open a new session.

    Requests that wait are written together, and answers that have come are read together, as Java's client does.
    kazoo takes ten system calls for one request and its answer, most of what a broker did while it created partitions.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._received = bytearray()  # thread: connection
        self._xid = 0  # thread: connection

    def _connect(self, host: str, hostip: str, port: int) -> Any:
        self._received.clear()
        return super()._connect(host, hostip, port)

    def _read(self, length: int, timeout: float) -> bytes:
        """The next `length` bytes, with one look at the socket for all that are there."""
        received = self._received
        while len(received) < length:
            with self._socket_error_handling():
                if not self.handler.select([self._socket], [], [], timeout)[0]:
                    raise self.handler.timeout_exception("socket time-out during read")
                chunk = self._socket.recv(_RECEIVE_BYTES)
            if not chunk:
                raise ConnectionDropped("socket connection broken")
            received += chunk
        data = bytes(received[:length])
        del received[:length]
        return data

    def _read_socket(self, read_timeout: float) -> Any:
        """Handle what the server has sent: select would not tell of what we hold already."""
        while True:
            response = super()._read_socket(read_timeout)
            if response == CLOSE_RESPONSE or not self._holds_packet():
                return response

    def _holds_packet(self) -> bool:
        behind_size: int = len(self._received) - int_struct.size
        return behind_size >= 0 and behind_size >= int.from_bytes(self._received[: int_struct.size], "big")

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        """Write the requests that wait; kazoo knows what to do with one alone, or one that is not for the server."""
        queue = self.client._queue
        batch = list(itertools.takewhile(_is_plain, (queue[i] for i in range(min(len(queue), _SENT_TOGETHER)))))
        if len(batch) < 2:
            super()._send_request(read_timeout, connect_timeout)
            return
        packets, pending = bytearray(), []
        for request, reply in batch:
            xid = self._xid = (self._xid % _MAX_XID) + 1
            body = int_struct.pack(xid) + int_struct.pack(request.type) + request.serialize()
            packets += int_struct.pack(len(body)) + body
            pending.append((request, reply, xid))
        self._write(packets, connect_timeout)
        for sent in pending:
            queue.popleft()
            self.client._pending.append(sent)
        self._read_sock.recv(len(batch))  # one byte came with each; a straggler finds the queue empty

    def _connect_attempt(self, host: str, hostip: str, port: int, retry: Any) -> Any:
        try:
            status = super()._connect_attempt(host, hostip, port, retry)
        except Exception:  # noqa: BLE001  # whatever the server sent: kazoo has closed the socket, and we connect anew
            status = None
            self.client._session_callback(KazooKeeperState.CONNECTING)
        if status is not STOP_CONNECTING:
            self.client._notify_pending(KazooKeeperState.CONNECTING)
        return status

    def _read_header(self, timeout: float) -> Any:
        header, buffer, offset = super()._read_header(timeout)
        # kazoo would take it for the answer to whatever request is the next. Nothing is pending while the credentials
        # of a new connection are sent.
        if header.xid == AUTH_XID and self.client._pending:
            self._check_waited_for(header)
        return header, buffer, offset

    def _check_waited_for(self, header: Any) -> None:
        pending = self.client._pending
        if not pending or pending[0][2] != header.xid:
            raise ConnectionDropped(f"answer {header.xid} is not the one that is waited for")

    def _read_response(self, header: Any, buffer: bytes, offset: int) -> Any:
        self._check_waited_for(header)
        if header.err and header.err not in EXCEPTIONS:  # a later server's: no reason to lose the connection
            EXCEPTIONS[header.err] = type("UnknownCodeError", (KazooException,), {"code": header.err})
        return super()._read_response(header, buffer, offset)

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        watch, _ = Watch.deserialize(buffer, offset)
        self.client.on_watch(EventType(watch.type), watch.path)


class _Client(KazooClient):  # type: ignore[misc]  # kazoo carries no types
    """kazoo's client without a life after its session: an expired one stays closed.

    kazoo would open a new session by itself, and a broker would go on without its ephemeral nodes; and after a
    reconnect within the session kazoo forgets the watches, while Java's client registers them again.
    """

    def __init__(
        self,
        owner: ZooKeeper,
        hosts: str,
        timeout_s: float,
        auth_data: list[tuple[str, str]],
        client_id: tuple[int, bytes] | None,
    ) -> None:
        handler = _Handler()
        super().__init__(
            hosts=hosts,
            timeout=timeout_s,
            handler=handler,
            auth_data=auth_data,
            client_id=client_id,
            logger=_QUIET,
            connection_retry=KazooRetry(sleep_func=handler.sleep_func, **_RETRY),
        )
        self.owner = owner
        # kazoo calls itself closed until it first connects, and refuses requests; Java's client keeps them for then.
        self._state = KazooKeeperState.CONNECTING  # volatile: connection thread
        self._connection = _Connection(self, self._conn_retry.copy(), logger=_QUIET)

    def on_watch(self, event_type: EventType, path: str) -> None:
        self.owner.on_watch(event_type, path)

    def call(self, request: Any, reply: _Reply) -> None:
        self._call(request, reply)
        # kazoo looks at the state and queues in two steps; if the session has ended between them, nobody reads the
        # queue any more.
        end = _ENDS.get(self._state)
        if end is not None:
            reply.set_exception(end())

    def _session_callback(self, state: str) -> None:
        before = self._state
        # Java tells nothing of the connecting that comes before the first connection.
        changed = state != before and not (before == KazooKeeperState.CLOSED and state == KazooKeeperState.CONNECTING)
        # The session's number is wanted after its end, and kazoo's last zxid must outlive a lost connection.
        if state in (KazooKeeperState.EXPIRED_SESSION, KazooKeeperState.AUTH_FAILED):
            self._stopped.set()
        if changed and state in _EVENTS:
            self.owner.on_state(before, state, self._session_id)
        if before in (KazooKeeperState.EXPIRED_SESSION, KazooKeeperState.AUTH_FAILED):
            return  # the connection thread is on its way out: its CLOSED would hide why
        super()._session_callback(state)
        if changed and state in _EVENTS:
            self.owner.after_state(state)

    def _reset_watchers(self) -> None:
        self._child_watchers.clear()
        self._data_watchers.clear()


class ZooKeeper:
    """One session: requests with callbacks, watches that survive a reconnect, and an end that is final.

    Mirrors: org.apache.zookeeper.ZooKeeper
    Thread: callbacks of requests run on kazoo's connection thread, the watcher on its callback thread, in order.
    Locks: _watch_lock around the sets of watches.
    Differs: watches have no watcher of their own: every event goes to the watcher of the handle.
    """

    def __init__(
        self,
        connect_string: str,
        session_timeout_ms: int,
        watcher: Watcher,
        auth_data: Sequence[tuple[str, str]] = (),
        client_id: tuple[int, bytes] | None = None,
    ) -> None:
        """Start connecting and return at once; connect_string is `host:port,host:port/chroot`.

        client_id, a session's id and password, takes that session over.
        """
        self._watcher = watcher
        self._session_id = 0  # volatile: connection thread
        self._ended = False  # volatile: connection thread, close()
        self._watch_lock = ReentrantLock()
        self._data_watches: set[str] = set()  # guarded by: _watch_lock
        self._exist_watches: set[str] = set()  # guarded by: _watch_lock
        self._child_watches: set[str] = set()  # guarded by: _watch_lock
        self._client = _Client(self, connect_string, session_timeout_ms / 1000.0, list(auth_data), client_id)
        self._client.start_async()

    # ----- requests: callback(code, result) -----

    def exists(self, path: str, watch: bool, callback: Callback2) -> None:
        """Result: Stat; NONODE when absent, and then too the watch is set."""
        full = self._full(path)

        def on_value(stat: Any) -> tuple[Code, Any]:
            if watch:
                with self._watch_lock:
                    (self._exist_watches if stat is None else self._data_watches).add(full)
            return (Code.NONODE, None) if stat is None else (Code.OK, stat_of(stat))

        self._client.call(Exists(full, watch), _Reply(callback, on_value))

    def get_data(self, path: str, watch: bool, callback: Callback2) -> None:
        """Result: (data or None, Stat)."""
        full = self._full(path)

        def on_value(value: Any) -> tuple[Code, Any]:
            if watch:
                with self._watch_lock:
                    self._data_watches.add(full)
            return Code.OK, (value[0], stat_of(value[1]))

        self._client.call(GetData(full, watch), _Reply(callback, on_value))

    def get_children(self, path: str, watch: bool, callback: Callback2) -> None:
        """Result: (names, Stat)."""
        full = self._full(path)

        def on_value(value: Any) -> tuple[Code, Any]:
            if watch:
                with self._watch_lock:
                    self._child_watches.add(full)
            return Code.OK, (list(value[0]), stat_of(value[1]))

        self._client.call(GetChildren2(full, watch), _Reply(callback, on_value))

    def create(
        self, path: str, data: bytes | None, acl: Sequence[ACL], create_mode: CreateMode, callback: Callback2
    ) -> None:
        """Result: the node's path, with its number if it is sequential."""

        def on_value(name: str) -> tuple[Code, Any]:
            return Code.OK, self._client.unchroot(name)

        self._client.call(Create(self._full(path), data, acl, int(create_mode)), _Reply(callback, on_value))

    def set_data(self, path: str, data: bytes | None, version: int, callback: Callback2) -> None:
        """Result: Stat; version -1 writes whatever the node's version is."""
        self._client.call(SetData(self._full(path), data, version), _Reply(callback, _with_stat))

    def delete(self, path: str, version: int, callback: Callback2) -> None:
        """Result: None."""
        self._client.call(Delete(self._full(path), version), _Reply(callback, lambda _: (Code.OK, None)))

    def get_acl(self, path: str, callback: Callback2) -> None:
        """Result: (access list, Stat)."""

        def on_value(value: Any) -> tuple[Code, Any]:
            acls = [ACL(acl.perms, Id(acl.id.scheme, acl.id.id)) for acl in value[0]]
            return Code.OK, (acls, stat_of(value[1]))

        self._client.call(GetACL(self._full(path)), _Reply(callback, on_value))

    def set_acl(self, path: str, acl: Sequence[ACL], version: int, callback: Callback2) -> None:
        """Result: Stat."""
        self._client.call(SetACL(self._full(path), acl, version), _Reply(callback, _with_stat))

    def multi(self, ops: Sequence[ZkOp], callback: Callback2) -> None:
        """Result: an OpResult for each operation; the code is that of the operation that failed, if one has."""

        def on_value(results: list[OpResult]) -> tuple[Code, Any]:
            return first_error(results), [
                CreateResult(self._client.unchroot(result.path)) if isinstance(result, CreateResult) else result
                for result in results
            ]

        self._client.call(_Multi([self._kazoo_op(op) for op in ops]), _Reply(callback, on_value))

    def _kazoo_op(self, op: ZkOp) -> Any:
        path = self._full(op.path)
        match op:
            case CreateOp():
                return Create(path, op.data, op.acl, int(op.create_mode))
            case DeleteOp():
                return Delete(path, op.version)
            case SetDataOp():
                return SetData(path, op.data, op.version)
            case CheckOp():
                return CheckVersion(path, op.version)
        raise ValueError(f"Unexpected zkOp: {op}")

    # ----- the session -----

    def get_state(self) -> States:
        """Where the handle stands now."""
        state = _STATES[self._client.client_state]
        return States.CLOSED if self._ended and state is not States.AUTH_FAILED else state

    def get_session_id(self) -> int:
        """Number of the session, 0 before the first connection; kept after the session's end."""
        return self._client._session_id or self._session_id

    def get_session_passwd(self) -> bytes:
        """What a client must know beside the number to take over the session."""
        return bytes(self._client._session_passwd)

    def close(self) -> None:
        """End the session at the server; a second call does nothing. Does not wait for a running watcher."""
        self._ended = True
        if self._client._connection._connection_routine is None:
            return
        self._client.stop()
        self._client._safe_close()  # when the session has ended by itself, stop() left the threads to us
        self._client.close()

    def join(self, timeout_ms: int = 5000) -> None:
        """Wait for the watcher's thread to end after close(); hold no lock that a watcher may want."""
        self._client.handler.join_workers(timeout_ms / 1000.0)

    # ----- called by the connection thread -----

    def on_state(self, before: str, state: str, session_id: int | None) -> None:
        """Note what kazoo is about to forget."""
        self._session_id = session_id or self._session_id
        if state == KazooKeeperState.EXPIRED_SESSION:
            self._ended = True

    def after_state(self, state: str) -> None:
        """Register the watches anew after a reconnect, and tell the watcher of the change."""
        if state in (KazooKeeperState.CONNECTED, KazooKeeperState.CONNECTED_RO):
            self._set_watches()
        elif state == KazooKeeperState.EXPIRED_SESSION:
            with self._watch_lock:
                for watches in (self._data_watches, self._exist_watches, self._child_watches):
                    watches.clear()
        self._dispatch(WatchedEvent(EventType.NONE, _EVENTS[state], None))

    def on_watch(self, event_type: EventType, full: str) -> None:
        """A watch fired: it is used up, here as on the server."""
        with self._watch_lock:
            if event_type != EventType.NODE_CHILDREN_CHANGED:
                self._data_watches.discard(full)
                self._exist_watches.discard(full)
            if event_type in (EventType.NODE_CHILDREN_CHANGED, EventType.NODE_DELETED):
                self._child_watches.discard(full)
        self._dispatch(WatchedEvent(event_type, KeeperState.SYNC_CONNECTED, self._client.unchroot(full)))

    def _dispatch(self, event: WatchedEvent) -> None:
        self._client.handler.dispatch_callback(Callback("watch", self._watcher, (event,)))

    def _set_watches(self) -> None:
        """Ask the server to watch again all that was watched; what changed meanwhile it tells at once."""
        with self._watch_lock:
            watches = (self._data_watches, self._exist_watches, self._child_watches)
            requests = list(_SetWatches.in_pieces(self._client.last_zxid, *watches))
        for request in requests:
            self._client.call(request, _Reply(lambda code, result: None))

    def _full(self, path: str) -> str:
        """The path with the chroot before it; raises ValueError for what is no path, as Java's client does."""
        if not path.startswith("/"):
            raise ValueError(f'Invalid path string "{path}" caused by: Path must start with / character')
        if path != "/" and any(part in ("", ".", "..") for part in path[1:].split("/")):
            raise ValueError(f'Invalid path string "{path}" caused by an empty or relative node name')
        return str(_prefix_root(self._client.chroot, path))


def _with_stat(stat: Any) -> tuple[Code, Any]:
    return Code.OK, stat_of(stat)
