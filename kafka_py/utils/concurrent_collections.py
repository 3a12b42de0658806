"""Maps and lists that several threads may share: java.util.concurrent's collections.

Imported through `kafka_py.utils.concurrent`.
"""

from __future__ import annotations

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


class CopyOnWriteArrayList(Generic[V]):
    """A list that is copied when it changes, so that walking it needs no lock.

    Mirrors: java.util.concurrent.CopyOnWriteArrayList
    """

    def __init__(self, items: Iterable[V] = ()) -> None:
        self._lock = ReentrantLock()
        self._items: tuple[V, ...] = tuple(items)  # volatile: writer under _lock

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
