"""The sub-commands of kafka-lab that are about exercises: labs, start, check, hint, reset.

Ours, no original.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Mapping, Sequence

from kafka_py.lab.control import NoLabError, ask, find_lab
from kafka_py.labs import session
from kafka_py.labs.catalog import EXERCISES
from kafka_py.labs.commands import JSON
from kafka_py.labs.results import Results
from kafka_py.utils.installation import HERE

HELP: Mapping[str, str] = {
    "labs": "lists the labs; --json: what was checked in this folder",
    "start N": "starts the cluster of lab N and tells what to do",
    "check [N]": "looks whether the lab that runs is solved; --json for a board",
    "hint [N]": "the next hint for the lab that runs",
    "reset": "begins the lab that runs anew",
}
WORDS = tuple(usage.split()[0] for usage in HELP)
_NO_LAB = 3


def main(args: Sequence[str]) -> int:
    """``labs`` and ``start`` as they end; of the others what the lab that runs gives: 0 when nothing is missing, 1 when
    something is, 3 when no lab runs."""
    match args[0]:
        case "labs":
            return _labs(args[1:])
        case "start":
            return session.start(args[1:])
        case _:
            return _ask(args)


def _labs(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"{HERE.name_of('kafka-lab')} labs", description=HELP["labs"])
    parser.add_argument(JSON, action="store_true", help="the results of this folder, as JSON")
    options = parser.parse_args(args)
    folder = pathlib.Path.cwd()
    print(json.dumps(Results(folder).all(), ensure_ascii=False) if options.json else session.listing(folder))
    return 0


def _ask(args: Sequence[str]) -> int:
    name = args[0]
    parser = argparse.ArgumentParser(prog=f"{HERE.name_of('kafka-lab')} {name}", description=_help_of(name))
    if name != "reset":
        parser.add_argument("number", nargs="?", type=int, choices=sorted(EXERCISES), metavar="N", help="1 to 8")
    if name == "check":
        parser.add_argument(JSON, action="store_true", help="one line of JSON")
    parser.add_argument("--lab", metavar="DIR", help="the directory of the lab; needed where several run")
    options = parser.parse_args(args[1:])
    words = [name]
    if getattr(options, "number", None) is not None:
        words.append(str(options.number))
    if getattr(options, "json", False):
        words.append(JSON)
    try:
        return ask(find_lab(options.lab), words)
    except NoLabError as e:
        print(f"kafka-lab: {e}", file=sys.stderr)
        return _NO_LAB


def _help_of(name: str) -> str:
    return next(text for usage, text in HELP.items() if usage.split()[0] == name)
