"""Lab 8: two leaders write different records at the same offsets, and leader epochs tell which of them go.

Ours, no original.
"""

from __future__ import annotations

import pathlib
import random
import re
from typing import Final

from kafka_py.labs import child, epoch_cases, invariants
from kafka_py.labs.clients import create_topic, send
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding

TOPIC: Final = "fork"
FILE: Final = "lab_8.py"
_LOADED = re.compile(r"\[Log partition=fork-0, dir=\S+\] Completed load of log .*log end offset (\d+)")
_TEMPLATE = '''"""Lab 8: the leader says where a leader epoch ended."""


def end_offset_for(epochs, requested, log_end):
    """The offset behind the last record of an epoch, as a leader of Kafka 1.1.1 answers it; -1 if it cannot tell.

    epochs      [(epoch, start offset), ...] of the epochs in which this replica has records, oldest first
    requested   the follower's last epoch; -1 if it has none
    log_end     the log end offset of this replica
    """
    return log_end
'''


def _folder(bench: Bench, broker: int) -> pathlib.Path:
    return bench.cluster.broker(broker).log_dirs[0] / f"{TOPIC}-0"


def epochs_of(bench: Bench, broker: int) -> list[tuple[int, int]]:
    """The entries of a replica's leader-epoch-checkpoint: (epoch, start offset)."""
    lines = (_folder(bench, broker) / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    return [(int(epoch), int(start)) for epoch, start in (line.split() for line in lines)]


def _fork(bench: Bench) -> int | None:
    """Where the second leader began to write; None as long as it has not."""
    later = [start for epoch, start in epochs_of(bench, bench.notes["follower"]) if epoch > bench.notes["epoch"]]
    return later[0] if later else None


def _cut(bench: Bench) -> int:
    """How many records the old leader had more when it came back; 0 as long as it has not."""
    fork, leader = _fork(bench), bench.cluster.broker(bench.notes["leader"])
    loaded = _LOADED.findall(leader.process.text())
    if fork is None or leader.process.pid == bench.notes["pid"] or not loaded:
        return 0
    return max(0, int(loaded[-1]) - fork)


def _known(number: int | None) -> list[str]:
    """The right answers: none while there is no number."""
    return [] if number is None else [str(number)]


class Divergence(Exercise):
    """A leader and a follower, neither of which leaves the ISR for being late, and a broker that has no replica."""

    about = About(
        number=8,
        slug="divergence",
        title="Divergence and leader epochs",
        title_zh="分叉与 leader epoch",
        kinds=("observe", "break", "implement"),
        minutes=60,
        pages=("why-fast-and-available", "the-produce-path"),
        brokers=3,
        properties={"zookeeper.session.timeout.ms": "2000", "replica.lag.time.max.ms": "3600000"},
        questions=(
            Question("diverge", "From which offset on did the two logs differ?", lambda b: _known(_fork(b))),
            Question("cut", "How many records of the old leader were cut off?", lambda b: _known(_cut(b) or None)),
            Question("asked", "About which leader epoch did the old leader ask?", lambda b: str(b.notes["epoch"])),
            Question(
                "epochs",
                "Epoch and start offset of each entry of the new leader's leader-epoch-checkpoint, in their order?",
                lambda b: " ".join(f"{epoch} {start}" for epoch, start in epochs_of(b, b.notes["follower"])),
            ),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """Some records that both have."""
        cluster = bench.cluster
        leader, follower = random.sample([id for id in range(3) if id != cluster.await_controller()], 2)
        create_topic(bench.servers, TOPIC, assignment=[[leader, follower]])
        both = [f"both {number}" for number in range(random.randint(5, 20))]
        send(bench.servers, TOPIC, both, acks="all")
        epoch = invariants.state_of(bench, TOPIC).leader_epoch
        pid = cluster.broker(leader).process.pid
        bench.notes.update(leader=leader, follower=follower, both=both, epoch=epoch, pid=pid)
        bench.write_new(FILE, _TEMPLATE)

    def check_work(self, bench: Bench) -> list[Finding]:
        """The logs diverged, and are equal again; what both had is there; the function."""
        notes, fork = bench.notes, _fork(bench)
        found = [
            Finding("the other replica led and wrote", fork is not None, "it has no epoch of its own"),
            Finding("the old leader came back and had more", _cut(bench) > 0, "nothing of its log had to go"),
            invariants.all_run(bench),
            invariants.nothing_is_held(bench),
        ]
        if all(finding.good for finding in found[2:]):
            found += [
                invariants.nothing_lost(bench, TOPIC, notes["both"]),
                invariants.replicas_agree(bench, TOPIC, 2),
                self._same_bytes(bench),
            ]
        return [*found, *child.run(epoch_cases.__name__, bench.file(FILE))]

    @staticmethod
    def _same_bytes(bench: Bench) -> Finding:
        ours, theirs = (
            {file.name: file.read_bytes() for file in _folder(bench, bench.notes[who]).glob("*.log")}
            for who in ("leader", "follower")
        )
        return Finding("both logs have the same bytes", ours == theirs, "they have not")
