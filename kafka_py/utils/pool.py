"""A map that makes missing values itself.

Mirrors: core/src/main/scala/kafka/utils/Pool.scala @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from kafka_py.common.errors import KafkaException
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock

K = TypeVar("K")
V = TypeVar("V")


class Pool(Generic[K, V]):
    """A concurrent map; get_and_maybe_put makes the value of a new key exactly once.

    Mirrors: kafka.utils.Pool
    Locks: _create_lock, while the value of a new key is made.
    Left out: iterator, hasNext, next -- iteration is Python's own
    """

    def __init__(self, value_factory: Callable[[K], V] | None = None) -> None:
        self._value_factory = value_factory
        self._pool: ConcurrentHashMap[K, V] = ConcurrentHashMap()
        self._create_lock = ReentrantLock()
        self.get = self._pool.get
        """The key's value; None if there is none."""

    def put(self, k: K, v: V) -> V | None:
        """Map the key; the value it had."""
        return self._pool.put(k, v)

    def put_if_not_exists(self, k: K, v: V) -> V | None:
        """Map the key unless it is mapped; the value it has already."""
        return self._pool.put_if_absent(k, v)

    def get_and_maybe_put(self, key: K, create_value: Callable[[], V] | None = None) -> V:
        """The key's value, made by create_value (default: the pool's factory) if there is none."""
        current = self._pool.get(key)
        if current is not None:
            return current
        if create_value is None and self._value_factory is None:
            raise KafkaException("Empty value factory in pool.")
        with self._create_lock:
            current = self._pool.get(key)
            if current is None:
                if create_value is not None:
                    current = create_value()
                else:
                    assert self._value_factory is not None
                    current = self._value_factory(key)
                self._pool.put(key, current)
            return current

    def contains(self, key: K) -> bool:
        """Whether the key is mapped."""
        return key in self._pool

    def remove(self, key: K, value: V | None = None) -> V | None:
        """Unmap the key (if value is given: only when mapped to it); the value removed."""
        return self._pool.remove(key, value)

    @property
    def keys(self) -> list[K]:
        """A snapshot of the keys."""
        return self._pool.keys()

    @property
    def values(self) -> list[V]:
        """A snapshot of the values."""
        return self._pool.values()

    def items(self) -> list[tuple[K, V]]:
        """A snapshot of the pairs."""
        return self._pool.items()

    def clear(self) -> None:
        """Unmap every key."""
        self._pool.clear()

    @property
    def size(self) -> int:
        """How many keys there are."""
        return len(self._pool)

    def __len__(self) -> int:
        return len(self._pool)

    def __contains__(self, key: object) -> bool:
        return key in self._pool

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return iter(self._pool.items())
