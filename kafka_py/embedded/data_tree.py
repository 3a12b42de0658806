"""The tree of nodes in memory: what can be done to it, with which result, and who has to be told.

Changes come as resolved transactions (a sequential node has its number already), so that replaying the log of them
builds the same tree again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.embedded.jute import Reader, Writer
from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.zoo_defs import ACL, Ids, Stat
from kafka_py.zookeeper.zoo_keeper_events import EventType


class TreeException(Exception):
    """An operation that the tree refuses, with ZooKeeper's code for why."""

    def __init__(self, code: Code) -> None:
        """Refuse with that code."""
        super().__init__(str(code))
        self.code = code


class CreateTxn(NamedTuple):
    """A node with its final name; owner is the session of an ephemeral one, else 0."""

    path: str
    data: bytes | None
    acl: tuple[ACL, ...]
    owner: int


class DeleteTxn(NamedTuple):
    """A node to remove."""

    path: str


class SetDataTxn(NamedTuple):
    """New data of a node."""

    path: str
    data: bytes | None


class SetAclTxn(NamedTuple):
    """New access list of a node."""

    path: str
    acl: tuple[ACL, ...]


class CreateSessionTxn(NamedTuple):
    """A session and its timeout in ms."""

    session_id: int
    timeout_ms: int


class CloseSessionTxn(NamedTuple):
    """The end of a session, and with it of its ephemeral nodes."""

    session_id: int


Txn = CreateTxn | DeleteTxn | SetDataTxn | SetAclTxn | CreateSessionTxn | CloseSessionTxn
Listener = Callable[[EventType, str], None]


class DataNode:
    """One node; `creates` counts the children ever created, from which sequential names take their numbers."""

    __slots__ = (
        "acl",
        "aversion",
        "children",
        "creates",
        "ctime",
        "czxid",
        "data",
        "mtime",
        "mzxid",
        "owner",
        "pzxid",
        "version",
    )

    def __init__(self, data: bytes | None, acl: tuple[ACL, ...], owner: int, zxid: int, time_ms: int) -> None:
        """A node that came into being with that transaction."""
        self.data = data  # thread: of the tree
        self.acl = acl  # thread: of the tree
        self.owner = owner
        self.czxid = self.mzxid = self.pzxid = zxid  # thread: of the tree
        self.ctime = self.mtime = time_ms  # thread: of the tree
        self.version = self.aversion = self.creates = 0  # thread: of the tree
        self.children: set[str] = set()  # thread: of the tree

    def stat(self) -> Stat:
        """What clients see; their cversion counts the removals too, which is why it is computed."""
        return Stat(
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            self.creates * 2 - len(self.children),
            self.aversion,
            self.owner,
            len(self.data or b""),
            len(self.children),
            self.pzxid,
        )

    def copy(self) -> DataNode:
        """A node of the same content that changes by itself."""
        twin = DataNode(self.data, self.acl, self.owner, self.czxid, self.ctime)
        for name in ("mzxid", "pzxid", "mtime", "version", "aversion", "creates"):
            setattr(twin, name, getattr(self, name))
        twin.children = set(self.children)
        return twin


@dataclass
class _Saved:
    """How a node was before a multi began; None: it was not there."""

    path: str
    node: DataNode | None


