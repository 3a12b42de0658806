"""What each request does: decode it, check it, change the tree, log the change, answer.

Runs on the server's thread. Replies are collected in the connections and leave only after the log is on disk.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from kafka_py.embedded.data_tree import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DataTree,
    DeleteTxn,
    SetDataTxn,
    TreeException,
    Txn,
    validate_path,
)
from kafka_py.embedded.jute import JuteException, Reader, Writer
from kafka_py.embedded.txn_log import LoggedTxn, TxnLog
from kafka_py.embedded.watch_manager import WatchManager
from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.zoo_defs import ACL, Id, Perms
from kafka_py.zookeeper.zoo_keeper_events import EventType

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time

_EPHEMERAL, _SEQUENTIAL = 1, 2


class OpCode:
    """Numbers of the requests (org.apache.zookeeper.ZooDefs.OpCode)."""

    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN2 = 12
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    AUTH = 100
    SET_WATCHES = 101
    GET_EPHEMERALS = 103
    GET_ALL_CHILDREN_NUMBER = 104
    SET_WATCHES2 = 105
    WHO_AM_I = 107
    CLOSE_SESSION = -11


class Connection(Protocol):
    """What the processor needs of a client's connection."""

    session_id: int
    auth_ids: list[Id]

    def reply(self, xid: int, zxid: int, code: int, body: bytes | bytearray) -> None:
        """Send an answer once the log is on disk."""

    def pong(self, xid: int) -> None:
        """Answer a ping at once."""

    def close_after_replies(self) -> None:
        """Close once all answers are sent."""


