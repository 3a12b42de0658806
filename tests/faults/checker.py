"""What is wrong with a history, and with the replicas that were left behind.

A writer's records are known by writer, topic, partition and number. What the last readers found, who read from the
beginning to the end when all was healed, is the log; whoever read earlier must have read the same in the same places.

Allowed are: records twice from a plain producer, where the send took so long that it may have been repeated or where
the client gave up; records that were given up, there or not, in any order; after an unclean election the loss of what
was acknowledged while the one that was elected could not know of it.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import pathlib
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from crc32c import crc32c

from tests.faults.history import Event

# A client repeats a send after 200 ms, less a fifth: what was acknowledged sooner was sent once.
RETRIED_S = 0.15
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"


class Place(NamedTuple):
    topic: str
    partition: int

    @classmethod
    def of(cls, event: Event) -> Place:
        return cls(event["topic"], event["partition"])

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Key(NamedTuple):
    """Which record it is."""

    writer: str
    place: Place
    n: int

    def __str__(self) -> str:
        return f"{self.writer}#{self.n} in {self.place}"


@dataclasses.dataclass
class Write:
    tried: float
    txn: str | None
    acked: float | None = None
    offset: int = -1

    @property
    def was_sent_once(self) -> bool:
        return self.acked is not None and self.acked - self.tried < RETRIED_S


class Violation(NamedTuple):
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Checker:
    """Reads a history once, then says what is wrong with it."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.violations: list[Violation] = []
        self.counts: collections.Counter[str] = collections.Counter()
        self._kinds: dict[str, str] = {}
        self._writes: dict[Key, Write] = {}
        # transaction -> the states it was in, each with its time
        self._txns: dict[str, dict[str, float]] = collections.defaultdict(dict)
        self._unclean: dict[Place, list[tuple[float, float]]] = collections.defaultdict(list)
        self._reads: list[Event] = []
        self._ends: list[Event] = []
        self._group: list[Event] = []
        take: dict[str, Callable[[Event], object]] = {
            "begin": lambda e: self._kinds.update({e["who"]: e["kind"]}),
            "try": lambda e: self._writes.update({self._key(e, e["who"]): Write(e["at"], e["txn"])}),
            "ack": self._take_ack,
            "txn": lambda e: self._txns[e["txn"]].setdefault(e["state"], e["at"]),
            "read": self._reads.append,
            "end": self._ends.append,
            "commit": self._group.append,
            "fetched": self._group.append,
            "unclean": lambda e: self._unclean[Place.of(e)].append((e["since"], e["at"])),
        }
        for event in events:
            self.counts[event["what"]] += 1
            if event["what"] in take:
                take[event["what"]](event)

    def check(self) -> list[Violation]:
        # the last readers: isolation -> place -> offset -> record, as it was read
        self._log = self._check_reads()
        self._check_ends()
        for place in sorted({key.place for key in self._writes}):
            self._check_place(place)
        self._check_transactions()
        self._check_group()
        return self.violations

    # -- Reading the history

    @staticmethod
    def _key(event: Event, writer: str) -> Key:
        return Key(writer, Place.of(event), event["n"])

    def _take_ack(self, event: Event) -> None:
        write = self._writes[self._key(event, event["who"])]
        write.acked, write.offset = event["at"], event["offset"]

    def _found(self, kind: str, text: str) -> None:
        self.violations.append(Violation(kind, text))

    # -- What was read

    def _check_reads(self) -> dict[str, dict[Place, dict[int, Key]]]:
        """Each read for itself, and that all of one place are the same; what the last readers read."""
        last = {end["who"] for end in self._ends}
        log: dict[str, dict[Place, dict[int, Key]]] = {
            isolation: collections.defaultdict(dict) for isolation in (UNCOMMITTED, COMMITTED)
        }
        seen: dict[tuple[Place, int], list[tuple[Key, Event]]] = collections.defaultdict(list)
        positions: dict[tuple[str, Place], int] = {}
        for read in self._reads:
            place, offset, who = Place.of(read), read["offset"], read["who"]
            if offset <= positions.get((who, place), -1) and not self._after_unclean(place, read["at"]):
                before = positions[who, place]
                self._found("went back", f"{who} read offset {offset} of {place} after {before}, at {read['at']}")
            positions[who, place] = offset
            if read.get("damaged"):
                self._found("torn", f"offset {offset} of {place}, read by {who} at {read['at']}")
                continue
            key = self._key(read, read["writer"])
            write = self._writes.get(key)
            if write is None or write.tried > read["at"] or read["of"] != [place.topic, place.partition]:
                self._found("phantom", f"{key}, read at offset {offset} by {who} at {read['at']}: {read['of']}")
                continue
            if read["isolation"] == COMMITTED:
                self._check_committed(key, write, read)
            if all(key != other for other, _ in seen[place, offset]):
                seen[place, offset].append((key, read))
            if who in last:
                log[read["isolation"]][place][offset] = key
        for (place, offset), found in seen.items():
            self._check_same(place, offset, found, log[UNCOMMITTED][place].get(offset))
        return log

    def _check_committed(self, key: Key, write: Write, read: Event) -> None:
        if write.txn is None:
            return
        states = self._txns[write.txn]
        if "aborted" in states and "committed" not in states:
            self._found("aborted read", f"{key} of {write.txn}, by {read['who']} at {read['at']}")
        elif states.get("committing", read["at"]) >= read["at"]:
            self._found("aborted read", f"{key} of {write.txn}, by {read['who']} at {read['at']}, before it was ended")

    def _check_same(self, place: Place, offset: int, found: Sequence[tuple[Key, Event]], now: Key | None) -> None:
        """What was read once stays where it is."""
        for key, read in found:
            if key != now and not self._after_unclean(place, read["at"]):
                what = "is gone" if now is None else f"is now {now}"
                self._found("lost", f"{key}, read at offset {offset} by {read['who']} at {read['at']}, {what}")

    def _after_unclean(self, place: Place, at: float) -> bool:
        return any(since <= at for since, _ in self._unclean.get(place, ()))

    def _check_ends(self) -> None:
        wanted = {(isolation, key.place) for key in self._writes for isolation in (UNCOMMITTED, COMMITTED)}
        for end in self._ends:
            wanted.discard((end["isolation"], Place.of(end)))
            if end["reached"] < end["end"]:
                what = f"{Place.of(end)} with {end['isolation']} up to {end['reached']} of {end['end']}"
                self._found("stuck", f"{end['who']} could read {what}")
        for isolation, place in sorted(wanted):
            self._found("stuck", f"nobody read {place} to its end with {isolation}")

    # -- The log of a partition

    def _check_place(self, place: Place) -> None:
        log = self._log[UNCOMMITTED][place]
        times = collections.Counter(log.values())
        committed = set(self._log[COMMITTED][place].values())
        mine = {key: write for key, write in self._writes.items() if key.place == place}
        for key, write in mine.items():
            plain = self._kinds[key.writer] == "plain"
            if times[key] > 1 and (not plain or write.was_sent_once):
                self._found("duplicate", f"{key} of an {self._kinds[key.writer]} producer, {times[key]} times")
            if write.acked is None:
                continue
            if self._may_be_lost(place, write.acked):
                self.counts["lost by unclean elections"] += times[key] == 0
                continue
            if times[key] == 0:
                self._found("lost", f"{key}, acknowledged at {write.acked} with offset {write.offset}")
            elif write.offset >= 0 and log.get(write.offset) != key:
                text = f"{key}, acknowledged with offset {write.offset}, where {log.get(write.offset)} is"
                self._found("lost", text)
            elif write.txn is None and key not in committed:
                self._found("lost", f"{key}, acknowledged at {write.acked}, to who reads with {COMMITTED}")
        self._check_order(log, mine)

    def _check_order(self, log: Mapping[int, Key], mine: Mapping[Key, Write]) -> None:
        """Of what was acknowledged, where it stands first."""
        first: dict[Key, int] = {}
        for offset, key in sorted(log.items()):
            first.setdefault(key, offset)
        highest: dict[str, Key] = {}
        for key in first:
            if mine[key].acked is None:
                continue
            before = highest.get(key.writer)
            if before is not None and before.n > key.n:
                self._found("reordered", f"{key} at offset {first[key]} behind number {before.n} at {first[before]}")
            else:
                highest[key.writer] = key

    def _may_be_lost(self, place: Place, acked: float) -> bool:
        return any(since <= acked <= until for since, until in self._unclean.get(place, ()))

    # -- Transactions and the group

    def _check_transactions(self) -> None:
        records: dict[str, list[Key]] = collections.defaultdict(list)
        for key, write in self._writes.items():
            if write.txn is not None:
                records[write.txn].append(key)
        visible = {key for log in self._log[COMMITTED].values() for key in log.values()}
        for txn, keys in records.items():
            keys = [key for key in keys if not self._after_unclean(key.place, float("inf"))]
            states, gone = self._txns[txn], [key for key in keys if key not in visible]
            if "committed" in states and gone:
                self._found("lost", f"{gone[0]} and {len(gone) - 1} more of {txn}, which was committed")
            elif "committed" not in states and "aborted" not in states and gone and len(gone) < len(keys):
                self._found("in part", f"{len(gone)} of {len(keys)} records of {txn}, {gone[0]} the first")

    def _check_group(self) -> None:
        """Neither what is committed nor what one is told goes back behind what was committed before one asked."""
        commits = sorted((e for e in self._group if e["what"] == "commit"), key=lambda e: e["at"])
        by_place: dict[Place, list[Event]] = collections.defaultdict(list)
        for event in commits:
            by_place[Place.of(event)].append(event)
        for event in self._group:
            place = Place.of(event)
            if self._after_unclean(place, event["at"]):
                continue
            highest = max((e["offset"] for e in by_place[place] if e["at"] < event["since"]), default=-1)
            if event["offset"] < highest:
                what = "committed" if event["what"] == "commit" else "was told"
                text = f"{event['who']} {what} offset {event['offset']} of {place} at {event['at']}"
                self._found("went back", f"{text}, behind {highest}")


