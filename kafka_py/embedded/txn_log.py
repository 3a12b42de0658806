"""What makes the tree outlive the process: an append-only log of transactions, and snapshots of the whole tree.

    dataDir/kafka_py-1/log.<zxid>        transactions from that one on
    dataDir/kafka_py-1/snapshot.<zxid>   the tree after that one
    dataDir/kafka_py-1/lock              held by the server that writes here

A record is `length int32 | CRC-32 uint32 | payload`, and is on disk (fsync) before anybody hears of it. A crash can
leave a torn record at the end of the last log: recovery cuts it off, with whatever of the same fsync lies behind it. A
bad record anywhere else is damage, and stops recovery, since leaving out a transaction in the middle would give a tree
that never was. To tell the two apart each record says up to which zxid everything was on disk when it was written.

The folder is not Apache ZooKeeper's version-2, so that the two never read each other's files.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from kafka_py.embedded.data_tree import (
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DataTree,
    DeleteTxn,
    SetAclTxn,
    SetDataTxn,
    Txn,
)
from kafka_py.embedded.jute import JuteException, Reader, Writer
from kafka_py.utils.file_lock import FileLock
from kafka_py.utils.logging import Logging

_HEADER = struct.Struct(">iI")
_SETTLED = struct.Struct(">q")
_FOLDER = "kafka_py-1"
_MAX_RECORD = 1 << 22  # a request has at most 1 MB
_SNAPSHOTS_TO_KEEP = 3


class LoggedTxn(NamedTuple):
    """One zxid's changes (several for a multi), at that time in ms."""

    zxid: int
    time_ms: int
    txns: Sequence[Txn]


class Batch(NamedTuple):
    """Transactions that go to disk together: their encoded form, and the zxid of the last."""

    payloads: Sequence[bytes]
    last_zxid: int
    size: int


class Snapshot(NamedTuple):
    """The whole tree after that zxid, in pieces."""

    zxid: int
    pieces: Sequence[bytes]


class DamagedLogException(RuntimeError):
    """A transaction log is broken elsewhere than at its end."""


def encode(logged: LoggedTxn) -> bytes:
    """Payload of a record."""
    out = Writer().write_long(logged.zxid).write_long(logged.time_ms).write_int(len(logged.txns))
    for txn in logged.txns:
        _encode_txn(out, txn)
    return bytes(out.out)


def _encode_txn(out: Writer, txn: Txn) -> None:
    if isinstance(txn, CreateTxn):
        out.write_int(1).write_string(txn.path).write_buffer(txn.data).write_acl(txn.acl).write_long(txn.owner)
    elif isinstance(txn, DeleteTxn):
        out.write_int(2).write_string(txn.path)
    elif isinstance(txn, SetDataTxn):
        out.write_int(5).write_string(txn.path).write_buffer(txn.data)
    elif isinstance(txn, SetAclTxn):
        out.write_int(7).write_string(txn.path).write_acl(txn.acl)
    elif isinstance(txn, CreateSessionTxn):
        out.write_int(-10).write_long(txn.session_id).write_int(txn.timeout_ms)
    else:
        out.write_int(-11).write_long(txn.session_id)


def decode(payload: bytes | memoryview) -> LoggedTxn:
    """The changes of one record; raises JuteException."""
    return _decode(Reader(payload))


def _decode(reader: Reader) -> LoggedTxn:
    zxid, time_ms = reader.read_long(), reader.read_long()
    return LoggedTxn(zxid, time_ms, [_decode_txn(reader) for _ in range(reader.read_int())])


def _decode_txn(reader: Reader) -> Txn:
    kind = reader.read_int()
    if kind == 1:
        path, data = reader.read_string(), reader.read_buffer()
        return CreateTxn(path, data, tuple(reader.read_acl()), reader.read_long())
    if kind == 2:
        return DeleteTxn(reader.read_string())
    if kind == 5:
        return SetDataTxn(reader.read_string(), reader.read_buffer())
    if kind == 7:
        return SetAclTxn(reader.read_string(), tuple(reader.read_acl()))
    if kind == -10:
        return CreateSessionTxn(reader.read_long(), reader.read_int())
    if kind == -11:
        return CloseSessionTxn(reader.read_long())
    raise JuteException(f"unknown kind of transaction {kind}")


