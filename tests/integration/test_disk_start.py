"""Log directories that cannot be used when the broker starts or stops, and what happens when there is no other one.

Where one of several is bad the broker lives on the others, also where Apache Kafka 1.1.1 gives up: when a segment
cannot be read, when a checkpoint file cannot be made, when the directory is empty and may not be written to.
"""

from __future__ import annotations

import contextlib
import pathlib
import re
from collections.abc import Iterator

import pytest

from kafka_py.testing.local_cluster import LocalCluster
from tests.integration.disks import Faults, compile_iofault
from tests.integration.hospital import PROPERTIES, Hospital, Log

pytestmark = pytest.mark.slow

EXITED = r"broker-0 ended with 1 before"


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Faults:
    home = tmp_path_factory.mktemp("faults")
    return Faults(compile_iofault(home), home)


BAD: dict[str, tuple[str, str, str]] = {
    # operation, action, files of the directory
    "meta-properties-unreadable": ("openread", "EACCES", "/meta.properties"),
    "meta-properties-cannot-be-made": ("open", "EROFS", "/meta.properties.tmp"),
    "not-to-be-locked": ("open", "EROFS", "/.lock"),
    "not-to-be-listed": ("openread", "EIO", ""),
    "recovery-points-unreadable": ("openread", "EIO", "/recovery-point-offset-checkpoint"),
    "high-watermarks-cannot-be-made": ("open", "EACCES", "/replication-offset-checkpoint"),
    "cleaner-points-cannot-be-made": ("open", "EROFS", "/cleaner-offset-checkpoint"),
    "segment-cannot-be-opened": ("open", "EIO", "/*.log"),
    "segment-cannot-be-read": ("read", "EIO", "/*.log"),
    "segment-cannot-be-cut": ("truncate", "EIO", "/*"),
    "index-cannot-be-mapped": ("mmap", "ENOMEM", "/*.index"),
    "snapshot-cannot-be-written": ("open", "ENOSPC", "/*.snapshot"),
    # it would keep the next start from looking at what is written now
    "note-of-the-clean-stop-stays": ("unlink", "EIO", "/.kafka_cleanshutdown"),
}


@pytest.fixture(scope="module")
def running(faults: Faults, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hospital]:
    home = tmp_path_factory.mktemp("hospital")
    cluster = LocalCluster(home=home, properties=PROPERTIES, log_dirs=1 + len(BAD))
    try:
        yield Hospital(cluster, faults)
    finally:
        cluster.close()


@pytest.fixture
def hospital(running: Hospital, faults: Faults) -> Iterator[Hospital]:
    """Some segments in the first directories; whole again and running at the end of the test."""
    write(running, logs(running)[:3])
    yield running
    faults.heal()
    if running.ill or not running.broker.process.is_running:
        running.broker.process.stop()
        running.wait_until_forgotten()
        running.start()


def logs(hospital: Hospital) -> list[Log]:
    return [hospital.log("plain", log_dir) for log_dir in hospital.broker.log_dirs]


def write(hospital: Hospital, logs: list[Log]) -> None:
    """More than a segment to each."""
    for log in logs:
        for _ in range(30):
            assert hospital.write(log) == 0


def forget_the_clean_stop(log_dir: pathlib.Path) -> None:
    """As after a crash, the next start looks through what was written last."""
    (log_dir / ".kafka_cleanshutdown").unlink()


def test_all_directories_but_one_are_bad(hospital: Hospital, faults: Faults) -> None:
    """Each in a way of its own."""
    write(hospital, logs(hospital)[3:])
    hospital.stop()
    bad = dict(zip(BAD, hospital.broker.log_dirs[1:], strict=True))
    rules = {name: (BAD[name][0], BAD[name][1], f"{log_dir}{BAD[name][2]}") for name, log_dir in bad.items()}
    for name, log_dir in bad.items():
        if name.endswith("cannot-be-made"):
            pathlib.Path(rules[name][2].removesuffix(".tmp")).unlink()
        if name != "note-of-the-clean-stop-stays":
            forget_the_clean_stop(log_dir)
        faults.add(*rules[name])
    hospital.start(*bad.values())
    assert [name for name, rule in rules.items() if not faults.met(*rule)] == []
    hospital.assert_ill()
    faults.heal()
    hospital.stop()
    hospital.start()
    hospital.assert_kept()


