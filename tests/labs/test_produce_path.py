"""Lab 3: the right way through it passes, and each omission is told."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.admin import config_command
from kafka_py.labs import child, lookup_cases
from kafka_py.labs.clients import send, wait_for
from kafka_py.labs.produce_path import TOPIC, batches, segments
from kafka_py.log.offset_index import OffsetIndex
from tests.labs.conftest import Start

pytestmark = pytest.mark.slow

RIGHT = """
def slot(key_at, entries, target):
    low, high = 0, entries
    while low < high:
        middle = (low + high) // 2
        if key_at(middle) <= target:
            low = middle + 1
        else:
            high = middle
    return low - 1
"""


def test_the_right_way(start: Start) -> None:
    room = start(3)
    bench = room.bench
    untouched = room.missing()
    assert {"segment.bytes is at most 2000", "a segment as small as that is full", "position"} <= untouched.keys()
    assert "an index without entries" in untouched
    offset = bench.notes["offset"]
    assert f"offset {offset}?" in bench.file("answers-3.txt").read_text()

    files = segments(bench)
    file = [one for one in files if int(one.stem) <= offset][-1]
    position = next(batch.position for batch in batches(file) if batch.first <= offset <= batch.last)
    index = OffsetIndex(file.with_suffix(".index"), int(file.stem), writable=False)
    entry = index.lookup(offset).offset
    index.close()

    zookeeper = ["--zookeeper", bench.cluster.zookeeper_connect]
    entity = ["--alter", "--entity-type", "topics", "--entity-name", TOPIC]
    assert config_command.main([*zookeeper, *entity, "--add-config", "segment.bytes=2000"]) == 0
    assert "a segment as small as that is full" in room.missing()
    for number in range(12):
        send(bench.servers, TOPIC, [f"more {number} " + "y" * 500], 0)
    bench.file("lab_3.py").write_text(RIGHT)
    right = {"segments": str(len(files)), "active": str(int(files[-1].stem)), "method": "Log._maybe_roll"}
    room.answer(**right, position=str(position), entry=str(entry))
    wait_for(lambda: not room.missing(), "the exercise being done")
    room.answer(**{**right, "segments": "1"}, position=str(position + 1), entry=str(offset + 1))
    assert set(room.missing()) == {"segments", "position", "entry"}


WRONG = {
    "one after the other": (
        "    return max((n for n in range(entries) if key_at(n) <= target), default=-1)",
        "a thousand entries, and few are looked at",
    ),
    "the first above": (
        "    low, high = 0, entries\n    while low < high:\n        middle = (low + high) // 2\n"
        "        if key_at(middle) < target:\n            low = middle + 1\n        else:\n            high = middle\n"
        "    return low",
        "an offset between two entries",
    ),
    "forgets that there may be none": (
        "    low, high = 0, entries - 1\n    while low < high:\n        middle = (low + high + 1) // 2\n"
        "        if key_at(middle) > target:\n            high = middle - 1\n        else:\n            low = middle\n"
        "    return low",
        "an offset below the first entry",
    ),
    "reads behind the end": (
        "    at = entries\n    while at > 0 and key_at(at) > target:\n        at -= 1\n    return at",
        "an offset that has an entry",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_functions_that_do_not_do_it(tmp_path: pathlib.Path, name: str) -> None:
    body, wrong = WRONG[name]
    file = tmp_path / "lab_3.py"
    file.write_text(f"def slot(key_at, entries, target):\n{body}\n")
    assert wrong in {one.text for one in child.run(lookup_cases.__name__, file) if not one.good}
