"""Changes of topics' configuration on their way through ZooKeeper to the logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.common.errors import AdminOperationException
from kafka_py.common.utils.time import Time
from kafka_py.log.log_config import LogConfig
from kafka_py.server.config_handler import TopicConfigHandler
from kafka_py.server.config_type import ConfigType
from kafka_py.server.dynamic_config_manager import DynamicConfigManager
from kafka_py.testing.mock_time import MockTime
from kafka_py.utils.concurrent import LinkedBlockingQueue
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient
from tests.embedded.servers import embedded_server  # noqa: F401  # a fixture of the whole session
from tests.embedded.servers import zk_connect as _zk_connect
from tests.server.kafka_apis_support import kafka_config

WAIT_MS = 10_000
MINUTE_MS = 60_000


@pytest.fixture
def server(embedded_server: Any) -> Any:  # noqa: F811  # it is that fixture
    return embedded_server


zk_connect = _zk_connect


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    AdminZkClient(client).create_or_update_topic_partition_assignment_path_in_zk("t", {0: [1]}, {"segment.ms": "7"})
    yield client
    client.close()


class Log:
    """Keeps the configurations it is given."""

    def __init__(self) -> None:
        self.configs: LinkedBlockingQueue[LogConfig] = LinkedBlockingQueue()

    def update_config(self, updated_keys: set[str], config: LogConfig) -> None:
        self.configs.put(config)

    def next(self) -> LogConfig:
        config = self.configs.poll(WAIT_MS)
        assert config is not None, "no change came"
        return config


def quota() -> Any:
    return SimpleNamespace(mark_throttled=lambda topic, partitions: None, remove_throttle=lambda topic: None)


def manager_of(zk: KafkaZkClient, log: Log, time: Time = Time.SYSTEM) -> DynamicConfigManager:
    log_manager: Any = SimpleNamespace(
        topic_config_updated=lambda topic: None,
        logs_by_topic=lambda topic: [log] if topic == "t" else [],
        current_default_config=LogConfig({"retention.ms": "1000"}),
    )
    quotas: Any = SimpleNamespace(leader=quota(), follower=quota())
    handler = TopicConfigHandler(log_manager, kafka_config(), quotas)
    return DynamicConfigManager(zk, {ConfigType.TOPIC: handler}, time=time)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def manager(zk: KafkaZkClient, log: Log) -> Iterator[DynamicConfigManager]:
    made = manager_of(zk, log)
    made.startup()
    yield made
    made.shutdown()


def values(config: LogConfig) -> tuple[int, int]:
    return config.segment_ms, config.retention_ms


@pytest.mark.ported("DynamicConfigChangeTest.testConfigChange")
def test_a_change_reaches_the_logs(zk: KafkaZkClient, log: Log, manager: DynamicConfigManager) -> None:
    assert values(log.next()) == (7, 1000)
    admin = AdminZkClient(zk)
    admin.change_topic_config("t", {"segment.ms": "8", "retention.ms": "9"})
    assert values(log.next()) == (8, 9)
    admin.change_topic_config("t", {})
    week = 7 * 24 * 60 * MINUTE_MS
    assert values(log.next()) == (week, 1000)


@pytest.mark.ported("DynamicConfigChangeTest.testConfigChangeOnNonExistingTopic")
def test_there_is_nothing_to_change_for_a_topic_that_is_not_there(zk: KafkaZkClient) -> None:
    with pytest.raises(AdminOperationException, match="does not exist"):
        AdminZkClient(zk).change_topic_config("none", {"segment.ms": "8"})
    assert zk.get_children("/config/changes") == []


def test_what_was_missed_is_taken_over_at_the_start(zk: KafkaZkClient, log: Log) -> None:
    AdminZkClient(zk).change_topic_config("t", {"segment.ms": "8"})
    # Its notification is gone before this broker comes back: the node counts, not the notification.
    for change in zk.get_children("/config/changes"):
        zk.delete_path(f"/config/changes/{change}")
    manager = manager_of(zk, log)
    manager.startup()
    assert values(log.next()) == (8, 1000)
    manager.shutdown()


def test_notifications_are_swept_after_a_quarter_of_an_hour(zk: KafkaZkClient, log: Log) -> None:
    time = MockTime(current_time_ms=Time.SYSTEM.milliseconds())
    manager = manager_of(zk, log, time)
    listener = manager._config_change_listener
    admin = AdminZkClient(zk)
    admin.change_topic_config("t", {"segment.ms": "8"})
    listener._process_notifications()
    assert values(log.next()) == (8, 1000)
    time.sleep(14 * MINUTE_MS)
    listener._process_notifications()
    assert len(zk.get_children("/config/changes")) == 1
    time.sleep(2 * MINUTE_MS)
    listener._process_notifications()
    assert zk.get_children("/config/changes") == []
    assert log.configs.is_empty(), "each notification is processed once"


class Recorder:
    def __init__(self) -> None:
        self.seen: dict[str, dict[str, str]] = {}

    def process_config_changes(self, entity_name: str, value: Mapping[str, str]) -> None:
        self.seen[entity_name] = dict(value)


@pytest.mark.ported("DynamicConfigChangeTest.testQuotaInitialization")
def test_users_and_their_clients_are_initialized(zk: KafkaZkClient) -> None:
    admin = AdminZkClient(zk)
    admin.change_user_or_user_client_id_config("u", {"producer_byte_rate": "1"})
    admin.change_user_or_user_client_id_config("u/clients/c", {"producer_byte_rate": "2"})
    recorder = Recorder()
    manager = DynamicConfigManager(zk, {ConfigType.USER: recorder})
    manager.startup()
    manager.shutdown()
    assert recorder.seen == {"u": {"producer_byte_rate": "1"}, "u/clients/c": {"producer_byte_rate": "2"}}
