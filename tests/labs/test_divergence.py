"""Lab 8: the right way through it passes, and each omission is told."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.labs import child, epoch_cases
from kafka_py.labs.clients import send, wait_for
from kafka_py.labs.divergence import TOPIC, epochs_of
from tests.labs.conftest import Start

pytestmark = pytest.mark.slow

RIGHT = """
def end_offset_for(epochs, requested, log_end):
    if requested == -1 or not epochs or not epochs[0][0] <= requested <= epochs[-1][0]:
        return -1
    return next((start for epoch, start in epochs if epoch > requested), log_end)
"""


def test_the_right_way(start: Start) -> None:
    room = start(8)
    bench, cluster, notes = room.bench, room.bench.cluster, room.bench.notes
    leader, follower, both = notes["leader"], notes["follower"], len(notes["both"])
    untouched = room.missing()
    assert {"the other replica led and wrote", "the old leader came back and had more", "diverge"} <= untouched.keys()

    cluster.hold_fetcher(follower, leader)
    send(bench.servers, TOPIC, ["old 1", "old 2", "old 3"], acks=1)
    cluster.kill(leader)
    cluster.await_forgotten(leader)
    assert cluster.await_leader(TOPIC, 0) == follower
    # before it is let go: ZooKeeper names a leader before that one hears of it, and what was held back would arrive
    send(bench.servers, TOPIC, ["new 1", "new 2"], acks=1)
    cluster.heal()
    assert "all brokers run" in room.missing()
    cluster.start_broker(leader)
    cluster.await_no_under_replicated(TOPIC)
    bench.file("lab_8.py").write_text(RIGHT)
    epochs = ", ".join(f"{epoch} {first}" for epoch, first in epochs_of(bench, follower))
    right = {"diverge": str(both), "asked": str(notes["epoch"]), "epochs": epochs}
    room.answer(**right, cut="3")
    wait_for(lambda: not room.missing(), "the exercise being done")
    room.answer(**{**right, "diverge": str(both - 1), "epochs": "0 0"}, cut="2")
    assert set(room.missing()) == {"diverge", "epochs", "cut"}


def test_a_leader_without_more_than_the_other_has_nothing_to_lose(start: Start) -> None:
    room = start(8)
    cluster, leader = room.bench.cluster, room.bench.notes["leader"]
    cluster.kill(leader)
    cluster.await_forgotten(leader)
    cluster.await_leader(TOPIC, 0)
    send(room.bench.servers, TOPIC, ["new 1"], acks=1)
    cluster.start_broker(leader)
    cluster.await_no_under_replicated(TOPIC)
    missing = room.missing()
    assert missing["the old leader came back and had more"] == "nothing of its log had to go"
    assert "both logs have the same bytes" not in missing


WRONG = {
    "the log end, always": ("    return log_end", "an epoch that another followed"),
    "where it began": (
        "    return next((start for epoch, start in epochs if epoch == requested), -1)",
        "an epoch that another followed",
    ),
    "only epochs that were written in": (
        "    names = [epoch for epoch, _ in epochs]\n    if requested not in names:\n        return -1\n"
        "    at = names.index(requested)\n    return epochs[at + 1][1] if at + 1 < len(epochs) else log_end",
        "an epoch in which nothing was written",
    ),
    "guesses the future": (
        "    if requested == -1 or not epochs or requested < epochs[0][0]:\n        return -1\n"
        "    return next((start for epoch, start in epochs if epoch > requested), log_end)",
        "an epoch that is yet to come",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_functions_that_do_not_do_it(tmp_path: pathlib.Path, name: str) -> None:
    body, wrong = WRONG[name]
    file = tmp_path / "lab_8.py"
    file.write_text(f"def end_offset_for(epochs, requested, log_end):\n{body}\n")
    assert wrong in {one.text for one in child.run(epoch_cases.__name__, file) if not one.good}
