"""The loop that all fetchers share, over a subclass whose leader is a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.metrics.yammer import Metrics
from kafka_py.server.abstract_fetcher_manager import FailedPartitions
from kafka_py.server.abstract_fetcher_thread import (
    AbstractFetcherThread,
    FetcherMetrics,
    LeaderOffsets,
    PartitionFetchState,
    ResultWithPartitions,
)
from kafka_py.testing.mock_time import MockTime
from tests.server.replica_support import records

TP = TopicPartition("topic", 0)
CLIENT = "client-of-test-abstract-fetcher-thread"
BACK_OFF_MS = 1


class DummyFetchRequest:
    """The offsets that are asked for."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.offsets = offsets

    @property
    def is_empty(self) -> bool:
        return not self.offsets

    def offset(self, topic_partition: TopicPartition) -> int:
        return self.offsets[topic_partition]


class DummyPartitionData(NamedTuple):
    """An answer without error."""

    to_records: MemoryRecords = MemoryRecords.EMPTY
    high_watermark: int = 0
    error: Errors = Errors.NONE
    exception: BaseException | None = None


class DummyFetcherThread(AbstractFetcherThread[DummyFetchRequest, DummyPartitionData]):
    """Never truncates; `answer` gives what a leader would have from an offset on."""

    def __init__(self) -> None:
        self.time = MockTime()
        source = BrokerEndPoint(0, "localhost", 9092)
        super().__init__("dummy", CLIENT, source, FailedPartitions(), BACK_OFF_MS, True, False, self.time)
        self.answer: Callable[[int], MemoryRecords] = lambda offset: MemoryRecords.EMPTY
        self.fetched: list[int] = []
        self.log_end_offset = 0

    def process_partition_data(self, tp: TopicPartition, fetch_offset: int, data: DummyPartitionData) -> None:
        assert fetch_offset == self.log_end_offset
        for batch in data.to_records.batches():
            batch.ensure_valid()
            self.log_end_offset = batch.next_offset()

    def fetch_offsets_from_leader(self, topic_partition: TopicPartition) -> LeaderOffsets:
        raise AssertionError("nothing here is out of range")

    def truncate_to_offsets_of_leader(self, topic_partition: TopicPartition, leader: LeaderOffsets) -> int:
        raise AssertionError("nothing here is out of range")

    def handle_partitions_with_errors(self, partitions: Iterable[TopicPartition]) -> None:
        self.delay_partitions(partitions, BACK_OFF_MS)

    def build_leader_epoch_request(
        self, all_partitions: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        return ResultWithPartitions({}, set())

    def fetch_epochs_from_leader(
        self, partitions: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, EpochEndOffset]:
        raise AssertionError("no epochs are asked for")

    def truncate(
        self, fetched_epochs: Mapping[TopicPartition, EpochEndOffset]
    ) -> ResultWithPartitions[dict[TopicPartition, int]]:
        raise AssertionError("no epochs are asked for")

    def build_fetch_request(
        self, partition_map: Sequence[tuple[TopicPartition, PartitionFetchState]]
    ) -> ResultWithPartitions[DummyFetchRequest]:
        ready = {tp: state.fetch_offset for tp, state in partition_map if state.is_ready_for_fetch}
        return ResultWithPartitions(DummyFetchRequest(ready), set())

    def fetch(self, fetch_request: DummyFetchRequest) -> Sequence[tuple[TopicPartition, DummyPartitionData]]:
        self.fetched += fetch_request.offsets.values()
        return [(tp, DummyPartitionData(self.answer(offset))) for tp, offset in fetch_request.offsets.items()]


@pytest.fixture
def thread() -> Iterator[DummyFetcherThread]:
    made = DummyFetcherThread()
    yield made
    made.shutdown()


def metrics() -> set[str]:
    """The names of the metrics that belong to the client."""
    return {name.name for name in Metrics.default_registry().all_metrics() if CLIENT in str(name)}


@pytest.mark.ported("AbstractFetcherThreadTest.testMetricsRemovedOnShutdown")
def test_metrics_are_there_until_the_thread_is_shut_down(thread: DummyFetcherThread) -> None:
    thread.add_partitions({TP: 0})
    thread.do_work()
    assert metrics() == {FetcherMetrics.BYTES_PER_SEC, FetcherMetrics.REQUESTS_PER_SEC, FetcherMetrics.CONSUMER_LAG}
    thread.shutdown()
    assert metrics() == set()


@pytest.mark.ported("AbstractFetcherThreadTest.testConsumerLagRemovedWithPartition")
def test_the_lag_of_a_partition_goes_with_it(thread: DummyFetcherThread) -> None:
    thread.add_partitions({TP: 0})
    thread.do_work()
    assert FetcherMetrics.CONSUMER_LAG in metrics()
    thread.remove_partitions({TP})
    assert FetcherMetrics.CONSUMER_LAG not in metrics()


@pytest.mark.ported("AbstractFetcherThreadTest.testFetchRequestCorruptedMessageException")
def test_spoilt_records_are_fetched_again(thread: DummyFetcherThread) -> None:
    def spoilt(offset: int) -> MemoryRecords:
        buffer = bytearray(records(b"hello").buffer)
        buffer[-1] ^= 1
        return MemoryRecords.readable_records(buffer)

    thread.add_partitions({TP: 0})
    thread.answer = spoilt
    thread.do_work()
    assert (thread.fetched, thread.log_end_offset) == ([0], 0)
    assert thread.partition_states[TP].is_delayed
    thread.answer = lambda offset: records(b"hello", initial_offset=offset)
    thread.time.sleep(BACK_OFF_MS)
    thread.do_work()
    thread.do_work()
    assert (thread.fetched, thread.log_end_offset) == ([0, 0, 1], 2)
