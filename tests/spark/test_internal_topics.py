"""Committed offsets, groups and transactions out of records as Kafka writes them, from 0.9 to 2.5."""

from __future__ import annotations

import datetime
import pathlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kafka_py.clients.consumer.internals.consumer_protocol import ConsumerProtocol
from kafka_py.common.errors import IllegalStateException, KafkaException, SchemaException
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.coordinator.group.group_metadata_records import (
    GROUP_METADATA_KEY_SCHEMA,
    GROUP_VALUE_SCHEMAS,
    OFFSET_COMMIT_KEY_SCHEMA,
    OFFSET_VALUE_SCHEMAS,
)
from kafka_py.coordinator.transaction.transaction_log import TXN_KEY_SCHEMAS, TXN_VALUE_SCHEMAS
from kafka_py.spark.arrow_encoder import RecordBatchEncoder
from kafka_py.spark.internal_topics import (
    CONSUMER_OFFSETS_SCHEMA,
    GROUP_METADATA_SCHEMA,
    LAG_SCHEMA,
    TRANSACTIONS_SCHEMA,
    NewestRecords,
    consumer_offset_rows,
    consumer_offsets,
    group_metadata,
    group_metadata_rows,
    lag,
    lag_rows,
    newest_records_of,
    to_arrow,
    transaction_rows,
    transactions,
)
from tests.log.log_harness import Logs, as_leader, log_config

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Record = tuple[bytes | None, bytes | None]
NOW = 1_500_000_000_000
LATER = NOW + 60_000


def struct(schema: Schema, **fields: Any) -> Struct:
    made = Struct(schema)
    for name, value in fields.items():
        made.set(name, value)
    return made


def versioned(version: int, schema: Schema, **fields: Any) -> bytes:
    return version.to_bytes(2, "big") + struct(schema, **fields).to_bytes()


def offset_key(group: str, topic: str, partition: int, version: int = 1) -> bytes:
    return versioned(version, OFFSET_COMMIT_KEY_SCHEMA, group=group, topic=topic, partition=partition)


def offset_value(offset: int, metadata: str = "", commit: int = NOW, expire: int = LATER) -> bytes:
    fields = {"offset": offset, "metadata": metadata, "commit_timestamp": commit, "expire_timestamp": expire}
    return versioned(1, OFFSET_VALUE_SCHEMAS[1], **fields)


def offset_value_v2(offset: int) -> bytes:
    return versioned(2, OFFSET_VALUE_SCHEMAS[2], offset=offset, metadata="", commit_timestamp=NOW)


def offset_value_v3(offset: int, epoch: int) -> bytes:
    fields = {"offset": offset, "leader_epoch": epoch, "metadata": "m", "commit_timestamp": NOW}
    return versioned(3, OFFSET_VALUE_SCHEMAS[3], **fields)


def offset_value_v0(offset: int, timestamp: int) -> bytes:
    return versioned(0, OFFSET_VALUE_SCHEMAS[0], offset=offset, metadata="", timestamp=timestamp)


def group_key(group: str) -> bytes:
    return versioned(2, GROUP_METADATA_KEY_SCHEMA, group=group)


def member(version: int, name: str, subscription: bytes, assignment: bytes) -> Struct:
    schema = GROUP_VALUE_SCHEMAS[version].fields_by_name["members"].definition.type.type  # type: ignore[attr-defined]
    fields: dict[str, Any] = {"member_id": name, "client_id": "c", "client_host": "/127.0.0.1"}
    if version > 0:
        fields["rebalance_timeout"] = 300_000
    if version >= 3:
        fields["group_instance_id"] = f"static-{name}" if name == "m1" else None
    return struct(schema, **fields, session_timeout=10_000, subscription=subscription, assignment=assignment)


def group_value(version: int, protocol_type: str, members: list[Struct], **more: Any) -> bytes:
    fields = {"protocol_type": protocol_type, "generation": 3, "protocol": "range", "leader": "m1", **more}
    if version >= 2:
        fields["current_state_timestamp"] = NOW
    return versioned(version, GROUP_VALUE_SCHEMAS[version], members=members, **fields)


def subscription(*topics: str, version: int = 0) -> bytes:
    return versioned(version, ConsumerProtocol.SUBSCRIPTION_V0, topics=list(topics), user_data=None)


def assignment(**partitions: list[int]) -> bytes:
    entry = ConsumerProtocol.ASSIGNMENT_V0.fields_by_name["topic_partitions"].definition.type.type  # type: ignore[attr-defined]
    entries = [struct(entry, topic=topic, partitions=ids) for topic, ids in partitions.items()]
    return versioned(0, ConsumerProtocol.ASSIGNMENT_V0, topic_partitions=entries, user_data=b"x")


