"""An open file that several FileRecords share.

Ours: stands for java.nio.channels.FileChannel, as far as records need it.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class FileChannel:
    """A file descriptor with a write position; after close the descriptor is -1, so that no slice uses it on.

    Thread: one writer (under Log.lock); readers use absolute positions and may be many.
    """

    __slots__ = ("fd", "position")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.position = 0

    @classmethod
    def open(cls, path: Path, mutable: bool) -> FileChannel:
        """Open a file, created if mutable and missing."""
        flags = os.O_RDWR | os.O_CREAT if mutable else os.O_RDONLY
        return cls(os.open(path, flags | os.O_CLOEXEC, 0o644))

    def size(self) -> int:
        """Return the size of the file."""
        return os.fstat(self.fd).st_size

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write at the position and move it; return the bytes written, which may be fewer."""
        written = os.pwrite(self.fd, data, self.position)
        self.position += written
        return written

    def read(self, size: int, position: int) -> bytes:
        """Read up to size bytes at an absolute position; fewer only at the end of the file."""
        data = os.pread(self.fd, size, position)
        while len(data) < size:
            more = os.pread(self.fd, size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill buffer from an absolute position; return the bytes read, fewer only at the end of the file."""
        view = memoryview(buffer)
        done = 0
        while done < len(view):
            count = os.preadv(self.fd, [view[done:]], position + done)
            if count == 0:
                break
            done += count
        return done

    def transfer_to(self, position: int, count: int, target_fd: int) -> int:
        """Copy bytes to another descriptor inside the kernel; return how many."""
        return os.sendfile(target_fd, self.fd, position, count)

    def truncate(self, size: int) -> None:
        """Cut the file off; a write position behind the new end moves there."""
        os.ftruncate(self.fd, size)
        self.position = min(self.position, size)

    def force(self) -> None:
        """Wait until data and metadata are on disk."""
        fd = self.fd
        if fd < 0:  # os.fsync would call this a ValueError
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.fsync(fd)

    def is_open(self) -> bool:
        """Return whether close was not called yet."""
        return self.fd >= 0

    def close(self) -> None:
        """Close the descriptor, once."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
