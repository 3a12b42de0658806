"""Who ends what a cluster has started, when the cluster cannot."""

from __future__ import annotations

import os
import pathlib
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kafka_py.testing import guardian
from kafka_py.testing.guardian import Guardian, clean_up, processes_of

SLEEPS = "import sys, time; print(flush=True); time.sleep(600)"
Sleeper = subprocess.Popen[str]


@pytest.fixture
def home(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "home"
    (made / "broker-0").mkdir(parents=True)
    return made


@pytest.fixture
def sleepers(home: pathlib.Path) -> Iterator[list[Sleeper]]:
    """One like a broker, one like a ZooKeeper, and one of somebody else's, who looks into the directory."""
    others = home.parent / "home2" / "server.properties"
    files = [home / "broker-0" / "server.properties", home / "zookeeper.properties", home / "broker-0.out", others]
    made = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", SLEEPS, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=n == 0,
        )
        for n, path in enumerate(files)
    ]
    for process in made:
        assert process.stdout is not None
        process.stdout.readline()
    yield made
    for process in made:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_servers_are_known_by_their_files(home: pathlib.Path, sleepers: list[Sleeper]) -> None:
    assert sorted(processes_of(home)) == sorted(process.pid for process in sleepers[:2])
    assert list(processes_of(home.parent / "home3")) == []


def test_at_the_end_they_are_killed_and_the_directory_is_gone(home: pathlib.Path, sleepers: list[Sleeper]) -> None:
    sleepers[0].send_signal(signal.SIGSTOP)
    guard = Guardian(home, temporary=True)
    guard.close()
    guard.close()
    assert [process.wait() for process in sleepers[:2]] == [-signal.SIGKILL] * 2
    assert [process.poll() for process in sleepers[2:]] == [None, None]
    assert not home.exists()


def test_a_directory_that_was_given_is_kept(home: pathlib.Path, sleepers: list[Sleeper]) -> None:
    Guardian(home, temporary=False).close()
    assert sleepers[0].wait() == -signal.SIGKILL
    assert home.exists()


@pytest.mark.slow
def test_the_end_of_whoever_holds_the_pipe_is_the_sign(home: pathlib.Path, sleepers: list[Sleeper]) -> None:
    """The owner is killed: nobody tells the guardian anything."""
    program = (
        "import pathlib, sys, signal, os\n"
        "from kafka_py.testing.guardian import Guardian\n"
        "guard = Guardian(pathlib.Path(sys.argv[1]), True)\n"
        "print(guard._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(home)], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [process.wait(20) for process in sleepers[:2]] == [-signal.SIGKILL] * 2
    wait_for_end(int(done.stdout))
    assert not home.exists()


def wait_for_end(pid: int) -> None:
    """Of a process that is no child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], 20)[0], "the guardian did not end"
    finally:
        os.close(fd)


def test_what_has_ended_meanwhile_is_passed_over(
    tmp_path: pathlib.Path, home: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proc = tmp_path / "proc"
    for name, words in (("7", ["x", str(home / "server.properties")]), ("8", None), ("self", [])):
        (proc / name).mkdir(parents=True)
        if words is not None:
            (proc / name / "cmdline").write_bytes("\0".join(words).encode())
    assert list(processes_of(home, proc)) == [7]
    assert list(processes_of(home, tmp_path / "no proc")) == []
    found = iter([[2**22 + 1], []])
    monkeypatch.setattr(guardian, "processes_of", lambda home: next(found))
    clean_up(home, temporary=True)
    assert not home.exists()
