"""Committed offsets, groups and transactions, out of the segments of Kafka's two internal topics.

No broker runs while they are read: every partition of ``__consumer_offsets`` and ``__transaction_state`` is read by one
task, which keeps the newest record of each key and decodes only those. The keys of one group, or of one transactional
id, are all in one partition, so nothing is shuffled.

What is written there is told by kafka.coordinator.group.GroupMetadataManager (``loadGroupsAndOffsets``) and
kafka.coordinator.transaction.TransactionLog @ 1.1.1. A record of a later offset takes the place of an earlier one of
the same key, one without a value deletes it. An offset that was committed in a transaction counts once the transaction
is committed, not while it is open, and never when it was aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.errors import KafkaException
from kafka_py.common.internals.topic import Topic
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.coordinator.group.group_metadata_records import (
    CURRENT_GROUP_KEY_SCHEMA_VERSION,
    GROUP_VALUE_SCHEMAS,
    KEY_SCHEMAS,
    read_offset_message_value,
    versioned,
)
from kafka_py.coordinator.transaction.transaction_log import TXN_KEY_SCHEMAS, TXN_VALUE_SCHEMAS
from kafka_py.coordinator.transaction.transaction_metadata import TransactionMetadata
from kafka_py.spark.file_transport import FileTransport, SegmentRange
from kafka_py.spark.jobs import frame_of
from kafka_py.spark.layout import LogDirs, ReplicaDir, position_of, scan_headers, segment_files
from kafka_py.spark.transport import ReadOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_py.common.protocol.types.struct import Struct

DEFAULT_OFFSETS_RETENTION_MS = 24 * 60 * 60 * 1000  # offsets.retention.minutes
_END_OF_YEAR_9999_MS = 253_402_300_799_999
_WHOLE = 1 << 62  # bytes of a piece: one task reads a partition from end to end

_TIMESTAMP = pa.timestamp("us", "UTC")
_PARTITIONS = pa.list_(pa.struct([("topic", pa.string()), ("partition", pa.int32())]))
_MEMBER = pa.struct(
    [
        ("memberId", pa.string()),
        ("clientId", pa.string()),
        ("clientHost", pa.string()),
        ("rebalanceTimeoutMs", pa.int32()),
        ("sessionTimeoutMs", pa.int32()),
        ("subscription", pa.list_(pa.string())),
        ("assignment", _PARTITIONS),
        ("rawSubscription", pa.binary()),
        ("rawAssignment", pa.binary()),
        ("groupInstanceId", pa.string()),
    ]
)
CONSUMER_OFFSETS_SCHEMA = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("metadata", pa.string()),
        ("commitTimestamp", _TIMESTAMP),
        ("expireTimestamp", _TIMESTAMP),
        ("leaderEpoch", pa.int32()),
    ]
)
GROUP_METADATA_SCHEMA = pa.schema(
    [
        ("group", pa.string()),
        ("state", pa.string()),
        ("protocolType", pa.string()),
        ("generation", pa.int32()),
        ("protocol", pa.string()),
        ("leader", pa.string()),
        ("members", pa.list_(_MEMBER)),
    ]
)
LAG_SCHEMA = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committedOffset", pa.int64()),
        ("logStartOffset", pa.int64()),
        ("highWatermark", pa.int64()),
        ("lag", pa.int64()),
    ]
)
TRANSACTIONS_SCHEMA = pa.schema(
    [
        ("transactionalId", pa.string()),
        ("producerId", pa.int64()),
        ("producerEpoch", pa.int16()),
        ("transactionTimeoutMs", pa.int32()),
        ("state", pa.string()),
        ("partitions", _PARTITIONS),
        ("lastUpdateTimestamp", _TIMESTAMP),
        ("startTimestamp", _TIMESTAMP),
    ]
)
Row = tuple[Any, ...]
Partitions = dict[str, dict[int, tuple[int, int]]]  # topic -> partition -> log start offset, high watermark


class NewestRecords:
    """The newest value of every key of one partition, fed with its records in the order of their offsets."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes | None] = {}  # in the order of the newest records; None: deleted

    def add(self, table: pa.RecordBatch) -> None:
        """Take in the columns ``key`` and ``value``; only the last record of each key is looked at.

        Raises KafkaException for a record without a key, which these topics cannot have.
        """
        keys = table.column("key")
        if keys.null_count:
            raise KafkaException("A record of an internal topic has no key")
        distinct = keys.dictionary_encode()
        last = np.zeros(len(distinct.dictionary), np.int64)
        last[distinct.indices.to_numpy()] = np.arange(len(keys))  # of equal indices the last one stays
        last.sort()
        places = pa.array(last)
        newest = zip(keys.take(places).to_pylist(), table.column("value").take(places).to_pylist(), strict=True)
        for key, value in newest:
            self._values.pop(key, None)
            self._values[key] = value

    def items(self) -> Iterator[tuple[bytes, bytes | None]]:
        """(key, value), the one with the newest record last; None for a key that its newest record deletes."""
        yield from self._values.items()


