"""The streaming source: how far a micro-batch goes, restarts, partitions that come and go; some of it through Spark."""

from __future__ import annotations

import json
import pathlib
import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

import kafka_py.spark
from kafka_py.common.errors import UnknownTopicOrPartitionException
from kafka_py.spark.stream import KafkaMicroBatchStream
from kafka_py.spark.transport import DataLossError
from kafka_py.testing.mock_time import MockTime
from tests.spark.made_logs import T0, make_log_dir, options, read_offsets, write_checkpoint, write_partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Offset = dict[str, dict[str, int]]


@pytest.fixture
def log_dir(tmp_path: pathlib.Path) -> pathlib.Path:
    return make_log_dir(tmp_path / "logs")


@pytest.fixture
def mock_time() -> MockTime:
    return MockTime()


def stream(log_dir: pathlib.Path, time: MockTime | None = None, /, **more: str) -> KafkaMicroBatchStream:
    given = {"startingOffsets": "earliest", **more}
    return KafkaMicroBatchStream(options(log_dir, True, **given), ("offset",), time or MockTime())


def latest(reader: KafkaMicroBatchStream, start: Offset) -> Offset:
    return reader.latestOffset(start, reader.getDefaultReadLimit())


def run(
    reader: KafkaMicroBatchStream, start: Offset | None = None, batches: int = 1
) -> tuple[Offset, dict[int, list[int]]]:
    """What Spark does: so many micro-batches from an offset (or the initial one) on."""
    offset = reader.initialOffset() if start is None else start
    found: dict[int, list[int]] = {}
    for _ in range(batches):
        end = json.loads(json.dumps(latest(reader, offset)))
        for partition, offsets in read_offsets(reader, reader.partitions(offset, end)).items():
            found.setdefault(partition, []).extend(offsets)
        offset = end
    return offset, found


# ----- offsets -----


def test_a_stream_goes_from_the_initial_to_the_latest_offset(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir)
    assert reader.initialOffset() == {"t": {"0": 5, "1": 40}}
    assert reader.reportLatestOffset() is None
    end, found = run(reader)
    assert end == reader.reportLatestOffset() == {"t": {"0": 177, "1": 90}}
    assert found == {0: list(range(5, 177)), 1: list(range(40, 90))}
    assert latest(reader, end) == end
    assert reader.partitions(end, end) == []
    reader.stop()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"startingOffsets": "latest"}, {"0": 177, "1": 90}),
        ({"startingOffsets": '{"t":{"0":-1,"1":50}}'}, {"0": 177, "1": 50}),
        ({"startingTimestamp": str(T0 + 80_000)}, {"0": 80, "1": 80}),
    ],
)
def test_where_a_stream_starts(log_dir: pathlib.Path, given: dict[str, str], expected: dict[str, int]) -> None:
    assert stream(log_dir, **given).initialOffset() == {"t": expected}


@pytest.mark.parametrize("given", [{"startingOffsets": "latest"}, {"startingOffsets": '{"t":{"0":-1,"1":-2}}'}])
def test_a_stream_starts_where_it_said(log_dir: pathlib.Path, given: dict[str, str]) -> None:
    """Spark asks for the first offsets before and after it asks for the latest ones; records come in between."""
    reader = stream(log_dir, **given)
    end = latest(reader, reader.initialOffset())
    write_checkpoint(log_dir, {"t-0": 190, "t-1": 90})
    start = reader.initialOffset()
    assert start["t"]["0"] == end["t"]["0"] == 177
    assert 0 not in read_offsets(reader, reader.partitions(start, end))
    assert read_offsets(reader, reader.partitions(end, latest(reader, end))) == {0: list(range(177, 190))}


