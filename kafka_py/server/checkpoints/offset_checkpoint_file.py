"""Checkpoints of one offset per partition: recovery points, log start offsets, high watermarks.

Mirrors: core/src/main/scala/kafka/server/checkpoints/OffsetCheckpointFile.scala @ 1.1.1 (LazyOffsetCheckpoints of 2.4)
"""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING

from kafka_py.common.errors import KafkaStorageException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.checkpoints.checkpoint_file import CheckpointFile, CheckpointFileFormatter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel


class OffsetCheckpointFile:
    """A file of `topic partition offset` lines.

    Mirrors: kafka.server.checkpoints.OffsetCheckpointFile
    Thread: any.
    """

    CURRENT_VERSION = 0

    class Formatter(CheckpointFileFormatter[tuple[TopicPartition, int]]):
        """One line: topic, partition, offset, separated by white space.

        Mirrors: kafka.server.checkpoints.OffsetCheckpointFile.Formatter
        """

        def to_line(self, entry: tuple[TopicPartition, int]) -> str:
            """The line for one partition."""
            (topic, partition), offset = entry
            return f"{topic} {partition} {offset}"

        def from_line(self, line: str) -> tuple[TopicPartition, int] | None:
            """The partition and offset of a line, None unless it has three fields."""
            fields = line.split()
            if len(fields) != 3:
                return None
            return TopicPartition(fields[0], int(fields[1])), int(fields[2])

    def __init__(
        self, file: str | os.PathLike[str], log_dir_failure_channel: LogDirFailureChannel | None = None
    ) -> None:
        self.file = pathlib.Path(file)
        self.checkpoint: CheckpointFile[tuple[TopicPartition, int]] = CheckpointFile(
            self.file, self.CURRENT_VERSION, self.Formatter(), log_dir_failure_channel, str(self.file.absolute().parent)
        )

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the content with `offsets`; raises KafkaStorageException."""
        self.checkpoint.write(list(offsets.items()))

    def write_current(self, offsets_now: Callable[[], Mapping[TopicPartition, int]]) -> None:
        """As `write`, asking for the offsets while nobody else writes; raises KafkaStorageException."""
        self.checkpoint.write_current(lambda: list(offsets_now().items()))

    def read(self) -> dict[TopicPartition, int]:
        """The offsets in the file; raises KafkaStorageException."""
        return dict(self.checkpoint.read())


class LazyOffsetCheckpoints:
    """The checkpoints of all directories, each file read once, when the first partition in it is asked for.

    One is made for each LeaderAndIsr request: a replica that reads the whole file for itself makes the creation of
    partitions take the longer the more there are.

    1.1.1 has no such class; it is LazyOffsetCheckpoints of 2.4 (KAFKA-8333), with the map that it keeps of each file.

    Thread: the one that made it.
    """

    def __init__(self, checkpoints_by_log_dir: Mapping[str, OffsetCheckpointFile]) -> None:
        """The files, by absolute path of their directory."""
        self._checkpoints_by_log_dir = checkpoints_by_log_dir
        self._offsets_by_log_dir: dict[str, dict[TopicPartition, int]] = {}  # thread: the one that made it

    def fetch(self, log_dir: str, topic_partition: TopicPartition) -> int | None:
        """The partition's offset, None if it has none; KafkaStorageException for a directory out of service."""
        offsets = self._offsets_by_log_dir.get(log_dir)
        if offsets is None:
            checkpoint = self._checkpoints_by_log_dir.get(log_dir)
            if checkpoint is None:  # failed a moment ago; the log manager is still to hear of it
                raise KafkaStorageException(f"Log directory {log_dir} is offline")
            offsets = self._offsets_by_log_dir[log_dir] = checkpoint.read()
        return offsets.get(topic_partition)
