"""Two brokers whose logs must not part (KIP-101), however they are stopped, cut and started.

Both are in this process: what the controller would order is ordered by the test, and a Fetch is a call. A broker that
starts again has nothing but its directory.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log import Log
from kafka_py.server.abstract_fetcher_manager import FailedPartitions
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread
from kafka_py.zk.zk_data import TopicPartitionStateZNode
from tests.server.replica_support import Answers, Env
from tests.server.test_replica_fetcher_thread import Link

TP = TopicPartition("topic1", 0)
FIRST, SECOND = 1, 2
BOTH = [FIRST, SECOND]
MSG, MSG_BIGGER = bytes(1000), bytes(10_000)
FETCH_CONFIG = {
    "replica_fetch_backoff_ms": 0,
    "replica_fetch_wait_max_ms": 500,
    "replica_fetch_min_bytes": 1,
    "replica_fetch_response_max_bytes": 1 << 20,
    "replica_fetch_max_bytes": 1 << 20,
    "originals": dict,
}


def messages(*values: bytes, compression_type: CompressionType = CompressionType.NONE) -> MemoryRecords:
    return MemoryRecords.with_records(*(SimpleRecord(0, None, v) for v in values), compression_type=compression_type)


class Broker:
    """One of the two; what it keeps between its lives lies in `directory`."""

    def __init__(self, id: int, directory: pathlib.Path, zookeeper: dict[str, int]) -> None:
        directory.mkdir()
        self.id, self.directory, self._zookeeper = id, directory, zookeeper
        self._env: Env | None = None
        self._thread: ReplicaFetcherThread | None = None
        self.start()

    def start(self) -> None:
        self._env = Env(self.directory, alive=BOTH, broker_id=self.id)
        self._env.zk.versions = self._zookeeper
        vars(self._env.config).update(FETCH_CONFIG)

    def stop(self) -> None:
        if self._env is not None:
            self._stop_fetching()
            self._env.replica_manager.checkpoint_high_watermarks()
            self._env.close()
            self._env = None

    @property
    def is_running(self) -> bool:
        return self._env is not None

    @property
    def env(self) -> Env:
        assert self._env is not None
        return self._env

    def obey(self, request: LeaderAndIsrRequest, leader: Broker) -> None:
        """Lead or follow."""
        self._stop_fetching()
        response = self.env.replica_manager.become_leader_or_follower(0, request, lambda leaders, followers: None)
        assert response.responses() == {TP: Errors.NONE}
        if leader is not self:
            offset = self.env.fetchers.fetching[TP].init_offset
            self._thread = ReplicaFetcherThread(
                f"ReplicaFetcherThread-0-{leader.id}", 0, BrokerEndPoint(leader.id, "host", 9092),
                cast("Any", self.env.config), FailedPartitions(), self.env.replica_manager, cast("Any", None),
                self.env.time, cast("Any", QuotaFactory.UnboundedQuota), Link(leader.env),
            )  # fmt: skip
            self._thread.add_partitions({TP: offset})

    def fetch(self) -> None:
        """One turn of the fetcher, if there is one."""
        if self._thread is not None:
            self._thread.do_work()

    def _stop_fetching(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    @property
    def log(self) -> Log:
        log = self.env.replica_manager.get_log(TP)
        assert log is not None
        return log

    @property
    def log_file(self) -> pathlib.Path:
        (file,) = (self.directory / str(TP)).glob("*.log")
        return file

    @property
    def epochs(self) -> list[tuple[int, int]]:
        cache = cast("Any", self.log.leader_epoch_cache)
        return [(entry.epoch, entry.start_offset) for entry in cache.epoch_entries()]

    @property
    def last_epoch(self) -> int:
        """The leader epoch in the last batch of the log."""
        *_, batch = self.log.read_uncommitted(0, 1 << 20).records.batches()
        return batch.partition_leader_epoch()

    @property
    def offsets(self) -> list[int]:
        return [r.offset() for b in self.log.read_uncommitted(0, 1 << 24).records.batches() for r in b]


class Both:
    """The two brokers, and the controller's part in what happens to them."""

    def __init__(self, home: pathlib.Path) -> None:
        self._zookeeper: dict[str, int] = {}  # versions of the partition's state
        self.first, self.second = (Broker(id, home / str(id), self._zookeeper) for id in BOTH)
        self.leader = self.first
        self._leader_epoch = -1
        self._isr = BOTH

    @property
    def follower(self) -> Broker:
        return self.second if self.leader is self.first else self.first

    def elect(self, leader: Broker, isr: list[int]) -> None:
        """A new term."""
        self.leader = leader
        self._leader_epoch += 1
        self._isr = isr
        self.tell(self.first, self.second)

    def tell(self, *brokers: Broker) -> None:
        """LeaderAndIsr to those that run."""
        version = self._zookeeper.get(TopicPartitionStateZNode.path(TP), 0)
        state = LeaderAndIsrRequest.PartitionState(
            1, self.leader.id, self._leader_epoch, self._isr, version, BOTH, self._leader_epoch == 0
        )
        nodes = {Node(id, f"host{id}", 9092) for id in BOTH}
        for broker in brokers:
            if broker.is_running:
                broker.obey(LeaderAndIsrRequest(1, 0, 1, {TP: state}, nodes), self.leader)

    def produce(self, *values: bytes, compression_type: CompressionType = CompressionType.NONE) -> None:
        """One batch, acknowledged by all that are in sync."""
        answers: Answers = self.leader.env.append(TP, messages(*values, compression_type=compression_type))
        for _ in range(2):
            self.follower.fetch()
        assert answers.produce_response.error is Errors.NONE

    def bounce(self, broker: Broker) -> None:
        """Stop it, so that the other one leads, and start it again: it is back in sync in the end."""
        broker.stop()
        other = self.second if broker is self.first else self.first
        self.elect(other, [other.id])
        broker.start()
        self.tell(broker)
        self.await_isr()

    def await_isr(self) -> None:
        partition = self.leader.env.replica_manager.get_or_create_partition(TP)
        for _ in range(5):
            self.follower.fetch()
        assert {replica.broker_id for replica in partition.in_sync_replicas} == set(BOTH)

    def stop(self) -> None:
        for broker in (self.first, self.second):
            broker.stop()

    def cut_first_and_let_it_lead(self, size: int) -> None:
        """As after a crash in which the end of its log was lost; the other one is away."""
        self.stop()
        file = self.first.log_file
        with open(file, "r+b") as log:
            log.truncate(file.stat().st_size - size)
        self.first.start()
        self.elect(self.first, [FIRST])

    def catch_up(self) -> None:
        """The second one is started and copies what it lacks."""
        self.second.start()
        self.tell(self.second)
        self.await_isr()
        assert self.second.log.log_end_offset == self.first.log.log_end_offset
        assert self.second.log_file.read_bytes() == self.first.log_file.read_bytes()


