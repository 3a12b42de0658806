"""Changes of the broker's options while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.common.errors import ConfigException, IllegalArgumentException
from kafka_py.server.config_handler import BrokerConfigHandler, TopicConfigHandler
from kafka_py.server.dynamic_broker_config import DynamicBrokerConfig, DynamicLogConfig, DynamicThreadPool
from kafka_py.server.dynamic_config import DynamicConfig
from kafka_py.server.dynamic_config_manager import DynamicConfigManager
from kafka_py.server.kafka_config import KafkaConfig
from tests.server.kafka_apis_support import kafka_config


class Follower:
    """A Reconfigurable that keeps what it was told."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.seen: list[Mapping[str, Any]] = []
        self.refuse = False

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.seen.append(configs)

    def reconfigurable_configs(self) -> Set[str]:
        return self.names

    def validate_reconfiguration(self, configs: Mapping[str, Any]) -> None:
        if self.refuse:
            raise RuntimeError("no")

    def reconfigure(self, configs: Mapping[str, Any]) -> None:
        self.seen.append(configs)


class BrokerFollower:
    """A BrokerReconfigurable that keeps what it was told."""

    def __init__(self, *names: str) -> None:
        self.reconfigurable_configs = set(names)
        self.seen: list[tuple[int, int]] = []

    def validate_reconfiguration(self, new_config: KafkaConfig) -> None:
        assert new_config.num_io_threads > 0

    def reconfigure(self, old_config: KafkaConfig, new_config: KafkaConfig) -> None:
        self.seen.append((old_config.num_io_threads, new_config.num_io_threads))


def dynamic(**props: Any) -> tuple[KafkaConfig, DynamicBrokerConfig]:
    """A configuration and its dynamic part, as initialize() leaves them when ZooKeeper holds nothing."""
    config = kafka_config(**props)
    config.dynamic_config._current_config = KafkaConfig(config.props, do_log=False)
    return config, config.dynamic_config


@pytest.mark.ported("DynamicBrokerConfigTest.testConfigUpdate")
def test_the_brokers_own_setting_stands_before_the_default_before_the_file() -> None:
    config, found = dynamic(num__io__threads=4)
    assert config.num_io_threads == 4
    found.update_default_config({"num.io.threads": "5"})
    assert config.num_io_threads == 5
    found.update_broker_config(1, {"num.io.threads": "6"})
    assert config.num_io_threads == 6
    assert config.originals()["num.io.threads"] == "6"
    found.update_broker_config(1, {})
    assert config.num_io_threads == 5
    found.update_default_config({})
    assert config.num_io_threads == 4
    assert found.current_dynamic_broker_configs() == found.current_dynamic_default_configs() == {}


@pytest.mark.ported("DynamicBrokerConfigTest.testReconfigurableValidation")
def test_followers_hear_of_their_options_only() -> None:
    _, found = dynamic()
    follower, other = Follower("num.io.threads"), Follower("background.threads")
    broker_follower = BrokerFollower("num.io.threads")
    found.add_reconfigurable(follower)
    found.add_reconfigurable(other)
    found.add_broker_reconfigurable(broker_follower)
    found.update_broker_config(1, {"num.io.threads": "9", "custom.setting": "x"})
    assert [c["num.io.threads"] for c in follower.seen] == [9]
    assert follower.seen[0]["custom.setting"] == "x"
    assert other.seen == []
    assert broker_follower.seen == [(8, 9)]
    found.remove_reconfigurable(follower)
    found.update_broker_config(1, {"num.io.threads": "10"})
    assert len(follower.seen) == 1
    with pytest.raises(IllegalArgumentException):
        found.add_reconfigurable(Follower("broker.id"))


