"""What an archive of a topic holds: Parquet files by offset range, and the manifest that names them.

    target/<topic>/_manifest.json
    target/<topic>/partition=<p>/<from>-<until>.parquet      offsets with 20 digits, until is exclusive

A file is complete once it has its name: it is written under another one, synced, and renamed. So nobody ever sees half
of it, and the ranges in the names tell what is there even when the process died before it could write the manifest:
``ParquetManifest.recover`` takes such files in, and throws away what has no name yet or is there twice. One archive
run at a time works on a topic: it holds the lock file beside the manifest.

Needs pyarrow, neither Spark nor a broker.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

MANIFEST = "_manifest.json"
LOCK = "_archive.lock"
_VERSION = 1
_NAME = re.compile(r"(\d{20})-(\d{20})\.parquet")
_PARTITION = re.compile(r"partition=(\d+)")
_TMP_SUFFIX = ".tmp"


class OffsetRange(NamedTuple):
    """Offsets from_offset <= offset < until_offset."""

    from_offset: int
    until_offset: int


class ArchivedFile(NamedTuple):
    """One file of an archive: the offsets it stands for, the records among them that there were, its size in bytes."""

    partition: int
    from_offset: int
    until_offset: int
    rows: int
    size: int

    @property
    def path(self) -> str:
        """Where it is, seen from the topic's directory."""
        return f"partition={self.partition}/{self.from_offset:020}-{self.until_offset:020}.parquet"


def footer(topic: str, file: ArchivedFile, isolation: str) -> dict[str, str]:
    """What the file says about itself in its metadata, so that it can be recognised without a manifest."""
    return {
        "kafka.topic": topic,
        "kafka.partition": str(file.partition),
        "kafka.from": str(file.from_offset),
        "kafka.until": str(file.until_offset),
        "kafka.isolation": isolation,
    }


