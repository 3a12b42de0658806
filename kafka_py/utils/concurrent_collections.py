"""Maps and lists that several threads may share: java.util.concurrent's collections.

Imported through `kafka_py.utils.concurrent`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from kafka_py.utils.concurrent_locks import ReentrantLock

K = TypeVar("K")
V = TypeVar("V")


class ConcurrentHashMap(dict[K, V]):
    """A dict whose compound operations are atomic and which may be walked while it changes.

    Mirrors: java.util.concurrent.ConcurrentHashMap
    Differs: look-ups, `in`, `len` and single assignments are the dict's own, which are atomic in either build of the
    interpreter; keys(), values(), items() and iteration give a snapshot.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lock = ReentrantLock()

    def put(self, key: K, value: V) -> V | None:
        """Map the key to the value; the value it had."""
        with self._lock:
            old = self.get(key)
            self[key] = value
            return old

    def put_if_absent(self, key: K, value: V) -> V | None:
        """Map the key unless it is mapped; the value it has already, or None if ours was taken."""
        old = self.get(key)
        if old is not None:
            return old
        with self._lock:
            old = self.get(key)
            if old is None:
                self[key] = value
            return old

    def compute_if_absent(self, key: K, fn: Callable[[K], V]) -> V:
        """The key's value, made by fn once if there is none."""
        value = self.get(key)
        if value is not None:
            return value
        with self._lock:
            value = self.get(key)
            if value is None:
                value = fn(key)
                self[key] = value
            return value

    def compute_if_present(self, key: K, fn: Callable[[K, V], V | None]) -> V | None:
        """Replace the key's value by fn of it (None removes the key); the new value."""
        with self._lock:
            return self.compute(key, cast("Callable[[K, V | None], V | None]", fn)) if key in self else None

    def compute(self, key: K, fn: Callable[[K, V | None], V | None]) -> V | None:
        """Replace the key's value by fn of key and value, if any (None removes the key); the new value."""
        with self._lock:
            value = fn(key, self.get(key))
            if value is None:
                self.pop(key, None)
            else:
                self[key] = value
            return value

    def remove(self, key: K, value: V | None = None) -> V | None:
        """Unmap the key (if value is given: only when mapped to it); the value it had, None if nothing was removed."""
        with self._lock:
            if value is not None and self.get(key) != value:
                return None
            return self.pop(key, None)

    def replace(self, key: K, old: V, new: V) -> bool:
        """Map the key to new if it is mapped to old; whether it was."""
        with self._lock:
            if key not in self or self[key] != old:
                return False
            self[key] = new
            return True

    def size(self) -> int:
        """How many keys there are."""
        return len(self)

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self

    def contains_key(self, key: K) -> bool:
        """Whether the key is mapped."""
        return key in self

    def keys(self) -> list[K]:  # type: ignore[override]
        """A snapshot of the keys."""
        return list(super().keys())

    def values(self) -> list[V]:  # type: ignore[override]
        """A snapshot of the values."""
        return list(super().values())

    def items(self) -> list[tuple[K, V]]:  # type: ignore[override]
        """A snapshot of the pairs."""
        return list(super().items())

    def __iter__(self) -> Iterator[K]:
        return iter(list(super().keys()))