def txn_key(name: str) -> bytes:
    return versioned(0, TXN_KEY_SCHEMAS[0], transactional_id=name)


def txn_value(status: int, partitions: dict[str, list[int]] | None, start: int = NOW) -> bytes:
    entry = TXN_VALUE_SCHEMAS[0].fields_by_name["transaction_partitions"].definition.type.type  # type: ignore[attr-defined]
    given = partitions and [struct(entry, topic=topic, partition_ids=ids) for topic, ids in partitions.items()]
    fields = {"producer_id": 4000, "producer_epoch": 7, "transaction_timeout": 60_000, "transaction_status": status}
    stamps = {"transaction_entry_timestamp": LATER, "transaction_start_timestamp": start}
    return versioned(0, TXN_VALUE_SCHEMAS[0], **fields, transaction_partitions=given, **stamps)


def newest(*batches: list[Record]) -> NewestRecords:
    """The records in as many Arrow batches."""
    found = NewestRecords()
    for batch in batches:
        keys, values = zip(*batch, strict=True)
        columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
        found.add(pa.RecordBatch.from_arrays(columns, ["key", "value"]))
    return found


def committed(*batches: list[Record], now: int = NOW, retention: int = 1000) -> dict[tuple[str, str, int], int]:
    rows = consumer_offset_rows(newest(*batches).items(), now, retention)
    return {(row[0], row[1], row[2]): row[3] for row in rows}


A, B = offset_key("g", "t", 0), offset_key("g", "t", 1)


@pytest.mark.parametrize("split", [0, 1, 2, 3])
def test_the_newest_record_of_a_key_counts(split: int) -> None:
    records: list[Record] = [(A, offset_value(1)), (B, offset_value(5)), (A, offset_value(2)), (A, offset_value(9))]
    batches = [records[:split], records[split:]] if split else [records]
    assert committed(*batches) == {("g", "t", 0): 9, ("g", "t", 1): 5}


def test_a_record_without_a_value_deletes_until_the_next_commit() -> None:
    assert committed([(A, offset_value(1)), (B, offset_value(1)), (A, None)]) == {("g", "t", 1): 1}
    assert committed([(A, None), (A, offset_value(3))]) == {("g", "t", 0): 3}


def test_keys_of_both_versions_are_one_key() -> None:
    old = offset_key("g", "t", 0, version=0)
    assert committed([(old, offset_value(1)), (A, offset_value(2))]) == {("g", "t", 0): 2}
    assert committed([(A, offset_value(2)), (old, offset_value(1))]) == {("g", "t", 0): 1}
    assert committed([(old, offset_value(1)), (A, offset_value(2)), (old, None)]) == {}
    assert committed([(A, offset_value(2)), (old, offset_value(1)), (A, offset_value(3))]) == {("g", "t", 0): 3}


def test_expired_offsets_are_left_out() -> None:
    records: list[Record] = [(A, offset_value(1, expire=NOW - 1)), (B, offset_value(2, expire=NOW))]
    assert committed(records) == {("g", "t", 1): 2}
    assert committed([*records, (A, offset_value(3, expire=NOW + 1))]) == {("g", "t", 0): 3, ("g", "t", 1): 2}
    assert committed([(B, offset_value(9)), (B, offset_value(2, expire=NOW - 1))]) == {}


def test_values_of_version_0_expire_after_the_retention() -> None:
    records: list[Record] = [(A, offset_value_v0(1, NOW - 1000)), (B, offset_value_v0(2, NOW - 1001))]
    assert committed(records, retention=1000) == {("g", "t", 0): 1}
    row = consumer_offset_rows(newest(records).items(), NOW, 1000)[0]
    assert row[5:] == ((NOW - 1000) * 1000, NOW * 1000, None)


def test_columns_of_committed_offsets() -> None:
    never = offset_value(7, "wörds", expire=2**63 - 1)
    records: list[Record] = [(A, never), (group_key("g"), group_value(1, "consumer", []))]
    table = to_arrow(consumer_offset_rows(newest(records).items(), NOW), CONSUMER_OFFSETS_SCHEMA)
    assert table.schema == CONSUMER_OFFSETS_SCHEMA
    at = datetime.datetime.fromtimestamp(NOW / 1000, datetime.UTC)
    assert table.to_pylist() == [
        {
            "group": "g",
            "topic": "t",
            "partition": 0,
            "offset": 7,
            "metadata": "wörds",
            "commitTimestamp": at,
            "expireTimestamp": None,  # behind the end of the calendar
            "leaderEpoch": None,
        }
    ]