@pytest.mark.ported("DynamicBrokerConfigTest.testConfigUpdateWithSomeInvalidConfigs")
def test_what_is_wrong_in_zookeeper_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    config, found = dynamic()
    found.update_broker_config(
        1,
        {
            "num.io.threads": "9",
            "log.segment.bytes": "many",
            "broker.id": "7",
            "ssl.keystore.type": "PKCS12",
            "listener.name.internal.ssl.keystore.password": "x",
        },
    )
    assert config.num_io_threads == 9
    assert found.current_dynamic_broker_configs() == {"num.io.threads": "9"}
    text = "\n".join(caplog.messages)
    assert "Dynamic broker config contains invalid values: Map(log.segment.bytes -> many)" in text
    assert "Non-dynamic configs configured in ZooKeeper will be ignored: broker.id" in text
    assert "can be dynamically updated only using listener prefix" in text
    found.update_default_config({"listeners": "PLAINTEXT://:1", "num.io.threads": "10"})
    assert found.current_dynamic_default_configs() == {"num.io.threads": "10"}


def test_a_refused_update_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    config, found = dynamic()
    follower = Follower("num.io.threads")
    follower.refuse = True
    found.add_reconfigurable(follower)
    found.update_broker_config(1, {"num.io.threads": "9"})
    assert config.num_io_threads == 8
    assert follower.seen == []
    assert any("Per-broker configs of 1 could not be applied" in message for message in caplog.messages)


@pytest.mark.ported("DynamicBrokerConfigTest.testConfigUpdateWithReconfigurableValidationFailure")
@pytest.mark.ported("DynamicBrokerConfigTest.testSecurityConfigs")
@pytest.mark.parametrize(
    ("props", "per_broker", "message"),
    [
        ({"broker.id": "5"}, True, r"Cannot update these configs dynamically: Set\(broker.id\)"),
        ({"ssl.keystore.type": "JKS"}, True, "These security configs can be dynamically updated only per-listener"),
        ({"listeners": "PLAINTEXT://:1"}, False, "broker id must be specified"),
        ({"num.io.threads": "x"}, True, "Not a number of type INT"),
        ({"log.retention.ms": "0"}, True, r"log.retention.ms must be unlimited"),
    ],
)
def test_validation(props: dict[str, str], per_broker: bool, message: str) -> None:
    _, found = dynamic()
    with pytest.raises((ConfigException, ValueError), match=message):
        found.validate(props, per_broker)


def test_a_good_change_is_valid_and_not_applied() -> None:
    config, found = dynamic()
    follower = Follower("num.io.threads")
    found.add_reconfigurable(follower)
    found.validate({"num.io.threads": "9"}, True)
    found.validate({"num.io.threads": "9"}, False)
    assert config.num_io_threads == 8
    assert follower.seen == []


@pytest.mark.ported("DynamicBrokerConfigTest.testSynonyms")
def test_the_newer_word_counts_whatever_its_unit() -> None:
    config, found = dynamic(log__retention__hours=1)
    found.update_broker_config(1, {"log.retention.ms": "7"})
    assert config.log_retention_time_millis == 7
    assert "log.retention.hours" not in found.current_kafka_config().originals()
    synonyms = DynamicBrokerConfig.broker_config_synonyms
    listener = "listener.name.secure.ssl.keystore.type"
    assert synonyms(listener, True) == [listener, "ssl.keystore.type"]
    assert synonyms(listener, False) == [listener]
    jaas = "listener.name.secure.plain.sasl.jaas.config"
    assert synonyms(jaas, True) == [jaas, "sasl.jaas.config"]
    assert synonyms("log.retention.hours", False)[0] == "log.retention.ms"
    assert synonyms("num.io.threads", True) == ["num.io.threads"]


@pytest.mark.ported("DynamicBrokerReconfigurationTest.testThreadPoolResize")
def test_thread_pools_grow_and_shrink_by_a_factor_of_two() -> None:
    resized: list[int] = []
    config, found = dynamic(num__io__threads=8)
    server: Any = SimpleNamespace(
        config=config, request_handler_pool=SimpleNamespace(resize_thread_pool=resized.append)
    )
    found.add_broker_reconfigurable(DynamicThreadPool(server))
    found.update_broker_config(1, {"num.io.threads": "16"})
    found.update_broker_config(1, {"num.io.threads": "8"})
    assert resized == [16, 8]
    for wrong in ("17", "3"):
        found.update_broker_config(1, {"num.io.threads": wrong})
    assert resized == [16, 8]
    assert config.num_io_threads == 8


