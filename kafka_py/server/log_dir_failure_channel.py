"""How any thread reports that a log directory broke.

Mirrors: core/src/main/scala/kafka/server/LogDirFailureChannel.scala @ 1.1.1
"""

from __future__ import annotations

from kafka_py.utils.concurrent import ArrayBlockingQueue, ConcurrentHashMap
from kafka_py.utils.core_utils import is_out_of_descriptors
from kafka_py.utils.logging import Logging


class LogDirFailureChannel(Logging):
    """Collects failed log directories, each once, for the thread that takes them out of service.

    Every class that does disk I/O gets the one channel of the broker and reports an OSError here; the
    LogDirFailureHandler thread waits in `take_next_offline_log_dir`. A directory stays offline until a restart.

    Mirrors: kafka.server.LogDirFailureChannel
    Thread: any may report; LogDirFailureHandler takes.
    Differs: has `has_offline_log_dir` of later versions. A process that has as many open files as it may have says
        nothing about its disk: what failed is an error for who asked for it, and the directory stays in service. Kafka
        ends when a topic too many is created.
    """

    def __init__(self, log_dir_num: int) -> None:
        self._offline_log_dirs: ConcurrentHashMap[str, str] = ConcurrentHashMap()  # atomic
        self._offline_log_dir_queue: ArrayBlockingQueue[str] = ArrayBlockingQueue(
            max(log_dir_num, 1)
        )  # handoff: any -> LogDirFailureHandler

    def maybe_add_offline_log_dir(self, log_dir: str, msg: str, e: OSError) -> None:
        """Log the error, and queue `log_dir` (absolute path) unless it was reported before."""
        if is_out_of_descriptors(e):
            self.error("%s: %s. Log directory %s stays in service", msg, e.strerror, log_dir)
            return
        self.error(msg, exc=e)
        if self._offline_log_dirs.put_if_absent(log_dir, log_dir) is None:
            self._offline_log_dir_queue.offer(log_dir)

    def has_offline_log_dir(self, log_dir: str) -> bool:
        """Whether `log_dir` (absolute path) was reported; it may be in service for another moment."""
        return log_dir in self._offline_log_dirs

    def take_next_offline_log_dir(self) -> str:
        """Wait for the next directory that went offline and return it."""
        return self._offline_log_dir_queue.take()
