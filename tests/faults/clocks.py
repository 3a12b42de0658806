"""The clocks of brokers, set forward and back one by one: by a library that is preloaded into them (clockstep.c)."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Iterator

from kafka_py.testing.cluster import Cluster

SOURCE = pathlib.Path(__file__).with_name("clockstep.c")
_NANOS = struct.Struct("=q")


def has_compiler() -> bool:
    return _compiler() is not None


def _compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


class Clocks:
    """What is to be added to the time of day, by broker."""

    def __init__(self, cluster: Cluster, home: pathlib.Path) -> None:
        self._files = {broker.id: broker.logs / "clock-step" for broker in cluster.brokers}
        self._library = home / "clockstep.so"

    @contextlib.contextmanager
    def preloaded(self) -> Iterator[Clocks]:
        """Brokers that are started meanwhile have clocks that can be set."""
        for file in self._files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_NANOS.pack(0))
        command = [str(_compiler()), "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(SOURCE)]
        subprocess.run([*command, "-o", str(self._library), "-ldl"], check=True, timeout=60)
        before = os.environ.get("LD_PRELOAD")
        os.environ["LD_PRELOAD"] = f"{self._library}:{before}" if before else str(self._library)
        try:
            yield self
        finally:
            if before is None:
                del os.environ["LD_PRELOAD"]
            else:
                os.environ["LD_PRELOAD"] = before

    def step(self, broker: int, seconds: float) -> None:
        """Set it forward, or back where that is less than nothing."""
        file = self._files[broker]
        (before,) = _NANOS.unpack(file.read_bytes())
        with file.open("r+b") as it:  # the same file: it is mapped
            it.write(_NANOS.pack(before + int(seconds * 1e9)))