class ConcurrentSkipListMap(Generic[K, V]):
    """A sorted map that is read without a lock.

    Mirrors: java.util.concurrent.ConcurrentSkipListMap
    Differs: a change copies two sorted lists and publishes them together, so a reader needs one look and a binary
    search. Kafka keeps log segments in it: looked up for every fetch, changed when a segment rolls.
    """

    def __init__(self) -> None:
        self._lock = ReentrantLock()
        self._sorted: tuple[list[Any], list[V]] = ([], [])

    def put(self, key: K, value: V) -> V | None:
        """Map the key to the value; the value it had."""
        with self._lock:
            keys, values = self._sorted[0].copy(), self._sorted[1].copy()
            i = bisect_left(keys, key)
            if i < len(keys) and keys[i] == key:
                old: V | None = values[i]
                values[i] = value
            else:
                old = None
                keys.insert(i, key)
                values.insert(i, value)
            self._sorted = (keys, values)
            return old

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def put_if_absent(self, key: K, value: V) -> V | None:
        """Map the key unless it is mapped; the value it has already, or None if ours was taken."""
        with self._lock:
            old = self.get(key)
            return self.put(key, value) if old is None else old

    def remove(self, key: K) -> V | None:
        """Unmap the key; the value it had."""
        with self._lock:
            keys, values = self._sorted
            i = bisect_left(keys, key)
            if i == len(keys) or keys[i] != key:
                return None
            old = values[i]
            self._sorted = (keys[:i] + keys[i + 1 :], values[:i] + values[i + 1 :])
            return old

    def clear(self) -> None:
        """Unmap every key."""
        with self._lock:
            self._sorted = ([], [])

    def get(self, key: K) -> V | None:
        """The key's value; None if it has none."""
        keys, values = self._sorted
        i = bisect_left(keys, key)
        return values[i] if i < len(keys) and keys[i] == key else None

    def __getitem__(self, key: K) -> V:
        keys, values = self._sorted
        i = bisect_left(keys, key)
        if i == len(keys) or keys[i] != key:
            raise KeyError(key)
        return values[i]

    def __contains__(self, key: object) -> bool:
        keys = self._sorted[0]
        i = bisect_left(keys, key)
        return i < len(keys) and keys[i] == key

    contains_key = __contains__

    def _entry(self, sorted_: tuple[list[Any], list[V]], i: int) -> tuple[K, V] | None:
        keys, values = sorted_
        return (keys[i], values[i]) if 0 <= i < len(keys) else None

    def floor_entry(self, key: K) -> tuple[K, V] | None:
        """The entry of the greatest key not above this one."""
        now = self._sorted
        return self._entry(now, bisect_right(now[0], key) - 1)

    def lower_entry(self, key: K) -> tuple[K, V] | None:
        """The entry of the greatest key below this one."""
        now = self._sorted
        return self._entry(now, bisect_left(now[0], key) - 1)

    def ceiling_entry(self, key: K) -> tuple[K, V] | None:
        """The entry of the least key not below this one."""
        now = self._sorted
        return self._entry(now, bisect_left(now[0], key))

    def higher_entry(self, key: K) -> tuple[K, V] | None:
        """The entry of the least key above this one."""
        now = self._sorted
        return self._entry(now, bisect_right(now[0], key))

    def floor_key(self, key: K) -> K | None:
        """The greatest key not above this one."""
        entry = self.floor_entry(key)
        return None if entry is None else entry[0]

    def lower_key(self, key: K) -> K | None:
        """The greatest key below this one."""
        entry = self.lower_entry(key)
        return None if entry is None else entry[0]

    def ceiling_key(self, key: K) -> K | None:
        """The least key not below this one."""
        entry = self.ceiling_entry(key)
        return None if entry is None else entry[0]

    def higher_key(self, key: K) -> K | None:
        """The least key above this one."""
        entry = self.higher_entry(key)
        return None if entry is None else entry[0]

    def first_entry(self) -> tuple[K, V] | None:
        """The entry of the least key; None if the map is empty."""
        return self._entry(self._sorted, 0)

    def last_entry(self) -> tuple[K, V] | None:
        """The entry of the greatest key; None if the map is empty."""
        now = self._sorted
        return self._entry(now, len(now[0]) - 1)

    def first_key(self) -> K:
        """The least key; KeyError if the map is empty."""
        keys = self._sorted[0]
        if not keys:
            raise KeyError("empty map")
        return cast("K", keys[0])

    def last_key(self) -> K:
        """The greatest key; KeyError if the map is empty."""
        keys = self._sorted[0]
        if not keys:
            raise KeyError("empty map")
        return cast("K", keys[-1])

    def poll_first_entry(self) -> tuple[K, V] | None:
        """Remove and answer the entry of the least key."""
        with self._lock:
            entry = self.first_entry()
            if entry is not None:
                self.remove(entry[0])
            return entry

    @staticmethod
    def _part(sorted_: tuple[list[Any], list[V]], low: int, high: int | None) -> ConcurrentSkipListMap[K, V]:
        part: ConcurrentSkipListMap[K, V] = ConcurrentSkipListMap()
        part._sorted = (sorted_[0][low:high], sorted_[1][low:high])
        return part

    def head_map(self, to_key: K, inclusive: bool = False) -> ConcurrentSkipListMap[K, V]:
        """A copy of the entries below to_key."""
        find = bisect_right if inclusive else bisect_left
        now = self._sorted
        return self._part(now, 0, find(now[0], to_key))

    def tail_map(self, from_key: K, inclusive: bool = True) -> ConcurrentSkipListMap[K, V]:
        """A copy of the entries from from_key on."""
        find = bisect_left if inclusive else bisect_right
        now = self._sorted
        return self._part(now, find(now[0], from_key), None)

    def sub_map(self, from_key: K, to_key: K) -> ConcurrentSkipListMap[K, V]:
        """A copy of the entries from from_key on, below to_key."""
        return self.tail_map(from_key).head_map(to_key)

    def keys(self) -> list[K]:
        """A snapshot of the keys, ascending."""
        return self._sorted[0].copy()

    def values(self) -> list[V]:
        """A snapshot of the values, by ascending key."""
        return self._sorted[1].copy()

    def items(self) -> list[tuple[K, V]]:
        """A snapshot of the entries, by ascending key."""
        return list(zip(*self._sorted, strict=True))

    def size(self) -> int:
        """How many keys there are."""
        return len(self._sorted[0])

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._sorted[0]

    def __len__(self) -> int:
        return len(self._sorted[0])

    def __iter__(self) -> Iterator[K]:
        return iter(self._sorted[0])


class CopyOnWriteArrayList(Generic[V]):
    """A list that is copied when it changes, so that walking it needs no lock.

    Mirrors: java.util.concurrent.CopyOnWriteArrayList
    """

    def __init__(self, items: Iterable[V] = ()) -> None:
        self._lock = ReentrantLock()
        self._items: tuple[V, ...] = tuple(items)

    def add(self, item: V) -> bool:
        """Append."""
        with self._lock:
            self._items = (*self._items, item)
        return True

    def remove(self, item: V) -> bool:
        """Remove the first occurrence; whether there was one."""
        with self._lock:
            items = list(self._items)
            if item not in items:
                return False
            items.remove(item)
            self._items = tuple(items)
            return True

    def clear(self) -> None:
        """Throw the items away."""
        with self._lock:
            self._items = ()

    def size(self) -> int:
        """How many items there are."""
        return len(self._items)

    def is_empty(self) -> bool:
        """Whether there is no item."""
        return not self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[V]:
        return iter(self._items)

    def __getitem__(self, index: int) -> V:
        return self._items[index]

    def __contains__(self, item: object) -> bool:
        return item in self._items
