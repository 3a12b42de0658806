"""A ReplicaManager on real logs, with doubles for what lies around it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, cast

from kafka_py.api.api_version import ApiVersion
from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.requests.offsets_for_leader_epoch_response import OffsetsForLeaderEpochResponse
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.controller.leader_isr_and_controller_epoch import LeaderIsrAndControllerEpoch
from kafka_py.log.log import Log
from kafka_py.log.log_config import LogConfig
from kafka_py.server.abstract_fetcher_manager import FailedPartitions
from kafka_py.server.delayed_operation import DelayedOperationPurgatory
from kafka_py.server.fetch_params import FetchParams
from kafka_py.server.fetch_session import FetchManager
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
from kafka_py.server.log_read_result import FetchPartitionData
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_manager import ReplicaManager
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import AtomicBoolean
from kafka_py.utils.timer.timer import Timer
from kafka_py.utils.timer.timer_task import TimerTask
from kafka_py.zk.zk_data import TopicPartitionStateZNode

BROKER_ID = 1


class ManualTimer(Timer):
    """Runs nothing by itself; the test expires what it wants."""

    def __init__(self) -> None:
        self.tasks: list[TimerTask] = []

    def add(self, timer_task: TimerTask) -> None:
        self.tasks.append(timer_task)

    def advance_clock(self, timeout_ms: int) -> bool:
        return False

    @property
    def size(self) -> int:
        return len(self.tasks)

    def shutdown(self) -> None:
        self.tasks.clear()

    def expire_all(self) -> None:
        for task in list(self.tasks):
            cast("Any", task).run()
        self.tasks.clear()


class CountingMeter:
    def __init__(self) -> None:
        self.count = 0

    def mark(self, n: int = 1) -> None:
        self.count += n


class FakeTopicMetrics:
    def __init__(self) -> None:
        self.total_produce_request_rate = CountingMeter()
        self.total_fetch_request_rate = CountingMeter()
        self.failed_produce_request_rate = CountingMeter()
        self.failed_fetch_request_rate = CountingMeter()
        self.bytes_in_rate = CountingMeter()
        self.bytes_rejected_rate = CountingMeter()
        self.messages_in_rate = CountingMeter()


class FakeBrokerTopicStats:
    def __init__(self) -> None:
        self.all_topics_stats = FakeTopicMetrics()
        self.by_topic: dict[str, FakeTopicMetrics] = {}
        self.replication_bytes_in = 0

    def topic_stats(self, topic: str) -> FakeTopicMetrics:
        return self.by_topic.setdefault(topic, FakeTopicMetrics())

    def remove_metrics(self, topic: str) -> None:
        self.by_topic.pop(topic, None)

    def update_replication_bytes_in(self, value: int) -> None:
        self.replication_bytes_in += value


class FakeZkClient:
    """Answers conditional updates by version, and remembers what it was told."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.written: dict[str, bytes] = {}
        self.isr_changes: list[set[TopicPartition]] = []
        self.log_dir_events: list[int] = []
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.on_read: Callable[[], None] | None = None
        self.is_connected = True

    def get_entity_configs(self, root_entity_type: str, entity: str) -> dict[str, str]:
        return self.topic_configs.get(entity, {})

    def conditional_update_path(
        self, path: str, data: bytes, expect_version: int, optional_checker: Any = None
    ) -> tuple[bool, int]:
        if self.versions.get(path, 0) != expect_version:
            return cast("tuple[bool, int]", optional_checker(self, path, data)) if optional_checker else (False, -1)
        self.versions[path] = expect_version + 1
        self.written[path] = data
        return True, expect_version + 1

    def get_data_and_stat(self, path: str) -> tuple[bytes | None, Any]:
        return self.written.get(path), SimpleNamespace(version=self.versions.get(path, 0))

    def get_topic_partition_state(self, partition: TopicPartition) -> LeaderIsrAndControllerEpoch | None:
        data, stat = self.get_data_and_stat(TopicPartitionStateZNode.path(partition))
        return None if data is None else TopicPartitionStateZNode.decode(data, stat)

    def propagate_isr_changes(self, changes: Iterable[TopicPartition]) -> None:
        self.isr_changes.append(set(changes))

    def propagate_log_dir_event(self, broker_id: int) -> None:
        self.log_dir_events.append(broker_id)


