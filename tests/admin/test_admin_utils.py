"""Assignment of replicas; ported from Kafka's AdminTest and AdminRackAwareTest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from kafka_py.admin.admin_utils import AdminUtils
from kafka_py.admin.broker_metadata import BrokerMetadata
from kafka_py.common.errors import (
    AdminOperationException,
    InvalidPartitionsException,
    InvalidReplicationFactorException,
)

SIX = {0: "rack1", 1: "rack2", 2: "rack2", 3: "rack3", 4: "rack3", 5: "rack1"}


def brokers(racks: Mapping[int, str | None]) -> list[BrokerMetadata]:
    return [BrokerMetadata(broker_id, rack) for broker_id, rack in sorted(racks.items())]


def without_racks(*ids: int) -> list[BrokerMetadata]:
    return [BrokerMetadata(broker_id) for broker_id in ids]


@pytest.mark.ported("AdminTest.testReplicaAssignment")
def test_the_table_of_the_originals_comment() -> None:
    assignment = AdminUtils.assign_replicas_to_brokers(without_racks(0, 1, 2, 3, 4), 10, 3, 0)
    assert assignment == {
        0: [0, 1, 2],
        1: [1, 2, 3],
        2: [2, 3, 4],
        3: [3, 4, 0],
        4: [4, 0, 1],
        5: [0, 2, 3],
        6: [1, 3, 4],
        7: [2, 4, 0],
        8: [3, 0, 1],
        9: [4, 1, 2],
    }


@pytest.mark.ported("AdminTest.testReplicaAssignment")
def test_assignments_that_cannot_be() -> None:
    with pytest.raises(
        InvalidReplicationFactorException, match="Replication factor: 3 larger than available brokers: 1"
    ):
        AdminUtils.assign_replicas_to_brokers(without_racks(0), 1, 3)
    with pytest.raises(InvalidReplicationFactorException, match="must be larger than 0"):
        AdminUtils.assign_replicas_to_brokers(without_racks(0), 1, 0)
    with pytest.raises(InvalidPartitionsException):
        AdminUtils.assign_replicas_to_brokers(without_racks(0), 0, 1)
    with pytest.raises(AdminOperationException, match="Not all brokers have rack information"):
        AdminUtils.assign_replicas_to_brokers(brokers({0: "a", 1: None}), 1, 1)


def test_one_broker_and_a_random_start() -> None:
    assert AdminUtils.assign_replicas_to_brokers(without_racks(7), 3, 1) == {0: [7], 1: [7], 2: [7]}
    starts = {AdminUtils.assign_replicas_to_brokers(without_racks(0, 1, 2), 1, 1)[0][0] for _ in range(100)}
    assert starts == {0, 1, 2}


def test_added_partitions_go_on_where_the_others_end() -> None:
    whole = AdminUtils.assign_replicas_to_brokers(without_racks(0, 1, 2, 3, 4), 10, 3, 0)
    added = AdminUtils.assign_replicas_to_brokers(without_racks(0, 1, 2, 3, 4), 4, 3, 0, 6)
    assert list(added) == [6, 7, 8, 9]
    assert [replicas[0] for replicas in added.values()] == [whole[partition][0] for partition in added]


@pytest.mark.ported("AdminRackAwareTest.testGetRackAlternatedBrokerListAndAssignReplicasToBrokers")
def test_rack_alternated_list_and_its_assignment() -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert AdminUtils.get_rack_alternated_broker_list(racks) == [0, 3, 1, 5, 4, 2]
    assert AdminUtils.get_rack_alternated_broker_list({**racks, 6: "rack1"}) == [0, 3, 1, 5, 4, 2, 6]
    assert AdminUtils.get_inverse_map({5: "b", 1: "a", 0: "b"}) == {"a": [1], "b": [0, 5]}
    assert AdminUtils.assign_replicas_to_brokers(brokers(racks), 7, 3, 0, 0) == {
        0: [0, 3, 1],
        1: [3, 1, 5],
        2: [1, 5, 4],
        3: [5, 4, 2],
        4: [4, 2, 0],
        5: [2, 0, 3],
        6: [0, 4, 2],
    }


@pytest.mark.ported("AdminRackAwareTest.testAssignmentWithRackAware")
@pytest.mark.parametrize(
    ("racks", "partitions", "factor", "start", "first", "even"),
    [
        (SIX, 6, 3, 2, 0, True),
        (SIX, 6, 3, -1, -1, True),
        (SIX, 13, 3, 0, 0, False),
        ({0: "rack1", 1: "rack1", 2: "rack2", 3: "rack3", 4: "rack3", 5: "rack1"}, 12, 3, -1, -1, False),
        (SIX, 12, 2, -1, -1, True),
        ({broker + 6: rack for broker, rack in SIX.items()}, 12, 2, -1, 12, True),
        ({0: "rack1", 1: "rack2", 4: "rack3"}, 3, 2, -1, -1, True),
        ({**SIX, **{b + 6: r for b, r in SIX.items()}}, 96, 3, -1, -1, True),
        (dict.fromkeys(range(6), "rack1"), 6, 3, -1, -1, False),
        ({0: "rack1", 1: "rack2", 2: "rack2", 3: "rack3", 4: "rack3", 5: "rack2"}, 6, 5, -1, -1, False),
        ({0: "a", 1: "b", 2: "c", 3: "a", 4: "a"}, 6, 4, 2, -1, False),
    ],
)
def test_rack_aware_assignments_are_spread(
    racks: dict[int, str], partitions: int, factor: int, start: int, first: int, even: bool
) -> None:
    assignment = AdminUtils.assign_replicas_to_brokers(brokers(racks), partitions, factor, start, first)
    assert list(assignment) == list(range(max(first, 0), max(first, 0) + partitions))
    leaders, replicas = Counter[int](), Counter[int]()
    for of_partition in assignment.values():
        assert len(set(of_partition)) == factor
        assert len({racks[broker] for broker in of_partition}) == min(factor, len(set(racks.values())))
        leaders[of_partition[0]] += 1
        replicas.update(of_partition)
    if even:
        assert set(leaders.values()) == {partitions // len(racks)}
        assert set(replicas.values()) == {partitions * factor // len(racks)}


def test_parse_replica_assignment() -> None:
    assert AdminUtils.parse_replica_assignment("1:2, 2 :3", 5) == {5: [1, 2], 6: [2, 3]}
    with pytest.raises(ValueError, match="invalid literal"):
        AdminUtils.parse_replica_assignment("1:x", 0)


def test_a_follower_never_stands_on_its_leader() -> None:
    for shift in range(12):
        for first in range(4):
            places = [AdminUtils.replica_index(first, shift, j, 4) for j in range(3)]
            assert sorted([first, *places]) == [0, 1, 2, 3]
