"""The last offset of each key, in a bounded amount of memory.

Mirrors: core/src/main/scala/kafka/log/OffsetMap.scala @ 1.1.1
Read next: cleaner.py, which fills it from the dirty part of a log and then asks it about every record

Measured with 1 million keys: a dict takes 110 bytes and 250 ns per key, this table 24 bytes as in Kafka, and 120 ns
per key as long as keys come by the thousand, so that numpy can probe for all of them at once.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

from kafka_py.utils.yield_gil import yield_gil

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy import bool_, int64, intp
    from numpy.typing import NDArray

_OFFSET = struct.Struct("=q")
_INT = struct.Struct(">i")
_POSITIVE = 0x7FFFFFFF

# So many keys are hashed and probed for between two turns of other threads: about a millisecond.
_KEYS_PER_TURN = 2048
_FEW_KEYS = 16


class OffsetMap(ABC):
    """Key -> offset, without removal.

    Mirrors: kafka.log.OffsetMap
    Thread: one at a time.
    """

    slots: int

    @abstractmethod
    def put(self, key: bytes, offset: int) -> None:
        """Set the offset of a key; ValueError if the map is full."""

    @abstractmethod
    def get(self, key: bytes) -> int:
        """The offset of a key, -1 if there is none."""

    @abstractmethod
    def update_latest_offset(self, offset: int) -> None:
        """Say up to which offset the map is complete."""

    @abstractmethod
    def clear(self) -> None:
        """Forget all."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many keys there are."""

    @property
    @abstractmethod
    def latest_offset(self) -> int:
        """The offset put last or given to update_latest_offset, -1 at first."""

    @property
    def utilization(self) -> float:
        """The share of the slots that is taken."""
        return self.size / self.slots

    def put_all(self, keys: Sequence[bytes], offsets: Sequence[int]) -> None:
        """put() for each pair in turn; of equal keys the last one counts."""
        for key, offset in zip(keys, offsets, strict=True):
            self.put(key, offset)

    def have_no_later(self, keys: Sequence[bytes], offsets: Sequence[int]) -> bytearray:
        """For each pair 0 if the map has a later offset for that key, else 1."""
        get = self.get
        return bytearray([offset >= get(key) for key, offset in zip(keys, offsets, strict=True)])


