"""Runs one workload in a process of its own and prints its outcome as JSON; started by the runner."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import sys
from collections.abc import Mapping, Sequence

from benchmarks import broker_load, client_load
from benchmarks.raw_client import Session, Settings, SkippedError
from benchmarks.workload import Outcome, Workload

WORKLOADS: Mapping[str, Workload] = {
    workload.name: workload for workload in (*broker_load.WORKLOADS, *client_load.WORKLOADS)
}


def run(workload: Workload, settings: Settings) -> Outcome:
    """The outcome of a workload, whatever it be; its topics are deleted."""
    try:
        with Session(settings) as session:
            return Outcome(workload.run(session))
    except SkippedError as error:
        return Outcome(skipped=str(error))
    except Exception as error:  # noqa: BLE001  the outcome of the run is what went wrong
        # What failed first, when deleting the topics failed as well.
        first = error.__context__ or error
        return Outcome(error=f"{type(first).__name__}: {first}"[:300])


def main(arguments: Sequence[str]) -> int:
    """The argument is JSON: the fields of Settings, `workload`, and `cpus`, the cores to stay on (optional)."""
    spec = json.loads(arguments[0])
    cpus = spec.pop("cpus", None)
    if cpus:
        os.sched_setaffinity(0, cpus)
    workload = WORKLOADS[spec.pop("workload")]
    gc.disable()  # no pauses of our own among the latencies
    print(json.dumps(dataclasses.asdict(run(workload, Settings(**spec)))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