def sync(path: str | os.PathLike[str]) -> None:
    """Write a file, or the names in a directory, through to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ParquetManifest:
    """The files of one topic's archive, in the order of partitions and offsets.

    Raises ValueError for a manifest of another version or topic.
    """

    def __init__(self, home: pathlib.Path, topic: str) -> None:
        self.home = home  # the topic's directory
        self.topic = topic
        # of all files; None before the first run
        self.isolation: str | None = None  # thread: of its owner
        self._files: dict[str, ArchivedFile] = {}
        path = home / MANIFEST
        if path.exists():
            self._load(json.loads(path.read_text()), path)

    def _load(self, document: dict[str, object], path: pathlib.Path) -> None:
        if document["version"] != _VERSION or document["topic"] != self.topic:
            raise ValueError(f"{path} is of version {document['version']} for the topic {document['topic']}")
        self.isolation = str(document["isolation"])
        files = document["files"]
        assert isinstance(files, list)
        for row in files:
            self._add(ArchivedFile(*row))

    def _add(self, file: ArchivedFile) -> None:
        self._files[file.path] = file

    @property
    def files(self) -> list[ArchivedFile]:
        """All files, sorted by partition and offset."""
        return sorted(self._files.values())

    def partitions(self) -> dict[int, list[ArchivedFile]]:
        """The files of each partition, in the order of offsets."""
        by_partition: dict[int, list[ArchivedFile]] = {}
        for file in self.files:
            by_partition.setdefault(file.partition, []).append(file)
        return by_partition

    def end_offset(self, partition: int) -> int:
        """The offset behind the last archived one, 0 without any."""
        return max((file.until_offset for file in self._files.values() if file.partition == partition), default=0)

    def missing(self, partition: int, wanted: OffsetRange) -> list[OffsetRange]:
        """The parts of a range that no file stands for, in order."""
        gaps = []
        position = wanted.from_offset
        for file in self.partitions().get(partition, []):
            if file.from_offset >= wanted.until_offset:
                break
            if file.from_offset > position:
                gaps.append(OffsetRange(position, file.from_offset))
            position = max(position, file.until_offset)
        if position < wanted.until_offset:
            gaps.append(OffsetRange(position, wanted.until_offset))
        return gaps

    def publish(self, files: Iterable[tuple[ArchivedFile, pathlib.Path]]) -> None:
        """Give files that were written and synced under other paths their names, then write the manifest."""
        directories = set()
        for file, written in sorted(files):
            written.rename(self.home / file.path)
            directories.add((self.home / file.path).parent)
            self._add(file)
        for directory in directories:
            sync(directory)
        self.save()

    def save(self) -> None:
        """Replace the manifest on disk by this one, whole or not at all."""
        document = {
            "version": _VERSION,
            "topic": self.topic,
            "isolation": self.isolation,
            "columns_of_files": ArchivedFile._fields,
            "files": self.files,
        }
        written = self.home / f".{MANIFEST}{_TMP_SUFFIX}"
        with written.open("w") as out:
            json.dump(document, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        written.rename(self.home / MANIFEST)
        sync(self.home)

    def recover(self, isolation: str) -> None:
        """Bring directory and manifest together after a run that may have died. The caller holds the lock.

        Complete files that the manifest does not know are taken in; temporary files, and files whose offsets are
        there already, are deleted. Raises ValueError when the archive was made with another isolation level, and
        FileNotFoundError when a file of the manifest is gone.
        """
        if self.isolation not in (None, isolation):
            raise ValueError(f"{self.home} was archived with {self.isolation}: it cannot go on with {isolation}")
        self.isolation = isolation
        gone = [path for path in self._files if not (self.home / path).exists()]
        if gone:
            raise FileNotFoundError(f"{self.home} lacks files of its manifest: {', '.join(sorted(gone))}")
        for path in sorted(self.home.glob("partition=*/*")):
            is_half = path.name.startswith(".") and path.name.endswith(_TMP_SUFFIX)
            is_known = str(path.relative_to(self.home)) in self._files
            if is_half or not (is_known or self._adopt(path, isolation)):
                path.unlink()
        self.save()

    def adopt_named(self) -> None:
        """Take in the complete files that a run which died has not noted any more; nothing on disk is changed.

        Raises ValueError for files that do not belong to an archive.
        """
        for path in sorted(self.home.glob("partition=*/*.parquet")):
            if not path.name.startswith(".") and str(path.relative_to(self.home)) not in self._files:
                self._adopt(path, self.isolation or "")

    def _adopt(self, path: pathlib.Path, isolation: str) -> bool:
        """Take in a file that a run has named but not noted; False when its offsets are there already."""
        name, directory = _NAME.fullmatch(path.name), _PARTITION.fullmatch(path.parent.name)
        if name is None or directory is None:
            raise ValueError(f"{path} is no file of an archive")
        offsets = OffsetRange(int(name[1]), int(name[2]))
        with pq.ParquetFile(path) as content:
            rows, said = content.metadata.num_rows, content.schema_arrow.metadata or {}
        file = ArchivedFile(int(directory[1]), *offsets, rows, path.stat().st_size)
        expected = footer(self.topic, file, isolation)
        if {key: said.get(key.encode(), b"").decode() for key in expected} != expected:
            raise ValueError(f"{path} does not hold what its name says, or was archived with another isolation level")
        if self.missing(file.partition, offsets) != [offsets]:
            return False
        self._add(file)
        return True

    @staticmethod
    def tmp_path(final: pathlib.Path, unique: str) -> pathlib.Path:
        """Where a file is written before it is published; readers of Parquet directories pass over such names."""
        return final.with_name(f".{final.name}.{unique}{_TMP_SUFFIX}")

    def tables(self, partition: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The archived records of one partition in the order of their offsets, one row group at a time."""
        for file in self.partitions().get(partition, []):
            with pq.ParquetFile(self.home / file.path) as content:
                for group in range(content.num_row_groups):
                    yield content.read_row_group(group, columns)