@pytest.mark.ported("DynamicBrokerReconfigurationTest.testDefaultTopicConfig")
def test_new_topic_defaults_reach_logs_that_do_not_override_them() -> None:
    from kafka_py.log.log_config import LogConfig

    updates: list[tuple[set[str], LogConfig]] = []

    def log(**overrides: str) -> Any:
        props = {name.replace("__", "."): value for name, value in overrides.items()}
        config = LogConfig(props, props.keys())
        return SimpleNamespace(config=config, update_config=lambda keys, new: updates.append((keys, new)))

    defaults: list[LogConfig] = []
    manager: Any = SimpleNamespace(
        current_default_config=LogConfig({}),
        reconfigure_default_log_config=defaults.append,
        broker_config_updated=lambda: None,
        all_logs=[log(), log(retention__ms="5")],
    )
    follower = DynamicLogConfig(manager)
    follower.reconfigure({"log.retention.ms": 7, "log.segment.bytes": None, "num.io.threads": 3})
    assert defaults[0].retention_ms == 7
    assert [new.retention_ms for _, new in updates] == [7, 5]
    assert "log.message.format.version" not in follower.reconfigurable_configs()


def test_a_time_that_is_taken_back_counts_in_its_coarser_unit_again() -> None:
    from kafka_py.log.log_config import LogConfig

    config, found = dynamic(log__retention__hours=2, log__roll__hours=3)
    defaults = [LogConfig({"retention.ms": config.log_retention_time_millis, "segment.ms": 3 * 3_600_000})]
    manager: Any = SimpleNamespace(
        all_logs=[], reconfigure_default_log_config=defaults.append, broker_config_updated=lambda: None
    )
    found.add_reconfigurable(cast("Any", DynamicLogConfig(manager)))
    for settings, retention_ms, segment_ms in (
        ({"log.retention.ms": "1000", "log.roll.ms": "2000"}, 1000, 2000),
        ({"log.roll.ms": "2000"}, 2 * 3_600_000, 2000),
        ({}, 2 * 3_600_000, 3 * 3_600_000),
        ({"log.retention.ms": "-1"}, -1, 3 * 3_600_000),
    ):
        manager.current_default_config = defaults[-1]
        found.update_default_config(settings)
        assert (defaults[-1].retention_ms, defaults[-1].segment_ms) == (retention_ms, segment_ms), settings
    assert config.log_retention_time_millis == -1


def test_names_that_may_live_in_zookeeper() -> None:
    assert {"leader.replication.throttled.rate", "num.io.threads", "max.connections"} <= DynamicConfig.Broker.names()
    assert "broker.id" in DynamicConfig.Broker.non_dynamic_props()
    assert DynamicConfig.Client.validate({"producer_byte_rate": "5"})["producer_byte_rate"] == 5
    assert "SCRAM-SHA-256" in DynamicConfig.User.names()
    with pytest.raises(IllegalArgumentException, match="Unknown Dynamic Configuration"):
        DynamicConfig.Client.validate({"nope": "5"})
    modes = DynamicBrokerConfig.dynamic_config_update_modes()
    assert (modes["num.io.threads"], modes["listeners"]) == ("cluster-wide", "per-broker")


# -- Handlers and notifications ----------------------------------------------------------------------------------------


def quota_manager() -> Any:
    found: Any = SimpleNamespace(marked={}, quotas=[])
    found.mark_throttled = lambda topic, partitions: found.marked.update({topic: list(partitions)})
    found.remove_throttle = lambda topic: found.marked.pop(topic, None)
    found.update_quota = lambda quota: found.quotas.append(quota.bound())
    return found