class TxnLog(Logging):
    """The log that is being written, and the files before it.

    Thread: the server's appends and takes, the sync thread writes what was taken; nothing here is synchronised, and
        what one of them owns the other does not touch while both run.
    """

    def __init__(self, data_dir: str | os.PathLike[str], force_sync: bool = True, snap_count: int = 100_000) -> None:
        """Files stand under data_dir; a snapshot is due after snap_count transactions."""
        self.folder = Path(data_dir) / _FOLDER
        self.folder.mkdir(parents=True, exist_ok=True)
        self._force_sync = force_sync
        self._snap_count = snap_count
        self._lock: FileLock | None = None  # thread: of the server
        self._pending: list[bytes] = []  # thread: of the server
        self._pending_size = 0  # thread: of the server
        self._appended_zxid = 0  # thread: of the server
        self._since_snapshot = 0  # thread: of the server
        self._fd = -1  # thread: sync
        self._settled_zxid = 0  # thread: sync
        self._is_broken = False  # thread: sync

    # ----- recovery -----

    def recover(self) -> DataTree:
        """The tree as it was when the last acknowledged transaction had been written; opens the log behind it.

        Raises DamagedLogException, and BlockingIOError while another server has the folder.
        """
        self._take_lock()
        try:
            return self._recover()
        except BaseException:
            self.close()
            raise

    def _recover(self) -> DataTree:
        tree = self._newest_snapshot()
        logs = self._files("log")
        for (_, path), (next_begin, _) in pairwise(logs):
            if next_begin > tree.last_zxid + 1:  # else the snapshot has all of it
                self._replay(tree, path, is_last=False)
        if logs:
            self._replay(tree, logs[-1][1], is_last=True)
        self._open(logs[-1][1] if logs else self.folder / f"log.{tree.last_zxid + 1:x}")
        self._appended_zxid = tree.last_zxid
        self._sync(tree.last_zxid)  # what a killed server wrote without an fsync is shown to clients from now on
        return tree

    def _take_lock(self) -> None:
        lock = FileLock(self.folder / "lock")
        if not lock.try_lock():
            lock.destroy()
            raise BlockingIOError(errno.EWOULDBLOCK, "another ZooKeeper server uses the folder", str(self.folder))
        self._lock = lock

    def _newest_snapshot(self) -> DataTree:
        snapshots = self._files("snapshot")
        for _, path in reversed(snapshots):
            data = path.read_bytes()
            body, crc = data[:-4], data[-4:]
            if len(data) > 4 and zlib.crc32(body) == int.from_bytes(crc, "big"):
                return DataTree.deserialize(body)
            self.warn("Snapshot %s is broken, trying the one before it", path)
        if snapshots:
            raise DamagedLogException(f"no snapshot in {self.folder} can be read")
        return DataTree()

    def _replay(self, tree: DataTree, path: Path, is_last: bool) -> None:
        data = memoryview(path.read_bytes())
        position = 0
        while position < len(data):
            record = _record_at(data, position)
            if record is None:
                break
            logged, position = record
            if logged.zxid <= tree.last_zxid:
                continue  # the snapshot has it
            if logged.zxid != tree.last_zxid + 1:
                raise DamagedLogException(f"{path} goes on with {logged.zxid:x} after {tree.last_zxid:x}")
            for txn in logged.txns:
                tree.apply(txn, logged.zxid, logged.time_ms, _nobody)
            self._since_snapshot += 1
        if position == len(data):
            return
        if not is_last or _is_followed_by_later_batch(data, position, tree.last_zxid):
            raise DamagedLogException(f"{path} is broken at byte {position}")
        self.warn("Cutting %d bytes of a torn record off the end of %s", len(data) - position, path)
        data.release()
        with path.open("r+b") as log:
            log.truncate(position)
            os.fsync(log.fileno())

    def _files(self, kind: str) -> list[tuple[int, Path]]:
        """(zxid, path) of the files of that kind, oldest first."""
        found = (path for path in self.folder.iterdir() if path.name.startswith(f"{kind}.") and path.suffix != ".tmp")
        return sorted((int(path.name.rpartition(".")[2], 16), path) for path in found)

    # ----- writing: the server's thread -----

    def append(self, logged: LoggedTxn) -> None:
        """Add a record to what the next take() gives."""
        payload = encode(logged)
        self._appended_zxid = logged.zxid
        self._pending.append(payload)
        self._pending_size += len(payload)
        self._since_snapshot += 1

    @property
    def has_pending(self) -> bool:
        """Whether something was appended since the last take()."""
        return bool(self._pending)

    def take(self) -> Batch | None:
        """What was appended since the last time, to be written once; None if nothing was."""
        if not self._pending:
            return None
        batch = Batch(self._pending, self._appended_zxid, self._pending_size)
        self._pending, self._pending_size = [], 0  # never written twice, not by close() after an error either
        return batch

    def snapshot_if_due(self, tree: DataTree) -> Snapshot | None:
        """The tree as it is, when enough has been logged since the last one; call after take()."""
        if self._since_snapshot < self._snap_count:
            return None
        self._since_snapshot = 0
        return Snapshot(tree.last_zxid, list(tree.serialize()))

    # ----- writing: the sync thread -----

    def _open(self, path: Path) -> None:
        is_new = not path.exists()
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        if is_new:
            self._sync_folder()

    def write(self, batches: Sequence[Batch]) -> None:
        """Write the batches and wait until they are on disk: one fsync for all of them.

        An OSError is final for the server: what the disk holds is unknown after a failed fsync.
        """
        if not batches:
            return
        self._is_broken = True  # until it is done
        settled = _SETTLED.pack(self._settled_zxid)
        framed = bytearray()
        for batch in batches:
            for payload in batch.payloads:
                framed += _HEADER.pack(len(payload) + _SETTLED.size, zlib.crc32(settled, zlib.crc32(payload)))
                framed += payload
                framed += settled
        view = memoryview(framed)
        while view:
            view = view[os.write(self._fd, view) :]
        self._sync(batches[-1].last_zxid)
        self._is_broken = False

    def commit(self) -> None:
        """take() and write() in one, for who has but one thread."""
        batch = self.take()
        if batch is not None:
            self.write([batch])

    def _sync(self, zxid: int) -> None:
        if self._force_sync:
            os.fdatasync(self._fd)
            self._settled_zxid = zxid

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Write the tree, begin a new log, and remove the files that neither of the last snapshots needs.

        Everything up to the snapshot is written, and nothing behind it.
        """
        path = self.folder / f"snapshot.{snapshot.zxid:x}"
        temporary = path.with_name(f"{path.name}.tmp")
        crc = 0
        with temporary.open("wb") as out:
            for piece in snapshot.pieces:
                crc = zlib.crc32(piece, crc)
                out.write(piece)
            out.write(crc.to_bytes(4, "big"))
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
        os.close(self._fd)
        self._open(self.folder / f"log.{snapshot.zxid + 1:x}")
        self._sync_folder()
        self._purge()

    def _purge(self) -> None:
        snapshots = self._files("snapshot")[-_SNAPSHOTS_TO_KEEP:]
        oldest = snapshots[0][0]
        logs = self._files("log")
        # A log ends where the next one begins: not at the next snapshot, if a crash came between that and its new log.
        old = [path for (_, path), (next_begin, _) in pairwise(logs) if next_begin <= oldest + 1]
        old += [path for zxid, path in self._files("snapshot") if zxid < oldest]
        for path in old:
            path.unlink()

    def _sync_folder(self) -> None:
        if not self._force_sync:
            return
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Commit, unless a write has failed, and close the log; the sync thread has ended."""
        try:
            if self._fd >= 0:
                try:
                    if not self._is_broken:
                        self.commit()
                finally:
                    os.close(self._fd)
                    self._fd = -1
        finally:
            if self._lock is not None:
                self._lock.destroy()
                self._lock = None


