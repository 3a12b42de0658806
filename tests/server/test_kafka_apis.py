"""What KafkaApis answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.cluster.partition import Partition
from kafka_py.cluster.partition_state import LeaderState
from kafka_py.common.errors import (
    ClusterAuthorizationException,
    InvalidTopicException,
    NotLeaderForPartitionException,
    TopicExistsException,
)
from kafka_py.common.internals.fatal_exit_error import FatalExitError
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.controlled_shutdown_request import ControlledShutdownRequest
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.common.requests.delete_topics_request import DeleteTopicsRequest
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.produce_request import ProduceRequest
from kafka_py.common.requests.produce_response import ProduceResponse
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.transaction.transaction_coordinator import InitProducerIdResult, TransactionCoordinator
from kafka_py.coordinator.transaction.transaction_state_manager import TransactionConfig
from kafka_py.log.index_entry import TimestampOffset
from kafka_py.security.auth.operation import Operation
from kafka_py.server.kafka_apis import KafkaApis
from kafka_py.server.log_read_result import FetchPartitionData
from tests.server.kafka_apis_support import Apis, RecordingAuthorizer, update_metadata

T0 = TopicPartition("t", 0)


@pytest.fixture
def apis() -> Iterator[Apis]:
    made = Apis()
    yield made
    made.close()


def produce(acks: int, *topics: str, version: int = 5) -> ProduceRequest:
    records = MemoryRecords.with_records(SimpleRecord(0, b"k", b"v"))
    return ProduceRequest(version, acks, 1000, {TopicPartition(topic, 0): records for topic in topics})


def appended(error: Errors = Errors.NONE) -> dict[TopicPartition, ProduceResponse.PartitionResponse]:
    return {T0: ProduceResponse.PartitionResponse(error, 5, -1, 0)}


# -- Dispatch ----------------------------------------------------------------------------------------------------------


def test_the_table_has_handlers_and_versions_that_exist(apis: Apis) -> None:
    for key, handler in KafkaApis.HANDLERS.items():
        assert handler.of(apis.apis).__name__.startswith("handle_")
        assert key.oldest_version() <= handler.min_version <= handler.max_version <= key.latest_version()


def test_api_versions_answers_the_table(apis: Apis) -> None:
    response = apis.handle(ApiVersionsRequest(version=1))
    offered = {v.api_key: (v.min_version, v.max_version) for v in response.api_versions}
    assert offered == {key.id: (h.min_version, h.max_version) for key, h in KafkaApis.HANDLERS.items()}
    assert ApiKeys.CREATE_ACLS.id not in offered


def test_a_failing_handler_answers_with_an_error(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise InvalidTopicException("bad")

    monkeypatch.setattr(apis.metadata_cache, "get_all_topics", fail)
    request = apis.request(MetadataRequest(version=4, topics=None))
    apis.apis.handle(request)
    [response] = apis.channel.responses
    assert response.error_counts() == {}
    assert request.api_local_complete_time_nanos >= 0


def test_an_error_of_a_cluster_action_is_answered_too(apis: Apis) -> None:
    def refuse(*args: Any) -> None:
        raise ClusterAuthorizationException("no")

    apis.controller.controlled_shutdown = refuse
    response = apis.handle(ControlledShutdownRequest(version=1, broker_id=5))
    assert response.error() is Errors.CLUSTER_AUTHORIZATION_FAILED


def test_a_fatal_error_passes(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise FatalExitError(3)

    monkeypatch.setattr(apis.metadata_cache, "get_all_topics", fail)
    with pytest.raises(FatalExitError):
        apis.apis.handle(apis.request(MetadataRequest(version=4, topics=None)))
    assert apis.channel.responses == []


# -- Produce -----------------------------------------------------------------------------------------------------------


def test_produce_appends_known_topics_and_answers_both(apis: Apis) -> None:
    apis.update_metadata("t")
    assert apis.handle(produce(-1, "t", "unknown")) is None
    [call] = apis.appended
    assert list(call["entries_per_partition"]) == [T0]
    assert (call["timeout"], call["required_acks"], call["is_from_client"]) == (1000, -1, True)
    assert not call["internal_topics_allowed"]
    call["response_callback"](appended())
    [response] = apis.channel.responses
    assert isinstance(response, ProduceResponse)
    assert {tp.topic: p.error for tp, p in response.responses().items()} == {
        "t": Errors.NONE,
        "unknown": Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_produce_to_unknown_topics_alone_is_answered_at_once(apis: Apis) -> None:
    response = apis.handle(produce(1, "unknown"))
    assert response.error_counts() == {Errors.UNKNOWN_TOPIC_OR_PARTITION: 1}
    assert apis.appended == []


def test_acks_0_gets_no_answer(apis: Apis) -> None:
    apis.update_metadata("t")
    apis.handle(produce(0, "t"))
    apis.appended[0]["response_callback"](appended())
    assert apis.channel.responses == []
    assert len(apis.channel.no_ops) == 1
    assert apis.channel.closed == []


def test_acks_0_with_an_error_closes_the_connection(apis: Apis) -> None:
    apis.update_metadata("t")
    apis.handle(produce(0, "t"))
    apis.appended[0]["response_callback"](appended(Errors.NOT_LEADER_FOR_PARTITION))
    assert apis.channel.closed == [{Errors.NOT_LEADER_FOR_PARTITION: 1}]
    assert apis.channel.no_ops == []


def test_the_admin_client_may_write_internal_topics(apis: Apis) -> None:
    apis.update_metadata("t")
    apis.handle(produce(1, "t"), client_id="__admin_client")
    assert apis.appended[0]["internal_topics_allowed"]


def test_produce_is_authorized() -> None:
    authorizer = RecordingAuthorizer(Operation.Write)
    apis = Apis(authorizer)
    apis.update_metadata("t")
    response = apis.handle(produce(1, "t"))
    assert response.error_counts() == {Errors.TOPIC_AUTHORIZATION_FAILED: 1}
    assert authorizer.asked == [(Operation.Write, "Topic:t")]
    apis.close()


# -- Fetch -------------------------------------------------------------------------------------------------------------


def fetch(*topics: str, version: int = 6, replica: int = -1) -> FetchRequest:
    data = {TopicPartition(topic, 0): FetchRequest.PartitionData(3, -1, 1000) for topic in topics}
    return FetchRequest(version, replica, 500, 1, 2000, data, IsolationLevel.READ_COMMITTED)


def read(records: Any = MemoryRecords.EMPTY) -> FetchPartitionData:
    return FetchPartitionData(Errors.NONE, 10, 0, records, None, None)


def test_fetch_reads_known_topics_and_answers_both(apis: Apis) -> None:
    apis.update_metadata("t")
    assert apis.handle(fetch("t", "unknown")) is None
    [args] = apis.fetched
    params, infos, quota, callback = args
    assert (params.max_wait_ms, params.replica_id, params.min_bytes, params.max_bytes) == (500, -1, 1, 2000)
    assert not params.hard_max_bytes_limit
    assert [tp for tp, _ in infos] == [T0]
    assert not quota.is_throttled(T0)
    assert params.isolation_level is IsolationLevel.READ_COMMITTED
    callback([(T0, read())])
    [response] = apis.channel.responses
    data: Any = response
    by_topic = {tp.topic: p for tp, p in data.response_data().items()}
    assert by_topic["t"].high_watermark == 10
    assert by_topic["t"].last_stable_offset == -1
    assert by_topic["unknown"].error is Errors.UNKNOWN_TOPIC_OR_PARTITION


def test_a_followers_fetch_is_under_the_leader_quota(apis: Apis) -> None:
    apis.update_metadata("t")
    apis.handle(fetch("t", replica=2))
    args = apis.fetched[0]
    assert args[2] is apis.quotas.leader
    apis.quotas.leader.mark_throttled("t")
    args[3]([(T0, read())])
    assert len(apis.channel.responses) == 1
    assert apis.metrics.get_sensor("LeaderReplication") is not None


def test_a_followers_fetch_shows_the_leaders_byte_rate_without_any_throttle(apis: Apis) -> None:
    apis.update_metadata("t")
    for _ in range(2):
        apis.handle(fetch("t", replica=2))
        apis.fetched[-1][3]([(T0, read())])
    rate = apis.metrics.metric(apis.metrics.metric_name("byte-rate", "LeaderReplication", ""))
    assert rate is not None
    assert rate.metric_value() == 0


def test_old_fetch_versions_have_a_hard_limit_and_get_old_records(apis: Apis) -> None:
    apis.update_metadata("t")
    records = MemoryRecords.with_records(SimpleRecord(0, b"k", b"v"), initial_offset=3)
    for version, magic in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2)):
        apis.handle(fetch("t", version=version))
        args = apis.fetched[-1]
        assert args[0].hard_max_bytes_limit is (version <= 2)
        args[3]([(T0, read(records))])
        response: Any = apis.channel.responses[-1]
        [data] = response.response_data().values()
        assert {batch.magic() for batch in data.records.batches()} == {magic}


def test_a_partition_that_cannot_be_converted_has_an_error_of_its_own(apis: Apis) -> None:
    apis.update_metadata("t", partitions=2)
    other = TopicPartition("t", 1)
    apis.handle(fetch("t", version=3))
    old = MemoryRecords.with_records(SimpleRecord(0, b"k", b"v"), initial_offset=3)
    new = MemoryRecords.with_records(
        SimpleRecord(0, b"k", b"v"), initial_offset=3, compression_type=CompressionType.ZSTD
    )
    # on the thread of a producer, whose append ended the waiting
    apis.fetched[0][3]([(T0, read(new)), (other, read(old))])
    [response] = apis.channel.responses
    data: Any = response
    assert {tp: p.error for tp, p in data.response_data().items()} == {
        T0: Errors.UNSUPPORTED_COMPRESSION_TYPE,
        other: Errors.NONE,
    }
    assert data.response_data()[other].records.size_in_bytes() > 0


def test_what_goes_wrong_with_a_fetch_concerns_its_sender_only(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    apis.update_metadata("t")

    def damaged(*args: Any) -> Any:
        raise RuntimeError("what is on disk is no batch")

    monkeypatch.setattr(MemoryRecords, "down_convert", damaged)
    apis.handle(fetch("t", version=3))
    # on the thread of a producer, whose append ended the waiting
    apis.fetched[0][3]([(T0, read(MemoryRecords.with_records(SimpleRecord(0, b"k", b"v"), initial_offset=3)))])
    assert [r.error_counts() for r in apis.channel.responses] == [{Errors.UNKNOWN_SERVER_ERROR: 1}]


def test_fetch_is_authorized() -> None:
    apis = Apis(RecordingAuthorizer(Operation.Read, Operation.ClusterAction))
    apis.update_metadata("t")
    for replica in (-1, 2):
        response = apis.handle(fetch("t", replica=replica))
        [data] = response.response_data().values()
        assert data.error is Errors.TOPIC_AUTHORIZATION_FAILED
    apis.close()


# -- ListOffsets -------------------------------------------------------------------------------------------------------


class FakeLog:
    log_start_offset = 2
    log_end_offset = 30

    def __init__(self, *segments: tuple[int, int, int]) -> None:
        self.log_segments = [SimpleNamespace(base_offset=b, last_modified=m, size=s) for b, m, s in segments]

    def fetch_offsets_by_timestamp(self, timestamp: int) -> TimestampOffset | None:
        return {-1: TimestampOffset(-1, 30), -2: TimestampOffset(-1, 2), 5: TimestampOffset(6, 7)}.get(
            timestamp, TimestampOffset(99, 25) if timestamp == 98 else None
        )


def with_log(apis: Apis, log: Any, high_watermark: int = 20) -> None:
    replica = SimpleNamespace(
        high_watermark=SimpleNamespace(message_offset=high_watermark),
        last_stable_offset=SimpleNamespace(message_offset=15),
        epochs=SimpleNamespace(epoch_for_offset=lambda offset: 3 if offset < 20 else 4),
    )
    manager = apis.replica_manager
    partition = Partition("t", 0, None, None, is_offline=True)
    partition._leader_epoch = 4
    manager.get_partition = lambda tp: partition
    manager.get_leader_replica_if_local = lambda tp: replica
    manager.get_replica_or_exception = lambda tp: replica
    manager.get_log = lambda tp: log
    manager.log_manager = SimpleNamespace(get_log=lambda tp: log)


def list_offsets_at(version: int, timestamp: int, epoch: int = -1) -> ListOffsetRequest:
    partition = ListOffsetRequest.Topic.Partition(partition=0, timestamp=timestamp, current_leader_epoch=epoch)
    topics = [ListOffsetRequest.Topic(topic="t", partitions=[partition])]
    return ListOffsetRequest(version=version, replica_id=-1, topics=topics)


def list_offsets(timestamp: int, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED, replica: int = -1) -> Any:
    builder = (
        ListOffsetRequest.Builder.for_consumer(True, isolation)
        if replica == -1
        else ListOffsetRequest.Builder.for_replica(1, replica)
    )
    return builder.set_target_times({T0: timestamp}).build(2 if replica == -1 else 1)


@pytest.mark.ported("KafkaApisTest.testReadUncommittedConsumerListOffsetLatest")
@pytest.mark.ported("KafkaApisTest.testReadCommittedConsumerListOffsetLatest")
@pytest.mark.ported("KafkaApisTest.testReadUncommittedConsumerListOffsetEarliestOffsetEqualsHighWatermark")
@pytest.mark.parametrize(
    ("timestamp", "isolation", "replica", "expected"),
    [
        (-1, IsolationLevel.READ_UNCOMMITTED, -1, (-1, 20)),
        (-1, IsolationLevel.READ_COMMITTED, -1, (-1, 15)),
        (-2, IsolationLevel.READ_UNCOMMITTED, -1, (-1, 2)),
        (5, IsolationLevel.READ_UNCOMMITTED, -1, (6, 7)),
        (98, IsolationLevel.READ_UNCOMMITTED, -1, (-1, -1)),  # beyond the high watermark
        (12345, IsolationLevel.READ_UNCOMMITTED, -1, (-1, -1)),
        (-1, IsolationLevel.READ_UNCOMMITTED, 2, (-1, 30)),  # a follower sees the end of the log
        (98, IsolationLevel.READ_UNCOMMITTED, 2, (99, 25)),
    ],
)
def test_list_offsets(
    apis: Apis, timestamp: int, isolation: IsolationLevel, replica: int, expected: tuple[int, int]
) -> None:
    with_log(apis, FakeLog((0, 0, 1)))
    response = apis.handle(list_offsets(timestamp, isolation, replica))
    [data] = response.response_data().values()
    assert data.error is Errors.NONE
    assert (data.timestamp, data.offset) == expected


def test_list_offsets_tells_leader_epochs_and_refuses_those_that_are_not_its_own(apis: Apis) -> None:
    with_log(apis, FakeLog((0, 0, 1)))
    for timestamp, offset, epoch in ((-1, 20, 4), (5, 7, 3), (-2, 2, 3)):
        [data] = apis.handle(list_offsets_at(4, timestamp, 4)).response_data().values()
        assert (data.error, data.offset, data.leader_epoch) == (Errors.NONE, offset, epoch)
    for asked, error in ((3, Errors.FENCED_LEADER_EPOCH), (5, Errors.UNKNOWN_LEADER_EPOCH)):
        [data] = apis.handle(list_offsets_at(4, -1, asked)).response_data().values()
        assert (data.error, data.offset, data.leader_epoch) == (error, -1, -1)


@pytest.mark.parametrize(("version", "error"), [(5, Errors.OFFSET_NOT_AVAILABLE), (4, Errors.LEADER_NOT_AVAILABLE)])
def test_list_offsets_waits_for_the_high_watermark_of_a_new_leader(apis: Apis, version: int, error: Errors) -> None:
    """KIP-207: where what could be read before the election ends is not known yet."""
    with_log(apis, FakeLog((0, 0, 1)))
    partition = apis.replica_manager.get_partition(T0)
    replica = apis.replica_manager.get_replica_or_exception(T0)
    partition._leader_state = LeaderState(replica, 4, 1, False)
    partition._leader_epoch_start_offset = 21
    answers = {}
    for timestamp in (-1, -2, 5, 98):
        [data] = apis.handle(list_offsets_at(version, timestamp)).response_data().values()
        answers[timestamp] = data.error
    assert answers == {-1: error, -2: Errors.NONE, 5: Errors.NONE, 98: error}
    partition._leader_epoch_start_offset = 20
    [data] = apis.handle(list_offsets_at(version, -1)).response_data().values()
    assert (data.error, data.offset) == (Errors.NONE, 20)


def test_list_offsets_of_a_partition_led_elsewhere(apis: Apis) -> None:
    def elsewhere(tp: TopicPartition) -> None:
        raise NotLeaderForPartitionException("elsewhere")

    apis.replica_manager.get_leader_replica_if_local = elsewhere
    [data] = apis.handle(list_offsets(-1)).response_data().values()
    assert data.error is Errors.NOT_LEADER_FOR_PARTITION
    request = ListOffsetRequest.Builder.for_replica(0, -1).set_offset_data({T0: ListOffsetRequest.PartitionData(-1, 1)})
    [data] = apis.handle(request.build(0)).response_data().values()
    assert data.error is Errors.NOT_LEADER_FOR_PARTITION


@pytest.mark.parametrize(
    ("timestamp", "count", "expected"),
    [
        (-1, 10, [20, 20, 10, 2]),
        (-2, 10, [2]),
        (150, 10, [10, 2]),
        (50, 10, []),
        (-1, 1, [20]),
        (-1, 0, []),
    ],
)
def test_list_offsets_version_0_answers_segments(apis: Apis, timestamp: int, count: int, expected: list[int]) -> None:
    # Segments at 0 (last written at 100), 10 (150) and 20 (200); the log begins at 2, ends at 30, and 20 is the HW.
    with_log(apis, FakeLog((0, 100, 5), (10, 150, 5), (20, 200, 5)))
    data = {T0: ListOffsetRequest.PartitionData(timestamp, count)}
    builder = ListOffsetRequest.Builder.for_replica(0, ListOffsetRequest.CONSUMER_REPLICA_ID)
    [answer] = apis.handle(builder.set_offset_data(data).build(0)).response_data().values()
    assert answer.error is Errors.NONE
    assert answer.offsets == expected


# -- Metadata ----------------------------------------------------------------------------------------------------------


def metadata(version: int, topics: list[str] | None, auto_create: bool = True) -> MetadataRequest:
    return MetadataRequest(version=version, topics=topics, allow_auto_topic_creation=auto_create)


def test_metadata_of_all_topics_and_of_none(apis: Apis) -> None:
    apis.update_metadata("a", "b", partitions=2)
    everything = apis.handle(metadata(1, None))
    assert {t.topic for t in everything.topic_metadata()} == {"a", "b"}
    assert [n.id for n in everything.brokers()] == [1]
    assert everything.controller().id == 1
    assert apis.handle(metadata(1, [])).topic_metadata() == []
    assert {t.topic for t in apis.handle(metadata(0, [])).topic_metadata()} == {"a", "b"}
    assert apis.handle(metadata(2, [])).cluster_id == "cluster-id"


@pytest.mark.parametrize("version", [7, 9])
def test_metadata_tells_leader_epochs(apis: Apis, version: int) -> None:
    apis.update_metadata("a", leader_epoch=3)
    [topic] = apis.handle(metadata(version, ["a"])).topic_metadata()
    assert [p.leader_epoch for p in topic.partition_metadata] == [3]


def test_metadata_tells_what_the_sender_may_do_if_it_asks() -> None:
    apis = Apis(RecordingAuthorizer(Operation.Write, Operation.AlterConfigs))
    apis.update_metadata("a")
    plain = apis.handle(metadata(8, ["a"]))
    assert plain.cluster_authorized_operations == plain.topics[0].topic_authorized_operations == -(1 << 31)
    request = metadata(8, ["a"])
    request.include_cluster_authorized_operations = request.include_topic_authorized_operations = True
    told = apis.handle(request)
    of_topic = {3, 5, 6, 7, 8, 10}  # all of a topic but Write (4) and AlterConfigs (11)
    assert told.topics[0].topic_authorized_operations == sum(1 << code for code in of_topic)
    assert told.cluster_authorized_operations == sum(1 << code for code in {5, 7, 8, 9, 10, 12})
    apis.close()
    apis = Apis(RecordingAuthorizer(Operation.Describe))
    request = metadata(8, [])
    request.include_cluster_authorized_operations = True
    assert apis.handle(request).cluster_authorized_operations == 0
    apis.close()


def test_unknown_topics_are_created_where_that_is_allowed(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[tuple[Any, ...]] = []
    monkeypatch.setattr(apis.apis.metadata._admin_zk_client, "create_topic", lambda *args: created.append(args))
    apis.update_metadata("a")
    errors = {t.topic: t.error for t in apis.handle(metadata(4, ["a", "new"])).topic_metadata()}
    assert errors == {"a": Errors.NONE, "new": Errors.LEADER_NOT_AVAILABLE}
    assert created[0][:3] == ("new", 1, 1)
    errors = {t.topic: t.error for t in apis.handle(metadata(4, ["new"], False)).topic_metadata()}
    assert errors == {"new": Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(created) == 1


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (TopicExistsException("t"), Errors.LEADER_NOT_AVAILABLE),
        (InvalidTopicException("t"), Errors.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_what_auto_creation_runs_into(
    apis: Apis, monkeypatch: pytest.MonkeyPatch, raised: Exception, error: Errors
) -> None:
    def fail(*args: Any) -> None:
        raise raised

    monkeypatch.setattr(apis.apis.metadata._admin_zk_client, "create_topic", fail)
    [topic] = apis.handle(metadata(4, ["x"])).topic_metadata()
    assert topic.error is error


def test_nobody_learns_of_topics_it_may_not_see() -> None:
    apis = Apis(RecordingAuthorizer(Operation.Describe))
    apis.update_metadata("a")
    assert apis.handle(metadata(1, None)).topic_metadata() == []
    [topic] = apis.handle(metadata(1, ["a"])).topic_metadata()
    assert topic.error is Errors.TOPIC_AUTHORIZATION_FAILED
    apis.close()


def test_creation_needs_a_right_of_its_own() -> None:
    apis = Apis(RecordingAuthorizer(Operation.Create))
    apis.update_metadata("a")
    errors = {t.topic: t.error for t in apis.handle(metadata(4, ["a", "new"])).topic_metadata()}
    assert errors == {"a": Errors.NONE, "new": Errors.TOPIC_AUTHORIZATION_FAILED}
    apis.close()


# -- Topics ------------------------------------------------------------------------------------------------------------


def create_topics(version: int = 1) -> CreateTopicsRequest:
    details = CreateTopicsRequest.TopicDetails(1, 1)
    return CreateTopicsRequest.Builder({"a": details, "b": details}, 1000).build(version)


def test_only_the_controller_creates_and_deletes(apis: Apis) -> None:
    apis.controller.is_active = False
    response = apis.handle(create_topics())
    assert {e.error() for e in response.errors().values()} == {Errors.NOT_CONTROLLER}
    response = apis.handle(DeleteTopicsRequest(version=1, topic_names=["a"], timeout=1000))
    assert set(response.errors().values()) == {Errors.NOT_CONTROLLER}


def test_topics_are_created_by_the_admin_manager(apis: Apis) -> None:
    calls: list[tuple[Any, ...]] = []
    apis.admin_manager.create_topics = lambda *args: calls.append(args)
    assert apis.handle(create_topics()) is None
    [(timeout, validate_only, topics, callback)] = calls
    assert (timeout, validate_only, set(topics)) == (1000, False, {"a", "b"})
    callback({"a": ApiError.NONE, "b": ApiError(Errors.TOPIC_ALREADY_EXISTS, "b exists")})
    response: Any = apis.channel.responses[-1]
    assert response.errors()["b"].message() == "b exists"


def test_duplicate_topics_are_refused_one_by_one(apis: Apis) -> None:
    calls: list[tuple[Any, ...]] = []
    apis.admin_manager.create_topics = lambda *args: calls.append(args)
    create = create_topics()
    create.create_topic_requests.append(create.create_topic_requests[0])
    apis.apis.handle(apis.request(create))
    [(_, _, topics, callback)] = calls
    assert set(topics) == {"b"}
    callback({"b": ApiError.NONE})
    response: Any = apis.channel.responses[-1]
    assert response.errors()["a"].error() is Errors.INVALID_REQUEST


def test_known_topics_are_deleted(apis: Apis) -> None:
    calls: list[tuple[Any, ...]] = []
    apis.admin_manager.delete_topics = lambda *args: calls.append(args)
    apis.update_metadata("a")
    apis.handle(DeleteTopicsRequest(version=1, topic_names=["a", "unknown"], timeout=500))
    [(timeout, topics, callback)] = calls
    assert (timeout, list(topics)) == (500, ["a"])
    callback({"a": Errors.NONE})
    response: Any = apis.channel.responses[-1]
    assert response.errors() == {"a": Errors.NONE, "unknown": Errors.UNKNOWN_TOPIC_OR_PARTITION}
    response = apis.handle(DeleteTopicsRequest(version=1, topic_names=["unknown"], timeout=500))
    assert response.errors() == {"unknown": Errors.UNKNOWN_TOPIC_OR_PARTITION}


# -- Producer ids ------------------------------------------------------------------------------------------------------


def test_producer_ids(apis: Apis) -> None:
    ids: Any = SimpleNamespace(generate_producer_id=lambda: 4711)
    states: Any = SimpleNamespace(
        validate_transaction_timeout_ms=lambda ms: 0 < ms <= 900000,
        get_transaction_state=lambda transactional_id: Errors.NOT_COORDINATOR,
    )
    unused: Any = None
    coordinator = TransactionCoordinator(1, TransactionConfig(), unused, ids, states, unused, unused)
    apis.txn_coordinator.handle_init_producer_id = coordinator.handle_init_producer_id
    response = apis.handle(InitProducerIdRequest(version=0, transactional_id=None, transaction_timeout_ms=1000))
    assert (response.error(), response.producer_id, response.producer_epoch) == (Errors.NONE, 4711, 0)
    for transactional_id, timeout, error in (
        ("", 1000, Errors.INVALID_REQUEST),
        ("t", 900001, Errors.INVALID_TRANSACTION_TIMEOUT),
        ("t", 0, Errors.INVALID_TRANSACTION_TIMEOUT),
        ("t", 1000, Errors.NOT_COORDINATOR),
    ):
        request = InitProducerIdRequest(version=0, transactional_id=transactional_id, transaction_timeout_ms=timeout)
        response = apis.handle(request)
        assert (response.error(), response.producer_id) == (error, -1)
    results: list[InitProducerIdResult] = []
    coordinator.handle_init_producer_id(None, 1, None, results.append)
    assert results == [InitProducerIdResult(4711, 0, Errors.NONE)]


# -- The controller's requests -----------------------------------------------------------------------------------------


def test_update_metadata_completes_what_waits_for_the_topics(apis: Apis) -> None:
    looked_at: list[str] = []
    seen: list[int] = []
    apis.admin_manager.has_delayed_topic_operations = True
    apis.admin_manager.try_complete_delayed_topic_operations = looked_at.append
    apis.admin_manager.try_complete_delayed_metadata = lambda: looked_at.append("metadata")
    apis.replica_manager.maybe_update_metadata_cache = lambda correlation_id, request: seen.append(correlation_id)
    response = apis.handle(update_metadata(("a", "b"), partitions=3))
    assert response.error() is Errors.NONE
    assert (looked_at, seen) == (["metadata", "a", "b"], [7])


def test_metadata_waits_for_the_controllers_first_word(apis: Apis) -> None:
    waiting: list[Callable[[], None]] = []
    apis.admin_manager.await_first_metadata = waiting.append
    assert apis.handle(metadata(4, None)) is None
    apis.update_metadata("t", controller=1)
    [answer] = waiting
    answer()
    response: Any = apis.channel.responses[-1]
    assert response.controller().id == 1
    assert [topic.topic for topic in response.topic_metadata()] == ["t"]
    assert apis.handle(metadata(4, [])).controller().id == 1
    assert len(waiting) == 1


def test_a_delayed_answer_that_fails_is_an_error_response(apis: Apis, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[Callable[[], None]] = []
    apis.admin_manager.await_first_metadata = waiting.append
    assert apis.handle(metadata(4, ["t"])) is None
    monkeypatch.setattr(apis.apis.metadata, "_get_topic_metadata", lambda *args: 1 / 0)
    [answer] = waiting
    answer()
    assert apis.channel.responses[-1].error_counts() == {Errors.UNKNOWN_SERVER_ERROR: 1}


def test_controlled_shutdown_is_answered_from_the_controllers_thread(apis: Apis) -> None:
    calls: list[tuple[Any, ...]] = []
    apis.controller.controlled_shutdown = lambda *args: calls.append(args)
    assert apis.handle(ControlledShutdownRequest(version=2, broker_id=5, broker_epoch=9)) is None
    [(broker, epoch, callback)] = calls
    assert (broker, epoch) == (5, 9)
    callback({T0})
    response: Any = apis.channel.responses[-1]
    assert response.partitions_remaining() == {T0}
    callback(NotLeaderForPartitionException("x"))
    assert apis.channel.responses[-1].error_counts() == {Errors.NOT_LEADER_FOR_PARTITION: 1}


@pytest.mark.parametrize(("told", "is_stale"), [(-1, False), (6, True), (7, False), (8, False)])
def test_what_was_meant_for_a_former_life_of_this_broker_is_refused(apis: Apis, told: int, is_stale: bool) -> None:
    """As BrokerEpochIntegrationTest has it (2.2): a higher epoch comes from a controller that knows before we do."""
    apis.controller.broker_epoch = 7
    state = LeaderAndIsrRequest.PartitionState(1, 1, 5, [1], 0, [1], False)
    lead = LeaderAndIsrRequest.Builder(4, 1, 1, {T0: state}, set(), told).build()
    stop = StopReplicaRequest.Builder(1, 1, True, {T0}, told, 2).build()
    update = UpdateMetadataRequest.Builder(6, 1, 1, {}, set(), told).build()
    done: list[str] = []
    manager = apis.replica_manager

    def does(what: str, result: object) -> Callable[..., object]:
        def do(*args: object) -> object:
            done.append(what)
            return result

        return do

    manager.become_leader_or_follower = does("lead", LeaderAndIsrResponse(Errors.NONE, {}))
    manager.stop_replicas = does("stop", ({}, Errors.NONE))
    manager.maybe_update_metadata_cache = does("update", [])
    manager.replica_fetcher_manager = SimpleNamespace(shutdown_idle_fetcher_threads=lambda: None)
    expected = Errors.STALE_BROKER_EPOCH if is_stale else Errors.NONE
    for request in (lead, stop, update):
        answer: Any = apis.handle(request)
        assert answer.error() is expected
    assert done == ([] if is_stale else ["lead", "stop", "update"])


def test_cluster_actions_are_authorized() -> None:
    apis = Apis(RecordingAuthorizer(Operation.ClusterAction))
    response = apis.handle(update_metadata(("a",)))
    assert response.error() is Errors.CLUSTER_AUTHORIZATION_FAILED
    response = apis.handle(ControlledShutdownRequest(version=1, broker_id=5))
    assert response.error() is Errors.CLUSTER_AUTHORIZATION_FAILED
    apis.close()
