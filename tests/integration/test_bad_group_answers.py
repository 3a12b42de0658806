"""Requests of groups and transactions that are wrong, stale, out of order or impossible: the error codes of Kafka.

Where a request cannot be read at all the connection is closed; whatever is sent, the broker goes on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kafka_py.common.requests.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from kafka_py.common.requests.delete_groups_request import DeleteGroupsRequest
from kafka_py.common.requests.describe_groups_request import DescribeGroupsRequest
from kafka_py.common.requests.end_txn_request import EndTxnRequest
from kafka_py.common.requests.find_coordinator_request import FindCoordinatorRequest
from kafka_py.common.requests.heartbeat_request import HeartbeatRequest
from kafka_py.common.requests.init_producer_id_request import InitProducerIdRequest
from kafka_py.common.requests.join_group_request import JoinGroupRequest
from kafka_py.common.requests.leave_group_request import LeaveGroupRequest
from kafka_py.common.requests.list_groups_request import ListGroupsRequest
from kafka_py.common.requests.offset_commit_request import OffsetCommitRequest
from kafka_py.common.requests.offset_delete_request import OffsetDeleteRequest
from kafka_py.common.requests.offset_fetch_request import OffsetFetchRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.sync_group_request import SyncGroupRequest
from kafka_py.common.requests.txn_offset_commit_request import TxnOffsetCommitRequest
from kafka_py.common.requests.write_txn_markers_request import WriteTxnMarkersRequest
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from tests.integration.clients import create_topic, topic_name, wait_for_leaders
from tests.integration.support import wait_until
from tests.integration.wire import Connection, codes, frame, i16, i32, request, string

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undisturbed")]

GROUP, ID = "bad-group", "bad-id"
MISSING = "no-such-topic"
SESSION_MS = 6_000
PROTOCOLS = [JoinGroupRequest.Protocol(protocol_name="range", protocol_metadata=b"")]


class Case(NamedTuple):
    """One row: its name, what is sent, the error codes of the answer."""

    name: str
    message: RequestMessage
    expected: Sequence[int]


@pytest.fixture(scope="module")
def broker(embedded_cluster: LocalCluster) -> LocalBroker:
    """Its coordinators are there and have loaded."""
    found = embedded_cluster.brokers[0]
    for kind, key in enumerate((GROUP, ID)):
        with Connection(found) as connection:
            ask = FindCoordinatorRequest(version=1, key=key, key_type=kind)
            wait_until(lambda c=connection, m=ask: codes(call(c, m)) == [0], 30, "a coordinator")  # type: ignore[misc]
    with Connection(found) as connection:
        beat = HeartbeatRequest(version=0, group_id=GROUP, generation_id=0, member_id="x")
        wait_until(lambda: codes(call(connection, beat)) == [25], 30, "a group coordinator that has loaded")
        end = EndTxnRequest(version=0, transactional_id=ID, producer_id=0, producer_epoch=0, transaction_result=True)
        wait_until(lambda: codes(call(connection, end)) == [49], 30, "a transaction coordinator that has loaded")
    return found


@pytest.fixture(scope="module")
def topic(broker: LocalBroker) -> str:
    name = create_topic(broker.address, topic_name("bad"))
    wait_for_leaders(broker.address, name, 1)
    return name


def body_of(message: RequestMessage) -> bytes:
    """The message behind its header, which in flexible versions ends with tagged fields: none."""
    end_of_header = b"\0" if message.API_KEY.request_header_version(message.version()) == 2 else b""
    return end_of_header + b"".join(bytes(part) for part in message.to_parts())


def call(connection: Connection, message: RequestMessage) -> Any:
    return connection.call(message.API_KEY.id, message.version(), body_of(message))


def join(version: int = 2, **fields: Any) -> JoinGroupRequest:
    told = {
        "group_id": GROUP,
        "session_timeout": SESSION_MS,
        "rebalance_timeout": SESSION_MS,
        "member_id": "",
        "protocol_type": "consumer",
        "group_protocols": PROTOCOLS,
    }
    return JoinGroupRequest(version=version, **{**told, **fields})


def sync(version: int = 1, **fields: Any) -> SyncGroupRequest:
    told = {"group_id": GROUP, "generation_id": 1, "member_id": "nobody", "group_assignment": []}
    return SyncGroupRequest(version=version, **{**told, **fields})


def commit(version: int = 2, topic: str = MISSING, metadata: str = "", **fields: Any) -> OffsetCommitRequest:
    partition = OffsetCommitRequest.Topic.Partition(partition=0, offset=1, metadata=metadata)
    topics = [OffsetCommitRequest.Topic(topic=topic, partitions=[partition])]
    return OffsetCommitRequest(version=version, **{"group_id": GROUP, "topics": topics, **fields})


def txn_commit(version: int = 2, topic: str = MISSING, **fields: Any) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequest.Topic.Partition(partition=0, offset=1, metadata="")
    topics = [TxnOffsetCommitRequest.Topic(topic=topic, partitions=[partition])]
    told = {"transactional_id": ID, "group_id": GROUP, "producer_id": 1, "producer_epoch": 0, "topics": topics}
    return TxnOffsetCommitRequest(version=version, **{**told, **fields})


def init(version: int = 0, transactional_id: str | None = ID, timeout: int = 1000, **fields: Any) -> Any:
    return InitProducerIdRequest(
        version=version, transactional_id=transactional_id, transaction_timeout_ms=timeout, **fields
    )


def add_partitions(topic: str = MISSING, id: str = ID) -> AddPartitionsToTxnRequest:
    topics = [AddPartitionsToTxnRequest.Topic(topic=topic, partitions=[0])]
    return AddPartitionsToTxnRequest(version=0, transactional_id=id, producer_id=1, producer_epoch=0, topics=topics)


def heartbeat(**fields: Any) -> HeartbeatRequest:
    return HeartbeatRequest(version=0, **{"group_id": GROUP, "generation_id": 1, "member_id": "nobody", **fields})


CASES = [
    Case("join without a group", join(group_id=""), [24]),
    Case("join with a short session", join(session_timeout=1), [26]),
    Case("join with a long session", join(session_timeout=2**31 - 1), [26]),
    Case("join with a negative session", join(session_timeout=-1), [26]),
    Case("join as somebody", join(member_id="somebody"), [25]),
    Case("join without protocols", join(group_protocols=[]), [23]),
    Case("join without a kind", join(protocol_type=""), [23]),
    Case("join without an id", join(version=4), [79]),
    Case("sync nobody", sync(), [25]),
    Case("sync without a group", sync(group_id=""), [24]),
    Case("sync without protocols", sync(version=5), [23]),
    Case("beat of nobody", heartbeat(), [25]),
    Case("beat without a group", heartbeat(group_id=""), [24]),
    Case("leave, nobody", LeaveGroupRequest(version=0, group_id=GROUP, member_id="nobody"), [25]),
    Case("leave, no group", LeaveGroupRequest(version=0, group_id="", member_id="nobody"), [24]),
    Case("commit for no topic", commit(), [3]),
    Case("describe nothing", DescribeGroupsRequest(version=0, group_ids=["nothing"]), [0]),
    Case("delete nothing", DeleteGroupsRequest(version=0, groups=["nothing"]), [69]),
    Case("delete the empty name", DeleteGroupsRequest(version=0, groups=[""]), [69]),
    Case("delete offsets of nothing", OffsetDeleteRequest(version=0, group_id="nothing", topics=[]), [69]),
    Case("an empty transactional id", init(transactional_id=""), [42]),
    Case("no time for a transaction", init(timeout=0), [50]),
    Case("negative time for a transaction", init(timeout=-1), [50]),
    Case("endless transactions", init(timeout=2**31 - 1), [50]),
    Case("a producer id without an epoch", init(version=3, producer_id=5, producer_epoch=-1), [42]),
    Case("an epoch without a producer id", init(version=3, producer_id=-1, producer_epoch=5), [42]),
    Case("add a partition that is not there", add_partitions(), [3]),
    Case("add a partition of an internal topic", add_partitions("__consumer_offsets"), [29]),
    Case("transactional commit for no topic", txn_commit(), [3]),
    Case("markers for nothing", WriteTxnMarkersRequest(version=0, transaction_markers=[]), []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error_codes(broker: LocalBroker, case: Case) -> None:
    with Connection(broker) as connection:
        assert codes(call(connection, case.message)) == case.expected


def test_commits_that_nobody_may_make(broker: LocalBroker, topic: str) -> None:
    with Connection(broker) as connection:
        assert codes(call(connection, commit(topic=topic, group_id="gone", generation_id=3, member_id="x"))) == [22]
        assert codes(call(connection, commit(topic=topic, metadata="x" * 4097))) == [12]
        assert codes(call(connection, commit(topic=topic, group_id=""))) == [0]  # once allowed, and still is
        assert codes(call(connection, commit(topic=topic, group_id="bad-plain"))) == [0]
        # the group is there now, without members
        told = commit(topic=topic, group_id="bad-plain", generation_id=1, member_id="nobody")
        assert codes(call(connection, told)) == [25]


def test_a_member_that_says_the_wrong_thing(broker: LocalBroker, topic: str) -> None:
    group = "bad-members"
    with Connection(broker) as connection, Connection(broker) as other:
        joined = call(connection, join(group_id=group))
        member, generation = joined.get("member_id"), joined.get("generation_id")
        assert codes(joined) == [0]
        told = {"group_id": group, "generation_id": generation, "member_id": member}
        assert codes(call(other, sync(**{**told, "generation_id": generation + 1}))) == [22]
        assert codes(call(other, heartbeat(**told))) == [27]  # it has not fetched its assignment yet
        assert codes(call(other, commit(topic=topic, **told))) == [27]
        assert codes(call(connection, sync(**told))) == [0]
        assert codes(call(other, heartbeat(**{**told, "generation_id": 99}))) == [22]
        assert codes(call(other, commit(topic=topic, **{**told, "generation_id": 0}))) == [22]
        assert codes(call(other, commit(topic=topic, group_id=group))) == [25]  # not a member, and it has some
        strange = [JoinGroupRequest.Protocol(protocol_name="strange", protocol_metadata=b"")]
        assert codes(call(other, join(group_id=group, group_protocols=strange))) == [23]
        assert codes(call(other, join(group_id=group, protocol_type="connect"))) == [23]
        assert codes(call(other, DeleteGroupsRequest(version=0, groups=[group]))) == [68]
        left = LeaveGroupRequest(version=0, group_id=group, member_id=member)
        assert codes(call(connection, left)) == [0]
        assert codes(call(connection, left)) == [25]
        assert codes(call(other, DeleteGroupsRequest(version=0, groups=[group]))) == [0]


def test_a_producer_that_says_the_wrong_thing(broker: LocalBroker, topic: str) -> None:
    with Connection(broker) as connection:
        assert codes(call(connection, add_partitions(topic, "unknown-id"))) == [49]
        given = call(connection, init(transactional_id="bad-producer"))
        producer = {"producer_id": given.get("producer_id"), "producer_epoch": given.get("producer_epoch")}

        def end(is_commit: bool, **fields: Any) -> list[int]:
            told = {"transactional_id": "bad-producer", **producer, **fields}
            return codes(call(connection, EndTxnRequest(version=0, transaction_result=is_commit, **told)))

        assert end(is_commit=True) == [48]  # there is nothing to end
        assert end(is_commit=True, producer_id=producer["producer_id"] + 1) == [49]
        assert end(is_commit=True, producer_epoch=producer["producer_epoch"] + 1) == [47]
        topics = [AddPartitionsToTxnRequest.Topic(topic=topic, partitions=[0])]
        add = AddPartitionsToTxnRequest(version=0, transactional_id="bad-producer", **producer, topics=topics)
        assert codes(call(connection, add)) == [0]
        offsets = AddOffsetsToTxnRequest(version=0, transactional_id="nobody", **producer, group_id=GROUP)
        assert codes(call(connection, offsets)) == [49]
        assert end(is_commit=True) == [0]
        assert wait_until(lambda: end(is_commit=False) == [48], 10, "the commit's end")
        # the same again, which a client may send that got no answer
        assert end(is_commit=True) == [0]
        # a newer producer of the same name fences this one
        assert codes(call(connection, init(transactional_id="bad-producer"))) == [0]
        assert codes(call(connection, add)) == [47]


def test_a_kind_of_coordinator_that_does_not_exist(broker: LocalBroker) -> None:
    with Connection(broker) as connection:
        connection.send(request(ApiKeys.FIND_COORDINATOR.id, 1, string(b"x") + b"\x07"))
        assert connection.receive() is None


def messages() -> Iterator[RequestMessage]:
    """A good message of each API in each version, of groups and producers that are not there."""
    topic = AddPartitionsToTxnRequest.Topic(topic=MISSING, partitions=[0])
    producer: dict[str, Any] = {"transactional_id": "fuzz", "producer_id": 1, "producer_epoch": 0}
    fetch = OffsetFetchRequest.Topic(topic=MISSING, partitions=[OffsetFetchRequest.Topic.Partition(partition=0)])
    makers: dict[ApiKeys, Any] = {
        ApiKeys.JOIN_GROUP: lambda v: join(v, member_id="fuzz"),
        ApiKeys.SYNC_GROUP: lambda v: sync(v, protocol_type="consumer", protocol_name="range"),
        ApiKeys.HEARTBEAT: lambda v: HeartbeatRequest(version=v, group_id=GROUP, generation_id=1, member_id="fuzz"),
        ApiKeys.LEAVE_GROUP: lambda v: LeaveGroupRequest(version=v, group_id=GROUP, member_id="fuzz"),
        ApiKeys.OFFSET_COMMIT: commit,
        ApiKeys.OFFSET_FETCH: lambda v: OffsetFetchRequest(version=v, group_id=GROUP, topics=[fetch]),
        ApiKeys.DESCRIBE_GROUPS: lambda v: DescribeGroupsRequest(version=v, group_ids=[GROUP, "x"]),
        ApiKeys.LIST_GROUPS: lambda v: ListGroupsRequest(version=v),
        ApiKeys.DELETE_GROUPS: lambda v: DeleteGroupsRequest(version=v, groups=["fuzz"]),
        ApiKeys.OFFSET_DELETE: lambda v: OffsetDeleteRequest(version=v, group_id="fuzz", topics=[]),
        ApiKeys.INIT_PRODUCER_ID: lambda v: init(v, "fuzz"),
        ApiKeys.ADD_PARTITIONS_TO_TXN: lambda v: AddPartitionsToTxnRequest(version=v, topics=[topic], **producer),
        ApiKeys.ADD_OFFSETS_TO_TXN: lambda v: AddOffsetsToTxnRequest(version=v, group_id=GROUP, **producer),
        ApiKeys.END_TXN: lambda v: EndTxnRequest(version=v, transaction_result=True, **producer),
        ApiKeys.TXN_OFFSET_COMMIT: txn_commit,
    }
    for key, make in makers.items():
        for version in range(key.latest_version() + 1):
            yield make(version)


@pytest.mark.parametrize("seed", range(4))
def test_bytes_that_are_changed_at_random_are_answered_or_cost_the_connection(broker: LocalBroker, seed: int) -> None:
    """Whatever a length, a number or a name becomes: an answer within the time, or the end of this connection."""
    chosen = random.Random(seed)
    answered = closed = 0
    for message in messages():
        key, version, body = message.API_KEY, message.version(), bytearray(body_of(message))
        for _ in range(chosen.randrange(1, 4)):
            if body:
                body[chosen.randrange(len(body))] = chosen.choice([0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256)])
        if chosen.random() < 0.2:
            del body[chosen.randrange(len(body) + 1) :]
        head = i16(key.id) + i16(version) + i32(5) + string(b"fuzz")
        with Connection(broker) as connection:
            connection.socket.settimeout(SESSION_MS / 1000 + 60)  # a changed JoinGroup may be a good one, and wait
            connection.send(frame(head + bytes(body)))
            reply = connection.receive()
            closed += reply is None
            answered += reply is not None
    assert answered > 0
    assert closed > 0