class Recorded:
    """A session that keeps what a stream's source is given."""

    def __init__(self) -> None:
        self.readStream = self
        self.given: dict[str, str] = {}

    def format(self, name: str) -> Recorded:
        return self

    def options(self, **options: str) -> Recorded:
        self.given = options
        return self

    def load(self) -> Recorded:
        return self


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, '{"t":{"0":177,"1":90}}'),
        ({"startingOffsets": '{"t":{"0":-1,"1":-2}}'}, '{"t":{"0":177,"1":40}}'),
        ({"startingOffsets": '{"t":{"0":7,"1":50}}'}, '{"t":{"0":7,"1":50}}'),
        ({"STARTINGTIMESTAMP": T0 + 50_000}, '{"t":{"0":50,"1":50}}'),
        (
            {"startingTimestamp": T0 + 100_000, "startingOffsetsByTimestampStrategy": "latest"},
            '{"t":{"0":100,"1":90}}',
        ),
        (
            {"startingOffsetsByTimestamp": json.dumps({"t": {"0": T0 + 9000, "1": T0}}), "startingOffsets": "latest"},
            '{"t":{"0":9,"1":40}}',
        ),
        ({"startingOffsets": "earliest"}, "earliest"),
        ({"subscribePattern": "later", "startingTimestamp": T0}, "earliest"),
    ],
)
def test_where_a_stream_starts_is_said_when_it_is_made(
    log_dir: pathlib.Path, given: dict[str, Any], expected: str
) -> None:
    session: Any = Recorded()
    topic = None if "subscribePattern" in given else "t"
    kafka_py.spark.read_stream(session, str(log_dir), **{"subscribe": topic, **given})
    starts = {name.lower(): value for name, value in session.given.items() if name.lower().startswith("starting")}
    starts.pop("startingoffsetsbytimestampstrategy", None)
    assert starts == {"startingoffsets": expected}


def test_the_high_watermark_moves_on(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir)
    end, _ = run(reader)
    write_checkpoint(log_dir, {"t-0": 190, "t-1": 90})
    end, found = run(reader, end)
    assert (end, found) == ({"t": {"0": 190, "1": 90}}, {0: list(range(177, 190))})


def test_a_batch_is_the_same_when_it_is_run_again(log_dir: pathlib.Path) -> None:
    """A query that failed is given the offsets of its checkpoint; there may be more to read by then."""
    start, end = {"t": {"0": 60, "1": 40}}, {"t": {"0": 150, "1": 41}}
    first = stream(log_dir)
    expected = {0: list(range(60, 150)), 1: [40]}
    assert read_offsets(first, first.partitions(start, end)) == expected
    write_partition(log_dir, "t-0", 200, 3, rolled=False)
    write_checkpoint(log_dir, {"t-0": 230, "t-1": 90})
    again = stream(log_dir)
    assert read_offsets(again, again.partitions(start, end)) == expected


# ----- limits -----


def test_batches_have_at_most_so_many_records_of_each_partition_in_proportion(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir, maxOffsetsPerTrigger="100")
    assert isinstance(reader.getDefaultReadLimit(), ReadMaxRows)
    offset = reader.initialOffset()
    sizes = []
    while (end := latest(reader, offset)) != offset:
        sizes.append([end["t"][p] - offset["t"][p] for p in "01"])
        offset = end
    # 172 and 50 records: 100 * 172/222 and 100 * 50/222, and so on with what is left
    assert sizes == [[77, 22], [77, 22], [18, 6]]
    assert reader.reportLatestOffset() == offset


def test_small_partitions_are_not_starved(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir, maxOffsetsPerTrigger="1")
    start = reader.initialOffset()
    end = latest(reader, start)
    assert {p: end["t"][p] - start["t"][p] for p in "01"} == {"0": 1, "1": 1}


def test_all_that_there_is_when_spark_asks_for_it(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir, maxOffsetsPerTrigger="1", minOffsetsPerTrigger="1")
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable()) == {"t": {"0": 177, "1": 90}}
    assert isinstance(stream(log_dir).getDefaultReadLimit(), ReadAllAvailable)


def test_batches_wait_for_a_minimum(log_dir: pathlib.Path, mock_time: MockTime) -> None:
    reader = stream(log_dir, mock_time, minOffsetsPerTrigger="10", maxTriggerDelay="5m")
    assert isinstance(reader.getDefaultReadLimit(), ReadMinRows)
    end = latest(reader, reader.initialOffset())
    write_checkpoint(log_dir, {"t-0": 186, "t-1": 90})  # nine more
    mock_time.sleep(1000)
    assert latest(reader, end) == end
    write_checkpoint(log_dir, {"t-0": 186, "t-1": 91})
    write_partition(log_dir, "t-1", 90, 1, rolled=False)
    after = latest(reader, end)
    assert after == {"t": {"0": 186, "1": 91}}
    write_checkpoint(log_dir, {"t-0": 187, "t-1": 91})
    assert latest(reader, after) == after
    mock_time.sleep(5 * 60 * 1000)
    assert latest(reader, after) == {"t": {"0": 187, "1": 91}}


