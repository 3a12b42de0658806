"""Lab 1: the right way through it passes, and each omission is told."""

from __future__ import annotations

import pathlib
import socket

import pytest

from kafka_py.admin import config_command
from kafka_py.labs import acceptor_and_processor, acceptor_cases, child, pipelining_cases
from kafka_py.labs.clients import wait_for
from kafka_py.xray.schedule import Schedule
from tests.labs.conftest import Start

pytestmark = pytest.mark.slow

RIGHT = """
def assign(processors, index, offer):
    for left in reversed(range(len(processors))):
        processor = processors[index % len(processors)]
        index += 1
        if offer(processor, left == 0):
            break
    return index
"""
SWAPPED = Schedule(pipelining_cases.USUAL.steps[::-1])


def test_the_right_way(start: Start) -> None:
    room = start(1)
    bench = room.bench
    counts = acceptor_and_processor._connections(bench)
    ahead = [number for number in counts if counts[number] == counts[(number + 1) % 3] + 1]
    assert ahead == [bench.notes["last"]], "hint 3 leads to the answer"
    untouched = room.missing()
    assert {"5 network threads", "the new ones have connections", "acceptor", "method", "last"} <= untouched.keys()
    assert {"without muting, the second request is answered first", "connections go round"} <= untouched.keys()

    servers, entity = ["--bootstrap-server", bench.servers], ["--entity-type", "brokers", "--entity-name", "0"]
    assert config_command.main([*servers, "--alter", *entity, "--add-config", "num.network.threads=5"]) == 0
    assert "the new ones have connections" in room.missing()
    more = [socket.create_connection(("127.0.0.1", bench.cluster.broker(0).port)) for _ in range(5)]
    bench.file("schedule-1.json").write_text(SWAPPED.to_json())
    bench.file("lab_1.py").write_text(RIGHT)
    found = [one["name"] for one in bench.xray().state("threads") if "socket-acceptor" in one["name"]]
    room.answer(acceptor=found[0], method="Processor.accept", last=str(bench.notes["last"]))
    wait_for(lambda: not room.missing(), "the exercise being done")
    room.answer(acceptor="data-plane", method="Processor.run", last=str((bench.notes["last"] + 1) % 3))
    assert set(room.missing()) == {"acceptor", "method", "last"}
    for one in more:
        one.close()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (pipelining_cases.USUAL.to_json(), {"without muting, the second request is answered first": "[1, 2]"}),
        ('{"steps": 1}', {"schedule-1.json is a schedule": "steps"}),
        (Schedule(SWAPPED.steps[:1]).to_json(), {"schedule-1.json has the two steps": "other steps"}),
    ],
)
def test_schedules_that_do_not_do_it(tmp_path: pathlib.Path, text: str, wrong: dict[str, str]) -> None:
    file = tmp_path / "schedule-1.json"
    file.write_text(text)
    found = {finding.text: finding.why for finding in child.run(pipelining_cases.__name__, file) if not finding.good}
    assert all(why in found[text] for text, why in wrong.items()), found


WRONG = {
    "the first, always": ("    offer(processors[0], True)\n    return index", "connections go round"),
    "waits for the first": (
        "    offer(processors[index % len(processors)], True)\n    return index + 1",
        "one without room is passed over",
    ),
    "never waits": (
        "    for _ in processors:\n        index += 1\n"
        "        if offer(processors[(index - 1) % len(processors)], False):\n            break\n    return index",
        "only the last one asked is waited for",
    ),
    "forgets that they may be fewer": (
        "    for left in reversed(range(len(processors))):\n        taken = offer(processors[index], left == 0)\n"
        "        index = (index + 1) % len(processors)\n        if taken:\n            break\n    return index",
        "processors may have become fewer",
    ),
    "for ever": ("    while True:\n        index += 1", "lab_1.py"),
    "no function": ("    return", "lab_1.py"),
}


@pytest.mark.parametrize("name", WRONG)
def test_functions_that_do_not_do_it(tmp_path: pathlib.Path, name: str) -> None:
    body, wrong = WRONG[name]
    file = tmp_path / "lab_1.py"
    function = "other" if name == "no function" else "assign"
    file.write_text(f"def {function}(processors, index, offer):\n{body}\n")
    found = child.run(acceptor_cases.__name__, file, timeout_s=5 if name == "for ever" else 30)
    assert wrong in {finding.text for finding in found if not finding.good}, found