def test_offsets_without_a_time_of_expiry_are_the_groups_business() -> None:
    records: list[Record] = [
        (A, offset_value_v2(1)),
        (B, offset_value_v3(2, 7)),
        (offset_key("g", "t", 2), offset_value_v3(3, -1)),
    ]
    later = NOW + 10 * 365 * 24 * 3600 * 1000
    table = to_arrow(consumer_offset_rows(newest(records).items(), later, 1000), CONSUMER_OFFSETS_SCHEMA)
    rows = [(row["offset"], row["metadata"], row["expireTimestamp"], row["leaderEpoch"]) for row in table.to_pylist()]
    assert rows == [(1, "", None, None), (2, "m", None, 7), (3, "m", None, None)]


@pytest.mark.parametrize("version", range(4))
def test_group_metadata(version: int) -> None:
    consumers = [
        member(version, "m1", subscription("a", "b"), assignment(a=[0, 2], b=[1])),
        member(version, "m2", subscription("a", version=1), b""),
    ]
    records: list[Record] = [
        (group_key("gone"), group_value(version, "consumer", [])),
        (group_key("g"), group_value(version, "consumer", consumers)),
        (A, offset_value(1)),
        (group_key("empty"), group_value(version, "consumer", [], protocol=None, leader=None)),
        (group_key("connect"), group_value(version, "connect", [member(version, "w", b"\xff\xff", b"\0")])),
        (group_key("gone"), None),
    ]
    table = to_arrow(group_metadata_rows(newest(records).items()), GROUP_METADATA_SCHEMA)
    groups = {row["group"]: row for row in table.to_pylist()}
    assert list(groups) == ["g", "empty", "connect"]
    first, second = groups["g"].pop("members")
    assert groups["g"] == {
        "group": "g",
        "state": "Stable",
        "protocolType": "consumer",
        "generation": 3,
        "protocol": "range",
        "leader": "m1",
    }
    assert (first["memberId"], first["clientId"], first["clientHost"]) == ("m1", "c", "/127.0.0.1")
    assert (first["sessionTimeoutMs"], first["rebalanceTimeoutMs"]) == (10_000, 300_000 if version else 10_000)
    assert (first["groupInstanceId"], second["groupInstanceId"]) == ("static-m1" if version == 3 else None, None)
    assert first["subscription"] == ["a", "b"]
    assert [(p["topic"], p["partition"]) for p in first["assignment"]] == [("a", 0), ("a", 2), ("b", 1)]
    assert (second["subscription"], second["assignment"]) == (["a"], None)
    assert (groups["empty"]["state"], groups["empty"]["leader"], groups["empty"]["members"]) == ("Empty", None, [])
    worker = groups["connect"]["members"][0]
    assert (worker["subscription"], worker["assignment"]) == (None, None)
    assert (worker["rawSubscription"], worker["rawAssignment"]) == (b"\xff\xff", b"\0")


def test_lag() -> None:
    members = [
        member(1, "m1", subscription("t", "u"), assignment(t=[0, 1], u=[0])),
        member(1, "m2", subscription("u"), b""),
    ]
    records: list[Record] = [
        (A, offset_value(5)),
        (offset_key("g", "t", 9), offset_value(6)),
        (offset_key("g", "gone", 0), offset_value(7)),
        (offset_key("h", "t", 1), offset_value(12)),
        (offset_key("i", "t", 1), offset_value(12, expire=NOW - 1)),
        (group_key("g"), group_value(1, "consumer", members)),
    ]
    partitions = {"t": {0: (2, 20), 1: (0, 10)}, "u": {0: (0, 3)}, "other": {0: (0, 3)}}
    table = to_arrow(lag_rows(newest(records).items(), partitions, NOW), LAG_SCHEMA)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("g", "gone", 0, 7, None, None, None),
        ("g", "t", 0, 5, 2, 20, 15),
        ("g", "t", 1, None, 0, 10, None),
        ("g", "t", 9, 6, None, None, None),
        ("g", "u", 0, None, 0, 3, None),
        ("h", "t", 0, None, 2, 20, None),
        ("h", "t", 1, 12, 0, 10, -2),
    ]