class FakeLogManager:
    """Real logs in one directory, without recovery, cleaner or scheduler."""

    def __init__(self, log_dir: pathlib.Path, time: MockTime, props: Mapping[str, Any]) -> None:
        self.log_dir = log_dir
        self.time = time
        self.current_default_config = LogConfig(props)
        self.live_log_dirs = [log_dir]
        self.channel = LogDirFailureChannel(1)
        self.logs: dict[tuple[TopicPartition, bool], Log] = {}
        self.deleted: list[TopicPartition] = []
        self.failed_dirs: list[str] = []
        self.stats = FakeBrokerTopicStats()
        self.updated_meanwhile = False

    def get_or_create_log(self, tp: TopicPartition, config: LogConfig, is_new: bool, is_future: bool = False) -> Log:
        log = self.logs.get((tp, is_future))
        if log is None:
            directory = self.log_dir / f"{tp}{'.0123456789abcdef0123456789abcdef-future' if is_future else ''}"
            directory.mkdir(exist_ok=True)
            log = self.logs[tp, is_future] = Log.apply(
                directory,
                config,
                0,
                0,
                self.time.scheduler,
                cast("Any", self.stats),
                self.time,
                60_000,
                60_000,
                self.channel,
            )
        return log

    def get_log(self, tp: TopicPartition, is_future: bool = False) -> Log | None:
        return self.logs.get((tp, is_future))

    def initializing_log(self, tp: TopicPartition) -> None:
        self.updated_meanwhile = False

    def finished_initializing_log(
        self, tp: TopicPartition, log: Log | None, fetch_log_config: Callable[[], LogConfig]
    ) -> None:
        if self.updated_meanwhile and log is not None:
            log.update_config((), fetch_log_config())

    def async_delete_all(
        self, tps: Iterable[TopicPartition], error_handler: Callable[[TopicPartition, Exception], None]
    ) -> None:
        for tp in tps:
            for is_future in (False, True):
                self.async_delete(tp, is_future)

    def async_delete(self, tp: TopicPartition, is_future: bool = False) -> None:
        log = self.logs.pop((tp, is_future), None)
        if log is not None:
            log.close()
            self.deleted.append(tp)

    def truncate_to(self, offsets: Mapping[TopicPartition, int], is_future: bool) -> None:
        for tp, offset in offsets.items():
            self.logs[tp, is_future].truncate_to(offset)

    def truncate_fully_and_start_at(self, tp: TopicPartition, offset: int, is_future: bool) -> None:
        self.logs[tp, is_future].truncate_fully_and_start_at(offset)

    def replace_current_with_future_log(self, tp: TopicPartition) -> None:
        self.logs[tp, False].close()
        self.logs[tp, False] = self.logs.pop((tp, True))

    def is_log_dir_online(self, directory: str) -> bool:
        return directory not in self.failed_dirs

    def handle_log_dir_failure(self, directory: str) -> None:
        self.failed_dirs.append(directory)

    def close(self) -> None:
        for log in self.logs.values():
            log.close_handlers()


class FakeMetadataCache:
    def __init__(self, alive: Iterable[int]) -> None:
        self.alive = set(alive)
        self.updates: list[Any] = []

    def get_alive_brokers(self) -> list[Any]:
        return [
            SimpleNamespace(id=i, broker_end_point=lambda _, i=i: BrokerEndPoint(i, f"host{i}", 9092))
            for i in self.alive
        ]

    def is_broker_alive(self, broker_id: int) -> bool:
        return broker_id in self.alive

    def update_cache(self, correlation_id: int, request: Any) -> list[TopicPartition]:
        self.updates.append(request)
        return []


class FakeFetcherManager:
    def __init__(self) -> None:
        self.fetching: dict[TopicPartition, Any] = {}
        self.is_shut_down = False
        self.marked: list[tuple[int, TopicPartition, int]] = []
        self.failed_partitions = FailedPartitions()

    def add_fetcher_for_partitions(self, partitions: Mapping[TopicPartition, Any]) -> None:
        self.fetching.update(partitions)

    def remove_fetcher_for_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            self.fetching.pop(tp, None)

    def mark_partitions_for_truncation(self, broker_id: int, tp: TopicPartition, offset: int) -> None:
        self.marked.append((broker_id, tp, offset))

    def shutdown_idle_fetcher_threads(self) -> None:
        self.idle_checked = True

    def shutdown(self) -> None:
        self.is_shut_down = True


