"""Disks that fail under a running broker: a log directory goes offline, the others serve, nothing is lost (KIP-112).

One broker has many log directories, and each test spoils one of them: whatever happened before, the broker goes on.
What was acknowledged is remembered; when all disks are whole again and the broker has been started anew, it is read
back.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.disks import Faults, compile_iofault
from tests.integration.hospital import KAFKA_STORAGE_ERROR, PROPERTIES, Hospital
from tests.integration.support import wait_until
from tests.integration.wire import FETCH, LIST_OFFSETS, Connection, codes, fetch, list_offsets, request

pytestmark = pytest.mark.slow


CASES: dict[str, tuple[str, str, str, str]] = {
    # kind of topic, operation, action, files; the rule stands while records are appended
    "write": ("plain", "write", "EIO", "*.log"),
    "write-full": ("plain", "write", "ENOSPC", "*.log"),
    "write-read-only": ("plain", "write", "EROFS", "*.log"),
    "write-torn": ("plain", "write", "TORN", "*.log"),
    "write-index": ("plain", "write", "ENOSPC", "*.index"),
    "write-time-index": ("plain", "write", "EIO", "*.timeindex"),
    "sync": ("flushed", "sync", "EIO", "*.log"),
    "sync-index": ("flushed", "sync", "EIO", "*.index"),
    "sync-after-roll": ("plain", "sync", "EIO", "*.log"),
    "roll-create": ("plain", "open", "ENOSPC", "*.log"),
    "roll-create-index": ("plain", "open", "EROFS", "*.index"),
    "roll-map": ("plain", "mmap", "ENOMEM", "*.timeindex"),
    "roll-trim": ("plain", "truncate", "EIO", "*.index"),
    "roll-snapshot": ("plain", "open", "EACCES", "*.snapshot"),
}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Faults:
    home = tmp_path_factory.mktemp("faults")
    return Faults(compile_iofault(home), home)


@pytest.fixture(scope="module")
def hospital(faults: Faults, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hospital]:
    home = tmp_path_factory.mktemp("hospital")
    cluster = LocalCluster(home=home, properties=PROPERTIES, log_dirs=len(CASES) + 12)
    try:
        yield Hospital(cluster, faults)
    finally:
        cluster.close()


@pytest.mark.parametrize("name", CASES)
def test_an_append_meets_a_bad_disk(hospital: Hospital, faults: Faults, name: str) -> None:
    kind, operation, action, files = CASES[name]
    log = hospital.next_log(kind)
    for _ in range(30):
        assert hospital.write(log) == 0
    rule = (operation, action, f"{log.log_dir}/{files}")
    faults.add(*rule)
    hospital.write_until_refused(log)
    assert faults.met(*rule)
    hospital.assert_lost(log.log_dir)


def test_a_search_by_time_meets_a_bad_disk(hospital: Hospital, faults: Faults) -> None:
    log = hospital.next_log("plain")
    for _ in range(60):
        assert hospital.write(log) == 0
    rule = ("read", "EIO", f"{log.log_dir}/*.log")
    faults.add(*rule)
    answer = hospital.call(LIST_OFFSETS, 1, list_offsets(log.topic.encode(), log.partition, timestamp=1))
    assert codes(answer) == [KAFKA_STORAGE_ERROR]
    assert faults.met(*rule)
    hospital.assert_lost(log.log_dir)


def test_sending_meets_a_bad_disk(hospital: Hospital, faults: Faults) -> None:
    """Records are read while they are being sent, when it is too late for a code: the connection is closed."""
    log = hospital.next_log("plain")
    assert hospital.write(log) == 0
    rule = ("read", "EIO", f"{log.log_dir}/*.log")
    faults.add(*rule)
    with Connection(hospital.broker) as connection:
        connection.send(request(FETCH, 7, fetch(log.topic.encode(), 0, log.partition)))
        with pytest.raises(AssertionError, match="the broker closed within a reply"):
            connection.receive()
    assert faults.met(*rule)
    faults.heal()
    assert not hospital.is_offline(log.log_dir)
    assert hospital.serves(log)


def test_a_disk_that_takes_half(hospital: Hospital, faults: Faults) -> None:
    """Short writes and reads are no errors."""
    log = hospital.next_log("plain")
    rules = [("write", "SHORT", f"{log.log_dir}/*.log"), ("read", "SHORT", f"{log.log_dir}/*.log")]
    for rule in rules:
        faults.add(*rule)
    for _ in range(50):
        assert hospital.write(log) == 0
    assert hospital.stored(log) == hospital.acked[log]
    assert all(faults.met(*rule) for rule in rules)
    faults.heal()
    assert not hospital.is_offline(log.log_dir)


def test_a_checkpoint_cannot_take_its_name(hospital: Hospital, faults: Faults) -> None:
    log = hospital.next_log("plain")
    assert hospital.write(log) == 0
    rule = ("rename", "EIO", f"{log.log_dir}/replication-offset-checkpoint")
    faults.add(*rule)
    hospital.assert_lost(log.log_dir)
    assert faults.met(*rule)


CLEANING = [("open", "*.log.cleaned"), ("write", "*.log.cleaned"), ("rename", "*.log.swap")]


@pytest.mark.parametrize(("operation", "files"), CLEANING)
def test_the_cleaner_meets_a_bad_disk(hospital: Hospital, faults: Faults, operation: str, files: str) -> None:
    log = hospital.next_log("compact")
    rule = (operation, "EIO", f"{log.log_dir}/{files}")
    faults.add(*rule)
    for _ in range(60):
        if hospital.write(log) != 0:
            break
    hospital.assert_lost(log.log_dir)
    assert faults.met(*rule)


def test_a_directory_is_taken_away(hospital: Hospital) -> None:
    """As when a disk is unmounted: the next file that is to be opened is not there."""
    log = hospital.next_log("plain")
    for _ in range(30):
        assert hospital.write(log) == 0
    log.log_dir.rename(log.log_dir.with_suffix(".away"))
    hospital.assert_lost(log.log_dir)


def test_a_directory_is_removed(hospital: Hospital) -> None:
    log = hospital.next_log("plain")
    for _ in range(30):
        assert hospital.write(log) == 0
    shutil.rmtree(log.log_dir)
    hospital.assert_lost(log.log_dir)
    del hospital.acked[log]  # there is nothing to heal


def test_all_disks_are_healed(hospital: Hospital, faults: Faults) -> None:
    log = hospital.next_log("plain")
    faults.add("write", "EIO", f"{log.log_dir}/*.log", percent=20)
    hospital.write_until_refused(log)
    hospital.assert_lost(log.log_dir)
    for log_dir in hospital.broker.log_dirs:
        if (gone := log_dir.with_suffix(".away")).exists():
            gone.rename(log_dir)
    faults.heal()
    hospital.stop()
    hospital.start()
    hospital.assert_kept()


def test_a_look_up_meets_a_bad_disk(hospital: Hospital, faults: Faults) -> None:
    """A fetch of old records has to look for their place; the broker remembers only where it has written itself."""
    log = hospital.next_log("plain")
    for _ in range(60):
        assert hospital.write(log) == 0
    faults.heal()
    hospital.stop()
    hospital.start()
    rule = ("read", "EIO", f"{log.log_dir}/*.log")
    faults.add(*rule)
    assert hospital.read(log, 3) == (KAFKA_STORAGE_ERROR, b"")
    assert faults.met(*rule)
    wait_until(lambda: hospital.is_offline(log.log_dir))
