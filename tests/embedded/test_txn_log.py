"""The log and its recovery: a torn end at every byte, damage elsewhere, snapshots."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

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
from kafka_py.embedded.txn_log import DamagedLogException, LoggedTxn, TxnLog, decode, encode
from kafka_py.zookeeper.zoo_defs import Ids

OPEN = tuple(Ids.OPEN_ACL_UNSAFE)
TXNS: list[list[Txn]] = [
    [CreateSessionTxn(7, 5000)],
    [CreateTxn("/a", b"one", OPEN, 0)],
    [CreateTxn("/a/e", None, OPEN, 7)],
    [SetDataTxn("/a", b"two"), CreateTxn("/b", b"", OPEN, 0)],
    [SetAclTxn("/b", tuple(Ids.READ_ACL_UNSAFE))],
    [DeleteTxn("/b")],
    [CloseSessionTxn(7)],
]


def ignore(event_type: object, path: str) -> None:
    """No watcher."""


def write(folder: Path, txns: list[list[Txn]], force_sync: bool = False, **options: int) -> list[bytes]:
    """Log the transactions; returns the tree as bytes before and after each of them."""
    log = TxnLog(folder, force_sync, **options)
    tree = log.recover()
    states = [dump(tree)]
    for of_one in txns:
        zxid = tree.last_zxid + 1
        for txn in of_one:
            tree.apply(txn, zxid, 1000 + zxid, ignore)
        log.append(LoggedTxn(zxid, 1000 + zxid, of_one))
        log.commit()
        snapshot = log.snapshot_if_due(tree)
        if snapshot is not None:
            log.write_snapshot(snapshot)
        states.append(dump(tree))
    log.close()
    return states


def dump(tree: DataTree) -> bytes:
    return b"".join(tree.serialize())


def recovered(folder: Path) -> bytes:
    log = TxnLog(folder, force_sync=False)
    tree = log.recover()
    log.close()
    return dump(tree)


def only_log(folder: Path) -> Path:
    (path,) = (folder / "kafka_py-1").glob("log.*")
    return path


def test_each_kind_of_transaction_survives_its_bytes() -> None:
    for of_one in TXNS:
        assert decode(encode(LoggedTxn(5, 6, of_one))) == LoggedTxn(5, 6, of_one)


def test_recovery_gives_the_same_tree(tmp_path: Path) -> None:
    states = write(tmp_path, TXNS)
    assert recovered(tmp_path) == states[-1]
    again = write(tmp_path, [[CreateTxn("/later", b"", OPEN, 0)]])
    assert again[0] == states[-1]
    assert recovered(tmp_path) == again[-1]


def test_a_torn_end_is_cut_at_every_byte(tmp_path: Path) -> None:
    states = write(tmp_path / "whole", TXNS)
    data = only_log(tmp_path / "whole").read_bytes()
    ends = [0]
    while ends[-1] < len(data):
        ends.append(ends[-1] + 8 + int.from_bytes(data[ends[-1] : ends[-1] + 4], "big"))
    torn = tmp_path / "torn"
    folder = torn / "kafka_py-1"
    folder.mkdir(parents=True)
    for length in range(len(data) + 1):
        (folder / "log.1").write_bytes(data[:length])
        whole = sum(1 for end in ends[1:] if end <= length)
        assert recovered(torn) == states[whole]
        assert (folder / "log.1").stat().st_size == ends[whole]


def test_a_record_with_a_wrong_byte_is_cut_too(tmp_path: Path) -> None:
    states = write(tmp_path, TXNS)
    path = only_log(tmp_path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert recovered(tmp_path) == states[-2]


def test_zeros_after_the_end_are_cut(tmp_path: Path) -> None:
    states = write(tmp_path, TXNS)
    path = only_log(tmp_path)
    path.write_bytes(path.read_bytes() + bytes(100))
    assert recovered(tmp_path) == states[-1]


def test_snapshots_bound_the_log_and_old_files_go(tmp_path: Path) -> None:
    many: list[list[Txn]] = [[CreateTxn(f"/n{i}", b"x", OPEN, 0)] for i in range(60)]
    states = write(tmp_path, many, snap_count=10)
    folder = tmp_path / "kafka_py-1"
    assert len(list(folder.glob("snapshot.*"))) == 3
    assert len(list(folder.glob("log.*"))) == 3
    assert recovered(tmp_path) == states[-1]


def test_a_broken_snapshot_is_passed_over(tmp_path: Path) -> None:
    many: list[list[Txn]] = [[CreateTxn(f"/n{i}", b"x", OPEN, 0)] for i in range(25)]
    states = write(tmp_path, many, snap_count=10)
    newest, oldest = tmp_path / "kafka_py-1" / "snapshot.14", tmp_path / "kafka_py-1" / "snapshot.a"
    newest.write_bytes(newest.read_bytes()[:-9])
    assert recovered(tmp_path) == states[-1]
    oldest.write_bytes(b"")
    with pytest.raises(DamagedLogException, match="no snapshot"):
        recovered(tmp_path)


def test_damage_that_is_not_at_the_end_stops_recovery(tmp_path: Path) -> None:
    write(tmp_path, TXNS)
    path = only_log(tmp_path)
    write(tmp_path, [], snap_count=0)
    shutil.copy(path, path.with_name("log.8"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedLogException, match="is broken at byte"):
        recovered(tmp_path)


def test_damage_before_the_last_commit_stops_recovery_and_changes_nothing(tmp_path: Path) -> None:
    states = write(tmp_path, TXNS, force_sync=True)
    path = only_log(tmp_path)
    whole = path.read_bytes()
    second = 8 + int.from_bytes(whole[:4], "big")
    for position in (second, second + 5, second + 20):  # its length, its checksum, its payload
        damaged = bytearray(whole)
        damaged[position] ^= 0x40
        path.write_bytes(damaged)
        with pytest.raises(DamagedLogException, match=f"is broken at byte {second}"):
            recovered(tmp_path)
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    assert recovered(tmp_path) == states[-1]


def test_a_hole_in_what_was_written_at_once_but_never_synced_is_cut(tmp_path: Path) -> None:
    states = write(tmp_path, TXNS[:3], force_sync=True)
    path = only_log(tmp_path)
    end = path.stat().st_size
    log = TxnLog(tmp_path)
    log.recover()
    for zxid in (4, 5, 6):  # one write, of which the beginning does not reach the disk
        log.append(LoggedTxn(zxid, 1, [CreateTxn(f"/{zxid}", b"", OPEN, 0)]))
    log.close()
    data = bytearray(path.read_bytes())
    data[end + 20] ^= 1
    path.write_bytes(data)
    assert recovered(tmp_path) == states[-1]
    assert path.stat().st_size == end


def test_a_batch_that_could_not_be_written_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = TxnLog(tmp_path)
    log.recover()
    log.append(LoggedTxn(1, 1, [CreateTxn("/a", b"", OPEN, 0)]))
    real = os.write
    parts = iter([5])

    def full(fd: int, data: bytes) -> int:
        for length in parts:
            return real(fd, data[:length])
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="no space left"):
            log.commit()
    log.close()
    assert only_log(tmp_path).stat().st_size == 5


def test_only_one_server_has_the_folder(tmp_path: Path) -> None:
    write(tmp_path, TXNS)
    path = only_log(tmp_path)
    log = TxnLog(tmp_path)
    log.recover()
    torn = path.read_bytes() + b"\0\0"  # a record that the server is just writing
    path.write_bytes(torn)
    with pytest.raises(BlockingIOError, match="another ZooKeeper server"):
        recovered(tmp_path)
    assert path.read_bytes() == torn
    log.close()
    assert recovered(tmp_path)


def test_what_a_killed_server_had_not_synced_is_synced_before_it_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, TXNS)
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    log = TxnLog(tmp_path)
    log.recover()
    assert synced == [only_log(tmp_path).stat().st_size]
    log.close()


def test_a_crash_between_a_snapshot_and_its_new_log_loses_no_way_back(tmp_path: Path) -> None:
    many: list[list[Txn]] = [[CreateTxn(f"/n{i}", b"x", OPEN, 0)] for i in range(40)]
    write(tmp_path, many[:10])
    folder = tmp_path / "kafka_py-1"
    first = (folder / "log.1").read_bytes()
    log = TxnLog(tmp_path, force_sync=False, snap_count=0)
    snapshot = log.snapshot_if_due(log.recover())
    assert snapshot is not None
    log.write_snapshot(snapshot)
    log.close()
    # The crash: snapshot.a is there, and log.1 will go on beyond it.
    (folder / "log.b").unlink()
    (folder / "log.1").write_bytes(first)
    states = write(tmp_path, many[10:35], snap_count=10)
    assert (folder / "log.1").exists()
    for name in ("snapshot.14", "snapshot.1e"):
        (folder / name).write_bytes(b"")
    assert recovered(tmp_path) == states[-1]


def test_a_log_that_no_snapshot_needs_is_not_read(tmp_path: Path) -> None:
    many: list[list[Txn]] = [[CreateTxn(f"/n{i}", b"x", OPEN, 0)] for i in range(25)]
    states = write(tmp_path, many, snap_count=10)
    (tmp_path / "kafka_py-1" / "log.1").write_bytes(b"damaged")
    assert recovered(tmp_path) == states[-1]


def test_a_gap_in_the_log_stops_recovery(tmp_path: Path) -> None:
    write(tmp_path, TXNS)
    path = only_log(tmp_path)
    data = path.read_bytes()
    first = 8 + int.from_bytes(data[:4], "big")
    path.write_bytes(data[first:])
    with pytest.raises(DamagedLogException, match="goes on with 2 after 0"):
        recovered(tmp_path)
