"""``python -m tests.faults``: many faults, by hand; ends with 1 if anything is wrong, and keeps the directory then."""

from __future__ import annotations

import argparse
import faulthandler
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Sequence

from tests.faults.clocks import has_compiler
from tests.faults.nemesis import SINGLE, UNCLEAN, Scenario, plan_of
from tests.faults.run import FaultRun

# A scenario waits twice for two minutes at most, the end for five times as much.
_HANGS_S = 900


def _say(line: str) -> None:
    """And expect another within some minutes: a client that hangs holds up all."""
    faulthandler.dump_traceback_later(_HANGS_S, exit=True)
    print(line, flush=True)


def main(arguments: Sequence[str]) -> int:
    options = argparse.ArgumentParser(prog="python -m tests.faults", description="Faults of a cluster under load.")
    options.add_argument("--faults", type=int, default=20, help="how many (20)")
    options.add_argument("--seed", type=int, default=1, help="the plan follows from this number (1)")
    options.add_argument("--double", action="store_true", help="two faults at a time in every second scenario")
    options.add_argument("--unclean", action="store_true", help="every third scenario is an unclean election")
    options.add_argument("--only", metavar="KIND", nargs="+", help=f"these, one after another: {', '.join(SINGLE)}")
    options.add_argument("--home", type=pathlib.Path, help="where everything is kept (else only what went wrong is)")
    given = options.parse_args(arguments)
    home = given.home or pathlib.Path(tempfile.mkdtemp(prefix="faults-"))
    home.mkdir(parents=True, exist_ok=True)
    kinds = [kind for kind in SINGLE if has_compiler() or kind != "clock step"]
    plan = plan_of(given.seed, given.faults, double=given.double, unclean=given.unclean, kinds=kinds)
    if given.only:
        if unknown := set(given.only) - {*SINGLE, UNCLEAN}:
            options.error(f"no such kind: {', '.join(sorted(unknown))}")
        turns = [given.only[number % len(given.only)] for number in range(given.faults)]
        plan = [Scenario((kind,), f"{given.seed}/{number}") for number, kind in enumerate(turns)]
    words = "".join(f" --{name}" for name in ("double", "unclean") if getattr(given, name))
    only = "".join(f" '{kind}'" for kind in given.only or ())
    _say(f"--faults {given.faults} --seed {given.seed}{words}{' --only' + only if only else ''} in {home}")
    try:
        # who is behind is to stay so: no controller may make it a leader meanwhile
        properties = {"auto.leader.rebalance.enable": "false"} if given.unclean else {}
        result = FaultRun(home, given.seed, _say, properties).carry_out(plan)
    except BaseException:
        print(f"kept: {home}")
        raise
    print(result.table())
    print(", ".join(f"{count} {what}" for what, count in sorted(result.counts.items())))
    for violation in result.violations:
        print(violation)
    if result.violations:
        print(f"{len(result.violations)} violations; kept: {home}")
    else:
        print("no violation")
        if given.home is None:
            shutil.rmtree(home)
    return int(bool(result.violations))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
