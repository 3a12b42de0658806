"""What becomes of a log directory that has failed.

Mirrors: core/src/main/scala/kafka/server/ReplicaManager.scala (LogDirFailureHandler) @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.utils.exit import Exit
from kafka_py.utils.concurrent import InterruptedException
from kafka_py.utils.shutdownable_thread import ShutdownableThread

if TYPE_CHECKING:
    from kafka_py.server.replica_manager import ReplicaManager


class LogDirFailureHandler(ShutdownableThread):
    """Waits for failed log directories and takes them out of service.

    Mirrors: kafka.server.ReplicaManager.LogDirFailureHandler
    Differs: an error with one directory is logged; in Kafka it ends the thread, and no later one is handled.
    """

    def __init__(self, replica_manager: ReplicaManager, name: str, halt_broker_on_dir_failure: bool) -> None:
        super().__init__(name)
        self._replica_manager = replica_manager
        self._halt_broker_on_dir_failure = halt_broker_on_dir_failure

    def do_work(self) -> None:
        """Handle one directory."""
        manager = self._replica_manager
        new_offline_log_dir = manager._log_dir_failure_channel.take_next_offline_log_dir()
        if self._halt_broker_on_dir_failure:
            self.fatal("Halting broker because dir %s is offline", new_offline_log_dir)
            Exit.halt(1)
        try:
            manager.handle_log_dir_failure(new_offline_log_dir)
        except InterruptedException:
            raise  # asked to stop
        except Exception as e:  # noqa: BLE001  it must not keep the next directory from being taken out of service
            self.error("Error while taking log directory %s out of service", new_offline_log_dir, exc=e)