def _record_at(data: memoryview, position: int) -> tuple[LoggedTxn, int] | None:
    """The record that begins there and the position behind it, or None when it is torn."""
    start = position + _HEADER.size
    if start > len(data):
        return None
    length, crc = _HEADER.unpack_from(data, position)
    payload = data[start : start + length] if length > 0 else data[:0]
    if length <= 0 or len(payload) < length or zlib.crc32(payload) != crc:
        return None
    return decode(payload), start + length


def _is_followed_by_later_batch(data: memoryview, position: int, last_zxid: int) -> bool:
    """Whether a record behind that position proves that the one at it, last_zxid + 1, was whole on disk once."""
    for start in range(position + 1, len(data) - _HEADER.size):
        length, crc = _HEADER.unpack_from(data, start)
        payload = data[start + _HEADER.size : start + _HEADER.size + length] if 0 < length <= _MAX_RECORD else data[:0]
        if len(payload) == 0 or len(payload) < length or zlib.crc32(payload) != crc:
            continue
        reader = Reader(payload)
        if _decode(reader).zxid > last_zxid and reader.remaining == _SETTLED.size and reader.read_long() > last_zxid:
            return True
    return False


def _nobody(event_type: object, path: str) -> None:
    """Replaying tells no watcher: there is none yet."""
