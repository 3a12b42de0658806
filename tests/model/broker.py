"""One broker of the model: the real ReplicaManager, Partition, Log and fetcher thread, moved on step by step."""

from __future__ import annotations

import os
import pathlib
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from kafka_py.api.api_version import ApiVersion
from kafka_py.clients.client_response import ClientResponse
from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.cluster.partition import Partition
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.log.log import Log
from kafka_py.server.fetch_session import FetchManager, FetchSessionCache
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_fetcher_blocking_send import BlockingSend
from kafka_py.server.replica_fetcher_manager import ReplicaFetcherManager
from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread
from kafka_py.testing.mock_time import MockTime
from tests.model.fiber import Fiber
from tests.server.replica_support import (
    Answers,
    Env,
    FakeZkClient,
    TestReplicaManager,
    answer_follower,
    records,
    through_bytes,
)

TP = TopicPartition("topic", 0)
_LENGTHS = struct.Struct(">qii")
_OVERHEAD = 12
_NO_WAIT = {
    "replica_fetch_backoff_ms": 0,
    "replica_fetch_wait_max_ms": 500,
    "replica_fetch_min_bytes": 1,
    "replica_fetch_response_max_bytes": 1 << 20,
    "replica_fetch_max_bytes": 1 << 20,
}


class Entry(NamedTuple):
    """A record of a log."""

    offset: int
    epoch: int
    value: bytes


class LostAnswer(OSError):
    """ZooKeeper, or another broker, did not answer."""


class Zk(FakeZkClient):
    """A broker's way to the ZooKeeper that all share; the next ISR may get lost on it, there or back."""

    def __init__(self, shared: FakeZkClient) -> None:
        super().__init__()
        self.versions, self.written = shared.versions, shared.written
        self.fault = ""

    def conditional_update_path(
        self, path: str, data: bytes, expect_version: int, optional_checker: Any = None
    ) -> tuple[bool, int]:
        fault, self.fault = self.fault, ""
        if fault == "cut":
            raise LostAnswer("injected: the request was lost")
        result = super().conditional_update_path(path, data, expect_version, optional_checker)
        if fault == "break":
            raise LostAnswer("injected: the answer was lost")
        return result


class Wire(BlockingSend):
    """A fetcher's connection: holds its request until the leader is told to take it, and then the answer."""

    def __init__(self) -> None:
        self.request: AbstractRequest | None = None
        self.answer: AbstractResponse | None = None
        self.is_answered = self.is_closed = False
        self.fiber: Fiber | None = None

    def send_request(self, request_builder: AbstractRequest.Builder) -> ClientResponse:
        assert self.fiber is not None
        if self.is_closed:
            raise LostAnswer("injected: the connection is closed")
        self.request = request_builder.build()
        self.answer, self.is_answered = None, False
        self.fiber.wait()
        self.request = None
        return self._received()

    def _received(self) -> ClientResponse:
        if self.answer is None:
            raise LostAnswer("injected: the connection was lost")
        return ClientResponse(cast("Any", None), None, "", 0, 0, False, None, self.answer)

    @property
    def is_on_the_way(self) -> bool:
        """Whether there is a request that the leader has not seen."""
        return self.request is not None and not self.is_answered

    def arrives(self, answer: AbstractResponse | None) -> None:
        """What the fetcher will find when it goes on; None: the connection is lost."""
        self.answer, self.is_answered = answer, True

    def initiate_close(self) -> None:
        self.answer, self.is_closed = None, True

    def close(self) -> None:
        self.initiate_close()


class SteppedFetcher(ReplicaFetcherThread):
    """Does its turns in a fiber: from one request to the next."""

    wire: Wire
    orphaned: Callable[[int, AbstractRequest], None]

    def start(self) -> None:
        self.fiber = self.wire.fiber = Fiber(self.do_work)

    def shutdown(self) -> None:
        if self.wire.request is not None and self.wire.is_on_the_way:
            self.orphaned(self.source_broker.id, self.wire.request)
        super().shutdown()
        if self.fiber.is_waiting:
            self.fiber.resume()


class SteppedFetcherManager(ReplicaFetcherManager):
    """Makes fetchers that are moved on by hand."""

    orphaned: Callable[[int, AbstractRequest], None]

    def create_fetcher_thread(self, fetcher_id: int, source_broker: BrokerEndPoint) -> ReplicaFetcherThread:
        wire = Wire()
        fetcher = SteppedFetcher(
            f"ReplicaFetcherThread-{fetcher_id}-{source_broker.id}",
            fetcher_id,
            source_broker,
            self._broker_config,
            self.failed_partitions,
            self._replica_manager,
            cast("Any", None),
            self._time,
            cast("Any", QuotaFactory.UnboundedQuota),
            wire,
        )
        fetcher.wire = wire
        fetcher.orphaned = self.orphaned
        return fetcher


class SteppedReplicaManager(TestReplicaManager):
    """Fetches, step by step."""

    def create_replica_fetcher_manager(self, *args: Any) -> Any:
        metrics, time, prefix, _ = args
        return SteppedFetcherManager(self.config, self, metrics, time, prefix, cast("Any", QuotaFactory.UnboundedQuota))


