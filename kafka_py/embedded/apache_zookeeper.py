"""Apache ZooKeeper itself as a child process, from the jars that pyspark carries: what ours is compared with."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_py.common.utils.time import Time
from kafka_py.tools.java_runtime import require_java, zookeeper_class_path

if TYPE_CHECKING:
    from types import TracebackType

_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_FOUR_LETTER_WORDS = "ruok,stat,srvr,mntr,conf,isro"


def command(properties: str, heap: str = "-Xmx512M") -> list[str]:
    """The command that runs Apache ZooKeeper with that properties file; raises JavaNotFoundError."""
    return [
        str(require_java()),
        heap,
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Dzookeeper.admin.enableServer=false",
        f"-Dzookeeper.4lw.commands.whitelist={_FOUR_LETTER_WORDS}",
        "-Dlog4j2.level=INFO",
        "-cp",
        zookeeper_class_path(),
        _MAIN,
        properties,
    ]


class ApacheZooKeeper:
    """A server for tests and labs: started in a folder of its own, stopped at the end of a with block."""

    def __init__(self, data_dir: Path, tick_time: int = 500, time: Time = Time.SYSTEM) -> None:
        """Keep everything under data_dir; sessions last from 2 to 20 ticks (ms)."""
        self.data_dir = data_dir
        self.tick_time = tick_time
        self.host = "127.0.0.1"
        self.port = 0  # volatile: startup
        self._time = time
        self._process: subprocess.Popen[bytes] | None = None  # volatile: startup, shutdown

    @property
    def connect_string(self) -> str:
        """`host:port`, for zookeeper.connect."""
        return f"{self.host}:{self.port}"

    def startup(self, timeout_ms: int = 30_000) -> ApacheZooKeeper:
        """Start, and wait until it answers; raises TimeoutError."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        if not self.port:
            self.port = _free_port()
        properties = self.data_dir / "zookeeper.properties"
        properties.write_text(
            f"dataDir={self.data_dir}\nclientPort={self.port}\nclientPortAddress={self.host}\n"
            f"tickTime={self.tick_time}\nmaxClientCnxns=0\n"
        )
        with (self.data_dir / "zookeeper.out").open("ab") as out:
            self._process = subprocess.Popen(
                command(str(properties), heap="-Xmx128M"), stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        deadline = self._time.hi_res_clock_ms() + timeout_ms
        while not self.is_serving():
            if self._time.hi_res_clock_ms() > deadline or self._process.poll() is not None:
                self.shutdown()
                raise TimeoutError(f"Apache ZooKeeper did not start: see {self.data_dir / 'zookeeper.out'}")
            self._time.sleep(50)
        return self

    def is_serving(self) -> bool:
        """Whether it answers srvr with more than an excuse."""
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as sock:
                sock.sendall(b"srvr")
                answer = b""
                while part := sock.recv(4096):
                    answer += part
                return b"Mode:" in answer
        except OSError:
            return False

    def shutdown(self) -> None:
        """Stop, and wait for the end."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def __enter__(self) -> ApacheZooKeeper:
        """Start."""
        return self.startup()

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        """Stop."""
        self.shutdown()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port
