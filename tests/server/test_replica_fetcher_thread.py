"""How a follower copies a leader: both in this process, the network between them replaced by a call."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.clients.client_response import ClientResponse
from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.errors import KafkaStorageException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.metrics.yammer import Metrics
from kafka_py.server.abstract_fetcher_manager import (
    BrokerAndInitialOffset,
    BrokerIdAndFetcherId,
    FailedPartitions,
)
from kafka_py.server.abstract_fetcher_thread import PartitionFetchState
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.fetch_session import FetchManager, FetchSessionCache
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_fetcher_blocking_send import BlockingSend
from kafka_py.server.replica_fetcher_manager import ReplicaFetcherManager
from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread
from kafka_py.testing.mock_time import MockTime
from tests.server.replica_support import Answers, Env, partition_state, records

TP, TP1 = TopicPartition("topic", 0), TopicPartition("topic", 1)
LEADER, FOLLOWER = 2, 1


class Link(BlockingSend):
    """Carries out a follower's requests on the leader, the response going through its bytes."""

    def __init__(self, leader: Env) -> None:
        self.leader = leader
        self.fetch_manager = FetchManager(leader.time, FetchSessionCache(10, 1000))
        self.requests: list[AbstractRequest] = []
        self.fail: Exception | None = None
        self.override: dict[TopicPartition, EpochEndOffset] = {}
        self.error: Errors | None = None
        self.meanwhile: dict[type[AbstractRequest], Callable[[], object]] = {}
        self.closing = self.closed = 0

    def send_request(self, request_builder: AbstractRequest.Builder) -> ClientResponse:
        request = request_builder.build()
        self.requests.append(request)
        self.meanwhile.pop(type(request), lambda: None)()
        if self.fail is not None:
            raise self.fail
        response: AbstractResponse
        if isinstance(request, FetchRequest):
            response = self._fetch(request)
        elif isinstance(request, OffsetsForLeaderEpochRequest):
            asked = request.epochs_by_topic_partition()
            response = OffsetsForLeaderEpochResponse(
                self.leader.replica_manager.last_offset_for_leader_epoch(asked) | self.override
            )
        else:
            assert isinstance(request, ListOffsetRequest)
            response = ListOffsetResponse(
                0, {tp: self._offset(tp, at) for tp, at in request.partition_timestamps().items()}
            )
        version = request.version()
        body = type(response).parse(b"".join(_bytes(p) for p in response.to_parts(version)), version)
        return ClientResponse(cast("Any", None), None, "2", 0, 0, False, None, body)

    def _offset(self, tp: TopicPartition, at: int) -> ListOffsetResponse.PartitionData:
        replica = self.leader.replica_manager.get_leader_replica_if_local(tp)
        offset = replica.log_end_offset.message_offset if at == -1 else replica.log_start_offset
        return ListOffsetResponse.PartitionData(Errors.NONE, -1, offset)

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        context = self.fetch_manager.new_context(request.metadata(), request.fetch_data(), request.to_forget(), True)
        wanted: list[tuple[TopicPartition, FetchRequest.PartitionData]] = []
        context.foreach_partition(lambda tp, data: wanted.append((tp, data)))
        answers = Answers()
        self.leader.replica_manager.fetch_messages(
            FetchParams(7, request.replica_id(), 0, 1, 1 << 20, request.isolation_level()),
            wanted,
            QuotaFactory.UnboundedQuota,
            answers.fetch,
        )
        return context.update_and_generate_response_data(
            {
                tp: FetchResponse.PartitionData(
                    self.error or d.error, d.high_watermark, -1, d.log_start_offset, None, d.records
                )
                for tp, d in answers.fetched[0]
            }
        )

    def initiate_close(self) -> None:
        self.closing += 1

    def close(self) -> None:
        self.closed += 1


def _bytes(part: Any) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    buffer = bytearray(part.size_in_bytes())
    part.read_into(buffer, 0)
    return bytes(buffer)


