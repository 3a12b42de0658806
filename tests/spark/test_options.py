"""Options: names in any case, Spark's defaults and order of precedence, and its texts for what is wrong."""

from __future__ import annotations

import pathlib
import pickle

import pytest

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.spark import options as source_options
from kafka_py.spark.fetch_transport import FetchTransport
from kafka_py.spark.file_transport import FileTransport
from kafka_py.spark.offsets import (
    AssignStrategy,
    CommittedOffsetRangeLimit,
    EarliestOffsetRangeLimit,
    GlobalTimestampRangeLimit,
    LatestOffsetRangeLimit,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
    SubscribePatternStrategy,
    SubscribeStrategy,
    UnsafeEndOffsetRangeLimit,
)
from kafka_py.spark.options import KafkaSourceOptions, time_string_as_ms
from kafka_py.spark.transport import PartitionOffsets
from tests.spark.made_logs import make_log_dir, options
from tests.spark.made_topics import MadeTopics

TP = TopicPartition("t", 0)
ERROR, LATEST = StrategyOnNoMatchStartingOffset.ERROR, StrategyOnNoMatchStartingOffset.LATEST


def test_defaults() -> None:
    batch = options("/logs")
    assert (batch.starting_offsets, batch.ending_offsets) == (EarliestOffsetRangeLimit(), LatestOffsetRangeLimit())
    assert options("/logs", True).starting_offsets == LatestOffsetRangeLimit()
    assert batch.fail_on_data_loss
    assert batch.check_crcs
    assert not batch.pushdown
    assert not batch.include_headers
    assert not batch.read_committed
    assert batch.max_trigger_delay_ms == 15 * 60 * 1000
    assert batch.min_partitions is batch.max_partition_bytes is batch.max_records_per_partition is None


