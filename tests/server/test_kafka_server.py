"""The identity of a broker and the order in which its parts start and stop."""

from __future__ import annotations

import ast
import inspect
import pathlib
import textwrap
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.common.errors import ConfigException, GenerateBrokerIdException, InconsistentBrokerIdException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.node import Node
from kafka_py.common.protocol.errors import Errors
from kafka_py.log.log_config import LogConfig
from kafka_py.metrics.yammer import Gauge
from kafka_py.metrics.yammer import Metrics as YammerMetrics
from kafka_py.server.broker_metadata_checkpoint import BrokerMetadata, BrokerMetadataCheckpoint
from kafka_py.server.kafka_server import KafkaServer
from kafka_py.testing.mock_time import MockTime
from tests.server.kafka_apis_support import kafka_config


class FakeZk:
    """As much of a KafkaZkClient as identity needs."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.sequence = 0
        self.closed = 0

    def get_cluster_id(self) -> str | None:
        return self.cluster_id

    def create_or_get_cluster_id(self, proposed: str) -> str:
        self.cluster_id = self.cluster_id or proposed
        return self.cluster_id

    def generate_broker_sequence_id(self) -> int:
        self.sequence += 1
        return self.sequence

    def limit_waits(self, limit_ms: int) -> None:
        assert limit_ms >= 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def zk() -> FakeZk:
    return FakeZk()


@pytest.fixture
def servers(tmp_path: pathlib.Path, zk: FakeZk) -> Iterator[Any]:
    made: list[KafkaServer] = []

    def server(dirs: int = 1, **props: Any) -> KafkaServer:
        paths = [tmp_path / f"logs{n}" for n in range(dirs)]
        for path in paths:
            path.mkdir(exist_ok=True)
        config = kafka_config(**{"log__dirs": ",".join(map(str, paths)), **props})
        found = KafkaServer(config, MockTime())
        found._zk_client = cast("Any", zk)
        made.append(found)
        return found

    yield server
    for one in made:
        for name in ("BrokerState", "ClusterId", "yammer-metrics-count"):
            one.remove_metric(name)


def write_id(server: KafkaServer, broker_id: int, which: int = 0) -> None:
    list(server.broker_metadata_checkpoints.values())[which].write(BrokerMetadata(broker_id))


@pytest.mark.ported("ServerGenerateClusterIdTest.testAutoGenerateClusterId")
@pytest.mark.ported("ServerGenerateClusterIdTest.testAutoGenerateClusterIdForKafkaClusterSequential")
def test_the_first_broker_makes_up_the_cluster_id(servers: Any, zk: FakeZk) -> None:
    first = servers()._get_or_generate_cluster_id(zk)
    assert len(first) == 22
    assert servers()._get_or_generate_cluster_id(zk) == first
    assert zk.cluster_id == first


@pytest.mark.ported("ServerGenerateBrokerIdTest.testAutoGenerateBrokerId")
def test_an_id_is_generated_above_the_reserved_ones_and_kept(servers: Any, zk: FakeZk) -> None:
    server = servers(broker__id=-1)
    assert server._get_broker_id_and_offline_dirs() == (1001, [])
    server.log_manager = SimpleNamespace(is_log_dir_online=lambda path: True)
    server._checkpoint_broker_id(1001)
    assert servers(broker__id=-1)._get_broker_id_and_offline_dirs() == (1001, [])
    assert zk.sequence == 1


@pytest.mark.ported("ServerGenerateBrokerIdTest.testUserConfigAndGeneratedBrokerId")
def test_a_configured_id_counts_and_others_are_generated(servers: Any) -> None:
    assert servers(broker__id=0)._get_broker_id_and_offline_dirs() == (0, [])
    assert servers(broker__id=-1)._get_broker_id_and_offline_dirs() == (1001, [])
    assert servers(broker__id=-1, reserved__broker__max__id=5)._get_broker_id_and_offline_dirs() == (7, [])


@pytest.mark.ported("ServerGenerateBrokerIdTest.testMultipleLogDirsMetaProps")
def test_every_directory_that_works_gets_the_id(servers: Any) -> None:
    server = servers(3, broker__id=-1)
    bad = list(server.broker_metadata_checkpoints)[2]
    server.log_manager = SimpleNamespace(is_log_dir_online=lambda path: path != bad)
    server._checkpoint_broker_id(1001)
    found = [checkpoint.read() for checkpoint in server.broker_metadata_checkpoints.values()]
    assert found == [BrokerMetadata(1001), BrokerMetadata(1001), None]


@pytest.mark.ported("ServerGenerateBrokerIdTest.testConsistentBrokerIdFromUserConfigAndMetaProps")
def test_the_stored_id_must_be_the_configured_one(servers: Any) -> None:
    write_id(servers(), 7)
    with pytest.raises(InconsistentBrokerIdException) as e:
        servers(broker__id=1)._get_broker_id_and_offline_dirs()
    assert str(e.value).startswith("Configured broker.id 1 doesn't match stored broker.id 7 in meta.properties.")
    assert servers(broker__id=7)._get_broker_id_and_offline_dirs() == (7, [])


def test_the_stored_ids_must_be_one(servers: Any) -> None:
    server = servers(2, broker__id=-1)
    write_id(server, 1, 0)
    write_id(server, 2, 1)
    with pytest.raises(InconsistentBrokerIdException, match=r"across log\.dirs"):
        server._get_broker_id_and_offline_dirs()


@pytest.mark.ported("ServerGenerateBrokerIdTest.testDisableGeneratedBrokerId")
def test_generation_can_be_off(servers: Any) -> None:
    server = servers(broker__id=3, broker__id__generation__enable="false")
    assert server._get_broker_id_and_offline_dirs() == (3, [])


def test_a_directory_that_cannot_be_read_is_offline(servers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = servers(2, broker__id=5)
    bad = next(iter(server.broker_metadata_checkpoints))

    def read(self: BrokerMetadataCheckpoint) -> BrokerMetadata | None:
        if self is server.broker_metadata_checkpoints[bad]:
            raise OSError("disk")
        return None

    monkeypatch.setattr(BrokerMetadataCheckpoint, "read", read)
    assert server._get_broker_id_and_offline_dirs() == (5, [bad])


def test_failing_generation_is_told(servers: Any, zk: FakeZk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise OSError("gone")

    monkeypatch.setattr(zk, "generate_broker_sequence_id", fail)
    with pytest.raises(GenerateBrokerIdException, match=r"Failed to generate broker\.id"):
        servers(broker__id=-1)._get_broker_id_and_offline_dirs()


def test_what_is_registered(servers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = servers(listeners="PLAINTEXT://:0", broker__rack="r")
    server.socket_server = SimpleNamespace(bound_port=lambda name: 4711)
    monkeypatch.setattr("kafka_py.server.kafka_server._canonical_host_name", lambda: "me.example")
    info = server.create_broker_info()
    [end_point] = info.broker.end_points
    assert (end_point.host, end_point.port) == ("me.example", 4711)
    assert (info.broker.id, info.broker.rack, info.version, info.jmx_port) == (1, "r", 4, -1)


@pytest.mark.ported("KafkaConfigTest.testLogDefaults")
@pytest.mark.ported("LogConfigTest.testKafkaConfigToProps")
def test_topic_defaults_are_the_brokers_options() -> None:
    hours = {"log__retention__hours": 2, "log__roll__hours": 2, "log__roll__jitter__hours": 2}
    config = kafka_config(**hours, log__segment__bytes=14, compression__type="gzip")
    props = KafkaServer.copy_kafka_config_to_log(config)
    assert set(props) == set(LogConfig.TOPIC_CONFIG_SYNONYMS)
    assert [props[name] for name in ("segment.ms", "segment.jitter.ms", "retention.ms")] == [2 * 3600_000] * 3
    log_config = LogConfig(props)
    assert (log_config.retention_ms, log_config.segment_size) == (2 * 3600_000, 14)
    assert log_config.compression_type == "gzip"


def test_a_startup_that_fails_stops_what_was_started(servers: Any, zk: FakeZk) -> None:
    server = servers(broker__id=2)
    write_id(server, 9)
    server._init_zk_client = lambda time: None
    with pytest.raises(InconsistentBrokerIdException):
        server.startup()
    assert zk.closed == 1
    assert server.broker_state.current_state == 0
    server.await_shutdown()
    server.shutdown()
    assert zk.closed == 1


def test_secure_znodes_need_a_login_nobody_has(servers: Any) -> None:
    with pytest.raises(ConfigException, match="verification of the JAAS login file failed"):
        servers(zookeeper__set__acl="true")._init_zk_client(MockTime())


def test_the_broker_state_is_a_metric(servers: Any) -> None:
    server = servers()
    server.broker_state.new_state(6)
    found = {
        name.name: metric.value()
        for name, metric in YammerMetrics.default_registry().all_metrics().items()
        if name.type == "KafkaServer" and name.name == "BrokerState" and isinstance(metric, Gauge)
    }
    assert found == {"BrokerState": 6}


def test_the_number_of_metrics_is_a_metric(servers: Any) -> None:
    servers()
    metrics = YammerMetrics.default_registry().all_metrics()
    (count,) = [m for name, m in metrics.items() if (name.type, name.name) == ("KafkaServer", "yammer-metrics-count")]
    assert isinstance(count, Gauge)
    assert count.value() == len(metrics)


# -- Order -------------------------------------------------------------------------------------------------------------


def calls(method: Any, depth: int = 2) -> list[str]:
    """Names called in a method's source, in textual order, helpers of self being followed."""
    found: list[tuple[int, int, list[str]]] = []
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            helper = getattr(KafkaServer, text.removeprefix("self."), None) if text.startswith("self._") else None
            inner = calls(helper, depth - 1) if inspect.isfunction(helper) and depth else []
            found.append((node.end_lineno or 0, node.end_col_offset or 0, [*inner, text.removeprefix("self.")]))
    return [name for _, _, names in sorted(found, key=lambda f: f[:2]) for name in names]


