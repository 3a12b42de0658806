"""kcat, which is librdkafka at the command line, run through the steps of the conformance suite.

It is driven as people drive it: processes, what they print, and signals. What has no option there is skipped.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.interop.clients.steps import CLOSE_S, STEPS, WAIT_S, Skipped, name, numbered, report

NO_ADMIN = "kcat has no administration of groups"
SKIPPED = {
    "subscribe_sticky": "librdkafka has no eager sticky assignor",
    "commit_async": "kcat commits as it closes only",
    "commit_specific": "kcat commits what it has printed, nothing else",
    "seek": "kcat starts at an offset of one partition without a group only",
    "pause_resume": "kcat cannot pause",
    "txn_consume_transform_produce": "kcat's transactions hold records, no offsets",
    "admin_list_groups": NO_ADMIN,
    "admin_describe_group": NO_ADMIN,
    "admin_delete_group": NO_ADMIN,
    "admin_alter_offsets": NO_ADMIN,
    "admin_delete_offsets": NO_ADMIN,
}
ASSIGNED = re.compile(r"rebalanced(?:: (.*?))? \(memberid [^)]*\): (.*)")
PARTITION = re.compile(r"(\S+) \[(\d+)\]")


class Kcat:
    """One kcat; what it prints goes to files that are read while it runs."""

    def __init__(self, program: str, home: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> None:
        self._out, self._err = home / f"{name('out')}", home / f"{name('err')}"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen([program, *arguments], stdin=stdin, stdout=out, stderr=err)

    @property
    def lines(self) -> list[str]:
        return self._out.read_text().splitlines()

    @property
    def complaints(self) -> str:
        return self._err.read_text()

    @property
    def rebalances(self) -> list[tuple[str, int]]:
        """What it was told: "assigned" or "revoked", and of how many partitions."""
        return [(what, len(partitions)) for what, partitions in self._told()]

    def _told(self) -> list[tuple[str, set[str]]]:
        told = []
        for incremental, rest in ASSIGNED.findall(self.complaints):
            what = incremental or rest.split(":")[0]
            partitions = {f"{topic} {partition}" for topic, partition in PARTITION.findall(rest)}
            told.append(("revoked" if "revo" in what else "assigned", partitions))
        return told

    @property
    def owned(self) -> set[str]:
        """What it owns after what it was told."""
        owned: set[str] = set()
        for what, partitions in self._told():
            owned = owned - partitions if what == "revoked" else owned | partitions
        return owned

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Signal it and wait; the seconds that took."""
        since = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(WAIT_S)
        return time.monotonic() - since


def until(true: Callable[[], object], what: str, *watched: Kcat) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, f"never: {what}: {[k.complaints[-300:] for k in watched]}"
        time.sleep(0.02)


