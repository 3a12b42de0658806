"""The bytes of __consumer_offsets are Kafka's, in every version, and what is printed of them."""

from __future__ import annotations

import gzip
import json
import pathlib
from typing import Any

import pytest

from kafka_py.api.api_version import KAFKA_0_9_0, KAFKA_0_10_1_IV0, KAFKA_2_1_IV0, KAFKA_2_1_IV1, ApiVersion
from kafka_py.common.errors import KafkaException, SchemaException
from kafka_py.common.offset_and_metadata import OffsetAndMetadata
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.record.memory_records import MemoryRecords
from kafka_py.common.record.simple_record import SimpleRecord
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.coordinator.group.group_metadata import Empty, GroupMetadata, Stable
from kafka_py.coordinator.group.group_metadata_message import group_metadata_value, read_group_message_value
from kafka_py.coordinator.group.group_metadata_records import (
    GROUP_METADATA_KEY_SCHEMA,
    GROUP_VALUE_SCHEMAS,
    KEY_SCHEMAS,
    OFFSET_VALUE_SCHEMAS,
    GroupMetadataKey,
    GroupTopicPartition,
    OffsetKey,
    UnknownKey,
    group_metadata_key,
    offset_commit_key,
    offset_commit_value,
    plain_batch,
    read_message_key,
    read_offset_message_value,
)
from kafka_py.coordinator.group.member_metadata import MemberMetadata
from kafka_py.testing.mock_time import MockTime

DATA = pathlib.Path(__file__).parents[2] / "data" / "protocol_golden.jsonl.gz"
SCHEMAS = {
    "OffsetCommitKey": KEY_SCHEMAS,
    "GroupMetadataKey": {2: GROUP_METADATA_KEY_SCHEMA},
    "OffsetCommitValue": OFFSET_VALUE_SCHEMAS,
    "GroupMetadataValue": GROUP_VALUE_SCHEMAS,
}
# the version of a value -> who writes it
OFFSET_WRITERS = {1: KAFKA_0_9_0, 2: KAFKA_2_1_IV0, 3: KAFKA_2_1_IV1}
GROUP_WRITERS = {0: KAFKA_0_9_0, 1: KAFKA_0_10_1_IV0, 2: KAFKA_2_1_IV0, 3: ApiVersion.latest_version()}
TP = TopicPartition("topic", 0)


def golden() -> list[dict[str, Any]]:
    """The rows of keys and values that 2.5.1 knows, as Kafka wrote them."""
    with gzip.open(DATA, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if row.get("name") in SCHEMAS and row["version"] in SCHEMAS[row["name"]]]


ROWS = golden()


def given(name: str, *cases: str) -> list[Any]:
    rows = [row for row in ROWS if row["name"] == name and (not cases or row["case"] in cases)]
    return [pytest.param(row, id=row["id"]) for row in rows]


def in_record(row: dict[str, Any]) -> bytes:
    version: int = row["version"]
    return version.to_bytes(2, "big") + bytes.fromhex(row["hex"])


def test_there_are_vectors_of_all_versions() -> None:
    found = {(row["name"], row["version"]) for row in ROWS}
    assert found == {(name, version) for name, of in SCHEMAS.items() for version in of} - {("OffsetCommitKey", 2)}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_schemas_read_and_write_kafkas_bytes(row: dict[str, Any]) -> None:
    schema: Schema = SCHEMAS[row["name"]][row["version"]]
    wire = bytes.fromhex(row["hex"])
    assert schema.read(wire, 0).to_bytes() == wire


@pytest.mark.parametrize("row", [case for case in given("OffsetCommitKey") if case.values[0]["version"] == 1])
def test_the_key_of_an_offset(row: dict[str, Any]) -> None:
    values = row["values"]
    tp = TopicPartition(values["topic"], values["partition"])
    assert offset_commit_key(values["group"], tp) == in_record(row)
    assert read_message_key(in_record(row)) == OffsetKey(1, GroupTopicPartition(values["group"], tp))


@pytest.mark.parametrize("row", given("GroupMetadataKey"))
def test_the_key_of_a_group(row: dict[str, Any]) -> None:
    assert group_metadata_key(row["values"]["group"]) == in_record(row)
    assert read_message_key(in_record(row)) == GroupMetadataKey(2, row["values"]["group"])


@pytest.mark.parametrize("row", given("OffsetCommitValue"))
def test_the_value_of_an_offset(row: dict[str, Any]) -> None:
    values, version = row["values"], row["version"]
    epoch, expire = values.get("leaderEpoch", -1), values.get("expireTimestamp", -1)
    committed = OffsetAndMetadata(
        values["offset"],
        None if epoch < 0 else epoch,
        values["metadata"],
        values["commitTimestamp"],
        None if expire < 0 else expire,
    )
    assert read_offset_message_value(in_record(row)) == committed
    if version:  # nobody writes version 0 any more
        assert offset_commit_value(committed, OFFSET_WRITERS[version]) == in_record(row)


