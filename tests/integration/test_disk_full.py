"""Real file systems that are full, turn read-only or lose power under a running broker; it has a sound disk besides.

Indexes are long files with holes, and a store into a hole through a map kills a process when the disk is full: the
files here are as long as Kafka's own, longer than the disk.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.disks import FileSystem, mounted
from tests.integration.hospital import KAFKA_STORAGE_ERROR, PROPERTIES, Hospital

pytestmark = pytest.mark.slow

MEGABYTES = 8
LONG_INDEXES = {"log.index.size.max.bytes": str(10 << 20)}


@pytest.fixture
def disk(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[FileSystem]:
    """A small one, ext4 unless another kind is asked for."""
    with mounted(getattr(request, "param", "ext4"), tmp_path / "disk", MEGABYTES) as made:
        yield made


@pytest.fixture
def cluster(tmp_path: pathlib.Path, disk: FileSystem) -> Iterator[LocalCluster]:
    """Not started yet. The disk is unmounted later."""
    made = LocalCluster(home=tmp_path, properties={**PROPERTIES, **LONG_INDEXES})
    yield made
    made.close()


@pytest.fixture
def hospital(cluster: LocalCluster, disk: FileSystem) -> Hospital:
    """Its second directory is the disk."""
    broker = cluster.brokers[0]
    broker.properties["log.dirs"] = f"{broker.log_dirs[0]},{disk.path}"
    return Hospital(cluster)


@pytest.mark.parametrize(("disk", "left"), [("tmpfs", 0), ("tmpfs", 30_000), ("ext4", 10_000)], indirect=["disk"])
def test_a_disk_is_full(hospital: Hospital, disk: FileSystem, left: int) -> None:
    """Full while the broker runs, full when it is started after a crash, and then there is room again."""
    log = hospital.log("plain", disk.path)
    for _ in range(50):
        assert hospital.write(log) == 0
    disk.fill(left)
    hospital.write_until_refused(log)
    hospital.assert_lost(disk.path)
    disk.fill()
    hospital.kill()
    hospital.start(disk.path)
    assert hospital.is_offline(disk.path)
    hospital.assert_ill()
    disk.drain()
    hospital.kill()
    hospital.start()
    hospital.assert_kept()


@pytest.mark.parametrize("disk", ["tmpfs"], indirect=True)
def test_the_only_disk_is_full(cluster: LocalCluster, disk: FileSystem) -> None:
    cluster.brokers[0].properties["log.dirs"] = str(disk.path)
    hospital = Hospital(cluster)
    log = hospital.log("plain", disk.path)
    for _ in range(30):
        assert hospital.write(log) == 0
    disk.fill()
    hospital.write_until_the_end(log)
    assert hospital.broker.process.stop() == 1
    assert f"Shutdown broker because all log dirs in {disk.path} have failed" in hospital.broker.process.text()
    disk.drain()
    hospital.wait_until_forgotten()
    hospital.start()
    hospital.assert_kept()


def test_a_disk_turns_read_only(hospital: Hospital, disk: FileSystem) -> None:
    """As ext4 does when it finds itself damaged; what was not synced by then never will be."""
    log = hospital.log("flushed", disk.path)
    for _ in range(30):
        assert hospital.write(log) == 0
    disk.meet_an_error()
    hospital.write_until_refused(log)
    hospital.assert_lost(disk.path)
    hospital.stop()
    hospital.start(disk.path)
    hospital.assert_ill()
    hospital.stop()
    disk.mount_again()
    hospital.start()
    hospital.assert_kept()


def test_a_disk_loses_power(hospital: Hospital, disk: FileSystem) -> None:
    """What was synced is kept; of what was not, there is a beginning, with nothing missing in between."""
    flushed, plain = hospital.log("flushed", disk.path), hospital.log("plain", disk.path)
    for _ in range(50):
        assert hospital.write(plain) == 0
        assert hospital.write(flushed) == 0
    for _ in range(30):
        assert hospital.write(plain) == 0
    disk.lose_power()
    hospital.write_until_refused(flushed)
    hospital.assert_lost(disk.path)
    hospital.stop()
    disk.mount_again()
    hospital.start()
    stored, acked = hospital.stored(plain), hospital.acked.pop(plain)
    assert stored == dict(list(acked.items())[: len(stored)])
    assert hospital.serves(plain)
    hospital.assert_kept()


def test_an_empty_disk_is_read_only(hospital: Hospital, disk: FileSystem) -> None:
    """Kafka does not start then, although the other disk is sound."""
    hospital.stop()
    for found in sorted(disk.path.rglob("*"), reverse=True):
        found.rmdir() if found.is_dir() else found.unlink()
    disk.remount("ro")
    hospital.start(disk.path)
    hospital.assert_ill()
    hospital.stop()
    disk.remount("rw")
    hospital.start()
    assert hospital.end_offset_code(hospital.log("plain", disk.path)) == 0


def test_a_disk_with_logs_is_read_only(hospital: Hospital, disk: FileSystem) -> None:
    log = hospital.log("plain", disk.path)
    for _ in range(30):
        assert hospital.write(log) == 0
    hospital.stop()
    disk.remount("ro")
    hospital.start(disk.path)
    hospital.assert_ill()
    assert hospital.write(log) == KAFKA_STORAGE_ERROR
    hospital.stop()
    disk.remount("rw")
    hospital.start()
    hospital.assert_kept()