class KcatSteps:
    def __init__(self, bootstrap: str, home: Path) -> None:
        self._bootstrap, self._home = bootstrap, home
        self._program = shutil.which("kcat") or "kafkacat"
        self.running: list[Kcat] = []

    def _start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> Kcat:
        made = Kcat(self._program, self._home, "-b", self._bootstrap, *arguments, stdin=stdin)
        self.running.append(made)
        return made

    def _done(self, *arguments: str) -> list[str]:
        made = self._start(*arguments)
        assert made.process.wait(WAIT_S) == 0, made.complaints
        return made.lines

    def _produce(self, topic: str, partition: int, values: list[bytes], *options: str) -> None:
        command = [self._program, "-b", self._bootstrap, "-P", "-t", topic, "-p", str(partition), *options]
        done = subprocess.run(command, input=b"".join(v + b"\n" for v in values), capture_output=True, timeout=WAIT_S)
        assert done.returncode == 0, done.stderr

    def _topic(self, what: str, records: int = 0) -> str:
        """A topic that the broker makes as it is asked for it: with four partitions."""
        topic = name(what)
        self._produce(topic, 0, numbered(records) or [b"first"], "-X", "enable.idempotence=true")
        return topic

    def _member(self, group: str, topics: list[str], *options: str) -> Kcat:
        fast = ["heartbeat.interval.ms=300", "session.timeout.ms=10000", "auto.offset.reset=earliest"]
        settings = [part for setting in fast for part in ("-X", setting)]
        return self._start("-u", "-f", "%t %p %o %s\\n", *settings, *options, "-G", group, *topics)

    def _shared(self, assignor: str, sizes: list[int]) -> None:
        topics, group = [self._topic(assignor) for _ in range(2)], name(assignor)
        options = ("-X", f"partition.assignment.strategy={assignor}")
        one = self._member(group, topics, *options)
        until(lambda: len(one.owned) == 8, "the first member owns all", one)
        two = self._member(group, topics, *options)
        until(lambda: sorted((len(one.owned), len(two.owned))) == sizes, f"two members with {sizes}", one, two)
        assert not one.owned & two.owned
        for topic in topics:
            for partition in range(4):
                self._produce(topic, partition, [b"after"])
        until(lambda: sum(" after" in line for line in one.lines + two.lines) == 8, "all is read", one, two)
        two.stop()
        until(lambda: len(one.owned) == 8, "who stays owns all", one)

    def subscribe_range(self) -> None:
        self._shared("range", [4, 4])

    def subscribe_round_robin(self) -> None:
        self._shared("roundrobin", [4, 4])

    def subscribe_cooperative(self) -> None:
        self._shared("cooperative-sticky", [4, 4])

    def static_member(self) -> None:
        topic, group = self._topic("static"), name("static")
        one, two = (self._member(group, [topic], "-X", f"group.instance.id={id}") for id in ("one", "two"))
        until(lambda: len(one.owned) == len(two.owned) == 2, "two static members with two each", one, two)
        had, told = two.owned, len(one.rebalances)
        two.stop()
        again = self._member(group, [topic], "-X", "group.instance.id=two")
        until(lambda: again.owned == had, "who came back has what it had", again)
        time.sleep(0.7)
        assert len(one.rebalances) == told, one.complaints

    def commit_sync(self) -> None:
        """What it commits as it closes."""
        topic, group = self._topic("commit", 10), name("commit")
        one = self._member(group, [topic])
        until(lambda: len(one.lines) == 10, "ten records", one)
        one.stop()
        self._produce(topic, 0, numbered(5, 10))
        two = self._member(group, [topic])
        until(lambda: len(two.lines) >= 5, "five more", two)
        assert [line.split()[2] for line in two.lines] == [str(offset) for offset in range(10, 15)], two.lines

    def rebalance_callbacks(self) -> None:
        topic, group = self._topic("callbacks"), name("callbacks")
        range_ = ("-X", "partition.assignment.strategy=range")
        one = self._member(group, [topic], *range_)
        until(lambda: len(one.owned) == 4, "all", one)
        two = self._member(group, [topic], *range_)
        until(lambda: len(one.owned) == len(two.owned) == 2, "two each", one, two)
        two.stop()
        until(lambda: len(one.owned) == 4, "all again", one)
        kinds = [told for told in one.rebalances if told[1]]
        wanted = [("assigned", 4), ("revoked", 4), ("assigned", 2), ("revoked", 2), ("assigned", 4)]
        assert kinds == wanted, kinds

    def close_at_once(self) -> None:
        topic, group = self._topic("close"), name("close")
        one, two = (self._member(group, [topic]) for _ in range(2))
        until(lambda: len(one.owned) == len(two.owned) == 2, "two each", one, two)
        took = two.stop()
        assert took < CLOSE_S, f"it took {took:.1f} s to end"
        since = time.monotonic()
        until(lambda: len(one.owned) == 4, "who stays owns all", one)
        took = time.monotonic() - since
        assert took < 5, f"the partitions came after {took:.1f} s"
        took = one.stop()
        assert took < CLOSE_S, f"it took {took:.1f} s for the last member to end"

    def _values(self, topic: str, isolation: str) -> list[str]:
        """The different values of partition 0, in order."""
        options = ("-X", f"isolation.level={isolation}")
        lines = self._done("-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", *options)
        return list(dict.fromkeys(lines))

    def _transaction(self, topic: str, id: str, value: bytes) -> Kcat:
        """A kcat with a transaction that has records in the log and waits for more; it reads 1 MiB at a time."""
        made = self._start(
            *("-P", "-t", topic, "-p", "0", "-X", f"transactional.id={id}", "-X", "linger.ms=0"), stdin=subprocess.PIPE
        )
        assert made.process.stdin is not None
        made.process.stdin.write((value + b"\n") * (3 << 20 >> len(value).bit_length()))
        made.process.stdin.flush()
        until(lambda: value.decode() in self._values(topic, "read_uncommitted"), "the record is in the log", made)
        return made

    def txn_abort(self) -> None:
        topic, id = self._topic("abort"), name("abort")
        aborted = self._transaction(topic, id, b"aborted")
        aborted.process.send_signal(signal.SIGINT)
        assert aborted.process.stdin is not None
        aborted.process.stdin.close()  # which it waits for
        aborted.process.wait(WAIT_S)
        self._produce(topic, 0, [b"committed"], "-X", f"transactional.id={id}")
        assert self._values(topic, "read_committed") == ["first", "committed"]
        assert self._values(topic, "read_uncommitted") == ["first", "aborted", "committed"]

    def txn_fencing(self) -> None:
        topic, id = self._topic("fencing"), name("fencing")
        zombie = self._transaction(topic, id, b"zombie")
        self._produce(topic, 0, [b"successor"], "-X", f"transactional.id={id}")
        assert zombie.process.stdin is not None
        zombie.process.stdin.close()
        assert zombie.process.wait(WAIT_S) != 0, zombie.complaints
        assert "fenced" in zombie.complaints, zombie.complaints
        assert self._values(topic, "read_committed") == ["first", "successor"]


def main(arguments: list[str]) -> None:
    bootstrap, *wanted = arguments
    with tempfile.TemporaryDirectory() as home:
        steps = KcatSteps(bootstrap, Path(home))
        for step in wanted or STEPS:
            report(step, lambda step=step: run(steps, step))  # type: ignore[misc]
            while steps.running:
                kcat = steps.running.pop()
                kcat.process.kill()
                kcat.process.wait()


def run(steps: KcatSteps, step: str) -> None:
    if step in SKIPPED:
        raise Skipped(SKIPPED[step])
    getattr(steps, step)()


if __name__ == "__main__":
    main(sys.argv[1:])
