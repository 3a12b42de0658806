"""DescribeConfigs and AlterConfigs as AdminManager answers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.common.errors import AdminOperationException
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.log.log_config import LogConfig
from kafka_py.server.admin_manager import AdminManager
from kafka_py.server.metadata_cache import MetadataCache
from tests.server.kafka_apis_support import kafka_config

pytestmark = pytest.mark.usefixtures("no_reaper")

Source = DescribeConfigsResponse.ConfigSource
TOPIC, BROKER, ALL_BROKERS = (
    Resource(ResourceType.TOPIC, "t"),
    Resource(ResourceType.BROKER, "1"),
    Resource(ResourceType.BROKER, ""),
)


class FakeAdminZk:
    def __init__(self) -> None:
        self.topics: dict[str, dict[str, str]] = {"t": {}}
        self.brokers: dict[int | None, dict[str, str]] = {}

    def fetch_entity_config(self, kind: str, topic: str) -> dict[str, str]:
        assert kind == "topics"
        return self.topics.get(topic, {})

    def validate_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        if topic not in self.topics:
            raise AdminOperationException(f'Topic "{topic}" does not exist.')
        LogConfig.validate(configs)

    def change_topic_config(self, topic: str, configs: dict[str, str]) -> None:
        self.topics[topic] = configs

    def change_broker_config(self, broker: int | None, configs: dict[str, str]) -> None:
        self.brokers[broker] = configs


class Admin:
    def __init__(self) -> None:
        self.config = kafka_config(
            log__retention__hours=7, log__dirs="/x", ssl__keystore__password="secret", custom__setting="mine"
        )
        self.manager = AdminManager(
            self.config, cast("Any", SimpleNamespace()), MetadataCache(1), cast("Any", SimpleNamespace())
        )
        self.zk = FakeAdminZk()
        self.manager._config_helper._admin_zk_client = cast("Any", self.zk)

    def describe(
        self, resource: Resource, *names: str, synonyms: bool = True
    ) -> dict[str, DescribeConfigsResponse.ConfigEntry]:
        (config,) = self.manager.describe_configs({resource: set(names) or None}, synonyms).values()
        assert config.error.is_success(), config.error
        return {entry.name: entry for entry in config.entries}

    def alter(self, resource: Resource, validate_only: bool = False, **props: str | None) -> ApiError:
        entries = [AlterConfigsRequest.ConfigEntry(n.replace("__", "."), v) for n, v in props.items()]
        (error,) = self.manager.alter_configs({resource: AlterConfigsRequest.Config(entries)}, validate_only).values()
        return error


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin()
    yield made
    made.manager.shutdown()


@pytest.mark.ported("AdminClientIntegrationTest.testDescribeAndAlterConfigs")
def test_a_topics_own_setting_stands_before_the_brokers(admin: Admin) -> None:
    admin.zk.topics["t"] = {"segment.bytes": "1000"}
    found = admin.describe(TOPIC)
    assert set(found) == set(LogConfig.config_names())
    own = found["segment.bytes"]
    assert (own.value, own.source, own.is_read_only, own.is_sensitive) == ("1000", Source.TOPIC_CONFIG, False, False)
    assert own.synonyms == [
        ("segment.bytes", "1000", Source.TOPIC_CONFIG),
        ("log.segment.bytes", "1073741824", Source.DEFAULT_CONFIG),
    ]
    assert found["max.message.bytes"].source is Source.DEFAULT_CONFIG
    assert found["cleanup.policy"].value == "delete"
    # retention.ms follows log.retention.hours, but only log.retention.ms would count as its source
    assert (found["retention.ms"].value, found["retention.ms"].source) == ("25200000", Source.DEFAULT_CONFIG)


def test_only_what_was_asked_for_and_synonyms_only_on_wish(admin: Admin) -> None:
    found = admin.describe(TOPIC, "segment.bytes", "no.such", synonyms=False)
    assert list(found) == ["segment.bytes"]
    assert found["segment.bytes"].synonyms == []


def test_the_sources_of_a_brokers_setting_in_order(admin: Admin) -> None:
    dynamic = admin.config.dynamic_config
    dynamic.update_default_config({"log.segment.bytes": "20000", "num.io.threads": "9"})
    dynamic.update_broker_config(1, {"num.io.threads": "10"})
    threads = admin.describe(BROKER)["num.io.threads"]
    assert (threads.value, threads.source, threads.is_read_only) == ("10", Source.DYNAMIC_BROKER_CONFIG, False)
    assert threads.synonyms == [
        ("num.io.threads", "10", Source.DYNAMIC_BROKER_CONFIG),
        ("num.io.threads", "9", Source.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("num.io.threads", "8", Source.DEFAULT_CONFIG),
    ]
    segment = admin.describe(TOPIC)["segment.bytes"]
    assert (segment.value, segment.source) == ("20000", Source.DYNAMIC_DEFAULT_BROKER_CONFIG)


def test_static_read_only_unknown_and_secret_settings(admin: Admin) -> None:
    found = admin.describe(BROKER)
    hours = found["log.retention.hours"]
    assert (hours.value, hours.source, hours.is_read_only) == ("7", Source.STATIC_BROKER_CONFIG, False)
    assert [s.value for s in hours.synonyms] == ["7", "168"]
    assert found["log.dirs"].is_read_only
    assert (found["ssl.keystore.password"].value, found["ssl.keystore.password"].is_sensitive) == (None, True)
    assert [s.value for s in found["ssl.keystore.password"].synonyms] == [None]
    # of a setting that nobody defined, nobody knows whether it is a secret
    assert (found["custom.setting"].value, found["custom.setting"].is_sensitive) == (None, True)


def test_a_synonym_that_stands_before_does_not_count_for_the_general_setting(admin: Admin) -> None:
    # log.retention.hours is set, log.retention.ms is not: the former is no source of the latter
    assert admin.describe(BROKER)["log.retention.ms"].synonyms == []
    admin.config.dynamic_config.update_default_config({"log.retention.ms": "5"})
    retention = admin.describe(BROKER)["log.retention.ms"]
    assert [s.name for s in retention.synonyms] == ["log.retention.ms", "log.retention.hours", "log.retention.hours"]


def test_the_clusters_defaults(admin: Admin) -> None:
    assert admin.describe(ALL_BROKERS) == {}
    admin.config.dynamic_config.update_default_config({"num.io.threads": "9"})
    found = admin.describe(ALL_BROKERS)
    assert list(found) == ["num.io.threads"]
    assert found["num.io.threads"].synonyms == [("num.io.threads", "9", Source.DYNAMIC_DEFAULT_BROKER_CONFIG)]


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        (Resource(ResourceType.TOPIC, "not/legal"), Errors.INVALID_TOPIC_EXCEPTION),
        (Resource(ResourceType.BROKER, "2"), Errors.INVALID_REQUEST),
        (Resource(ResourceType.BROKER, "x"), Errors.INVALID_REQUEST),
        (Resource(ResourceType.GROUP, "g"), Errors.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described_or_altered(admin: Admin, resource: Resource, error: Errors) -> None:
    (config,) = admin.manager.describe_configs({resource: None}, False).values()
    assert (config.error.error(), config.entries) == (error, [])
    if resource.type() is not ResourceType.TOPIC:
        assert admin.alter(resource, num__io__threads="9").error() is error
    assert admin.zk.brokers == {}


@pytest.mark.ported("AdminClientIntegrationTest.testDescribeAndAlterConfigs")
def test_altering_replaces_all_settings(admin: Admin) -> None:
    admin.zk.topics["t"] = {"segment.ms": "7"}
    assert admin.alter(TOPIC, validate_only=True, retention__ms="5").is_success()
    assert admin.zk.topics["t"] == {"segment.ms": "7"}
    assert admin.alter(TOPIC, retention__ms="5").is_success()
    assert admin.zk.topics["t"] == {"retention.ms": "5"}
    assert admin.alter(BROKER, num__io__threads="9").is_success()
    assert admin.alter(ALL_BROKERS, num__io__threads="10").is_success()
    assert admin.zk.brokers == {1: {"num.io.threads": "9"}, None: {"num.io.threads": "10"}}


@pytest.mark.ported("AdminClientIntegrationTest.testInvalidAlterConfigs")
def test_settings_that_are_refused(admin: Admin) -> None:
    bad = admin.alter(TOPIC, retention__ms="x")
    assert bad.error() is Errors.INVALID_REQUEST
    assert str(bad.message()).startswith(
        "Invalid config value for resource Resource(type=TOPIC, name='t'}: Invalid value x for configuration"
    )
    assert admin.alter(TOPIC, no__such="1").error() is Errors.INVALID_CONFIG
    assert admin.alter(TOPIC, retention__ms=None).error() is Errors.UNKNOWN_SERVER_ERROR
    missing = admin.alter(Resource(ResourceType.TOPIC, "none"), retention__ms="1")
    assert missing == ApiError(Errors.UNKNOWN_SERVER_ERROR, 'Topic "none" does not exist.')
    assert admin.alter(BROKER, log__dirs="/y").error() is Errors.INVALID_REQUEST
    assert admin.alter(ALL_BROKERS, listeners="PLAINTEXT://:1").error() is Errors.INVALID_REQUEST
    secret = admin.alter(BROKER, listener__name__x__ssl__keystore__password="s")
    assert "encoder secret not configured" in str(secret.message())
    assert admin.zk.topics == {"t": {}}
    assert admin.zk.brokers == {}


def test_the_values_of_refused_settings_are_not_logged(admin: Admin, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "kafka.server.AdminManager"):
        admin.alter(TOPIC, no__such="open sesame")
    assert "no.such" in caplog.text
    assert "open sesame" not in caplog.text
