"""Ends what a cluster has started when the cluster's own process cannot: it was killed, or crashed.

Ours, no original. A small process of its own reads from a pipe that only the cluster's process holds open; the pipe's
end is the sign. This file is also that process's program, so it needs nothing but Python.
"""

from __future__ import annotations

import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

PROC = pathlib.Path("/proc")
_FILES = ("server.properties", "zookeeper.properties", "apache.properties")
_TURNS, _TURN_S = 100, 0.05


class Guardian:
    """Watches over a directory: at the end no process serves from it, and if it was temporary it is gone.

    Brokers and ZooKeepers are known by the file of properties on their command lines, which lies in the directory; so
    none is missed or mistaken, whoever started it again. Needs /proc; without it only the directory is seen to.
    """

    def __init__(self, home: pathlib.Path, temporary: bool) -> None:
        """Begin to watch."""
        command = [sys.executable, "-I", "-S", __file__, str(home), "remove" if temporary else "keep"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
        )

    def close(self) -> None:
        """Have it look a last time, and end it; once more does nothing."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def processes_of(home: pathlib.Path, proc: pathlib.Path = PROC) -> Iterator[int]:
    """Those that were started with a file of properties below the directory."""
    for entry in proc.iterdir() if proc.is_dir() else ():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:  # ended since the directory was read
            continue
        paths = [pathlib.Path(os.fsdecode(word)) for word in words]
        if any(path.name in _FILES and home in path.parents for path in paths):
            yield int(entry.name)


def clean_up(home: pathlib.Path, temporary: bool) -> None:
    """Kill the processes with what they have started, and remove the directory if it is temporary."""
    for _ in range(_TURNS):
        found = list(processes_of(home))
        for pid in found:
            _kill(pid)
        if not found:
            break
        select.select([], [], [], _TURN_S)
    if temporary:
        shutil.rmtree(home, ignore_errors=True)


def _kill(pid: int) -> None:
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def main(arguments: list[str]) -> int:
    """DIRECTORY remove|keep: wait for the end of standard input, then clean up."""
    home, what = arguments
    while os.read(0, 1 << 10):
        continue
    clean_up(pathlib.Path(home), what == "remove")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