class RequestProcessor:
    """The operations of ZooKeeper on one tree.

    Thread: the server's; nothing here is synchronised.
    """

    def __init__(self, tree: DataTree, log: TxnLog, time: Time) -> None:
        """Work on that tree, and log to that log."""
        self.tree = tree
        self.watches = WatchManager()
        self._log = log
        self._time = time
        self._events: list[tuple[EventType, str]] = []  # thread: of the server
        self._operations: dict[int, Callable[[Connection, Reader], bytearray]] = {
            OpCode.CREATE: lambda c, r: Writer().write_string(self._create(c, r)).out,
            OpCode.CREATE2: self._create2,
            OpCode.DELETE: self._delete,
            OpCode.SET_DATA: self._set_data,
            OpCode.SET_ACL: self._set_acl,
            OpCode.MULTI: self._multi,
            OpCode.EXISTS: self._exists,
            OpCode.GET_DATA: self._get_data,
            OpCode.GET_ACL: self._get_acl,
            OpCode.GET_CHILDREN: lambda c, r: self._get_children(c, r).out,
            OpCode.GET_CHILDREN2: self._get_children2,
            OpCode.SYNC: lambda c, r: Writer().write_string(r.read_string()).out,
            OpCode.SET_WATCHES: self._set_watches,
            OpCode.SET_WATCHES2: self._set_watches,
            OpCode.CHECK_WATCHES: self._check_watches,
            OpCode.REMOVE_WATCHES: self._remove_watches,
            OpCode.GET_EPHEMERALS: self._get_ephemerals,
            OpCode.GET_ALL_CHILDREN_NUMBER: self._get_all_children_number,
            OpCode.WHO_AM_I: self._who_am_i,
        }

    def process(self, connection: Connection, request: bytes) -> None:
        """Carry out one request and answer it; raises JuteException for bytes that are no request."""
        reader = Reader(request)
        xid, kind = reader.read_int(), reader.read_int()
        if kind == OpCode.PING:
            connection.pong(xid)
            return
        if kind == OpCode.AUTH:
            self._auth(connection, xid, reader)
            return
        if kind == OpCode.CLOSE_SESSION:
            self.close_session(connection.session_id)
            connection.reply(xid, self.tree.last_zxid, Code.OK, b"")
            connection.close_after_replies()
            return
        operation = self._operations.get(kind)
        body: bytearray = bytearray()
        code = Code.UNIMPLEMENTED
        if operation is not None:
            try:
                body = operation(connection, reader)
                code = Code.OK
            except TreeException as e:
                code = e.code
        connection.reply(xid, self.tree.last_zxid, code, body)

    # ----- sessions -----

    def create_session(self, session_id: int, timeout_ms: int) -> None:
        """Begin a session."""
        self._commit([CreateSessionTxn(session_id, timeout_ms)])

    def close_session(self, session_id: int) -> None:
        """End a session, and remove its ephemeral nodes."""
        if session_id in self.tree.sessions:
            self._commit([CloseSessionTxn(session_id)])

    # ----- writing -----

    def _commit(self, txns: list[Txn]) -> None:
        """Give the transactions the next zxid, carry them out, log them, and tell the watchers."""
        zxid, now = self.tree.last_zxid + 1, self._time.milliseconds()
        for txn in txns:
            self.tree.apply(txn, zxid, now, self._note)
        self._log.append(LoggedTxn(zxid, now, txns))
        self._tell()

    def _note(self, event_type: EventType, path: str) -> None:
        self._events.append((event_type, path))

    def _tell(self) -> None:
        events, self._events = self._events, []
        for event_type, path in events:
            self.watches.trigger(event_type, path)

    def _read_create(self, connection: Connection, reader: Reader) -> CreateTxn:
        path, data, acl, flags = reader.read_string(), reader.read_buffer(), reader.read_acl(), reader.read_int()
        if not 0 <= flags <= 3:
            raise TreeException(Code.UNIMPLEMENTED)  # containers and TTL nodes
        sequential = bool(flags & _SEQUENTIAL)
        validate_path(path, sequential)
        owner = connection.session_id if flags & _EPHEMERAL else 0
        self._check_parent_acl(connection, path, Perms.CREATE)
        return self.tree.prepare_create(path, data, self._fix_acl(connection, acl), owner, sequential)

    def _create(self, connection: Connection, reader: Reader) -> str:
        txn = self._read_create(connection, reader)
        self._commit([txn])
        return txn.path

    def _create2(self, connection: Connection, reader: Reader) -> bytearray:
        path = self._create(connection, reader)
        return Writer().write_string(path).write_stat(self.tree.node(path).stat()).out

    def _read_delete(self, connection: Connection, reader: Reader) -> DeleteTxn:
        path, version = reader.read_string(), reader.read_int()
        self._check_parent_acl(connection, path, Perms.DELETE)
        return self.tree.prepare_delete(path, version)

    def _delete(self, connection: Connection, reader: Reader) -> bytearray:
        self._commit([self._read_delete(connection, reader)])
        return bytearray()

    def _read_set_data(self, connection: Connection, reader: Reader) -> SetDataTxn:
        path, data, version = reader.read_string(), reader.read_buffer(), reader.read_int()
        validate_path(path)
        self._check_acl(connection, self.tree.node(path).acl, Perms.WRITE)
        return self.tree.prepare_set_data(path, data, version)

    def _set_data(self, connection: Connection, reader: Reader) -> bytearray:
        txn = self._read_set_data(connection, reader)
        self._commit([txn])
        return self._stat(txn.path)

    def _set_acl(self, connection: Connection, reader: Reader) -> bytearray:
        path, acl, version = reader.read_string(), reader.read_acl(), reader.read_int()
        validate_path(path)
        fixed = self._fix_acl(connection, acl)
        self._check_acl(connection, self.tree.node(path).acl, Perms.ADMIN)
        self._commit([self.tree.prepare_set_acl(path, fixed, version)])
        return self._stat(path)

    def _stat(self, path: str) -> bytearray:
        return Writer().write_stat(self.tree.node(path).stat()).out

    # ----- multi: all or nothing -----

    def _multi(self, connection: Connection, reader: Reader) -> bytearray:
        """Carry out the operations in order under one zxid; the first that fails takes back those before it."""
        tree, before = self.tree, self.tree.last_zxid
        zxid, now = before + 1, self._time.milliseconds()
        txns: list[Txn] = []
        results: list[tuple[int, bytearray]] = []
        failed: Code | None = None
        kinds: list[int] = []
        tree.begin()
        try:
            while True:
                kind, done = reader.read_int(), reader.read_bool()
                reader.read_int()
                if done:
                    break
                kinds.append(kind)
                if failed is not None:
                    self._skip(kind, reader)
                    continue
                try:
                    txn, result = self._part(kind, connection, reader, zxid, now)
                except TreeException as e:
                    failed = e.code
                    continue
                results.append((kind, result))
                if txn is not None:
                    txns.append(txn)
        except JuteException:
            tree.rollback(before)
            self._events.clear()
            raise
        if failed is not None:
            tree.rollback(before)
            self._events.clear()
            return _multi_failure(len(kinds), len(results), failed)
        tree.commit()
        tree.last_zxid = zxid
        self._log.append(LoggedTxn(zxid, now, txns))
        self._tell()
        return _multi_success(results)

    def _part(
        self, kind: int, connection: Connection, reader: Reader, zxid: int, now: int
    ) -> tuple[Txn | None, bytearray]:
        """Carry out one operation of a multi: (what to log, its result)."""
        txn: CreateTxn | DeleteTxn | SetDataTxn
        if kind == OpCode.CHECK:
            path, version = reader.read_string(), reader.read_int()
            self._check_acl(connection, self.tree.node(path).acl, Perms.READ)
            self.tree.check_version(path, version)
            return None, bytearray()
        if kind in (OpCode.CREATE, OpCode.CREATE2):
            txn = self._read_create(connection, reader)
        elif kind == OpCode.DELETE:
            txn = self._read_delete(connection, reader)
        elif kind == OpCode.SET_DATA:
            txn = self._read_set_data(connection, reader)
        else:
            raise JuteException(f"operation {kind} inside of a multi")
        self.tree.apply(txn, zxid, now, self._note)
        if kind == OpCode.CREATE:
            return txn, Writer().write_string(txn.path).out
        if kind == OpCode.CREATE2:
            return txn, Writer().write_string(txn.path).write_stat(self.tree.node(txn.path).stat()).out
        return txn, self._stat(txn.path) if kind == OpCode.SET_DATA else bytearray()

    @staticmethod
    def _skip(kind: int, reader: Reader) -> None:
        """Read over an operation that is not carried out any more."""
        reader.read_string()
        if kind in (OpCode.CREATE, OpCode.CREATE2):
            reader.read_buffer()
            reader.read_acl()
        elif kind == OpCode.SET_DATA:
            reader.read_buffer()
        reader.read_int()

    # ----- reading -----

    def _exists(self, connection: Connection, reader: Reader) -> bytearray:
        path, watch = reader.read_string(), reader.read_bool()
        validate_path(path)
        if watch:
            self.watches.add_data(path, connection)
        return self._stat(path)

    def _get_data(self, connection: Connection, reader: Reader) -> bytearray:
        path, watch = reader.read_string(), reader.read_bool()
        node = self.tree.node(path)
        self._check_acl(connection, node.acl, Perms.READ)
        if watch:
            self.watches.add_data(path, connection)
        return Writer().write_buffer(node.data).write_stat(node.stat()).out

    def _get_acl(self, connection: Connection, reader: Reader) -> bytearray:
        node = self.tree.node(reader.read_string())
        self._check_acl(connection, node.acl, Perms.READ | Perms.ADMIN)
        return Writer().write_acl(node.acl).write_stat(node.stat()).out

    def _get_children(self, connection: Connection, reader: Reader) -> Writer:
        path, watch = reader.read_string(), reader.read_bool()
        node = self.tree.node(path)
        self._check_acl(connection, node.acl, Perms.READ)
        if watch:
            self.watches.add_child(path, connection)
        return Writer().write_strings(node.children)

    def _get_children2(self, connection: Connection, reader: Reader) -> bytearray:
        position = reader.position
        out = self._get_children(connection, reader)
        reader.position = position
        return out.write_stat(self.tree.node(reader.read_string()).stat()).out

    def _get_ephemerals(self, connection: Connection, reader: Reader) -> bytearray:
        prefix = reader.read_string()
        paths = sorted(self.tree.ephemerals.get(connection.session_id, ()))
        return Writer().write_strings(path for path in paths if path.startswith(prefix)).out

    def _get_all_children_number(self, connection: Connection, reader: Reader) -> bytearray:
        path = reader.read_string()
        node = self.tree.node(path)
        self._check_acl(connection, node.acl, Perms.READ)
        prefix = path if path == "/" else f"{path}/"
        below = sum(1 for other in self.tree.nodes if other.startswith(prefix) and other != path)
        return Writer().write_int(below).out

    def _who_am_i(self, connection: Connection, reader: Reader) -> bytearray:
        out = Writer().write_int(len(connection.auth_ids))
        for scheme, name in connection.auth_ids:
            out.write_string(scheme).write_string(name)
        return out.out

    # ----- watches -----

    def _set_watches(self, connection: Connection, reader: Reader) -> bytearray:
        """Watch again after a reconnect; what has changed since the client's last zxid it hears at once."""
        since = reader.read_long()
        nodes, watches = self.tree.nodes, self.watches
        for path in reader.read_strings():
            node = nodes.get(path)
            if node is None:
                watches.send(connection, EventType.NODE_DELETED, path)
            elif node.mzxid > since:
                watches.send(connection, EventType.NODE_DATA_CHANGED, path)
            else:
                watches.add_data(path, connection)
        for path in reader.read_strings():
            if path in nodes:
                watches.send(connection, EventType.NODE_CREATED, path)
            else:
                watches.add_data(path, connection)
        for path in reader.read_strings():
            node = nodes.get(path)
            if node is None:
                watches.send(connection, EventType.NODE_DELETED, path)
            elif node.pzxid > since:
                watches.send(connection, EventType.NODE_CHILDREN_CHANGED, path)
            else:
                watches.add_child(path, connection)
        return bytearray()

    def _check_watches(self, connection: Connection, reader: Reader) -> bytearray:
        path, kind = reader.read_string(), reader.read_int()
        if not self.watches.has(path, connection, kind):
            raise TreeException(Code.APIERROR)
        return bytearray()

    def _remove_watches(self, connection: Connection, reader: Reader) -> bytearray:
        path, kind = reader.read_string(), reader.read_int()
        if not self.watches.remove(path, connection, kind):
            raise TreeException(Code.APIERROR)
        return bytearray()

    # ----- who may do what -----

    def _auth(self, connection: Connection, xid: int, reader: Reader) -> None:
        reader.read_int()
        scheme, auth = reader.read_string(), reader.read_buffer() or b""
        if scheme != "digest" or b":" not in auth:
            connection.reply(xid, 0, Code.AUTHFAILED, b"")
            connection.close_after_replies()
            return
        identity = Id("digest", digest_of(auth))
        if identity not in connection.auth_ids:
            connection.auth_ids.append(identity)
        connection.reply(xid, 0, Code.OK, b"")

    @staticmethod
    def _fix_acl(connection: Connection, acl: Iterable[ACL]) -> tuple[ACL, ...]:
        """Put the client's own names in for the scheme `auth`; raises TreeException INVALIDACL."""
        fixed: list[ACL] = []
        for entry in acl:
            if entry.id.scheme == "auth":
                mine = [ACL(entry.perms, who) for who in connection.auth_ids if who.scheme != "ip"]
                if not mine:
                    raise TreeException(Code.INVALIDACL)
                fixed += mine
            elif _is_valid(entry.id):
                fixed.append(entry)
            else:
                raise TreeException(Code.INVALIDACL)
        if not fixed:
            raise TreeException(Code.INVALIDACL)
        return tuple(dict.fromkeys(fixed))

    def _check_parent_acl(self, connection: Connection, path: str, perms: int) -> None:
        parent = self.tree.nodes.get(path[: path.rfind("/")] or "/")
        if parent is not None:
            self._check_acl(connection, parent.acl, perms)

    @staticmethod
    def _check_acl(connection: Connection, acl: Iterable[ACL], perms: int) -> None:
        for entry in acl:
            if entry.perms & perms and (entry.id.scheme == "world" or entry.id in connection.auth_ids):
                return
        raise TreeException(Code.NOAUTH)