class Pair:
    """A leader and a follower of topic-0."""

    def __init__(self, tmp_path: pathlib.Path) -> None:
        for name in ("leader", "follower"):
            (tmp_path / name).mkdir()
        self.leader = Env(tmp_path / "leader", broker_id=LEADER)
        self.follower = Env(tmp_path / "follower", broker_id=FOLLOWER)
        config = self.follower.config
        config.replica_fetch_backoff_ms = 0
        config.replica_fetch_wait_max_ms = 500
        config.replica_fetch_min_bytes = 1
        config.replica_fetch_response_max_bytes = 1 << 20
        config.replica_fetch_max_bytes = 1 << 20
        config.originals = dict
        self.link = Link(self.leader)
        self.failed_partitions = FailedPartitions()
        self.threads: list[ReplicaFetcherThread] = []
        self.thread = self.new_thread()

    def new_thread(self) -> ReplicaFetcherThread:
        thread = ReplicaFetcherThread(
            "ReplicaFetcherThread-0-2",
            0,
            BrokerEndPoint(LEADER, "host2", 9092),
            cast("Any", self.follower.config),
            self.failed_partitions,
            self.follower.replica_manager,
            cast("Any", None),
            self.follower.time,
            cast("Any", QuotaFactory.UnboundedQuota),
            self.link,
        )
        self.threads.append(thread)
        return thread

    def assign(self, tp: TopicPartition = TP, epoch: int = 1, fetch: bool = True) -> None:
        replicas = [LEADER, FOLLOWER]
        state = partition_state(LEADER, epoch, replicas, replicas)
        self.leader.replica_manager.get_or_create_partition(tp).make_leader(0, state, 0)
        follower = self.follower.replica_manager.get_or_create_partition(tp)
        follower.make_follower(0, state, 0)
        if fetch:
            replica = follower.get_replica_or_exception()
            self.thread.add_partitions({tp: replica.high_watermark.message_offset})

    def end(self, env: Env, tp: TopicPartition = TP) -> int:
        return env.replica_manager.get_replica_or_exception(tp).log_end_offset.message_offset

    def high_watermark(self, env: Env, tp: TopicPartition = TP) -> int:
        return env.replica_manager.get_replica_or_exception(tp).high_watermark.message_offset

    def log_bytes(self, env: Env) -> bytes:
        return b"".join(p.read_bytes() for p in sorted((env.log_manager.log_dir / str(TP)).glob("*.log")))

    def close(self) -> None:
        for thread in self.threads:
            thread.fetcher_stats.unregister()
            thread.fetcher_lag_stats.unregister()
        self.leader.close()
        self.follower.close()


@pytest.fixture
def pair(tmp_path: pathlib.Path) -> Iterator[Pair]:
    pair = Pair(tmp_path)
    yield pair
    pair.close()


def test_the_follower_ends_with_the_leaders_bytes(pair: Pair) -> None:
    pair.assign()
    waiting = pair.leader.append(TP, records(b"a", b"b"), acks=-1)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 2
    assert pair.high_watermark(pair.leader) == 0, "nothing is acknowledged yet"
    assert waiting.produced == []
    pair.thread.do_work()  # fetching from 2 acknowledges 0 and 1
    assert pair.high_watermark(pair.leader) == 2
    assert waiting.produce_response.error is Errors.NONE
    assert pair.high_watermark(pair.follower) == 0, "the answer bore the high watermark from before"
    pair.thread.do_work()
    assert pair.high_watermark(pair.follower) == 2
    assert pair.log_bytes(pair.follower) == pair.log_bytes(pair.leader)
    assert pair.follower.stats.replication_bytes_in == records(b"a", b"b").size_in_bytes()
    assert pair.thread.fetcher_lag_stats.is_replica_in_sync(TP.topic, TP.partition)