def test_minimum_and_maximum_together(log_dir: pathlib.Path, mock_time: MockTime) -> None:
    reader = stream(log_dir, mock_time, minOffsetsPerTrigger="10", maxOffsetsPerTrigger="20")
    start = reader.initialOffset()
    end = latest(reader, start)
    assert sum(end["t"].values()) - sum(start["t"].values()) == 19  # 20 * 172/222 and 20 * 50/222, rounded down
    nearly = {"t": {"0": 170, "1": 90}}
    assert latest(reader, nearly) == nearly


# ----- Trigger.AvailableNow -----


def test_available_now_is_what_is_there_at_first(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir, maxOffsetsPerTrigger="100", minOffsetsPerTrigger="90")
    reader.prepareForTriggerAvailableNow()
    offset, found = run(reader, batches=1)
    write_checkpoint(log_dir, {"t-0": 200, "t-1": 90})
    while (end := latest(reader, offset)) != offset:
        for partition, offsets in read_offsets(reader, reader.partitions(offset, end)).items():
            found[partition] += offsets
        offset = end
    assert offset == {"t": {"0": 177, "1": 90}}
    assert found == {0: list(range(5, 177)), 1: list(range(40, 90))}


def test_a_batch_beyond_what_was_available(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir)
    reader.prepareForTriggerAvailableNow()
    end, _ = run(reader)
    write_checkpoint(log_dir, {"t-0": 200, "t-1": 90})
    with pytest.raises(DataLossError, match="is not within what was there"):
        reader.partitions(end, {"t": {"0": 190, "1": 90}})


# ----- partitions and records that come and go -----


@pytest.mark.parametrize("limit", [{}, {"maxOffsetsPerTrigger": "1000"}])
def test_new_partitions_are_read_from_their_beginning(log_dir: pathlib.Path, limit: dict[str, str]) -> None:
    reader = stream(log_dir, **limit)
    end, _ = run(reader)
    write_partition(log_dir, "t-2", 0, 2, rolled=False)
    write_checkpoint(log_dir, {"t-0": 177, "t-1": 90, "t-2": 15})
    end, found = run(reader, end)
    assert (end, found) == ({"t": {"0": 177, "1": 90, "2": 15}}, {2: list(range(15))})


def test_a_stream_wants_its_topic_to_be_there(tmp_path: pathlib.Path) -> None:
    """One that is made a moment later is waited for, a misspelt one not for ever; a pattern may match none yet."""
    home = make_log_dir(tmp_path / "logs")
    time = MockTime()
    reader = stream(home, time, subscribe="later")
    with pytest.raises(UnknownTopicOrPartitionException, match="There is no topic later"):
        reader.initialOffset()

    def arrive() -> None:
        if not (home / "later-0").exists():
            write_partition(home, "later-0", 0, 1, rolled=False)
            write_checkpoint(home, {"later-0": 10})

    by_pattern = stream(home, subscribePattern="la.*")
    start = by_pattern.initialOffset()
    assert start == latest(by_pattern, start) == {}
    time.add_listener(arrive)
    assert reader.initialOffset() == {"later": {"0": 0}}
    assert run(by_pattern, start)[1] == {0: list(range(10))}


def test_new_partitions_that_have_lost_their_beginning(log_dir: pathlib.Path) -> None:
    start, end = {"t": {"1": 40}}, {"t": {"0": 20, "1": 40}}
    with pytest.raises(DataLossError, match="Added partition t-0 starts from 5 instead of 0"):
        stream(log_dir).partitions(start, end)
    reader = stream(log_dir, failOnDataLoss="false")
    assert read_offsets(reader, reader.partitions(start, end)) == {0: list(range(5, 20))}


def test_deleted_partitions(log_dir: pathlib.Path) -> None:
    start = stream(log_dir).initialOffset()
    shutil.rmtree(log_dir / "t-1")
    with pytest.raises(DataLossError, match="t-1 are gone"):
        run(stream(log_dir), start)
    end, found = run(stream(log_dir, failOnDataLoss="false"), start)
    assert (end, found) == ({"t": {"0": 177}}, {0: list(range(5, 177))})


