"""python -m tests.model --depth N --random M --seed S: look for a schedule that breaks an invariant."""

from __future__ import annotations

import argparse
import logging
import sys

from tests.model.interleavings import Search


def main() -> int:
    """1 when something was found; it is printed as a test."""
    parser = argparse.ArgumentParser(description="Search the interleavings of three replicas.")
    parser.add_argument("--depth", type=int, default=60, help="steps of a schedule")
    parser.add_argument("--random", type=int, default=0, help="so many random schedules; without it, all of that depth")
    parser.add_argument("--seed", type=int, default=0, help="of the first random schedule")
    parser.add_argument("--min-isr", type=int, default=1, help="min.insync.replicas")
    parser.add_argument("--protocol", default="2.5", help="inter.broker.protocol.version")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    search = Search(min_isr=arguments.min_isr, protocol=arguments.protocol)

    def progress(text: str) -> None:
        print(text, flush=True)

    if arguments.random:
        found = search.at_random(arguments.random, arguments.depth, arguments.seed, progress)
    else:
        found = search.exhaustive(arguments.depth, progress)
    if found.counterexample is None:
        print(f"looked at {found.looked_at}: nothing found")
        return 0
    print(found.counterexample.as_test())
    return 1


if __name__ == "__main__":
    sys.exit(main())