def test_fetches_go_through_one_session(pair: Pair) -> None:
    pair.assign()
    pair.assign(TP1)
    pair.thread.do_work()
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.do_work()
    pair.thread.do_work()
    fetches = [r for r in pair.link.requests if isinstance(r, FetchRequest)]
    assert [list(f.fetch_data()) for f in fetches] == [[TP, TP1], [], [TP]]
    assert fetches[1].metadata().session_id() == fetches[2].metadata().session_id() != 0
    pair.thread.remove_partitions([TP1])
    pair.thread.do_work()
    last = pair.link.requests[-1]
    assert isinstance(last, FetchRequest)
    assert last.to_forget() == [TP1]


@pytest.mark.ported("ReplicaFetcherThreadTest.shouldTruncateToOffsetSpecifiedInEpochOffsetResponse")
def test_a_new_follower_cuts_what_the_leaders_epoch_does_not_have(pair: Pair) -> None:
    follower = pair.follower.replica_manager.get_or_create_partition(TP)
    follower.make_leader(0, partition_state(FOLLOWER, 0, [FOLLOWER], [FOLLOWER]), 0)
    for value in (b"a", b"b", b"c"):
        pair.follower.append(TP, records(value), acks=1)
    leader = pair.leader.replica_manager.get_or_create_partition(TP)
    leader.make_leader(0, partition_state(LEADER, 0, [LEADER], [LEADER]), 0)
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.assign(epoch=1)
    pair.leader.append(TP, records(b"d"), acks=1)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 2
    assert pair.log_bytes(pair.follower) == pair.log_bytes(pair.leader)


@pytest.mark.ported(
    "ReplicaFetcherThreadTest.shouldFetchLeaderEpochOnFirstFetchOnly",
    "ReplicaFetcherThreadTest.shouldMovePartitionsOutOfTruncatingLogState",
)
def test_epochs_are_asked_for_before_the_first_fetch_only(pair: Pair) -> None:
    for tp in (TP, TP1):
        pair.assign(tp)
        pair.leader.append(tp, records(b"a"), acks=1)
    assert all(state.truncating_log for state in pair.thread.partition_states.values())
    for _ in range(3):
        pair.thread.do_work()
        assert not any(state.truncating_log for state in pair.thread.partition_states.values())
    kinds = [type(request) for request in pair.link.requests]
    assert kinds == [OffsetsForLeaderEpochRequest, FetchRequest, FetchRequest, FetchRequest]


@pytest.mark.ported("ReplicaFetcherThreadTest.shouldFilterPartitionsMadeLeaderDuringLeaderEpochRequest")
def test_who_becomes_leader_while_the_old_one_is_asked_cuts_nothing(pair: Pair) -> None:
    for tp in (TP, TP1):
        pair.assign(tp)
        pair.leader.append(tp, records(b"a", b"b"), acks=1)
    pair.thread.do_work()
    pair.thread.remove_partitions([TP, TP1])
    pair.thread.add_partitions({TP: 0, TP1: 0})
    pair.link.override = {TP: EpochEndOffset.of(1), TP1: EpochEndOffset.of(0)}
    pair.link.meanwhile[OffsetsForLeaderEpochRequest] = lambda: pair.thread.remove_partitions([TP])
    pair.thread.maybe_truncate()
    assert (pair.end(pair.follower, TP), pair.end(pair.follower, TP1)) == (2, 0)


def lead_alone(env: Env, broker_id: int, epoch: int, *values: bytes) -> None:
    """What a broker appends in a term in which the other one does not fetch."""
    partition = env.replica_manager.get_or_create_partition(TP)
    partition.make_leader(0, partition_state(broker_id, epoch, [broker_id], [broker_id]), 0)
    for value in values:
        env.append(TP, records(value), acks=1)


def in_common(pair: Pair, *values: bytes) -> None:
    for env, broker_id in ((pair.leader, LEADER), (pair.follower, FOLLOWER)):
        lead_alone(env, broker_id, 0, *values)


