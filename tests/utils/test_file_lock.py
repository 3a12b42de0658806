"""A locked file is locked for everybody else."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from kafka_py.utils.file_lock import FileLock

TRY = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def free_for_others(path: pathlib.Path) -> bool:
    return subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, check=False).returncode == 0


def test_within_a_process(tmp_path: pathlib.Path) -> None:
    first, second = FileLock(str(tmp_path / ".lock")), FileLock(str(tmp_path / ".lock"))
    assert first.try_lock()
    assert not second.try_lock()
    second.unlock()
    assert not second.try_lock(), "unlocking what one does not hold frees nothing"
    first.unlock()
    second.lock()
    second.destroy()
    first.destroy()
    first.destroy()
    with pytest.raises(OSError, match="destroyed"):
        first.lock()


@pytest.mark.slow
def test_between_processes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / ".lock"
    lock = FileLock(str(path))
    assert free_for_others(path)
    assert lock.try_lock()
    other = FileLock(path)
    assert not other.try_lock()
    other.destroy()
    assert not free_for_others(path), "closing another handle frees nothing"
    lock.destroy()
    assert free_for_others(path)
