"""Which offsets to read: from the options' limits to ranges for tasks, with the rules of Spark's Kafka source.

Mirrors: connector/kafka-0-10-sql: KafkaOffsetRangeLimit, ConsumerStrategy, JsonUtils, KafkaSourceOffset,
    KafkaOffsetReaderAdmin and KafkaOffsetRangeCalculator of Spark 4
Read next: options.py (where the limits come from), source.py and stream.py (who asks)
"""

from __future__ import annotations

import enum
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from kafka_py.common.errors import UnknownTopicOrPartitionException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.transport import PartitionOffsets, Transport, report_data_loss
from kafka_py.utils.logging import Logging

PartitionOffsetMap = dict[TopicPartition, int]


class StrategyOnNoMatchStartingOffset(enum.Enum):
    """What to do when no record is as young as a starting timestamp.

    Mirrors: org.apache.spark.sql.kafka010.KafkaSourceProvider.StrategyOnNoMatchStartingOffset
    """

    ERROR = "error"
    LATEST = "latest"


class KafkaOffsetRangeLimit:
    """One end of what a query reads: one of the classes below.

    Mirrors: org.apache.spark.sql.kafka010.KafkaOffsetRangeLimit
    """

    LATEST: ClassVar[int] = -1
    EARLIEST: ClassVar[int] = -2


@dataclass(frozen=True)
class EarliestOffsetRangeLimit(KafkaOffsetRangeLimit):
    """The first record of each partition.

    Mirrors: org.apache.spark.sql.kafka010.EarliestOffsetRangeLimit
    """


@dataclass(frozen=True)
class LatestOffsetRangeLimit(KafkaOffsetRangeLimit):
    """The high watermark of each partition; its last stable offset for committed reads.

    Mirrors: org.apache.spark.sql.kafka010.LatestOffsetRangeLimit
    """


@dataclass(frozen=True)
class UnsafeEndOffsetRangeLimit(KafkaOffsetRangeLimit):
    """The end of each partition's log, where records stand that may still be taken back. Ours, for forensics."""


@dataclass(frozen=True)
class SpecificOffsetRangeLimit(KafkaOffsetRangeLimit):
    """An offset for each partition, or LATEST or EARLIEST.

    Mirrors: org.apache.spark.sql.kafka010.SpecificOffsetRangeLimit
    """

    partition_offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class CommittedOffsetRangeLimit(KafkaOffsetRangeLimit):
    """Where a group has committed; the first record of a partition of which it has not. Ours."""

    group: str


@dataclass(frozen=True)
class SpecificTimestampRangeLimit(KafkaOffsetRangeLimit):
    """A time (ms) for each partition: the first record that is not older.

    Mirrors: org.apache.spark.sql.kafka010.SpecificTimestampRangeLimit
    """

    topic_timestamps: Mapping[TopicPartition, int]
    strategy: StrategyOnNoMatchStartingOffset


@dataclass(frozen=True)
class GlobalTimestampRangeLimit(KafkaOffsetRangeLimit):
    """A time (ms) for all partitions.

    Mirrors: org.apache.spark.sql.kafka010.GlobalTimestampRangeLimit
    """

    timestamp: int
    strategy: StrategyOnNoMatchStartingOffset


