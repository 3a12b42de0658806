"""What a process costs, out of /proc, and the figures of one measured section."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Sequence

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CPUS = os.cpu_count() or 1
SAMPLE_S = 0.1

Figures = dict[str, float]


def process_cpu_s(pid: int) -> tuple[float, float]:
    """Seconds of user and of system time of a process so far."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICKS_PER_S, int(fields[12]) / TICKS_PER_S


def process_rss_mb(pid: int) -> float:
    """Resident memory of a process, in MiB."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * PAGE_BYTES / 2**20


def process_threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def machine_busy_s() -> float:
    """Seconds of processor time that the whole machine has spent on anything but waiting."""
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / TICKS_PER_S


def own_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that ``share`` of an ordered sequence lies below; raises IndexError for an empty one."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def latencies(seconds: Sequence[float]) -> Figures:
    """Median, tail and worst of durations given in seconds, in microseconds."""
    if not seconds:
        return {}
    ordered = sorted(seconds)
    return {
        "lat_p50_us": quantile(ordered, 0.5) * 1e6,
        "lat_p99_us": quantile(ordered, 0.99) * 1e6,
        "lat_p999_us": quantile(ordered, 0.999) * 1e6,
        "lat_max_us": ordered[-1] * 1e6,
    }


class Measurement:
    """One measured section: wall time, the broker's and our own processor time, the broker's largest memory.

    ``client_share`` near 1 says that the load generator was the limit; ``others_share`` above some hundredths, that
    something else on the machine disturbed the figures.
    """

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self._stopped = threading.Event()
        self._rss_max_mb = 0.0
        self._sampler = threading.Thread(target=self._sample, name="memory-sampler", daemon=True)
        self._broker = process_cpu_s(pid) if pid else (0.0, 0.0)
        if pid:
            self._sampler.start()
        self._machine = machine_busy_s()
        self._own = own_cpu_s()
        self._start = time.perf_counter()

    def _sample(self) -> None:
        assert self._pid
        while not self._stopped.wait(SAMPLE_S):
            try:
                self._rss_max_mb = max(self._rss_max_mb, process_rss_mb(self._pid))
            except OSError:  # the broker is gone; the workload's own error will say so
                return

    def stop(self, *, nbytes: int = 0, requests: int = 0, records: int = 0) -> Figures:
        """End the section; rates are given for what was counted."""
        wall = time.perf_counter() - self._start
        own = own_cpu_s() - self._own
        machine = machine_busy_s() - self._machine
        self._stopped.set()
        figures: Figures = {"wall_s": wall, "client_share": own / wall}
        broker = 0.0
        if self._pid:
            user, system = process_cpu_s(self._pid)
            user, system = user - self._broker[0], system - self._broker[1]
            broker = user + system
            self._rss_max_mb = max(self._rss_max_mb, process_rss_mb(self._pid))
            figures["broker_share"] = broker / wall
            figures["broker_system_share"] = system / broker if broker else 0.0
            figures["rss_max_mb"] = self._rss_max_mb
            self._sampler.join()
        figures["others_share"] = max(0.0, machine - own - broker) / wall / CPUS
        figures.update(rates(wall, broker if self._pid else None, nbytes, requests, records))
        return figures


def rates(wall_s: float, broker_cpu_s: float | None, nbytes: int, requests: int, records: int) -> Figures:
    """What was counted, per second and per processor second of the broker; MB and GB are decimal."""
    figures: Figures = {}
    if nbytes:
        figures["mb_s"] = nbytes / wall_s / 1e6
        if broker_cpu_s is not None:
            figures["cpu_s_per_gb"] = broker_cpu_s / (nbytes / 1e9)
    if requests:
        figures["requests"] = requests
        figures["requests_s"] = requests / wall_s
        if broker_cpu_s is not None:
            figures["cpu_us_per_request"] = broker_cpu_s / requests * 1e6
    if records:
        figures["records_s"] = records / wall_s
    return figures
