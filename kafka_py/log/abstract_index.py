"""What the offset index and the time index have in common: a preallocated file of fixed-size entries.

Mirrors: core/src/main/scala/kafka/log/AbstractIndex.scala @ 1.1.1

The file of an active segment is as long as `segment.index.bytes`; it is cut to the entries it holds when the segment
is rolled or closed. Entries are written with `pwrite` and read through a memory map:

- storing through a map into a file that is sparse kills the process with SIGBUS when the disk is full, while `pwrite`
  raises OSError, which takes the log directory offline as any other disk error does;
- reserving the blocks up front would cost 20 MB of real disk per partition.

Nor is a hole looked at through the map: see `AbstractIndex._stored`.

A broker has two indexes for every segment, and their descriptors are dear: before 3.13 Python's map keeps one
of its own besides. So an index without entries has no file open, one that is written to has its file open, and only a
search makes the map: of a thousand new partitions a thousand files are open, and not five thousand.

The bytes in the file are Kafka's.
"""

from __future__ import annotations

import errno
import mmap
import os
import pathlib
import sys
from abc import ABC, abstractmethod
from typing import ClassVar

from kafka_py.log.index_entry import IndexEntry
from kafka_py.utils.concurrent import ReentrantLock
from kafka_py.utils.core_utils import is_out_of_descriptors
from kafka_py.utils.logging import Logging

if sys.version_info >= (3, 13):

    def _new_map(fd: int, length: int, access: int) -> mmap.mmap:
        return mmap.mmap(fd, length, access=access, trackfd=False)

else:

    def _new_map(fd: int, length: int, access: int) -> mmap.mmap:
        return mmap.mmap(fd, length, access=access)  # it keeps a descriptor of its own


class IndexSearchType:
    """Whether a look-up compares the entries' keys or their values.

    Mirrors: kafka.log.IndexSearchType
    """

    KEY: ClassVar[str] = "KEY"
    VALUE: ClassVar[str] = "VALUE"


