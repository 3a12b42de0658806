"""The files in which a broker keeps the high watermarks of its replicas over a restart.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala @ 1.1.1 (highWatermarkCheckpoints and what is done to it)
Read next: server/checkpoints/offset_checkpoint_file.py
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import KafkaStorageException
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.utils.concurrent import AtomicBoolean
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_py.common.topic_partition import TopicPartition
    from kafka_py.server.hosted_partitions import HostedPartitions
    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel
    from kafka_py.utils.kafka_scheduler import Scheduler

HIGH_WATERMARK_FILENAME = "replication-offset-checkpoint"


class HighWatermarkCheckpoints(Logging):
    """One file per live log directory, written by the scheduler and at shutdown.

    Ours: in 1.1.1 a map and three methods of ReplicaManager.
    Thread: scheduler; whoever stops the broker; LogDirFailureHandler (forget).
    """

    logger_name: ClassVar[str] = "kafka.server.ReplicaManager"

    def __init__(
        self,
        log_ident: str,
        partitions: HostedPartitions,
        log_dirs: Iterable[str | os.PathLike[str]],
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> None:
        self.log_ident = log_ident
        self._partitions = partitions
        self._is_scheduled = AtomicBoolean(False)  # atomic
        # absolute path of a live log directory -> its checkpoint
        self.by_directory = {
            directory: OffsetCheckpointFile(os.path.join(directory, HIGH_WATERMARK_FILENAME), log_dir_failure_channel)
            for directory in (os.path.abspath(os.fspath(d)) for d in log_dirs)
        }  # volatile: LogDirFailureHandler

    def schedule(self, scheduler: Scheduler, period_ms: int) -> None:
        """Have them written from now on; a second call does nothing."""
        if self._is_scheduled.compare_and_set(False, True):
            scheduler.schedule("highwatermark-checkpoint", self.write, period=period_ms)

    def write(self) -> None:
        """Write the high watermarks of all local replicas."""
        for directory in {log.parent_dir for _, log in self._partitions.local_replicas_with_logs()}:
            checkpoint = self.by_directory.get(directory)
            try:
                if checkpoint is not None:
                    checkpoint.write_current(functools.partial(self._high_watermarks_in, directory))
            except KafkaStorageException as e:
                self.error("Error while writing to highwatermark file in directory %s", directory, exc=e)

    def _high_watermarks_in(self, directory: str) -> dict[TopicPartition, int]:
        return {
            replica.topic_partition: replica.high_watermark.message_offset
            for replica, log in self._partitions.local_replicas_with_logs()
            if log.parent_dir == directory
        }

    def forget(self, directory: str) -> None:
        """Write no more to a directory (absolute path) that has failed."""
        self.by_directory = {d: checkpoint for d, checkpoint in self.by_directory.items() if d != directory}
