"""What the smaller requests and responses do beyond their bytes."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import (
    ClusterAuthorizationException,
    InvalidTopicException,
    NotControllerException,
    RuntimeException,
    SchemaException,
    UnsupportedVersionException,
)
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_response import join_parts
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.common.requests.controlled_shutdown_request import ControlledShutdownRequest
from kafka_py.common.requests.controlled_shutdown_response import ControlledShutdownResponse
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.common.requests.delete_topics_request import DeleteTopicsRequest
from kafka_py.common.requests.epoch_end_offset import EpochEndOffset
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.heartbeat_request import HeartbeatRequest
from kafka_py.common.requests.heartbeat_response import HeartbeatResponse
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.leader_and_isr_request import LeaderAndIsrRequest
from kafka_py.common.requests.leader_and_isr_response import LeaderAndIsrResponse
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.requests.stop_replica_response import StopReplicaResponse
from kafka_py.common.requests.update_metadata_request import UpdateMetadataRequest
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.topic_partition import TopicPartition

TP = TopicPartition("foo", 0)


@pytest.mark.parametrize("version", range(5))
def test_leader_and_isr(version: int) -> None:
    states = {
        TP: LeaderAndIsrRequest.PartitionState(10, 1, 10, [0, 1], 10, [0, 1, 2], True),
        TopicPartition("bar", 3): LeaderAndIsrRequest.PartitionState(10, 2, 11, [], 12, [2], False),
    }
    request = LeaderAndIsrRequest.Builder(version, 1, 10, states, {Node(0, "h0", 1), Node(1, "h1", 2)}, 77).build()
    read = LeaderAndIsrRequest.parse(b"".join(request.to_parts()), version)
    assert (read.controller_id, read.controller_epoch) == (1, 10)
    assert read.broker_epoch == (77 if version >= 2 else -1)
    assert read.live_leaders == request.live_leaders
    assert (read.partition_states() == states) == (version >= 1)
    assert read.partition_states()[TP].base_partition_state.replicas == [0, 1, 2]
    assert read.partition_states()[TP].is_new == (version >= 1)
    response = read.get_error_response(0, NotControllerException())
    assert response.responses() == dict.fromkeys(states, Errors.NOT_CONTROLLER)


@pytest.mark.ported("LeaderAndIsrResponseTest.testErrorCountsWithTopLevelError")
@pytest.mark.ported("LeaderAndIsrResponseTest.testErrorCountsNoTopLevelError")
@pytest.mark.ported("StopReplicaResponseTest.testErrorCountsWithTopLevelError")
@pytest.mark.ported("StopReplicaResponseTest.testErrorCountsNoTopLevelError")
@pytest.mark.parametrize("response_class", [LeaderAndIsrResponse, StopReplicaResponse])
def test_error_counts_of_partition_errors(
    response_class: type[LeaderAndIsrResponse] | type[StopReplicaResponse],
) -> None:
    errors = {TP: Errors.NONE, TopicPartition("foo", 1): Errors.CLUSTER_AUTHORIZATION_FAILED}
    assert response_class(Errors.UNKNOWN_SERVER_ERROR, errors).error_counts() == {Errors.UNKNOWN_SERVER_ERROR: 2}
    assert response_class(Errors.NONE, errors).error_counts() == {
        Errors.NONE: 1,
        Errors.CLUSTER_AUTHORIZATION_FAILED: 1,
    }
    assert str(response_class(Errors.NONE, {TP: Errors.NONE})).endswith(
        "Response(responses={foo-0: Errors.NONE}, error=NONE)"
    )


def broker(*protocols: SecurityProtocol) -> UpdateMetadataRequest.Broker:
    end_points = [
        UpdateMetadataRequest.EndPoint("host", 1000 + p.id, p, ListenerName.for_security_protocol(p)) for p in protocols
    ]
    return UpdateMetadataRequest.Broker(1, end_points, "rack")


@pytest.mark.parametrize("version", range(7))
def test_update_metadata(version: int) -> None:
    brokers = {broker(SecurityProtocol.PLAINTEXT, *([] if version == 0 else [SecurityProtocol.SSL]))}
    states = {TP: UpdateMetadataRequest.PartitionState(10, 1, 10, [0, 1], 10, [0, 1, 2], [2])}
    request = UpdateMetadataRequest.Builder(version, 1, 10, states, brokers, 77).build()
    read = UpdateMetadataRequest.parse(b"".join(request.to_parts()), version)
    assert read.broker_epoch == (77 if version >= 5 else -1)
    (live,) = read.live_brokers()
    assert live.end_points == next(iter(brokers)).end_points
    assert live.rack == ("rack" if version >= 2 else None)
    assert read.partition_states()[TP].offline_replicas == ([2] if version >= 4 else [])
    assert read.get_error_response(0, NotControllerException()).error() is Errors.NOT_CONTROLLER


def test_update_metadata_v0_knows_only_plaintext() -> None:
    for brokers in ({broker(SecurityProtocol.SSL)}, {broker(SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL)}):
        with pytest.raises(UnsupportedVersionException, match="v0 only handles PLAINTEXT endpoints"):
            UpdateMetadataRequest.Builder(0, 1, 1, {}, brokers).build()


def test_update_metadata_with_an_unknown_security_protocol() -> None:
    request = UpdateMetadataRequest(4, 1, 1, {}, {broker(SecurityProtocol.SASL_SSL)})
    data = bytearray(b"".join(request.to_parts()))
    position = data.index(b"SASL_SSL") + 8
    data[position : position + 2] = b"\0\x09"
    with pytest.raises(SchemaException, match="Unknown security protocol 9"):
        UpdateMetadataRequest.parse(data, 4)


@pytest.mark.ported("RequestResponseTest.testControlledShutdownResponse")
def test_controlled_shutdown() -> None:
    partitions = {TP, TopicPartition("foo", 1)}
    response = ControlledShutdownResponse(Errors.NONE, partitions)
    read = ControlledShutdownResponse.parse(join_parts(response.to_parts(1)), 1)
    assert (read.error(), read.partitions_remaining()) == (Errors.NONE, partitions)
    request = ControlledShutdownRequest.Builder(ControlledShutdownRequest(broker_id=3), 0).build()
    header = RequestHeader(ApiKeys.CONTROLLED_SHUTDOWN, 0, "ignored", 1)
    assert request.serialize(header) == bytes.fromhex("0007 0000 00000001 00000003")


@pytest.mark.parametrize("version", range(3))
def test_stop_replica_of_later_versions(version: int) -> None:
    partitions = {TP, TopicPartition("foo", 1), TopicPartition("bar", 0)}
    request = StopReplicaRequest.Builder(1, 2, True, partitions, 77, version).build()
    read = StopReplicaRequest.parse(b"".join(request.to_parts()), version)
    assert (read.partitions(), read.broker_epoch) == (partitions, 77 if version >= 1 else -1)
    response = read.get_error_response(0, NotControllerException())
    assert response.responses() == dict.fromkeys(partitions, Errors.NOT_CONTROLLER)


def test_controlled_shutdown_tells_the_epoch_of_the_broker() -> None:
    request = ControlledShutdownRequest(broker_id=3, broker_epoch=77)
    for version, epoch in ((1, -1), (2, 77), (3, 77)):
        read = ControlledShutdownRequest.parse(b"".join(request.at(version).to_parts()), version)
        assert (read.broker_id, read.broker_epoch) == (3, epoch)


def test_stop_replica() -> None:
    request = StopReplicaRequest.Builder(1, 2, True, {TP}).build()
    read = StopReplicaRequest.parse(b"".join(request.to_parts()), 0)
    assert (read.delete_partitions, read.partitions()) == (True, {TP})
    assert read.to_send("1", RequestHeader(ApiKeys.STOP_REPLICA, 0, "c", 1)).destination() == "1"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_list_offsets(version: int) -> None:
    builder = ListOffsetRequest.Builder(0, 2, -1, IsolationLevel.READ_COMMITTED).set_target_times({TP: -2})
    request = builder.build(version)
    read = ListOffsetRequest.parse(b"".join(request.to_parts()), version)
    if version == 0:
        assert read.offset_data() == {TP: (-2, 1)}
    else:
        assert read.partition_timestamps() == {TP: -2}
    response = read.get_error_response(4, InvalidTopicException())
    again = ListOffsetResponse.parse(join_parts(response.to_parts(version)), version)
    assert again.error_counts() == {Errors.INVALID_TOPIC_EXCEPTION: 1}
    assert again.throttle_time_ms == (4 if version == 2 else 0)
    assert again.response_data()[TP].offsets == []


def test_list_offsets_with_a_partition_twice() -> None:
    data = bytes.fromhex("ffffffff 00000001 0003") + b"foo" + bytes.fromhex("00000002") + bytes(12) * 2
    assert ListOffsetRequest.parse(data, 1).duplicate_partitions() == {TP}


def test_list_offsets_builders() -> None:
    consumer = ListOffsetRequest.Builder.for_consumer
    assert consumer(False, IsolationLevel.READ_UNCOMMITTED).oldest_allowed_version() == 0
    assert consumer(True, IsolationLevel.READ_UNCOMMITTED).oldest_allowed_version() == 1
    assert consumer(False, IsolationLevel.READ_COMMITTED).oldest_allowed_version() == 2
    replica = ListOffsetRequest.Builder.for_replica(1, 5)
    with pytest.raises(RuntimeException, match="Must set partitionTimestamps when creating a v1"):
        replica.build()
    with pytest.raises(RuntimeException, match="Must set partitionTimestamps or offsetData"):
        replica.build(0)
    replica.set_offset_data({TP: ListOffsetRequest.PartitionData(-1, 3)})
    assert replica.build(0).replica_id == 5
    with pytest.raises(RuntimeException, match="Cannot create a v1 ListOffsetRequest with v0 PartitionData"):
        replica.build(1)


@pytest.mark.ported("MetadataRequestTest.testEmptyMeansAllTopicsV0", changes="KafkaApis decides what an empty list is")
@pytest.mark.ported("MetadataRequestTest.testEmptyMeansEmptyForVersionsAboveV0")
def test_metadata_request() -> None:
    assert MetadataRequest.parse(bytes(4), 0).topics == []
    for version in range(1, 6):
        request = MetadataRequest(version=version, topics=None, allow_auto_topic_creation=False)
        read = MetadataRequest.parse(b"".join(request.to_parts()), version)
        assert read.is_all_topics()
        assert read.allow_auto_topic_creation == (version < 4)
        assert not MetadataRequest.parse(bytes(5), version).is_all_topics()
    with pytest.raises(UnsupportedVersionException, match="older than 1"):
        MetadataRequest.Builder.all_topics().build(0)
    with pytest.raises(UnsupportedVersionException, match="older than 4"):
        MetadataRequest.Builder(["t"], False).build(3)
    assert str(MetadataRequest.Builder.all_topics()) == "(type=MetadataRequest, topics=<ALL>)"


@pytest.mark.parametrize("version", range(6))
def test_metadata_response(version: int) -> None:
    node, gone = Node(1, "host1", 1001, "r"), Node(7, "", -1)
    partitions = [
        MetadataResponse.PartitionMetadata(Errors.NONE, 1, node, [node, gone], [node], [gone]),
        MetadataResponse.PartitionMetadata(Errors.LEADER_NOT_AVAILABLE, 0, None, [node], [node], []),
    ]
    topics = [
        MetadataResponse.TopicMetadata(Errors.NONE, "__consumer_offsets", True, partitions),
        MetadataResponse.TopicMetadata(Errors.LEADER_NOT_AVAILABLE, "topic2", False, []),
        MetadataResponse.TopicMetadata(Errors.TOPIC_AUTHORIZATION_FAILED, "secret", False, []),
    ]
    original = MetadataResponse([node], "cluster", 1, topics, 9)
    read = MetadataResponse.parse(join_parts(original.to_parts(version)), version)
    assert read.controller() == (node if version >= 1 else None)
    assert read.cluster_id == ("cluster" if version >= 2 else None)
    assert read.throttle_time_ms == (9 if version >= 3 else 0)
    assert read.unavailable_topics() == {"__consumer_offsets", "topic2"}
    assert read.errors() == {"topic2": Errors.LEADER_NOT_AVAILABLE, "secret": Errors.TOPIC_AUTHORIZATION_FAILED}
    first = read.topic_metadata()[0]
    assert first.is_internal == (version >= 1)
    assert [p.leader_id() for p in first.partition_metadata] == [1, -1]
    assert first.partition_metadata[0].replicas[1] == gone
    cluster = read.cluster()
    assert cluster.topics() == {"__consumer_offsets"}
    assert cluster.unauthorized_topics() == {"secret"}
    assert cluster.leader_for(TopicPartition("__consumer_offsets", 1)) == read.brokers()[0]
    assert [p.partition for p in cluster.available_partitions_for_topic("__consumer_offsets")] == [1]
    assert "isInternal" in str(first)


def test_api_versions_request_says_what_the_client_is() -> None:
    request = ApiVersionsRequest.Builder(3, "apache-kafka-java", "3.7.1").build()
    read = ApiVersionsRequest.parse(b"".join(request.to_parts()), 3)
    assert (read.client_software_name, read.client_software_version) == ("apache-kafka-java", "3.7.1")
    assert read.is_valid()
    assert not read.has_unsupported_request_version()
    for name in ("", "-a", "a b", "a-", "\u00e4"):
        assert not ApiVersionsRequest(version=3, client_software_name=name, client_software_version="1").is_valid()
    assert ApiVersionsRequest(version=2).is_valid()


@pytest.mark.ported("ApiVersionsResponseTest.shouldCreateApiResponseOnlyWithKeysSupportedByMagicValue")
@pytest.mark.ported("ApiVersionsResponseTest.shouldReturnAllKeysWhenMagicIsCurrentValueAndThrottleMsIsDefaultThrottle")
def test_api_versions_response() -> None:
    old = ApiVersionsResponse.create_api_versions_response(10, 1)
    assert {v.api_key for v in old.api_versions} == {*range(44), 45, 46, 47} - {24, 25, 26, 27, 28}
    current = ApiVersionsResponse.create_api_versions_response(0, 2)
    assert current.api_version(24) == ApiVersionsResponse.ApiVersion(24, 0, 4)
    assert current.api_version(99) is None
    for version in range(4):
        read = ApiVersionsResponse.parse(join_parts(old.to_parts(version)), version)
        assert read.api_versions == old.api_versions
        assert read.throttle_time_ms == (10 if version else 0)
    assert [old.should_client_throttle(v) for v in (1, 2)] == [False, True]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_create_topics(version: int) -> None:
    details = CreateTopicsRequest.TopicDetails
    topics = {
        "a": details(3, 5, configs={"k": "v", "null": None}),
        "b": details(replicas_assignments={0: [1, 2], 1: [2, 3]}),
    }
    request = CreateTopicsRequest.Builder(topics, 100, version >= 1).build(version)
    data = b"".join(request.to_parts())
    read = CreateTopicsRequest.parse(data, version)
    assert read.topics() == topics
    assert (read.timeout, read.validate_only, read.duplicate_topics()) == (100, version >= 1, set())
    response = read.get_error_response(6, InvalidTopicException("no"))
    errors = type(response).parse(join_parts(response.to_parts(version)), version).errors()
    assert errors["a"] == ApiError(Errors.INVALID_TOPIC_EXCEPTION, "no" if version >= 1 else None)


def test_create_topics_with_a_topic_twice_and_validate_only_in_version_0() -> None:
    single = b"\0\x01a" + bytes.fromhex("00000001 0001 00000000 00000000")
    assert CreateTopicsRequest.parse(b"\0\0\0\x02" + single * 2 + bytes(4), 0).duplicate_topics() == {"a"}
    with pytest.raises(UnsupportedVersionException, match="validateOnly is not supported in version 0"):
        CreateTopicsRequest.Builder({}, 1, True).build(0)


@pytest.mark.parametrize("version", [0, 1])
def test_delete_topics(version: int) -> None:
    request = DeleteTopicsRequest.Builder({"a", "b"}, 7).build(version)
    read = DeleteTopicsRequest.parse(b"".join(request.to_parts()), version)
    assert (read.topics, read.timeout) == ({"a", "b"}, 7)
    assert read.get_error_response(0, NotControllerException()).error_counts() == {Errors.NOT_CONTROLLER: 2}


def test_find_coordinator() -> None:
    kind = FindCoordinatorRequest.CoordinatorType
    for version, type_ in [(0, kind.GROUP), (1, kind.GROUP), (1, kind.TRANSACTION)]:
        request = FindCoordinatorRequest.Builder(type_, "key").build(version)
        read = FindCoordinatorRequest.parse(b"".join(request.to_parts()), version)
        assert (read.coordinator_key(), read.coordinator_type()) == ("key", type_)
        assert read.get_error_response(0, NotControllerException()).node().is_empty()
    with pytest.raises(UnsupportedVersionException, match="features supported only in 1 or later"):
        FindCoordinatorRequest.Builder(kind.TRANSACTION, "key").build(0)
    with pytest.raises(ValueError, match="Unknown coordinator type received: 2"):
        FindCoordinatorRequest.parse(b"\0\x01a\x02", 1)


def test_init_producer_id() -> None:
    request = InitProducerIdRequest.Builder(None, 100).build(0)
    read = InitProducerIdRequest.parse(b"".join(request.to_parts()), 0)
    assert (read.transactional_id, read.transaction_timeout_ms) == (None, 100)
    response = read.get_error_response(1, NotControllerException())
    assert (response.producer_id, response.producer_epoch, response.error()) == (-1, 0, Errors.NOT_CONTROLLER)
    with pytest.raises(ValueError, match="not positive"):
        InitProducerIdRequest.Builder(None, 0)
    with pytest.raises(ValueError, match="non-empty"):
        InitProducerIdRequest.Builder("")


def test_offsets_for_leader_epoch() -> None:
    request = OffsetsForLeaderEpochRequest.Builder().add(TP, 5).build()
    read = OffsetsForLeaderEpochRequest.parse(b"".join(request.to_parts()), 0)
    assert read.epochs_by_topic_partition() == {TP: 5}
    error = read.get_error_response(0, ClusterAuthorizationException()).responses()[TP]
    assert (error.error(), error.end_offset(), error.has_error()) == (Errors.CLUSTER_AUTHORIZATION_FAILED, -1, True)
    assert EpochEndOffset.of(3) == EpochEndOffset(Errors.NONE, 3)


@pytest.mark.ported("ApiErrorTest.fromThrowable")
def test_api_error() -> None:
    assert ApiError.from_throwable(NotControllerException("no")) == ApiError(Errors.NOT_CONTROLLER, "no")
    default = Errors.NOT_CONTROLLER.exception()
    assert default is not None
    assert ApiError.from_throwable(default) == ApiError(Errors.NOT_CONTROLLER, None)
    assert ApiError.from_throwable(OSError()).is_(Errors.UNKNOWN_SERVER_ERROR)
    assert ApiError.NONE.is_success()
    assert str(ApiError(Errors.NOT_CONTROLLER).exception()) == Errors.NOT_CONTROLLER.message()


def test_messages_take_the_fields_of_their_version() -> None:
    response = HeartbeatResponse(throttle_time_ms=3, error_code=27)
    assert response.to_parts(0) == [b"\0\x1b"]
    assert response.to_parts(1) == [b"\0\0\0\x03\0\x1b"]
    assert response.error_counts() == {Errors.REBALANCE_IN_PROGRESS: 1}
    assert response.error() is Errors.REBALANCE_IN_PROGRESS
    held = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    request = HeartbeatRequest.Builder(held).build()
    assert (request.version(), held.version()) == (4, -1)
    held.member_id = None  # type: ignore[assignment]
    with pytest.raises(SchemaException, match="Missing value for field 'member_id'"):
        held.at(1).to_parts()


def test_builders_default_to_the_highest_allowed_version() -> None:
    assert FetchRequest.Builder.for_consumer(1, 1, {}).build().version() == 11
    assert FetchRequest.Builder.for_replica(5, 1, 1, 1, {}).build().version() == 5
