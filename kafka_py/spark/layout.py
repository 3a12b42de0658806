"""What is in a log directory: partitions, segments, and the offsets between which records may be read.

Reads the files that the broker writes (segments, offset indexes, checkpoints) and nothing else. A file that vanishes
while it is looked at (retention, deletion of a topic) is not an error here; the reader finds out and says so.
"""

from __future__ import annotations

import os
import pathlib
import re
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_py.spark.arrow_decoder import BASE_OFFSET, LAST_OFFSET_DELTA, walk_batches

HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
_PARTITION_DIR = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)$")
_SEGMENT = re.compile(r"(\d{20})\.log$")
_INDEX_ENTRY = struct.Struct(">ii")


class SegmentFile(NamedTuple):
    """One ``.log`` file; sizes in bytes."""

    path: str
    base_offset: int
    size: int


class ReplicaDir(NamedTuple):
    """One partition's directory, with the offsets that bound what may be read of it."""

    path: str
    topic: str
    partition: int
    log_start_offset: int
    high_watermark: int
    segments: tuple[SegmentFile, ...]

    @property
    def log_end_offset(self) -> int:
        """The offset behind the last whole batch, read from the headers of the last segment."""
        return max((end_offset(segment) for segment in self.segments[-1:]), default=self.log_start_offset)


def read_offset_checkpoint(path: pathlib.Path) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset; empty without a file or entries. Raises ValueError for a malformed file."""
    try:
        lines = path.read_text().split("\n")
    except FileNotFoundError:
        return {}
    if lines == [""]:
        return {}  # made by the broker, nothing written yet
    if lines[0].strip() != "0":
        raise ValueError(f"Unrecognized version of the checkpoint file {path}: {lines[0]}")
    entries = {}
    for line in lines[2 : 2 + int(lines[1])]:
        topic, partition, offset = line.split()
        entries[topic, int(partition)] = int(offset)
    return entries


def replica_dirs(log_dirs: Iterable[str]) -> Iterator[ReplicaDir]:
    """Every partition in these log directories, without those being deleted (-delete) or moved in (-future)."""
    for log_dir in log_dirs:
        home = pathlib.Path(log_dir)
        high_watermarks = read_offset_checkpoint(home / HIGH_WATERMARKS)
        start_offsets = read_offset_checkpoint(home / LOG_START_OFFSETS)
        for child in sorted(home.iterdir()):
            match = _PARTITION_DIR.match(child.name)
            if match is None or not child.is_dir():
                continue
            name = match["topic"], int(match["partition"])
            segments = tuple(segment_files(child))
            first = segments[0].base_offset if segments else 0
            yield ReplicaDir(
                str(child), *name, max(first, start_offsets.get(name, 0)), high_watermarks.get(name, 0), segments
            )


def segment_files(directory: pathlib.Path) -> Iterator[SegmentFile]:
    """The live segments in offset order; .deleted, .cleaned and .swap files are not live."""
    for path in sorted(directory.iterdir()):
        match = _SEGMENT.match(path.name)
        if match is not None:
            try:
                yield SegmentFile(str(path), int(match[1]), path.stat().st_size)
            except FileNotFoundError:
                continue  # retention was faster


def index_positions(segment: SegmentFile) -> list[tuple[int, int]]:
    """(offset, position) of the batches in the segment's offset index, without the zeros of a preallocated file."""
    try:
        data = pathlib.Path(segment.path).with_suffix(".index").read_bytes()
    except FileNotFoundError:
        return []
    entries = []
    for relative, position in _INDEX_ENTRY.iter_unpack(data[: len(data) // 8 * 8]):
        if position <= 0 or position >= segment.size:
            break
        entries.append((segment.base_offset + relative, position))
    return entries


def end_offset(segment: SegmentFile) -> int:
    """The offset behind the segment's last whole batch; reads headers only, from the last index entry on."""
    position = max((at for _, at in index_positions(segment)), default=0)
    last = segment.base_offset
    with open(segment.path, "rb", buffering=0) as file:
        while True:
            chunk = os.pread(file.fileno(), 1 << 20, position)
            batches, consumed = walk_batches(memoryview(chunk), len(chunk))
            if not batches:
                whole = int.from_bytes(chunk[8:12], "big") + 12 if len(chunk) >= 61 else 0
                if whole <= len(chunk) or position + whole > segment.size:
                    return last
                chunk = os.pread(file.fileno(), whole, position)
                batches, consumed = walk_batches(memoryview(chunk), len(chunk))
                if not batches:
                    return last
            last = batches[-1][BASE_OFFSET] + batches[-1][LAST_OFFSET_DELTA] + 1
            position += consumed
