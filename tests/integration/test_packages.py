"""What `pip install` gives, in an empty environment outside the clone: commands, configuration, compiled modules.

The dependencies are those of the environment that runs the tests, so nothing is downloaded.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Iterator

import pytest

from kafka_py.tools.compiled_build import build, missing_tools
from kafka_py.tools.compiled_wheel import add_modules, build_distributions, platform_tag
from kafka_py.tools.launch import COMMANDS
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, compiled_dir
from kafka_py.utils.installation import ROOT

pytestmark = pytest.mark.slow
TIMEOUT_S = 120
# Small ones that need no others: compiling all of them takes minutes.
MODULES = ("kafka_py.common.long_ref", "kafka_py.common.internals.topic")


class Environment:
    """A virtual environment with one wheel in it, and a folder to work in that is no clone."""

    def __init__(self, home: pathlib.Path, wheel: pathlib.Path) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        venv.create(home / "venv", with_pip=False, symlinks=True)
        self.bin = home / "venv" / "bin"
        (site,) = (home / "venv" / "lib").glob("python*/site-packages")
        self.site = site
        # Behind the environment's own folder, and without the .pth files of that one: kafka_py is the wheel's.
        (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
        pip = [str(self.bin / "python"), "-m", "pip", "install", "--no-deps", "--no-index", "--ignore-installed", "-q"]
        subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True)

    def start(self, command: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KAFKA_"))}
        return subprocess.Popen(
            [str(self.bin / command), *arguments],
            cwd=self.work,
            env={**outside, "LOG_DIR": str(self.home / "logs"), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str, *arguments: str, **variables: str) -> tuple[int, str]:
        """The status of an installed command and what it said."""
        with self.start(command, *arguments, **variables) as process:
            output, _ = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, output


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, pathlib.Path]:
    """The sdist and the wheel that is built from it."""
    pytest.importorskip("setuptools.command.bdist_wheel", reason="wheels need setuptools 70: pip install '.[compile]'")
    clone = tmp_path_factory.mktemp("clone")
    for path in ROOT.iterdir():
        if path.suffix in (".cfg", ".toml", ".md") or path.name == "LICENSE":
            shutil.copy(path, clone)
    for folder in ("kafka_py", "config", "bin", "docs", "tests", "benchmarks", "tools"):
        shutil.copytree(ROOT / folder, clone / folder, ignore=shutil.ignore_patterns("__pycache__", "out"))
    return build_distributions(clone, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def pure(distributions: tuple[pathlib.Path, pathlib.Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("pure"), distributions[1])


def test_an_sdist_is_a_clone(distributions: tuple[pathlib.Path, pathlib.Path]) -> None:
    with tarfile.open(distributions[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"setup.cfg", "pyproject.toml", "bin/kafka-lab.py", "config/server.properties", "docs/index.md"} <= names
    assert {"README.md", "LICENSE", "tests/conftest.py", "tools/package_build.py", "kafka_py/py.typed"} <= names


def test_the_configuration_files_are_those_of_the_clone(distributions: tuple[pathlib.Path, pathlib.Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        for path in (ROOT / "config").glob("*.properties"):
            assert wheel.read(f"kafka_py/config/{path.name}") == path.read_bytes()


def test_every_command_is_there_under_both_names(pure: Environment) -> None:
    assert {f"{name}{ending}" for name in COMMANDS for ending in ("", ".sh")} <= {
        path.name for path in pure.bin.iterdir()
    }


def test_the_lab(pure: Environment) -> None:
    status, output = pure.run("kafka-lab", "--once", "--port", "0")
    assert status == 0, output
    assert "all equal." in output
    assert "Request path: interpreted: nothing is compiled for this Python; " in output
    assert str(ROOT) not in output


def test_who_names_a_file_of_the_clone_is_told_where_it_is(pure: Environment) -> None:
    status, output = pure.run("kafka-server-start.sh", "config/server.properties")
    assert status == 1
    assert (
        f"config/server.properties does not exist. The configuration files that come with kafka_py are in {pure.site}"
        in (output)
    )


def test_a_missing_class_and_a_wrong_address(pure: Environment) -> None:
    assert pure.run("kafka-run-class", "kafka.tools.JmxTool") == (
        1,
        "Error: Could not find or load main class kafka.tools.JmxTool\n",
    )
    status, output = pure.run("kafka-log-dirs", "--bootstrap-server", "nowhere", "--describe")
    assert (status, output) == (
        1,
        'Exception in thread "main" org.apache.kafka.common.config.ConfigException: '
        "Invalid url in bootstrap.servers: nowhere\n",
    )


def test_pytest_finds_the_fixtures_by_itself(pure: Environment) -> None:
    (pure.work / "test_it.py").write_text(
        "import kafka_py\n\ndef test_a_topic(kafka_broker):\n"
        "    assert kafka_broker.describe_topic(kafka_broker.new_topic())[0]['leader'] == 0\n"
        "    print(kafka_py.__file__)\n"
    )
    status, output = pure.run("python", "-m", "pytest", "-p", "no:cacheprovider", "-s", "test_it.py")
    assert status == 0, output
    assert str(pure.site / "kafka_py") in output


def test_the_cluster_command_ends_where_nothing_is_asked(pure: Environment) -> None:
    assert pure.run("kafka-test-cluster") == (0, "")


@pytest.fixture
def servers(pure: Environment) -> Iterator[dict[str, str]]:
    """A ZooKeeper and a broker, started and stopped as a user would; what they were told."""
    zookeeper, server = pure.work / "own-zookeeper.properties", pure.work / "own-server.properties"
    zookeeper.write_text(f"dataDir={pure.home / 'zookeeper'}\nclientPort=0\n")
    assert pure.run("zookeeper-server-start", "-daemon", str(zookeeper)) == (0, "")
    address = f"127.0.0.1:{found_in(pure.home / 'logs/zookeeper.out', r'binding to port [^:]*:([0-9]+)')}"
    server.write_text(
        f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={pure.home / 'data'}\nzookeeper.connect={address}\n"
        "kafka.py.http.listener=none\n"
    )
    assert pure.run("kafka-server-start.sh", "-daemon", str(server)) == (0, "")
    found_in(pure.home / "logs/kafkaServer.out", r"\[KafkaServer id=0\] (started)")
    yield {"zookeeper": address, "zookeeper file": str(zookeeper), "server file": str(server)}
    pure.run("kafka-server-stop", str(server))
    pure.run("zookeeper-server-stop", str(zookeeper))


def found_in(file: pathlib.Path, pattern: str) -> str:
    """What the file says in the place of the group, as soon as it says it."""
    script = f"until grep -Eq '{pattern}' '{file}'; do sleep 0.05; done"
    subprocess.run(["sh", "-c", script], timeout=TIMEOUT_S, check=True, stderr=subprocess.DEVNULL)
    found = re.search(pattern, file.read_text())
    assert found is not None
    return found[1]


def test_daemons_and_tools(pure: Environment, servers: dict[str, str]) -> None:
    create = ("--create", "--partitions", "1", "--replication-factor", "1", "--topic", "t")
    where = ("--zookeeper", servers["zookeeper"])
    assert pure.run("kafka-topics", *where, *create) == (0, 'Created topic "t".\n')
    status, output = pure.run("kafka-topics.sh", *where, *create)
    assert status == 1
    first, second, third = output.splitlines()
    assert first == "Error while executing topic command : Topic 't' already exists."
    assert second.endswith("ERROR org.apache.kafka.common.errors.TopicExistsException: Topic 't' already exists.")
    assert third == " (kafka.admin.TopicCommand$)"
    assert pure.run("kafka-server-stop", servers["server file"]) == (0, "")
    assert found_in(pure.home / "logs/kafkaServer.out", r"\[KafkaServer id=0\] (shut down completed)")
    assert pure.run("zookeeper-server-stop", servers["zookeeper file"]) == (0, "")


def test_a_compiled_wheel(
    distributions: tuple[pathlib.Path, pathlib.Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    missing = missing_tools()
    if missing:
        pytest.skip(f"nothing can be compiled: {'; '.join(missing)}")
    home = tmp_path_factory.mktemp("compiled")
    with tarfile.open(distributions[0]) as archive:
        archive.extractall(home, filter="data")
    (clone,) = home.iterdir()
    build(clone, MODULES)
    wheel = add_modules(distributions[1], compiled_dir(clone), platform_tag())
    assert wheel.name.endswith(f"-{platform_tag()}.whl")
    environment = Environment(home / "environment", wheel)
    for wish, form in (("1", "2 compiled modules; "), ("0", "interpreted, as KAFKA_PY_COMPILED wants it; ")):
        status, output = environment.run("kafka-lab", "--once", "--port", "0", **{ENVIRONMENT_VARIABLE: wish})
        assert status == 0, output
        assert f"Request path: {form}" in output
    source = environment.site / "kafka_py/common/long_ref.py"
    source.write_text(source.read_text() + "# changed by its reader\n")
    status, output = environment.run("kafka-lab", "--once", "--port", "0")
    assert status == 0, output
    assert "Request path: interpreted: the sources have changed since they were compiled; " in output
