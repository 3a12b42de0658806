"""A file that only one holder has.

Mirrors: core/src/main/scala/kafka/utils/FileLock.scala @ 1.1.1
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.logging import Logging

# Linux's commands for locks that belong to the open file, not to the process; Python has no names for them
_F_OFD_SETLK = 37
_F_OFD_SETLKW = 38
_FLOCK = "hhqqi4x"  # l_type, l_whence, l_start, l_len, l_pid


class FileLock(Logging):
    """Locks a file, made if it is not there, against other processes and against other locks of this one.

    Mirrors: kafka.utils.FileLock
    Locks: _guard around each step.
    Differs: the lock belongs to this object's open file. A process's lock, as the JVM takes it, is lost when any
    other handle of the same file is closed. The two kinds exclude each other, so a Java broker and this one do too.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = os.fspath(file)
        self._guard = ReentrantLock()
        self._fd: int | None = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)  # guarded by: _guard

    def _control(self, command: int, kind: int) -> None:
        """Ask the operating system; OSError if the lock was destroyed. Caller holds _guard."""
        if self._fd is None:
            raise OSError(errno.EBADF, "the lock was destroyed", self.file)
        fcntl.fcntl(self._fd, command, struct.pack(_FLOCK, kind, os.SEEK_SET, 0, 0, 0))

    def lock(self) -> None:
        """Wait for the lock."""
        with self._guard:
            self.trace("Acquiring lock on %s", self.file)
            self._control(_F_OFD_SETLKW, fcntl.F_WRLCK)

    def try_lock(self) -> bool:
        """Take the lock if nobody else has it; whether it was taken."""
        with self._guard:
            self.trace("Acquiring lock on %s", self.file)
            try:
                self._control(_F_OFD_SETLK, fcntl.F_WRLCK)
            except (BlockingIOError, PermissionError):  # which of the two depends on the file system
                return False
            return True

    def unlock(self) -> None:
        """Give the lock back, if it is held."""
        with self._guard:
            self.trace("Releasing lock on %s", self.file)
            self._control(_F_OFD_SETLK, fcntl.F_UNLCK)

    def destroy(self) -> None:
        """Give the lock back and close the file."""
        with self._guard:
            if self._fd is not None:
                self.unlock()
                os.close(self._fd)
                self._fd = None
