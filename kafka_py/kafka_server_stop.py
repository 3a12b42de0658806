"""Command line that stops brokers: `kafka-server-stop.py [server.properties]`.

Mirrors: bin/kafka-server-stop.sh @ 1.1.1, which knows a broker by its command line, too
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Sequence

# bin/kafka-server-start.py, the installed command with or without .sh, kafka-run-class with the class, and python -m
_BROKER = re.compile(
    r"(^|[\s/])(kafka-server-start(\.py|\.sh)?|kafka-run-class(\.py|\.sh)? kafka\.Kafka|kafka_py(\.kafka|/kafka\.py))\s"
)


def main(args: Sequence[str] | None = None) -> int:
    """Send SIGTERM (or what SIGNAL names) to all brokers, or to those started with the file; 1 when there is none."""
    number = getattr(signal, f"SIG{os.environ.get('SIGNAL', 'TERM')}")
    files = sys.argv[1:] if args is None else list(args)
    pids = [pid for pid, line in processes() if is_broker(pid, line, files)]
    if not pids:
        print("No kafka server to stop")
        return 1
    for pid in pids:
        os.kill(pid, number)
    return 0


def is_broker(pid: int, line: str, files: Sequence[str]) -> bool:
    """Whether the command line is that of a broker, and names one of the files where some are given."""
    if pid == os.getpid() or _BROKER.search(line + " ") is None:
        return False
    return not files or any(is_file(pid, word, file) for word in line.split() for file in files)


def is_file(pid: int, word: str, file: str) -> bool:
    """Whether the word of a process's command line is the file; by its name alone where its folder cannot be known."""
    directory = working_directory(pid)
    if directory is None:
        return pathlib.Path(word).name == pathlib.Path(file).name
    return (directory / word).resolve() == pathlib.Path(file).resolve()


def working_directory(pid: int) -> pathlib.Path | None:
    """Where the process runs, None where there is no /proc or the process has ended."""
    try:
        return pathlib.Path(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return None


def processes() -> list[tuple[int, str]]:
    """(pid, command line) of this user's processes."""
    listing = subprocess.run(
        ["ps", "-ww", "-U", str(os.getuid()), "-o", "pid=,args="], capture_output=True, text=True, check=True
    ).stdout
    return [(int(line.split()[0]), line) for line in listing.splitlines() if line.strip()]


if __name__ == "__main__":
    sys.exit(main())
