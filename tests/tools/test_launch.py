"""One code path for the scripts in bin/ and for the commands that pip installs."""

from __future__ import annotations

import ast
import configparser
import importlib.machinery
import pathlib
import subprocess
import sys
import types
from collections.abc import Callable

import pytest

from kafka_py.common.errors import ConfigException
from kafka_py.tools import launch, run_class
from kafka_py.utils.compiled import ENVIRONMENT_VARIABLE, Compiled

ROOT = pathlib.Path(__file__).parents[2]
# set the project itself up, compile it: these need a clone
OF_THE_CLONE = {"kafka-compile", "run-tests"}


def called(script: pathlib.Path) -> str:
    """The module that a script of bin/ runs: the argument of its last statement."""
    call = ast.parse(script.read_text()).body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    return str(ast.literal_eval(call.value.args[0]))


def test_every_script_is_a_command_and_runs_the_same() -> None:
    scripts = {path.stem: path for path in (ROOT / "bin").glob("[!_]*.py") if path.stem not in OF_THE_CLONE}
    assert {name: called(path) for name, path in scripts.items()} == launch.COMMANDS


def test_pip_installs_every_command_with_and_without_sh() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options.entry_points"]["console_scripts"].strip().splitlines()
    assert lines == [
        f"{name}{ending} = kafka_py.tools.launch:command" for name in launch.COMMANDS for ending in ("", ".sh")
    ]


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, main: Callable[[list[str]], int]) -> None:
    """Put a module with this main in the place of another."""
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.main = main  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the main of kafka-topics gets."""
    calls: list[list[str]] = []

    def main(args: list[str]) -> int:
        calls.append(args)
        return 3

    stand_in(monkeypatch, "kafka_py.admin.topic_command", main)
    return calls


@pytest.mark.parametrize("name", ["/venv/bin/kafka-topics", "kafka-topics.sh"])
def test_the_name_says_which_command_it_is(told: list[list[str]], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--list"])
    with pytest.raises(SystemExit, match="3"):
        launch.command()
    assert told == [["--list"]]


def test_an_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/venv/bin/kafka-nothing"])
    with pytest.raises(SystemExit, match="kafka-nothing is none of kafka_py's commands: kafka-broker-api-versions, "):
        launch.command()


@pytest.mark.parametrize("option", ["-daemon", "--daemon"])
def test_a_daemon_is_the_command_in_a_session_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, option: str
) -> None:
    started: list[tuple[list[str], dict[str, object]]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda line, **options: started.append((line, options)))
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.delenv("DAEMON_NAME", raising=False)
    launch.run(launch.BROKER, "/venv/bin/kafka-server-start.sh", [option, "server.properties"])
    ((line, options),) = started
    assert line == [sys.executable, str(ROOT / "bin/kafka-server-start.py"), "server.properties"]
    assert options["start_new_session"]
    assert (tmp_path / "logs" / "kafkaServer.out").exists()


def test_the_broker_alone_chooses_its_form(told: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[tuple[pathlib.Path, str | None]] = []
    monkeypatch.setattr(Compiled, "choose", lambda root, wish: chosen.append((root, wish)))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "0")
    monkeypatch.setattr(sys, "argv", ["pytest"])
    with pytest.raises(SystemExit):
        launch.run("kafka_py.admin.topic_command", "kafka-topics", [])
    assert chosen == []
    stand_in(monkeypatch, launch.BROKER, lambda args: 0)
    with pytest.raises(SystemExit, match="0"):
        run_class.main(["kafka.Kafka", "server.properties"])
    assert chosen == [(ROOT, "0")]


@pytest.mark.parametrize(
    "name", ["kafka.tools.NoSuchTool", "kafka.nothing.At.All", "NoSuchClass", "kafka", "os.path", "../x", "kafka.a-b.C"]
)
def test_a_class_that_is_not_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_class.main([name, "--option"]) == 1
    assert capsys.readouterr().err == f"Error: Could not find or load main class {name}\n"


def test_a_class_without_a_main(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_class.main(["kafka.log.Log"]) == 1
    assert capsys.readouterr().err.startswith("Error: Main method not found in class kafka.log.Log, ")


def test_no_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_class.main([]) == 1
    assert "USAGE: " in capsys.readouterr().err


def test_a_class_is_run_by_kafkas_name(told: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["kafka-run-class.py"])
    with pytest.raises(SystemExit, match="3"):
        run_class.main(["kafka.admin.TopicCommand", "--list"])
    assert told == [["--list"]]


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (ConfigException("No broker is named"), ["org.apache.kafka.common.config.ConfigException: No broker is named"]),
        (KeyError("a slip of ours"), ["Traceback (most recent call last):", "KeyError: 'a slip of ours'"]),
    ],
)
def test_what_ends_a_command_is_told_as_by_a_jvm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, lines: list[str]
) -> None:
    def main(args: list[str]) -> int:
        raise error

    stand_in(monkeypatch, "kafka_py.admin.topic_command", main)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    with pytest.raises(SystemExit, match="1"):
        launch.run("kafka_py.admin.topic_command", "kafka-topics", [])
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f'Exception in thread "main" {lines[0]}'
    assert told[-1].endswith(lines[-1])
