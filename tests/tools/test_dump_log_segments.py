"""DumpLogSegments: what it prints for each kind of file."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.common.header.internals.record_header import RecordHeader
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.log.log import Log
from kafka_py.tools.dump_log_segments import main
from tests.log.log_harness import Logs, as_leader, log_config, singleton

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def logs(tmp_path: pathlib.Path) -> Iterator[Logs]:
    logs = Logs(tmp_path)
    yield logs
    logs.close()


def dump(capsys: Capture, *arguments: str | pathlib.Path) -> list[str]:
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def test_batches(logs: Logs, capsys: Capture) -> None:
    log = logs.create()
    now = logs.time.milliseconds()
    as_leader(log, singleton(b"one", timestamp=now), epoch=3)
    size = log.size
    as_leader(log, logs.idempotent(9, 0, b"two", b"three"), epoch=3)
    file = Log.log_file(logs.dir, 0)
    batches = list(log.active_segment.log.batches())
    assert dump(capsys, "--files", file) == [
        f"Dumping {file}",
        "Starting offset: 0",
        "baseOffset: 0 lastOffset: 0 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 3 isTransactional: false position: 0 CreateTime: "
        f"{now} isvalid: true size: {size} magic: 2 compresscodec: NONE crc: {batches[0].checksum()}",
        "baseOffset: 1 lastOffset: 2 baseSequence: 0 lastSequence: 1 producerId: 9 producerEpoch: 0 "
        f"partitionLeaderEpoch: 3 isTransactional: false position: {size} CreateTime: {now} "
        f"isvalid: true size: {log.size - size} magic: 2 compresscodec: NONE crc: {batches[1].checksum()}",
    ]


def test_records(logs: Logs, capsys: Capture) -> None:
    log = logs.create()
    record = SimpleRecord(1000, b"k", b"hello", [RecordHeader("h1", b"x"), RecordHeader("h2", b"y")])
    as_leader(log, MemoryRecords.with_records(record))
    file = Log.log_file(logs.dir, 0)
    line = (
        "offset: 0 position: 0 CreateTime: 1000 isvalid: true keysize: 1 valuesize: 5 magic: 2 compresscodec: NONE "
        "producerId: -1 producerEpoch: -1 sequence: -1 isTransactional: false headerKeys: [h1,h2]"
    )
    assert dump(capsys, "--files", file, "--deep-iteration")[2:] == [line]
    assert dump(capsys, "--files", file, "--print-data-log")[2:] == [line + " key: k payload: hello"]


def test_old_format_and_markers(logs: Logs, capsys: Capture) -> None:
    log = logs.create(log_config(message_format_version="0.10.0"))
    as_leader(log, singleton(b"old", timestamp=logs.time.milliseconds(), magic=1))
    out = dump(capsys, "--files", Log.log_file(logs.dir, 0))
    now = logs.time.milliseconds()
    assert out[2].startswith(
        f"offset: 0 position: 0 CreateTime: {now} isvalid: true size: 37 magic: 1 compresscodec: N"
    )
    log.update_config(set(), log_config())
    as_leader(log, logs.idempotent(9, 0, transactional=True))
    as_leader(log, logs.end_txn(ControlRecordType.ABORT, 9, 0, coordinator_epoch=4), from_client=False)
    out = dump(capsys, "--files", Log.log_file(logs.dir, 0), "--print-data-log")
    assert out[2].endswith(f"crc: {next(log.active_segment.log.batches()).checksum()} payload: old")
    assert out[4].endswith("headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 4")
    (line,) = dump(capsys, "--files", Log.transaction_index_file(logs.dir, 0))[1:]
    assert line == "version: 0 producerId: 9 firstOffset: 1 lastOffset: 2 lastStableOffset: 3"


def test_indexes(logs: Logs, capsys: Capture) -> None:
    log = logs.create(log_config(index_interval_bytes=1))
    size = singleton(b"test").size_in_bytes()
    for i in range(4):
        as_leader(log, singleton(b"test", timestamp=100 + i))
    log.close()
    index, time_index = Log.offset_index_file(logs.dir, 0), Log.time_index_file(logs.dir, 0)
    assert dump(capsys, "--files", index) == [
        f"Dumping {index}",
        *(f"offset: {i} position: {i * size}" for i in (1, 2, 3)),
    ]
    assert dump(capsys, "--files", time_index)[1:] == [f"timestamp: {100 + i} offset: {i}" for i in (1, 2, 3)]
    assert dump(capsys, "--files", f"{index},{time_index}", "--verify-index-only") == [
        f"Dumping {index}",
        f"Dumping {time_index}",
    ]
    assert dump(capsys, "--files", index, "--index-sanity-check")[1] == f"{index} passed sanity check."
    assert dump(capsys, "--files", time_index, "--index-sanity-check")[1] == f"{time_index} passed sanity check."


def test_snapshot(logs: Logs, capsys: Capture) -> None:
    log = logs.create()
    as_leader(log, logs.idempotent(9, 0, b"a", b"b"))
    as_leader(log, logs.idempotent(12, 0, epoch=3, transactional=True))
    log.take_producer_snapshot()
    now = logs.time.milliseconds()
    assert dump(capsys, "--files", Log.producer_snapshot_file(logs.dir, 3))[1:] == [
        "producerId: 9 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: None firstSequence: 0 "
        f"lastSequence: 1 lastOffset: 1 offsetDelta: 1 timestamp: {now}",
        "producerId: 12 producerEpoch: 3 coordinatorEpoch: -1 currentTxnFirstOffset: Some(2) firstSequence: 0 "
        f"lastSequence: 0 lastOffset: 2 offsetDelta: 0 timestamp: {now}",
    ]


def test_damage_is_told(logs: Logs, capsys: Capture) -> None:
    log = logs.create(log_config(index_interval_bytes=1))
    size = singleton(b"test").size_in_bytes()
    for i in range(4):
        as_leader(log, singleton(b"test", timestamp=100 + i))
    log.close()
    file = Log.log_file(logs.dir, 0)
    data = file.read_bytes()
    file.write_bytes(data[:size] + data[2 * size :] + b"torn")
    index, time_index = Log.offset_index_file(logs.dir, 0), Log.time_index_file(logs.dir, 0)
    index_bytes = index.read_bytes()
    assert main(["--files", f"{file},{index},{time_index}", "--deep-iteration"]) == 0
    captured = capsys.readouterr()
    assert f"Found 4 invalid bytes at the end of {file.name}" in captured.out
    errors = captured.err.splitlines()
    assert f"Non-consecutive offsets in :{file}" in errors
    assert "  0 is followed by 2" in errors
    assert f"Mismatches in :{index}" in errors
    assert "  Index offset: 1, log offset: 2" in errors
    assert "Indexed offset: 1, found log offset: 2" in errors
    assert index.read_bytes() == index_bytes  # the tool writes nothing


def test_unknown_and_corrupt_files(logs: Logs, capsys: Capture, tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.txt").touch()
    (tmp_path / "5.snapshot").write_bytes(b"bad")
    assert main(["--files", f"{tmp_path / 'x.txt'},{tmp_path / '5.snapshot'}"]) == 0
    errors = capsys.readouterr().err.splitlines()
    assert errors[0] == f"Ignoring unknown file {tmp_path / 'x.txt'}"
    assert errors[1].startswith("Snapshot failed schema validation")


def test_wrong_command_line(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["--print-data-log"])
    assert raised.value.code == 1
    assert "--files" in capsys.readouterr().err