class SkimpyOffsetMap(OffsetMap):
    """An open hash table that keeps the hash of a key in place of the key.

    A slot is the hash and 8 bytes of offset, all zero while it is free. The first probes are the 4-byte numbers that
    begin at each byte of the hash, the following ones go slot by slot. Memory is taken from the system page by page
    as it is written to, and given back by clear().

    Mirrors: kafka.log.SkimpyOffsetMap
    Thread: one at a time.
    Differs: put_all and have_no_later do the same as put and get for many keys at once, with numpy where that is
        installed. `hash1` and `hash2` are needed by Java only, to reuse them.
    Left out: hash1, hash2, hashInto -- a digest is a new bytes object here
    """

    def __init__(self, memory: int, hash_algorithm: str = "MD5") -> None:
        self.memory = memory
        self.hash_algorithm = hash_algorithm
        self._digest = _message_digest(hash_algorithm)
        self._hash_size = len(self._digest(b"").digest())
        self._entries = 0  # thread: cleaner
        self._lookups = 0  # thread: cleaner
        self._probes = 0  # thread: cleaner
        self._last_offset = -1  # thread: cleaner
        self.bytes_per_entry = self._hash_size + _OFFSET.size
        self.slots = memory // self.bytes_per_entry
        self._free_slot = bytes(self.bytes_per_entry)
        self._np: Any = None  # thread: cleaner
        self._looked_for_numpy = False  # thread: cleaner
        self._allocate()

    def _has_numpy(self) -> bool:
        """Whether many keys can be done at once. Loaded with the first of them: most brokers never compact."""
        if not self._looked_for_numpy:
            self._looked_for_numpy = True
            self._np = _numpy()
            self._make_views()
        return self._np is not None

    def _allocate(self) -> None:
        self._bytes = mmap.mmap(-1, max(self.memory, 1))
        self._make_views()

    def _make_views(self) -> None:
        if self._np is not None:
            np = self._np
            word = 8 if self._hash_size % 8 == 0 else 4
            columns = self.bytes_per_entry // word
            words = np.dtype(f"u{word}")
            self._hash_words = self._hash_size // word
            self._word_type: Any = words
            count = self.slots * columns
            self._table: NDArray[Any] = np.frombuffer(self._bytes, words, count).reshape(self.slots, columns)
            # the offset of each slot, wherever it lies in its row
            self._offsets: NDArray[int64] = np.ndarray(
                (self.slots,), np.int64, self._bytes, self._hash_size, (self.bytes_per_entry,)
            )

    # ---- one key --------------------------------------------------------------------------------------------------

    def put(self, key: bytes, offset: int) -> None:
        """Set the offset of a key; ValueError if every slot is taken, even if one of them is the key's."""
        if self._entries >= self.slots:
            raise ValueError("requirement failed: Attempt to add a new entry to a full offset map.")
        self._lookups += 1
        digest = self._digest(key).digest()
        attempt = 0
        position = self._position_of(digest, attempt)
        while not self._is_empty(position):
            if self._bytes[position : position + self._hash_size] == digest:
                _OFFSET.pack_into(self._bytes, position + self._hash_size, offset)
                self._last_offset = offset
                return
            attempt += 1
            position = self._position_of(digest, attempt)
        self._bytes[position : position + self._hash_size] = digest
        _OFFSET.pack_into(self._bytes, position + self._hash_size, offset)
        self._last_offset = offset
        self._entries += 1

    def get(self, key: bytes) -> int:
        """The offset of a key, -1 if there is none."""
        self._lookups += 1
        digest = self._digest(key).digest()
        # in a full table no free slot ends the search
        for attempt in range(self.slots + self._hash_size - 4):
            position = self._position_of(digest, attempt)
            if self._is_empty(position):
                return -1
            if self._bytes[position : position + self._hash_size] == digest:
                return int(_OFFSET.unpack_from(self._bytes, position + self._hash_size)[0])
        return -1

    def _is_empty(self, position: int) -> bool:
        return self._bytes[position : position + self.bytes_per_entry] == self._free_slot

    def _position_of(self, digest: bytes, attempt: int) -> int:
        """Where the probe with that number, from 0, looks."""
        linear_from = self._hash_size - 4
        probe = _INT.unpack_from(digest, min(attempt, linear_from))[0] + max(0, attempt - linear_from)
        self._probes += 1
        return int((probe & _POSITIVE) % self.slots * self.bytes_per_entry)

    # ---- many keys ------------------------------------------------------------------------------------------------

    def put_all(self, keys: Sequence[bytes], offsets: Sequence[int]) -> None:
        """put() for each pair in turn; of equal keys the last one counts. ValueError unless there is room for all."""
        if len(keys) < _FEW_KEYS or not self._has_numpy():
            super().put_all(keys, offsets)
            return
        if self._entries + len(keys) > self.slots:
            raise ValueError("requirement failed: Attempt to add new entries to a full offset map.")
        for start in range(0, len(keys), _KEYS_PER_TURN):
            if start:
                yield_gil()
            end = start + _KEYS_PER_TURN
            self._put_turn(keys[start:end], self._np.array(offsets[start:end], self._np.int64))
        self._last_offset = offsets[-1]

    def have_no_later(self, keys: Sequence[bytes], offsets: Sequence[int]) -> bytearray:
        """For each pair 0 if the map has a later offset for that key, else 1."""
        if len(keys) < _FEW_KEYS or not self._has_numpy():
            return super().have_no_later(keys, offsets)
        flags = bytearray()
        for start in range(0, len(keys), _KEYS_PER_TURN):
            if start:
                yield_gil()
            end = start + _KEYS_PER_TURN
            found = self._get_turn(keys[start:end])
            flags += (self._np.array(offsets[start:end], self._np.int64) >= found).tobytes()
        return flags

    def _hashes(self, keys: Sequence[bytes]) -> tuple[bytes, NDArray[Any]]:
        digest = self._digest
        digests = b"".join([digest(key).digest() for key in keys])
        assert self._np is not None
        return digests, self._np.frombuffer(digests, self._word_type).reshape(len(keys), self._hash_words)

    def _slots_of(self, digests: bytes, attempt: int, pending: NDArray[intp] | None) -> NDArray[int64]:
        """_position_of for all hashes, or for those that are still pending, counted in slots."""
        assert self._np is not None
        size = self._hash_size
        linear_from = size - 4
        probes: NDArray[Any] = self._np.ndarray(
            (len(digests) // size,), ">i4", digests, min(attempt, linear_from), (size,)
        )
        if pending is not None:
            probes = probes[pending]
        self._probes += len(probes)
        slots: NDArray[int64] = (
            (probes.astype(self._np.int64) + max(0, attempt - linear_from)) & _POSITIVE
        ) % self.slots
        return slots

    def _matches(self, rows: NDArray[Any], hashes: NDArray[Any]) -> NDArray[bool_]:
        matches: NDArray[bool_] = rows[:, 0] == hashes[:, 0]
        for column in range(1, self._hash_words):
            matches &= rows[:, column] == hashes[:, column]
        return matches

    def _put_turn(self, keys: Sequence[bytes], offsets: NDArray[int64]) -> None:
        """Each round, every pending key looks at its next slot: takes it if free, or finds its own hash there."""
        np = self._np
        assert np is not None
        table, slot_offsets = self._table, self._offsets
        digests, hashes = self._hashes(keys)
        self._lookups += len(keys)
        pending: NDArray[intp] | None = None
        attempt = 0
        while True:
            slots = self._slots_of(digests, attempt, pending)
            rows = table[slots]
            free = np.flatnonzero(~rows.any(axis=1))
            if len(free):
                # Several keys may want one free slot. Each writes its number, the last one stays and is the winner.
                wanted = slots[free]
                numbers = np.arange(-1, -1 - len(free), -1)
                slot_offsets[wanted] = numbers
                winners = slot_offsets[wanted] == numbers
                table[wanted[winners], : self._hash_words] = hashes[free[winners]]
                self._entries += int(np.count_nonzero(winners))
                rows = table[slots]
            matches = self._matches(rows, hashes)
            # equal keys go the same way together, and the last of them is written last
            slot_offsets[slots[matches]] = offsets[matches]
            left = np.flatnonzero(~matches)
            if not len(left):
                return
            pending = left if pending is None else pending[left]
            hashes, offsets = hashes[left], offsets[left]
            attempt += 1

    def _get_turn(self, keys: Sequence[bytes]) -> NDArray[int64]:
        np = self._np
        assert np is not None
        digests, hashes = self._hashes(keys)
        self._lookups += len(keys)
        found = np.full(len(keys), -1, np.int64)
        pending: NDArray[intp] | None = None
        for attempt in range(self.slots + self._hash_size - 4):
            slots = self._slots_of(digests, attempt, pending)
            rows = self._table[slots]
            matches = self._matches(rows, hashes)
            hits = np.flatnonzero(matches)
            found[hits if pending is None else pending[hits]] = self._offsets[slots[hits]]
            left = np.flatnonzero(~matches & rows.any(axis=1))
            if not len(left):
                break
            pending = left if pending is None else pending[left]
            hashes = hashes[left]
        return cast("NDArray[int64]", found)

    # ---- state ----------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Forget all, and give the memory back."""
        self._entries = 0
        self._lookups = 0
        self._probes = 0
        self._last_offset = -1
        self._allocate()

    @property
    def size(self) -> int:
        """How many keys there are."""
        return self._entries

    @property
    def collision_rate(self) -> float:
        """Probes in vain per look-up."""
        return (self._probes - self._lookups) / self._lookups if self._lookups else 0.0

    @property
    def latest_offset(self) -> int:
        """The offset put last or given to update_latest_offset, -1 at first."""
        return self._last_offset

    def update_latest_offset(self, offset: int) -> None:
        """Say up to which offset the map is complete."""
        self._last_offset = offset


def _message_digest(hash_algorithm: str) -> Callable[[bytes], Any]:
    """The function for one of Java's algorithm names; ValueError for an unknown one."""
    name = hash_algorithm.replace("-", "").lower()
    if name == "md5":
        try:
            from _md5 import md5  # type: ignore[import-not-found]  # a third of the time that OpenSSL needs to set itself up for a short key
        except ImportError:
            return lambda key: hashlib.md5(key, usedforsecurity=False)
        return cast("Callable[[bytes], Any]", md5)
    hashlib.new(name, usedforsecurity=False)
    return lambda key: hashlib.new(name, key, usedforsecurity=False)


def _numpy() -> Any:
    """The numpy module, None where it is not installed. It is imported by the first cleaner thread."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy
