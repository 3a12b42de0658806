"""What a broker's core is worth beside other processes: `kafka.py.cpu.affinity` as auto, bound and none, compared.

    python -m benchmarks.affinity                          # 0, 10 and 40 busy processes, three rounds, three minutes
    python -m benchmarks.affinity -p 0,2,4 -n 5 --broker kafka_py,compiled

Small requests (ApiVersions) on a few connections, each broker in turn, beside so many busy processes, each in a session
of its own: Linux gives every session on a core the same share of it, so each of them counts as much as the broker. The
brokers that are not measured are idle. A ratio is the median of the ratios of neighbours. Bars: beside busy processes
`auto` has 0.9 of `none`, on a calm machine 0.98 of `bound`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

from benchmarks import frames
from benchmarks.brokers import Broker
from benchmarks.measure import Measurement, latencies
from benchmarks.raw_client import Connection, closed_loop
from benchmarks.run import save

AFFINITIES = ("auto", "bound", "none")
SETTLE_S = 3.0  # under load, before each measurement: auto decides within a second, and comes back after one of calm
LONGEST_S = 60.0
SPIN = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"
CHANGE = re.compile(r"(Not bound to core \d+ any more|Bound to core \d+ again)")

Figures = dict[str, float]


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many processes that compute, each in a session of its own; they end by themselves should we be killed."""
    command = [sys.executable, "-c", SPIN, str(LONGEST_S)]
    running = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def measure(broker: Broker, connections: int, seconds: float) -> Figures:
    """Requests per second of one broker, and what they cost it."""
    request = frames.api_versions_request()
    open_ = [Connection(broker.address) for _ in range(connections)]
    try:
        closed_loop(open_, request, SETTLE_S, lambda answer, _: None)
        measurement = Measurement(broker.pid)
        took = closed_loop(open_, request, seconds, lambda answer, _: None)
        figures = measurement.stop(requests=len(took))
        for connection in open_:
            frames.parse_api_versions(connection.call(request))  # raises BrokerError
    finally:
        for connection in open_:
            connection.close()
    return figures | latencies(took)


def affinity_of(name: str) -> str:
    return str(max(os.sched_getaffinity(0))) if name == "bound" else name


def changes(broker: Broker) -> int:
    """How often the broker has left its core or taken one, by its log."""
    return sum(len(CHANGE.findall(path.read_text(errors="replace"))) for path in broker.home.rglob("server.log"))


def run(options: argparse.Namespace) -> dict[str, dict[str, list[Figures]]]:
    """Busy processes -> affinity -> figures of each round."""
    found: dict[str, dict[str, list[Figures]]] = {
        str(count): {name: [] for name in AFFINITIES} for count in options.processes
    }
    with contextlib.ExitStack() as stack:
        brokers = {
            name: stack.enter_context(Broker(options.broker, properties={"kafka.py.cpu.affinity": affinity_of(name)}))
            for name in AFFINITIES
        }
        for turn in range(options.rounds):
            for count in options.processes:
                for name, broker in brokers.items():
                    with busy_processes(count):
                        figures = measure(broker, options.connections, options.seconds)
                    found[str(count)][name].append(figures)
                    print(
                        f"{turn + 1} beside {count:3} {name:6} {figures['requests_s']:8.0f} requests/s, "
                        f"broker's share {figures['broker_share']:.2f}, p99 {figures['lat_p99_us'] / 1000:.1f} ms, "
                        f"{changes(broker)} changes so far",
                        flush=True,
                    )
    return found


def ratio(found: Mapping[str, Sequence[Figures]], a: str, b: str) -> float:
    return statistics.median(x["requests_s"] / y["requests_s"] for x, y in zip(found[a], found[b], strict=True))


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main(arguments: Sequence[str]) -> int:
    """Print the ratios, and leave all figures in benchmarks/out."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that brokers and busy processes are stopped
    parser = argparse.ArgumentParser(prog="benchmarks.affinity", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("-p", "--processes", type=numbers, default=[0, 10, 40], help="busy processes beside (0,10,40)")
    parser.add_argument("-n", "--rounds", type=int, default=3)
    parser.add_argument("-s", "--seconds", type=float, default=3.0, help="length of a measured section")
    parser.add_argument("-c", "--connections", type=int, default=4)
    parser.add_argument("--broker", default="kafka_py", help="kafka_py, kafka_py,compiled or kafka_py@REVISION")
    options = parser.parse_args(arguments)
    if len(os.sched_getaffinity(0)) < 2:
        print("There is but one core: nothing to choose", file=sys.stderr)
        return 1
    found = run(options)
    save("affinity", [options.broker], {"affinity": found})
    print("\n| busy processes | auto / none | auto / bound | bound / none |\n|---|---|---|---|")
    for count, figures in found.items():
        pairs = (("auto", "none"), ("auto", "bound"), ("bound", "none"))
        print(f"| {count} | " + " | ".join(f"{ratio(figures, a, b):.2f}" for a, b in pairs) + " |")
    print("medians, requests/s:", json.dumps({count: medians(figures) for count, figures in found.items()}))
    return 0


def medians(figures: Mapping[str, Sequence[Figures]]) -> dict[str, float]:
    return {name: round(statistics.median(one["requests_s"] for one in found)) for name, found in figures.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