def test_records_of_an_epoch_that_the_leader_never_heard_of_are_cut_although_it_has_their_offsets(pair: Pair) -> None:
    in_common(pair, b"a")
    lead_alone(pair.leader, LEADER, 0, b"b")  # not yet fetched when the follower was elected
    lead_alone(pair.follower, FOLLOWER, 1, b"c")  # not yet fetched when the leader was elected again
    pair.assign(epoch=2)
    pair.leader.append(TP, records(b"d"), acks=1)
    for _ in range(3):
        pair.thread.do_work()
    assert pair.log_bytes(pair.follower) == pair.log_bytes(pair.leader)


def test_the_follower_looks_back_until_it_finds_an_epoch_in_common(pair: Pair) -> None:
    in_common(pair, b"a", b"b")
    lead_alone(pair.leader, LEADER, 2, b"c", b"d", b"e")
    for epoch, value in ((1, b"x"), (3, b"y"), (4, b"z")):
        lead_alone(pair.follower, FOLLOWER, epoch, value)
    pair.assign(epoch=5)
    pair.leader.append(TP, records(b"f"), acks=1)
    for _ in range(6):
        pair.thread.do_work()
    assert pair.log_bytes(pair.follower) == pair.log_bytes(pair.leader)


def test_an_epoch_in_common_is_kept_whole(pair: Pair) -> None:
    pair.assign(epoch=0)
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.assign(epoch=1, fetch=False)
    pair.leader.append(TP, records(b"b"), acks=1)
    for _ in range(3):
        pair.thread.do_work()
    assert pair.end(pair.follower) == 2
    pair.thread.remove_partitions([TP])
    pair.assign(epoch=2)
    pair.thread.maybe_truncate()
    assert pair.end(pair.follower) == 2
    assert pair.thread.partition_states[TP].fetch_offset == 2


@pytest.mark.ported("ReplicaFetcherThreadTest.shouldTruncateToInitialFetchOffsetIfLeaderReturnsUndefinedOffset")
def test_with_an_undefined_end_the_log_is_cut_at_the_initial_offset(pair: Pair) -> None:
    pair.assign(fetch=False)
    for value in (b"a", b"b", b"c"):
        pair.leader.append(TP, records(value), acks=1)
    pair.thread.add_partitions({TP: 0})
    pair.thread.do_work()
    assert pair.end(pair.follower) == 3
    pair.thread.remove_partitions([TP])
    pair.link.override = {TP: EpochEndOffset(Errors.NONE, EpochEndOffset.UNDEFINED_EPOCH_OFFSET)}
    pair.thread.add_partitions({TP: 1})
    pair.thread.maybe_truncate()
    assert pair.end(pair.follower) == 1
    assert pair.thread.partition_states[TP].is_ready_for_fetch


@pytest.mark.ported("ReplicaFetcherThreadTest.shouldPollIndefinitelyIfLeaderReturnsAnyException")
def test_while_the_leader_answers_with_an_error_nothing_is_cut_and_nothing_fetched(pair: Pair) -> None:
    pair.assign()
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.link.override = {TP: EpochEndOffset(Errors.NOT_LEADER_FOR_PARTITION, -1)}
    for _ in range(3):
        pair.thread.do_work()
    assert pair.end(pair.follower) == 0
    assert pair.thread.partition_states[TP].truncating_log
    pair.link.override = {}
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


@pytest.mark.ported("ReplicaFetcherThreadTest.shouldHandleExceptionFromBlockingSend")
def test_a_lost_connection_is_tried_again(pair: Pair) -> None:
    pair.assign()
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.link.fail = OSError("injected")
    pair.thread.do_work()
    assert pair.end(pair.follower) == 0
    pair.link.fail = None
    pair.thread.do_work()  # asks for the epoch
    pair.link.fail = OSError("injected")
    pair.thread.do_work()
    pair.link.fail = None
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


