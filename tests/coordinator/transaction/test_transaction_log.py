"""The records of __transaction_state, byte for byte."""

from __future__ import annotations

import io
from typing import NamedTuple

import pytest

from kafka_py.common.errors import IllegalStateException, KafkaException, SchemaException
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.transaction.transaction_log import TransactionLog, TxnKey, UnknownKey
from kafka_py.coordinator.transaction.transaction_metadata import (
    CompleteAbort,
    CompleteCommit,
    Empty,
    Ongoing,
    PrepareAbort,
    PrepareCommit,
    TransactionMetadata,
    TransactionState,
)

PARTITIONS = {TopicPartition("topic1", 0), TopicPartition("topic1", 1)} | {
    TopicPartition("topic2", i) for i in range(3)
}
STATES = [Empty, Ongoing, PrepareCommit, CompleteCommit, PrepareAbort, CompleteAbort]
# as Apache Kafka writes them, without the two bytes of the version
GOLDEN_KEY = "000474782d31"
GOLDEN_VALUE = (
    "0000000000000fa0000100007530010000000200" + "0a746573742d746f706963" + "000000020000000100000002"
    "000c" + "746573742d746f7069632d31" + "000000020000000200000003" + "0000018bcfe5687b0000018bcfe5687b"
)
GOLDEN_NO_PARTITIONS = "0000000000000fa000010000753001ffffffff0000018bcfe5687b0000018bcfe5687b"


def metadata(state: TransactionState, producer_id: int = 5) -> TransactionMetadata:
    made = TransactionMetadata.apply("id", producer_id, 0, 1000, 0, state=state)
    made.add_partitions(() if state is Empty else PARTITIONS)
    return made


def golden() -> TransactionMetadata:
    made = TransactionMetadata.apply("tx-1", 4000, 1, 30000, 1_700_000_000_123, state=Ongoing)
    made.add_partitions(TopicPartition(*it) for it in [("test-topic-1", 3), ("test-topic", 2), ("test-topic-1", 2)])
    made.add_partitions([TopicPartition("test-topic", 1)])
    return made


@pytest.mark.ported("TransactionLogTest.shouldThrowExceptionWriteInvalidTxn")
def test_an_empty_transaction_has_no_partitions() -> None:
    made = metadata(Empty)
    made.add_partitions(PARTITIONS)
    with pytest.raises(IllegalStateException, match="not expected to have any partitions since its state is Empty"):
        TransactionLog.value_to_bytes(made.prepare_no_transit())


@pytest.mark.ported("TransactionLogTest.shouldReadWriteMessages")
def test_what_is_written_is_read() -> None:
    written = [metadata(state, number) for number, state in enumerate(STATES)]
    records = MemoryRecords.with_records(
        *(SimpleRecord(0, TransactionLog.key_to_bytes(f"id-{made.producer_id}"), value_of(made)) for made in written)
    )
    read: list[TransactionMetadata | None] = []
    for record in records.records():
        key = TransactionLog.read_txn_record_key(record.key() or b"")
        assert isinstance(key, TxnKey)
        assert str(key) == key.transactional_id == f"id-{len(read)}"
        read.append(TransactionLog.read_txn_record_value("id", record.value()))
    assert read == written


def value_of(made: TransactionMetadata) -> bytes:
    return TransactionLog.value_to_bytes(made.prepare_no_transit())


def test_bytes_are_those_of_kafka() -> None:
    assert TransactionLog.key_to_bytes("tx-1").hex() == "0000" + GOLDEN_KEY
    assert value_of(golden()).hex() == "0000" + GOLDEN_VALUE
    assert TransactionLog.read_txn_record_value("tx-1", bytes.fromhex("0000" + GOLDEN_VALUE)) == golden()
    read = TransactionLog.read_txn_record_value("tx-1", bytes.fromhex("0000" + GOLDEN_NO_PARTITIONS))
    assert read is not None
    assert read.topic_partitions == set()
    empty = TransactionMetadata.apply("tx-1", 4000, 1, 30000, 1_700_000_000_123)
    assert value_of(empty).hex() == "0000" + GOLDEN_NO_PARTITIONS.replace("7530" + "01", "7530" + "00")


def test_the_last_producer_is_not_kept() -> None:
    made = TransactionMetadata.apply("id", 5, 3, 1000, 0, last_producer_id=4, last_producer_epoch=2)
    read = TransactionLog.read_txn_record_value("id", value_of(made))
    assert read is not None
    assert (read.last_producer_id, read.last_producer_epoch) == (-1, -1)


def test_a_tombstone_has_no_value() -> None:
    assert TransactionLog.read_txn_record_value("id", None) is None


def test_bytes_that_are_no_record() -> None:
    key, value = TransactionLog.key_to_bytes("id"), value_of(golden())
    for length in range(2, len(key)):
        with pytest.raises(SchemaException):
            TransactionLog.read_txn_record_key(key[:length])
    for length in range(2, len(value)):
        with pytest.raises(SchemaException):
            TransactionLog.read_txn_record_value("id", value[:length])
    with pytest.raises(KafkaException, match="Unknown transaction log message value schema version 1"):
        TransactionLog.read_txn_record_value("id", b"\0\1" + value[2:])
    with pytest.raises(IllegalStateException, match="Unknown transaction state byte 42"):
        TransactionLog.read_txn_record_value("id", value[:16] + b"\x2a" + value[17:])


def test_a_key_of_a_later_version_is_told_apart() -> None:
    key = TransactionLog.read_txn_record_key(b"\0\1whatever")
    assert key == UnknownKey(1)
    assert str(key) == "UNKNOWN(version=1)"


class Consumed(NamedTuple):
    key: bytes | None
    value: bytes | None


@pytest.mark.ported(
    "TransactionLogTest.testTransactionMetadataParsing", changes="in the words of the formatter, which 1.1.1 has"
)
@pytest.mark.ported("TransactionLogTest.testTransactionMetadataTombstoneParsing", changes="as the one before")
def test_the_formatter_prints_a_line_for_each_id() -> None:
    made = metadata(Ongoing)
    formatter, out = TransactionLog.TransactionLogMessageFormatter(), io.BytesIO()
    key = TransactionLog.key_to_bytes("id")
    formatter.write_to(Consumed(None, b"no key"), out)
    formatter.write_to(Consumed(b"\0\7later", b""), out)
    formatter.write_to(Consumed(key, None), out)
    made.topic_partitions.intersection_update({TopicPartition("topic1", 1)})
    formatter.write_to(Consumed(key, value_of(made)), out)
    assert out.getvalue().decode() == f"id::NULL\nid::{made}\n"