@pytest.mark.parametrize("row", given("GroupMetadataValue", "typical"))
def test_the_value_of_a_group(row: dict[str, Any]) -> None:
    values, version = row["values"], row["version"]
    time = MockTime()
    group = read_group_message_value("g", in_record(row), time)
    assert group is not None
    assert (group.current_state, group.generation_id) == (Stable, values["generation"])
    assert (group.protocol_name, group.leader_or_null) == (values["protocol"], values["leader"])
    assert group.current_state_timestamp == values.get("currentStateTimestamp")
    expected = [(m["memberId"], m.get("groupInstanceId"), m["sessionTimeout"]) for m in values["members"]]
    members = group.all_member_metadata
    assert [(m.member_id, m.group_instance_id, m.session_timeout_ms) for m in members] == expected
    timeouts = [m.get("rebalanceTimeout", m["sessionTimeout"]) for m in values["members"]]
    assert [m.rebalance_timeout_ms for m in members] == timeouts
    assignment = {m.member_id: m.assignment for m in members}
    assert group_metadata_value(group, assignment, GROUP_WRITERS[version]) == in_record(row)


@pytest.mark.parametrize("version", range(4))
def test_a_group_without_members(version: int) -> None:
    group = GroupMetadata.load_group("g", Empty, 27, "consumer", None, None, None, [], MockTime())
    wire = group_metadata_value(group, {}, GROUP_WRITERS[version])
    since = b"\xff" * 8 if version >= 2 else b""
    assert wire == version.to_bytes(2, "big") + b"\0\x08consumer\0\0\0\x1b\xff\xff\xff\xff" + since + bytes(4)
    found = read_group_message_value("g", wire, MockTime())
    assert found is not None
    assert (found.current_state, found.current_state_timestamp) == (Empty, None)


def test_old_versions_say_nothing_of_static_members() -> None:
    member = MemberMetadata("m", "g", "static", "c", "h", 2, 1, "consumer", [("range", b"s")])
    group = GroupMetadata.load_group("g", Stable, 1, "consumer", "range", "m", None, [member], MockTime())
    for version, writer in GROUP_WRITERS.items():
        found = read_group_message_value("g", group_metadata_value(group, {"m": b"a"}, writer), MockTime())
        assert found is not None
        assert found.all_static_members == ({"static"} if version == 3 else set())


# -- Which version is written


def version_of(wire: bytes) -> int:
    return int.from_bytes(wire[:2], "big")


@pytest.mark.ported("GroupMetadataManagerTest.testSerdeOffsetCommitValue")
@pytest.mark.ported("GroupMetadataManagerTest.testSerdeOffsetCommitValueWithNoneExpireTimestamp")
@pytest.mark.parametrize("epoch", [None, 15])
def test_an_offset_is_written_as_the_cluster_reads_it(epoch: int | None) -> None:
    committed = OffsetAndMetadata(537, epoch, "metadata", 1000, None)
    for writer in ApiVersion.all_versions():
        wire = offset_commit_value(committed, writer)
        version = 1 if writer < KAFKA_2_1_IV0 else 2 if writer < KAFKA_2_1_IV1 else 3
        assert version_of(wire) == version
        # the epoch of the leader is lost on the way to old brokers
        assert read_offset_message_value(wire) == committed._replace(leader_epoch=epoch if version == 3 else None)


@pytest.mark.ported("GroupMetadataManagerTest.testSerdeOffsetCommitValueWithExpireTimestamp")
def test_an_offset_that_expires_by_itself_is_of_version_1() -> None:
    committed = OffsetAndMetadata(537, None, "metadata", 1000, 2000)
    for writer in ApiVersion.all_versions():
        wire = offset_commit_value(committed, writer)
        assert version_of(wire) == 1
        assert read_offset_message_value(wire) == committed


# -- Bytes that are none


def test_tombstones() -> None:
    assert read_offset_message_value(None) is None
    assert read_group_message_value("g", None, MockTime()) is None


def test_keys_of_later_versions_are_unknown_and_no_error() -> None:
    assert read_message_key(b"\0\x03anything") == UnknownKey(3)
    assert read_message_key(b"\0\x03") == UnknownKey(3)


@pytest.mark.parametrize("key", [b"", b"\0", b"\xff\xff"])
def test_keys_without_a_version(key: bytes) -> None:
    with pytest.raises(KafkaException, match="Unknown message key schema version"):
        read_message_key(key)


def test_values_of_versions_nobody_knows() -> None:
    with pytest.raises(KafkaException, match="Unknown offset message value schema version 4"):
        read_offset_message_value(b"\0\x04")
    with pytest.raises(KafkaException, match="Unknown group metadata message value schema version 4"):
        read_group_message_value("g", b"\0\x04", MockTime())
    with pytest.raises(SchemaException):
        read_offset_message_value(offset_commit_value(OffsetAndMetadata(1, None, "", 2), KAFKA_0_9_0)[:-1])


@pytest.mark.parametrize("count", [1, 2, 70])
@pytest.mark.parametrize("producer", [(-1, -1), (2**40, 7)])
def test_a_commits_batch_is_the_one_that_a_builder_makes(count: int, producer: tuple[int, int]) -> None:
    pairs = [(b"key %d" % i * (i + 1), b"value %d" % i * 3 * i) for i in range(count)]
    for is_transactional in {False, producer[0] >= 0}:
        built = MemoryRecords.with_records(
            *(SimpleRecord(1_700_000_000_123, key, value) for key, value in pairs),
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=0,
            is_transactional=is_transactional,
        )
        assert plain_batch(pairs, 1_700_000_000_123, *producer, is_transactional).buffer == built.buffer