def in_order(names: list[str], wanted: list[str]) -> None:
    position = -1
    for name in wanted:
        assert name in names[position + 1 :], f"{name} does not follow"
        position = names.index(name, position + 1)


def test_startup_order() -> None:
    in_order(
        calls(KafkaServer.startup),
        [
            "_init_zk_client",
            "_get_or_generate_cluster_id",
            "_get_broker_id_and_offline_dirs",
            "config.dynamic_config.initialize",
            "kafka_scheduler.startup",
            "Metrics",
            "BrokerTopicStats",
            "QuotaFactory.instantiate",
            "LogManager.apply",
            "log_manager.startup",
            "MetadataCache.zk_metadata_cache",
            "SocketServer",
            "replica_manager.startup",
            "zk_client.register_broker_in_zk",
            "_checkpoint_broker_id",
            "KafkaController",
            "kafka_controller.startup",
            "AdminManager",
            "transaction_coordinator.startup",
            "create_kafka_apis",
            "KafkaRequestHandlerPool",
            "config.dynamic_config.add_reconfigurables",
            "dynamic_config_manager.startup",
            "gc.freeze",
            "socket_server.enable_request_processing",
            "AppInfoParser.register_app_info",
        ],
    )


def test_shutdown_order(servers: Any) -> None:
    stopped: list[str] = []

    class Part:
        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, method: str) -> Any:
            return lambda: stopped.append(f"{self.name}.{method}")

    server = servers()
    for name in (
        "dynamic_config_manager",
        "socket_server",
        "data_plane_request_handler_pool",
        "kafka_scheduler",
        "data_plane_request_processor",
        "admin_manager",
        "transaction_coordinator",
        "replica_manager",
        "log_manager",
        "kafka_controller",
        "_zk_client",
        "quota_managers",
        "metrics",
        "_broker_topic_stats",
    ):
        setattr(server, name, Part(name))
    server._stop_parts()
    assert stopped == [
        "dynamic_config_manager.shutdown",
        "socket_server.stop_processing_requests",
        "data_plane_request_handler_pool.shutdown",
        "kafka_scheduler.shutdown",
        "data_plane_request_processor.close",
        "admin_manager.shutdown",
        "transaction_coordinator.shutdown",
        "replica_manager.shutdown",
        "log_manager.shutdown",
        "kafka_controller.shutdown",
        "_zk_client.close",
        "quota_managers.shutdown",
        "socket_server.shutdown",
        "metrics.close",
        "_broker_topic_stats.close",
    ]