@pytest.mark.ported("ReplicaFetcherThreadTest.shouldNotIssueLeaderEpochRequestIfInterbrokerVersionBelow11")
def test_an_old_protocol_cuts_at_the_high_watermark_and_fetches_without_a_session(pair: Pair) -> None:
    from kafka_py.api.api_version import ApiVersion

    pair.follower.config.inter_broker_protocol_version = ApiVersion.apply("0.10.0")
    pair.thread = pair.new_thread()
    pair.assign()
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.do_work()
    assert [type(r) for r in pair.link.requests] == [FetchRequest]
    assert pair.link.requests[0].version() == 2


def test_a_follower_behind_the_leaders_start_begins_anew(pair: Pair) -> None:
    pair.assign(fetch=False)
    for value in (b"a", b"b", b"c"):
        pair.leader.append(TP, records(value), acks=1)
    replica = pair.leader.replica_manager.get_leader_replica_if_local(TP)
    replica.high_watermark = replica.log_end_offset
    replica.maybe_increment_log_start_offset(2)
    pair.thread.add_partitions({TP: 0})
    pair.thread.do_work()  # OFFSET_OUT_OF_RANGE
    assert pair.thread.partition_states[TP].fetch_offset == 2
    pair.thread.do_work()
    assert (pair.end(pair.follower), pair.follower.replica_manager.get_replica_or_exception(TP).log_start_offset) == (
        3,
        2,
    )


def follower_ahead(pair: Pair) -> None:
    """The follower has three records, the leader none."""
    pair.assign(fetch=False)
    follower = pair.follower.replica_manager.get_or_create_partition(TP)
    for i in range(3):
        follower.append_records_to_follower_or_future_replica(
            records(b"x", initial_offset=i, partition_leader_epoch=1), False
        )


def ready_to_fetch(pair: Pair, offset: int) -> None:
    """The follower has truncated its log and is about to fetch from `offset`."""
    pair.thread.partition_states[TP] = PartitionFetchState(pair.follower.time, offset)


def test_a_follower_ahead_of_the_leader_cuts(pair: Pair) -> None:
    follower_ahead(pair)
    ready_to_fetch(pair, 3)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 0
    assert pair.thread.partition_states[TP].fetch_offset == 0
    assert pair.thread.partition_states[TP].is_ready_for_fetch


def test_while_the_leader_is_asked_for_its_offsets_the_partition_can_be_taken_away(pair: Pair) -> None:
    follower_ahead(pair)
    ready_to_fetch(pair, 3)
    thread = threading.Thread(target=pair.thread.remove_partitions, args=([TP],))
    is_blocked: list[bool] = []

    def take_away() -> None:
        thread.start()
        thread.join(10)
        is_blocked.append(thread.is_alive())

    pair.link.meanwhile[ListOffsetRequest] = take_away
    pair.thread.do_work()
    thread.join()
    assert is_blocked == [False]
    assert pair.end(pair.follower) == 3, "it is somebody else's by now"
    assert pair.thread.partition_states == {}


def test_offsets_of_a_leader_that_cannot_be_asked_are_asked_for_again(pair: Pair) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    follower_ahead(pair)
    ready_to_fetch(pair, 3)

    def fail() -> None:
        raise OSError("injected")

    pair.link.meanwhile[ListOffsetRequest] = fail
    pair.thread.do_work()
    assert pair.thread.partition_states[TP].is_delayed
    pair.follower.time.sleep(1000)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 0


