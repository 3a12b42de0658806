"""Command line that stops ZooKeeper servers: `zookeeper-server-stop.py [zookeeper.properties]`.

Without a file all of this machine's are stopped, as Kafka's script does; with one only the server of its dataDir.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from kafka_py.embedded.main import PID_FILE, read_properties

# bin/zookeeper-server-start.py or the installed command, python -m, and Apache's
_SERVER = re.compile(r"(^|[\s/])(zookeeper-server-start(\.py|\.sh)?|kafka_py\.embedded\.main|\S*\.QuorumPeerMain)\s")


def main(arguments: list[str]) -> int:
    """Send SIGTERM (or what SIGNAL names); returns 1 when there is no server."""
    number = getattr(signal, f"SIG{os.environ.get('SIGNAL', 'TERM')}")
    pids = _of_data_dir(Path(arguments[0])) if arguments else _all()
    if not pids:
        print("No zookeeper server to stop")
        return 1
    for pid in pids:
        os.kill(pid, number)
    return 0


def _of_data_dir(properties: Path) -> list[int]:
    pid_file = Path(read_properties(properties)["dataDir"]) / PID_FILE
    text = pid_file.read_text() if pid_file.exists() else ""
    # A server that was killed has left its file behind, and its number may be another process's by now.
    return [pid for pid in _all() if str(pid) == text.strip()]


def _all() -> list[int]:
    return [pid for pid, line in _processes() if pid != os.getpid() and _SERVER.search(line + " ")]


def _processes() -> list[tuple[int, str]]:
    """(pid, command line) of the processes we may see: from /proc, or from ps where there is none."""
    proc = Path("/proc")
    if not (proc / "self").exists():
        listing = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, text=True, check=True).stdout
        return [(int(line.split()[0]), line) for line in listing.splitlines() if line.strip()]
    found = []
    for folder in proc.iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:  # it has ended meanwhile
                continue
            found.append((int(folder.name), line))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