class DataTree:
    """All nodes by path, the ephemeral ones by session, and the sessions.

    Thread: the server's; nothing here is synchronised.
    """

    def __init__(self) -> None:
        """A tree with the nodes that every ZooKeeper has."""
        self.nodes: dict[str, DataNode] = {}  # thread: of the tree
        self.ephemerals: dict[int, set[str]] = {}  # thread: of the tree
        self.sessions: dict[int, int] = {}  # thread: of the tree
        self.last_zxid = 0  # thread: of the tree
        self._undo: list[_Saved] | None = None  # thread: of the tree
        for path in ("/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
            self.nodes[path] = DataNode(b"", tuple(Ids.OPEN_ACL_UNSAFE), 0, 0, 0)
        self.nodes["/"].children.add("zookeeper")
        self.nodes["/zookeeper"].children |= {"config", "quota"}

    def node(self, path: str) -> DataNode:
        """The node; raises TreeException NONODE."""
        found = self.nodes.get(path)
        if found is None:
            raise TreeException(Code.NONODE)
        return found

    # ----- what a request asks for, made into a transaction -----

    def prepare_create(
        self, path: str, data: bytes | None, acl: tuple[ACL, ...], owner: int, sequential: bool
    ) -> CreateTxn:
        """Check and number a node to create; raises TreeException."""
        parent = self.nodes.get(parent_of(path))
        if parent is None:
            raise TreeException(Code.NONODE)
        if sequential:
            path = f"{path}{parent.creates:010d}"
        if path in self.nodes:
            raise TreeException(Code.NODEEXISTS)
        if parent.owner != 0:
            raise TreeException(Code.NOCHILDRENFOREPHEMERALS)
        return CreateTxn(path, data, acl, owner)

    def prepare_delete(self, path: str, version: int) -> DeleteTxn:
        """Check a node to delete; raises TreeException."""
        if path == "/":
            raise TreeException(Code.BADARGUMENTS)
        node = self.check_version(path, version)
        if node.children:
            raise TreeException(Code.NOTEMPTY)
        return DeleteTxn(path)

    def prepare_set_data(self, path: str, data: bytes | None, version: int) -> SetDataTxn:
        """Check a node to write; raises TreeException."""
        self.check_version(path, version)
        return SetDataTxn(path, data)

    def prepare_set_acl(self, path: str, acl: tuple[ACL, ...], version: int) -> SetAclTxn:
        """Check a node whose access list is to be written; raises TreeException."""
        if version not in (-1, self.node(path).aversion):
            raise TreeException(Code.BADVERSION)
        return SetAclTxn(path, acl)

    def check_version(self, path: str, version: int) -> DataNode:
        """The node, if it has that version or -1 was given; raises TreeException."""
        node = self.node(path)
        if version not in (-1, node.version):
            raise TreeException(Code.BADVERSION)
        return node

    # ----- changes -----

    def apply(self, txn: Txn, zxid: int, time_ms: int, listener: Listener) -> None:
        """Carry out a checked transaction; the listener is told of each node it touches."""
        self.last_zxid = zxid
        if isinstance(txn, CreateTxn):
            self._create(txn, zxid, time_ms, listener)
        elif isinstance(txn, DeleteTxn):
            self._delete(txn.path, zxid, listener)
        elif isinstance(txn, SetDataTxn):
            node = self._to_change(txn.path)
            node.data, node.mzxid, node.mtime, node.version = txn.data, zxid, time_ms, node.version + 1
            listener(EventType.NODE_DATA_CHANGED, txn.path)
        elif isinstance(txn, SetAclTxn):
            node = self._to_change(txn.path)
            node.acl, node.aversion = txn.acl, node.aversion + 1
        elif isinstance(txn, CreateSessionTxn):
            self.sessions[txn.session_id] = txn.timeout_ms
        else:
            for path in sorted(self.ephemerals.get(txn.session_id, ())):
                self._delete(path, zxid, listener)
            self.ephemerals.pop(txn.session_id, None)
            self.sessions.pop(txn.session_id, None)

    def _create(self, txn: CreateTxn, zxid: int, time_ms: int, listener: Listener) -> None:
        self._save(txn.path)
        parent_path = parent_of(txn.path)
        parent = self._to_change(parent_path)
        parent.children.add(txn.path.rpartition("/")[2])
        parent.creates += 1
        parent.pzxid = zxid
        self.nodes[txn.path] = DataNode(txn.data, txn.acl, txn.owner, zxid, time_ms)
        if txn.owner:
            self.ephemerals.setdefault(txn.owner, set()).add(txn.path)
        listener(EventType.NODE_CREATED, txn.path)
        listener(EventType.NODE_CHILDREN_CHANGED, parent_path)

    def _delete(self, path: str, zxid: int, listener: Listener) -> None:
        self._save(path)
        parent_path = parent_of(path)
        parent = self._to_change(parent_path)
        parent.children.discard(path.rpartition("/")[2])
        parent.pzxid = zxid
        node = self.nodes.pop(path)
        if node.owner:
            self.ephemerals[node.owner].discard(path)
        listener(EventType.NODE_DELETED, path)
        listener(EventType.NODE_CHILDREN_CHANGED, parent_path)

    # ----- all or nothing -----

    def begin(self) -> None:
        """From here on rollback() can take back what was done."""
        self._undo = []

    def commit(self) -> None:
        """What was done since begin() stays."""
        self._undo = None

    def rollback(self, zxid: int) -> None:
        """Make the nodes what they were at begin(), the last transaction having been zxid."""
        for saved in reversed(self._undo or []):
            current = self.nodes.get(saved.path)
            if current is not None and current.owner:
                self.ephemerals[current.owner].discard(saved.path)
            if saved.node is None:
                self.nodes.pop(saved.path, None)
                continue
            self.nodes[saved.path] = saved.node
            if saved.node.owner:
                self.ephemerals.setdefault(saved.node.owner, set()).add(saved.path)
        self._undo = None
        self.last_zxid = zxid

    def _to_change(self, path: str) -> DataNode:
        self._save(path)
        return self.nodes[path]

    def _save(self, path: str) -> None:
        if self._undo is not None:
            node = self.nodes.get(path)
            self._undo.append(_Saved(path, None if node is None else node.copy()))

    # ----- snapshots -----

    def serialize(self) -> Iterator[bytes]:
        """The whole tree in pieces, parents before their children."""
        head = Writer().write_long(self.last_zxid).write_int(len(self.sessions))
        for session_id, timeout_ms in self.sessions.items():
            head.write_long(session_id).write_int(timeout_ms)
        yield bytes(head.write_int(len(self.nodes)).out)
        for path, node in self.nodes.items():
            out = Writer().write_string(path).write_buffer(node.data).write_acl(node.acl).write_long(node.owner)
            for value in (node.czxid, node.mzxid, node.pzxid, node.ctime, node.mtime):
                out.write_long(value)
            yield bytes(out.write_int(node.version).write_int(node.aversion).write_int(node.creates).out)

    @classmethod
    def deserialize(cls, data: bytes) -> DataTree:
        """The tree of a snapshot; raises JuteException."""
        tree, reader = cls(), Reader(data)
        tree.last_zxid = reader.read_long()
        for _ in range(reader.read_int()):
            session_id = reader.read_long()
            tree.sessions[session_id] = reader.read_int()
        tree.nodes.clear()
        for _ in range(reader.read_int()):
            path = reader.read_string()
            tree.nodes[path] = node = _read_node(reader)
            if node.owner:
                tree.ephemerals.setdefault(node.owner, set()).add(path)
        for path in tree.nodes:
            if path != "/":
                tree.nodes[parent_of(path)].children.add(path.rpartition("/")[2])
        return tree

    def approximate_data_size(self) -> int:
        """Bytes of all names and data."""
        return sum(len(path) + len(node.data or b"") for path, node in self.nodes.items())


def _read_node(reader: Reader) -> DataNode:
    data, acl, owner = reader.read_buffer(), tuple(reader.read_acl()), reader.read_long()
    node = DataNode(data, acl, owner, reader.read_long(), 0)
    node.mzxid, node.pzxid, node.ctime, node.mtime = (reader.read_long() for _ in range(4))
    node.version, node.aversion, node.creates = (reader.read_int() for _ in range(3))
    return node


def parent_of(path: str) -> str:
    """Path of the parent: / for the nodes below the root."""
    return path[: path.rfind("/")] or "/"


def validate_path(path: str, is_sequential: bool = False) -> None:
    """Raise TreeException BADARGUMENTS for what is no path of a node.

    A sequential node's path may end in a slash, as a number follows it.
    """
    if is_sequential:
        path += "1"
    if path == "/":
        return
    if not path.startswith("/") or any(part in ("", ".", "..") for part in path[1:].split("/")):
        raise TreeException(Code.BADARGUMENTS)
    if not path.isprintable() and any(c < " " or "\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\uf8ff" for c in path):
        raise TreeException(Code.BADARGUMENTS)
