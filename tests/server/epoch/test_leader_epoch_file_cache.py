"""LeaderEpochFileCache: assigning epochs, asking where one ended, clearing from either end."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import EpochEntry, LeaderEpochCheckpointFile
from kafka_py.server.epoch.leader_epoch_file_cache import LeaderEpochFileCache
from kafka_py.server.log_offset_metadata import LogOffsetMetadata

TP = TopicPartition("TestTopic", 5)


class Cache(LeaderEpochFileCache):
    """A cache whose log end the test sets."""

    def __init__(self, file: pathlib.Path) -> None:
        self.log_end = 0
        super().__init__(TP, lambda: LogOffsetMetadata(self.log_end), LeaderEpochCheckpointFile(file))

    def with_epochs(self, *epochs: tuple[int, int]) -> Cache:
        for epoch, offset in epochs:
            self.assign(epoch, offset)
        return self

    def entries(self) -> list[tuple[int, int]]:
        return [(entry.epoch, entry.start_offset) for entry in self.epoch_entries()]


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> Cache:
    return Cache(tmp_path / "leader-epoch-checkpoint")


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldAddEpochAndMessageOffsetToCache")
def test_add_epoch_and_offset(cache: Cache) -> None:
    cache.assign(2, 10)
    cache.log_end = 11
    assert cache.latest_epoch() == 2
    assert cache.epoch_entries() == [EpochEntry(2, 10)]
    assert cache.end_offset_for(2) == 11


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldSupportEpochsThatDoNotStartFromZero")
def test_the_first_epoch_need_not_be_zero(cache: Cache) -> None:
    cache.assign(2, 6)
    cache.log_end = 7
    assert cache.end_offset_for(2) == 7
    assert cache.epoch_entries() == [EpochEntry(2, 6)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnLogEndOffsetIfLatestEpochRequested")
def test_latest_epoch_ends_at_the_log_end(cache: Cache) -> None:
    cache.with_epochs((2, 11), (2, 12))
    cache.log_end = 14
    assert cache.end_offset_for(2) == 14


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnUndefinedOffsetIfUndefinedEpochRequested")
def test_undefined_epoch(cache: Cache) -> None:
    assert cache.with_epochs((2, 11), (3, 12)).end_offset_for(-1) == -1


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotOverwriteOffsetForALeaderEpochOnceItHasBeenAssigned")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotOverwriteLogEndOffsetForALeaderEpochOnceItHasBeenAssigned")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotUpdateEpochAndStartOffsetIfItDidNotChange")
def test_start_of_an_epoch_is_kept(cache: Cache) -> None:
    assert cache.with_epochs((2, 6), (2, 7), (2, 10)).entries() == [(2, 6)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldAllowLeaderEpochToChangeEvenIfOffsetDoesNot")
def test_epoch_without_messages(cache: Cache) -> None:
    assert cache.with_epochs((2, 9), (3, 9)).entries() == [(2, 9), (3, 9)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnUnsupportedIfNoEpochRecorded")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnUnsupportedIfNoEpochRecordedAndUndefinedEpochRequested")
@pytest.mark.parametrize("epoch", [0, -1])
def test_nothing_recorded(cache: Cache, epoch: int) -> None:
    cache.log_end = 73
    assert cache.end_offset_for(epoch) == -1


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnUnsupportedIfRequestedEpochLessThanFirstEpoch")
def test_epoch_below_the_first(cache: Cache) -> None:
    assert cache.with_epochs((5, 11), (6, 12), (7, 13)).end_offset_for(4) == -1


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldGetFirstOffsetOfSubsequentEpochWhenOffsetRequestedForPreviousEpoch")
def test_epoch_ends_where_the_next_begins(cache: Cache) -> None:
    cache.with_epochs((1, 11), (1, 12), (2, 13), (2, 14), (3, 15), (3, 16))
    cache.log_end = 17
    assert cache.end_offset_for(2) == 15


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnNextAvailableEpochIfThereIsNoExactEpochForTheOneRequested")
def test_missing_epoch_ends_where_the_next_known_begins(cache: Cache) -> None:
    cache.with_epochs((0, 10), (2, 13), (4, 17))
    assert cache.end_offset_for(1) == 13
    assert cache.end_offset_for(2) == 17


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldReturnInvalidOffsetIfEpochIsRequestedWhichIsNotCurrentlyTracked")
def test_epoch_above_the_last(cache: Cache) -> None:
    cache.log_end = 100
    assert cache.with_epochs((2, 100)).end_offset_for(3) == -1


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldPersistEpochsBetweenInstances")
def test_entries_survive_a_restart(cache: Cache, tmp_path: pathlib.Path) -> None:
    cache.assign(2, 6)
    assert Cache(tmp_path / "leader-epoch-checkpoint").entries() == [(2, 6)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotLetEpochGoBackwardsEvenIfMessageEpochsDo")
def test_epochs_do_not_go_backwards(cache: Cache) -> None:
    cache.with_epochs((1, 5), (2, 6), (1, 7))
    cache.log_end = 8
    assert cache.latest_epoch() == 2
    assert cache.end_offset_for(1) == 6
    assert cache.end_offset_for(2) == 8
    assert cache.entries() == [(1, 5), (2, 6)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotLetOffsetsGoBackwardsEvenIfEpochsProgress")
def test_offsets_do_not_go_backwards(cache: Cache) -> None:
    assert cache.with_epochs((2, 6), (3, 5)).entries() == [(2, 6)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldIncreaseAndTrackEpochsAsLeadersChangeManyTimes")
def test_leaders_change_many_times(cache: Cache) -> None:
    cache.with_epochs((0, 0), (1, 0))
    assert cache.latest_epoch() == 1
    assert cache.end_offset_for(1) == 0
    assert cache.end_offset_for(0) == 0
    cache.log_end = 5
    assert cache.end_offset_for(1) == 5
    assert cache.end_offset_for(0) == 0
    cache.assign(2, 5)
    cache.log_end = 10
    assert cache.end_offset_for(2) == 10
    assert cache.end_offset_for(1) == 5
    assert cache.end_offset_for(0) == 0


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldIncreaseAndTrackEpochsAsFollowerReceivesManyMessages")
def test_follower_receives_many_messages(cache: Cache) -> None:
    for offset, epoch in enumerate((0, 0, 0, 1, 1, 1, 2, 2)):
        cache.assign(epoch, offset)
        cache.log_end = offset + 1
    assert [cache.end_offset_for(epoch) for epoch in (0, 1, 2)] == [3, 6, 8]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldDropEntriesOnEpochBoundaryWhenRemovingLatestEntries")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldDropEntriesBetweenEpochBoundaryWhenRemovingNewest")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotResetEpochHistoryHeadIfUndefinedPassed")
@pytest.mark.parametrize(
    ("offset", "left"),
    [
        (8, [(2, 6)]),
        (9, [(2, 6), (3, 8)]),
        (11, [(2, 6), (3, 8)]),
        (12, [(2, 6), (3, 8), (4, 11)]),
        (-1, [(2, 6), (3, 8), (4, 11)]),
        (0, []),
    ],
)
def test_clear_latest(cache: Cache, tmp_path: pathlib.Path, offset: int, left: list[tuple[int, int]]) -> None:
    cache.with_epochs((2, 6), (3, 8), (4, 11)).clear_and_flush_latest(offset)
    assert cache.entries() == left
    assert Cache(tmp_path / "leader-epoch-checkpoint").entries() == left


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldPreserveResetOffsetOnClearEarliestIfOneExists")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldUpdateSavedOffsetWhenOffsetToClearToIsBetweenEpochs")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldUpdateOffsetBetweenEpochBoundariesOnClearEarliest")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotClearAnythingIfOffsetToEarly")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotClearAnythingIfOffsetToFirstOffset")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldRetainLatestEpochOnClearAllEarliest")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldRetainLatestEpochOnClearAllEarliestAndUpdateItsOffset")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldNotResetEpochHistoryTailIfUndefinedPassed")
@pytest.mark.parametrize(
    ("offset", "left"),
    [
        (8, [(3, 8), (4, 11)]),
        (9, [(3, 9), (4, 11)]),
        (1, [(2, 6), (3, 8), (4, 11)]),
        (6, [(2, 6), (3, 8), (4, 11)]),
        (11, [(4, 11)]),
        (15, [(4, 15)]),
        (-1, [(2, 6), (3, 8), (4, 11)]),
    ],
)
def test_clear_earliest(cache: Cache, tmp_path: pathlib.Path, offset: int, left: list[tuple[int, int]]) -> None:
    cache.with_epochs((2, 6), (3, 8), (4, 11)).clear_and_flush_earliest(offset)
    assert cache.entries() == left
    assert Cache(tmp_path / "leader-epoch-checkpoint").entries() == left


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldUpdateOffsetBetweenEpochBoundariesOnClearEarliest2")
def test_clear_earliest_between_boundaries(cache: Cache) -> None:
    cache.with_epochs((0, 0), (1, 7), (2, 10)).clear_and_flush_earliest(5)
    assert cache.entries() == [(0, 5), (1, 7), (2, 10)]


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldClearAllEntries")
def test_clear_all(cache: Cache, tmp_path: pathlib.Path) -> None:
    cache.with_epochs((2, 6), (3, 8)).clear()
    assert cache.entries() == []
    assert Cache(tmp_path / "leader-epoch-checkpoint").entries() == [(2, 6), (3, 8)]
    cache.clear_and_flush()
    assert Cache(tmp_path / "leader-epoch-checkpoint").entries() == []


@pytest.mark.ported("LeaderEpochFileCacheTest.shouldFetchLatestEpochOfEmptyCache")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldFetchEndOffsetOfEmptyCache")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldClearEarliestOnEmptyCache")
@pytest.mark.ported("LeaderEpochFileCacheTest.shouldClearLatestOnEmptyCache")
def test_empty_cache(cache: Cache) -> None:
    cache.clear_and_flush_earliest(7)
    cache.clear_and_flush_latest(7)
    assert cache.latest_epoch() == -1
    assert cache.end_offset_for(7) == -1


def test_negative_epoch_is_a_bug(cache: Cache) -> None:
    with pytest.raises(AssertionError, match="epoch < 0"):
        cache.assign(-1, 0)


@pytest.mark.parametrize(
    ("requested", "expected"),
    [(-1, (-1, -1)), (3, (3, 10)), (5, (5, 20)), (6, (5, 20)), (8, (8, 33)), (9, (-1, -1))],
)
def test_an_epoch_that_nobody_wrote_in_ends_with_the_one_before(
    cache: Cache, requested: int, expected: tuple[int, int]
) -> None:
    """KIP-279; what is older than the first known epoch ends where that begins."""
    cache.log_end = 33
    assert cache.with_epochs((5, 10), (8, 20)).epoch_and_end_offset_for(requested) == expected


def test_the_epoch_of_an_offset(cache: Cache) -> None:
    known = cache.with_epochs((5, 10), (8, 20))
    assert [known.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 5, 5, 8, 8]