class NewestRecordsOf(NamedTuple):
    """Reads one partition of an internal topic up to its high watermark; picklable."""

    pieces: tuple[SegmentRange, ...]
    stable_offset: int
    high_watermark: int

    def items(self) -> Iterator[tuple[bytes, bytes | None]]:
        """As NewestRecords.items. Raises what reading raises, and KafkaException for a record without a key."""
        newest = NewestRecords()
        undecided: list[tuple[int, int]] = []
        if self.stable_offset < self.high_watermark and self.pieces:
            undecided = undecided_batches(self.pieces[0].directory, self.stable_offset, self.high_watermark)
        options = ReadOptions(("key", "value", "offset"), read_committed=True)
        for piece in self.pieces:
            for table in piece.tables(options):
                newest.add(_without(table, undecided))
        return newest.items()


def undecided_batches(directory: str, stable_offset: int, until_offset: int) -> list[tuple[int, int]]:
    """(first, last offset) of the batches of transactions that are still open at ``until_offset``.

    The last stable offset tells where the first of them begins. From there on the log cleaner touches nothing.
    """
    replica = ReplicaDir(directory, "", 0, 0, until_offset, tuple(segment_files(directory)))
    batches: dict[int, list[tuple[int, int]]] = {}
    for segment in replica.segments_between(stable_offset, until_offset):
        with open(segment.path, "rb", buffering=0) as file:
            for _, headers in scan_headers(file.fileno(), position_of(segment, stable_offset), segment.size):
                inside = (headers.base_offset >= stable_offset) & (headers.base_offset < until_offset)
                found = headers.select(inside & headers.is_transactional)
                for first, last, producer_id, is_control in zip(
                    found.base_offset.tolist(),
                    found.last_offset.tolist(),
                    found.producer_id.tolist(),
                    found.is_control.tolist(),
                    strict=True,
                ):
                    if is_control:
                        batches.pop(producer_id, None)
                    else:
                        batches.setdefault(producer_id, []).append((first, last))
    return sorted(batch for of_producer in batches.values() for batch in of_producer)


def _without(table: pa.RecordBatch, batches: Sequence[tuple[int, int]]) -> pa.RecordBatch:
    """The records whose offsets are in none of the batches."""
    if not batches:
        return table
    offset = table.column("offset").to_numpy()
    firsts, lasts = np.array(batches, np.int64).T
    at = np.searchsorted(firsts, offset, side="right") - 1
    inside = (at >= 0) & (offset <= lasts[at])
    return table.filter(pa.array(~inside))


def consumer_offset_rows(
    newest: Iterable[tuple[bytes, bytes | None]], now_ms: int, retention_ms: int = DEFAULT_OFFSETS_RETENTION_MS
) -> list[Row]:
    """Rows of CONSUMER_OFFSETS_SCHEMA: what the groups have committed, without what has expired at ``now_ms``.

    Keys of versions 0 and 1 mean the same. A value of version 0 does not say when it expires: ``retention_ms`` after
    the commit. From version 2 on that depends on the group (KIP-211), and nothing is left out.
    Raises KafkaException for a version that nobody knows, SchemaException for broken bytes.
    """
    offsets: dict[tuple[str, str, int], Row] = {}
    for key, data in newest:
        version, name = versioned(KEY_SCHEMAS, key, "offset message key")
        if version == CURRENT_GROUP_KEY_SCHEMA_VERSION:
            continue
        partition = name.get("group"), name.get("topic"), name.get("partition")
        offsets.pop(partition, None)
        if data is None:
            continue
        committed = read_offset_message_value(data)
        assert committed is not None  # there is a value
        expires = committed.expire_timestamp
        if expires is None and int.from_bytes(data[:2], "big") == 0:
            expires = committed.commit_timestamp + retention_ms
        if expires is None or expires >= now_ms:
            stamps = _microseconds(committed.commit_timestamp), None if expires is None else _microseconds(expires)
            found = committed.offset, committed.metadata, *stamps, committed.leader_epoch
            offsets[partition] = (*partition, *found)
    return list(offsets.values())


def group_metadata_rows(newest: Iterable[tuple[bytes, bytes | None]]) -> list[Row]:
    """Rows of GROUP_METADATA_SCHEMA: the groups as a coordinator that loads them finds them, Empty or Stable.

    Raises KafkaException for a version that nobody knows, SchemaException for broken bytes.
    """
    rows = []
    for key, data in newest:
        key_version, name = versioned(KEY_SCHEMAS, key, "offset message key")
        if key_version != CURRENT_GROUP_KEY_SCHEMA_VERSION or data is None:
            continue
        version, value = versioned(GROUP_VALUE_SCHEMAS, data, "group metadata message value")
        protocol_type = value.get("protocol_type")
        members = [_member(member, version, protocol_type) for member in value.get("members")]
        state = "Stable" if members else "Empty"
        described = (value.get(field) for field in ("generation", "protocol", "leader"))
        rows.append((name.get("group"), state, protocol_type, *described, members))
    return rows


