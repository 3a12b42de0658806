"""The `leader-epoch-checkpoint` file of one partition directory.

Mirrors: core/src/main/scala/kafka/server/checkpoints/LeaderEpochCheckpointFile.scala @ 1.1.1
"""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafka_py.server.checkpoints.checkpoint_file import CheckpointFile, CheckpointFileFormatter

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel


class EpochEntry(NamedTuple):
    """A leader epoch and the offset of its first message.

    Mirrors: kafka.server.epoch.EpochEntry
    Differs: Scala keeps it beside LeaderEpochFileCache, which imports this module; it is re-exported there.
    """

    epoch: int
    start_offset: int


class LeaderEpochCheckpoint(Protocol):
    """Where a LeaderEpochFileCache keeps its entries.

    Mirrors: kafka.server.checkpoints.LeaderEpochCheckpoint
    """

    def write(self, epochs: Collection[EpochEntry]) -> None:
        """Replace what is stored."""

    def read(self) -> Sequence[EpochEntry]:
        """What is stored, oldest epoch first."""


class LeaderEpochFile:
    """Knows the file's name.

    Mirrors: kafka.server.checkpoints.LeaderEpochFile
    """

    LEADER_EPOCH_CHECKPOINT_FILENAME = "leader-epoch-checkpoint"

    @staticmethod
    def new_file(dir: str | os.PathLike[str]) -> pathlib.Path:
        """The file of the partition directory `dir`."""
        return pathlib.Path(dir) / LeaderEpochFile.LEADER_EPOCH_CHECKPOINT_FILENAME


class LeaderEpochCheckpointFile:
    """A file of `epoch start-offset` lines for one replica.

    Mirrors: kafka.server.checkpoints.LeaderEpochCheckpointFile
    Thread: any.
    """

    CURRENT_VERSION = 0

    class Formatter(CheckpointFileFormatter[EpochEntry]):
        """One line: epoch and start offset.

        Mirrors: kafka.server.checkpoints.LeaderEpochCheckpointFile.Formatter
        """

        def to_line(self, entry: EpochEntry) -> str:
            """The line for one epoch."""
            return f"{entry.epoch} {entry.start_offset}"

        def from_line(self, line: str) -> EpochEntry | None:
            """The epoch of a line, None unless it has two fields."""
            fields = line.split()
            return EpochEntry(int(fields[0]), int(fields[1])) if len(fields) == 2 else None

    def __init__(
        self, file: str | os.PathLike[str], log_dir_failure_channel: LogDirFailureChannel | None = None
    ) -> None:
        self.file = pathlib.Path(file)
        self.checkpoint: CheckpointFile[EpochEntry] = CheckpointFile(
            self.file,
            self.CURRENT_VERSION,
            self.Formatter(),
            log_dir_failure_channel,
            str(self.file.absolute().parent.parent),
        )

    def write(self, epochs: Collection[EpochEntry]) -> None:
        """Replace the content with `epochs`; raises KafkaStorageException."""
        self.checkpoint.write(epochs)

    def read(self) -> list[EpochEntry]:
        """The epochs in the file, oldest first; raises KafkaStorageException."""
        return self.checkpoint.read()