# -- Controlled shutdown -----------------------------------------------------------------------------------------------


class FakeControlledShutdownClient:
    answers: list[Any]
    log: list[str]

    def __init__(self, *args: Any) -> None:
        pass

    def set_controller(self, node: Any) -> None:
        self.log.append(f"set {node.id}")

    def disconnect(self, node: Any) -> None:
        self.log.append(f"disconnect {node.id}")

    def ask(self, node: Any, version: int) -> Any:
        self.log.append(f"ask {node.id} v{version}")
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def initiate_close(self) -> None:
        self.log.append("initiate close")

    def close(self) -> None:
        self.log.append("close")


def answer(error: Any, *remaining: Any) -> Any:
    return SimpleNamespace(error=lambda: error, partitions_remaining=lambda: set(remaining))


class Asking:
    """A broker that stops, the metadata cache of which names one controller per attempt."""

    def __init__(self, server: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = server
        self.connected = True
        self.alive = [server.config.broker_id, 77]
        self.limits: list[int] = []
        self.log: list[str] = []
        self._monkeypatch = monkeypatch
        server.metrics = cast("Any", SimpleNamespace(close=lambda: None))
        server._zk_client = cast("Any", self)

    @property
    def is_connected(self) -> bool:
        return self.connected

    def limit_waits(self, limit_ms: int) -> None:
        self.limits.append(limit_ms)

    def close(self) -> None:
        self.log.append("close ZooKeeper")

    def __call__(self, controllers: list[int | None], answers: list[Any]) -> tuple[bool, list[str]]:
        """The outcome, and what the client was asked to do."""
        left = list(controllers)

        class Cache:
            def get_controller_id(self) -> int | None:
                return left.pop(0)

            def get_alive_broker_node(self, broker_id: int, listener_name: ListenerName) -> Node:
                return Node(broker_id, "h", 1)

            def get_alive_brokers(inner) -> list[Any]:  # noqa: N805
                return [SimpleNamespace(id=id) for id in self.alive]

        self.server.metadata_cache = cast("Any", Cache())
        fake = type("Fake", (FakeControlledShutdownClient,), {"answers": list(answers), "log": self.log})
        self._monkeypatch.setattr("kafka_py.server.controlled_shutdown_client.ControlledShutdownClient", fake)
        return self.server._do_controlled_shutdown(3), self.log


@pytest.fixture
def asking(servers: Any, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(servers(controlled__shutdown__retry__backoff__ms=0), monkeypatch)


@pytest.mark.ported("ServerShutdownTest.testControlledShutdownWithoutController")
def test_without_a_controller_nobody_is_asked(asking: Asking) -> None:
    assert asking([None, None, None], []) == (False, ["close"])


def test_the_controller_is_asked_until_nothing_remains(asking: Asking) -> None:
    answers = [answer(Errors.NONE, "t-0"), answer(Errors.STALE_CONTROLLER_EPOCH), answer(Errors.NONE)]
    succeeded, log = asking([2, 2, 2], answers)
    assert succeeded
    assert log == ["set 2", "ask 2 v1", "ask 2 v1", "ask 2 v1", "close"]


def test_without_zookeeper_the_controller_is_asked_once(asking: Asking) -> None:
    asking.connected = False
    assert asking([2], [answer(Errors.UNKNOWN_SERVER_ERROR)]) == (False, ["set 2", "ask 2 v1", "close"])


def test_the_last_broker_alive_asks_once(asking: Asking) -> None:
    asking.alive = [asking.server.config.broker_id]
    assert asking([2], [answer(Errors.NONE, "t-0")]) == (False, ["set 2", "ask 2 v1", "close"])


def test_who_is_in_a_hurry_asks_nobody_again(asking: Asking) -> None:
    class Hung(list[Any]):
        """The first question is not answered until the shutdown is hurried."""

        def pop(self, index: Any = 0) -> Any:
            asking.server.hurry_shutdown()
            raise OSError("Client was shutdown before response was read")

    asking._monkeypatch.setattr(
        FakeControlledShutdownClient, "__init__", lambda self, *args: setattr(self, "answers", Hung())
    )
    assert asking([2], []) == (False, ["set 2", "ask 2 v1", "initiate close", "close"])
    assert asking.limits == [0]


def test_a_stop_waits_for_zookeeper_for_so_long_only(asking: Asking) -> None:
    server = asking.server
    server.shutdown()
    assert asking.limits == [2000]
    assert asking.log == ["close ZooKeeper"]


def test_a_new_controller_and_a_lost_connection_mean_a_new_connection(asking: Asking) -> None:
    answers = [OSError("lost"), answer(Errors.STALE_CONTROLLER_EPOCH), answer(Errors.NONE)]
    succeeded, log = asking([2, 2, 3], answers)
    assert succeeded
    assert log == [
        "set 2",
        "ask 2 v1",
        "disconnect 2",
        "set 2",
        "ask 2 v1",
        "disconnect 2",
        "set 3",
        "ask 3 v1",
        "close",
    ]
