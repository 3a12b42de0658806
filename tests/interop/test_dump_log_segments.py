"""Apache's DumpLogSegments reads what our broker wrote, finds nothing wrong, and prints what our own prints."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.log.log import Log
from kafka_py.testing.local_cluster import BIN, LocalCluster
from tests.integration.clients import create_topic, produce
from tests.interop.apache_kafka import ApacheKafka
from tests.log.log_harness import Logs, as_leader, log_config, singleton

pytestmark = pytest.mark.slow

CODECS = ("none", "gzip", "snappy", "lz4")
KINDS = (".log", ".index", ".timeindex", ".snapshot", ".txnindex")
SMALL = {"log.segment.bytes": "60000", "log.index.interval.bytes": "500"}
WORDS = ["", "plain", "naïve", "日本語", "a\tb", "x" * 300, "🐘"]
RECORDS = [
    (None if i % 5 == 0 else b"key-%d" % i, None if i % 11 == 10 else f"{i} {WORDS[i % len(WORDS)]}".encode())
    for i in range(2000)
]


@pytest.fixture(scope="module")
def files(apache: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    """All files of logs in every codec and format, after a clean stop."""
    with LocalCluster(home=tmp_path_factory.mktemp("dump"), properties=SMALL) as cluster:
        address = cluster.bootstrap_servers
        for codec in CODECS:
            for name, config in (("v2", {}), ("v1", {"message.format.version": "0.10.0"})):
                topic = create_topic(address, f"{codec}-{name}", config=config)
                produce(address, topic, RECORDS, compression_type=codec, batch_num_messages=17)
            topic = create_topic(address, f"{codec}-idempotent")
            produce(address, topic, RECORDS, compression_type=codec, batch_num_messages=17, enable_idempotence=True)
        create_topic(address, "v0", config={"message.format.version": "0.9.0"})
        produce(address, "v0", RECORDS[:500], compression_type="gzip", batch_num_messages=17)
        create_topic(address, "append-time", config={"message.timestamp.type": "LogAppendTime"})
        produce(address, "append-time", RECORDS[:500], compression_type="lz4", batch_num_messages=17)
        create_topic(address, "empty")
        broker = cluster.brokers[0]
        assert broker.process.stop() == 0
        found = [path for path in broker.log_dirs[0].glob("*/*") if path.suffix in KINDS]
        assert {path.suffix for path in found} >= {".log", ".index", ".timeindex", ".snapshot"}
    return sorted(found)


def our_dump(files: list[pathlib.Path], *options: str) -> tuple[str, str]:
    command = [sys.executable, str(BIN / "kafka-dump-log.py"), *options, "--files", ",".join(map(str, files))]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env={"PYTHONUTF8": "1"}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def same_dump(apache: ApacheKafka, files: list[pathlib.Path], *options: str) -> str:
    """What both tools print, without a complaint."""
    theirs = apache.dump(files, *options)
    assert theirs[1] == ""
    assert our_dump(files, *options) == theirs
    return theirs[0]


@pytest.mark.parametrize("options", [(), ("--deep-iteration",), ("--print-data-log",)])
def test_logs(apache: ApacheKafka, files: list[pathlib.Path], options: tuple[str, ...]) -> None:
    logs = [path for path in files if path.suffix == ".log"]
    assert "isvalid: false" not in same_dump(apache, logs, *options)


@pytest.mark.parametrize("options", [(), ("--verify-index-only",), ("--index-sanity-check",)])
def test_indexes(apache: ApacheKafka, files: list[pathlib.Path], options: tuple[str, ...]) -> None:
    indexes = [path for path in files if path.suffix in (".index", ".timeindex")]
    if "--index-sanity-check" not in options:
        indexes = [path for path in indexes if path.suffix == ".index" or not is_uncompressed_v2(path)]
    printed = same_dump(apache, indexes, *options)
    assert printed.count("Dumping ") == len(indexes)
    assert printed.count("passed sanity check.") == (len(indexes) if "--index-sanity-check" in options else 0)


def test_time_indexes_of_uncompressed_logs(apache: ApacheKafka, files: list[pathlib.Path]) -> None:
    """Their entries name the youngest record, and Kafka's tool looks for a batch that ends there."""
    indexes = [path for path in files if path.suffix == ".timeindex" and is_uncompressed_v2(path)]
    printed, complaints = apache.dump(indexes)
    header = "The following indexed offsets are not found in the log.\n"
    assert set(complaints.replace(header, "").translate({ord(d): None for d in "0123456789"}).splitlines()) <= {
        "Indexed offset: , found log offset: "
    }
    ours, our_complaints = our_dump(indexes)
    assert ours == printed
    # In the order of a hash map of file names there, in that of the files here.
    assert sorted(our_complaints.split(header)) == sorted(complaints.split(header))


def is_uncompressed_v2(path: pathlib.Path) -> bool:
    return path.parent.name in ("none-v2-0", "none-idempotent-0")


def test_producer_snapshots(apache: ApacheKafka, files: list[pathlib.Path]) -> None:
    printed = same_dump(apache, [path for path in files if path.suffix == ".snapshot"])
    assert printed.count("producerId: ") >= len(CODECS)


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


def test_transactions(apache: ApacheKafka, logs: Logs) -> None:
    log = logs.create(log_config(index_interval_bytes=1))
    for producer_id in (9, 12):
        as_leader(log, logs.idempotent(producer_id, 0, b"a", b"b", transactional=True))
    as_leader(log, singleton(b"between", timestamp=logs.time.milliseconds()))
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, 9, 0, coordinator_epoch=4), from_client=False)
    as_leader(log, logs.end_txn(ControlRecordType.COMMIT, 12, 0, coordinator_epoch=5), from_client=False)
    as_leader(log, logs.idempotent(12, 2, b"c", transactional=True))
    log.take_producer_snapshot()
    files = [Log.log_file(logs.dir, 0), Log.transaction_index_file(logs.dir, 0)]
    files.append(Log.producer_snapshot_file(logs.dir, log.log_end_offset))
    log.flush()
    printed = same_dump(apache, files, "--deep-iteration")
    assert "endTxnMarker: ABORT coordinatorEpoch: 4" in printed
    assert "endTxnMarker: COMMIT coordinatorEpoch: 5" in printed
    assert "version: 0 producerId: 9 firstOffset: 0 lastOffset: 5 lastStableOffset: " in printed
