"""Moves of replicas between two log directories: the thread, its orders, and what is left when a move goes wrong."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.cluster.partition import Partition
from kafka_py.cluster.replica import Replica
from kafka_py.common.errors import KafkaStorageException, OffsetOutOfRangeException
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.log.cleaner_config import CleanerConfig
from kafka_py.log.log import Log
from kafka_py.log.log_config import LogConfig
from kafka_py.log.log_manager import LogManager
from kafka_py.metrics.yammer import Metrics
from kafka_py.server.abstract_fetcher_manager import BrokerIdAndFetcherId, FailedPartitions
from kafka_py.server.abstract_fetcher_thread import PartitionFetchState
from kafka_py.server.broker_states import BrokerState
from kafka_py.server.broker_topic_stats import BrokerTopicStats
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.server.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from kafka_py.server.replica_alter_log_dirs_thread import ReplicaAlterLogDirsThread
from kafka_py.testing.mock_time import MockTime
from tests.server.replica_support import BROKER_ID, Env, records

TP, TP1 = TopicPartition("topic", 0), TopicPartition("topic", 1)
FUTURE = -3
UNDEFINED = EpochEndOffset.UNDEFINED_EPOCH_OFFSET


class Quota:
    """Throttles when told to."""

    def __init__(self) -> None:
        self.exceeded = False
        self.recorded = 0

    def is_quota_exceeded(self) -> bool:
        return self.exceeded

    def record(self, value: int) -> None:
        self.recorded += value


class Broker:
    """One broker with some log directories, whose moves go on when the test says so."""

    def __init__(self, tmp_path: pathlib.Path, dirs: str = "ab") -> None:
        self.dirs = [tmp_path / name for name in dirs]
        self.channel = LogDirFailureChannel(10)
        self.open()

    def open(self) -> None:
        self.env = Env(self.dirs[0], log_manager=self._new_log_manager)
        config = self.env.config
        config.replica_fetch_backoff_ms = 0
        config.replica_fetch_response_max_bytes = 1 << 20
        config.replica_fetch_max_bytes = 1 << 20
        config.get_num_replica_alter_log_dirs_threads = 1
        config.log_dirs = [str(d) for d in self.dirs]
        self.manager = self.env.replica_manager
        self.quota = Quota()
        self.threads: list[ReplicaAlterLogDirsThread] = []
        self.failed_partitions = FailedPartitions()
        self.thread = self.new_thread()

    def _new_log_manager(self, time: MockTime) -> Any:
        self.logs = LogManager(
            log_dirs=self.dirs,
            initial_offline_dirs=(),
            topic_configs={},
            initial_default_config=LogConfig({"segment.index.bytes": 4096}),
            cleaner_config=CleanerConfig(),  # its threads are not started
            recovery_threads_per_data_dir=1,
            flush_check_ms=1000,
            flush_recovery_offset_checkpoint_ms=10000,
            flush_start_offset_checkpoint_ms=10000,
            retention_check_ms=1000,
            max_pid_expiration_ms=60 * 60 * 1000,
            scheduler=time.scheduler,
            broker_state=BrokerState(),
            broker_topic_stats=BrokerTopicStats(),
            log_dir_failure_channel=self.channel,
            time=time,
        )
        self.logs.channel = self.channel  # type: ignore[attr-defined]  # as Env's own has it
        self.logs.close = lambda: None  # type: ignore[attr-defined]
        return self.logs

    def new_thread(self) -> ReplicaAlterLogDirsThread:
        thread = ReplicaAlterLogDirsThread(
            "ReplicaAlterLogDirsThread-0",
            BrokerEndPoint(BROKER_ID, "localhost", -1),
            cast("Any", self.env.config),
            self.failed_partitions,
            self.manager,
            cast("Any", self.quota),
            cast("Any", self.env.stats),
            self.env.time,
        )
        self.threads.append(thread)
        return thread

    def crash(self) -> None:
        for log in self.logs.all_logs:
            log.close_handlers()
            log.remove_log_metrics()
        self.logs._directories.unlock_all()
        self.logs._remove_metrics()
        for thread in self.threads:
            thread.fetcher_stats.unregister()
            thread.fetcher_lag_stats.unregister()
        self.env.close()
        self.env.time.scheduler.clear()

    # ---- what is there

    def partition(self, tp: TopicPartition = TP) -> Partition:
        partition = self.manager.get_partition(tp)
        assert partition is not None
        return partition

    def current(self, tp: TopicPartition = TP) -> Replica:
        return self.manager.get_replica_or_exception(tp)

    def future(self, tp: TopicPartition = TP) -> Replica:
        return self.manager.get_replica_or_exception(tp, FUTURE)

    def future_log(self, tp: TopicPartition = TP) -> Log:
        log = self.future(tp).log
        assert log is not None
        return log

    def end(self, replica: Replica) -> int:
        return replica.log_end_offset.message_offset

    def other_dir(self, tp: TopicPartition = TP) -> str:
        log = self.logs.get_log(tp)
        assert log is not None
        return next(str(d) for d in self.dirs if str(d) != log.parent_dir)

    def bytes_of(self, log: Log) -> bytes:
        return b"".join(p.read_bytes() for p in sorted(log.dir.glob("*.log")))

    # ---- what is done

    def lead(self, tp: TopicPartition = TP, *values: bytes) -> None:
        self.env.become_leader(tp)
        self.append(tp, *values)

    def append(self, tp: TopicPartition, *values: bytes) -> None:
        for value in values:
            assert self.env.append(tp, records(value)).produce_response.error is Errors.NONE

    def alter(self, destination: str, tp: TopicPartition = TP) -> Errors:
        error: Errors
        (error,) = self.manager.alter_replica_log_dirs({tp: destination}).values()
        return error

    def move(self, tp: TopicPartition = TP) -> None:
        """Begin to move a partition to the other directory; the test's thread is to copy it."""
        assert self.alter(self.other_dir(tp), tp) is Errors.NONE
        self.thread.add_partitions({tp: self.env.movers.fetching[tp].init_offset})

    def obey(self, *tps: TopicPartition, epoch: int = 0) -> None:
        states = {
            tp: LeaderAndIsrRequest.PartitionState(1, BROKER_ID, epoch, [BROKER_ID], 0, [BROKER_ID], True) for tp in tps
        }
        request = LeaderAndIsrRequest(1, 0, 1, states, {Node(BROKER_ID, "host1", 9092)})
        self.manager.become_leader_or_follower(0, request, lambda leaders, followers: None)