def test_names_in_any_case() -> None:
    given = {"LOGDIRS": "/logs", "Subscribe": "t", "STARTINGoffsets": "Earliest", "FailOnDataLoss": "FALSE"}
    found = KafkaSourceOptions(given)
    assert found.starting_offsets == EarliestOffsetRangeLimit()
    assert not found.fail_on_data_loss


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ({"subscribe": " t, u ,"}, SubscribeStrategy(("t", "u"))),
        ({"subscribePattern": " t.* "}, SubscribePatternStrategy("t.*")),
        ({"assign": '{"t":[0]}'}, AssignStrategy((TP,))),
    ],
)
def test_strategies(given: dict[str, str], strategy: object) -> None:
    assert options("/logs", **given).strategy == strategy


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"startingOffsets": " EARLIEST "}, EarliestOffsetRangeLimit()),
        ({"startingOffsets": '{"t":{"0":-2}}'}, SpecificOffsetRangeLimit({TP: -2})),
        ({"startingOffsetsByTimestamp": '{"t":{"0":5}}'}, SpecificTimestampRangeLimit({TP: 5}, ERROR)),
        ({"startingTimestamp": "5"}, GlobalTimestampRangeLimit(5, ERROR)),
        (
            {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "LATEST"},
            GlobalTimestampRangeLimit(5, LATEST),
        ),
        (
            {"startingTimestamp": "5", "startingOffsetsByTimestamp": '{"t":{"0":6}}', "startingOffsets": "earliest"},
            GlobalTimestampRangeLimit(5, ERROR),
        ),
        (
            {"startingOffsetsByTimestamp": '{"t":{"0":6}}', "startingOffsets": "earliest"},
            SpecificTimestampRangeLimit({TP: 6}, ERROR),
        ),
    ],
)
def test_where_to_start(given: dict[str, str], limit: object) -> None:
    assert options("/logs", **given).starting_offsets == limit


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({"endingOffsets": "latest"}, LatestOffsetRangeLimit()),
        ({"endingOffsets": "unsafe-end"}, UnsafeEndOffsetRangeLimit()),
        ({"endingOffsets": '{"t":{"0":-1}}'}, SpecificOffsetRangeLimit({TP: -1})),
        ({"endingTimestamp": "5", "endingOffsets": "latest"}, GlobalTimestampRangeLimit(5, ERROR)),
        ({"endingOffsetsByTimestamp": '{"t":{"0":5}}'}, SpecificTimestampRangeLimit({TP: 5}, ERROR)),
    ],
)
def test_where_to_end(given: dict[str, str], limit: object) -> None:
    assert options("/logs", **given).ending_offsets == limit


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"subscribe": "t", "assign": "{}"}, "^Only one of the following options can be specified for Kafka source: "),
        ({"subscribe": " , "}, "No topics to subscribe to as specified value for option 'subscribe' is ' , '"),
        ({"subscribePattern": " "}, "Pattern to subscribe is empty as specified value for option 'subscribePattern'"),
        ({"assign": "t"}, "No topicpartitions to assign as specified value for option 'assign' is 't'"),
        ({"assign": "{"}, r'Expected e.g. \{"topicA":\[0,1\]'),
        ({"startingOffsets": "latest"}, "starting offset can't be latest for batch queries on Kafka"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "startingOffsets for t-0 can't be latest for batch queries on Kafka"),
        ({"endingOffsets": "earliest"}, "ending offset can't be earliest for batch queries on Kafka"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "ending offset for t-0 can't be earliest for batch queries on Kafka"),
        ({"startingOffsets": "later"}, r'Expected e.g. \{"topicA":\{"0":23'),
        ({"startingOffsets": "unsafe-end"}, r'Expected e.g. \{"topicA":\{"0":23'),
        ({"startingTimestamp": "noon"}, "Expected a single long value, got noon"),
        ({"startingOffsetsByTimestamp": "{"}, r'Expected e.g. \{"topicA": \{"0": 123456789'),
        (
            {"startingOffsetsByTimestampStrategy": "x"},
            "startingOffsetsByTimestampStrategy must be one of error, latest",
        ),
        (
            {"startingOffsets": '{"t":{"0":7}}', "endingOffsets": '{"t":{"0":6}}'},
            "The start offset 7 is greater than the end offset 6 for topic t partition 0",
        ),
        (
            {"startingOffsets": '{"t":{"0":7}}', "endingOffsets": '{"t":{"1":8}}'},
            "Mismatched topic partitions between start offsets",
        ),
        (
            {"startingOffsetsByTimestamp": '{"t":{"0":7}}', "endingOffsetsByTimestamp": '{"t":{"0":6}}'},
            "The start timestamp 7 is greater than the end timestamp 6",
        ),
        ({"failOnDataLoss": "maybe"}, 'failOnDataLoss must be true or false, got "maybe"'),
        ({"minPartitions": "0"}, "minPartitions must be positive"),
        ({"maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition must be positive"),
        ({"maxPartitionBytes": "0"}, "maxPartitionBytes must be positive"),
        ({"maxPartitionBytes": "1k"}, 'maxPartitionBytes must be a number, got "1k"'),
        (
            {"minOffsetsPerTrigger": "6", "maxOffsetsPerTrigger": "5"},
            r"The value of minOffsetPerTrigger\(6\) is higher than the maxOffsetsPerTrigger\(5\)",
        ),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be positive"),
        ({"maxOffsetsPerTrigger": "-5"}, "maxOffsetsPerTrigger must be positive"),
        ({"maxTriggerDelay": "soon"}, "Time must be specified as seconds"),
        ({"kafka.isolation.level": "serializable"}, "must be one of read_uncommitted, read_committed"),
        (
            {"kafka.isolation.level": "read_uncommitted", "isolation.level": "read_committed"},
            "kafka.isolation.level and isolation.level must not differ",
        ),
        ({"kafka.auto.offset.reset": "latest"}, "Kafka option 'auto.offset.reset' is not supported"),
        ({"kafka.key.deserializer": "x"}, "Kafka option 'key.deserializer' is not supported as keys are deserialized"),
        ({"kafka.value.deserializer": "x"}, "Kafka option 'value.deserializer' is not supported as values are"),
        ({"kafka.enable.auto.commit": "true"}, "Kafka option 'enable.auto.commit' is not supported"),
        ({"kafka.interceptor.classes": "x"}, "Kafka option 'interceptor.classes' is not supported"),
        ({"replica": "any"}, "replica must be 'leader', 'max-hw' or a broker's id, got any"),
        ({"replica": "leader"}, "replica 'leader' needs 'kafka.bootstrap.servers' or 'kafka.zookeeper.connect'"),
        ({"offsetsSource": "broker"}, "offsetsSource 'broker' needs 'kafka.bootstrap.servers'"),
        ({"offsetsSource": "tea leaves"}, "offsetsSource must be one of checkpoint, broker, log"),
    ],
)
def test_wrong_options_are_refused(given: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        options("/logs", **given)


def test_what_is_read_must_be_said() -> None:
    with pytest.raises(
        ValueError, match=r"^One of the following options must be specified for Kafka source: subscribe, "
    ):
        KafkaSourceOptions({"logDirs": "/logs"})
    with pytest.raises(ValueError, match=r"'brokers' or 'kafka.bootstrap.servers' must be specified"):
        KafkaSourceOptions({"subscribe": "t"})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"endingOffsets": "latest"}, "ending offset not valid in streaming queries"),
        ({"endingTimestamp": "5"}, "ending timestamp not valid in streaming queries"),
        ({"endingOffsetsByTimestamp": "{}"}, "ending timestamp not valid in streaming queries"),
    ],
)
def test_streams_have_no_end(given: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        options("/logs", True, **given)


def test_streams_may_start_at_the_latest_offset() -> None:
    assert options("/logs", True, startingOffsets="latest").starting_offsets == LatestOffsetRangeLimit()
    given = options("/logs", True, startingOffsets='{"t":{"0":-1}}')
    assert given.starting_offsets == SpecificOffsetRangeLimit({TP: -1})


def test_queries_may_start_where_a_group_has_committed(caplog: pytest.LogCaptureFixture) -> None:
    for streaming in (False, True):
        found = options("/logs", streaming, startingOffsets="Committed", **{"kafka.group.id": "g"})
        assert found.starting_offsets == CommittedOffsetRangeLimit("g")
    assert "ignored" not in caplog.text
    with pytest.raises(ValueError, match=r"startingOffsets 'committed' needs 'kafka.group.id'"):
        options("/logs", startingOffsets="committed")
    with pytest.raises(ValueError, match=r"needs 'kafka.bootstrap.servers' or 'logDirs'"):
        KafkaSourceOptions(
            {"brokers": "1=/logs", "subscribe": "t", "startingOffsets": "committed", "kafka.group.id": "g"}
        )


def test_options_without_a_meaning_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    options("/logs", **{"kafka.group.id": "g", "groupIdPrefix": "p", "maxOffsetsPerTrigger": "5"})
    told = "\n".join(r.getMessage() for r in caplog.records)
    assert "Options without a meaning for files are ignored: groupidprefix, kafka.group.id" in told
    assert "maxOffsetsPerTrigger option ignored in batch queries" in told


def test_misspelt_options_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    options("/logs", startingOffset="7", **{"kafka.client.id": "me", "Path": "/logs"})
    assert "Options that are not known are ignored: startingoffset" in caplog.text
    caplog.clear()
    options("/logs", **{"startingTimestamp": "7", "kafka.check.crcs": "true", "CheckCrcs": "false"})
    assert "not known" not in caplog.text


@pytest.mark.parametrize("name", ["kafka.isolation.level", "isolation.level"])
def test_isolation(name: str) -> None:
    found = options("/logs", **{name: "read_committed"})
    assert found.read_committed
    assert found.read_options(("offset",)).read_committed


@pytest.mark.parametrize(
    ("text", "ms"), [("15m", 900_000), ("2min", 120_000), ("7", 7), (" 10S", 10_000), ("1h", 3_600_000), ("3000us", 3)]
)
def test_times(text: str, ms: int) -> None:
    assert time_string_as_ms(text) == ms


def test_files_or_brokers(tmp_path: pathlib.Path) -> None:
    home = make_log_dir(tmp_path / "logs")
    servers = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    assert isinstance(KafkaSourceOptions({"path": str(home), "subscribe": "t"}).transport(), FileTransport)
    assert isinstance(KafkaSourceOptions({"brokers": f"1={home}", "subscribe": "t"}).transport(), FileTransport)
    assert isinstance(options(home, **servers).transport(), FileTransport)
    fetching = KafkaSourceOptions({"subscribe": "t", **servers})
    assert isinstance(fetching.transport(), FetchTransport)
    assert fetching.consumer_options == servers
    assert fetching.plan(fetching.transport(), []) == []


@pytest.mark.parametrize("replica", ["1", "max-hw", "leader"])
def test_live_offsets_count_where_the_leader_is_read(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, replica: str
) -> None:
    home = make_log_dir(tmp_path / "logs")
    (home / "meta.properties").write_text("version=0\nbroker.id=1\n")
    live = MadeTopics({TP: PartitionOffsets(0, 190, 190, 190)})
    monkeypatch.setattr(source_options, "FetchTransport", lambda _: live)
    leaders: dict[TopicPartition, int] = {}
    monkeypatch.setattr(source_options, "leaders_of_brokers", lambda _: leaders)
    for leader, high_watermark in ((1, 190), (2, 177)):
        leaders[TP] = leader
        transport = options(home, replica=replica, **{"kafka.bootstrap.servers": "127.0.0.1:1"}).transport()
        assert transport.partitions()[TP].high_watermark == high_watermark


def test_options_go_to_other_processes() -> None:
    given = options("/logs", startingOffsets='{"t":{"0":5}}', includeHeaders="true")
    copy = pickle.loads(pickle.dumps(given))
    assert copy.given == given.given
    assert copy.starting_offsets == given.starting_offsets
    assert copy.read_options(("value",)) == given.read_options(("value",))