def lag_rows(
    newest: Iterable[tuple[bytes, bytes | None]],
    partitions: Partitions,
    now_ms: int,
    retention_ms: int = DEFAULT_OFFSETS_RETENTION_MS,
) -> list[Row]:
    """Rows of LAG_SCHEMA; all that is known of a group must be in ``newest``. Raises as the functions above."""
    records = list(newest)
    committed = {row[:3]: row[3] for row in consumer_offset_rows(records, now_ms, retention_ms)}
    topics = {(group, topic) for group, topic, _ in committed}
    for group, *_, members in group_metadata_rows(records):
        topics |= {(group, given["topic"]) for member in members for given in member["assignment"] or ()}
    wanted = {(group, topic, partition) for group, topic in topics for partition in partitions.get(topic, ())}
    rows = []
    for group, topic, partition in sorted(wanted | committed.keys()):
        offset = committed.get((group, topic, partition))
        start, high_watermark = partitions.get(topic, {}).get(partition, (None, None))
        behind = None if offset is None or high_watermark is None else high_watermark - offset
        rows.append((group, topic, partition, offset, start, high_watermark, behind))
    return rows


def transaction_rows(newest: Iterable[tuple[bytes, bytes | None]]) -> list[Row]:
    """Rows of TRANSACTIONS_SCHEMA: what the transaction coordinator knows of every transactional id.

    Raises KafkaException for a version, IllegalStateException for a state that Kafka 1.1.1 does not know.
    """
    rows = []
    for key, data in newest:
        transactional_id = versioned(TXN_KEY_SCHEMAS, key, "transaction log message key")[1].get("transactional_id")
        if data is None:
            continue
        value = versioned(TXN_VALUE_SCHEMAS, data, "transaction log message value")[1]
        rows.append(
            (
                transactional_id,
                value.get("producer_id"),
                value.get("producer_epoch"),
                value.get("transaction_timeout"),
                TransactionMetadata.byte_to_state(value.get("transaction_status")).name,
                _partitions(value.get("transaction_partitions") or (), "partition_ids"),
                _microseconds(value.get("transaction_entry_timestamp")),
                _microseconds(value.get("transaction_start_timestamp")),
            )
        )
    return rows


def to_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """The rows as columns."""
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _member(member: Struct, version: int, protocol_type: str) -> dict[str, Any]:
    """One member of a group; what it subscribes to and got is decoded for consumers only."""
    subscription, assignment = bytes(member.get("subscription")), bytes(member.get("assignment"))
    session_timeout = member.get("session_timeout")
    decoded: dict[str, Any] = {"subscription": None, "assignment": None}
    if protocol_type == ConsumerProtocol.PROTOCOL_TYPE:
        if subscription:
            decoded["subscription"] = ConsumerProtocol.deserialize_subscription_v0(subscription).topics
        if assignment:  # members of a group that is still settling have none
            given = ConsumerProtocol.deserialize_assignment(assignment).partitions
            decoded["assignment"] = [{"topic": tp.topic, "partition": tp.partition} for tp in given]
    return {
        "memberId": member.get("member_id"),
        "clientId": member.get("client_id"),
        "clientHost": member.get("client_host"),
        "rebalanceTimeoutMs": session_timeout if version == 0 else member.get("rebalance_timeout"),
        "sessionTimeoutMs": session_timeout,
        **decoded,
        "rawSubscription": subscription,
        "rawAssignment": assignment,
        "groupInstanceId": member.get("group_instance_id") if version >= 3 else None,
    }


def _partitions(entries: Iterable[Struct], ids: str) -> list[dict[str, Any]]:
    return [{"topic": entry.get("topic"), "partition": p} for entry in entries for p in entry.get(ids)]


def _microseconds(milliseconds: int) -> int | None:
    """A time for Arrow; None for "no time" (-1), and for what lies behind the calendar's end, which means never."""
    return milliseconds * 1000 if 0 <= milliseconds <= _END_OF_YEAR_9999_MS else None


class RowsTask(NamedTuple):
    """The work of one Spark task: the rows of one partition of an internal topic."""

    newest: NewestRecordsOf
    rows: Callable[..., list[Row]]
    arguments: tuple[Any, ...]
    schema: pa.Schema

    def run(self) -> pa.RecordBatch:
        """Read, decode, and make columns of it; raises what these raise."""
        return to_arrow(self.rows(self.newest.items(), *self.arguments), self.schema)