class AbstractIndex(Logging, ABC):
    """A file of sorted entries of `ENTRY_SIZE` bytes, found by binary search.

    Mirrors: kafka.log.AbstractIndex
    Thread: one writer, under Log.lock; any reader, without a lock.
    Locks: `lock` orders writes, resizes and closing.
    Differs: entries are written with pwrite, not through the map, and file and map are opened when they are needed
        (see the module docstring). A reader takes one reference to the current map and searches that, so a resize or
        unmap under it is harmless. Kafka's
        `compareIndexEntry` on entry objects is here `_key_at` and `_value_at` on the bytes.
    """

    ENTRY_SIZE: ClassVar[int]

    def __init__(
        self,
        file: str | os.PathLike[str],
        base_offset: int,
        max_index_size: int = -1,
        writable: bool = True,
    ) -> None:
        self.file = pathlib.Path(file)  # volatile: renamer under Log.lock
        self.base_offset = base_offset
        self.max_index_size = max_index_size
        self.writable = writable
        self.lock = ReentrantLock()
        self._fd: int | None = None  # volatile: writer under lock
        self._mmap: mmap.mmap | bytes | None = None  # volatile: under lock; made by the first search
        self._closed = False  # volatile: writer under lock
        self._length = 0  # volatile: writer under lock
        newly_created = not self.file.exists()
        if newly_created and max_index_size < self.entry_size:
            raise ValueError(f"Invalid max index size: {max_index_size}")
        fd = os.open(self.file, (os.O_RDWR | os.O_CREAT) if writable or newly_created else os.O_RDONLY, 0o644)
        try:
            if newly_created:
                os.ftruncate(fd, self._round_down_to_exact_multiple(max_index_size, self.entry_size))
            self._measure(fd)
        except BaseException:
            os.close(fd)
            raise
        self._entries = 0 if newly_created else self._length // self.entry_size  # volatile: writer under lock
        self._fd = fd  # volatile: writer under lock
        if not self._entries:
            self._close_fd()

    @property
    def entry_size(self) -> int:
        """Bytes of one entry."""
        return self.ENTRY_SIZE

    def _measure(self, fd: int) -> None:
        """Take the length of the file; a map of another length is not for new searches. Caller holds lock."""
        self._length = os.fstat(fd).st_size
        self._mmap = None
        self._max_entries = self._length // self.entry_size

    def _mapped(self) -> mmap.mmap | bytes:
        """The current map; raises OSError once the index is unmapped, as reading the log's closed file does."""
        mapped = self._mmap
        return self._map() if mapped is None else mapped

    def _map(self) -> mmap.mmap | bytes:
        """Map the whole file, which is open if there is anything to find in it.

        Without a descriptor for the map the entries are read for this one search.
        """
        with self.lock:
            if self._closed:
                raise OSError(errno.EBADF, "The index is closed", os.fspath(self.file))
            mapped = self._mmap
            if mapped is not None:
                return mapped
            if self._fd is None:
                return b""
            try:
                access = mmap.ACCESS_WRITE if self.writable else mmap.ACCESS_READ
                mapped = self._mmap = _new_map(self._fd, self._length, access) if self._length else b""
            except OSError as e:
                if not is_out_of_descriptors(e):
                    raise
                return os.pread(self._fd, self._entries * self.entry_size, 0)
            return mapped

    def _stored(self, n: int) -> bytes:
        """The bytes of the n-th entry, read around the map while the file is open for writing; raises OSError.

        A crash leaves the file as long as it was preallocated, which is mostly holes. To look at a hole through a map
        takes a page of tmpfs, and kills the process with SIGBUS when there is none left.
        """
        fd, size = self._fd, self.entry_size
        return self._mapped()[n * size : (n + 1) * size] if fd is None else os.pread(fd, size, n * size)

    @property
    def is_full(self) -> bool:
        """Whether no further entry fits."""
        return self._entries >= self._max_entries

    @property
    def max_entries(self) -> int:
        """How many entries the file has room for."""
        return self._max_entries

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return self._entries

    @property
    def length(self) -> int:
        """Bytes of the file."""
        return self._length

    def _put(self, entry: bytes) -> None:
        """Write one entry behind the last; raises OSError with nothing changed. Caller holds lock."""
        fd = self._fd
        if fd is None:
            fd = self._open()
        if os.pwrite(fd, entry, self._entries * len(entry)) != len(entry):
            raise OSError(f"Short write to index {self.file}")

    def open_for_append(self) -> None:
        """Have the file open, so that no descriptor is missing in the middle of an append; raises OSError."""
        if self._fd is None:
            with self.lock:
                self._open()

    def _open(self) -> int:
        """The descriptor, opened if there is none. Caller holds lock."""
        fd = self._fd
        if fd is None:
            fd = self._fd = os.open(self.file, os.O_RDWR)
        return fd

    def resize(self, new_size: int) -> bool:
        """Make the file `new_size` bytes, rounded down to whole entries; False if it has that size already.

        It grows when its segment becomes the active one, and shrinks to what is used when the segment is rolled.
        """
        with self.lock:
            rounded = self._round_down_to_exact_multiple(new_size, self.entry_size)
            if self._length == rounded:
                return False
            fd = self._open()
            os.ftruncate(fd, rounded)
            self._measure(fd)
            if not self._entries:
                self._close_fd()
            return True

    def rename_to(self, f: str | os.PathLike[str]) -> None:
        """Rename the file; raises OSError. The new name is taken in any case, as in Kafka."""
        try:
            os.replace(self.file, f)
        finally:
            self.file = pathlib.Path(f)

    def flush(self) -> None:
        """Write the entries through to the disk."""
        with self.lock:
            if self._fd is not None:
                os.fdatasync(self._fd)
            elif isinstance(self._mmap, mmap.mmap):
                self._mmap.flush()

    def delete_if_exists(self) -> bool:
        """Unmap and delete the file; False if there was none. Raises OSError."""
        with self.lock:
            self._safe_force_unmap()
        try:
            os.unlink(self.file)
        except FileNotFoundError:
            return False
        return True

    def trim_to_valid_size(self) -> None:
        """Cut the file behind the last entry; a later append opens it again, searches have the map."""
        with self.lock:
            self.resize(self.entry_size * self._entries)
            if not self._entries or isinstance(self._map(), mmap.mmap):
                self._close_fd()

    @property
    def size_in_bytes(self) -> int:
        """Bytes taken by the entries."""
        return self.entry_size * self._entries

    def close(self) -> None:
        """Trim the file; it stays readable until it is deleted."""
        with self.lock:
            if not self._closed:
                self.trim_to_valid_size()

    def close_handler(self) -> None:
        """Let go of the file without writing, because its disk may have failed."""
        with self.lock:
            self._safe_force_unmap()

    @abstractmethod
    def sanity_check(self) -> None:
        """Raise CorruptIndexException if the file cannot be right."""

    @abstractmethod
    def _truncate(self) -> None:
        """Forget all entries."""

    @abstractmethod
    def truncate_to(self, offset: int) -> None:
        """Forget the entries for `offset` and later ones."""

    def reset(self) -> None:
        """Forget all entries and make the file its full size again."""
        self._truncate()
        self.resize(self.max_index_size)

    def _safe_force_unmap(self) -> None:
        """Unmap, logging what goes wrong. Caller holds lock."""
        try:
            self._force_unmap()
        except OSError as e:
            self.error("Error unmapping index %s", self.file, exc=e)

    def _force_unmap(self) -> None:
        """Drop the map and the descriptor; a search that has the map goes on safely. Caller holds lock."""
        self._closed = True
        self._mmap = None
        self._close_fd()

    def _close_fd(self) -> None:
        """Close the descriptor used for writing. Caller holds lock."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def __del__(self) -> None:
        fd = getattr(self, "_fd", None)
        if fd is not None:
            os.close(fd)

    @abstractmethod
    def _parse_entry(self, buffer: mmap.mmap | bytes, n: int) -> IndexEntry:
        """The n-th entry."""

    @abstractmethod
    def _key_at(self, idx: mmap.mmap | bytes, n: int) -> int:
        """Key of the n-th entry."""

    @abstractmethod
    def _value_at(self, idx: mmap.mmap | bytes, n: int) -> int:
        """Value of the n-th entry."""

    def _largest_lower_bound_slot_for(self, idx: mmap.mmap | bytes, target: int, search_entity: str) -> int:
        """Slot of the last entry not above `target`, -1 if there is none."""
        return self._index_slot_range_for(idx, target, search_entity)[0]

    def _smallest_upper_bound_slot_for(self, idx: mmap.mmap | bytes, target: int, search_entity: str) -> int:
        """Slot of the first entry not below `target`, -1 if there is none."""
        return self._index_slot_range_for(idx, target, search_entity)[1]

    def _index_slot_range_for(self, idx: mmap.mmap | bytes, target: int, search_entity: str) -> tuple[int, int]:
        """The slots around `target`, or twice the slot that equals it."""
        at = self._key_at if search_entity == IndexSearchType.KEY else self._value_at
        entries = min(self._entries, len(idx) // self.entry_size)
        if entries == 0:
            return -1, -1
        if at(idx, 0) > target:
            return -1, 0
        lo, hi = 0, entries - 1
        while lo < hi:
            mid = (lo + hi + 1) >> 1
            found = at(idx, mid)
            if found > target:
                hi = mid - 1
            elif found < target:
                lo = mid
            else:
                return mid, mid
        return lo, (-1 if lo == entries - 1 else lo + 1)

    @staticmethod
    def _round_down_to_exact_multiple(number: int, factor: int) -> int:
        """67 and 8 give 64."""
        return factor * (number // factor)