class TestReplicaManager(ReplicaManager):
    """Fetches from nobody."""

    __test__ = False

    def create_replica_fetcher_manager(self, *args: Any) -> Any:
        return FakeFetcherManager()

    def create_replica_alter_log_dirs_manager(self, *args: Any) -> Any:
        return FakeFetcherManager()


class Env:
    """Everything of one test; `close` what it opened."""

    def __init__(
        self,
        tmp_path: pathlib.Path,
        log_props: Mapping[str, Any] | None = None,
        alive: Iterable[int] = (1, 2, 3),
        broker_id: int = BROKER_ID,
        time: MockTime | None = None,
        zk: FakeZkClient | None = None,
        manager: type[ReplicaManager] | None = None,
        log_manager: Callable[[MockTime], Any] | None = None,
    ) -> None:
        self.time = time or MockTime()
        self.config = SimpleNamespace(
            broker_id=broker_id,
            replica_lag_time_max_ms=10_000,
            replica_high_watermark_checkpoint_interval_ms=5_000,
            inter_broker_protocol_version=ApiVersion.latest_version(),
            inter_broker_listener_name=None,
            num_replica_fetchers=1,
        )
        self.zk = zk or FakeZkClient()
        self.log_manager: Any = (
            log_manager(self.time) if log_manager else FakeLogManager(tmp_path, self.time, dict(log_props or {}))
        )
        self.metadata_cache = FakeMetadataCache(alive)
        self.stats = FakeBrokerTopicStats()
        self.produce_timer, self.fetch_timer = ManualTimer(), ManualTimer()
        self.replica_manager = (manager or TestReplicaManager)(
            cast("Any", self.config),
            cast("Any", None),
            self.time,
            cast("Any", self.zk),
            self.time.scheduler,
            cast("Any", self.log_manager),
            AtomicBoolean(False),
            cast("Any", SimpleNamespace(follower=QuotaFactory.UnboundedQuota, alter_log_dirs=None)),
            cast("Any", self.stats),
            cast("Any", self.metadata_cache),
            self.log_manager.channel,
            delayed_produce_purgatory=DelayedOperationPurgatory("Produce", self.produce_timer, reaper_enabled=False),
            delayed_fetch_purgatory=DelayedOperationPurgatory("Fetch", self.fetch_timer, reaper_enabled=False),
            delayed_delete_records_purgatory=DelayedOperationPurgatory(
                "DeleteRecords", ManualTimer(), reaper_enabled=False
            ),
        )
        self.fetchers = cast("FakeFetcherManager", self.replica_manager.replica_fetcher_manager)
        self.movers = cast("FakeFetcherManager", self.replica_manager.replica_alter_log_dirs_manager)

    def close(self) -> None:
        self.replica_manager.shutdown(checkpoint_hw=False)
        for partition in list(self.replica_manager._all_partitions.values):
            partition.remove_partition_metrics()
        self.log_manager.close()

    def become_leader(
        self, tp: TopicPartition, replicas: Iterable[int] = (1,), isr: Iterable[int] | None = None
    ) -> None:
        partition = self.replica_manager.get_or_create_partition(tp)
        partition.make_leader(0, partition_state(1, partition.get_leader_epoch + 1, isr or replicas, replicas), 0)

    def append(self, tp: TopicPartition, records: MemoryRecords, acks: int = -1, timeout: int = 1000) -> Answers:
        answers = Answers()
        self.replica_manager.append_records(timeout, acks, False, True, {tp: records}, answers.produce)
        return answers

    def fetch(
        self,
        tp: TopicPartition,
        offset: int,
        replica_id: int = -1,
        min_bytes: int = 0,
        max_bytes: int = 1 << 20,
        timeout: int = 1000,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        hard_max_bytes_limit: bool = False,
        epoch: int = -1,
        quota: Any = QuotaFactory.UnboundedQuota,
        max_total: int = 1 << 30,
    ) -> Answers:
        answers = Answers()
        self.replica_manager.fetch_messages(
            FetchParams(2 if hard_max_bytes_limit else 7, replica_id, timeout, min_bytes, max_total, isolation_level),
            [(tp, FetchRequest.PartitionData(offset, 0, max_bytes, epoch))],
            quota,
            answers.fetch,
        )
        return answers


