"""The streaming side of ``kafka_segments``: how much of what is new goes into the next micro-batch.

    spark.readStream.format("kafka_segments").option("logDirs", "/var/kafka").option("subscribe", "t").load()

Spark keeps one reader in one process for as long as the query runs, and writes the offsets that it returns to the
checkpoint. With files only, new records are seen when the broker writes its high watermarks, every five seconds; with
``kafka.bootstrap.servers`` as soon as they are committed.

Mirrors: connector/kafka-0-10-sql: KafkaMicroBatchStream, KafkaBatchPartitionReader of Spark 4
Read next: offsets.py; kafka_py.spark.read_stream, for why "latest" is best resolved before the query starts
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.spark.offsets import KafkaOffsetReader, KafkaSourceOffset, PartitionOffsetMap
from kafka_py.spark.options import KafkaSourceOptions
from kafka_py.spark.transport import ReadOptions, Transport, report_data_loss
from kafka_py.utils.logging import Logging

if TYPE_CHECKING:
    import pyarrow as pa

Offset = dict[str, dict[str, int]]


class KafkaBatchPartitionReader:
    """Reads the records of one task.

    Mirrors: org.apache.spark.sql.kafka010.KafkaBatchPartitionReader
    """

    def __init__(self, partition: Any, options: ReadOptions) -> None:
        self._partition = partition
        self._options = options

    def tables(self) -> Iterator[pa.RecordBatch]:
        """Arrow batches; none for the task without a piece that Spark plans where there is nothing to read."""
        if type(self._partition) is not InputPartition:
            yield from self._partition.tables(self._options)


class KafkaMicroBatchStream(DataSourceStreamReader, SupportsTriggerAvailableNow, Logging):
    """Says how far each micro-batch goes, plans its tasks, and reads them.

    Mirrors: org.apache.spark.sql.kafka010.KafkaMicroBatchStream
    Thread: the query's process; executors have copies for read, which know the options only
    Differs: minimum and maximum are applied here together, as Python has no limit made of two. The initial offsets are
        not kept in the checkpoint, whose path a Python source is not told, but as long as this object.
        Trigger.AvailableNow ignores minOffsetsPerTrigger: it would leave the last records unread.
    Left out: metrics -- Python sources report none; the progress of a query has latestOffset and endOffset
    """

    def __init__(self, options: KafkaSourceOptions, columns: tuple[str, ...], time: Time = Time.SYSTEM) -> None:
        self._options = options
        self._columns = columns
        self._time = time
        self._transport: Transport | None = None  # thread: query
        self._initial_partition_offsets: PartitionOffsetMap | None = None  # thread: query
        self._last_trigger_ms = 0  # thread: query
        self._latest_partition_offsets: PartitionOffsetMap = {}  # thread: query
        self._all_data_for_trigger_available_now: PartitionOffsetMap | None = None  # thread: query
        self._is_trigger_available_now = False  # thread: query

    def __reduce__(self) -> tuple[type[KafkaMicroBatchStream], tuple[KafkaSourceOptions, tuple[str, ...]]]:
        """Travels to executors as what read needs."""
        return KafkaMicroBatchStream, (self._options, self._columns)

    def initialOffset(self) -> Offset:  # noqa: N802  Spark's name
        """Where a new query starts. Spark asks again when a query restarts before its first batch was done.

        It also asks twice in one run, before and after latestOffset, so the first answer has to last.
        """
        if self._initial_partition_offsets is None:
            offsets = self._reader().fetch_partition_offsets(self._options.starting_offsets, is_starting_offsets=True)
            self.info("Initial offsets: %s", offsets)
            self._initial_partition_offsets = offsets
        return KafkaSourceOffset(self._initial_partition_offsets).as_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """What the options say. Any limit but ReadAllAvailable makes latestOffset look at the options itself."""
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802  Spark's name
        """What was there when latestOffset looked last."""
        return KafkaSourceOffset(self._latest_partition_offsets).as_dict() or None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """From the first call of latestOffset on, what is there then is all there is."""
        self._is_trigger_available_now = True

    def latestOffset(self, start: Mapping[str, Mapping[str, Any]], limit: ReadLimit) -> Offset:  # noqa: N802
        """The end of the next micro-batch that begins at start; start itself when there shall be none yet."""
        from_offsets = dict(KafkaSourceOffset.of(start).partition_to_offsets)
        latest = self._fetch_latest_offsets(from_offsets)
        self._latest_partition_offsets = latest
        offsets = latest
        if not isinstance(limit, ReadAllAvailable):
            if self._delay_batch(latest, from_offsets):
                self.debug("Delaying batch as number of records available is less than minOffsetsPerTrigger")
                offsets = from_offsets
            elif self._options.max_offsets_per_trigger is not None:
                offsets = self._rate_limit(self._options.max_offsets_per_trigger, from_offsets, latest)
        return KafkaSourceOffset(offsets or from_offsets).as_dict()

    def _fetch_latest_offsets(self, known: Mapping[TopicPartition, int]) -> PartitionOffsetMap:
        if not self._is_trigger_available_now:
            return self._reader().fetch_latest_offsets(known)
        if self._all_data_for_trigger_available_now is None:
            self._all_data_for_trigger_available_now = self._reader().fetch_latest_offsets(known)
        return self._all_data_for_trigger_available_now

    def _delay_batch(self, latest: Mapping[TopicPartition, int], current: Mapping[TopicPartition, int]) -> bool:
        """Whether to wait for minOffsetsPerTrigger records, for at most maxTriggerDelay."""
        min_limit = self._options.min_offsets_per_trigger
        if min_limit is None or self._is_trigger_available_now:
            return False
        now = self._time.milliseconds()
        if now - self._last_trigger_ms < self._options.max_trigger_delay_ms:
            new_records = sum(offset - current.get(tp, 0) for tp, offset in latest.items())
            if new_records < min_limit:
                return True
        self._last_trigger_ms = now
        return False

    def _rate_limit(
        self, limit: int, from_offsets: Mapping[TopicPartition, int], until_offsets: Mapping[TopicPartition, int]
    ) -> PartitionOffsetMap:
        """At most about limit records, of each partition in proportion to what is new in it."""
        starts = dict(from_offsets)
        if set(until_offsets) - set(from_offsets):
            starts = {**self._reader().fetch_earliest_offsets(from_offsets), **starts}
        sizes = {tp: end - starts[tp] for tp, end in until_offsets.items() if tp in starts and end > starts[tp]}
        total = sum(sizes.values())
        offsets = dict(until_offsets)
        for tp, size in sizes.items():
            share = limit * (size / total)
            # Rounded up below one, so that small partitions are not starved.
            records = math.ceil(share) if share < 1 else math.floor(share)
            offsets[tp] = min(until_offsets[tp], starts[tp] + records)
        return offsets

    def partitions(
        self, start: Mapping[str, Mapping[str, Any]], end: Mapping[str, Mapping[str, Any]]
    ) -> list[InputPartition]:
        """The tasks of a micro-batch. Raises DataLossError for offsets that are gone, unless the query shall go on."""
        from_offsets = KafkaSourceOffset.of(start).partition_to_offsets
        until_offsets = KafkaSourceOffset.of(end).partition_to_offsets
        if from_offsets == until_offsets:
            return []
        reader = self._reader()
        if self._all_data_for_trigger_available_now is not None:
            self._verify_end_offset_for_trigger_available_now(until_offsets)
        ranges = reader.get_offset_ranges_from_resolved_offsets(from_offsets, until_offsets)
        return self._options.plan(self._open_transport(), ranges)

    def _verify_end_offset_for_trigger_available_now(self, until_offsets: Mapping[TopicPartition, int]) -> None:
        """A batch of such a query ends within what was there when it began."""
        prefetched = self._all_data_for_trigger_available_now or {}
        beyond = sorted(tp for tp, offset in until_offsets.items() if offset > prefetched.get(tp, -1))
        if beyond or set(prefetched) != set(until_offsets):
            report_data_loss(
                f"The micro-batch ends at {KafkaSourceOffset(until_offsets).json}, which is not within what was there "
                f"when the query with Trigger.AvailableNow began: {KafkaSourceOffset(prefetched).json}",
                self._options.fail_on_data_loss,
            )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs in an executor: Arrow batches of one task."""
        return KafkaBatchPartitionReader(partition, self._options.read_options(self._columns)).tables()

    def stop(self) -> None:
        """The query has ended: give back connections."""
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def _open_transport(self) -> Transport:
        if self._transport is None:
            self._transport = self._options.transport(self._time)
        return self._transport

    def _reader(self) -> KafkaOffsetReader:
        return self._options.offset_reader(self._open_transport(), self._time)