# -- Replicas

# Base offset, length, leader epoch, magic, checksum, attributes, last offset delta: of batches in format 2.
_HEADER = struct.Struct(">qiibIhi")
_BEFORE_LEADER_EPOCH = 12
_CHECKED_FROM = 21


class Batch(NamedTuple):
    """As it stands in a segment."""

    base: int
    last: int
    epoch: int
    data: bytes

    def __str__(self) -> str:
        return f"batch {self.base} to {self.last} of epoch {self.epoch}, {zlib.crc32(self.data):08x}"


def read_log(directory: pathlib.Path, end: int) -> list[Batch]:
    """The batches of a partition's directory below an offset. Raises ValueError where one is damaged."""
    found = []
    for segment in sorted(directory.glob("*.log")):
        data, at = segment.read_bytes(), 0
        while at < len(data):
            if len(data) - at < _HEADER.size:
                raise ValueError(f"{len(data) - at} bytes at the end of {segment}")
            base, length, epoch, magic, checksum, _, delta = _HEADER.unpack_from(data, at)
            if base >= end:
                break
            batch = data[at : at + _BEFORE_LEADER_EPOCH + length]
            if magic != 2 or len(batch) != _BEFORE_LEADER_EPOCH + length or crc32c(batch[_CHECKED_FROM:]) != checksum:
                raise ValueError(f"a damaged batch at {at} of {segment}, offset {base}")
            found.append(Batch(base, base + delta, epoch, batch))
            at += len(batch)
    return found


