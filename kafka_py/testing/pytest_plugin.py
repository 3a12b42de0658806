"""Fixtures for everybody's pytest: kafka_broker, one broker for the session, and kafka_cluster, a cluster of the test.

Ours, no original. pytest loads this wherever kafka_py is installed, so the module itself imports nothing of the
package; the fixtures do, when a test asks for one.

    @pytest.mark.kafka(brokers=3, properties={"min.insync.replicas": "2"})
    def test_orders(kafka_cluster): ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafka_py.testing.cluster_for_tests import ClusterForTests

MARKER = "kafka(brokers=3, properties={}, log_dirs=1, zookeeper='embedded'): how kafka_cluster of this test is made"
# How much of each log is shown with a test that failed.
MOST_BYTES = 20_000
_ARGUMENTS = ("brokers", "properties", "log_dirs", "zookeeper")
_INI = "kafka_properties"


class LiveClusters:
    """The clusters that run now, and where the log of each process was when the present test began.

    Thread: of the tests
    """

    def __init__(self) -> None:
        self.shared: ClusterForTests | None = None  # thread: of the tests
        self.own: list[ClusterForTests] = []
        self._since: dict[str, int] = {}  # thread: of the tests

    def begin(self, shared: bool) -> None:
        """A test begins; one that uses the shared broker finds it as new, but for its topics."""
        if self.shared is not None:
            if shared:
                self.shared.put_right()
            self._since = {name: path.stat().st_size for name, path in self.shared.outputs().items()}

    def logs(self, shared: bool) -> Iterator[tuple[str, str]]:
        """What the processes have printed since the test began, under names for its report."""
        for number, cluster in enumerate(self.own):
            for name, path in cluster.outputs().items():
                yield f"kafka_cluster{number or ''} {name}", _tail(path.read_bytes())
        if shared and self.shared is not None:
            for name, path in self.shared.outputs().items():
                yield f"kafka_broker {name}", _tail(path.read_bytes()[self._since.get(name, 0) :])


def _tail(log: bytes) -> str:
    """The end of it, from the beginning of a line."""
    if len(log) > MOST_BYTES:
        log = b"...\n" + log[-MOST_BYTES:].partition(b"\n")[2]
    return log.decode(errors="replace")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_INI, "server properties of kafka_broker and every kafka_cluster, name=value a line", "linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.stash[_CLUSTERS] = LiveClusters()


_CLUSTERS = pytest.StashKey[LiveClusters]()


def properties_of(config: pytest.Config) -> dict[str, str]:
    """What the configuration file says; pytest.UsageError for a line that is no name=value."""
    found = {}
    for line in config.getini(_INI):
        name, equals, value = line.partition("=")
        if not equals:
            raise pytest.UsageError(f"{_INI}: {line} is no name=value")
        found[name.strip()] = value.strip()
    return found


def options_of(item: pytest.Item) -> dict[str, Any]:
    """How a test wants its cluster: its own marker before its class's and its module's; properties add up."""
    options: dict[str, Any] = {"brokers": 3}
    properties = properties_of(item.config)
    for mark in reversed(list(item.iter_markers("kafka"))):
        given = {**dict(zip(_ARGUMENTS, mark.args, strict=False)), **mark.kwargs}
        if len(mark.args) > len(_ARGUMENTS) or given.keys() - set(_ARGUMENTS):
            pytest.fail(f"pytest.mark.kafka of {item.nodeid} is not as in {MARKER}", pytrace=False)
        for name, value in given.pop("properties", {}).items():
            properties[name] = str(value).lower() if isinstance(value, bool) else str(value)
        options |= given
    return {**options, "properties": properties}


@contextlib.contextmanager
def _started(**options: Any) -> Iterator[ClusterForTests]:
    """The cluster, started; a test that cannot have it is told what the broker said, without our traceback."""
    from kafka_py.testing.cluster_for_tests import ClusterForTests

    cluster = ClusterForTests(**options)
    try:
        try:
            cluster.start()
        except (RuntimeError, OSError) as e:
            pytest.fail(f"The cluster did not start: {e}", pytrace=False)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="session")
def kafka_broker(request: pytest.FixtureRequest) -> Iterator[ClusterForTests]:
    """One broker for all tests that want it: bootstrap_servers, new_topic(), create_topic(name), and the verbs."""
    live = request.config.stash[_CLUSTERS]
    with _started(brokers=1, properties=properties_of(request.config)) as cluster:
        live.shared = cluster
        yield cluster
        live.shared = None


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[ClusterForTests]:
    """Brokers of this test's own, three unless pytest.mark.kafka says otherwise, to which everything may be done."""
    live = request.config.stash[_CLUSTERS]
    with _started(**options_of(request.node)) as cluster:
        live.own.append(cluster)
        yield cluster
        live.own.remove(cluster)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_CLUSTERS].begin(_uses_shared(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What the brokers said stands in the report of a test that failed."""
    report = yield
    if report.failed:
        report.sections += item.config.stash[_CLUSTERS].logs(_uses_shared(item))
    return report


def _uses_shared(item: pytest.Item) -> bool:
    return "kafka_broker" in getattr(item, "fixturenames", ())
