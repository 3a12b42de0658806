"""The runner: one broker, or two side by side.

    python -m benchmarks.run list                            workloads, and how a broker is named
    python -m benchmarks.run limits                          what this machine can do at all
    python -m benchmarks.run run BROKER [-w WORKLOADS]       one broker
    python -m benchmarks.run pair A B [-w WORKLOADS] [-n N]  A B B A ..., medians and ratios A/B
    python -m benchmarks.run startup BROKER [-n N]           from the process's start to its first answers
    python -m benchmarks.run table FILE                      the tables of an earlier pair, again

Figures go to standard output and, whole, as JSON to benchmarks/out. Each workload runs in a process of its own, makes
its topics, verifies the end offsets and deletes the topics.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import brokers, limits, report
from benchmarks.broker_load import batch_of
from benchmarks.brokers import Broker
from benchmarks.measure import process_cpu_s
from benchmarks.raw_client import Session, Settings
from benchmarks.worker import WORKLOADS
from benchmarks.workload import GROUPS, Outcome, choose

OUT = pathlib.Path(__file__).resolve().parent / "out"
STARTUP = "startup"
METRICS = {name: workload.metric for name, workload in WORKLOADS.items()} | {STARTUP: "first_produce_s"}
# What a workload may take besides its measured section: filling a partition, deleting topics.
SPARE_S = 60.0


def names_of(text: str) -> list[str]:
    """As choose, with the start-up beside the workloads."""
    chosen: list[str] = []
    for part in text.split(","):
        chosen += [STARTUP] if part == STARTUP else choose(part, WORKLOADS)
        chosen += [STARTUP] if part == "all" else []
    return list(dict.fromkeys(chosen))


def run_workload(broker: Broker, name: str, options: argparse.Namespace) -> Outcome:
    """One run of a workload, or of the start-up of a second broker of the kind."""
    if name == STARTUP:
        return run_startup(broker, options)
    settings = Settings(
        broker.address.host, broker.address.port, broker.pid, options.seconds, int(options.max_gb * 1e9)
    )
    spec = {**dataclasses.asdict(settings), "workload": name, "cpus": options.client_cpus}
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(spec)]
    try:
        done = subprocess.run(
            command, cwd=brokers.ROOT, capture_output=True, text=True, timeout=options.seconds * 4 + SPARE_S
        )
        return Outcome(**json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        return Outcome(error="took too long")
    except ValueError:
        return Outcome(error=f"the worker said {(done.stdout + done.stderr).strip()[-300:]!r}")


def run_startup(broker: Broker, options: argparse.Namespace) -> Outcome:
    """ZooKeeper runs already; from the process's start to the first ApiVersions and the first Produce answered."""
    if not broker.is_ours_to_start:
        return Outcome(skipped="it runs already")
    try:
        with Broker(broker.spec, options.workdir) as other:
            figures = {"ready_s": other.ready_s, "rss_idle_mb": other.rss_idle_mb, "threads": float(other.threads)}
            before = time.perf_counter()
            with Session(Settings(other.address.host, other.address.port)) as session:
                topic = session.create_topic()
                with session.connect(topic) as connection:
                    connection.call(session.produce_frame(topic, 0, batch_of(1, 100)[0]))
                figures["first_produce_s"] = other.ready_s + time.perf_counter() - before
                session.verify_end_offset(topic, 1)
            assert other.pid
            figures["startup_cpu_s"] = sum(process_cpu_s(other.pid))
            return Outcome(figures)
    except Exception as error:  # noqa: BLE001  the outcome of the run is what went wrong
        return Outcome(error=f"{type(error).__name__}: {error}"[:600])


def warm_up(broker: Broker, options: argparse.Namespace) -> None:
    """Loads of each kind, so that a JVM has compiled what will be measured."""
    names = GROUPS["warm_up"]
    seconds = broker.warm_up_s if options.warm_up is None else options.warm_up
    if seconds <= 0:
        return
    brief = argparse.Namespace(**{**vars(options), "seconds": seconds / len(names), "max_gb": 0.5})
    for name in names:
        trouble = run_workload(broker, name, brief).trouble
        if trouble:
            print(f"# warming up {broker.spec}: {name} {trouble}", flush=True)


@contextlib.contextmanager
def started(specs: Sequence[str], options: argparse.Namespace) -> Iterator[list[Broker]]:
    """The brokers, started and warm; stopped in the end."""
    with contextlib.ExitStack() as stack:
        found = []
        for side, spec in zip("AB", specs, strict=False):
            broker = stack.enter_context(Broker(spec, options.workdir))
            ready = f"ready in {broker.ready_s:.2f} s, {broker.rss_idle_mb:.0f} MiB" if broker.ready_s else "runs"
            print(f"# {side} = {spec}: {ready}", flush=True)
            found.append(broker)
        for broker in found:
            warm_up(broker, options)
        yield found


def run_rounds(running: Sequence[Broker], names: Sequence[str], options: argparse.Namespace) -> list[Any]:
    """Every workload on every broker, round by round; a list of outcomes per workload, per broker.

    Rounds are outermost, so that a disturbance hits one round of many workloads rather than all rounds of one, and so
    that running out of the budget costs the last round only. Every other round begins with the last broker: whoever
    comes first finds the disk busy with what the workload before has written.
    """
    outcomes: list[dict[str, list[Outcome]]] = [{name: [] for name in names} for _ in running]
    start = time.perf_counter()
    for turn in range(options.rounds):
        for name in names:
            if turn and time.perf_counter() - start > options.budget:
                print(f"# the budget of {options.budget:.0f} s is spent in round {turn + 1}", flush=True)
                return outcomes
            sides = list(zip("AB", running, outcomes, strict=False))
            for side, broker, found in reversed(sides) if turn % 2 else sides:
                outcome = run_workload(broker, name, options)
                found[name].append(outcome)
                print(f"{turn + 1} {side} {name:22} {report.line(outcome)}", flush=True)
                if broker.has_died:
                    print(f"# {side} has died; it is started again", flush=True)
                    broker.stop()
                    broker.start()
                    warm_up(broker, options)
    return outcomes


