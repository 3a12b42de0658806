"""Small text files that remember offsets across restarts.

A checkpoint file is `version`, `number of entries`, then one entry a line. It is written whole to a `.tmp` file,
synced, and renamed over the old one, so a crash leaves either the old or the new content.

Mirrors: core/src/main/scala/kafka/server/checkpoints/CheckpointFile.scala @ 1.1.1
"""

from __future__ import annotations

import os
import pathlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from kafka_py.common.errors import KafkaStorageException
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel

T = TypeVar("T")


class CheckpointFileFormatter(ABC, Generic[T]):
    """Turns one entry into a line and back.

    Mirrors: kafka.server.checkpoints.CheckpointFileFormatter
    """

    @abstractmethod
    def to_line(self, entry: T) -> str:
        """The line for `entry`, without its line end."""

    @abstractmethod
    def from_line(self, line: str) -> T | None:
        """The entry a line holds, None if it is malformed; ValueError if a number in it is."""


class CheckpointFile(Logging, Generic[T]):
    """One checkpoint file of entries of type T.

    Mirrors: kafka.server.checkpoints.CheckpointFile
    Thread: any.
    Locks: _lock: one reads or writes the file at a time.
    Differs: `log_dir_failure_channel` may be None (tests, tools): then the error is only raised. `write_current`.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        version: int,
        formatter: CheckpointFileFormatter[T],
        log_dir_failure_channel: LogDirFailureChannel | None,
        log_dir: str,
    ) -> None:
        self.file = pathlib.Path(file)
        self._version = version
        self._formatter = formatter
        self._log_dir_failure_channel = log_dir_failure_channel
        self._log_dir = log_dir
        self._path = str(self.file.absolute())
        self._temp_path = self._path + ".tmp"
        self._lock = ReentrantLock()
        self.file.touch(exist_ok=True)

    def write(self, entries: Collection[T]) -> None:
        """Replace the file's content; raises KafkaStorageException after reporting the directory offline."""
        self.write_current(lambda: entries)

    def write_current(self, entries_now: Callable[[], Collection[T]]) -> None:
        """As `write`, asking for the entries while nobody else writes, so that no older ones come after newer ones."""
        with self._lock:
            entries = entries_now()
            lines = [str(self._version), str(len(entries)), *map(self._formatter.to_line, entries)]
            data = ("\n".join(lines) + "\n").encode()
            try:
                with open(self._temp_path, "wb") as out:
                    out.write(data)
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(self._temp_path, self._path)
            except OSError as e:
                self._fail(f"Error while writing to checkpoint file {self._path}", e)

    def read(self) -> list[T]:
        """The entries, none for an empty file; raises KafkaStorageException after reporting the directory offline."""
        with self._lock:
            try:
                with open(self._path, encoding="utf-8", errors="replace") as reader:
                    lines = reader.read().splitlines()
                return self._parse(lines)
            except OSError as e:
                self._fail(f"Error while reading checkpoint file {self._path}", e)

    def _parse(self, lines: list[str]) -> list[T]:
        if not lines or (self._number(lines[0]) == self._version and len(lines) == 1):
            return []
        if self._number(lines[0]) != self._version:
            raise OSError(f"Unrecognized version of the checkpoint file ({self._path}): {self._version}")
        expected_size = self._number(lines[1])
        entries = []
        for line in lines[2:]:
            try:
                entry = self._formatter.from_line(line)
            except ValueError:
                entry = None
            if entry is None:
                raise self._malformed_line_exception(line)
            entries.append(entry)
        if len(entries) != expected_size:
            raise OSError(
                f"Expected {expected_size} entries in checkpoint file ({self._path}), but found only {len(entries)}"
            )
        return entries

    def _number(self, line: str) -> int:
        try:
            return int(line)
        except ValueError:
            raise self._malformed_line_exception(line) from None

    def _malformed_line_exception(self, line: str) -> OSError:
        return OSError(f"Malformed line in checkpoint file ({self._path}): {line}'")

    def _fail(self, msg: str, e: OSError) -> NoReturn:
        if self._log_dir_failure_channel is not None:
            self._log_dir_failure_channel.maybe_add_offline_log_dir(self._log_dir, msg, e)
        raise KafkaStorageException(msg) from e