def test_an_answer_about_epochs_counts_only_for_the_partition_as_it_was_when_asked(pair: Pair) -> None:
    pair.assign()
    for value in (b"a", b"b", b"c"):
        pair.leader.append(TP, records(value), acks=1)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 3
    pair.thread.remove_partitions([TP])
    pair.thread.add_partitions({TP: 0})
    pair.link.override = {TP: EpochEndOffset.of(1)}

    def give_anew() -> None:  # with a newer leader epoch, in which record 1 and 2 are good
        pair.thread.remove_partitions([TP])
        pair.thread.add_partitions({TP: 2})

    pair.link.meanwhile[OffsetsForLeaderEpochRequest] = give_anew
    pair.thread.maybe_truncate()
    assert pair.end(pair.follower) == 3
    assert pair.thread.partition_states[TP].is_truncating_log
    pair.link.override = {}
    pair.thread.maybe_truncate()
    assert pair.thread.partition_states[TP].fetch_offset == 3


def test_an_initial_offset_below_zero_is_asked_for(pair: Pair) -> None:
    pair.assign(fetch=False)
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.add_partitions({TP: -1})
    assert pair.thread.partition_states[TP].fetch_offset == 0


def test_partitions_with_errors_pause(pair: Pair) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    pair.assign()
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.link.error = Errors.NOT_LEADER_FOR_PARTITION
    pair.thread.do_work()
    state = pair.thread.partition_states[TP]
    assert state.is_delayed
    assert not state.is_ready_for_fetch
    pair.link.error = None
    pair.follower.time.sleep(1000)
    assert pair.thread.partition_states[TP].is_ready_for_fetch
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


@pytest.mark.parametrize("error", [Errors.UNKNOWN_SERVER_ERROR, Errors.CORRUPT_MESSAGE])
def test_other_errors_pause_too(pair: Pair, error: Errors) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    pair.assign()
    pair.link.error = error
    pair.thread.do_work()
    assert pair.thread.partition_states[TP].is_delayed


