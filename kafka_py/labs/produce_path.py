"""Lab 3: what a record's bytes are in, how they are found again, smaller segments, and an index's search rewritten.

Ours, no original.
"""

from __future__ import annotations

import pathlib
import random
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_py.labs import child, invariants, lookup_cases
from kafka_py.labs.clients import Sender, create_topic
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding
from kafka_py.server.config_type import ConfigType
from kafka_py.zk.admin_zk_client import AdminZkClient

TOPIC: Final = "ledger"
FILE: Final = "lab_3.py"
SEGMENT_BYTES, WANTED_BYTES = 8192, 2000
_HEAD = struct.Struct(">qi11xi")
_OVERHEAD: Final = 12
_ENTRY = struct.Struct(">ii")
_TEMPLATE = '''"""Lab 3: in which entry of an index begins the search for an offset?"""


def slot(key_at, entries, target):
    """The number of the last entry whose offset is not above target, -1 if there is none.

    key_at    key_at(n) is the offset of entry n, for n from 0 to entries - 1; they grow
    entries   how many there are, 0 at the beginning
    target    the offset that is looked for

    There may be a million entries, and each look may touch a page that is not in memory.
    """
    return 0
'''


class Batch(NamedTuple):
    """Where a record batch is: its first and last offset, and its position in the segment's file."""

    first: int
    last: int
    position: int


def segments(bench: Bench) -> list[pathlib.Path]:
    """The .log files of the topic, by base offset; the last is the active one."""
    return sorted((bench.cluster.broker(0).log_dirs[0] / f"{TOPIC}-0").glob("*.log"))


def batches(file: pathlib.Path) -> Iterator[Batch]:
    """The whole batches of a segment."""
    data, position = file.read_bytes(), 0
    while position + _HEAD.size <= len(data):
        first, length, last_delta = _HEAD.unpack_from(data, position)
        if position + _OVERHEAD + length > len(data):
            return
        yield Batch(first, first + last_delta, position)
        position += _OVERHEAD + length


def _segment_with(bench: Bench, offset: int) -> pathlib.Path:
    return [file for file in segments(bench) if int(file.stem) <= offset][-1]


def _position(bench: Bench) -> str:
    """Of the batch with the offset that is asked for."""
    offset = bench.notes["offset"]
    found = [batch for batch in batches(_segment_with(bench, offset)) if batch.first <= offset <= batch.last]
    return str(found[0].position)


def _entry(bench: Bench) -> str:
    """The offset in the index entry from which the broker begins to look; the base offset if it uses none."""
    file, offset = _segment_with(bench, bench.notes["offset"]), bench.notes["offset"]
    base, stored = int(file.stem), file.with_suffix(".index").read_bytes()
    entries = [base + _ENTRY.unpack_from(stored, at)[0] for at in range(0, len(stored) - 7, 8)]
    return str(max((entry for entry in entries if base < entry <= offset), default=base))


class ProducePath(Exercise):
    """One broker, and a topic with small segments full of batches of one to four records."""

    about = About(
        number=3,
        slug="produce-path",
        title="The produce path",
        title_zh="生产路径",
        kinds=("observe", "tune", "implement"),
        minutes=45,
        pages=("the-produce-path", "reading-writing-configuring"),
        questions=(
            Question(
                "segments", "How many segments had ledger-0 at the beginning?", lambda b: str(len(b.notes["bases"]))
            ),
            Question("active", "What was the base offset of the active one?", lambda b: str(b.notes["bases"][-1])),
            Question("position", "At which position of its file is the batch with offset {offset}?", _position),
            Question("entry", "From which offset on does the broker read to find offset {offset}?", _entry),
            Question(
                "method",
                "Which method of Log decides that a new segment begins (Class.member)?",
                lambda bench: ("Log._maybe_roll", "Log.maybe_roll", "Log.maybeRoll"),
            ),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """Batches of differing size, and an offset to be looked for that is not in the active segment."""
        config = {"segment.bytes": str(SEGMENT_BYTES), "index.interval.bytes": "400"}
        create_topic(bench.servers, TOPIC, config=config)
        values: list[str] = []
        settings: dict[str, str | int] = {"linger.ms": 50}
        sender = Sender(bench.servers, "lab", **settings)
        while len(values) < 60 or len(segments(bench)) < 3:
            batch = [f"{len(values) + n} " + "x" * random.randint(10, 300) for n in range(random.randint(1, 4))]
            for value in batch:
                sender.send(TOPIC, value, 0)
            sender.flush()
            values += batch
        bases = [int(file.stem) for file in segments(bench)]
        bench.notes.update(bases=bases, values=values, offset=random.randrange(bases[1] // 2, bases[-1]))
        bench.write_new(FILE, _TEMPLATE)

    def check_work(self, bench: Bench) -> list[Finding]:
        """Smaller segments have been rolled, nothing is lost; and the function."""
        with bench.cluster.zookeeper_client() as client:
            config = AdminZkClient(client).fetch_entity_config(ConfigType.TOPIC, TOPIC)
        size = int(config.get("segment.bytes", SEGMENT_BYTES))
        new = [file for file in segments(bench)[:-1] if int(file.stem) >= len(bench.notes["values"])]
        small = [file for file in new if 0 < file.stat().st_size <= WANTED_BYTES]
        return [
            Finding(f"segment.bytes is at most {WANTED_BYTES}", size <= WANTED_BYTES, f"it is {size}"),
            Finding("a segment as small as that is full", bool(small), "none that began since is"),
            invariants.nothing_lost(bench, TOPIC, bench.notes["values"]),
            *child.run(lookup_cases.__name__, bench.file(FILE)),
        ]