def test_a_file_is_where_a_directory_was(hospital: Hospital) -> None:
    bad = hospital.broker.log_dirs[1]
    hospital.stop()
    bad.rename(bad.with_suffix(".away"))
    bad.touch()
    try:
        hospital.start(bad)
        hospital.assert_ill()
        hospital.stop()
    finally:
        bad.unlink()
        bad.with_suffix(".away").rename(bad)
    hospital.start()
    hospital.assert_kept()


def test_a_disk_fails_while_the_broker_stops(hospital: Hospital, faults: Faults) -> None:
    """The other directories are closed as well as ever."""
    rule = ("sync", "EIO", f"{hospital.broker.log_dirs[1]}/*.log")
    faults.add(*rule)
    hospital.ill = [hospital.broker.log_dirs[1]]
    hospital.stop()
    assert faults.met(*rule)
    faults.heal()
    hospital.start()
    hospital.assert_kept()


# -- No directory is left ---------------------------------------------------------------------------------------------


def test_every_directory_is_unreadable(hospital: Hospital, faults: Faults) -> None:
    hospital.stop()
    faults.add("openread", "EIO", "*/meta.properties")
    dirs = ", ".join(map(str, hospital.broker.log_dirs))
    message = f"Shutdown broker because none of the specified log dirs from {dirs} can be created or validated"
    with pytest.raises(RuntimeError, match=f"(?s){EXITED}.*{re.escape(message)}"):
        hospital.broker.start(faults.environment)


@pytest.mark.parametrize(("operation", "files"), [("open", ".lock"), ("open", "*.index"), ("read", "*.log")])
def test_every_directory_turns_out_to_be_bad(hospital: Hospital, faults: Faults, operation: str, files: str) -> None:
    """While the logs are loaded."""
    write(hospital, logs(hospital)[3:])
    hospital.stop()
    for log_dir in hospital.broker.log_dirs:
        forget_the_clean_stop(log_dir)
    faults.add(operation, "EIO", f"{hospital.broker.home}/data-*/{files}")
    said = len(hospital.broker.process.text())
    with contextlib.suppress(RuntimeError):  # the failures are dealt with by a thread: it may serve before it ends
        hospital.broker.start(faults.environment)
    hospital.broker.process.wait_for(re.compile("Shutdown broker because all log dirs in .* have failed"), said)
    assert hospital.broker.process.stop() == 1
    faults.heal()
    hospital.wait_until_forgotten()
    hospital.start()
    hospital.assert_kept()


def test_one_directory_after_the_other(hospital: Hospital, faults: Faults) -> None:
    """The broker lives on the last one, and halts when that fails too."""
    said = len(hospital.broker.process.text())
    *first, last = logs(hospital)
    for log in first:
        faults.add("write", "EIO", f"{log.log_dir}/*.log")
        hospital.write_until_refused(log)
    assert hospital.write(last) == 0
    faults.add("write", "EIO", f"{last.log_dir}/*.log")
    hospital.write_until_the_end(last)
    assert hospital.broker.process.stop() == 1
    dirs = ", ".join(map(str, hospital.broker.log_dirs))
    assert f"Shutdown broker because all log dirs in {dirs} have failed" in hospital.broker.process.text()[said:]
    faults.heal()
    hospital.wait_until_forgotten()
    hospital.start()
    hospital.assert_kept()


@pytest.mark.ported(
    "LogDirFailureTest.brokerWithOldInterBrokerProtocolShouldHaltOnLogDirFailure", changes="it fails while it runs"
)
def test_a_broker_of_an_old_protocol_halts(hospital: Hospital, faults: Faults) -> None:
    """Before 1.0 the controller could not tell a new partition from one whose directory is offline."""
    hospital.stop()
    properties = hospital.broker.properties
    properties["inter.broker.protocol.version"] = "0.11.0"
    try:
        hospital.start()
        bad = logs(hospital)[1]
        faults.add("write", "EIO", f"{bad.log_dir}/*.log")
        hospital.write_until_the_end(bad)
    finally:
        del properties["inter.broker.protocol.version"]
    assert hospital.broker.process.stop() == 1
    assert f"Halting broker because dir {bad.log_dir} is offline" in hospital.broker.process.text()