@pytest.mark.parametrize("error", [KafkaStorageException("injected"), RuntimeError("injected")])
def test_a_partition_that_cannot_be_appended_to_is_given_up_and_the_others_go_on(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for tp in (TP, TP1):
        pair.assign(tp)
        pair.leader.append(tp, records(b"a"), acks=1)
    process = pair.thread.process_partition_data

    def fail(tp: TopicPartition, *args: Any) -> None:
        if tp == TP:
            raise error
        process(tp, *args)

    monkeypatch.setattr(pair.thread, "process_partition_data", fail)
    pair.thread.do_work()
    assert pair.end(pair.follower, TP1) == 1
    assert list(pair.thread.partition_states) == [TP1]
    assert pair.failed_partitions.contains(TP)
    assert pair.failed_partitions.size == 1
    pair.leader.append(TP1, records(b"b"), acks=1)
    pair.thread.do_work()
    assert pair.end(pair.follower, TP1) == 2


@pytest.mark.parametrize("error", [KafkaStorageException("injected"), RuntimeError("injected")])
def test_a_partition_that_cannot_be_truncated_is_given_up_and_the_others_go_on(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    for tp in (TP, TP1):
        pair.assign(tp)
        pair.leader.append(tp, records(b"a"), acks=1)
    truncate_to = pair.follower.log_manager.truncate_to

    def fail(offsets: dict[TopicPartition, int], is_future: bool) -> None:
        if TP in offsets:
            raise error
        truncate_to(offsets, is_future)

    monkeypatch.setattr(pair.follower.log_manager, "truncate_to", fail)
    pair.thread.do_work()
    assert (pair.end(pair.follower), pair.end(pair.follower, TP1)) == (0, 1)
    assert pair.failed_partitions.contains(TP)
    assert not pair.failed_partitions.contains(TP1)


def test_a_partition_without_replica_is_given_up(pair: Pair) -> None:
    pair.assign()
    pair.thread.do_work()
    pair.follower.replica_manager._all_partitions.remove(TP)
    pair.thread.do_work()
    assert pair.failed_partitions.contains(TP)


def test_an_offline_replica_is_left_out(pair: Pair) -> None:
    pair.follower.config.replica_fetch_backoff_ms = 1000
    pair.assign()
    pair.thread.do_work()
    pair.follower.replica_manager.mark_partition_offline(TP)
    pair.thread.do_work()
    assert pair.thread.partition_states[TP].is_delayed


@pytest.mark.ported("LogDirFailureTest.testReplicaFetcherThreadAfterLogDirFailureOnFollower", changes="one process")
@pytest.mark.parametrize("answer_is_under_way", [False, True])
def test_a_replica_that_goes_offline_does_not_stop_the_others(pair: Pair, answer_is_under_way: bool) -> None:
    for tp in (TP, TP1):
        pair.assign(tp)
    pair.thread.do_work()
    for tp in (TP, TP1):
        pair.leader.append(tp, records(b"a"), acks=1)

    def fails() -> None:
        pair.follower.replica_manager.mark_partition_offline(TP)

    if answer_is_under_way:
        pair.link.meanwhile[FetchRequest] = fails
    else:
        fails()
    for _ in range(2):
        pair.thread.do_work()
    assert pair.end(pair.follower, TP1) == 1
    assert TP1 in pair.thread.partition_states
    in_sync = pair.leader.replica_manager.get_or_create_partition(TP1).in_sync_replicas
    assert {replica.broker_id for replica in in_sync} == {LEADER, FOLLOWER}


def test_a_throttled_follower_that_lags_waits(pair: Pair) -> None:
    quota = SimpleNamespace(is_throttled=lambda tp: True, is_quota_exceeded=lambda: True, record=lambda v: None)
    pair.thread._quota = cast("Any", quota)
    pair.assign()
    pair.leader.append(TP, records(b"a"), acks=1)
    pair.thread.do_work()
    assert pair.end(pair.follower) == 0
    quota.is_quota_exceeded = lambda: False
    pair.thread.do_work()
    assert pair.end(pair.follower) == 1


def test_truncation_may_be_asked_for(pair: Pair) -> None:
    pair.assign()
    pair.thread.do_work()
    pair.thread.mark_partitions_for_truncation(TP, 0)
    assert pair.thread.partition_states[TP].is_truncating_log


def test_partition_fetch_state_is_printed_with_its_phase() -> None:
    time = MockTime()
    state = PartitionFetchState(time, 5, 100, True)
    assert repr(state) == "offset:5-isReadyForFetch:false-isTruncatingLog:true"
    before = state.is_truncating_log
    time.sleep(100)
    assert (before, state.is_truncating_log) == (False, True)
    assert state.with_offset(7, False).is_ready_for_fetch


# ---- the manager


class OneTurnManager(ReplicaFetcherManager):
    """Makes threads that talk to `link`."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        pair.follower.config.replica_fetch_backoff_ms = 10
        super().__init__(
            cast("Any", pair.follower.config),
            pair.follower.replica_manager,
            cast("Any", None),
            pair.follower.time,
            None,
            cast("Any", QuotaFactory.UnboundedQuota),
        )

    def create_fetcher_thread(self, fetcher_id: int, source_broker: BrokerEndPoint) -> ReplicaFetcherThread:
        return ReplicaFetcherThread(
            f"ReplicaFetcherThread-{fetcher_id}-{source_broker.id}",
            fetcher_id,
            source_broker,
            self._broker_config,
            self.failed_partitions,
            self._replica_manager,
            self._metrics,
            self._time,
            self._quota_manager,
            self.pair.link,
        )


@pytest.mark.ported("AbstractFetcherManagerTest / ReplicaFetchTest.testReplicaFetcherThread", changes="both in one")
def test_threads_are_started_fed_and_stopped(pair: Pair) -> None:
    pair.assign(fetch=False)
    pair.leader.append(TP, records(b"a"), acks=1)
    manager = OneTurnManager(pair)
    try:
        assert manager.get_fetcher_id("topic", 0) == 0
        manager.add_fetcher_for_partitions({TP: BrokerAndInitialOffset(BrokerEndPoint(LEADER, "host2", 9092), 0)})
        (key,) = manager.fetcher_thread_map
        assert key == BrokerIdAndFetcherId(LEADER, 0)
        thread = manager.fetcher_thread_map[key]
        assert thread.name == "ReplicaFetcherThread-0-2"
        for _ in range(500):
            if pair.end(pair.follower) == 1:
                break
            thread.join(0.01)
        assert pair.end(pair.follower) == 1
        # the broker has moved: another thread
        manager.add_fetcher_for_partitions({TP: BrokerAndInitialOffset(BrokerEndPoint(LEADER, "host3", 9092), 1)})
        assert manager.fetcher_thread_map[key] is not thread
        assert not thread.is_alive()
        manager.resize_thread_pool(2)
        assert sum(t.partition_count() for t in manager.fetcher_thread_map.values()) == 1
        manager.remove_fetcher_for_partitions([TP])
        manager.shutdown_idle_fetcher_threads()
        assert manager.fetcher_thread_map == {}
    finally:
        manager.shutdown()
    assert pair.link.closed >= 2
    assert pair.link.closing == pair.link.closed


def test_partitions_fall_to_the_same_threads_as_in_kafka(pair: Pair) -> None:
    manager = OneTurnManager(pair)
    manager.resize_thread_pool(4)
    # "topic".hashCode() is 110546223
    assert [manager.get_fetcher_id("topic", p) for p in range(4)] == [
        (31 * 110546223 + p) % 2**31 % 4 for p in range(4)
    ]


def gauge(manager: OneTurnManager, name: str) -> object:
    metric = Metrics.default_registry().all_metrics()[manager.metric_name(name, {"clientId": "Replica"})]
    return metric.value()  # type: ignore[attr-defined]


def test_failed_partitions_get_another_chance_when_they_are_given_again_or_taken_away(pair: Pair) -> None:
    manager = OneTurnManager(pair)
    broker = BrokerEndPoint(LEADER, "host2", 9092)
    pair.assign(fetch=False)
    try:
        for tp in (TP, TP1):
            manager.failed_partitions.add(tp)
        assert gauge(manager, "FailedPartitionsCount") == 2
        manager.add_fetcher_for_partitions({TP: BrokerAndInitialOffset(broker, 0)})
        assert not manager.failed_partitions.contains(TP)
        manager.remove_fetcher_for_partitions([TP1])
        assert gauge(manager, "FailedPartitionsCount") == 0
    finally:
        manager.shutdown()


def test_a_thread_that_has_died_is_replaced_and_its_partitions_are_fetched_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = OneTurnManager(pair)
    broker = BrokerEndPoint(LEADER, "host2", 9092)
    for tp in (TP, TP1):
        pair.assign(tp, fetch=False)
        pair.leader.append(tp, records(b"a"), acks=1)
    try:
        with monkeypatch.context() as patch:

            def die(*args: Any) -> None:
                raise RuntimeError("injected")

            patch.setattr(ReplicaFetcherThread, "build_leader_epoch_request", die)
            manager.add_fetcher_for_partitions({TP: BrokerAndInitialOffset(broker, 0)})
            (dead,) = manager.fetcher_thread_map.values()
            dead.join()
        assert gauge(manager, "DeadThreadCount") == 1
        manager.add_fetcher_for_partitions({TP1: BrokerAndInitialOffset(broker, 0)})
        (thread,) = manager.fetcher_thread_map.values()
        assert thread is not dead
        assert gauge(manager, "DeadThreadCount") == 0
        for _ in range(500):
            if pair.end(pair.follower) == pair.end(pair.follower, TP1) == 1:
                break
            thread.join(0.01)
        assert (pair.end(pair.follower), pair.end(pair.follower, TP1)) == (1, 1)
    finally:
        manager.shutdown()
