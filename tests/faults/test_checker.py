"""The checker finds a planted violation of each kind, and none in a history that is right."""

from __future__ import annotations

import copy
import pathlib
import struct

import pytest
from crc32c import crc32c

from tests.faults.checker import COMMITTED, UNCOMMITTED, Checker, Place, Violation, compare_replicas, read_log
from tests.faults.history import Event, History, Value, read_history

P = ("events", 0)
LEDGER = ("ledger", 0)


class Story:
    """A history that is made by hand; time goes by a tenth of a second for each event."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._at = 0.0

    def add(self, who: str, what: str, place: tuple[str, int] | None = None, wait: float = 0.1, **more: object) -> None:
        self._at = round(self._at + wait, 3)
        where = {"topic": place[0], "partition": place[1]} if place else {}
        self.events.append({"at": self._at, "who": who, "what": what, **where, **more})

    def write(self, who: str, place: tuple[str, int], n: int, offset: int, txn: str | None = None) -> None:
        self.add(who, "try", place, n=n, txn=txn)
        self.add(who, "ack", place, n=n, offset=offset)

    def read(self, who: str, place: tuple[str, int], offset: int, writer: str, n: int, isolation: str) -> None:
        self.add(who, "read", place, offset=offset, isolation=isolation, writer=writer, n=n, of=list(place))

    def find(self, what: str, **wanted: object) -> Event:
        """The first event of that kind with these fields."""
        return next(
            e for e in self.events if e["what"] == what and all(e.get(name) == it for name, it in wanted.items())
        )

    def remove(self, what: str, **wanted: object) -> None:
        self.events.remove(self.find(what, **wanted))


# offset -> writer and number; offsets 3 and 6 of the ledger are markers
EVENTS = {0: ("plain", 0), 1: ("idem", 0), 2: ("idem", 1), 3: ("plain", 1)}
ALL = {0: ("txn", 0), 1: ("txn", 1), 2: ("txn", 2), 4: ("txn", 3), 5: ("txn", 4)}
VISIBLE = {0: ("txn", 0), 1: ("txn", 1), 2: ("txn", 2)}


def clean() -> Story:
    story = Story()
    for who, kind in (("plain", "plain"), ("idem", "idempotent"), ("txn", "transactional")):
        story.add(who, "begin", kind=kind)
    for offset, (writer, n) in EVENTS.items():
        story.write(writer, P, n, offset)
    story.add("txn", "txn", txn="t1", state="begun")
    for offset in (0, 1, 2):
        story.write("txn", LEDGER, offset, offset, "t1")
    story.add("txn", "txn", txn="t1", state="committing")
    story.add("txn", "txn", txn="t1", state="committed")
    story.add("txn", "txn", txn="t2", state="begun")
    for n, offset in ((3, 4), (4, 5)):
        story.write("txn", LEDGER, n, offset, "t2")
    story.add("txn", "txn", txn="t2", state="aborting")
    story.add("txn", "txn", txn="t2", state="aborted")
    for offset, (writer, n) in EVENTS.items():
        story.read("along", P, offset, writer, n, UNCOMMITTED)
    for offset in (1, 3):
        since = story.events[-1]["at"]
        story.add("member", "commit", P, since=since, offset=offset)
        story.add("member", "fetched", P, since=story.events[-1]["at"] + 0.05, offset=offset)
    for isolation, ledger in ((UNCOMMITTED, ALL), (COMMITTED, VISIBLE)):
        who = f"last-{isolation}"
        for place, log, end in ((P, EVENTS, 4), (LEDGER, ledger, 7)):
            for offset, (writer, n) in log.items():
                story.read(who, place, offset, writer, n, isolation)
            story.add(who, "end", place, isolation=isolation, end=end, reached=end)
    return story


def found(story: Story) -> list[Violation]:
    return Checker(story.events).check()


def kinds(story: Story) -> set[str]:
    return {violation.kind for violation in found(story)}


def test_a_history_that_is_right() -> None:
    assert found(clean()) == []


def test_what_was_acknowledged_and_is_not_there_is_lost() -> None:
    story = clean()
    story.remove("read", who="along", offset=3)
    for who in (f"last-{UNCOMMITTED}", f"last-{COMMITTED}"):
        story.remove("read", who=who, topic="events", offset=3)
    assert kinds(story) == {"lost"}


def test_what_was_read_once_and_is_gone_is_lost() -> None:
    story = clean()
    story.add("idem", "try", P, n=2, txn=None)
    story.read("along", P, 4, "idem", 2, UNCOMMITTED)
    [violation] = found(story)
    assert violation.kind == "lost"
    assert "is gone" in violation.text


def test_what_is_hidden_from_readers_of_committed_records_is_lost() -> None:
    story = clean()
    story.remove("read", who=f"last-{COMMITTED}", topic="events", offset=0)
    assert kinds(story) == {"lost"}


def test_what_is_elsewhere_than_was_acknowledged_is_lost() -> None:
    story = clean()
    story.find("ack", who="plain", n=1)["offset"] = 2
    assert kinds(story) == {"lost"}


def test_what_nobody_wrote_is_a_phantom() -> None:
    story = clean()
    story.read("along", P, 9, "nobody", 0, UNCOMMITTED)
    assert kinds(story) == {"phantom"}


def test_what_is_read_in_another_partition_is_a_phantom() -> None:
    story = clean()
    story.find("read", who="along", offset=3)["of"] = ["events", 1]
    assert kinds(story) == {"phantom"}


@pytest.mark.parametrize(("writer", "allowed"), [("idem", False), ("plain", False), ("plain", True)])
def test_a_record_that_is_there_twice(writer: str, allowed: bool) -> None:
    """A plain producer that heard of it so late may have sent it twice."""
    story = clean()
    if allowed:
        story.find("ack", who=writer, n=0)["at"] += 0.2
    for isolation in (UNCOMMITTED, COMMITTED):
        story.read(f"last-{isolation}", P, 9, writer, 0, isolation)
    assert kinds(story) == (set() if allowed else {"duplicate"})


def test_a_record_that_was_given_up_may_be_there_at_any_place() -> None:
    story = clean()
    story.add("plain", "try", P, n=-1, txn=None)
    story.add("plain", "fail", P, n=-1, error="_MSG_TIMED_OUT")
    for isolation in (UNCOMMITTED, COMMITTED):
        story.read(f"last-{isolation}", P, 9, "plain", -1, isolation)
    assert found(story) == []


def test_numbers_in_another_order() -> None:
    story = clean()
    for event in story.events:
        if event.get("who") != "idem" and event.get("writer") == "idem":
            event["n"] = 1 - event["n"]
    for n in (0, 1):
        story.find("ack", who="idem", n=n)["offset"] = 2 - n
    assert kinds(story) == {"reordered"}


def test_a_value_with_another_checksum_is_torn() -> None:
    story = clean()
    story.find("read", who="along", offset=3)["damaged"] = True
    assert kinds(story) == {"torn"}


def test_an_aborted_record_is_not_to_be_read() -> None:
    story = clean()
    story.read(f"last-{COMMITTED}", LEDGER, 4, "txn", 3, COMMITTED)
    assert kinds(story) == {"aborted read"}


def test_a_record_is_not_to_be_read_before_its_transaction_ends() -> None:
    story = clean()
    early = copy.copy(story.find("read", who=f"last-{COMMITTED}", topic="ledger", offset=0))
    early.update(who="early", at=story.find("txn", state="committing")["at"] - 0.05)
    story.events.append(early)
    assert kinds(story) == {"aborted read"}


def test_a_transaction_is_there_as_a_whole_or_not_at_all() -> None:
    story = clean()
    story.remove("txn", state="committed")
    assert found(story) == []
    story.remove("read", who=f"last-{COMMITTED}", topic="ledger", offset=1)
    assert kinds(story) == {"in part"}


def test_a_committed_transaction_that_cannot_be_read_is_lost() -> None:
    story = clean()
    for offset in (0, 1, 2):
        story.remove("read", who=f"last-{COMMITTED}", topic="ledger", offset=offset)
    assert kinds(story) == {"lost"}


def test_a_reader_that_goes_back() -> None:
    story = clean()
    story.read("along", P, 2, "idem", 1, UNCOMMITTED)
    assert kinds(story) == {"went back"}


@pytest.mark.parametrize("what", ["commit", "fetched"])
def test_a_group_that_goes_back(what: str) -> None:
    story = clean()
    story.add("member", what, P, since=story.events[-1]["at"], offset=2)
    [violation] = found(story)
    assert violation.kind == "went back"
    assert "behind 3" in violation.text


def test_a_commit_that_was_under_way_may_come_before_or_after() -> None:
    story = clean()
    story.add("member", "fetched", P, since=story.find("commit", offset=3)["at"] - 0.01, offset=1)
    assert found(story) == []


def test_an_end_that_cannot_be_reached() -> None:
    story = clean()
    story.find("end", topic="ledger", isolation=COMMITTED)["reached"] = 3
    assert kinds(story) == {"stuck"}


def test_a_partition_that_nobody_reads_to_its_end() -> None:
    story = clean()
    story.remove("end", topic="ledger", isolation=COMMITTED)
    assert "stuck" in kinds(story)


def test_an_unclean_election_may_lose_what_came_after() -> None:
    """Not what had been acknowledged before, and not what was acknowledged after."""
    story = clean()
    gone = {"who": f"last-{UNCOMMITTED}", "topic": "events", "offset": 3}
    story.remove("read", **gone)
    story.remove("read", **{**gone, "who": f"last-{COMMITTED}"})
    story.remove("read", who="along", offset=3)
    acked = story.find("ack", who="plain", n=1)["at"]
    for since, until, lost in ((0.1, 0.1, True), (-0.1, 0.1, False), (-0.2, -0.1, True)):
        unclean = {"at": acked + until, "who": "nemesis", "what": "unclean", "topic": "events", "partition": 0}
        violations = Checker([*story.events, {**unclean, "since": acked + since}]).check()
        assert {it.kind for it in violations} == ({"lost"} if lost else set())


# -- Values and files


def test_a_value_tells_where_it_belongs_and_whether_it_is_whole() -> None:
    value = Value("idem-0", "events", 2, 17)
    data = value.to_bytes(100)
    assert len(data) == 109
    assert Value.of(data) == value
    for at in range(len(data)):
        assert Value.of(data[:at]) is None
        assert Value.of(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]) is None
    assert Value.of(None) is None


def test_a_history_is_read_as_it_was_written(tmp_path: pathlib.Path) -> None:
    history = History(tmp_path / "history.jsonl")
    times = [history.write("a", "begin", kind="plain"), history.write("b", "try", n=1)]
    history.close()
    assert list(read_history(history.path)) == [
        {"at": times[0], "who": "a", "what": "begin", "kind": "plain"},
        {"at": times[1], "who": "b", "what": "try", "n": 1},
    ]
    assert times == sorted(times)


def batch(base: int, count: int, epoch: int, payload: bytes = b"records") -> bytes:
    checked = struct.pack(">hi", 0, count - 1) + payload
    tail = struct.pack(">ibI", epoch, 2, crc32c(checked)) + checked
    return struct.pack(">qi", base, len(tail)) + tail


GOOD = [batch(0, 2, 0), batch(2, 3, 0), batch(5, 1, 2)]


@pytest.fixture
def replicas(tmp_path: pathlib.Path) -> dict[int, pathlib.Path]:
    """Three that are the same below offset 6, cut into segments in different places."""
    for broker, cut in enumerate((1, 2, 3)):
        directory = tmp_path / str(broker)
        directory.mkdir()
        (directory / f"{0:020}.log").write_bytes(b"".join(GOOD[:cut]))
        (directory / f"{cut:020}.log").write_bytes(b"".join(GOOD[cut:]))
        (directory / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n2 5\n")
    (tmp_path / "2" / f"{3:020}.log").write_bytes(batch(6, 1, 2))
    return {broker: tmp_path / str(broker) for broker in range(3)}


def differences(replicas: dict[int, pathlib.Path]) -> list[str]:
    return [violation.text for violation in compare_replicas(Place("t", 0), replicas, 6)]


def test_replicas_that_are_the_same(replicas: dict[int, pathlib.Path]) -> None:
    assert differences(replicas) == []
    assert [(it.base, it.last, it.epoch) for it in read_log(replicas[0], 6)] == [(0, 1, 0), (2, 4, 0), (5, 5, 2)]


@pytest.mark.parametrize(
    ("log", "epochs", "expected"),
    [
        ([batch(0, 2, 0, b"others"), *GOOD[1:]], "0\n2\n0 0\n2 5\n", "of broker 1, batch 0 to 1"),
        ([GOOD[0], batch(2, 3, 1), GOOD[2]], "0\n3\n0 0\n1 2\n2 5\n", "batch 2 to 4 of epoch 1"),
        (GOOD, "0\n2\n0 0\n2 4\n", None),
        (GOOD, "0\n1\n0 0\n", "its checkpoint says 0"),
        (GOOD[:2], "0\n1\n0 0\n", "ends at 5, not at 6"),
        ([*GOOD[:2], GOOD[2][:-1]], "0\n2\n0 0\n2 5\n", "a damaged batch"),
        ([*GOOD[:2], GOOD[2][:-1] + b"\0"], "0\n2\n0 0\n2 5\n", "a damaged batch"),
        ([*GOOD[:2], b"half"], "0\n2\n0 0\n2 5\n", "4 bytes at the end"),
    ],
    ids=["bytes", "epoch", "an epoch without records", "checkpoint", "shorter", "torn", "checksum", "no header"],
)
def test_replicas_that_differ(
    replicas: dict[int, pathlib.Path], log: list[bytes], epochs: str, expected: str | None
) -> None:
    (replicas[2] / f"{0:020}.log").write_bytes(b"".join(log))
    (replicas[2] / "leader-epoch-checkpoint").write_text(epochs)
    texts = differences(replicas)
    assert any(expected in text for text in texts) if expected else texts == []
