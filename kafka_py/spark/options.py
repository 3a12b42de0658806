"""The options of the Kafka sources, in Spark's names and with Spark's texts for what is wrong.

Names are case-insensitive and values are strings, as data sources are given them. Options that only Spark's consumers
know (group ids, caches, time-outs) change nothing for files; those that would change the result are refused, as Spark
refuses them.

Mirrors: connector/kafka-0-10-sql: KafkaSourceProvider (its checks of options) of Spark 4
Read next: offsets.py (what the offsets mean), docs/left-out.tsv
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_py.common.requests.metadata_response import MetadataResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.broker_client import BrokerClient
from kafka_py.spark.coordinator_client import CoordinatorClient
from kafka_py.spark.fetch_transport import ConsumerSettings, FetchTransport
from kafka_py.spark.file_transport import BROKER, CHECKPOINT, LOG, FileTransport
from kafka_py.spark.internal_topics import committed_offsets_of
from kafka_py.spark.layout import LogDirs
from kafka_py.spark.offsets import (
    STRATEGIES,
    CommittedOffsetRangeLimit,
    ConsumerStrategy,
    EarliestOffsetRangeLimit,
    GlobalTimestampRangeLimit,
    JsonUtils,
    KafkaOffsetRange,
    KafkaOffsetRangeCalculator,
    KafkaOffsetRangeLimit,
    KafkaOffsetReader,
    LatestOffsetRangeLimit,
    SpecificOffsetRangeLimit,
    SpecificTimestampRangeLimit,
    StrategyOnNoMatchStartingOffset,
    UnsafeEndOffsetRangeLimit,
    strategy_of,
)
from kafka_py.spark.transport import ReadOptions, Transport
from kafka_py.utils.logging import Logging

DEFAULT_MAX_TRIGGER_DELAY = "15m"
LEADER, MAX_HIGH_WATERMARK = "leader", "max-hw"
COMMITTED = "committed"
READ_UNCOMMITTED, READ_COMMITTED = "read_uncommitted", "read_committed"
BOOTSTRAP_SERVERS, ZOOKEEPER_CONNECT = "kafka.bootstrap.servers", "kafka.zookeeper.connect"
_SEE_DOCS = f"{', '.join(STRATEGIES)}. See the docs for more details."
_DEFAULT_STARTING_OFFSETS = {False: EarliestOffsetRangeLimit(), True: LatestOffsetRangeLimit()}  # by streaming
MIN_BYTES_PER_TASK, MAX_BYTES_PER_TASK = 64 << 20, 128 << 20
_TIME_UNITS_MS = {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_TIME_STRING = re.compile(r"(-?[0-9]+)([a-z]+)?")
_REFUSED = {
    "auto.offset.reset": (
        "Kafka option 'auto.offset.reset' is not supported. Instead set the source option 'startingoffsets' to "
        "'earliest' or 'latest' to specify where to start. Structured Streaming manages which offsets are consumed "
        "internally, rather than relying on the kafkaConsumer to do it."
    ),
    "key.deserializer": (
        "Kafka option 'key.deserializer' is not supported as keys are deserialized as byte arrays with "
        "ByteArrayDeserializer. Use DataFrame operations to explicitly deserialize the keys."
    ),
    "value.deserializer": (
        "Kafka option 'value.deserializer' is not supported as values are deserialized as byte arrays with "
        "ByteArrayDeserializer. Use DataFrame operations to explicitly deserialize the values."
    ),
    "enable.auto.commit": "Kafka option 'enable.auto.commit' is not supported",
    "interceptor.classes": "Kafka option 'interceptor.classes' is not supported",
}
_FOR_CONSUMERS_ONLY = ("kafka.group.id", "groupidprefix", "kafkaconsumer.")
# Names in small letters. Of those that begin with kafka. any may be given, as they are for Kafka's consumer.
_KNOWN = frozenset(
    (
        *STRATEGIES,
        *("logdirs", "path", "brokers", "replica", "offsetssource", "isolation.level", "checkcrcs", "pushdown"),
        *("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp", "startingoffsetsbytimestampstrategy"),
        *("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp"),
        *("failondataloss", "includeheaders", "minpartitions", "maxrecordsperpartition", "maxpartitionbytes"),
        *("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay", "groupidprefix"),
        *("fetchoffset.numretries", "fetchoffset.retryintervalms", "kafkaconsumer.polltimeoutms"),
    )
)
_FOR_STREAMS_ONLY = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")


class KafkaSourceOptions(Logging):
    """The options, checked: what to read, from where, between which offsets, and how.

    Picklable, and makes the transport that the options ask for. Raises ValueError for what is missing or wrong.

    Mirrors: org.apache.spark.sql.kafka010.KafkaSourceProvider (validateGeneralOptions and its like)
    Differs: warns of unknown options; refuses a maxOffsetsPerTrigger with which a stream would stand still or go back
    Thread: any; immutable.
    """

    def __init__(self, options: Mapping[str, str], streaming: bool = False) -> None:
        self.given = {name.lower(): value for name, value in options.items()}
        self.streaming = streaming
        self._check_source()
        self.strategy = self._strategy()
        self._check_consumer_options()
        self.starting_offsets = self._limit("starting")
        self.ending_offsets = self._limit("ending")
        self._check_limits()
        self.fail_on_data_loss = self._boolean("failOnDataLoss", True)
        self.include_headers = self._boolean("includeHeaders", False)
        self.read_committed = self._is_read_committed()
        self.check_crcs = self._boolean("checkCrcs", True)
        self.pushdown = self._boolean("pushdown", False)
        self.min_partitions = self._positive("minPartitions")
        self.max_records_per_partition = self._positive("maxRecordsPerPartition")
        self.max_partition_bytes = self._positive("maxPartitionBytes")
        self.max_offsets_per_trigger = self._positive("maxOffsetsPerTrigger")
        self.min_offsets_per_trigger = self._number("minOffsetsPerTrigger")
        self.max_trigger_delay_ms = time_string_as_ms(self._text("maxTriggerDelay") or DEFAULT_MAX_TRIGGER_DELAY)
        self._num_retries = self._positive("fetchOffset.numRetries") or 3
        interval = self._number("fetchOffset.retryIntervalMs")
        self._retry_interval_ms = 1000 if interval is None else interval
        self._check_rates()

    @property
    def consumer_options(self) -> dict[str, str]:
        """What the Fetch transport is given: everything that is about asking brokers, names as they were."""
        about_brokers = ("kafka.", "kafkaconsumer.", "fetchoffset.")
        return {name: value for name, value in self.given.items() if name.startswith(about_brokers)}

    def transport(self, time: Time = Time.SYSTEM) -> Transport:
        """Files if there are log directories, else the brokers. Raises ValueError when directories are not there."""
        if not self._has_files():
            return FetchTransport(self.consumer_options)
        replica = self._text("replica") or (LEADER if self._knows_brokers() else MAX_HIGH_WATERMARK)
        source = self._offsets_source()
        return FileTransport(
            LogDirs.of(self._text("logDirs") or self._text("path"), self._text("brokers")),
            replica=None if replica in (LEADER, MAX_HIGH_WATERMARK) else int(replica),
            offsets_source=source,
            read_committed=self.read_committed,
            leaders=self._leaders if replica == LEADER or source == BROKER else None,
            reads_leaders=replica == LEADER,
            live=FetchTransport(self.consumer_options) if source == BROKER else None,
            time=time,
        )

    def offset_reader(self, transport: Transport, time: Time = Time.SYSTEM) -> KafkaOffsetReader:
        """Who asks that transport for offsets."""
        return KafkaOffsetReader(
            self.strategy,
            transport,
            read_committed=self.read_committed,
            fail_on_data_loss=self.fail_on_data_loss,
            num_retries=self._num_retries,
            retry_interval_ms=self._retry_interval_ms,
            committed_offsets=self._committed_offsets,
            time=time,
        )

    def _committed_offsets(self, group: str) -> dict[TopicPartition, int]:
        """What the group's coordinator says, or, where no broker is known, what is in the files."""
        if BOOTSTRAP_SERVERS not in self.given:
            return committed_offsets_of(self._text("logDirs") or self._text("path") or "", group)
        client = CoordinatorClient(ConsumerSettings.of(self.consumer_options).client)
        try:
            return {tp: committed.offset for tp, committed in client.committed(group).items()}
        finally:
            client.close()

    def read_options(self, columns: Sequence[str]) -> ReadOptions:
        """What the tasks need to know."""
        return ReadOptions(tuple(columns), self.check_crcs, self.read_committed, self.fail_on_data_loss)

    def plan(self, transport: Transport, ranges: Iterable[KafkaOffsetRange]) -> list[Any]:
        """The tasks that read these ranges: by numbers of records as Spark divides them, then by bytes."""
        calculator = KafkaOffsetRangeCalculator(self.min_partitions, self.max_records_per_partition)
        divided = calculator.get_ranges(ranges)
        limits = [self.max_partition_bytes] * len(divided) if self.max_partition_bytes else _limits(transport, divided)
        return [
            piece
            for ((topic, partition), from_offset, until_offset), max_bytes in zip(divided, limits, strict=True)
            for piece in transport.plan(topic, partition, from_offset, until_offset, max_bytes, self.read_committed)
        ]

    def _leaders(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        if BOOTSTRAP_SERVERS in self.given:
            return leaders_of_brokers(self.consumer_options)
        return leaders_in_zookeeper(self.given[ZOOKEEPER_CONNECT], list(partitions))

    def _offsets_source(self) -> str:
        default = BROKER if BOOTSTRAP_SERVERS in self.given else CHECKPOINT
        return self._one_of("offsetsSource", default, (CHECKPOINT, BROKER, LOG))

    def _has_files(self) -> bool:
        return any(self._text(name) for name in ("logDirs", "path", "brokers"))

    def _knows_brokers(self) -> bool:
        return BOOTSTRAP_SERVERS in self.given or ZOOKEEPER_CONNECT in self.given

    def _check_source(self) -> None:
        if not self._has_files() and BOOTSTRAP_SERVERS not in self.given:
            raise ValueError(
                "Option 'logDirs' (the log.dirs of brokers, separated by commas), 'brokers' or "
                f"'{BOOTSTRAP_SERVERS}' must be specified for configuring Kafka consumer"
            )
        replica = self._text("replica") or MAX_HIGH_WATERMARK
        if replica not in (LEADER, MAX_HIGH_WATERMARK) and not replica.isdecimal():
            raise ValueError(f"replica must be '{LEADER}', '{MAX_HIGH_WATERMARK}' or a broker's id, got {replica}")
        if replica == LEADER and not self._knows_brokers():
            raise ValueError(f"replica '{LEADER}' needs '{BOOTSTRAP_SERVERS}' or '{ZOOKEEPER_CONNECT}'")
        if self._offsets_source() == BROKER and BOOTSTRAP_SERVERS not in self.given:
            raise ValueError(f"offsetsSource '{BROKER}' needs '{BOOTSTRAP_SERVERS}'")

    def _strategy(self) -> ConsumerStrategy:
        found = [name for name in STRATEGIES if name in self.given]
        if not found:
            raise ValueError(f"One of the following options must be specified for Kafka source: {_SEE_DOCS}")
        if len(found) > 1:
            raise ValueError(f"Only one of the following options can be specified for Kafka source: {_SEE_DOCS}")
        return strategy_of(found[0], self.given[found[0]])

    def _check_consumer_options(self) -> None:
        for name, text in _REFUSED.items():
            if f"kafka.{name}" in self.given:
                raise ValueError(text)
        used = {"kafka.group.id"} if self._starts_where_committed() else set()
        ignored = [name for name in self.given if name.startswith(_FOR_CONSUMERS_ONLY) and name not in used]
        if ignored and self._has_files():
            self.warn("Options without a meaning for files are ignored: %s", ", ".join(sorted(ignored)))
        elif "kafka.group.id" in self.given and not self._starts_where_committed():
            self.warn("Option kafka.group.id is ignored: no consumer group is joined")
        unknown = [name for name in self.given if name not in _KNOWN and not name.startswith("kafka.")]
        if unknown:
            self.warn("Options that are not known are ignored: %s", ", ".join(sorted(unknown)))

    def _limit(self, which: str) -> KafkaOffsetRangeLimit:
        """What startingTimestamp, startingOffsetsByTimestamp or startingOffsets say; the first that is given counts."""
        no_match = self._one_of("startingOffsetsByTimestampStrategy", "error", ("error", "latest"))
        strategy = StrategyOnNoMatchStartingOffset(no_match)
        timestamp = self._text(f"{which}Timestamp")
        if timestamp is not None:
            if not re.fullmatch(r"[+-]?[0-9]+", timestamp):
                raise ValueError(f"Expected a single long value, got {timestamp}")
            return GlobalTimestampRangeLimit(int(timestamp), strategy)
        by_timestamp = self._text(f"{which}OffsetsByTimestamp")
        if by_timestamp is not None:
            return SpecificTimestampRangeLimit(JsonUtils.partition_timestamps(by_timestamp), strategy)
        text = self._text(f"{which}Offsets")
        if text is None:
            return _DEFAULT_STARTING_OFFSETS[self.streaming] if which == "starting" else LatestOffsetRangeLimit()
        if text.lower() == "latest":
            return LatestOffsetRangeLimit()
        if text.lower() == "earliest":
            return EarliestOffsetRangeLimit()
        if text.lower() == COMMITTED and which == "starting":
            return self._committed_limit()
        if text.lower() == "unsafe-end" and which == "ending":
            return UnsafeEndOffsetRangeLimit()
        return SpecificOffsetRangeLimit(JsonUtils.partition_offsets(text))

    def _starts_where_committed(self) -> bool:
        return (self._text("startingOffsets") or "").lower() == COMMITTED

    def _committed_limit(self) -> CommittedOffsetRangeLimit:
        group = self._text("kafka.group.id")
        if not group:
            raise ValueError(f"startingOffsets '{COMMITTED}' needs 'kafka.group.id': the group that has committed")
        if BOOTSTRAP_SERVERS not in self.given and not (self._text("logDirs") or self._text("path")):
            raise ValueError(f"startingOffsets '{COMMITTED}' needs '{BOOTSTRAP_SERVERS}' or 'logDirs'")
        return CommittedOffsetRangeLimit(group)

    def _check_limits(self) -> None:
        if self.streaming:
            if "endingoffsets" in self.given:
                raise ValueError("ending offset not valid in streaming queries")
            if "endingoffsetsbytimestamp" in self.given or "endingtimestamp" in self.given:
                raise ValueError("ending timestamp not valid in streaming queries")
            return
        start, end = self.starting_offsets, self.ending_offsets
        if isinstance(start, LatestOffsetRangeLimit):
            raise ValueError("starting offset can't be latest for batch queries on Kafka")
        if isinstance(end, EarliestOffsetRangeLimit):
            raise ValueError("ending offset can't be earliest for batch queries on Kafka")
        if isinstance(start, SpecificOffsetRangeLimit):
            for tp, offset in start.partition_offsets.items():
                if offset == KafkaOffsetRangeLimit.LATEST:
                    raise ValueError(f"startingOffsets for {tp} can't be latest for batch queries on Kafka")
        if isinstance(end, SpecificOffsetRangeLimit):
            for tp, offset in end.partition_offsets.items():
                if offset == KafkaOffsetRangeLimit.EARLIEST:
                    raise ValueError(f"ending offset for {tp} can't be earliest for batch queries on Kafka")
        if isinstance(start, SpecificOffsetRangeLimit) and isinstance(end, SpecificOffsetRangeLimit):
            _check_order("offset", start.partition_offsets, end.partition_offsets)
        if isinstance(start, SpecificTimestampRangeLimit) and isinstance(end, SpecificTimestampRangeLimit):
            _check_order("timestamp", start.topic_timestamps, end.topic_timestamps)

    def _check_rates(self) -> None:
        low, high = self.min_offsets_per_trigger, self.max_offsets_per_trigger
        if low is not None and high is not None and low > high:
            raise ValueError(
                f"The value of minOffsetPerTrigger({low}) is higher than the maxOffsetsPerTrigger({high})."
            )
        if not self.streaming:
            for name in _FOR_STREAMS_ONLY:
                if name.lower() in self.given:
                    self.warn("%s option ignored in batch queries", name)

    def _is_read_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out."""
        levels = {
            self._one_of(name, READ_UNCOMMITTED, (READ_UNCOMMITTED, READ_COMMITTED))
            for name in ("kafka.isolation.level", "isolation.level")
            if name in self.given
        }
        if len(levels) > 1:
            raise ValueError("kafka.isolation.level and isolation.level must not differ")
        return READ_COMMITTED in levels

    def _text(self, name: str) -> str | None:
        value = self.given.get(name.lower())
        return None if value is None else value.strip()

    def _boolean(self, name: str, default: bool) -> bool:
        text = (self._text(name) or str(default)).lower()
        if text not in ("true", "false"):
            raise ValueError(f'{name} must be true or false, got "{text}"')
        return text == "true"

    def _number(self, name: str) -> int | None:
        text = self._text(name)
        if text is None:
            return None
        if not re.fullmatch(r"[+-]?[0-9]+", text):
            raise ValueError(f'{name} must be a number, got "{text}"')
        return int(text)

    def _positive(self, name: str) -> int | None:
        number = self._number(name)
        if number is not None and number <= 0:
            raise ValueError(f"{name} must be positive")
        return number

    def _one_of(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        text = (self._text(name) or default).lower()
        if text not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {text}")
        return text


def _limits(transport: Transport, ranges: Sequence[KafkaOffsetRange]) -> list[int]:
    """For each range the bytes of a task: something for every core, but each task worth its start.

    A range is cut into equal pieces, none of them a small rest. A piece may so be half as large again as the limit.
    """
    if not isinstance(transport, FileTransport):
        return [MAX_BYTES_PER_TASK] * len(ranges)
    sizes = [transport.size_between(tp.topic, tp.partition, first, until) for tp, first, until in ranges]
    limit = min(max(MIN_BYTES_PER_TASK, sum(sizes) // (os.cpu_count() or 1)), MAX_BYTES_PER_TASK)
    return [max(limit, math.ceil(size / max(1, round(size / limit)))) for size in sizes]


def _check_order(kind: str, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> None:
    """Both name the same partitions, and no start is above its end (LATEST and EARLIEST are not compared)."""
    if set(start) != set(end):
        raise ValueError(
            f"Mismatched topic partitions between start {kind}s {sorted(start)} and end {kind}s {sorted(end)}"
        )
    for tp, first in start.items():
        if first > end[tp] and first >= 0 and end[tp] >= 0:
            raise ValueError(
                f"The start {kind} {first} is greater than the end {kind} {end[tp]} for topic {tp.topic} partition "
                f"{tp.partition}."
            )


def time_string_as_ms(text: str) -> int:
    """``15m``, ``10s``, ``2min`` in milliseconds, which a plain number is. Raises ValueError as Spark's reader does."""
    found = _TIME_STRING.fullmatch(text.strip().lower())
    unit = (found[2] or "ms") if found else ""
    if found is None or unit not in _TIME_UNITS_MS:
        raise ValueError(
            "Time must be specified as seconds (s), milliseconds (ms), microseconds (us), minutes (m or min), hour "
            f"(h), or day (d). E.g. 50s, 100ms, or 250us. Failed to parse time string: {text}"
        )
    return int(int(found[1]) * _TIME_UNITS_MS[unit])


def leaders_of_brokers(consumer_options: Mapping[str, str]) -> dict[TopicPartition, int]:
    """Broker ids of all leaders, asked of the cluster. Raises OSError when nobody answers."""
    client = BrokerClient(ConsumerSettings.of(consumer_options).client)
    try:
        return _leaders_in(client.metadata(None))
    finally:
        client.close()


def _leaders_in(metadata: MetadataResponse) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for topic in metadata.topic_metadata():
        for partition in topic.partition_metadata:
            leader: Any = partition.leader
            if leader is not None:
                found[TopicPartition(topic.topic, partition.partition)] = leader.id
    return found


def leaders_in_zookeeper(connect: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Broker ids of the leaders of these partitions, as their znodes have them; also while no broker runs."""
    from kafka_py.zk.kafka_zk_client import KafkaZkClient  # takes long to import, and few need it

    client = KafkaZkClient.create(connect, False, 6000, 6000, 10, Time.SYSTEM)
    try:
        states = client.get_topic_partition_states(partitions)
    finally:
        client.close()
    return {tp: state.leader_and_isr.leader for tp, state in states.items()}
