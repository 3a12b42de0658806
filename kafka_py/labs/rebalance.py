"""Lab 7: members of a group come, go, die and come back, and the partitions are dealt out anew, or not.

Ours, no original.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from typing import Final

from kafka_py.common.protocol.errors import Errors
from kafka_py.labs.clients import create_topic, wait_for
from kafka_py.labs.exercise import About, Bench, Exercise, Question
from kafka_py.labs.finding import Finding
from kafka_py.labs.group_watch import GroupLook, GroupWatch
from kafka_py.utils.installation import ROOT

GROUP, TOPIC, STATIC = "crew", "work", "clara"
NAMES: Final = ("anna", "ben", "carl", "dora")
PARTITIONS: Final = 6
_MODULE: Final = "kafka_py.labs.member"
COMMIT: Final = "commit-7.py"
_COMMIT = '''#!{python}
"""Commits in the name of a member of the group: ./commit-7.py MEMBER_ID GENERATION"""

import sys

sys.path.insert(0, {root!r})
from kafka_py.labs.late_commit import main

sys.exit(main([{servers!r}, {group!r}, {topic!r}, *sys.argv[1:]]))
'''


def _watch(bench: Bench) -> GroupWatch:
    watch: GroupWatch = bench.notes["watch"]
    return watch


def _now(bench: Bench) -> list[str]:
    stable = _watch(bench).stable
    return [str(stable[-1].generation)] if stable else []


def _came_back(looks: list[GroupLook]) -> bool:
    """Whether a static member got a new member id in the generation that it had the old one in."""
    seen: dict[int, set[str]] = {}
    for look in looks:
        if look.state == "Stable":
            seen.setdefault(look.generation, set()).update(id for id in look.partitions if id.startswith(STATIC))
    return any(len(ids) > 1 for ids in seen.values())


class Rebalance(Exercise):
    """Two members share the partitions of a topic; each is a process that may be killed."""

    about = About(
        number=7,
        slug="rebalance",
        title="A group rebalances",
        title_zh="消费组再均衡",
        kinds=("observe", "break"),
        minutes=60,
        pages=("groups",),
        properties={"offsets.topic.num.partitions": "3", "group.min.session.timeout.ms": "1000"},
        questions=(
            Question(
                "first",
                "What is the client id of the member that led the group at the beginning?",
                lambda b: str(b.notes["first"]),
            ),
            Question(
                "states",
                "Through which states does the group go from Stable to Stable?",
                lambda b: "PreparingRebalance CompletingRebalance",
            ),
            Question("share", "How many partitions has each of three members?", lambda b: str(PARTITIONS // 3)),
            Question(
                "predicted",
                "In which generation is the group when one more has joined, when it has left, and when a dead one of "
                "the first two is forgotten (three numbers)?",
                lambda b: " ".join(str(b.notes["generation"] + more) for more in (1, 2, 3)),
            ),
            Question(
                "zombie",
                "What does a commit of the killed member get, when the group has forgotten it?",
                lambda b: Errors.UNKNOWN_MEMBER_ID.name,
            ),
            Question(
                "late",
                "What does a commit of a living member get, in the generation before the present one?",
                lambda b: Errors.ILLEGAL_GENERATION.name,
            ),
            Question("generation", "What is the group's generation now?", _now),
        ),
    )

    def prepare(self, bench: Bench) -> None:
        """The group is stable with two members."""
        create_topic(bench.servers, TOPIC, PARTITIONS)
        names = random.sample(NAMES, 2)
        bench.notes.update(watch=GroupWatch(bench.xray(), GROUP), members=[])
        for count, name in enumerate(names, 1):
            bench.notes["members"].append(self._start(bench, name))
            wait_for(lambda n=count: self._is_stable_with(bench, n), f"a stable group of {count}")  # type: ignore[misc]
        look = _watch(bench).stable[-1]
        bench.notes.update(generation=look.generation, first=look.leader.rpartition("-")[0] or look.leader)
        bench.notes["first"] = next(name for name in names if look.leader.startswith(name))
        pids = "".join(
            f"{name}: pid {member.pid}\n" for name, member in zip(names, bench.notes["members"], strict=True)
        )
        bench.file("members-7.txt").write_text(pids, encoding="utf-8")
        of_group = {"servers": bench.servers, "group": GROUP, "topic": TOPIC}
        bench.file(COMMIT).write_text(_COMMIT.format(python=sys.executable, root=str(ROOT), **of_group), "utf-8")
        bench.file(COMMIT).chmod(0o755)

    @staticmethod
    def _start(bench: Bench, name: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
        command = [sys.executable, "-m", _MODULE, bench.servers, GROUP, TOPIC, name]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=quiet, stderr=quiet)

    @staticmethod
    def _is_stable_with(bench: Bench, members: int) -> bool:
        stable = _watch(bench).stable
        return bool(stable) and len(stable[-1].partitions) == members and all(stable[-1].partitions.values())

    def finish(self, bench: Bench) -> None:
        """The members end, and nobody looks any more."""
        if "watch" in bench.notes:
            _watch(bench).close()
        for member in bench.notes.get("members", []):
            member.kill()
            member.wait()
        super().finish(bench)

    def check_work(self, bench: Bench) -> list[Finding]:
        """Three shared, one died, a static one came back without a rebalance, and the group is stable."""
        looks, notes = _watch(bench).looks, bench.notes
        later = [look for look in looks if look.generation > notes["generation"]]
        three = any(look.state == "Stable" and sorted(look.partitions.values()) == [2, 2, 2] for look in later)
        killed = [member for member in notes["members"] if member.poll() == -signal.SIGKILL]
        stable = bool(looks) and looks[-1].state == "Stable"
        gone = [m for m in notes["members"] if m.poll() is not None] != [] and self._has_forgotten(bench)
        return [
            Finding("three members shared the partitions", three, "they have not yet"),
            Finding("one of the first two was killed", bool(killed), "both live, or ended otherwise"),
            Finding("the group has noticed", gone, "it still counts on it"),
            Finding("a static member came back without a rebalance", _came_back(looks), f"no member {STATIC}-… has"),
            Finding("the group is stable", stable, "it is not"),
        ]

    @staticmethod
    def _has_forgotten(bench: Bench) -> bool:
        """Whether only those of the first two that live are members."""
        stable = _watch(bench).stable
        living = sum(member.poll() is None for member in bench.notes["members"])
        first = [id for id in stable[-1].partitions if id.split("-")[0] in NAMES]
        return len(first) <= living