def test_a_topic_that_is_gone_gives_no_batch(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir)
    start = reader.initialOffset()
    for partition in ("t-0", "t-1"):
        shutil.rmtree(log_dir / partition)
    assert latest(reader, start) == start


def test_records_that_retention_took(log_dir: pathlib.Path) -> None:
    start = stream(log_dir).initialOffset()
    (log_dir / "t-0" / "00000000000000000000.log").unlink()
    with pytest.raises(DataLossError, match=r"Cannot fetch records in \[5, 100\) \(TopicPartition: t-0\)"):
        run(stream(log_dir), start)
    end, found = run(stream(log_dir, failOnDataLoss="false"), start)
    assert end["t"]["0"] == 177
    assert found[0] == list(range(100, 177))


def test_a_high_watermark_that_goes_back(log_dir: pathlib.Path) -> None:
    """After an unclean leader election: never a record above it, and never silence."""
    start = {"t": {"0": 177, "1": 40}}
    write_checkpoint(log_dir, {"t-0": 150, "t-1": 90})
    with pytest.raises(DataLossError, match="Partition t-0's offset was changed from 177 to 150"):
        run(stream(log_dir), start)
    end, found = run(stream(log_dir, failOnDataLoss="false"), start)
    assert (end["t"]["0"], found) == (150, {1: list(range(40, 90))})
    write_checkpoint(log_dir, {"t-0": 160, "t-1": 90})
    assert run(stream(log_dir), end)[1] == {0: list(range(150, 160))}


def test_a_batch_that_was_planned_above_the_high_watermark_of_now(log_dir: pathlib.Path) -> None:
    start, end = {"t": {"0": 170, "1": 90}}, {"t": {"0": 190, "1": 90}}
    with pytest.raises(DataLossError, match="Partition t-0's offset was changed from 190 to 177"):
        stream(log_dir).partitions(start, end)
    reader = stream(log_dir, failOnDataLoss="false")
    assert read_offsets(reader, reader.partitions(start, end)) == {0: list(range(170, 177))}


def test_readers_go_to_executors_without_what_they_have_open(log_dir: pathlib.Path) -> None:
    reader = stream(log_dir)
    start = reader.initialOffset()
    pieces = reader.partitions(start, latest(reader, start))
    copy = pickle.loads(pickle.dumps(reader))
    assert read_offsets(copy, pickle.loads(pickle.dumps(pieces)))[1] == list(range(40, 90))


# ----- through Spark -----


def drain(spark: SparkSession, frame: Any, home: pathlib.Path) -> list[Any]:
    """Run a query over what is available to its end, into Parquet; the progress of its batches."""
    writer = frame.writeStream.format("parquet").option("path", str(home / "out"))
    query = writer.option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(110)
        return list(query.recentProgress)
    finally:
        query.stop()


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_goes_on_from_its_checkpoint(
    spark: SparkSession, log_dir: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    def frame() -> Any:
        columns = ["partition", "offset", "value"]
        return kafka_py.spark.read_stream(
            spark, str(log_dir), "t", columns, startingOffsets="earliest", maxOffsetsPerTrigger=150
        )

    progress = drain(spark, frame(), tmp_path)
    assert [p["numInputRows"] for p in progress if p["numInputRows"]] == [149, 73]
    last = progress[-1]["sources"][0]
    assert json.loads(last["latestOffset"]) == json.loads(last["endOffset"]) == {"t": {"0": 177, "1": 90}}
    write_checkpoint(log_dir, {"t-0": 200, "t-1": 90})
    drain(spark, frame(), tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    expected = {(0, offset) for offset in range(5, 200)} | {(1, offset) for offset in range(40, 90)}
    assert len(rows) == len(expected)
    assert {(r["partition"], r["offset"]) for r in rows} == expected
    assert all(bytes(r["value"]) == b"v%d" % r["offset"] for r in rows)


@pytest.mark.spark
@pytest.mark.slow
def test_latest_is_when_the_stream_was_made(spark: SparkSession, log_dir: pathlib.Path, tmp_path: pathlib.Path) -> None:
    frame = kafka_py.spark.read_stream(spark, str(log_dir), "t", ["partition", "offset"])
    write_checkpoint(log_dir, {"t-0": 180, "t-1": 90})
    drain(spark, frame, tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted((r["partition"], r["offset"]) for r in rows) == [(0, 177), (0, 178), (0, 179)]
