"""The `meta.properties` file that ties a log directory to a broker id.

Mirrors: core/src/main/scala/kafka/server/BrokerMetadataCheckpoint.scala @ 1.1.1
"""

from __future__ import annotations

import os
import pathlib
import time
from typing import NamedTuple

from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

_INT_MAX = 2**31 - 1


class BrokerMetadata(NamedTuple):
    """What `meta.properties` says about the broker that owns a log directory.

    Mirrors: kafka.server.BrokerMetadata
    """

    broker_id: int


class BrokerMetadataCheckpoint(Logging):
    """Reads and writes `meta.properties`, replacing the file in one step.

    Mirrors: kafka.server.BrokerMetadataCheckpoint
    Thread: any.
    Locks: _lock: one reads or writes the file at a time.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = pathlib.Path(file)
        self._lock = ReentrantLock()

    def write(self, broker_metadata: BrokerMetadata) -> None:
        """Write version 0 and the broker id, synced and renamed into place; raises OSError."""
        with self._lock:
            try:
                temp = str(self.file.absolute()) + ".tmp"
                stamp = time.strftime("%a %b %d %H:%M:%S %Z %Y")
                with open(temp, "w", encoding="iso-8859-1") as out:
                    out.write(f"#\n#{stamp}\nversion=0\nbroker.id={broker_metadata.broker_id}\n")
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(temp, self.file)
            except OSError as e:
                self.error("Failed to write meta.properties due to", exc=e)
                raise

    def read(self) -> BrokerMetadata | None:
        """Return what the file says, None if there is none; raises OSError or ValueError on a bad file."""
        # a writer that died may have left its temporary file
        pathlib.Path(f"{self.file}.tmp").unlink(missing_ok=True)
        with self._lock:
            try:
                props = _load_properties(self.file)
                version = _int_in_range(props, "version")
                if version != 0:
                    raise OSError(f"Unrecognized version of the server meta.properties file: {version}")
                return BrokerMetadata(_int_in_range(props, "broker.id"))
            except FileNotFoundError:
                self.warn("No meta.properties file under dir %s", self.file.absolute())
                return None
            except (OSError, ValueError) as e:
                self.error("Failed to read meta.properties file under dir %s due to %s", self.file.absolute(), e)
                raise


def _load_properties(file: pathlib.Path) -> dict[str, str]:
    props = {}
    for line in file.read_text(encoding="iso-8859-1").splitlines():
        text = line.strip()
        if text and text[0] not in "#!":
            key, _, value = text.partition("=")
            props[key.strip()] = value.strip()
    return props


def _int_in_range(props: dict[str, str], name: str) -> int:
    if name not in props:
        raise ValueError(f"Missing required property '{name}'")
    value = int(props[name])
    if not 0 <= value <= _INT_MAX:
        raise ValueError(f"{name} has value {value} which is not in the range (0,{_INT_MAX}).")
    return value