def test_transactions() -> None:
    records: list[Record] = [
        (txn_key("a"), txn_value(1, {"t": [0, 1], "u": [5]})),
        (txn_key("b"), txn_value(0, None, start=-1)),
        (txn_key("c"), txn_value(4, {"t": [0]})),
        (txn_key("c"), None),
        (txn_key("a"), txn_value(3, {"t": [1]})),
    ]
    table = to_arrow(transaction_rows(newest(records).items()), TRANSACTIONS_SCHEMA)
    empty, aborting = table.to_pylist()
    assert (aborting["transactionalId"], aborting["producerId"], aborting["producerEpoch"]) == ("a", 4000, 7)
    assert (aborting["state"], aborting["transactionTimeoutMs"]) == ("PrepareAbort", 60_000)
    assert aborting["partitions"] == [{"topic": "t", "partition": 1}]
    assert aborting["lastUpdateTimestamp"] == datetime.datetime.fromtimestamp(LATER / 1000, datetime.UTC)
    assert (empty["state"], empty["partitions"], empty["startTimestamp"]) == ("Empty", [], None)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (versioned(3, GROUP_METADATA_KEY_SCHEMA, group="g"), b"", "Unknown offset message key schema version 3"),
        (b"", b"", "Unknown offset message key"),
        (A, b"\0\4rest", "Unknown offset message value schema version 4"),
        (group_key("g"), b"\0\4rest", "Unknown group metadata message value schema version 4"),
    ],
)
def test_unknown_versions_are_refused(key: bytes, value: bytes, text: str) -> None:
    records = newest([(key, value)])

    def both() -> None:
        consumer_offset_rows(records.items(), NOW)
        group_metadata_rows(records.items())

    with pytest.raises(KafkaException, match=text):
        both()


def test_broken_records_are_refused() -> None:
    with pytest.raises(KafkaException, match="has no key"):
        newest([(None, b"x")])
    with pytest.raises(SchemaException):
        consumer_offset_rows(newest([(A, offset_value(1)[:-1])]).items(), NOW)
    with pytest.raises(IllegalStateException, match="Unknown transaction state byte 9"):
        transaction_rows(newest([(txn_key("a"), txn_value(9, None))]).items())
    with pytest.raises(SchemaException, match="Unsupported subscription version: -1"):
        group_metadata_rows(
            newest([(group_key("g"), group_value(0, "consumer", [member(0, "m", b"\xff\xff", b"")]))]).items()
        )


OFFSETS_TOPIC, TXN_TOPIC = "__consumer_offsets", "__transaction_state"


class InternalTopic:
    """A partition of an internal topic, written by Log, as the coordinators write it."""

    def __init__(self, home: pathlib.Path, topic: str, partition: int) -> None:
        self.logs = Logs(home)
        self.logs.dir = home / "data" / f"{topic}-{partition}"
        self.log = self.logs.create(log_config(segment_bytes=400))
        self.home = self.logs.dir.parent
        self._sequences: dict[int, int] = {}

    def plain(self, *records: Record) -> None:
        as_leader(self.log, MemoryRecords.with_records(*(SimpleRecord(NOW, *record) for record in records)))

    def in_transaction(self, pid: int, *records: Record) -> None:
        sequence = self._sequences.get(pid, 0)
        self._sequences[pid] = sequence + len(records)
        made = [SimpleRecord(NOW, *record) for record in records]
        as_leader(
            self.log,
            MemoryRecords.with_transactional_records(*made, producer_id=pid, producer_epoch=0, base_sequence=sequence),
        )

    def end(self, pid: int, type_: ControlRecordType) -> None:
        as_leader(self.log, self.logs.end_txn(type_, pid, 0), from_client=False)

    def up_to(self, offset: int | None = None) -> str:
        """The log directory, with the partition's high watermark at the offset or the log's end."""
        high_watermark = self.log.log_end_offset if offset is None else offset
        name = self.logs.dir.name.rpartition("-")
        line = f"{name[0]} {name[2]} {high_watermark}"
        (self.home / "replication-offset-checkpoint").write_text(f"0\n1\n{line}\n")
        return str(self.home)


@pytest.fixture
def offsets_topic(tmp_path: pathlib.Path) -> Iterator[InternalTopic]:
    made = InternalTopic(tmp_path, OFFSETS_TOPIC, 3)
    yield made
    made.logs.close()


def in_files(log_dir: str) -> dict[int, int]:
    """Partition of topic t -> the offset that group g committed."""
    rows = [
        row for part in newest_records_of(log_dir, OFFSETS_TOPIC) for row in consumer_offset_rows(part.items(), NOW)
    ]
    return {row[2]: row[3] for row in rows}