@pytest.fixture
def broker(tmp_path: pathlib.Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.crash()


# ---- a move from beginning to end


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest@2.5.1.shouldReplaceCurrentLogDirWhenCaughtUp")
def test_the_copy_is_swapped_in_when_it_has_caught_up(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b")
    old_log, destination = broker.current().log, broker.other_dir()
    assert old_log is not None
    broker.move()
    assert broker.future_log().parent_dir == destination
    infos = broker.manager.describe_log_dirs([TP])
    assert [(i.offset_lag, i.is_future) for i in infos[destination].replica_infos.values()] == [(2, True)]
    assert [(i.offset_lag, i.is_future) for i in infos[old_log.parent_dir].replica_infos.values()] == [(0, False)]
    broker.thread.do_work()
    log = broker.current().log
    assert log is not None
    assert log is broker.logs.get_log(TP) is not old_log
    assert (log.parent_dir, log.name, log.is_future) == (destination, str(TP), False)
    assert broker.manager.get_replica(TP, FUTURE) is None
    assert broker.thread.partition_count() == 0
    assert broker.bytes_of(log) == broker.bytes_of(old_log)
    assert broker.quota.recorded == len(broker.bytes_of(log))
    broker.append(TP, b"c")
    assert (broker.end(broker.current()), old_log.log_end_offset) == (3, 2)
    assert broker.env.fetch(TP, 0).fetch_data.high_watermark == 3
    infos = broker.manager.describe_log_dirs([TP])
    assert [len(info.replica_infos) for info in infos.values()].count(0) == 1


def test_what_is_appended_meanwhile_is_copied_too(broker: Broker) -> None:
    broker.env.config.replica_fetch_response_max_bytes = 1  # one batch at a time
    broker.thread = broker.new_thread()
    broker.lead(TP, b"a", b"b")
    broker.move()
    broker.thread.do_work()
    assert broker.end(broker.future()) == 1
    broker.append(TP, b"c")
    broker.thread.do_work()
    assert (broker.end(broker.future()), broker.future().high_watermark.message_offset) == (2, 2)
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None
    assert broker.end(broker.current()) == 3


def test_who_reads_the_old_log_when_the_move_ends_goes_on_reading(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b")
    answer = broker.env.fetch(TP, 0).fetch_data
    old_log = broker.current().log
    assert old_log is not None
    broker.move()
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None
    size = answer.records.size_in_bytes()
    assert bytes(cast("Any", answer.records).read_into(bytearray(size), 0)) == broker.bytes_of(old_log)
    assert old_log.read(1, 1 << 20).records.size_in_bytes() > 0


def test_epochs_and_log_start_that_no_record_tells_of_go_with_the_move(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b")
    broker.move()
    delete = broker.manager.delete_records
    deleted: list[Any] = []
    broker.env.become_leader(TP)  # once more, in epoch 1, of which there is no record yet
    broker.thread.do_work()
    current = broker.current()
    assert current.epochs is current.log.leader_epoch_cache  # type: ignore[union-attr]
    assert [(e.epoch, e.start_offset) for e in cast("Any", current.epochs).epoch_entries()] == [(0, 0), (1, 2)]
    delete(1000, {TP: 2}, deleted.append)
    assert [r.low_watermark for answer in deleted for r in answer.values()] == [2]


def test_records_deleted_just_before_the_swap_stay_deleted(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(TP, b"a", b"b")
    broker.move()
    current, swap = broker.current(), broker.partition().maybe_replace_current_with_future_replica

    def delete_first() -> bool:
        current.maybe_increment_log_start_offset(1)
        return swap()

    monkeypatch.setattr(broker.partition(), "maybe_replace_current_with_future_replica", delete_first)
    broker.thread.do_work()
    assert current.log is broker.logs.get_log(TP)
    assert current.log_start_offset == 1


def test_who_waits_for_deleted_records_hears_when_the_copy_has_followed(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b")
    broker.move()
    answers: list[Any] = []
    broker.manager.delete_records(1000, {TP: 1}, answers.append)
    assert answers == []
    broker.thread.do_work()  # the current replica begins at 1: the copy begins there as well
    broker.thread.do_work()
    assert [r.low_watermark for answer in answers for r in answer.values()] == [1]


@pytest.mark.ported("PartitionTest.testMaybeReplaceCurrentWithFutureReplicaDifferentBaseOffsets")
def test_segments_that_were_rolled_elsewhere_do_not_matter(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b")
    log = broker.logs.get_log(TP)
    assert log is not None
    log.roll()
    broker.append(TP, b"c")
    broker.move()
    for _ in range(2):  # a read ends where its segment does
        broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None
    high_watermark = broker.current().high_watermark
    assert high_watermark == broker.current().log_end_offset, "with the position in the new log"
    assert high_watermark.segment_base_offset == 0


def test_the_gauges_follow_the_log(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b")
    old_log = broker.logs.get_log(TP)
    broker.move()

    def gauges() -> dict[str, int]:
        names = Metrics.default_registry().all_metrics()
        found = {n.scope: m.value() for n, m in names.items() if n.name == "LogEndOffset"}  # type: ignore[attr-defined]
        return {str(scope): end for scope, end in found.items() if "topic.topic" in str(scope)}

    assert gauges() == {"partition.0.topic.topic": 2, "is-future.true.partition.0.topic.topic": 0}
    broker.thread.do_work()
    assert old_log is not None
    broker.append(TP, b"c")
    assert gauges() == {"partition.0.topic.topic": 3}
    old_log.delete()
    assert gauges() == {"partition.0.topic.topic": 3}


def test_the_throttle_stops_the_copying(broker: Broker) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.quota.exceeded = True
    broker.thread.do_work()
    assert broker.end(broker.future()) == 0
    broker.quota.exceeded = False
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None


# ---- the thread


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.issuesEpochRequestFromLocalReplica")
def test_epochs_are_looked_up_in_the_current_replica(broker: Broker) -> None:
    for tp in (TP, TP1):
        broker.lead(tp, b"a", b"b")
        broker.move(tp)
    answers = broker.thread.fetch_epochs_from_leader({TP: 0, TP1: 0})
    assert {tp: (a.error(), a.leader_epoch(), a.end_offset()) for tp, a in answers.items()} == dict.fromkeys(
        (TP, TP1), (Errors.NONE, 0, 2)
    )


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.fetchEpochsFromLeaderShouldHandleExceptionFromGetLocalReplica")
def test_an_offline_current_replica_is_that_partitions_error(broker: Broker) -> None:
    for tp in (TP, TP1):
        broker.lead(tp, b"a")
        broker.move(tp)
    partition = broker.partition(TP1)
    broker.manager.mark_partition_offline(TP1)
    answers = broker.thread.fetch_epochs_from_leader({TP: 0, TP1: 0})
    assert (answers[TP].error(), answers[TP].end_offset()) == (Errors.NONE, 1)
    assert (answers[TP1].error(), answers[TP1].end_offset()) == (Errors.KAFKA_STORAGE_ERROR, UNDEFINED)
    broker.manager._all_partitions.put(TP1, partition)


def copied(broker: Broker, tp: TopicPartition, *values: bytes, epoch: int = 0) -> None:
    """What a copy may have from before, whatever the current replica has now."""
    for value in values:
        batch = records(value, partition_leader_epoch=epoch, initial_offset=broker.end(broker.future(tp)))
        broker.partition(tp).append_records_to_follower_or_future_replica(batch, is_future=True)


def recorded_truncations(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> list[tuple[TopicPartition, int, bool]]:
    truncated: list[tuple[TopicPartition, int, bool]] = []
    truncate_to = broker.logs.truncate_to

    def record(offsets: Any, is_future: bool) -> None:
        truncated.extend((tp, offset, is_future) for tp, offset in offsets.items())
        truncate_to(offsets, is_future)

    monkeypatch.setattr(broker.logs, "truncate_to", record)
    return truncated


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldTruncateToReplicaOffset")
def test_a_copy_is_cut_to_what_the_current_replica_has(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(TP, b"a", b"b")
    broker.lead(TP1, b"a", b"b", b"c", b"d")
    broker.move(TP)
    broker.move(TP1)
    copied(broker, TP, b"a", b"b", b"x")
    copied(broker, TP1, b"a", b"b", b"c")
    truncated = recorded_truncations(broker, monkeypatch)
    broker.thread.maybe_truncate()
    assert sorted(truncated) == [(TP, 2, True), (TP1, 3, True)]
    assert [broker.end(broker.future(tp)) for tp in (TP, TP1)] == [2, 3]


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldTruncateToEndOffsetOfLargestCommonEpoch")
def test_the_copy_looks_back_until_it_finds_an_epoch_in_common(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b", b"c")  # epoch 0
    broker.move()
    copied(broker, TP, b"a", b"b", epoch=0)
    copied(broker, TP, b"x", b"y", epoch=2)  # of an epoch that the current replica never had
    for _ in range(3):
        broker.env.become_leader(TP)  # epochs 1 to 3
    broker.append(TP, b"d", b"e")
    epochs = broker.current().epochs
    assert epochs is not None
    assert epochs.epoch_and_end_offset_for(2) == (2, 3), "its own start of epoch 2 is no record of it"
    epochs.clear_and_flush()
    for epoch, offset in ((0, 0), (3, 3)):
        epochs.assign(epoch, offset)
    broker.thread.maybe_truncate()
    assert broker.end(broker.future()) == 2, (
        "3 is where the current replica's epoch 0 ends, and 2 where the copy's does"
    )
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldTruncateToInitialFetchOffsetIfReplicaReturnsUndefinedOffset")
def test_without_epochs_the_copy_is_cut_at_the_offset_it_is_to_go_on_with(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b", b"c")
    broker.move()
    copied(broker, TP, b"a", b"b", b"c")
    epochs = broker.future().epochs
    assert epochs is not None
    epochs.clear_and_flush()
    broker.thread.remove_partitions([TP])
    broker.thread.add_partitions({TP: 1})
    broker.thread.maybe_truncate()
    assert broker.end(broker.future()) == 1


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldPollIndefinitelyIfReplicaNotAvailable")
def test_the_thread_asks_until_the_current_replica_is_there(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(TP, b"a", b"b")
    broker.move()
    copied(broker, TP, b"a")
    truncated = recorded_truncations(broker, monkeypatch)
    partition = broker.partition()
    current = broker.current()
    partition._remove_replica(BROKER_ID)
    for _ in range(3):
        broker.thread.maybe_truncate()
    assert truncated == []
    partition.add_replica_if_not_exists(current)
    broker.thread.maybe_truncate()
    assert truncated == [(TP, 1, True)]


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldFetchLeaderEpochOnFirstFetchOnly")
def test_a_copy_is_cut_once(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(TP, b"a", b"b", b"c")
    broker.env.config.replica_fetch_response_max_bytes = 1
    broker.thread = broker.new_thread()
    broker.move()
    truncated = recorded_truncations(broker, monkeypatch)
    for _ in range(3):
        broker.thread.do_work()
    assert truncated == [(TP, 0, True)]


def state(broker: Broker, offset: int, delay_ms: int = 0, truncating: bool = False) -> PartitionFetchState:
    return PartitionFetchState(broker.env.time, offset, delay_ms, truncating)


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldFetchOneReplicaAtATime")
def test_one_partition_at_a_time_the_last_first(broker: Broker) -> None:
    for tp in (TP, TP1):
        broker.lead(tp, b"a")
        broker.move(tp)
    request, failed = broker.thread.build_fetch_request([(TP, state(broker, 150)), (TP1, state(broker, 160))])
    assert not request.is_empty
    assert not failed
    built = request.underlying.build()
    assert (built.min_bytes(), built.max_wait()) == (0, 0)
    assert [(tp, data.fetch_offset) for tp, data in built.fetch_data().items()] == [(TP1, 160)]
    assert request.offset(TP1) == 160


@pytest.mark.ported("ReplicaAlterLogDirsThreadTest.shouldFetchNonDelayedAndNonTruncatingReplicas")
def test_what_is_delayed_or_truncating_is_left_out(broker: Broker) -> None:
    for tp in (TP, TP1):
        broker.lead(tp, b"a")
        broker.move(tp)
    build = broker.thread.build_fetch_request
    request, failed = build([(TP, state(broker, 150)), (TP1, state(broker, 160, truncating=True))])
    assert not failed
    assert [(tp, d.fetch_offset) for tp, d in request.underlying.fetch_data().items()] == [(TP, 150)]
    request, failed = build([(TP, state(broker, 140)), (TP1, state(broker, 160, delay_ms=5000))])
    assert not failed
    assert [(tp, d.fetch_offset) for tp, d in request.underlying.fetch_data().items()] == [(TP, 140)]
    request, failed = build([(TP, state(broker, 140, 5000)), (TP1, state(broker, 160, 5000))])
    assert request.is_empty
    assert not failed


@pytest.mark.ported(
    "ReplicaAlterLogDirsThreadTest@2.5.1.shouldNotAddPartitionIfFutureLogIsNotDefined",
    changes="seen before it is added",
)
def test_a_move_that_ends_while_a_leader_and_isr_comes_is_over(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.env.movers.fetching.clear()

    def remove(tps: Any) -> None:
        broker.thread.do_work()  # what it has begun, until nothing is its own any more
        broker.thread.remove_partitions(tps)

    monkeypatch.setattr(broker.env.movers, "remove_fetcher_for_partitions", remove)
    broker.obey(TP, epoch=1)
    assert broker.manager.get_replica(TP, FUTURE) is None
    assert broker.env.movers.fetching == {}
    assert cast("Any", broker.logs.cleaner).cleaner_manager.cleaning_state(TP) is None


def test_a_copy_begins_where_the_current_replica_does(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b", b"c")
    broker.current().maybe_increment_log_start_offset(2)
    broker.move()
    broker.thread.do_work()
    assert broker.future().log_start_offset == 2, "out of range, and begun anew"
    broker.thread.do_work()
    assert (broker.current().log_start_offset, broker.end(broker.current())) == (2, 3)
    assert broker.manager.get_replica(TP, FUTURE) is None
    with pytest.raises(OffsetOutOfRangeException):
        cast("Any", broker.current().log).read(1, 100)


def test_a_copy_that_is_longer_is_cut_when_it_reads_out_of_range(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b", b"c")
    broker.move()
    broker.thread.maybe_truncate()
    copied(broker, TP, b"a", b"b", b"c")
    broker.thread._mark_truncation_complete_and_update_fetch_offset({TP: 3})
    broker.logs.truncate_to({TP: 1}, is_future=False)
    broker.thread.do_work()
    assert broker.end(broker.future()) == 1


def test_what_the_current_replica_cuts_off_goes_from_the_copy_before_more_is_read(broker: Broker) -> None:
    broker.lead(TP, b"a", b"b", b"c")
    broker.env.config.replica_fetch_response_max_bytes = 1
    broker.thread = broker.new_thread()
    broker.move()
    for _ in range(2):
        broker.thread.do_work()
    assert broker.end(broker.future()) == 2
    broker.logs.truncate_to({TP: 1}, is_future=False)
    in_flight = broker.thread.build_fetch_request(broker.thread._states()).result
    broker.thread.mark_partitions_for_truncation(TP, 1)
    broker.lead(TP, b"x", b"y")  # in epoch 1
    broker.thread._process_fetch_request(in_flight)
    assert broker.end(broker.future()) == 2, "what was asked for before is of no use"
    broker.thread.do_work()
    assert broker.end(broker.future()) == 2
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None
    epochs = cast("Any", broker.current().epochs).epoch_entries()
    assert [(e.epoch, e.start_offset) for e in epochs] == [(0, 0), (1, 1)]


def test_a_copy_that_cannot_be_written_is_given_up_and_tried_again_when_asked_for(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.thread._failed_partitions = broker.env.movers.failed_partitions
    log = broker.future_log()

    def fail(batch: Any) -> None:
        raise KafkaStorageException("no")

    with monkeypatch.context() as patch:
        patch.setattr(log, "append_as_follower", fail)
        broker.thread.do_work()
    assert broker.env.movers.failed_partitions.contains(TP)
    assert broker.thread.partition_count() == 0
    broker.env.movers.fetching.clear()
    broker.move()
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None


# ---- what moves are ordered, given up and gone on with


@pytest.fixture
def many_dirs(tmp_path: pathlib.Path) -> Iterator[Broker]:
    broker = Broker(tmp_path, "abcde")
    yield broker
    broker.crash()


@pytest.mark.ported("AlterReplicaLogDirsRequestTest.testAlterReplicaLogDirsRequest")
def test_partitions_are_created_where_they_were_wanted_and_move_from_there(many_dirs: Broker) -> None:
    tps = [TopicPartition("topic", i) for i in range(5)]
    first, second = str(many_dirs.dirs[3]), str(many_dirs.dirs[1])
    answer = many_dirs.manager.alter_replica_log_dirs(dict.fromkeys(tps, first))
    assert answer == dict.fromkeys(tps, Errors.REPLICA_NOT_AVAILABLE)
    assert many_dirs.logs.all_logs == []
    many_dirs.obey(*tps)
    assert {log.parent_dir for log in many_dirs.logs.all_logs} == {first}
    answer = many_dirs.manager.alter_replica_log_dirs(dict.fromkeys(tps, second))
    assert answer == dict.fromkeys(tps, Errors.NONE)
    assert {log.parent_dir for log in many_dirs.logs.all_logs if log.is_future} == {second}
    many_dirs.thread.add_partitions({tp: t.init_offset for tp, t in many_dirs.env.movers.fetching.items()})
    for _ in tps:
        many_dirs.thread.do_work()
    assert {(log.parent_dir, log.is_future) for log in many_dirs.logs.all_logs} == {(second, False)}


@pytest.mark.ported("AlterReplicaLogDirsRequestTest.testAlterReplicaLogDirsRequestErrorCode")
def test_directories_that_are_unknown_or_have_failed(many_dirs: Broker) -> None:
    tps = [TopicPartition("topic", i) for i in range(3)]
    _, offline, valid2, valid3, valid1 = (str(d) for d in many_dirs.dirs)
    alter = many_dirs.manager.alter_replica_log_dirs
    answer = alter({tps[0]: "invalidDir", tps[1]: valid1})
    assert answer == {tps[0]: Errors.LOG_DIR_NOT_FOUND, tps[1]: Errors.REPLICA_NOT_AVAILABLE}
    many_dirs.obey(*tps)
    answer = alter({tps[0]: "invalidDir", tps[1]: valid2})
    assert answer == {tps[0]: Errors.LOG_DIR_NOT_FOUND, tps[1]: Errors.NONE}
    many_dirs.manager.handle_log_dir_failure(offline)
    answer = alter({tps[0]: "invalidDir", tps[1]: valid3, tps[2]: offline})
    assert answer == {
        tps[0]: Errors.LOG_DIR_NOT_FOUND,
        tps[1]: Errors.KAFKA_STORAGE_ERROR,  # a future log might be in the failed directory
        tps[2]: Errors.KAFKA_STORAGE_ERROR,
    }


def test_orders_that_cannot_be_carried_out(broker: Broker) -> None:
    a, b = (str(d) for d in broker.dirs)
    assert broker.alter("/nowhere") is Errors.LOG_DIR_NOT_FOUND
    assert broker.alter(b) is Errors.REPLICA_NOT_AVAILABLE
    broker.lead(TP, b"a")
    assert cast("Log", broker.current().log).parent_dir == b, "as it was asked for before"
    assert broker.alter(b) is Errors.NONE
    assert not broker.env.movers.fetching, "it is there"
    partition = broker.partition()
    broker.manager.mark_partition_offline(TP)
    assert broker.alter(a) is Errors.KAFKA_STORAGE_ERROR
    broker.manager._all_partitions.put(TP, partition)
    broker.manager.handle_log_dir_failure(a)
    assert broker.alter(a) is Errors.KAFKA_STORAGE_ERROR
    assert broker.env.zk.log_dir_events == [BROKER_ID]


def test_an_unexpected_error_is_that_partitions_answer(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.lead(TP, b"a")
    broker.lead(TP1, b"a")

    def fail(tp: TopicPartition, log_dir: str) -> None:
        if tp == TP:
            raise ValueError("no")

    monkeypatch.setattr(broker.logs, "maybe_update_preferred_log_dir", fail)
    here = cast("Log", broker.current(TP1).log).parent_dir
    assert broker.manager.alter_replica_log_dirs({TP: here, TP1: here}) == {
        TP: Errors.UNKNOWN_SERVER_ERROR,
        TP1: Errors.NONE,
    }


def test_a_move_is_given_up_for_the_directory_where_the_partition_is(broker: Broker) -> None:
    broker.lead(TP, b"a")
    here = cast("Log", broker.current().log).parent_dir
    broker.move()
    future_log = broker.future_log()
    cleaner = cast("Any", broker.logs.cleaner).cleaner_manager
    assert cleaner.cleaning_state(TP).paused_count == 1
    assert broker.alter(here) is Errors.NONE
    assert broker.manager.get_replica(TP, FUTURE) is None
    assert broker.logs.get_log(TP, is_future=True) is None
    assert future_log.name.endswith("-delete")
    assert not broker.env.movers.fetching
    assert cleaner.cleaning_state(TP) is None, "it may be cleaned again"
    broker.move()
    broker.thread.remove_partitions([TP])
    broker.thread.add_partitions({TP: 0})
    assert cleaner.cleaning_state(TP).paused_count == 1
    broker.thread.do_work()
    assert cleaner.cleaning_state(TP) is None


def test_a_restarted_broker_goes_on_with_the_copy(broker: Broker) -> None:
    broker.env.config.replica_fetch_response_max_bytes = 1
    broker.thread = broker.new_thread()
    broker.lead(TP, b"a", b"b", b"c")
    broker.move()
    for _ in range(2):
        broker.thread.do_work()
    broker.logs.checkpoint_log_recovery_offsets()
    broker.manager.checkpoint_high_watermarks()
    broker.crash()
    broker.open()
    future_log = broker.logs.get_log(TP, is_future=True)
    assert future_log is not None
    assert future_log.log_end_offset == 2
    broker.obey(TP)
    target = broker.env.movers.fetching[TP]
    assert target.init_offset == 2, "its own high watermark, not the current replica's"
    assert target.broker == BrokerEndPoint(BROKER_ID, "localhost", -1)
    assert cast("Any", broker.logs.cleaner).cleaner_manager.cleaning_state(TP).paused_count == 1
    broker.obey(TP, epoch=1)
    assert cast("Any", broker.logs.cleaner).cleaner_manager.cleaning_state(TP).paused_count == 1
    broker.thread.add_partitions({TP: target.init_offset})
    broker.thread.do_work()
    assert broker.manager.get_replica(TP, FUTURE) is None
    assert broker.end(broker.current()) == 3
    assert broker.env.fetch(TP, 0).fetch_data.error is Errors.NONE


def test_no_copy_is_gone_on_with_while_the_broker_stops(broker: Broker) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.env.movers.fetching.clear()
    broker.manager.is_shutting_down.set(True)
    broker.obey(TP, epoch=5)
    assert not broker.env.movers.fetching


def test_a_stopped_replica_is_not_copied_and_its_copy_is_deleted_with_it(broker: Broker) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.manager.stop_replicas(StopReplicaRequest(0, 1, 1, False, {TP}))
    assert not broker.env.movers.fetching
    assert broker.logs.get_log(TP, is_future=True) is not None
    broker.obey(TP, epoch=3)
    assert list(broker.env.movers.fetching) == [TP], "it is wanted again"
    broker.manager.stop_replicas(StopReplicaRequest(0, 1, 1, True, {TP}))
    assert not broker.env.movers.fetching
    assert broker.logs.get_log(TP) is broker.logs.get_log(TP, is_future=True) is None
    assert cast("Any", broker.logs.cleaner).cleaner_manager.cleaning_state(TP) is None


def test_a_failed_directory_ends_the_moves_to_it(broker: Broker) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.manager.handle_log_dir_failure(broker.other_dir())
    assert not broker.env.movers.fetching
    assert broker.manager.get_replica(TP, FUTURE) is None
    assert broker.logs.get_log(TP, is_future=True) is None
    assert cast("Any", broker.logs.cleaner).cleaner_manager.cleaning_state(TP) is None
    assert broker.env.append(TP, records(b"b")).produce_response.error is Errors.NONE


def test_a_failed_directory_ends_the_moves_from_it(broker: Broker) -> None:
    broker.lead(TP, b"a")
    broker.move()
    broker.manager.handle_log_dir_failure(cast("Log", broker.current().log).parent_dir)
    assert not broker.env.movers.fetching
    assert broker.env.append(TP, records(b"b")).produce_response.error is Errors.KAFKA_STORAGE_ERROR


def test_the_brokers_end_is_the_end_of_the_movers(broker: Broker) -> None:
    broker.manager.shutdown(checkpoint_hw=False)
    assert broker.env.movers.is_shut_down


# ---- the manager, with threads of its own


def test_the_manager_copies_on_its_own_threads(broker: Broker) -> None:
    broker.env.config.get_num_replica_alter_log_dirs_threads = 2
    manager = ReplicaAlterLogDirsManager(
        cast("Any", broker.env.config),
        broker.manager,
        cast("Any", broker.quota),
        cast("Any", broker.env.stats),
        Time.SYSTEM,
    )
    broker.manager.replica_alter_log_dirs_manager = manager
    swapped = threading.Semaphore(0)
    replace = broker.logs.replace_current_with_future_log

    def replaced(topic_partition: TopicPartition) -> None:
        replace(topic_partition)
        swapped.release()

    broker.logs.replace_current_with_future_log = replaced  # type: ignore[method-assign]
    try:
        for tp in (TP, TP1):
            broker.lead(tp, b"a", b"b")
            assert broker.alter(broker.other_dir(tp), tp) is Errors.NONE
        assert sorted(t.name for t in manager.fetcher_thread_map.values()) == [
            "ReplicaAlterLogDirsThread-0",
            "ReplicaAlterLogDirsThread-1",
        ]
        for _ in range(2):
            assert swapped.acquire(timeout=30)
        for tp in (TP, TP1):
            broker.append(tp, b"c")  # waits for the swap to be over
            assert broker.end(broker.current(tp)) == 3
        for thread in manager.fetcher_thread_map.values():
            with thread._partition_map_lock:
                assert thread.partition_count() == 0
        broker.manager.shutdown_idle_replica_alter_log_dirs_thread()
        assert manager.fetcher_thread_map == {}
    finally:
        manager.shutdown()
        for name in ("MaxLag", "MinFetchRate", "FailedPartitionsCount", "DeadThreadCount"):
            manager.remove_metric(name, {"clientId": "ReplicaAlterLogDirs"})


def test_which_thread_truncates(broker: Broker) -> None:
    manager = ReplicaAlterLogDirsManager(
        cast("Any", broker.env.config), broker.manager, cast("Any", None), cast("Any", None), broker.env.time
    )
    marked: list[Any] = []
    thread = SimpleNamespace(mark_partitions_for_truncation=lambda tp, offset: marked.append((tp, offset)))
    manager.fetcher_thread_map[BrokerIdAndFetcherId(BROKER_ID, 0)] = cast("Any", thread)
    manager.mark_partitions_for_truncation(BROKER_ID, TP, 7)
    manager.mark_partitions_for_truncation(BROKER_ID + 1, TP, 8)
    assert marked == [(TP, 7)]