def answer_follower(
    env: Env, sessions: FetchManager, request: AbstractRequest, error: Errors | None = None
) -> AbstractResponse:
    """What a leader answers to a Fetch, an OffsetsForLeaderEpoch or a ListOffsets of a follower."""
    manager = env.replica_manager
    if isinstance(request, OffsetsForLeaderEpochRequest):
        known = request.current_leader_epochs() if request.version() > 0 else None
        asked = request.epochs_by_topic_partition()
        return OffsetsForLeaderEpochResponse(manager.last_offset_for_leader_epoch(asked, known))
    if isinstance(request, ListOffsetRequest):
        offsets: dict[TopicPartition, ListOffsetResponse.PartitionData] = {}
        for tp, at in request.partition_timestamps().items():
            partition, replica = manager.get_partition_and_leader_replica_if_local(tp)
            partition.check_current_leader_epoch(request.current_leader_epochs()[tp])
            offset = replica.log_end_offset.message_offset if at == -1 else replica.log_start_offset
            offsets[tp] = ListOffsetResponse.PartitionData(Errors.NONE, -1, offset)
        return ListOffsetResponse(0, offsets)
    assert isinstance(request, FetchRequest)
    context = sessions.new_context(request.metadata(), request.fetch_data(), request.to_forget(), True)
    wanted: list[tuple[TopicPartition, FetchRequest.PartitionData]] = []
    context.foreach_partition(lambda tp, data: wanted.append((tp, data)))
    answers = Answers()
    params = FetchParams(7, request.replica_id(), 0, 1, 1 << 20, request.isolation_level())
    manager.fetch_messages(params, wanted, QuotaFactory.UnboundedQuota, answers.fetch)
    return context.update_and_generate_response_data(
        {
            tp: FetchResponse.PartitionData(error or d.error, d.high_watermark, -1, d.log_start_offset, None, d.records)
            for tp, d in answers.fetched[0]
        }
    )


def through_bytes(response: AbstractResponse, version: int) -> AbstractResponse:
    """The response as who asked reads it."""
    return type(response).parse(b"".join(_bytes(p) for p in response.to_parts(version)), version)


def _bytes(part: Any) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    buffer = bytearray(part.size_in_bytes())
    part.read_into(buffer, 0)
    return bytes(buffer)


class Answers:
    """What the callbacks of one request were called with."""

    def __init__(self) -> None:
        self.produced: list[dict[TopicPartition, ProduceResponse.PartitionResponse]] = []
        self.fetched: list[list[tuple[TopicPartition, FetchPartitionData]]] = []

    def produce(self, answer: dict[TopicPartition, ProduceResponse.PartitionResponse]) -> None:
        self.produced.append(answer)

    def fetch(self, answer: list[tuple[TopicPartition, FetchPartitionData]]) -> None:
        self.fetched.append(answer)

    @property
    def produce_response(self) -> ProduceResponse.PartitionResponse:
        (answer,) = self.produced
        (response,) = answer.values()
        return response

    @property
    def fetch_data(self) -> FetchPartitionData:
        (answer,) = self.fetched
        ((_, data),) = answer
        return data


def partition_state(
    leader: int,
    leader_epoch: int,
    isr: Iterable[int],
    replicas: Iterable[int],
    is_new: bool = True,
    zk_version: int = 0,
) -> Any:
    """Shaped like LeaderAndIsrRequest.PartitionState."""
    base = SimpleNamespace(
        controller_epoch=1,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=list(isr),
        zk_version=zk_version,
        replicas=list(replicas),
    )
    return SimpleNamespace(base_partition_state=base, is_new=is_new)


def records(*values: bytes, **kwargs: Any) -> MemoryRecords:
    """One batch without compression."""
    return MemoryRecords.with_records(
        *(SimpleRecord(0, b"k", v) for v in values), compression_type=CompressionType.NONE, **kwargs
    )
