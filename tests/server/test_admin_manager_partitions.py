"""Topics that grow, and the policies that may refuse topics and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.common.errors import PolicyViolationException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.common.requests.new_partitions import NewPartitions
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.admin_manager import AdminManager
from kafka_py.server.metadata_cache import MetadataCache
from kafka_py.server.policy.alter_config_policy import AlterConfigPolicy
from kafka_py.server.policy.create_topic_policy import CreateTopicPolicy
from kafka_py.zk.admin_zk_client import AdminZkClient
from tests.server.kafka_apis_support import kafka_config, update_metadata

pytestmark = pytest.mark.usefixtures("no_reaper")

TWO = {0: [1, 2], 1: [2, 3]}


class FakeZk:
    """Topics by assignment; what was written is what a real client would have written."""

    def __init__(self) -> None:
        self.topics: dict[str, dict[int, list[int]]] = {"t": TWO}
        self.reassigning = False

    def reassign_partitions_in_progress(self) -> bool:
        return self.reassigning

    def get_replica_assignment_for_topics(self, topics: set[str]) -> dict[TopicPartition, list[int]]:
        return {TopicPartition(t, p): r for t in topics for p, r in self.topics.get(t, {}).items()}


class FakeAdminZk(AdminZkClient):
    def __init__(self, zk: FakeZk) -> None:
        super().__init__(cast("Any", zk))
        self.written: dict[str, Any] = {}

    def get_broker_metadatas(self, *_: Any) -> list[BrokerMetadata]:
        return [BrokerMetadata(broker, None) for broker in (1, 2, 3)]

    def create_or_update_topic_partition_assignment_path_in_zk(
        self, topic: str, assignment: Any, config: Any = None, update: bool = False
    ) -> None:
        self.written[topic] = assignment

    def validate_create_or_update_topic(self, topic: str, assignment: Any, config: Any, update: bool) -> None:
        self.written.setdefault("validated", []).append(topic)


class Admin:
    def __init__(self, **props: Any) -> None:
        self.cache = MetadataCache(1)
        self.cache.update_cache(0, update_metadata(("t",), partitions=2, brokers=(1, 2, 3)))
        self.zk = FakeZk()
        self.manager = AdminManager(
            kafka_config(**props), cast("Any", SimpleNamespace()), self.cache, cast("Any", self.zk)
        )
        self.admin_zk = FakeAdminZk(self.zk)
        self.manager._admin_zk_client = self.manager._config_helper._admin_zk_client = self.admin_zk
        self.answers: list[dict[str, ApiError]] = []

    def grow(
        self,
        count: int,
        assignments: list[list[int]] | None = None,
        topic: str = "t",
        timeout: int = 10_000,
        validate_only: bool = False,
    ) -> None:
        new = {topic: NewPartitions.increase_to(count, assignments)}
        self.manager.create_partitions(timeout, new, validate_only, ListenerName("PLAINTEXT"), self.answers.append)

    @property
    def answer(self) -> ApiError:
        (one,) = self.answers
        (error,) = one.values()
        return error


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin()
    yield made
    made.manager.shutdown()


@pytest.mark.ported("AdminClientIntegrationTest.testCreatePartitions")
def test_growth_waits_until_the_new_partitions_have_leaders(admin: Admin) -> None:
    admin.grow(4, [[3, 1], [1, 2]])
    assert admin.admin_zk.written["t"] == {**TWO, 2: [3, 1], 3: [1, 2]}
    assert admin.answers == []
    admin.cache.update_cache(1, update_metadata(("t",), partitions=4, brokers=(1, 2, 3)))
    admin.manager.try_complete_delayed_topic_operations("t")
    assert admin.answer.is_success()


def test_the_controller_chooses_the_brokers(admin: Admin) -> None:
    admin.grow(3, timeout=0)
    assert admin.answer.error() is Errors.REQUEST_TIMED_OUT
    assert sorted(admin.admin_zk.written["t"]) == [0, 1, 2]
    assert len(set(admin.admin_zk.written["t"][2])) == 2


def test_validation_alone_writes_nothing(admin: Admin) -> None:
    admin.grow(3, validate_only=True)
    assert admin.answer.is_success()
    assert admin.admin_zk.written == {}


@pytest.mark.ported("AdminClientIntegrationTest.testCreatePartitions")
@pytest.mark.parametrize(
    ("count", "assignments", "topic", "error", "message"),
    [
        (1, None, "t", Errors.INVALID_PARTITIONS, "Topic currently has 2 partitions, which is higher than the reques"),
        (2, None, "t", Errors.INVALID_PARTITIONS, "Topic already has 2 partitions."),
        (-22, None, "t", Errors.INVALID_PARTITIONS, "Topic currently has 2 partitions, which is higher than the re"),
        (3, None, "none", Errors.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'none' does not exist."),
        (3, [[1, 9]], "t", Errors.INVALID_REPLICA_ASSIGNMENT, "Unknown broker(s) in replica assignment: 9."),
        (4, [[1, 2]], "t", Errors.INVALID_REPLICA_ASSIGNMENT, "Increasing the number of partitions by 2 but 1 assign"),
        (3, [[1]], "t", Errors.INVALID_REPLICA_ASSIGNMENT, "Inconsistent replication factor between partitions, part"),
        (3, [[1, 1]], "t", Errors.INVALID_REPLICA_ASSIGNMENT, "Duplicate brokers not allowed in replica assignment: "),
        (3, [[]], "t", Errors.INVALID_REPLICA_ASSIGNMENT, "Cannot have replication factor of 0 for partition id 2."),
    ],
)
def test_what_cannot_grow(
    admin: Admin, count: int, assignments: list[list[int]] | None, topic: str, error: Errors, message: str
) -> None:
    admin.grow(count, assignments, topic)
    assert admin.answer.error() is error
    assert str(admin.answer.message()).startswith(message)
    assert admin.admin_zk.written == {}


def test_nothing_grows_while_partitions_move(admin: Admin) -> None:
    admin.zk.reassigning = True
    admin.grow(3)
    assert admin.answer.error() is Errors.REASSIGNMENT_IN_PROGRESS


# -- Policies ----------------------------------------------------------------------------------------------------------


class Refusing(CreateTopicPolicy, AlterConfigPolicy):  # type: ignore[misc]  # two classes named RequestMetadata
    """Wants topic names without an x, and no retention.ms."""

    seen: ClassVar[list[Any]] = []

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.seen.append(("configure", configs["broker.id"]))

    def validate(self, request_metadata: Any) -> None:
        self.seen.append(str(request_metadata))
        if "x" in getattr(request_metadata, "topic", "") or "retention.ms" in request_metadata.configs:
            raise PolicyViolationException("not that")

    def close(self) -> None:
        self.seen.append("close")
        raise RuntimeError("a policy that fails to close does no harm")


@pytest.fixture
def refusing() -> Iterator[Admin]:
    Refusing.seen.clear()
    name = f"{__name__}.Refusing"
    made = Admin(create__topic__policy__class__name=name, alter__config__policy__class__name=name)
    yield made
    made.manager.shutdown()
    assert Refusing.seen[-2:] == ["close", "close"]


@pytest.mark.ported("CreateTopicsRequestWithPolicyTest.testErrorCreateTopicsRequests")
@pytest.mark.parametrize("validate_only", [False, True])
def test_a_policy_refuses_topics(refusing: Admin, validate_only: bool) -> None:
    details = CreateTopicsRequest.TopicDetails(1, 1)
    refusing.manager.create_topics(0, validate_only, {"box": details, "bag": details}, refusing.answers.append)
    (answer,) = refusing.answers
    assert answer["box"] == ApiError(Errors.POLICY_VIOLATION, "not that")
    assert answer["bag"].error() is (Errors.NONE if validate_only else Errors.REQUEST_TIMED_OUT)
    assert ("bag" in refusing.admin_zk.written) is not validate_only
    assert "box" not in refusing.admin_zk.written
    assert Refusing.seen[2].startswith(
        "CreateTopicPolicy.RequestMetadata(topic=box, numPartitions=1, replicationFactor=1, replicasAssignments=None"
    )
    assert Refusing.seen[0][0] == "configure"


@pytest.mark.ported("AdminClientWithPoliciesIntegrationTest.testInvalidAlterConfigsDueToPolicy")
def test_a_policy_refuses_settings(refusing: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    written: dict[str, Any] = {}
    monkeypatch.setattr(refusing.admin_zk, "validate_topic_config", lambda topic, props: None)
    monkeypatch.setattr(refusing.admin_zk, "change_topic_config", written.__setitem__)
    good, bad = Resource(ResourceType.TOPIC, "good"), Resource(ResourceType.TOPIC, "bad")
    entry = AlterConfigsRequest.ConfigEntry
    answer = refusing.manager.alter_configs(
        {
            good: AlterConfigsRequest.Config([entry("segment.ms", "5")]),
            bad: AlterConfigsRequest.Config([entry("retention.ms", "5")]),
        },
        validate_only=False,
    )
    assert answer == {good: ApiError.NONE, bad: ApiError(Errors.POLICY_VIOLATION, "not that")}
    assert written == {"good": {"segment.ms": "5"}}
