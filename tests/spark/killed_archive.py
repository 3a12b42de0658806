"""Archives with a process that is killed at each of its steps in turn; run as a program: ``killed_archive DIRECTORY``.

A child is forked for every step: it kills itself when the archive run opens, renames, removes or syncs something for
the n-th time. The parent then archives again, to the end, with more records than before.
"""

from __future__ import annotations

import os
import pathlib
import signal
import sys
from typing import Any

import pyarrow.parquet as pq

from kafka_py.spark.archive import ArchiveSettings, archive_topics, run_here
from kafka_py.spark.parquet_manifest import ParquetManifest
from kafka_py.spark.transport import PartitionOffsets
from tests.spark.made_topics import MadeTopics

SETTINGS = ArchiveSettings(max_file_bytes=40)
BEFORE, AFTER = 50, 70


def archive_up_to(target: pathlib.Path, until: int) -> None:
    topics = {("t", p): PartitionOffsets(0, until, until, until) for p in range(2)}
    archive_topics(MadeTopics(topics), lambda topic, partition: True, target, SETTINGS, run_here)


def die_at_step(number: int) -> None:
    """Count what the process asks of the system, and kill it with SIGKILL at the n-th time."""
    seen = 0

    def step() -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    fsync = os.fsync

    def synced(fd: Any) -> None:
        step()
        fsync(fd)

    os.fsync = synced
    sys.addaudithook(lambda event, _: step() if event in ("open", "os.rename", "os.remove", "os.mkdir") else None)


def survived(target: pathlib.Path, number: int) -> bool:
    """Whether a child that is to die at step n came to its end before."""
    child = os.fork()
    if child == 0:
        die_at_step(number)
        archive_up_to(target, BEFORE)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, status
    return not os.WIFSIGNALED(status)


def offsets_by_name(target: pathlib.Path, partition: int) -> list[int]:
    """What a reader finds who knows no manifest, only files with the names of Parquet files."""
    found: list[int] = []
    for path in (target / "t" / f"partition={partition}").glob("[0-9]*.parquet"):
        with pq.ParquetFile(path) as content:
            found += content.read(["offset"]).column("offset").to_pylist()
    return sorted(found)


def main(home: pathlib.Path) -> int:
    """The number of steps at which the archive was killed; AssertionError unless it was whole after each of them."""
    number = 1
    while True:
        target = home / str(number)
        whole = survived(target, number)
        for partition in range(2):
            found = offsets_by_name(target, partition)
            assert found == list(range(len(found))), (number, partition)
        archive_up_to(target, AFTER)
        for partition in range(2):
            assert offsets_by_name(target, partition) == list(range(AFTER)), (number, partition)
        manifest = ParquetManifest(target / "t", "t")
        names = {path.name for path in (target / "t").rglob("*") if path.is_file()}
        assert names == {"_manifest.json", "_archive.lock"} | {pathlib.Path(f.path).name for f in manifest.files}
        if whole:
            return number - 1
        number += 1


if __name__ == "__main__":
    print(main(pathlib.Path(sys.argv[1])))
