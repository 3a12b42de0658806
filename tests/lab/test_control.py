"""A lab is found by its socket, does what it is asked, one thing after the other, and says how that went."""

from __future__ import annotations

import pathlib
import tempfile
import threading
from collections.abc import Callable, Sequence

import pytest

from kafka_py.lab.control import SOCKET, ControlServer, NoLabError, Tell, ask, connected, find_lab, is_up


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Where labs have their directories: far down, as no socket's address may be long."""
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    monkeypatch.delenv("KAFKA_LAB", raising=False)
    return deep


def lab(home: pathlib.Path, execute: Callable[[Sequence[str], Tell], int] | None = None) -> ControlServer:
    home.mkdir()
    return ControlServer(home, execute or (lambda words, tell: 0))


def asked(server: ControlServer, home: pathlib.Path, *words: str) -> tuple[int, list[str]]:
    """The exit code, and what was told."""
    said: list[str] = []
    turn = threading.Thread(target=server.serve, args=(5000,))
    turn.start()
    code = ask(home, words, said.append)
    turn.join()
    return code, said


def test_a_command_is_carried_out_and_told(folder: pathlib.Path) -> None:
    def execute(words: Sequence[str], tell: Tell) -> int:
        tell(f"begun {' '.join(words)}")
        tell("one line\nand another")
        return 7

    home = folder / "kafka_py-a"
    with lab(home, execute) as server:
        assert asked(server, home, "kill", "1") == (7, ["begun kill 1", "one line", "and another"])
        assert asked(server, home, "status") == (7, ["begun status", "one line", "and another"])


def test_a_look_is_no_command_and_nobody_is_waited_for(folder: pathlib.Path) -> None:
    done: list[Sequence[str]] = []

    def execute(words: Sequence[str], tell: Tell) -> int:
        done.append(words)
        tell("to one who has gone")
        return 0

    home = folder / "kafka_py-a"
    with lab(home, execute) as server:
        server.serve(1)
        assert is_up(home)
        server.serve(1)
        assert done == []
        with connected(home) as impatient:
            impatient.sendall(b"kill 1\n")
        server.serve(1)
        assert done == [["kill", "1"]]


def test_a_lab_that_ends_meanwhile(folder: pathlib.Path) -> None:
    home = folder / "kafka_py-a"
    with lab(home) as server:
        ends = threading.Thread(target=lambda: server._socket.accept()[0].close())
        ends.start()
        with pytest.raises(ConnectionError):
            ask(home, ["kill", "1"])
        ends.join()


def test_the_only_lab_is_found(folder: pathlib.Path) -> None:
    (folder / "kafka_py-of-a-test").mkdir()
    lab(folder / "kafka_py-killed").__exit__(None, None, None)
    assert (folder / "kafka_py-killed" / SOCKET).exists(), "as one leaves it that has no time to remove it"
    with lab(folder / "kafka_py-b"):
        assert find_lab(None) == folder / "kafka_py-b"
    with pytest.raises(NoLabError, match=r"No lab of yours runs: none answers in .*/kafka_py-\*"):
        find_lab(None)


def test_of_several_labs_one_is_named(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = folder / "kafka_py-a", folder / "kafka_py-b"
    with lab(one), lab(other):
        with pytest.raises(NoLabError, match=r"2 labs run; say which.*\n  --lab .*-a\n  --lab .*-b"):
            find_lab(None)
        assert find_lab(str(other)) == other
        monkeypatch.setenv("KAFKA_LAB", str(one))
        assert find_lab(None) == one
        assert find_lab(str(other)) == other
    with pytest.raises(NoLabError, match=r"No lab runs in .*-b"):
        find_lab(str(other))


def test_a_lab_of_the_environment_that_has_ended_is_forgotten(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_LAB", str(folder / "kafka_py-ended"))
    with lab(folder / "kafka_py-b"):
        assert find_lab(None) == folder / "kafka_py-b"