def consumer_offsets(
    spark: SparkSession,
    log_dirs: str,
    *,
    now_ms: int | None = None,
    retention_ms: int = DEFAULT_OFFSETS_RETENTION_MS,
) -> DataFrame:
    """What the groups have committed.

    Columns: group, topic, partition, offset, metadata, commitTimestamp, expireTimestamp, leaderEpoch.
    ``log_dirs`` are directories or globs, separated by commas. Offsets that have expired at ``now_ms`` (milliseconds,
    by default the time of the call) are left out; an expireTimestamp behind the year 9999 is null, and so is one that
    the broker decides by the group (KIP-211). leaderEpoch is null where the client or an older broker told none. Which
    files are read, and up to where, is decided now, not when the DataFrame is evaluated. Raises ValueError when there
    are no such directories.
    """
    now = Time.SYSTEM.milliseconds() if now_ms is None else now_ms
    arguments = (now, retention_ms)
    return _frame(
        spark, log_dirs, Topic.GROUP_METADATA_TOPIC_NAME, consumer_offset_rows, arguments, CONSUMER_OFFSETS_SCHEMA
    )


def group_metadata(spark: SparkSession, log_dirs: str) -> DataFrame:
    """The groups: group, state, protocolType, generation, protocol, leader and an array of members.

    Subscription and assignment are decoded for groups of consumers; for others (Connect) there are only the raw bytes.
    groupInstanceId is null for members that are not static.
    A state is Empty or Stable: others are never written. For ``log_dirs`` see consumer_offsets.
    """
    return _frame(spark, log_dirs, Topic.GROUP_METADATA_TOPIC_NAME, group_metadata_rows, (), GROUP_METADATA_SCHEMA)


def transactions(spark: SparkSession, log_dirs: str) -> DataFrame:
    """The transactional ids: their producer id and epoch, state, partitions and times.

    startTimestamp is null before the first transaction. For ``log_dirs`` see consumer_offsets.
    """
    return _frame(spark, log_dirs, Topic.TRANSACTION_STATE_TOPIC_NAME, transaction_rows, (), TRANSACTIONS_SCHEMA)


def lag(
    spark: SparkSession,
    log_dirs: str,
    *,
    now_ms: int | None = None,
    retention_ms: int = DEFAULT_OFFSETS_RETENTION_MS,
) -> DataFrame:
    """How far each group is behind: group, topic, partition, committedOffset, logStartOffset, highWatermark, lag.

    A row for every partition of the topics that a group has committed offsets of or is assigned to: committedOffset and
    lag are null where it has not committed, highWatermark and lag where the partition is not in these directories.
    For the arguments see consumer_offsets.
    """
    now = Time.SYSTEM.milliseconds() if now_ms is None else now_ms
    partitions: Partitions = {}
    for (topic, partition), offsets in FileTransport(LogDirs.of(log_dirs)).partitions().items():
        partitions.setdefault(topic, {})[partition] = (offsets.log_start_offset, offsets.high_watermark)
    return _frame(
        spark, log_dirs, Topic.GROUP_METADATA_TOPIC_NAME, lag_rows, (partitions, now, retention_ms), LAG_SCHEMA
    )


def _frame(
    spark: SparkSession,
    log_dirs: str,
    topic: str,
    rows: Callable[..., list[Row]],
    arguments: tuple[Any, ...],
    schema: pa.Schema,
) -> DataFrame:
    tasks = [RowsTask(newest, rows, arguments, schema) for newest in newest_records_of(log_dirs, topic)]
    return frame_of(spark, tasks, schema)


def committed_offsets_of(log_dirs: str, group: str) -> dict[TopicPartition, int]:
    """What a group has committed, as far as the files tell. Raises ValueError when there are no such directories."""
    now = Time.SYSTEM.milliseconds()
    return {
        TopicPartition(topic, partition): offset
        for newest in newest_records_of(log_dirs, Topic.GROUP_METADATA_TOPIC_NAME)
        for name, topic, partition, offset, *_ in consumer_offset_rows(newest.items(), now)
        if name == group
    }


def newest_records_of(log_dirs: str, topic: str) -> list[NewestRecordsOf]:
    """The partitions of an internal topic that have records; raises ValueError when there are no such directories."""
    transport = FileTransport(LogDirs.of(log_dirs), read_committed=True)
    found = []
    for (_, partition), offsets in transport.partitions(lambda name, _: name == topic).items():
        start, end = offsets.log_start_offset, offsets.high_watermark
        pieces = transport.plan(topic, partition, start, end, _WHOLE, read_committed=True)
        ranges = tuple(piece for piece in pieces if isinstance(piece, SegmentRange))
        if ranges:
            found.append(NewestRecordsOf(ranges, offsets.last_stable_offset, end))
    return found
