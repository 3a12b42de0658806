"""A transport over records that are computed, for tests of what is done with records wherever they come from."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Callable, Iterator

import pyarrow as pa

from kafka_py.spark.arrow_decoder import SCHEMA_WITH_HEADERS
from kafka_py.spark.transport import PartitionOffsets, Piece, ReadOptions, TopicPartitionName

EPOCH = datetime.datetime(2018, 7, 1, tzinfo=datetime.UTC)


def record(topic: str, partition: int, offset: int) -> dict[str, object]:
    """The record at an offset: some have no key, no value, or headers."""
    headers = [{"key": "h", "value": b"%d" % offset}, {"key": "none", "value": None}]
    return {
        "key": None if offset % 5 == 0 else b"key-%d" % (offset % 7),
        "value": None if offset % 11 == 0 else b"%s-%d-%d" % (topic.encode(), partition, offset),
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp": EPOCH + datetime.timedelta(seconds=offset),
        "timestampType": offset // 100 % 2,
        "headers": headers if offset % 3 == 0 else None,
    }


@dataclasses.dataclass
class MadePiece:
    """Every offset has its record but for those that are divisible by a number, as if compaction had taken them."""

    topic: str
    partition: int
    from_offset: int
    until_offset: int
    without: int
    bad: bool = False

    def tables(self, options: ReadOptions) -> Iterator[pa.RecordBatch]:
        """Two Arrow batches; RuntimeError between them if the piece is to fail."""
        schema = pa.schema([SCHEMA_WITH_HEADERS.field(name) for name in options.columns])
        wanted = [o for o in range(self.from_offset, self.until_offset) if not self.without or o % self.without]
        middle = len(wanted) // 2
        for some in (wanted[:middle], wanted[middle:]):
            rows = [record(self.topic, self.partition, offset) for offset in some]
            if rows:
                yield pa.RecordBatch.from_pylist([{n: row[n] for n in options.columns} for row in rows], schema)
            if self.bad:
                raise RuntimeError("the disk is on fire")


class MadeTopics:
    """Partitions with the given offsets; a piece has at most max_bytes offsets."""

    def __init__(self, partitions: dict[TopicPartitionName, PartitionOffsets], without: int = 0) -> None:
        self.offsets = partitions
        self.without = without
        self.bad_from: int | None = None

    def partitions(
        self, wanted: Callable[[str, int], bool] | None = None
    ) -> dict[TopicPartitionName, PartitionOffsets]:
        return {name: offsets for name, offsets in self.offsets.items() if wanted is None or wanted(*name)}

    def offset_for_timestamp(self, topic: str, partition: int, timestamp: int) -> int | None:
        raise LookupError("nobody asks")

    def plan(
        self, topic: str, partition: int, from_offset: int, until_offset: int, max_bytes: int, read_committed: bool
    ) -> list[Piece]:
        edges = [*range(from_offset, until_offset, max_bytes), until_offset]
        return [
            MadePiece(topic, partition, a, b, self.without, self.bad_from is not None and a >= self.bad_from)
            for a, b in itertools.pairwise(edges)
        ]

    def close(self) -> None:
        self.offsets = {}
