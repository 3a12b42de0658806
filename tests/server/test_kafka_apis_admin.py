"""What KafkaApis does with the requests of administrators before and after others do the work."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.common.errors import InvalidRequestException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.alter_replica_log_dirs_request import AlterReplicaLogDirsRequest
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
from kafka_py.security.auth.operation import Operation
from tests.server.kafka_apis_support import Apis, RecordingAuthorizer

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TOPIC, BROKER = Resource(ResourceType.TOPIC, "t"), Resource(ResourceType.BROKER, "1")


class Worker:
    """Stands for AdminManager, ReplicaManager and LogManager: keeps what it is asked, and says that all went well."""

    has_delayed_topic_operations = False

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.log_manager = SimpleNamespace(all_logs=[SimpleNamespace(topic_partition=T0)])

    def is_topic_queued_up_for_deletion(self, topic: str) -> bool:
        return topic == "old"

    def create_partitions(self, timeout: int, new: Any, validate_only: bool, listener: Any, done: Any) -> None:
        self.calls.append((timeout, list(new), validate_only))
        done(dict.fromkeys(new, ApiError.NONE))

    def describe_configs(self, resources: Any, synonyms: bool) -> Any:
        self.calls.append((resources, synonyms))
        return {r: DescribeConfigsResponse.Config(ApiError.NONE, []) for r in resources}

    def alter_configs(self, configs: Any, validate_only: bool) -> Any:
        self.calls.append((configs, validate_only))
        return dict.fromkeys(configs, ApiError.NONE)

    def delete_records(self, timeout: int, offsets: Any, done: Any) -> None:
        self.calls.append((timeout, offsets))
        done({tp: DeleteRecordsResponse.PartitionResponse(offset, Errors.NONE) for tp, offset in offsets.items()})

    def alter_replica_log_dirs(self, partition_dirs: Any) -> Any:
        self.calls.append(partition_dirs)
        return dict.fromkeys(partition_dirs, Errors.NONE)

    def describe_log_dirs(self, partitions: Any) -> Any:
        self.calls.append(set(partitions))
        replica = DescribeLogDirsResponse.ReplicaInfo(9, 0, False)
        return {"/d": DescribeLogDirsResponse.LogDirInfo(Errors.NONE, {T0: replica})}


def prepared(*refused: Operation) -> Apis:
    worker: Any = Worker()
    made = Apis(RecordingAuthorizer(*refused) if refused else None, worker, worker)
    made.update_metadata("t")
    made.controller.topic_deletion_manager = worker
    return made


@pytest.fixture
def apis() -> Iterator[Apis]:
    made = prepared()
    yield made
    made.close()


@pytest.fixture
def refusing(request: pytest.FixtureRequest) -> Iterator[Apis]:
    made = prepared(*request.param)
    yield made
    made.close()


def calls(apis: Apis) -> list[Any]:
    worker: Any = apis.apis.admin_manager
    found: list[Any] = worker.calls
    return found


def grow(*topics: str) -> CreatePartitionsRequest:
    return CreatePartitionsRequest.Builder({t: NewPartitions.increase_to(3) for t in topics}, 500, False).build()


def test_create_partitions(apis: Apis) -> None:
    response = apis.handle(grow("t", "old"))
    assert response.errors()["t"].is_success()
    assert response.errors()["old"] == ApiError(Errors.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
    assert calls(apis) == [(500, ["t"], False)]


def test_create_partitions_of_a_topic_named_twice(apis: Apis) -> None:
    request = grow("t", "u")
    request.validate_only = True
    request.topic_partitions.append(request.topic_partitions[0])
    response = apis.handle(request)
    assert response.errors() == {
        "u": ApiError.NONE,
        "t": ApiError(Errors.INVALID_REQUEST, "Duplicate topic in request."),
    }
    assert calls(apis) == [(500, ["u"], True)]


def test_only_the_controller_creates_partitions(apis: Apis) -> None:
    apis.controller.is_active = False
    assert apis.handle(grow("t")).errors() == {"t": ApiError(Errors.NOT_CONTROLLER, None)}
    assert calls(apis) == []


@pytest.mark.parametrize("refusing", [[Operation.Alter]], indirect=True)
def test_create_partitions_needs_alter(refusing: Apis) -> None:
    error = refusing.handle(grow("t")).errors()["t"]
    assert error == ApiError(Errors.TOPIC_AUTHORIZATION_FAILED, "The topic authorization is failed.")


def test_delete_records(apis: Apis) -> None:
    unknown = TopicPartition("none", 0)
    response = apis.handle(DeleteRecordsRequest.Builder(700, {T0: 5, unknown: 1}).build())
    assert calls(apis) == [(700, {T0: 5})]
    found = {tp: (r.low_watermark, r.error) for tp, r in response.responses().items()}
    assert found == {T0: (5, Errors.NONE), unknown: (-1, Errors.UNKNOWN_TOPIC_OR_PARTITION)}


@pytest.mark.parametrize("refusing", [[Operation.Delete]], indirect=True)
def test_delete_records_needs_delete(refusing: Apis) -> None:
    response = refusing.handle(DeleteRecordsRequest.Builder(700, {T0: 5}).build())
    assert response.responses()[T0].error is Errors.TOPIC_AUTHORIZATION_FAILED
    assert calls(refusing) == []


@pytest.mark.parametrize("version", [0, 1])
def test_describe_configs(apis: Apis, version: int) -> None:
    request = DescribeConfigsRequest.Builder({TOPIC: ["a", "b"], BROKER: None}).include_synonyms(True)
    response = apis.handle(request.build(version))
    assert calls(apis) == [({TOPIC: {"a", "b"}, BROKER: None}, version == 1)]
    assert set(response.configs()) == {TOPIC, BROKER}


@pytest.mark.parametrize("refusing", [[Operation.DescribeConfigs, Operation.AlterConfigs]], indirect=True)
def test_configs_need_their_own_operations(refusing: Apis) -> None:
    described = refusing.handle(DescribeConfigsRequest.Builder([TOPIC, BROKER]).build())
    assert {r: c.error.error() for r, c in described.configs().items()} == {
        TOPIC: Errors.TOPIC_AUTHORIZATION_FAILED,
        BROKER: Errors.CLUSTER_AUTHORIZATION_FAILED,
    }
    config = AlterConfigsRequest.Config([])
    altered = refusing.handle(AlterConfigsRequest.Builder({TOPIC: config, BROKER: config}, False).build())
    assert {r: e.error() for r, e in altered.errors().items()} == {
        TOPIC: Errors.TOPIC_AUTHORIZATION_FAILED,
        BROKER: Errors.CLUSTER_AUTHORIZATION_FAILED,
    }
    assert calls(refusing) == [({}, False), ({}, False)]


def test_alter_configs(apis: Apis) -> None:
    config = AlterConfigsRequest.Config([AlterConfigsRequest.ConfigEntry("a", "1")])
    response = apis.handle(AlterConfigsRequest.Builder({TOPIC: config}, True).build())
    assert calls(apis) == [({TOPIC: config}, True)]
    assert response.errors() == {TOPIC: ApiError.NONE}


def test_groups_have_no_configs(apis: Apis) -> None:
    group = Resource(ResourceType.GROUP, "g")
    response = apis.handle(DescribeConfigsRequest.Builder([group]).build())
    assert response.configs()[group].error.error() is Errors.INVALID_REQUEST
    with pytest.raises(InvalidRequestException):
        apis.apis.admin._configs_authorization_api_error(None, group)  # type: ignore[arg-type]


def test_replicas_move_to_other_directories(apis: Apis) -> None:
    wanted = {T0: "/d", T1: "/e"}
    response = apis.handle(AlterReplicaLogDirsRequest.Builder(wanted).build())
    assert response.responses() == {T0: Errors.NONE, T1: Errors.NONE}
    assert calls(apis) == [wanted]


@pytest.mark.parametrize("refusing", [[Operation.Alter]], indirect=True)
def test_replicas_do_not_move_for_everybody(refusing: Apis) -> None:
    response = refusing.handle(AlterReplicaLogDirsRequest.Builder({T0: "/d"}).build())
    assert response.responses() == {T0: Errors.CLUSTER_AUTHORIZATION_FAILED}
    assert calls(refusing) == []


def test_describe_log_dirs(apis: Apis) -> None:
    response = apis.handle(DescribeLogDirsRequest.Builder(None).build())
    assert response.log_dir_infos()["/d"].replica_infos[T0].size == 9
    apis.handle(DescribeLogDirsRequest.Builder([T1]).build())
    assert calls(apis) == [{T0}, {T1}]


@pytest.mark.parametrize("refusing", [[Operation.Describe]], indirect=True)
def test_log_dirs_are_not_for_everybody(refusing: Apis) -> None:
    assert refusing.handle(DescribeLogDirsRequest.Builder(None).build()).log_dir_infos() == {}
