"""Topics created and deleted through the admin APIs, and the wait for the cluster to know."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.common.errors import TopicAlreadyMarkedForDeletionException, UnknownTopicOrPartitionException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_topics_request import CreateTopicsRequest
from kafka_py.server.admin_manager import FIRST_METADATA_MAX_WAIT_MS, AdminManager
from kafka_py.server.delayed_create_partitions import DelayedCreatePartitions
from kafka_py.server.delayed_metadata import DelayedMetadata
from kafka_py.server.metadata_cache import MetadataCache
from tests.server.kafka_apis_support import kafka_config, update_metadata

pytestmark = pytest.mark.usefixtures("no_reaper")

Details = CreateTopicsRequest.TopicDetails


class FakeAdminZk:
    def __init__(self) -> None:
        self.created: dict[str, Any] = {}
        self.validated: list[str] = []
        self.deleted: list[str] = []
        self.raises: Exception | None = None

    def create_or_update_topic_partition_assignment_path_in_zk(
        self, topic: str, assignment: Any, configs: Any, update: bool
    ) -> None:
        assert not update
        self.created[topic] = (assignment, configs)

    def validate_create_or_update_topic(self, topic: str, assignment: Any, configs: Any, update: bool) -> None:
        self.validated.append(topic)

    def delete_topic(self, topic: str) -> None:
        if self.raises is not None:
            raise self.raises
        self.deleted.append(topic)


class Admin:
    def __init__(self) -> None:
        self.cache = MetadataCache(1)
        self.cache.update_cache(0, update_metadata(("old",), brokers=(1, 2, 3)))
        self.manager = AdminManager(
            kafka_config(), cast("Any", SimpleNamespace()), self.cache, cast("Any", SimpleNamespace())
        )
        self.zk = FakeAdminZk()
        self.manager._admin_zk_client = cast("Any", self.zk)
        self.answers: list[dict[str, Any]] = []

    def create(self, timeout: int = 10_000, validate_only: bool = False, **topics: Any) -> None:
        self.manager.create_topics(timeout, validate_only, topics, self.answers.append)

    def leaders(self, *topics: str, leader: int = 1) -> None:
        self.cache.update_cache(1, update_metadata(topics, brokers=(1, 2, 3), leader=leader))
        for topic in topics:
            self.manager.try_complete_delayed_topic_operations(topic)


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin()
    yield made
    made.manager.shutdown()


def test_creation_waits_until_every_partition_has_a_leader(admin: Admin) -> None:
    admin.create(a=Details(1, 3), b=Details(1, 1))
    assert set(admin.zk.created) == {"a", "b"}
    assert sorted(admin.zk.created["a"][0][0]) == [1, 2, 3]
    assert admin.manager.has_delayed_topic_operations
    admin.leaders("a")
    assert admin.answers == []
    admin.leaders("b", leader=-1)
    assert admin.answers == []
    admin.leaders("b")
    assert admin.answers == [{"a": ApiError.NONE, "b": ApiError.NONE}]


def test_metadata_waits_until_the_controller_has_spoken(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin.manager, "metadata_cache", MetadataCache(1))
    answered: list[str] = []
    admin.manager.await_first_metadata(lambda: answered.append("first"))
    admin.manager.await_first_metadata(lambda: answered.append("second"))
    assert admin.manager.has_delayed_topic_operations
    admin.manager.try_complete_delayed_metadata()
    assert answered == []
    admin.manager.metadata_cache.update_cache(0, update_metadata(()))
    admin.manager.try_complete_delayed_metadata()
    assert answered == ["first", "second"]
    admin.manager.await_first_metadata(lambda: answered.append("third"))
    assert answered == ["first", "second", "third"]
    assert not admin.manager.has_delayed_topic_operations


def test_metadata_does_not_wait_for_ever() -> None:
    answered: list[str] = []
    DelayedMetadata(FIRST_METADATA_MAX_WAIT_MS, MetadataCache(1), lambda: answered.append("nothing known")).run()
    assert answered == ["nothing known"]


def test_leaders_that_are_told_just_before_the_timer_is_set_are_not_missed(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = DelayedCreatePartitions.maybe_try_complete
    waits: list[bool] = []

    def look_and_be_overtaken(operation: DelayedCreatePartitions) -> bool:
        done = look(operation)
        waits.append(admin.manager.has_delayed_topic_operations)
        return done

    monkeypatch.setattr(DelayedCreatePartitions, "maybe_try_complete", look_and_be_overtaken)
    admin.create(a=Details(1, 1))
    assert waits == [True], "else nobody looks at it before its time is over"


def test_validation_alone_writes_and_waits_for_nothing(admin: Admin) -> None:
    admin.create(validate_only=True, a=Details(1, 1))
    assert admin.answers == [{"a": ApiError.NONE}]
    assert (admin.zk.validated, admin.zk.created) == (["a"], {})


def test_without_time_the_answer_is_a_time_out(admin: Admin) -> None:
    admin.create(timeout=0, a=Details(1, 1))
    assert admin.answers[0]["a"].error() is Errors.REQUEST_TIMED_OUT
    assert set(admin.zk.created) == {"a"}


@pytest.mark.parametrize(
    ("details", "error"),
    [
        (Details(0, 1), Errors.INVALID_PARTITIONS),
        (Details(1, 9), Errors.INVALID_REPLICATION_FACTOR),
        (Details(1, 1, configs={"no.such.config": "1"}), Errors.INVALID_CONFIG),
        (Details(1, 1, {0: [1]}), Errors.INVALID_REQUEST),
        (Details(1, 1, configs={"retention.ms": "x"}), Errors.UNKNOWN_SERVER_ERROR),
        (Details(1, 1, configs={"retention.ms": None}), Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_what_cannot_be_created(admin: Admin, details: Any, error: Errors) -> None:
    admin.create(a=details)
    assert admin.answers[0]["a"].error() is error
    assert admin.zk.created == {}


def test_a_given_assignment_is_taken(admin: Admin) -> None:
    admin.create(timeout=0, a=Details(-1, -1, {0: [2, 1], 1: [1, 2]}))
    assert admin.zk.created["a"][0] == {0: [2, 1], 1: [1, 2]}


def test_deletion_waits_until_the_topic_is_gone(admin: Admin) -> None:
    admin.manager.delete_topics(10_000, ["old"], admin.answers.append)
    assert admin.zk.deleted == ["old"]
    assert admin.answers == []
    admin.leaders("old", leader=-2)
    assert admin.answers == [{"old": Errors.NONE}]


@pytest.mark.parametrize(
    ("raised", "timeout", "error"),
    [
        (None, 0, Errors.REQUEST_TIMED_OUT),
        (TopicAlreadyMarkedForDeletionException("old"), 0, Errors.REQUEST_TIMED_OUT),
        (UnknownTopicOrPartitionException("old"), 1000, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_deletion_runs_into(admin: Admin, raised: Exception | None, timeout: int, error: Errors) -> None:
    admin.zk.raises = raised
    admin.manager.delete_topics(timeout, ["old"], admin.answers.append)
    assert admin.answers == [{"old": error}]
