"""Histograms that take many values at once.

Ours, on top of kafka_py/metrics/yammer.py: a request updates ten histograms, and one by one that is a quarter of all
the time a small request takes.
"""

from __future__ import annotations

import collections
import heapq
import math
import random
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.common.utils.time import Time
from kafka_py.metrics.yammer import ExponentiallyDecayingSample, Histogram, Metrics
from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.metrics.yammer import MetricName

_BATCH = 256


class SkippingSample(ExponentiallyDecayingSample):
    """A reservoir that draws how many values to pass over, instead of a number for each.

    Once it is full, a value gets in with a probability that is the same for all values of one moment; the number of
    those that do not is geometrically distributed. The reservoir comes out as if each had been asked.
    """

    def update_all(self, values: Sequence[float]) -> None:
        """Take values in, all as of now."""
        heap, size = self._heap, self._size
        room = size - len(heap)
        if room > 0:
            super().update_all(list(values[:room]))
            values = values[room:]
            heap = self._heap
            if not values:
                return
        now_ns = self._time.nanoseconds()
        if now_ns - self._start_ns >= self.RESCALE_THRESHOLD_NS:
            self._rescale(now_ns)
            heap = self._heap
            heapq.heapify(heap)
        weight = math.exp(self._alpha * ((now_ns - self._start_ns) // 1_000_000_000))
        draw, log = random.random, math.log
        at = 0
        while True:
            lowest = heap[0][0]
            chance = weight / lowest
            if chance < 1.0:
                at += int(log(1.0 - draw()) / log(1.0 - chance))
            if at >= len(values):
                return
            # a priority that is known to exceed the lowest (or any, when every one does)
            least = lowest if chance < 1.0 else weight
            heapq.heapreplace(heap, (least / (1.0 - draw()), values[at]))
            at += 1


class RequestHistogram(Histogram):
    """A histogram fed by columns of a RequestTimes table.

    Differs: from Histogram only in cost; what it answers is the same.
    """

    def __init__(self, time: Time = Time.SYSTEM) -> None:
        super().__init__(True, time)
        self._reservoir = SkippingSample(time=time)  # volatile: whoever holds _lock
        self._sample = self._reservoir  # volatile: whoever holds _lock
        self._tables: list[RequestTimes] = []  # volatile: whoever makes a RequestTimes

    @staticmethod
    def registered(name: MetricName, table: RequestTimes) -> RequestHistogram:
        """The registry's histogram of that name, from now on fed by ``table`` too."""
        registry = Metrics.default_registry()
        histogram = registry._get_or_add(name, RequestHistogram, RequestHistogram)
        histogram._tables.append(table)
        return histogram

    def take(self, values: Sequence[float]) -> None:
        """Take a column in."""
        n = len(values)
        first = values[0]
        if values.count(first) == n:  # nearly every column
            mean, total, squares = first, first * n, 0.0
            counts: Collection[float] = (first,)
        else:
            total = sum(values)
            mean = total / n
            counts = times = collections.Counter(values)  # few different numbers
            squares = sum([(value - mean) ** 2 * times[value] for value in times])
        with self._lock:
            self._reservoir.update_all(values)
            distance = mean - self._mean
            count = self._count + n
            self._squares += squares + distance * distance * self._count * n / count
            self._mean += distance * n / count
            self._count = count
            self._sum += total
            self._min = min(self._min, *counts)
            self._max = max(self._max, *counts)

    def tick(self) -> None:
        """Collect what waits, here and in the tables."""
        for table in self._tables:
            table.flush()
        super().tick()


class RequestTimes:
    """Rows of numbers, one row per request, on their way to one histogram per column.

    Thread:  record, flush: any.
    Locks:   _lock, before the histograms'.
    """

    def __init__(self) -> None:
        self.columns: list[RequestHistogram] = []
        self._rows: list[tuple[Any, ...]] = []  # atomic: append, slices; those under _lock
        self._lock = ReentrantLock()

    def add_column(self, name: MetricName) -> RequestHistogram:
        """One more number per row; its histogram."""
        histogram = RequestHistogram.registered(name, self)
        self.columns.append(histogram)
        return histogram

    def record(self, row: tuple[Any, ...]) -> None:
        """A request's numbers: those that `columns_of` works the histograms' values out of."""
        rows = self._rows
        rows.append(row)
        if len(rows) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Hand all rows on."""
        if not self._rows:
            return
        with self._lock:  # others go on appending
            taken = self._rows[:]
            del self._rows[: len(taken)]
            if taken:
                for histogram, column in zip(self.columns, self.columns_of(taken), strict=False):
                    histogram.take(column)

    def columns_of(self, rows: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[float]]:
        """The values for each histogram; further columns are not looked at. Caller holds _lock."""
        return zip(*rows, strict=True)
