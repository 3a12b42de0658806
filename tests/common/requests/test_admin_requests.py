"""What the requests of administrators say beyond their bytes, which the golden messages check."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import InvalidRequestException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_response import join_parts
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_partitions_request import CreatePartitionsRequest
from kafka_py.common.requests.delete_records_request import DeleteRecordsRequest
from kafka_py.common.requests.delete_records_response import DeleteRecordsResponse
from kafka_py.common.requests.describe_configs_request import DescribeConfigsRequest
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.describe_log_dirs_request import DescribeLogDirsRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.new_partitions import NewPartitions
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.topic_partition import TopicPartition

Source = DescribeConfigsResponse.ConfigSource
TOPIC, BROKER = Resource(ResourceType.TOPIC, "t"), Resource(ResourceType.BROKER, "0")
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BAD = InvalidRequestException("bad")


def test_resources() -> None:
    assert [ResourceType.for_id(i).name for i in range(6)] == ["UNKNOWN", "ANY", "TOPIC", "GROUP", "BROKER", "UNKNOWN"]
    assert ResourceType.for_id(4).id() == 4
    assert Resource(ResourceType.TOPIC, "t") == TOPIC != BROKER
    assert {TOPIC: 1}[Resource(ResourceType.TOPIC, "t")] == 1
    assert str(TOPIC) == "Resource(type=TOPIC, name='t'}"
    for for_id in (ResourceType.for_id, Source.for_id):
        with pytest.raises(ValueError, match="should be positive"):
            for_id(-1)
    assert Source.for_id(6) is Source.UNKNOWN_CONFIG
    assert [Source.for_id(i).id for i in range(6)] == list(range(6))


@pytest.mark.parametrize("version", [0, 1])
def test_describe_configs_request(version: int) -> None:
    request = DescribeConfigsRequest.Builder({TOPIC: ["a"], BROKER: None}).include_synonyms(True).build(version)
    read = DescribeConfigsRequest.parse(b"".join(request.to_parts()), version)
    assert list(read.resources()) == [TOPIC, BROKER]
    assert (read.config_names(TOPIC), read.config_names(BROKER)) == (["a"], None)
    assert read.include_synonyms == (version == 1)
    assert DescribeConfigsRequest.Builder([TOPIC]).build().config_names(TOPIC) is None
    config = read.get_error_response(3, BAD).config(TOPIC)
    assert config == (ApiError(Errors.INVALID_REQUEST, "bad"), [])


def test_version_0_of_describe_configs_tells_only_whether_a_value_is_the_default() -> None:
    entries = [
        DescribeConfigsResponse.ConfigEntry("a", "1", Source.DYNAMIC_BROKER_CONFIG, False, True),
        DescribeConfigsResponse.ConfigEntry("b", None, Source.DEFAULT_CONFIG, True, False),
    ]
    group = Resource(ResourceType.GROUP, "g")
    config = DescribeConfigsResponse.Config(ApiError.NONE, entries)
    response = DescribeConfigsResponse(5, {TOPIC: config, BROKER: config, group: config})
    read = DescribeConfigsResponse.parse(join_parts(response.to_parts(0)), 0)
    assert {r: [e.source for e in c.entries] for r, c in read.configs().items()} == {
        TOPIC: [Source.TOPIC_CONFIG, Source.DEFAULT_CONFIG],
        BROKER: [Source.STATIC_BROKER_CONFIG, Source.DEFAULT_CONFIG],
        group: [Source.UNKNOWN_CONFIG, Source.DEFAULT_CONFIG],
    }
    assert read.throttle_time_ms == 5
    assert read.error_counts() == {Errors.NONE: 3}
    assert read.config(Resource(ResourceType.TOPIC, "other")) is None


def test_synonyms_travel_in_version_1() -> None:
    synonym = DescribeConfigsResponse.ConfigSynonym("log.a", "2", Source.STATIC_BROKER_CONFIG)
    entry = DescribeConfigsResponse.ConfigEntry("a", "1", Source.TOPIC_CONFIG, False, False, [synonym])
    response = DescribeConfigsResponse(0, {TOPIC: DescribeConfigsResponse.Config(ApiError.NONE, [entry])})
    read = DescribeConfigsResponse.parse(join_parts(response.to_parts(1)), 1)
    assert read.configs()[TOPIC].entries == [entry]


def test_alter_configs() -> None:
    config = AlterConfigsRequest.Config([AlterConfigsRequest.ConfigEntry("a", "1")])
    request = AlterConfigsRequest.Builder({TOPIC: config}, True).build()
    read = AlterConfigsRequest.parse(b"".join(request.to_parts()), 0)
    assert (read.configs(), read.validate_only) == ({TOPIC: config}, True)
    response = read.get_error_response(4, BAD)
    assert response.errors() == {TOPIC: ApiError(Errors.INVALID_REQUEST, "bad")}
    assert response.throttle_time_ms == 4


@pytest.mark.parametrize("message", ["x" * 32767, "x" * 32768, "\u00fc" * 20000, "\U0001f600" * 10000])
def test_a_long_message_of_one_resource_leaves_the_others_their_answer(message: str) -> None:
    config = DescribeConfigsResponse.Config
    entries = [DescribeConfigsResponse.ConfigEntry("a", "b", Source.DEFAULT_CONFIG, False, False, [])]
    configs = {TOPIC: config(ApiError(Errors.INVALID_CONFIG, message), []), BROKER: config(ApiError.NONE, entries)}
    read = DescribeConfigsResponse.parse(join_parts(DescribeConfigsResponse(0, configs).to_parts(1)), 1)
    told = read.configs()[TOPIC].error
    assert told.error() is Errors.INVALID_CONFIG
    assert message.startswith(told.message() or "?")
    assert 32767 - 4 < len((told.message() or "").encode()) <= 32767
    assert [entry.name for entry in read.configs()[BROKER].entries] == ["a"]


def test_create_partitions() -> None:
    new = {"t": NewPartitions.increase_to(3, [[1, 2]]), "u": NewPartitions.increase_to(2)}
    builder = CreatePartitionsRequest.Builder(new, 100, False)
    read = CreatePartitionsRequest.parse(b"".join(builder.build().to_parts()), 0)
    assert str(read.new_partitions()) == str(new)
    assert str(builder) == (
        "(type=CreatePartitionsRequest, newPartitions={'t': (totalCount=3, newAssignments=[[1, 2]]), "
        "'u': (totalCount=2, newAssignments=null)}, timeout=100, validateOnly=false)"
    )
    assert (read.timeout, read.validate_only, read.duplicates()) == (100, False, set())
    response = read.get_error_response(4, BAD)
    assert (response.throttle_time_ms, set(response.errors())) == (4, {"t", "u"})


def test_delete_records() -> None:
    builder = DeleteRecordsRequest.Builder(9, {T0: 5, T1: -1})
    read = DeleteRecordsRequest.parse(b"".join(builder.build().to_parts()), 0)
    assert (read.timeout, read.partition_offsets()) == (9, {T0: 5, T1: DeleteRecordsRequest.HIGH_WATERMARK})
    assert str(builder).startswith("(type=DeleteRecordsRequest, timeout=9, partitionOffsets=({")
    response = read.get_error_response(4, BAD)
    assert str(response.responses()[T0]) == "{partition=0,low_watermark=-1,error_code=42}"
    again = DeleteRecordsResponse.parse(join_parts(response.to_parts(0)), 0)
    assert again.error_counts() == {Errors.INVALID_REQUEST: 2}
    assert again.throttle_time_ms == 4


def test_alter_replica_log_dirs() -> None:
    wanted = {T0: "/d", T1: "/e", TopicPartition("u", 3): "/d"}
    builder = AlterReplicaLogDirsRequest.Builder(wanted)
    read = AlterReplicaLogDirsRequest.parse(b"".join(builder.build().to_parts()), 0)
    assert read.partition_dirs() == wanted
    assert [log_dir.log_dir for log_dir in read.log_dirs] == ["/d", "/e"]
    assert "AlterReplicaLogDirsRequest" in str(builder)
    errors = {T0: Errors.NONE, T1: Errors.LOG_DIR_NOT_FOUND}
    again = AlterReplicaLogDirsResponse.parse(join_parts(AlterReplicaLogDirsResponse.of(2, errors).to_parts(0)), 0)
    assert (again.throttle_time_ms, again.responses()) == (2, errors)
    assert again.error_counts() == {Errors.NONE: 1, Errors.LOG_DIR_NOT_FOUND: 1}
    assert read.get_error_response(3, BAD).responses() == dict.fromkeys(wanted, Errors.INVALID_REQUEST)


def test_describe_log_dirs() -> None:
    builder = DescribeLogDirsRequest.Builder([T0, T1, T0])
    read = DescribeLogDirsRequest.parse(b"".join(builder.build().to_parts()), 0)
    assert not read.is_all_topic_partitions()
    assert list(read.topic_partitions() or ()) == [T0, T1]
    assert "DescribeLogDirsRequest" in str(builder)
    everything = DescribeLogDirsRequest.parse(b"".join(DescribeLogDirsRequest.Builder(None).build().to_parts()), 0)
    assert everything.is_all_topic_partitions()
    assert everything.topic_partitions() is None
    replica = DescribeLogDirsResponse.ReplicaInfo(10, DescribeLogDirsResponse.INVALID_OFFSET_LAG, True)
    info = DescribeLogDirsResponse.LogDirInfo(Errors.NONE, {T0: replica})
    response = DescribeLogDirsResponse(2, {"/d": info})
    again = DescribeLogDirsResponse.parse(join_parts(response.to_parts(0)), 0)
    assert again.log_dir_infos() == {"/d": info}
    assert again.throttle_time_ms == 2
    assert str(replica) == "(size=10, offsetLag=-1, isFuture=true)"
    assert read.get_error_response(3, BAD).log_dir_infos() == {}
