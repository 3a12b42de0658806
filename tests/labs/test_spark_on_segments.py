"""Lab 6: the right way through it passes, and each omission is told."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.common.record.file_records import FileRecords
from kafka_py.labs import child, spark_on_segments
from kafka_py.labs.exercise import Bench
from kafka_py.labs.failover import Failover
from kafka_py.labs.finding import Finding
from kafka_py.labs.spark_cases import compared
from kafka_py.labs.spark_on_segments import SparkOnSegments
from tests.lab.fakes import cluster_of
from tests.labs.conftest import Room, Start

pytestmark = pytest.mark.slow

RIGHT = """
def answer(spark, log_dir, servers):
    source = spark.read.format("kafka_segments").option("logDirs", log_dir).option("subscribe", "till")
    source = source.option("kafka.bootstrap.servers", servers)
    rows = source.load()
    records, last = rows.count(), rows.agg({"offset": "max"}).first()[0]
    committed = source.option("isolation.level", "read_committed").load().count()
    return {"records": records, "committed": committed, "markers": LOG_END - records}
"""


def producer_id(room: Room) -> int:
    """Of the first batch, as kafka-dump-log reads it."""
    folder = room.bench.cluster.broker(0).log_dirs[0] / "till-0"
    records = FileRecords.open(folder / "00000000000000000000.log", mutable=False)
    try:
        return next(records.batches()).producer_id()
    finally:
        records.close()


def test_the_right_way(start: Start) -> None:
    room = start(6)
    notes = room.bench.notes
    untouched = room.missing()  # by the file that is there at the beginning
    assert {"records: records that were written", "log_end", "producer_id"} <= untouched.keys()
    assert untouched["markers: offsets without a record of anybody's"] == "0 is not what is in the log"

    log_end = notes["records"] + notes["markers"]
    room.bench.file("lab_6.py").write_text(RIGHT.replace("LOG_END", str(log_end)))
    room.answer(log_end=str(log_end), producer_id=str(producer_id(room)))
    assert room.missing() == {}


def test_what_the_machine_lacks_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    exercise = SparkOnSegments()
    bench = Bench(cluster_of(1, tmp_path), tmp_path, "token")
    bench.notes.update(records=1, committed=1, markers=1)
    monkeypatch.setattr(spark_on_segments, "find_java", lambda: None)
    monkeypatch.setattr(spark_on_segments, "spark_jars_dir", lambda: tmp_path)
    (no_java,) = exercise.check_work(bench)
    assert no_java == Finding("Spark can be started", False, exercise.lacking())
    assert no_java.why.startswith("There is no Java here, which Spark needs. ")
    monkeypatch.setattr(spark_on_segments, "spark_jars_dir", lambda: None)
    assert exercise.lacking().startswith("There is no Spark here, which this lab needs. ")
    monkeypatch.undo()
    assert Failover().lacking() == ""


def test_the_truth_is_not_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Anybody can read that with ps."""
    file = tmp_path / "lab_6.py"
    file.write_text("")
    seen: dict[str, Any] = {}

    def run(command: list[str], **others: Any) -> subprocess.CompletedProcess[str]:
        seen.update(others, command=command)
        return subprocess.CompletedProcess(command, 0, "findings: []", "")

    monkeypatch.setattr(subprocess, "run", run)
    assert child.run("some.cases", file, "open", hidden=json.dumps(TRUTH)) == []
    assert seen["command"][-2:] == [str(file), "open"]
    assert json.loads(seen["input"]) == TRUTH


TRUTH = {"records": 9, "committed": 5, "markers": 3}


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (lambda: "nine", {"the function gives an answer": "it gives 'nine', not a dict"}),
        (lambda: 1 // 0, {"the function gives an answer": "ZeroDivisionError"}),
        (lambda: {**TRUTH, "committed": 9}, {"committed: records that a read_committed consumer gets": "9 is not"}),
        (lambda: {"records": 9, "committed": 5}, {"markers: offsets without a record of anybody's": "None is not"}),
        (lambda: TRUTH, {}),
    ],
    ids=["no dict", "an error", "knows no transactions", "knows no markers", "right"],
)
def test_answers(answer: Callable[[], Any], wrong: dict[str, str]) -> None:
    found = {finding.text: finding.why for finding in compared(answer, TRUTH) if not finding.good}
    assert found.keys() == wrong.keys()
    assert all(found[text].startswith(why) for text, why in wrong.items())
