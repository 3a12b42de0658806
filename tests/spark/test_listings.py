"""What is kept of log directories between two looks at them, and that no change is missed for it."""

from __future__ import annotations

import os
import pathlib

import pytest

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark import layout
from kafka_py.spark.file_transport import FileTransport
from kafka_py.spark.layout import LogDirs
from kafka_py.spark.listings import Listings
from kafka_py.testing.mock_time import MockTime
from tests.spark.made_logs import made_batch, make_log_dir, write_checkpoint, write_epochs, write_partition

OLD_NS = 1_500_000_000 * 10**9


def age(home: pathlib.Path) -> None:
    """Everything was changed long ago, so that a change shows."""
    for path in (home, *home.rglob("*")):
        os.utime(path, ns=(OLD_NS, OLD_NS))


def test_an_answer_is_kept_while_nothing_changes(tmp_path: pathlib.Path) -> None:
    listings, asked = Listings(), []

    def find() -> int:
        asked.append(1)
        return len(asked)

    assert [listings.of(tmp_path, "kind", find) for _ in range(3)] == [1, 2, 3]  # too young to be believed
    age(tmp_path)
    assert [listings.of(tmp_path, "kind", find) for _ in range(3)] == [4, 4, 4]
    assert listings.of(tmp_path, "other", find) == 5
    (tmp_path / "new").touch()
    assert listings.of(tmp_path, "kind", find) == 6
    with pytest.raises(FileNotFoundError):
        listings.of(tmp_path / "gone", "kind", find)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths that were listed, read as a checkpoint, or whose end was looked for."""
    seen: list[str] = []

    def counting(name: str) -> None:
        original = getattr(layout, name)

        def call(what: object) -> object:
            seen.append(name)
            return original(what)

        monkeypatch.setattr(layout, name, call)

    for name in ("segment_files", "read_offset_checkpoint", "read_leader_epochs", "end_offset"):
        counting(name)
    return seen


def test_partitions_that_rest_are_not_looked_through_again(tmp_path: pathlib.Path, counted: list[str]) -> None:
    """A stream plans each micro-batch anew, of thousands of partitions perhaps."""
    home = make_log_dir(tmp_path / "logs")
    age(home)
    transport = FileTransport(LogDirs.of(str(home)), time=MockTime())
    first = transport.partitions()
    assert counted
    counted.clear()
    assert transport.partitions() == first
    assert counted == []


def test_every_change_is_seen(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    transport = FileTransport(LogDirs.of(str(home)), time=MockTime())

    def now(name: str = "t") -> tuple[int, int, int]:
        offsets = transport.partitions()[name, 0]
        return offsets.log_start_offset, offsets.high_watermark, offsets.log_end_offset

    age(home)
    assert now() == (5, 177, 200)
    with open(home / "t-0" / "00000000000000000100.log", "ab") as log:
        log.write(made_batch(200))
    assert now() == (5, 177, 210)
    age(home)
    write_checkpoint(home, {"t-0": 205, "t-1": 90})
    assert now() == (5, 205, 210)
    age(home)
    write_partition(home, "t-0", 210, 2, rolled=False)
    assert now() == (5, 205, 230)
    age(home)
    write_partition(home, "new-0", 0, 1, rolled=False)
    write_checkpoint(home, {"t-0": 230, "new-0": 10})
    assert now("new") == (0, 10, 10)
    age(home)
    for path in (home / "t-0").glob("00000000000000000000.*"):
        path.unlink()
    assert now() == (100, 230, 230)
    age(home)
    write_epochs(home / "t-0", [(0, 0), (1, 220)])
    epochs = {r.topic_partition: r.leader_epochs for r in LogDirs.of(str(home)).replicas(listings=Listings())}
    assert epochs[TopicPartition("t", 0)] == ((0, 0), (1, 220))
