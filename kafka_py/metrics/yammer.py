"""Gauges, counters, meters, histograms and timers, and the registry that holds them by name.

Mirrors: the com.yammer.metrics library (metrics-core 2.2.0) as far as Kafka 1.1.1 uses it

Marking and updating happen several times per request, so they must cost almost nothing: a mark is one append to a
list, any other update goes to a cell that only its thread writes, found by its id; whoever reads a metric collects
them. Moving averages and reservoirs are brought up to date then, and by `tick()`, which the metrics endpoint calls
every five seconds.
"""

from __future__ import annotations

import heapq
import math
import random
import sys
from _thread import get_ident
from collections.abc import Callable, Iterator
from operator import mul
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

from kafka_py.common.utils.time import Time
from kafka_py.utils.concurrent import ConcurrentHashMap, ReentrantLock
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER, Attributes, MBeanServer
from kafka_py.utils.yield_gil import yield_gil

T = TypeVar("T")
TICK_INTERVAL_NS = 5_000_000_000
_BATCH = 256
_MARKS = 1024
_TICKS_AT_ONCE = 16


class MetricName:
    """Group, type, name and scope of a metric, and the bean name made of them.

    Mirrors: com.yammer.metrics.core.MetricName
    """

    __slots__ = ("group", "m_bean_name", "name", "scope", "type")

    def __init__(
        self, group: str, type: str, name: str, scope: str | None = None, m_bean_name: str | None = None
    ) -> None:
        self.group = group
        self.type = type
        self.name = name
        self.scope = scope
        if m_bean_name is None:
            m_bean_name = f'"{group}":type="{type}"' + (f',scope="{scope}"' if scope else "") + f',name="{name}"'
        self.m_bean_name = m_bean_name

    def __hash__(self) -> int:
        return hash(self.m_bean_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricName) and self.m_bean_name == other.m_bean_name

    def __repr__(self) -> str:
        return self.m_bean_name


class Metric:
    """What the registry holds: anything that answers attributes.

    Mirrors: com.yammer.metrics.core.Metric
    """

    def attributes(self) -> Attributes:
        """Attribute name -> function that reads it, as the library's JMX beans name them."""
        return {}

    def tick(self) -> None:
        """Bring moving averages up to date; a metric without any has nothing to do."""
        return


class Gauge(Metric, Generic[T]):
    """A value computed when it is read.

    Mirrors: com.yammer.metrics.core.Gauge
    """

    def __init__(self, fn: Callable[[], T]) -> None:
        self._fn = fn

    def value(self) -> T:
        """The value now."""
        return self._fn()

    def attributes(self) -> Attributes:
        """Value."""
        return {"Value": self._fn}


class Counter(Metric):
    """A number that goes up and down.

    Mirrors: com.yammer.metrics.core.Counter
    """

    def __init__(self) -> None:
        self._cells: dict[int, list[int]] = {}
        # what the cells held when the counter was cleared: nobody but its thread writes a cell
        self._zero = 0  # volatile: whoever clears it

    def inc(self, n: int = 1) -> None:
        """Add."""
        try:
            self._cells[get_ident()][0] += n
        except KeyError:
            self._cells[get_ident()] = [n]

    def dec(self, n: int = 1) -> None:
        """Subtract."""
        self.inc(-n)

    @property
    def count(self) -> int:
        """The number."""
        return self._ever() - self._zero

    def _ever(self) -> int:
        return sum([cell[0] for cell in list(self._cells.values())])

    def clear(self) -> None:
        """Back to zero."""
        self._zero = self._ever()

    def attributes(self) -> Attributes:
        """Count."""
        return {"Count": lambda: self.count}


class EWMA:
    """A rate that forgets: each five seconds the new rate weighs in with `alpha`.

    Mirrors: com.yammer.metrics.stats.EWMA
    """

    def __init__(self, minutes: float) -> None:
        self._alpha = 1 - math.exp(-(TICK_INTERVAL_NS / 1e9) / 60 / minutes)
        self._rate = 0.0  # volatile: holder of the meter's _lock
        self._initialized = False  # volatile: holder of the meter's _lock

    def tick(self, events: float, intervals: int = 1) -> None:
        """Count events that came evenly over a number of intervals of five seconds."""
        instant = events / (TICK_INTERVAL_NS / 1e9)
        if not self._initialized:
            self._rate = instant
            self._initialized = True
        else:
            self._rate += (1 - (1 - self._alpha) ** intervals) * (instant - self._rate)

    def rate(self) -> float:
        """Events per second."""
        return self._rate


