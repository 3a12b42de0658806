"""Spoils the end of a partition's log as a crash or a bad disk does, for a broker that does not run.

Ours, no original.
"""

from __future__ import annotations

import pathlib
import struct
from collections.abc import Iterator

KINDS = ("torn", "crc", "index")
# Base offset and the length of what follows: in this place in all formats of records.
_HEADER = struct.Struct(">qi")
# Not a whole number of entries, and none of them in order.
_BAD_INDEX = b"\xff" * 17


def corrupt_tail(partition: pathlib.Path, what: str = "torn") -> pathlib.Path:
    """Spoil the last batch of a partition's directory (or the last segment's offset index); the file it was done to.

    torn: only half of the batch is there; crc: its last bit is another; index: the entries make no sense.
    Raises ValueError for a partition without records and for any other kind.
    """
    if what not in KINDS:
        raise ValueError(f"{what} is none of {', '.join(KINDS)}")
    segments = [path for path in sorted(partition.glob("*.log")) if path.stat().st_size]
    if not segments:
        raise ValueError(f"No records are in {partition}")
    segment = segments[-1]
    if what == "index":
        index = segment.with_suffix(".index")
        index.write_bytes(_BAD_INDEX)
        return index
    start, end = list(batches(segment))[-1]
    with open(segment, "r+b") as file:
        if what == "torn":
            file.truncate((start + end) // 2)
        else:
            file.seek(end - 1)
            last = file.read(1)[0]
            file.seek(end - 1)
            file.write(bytes([last ^ 1]))
    return segment


def batches(segment: pathlib.Path) -> Iterator[tuple[int, int]]:
    """Where each batch of a segment begins and ends; a piece at the end counts as one."""
    size, at = segment.stat().st_size, 0
    with open(segment, "rb") as file:
        while at < size:
            file.seek(at)
            head = file.read(_HEADER.size)
            length = _HEADER.unpack(head)[1] if len(head) == _HEADER.size else 0
            # Zeros: what was preallocated and never written.
            end = min(size, at + _HEADER.size + length)
            if length <= 0:
                end = size
            yield at, end
            at = end