@pytest.fixture
def both(tmp_path: pathlib.Path) -> Iterator[Both]:
    made = Both(tmp_path)
    made.elect(made.first, BOTH)
    yield made
    made.stop()


@pytest.mark.ported(
    "EpochDrivenReplicationProtocolAcceptanceTest.shouldFollowLeaderEpochBasicWorkflow",
    changes="a leader notes its epoch when it is elected, not with its first record (KAFKA-7415, in 2.1)",
)
def test_epochs_go_with_the_records_to_the_follower(both: Both) -> None:
    both.produce(MSG)
    for broker in (both.leader, both.follower):
        assert (broker.last_epoch, broker.epochs) == (0, [(0, 0)])
    both.bounce(both.follower)
    assert both.leader.epochs == [(0, 0), (1, 1)]
    assert both.follower.epochs == [(0, 0)]
    both.produce(MSG)
    for broker in (both.leader, both.follower):
        assert (broker.last_epoch, broker.epochs) == (1, [(0, 0), (1, 1)])
    both.bounce(both.leader)
    assert both.leader is both.second
    assert both.leader.epochs == [(0, 0), (1, 1), (2, 2)]
    assert both.follower.epochs == [(0, 0), (1, 1)]
    both.produce(MSG)
    for broker in (both.leader, both.follower):
        assert (broker.last_epoch, broker.epochs) == (2, [(0, 0), (1, 1), (2, 2)])


@pytest.mark.ported("EpochDrivenReplicationProtocolAcceptanceTest.shouldNotAllowDivergentLogs")
def test_what_a_leader_has_lost_the_follower_gives_up(both: Both) -> None:
    for _ in range(10):
        both.produce(MSG)
    both.cut_first_and_let_it_lead(5 * len(MSG))
    assert 0 < both.first.log.log_end_offset < 6
    for _ in range(10):
        both.produce(MSG_BIGGER)
    both.catch_up()


@pytest.mark.ported("EpochDrivenReplicationProtocolAcceptanceTest.offsetsShouldNotGoBackwards", changes="gzip")
def test_offsets_do_not_go_back_when_a_log_ends_inside_a_batch_of_the_other(both: Both) -> None:
    for _ in range(100):
        both.produce(MSG)
    both.cut_first_and_let_it_lead(both.first.log_file.stat().st_size // 2)
    end = both.first.log.log_end_offset
    for _ in range(2):
        both.produce(*[MSG] * 77, compression_type=CompressionType.GZIP)
    assert end < 100 < end + 77, "the other log ends inside the first of them"
    both.catch_up()
    assert both.second.offsets == list(range(end + 2 * 77))


@pytest.mark.ported("EpochDrivenReplicationProtocolAcceptanceTest.shouldSurviveFastLeaderChange")
def test_nothing_is_lost_when_leaders_change_again_and_again(both: Both) -> None:
    both.produce(b"0")
    for n in range(1, 6):
        both.produce(b"%d" % n)
        both.bounce(both.follower)
        both.bounce(both.leader)
        assert [broker.offsets for broker in (both.first, both.second)] == [list(range(n + 1))] * 2