def _is_valid(who: Id) -> bool:
    """Whether an access list may name them; `world` has but one inhabitant, whose rights are everybody's."""
    if who.scheme == "world":
        return who.id == "anyone"
    if who.scheme == "digest":
        return who.id.count(":") == 1
    return who.scheme in ("ip", "sasl", "x509")


def digest_of(auth: bytes) -> str:
    """The name that stands in access lists for `user:password`."""
    user = auth.split(b":", 1)[0].decode(errors="replace")
    return f"{user}:{base64.b64encode(hashlib.sha1(auth, usedforsecurity=False).digest()).decode()}"


def _multi_success(results: list[tuple[int, bytearray]]) -> bytearray:
    out = Writer()
    for kind, body in results:
        out.write_int(kind).write_bool(False).write_int(0).out += body
    return out.write_int(-1).write_bool(True).write_int(-1).out


def _multi_failure(count: int, succeeded: int, code: Code) -> bytearray:
    """One error for each operation: OK for those taken back, the reason, and "not tried" for the rest."""
    out = Writer()
    for index in range(count):
        error: Any = Code.OK if index < succeeded else code if index == succeeded else Code.RUNTIMEINCONSISTENCY
        out.write_int(-1).write_bool(False).write_int(error).write_int(error)
    return out.write_int(-1).write_bool(True).write_int(-1).out
