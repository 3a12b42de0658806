"""An open file that several FileRecords share.

Ours: stands for java.nio.channels.FileChannel, as far as records need it.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_CLOSED_NUMBER = -1


class FileDescriptor:
    """The number of an open file, given back to the system when nobody uses it any more.

    Whoever calls a method holds a reference to this object until the call is over. So the number cannot be given back,
    and to another file, between the moment a thread has read it and the system call, although no lock is taken: the
    last of owner and callers closes the file. Hence nothing but this class sees the number.

    Thread: any.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number: Final = number

    def is_open(self) -> bool:
        """Return whether there is a file behind it."""
        return self._number >= 0

    def size(self) -> int:
        """Return the size of the file."""
        return os.fstat(self._number).st_size

    def write(self, data: bytes | bytearray | memoryview, position: int) -> int:
        """Write at an absolute position; return the bytes written, which may be fewer."""
        return os.pwrite(self._number, data, position)

    def read(self, size: int, position: int) -> bytes:
        """Read up to size bytes at an absolute position; fewer only at the end of the file."""
        number = self._number
        data = os.pread(number, size, position)
        while len(data) < size:
            more = os.pread(number, size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def read_into(self, view: memoryview, position: int) -> int:
        """Fill view from an absolute position; return the bytes read, fewer only at the end of the file."""
        done = 0
        while done < len(view):
            count = os.preadv(self._number, [view[done:]], position + done)
            if count == 0:
                break
            done += count
        return done

    def transfer_to(self, position: int, count: int, target_fd: int) -> int:
        """Copy bytes to another descriptor inside the kernel; return how many."""
        return os.sendfile(target_fd, self._number, position, count)

    def truncate(self, size: int) -> None:
        """Cut the file off, or lengthen it with zeros."""
        os.ftruncate(self._number, size)

    def force(self) -> None:
        """Wait until data and metadata are on disk."""
        if self._number < 0:  # os.fsync would call this a ValueError
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        os.fsync(self._number)

    def __del__(self) -> None:
        if self._number >= 0:
            os.close(self._number)


_CLOSED: Final = FileDescriptor(_CLOSED_NUMBER)


class FileChannel:
    """A file descriptor with a write position; what is called after close fails with EBADF.

    Thread: one writer (under Log.lock); readers use absolute positions and may be many. A close waits for nobody: a
    call that has begun goes on with the file it began with.
    """

    __slots__ = ("_descriptor", "position")

    def __init__(self, fd: int) -> None:
        self._descriptor = FileDescriptor(fd)  # volatile: whoever closes it
        self.position = 0  # volatile: the writer

    @classmethod
    def open(cls, path: Path, mutable: bool) -> FileChannel:
        """Open a file, created if mutable and missing."""
        flags = os.O_RDWR | os.O_CREAT if mutable else os.O_RDONLY
        return cls(os.open(path, flags | os.O_CLOEXEC, 0o644))

    def size(self) -> int:
        """Return the size of the file."""
        return self._descriptor.size()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write at the position and move it; return the bytes written, which may be fewer."""
        written = self._descriptor.write(data, self.position)
        self.position += written
        return written

    def read(self, size: int, position: int) -> bytes:
        """Read up to size bytes at an absolute position; fewer only at the end of the file."""
        return self._descriptor.read(size, position)

    def read_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill buffer from an absolute position; return the bytes read, fewer only at the end of the file."""
        return self._descriptor.read_into(memoryview(buffer), position)

    def transfer_to(self, position: int, count: int, target_fd: int) -> int:
        """Copy bytes to another descriptor inside the kernel; return how many."""
        return self._descriptor.transfer_to(position, count, target_fd)

    def truncate(self, size: int) -> None:
        """Cut the file off; a write position behind the new end moves there."""
        self._descriptor.truncate(size)
        self.position = min(self.position, size)

    def force(self) -> None:
        """Wait until data and metadata are on disk."""
        self._descriptor.force()

    def is_open(self) -> bool:
        """Return whether close was not called yet."""
        return self._descriptor.is_open()

    def close(self) -> None:
        """Let go of the descriptor."""
        self._descriptor = _CLOSED