@pytest.mark.ported("DynamicConfigChangeTest.shouldParseReplicationQuotaProperties")
@pytest.mark.ported("DynamicConfigChangeTest.shouldParseWildcardReplicationQuotaProperties")
def test_topic_changes() -> None:
    updates: list[Any] = []
    from kafka_py.log.log_config import LogConfig

    manager: Any = SimpleNamespace(
        topic_config_updated=lambda topic: None,
        logs_by_topic=lambda topic: [SimpleNamespace(update_config=lambda keys, new: updates.append((keys, new)))],
        current_default_config=LogConfig({}),
    )
    quotas: Any = SimpleNamespace(leader=quota_manager(), follower=quota_manager())
    config = kafka_config(inter__broker__protocol__version="0.11.0", log__message__format__version="0.11.0")
    handler = TopicConfigHandler(manager, config, quotas)
    handler.process_config_changes(
        "t",
        {
            "retention.ms": "5",
            "message.format.version": "1.1",
            "leader.replication.throttled.replicas": "0:1,1:2,2:1",
            "follower.replication.throttled.replicas": "*",
        },
    )
    [(keys, new)] = updates
    assert new.retention_ms == 5
    assert "retention.ms" in keys
    assert "message.format.version" not in new.originals()
    assert quotas.leader.marked == {"t": [0, 2]}
    assert quotas.follower.marked == {"t": [-1]}
    handler.process_config_changes("t", {})
    assert quotas.leader.marked == quotas.follower.marked == {}


def test_broker_changes() -> None:
    config, _ = dynamic()
    quotas: Any = SimpleNamespace(leader=quota_manager(), follower=quota_manager(), alter_log_dirs=quota_manager())
    handler = BrokerConfigHandler(config, quotas)
    handler.process_config_changes("<default>", {"num.io.threads": "9"})
    assert config.num_io_threads == 9
    handler.process_config_changes("2", {"num.io.threads": "11"})
    assert config.num_io_threads == 9
    handler.process_config_changes("1", {"num.io.threads": "10", "leader.replication.throttled.rate": "1000"})
    assert config.num_io_threads == 10
    assert quotas.leader.quotas == [1000]
    assert quotas.follower.quotas == [2**63 - 1]


class RecordingHandler:
    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []

    def process_config_changes(self, entity_name: str, value: Mapping[str, str]) -> None:
        self.seen.append((entity_name, dict(value)))


@pytest.fixture
def notified(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, RecordingHandler]:
    """A notification handler, and who takes over changes of topics."""
    recorder = RecordingHandler()
    manager = DynamicConfigManager(cast("Any", SimpleNamespace()), {"topics": recorder})
    monkeypatch.setattr(manager.admin_zk_client, "fetch_entity_config", lambda kind, name: {"kind": kind, "name": name})
    return DynamicConfigManager.ConfigChangedNotificationHandler(manager), recorder


@pytest.mark.ported("DynamicConfigChangeTest.testProcessNotification")
def test_notifications(notified: tuple[Any, RecordingHandler]) -> None:
    handler, recorder = notified
    handler.process_notification(b'{"version":1, "entity_type":"topics", "entity_name":"x"}')
    handler.process_notification(b'{"version":2, "entity_path":"topics/y"}')
    handler.process_notification(b'{"version":2, "entity_path":"users/u"}')
    handler.process_notification(b"not json")
    assert recorder.seen == [("x", {"kind": "topics", "name": "x"}), ("y", {"kind": "topics", "name": "y"})]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"[1]", "unexpected value"),
        (b'{"version":3}', "unsupported version '3'"),
        (b'{"version":1, "entity_type":"garbage", "entity_name":"x"}', "must have 'entity_type'"),
        (b'{"version":1, "entity_type":"topics"}', "does not specify 'entity_name'"),
        (b'{"version":2}', "must specify 'entity_path'"),
        (b'{"version":2, "entity_path":"x"}', "must have 'entity_path' starting with"),
    ],
)
def test_bad_notifications(notified: tuple[Any, RecordingHandler], message: bytes, words: str) -> None:
    with pytest.raises(IllegalArgumentException, match=words):
        notified[0].process_notification(message)
