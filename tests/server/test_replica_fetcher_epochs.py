"""The epoch in which a follower follows: which requests bear it, and what becomes of one that is over (KIP-320)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.server.abstract_fetcher_manager import BrokerAndInitialOffset
from tests.server.replica_support import partition_state, records
from tests.server.test_replica_fetcher_thread import FOLLOWER, LEADER, TP, Pair, follower_ahead, pair

__all__ = ["pair"]


def lead(pair: Pair, epoch: int) -> None:
    """The leader hears of its epoch."""
    state = partition_state(LEADER, epoch, [LEADER, FOLLOWER], [LEADER, FOLLOWER])
    pair.leader.replica_manager.get_or_create_partition(TP).make_leader(0, state, 0)


def follow(pair: Pair, epoch: int) -> None:
    """The follower hears of the leader's epoch, and where to fetch from is given to the thread anew."""
    state = partition_state(LEADER, epoch, [LEADER, FOLLOWER], [LEADER, FOLLOWER])
    partition = pair.follower.replica_manager.get_or_create_partition(TP)
    partition.make_follower(0, state, 0)
    pair.thread.remove_partitions([TP])
    high_watermark = partition.get_replica_or_exception().high_watermark.message_offset
    pair.thread.add_partitions({TP: high_watermark}, {TP: epoch})


def told(request: AbstractRequest) -> tuple[int, int]:
    """The version of a request, and the epoch that it bears on the wire, -1 if none."""
    version = request.version()
    parsed = type(request).parse(b"".join(map(bytes, request.to_parts())), version)
    if isinstance(parsed, FetchRequest):
        return version, parsed.fetch_data()[TP].current_leader_epoch
    return version, cast("ListOffsetRequest", parsed).current_leader_epochs()[TP]


@pytest.mark.parametrize(
    ("protocol", "offset_for_leader_epoch", "fetch", "list_offsets"),
    [
        ("1.1-IV0", (0, -1), (7, -1), (1, -1)),
        ("2.0-IV0", (1, -1), (7, -1), (1, -1)),
        ("2.0-IV1", (1, -1), (8, -1), (3, -1)),
        ("2.1-IV1", (2, 1), (8, -1), (4, 1)),
        ("2.1-IV2", (2, 1), (10, 1), (4, 1)),
        ("2.2-IV1", (2, 1), (10, 1), (5, 1)),
        ("2.3-IV1", (3, 1), (11, 1), (5, 1)),
        ("2.5-IV0", (3, 1), (11, 1), (5, 1)),
    ],
)
def test_the_protocol_says_which_versions_are_sent_and_whether_they_bear_the_epoch(
    pair: Pair,
    protocol: str,
    offset_for_leader_epoch: tuple[int, int],
    fetch: tuple[int, int],
    list_offsets: tuple[int, int],
) -> None:
    pair.speak(protocol)
    lead(pair, 1)
    follow(pair, 1)
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.do_work()
    pair.thread.fetch_offsets_from_leader(TP)
    asked, fetched, *listed = pair.link.requests
    assert isinstance(asked, OffsetsForLeaderEpochRequest)
    assert told(asked) == offset_for_leader_epoch
    assert asked.replica_id == FOLLOWER
    assert told(fetched) == fetch
    assert [told(request) for request in listed] == [list_offsets] * 2
    assert pair.end(pair.follower) == 1


def test_a_follower_of_an_epoch_that_is_over_waits_for_the_next_one(pair: Pair) -> None:
    lead(pair, 1)
    follow(pair, 1)
    pair.thread.do_work()
    lead(pair, 2)
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.do_work()
    assert pair.failed_partitions.contains(TP)
    assert pair.thread.partition_states == {}
    assert pair.end(pair.follower) == 0
    follow(pair, 2)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1
    assert pair.log_bytes(pair.follower) == pair.log_bytes(pair.leader)


def test_a_follower_of_an_epoch_that_is_over_does_not_cut_its_log_by_the_next_one(pair: Pair) -> None:
    lead(pair, 2)
    follow(pair, 1)
    pair.thread.maybe_truncate()
    assert pair.failed_partitions.contains(TP)
    assert pair.thread.partition_states == {}


