"""Where files and commands are in a clone, and where after `pip install`."""

from __future__ import annotations

import pathlib
import sys

import pytest

from kafka_py.utils.installation import HERE, Installation


@pytest.fixture
def clone(tmp_path: pathlib.Path) -> Installation:
    for name in ("bin/_launch.py", "config/server.properties", "kafka_py/__init__.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    return Installation(tmp_path)


@pytest.fixture
def installed(tmp_path: pathlib.Path) -> Installation:
    # other packages may have folders like the clone's
    for name in ("bin/tool", "config/__init__.py", "kafka_py/config/server.properties"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    return Installation(tmp_path)


def test_the_tests_run_in_a_clone() -> None:
    assert HERE.is_clone
    assert (HERE.config_dir / "server.properties").is_file()


def test_a_clone(clone: Installation) -> None:
    assert clone.config_dir == clone.root / "config"
    assert clone.logs_dir == clone.root / "logs"
    assert clone.name_of("kafka-topics") == "bin/kafka-topics.py"
    assert clone.command_line("kafka-topics") == [sys.executable, str(clone.root / "bin/kafka-topics.py")]


def test_an_installation(installed: Installation, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert installed.config_dir == installed.root / "kafka_py/config"
    assert installed.logs_dir == tmp_path / "logs"
    assert installed.name_of("kafka-topics") == "kafka-topics"
    assert installed.command_line("kafka-topics")[1:] == ["-P", "-m", "kafka_py.tools.launch", "kafka-topics"]


def test_a_file_is_taken_as_it_is_named(installed: Installation, tmp_path: pathlib.Path) -> None:
    own = tmp_path / "server.properties"
    own.touch()
    assert installed.find_config(str(own)) == str(own)


def test_a_bare_name_is_found_among_the_delivered_files(
    installed: Installation, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert installed.find_config("server.properties") == str(installed.config_dir / "server.properties")
    pathlib.Path("server.properties").touch()
    assert installed.find_config("server.properties") == "server.properties"


@pytest.mark.parametrize("name", ["config/server.properties", "other.properties", "", "."])
def test_who_names_no_file_is_told_where_they_are(
    installed: Installation, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError) as refused:
        installed.find_config(name)
    assert str(refused.value).startswith(f"{name} does not exist. ")
    assert str(installed.config_dir) in str(refused.value)
