"""Records over the wire: the Fetch responses of any broker from 0.11 on hold the same batches as its segment files.

The driver asks for leaders and offsets, and cuts the offsets into pieces. Each task then reads its piece from the
leader: while a response is decoded, the broker already works on the next one.

Mirrors: connector/kafka-0-10-sql: KafkaOffsetReaderConsumer, KafkaDataConsumer of Spark 4 (what they ask, when they
    give up, and their texts); Kafka's Fetcher for the protocol
Read next: transport.py (the seam); broker_client.py; batch_headers.py (aborted transactions)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pyspark.sql.datasource import InputPartition

from kafka_py.common.errors import (
    ApiException,
    LeaderNotAvailableException,
    OffsetOutOfRangeException,
    UnknownTopicOrPartitionException,
    UnsupportedVersionException,
)
from kafka_py.common.memory.memory_pool import recycle
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.describe_log_dirs_request import DescribeLogDirsRequest
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.fetch_request import FetchRequest
from kafka_py.common.requests.fetch_response import FetchResponse
from kafka_py.common.requests.isolation_level import IsolationLevel
from kafka_py.common.requests.list_offset_request import ListOffsetRequest
from kafka_py.common.requests.list_offset_response import ListOffsetResponse
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.arrow_decoder import RecordBatchDecoder
from kafka_py.spark.batch_headers import AbortedFilter, BatchHeaders, aborted_from_fetch, batch_headers
from kafka_py.spark.broker_client import PASSING, BrokerClient, ClientSettings, Question
from kafka_py.spark.transport import (
    PartitionOffsets,
    Piece,
    ReadOptions,
    TopicPartitionName,
    report_data_loss,
)
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
EARLIEST, LATEST = ListOffsetRequest.EARLIEST_TIMESTAMP, ListOffsetRequest.LATEST_TIMESTAMP
_OLDEST_FETCH = 4  # the first version with batches of magic 2, and whose first batch is whole however large it is


class ConsumerSettings(NamedTuple):
    """Options of the source that say how to ask brokers; times in milliseconds."""

    client: ClientSettings
    max_bytes: int = 4 << 20
    max_wait_ms: int = 500
    poll_timeout_ms: int = 120_000
    num_retries: int = 3
    retry_interval_ms: int = 1_000

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ConsumerSettings:
        """From options in any case, those of the consumer with ``kafka.`` before them. Raises ValueError."""
        given = {name.lower().removeprefix("kafka."): value for name, value in options.items()}

        def number(name: str, default: int) -> int:
            found = int(given.get(name.lower(), default))
            if found < 0:
                raise ValueError(f"{name} must not be negative")
            return found

        settings = cls(ClientSettings.of(given))
        return settings._replace(
            max_bytes=number("max.partition.fetch.bytes", number("fetch.max.bytes", settings.max_bytes)),
            max_wait_ms=number("fetch.max.wait.ms", settings.max_wait_ms),
            poll_timeout_ms=number("kafkaConsumer.pollTimeoutMs", settings.poll_timeout_ms),
            num_retries=number("fetchOffset.numRetries", settings.num_retries),
            retry_interval_ms=number("fetchOffset.retryIntervalMs", settings.retry_interval_ms),
        )


def list_offsets(
    client: BrokerClient,
    leader: Node,
    partitions: Collection[TopicPartition],
    timestamp: int,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[TopicPartition, int]:
    """The offsets of a time (or EARLIEST, LATEST) in partitions of one leader; -1 where no record is so young.

    Raises the exception of the first partition that has an error, and OSError.
    """
    builder = ListOffsetRequest.Builder.for_consumer(True, isolation_level)
    response = client.ask(leader, builder.set_target_times(dict.fromkeys(partitions, timestamp)))
    assert isinstance(response, ListOffsetResponse)
    found = {}
    for tp, data in response.response_data().items():
        data.error.maybe_throw()
        found[tp] = data.offset
    return found


class FetchTransport(Logging):
    """Plans the reading of partitions from their leaders.

    Mirrors: org.apache.spark.sql.kafka010.KafkaOffsetReaderConsumer (partitions and their offsets)
    Thread: the driver's
    """

    def __init__(
        self, consumer_options: Mapping[str, str], client: BrokerClient | None = None, time: Time = Time.SYSTEM
    ) -> None:
        """Nothing is connected yet. Raises ValueError for options that make no sense."""
        self._consumer_options = dict(consumer_options)
        self._settings = ConsumerSettings.of(consumer_options)
        self._client = BrokerClient(self._settings.client, time) if client is None else client
        self._time = time
        self._leaders: dict[TopicPartition, Node] = {}  # thread: driver
        self._offsets: dict[TopicPartitionName, PartitionOffsets] = {}  # thread: driver
        self._sizes: dict[TopicPartition, int] | None = None  # thread: driver

    def __reduce__(self) -> tuple[type[FetchTransport], tuple[dict[str, str]]]:
        """Travels as its options: a stream's reader is pickled with all that it holds, and connections cannot be."""
        return FetchTransport, (self._consumer_options,)

    def partitions(
        self, wanted: Callable[[str, int], bool] | None = None
    ) -> dict[TopicPartitionName, PartitionOffsets]:
        """Every partition, or those wanted, with its offsets as they are now.

        Raises LeaderNotAvailableException when a wanted one has no leader for longer than the retries take: a result
        without its records would be wrong without a sign of it.
        """
        self._offsets = self._with_retries(lambda: self._ask_for_offsets(wanted))
        self._sizes = None
        return dict(self._offsets)

    def _ask_for_offsets(self, wanted: Callable[[str, int], bool] | None) -> dict[TopicPartitionName, PartitionOffsets]:
        self._leaders = self._ask_for_leaders(wanted)
        by_leader: dict[Node, list[TopicPartition]] = {}
        for tp, leader in self._leaders.items():
            by_leader.setdefault(leader, []).append(tp)
        found = {}
        for leader, partitions in by_leader.items():
            start = list_offsets(self._client, leader, partitions, EARLIEST)
            stable = list_offsets(self._client, leader, partitions, LATEST, IsolationLevel.READ_COMMITTED)
            # asked last: the high watermark only grows, so it is never below the others
            high = list_offsets(self._client, leader, partitions, LATEST)
            for tp in partitions:
                found[tp.topic, tp.partition] = PartitionOffsets(start[tp], high[tp], stable[tp], high[tp])
        return dict(sorted(found.items()))

    def _ask_for_leaders(self, wanted: Callable[[str, int], bool] | None) -> dict[TopicPartition, Node]:
        leaders: dict[TopicPartition, Node] = {}
        lost = []
        for topic in self._client.metadata(None).topic_metadata():
            topic.error.maybe_throw()
            for partition in topic.partition_metadata:
                tp = TopicPartition(topic.topic, partition.partition)
                if wanted is not None and not wanted(*tp):
                    continue
                if partition.leader is None:
                    lost.append(tp)
                else:
                    leaders[tp] = partition.leader
        if lost:
            raise LeaderNotAvailableException(f"There is no leader for {', '.join(map(str, lost))}")
        return leaders

    def _with_retries(self, ask: Callable[[], T]) -> T:
        """What is asked, if need be fetchOffset.numRetries times. Raises the last failure."""
        left = max(1, self._settings.num_retries)
        while True:
            left -= 1
            try:
                return ask()
            except PASSING as e:
                if not left:
                    raise
                self.warn("Error in attempt to get Kafka offsets, %d left", left, exc=e)
                self._time.sleep(self._settings.retry_interval_ms)

    def offset_for_timestamp(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset whose record is not older than this (milliseconds since the epoch), None without one."""
        tp = TopicPartition(topic, partition)

        def ask() -> int:
            self._leaders.update(self._ask_for_leaders(lambda *name: name == tp))
            if tp not in self._leaders:
                raise UnknownTopicOrPartitionException(f"There is no partition {tp}")
            return list_offsets(self._client, self._leaders[tp], [tp], timestamp)[tp]

        leader = self._leaders.get(tp)
        try:
            offset = ask() if leader is None else list_offsets(self._client, leader, [tp], timestamp)[tp]
        except PASSING:
            offset = self._with_retries(ask)
        return None if offset < 0 else offset

    def plan(
        self, topic: str, partition: int, from_offset: int, until_offset: int, max_bytes: int, read_committed: bool
    ) -> list[Piece]:
        """Pieces with equal numbers of offsets, of max_bytes each if all records are of average size.

        ``read_committed`` changes nothing here: a Fetch response names the aborted transactions itself.
        """
        if from_offset >= until_offset:
            return []
        tp = TopicPartition(topic, partition)
        size = self._bytes_per_offset(tp) * (until_offset - from_offset)
        count = max(1, min(round(size / max_bytes), until_offset - from_offset))
        edges = [from_offset + (until_offset - from_offset) * i // count for i in range(count + 1)]
        return [
            FetchRange(topic, partition, edges[i], edges[i + 1], self._leaders.get(tp), self._settings)
            for i in range(count)
        ]

    def _bytes_per_offset(self, tp: TopicPartition) -> float:
        """By the size of the leader's log; 0 where that is not known."""
        if self._sizes is None:
            self._sizes = {}
            for leader in sorted(set(self._leaders.values())):
                self._sizes.update(self._sizes_of_logs(leader))
        offsets = self._offsets.get((tp.topic, tp.partition))
        if offsets is None:
            return 0
        return self._sizes.get(tp, 0) / max(1, offsets.log_end_offset - offsets.log_start_offset)

    def _sizes_of_logs(self, broker: Node) -> dict[TopicPartition, int]:
        try:
            response = self._client.ask(broker, DescribeLogDirsRequest.Builder(None))
        except (OSError, UnsupportedVersionException) as e:
            self.info("%s does not tell the sizes of its logs: one task per partition", broker, exc=e)
            return {}
        assert isinstance(response, DescribeLogDirsResponse)
        return {
            tp: replica.size
            for directory in response.log_dir_infos().values()
            for tp, replica in directory.replica_infos.items()
            if not replica.is_future and self._leaders.get(tp) == broker
        }

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


@dataclass
class FetchRange(InputPartition):
    """The work of one task: offsets of one partition, and the broker that led it when the query was planned."""

    topic: str
    partition: int
    from_offset: int
    until_offset: int
    leader: Node | None
    settings: ConsumerSettings

    def tables(self, options: ReadOptions) -> Iterator[pa.RecordBatch]:
        """Arrow batches of the wanted columns, in offset order. Raises DataLossError for records that are gone (if it
        shall fail then), TimeoutError when none came for too long, and the errors of brokers that do not pass."""
        client = BrokerClient(self.settings.client)
        try:
            yield from KafkaDataConsumer(self, options, client).tables()
        finally:
            client.close()


class Fetched(NamedTuple):
    """The whole batches of a response's one partition."""

    buffer: memoryview
    headers: BatchHeaders
    aborted: AbortedFilter | None

    @classmethod
    def of(cls, data: FetchResponse.PartitionData) -> Fetched:
        """Raises CorruptRecordException for what are no batches."""
        buffer = data.records.buffer
        headers, _ = batch_headers(buffer, len(buffer))
        return cls(buffer, headers, aborted_from_fetch(data.aborted_transactions or ()))

    @property
    def behind(self) -> int:
        """The offset behind the last batch, of any magic; -1 when there is none."""
        return int(self.headers.last_offset[-1]) + 1 if len(self.headers) else -1


class KafkaDataConsumer(Logging):
    """Reads one range of offsets, response after response.

    Mirrors: org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer
    Thread: its task's
    Differs: bounded by kafkaConsumer.pollTimeoutMs since the last record; leaders are looked up here, not in a client;
        where the rest of a range was compacted away it ends, for which Spark waits in vain
    """

    def __init__(self, work: FetchRange, options: ReadOptions, client: BrokerClient, time: Time = Time.SYSTEM) -> None:
        self._work = work
        self._options = options
        self._tp = TopicPartition(work.topic, work.partition)
        self._client = client
        self._time = time
        self._decoder = RecordBatchDecoder(work.topic, work.partition, options.columns, check_crcs=options.check_crcs)
        self._leader = work.leader  # thread: task
        # a Fetch request whose answer is still to be taken
        self._pending: Question | None = None  # thread: task

    def tables(self) -> Iterator[pa.RecordBatch]:
        """The records of the range; raises as FetchRange.tables."""
        work = self._work
        offset = work.from_offset
        while offset < work.until_offset:
            try:
                fetched = self._fetch(offset)
            except (OffsetOutOfRangeException, UnknownTopicOrPartitionException) as e:
                offset = self._offset_after_loss(offset, e)
                continue
            if fetched is None:
                return
            behind = fetched.behind
            if behind < work.until_offset:
                self._ask_ahead(behind)
            decoded = self._decoder.decode_batches(
                fetched.buffer, fetched.headers, offset, work.until_offset, aborted=fetched.aborted
            )
            # All was copied out of it: the next answer is received into the same memory, once nobody looks at it.
            recycle(fetched.buffer)
            del fetched
            yield from decoded
            offset = behind

    def _fetch(self, offset: int) -> Fetched | None:
        """A response with a batch that reaches the offset at least; None if the leader has none up to the range's end.

        Asks again after errors that pass, with a pause and the leader looked up anew, and when there was nothing yet: a
        new leader may be behind for a moment with what may be read. Raises OffsetOutOfRangeException at once; when it
        takes too long UnknownTopicOrPartitionException if that was the last error, else TimeoutError. Raises
        CorruptRecordException for what are no batches.
        """
        settings = self._work.settings
        deadline = self._time.milliseconds() + settings.poll_timeout_ms
        while True:
            failure: Exception | None = None
            try:
                data = self._answer_to(offset)
            except OffsetOutOfRangeException:
                raise
            except PASSING as e:
                failure = e
            else:
                fetched = None if data is None else Fetched.of(data)
                if fetched is not None and fetched.behind > offset:
                    return fetched
                if data is not None and self._is_all_readable(data):
                    return None
            if self._time.milliseconds() >= deadline:
                if isinstance(failure, UnknownTopicOrPartitionException):
                    raise failure
                raise TimeoutError(
                    f"Cannot fetch record for offset {offset} in {settings.poll_timeout_ms} milliseconds"
                ) from failure
            if failure is not None:
                self.info("Fetching %s at offset %d failed, asking again", self._tp, offset, exc=failure)
                self._leader = None
                self._time.sleep(settings.retry_interval_ms)

    def _is_all_readable(self, data: FetchResponse.PartitionData) -> bool:
        """Whether the leader gives everything up to the range's end; what it does not give has been compacted away."""
        limit = data.last_stable_offset if self._options.read_committed else data.high_watermark
        return bool(limit >= self._work.until_offset)

    def _answer_to(self, offset: int) -> FetchResponse.PartitionData | None:
        """The partition's part of the answer; None of a broker that has put us off because of a quota."""
        question, self._pending = self._pending, None
        response = self._client.finish(self._request(offset) if question is None else question)
        assert isinstance(response, FetchResponse)
        response.error().maybe_throw()
        data: FetchResponse.PartitionData | None = response.response_data().get(self._tp)
        if data is None:
            self._time.sleep(response.throttle_time_ms())
            return None
        data.error.maybe_throw()
        return data

    def _ask_ahead(self, offset: int) -> None:
        """Send the next request while there is something to do; a failure is met again when the answer is needed."""
        try:
            self._pending = self._request(offset)
        except PASSING as e:
            self.debug("Could not ask for %s at offset %d ahead of time", self._tp, offset, exc=e)

    def _request(self, offset: int) -> Question:
        settings = self._work.settings
        level = IsolationLevel.READ_COMMITTED if self._options.read_committed else IsolationLevel.READ_UNCOMMITTED
        wanted = FetchRequest.PartitionData(offset, FetchRequest.INVALID_LOG_START_OFFSET, settings.max_bytes)
        builder = FetchRequest.Builder(
            _OLDEST_FETCH,
            ApiKeys.FETCH.latest_version(),
            FetchRequest.CONSUMER_REPLICA_ID,
            settings.max_wait_ms,
            1,
            {self._tp: wanted},
        )
        return self._client.start(self._find_leader(), builder.set_max_bytes(settings.max_bytes).isolation_level(level))

    def _find_leader(self) -> Node:
        """The known leader, or the one that the cluster names now. Raises OSError and the error of the partition."""
        if self._leader is None:
            for topic in self._client.metadata([self._tp.topic]).topic_metadata():
                topic.error.maybe_throw()
                for partition in topic.partition_metadata:
                    if partition.partition == self._tp.partition:
                        self._leader = partition.leader
                        if self._leader is None:
                            raise LeaderNotAvailableException(f"There is no leader for {self._tp}")
        if self._leader is None:
            raise UnknownTopicOrPartitionException(f"There is no partition {self._tp}")
        return self._leader

    def _offset_after_loss(self, offset: int, error: ApiException) -> int:
        """Where to go on when an offset is gone: the earliest there is, or the end. Raises DataLossError."""
        until = self._work.until_offset
        report_data_loss(
            f"Cannot fetch records in [{offset}, {until}) of {self._tp} ({str(error).rstrip('.')})",
            self._options.fail_on_data_loss,
        )
        if not isinstance(error, OffsetOutOfRangeException):
            return until
        leader = self._find_leader()
        earliest = list_offsets(self._client, leader, [self._tp], EARLIEST)[self._tp]
        latest = list_offsets(self._client, leader, [self._tp], LATEST)[self._tp]
        if offset >= latest or earliest >= until:
            return until
        return max(offset, earliest)  # the offset itself when it is back, after another change of leaders