def read_epochs(directory: pathlib.Path) -> list[tuple[int, int]]:
    """Epoch and first offset of each line of a partition's leader-epoch-checkpoint."""
    lines = (directory / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    return [(int(epoch), int(start)) for epoch, start in map(str.split, lines)]


def compare_replicas(place: Place, directories: Mapping[int, pathlib.Path], end: int) -> list[Violation]:
    """What differs between the directories of a partition's replicas, by broker, below an offset: bytes and epochs."""
    found = []
    logs: dict[int, list[Batch]] = {}
    for broker, directory in sorted(directories.items()):
        try:
            logs[broker] = read_log(directory, end)
        except ValueError as e:
            found.append(Violation("torn", f"{place} of broker {broker}: {e}"))
            continue
        reached = logs[broker][-1].last + 1 if logs[broker] else 0
        if reached != end:
            found.append(Violation("differ", f"{place} of broker {broker} ends at {reached}, not at {end}"))
        epochs = read_epochs(directory)
        for batch in logs[broker]:
            known = max((epoch for epoch, start in epochs if start <= batch.base), default=-1)
            if known != batch.epoch:
                found.append(Violation("differ", f"{place} of broker {broker}: {batch}, its checkpoint says {known}"))
                break
    for first, other in itertools.pairwise(logs):
        for one, two in zip(logs[first], logs[other], strict=False):
            if one != two:
                found.append(Violation("differ", f"{place}: {one} of broker {first}, {two} of broker {other}"))
                break
    return found
