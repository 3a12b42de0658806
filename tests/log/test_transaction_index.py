"""TransactionIndex: entries on disk, range search, truncation."""

from __future__ import annotations

import os
import pathlib
import struct
from collections.abc import Iterator

import pytest

from kafka_py.common.errors import CorruptIndexException, KafkaException
from kafka_py.log.transaction_index import AbortedTxn, TransactionIndex

TXNS = [AbortedTxn.of(*t) for t in ((0, 0, 10, 11), (1, 5, 15, 13), (2, 18, 35, 25), (3, 32, 50, 40))]


@pytest.fixture
def index(tmp_path: pathlib.Path) -> Iterator[TransactionIndex]:
    index = TransactionIndex(0, tmp_path / "0.txnindex")
    yield index
    index.close()


def fill(index: TransactionIndex) -> None:
    for txn in TXNS:
        index.append(txn)


@pytest.mark.ported("TransactionIndexTest.testPositionSetCorrectlyWhenOpened")
def test_position_set_correctly_when_opened(index: TransactionIndex) -> None:
    fill(index)
    index.close()
    reopened = TransactionIndex(0, index.file)
    another = AbortedTxn.of(3, 50, 60, 55)
    reopened.append(another)
    assert reopened.all_aborted_txns() == [*TXNS, another]
    reopened.close()


@pytest.mark.ported("TransactionIndexTest.testSanityCheck")
def test_sanity_check(index: TransactionIndex) -> None:
    fill(index)
    index.sanity_check()
    index.close()
    reopened = TransactionIndex(100, index.file)
    with pytest.raises(CorruptIndexException):
        reopened.sanity_check()
    reopened.close()


def test_newer_version_is_corrupt(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "0.txnindex"
    file.write_bytes(struct.pack(">hqqqq", 1, 1, 2, 3, 4))
    index = TransactionIndex(0, file)
    with pytest.raises(CorruptIndexException, match="Unexpected aborted transaction version 1"):
        index.sanity_check()
    index.close()


@pytest.mark.ported("TransactionIndexTest.testLastOffsetMustIncrease")
@pytest.mark.ported("TransactionIndexTest.testLastOffsetCannotDecrease")
@pytest.mark.parametrize("last_offset", [15, 10])
def test_last_offset_must_increase(index: TransactionIndex, last_offset: int) -> None:
    index.append(AbortedTxn.of(1, 5, 15, 13))
    with pytest.raises(ValueError, match="must increase sequentially"):
        index.append(AbortedTxn.of(0, 0, last_offset, 11))


@pytest.mark.ported("TransactionIndexTest.testCollectAbortedTransactions")
@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound", "expected", "complete"),
    [
        (0, 100, TXNS, False),
        (0, 32, TXNS[:3], True),
        (0, 35, TXNS, True),
        (10, 35, TXNS, True),
        (11, 35, TXNS[1:], True),
        (20, 41, TXNS[2:], False),
    ],
)
def test_collect_aborted_transactions(
    index: TransactionIndex, fetch_offset: int, upper_bound: int, expected: list[AbortedTxn], complete: bool
) -> None:
    fill(index)
    assert index.collect_aborted_txns(fetch_offset, upper_bound) == (expected, complete)


@pytest.mark.ported("TransactionIndexTest.testTruncate")
def test_truncate(index: TransactionIndex) -> None:
    fill(index)
    index.truncate_to(51)
    assert index.all_aborted_txns() == TXNS
    index.truncate_to(50)
    assert index.all_aborted_txns() == TXNS[:3]
    index.append(TXNS[3])
    assert index.all_aborted_txns() == TXNS
    index.reset()
    assert index.all_aborted_txns() == []


@pytest.mark.ported("TransactionIndexTest.testAbortedTxnSerde")
def test_aborted_txn_serde() -> None:
    txn = AbortedTxn.of(983493, 137, 299, 200)
    assert (txn.version, txn.producer_id, txn.first_offset, txn.last_offset, txn.last_stable_offset) == (
        0,
        983493,
        137,
        299,
        200,
    )
    assert txn.buffer == struct.pack(">hqqqq", 0, 983493, 137, 299, 200)
    assert len(txn.buffer) == AbortedTxn.TOTAL_SIZE == 34


@pytest.mark.ported("TransactionIndexTest.testRenameIndex")
def test_rename_index(index: TransactionIndex, tmp_path: pathlib.Path) -> None:
    index.append(AbortedTxn.of(0, 0, 10, 2))
    index.rename_to(tmp_path / "renamed")
    index.append(AbortedTxn.of(1, 5, 15, 16))
    assert [txn.first_offset for txn in index.all_aborted_txns()] == [0, 5]
    assert (tmp_path / "renamed").stat().st_size == 68


def test_no_file_before_the_first_entry(index: TransactionIndex) -> None:
    assert index.all_aborted_txns() == []
    index.flush()
    index.reset()
    assert not index.file.exists()
    assert not index.delete_if_exists()


def test_torn_last_entry_is_not_read(index: TransactionIndex) -> None:
    fill(index)
    index.close()
    index.file.write_bytes(index.file.read_bytes()[:-1])
    reopened = TransactionIndex(0, index.file)
    assert reopened.all_aborted_txns() == TXNS[:3]
    reopened.close()


def test_a_closed_index_is_not_read_on_through_another_file(
    index: TransactionIndex, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two entries it is closed, and its descriptor's number goes to the next file that is opened."""
    for last_offset in (10, 20):
        index.append(AbortedTxn.of(1, 0, last_offset, 5))
    wrong = tmp_path / "other"
    wrong.write_bytes(AbortedTxn.of(99, 0, 99, 5).buffer * 2)
    others: list[int] = []
    real = os.pread

    def read(fd: int, size: int, position: int) -> bytes:
        data = real(fd, size, position)
        if not others:
            index.close()
            others.append(os.open(wrong, os.O_RDONLY))
        return data

    monkeypatch.setattr(os, "pread", read)
    with pytest.raises(KafkaException, match="Failed to read from the transaction index"):
        index.collect_aborted_txns(0, 100)
    os.close(others[0])