def commit(partition: int, offset: int) -> Record:
    return offset_key("g", "t", partition), offset_value(offset)


def test_offsets_count_below_the_high_watermark(offsets_topic: InternalTopic) -> None:
    for i in range(40):
        offsets_topic.plain(commit(i % 2, i), commit(2, 100 + i))
    assert len(offsets_topic.log.log_segments) > 3
    assert in_files(offsets_topic.up_to()) == {0: 38, 1: 39, 2: 139}
    assert in_files(offsets_topic.up_to(21)) == {0: 10, 1: 9, 2: 109}
    assert in_files(offsets_topic.up_to(0)) == {}


def test_offsets_in_transactions_count_when_committed(offsets_topic: InternalTopic) -> None:
    offsets_topic.plain(commit(0, 1), commit(1, 1), commit(2, 1), commit(3, 1))  # offsets 0 to 3
    offsets_topic.in_transaction(7, commit(0, 2), commit(1, 2))
    offsets_topic.in_transaction(8, commit(2, 2))
    offsets_topic.plain(commit(1, 3))  # newer than the transaction's, whenever that is committed
    before = offsets_topic.log.log_end_offset
    assert in_files(offsets_topic.up_to()) == {0: 1, 1: 3, 2: 1, 3: 1}
    offsets_topic.end(7, ControlRecordType.COMMIT)
    offsets_topic.end(8, ControlRecordType.ABORT)
    offsets_topic.in_transaction(8, commit(3, 2))
    offsets_topic.plain(commit(4, 9))  # behind the last stable offset, and no part of a transaction
    assert in_files(offsets_topic.up_to()) == {0: 2, 1: 3, 2: 1, 3: 1, 4: 9}
    assert in_files(offsets_topic.up_to(before)) == {0: 1, 1: 3, 2: 1, 3: 1}
    offsets_topic.end(8, ControlRecordType.COMMIT)
    assert in_files(offsets_topic.up_to()) == {0: 2, 1: 3, 2: 1, 3: 2, 4: 9}


@pytest.mark.slow
@pytest.mark.spark
def test_offsets_groups_and_lag_as_data_frames(spark: SparkSession, offsets_topic: InternalTopic) -> None:
    members = [member(1, "m1", subscription("t"), assignment(t=[0, 1]))]
    offsets_topic.plain(commit(0, 5), commit(9, 5), (group_key("g"), group_value(1, "consumer", members)))
    log_dir = offsets_topic.up_to()
    (offsets_topic.home / "t-0").mkdir()
    twenty = RecordBatchEncoder().encode(pa.table({"value": ["x"] * 20}))
    (offsets_topic.home / "t-0" / f"{0:020}.log").write_bytes(twenty)
    checkpoint = offsets_topic.home / "replication-offset-checkpoint"
    checkpoint.write_text("0\n2\nt 0 20\n__consumer_offsets 3 3\n")
    found = consumer_offsets(spark, log_dir, now_ms=NOW).orderBy("partition").collect()
    assert [tuple(row)[:5] for row in found] == [("g", "t", 0, 5, ""), ("g", "t", 9, 5, "")]
    assert consumer_offsets(spark, log_dir).count() == 0  # they expired years ago
    row = group_metadata(spark, log_dir).selectExpr("group", "members.assignment[0].partition").collect()[0]
    assert tuple(row) == ("g", [0, 1])
    lags = lag(spark, log_dir, now_ms=NOW).collect()
    assert [tuple(row) for row in lags] == [("g", "t", 0, 5, 0, 20, 15), ("g", "t", 9, 5, None, None, None)]
    assert transactions(spark, log_dir).count() == 0


@pytest.mark.slow
@pytest.mark.spark
def test_transactions_as_a_data_frame(spark: SparkSession, tmp_path: pathlib.Path) -> None:
    topic = InternalTopic(tmp_path, TXN_TOPIC, 0)
    topic.plain((txn_key("a"), txn_value(1, {"t": [0, 1]})), (txn_key("b"), txn_value(4, {"t": [2]})))
    rows = transactions(spark, topic.up_to()).orderBy("transactionalId").collect()
    topic.logs.close()
    assert [(row["transactionalId"], row["producerId"], row["state"]) for row in rows] == [
        ("a", 4000, "Ongoing"),
        ("b", 4000, "CompleteCommit"),
    ]
    assert [tuple(partition) for partition in rows[0]["partitions"]] == [("t", 0), ("t", 1)]
    assert rows[0]["startTimestamp"].timestamp() == NOW / 1000
