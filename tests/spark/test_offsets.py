"""Limits, strategies, JSON and ranges behave as in Spark's Kafka source; a reader asks whatever transport it has."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark.offsets import (
    AssignStrategy,
    CommittedOffsetRangeLimit,
    ConsumerStrategy,
    EarliestOffsetRangeLimit,
    GlobalTimestampRangeLimit,
    JsonUtils,
    KafkaOffsetRange,
    KafkaOffsetRangeCalculator,
    KafkaOffsetRangeLimit,
    KafkaOffsetReader,
    KafkaSourceOffset,
    LatestOffsetRangeLimit,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
    SubscribePatternStrategy,
    SubscribeStrategy,
    UnsafeEndOffsetRangeLimit,
)
from kafka_py.spark.transport import DataLossError, PartitionOffsets, TopicPartitionName
from kafka_py.testing.mock_time import MockTime

T0, T1, T2 = (TopicPartition("t", partition) for partition in range(3))
ERROR, LATEST = StrategyOnNoMatchStartingOffset.ERROR, StrategyOnNoMatchStartingOffset.LATEST
OFFSETS = {T0: PartitionOffsets(10, 100, 90, 120), T1: PartitionOffsets(0, 50, 50, 50)}


class FakeTransport:
    """Gives the offsets of one look after the other, the last for ever; record n of a partition has time n."""

    def __init__(self, *looks: dict[TopicPartition, PartitionOffsets]) -> None:
        self.looks = list(looks)
        self.count = 0

    def partitions(
        self, wanted: Callable[[str, int], bool] | None = None
    ) -> dict[TopicPartitionName, PartitionOffsets]:
        found = self.looks[min(self.count, len(self.looks) - 1)]
        self.count += 1
        return {tp: offsets for tp, offsets in found.items() if wanted is None or wanted(*tp)}

    def offset_for_timestamp(self, topic: str, partition: int, timestamp: int) -> int | None:
        offsets = self.looks[-1][TopicPartition(topic, partition)]
        found = max(timestamp, offsets.log_start_offset)
        return found if found < offsets.high_watermark else None

    def plan(self, *_: Any) -> list[Any]:
        return []

    def close(self) -> None:
        self.count = -1


def reader(*looks: dict[TopicPartition, PartitionOffsets], **options: Any) -> KafkaOffsetReader:
    strategy = options.pop("strategy", SubscribeStrategy(("t",)))
    return KafkaOffsetReader(strategy, FakeTransport(*(looks or (OFFSETS,))), time=MockTime(), **options)


def ranges(found: list[KafkaOffsetRange]) -> list[tuple[str, int, int]]:
    return [(str(r.topic_partition), r.from_offset, r.until_offset) for r in found]


# ----- a group's commits -----


def test_a_query_starts_where_a_group_has_committed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    committed = {"g": {T0: 42, TopicPartition("u", 0): 5}, "far": {T0: 101, T1: 50}, "old": {T0: 3}}
    found = reader(committed_offsets=committed.__getitem__)
    assert found.fetch_partition_offsets(CommittedOffsetRangeLimit("g"), True) == {T0: 42, T1: 0}
    assert "Group g has not committed for t-1, which is read from its beginning" in caplog.text
    assert found.fetch_partition_offsets(CommittedOffsetRangeLimit("far"), True) == {T0: 100, T1: 50}
    assert "Group far has committed 101 for t-0, which ends at 100, it seems" in caplog.text
    with pytest.raises(DataLossError, match=r"Cannot fetch records in \[3, 10\)"):
        found.get_offset_ranges_from_unresolved_offsets(CommittedOffsetRangeLimit("old"), LatestOffsetRangeLimit())


# ----- JSON -----


def test_offsets_as_spark_writes_them() -> None:
    offset = KafkaSourceOffset({TopicPartition("u", 0): 7, T1: 5, T0: 123, TopicPartition("t", 10): 1})
    assert offset.json == '{"t":{"0":123,"1":5,"10":1},"u":{"0":7}}'
    assert json.loads(offset.json) == offset.as_dict()
    assert KafkaSourceOffset.of(offset.as_dict()) == offset
    assert KafkaSourceOffset({}).json == "{}"


@pytest.mark.parametrize("seed", range(20))
def test_offsets_survive_the_way_through_a_checkpoint(seed: int) -> None:
    rng = random.Random(seed)
    offsets = {
        TopicPartition(rng.choice("abc._-") * rng.randrange(1, 4), rng.randrange(40)): rng.randrange(1 << 62)
        for _ in range(rng.randrange(30))
    }
    text = KafkaSourceOffset(offsets).json
    assert JsonUtils.partition_offsets(text) == offsets
    assert KafkaSourceOffset.of(json.loads(text)).partition_to_offsets == offsets


def test_partitions_from_json() -> None:
    assert JsonUtils.partitions('{"t":[0,2],"u":[]}') == [T0, T2]
    assert JsonUtils.partition_timestamps('{"t":{"0":1500000000000}}') == {T0: 1_500_000_000_000}


@pytest.mark.parametrize(
    "text", ["", "{", "7", "[]", '{"t":0}', '{"t":{"0":1.5}}', '{"t":{"x":1}}', '{"t":{"0":null}}']
)
def test_json_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'Expected e.g. \{"topicA":\{"0":23,"1":-1\},"topicB":\{"0":-2\}\}, got'):
        JsonUtils.partition_offsets(text)
    with pytest.raises(ValueError, match=r'Expected e.g. \{"topicA": \{"0": 123456789'):
        JsonUtils.partition_timestamps(text)


@pytest.mark.parametrize("text", ["{", '{"t":0}', '{"t":["x"]}', '{"t":[0.5]}', '{"t":[true]}'])
def test_partitions_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'Expected e.g. \{"topicA":\[0,1\],"topicB":\[0,1\]\}, got'):
        JsonUtils.partitions(text)


# ----- strategies -----


@pytest.mark.parametrize(
    ("strategy", "selected"),
    [
        (AssignStrategy((T0, T2)), {"t-0", "t-2"}),
        (SubscribeStrategy(("t", "ttt")), {"t-0", "t-1", "t-2"}),
        (SubscribePatternStrategy("t+"), {"t-0", "t-1", "t-2", "tt-0"}),
        (SubscribePatternStrategy("(?i)TT"), {"tt-0"}),
        (SubscribePatternStrategy(".*"), {"t-0", "t-1", "t-2", "tt-0", "a.b-0"}),
    ],
)
def test_strategies_select_partitions(strategy: ConsumerStrategy, selected: set[str]) -> None:
    there = [T0, T1, T2, TopicPartition("tt", 0), TopicPartition("a.b", 0), TopicPartition("__consumer_offsets", 0)]
    assert {str(tp) for tp in there if strategy.selects(*tp)} == selected


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        SubscribePatternStrategy("(")


# ----- ranges -----


@pytest.mark.parametrize(
    ("sizes", "min_partitions", "max_records", "expected"),
    [
        ([100, 100], None, None, [100, 100]),
        ([100, 0, 50], 2, None, [100, 50]),
        ([100], 3, None, [33, 33, 34]),
        ([100], 4, None, [25, 25, 25, 25]),
        ([2], 4, None, [1, 1]),
        ([10_000, 1, 1], 4, None, [5000, 5000, 1, 1]),
        ([10_000, 100, 100], 5, None, [3333, 3333, 3334, 100, 100]),
        ([100, 30], None, 40, [33, 33, 34, 30]),
        ([100], None, 100, [100]),
        ([100], 4, 60, [25, 25, 25, 25]),
    ],
)
def test_ranges_are_divided_as_spark_divides_them(
    sizes: list[int], min_partitions: int | None, max_records: int | None, expected: list[int]
) -> None:
    given = [KafkaOffsetRange(TopicPartition("t", i), 10, 10 + size) for i, size in enumerate(sizes)]
    found = KafkaOffsetRangeCalculator(min_partitions, max_records).get_ranges(given)
    assert [r.size for r in found] == expected


@pytest.mark.parametrize("seed", range(30))
def test_divided_ranges_cover_what_was_given(seed: int) -> None:
    rng = random.Random(seed)
    given = [
        KafkaOffsetRange(
            TopicPartition("t", i), start := rng.randrange(1000), start + rng.choice([0, 1, 7, 999, 10**6])
        )
        for i in range(rng.randrange(1, 6))
    ]
    limit = rng.choice([None, 1000, 10**5])
    wanted = rng.choice([None, 1, 3, 17])
    found = KafkaOffsetRangeCalculator(wanted, limit).get_ranges(given)
    for whole in given:
        parts = [r for r in found if r.topic_partition == whole.topic_partition]
        edges = [whole.from_offset, *(r.until_offset for r in parts)]
        assert [r.from_offset for r in parts] == edges[:-1]
        assert edges[-1] == whole.until_offset
    assert all(r.size > 0 for r in found)
    assert limit is None or all(r.size <= limit for r in found)


# ----- limits to offsets -----


@pytest.mark.parametrize(
    ("limit", "starting", "expected"),
    [
        (EarliestOffsetRangeLimit(), True, [10, 0]),
        (LatestOffsetRangeLimit(), False, [100, 50]),
        (UnsafeEndOffsetRangeLimit(), False, [120, 50]),
        (SpecificOffsetRangeLimit({T0: -2, T1: -1}), True, [10, 50]),
        (SpecificOffsetRangeLimit({T0: 42, T1: 7}), True, [42, 7]),
        (GlobalTimestampRangeLimit(30, ERROR), True, [30, 30]),
        (GlobalTimestampRangeLimit(5, ERROR), True, [10, 5]),
        (GlobalTimestampRangeLimit(70, LATEST), True, [70, 50]),
        (GlobalTimestampRangeLimit(70, ERROR), False, [70, 50]),
        (SpecificTimestampRangeLimit({T0: 99, T1: 1}, ERROR), True, [99, 1]),
        (SpecificTimestampRangeLimit({T0: 100, T1: 1}, ERROR), False, [100, 1]),
    ],
)
def test_what_a_limit_means(limit: KafkaOffsetRangeLimit, starting: bool, expected: list[int]) -> None:
    assert reader().fetch_partition_offsets(limit, starting) == dict(zip([T0, T1], expected, strict=True))


def test_latest_of_committed_data_is_the_last_stable_offset() -> None:
    assert reader(read_committed=True).fetch_latest_offsets() == {T0: 90, T1: 50}
    # the record with that time is not decided yet
    found = reader(read_committed=True).fetch_partition_offsets(GlobalTimestampRangeLimit(95, ERROR), False)
    assert found == {T0: 90, T1: 50}


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (
            SpecificOffsetRangeLimit({T0: 1}),
            r"(?s)you must specify all TopicPartitions.*Specified: t-0 Assigned: t-0, t-1",
        ),
        (SpecificOffsetRangeLimit({T0: 1, T1: 1, T2: 1}), r"Use -1 for latest, -2 for earliest, if you don't care"),
        (
            SpecificTimestampRangeLimit({T0: 1}, ERROR),
            r"you must specify all topics. Specified: t-0 Assigned: t-0, t-1",
        ),
        (
            GlobalTimestampRangeLimit(70, ERROR),
            r"No offset matched from request of topic-partition t-1 and timestamp 70.",
        ),
    ],
)
def test_limits_that_do_not_fit_the_partitions(limit: KafkaOffsetRangeLimit, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        reader().fetch_partition_offsets(limit, True)


def test_assigned_partitions_must_exist() -> None:
    strategy = AssignStrategy((T0, T2))
    with pytest.raises(DataLossError, match="Cannot find earliest offsets of t-2"):
        reader(strategy=strategy).fetch_earliest_offsets()
    assert reader(strategy=strategy, fail_on_data_loss=False).fetch_earliest_offsets() == {T0: 10}


# ----- batch -----


def test_a_batch_query_reads_between_its_limits() -> None:
    found = reader().get_offset_ranges_from_unresolved_offsets(EarliestOffsetRangeLimit(), LatestOffsetRangeLimit())
    assert ranges(found) == [("t-0", 10, 100), ("t-1", 0, 50)]
    found = reader().get_offset_ranges_from_unresolved_offsets(EarliestOffsetRangeLimit(), UnsafeEndOffsetRangeLimit())
    assert ranges(found)[0] == ("t-0", 10, 120)


def test_a_start_above_its_end_is_an_error() -> None:
    start, end = SpecificOffsetRangeLimit({T0: 50, T1: 0}), GlobalTimestampRangeLimit(20, ERROR)
    with pytest.raises(
        ValueError, match="The start offset 50 is greater than the end offset 20 for topic t partition 0"
    ):
        reader().get_offset_ranges_from_unresolved_offsets(start, end)


@pytest.mark.parametrize(
    ("start", "end", "text", "left"),
    [
        (0, 60, r"Cannot fetch records in \[0, 10\)", (10, 60)),
        (0, 5, r"Cannot fetch records in \[0, 5\)", (10, 5)),
        (20, 110, r"offset was changed from 110 to 100", (20, 100)),
    ],
)
def test_offsets_that_are_gone(start: int, end: int, text: str, left: tuple[int, int]) -> None:
    limits = SpecificOffsetRangeLimit({T0: start, T1: 0}), SpecificOffsetRangeLimit({T0: end, T1: 50})
    with pytest.raises(DataLossError, match=rf"(?s){text}.*Some data may have been lost.*failOnDataLoss"):
        reader().get_offset_ranges_from_unresolved_offsets(*limits)
    found = reader(fail_on_data_loss=False).get_offset_ranges_from_unresolved_offsets(*limits)
    assert (found[0].from_offset, found[0].until_offset) == left


# ----- stream -----


def test_a_micro_batch_reads_what_is_new() -> None:
    found = reader().get_offset_ranges_from_resolved_offsets({T0: 10, T1: 50}, {T0: 30, T1: 50})
    assert ranges(found) == [("t-0", 10, 30)]


def test_a_new_partition_is_read_from_its_beginning() -> None:
    found = reader().get_offset_ranges_from_resolved_offsets({T0: 10}, {T0: 30, T1: 50})
    assert ranges(found) == [("t-0", 10, 30), ("t-1", 0, 50)]


@pytest.mark.parametrize(
    ("start", "end", "text", "left"),
    [
        (
            {T1: 0},
            {T1: 50, T0: 30},
            "Added partition t-0 starts from 10 instead of 0",
            [("t-0", 10, 30), ("t-1", 0, 50)],
        ),
        ({T1: 0, T2: 9}, {T1: 50}, "t-2 are gone", [("t-1", 0, 50)]),
        ({T1: 0}, {T1: 50, T2: 9}, "Cannot find earliest offsets of t-2", [("t-1", 0, 50)]),
        ({T1: 0, T2: 1}, {T1: 50, T2: 9}, "t-2 is gone", [("t-1", 0, 50)]),
        ({T1: 45}, {T1: 40}, "Partition t-1's offset was changed from 45 to 40", []),
        ({T1: 45}, {T1: 60}, "Partition t-1's offset was changed from 60 to 50", [("t-1", 45, 50)]),
        ({T0: 2, T1: 50}, {T0: 30, T1: 50}, r"Cannot fetch records in \[2, 10\)", [("t-0", 10, 30)]),
    ],
)
def test_data_loss_of_a_stream(
    start: dict[TopicPartition, int], end: dict[TopicPartition, int], text: str, left: list[tuple[str, int, int]]
) -> None:
    with pytest.raises(DataLossError, match=text):
        reader().get_offset_ranges_from_resolved_offsets(start, end)
    assert ranges(reader(fail_on_data_loss=False).get_offset_ranges_from_resolved_offsets(start, end)) == left


def test_a_high_watermark_that_went_back_is_asked_for_again() -> None:
    back = {T0: PartitionOffsets(10, 80, 80, 120), T1: OFFSETS[T1]}
    known = {T0: 95, T1: 50}
    assert reader(back, back, OFFSETS).fetch_latest_offsets(known) == {T0: 100, T1: 50}
    assert reader(back, back, back, OFFSETS).fetch_latest_offsets(known) == {T0: 80, T1: 50}


def test_a_partition_that_is_missing_for_a_moment_is_asked_for_again() -> None:
    """Once it is away from a stream's offsets it would be read from its beginning when it is back."""
    moved = {T1: OFFSETS[T1]}
    known = {T0: 95, T1: 50}
    assert reader(moved, moved, OFFSETS).fetch_latest_offsets(known) == {T0: 100, T1: 50}
    assert reader(moved, moved, moved, OFFSETS).fetch_latest_offsets(known) == {T1: 50}


@pytest.mark.parametrize("first", [{T0: PartitionOffsets(10, 80, 80, 120), T1: OFFSETS[T1]}, {T1: OFFSETS[T1]}])
def test_a_micro_batch_waits_for_offsets_that_were_there(first: dict[TopicPartition, PartitionOffsets]) -> None:
    """What a batch leaves out though its end is beyond it, no later batch would read."""
    for fails in (True, False):
        planner = reader(first, OFFSETS, fail_on_data_loss=fails)
        found = planner.get_offset_ranges_from_resolved_offsets({T0: 70, T1: 50}, {T0: 95, T1: 50})
        assert ranges(found) == [("t-0", 70, 95)]
