"""Disks that fail: files whose operations fail on demand, and small file systems that are full or read-only."""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import os
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Iterator

import pytest

SOURCE = pathlib.Path(__file__).with_name("iofault.c")
CONTROL_SIZE = 4096  # what iofault.c reads of its control file


def compile_iofault(home: pathlib.Path) -> pathlib.Path:
    """The shared library made of iofault.c; skips the test where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the library that makes disks fail")
    library = home / "iofault.so"
    command = [compiler, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
    done = subprocess.run([*command, "-ldl", "-lpthread"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return library


class Faults:
    """The switch of one process that has iofault.so preloaded; see iofault.c for operations and actions."""

    def __init__(self, library: pathlib.Path, home: pathlib.Path) -> None:
        self._library = library
        self._control, self._ledger = home / "iofault.control", home / "iofault.ledger"
        self._rules: list[str] = []
        self._control.write_bytes(b"\n" * CONTROL_SIZE)
        self._ledger.touch()

    @property
    def environment(self) -> dict[str, str]:
        """With which the process is to be started."""
        return {
            "LD_PRELOAD": str(self._library),
            "IOFAULT_CONTROL": str(self._control),
            "IOFAULT_LEDGER": str(self._ledger),
        }

    def add(self, operation: str, action: str, path: str, percent: int = 100) -> None:
        """From now on such an operation fails on files whose path matches, where * also stands for slashes."""
        self._rules.append(f"{operation} {action} {percent} {path}\n")
        self._write()

    def heal(self) -> None:
        """From now on nothing fails."""
        self._rules = []
        self._write()

    def _write(self) -> None:
        text = "".join(self._rules).encode()
        assert len(text) < CONTROL_SIZE
        fd = os.open(self._control, os.O_WRONLY)
        try:
            os.pwrite(fd, text.ljust(CONTROL_SIZE, b"\n"), 0)  # at once: the process never sees half of it
        finally:
            os.close(fd)

    def met(self, operation: str, action: str, path: str) -> int:
        """How often such a rule has struck."""
        lines = self._ledger.read_text().splitlines()
        return len(fnmatch.filter(lines, f"{operation} {action} {path}"))


class FileSystem:
    """A small file system that this test has made and mounted; on a loop device if it is ext4."""

    _EXT4_IOC_SHUTDOWN = 0x8004587D
    _NO_LOG_FLUSH = 2

    def __init__(self, kind: str, path: pathlib.Path, megabytes: int) -> None:
        self.kind = kind
        self.path = path
        self._image = path.with_suffix(".img")
        self._filler = path / "filler"
        path.mkdir()
        if kind == "tmpfs":
            self._mount_command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
            self._mount()
            return
        with open(self._image, "wb") as file:
            file.truncate(megabytes << 20)
        _run(["mkfs.ext4", "-q", "-F", "-m", "0", str(self._image)], "ext4 cannot be made")
        self._mount_command = ["mount", "-o", "loop,errors=remount-ro", str(self._image), str(path)]
        self._mount()
        (path / "lost+found").rmdir()  # a log directory has nothing but partitions

    def _mount(self) -> None:
        _run(self._mount_command, f"{self.kind} cannot be mounted here")

    def mount_again(self) -> None:
        """What lies on the device is there, what was only in memory is not; nobody may have a file open."""
        assert self.kind == "ext4"
        subprocess.run(["umount", str(self.path)], check=True, capture_output=True, timeout=20)
        self._mount()

    def unmount(self) -> None:
        """Take it away, whoever has files open there."""
        subprocess.run(["umount", "-l", str(self.path)], check=True, capture_output=True, timeout=20)
        self._image.unlink(missing_ok=True)

    def remount(self, mode: str) -> None:
        """ "ro" or "rw"; nobody may have a file open for writing."""
        command = ["mount", "-o", f"remount,{mode}", str(self.path)]
        subprocess.run(command, check=True, capture_output=True, timeout=20)

    # -- Failures, with files open

    def fill(self, leave: int = 0) -> None:
        """Take all space but about that many bytes."""
        with open(self._filler, "ab", buffering=0) as file:
            while (free := self.free() - leave) > 0:
                try:
                    file.write(bytes(min(free, 1 << 16)))
                except OSError:
                    break

    def drain(self) -> None:
        """Give back what fill took."""
        self._filler.unlink()

    def free(self) -> int:
        """Bytes that can still be written."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def meet_an_error(self) -> None:
        """The kernel finds the file system damaged, and lets nobody write to it any more (ext4)."""
        device = os.stat(self.path).st_dev
        name = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve().name
        assert name.startswith("loop")
        trigger = pathlib.Path(f"/sys/fs/ext4/{name}/trigger_fs_error")
        if not trigger.exists():
            pytest.skip("this kernel makes no errors on demand")
        trigger.write_text("injected by a test")

    def lose_power(self) -> None:
        """Everything fails with EIO from now on, and what was not synced is lost (ext4)."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, self._EXT4_IOC_SHUTDOWN, struct.pack("I", self._NO_LOG_FLUSH))
        finally:
            os.close(fd)


def _run(command: list[str], otherwise: str) -> None:
    """Skips the test where the command is not there or not allowed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{otherwise}: no {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        pytest.skip(f"{otherwise}: {done.stderr.strip()}")


@contextlib.contextmanager
def mounted(kind: str, path: pathlib.Path, megabytes: int) -> Iterator[FileSystem]:
    """An empty "tmpfs" or "ext4" at the path; skips the test where one cannot be mounted."""
    made = FileSystem(kind, path, megabytes)
    try:
        yield made
    finally:
        made.unmount()
