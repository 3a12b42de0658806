"""The parts of the fixtures that need no broker; tests/integration/test_clusters_for_tests.py runs them as users do."""

from __future__ import annotations

import ast
import configparser
import pathlib
import types
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.testing import pytest_plugin
from kafka_py.testing.cluster_for_tests import ClusterForTests, properties_for_tests
from kafka_py.testing.local_cluster import LocalBroker
from kafka_py.testing.pytest_plugin import MARKER, LiveClusters, options_of, properties_of
from tests.lab.fakes import FakeBroker

ROOT = pathlib.Path(__file__).parents[2]


def item(*marks: Any, ini: tuple[str, ...] = ()) -> Any:
    """A test with these marks, its own first, and this configuration."""
    config = types.SimpleNamespace(getini=lambda name: list(ini))
    return types.SimpleNamespace(nodeid="test_x.py::test_y", config=config, iter_markers=lambda name: iter(marks))


def mark(*args: Any, **kwargs: Any) -> Any:
    return types.SimpleNamespace(args=args, kwargs=kwargs)


def test_three_brokers_unless_the_test_says_otherwise() -> None:
    assert options_of(item()) == {"brokers": 3, "properties": {}}
    assert options_of(item(mark(1, log_dirs=2))) == {"brokers": 1, "log_dirs": 2, "properties": {}}


def test_the_nearest_mark_goes_first_and_properties_add_up() -> None:
    own = mark(properties={"a": 1, "b": True})
    of_class = mark(brokers=5, properties={"a": "2", "c": "x"})
    found = options_of(item(own, of_class, mark(brokers=4, zookeeper="real"), ini=("d = y=z", "c=0")))
    assert found == {"brokers": 5, "zookeeper": "real", "properties": {"a": "1", "b": "true", "c": "x", "d": "y=z"}}


@pytest.mark.parametrize("wrong", [mark(broker=3), mark(3, {}, 1, "embedded", 5)])
def test_a_mark_with_other_arguments_fails_the_test(wrong: Any) -> None:
    with pytest.raises(pytest.fail.Exception) as caught:
        options_of(item(wrong))
    assert str(caught.value) == f"pytest.mark.kafka of test_x.py::test_y is not as in {MARKER}"


def test_a_line_of_the_configuration_that_is_none() -> None:
    with pytest.raises(pytest.UsageError, match="kafka_properties: acks is no name=value"):
        properties_of(item(ini=("acks",)).config)


class NamedBroker(FakeBroker):
    """One that prints as it starts."""

    def start(self, environment: Any = None) -> LocalBroker:
        super().start()
        self._process = self.fake
        self.fake.name = f"broker-{self.id}"
        self.fake.output.write_bytes(b"started\n")
        return self


class Running(ClusterForTests):
    """Its brokers' processes obey at once; what is done otherwise is remembered."""

    def __init__(self, home: pathlib.Path, brokers: int) -> None:
        super().__init__(brokers, home=home)
        self.brokers = [NamedBroker(id, home) for id in range(brokers)]
        for broker in self.brokers:
            broker.log_dirs[0].mkdir()
        self.done: list[str] = []

    def await_forgotten(self, broker: int, timeout_s: float = 60) -> None:
        self.done.append(f"await_forgotten {broker}")

    def drain_request_queue(self, broker: int) -> None:
        self.done.append(f"drain {broker}")
        del self._floods[broker]

    def create_topic(self, topic: str, *args: Any, **options: Any) -> str:
        return topic


@pytest.fixture
def running(tmp_path: pathlib.Path) -> Iterator[Running]:
    made = Running(tmp_path, 3)
    yield made
    made.close()


