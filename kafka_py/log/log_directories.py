"""The log directories of a broker: which are usable, locked, in service.

Mirrors: core/src/main/scala/kafka/log/LogManager.scala @ 1.1.1 (the part that deals with directories, not with logs)
"""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from kafka_py.common.errors import KafkaException, LogDirNotFoundException
from kafka_py.common.utils.exit import Exit
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.utils.file_lock import FileLock
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel

PathLike: TypeAlias = "str | os.PathLike[str]"


class LogDirectories(Logging):
    """The directories of a LogManager, their locks and their checkpoint files.

    Thread: any. Directories leave service under LogManager's lock.
    """

    logger_name: ClassVar[str] = "kafka.log.LogManager"

    LOCK_FILE = ".lock"
    RECOVERY_POINT_CHECKPOINT_FILE = "recovery-point-offset-checkpoint"
    LOG_START_OFFSET_CHECKPOINT_FILE = "log-start-offset-checkpoint"

    def __init__(
        self,
        log_dirs: Sequence[PathLike],
        initial_offline_dirs: Sequence[PathLike],
        log_dir_failure_channel: LogDirFailureChannel,
    ) -> None:
        self._log_dir_failure_channel = log_dir_failure_channel
        self.log_dirs = [pathlib.Path(d).absolute() for d in log_dirs]
        offline = [pathlib.Path(d).absolute() for d in initial_offline_dirs]
        self._live_log_dirs = self._create_and_validate_log_dirs(self.log_dirs, offline)  # volatile: writer under lock
        self._dir_locks = self._lock_log_dirs(self._live_log_dirs)
        self.recovery_point_checkpoints: dict[pathlib.Path, OffsetCheckpointFile] = {}  # volatile: writer under lock
        self.log_start_offset_checkpoints: dict[pathlib.Path, OffsetCheckpointFile] = {}  # volatile: writer under lock

    @property
    def live_log_dirs(self) -> list[pathlib.Path]:
        """The directories in service, as absolute paths."""
        return list(self._live_log_dirs)

    @property
    def offline_log_dirs(self) -> list[pathlib.Path]:
        """The directories out of service."""
        live = self._live_log_dirs
        return [d for d in self.log_dirs if d not in live]

    def _create_and_validate_log_dirs(
        self, dirs: Sequence[pathlib.Path], initial_offline_dirs: Sequence[pathlib.Path]
    ) -> tuple[pathlib.Path, ...]:
        """Make missing directories; the readable ones. Two that are the same: KafkaException; none readable: halt."""
        if len({d.resolve() for d in dirs}) < len(dirs):
            raise KafkaException(f"Duplicate log directory found: {', '.join(map(str, dirs))}")
        live_log_dirs = []
        for dir in dirs:
            try:
                if dir in initial_offline_dirs:
                    raise OSError(f"Failed to load {dir} during broker startup")
                if not dir.exists():
                    self.info("Log directory '%s' not found, creating it.", dir)
                    dir.mkdir(parents=True)
                if not dir.is_dir() or not os.access(dir, os.R_OK):
                    raise OSError(f"{dir} is not a readable log directory.")
                live_log_dirs.append(dir)
            except OSError as e:
                self._log_dir_failure_channel.maybe_add_offline_log_dir(
                    str(dir), f"Failed to create or validate data directory {dir}", e
                )
        if not live_log_dirs:
            self.fatal(
                "Shutdown broker because none of the specified log dirs from %s can be created or validated",
                ", ".join(map(str, dirs)),
            )
            Exit.halt(1)
        return tuple(live_log_dirs)

    def _remove_live_log_dir(self, dir: pathlib.Path) -> None:
        self._live_log_dirs = tuple(d for d in self._live_log_dirs if d != dir)
        if not self._live_log_dirs:
            self.fatal("Shutdown broker because all log dirs in %s have failed", ", ".join(map(str, self.log_dirs)))
            Exit.halt(1)

    def take_out_of_service(self, dir: pathlib.Path) -> None:
        """Forget a directory and its checkpoints; the last one halts the process. Caller holds LogManager's lock."""
        self._remove_live_log_dir(dir)
        self.recovery_point_checkpoints = {d: c for d, c in self.recovery_point_checkpoints.items() if d != dir}
        self.log_start_offset_checkpoints = {d: c for d, c in self.log_start_offset_checkpoints.items() if d != dir}

    def unlock(self, dir: str) -> None:
        """Let another broker take a directory."""
        for lock in self._dir_locks:
            if str(pathlib.Path(lock.file).parent) == dir:
                try:
                    lock.destroy()
                except OSError as e:
                    self.warn("%s", e, exc=e)

    def unlock_all(self) -> None:
        """Let another broker take all directories; raises OSError."""
        for lock in self._dir_locks:
            lock.destroy()

    def _lock_log_dirs(self, dirs: Sequence[pathlib.Path]) -> list[FileLock]:
        """Lock the directories against other brokers; KafkaException if one of them is locked."""
        locks: list[FileLock] = []
        for dir in dirs:
            try:
                lock = FileLock(dir / self.LOCK_FILE)
                if not lock.try_lock():
                    lock.destroy()
                    for taken in locks:
                        taken.destroy()
                    raise KafkaException(
                        f"Failed to acquire lock on file .lock in {dir}. A Kafka instance in another process or "
                        "thread is using this directory."
                    )
                locks.append(lock)
            except OSError as e:
                self._start_up_failure(dir, f"Disk error while locking directory {dir}", e)
        return locks

    def open_checkpoints(self) -> None:
        """Open the checkpoint files; a directory where that fails goes out of service."""
        for dir in self._live_log_dirs:
            try:
                recovery_points = OffsetCheckpointFile(
                    dir / self.RECOVERY_POINT_CHECKPOINT_FILE, self._log_dir_failure_channel
                )
                log_start_offsets = OffsetCheckpointFile(
                    dir / self.LOG_START_OFFSET_CHECKPOINT_FILE, self._log_dir_failure_channel
                )
                # Made here, so that they are found by the cleaner and the replica manager, who cannot do without.
                for name in self._others_checkpoint_files():
                    OffsetCheckpointFile(dir / name, self._log_dir_failure_channel)
                self.recovery_point_checkpoints[dir] = recovery_points
                self.log_start_offset_checkpoints[dir] = log_start_offsets
            except OSError as e:
                self._start_up_failure(dir, f"Disk error while opening the checkpoint files in directory {dir}", e)

    @staticmethod
    def _others_checkpoint_files() -> tuple[str, ...]:
        from kafka_py.log.log_cleaner_manager import LogCleanerManager
        from kafka_py.server.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME

        return LogCleanerManager.offset_checkpoint_file, HIGH_WATERMARK_FILENAME

    def _start_up_failure(self, dir: pathlib.Path, msg: str, e: OSError) -> None:
        """A directory turned out to be unusable before any log was loaded from it."""
        self._log_dir_failure_channel.maybe_add_offline_log_dir(str(dir), msg, e)
        self._remove_live_log_dir(dir)

    def is_log_dir_online(self, log_dir: str) -> bool:
        """Whether a directory (absolute path) is in service; LogDirNotFoundException if it is none of ours."""
        if all(str(d) != log_dir for d in self.log_dirs):
            raise LogDirNotFoundException(f"Log dir {log_dir} is not found in the config.")
        return pathlib.Path(log_dir) in self._live_log_dirs
