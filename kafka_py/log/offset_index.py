"""The `.index` file: from an offset to a position in the segment's file.

Mirrors: core/src/main/scala/kafka/log/OffsetIndex.scala @ 1.1.1

An entry is 8 bytes: offset relative to the segment's base (int32), position of its batch (int32). There is one about
every `index.interval.bytes`; a reader scans the log from the entry found.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import InvalidOffsetException
from kafka_py.log.abstract_index import AbstractIndex, IndexSearchType
from kafka_py.log.corrupt_index_exception import CorruptIndexException
from kafka_py.log.index_entry import OffsetPosition

if TYPE_CHECKING:
    import mmap

_ENTRY = struct.Struct(">ii")
_INT = struct.Struct(">i")


class OffsetIndex(AbstractIndex):
    """Sparse map from message offset to file position for one segment.

    Mirrors: kafka.log.OffsetIndex
    Thread: one writer, under Log.lock; any reader, without a lock.
    Differs: a look-up at or behind the last entry, which is where consumers and followers read, is answered without
        a search.
    """

    ENTRY_SIZE: ClassVar[int] = 8

    def __init__(
        self, file: str | os.PathLike[str], base_offset: int, max_index_size: int = -1, writable: bool = True
    ) -> None:
        super().__init__(file, base_offset, max_index_size, writable)
        self._last = self._last_entry()  # volatile: writer under lock
        self.debug(
            "Loaded index file %s with maxEntries = %d, maxIndexSize = %d, entries = %d, lastOffset = %d, "
            "file position = %d",
            self.file,
            self.max_entries,
            max_index_size,
            self._entries,
            self._last.offset,
            self.size_in_bytes,
        )

    def _last_entry(self) -> OffsetPosition:
        """The last entry of the file, (base offset, 0) if it has none. Caller holds lock."""
        if self._entries == 0:
            return OffsetPosition(self.base_offset, 0)
        return self._parse_entry(self._stored(self._entries - 1), 0)

    @property
    def last_offset(self) -> int:
        """Offset of the last entry, the base offset if there is none."""
        return self._last.offset

    def lookup(self, target_offset: int) -> OffsetPosition:
        """The last entry at or below `target_offset`, (base offset, 0) if there is none."""
        last = self._last
        if target_offset >= last.offset:
            return last
        idx = self._mapped()
        slot = self._largest_lower_bound_slot_for(idx, target_offset, IndexSearchType.KEY)
        return OffsetPosition(self.base_offset, 0) if slot == -1 else self._parse_entry(idx, slot)

    def fetch_upper_bound_offset(self, fetch_offset: OffsetPosition, fetch_size: int) -> OffsetPosition | None:
        """An entry that is certainly outside the `fetch_size` bytes from `fetch_offset`, None if no entry is."""
        idx = self._mapped()
        slot = self._smallest_upper_bound_slot_for(idx, fetch_offset.position + fetch_size, IndexSearchType.VALUE)
        return None if slot == -1 else self._parse_entry(idx, slot)

    def _relative_offset(self, buffer: mmap.mmap | bytes, n: int) -> int:
        return int(_INT.unpack_from(buffer, n * 8)[0])

    def _physical(self, buffer: mmap.mmap | bytes, n: int) -> int:
        return int(_INT.unpack_from(buffer, n * 8 + 4)[0])

    def _key_at(self, idx: mmap.mmap | bytes, n: int) -> int:
        return self.base_offset + int(_INT.unpack_from(idx, n * 8)[0])

    def _value_at(self, idx: mmap.mmap | bytes, n: int) -> int:
        return self._physical(idx, n)

    def _parse_entry(self, buffer: mmap.mmap | bytes, n: int) -> OffsetPosition:
        relative, position = _ENTRY.unpack_from(buffer, n * 8)
        return OffsetPosition(self.base_offset + relative, position)

    def entry(self, n: int) -> OffsetPosition:
        """The n-th entry as it is stored, with the offset relative to the base; raises ValueError."""
        if n >= self._entries:
            raise ValueError(f"Attempt to fetch the {n}th entry from an index of size {self._entries}.")
        stored = self._stored(n)
        return OffsetPosition(self._relative_offset(stored, 0), self._physical(stored, 0))

    def append(self, offset: int, position: int) -> None:
        """Add an entry; raises InvalidOffsetException unless `offset` is above the last, ValueError if full."""
        with self.lock:
            if self.is_full:
                raise ValueError(f"Attempt to append to a full index (size = {self._entries}).")
            if self._entries != 0 and offset <= self._last.offset:
                raise InvalidOffsetException(
                    f"Attempt to append an offset ({offset}) to position {self._entries} no larger than the last "
                    f"offset appended ({self._last.offset}) to {self.file.absolute()}."
                )
            if self.is_debug_enabled:
                self.debug("Adding index entry %d => %d to %s.", offset, position, self.file.name)
            self._put(_ENTRY.pack(offset - self.base_offset, position))
            self._entries += 1
            self._last = OffsetPosition(offset, position)

    def _truncate(self) -> None:
        self._truncate_to_entries(0)

    def truncate_to(self, offset: int) -> None:
        """Forget the entries for `offset` and later offsets."""
        with self.lock:
            idx = self._mapped()
            slot = self._largest_lower_bound_slot_for(idx, offset, IndexSearchType.KEY)
            # nothing at or below the offset: all goes; the very offset found: it goes too; else all behind the slot
            if slot < 0:
                new_entries = 0
            elif self._relative_offset(idx, slot) == offset - self.base_offset:
                new_entries = slot
            else:
                new_entries = slot + 1
            self._truncate_to_entries(new_entries)

    def _truncate_to_entries(self, entries: int) -> None:
        with self.lock:
            self._entries = entries
            self._last = self._last_entry()

    def sanity_check(self) -> None:
        """Raise CorruptIndexException if the last offset or the file's length is impossible."""
        if self._entries != 0 and self._last.offset <= self.base_offset:
            raise CorruptIndexException(
                f"Corrupt index found, index file ({self.file.absolute()}) has non-zero size but the last offset is "
                f"{self._last.offset} which is no greater than the base offset {self.base_offset}."
            )
        if self.length % self.entry_size != 0:
            raise CorruptIndexException(
                f"Index file {self.file.absolute()} is corrupt, found {self.length} bytes which is neither positive "
                f"nor a multiple of {self.entry_size}."
            )
