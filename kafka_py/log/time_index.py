"""The `.timeindex` file: from a timestamp to an offset.

Mirrors: core/src/main/scala/kafka/log/TimeIndex.scala @ 1.1.1

An entry is 12 bytes: timestamp in ms (int64), offset relative to the segment's base (int32). It says that no message
up to that offset is younger than the timestamp; timestamps in the file only grow.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, ClassVar

from kafka_py.common.errors import IllegalStateException, InvalidOffsetException
from kafka_py.log.abstract_index import AbstractIndex, IndexSearchType
from kafka_py.log.corrupt_index_exception import CorruptIndexException
from kafka_py.log.index_entry import TimestampOffset

if TYPE_CHECKING:
    import mmap

_ENTRY = struct.Struct(">qi")
_LONG = struct.Struct(">q")
_INT = struct.Struct(">i")
_NO_TIMESTAMP = -1
_SANITY_SAMPLES = 16


class TimeIndex(AbstractIndex):
    """Sparse map from timestamp to offset for one segment.

    Mirrors: kafka.log.TimeIndex
    Thread: one writer, under Log.lock; any reader, without a lock.
    Differs: `sanity_check` also looks at the order of some entries.
    """

    ENTRY_SIZE: ClassVar[int] = 12

    def __init__(
        self, file: str | os.PathLike[str], base_offset: int, max_index_size: int = -1, writable: bool = True
    ) -> None:
        super().__init__(file, base_offset, max_index_size, writable)
        self._last_entry = self._last_entry_from_index_file()  # volatile: writer under lock

    @property
    def is_full(self) -> bool:
        """Whether only the slot is left that rolling the segment will need."""
        return self._entries >= self._max_entries - 1

    def _timestamp(self, buffer: mmap.mmap | bytes, n: int) -> int:
        return int(_LONG.unpack_from(buffer, n * 12)[0])

    def _relative_offset(self, buffer: mmap.mmap | bytes, n: int) -> int:
        return int(_INT.unpack_from(buffer, n * 12 + 8)[0])

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry, (-1, base offset) if there is none."""
        return self._last_entry

    def _last_entry_from_index_file(self) -> TimestampOffset:
        """The last entry as the file has it. Caller holds lock."""
        if self._entries == 0:
            return TimestampOffset(_NO_TIMESTAMP, self.base_offset)
        return self._parse_entry(self._stored(self._entries - 1), 0)

    def entry(self, n: int) -> TimestampOffset:
        """The n-th entry as it is stored, with the offset relative to the base; raises ValueError."""
        if n >= self._entries:
            raise ValueError(f"Attempt to fetch the {n}th entry from a time index of size {self._entries}.")
        stored = self._stored(n)
        return TimestampOffset(self._timestamp(stored, 0), self._relative_offset(stored, 0))

    def _key_at(self, idx: mmap.mmap | bytes, n: int) -> int:
        return self._timestamp(idx, n)

    def _value_at(self, idx: mmap.mmap | bytes, n: int) -> int:
        return self.base_offset + self._relative_offset(idx, n)

    def _parse_entry(self, buffer: mmap.mmap | bytes, n: int) -> TimestampOffset:
        timestamp, relative = _ENTRY.unpack_from(buffer, n * 12)
        return TimestampOffset(timestamp, self.base_offset + relative)

    def maybe_append(self, timestamp: int, offset: int, skip_full_check: bool = False) -> None:
        """Add an entry if `timestamp` is above the last one.

        Raises InvalidOffsetException or IllegalStateException if offset or timestamp went back, ValueError if the
        index is full. Rolling and closing a segment skip the check, and may repeat the last entry, which is ignored.
        """
        with self.lock:
            if not skip_full_check and self.is_full:
                raise ValueError(f"Attempt to append to a full time index (size = {self._entries}).")
            last = self._last_entry
            if self._entries != 0 and offset < last.offset:
                raise InvalidOffsetException(
                    f"Attempt to append an offset ({offset}) to slot {self._entries} no larger than the last offset "
                    f"appended ({last.offset}) to {self.file.absolute()}."
                )
            if self._entries != 0 and timestamp < last.timestamp:
                raise IllegalStateException(
                    f"Attempt to append a timestamp ({timestamp}) to slot {self._entries} no larger than the last "
                    f"timestamp appended ({last.timestamp}) to {self.file.absolute()}."
                )
            # message format v0 has no timestamps: then the index stays empty
            if timestamp > last.timestamp:
                if self.is_debug_enabled:
                    self.debug("Adding index entry %d => %d to %s.", timestamp, offset, self.file.name)
                self._put(_ENTRY.pack(timestamp, offset - self.base_offset))
                self._entries += 1
                self._last_entry = TimestampOffset(timestamp, offset)

    def lookup(self, target_timestamp: int) -> TimestampOffset:
        """The last entry at or before `target_timestamp`, (-1, base offset) if there is none."""
        idx = self._mapped()
        slot = self._largest_lower_bound_slot_for(idx, target_timestamp, IndexSearchType.KEY)
        return TimestampOffset(_NO_TIMESTAMP, self.base_offset) if slot == -1 else self._parse_entry(idx, slot)

    def _truncate(self) -> None:
        self._truncate_to_entries(0)

    def truncate_to(self, offset: int) -> None:
        """Forget the entries for `offset` and later offsets."""
        with self.lock:
            idx = self._mapped()
            slot = self._largest_lower_bound_slot_for(idx, offset, IndexSearchType.VALUE)
            # the same three cases as in the offset index
            if slot < 0:
                new_entries = 0
            elif self._relative_offset(idx, slot) == offset - self.base_offset:
                new_entries = slot
            else:
                new_entries = slot + 1
            self._truncate_to_entries(new_entries)

    def resize(self, new_size: int) -> bool:
        """As AbstractIndex.resize; reads the last entry again."""
        with self.lock:
            if not super().resize(new_size):
                return False
            self._last_entry = self._last_entry_from_index_file()
            return True

    def _truncate_to_entries(self, entries: int) -> None:
        with self.lock:
            self._entries = entries
            self._last_entry = self._last_entry_from_index_file()

    def _check_order(self) -> None:
        """Look at some entries: timestamps grow and offsets do not fall."""
        previous = TimestampOffset(_NO_TIMESTAMP - 1, 0)
        for i in range(0, self._entries, max(self._entries // _SANITY_SAMPLES, 1)):
            entry = self.entry(i)
            if entry.timestamp <= previous.timestamp or entry.offset < previous.offset:
                raise CorruptIndexException(
                    f"Corrupt time index found, entry {i} of time index file ({self.file.absolute()}) is {entry} after "
                    f"{previous}"
                )
            previous = entry

    def sanity_check(self) -> None:
        """Raise CorruptIndexException if the last entry or the file's length is impossible."""
        last_timestamp, last_offset = self._last_entry
        if self._entries != 0 and last_timestamp < self.entry(0).timestamp:
            raise CorruptIndexException(
                f"Corrupt time index found, time index file ({self.file.absolute()}) has non-zero size but the last "
                f"timestamp is {last_timestamp} which is less than the first timestamp {self.entry(0).timestamp}"
            )
        if self._entries != 0 and last_offset < self.base_offset:
            raise CorruptIndexException(
                f"Corrupt time index found, time index file ({self.file.absolute()}) has non-zero size but the last "
                f"offset is {last_offset} which is less than the first offset {self.base_offset}"
            )
        self._check_order()
        if self.length % self.entry_size != 0:
            raise CorruptIndexException(
                f"Time index file {self.file.absolute()} is corrupt, found {self.length} bytes which is neither "
                f"positive nor a multiple of {self.entry_size}."
            )