_UNITS_PER_SECOND = {"SECONDS": 1.0, "NANOSECONDS": 1e9}


class Meter(Metric):
    """Counts events and how often they come: on average, and over the last 1, 5 and 15 minutes.

    Mirrors: com.yammer.metrics.core.Meter
    Differs: ticks when read, or by `tick()`; events of several intervals are taken as spread evenly over them.
    """

    def __init__(self, event_type: str = "events", time: Time = Time.SYSTEM, rate_unit: str = "SECONDS") -> None:
        """Rates are per rate_unit: events per SECONDS, or (of nanoseconds spent) the share of time, per NANOSECONDS."""
        self.event_type = event_type
        self.rate_unit = rate_unit
        self._per_second = _UNITS_PER_SECOND[rate_unit]
        self._time = time
        self._start_ns = time.nanoseconds()
        self._marks: list[int] = []
        # the sum of marks that have left the list
        self._marked = 0  # guarded by: _marks_lock
        self._marks_lock = ReentrantLock()
        self._lock = ReentrantLock()
        self._last_tick_ns = self._start_ns  # guarded by: _lock
        self._counted = 0  # guarded by: _lock
        self._rates = (EWMA(1), EWMA(5), EWMA(15))

    def mark(self, n: int = 1) -> None:
        """n events happened."""
        marks = self._marks
        marks.append(n)
        if len(marks) >= _MARKS:
            self._add_up()

    def _add_up(self) -> int:
        """Take the marks off the list, to which others may go on appending; the sum of all ever made."""
        with self._marks_lock:
            marks = self._marks[:]
            del self._marks[: len(marks)]
            self._marked += sum(marks)
            return self._marked

    @property
    def count(self) -> int:
        """How many events there were."""
        return self._add_up()

    def tick(self) -> None:
        """Feed the moving averages with what came since the last full interval."""
        with self._lock:
            intervals = (self._time.nanoseconds() - self._last_tick_ns) // TICK_INTERVAL_NS
            if intervals <= 0:
                return
            count = self.count
            per_interval = (count - self._counted) / intervals
            self._counted = count
            self._last_tick_ns += intervals * TICK_INTERVAL_NS
            for ewma in self._rates:
                ewma.tick(per_interval, intervals)

    @property
    def mean_rate(self) -> float:
        """Events per unit of time since the meter was made."""
        elapsed_ns = self._time.nanoseconds() - self._start_ns
        return self.count / elapsed_ns * 1e9 / self._per_second if elapsed_ns > 0 else 0.0

    @property
    def one_minute_rate(self) -> float:
        """Events per unit of time, the last minute weighing most."""
        self.tick()
        return self._rates[0].rate() / self._per_second

    @property
    def five_minute_rate(self) -> float:
        """Events per unit of time, the last five minutes weighing most."""
        self.tick()
        return self._rates[1].rate() / self._per_second

    @property
    def fifteen_minute_rate(self) -> float:
        """Events per unit of time, the last fifteen minutes weighing most."""
        self.tick()
        return self._rates[2].rate() / self._per_second

    def attributes(self) -> Attributes:
        """Count and rates."""
        return {
            "EventType": lambda: self.event_type,
            "RateUnit": lambda: self.rate_unit,
            "Count": lambda: self.count,
            "MeanRate": lambda: self.mean_rate,
            "OneMinuteRate": lambda: self.one_minute_rate,
            "FiveMinuteRate": lambda: self.five_minute_rate,
            "FifteenMinuteRate": lambda: self.fifteen_minute_rate,
        }


class Snapshot:
    """Sorted values, asked for quantiles.

    Mirrors: com.yammer.metrics.stats.Snapshot
    """

    __slots__ = ("values",)

    def __init__(self, values: list[float]) -> None:
        self.values = sorted(values)

    def get_value(self, quantile: float) -> float:
        """The value that so large a part of all values does not exceed; 0.0 without values."""
        values = self.values
        if not values:
            return 0.0
        position = quantile * (len(values) + 1)
        if position < 1:
            return values[0]
        if position >= len(values):
            return values[-1]
        lower = values[int(position) - 1]
        return lower + (position - math.floor(position)) * (values[int(position)] - lower)

    def size(self) -> int:
        """How many values there are."""
        return len(self.values)


