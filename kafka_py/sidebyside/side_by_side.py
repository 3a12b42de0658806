"""kafka-sidebyside: a local site with Kafka's source on the left and ours on the right, from the reader's own clone.

    git clone https://github.com/apache/kafka
    kafka-sidebyside --kafka kafka --out sidebyside

Ours, no original. Which files and which versions of them are read, our modules say (`Mirrors:`); the clone needs the
tags of those releases, nothing has to be checked out.

Read next: original.py, ours.py, site.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from kafka_py.sidebyside.ours import Original, Ours
from kafka_py.utils.installation import HERE, ROOT

_STEP = 10


class Clone:
    """A clone of apache/kafka, with or without a work tree."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, original: Original) -> str | None:
        """The file as it was in its release; None where the clone does not have it."""
        wanted = f"{original.version}:{original.path}"
        done = subprocess.run(["git", "-C", str(self._path), "show", wanted], capture_output=True, check=False)
        return None if done.returncode else done.stdout.decode("utf-8", "replace")

    def lacks(self, version: str) -> bool:
        """Whether there is no such tag."""
        command = ["git", "-C", str(self._path), "rev-parse", "-q", "--verify", f"{version}^{{commit}}"]
        return subprocess.run(command, capture_output=True, check=False).returncode != 0


def parse(args: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    described = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog=HERE.name_of("kafka-sidebyside"), description=described)
    parser.add_argument("--kafka", required=True, type=Path, metavar="CLONE", help="a clone of apache/kafka")
    parser.add_argument("--out", type=Path, default=Path("sidebyside"), help="the folder to write (default sidebyside)")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose path has this in it")
    return parser.parse_args(args)


def main(args: Sequence[str]) -> int:
    """0 when the site is written; 1 when something it needs is missing."""
    options = parse(args)
    if find_spec("pygments") is None:
        print("kafka-sidebyside needs Pygments: pip install pygments", file=sys.stderr)
        return 1
    from kafka_py.sidebyside.site import Site, compare  # only now: it needs Pygments

    clone, ours = Clone(options.kafka), Ours(ROOT)
    wanted = [original for original in ours.originals() if options.only in original.path]
    missing = sorted({original.version for original in wanted if clone.lacks(original.version)})
    if missing:
        tags = " ".join(missing)
        print(f"{options.kafka} has no {tags}: git -C {options.kafka} fetch origin tag {tags}", file=sys.stderr)
        return 1
    site = Site(ours, ROOT, options.out)
    without = 0
    for number, original in enumerate(wanted, 1):
        text = clone.read(original)
        if text is None:
            without += 1
            continue
        site.add(compare(ours, original, text))
        progress(number, len(wanted))
    site.finish()
    told = ", ".join(f"{count:,} {grade}" for grade, count in site.totals.items())
    print(f"{len(wanted) - without} files: {told}")
    print(f"open {(options.out / 'index.html').resolve()}")
    return 0


def progress(done: int, whole: int) -> None:
    """A bar on a terminal, nothing elsewhere."""
    if sys.stderr.isatty() and (done % _STEP == 0 or done == whole):
        filled = 40 * done // whole
        end = "\n" if done == whole else ""
        print(f"\r[{'#' * filled}{' ' * (40 - filled)}] {done} of {whole} files", end=end, file=sys.stderr, flush=True)
