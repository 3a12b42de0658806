"""A clock that can stand: while threads are held no time passes for the broker, so nothing runs out.

Ours, no original.
"""

from __future__ import annotations

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ReentrantLock


class HeldTime(Time):
    """Another clock's time, less what passed while it stood; slower, if asked; moved on by hand, if asked.

    It never steps back, and does not catch up: a broker that was held for ten minutes is ten minutes late from then
    on. Until it first stands its times are those of the other clock.

    Thread: any.
    Locks:  _lock, a leaf: a read must not fall between two states.
    """

    def __init__(self, base: Time = Time.SYSTEM) -> None:
        self._base = base
        self._lock = ReentrantLock()
        self._base_ns = base.nanoseconds()  # guarded by: _lock
        self._own_ns = self._base_ns  # guarded by: _lock
        self._began_ns = self._base_ns
        self._began_ms = base.milliseconds()
        self._factor = 1.0  # guarded by: _lock
        self._standing = False  # guarded by: _lock

    @property
    def is_standing(self) -> bool:
        """Whether no time passes."""
        with self._lock:
            return self._standing

    @property
    def factor(self) -> float:
        """How many times slower than the other clock it runs."""
        with self._lock:
            return self._factor

    def nanoseconds(self) -> int:
        """Nanoseconds since some moment."""
        with self._lock:
            return self._now()

    def milliseconds(self) -> int:
        """Milliseconds since 1970, less the time it stood."""
        with self._lock:
            return self._began_ms + (self._now() - self._began_ns) // 1_000_000

    def sleep(self, ms: int) -> None:
        """Block the calling thread for real milliseconds: who sleeps would else wait for one who is held."""
        self._base.sleep(ms)

    def _now(self) -> int:
        """Caller holds _lock."""
        if self._standing:
            return self._own_ns
        passed = self._base.nanoseconds() - self._base_ns
        return self._own_ns + (passed if self._factor == 1.0 else int(passed / self._factor))

    def _anchor(self) -> None:
        """What is now is where time goes on from. Caller holds _lock."""
        self._own_ns = self._now()
        self._base_ns = self._base.nanoseconds()

    def stand(self) -> None:
        """Let no time pass from now on."""
        with self._lock:
            self._anchor()
            self._standing = True

    def go_on(self) -> None:
        """Let time pass again, from where it stood."""
        with self._lock:
            self._anchor()
            self._standing = False

    def slow(self, factor: float) -> None:
        """Run so many times slower; ValueError below 1."""
        if factor < 1:
            raise ValueError(f"a clock runs 1 or more times slower, not {factor}")
        with self._lock:
            self._anchor()
            self._factor = float(factor)

    def advance(self, ms: int) -> None:
        """Move it on by milliseconds, standing or not; ValueError for a step back."""
        if ms < 0:
            raise ValueError(f"a clock does not step back: {ms} ms")
        with self._lock:
            self._anchor()
            self._own_ns += ms * 1_000_000