class UniformSample:
    """A reservoir in which each value ever seen is as likely to be found as any other.

    Mirrors: com.yammer.metrics.stats.UniformSample
    """

    def __init__(self, size: int = 1028) -> None:
        self._size = size
        self._seen = 0  # volatile: holder of the histogram's _lock
        self._values: list[float] = []  # volatile: holder of the histogram's _lock

    def update_all(self, values: list[float]) -> None:
        """Take values in."""
        kept, size, draw = self._values, self._size, random.random
        for value in values:
            self._seen += 1
            if len(kept) < size:
                kept.append(value)
            else:
                place = int(draw() * self._seen)
                if place < size:
                    kept[place] = value

    def snapshot(self) -> Snapshot:
        """What the reservoir holds."""
        return Snapshot(self._values)

    def clear(self) -> None:
        """Empty the reservoir."""
        self._seen = 0
        self._values = []


class ExponentiallyDecayingSample:
    """A reservoir that holds mostly values of the last five minutes.

    Each value gets the priority exp(alpha * age of the reservoir in s) / random; the 1028 highest stay. Once an hour
    all priorities are scaled back, before the exponent overflows; after 14 hours without values the old ones' would
    be 0, so none gets below the smallest normal number.

    Mirrors: com.yammer.metrics.stats.ExponentiallyDecayingSample
    Differs: a heap in place of a concurrent sorted map, and one clock reading for a batch of values.
    """

    RESCALE_THRESHOLD_NS: ClassVar[int] = 3600 * 1_000_000_000

    def __init__(self, size: int = 1028, alpha: float = 0.015, time: Time = Time.SYSTEM) -> None:
        self._size = size
        self._alpha = alpha
        self._time = time
        self._start_ns = time.nanoseconds()  # volatile: holder of the histogram's _lock
        self._heap: list[tuple[float, float]] = []  # volatile: holder of the histogram's _lock

    def update_all(self, values: list[float]) -> None:
        """Take values in, all as of now."""
        now_ns = self._time.nanoseconds()
        if now_ns - self._start_ns >= self.RESCALE_THRESHOLD_NS:
            self._rescale(now_ns)
        weight = math.exp(self._alpha * ((now_ns - self._start_ns) // 1_000_000_000))
        heap, size, draw = self._heap, self._size, random.random
        lowest = heap[0][0] if len(heap) >= size else 0.0
        for value in values:
            priority = weight / (1.0 - draw())
            if lowest == 0.0:
                heapq.heappush(heap, (priority, value))
                if len(heap) >= size:
                    lowest = heap[0][0]
            elif priority > lowest:
                heapq.heapreplace(heap, (priority, value))
                lowest = heap[0][0]

    def _rescale(self, now_ns: int) -> None:
        """Start the clock anew and keep the order of what is there."""
        factor = math.exp(-self._alpha * ((now_ns - self._start_ns) // 1_000_000_000))
        self._start_ns = now_ns
        self._heap = [(max(priority * factor, sys.float_info.min), value) for priority, value in self._heap]

    def snapshot(self) -> Snapshot:
        """What the reservoir holds."""
        return Snapshot([value for _, value in self._heap])

    def clear(self) -> None:
        """Empty the reservoir."""
        self._heap = []
        self._start_ns = self._time.nanoseconds()


class Histogram(Metric):
    """How values are distributed: biased towards the last minutes, or over all time.

    Mirrors: com.yammer.metrics.core.Histogram
    Differs: a thread's values wait, at most 256 of them, in a list of its own; they reach the reservoir when the list
    is full or the histogram is read, and count as of that moment.
    """

    def __init__(self, biased: bool = True, time: Time = Time.SYSTEM) -> None:
        self.biased = biased
        self._sample = ExponentiallyDecayingSample(time=time) if biased else UniformSample()
        self._lock = ReentrantLock()
        self._cells: dict[int, list[float]] = {}
        self._clear_sums()

    def _clear_sums(self) -> None:
        self._count = 0
        self._sum = 0.0
        self._min = math.inf
        self._max = -math.inf
        self._mean = 0.0
        self._squares = 0.0  # summed squares of the distances from the mean

    def update(self, value: float) -> None:
        """Take a value in."""
        try:
            cell = self._cells[get_ident()]
        except KeyError:
            cell = self._cells[get_ident()] = []
        cell.append(value)
        if len(cell) >= _BATCH:
            self._collect(cell)

    def _collect(self, cell: list[float]) -> None:
        """Move what waits in a cell to the reservoir; its owner may go on appending."""
        with self._lock:
            n = len(cell)
            if n == 0:
                return
            values = cell[:n]
            del cell[:n]
            self._sample.update_all(values)
            total = sum(values)
            mean = total / n
            squares = max(0.0, sum(map(mul, values, values)) - n * mean * mean)
            distance = mean - self._mean
            count = self._count + n
            self._squares += squares + distance * distance * self._count * n / count
            self._mean += distance * n / count
            self._count = count
            self._sum += total
            self._min = min(self._min, *values) if n > 1 else min(self._min, values[0])
            self._max = max(self._max, *values) if n > 1 else max(self._max, values[0])

    def tick(self) -> None:
        """Collect all cells."""
        for cell in list(self._cells.values()):
            self._collect(cell)

    @property
    def count(self) -> int:
        """How many values were taken in."""
        self.tick()
        return self._count

    @property
    def sum(self) -> float:
        """What they add up to."""
        self.tick()
        return self._sum

    @property
    def min(self) -> float:
        """The smallest, 0.0 without values."""
        return self._min if self.count else 0.0

    @property
    def max(self) -> float:
        """The largest, 0.0 without values."""
        return self._max if self.count else 0.0

    @property
    def mean(self) -> float:
        """Their mean, 0.0 without values."""
        return self._sum / self._count if self.count else 0.0

    @property
    def std_dev(self) -> float:
        """Their standard deviation, 0.0 without values."""
        return math.sqrt(self._squares / (self._count - 1)) if self.count > 1 else 0.0

    def snapshot(self) -> Snapshot:
        """The reservoir's values."""
        self.tick()
        with self._lock:
            return self._sample.snapshot()

    def clear(self) -> None:
        """Forget every value."""
        self.tick()
        with self._lock:
            self._sample.clear()
            self._clear_sums()

    def attributes(self) -> Attributes:
        """Count, extremes, mean and percentiles."""
        return {
            "Count": lambda: self.count,
            "Min": lambda: self.min,
            "Max": lambda: self.max,
            "Mean": lambda: self.mean,
            "StdDev": lambda: self.std_dev,
            **{
                name: (lambda q=quantile: self.snapshot().get_value(q))  # type: ignore[misc]
                for name, quantile in PERCENTILES.items()
            },
        }


PERCENTILES = {
    "50thPercentile": 0.5,
    "75thPercentile": 0.75,
    "95thPercentile": 0.95,
    "98thPercentile": 0.98,
    "99thPercentile": 0.99,
    "999thPercentile": 0.999,
}


class TimerContext:
    """One measurement; ends with `stop()` or with its with-block.

    Mirrors: com.yammer.metrics.core.TimerContext
    """

    __slots__ = ("_start_ns", "_timer")

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._start_ns = timer.clock.nanoseconds()

    def stop(self) -> None:
        """Record the time since the context was made."""
        self._timer.update_nanos(self._timer.clock.nanoseconds() - self._start_ns)

    def __enter__(self) -> TimerContext:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()


class Timer(Metric):
    """How often something happens and how long it takes, in milliseconds.

    Mirrors: com.yammer.metrics.core.Timer
    Differs: durations are always shown in ms and rates per s, as Kafka asks for.
    """

    def __init__(self, time: Time = Time.SYSTEM) -> None:
        self.clock = time
        self._meter = Meter("calls", time)
        self._histogram = Histogram(biased=True, time=time)

    def update_nanos(self, duration_ns: int) -> None:
        """It happened once and took so long; a negative time is not counted."""
        if duration_ns >= 0:
            self._histogram.update(duration_ns / 1e6)
            self._meter.mark()

    def update(self, duration_ms: float) -> None:
        """Count one event, and the milliseconds it took."""
        if duration_ms >= 0:
            self._histogram.update(duration_ms)
            self._meter.mark()

    def time(self) -> TimerContext:
        """Start measuring."""
        return TimerContext(self)

    def tick(self) -> None:
        """Bring both parts up to date."""
        self._meter.tick()
        self._histogram.tick()

    @property
    def count(self) -> int:
        """How often it happened."""
        return self._histogram.count

    @property
    def min(self) -> float:
        """The shortest, in ms."""
        return self._histogram.min

    @property
    def max(self) -> float:
        """The longest, in ms."""
        return self._histogram.max

    @property
    def mean(self) -> float:
        """The mean, in ms."""
        return self._histogram.mean

    @property
    def std_dev(self) -> float:
        """The standard deviation, in ms."""
        return self._histogram.std_dev

    @property
    def mean_rate(self) -> float:
        """Times per second since the timer was made."""
        return self._meter.mean_rate

    @property
    def one_minute_rate(self) -> float:
        """Times per second, the last minute weighing most."""
        return self._meter.one_minute_rate

    @property
    def five_minute_rate(self) -> float:
        """Times per second, the last five minutes weighing most."""
        return self._meter.five_minute_rate

    @property
    def fifteen_minute_rate(self) -> float:
        """Times per second, the last fifteen minutes weighing most."""
        return self._meter.fifteen_minute_rate

    def snapshot(self) -> Snapshot:
        """The reservoir's durations, in ms."""
        return self._histogram.snapshot()

    def attributes(self) -> Attributes:
        """Those of a histogram and of a meter."""
        return {
            "LatencyUnit": lambda: "MILLISECONDS",
            **self._meter.attributes(),
            **self._histogram.attributes(),
        }


M = TypeVar("M", bound=Metric)


class MetricsRegistry:
    """Metrics by name, each shown as a bean.

    Mirrors: com.yammer.metrics.core.MetricsRegistry
    """

    def __init__(self, time: Time = Time.SYSTEM, server: MBeanServer | None = PLATFORM_MBEAN_SERVER) -> None:
        self._time = time
        self._server = server
        self._metrics: ConcurrentHashMap[MetricName, Metric] = ConcurrentHashMap()

    def _get_or_add(self, name: MetricName, kind: type[M], make: Callable[[], M]) -> M:
        """The metric of that name; TypeError if there is one of another kind."""

        def add(_: MetricName) -> Metric:
            metric = make()
            if self._server is not None:
                self._server.register(name.m_bean_name, metric.attributes())
            return metric

        metric = self._metrics.compute_if_absent(name, add)
        if not isinstance(metric, kind):
            raise TypeError(f"{name} is a {type(metric).__name__} already, not a {kind.__name__}")
        return metric

    def new_gauge(self, name: MetricName, fn: Callable[[], Any]) -> Gauge[Any]:
        """The gauge of that name, made if there is none."""
        return self._get_or_add(name, Gauge, lambda: Gauge(fn))

    def new_counter(self, name: MetricName) -> Counter:
        """The counter of that name, made if there is none."""
        return self._get_or_add(name, Counter, Counter)

    def new_meter(self, name: MetricName, event_type: str, rate_unit: str = "SECONDS") -> Meter:
        """The meter of that name, made if there is none."""
        return self._get_or_add(name, Meter, lambda: Meter(event_type, self._time, rate_unit))

    def new_histogram(self, name: MetricName, biased: bool = False) -> Histogram:
        """The histogram of that name, made if there is none."""
        return self._get_or_add(name, Histogram, lambda: Histogram(biased, self._time))

    def new_timer(self, name: MetricName) -> Timer:
        """The timer of that name, made if there is none."""
        return self._get_or_add(name, Timer, lambda: Timer(self._time))

    def remove_metric(self, name: MetricName) -> None:
        """Forget the metric of that name, if there is one."""

        def remove(_: MetricName, metric: Metric) -> None:
            # In one step with the metric: one made anew meanwhile must keep its bean.
            if self._server is not None:
                self._server.unregister(name.m_bean_name)

        self._metrics.compute_if_present(name, remove)

    def all_metrics(self) -> dict[MetricName, Metric]:
        """A snapshot of all metrics by name."""
        return dict(self._metrics.items())

    @property
    def size(self) -> int:
        """How many metrics there are."""
        return len(self._metrics)

    def tick(self) -> None:
        """Bring every metric's averages up to date, letting other threads go on in between."""
        for i, metric in enumerate(self._metrics.values()):
            metric.tick()
            if i % _TICKS_AT_ONCE == 0:
                yield_gil()

    def __iter__(self) -> Iterator[tuple[MetricName, Metric]]:
        return iter(self._metrics.items())


_DEFAULT_REGISTRY = MetricsRegistry()


class Metrics:
    """Holds the registry everyone uses.

    Mirrors: com.yammer.metrics.Metrics
    """

    @staticmethod
    def default_registry() -> MetricsRegistry:
        """That registry."""
        return _DEFAULT_REGISTRY