class ConsumerStrategy(ABC):
    """Which partitions a query reads.

    Mirrors: org.apache.spark.sql.kafka010.ConsumerStrategy
    """

    @abstractmethod
    def selects(self, topic: str, partition: int) -> bool:
        """Whether this partition is one of them."""

    def missing(self, found: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Partitions that were named one by one and are not there."""
        return set()

    def named_topics(self) -> frozenset[str]:
        """Topics that were named, so that there must be such."""
        return frozenset()


@dataclass(frozen=True)
class AssignStrategy(ConsumerStrategy):
    """Partitions by name.

    Mirrors: org.apache.spark.sql.kafka010.AssignStrategy
    """

    partitions: tuple[TopicPartition, ...]

    def selects(self, topic: str, partition: int) -> bool:
        """Whether it is among them."""
        return (topic, partition) in self.partitions

    def missing(self, found: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Those that are not there."""
        return set(self.partitions) - set(found)

    def named_topics(self) -> frozenset[str]:
        """Those of the partitions."""
        return frozenset(tp.topic for tp in self.partitions)


@dataclass(frozen=True)
class SubscribeStrategy(ConsumerStrategy):
    """All partitions of some topics.

    Mirrors: org.apache.spark.sql.kafka010.SubscribeStrategy
    """

    topics: tuple[str, ...]

    def selects(self, topic: str, partition: int) -> bool:
        """Whether it is of one of the topics."""
        return topic in self.topics

    def named_topics(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self.topics)


@dataclass(frozen=True)
class SubscribePatternStrategy(ConsumerStrategy):
    """All partitions of the topics whose whole name matches, without Kafka's internal topics unless they are wanted.

    Mirrors: org.apache.spark.sql.kafka010.SubscribePatternStrategy
    """

    topic_pattern: str
    internal_topics: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for what is not a regular expression."""
        try:
            re.compile(self.topic_pattern)
        except re.error as e:
            raise ValueError(f"Option 'subscribePattern' is not a regular expression: {e}") from e

    def selects(self, topic: str, partition: int) -> bool:
        """Whether it is of such a topic."""
        return (self.internal_topics or not Topic.is_internal(topic)) and (
            re.fullmatch(self.topic_pattern, topic) is not None
        )


STRATEGIES = ("subscribe", "subscribepattern", "assign")


def strategy_of(option: str, value: str, internal_topics: bool = False) -> ConsumerStrategy:
    """What one of the options STRATEGIES asks for. Raises ValueError for a value that names nothing."""
    if option == "assign":
        if not value.strip().startswith("{"):
            raise ValueError(f"No topicpartitions to assign as specified value for option 'assign' is '{value}'")
        return AssignStrategy(tuple(JsonUtils.partitions(value)))
    if option == "subscribe":
        topics = tuple(name.strip() for name in value.split(",") if name.strip())
        if not topics:
            raise ValueError(f"No topics to subscribe to as specified value for option 'subscribe' is '{value}'")
        return SubscribeStrategy(topics)
    if not value.strip():
        raise ValueError(f"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '{value}'")
    return SubscribePatternStrategy(value.strip(), internal_topics)


class JsonUtils:
    """Partitions, offsets and timestamps from and to JSON.

    Mirrors: org.apache.spark.sql.kafka010.JsonUtils
    Differs: the overloads that write are named ..._json
    """

    @staticmethod
    def partitions(text: str) -> list[TopicPartition]:
        """From ``{"t":[0,1]}``. Raises ValueError."""
        try:
            return [TopicPartition(topic, _int(part)) for topic, parts in json.loads(text).items() for part in parts]
        except (ValueError, TypeError, AttributeError) as e:
            raise ValueError(f'Expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text}') from e

    @staticmethod
    def partition_offsets(text: str) -> PartitionOffsetMap:
        """From ``{"t":{"0":23,"1":-1}}``. Raises ValueError."""
        try:
            return offsets_of_dict(json.loads(text))
        except (ValueError, TypeError, AttributeError) as e:
            raise ValueError(f'Expected e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text}') from e

    @staticmethod
    def partition_timestamps(text: str) -> PartitionOffsetMap:
        """From ``{"t":{"0":1700000000000}}`` (ms). Raises ValueError."""
        try:
            return offsets_of_dict(json.loads(text))
        except (ValueError, TypeError, AttributeError) as e:
            raise ValueError(
                'Expected e.g. {"topicA": {"0": 123456789, "1": 123456789}, "topicB": {"0": 123456789, "1": '
                f"123456789}}}}, got {text}"
            ) from e

    @staticmethod
    def partition_offsets_json(offsets: Mapping[TopicPartition, int]) -> str:
        """Return the JSON of the offsets as Spark writes it: sorted, and without a blank."""
        return json.dumps(dict_of_offsets(offsets), separators=(",", ":"))


def _int(value: Any) -> int:
    """A JSON number without fraction, or the digits of one. Raises ValueError."""
    if isinstance(value, (bool, float)) or not isinstance(value, (int, str)):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def offsets_of_dict(nested: Mapping[str, Mapping[str, Any]]) -> PartitionOffsetMap:
    """From topic -> partition -> offset. Raises ValueError, TypeError or AttributeError for other shapes."""
    return {
        TopicPartition(topic, int(partition)): _int(offset)
        for topic, offsets in nested.items()
        for partition, offset in offsets.items()
    }


def dict_of_offsets(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """To topic -> partition -> offset, sorted."""
    nested: dict[str, dict[str, int]] = {}
    for tp in sorted(offsets):
        nested.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return nested


@dataclass(frozen=True)
class KafkaSourceOffset:
    """How far a stream is: for each partition the offset of the next record to read.

    Mirrors: org.apache.spark.sql.kafka010.KafkaSourceOffset
    """

    partition_to_offsets: Mapping[TopicPartition, int]

    @classmethod
    def of(cls, offset: Mapping[str, Mapping[str, Any]]) -> KafkaSourceOffset:
        """From what Spark took out of its checkpoint."""
        return cls(offsets_of_dict(offset))

    def as_dict(self) -> dict[str, dict[str, int]]:
        """What Spark writes to its checkpoint as JSON: ``{"t":{"0":123}}``."""
        return dict_of_offsets(self.partition_to_offsets)

    @property
    def json(self) -> str:
        """The same as Spark's own source writes it."""
        return JsonUtils.partition_offsets_json(self.partition_to_offsets)


class KafkaOffsetRange(NamedTuple):
    """Offsets of one partition, from_offset <= offset < until_offset.

    Mirrors: org.apache.spark.sql.kafka010.KafkaOffsetRange
    Left out: preferredLoc -- Python data sources cannot name a host
    """

    topic_partition: TopicPartition
    from_offset: int
    until_offset: int

    @property
    def size(self) -> int:
        """How many offsets; there may be fewer records."""
        return self.until_offset - self.from_offset


class KafkaOffsetRangeCalculator:
    """Splits ranges: none has more offsets than a limit, and there are about as many as wanted.

    Mirrors: org.apache.spark.sql.kafka010.KafkaOffsetRangeCalculator
    Left out: getLocatedRanges, getLocation -- Python data sources cannot name a host
    """

    def __init__(self, min_partitions: int | None = None, max_records_per_partition: int | None = None) -> None:
        self.min_partitions = min_partitions
        self.max_records_per_partition = max_records_per_partition

    def get_ranges(self, ranges: Iterable[KafkaOffsetRange]) -> list[KafkaOffsetRange]:
        """The ranges that are not empty; large ones are divided, in proportion to their size, for minPartitions."""
        limited = [part for r in ranges if r.size > 0 for part in self._limited(r)]
        if self.min_partitions is None or len(limited) >= self.min_partitions:
            return limited
        total = sum(r.size for r in limited)
        # Small ranges stay whole; what is theirs does not count when the others are divided.
        whole = [r for r in limited if _part_count(r.size, total, self.min_partitions) == 1]
        split_total = total - sum(r.size for r in whole)
        split_parts = max(self.min_partitions - len(whole), 1)
        kept = set(whole)
        return [
            part
            for r in limited
            for part in _divide(r, 1 if r in kept else _part_count(r.size, split_total, split_parts))
        ]

    def _limited(self, offset_range: KafkaOffsetRange) -> list[KafkaOffsetRange]:
        limit = self.max_records_per_partition
        return _divide(offset_range, 1 if limit is None else math.ceil(offset_range.size / limit))


def _part_count(size: int, total: int, parts: int) -> int:
    return max(math.floor(size / total * parts + 0.5), 1)


def _divide(offset_range: KafkaOffsetRange, parts: int) -> list[KafkaOffsetRange]:
    """Parts of about equal size, without empty ones; the last takes what rounding left."""
    remaining, start = offset_range.size, offset_range.from_offset
    divided = []
    for part in range(parts):
        size = remaining // (parts - part)
        remaining -= size
        divided.append(KafkaOffsetRange(offset_range.topic_partition, start, start + size))
        start += size
    return [part for part in divided if part.size > 0]


class KafkaOffsetReader(Logging):
    """Asks a transport for offsets, and makes ranges of them.

    Mirrors: org.apache.spark.sql.kafka010.KafkaOffsetReader, KafkaOffsetReaderAdmin
    Thread: the driver's
    Differs: one look at the partitions serves a whole call, so that start and end fit; ranges that reach beyond what is
        there are reported here, not only by the tasks, and after the retries that Spark makes for the latest offsets
        only; a known partition that is missing is asked for again, too
    """

    def __init__(
        self,
        strategy: ConsumerStrategy,
        transport: Transport,
        *,
        read_committed: bool = False,
        fail_on_data_loss: bool = True,
        num_retries: int = 3,
        retry_interval_ms: int = 1000,
        committed_offsets: Callable[[str], Mapping[TopicPartition, int]] = lambda group: {},
        time: Time = Time.SYSTEM,
    ) -> None:
        """``committed_offsets`` gives what a group has committed."""
        self._strategy = strategy
        self._committed_offsets = committed_offsets
        self._transport = transport
        self._read_committed = read_committed
        self._fail_on_data_loss = fail_on_data_loss
        self._num_retries = num_retries
        self._retry_interval_ms = retry_interval_ms
        self._time = time

    def fetch_earliest_offsets(self, known_offsets: Iterable[TopicPartition] = ()) -> PartitionOffsetMap:
        """Where each partition begins. Topics of known partitions may have been deleted, others must be there."""
        return {tp: offsets.log_start_offset for tp, offsets in self._assigned(known_offsets).items()}

    def fetch_latest_offsets(self, known_offsets: Mapping[TopicPartition, int] | None = None) -> PartitionOffsetMap:
        """Where each partition ends; asked again, a few times, while one ends below a known offset or is missing."""
        return {tp: self._latest(offsets) for tp, offsets in self._assigned_up_to(known_offsets or {}).items()}

    def _assigned_up_to(self, known_offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, PartitionOffsets]:
        """The partitions, looked at again, a few times, while one of these offsets is not there.

        A broker that comes back begins with an older high watermark, and a partition that is moved to another log
        directory is in neither for a moment. Neither may be taken for a loss.
        """
        attempts = max(1, self._num_retries)
        while True:
            assigned = self._assigned(known_offsets)
            latest = {tp: self._latest(offsets) for tp, offsets in assigned.items()}
            incorrect = [
                (tp, known, latest.get(tp)) for tp, known in known_offsets.items() if latest.get(tp, -1) < known
            ]
            attempts -= 1
            if not incorrect or not attempts:
                return assigned
            self.warn("Found incorrect offsets (partition, previous offset, fetched offset): %s", incorrect)
            self._time.sleep(self._retry_interval_ms)

    def fetch_partition_offsets(self, limit: KafkaOffsetRangeLimit, is_starting_offsets: bool) -> PartitionOffsetMap:
        """The offset that a limit means for each partition. Raises ValueError if it does not fit the partitions."""
        return self._resolve(limit, is_starting_offsets, self._assigned())

    def get_offset_ranges_from_unresolved_offsets(
        self,
        starting_offsets: KafkaOffsetRangeLimit,
        ending_offsets: KafkaOffsetRangeLimit,
        narrow: Callable[[KafkaOffsetRange], KafkaOffsetRange] = lambda offset_range: offset_range,
    ) -> list[KafkaOffsetRange]:
        """What a batch query reads of each partition, not divided yet; ``narrow`` may take parts away.

        Raises ValueError when a start is above its end, DataLossError for offsets that are gone, and
        UnknownTopicOrPartitionException for a topic that is not there.
        """
        assigned = self._assigned()
        start = self._resolve(starting_offsets, True, assigned)
        until = self._resolve(ending_offsets, False, assigned)
        unsafe = isinstance(ending_offsets, UnsafeEndOffsetRangeLimit)
        ranges = []
        for tp in sorted(start):
            if start[tp] > until[tp]:
                raise ValueError(
                    f"The start offset {start[tp]} is greater than the end offset {until[tp]} for topic {tp.topic} "
                    f"partition {tp.partition}."
                )
            limit = assigned[tp].log_end_offset if unsafe else self._latest(assigned[tp])
            found = self._without_what_is_gone(KafkaOffsetRange(tp, start[tp], until[tp]), assigned[tp], limit)
            ranges.append(narrow(found))
        return ranges

    def get_offset_ranges_from_resolved_offsets(
        self, from_offsets: Mapping[TopicPartition, int], until_offsets: Mapping[TopicPartition, int]
    ) -> list[KafkaOffsetRange]:
        """What a micro-batch reads of each partition, not divided yet: a new partition is read from its beginning.

        Raises DataLossError when partitions or offsets are gone, and still are when asked for again.
        """
        assigned = self._assigned_up_to(until_offsets)
        new = set(until_offsets) - set(from_offsets)
        initial = {tp: assigned[tp].log_start_offset for tp in sorted(new) if tp in assigned}
        if set(initial) != new:
            self._report(
                f"Cannot find earliest offsets of {_names(new - set(initial))}. Some data may have been missed"
            )
        for tp, offset in initial.items():
            if offset:
                self._report(f"Added partition {tp} starts from {offset} instead of 0. Some data may have been missed")
        gone = set(from_offsets) - set(until_offsets)
        if gone:
            self._report(f"{_names(gone)} are gone. Some data may have been missed")
        ranges = []
        starts = {**from_offsets, **initial}
        for tp in sorted(set(until_offsets) & set(starts)):
            start, until = starts[tp], until_offsets[tp]
            if until < start:
                self._report(
                    f"Partition {tp}'s offset was changed from {start} to {until}, some data may have been missed"
                )
            elif start < until:
                if tp not in assigned:
                    self._report(f"{tp} is gone. Some data may have been missed")
                    continue
                found = KafkaOffsetRange(tp, start, until)
                ranges.append(self._without_what_is_gone(found, assigned[tp], self._latest(assigned[tp])))
        return ranges

    def _assigned(self, known: Iterable[TopicPartition] = ()) -> dict[TopicPartition, PartitionOffsets]:
        """The partitions as they are. A topic that was read before and is gone now is a loss; others must be there.

        Raises UnknownTopicOrPartitionException for a topic that is not, as one has when its name is misspelt.
        """
        wanted = self._strategy.named_topics() - {tp.topic for tp in known}
        attempts = max(1, self._num_retries)
        while True:
            assigned = self._selected()
            unknown = wanted - {tp.topic for tp in assigned}
            attempts -= 1
            if not unknown:
                break
            if not attempts:
                raise UnknownTopicOrPartitionException(
                    f"This server does not host this topic-partition. There is no topic {', '.join(sorted(unknown))}"
                )
            self._time.sleep(self._retry_interval_ms)  # it may have been made a moment ago
        if not assigned:
            self.warn("Nothing to read: no partition is selected by %s", self._strategy)
        missing = self._strategy.missing(assigned)
        if missing:
            self._report(f"Cannot find earliest offsets of {_names(missing)}. Some data may have been missed")
        return assigned

    def _selected(self) -> dict[TopicPartition, PartitionOffsets]:
        selects = self._strategy.selects
        partitions = self._transport.partitions(selects)
        return {TopicPartition(*name): found for name, found in partitions.items() if selects(*name)}

    def _latest(self, offsets: PartitionOffsets) -> int:
        return offsets.last_stable_offset if self._read_committed else offsets.high_watermark

    def _resolve(
        self,
        limit: KafkaOffsetRangeLimit,
        is_starting_offsets: bool,
        assigned: Mapping[TopicPartition, PartitionOffsets],
    ) -> PartitionOffsetMap:
        if isinstance(limit, SpecificOffsetRangeLimit):
            self._validate("starting" if is_starting_offsets else "ending", limit.partition_offsets, assigned)
            return {tp: self._known_or_special(offset, assigned[tp]) for tp, offset in limit.partition_offsets.items()}
        if isinstance(limit, SpecificTimestampRangeLimit):
            if set(limit.topic_timestamps) != set(assigned):
                raise ValueError(
                    "If starting/endingOffsetsByTimestamp contains specific offsets, you must specify all topics. "
                    f"Specified: {_names(limit.topic_timestamps)} Assigned: {_names(assigned)}"
                )
            strategy = limit.strategy if is_starting_offsets else StrategyOnNoMatchStartingOffset.LATEST
            return {tp: self._since(tp, limit.topic_timestamps[tp], strategy, assigned[tp]) for tp in assigned}
        if isinstance(limit, GlobalTimestampRangeLimit):
            strategy = limit.strategy if is_starting_offsets else StrategyOnNoMatchStartingOffset.LATEST
            return {tp: self._since(tp, limit.timestamp, strategy, offsets) for tp, offsets in assigned.items()}
        if isinstance(limit, CommittedOffsetRangeLimit):
            committed = self._committed_offsets(limit.group)
            return {tp: self._committed(tp, committed.get(tp), limit.group, assigned[tp]) for tp in assigned}
        if isinstance(limit, EarliestOffsetRangeLimit):
            return {tp: offsets.log_start_offset for tp, offsets in assigned.items()}
        if isinstance(limit, UnsafeEndOffsetRangeLimit):
            return {tp: offsets.log_end_offset for tp, offsets in assigned.items()}
        return {tp: self._latest(offsets) for tp, offsets in assigned.items()}

    def _committed(self, tp: TopicPartition, offset: int | None, group: str, offsets: PartitionOffsets) -> int:
        if offset is None:
            self.info("Group %s has not committed for %s, which is read from its beginning", group, tp)
            return offsets.log_start_offset
        latest = self._latest(offsets)
        if offset > latest:  # the checkpoint of the high watermark is some seconds old, or records were lost
            self.warn("Group %s has committed %d for %s, which ends at %d, it seems", group, offset, tp, latest)
        return min(offset, latest)

    def _known_or_special(self, offset: int, offsets: PartitionOffsets) -> int:
        if offset == KafkaOffsetRangeLimit.EARLIEST:
            return offsets.log_start_offset
        return self._latest(offsets) if offset == KafkaOffsetRangeLimit.LATEST else offset

    @staticmethod
    def _validate(which: str, specified: Mapping[TopicPartition, int], assigned: Iterable[TopicPartition]) -> None:
        if set(specified) != set(assigned):
            raise ValueError(
                f"If {which}Offsets contains specific offsets, you must specify all TopicPartitions.\n"
                "Use -1 for latest, -2 for earliest, if you don't care.\n"
                f"Specified: {_names(specified)} Assigned: {_names(assigned)}"
            )

    def _since(
        self, tp: TopicPartition, timestamp: int, strategy: StrategyOnNoMatchStartingOffset, offsets: PartitionOffsets
    ) -> int:
        """The first readable offset that is not older than a timestamp (ms)."""
        found = self._transport.offset_for_timestamp(tp.topic, tp.partition, timestamp)
        if found is not None and found < self._latest(offsets):
            return found
        if strategy is StrategyOnNoMatchStartingOffset.ERROR:
            raise ValueError(f"No offset matched from request of topic-partition {tp} and timestamp {timestamp}.")
        return self._latest(offsets)

    def _without_what_is_gone(
        self, offset_range: KafkaOffsetRange, offsets: PartitionOffsets, limit: int
    ) -> KafkaOffsetRange:
        tp, start, until = offset_range
        if start < offsets.log_start_offset:
            behind = min(until, offsets.log_start_offset)
            self._report(f"Cannot fetch records in [{start}, {behind}) (TopicPartition: {tp})")
        if until > limit:
            self._report(f"Partition {tp}'s offset was changed from {until} to {limit}, some data may have been missed")
        return KafkaOffsetRange(tp, max(start, offsets.log_start_offset), min(until, limit))

    def _report(self, message: str) -> None:
        report_data_loss(message, self._fail_on_data_loss)


def _names(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(tp) for tp in sorted(partitions)) or "none"
