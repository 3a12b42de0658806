"""Command line of the ZooKeeper server: `zookeeper-server-start.py [-daemon] [--real] zookeeper.properties`."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from kafka_py.utils.installation import HERE

USAGE = "USAGE: zookeeper-server-start.py [-daemon] [--real] zookeeper.properties"
PID_FILE = "zookeeper_server.pid"


def read_properties(path: Path) -> dict[str, str]:
    """`key=value` lines; lines that begin with # or ! are left out."""
    found = {}
    for line in path.read_text().splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key[0] not in "#!":
            found[key.strip()] = value.strip()
    return found


def main(arguments: list[str]) -> int:
    """Serve until a signal comes; returns the exit status."""
    real = "--real" in arguments
    files = [argument for argument in arguments if argument != "--real"]
    if len(files) != 1:
        print(USAGE, file=sys.stderr)
        return 1
    try:
        path = Path(HERE.find_config(files[0]))
    except FileNotFoundError as e:
        print(f"Invalid config, exiting abnormally: {files[0]} file is missing\n{e}", file=sys.stderr)
        return 2
    return _run_apache(path) if real else _run_embedded(read_properties(path))


def _run_apache(path: Path) -> int:
    from kafka_py.embedded.apache_zookeeper import command  # not needed, nor its imports, for the embedded server
    from kafka_py.tools.java_runtime import JavaNotFoundError

    try:
        line = command(str(path))
    except JavaNotFoundError as e:
        print(e, file=sys.stderr)
        return 1
    os.execv(line[0], line)


def _run_embedded(properties: dict[str, str]) -> int:
    from kafka_py.embedded.zookeeper_server import ZooKeeperServer  # after the checks: a usage line needs no server
    from kafka_py.xray.held_time import HeldTime

    logging.basicConfig(
        level=logging.INFO, stream=sys.stdout, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    if "dataDir" not in properties or "clientPort" not in properties:
        missing = "dataDir" if "dataDir" not in properties else "clientPort"
        print(f"Invalid config, exiting abnormally: {missing} is not set", file=sys.stderr)
        return 2
    # a clock that the lab can have stand while it holds the brokers
    clock = HeldTime() if properties.get("kafka.py.xray") == "step" else None
    server = ZooKeeperServer(
        properties["dataDir"],
        int(properties["clientPort"]),
        properties.get("clientPortAddress", "127.0.0.1"),
        int(properties.get("tickTime", "3000")),
        int(properties.get("maxClientCnxns", "60")),
        properties.get("forceSync", "yes") != "no",
        int(properties.get("snapCount", "100000")),
        int(properties.get("minSessionTimeout", "-1")),
        int(properties.get("maxSessionTimeout", "-1")),
        clock,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown, name="shutdown-hook").start())
    try:
        server.startup()
    except OSError as e:
        print(f"Unexpected exception, exiting abnormally: {e}", file=sys.stderr)
        return 1
    pid_file = Path(properties["dataDir"]) / PID_FILE
    pid_file.write_text(str(os.getpid()))
    server.await_shutdown()
    with contextlib.suppress(FileNotFoundError):
        pid_file.unlink()
    return 1 if server.has_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