def save(kind: str, specs: Sequence[str], content: dict[str, Any]) -> pathlib.Path:
    OUT.mkdir(exist_ok=True)
    label = re.sub(r"[^\w.@-]+", "_", "-".join(specs))
    path = OUT / f"{time.strftime('%Y%m%d-%H%M%S')}-{kind}{'-' if label else ''}{label}.json"
    whole = {"kind": kind, "brokers": list(specs), "environment": report.environment(), **content}
    path.write_text(json.dumps(whole, indent=1) + "\n")
    print(f"# {path.relative_to(brokers.ROOT)}", flush=True)
    return path


def to_json(outcomes: dict[str, list[Outcome]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [dataclasses.asdict(outcome) for outcome in found] for name, found in outcomes.items()}


def from_json(outcomes: dict[str, list[dict[str, Any]]]) -> dict[str, list[Outcome]]:
    return {name: [Outcome(**outcome) for outcome in found] for name, found in outcomes.items()}


def command_list(_: argparse.Namespace) -> int:
    for workload in WORKLOADS.values():
        note = "" if workload.by_default else " (not in `all`)"
        print(f"{workload.name:24} {workload.metric:12} {workload.about}{note}")
    print(f"{STARTUP:24} {METRICS[STARTUP]:12} from the process's start to the first Produce answered")
    for group, members in GROUPS.items():
        print(f"{group:24} {'':12} {', '.join(members)}")
    print((brokers.__doc__ or "").partition("\n\n")[2])
    return 0


def command_limits(_: argparse.Namespace) -> int:
    found = limits.limits()
    for name, value in found.items():
        print(f"{name:28} {report.number(value)}")
    save("limits", [], {"limits": found})
    return 0


def command_run(options: argparse.Namespace) -> int:
    names = names_of(options.workloads)
    with started([options.broker], options) as running:
        outcomes = run_rounds(running, names, options)[0]
    save("run", [options.broker], {"a": to_json(outcomes)})
    return int(any(outcome.error for found in outcomes.values() for outcome in found))


def command_startup(options: argparse.Namespace) -> int:
    broker = Broker(options.broker, options.workdir)
    outcomes = [run_startup(broker, options) for _ in range(options.rounds)]
    for outcome in outcomes:
        print(report.line(outcome))
    save(STARTUP, [options.broker], {"a": to_json({STARTUP: outcomes})})
    return int(any(outcome.error for outcome in outcomes))


def command_pair(options: argparse.Namespace) -> int:
    names = names_of(options.workloads)
    with started([options.a, options.b], options) as running:
        a, b = run_rounds(running, names, options)
    path = save("pair", [options.a, options.b], {"a": to_json(a), "b": to_json(b)})
    print_tables(path)
    return int(any(outcome.error for side in (a, b) for found in side.values() for outcome in found))


def command_table(options: argparse.Namespace) -> int:
    print_tables(pathlib.Path(options.file))
    return 0


def print_tables(path: pathlib.Path) -> None:
    """Of a saved pair: each workload's ratio, and the bars beside what was measured."""
    saved = json.loads(path.read_text())
    a, b = from_json(saved["a"]), from_json(saved["b"])
    about = saved["environment"]
    print(
        f"\nA = {saved['brokers'][0]}, B = {saved['brokers'][1]}; {about['cpus']} x {about['cpu']}, "
        f"Linux {about['kernel']}, Python {about['python']}, librdkafka {about['librdkafka']}, {about['time'][:10]}\n"
    )
    print(report.pair_table(a, b, {name: METRICS[name] for name in a}))
    if any(report.measure_bar(bar, a, b) is not None for bar in report.BARS):
        print("\n" + report.bars_table(a, b))


def cores(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    whole.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = whole.add_subparsers(required=True)
    for name, function in (
        ("list", command_list),
        ("limits", command_limits),
        ("run", command_run),
        ("pair", command_pair),
        ("startup", command_startup),
        ("table", command_table),
    ):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        if name == "table":
            command.add_argument("file", help="JSON of an earlier pair")
        if name in ("run", "startup"):
            command.add_argument("broker")
        if name == "pair":
            command.add_argument("a")
            command.add_argument("b")
        if name in ("run", "pair", "startup"):
            add_options(command, 3 if name == "pair" else 1)
    return whole


def add_options(command: argparse.ArgumentParser, rounds: int) -> None:
    command.add_argument("-w", "--workloads", default="quick", help="names, beginnings*, quick or all (default: quick)")
    command.add_argument("-n", "--rounds", type=int, default=rounds)
    command.add_argument("-s", "--seconds", type=float, default=2.0, help="length of a measured section")
    command.add_argument("--max-gb", type=float, default=2.0, help="what a workload may write")
    command.add_argument("--warm-up", type=float, help="seconds of load before the first measurement")
    command.add_argument("--budget", type=float, default=620.0, help="seconds after which no further round is begun")
    command.add_argument("--client-cpus", type=cores, help="cores of the load generators, as 0,1")
    command.add_argument("--workdir", help="where brokers that are started here keep their files")


def main(arguments: Sequence[str]) -> int:
    """The exit code is 1 when a run failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that brokers are stopped
    options = parser().parse_args(arguments)
    result: int = options.function(options)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