def test_a_cluster_is_put_right(running: Running) -> None:
    running.kill(0)
    running.stop(1)
    running.cut(1, 2)
    running.slow_link(0, "zookeeper", 5)
    running.hold_fetcher(2)
    aside = running.broker(2).log_dirs[0].with_name("data-0.failed")
    running.broker(2).log_dirs[0].rename(aside)
    running.broker(2).log_dirs[0].write_text("no directory any more\n")
    running._floods[1] = None  # type: ignore[assignment]
    running.put_right()
    assert running.done == ["drain 1", "await_forgotten 0", "await_forgotten 2"]
    assert running.links() == {"cut": [], "slow": [], "held fetchers": []}
    assert [broker.process.is_running and not broker.process.is_stopped for broker in running.brokers] == [True] * 3
    assert running.broker(2).log_dirs[0].is_dir()
    assert not aside.exists()


def test_a_cluster_that_is_right_is_left_alone(running: Running) -> None:
    before = [broker.process for broker in running.brokers]
    running.put_right()
    assert [broker.process for broker in running.brokers] == before
    assert running.done == []


def test_each_topic_has_a_name_of_its_own(running: Running) -> None:
    assert [running.new_topic(), running.new_topic()] == ["topic-1", "topic-2"]


def test_status_says_what_each_broker_does(running: Running) -> None:
    running.kill(0)
    running.stop(1)
    told = running.status()
    assert [broker["state"] for broker in told["brokers"]] == ["ended", "stopped", "running"]
    assert told["brokers"][2]["pid"] == running.broker(2).process.pid
    assert told["bootstrap"] == running.bootstrap_servers


def test_properties_of_a_test_go_before_those_for_tests(tmp_path: pathlib.Path) -> None:
    cluster = ClusterForTests(2, home=tmp_path, properties={"offsets.topic.num.partitions": "7"})
    found = cluster.broker(1).properties
    assert {name: found[name] for name in properties_for_tests(2)} == {
        **properties_for_tests(2),
        "offsets.topic.num.partitions": "7",
    }
    assert found["offsets.topic.replication.factor"] == "2"
    cluster.close()


def test_a_report_has_what_was_logged_during_the_test(running: Running) -> None:
    live = LiveClusters()
    live.shared = running
    live.begin(shared=False)
    running.broker(1).process.output.write_bytes(b"started\nnow\n")
    assert list(live.logs(shared=False)) == []
    assert list(live.logs(shared=True)) == [
        ("kafka_broker broker-0", ""),
        ("kafka_broker broker-1", "now\n"),
        ("kafka_broker broker-2", ""),
    ]
    live.own.append(running)
    assert list(live.logs(shared=False))[1] == ("kafka_cluster broker-1", "started\nnow\n")


def test_the_shared_broker_is_put_right_for_who_uses_it(running: Running) -> None:
    live = LiveClusters()
    live.begin(shared=True)
    live.shared = running
    running.kill(0)
    live.begin(shared=False)
    assert not running.broker(0).process.is_running
    live.begin(shared=True)
    assert running.broker(0).process.is_running


def test_of_a_long_log_a_report_has_the_end(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_plugin, "MOST_BYTES", 10)
    live = LiveClusters()
    live.own.append(running)
    running.broker(0).process.output.write_bytes(b"the first\nthe last\n")
    assert dict(live.logs(shared=False))["kafka_cluster broker-0"] == "...\nthe last\n"


def test_pytest_finds_the_plugin_by_the_modules_name() -> None:
    """So `-p` with that name means the same plugin where kafka_py is installed."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    name = "kafka_py.testing.pytest_plugin"
    assert setup["options.entry_points"]["pytest11"].strip() == f"{name} = {name}"
    assert pytest_plugin.__name__ == name


def test_whoever_runs_pytest_imports_nothing_of_the_package() -> None:
    tree = ast.parse(pathlib.Path(pytest_plugin.__file__).read_text())
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [line for line in imports if "kafka_py" in line] == []


def test_our_own_fixtures_have_other_names() -> None:
    """The plugin is loaded for this suite, too, where kafka_py is installed in the environment that runs it."""
    paths = list((ROOT / "tests").rglob("conftest.py"))
    assert paths
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    assert not {"kafka_broker", "kafka_cluster"} & {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