class Broker:
    """A broker that runs, from its start to its crash."""

    def __init__(
        self,
        broker_id: int,
        directory: pathlib.Path,
        zk: FakeZkClient,
        now_ms: int,
        protocol: str,
        props: Mapping[str, Any],
    ) -> None:
        self.broker_id = broker_id
        self.appended: list[Answers] = []
        self.zk = Zk(zk)
        self.env = Env(
            directory,
            {"segment.index.bytes": 4096, **props},
            broker_id=broker_id,
            time=MockTime(0, now_ms, now_ms * 1_000_000),
            zk=self.zk,
            manager=SteppedReplicaManager,
        )
        self.env.config.inter_broker_protocol_version = ApiVersion.apply(protocol)
        for name, value in _NO_WAIT.items():
            setattr(self.env.config, name, value)
        self.sessions = FetchManager(self.env.time, FetchSessionCache(10, 1000))
        # requests to other brokers that nobody here waits for any more; they may still arrive
        self.late: dict[int, AbstractRequest] = {}
        self.fetchers = cast("SteppedFetcherManager", self.env.replica_manager.replica_fetcher_manager)
        self.fetchers.orphaned = self.late.__setitem__

    @property
    def partition(self) -> Partition:
        return self.env.replica_manager.get_or_create_partition(TP)

    @property
    def fetcher(self) -> SteppedFetcher | None:
        """The one that fetches the partition."""
        for fetcher in self.fetchers.fetcher_thread_map.values():
            if TP in fetcher.partition_states:
                return cast("SteppedFetcher", fetcher)
        return None

    @property
    def leads(self) -> bool:
        """Whether it thinks so."""
        return self.partition.leader_replica_if_local is not None

    @property
    def log(self) -> Log | None:
        """None until the controller has spoken."""
        found: Log | None = self.env.log_manager.get_log(TP)
        return found

    @property
    def high_watermark(self) -> int:
        replica = self.partition.get_replica()
        return 0 if replica is None else replica.high_watermark.message_offset

    def become(self, state: LeaderAndIsrRequest.PartitionState) -> None:
        """Obey the controller."""
        request = LeaderAndIsrRequest(1, 0, 1, {TP: state}, set())
        self.env.replica_manager.become_leader_or_follower(0, request, lambda leaders, followers: None)

    def append(self, *values: bytes) -> Answers:
        answers = self.env.append(TP, records(*values), acks=-1)
        self.appended.append(answers)
        return answers

    def answer(self, request: AbstractRequest) -> AbstractResponse:
        """What it says to another broker; raises LostAnswer when ZooKeeper did not answer it."""
        return through_bytes(answer_follower(self.env, self.sessions, request), request.version())

    def crash(self) -> None:
        """End without another word; what is in the files stays, what a power failure takes is not modelled."""
        for fetcher in list(self.fetchers.fetcher_thread_map.values()):
            stepped = cast("SteppedFetcher", fetcher)
            if stepped.wire.request is not None and stepped.wire.is_on_the_way:
                self.late[fetcher.source_broker.id] = stepped.wire.request
            stepped.fiber.abandon()
            fetcher.fetcher_stats.unregister()
            fetcher.fetcher_lag_stats.unregister()
        self.partition.remove_partition_metrics()
        for log in self.env.log_manager.logs.values():
            log.remove_log_metrics()
        self.env.log_manager.close()

    def entries(self) -> tuple[Entry, ...]:
        """What is in the log, also before it has been loaded."""
        directory = self.env.log_manager.log_dir / str(TP)
        if not directory.exists():
            return ()
        names = sorted(name for name in os.listdir(directory) if name.endswith(".log"))
        return _parse(b"".join((directory / name).read_bytes() for name in names))

    def epochs(self) -> tuple[tuple[int, int], ...]:
        """The leader epochs of its log and where they begin."""
        log = self.log
        return () if log is None else tuple((e.epoch, e.start_offset) for e in log.leader_epoch_cache.epoch_entries())


_parsed: dict[bytes, tuple[Entry, ...]] = {}


def _parse(data: bytes) -> tuple[Entry, ...]:
    """Batches of format 2, without compression: each of our records has a key of one byte and a short value."""
    if data in _parsed:
        return _parsed[data]
    entries: list[Entry] = []
    at = 0
    while at < len(data):
        base_offset, length, epoch = _LENGTHS.unpack_from(data, at)
        record = at + 61
        end = at + _OVERHEAD + length
        while record < end:
            size = data[record] >> 1  # zigzag of a small number
            delta = data[record + 3] >> 1
            value_length = data[record + 6] >> 1
            value = data[record + 7 : record + 7 + value_length]
            entries.append(Entry(base_offset + delta, epoch, value))
            record += 1 + size
        at = end
    if len(_parsed) > 10_000:
        _parsed.clear()
    return _parsed.setdefault(data, tuple(entries))