def test_a_follower_that_is_ahead_of_its_leader_asks_again(pair: Pair) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    lead(pair, 1)
    pair.leader.append(TP, records(b"a"), acks=1)
    follow(pair, 2)
    pair.thread.maybe_truncate()
    assert pair.thread.partition_states[TP].is_delayed
    assert pair.thread.partition_states[TP].truncating_log
    lead(pair, 2)
    pair.follower.time.sleep(1000)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


def test_a_fetch_that_is_ahead_of_its_leader_is_sent_again(pair: Pair) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    lead(pair, 1)
    follow(pair, 1)
    pair.thread.do_work()
    pair.link.error = Errors.UNKNOWN_LEADER_EPOCH
    pair.thread.do_work()
    assert pair.thread.partition_states[TP].is_delayed
    assert not pair.failed_partitions.contains(TP)
    pair.link.error = None
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.follower.time.sleep(1000)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


def test_who_hears_of_the_next_epoch_before_the_answer_is_not_given_up(pair: Pair) -> None:
    lead(pair, 1)
    follow(pair, 1)
    pair.thread.do_work()
    lead(pair, 2)
    pair.leader.append(TP, records(b"a"), acks=1)

    def hears() -> None:
        follow(pair, 2)
        state = pair.thread.partition_states[TP]
        pair.thread.partition_states[TP] = state.with_offset(state.fetch_offset, False)  # as if it had asked at once

    pair.link.meanwhile[FetchRequest] = hears
    pair.thread.do_work()
    assert not pair.failed_partitions.contains(TP)
    assert pair.thread.partition_states[TP].current_leader_epoch == 2
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


def test_who_is_taken_away_before_the_answer_is_not_counted_as_failed(pair: Pair) -> None:
    assert not pair.thread.on_partition_fenced(TP, 1)
    assert not pair.failed_partitions.contains(TP)


@pytest.mark.parametrize("error", [Errors.FENCED_LEADER_EPOCH, Errors.UNKNOWN_LEADER_EPOCH])
def test_the_leaders_offsets_are_those_of_the_epoch_or_none(pair: Pair, error: Errors) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    follower_ahead(pair)
    pair.thread.add_partitions({TP: 3}, {TP: 1})
    pair.thread.partition_states[TP] = pair.thread.partition_states[TP].with_offset(3, False)
    pair.link.list_offsets_error = error
    pair.thread.do_work()  # OFFSET_OUT_OF_RANGE
    assert pair.end(pair.follower) == 3
    assert pair.failed_partitions.contains(TP) == (error is Errors.FENCED_LEADER_EPOCH)
    assert (TP in pair.thread.partition_states) == (error is Errors.UNKNOWN_LEADER_EPOCH)


def test_the_epoch_outlives_errors_truncation_and_a_new_thread(pair: Pair) -> None:
    lead(pair, 4)
    follow(pair, 4)
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.do_work()
    pair.thread.delay_partitions([TP], 1000)
    pair.thread.mark_partitions_for_truncation(TP, 0)
    state = pair.thread.partition_states[TP]
    assert (state.current_leader_epoch, state.is_delayed, state.truncating_log) == (4, True, True)
    assert pair.thread.partitions_and_offsets() == {TP: BrokerAndInitialOffset(pair.thread.source_broker, 0, 4)}


def test_the_fetchers_hear_the_epoch_from_the_partition(pair: Pair) -> None:
    follow(pair, 7)
    manager = pair.follower.replica_manager
    manager._leadership._start_fetching({manager.get_or_create_partition(TP)})
    fetchers: Any = manager.replica_fetcher_manager
    assert fetchers.fetching[TP].leader_epoch == 7


def test_an_epoch_below_all_of_ours_cuts_at_the_leaders_end(pair: Pair) -> None:
    """The follower has forgotten its early epochs, and the leader knows none of the later ones."""
    follower_ahead(pair)
    replica = pair.follower.replica_manager.get_replica_or_exception(TP)
    assert replica.epochs is not None
    replica.epochs.clear()
    pair.thread.add_partitions({TP: 0}, {TP: 1})
    pair.link.override = {TP: EpochEndOffset(Errors.NONE, 2, 0)}
    pair.thread.maybe_truncate()
    assert pair.end(pair.follower) == 2
