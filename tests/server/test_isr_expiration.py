"""Which followers the leader holds to be out of sync, after what they fetched and when."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.cluster.partition import Partition
from kafka_py.common.topic_partition import TopicPartition
from tests.server.replica_support import Env, records

TP = TopicPartition("foo", 0)
LEADER, FOLLOWER = 1, 2
MAX_LAG_MS = 100
END = 15


class Leader:
    """A partition with END records, led here, and one follower that is in sync at the beginning."""

    def __init__(self, env: Env) -> None:
        self.env = env
        env.become_leader(TP, [LEADER, FOLLOWER])
        for _ in range(END):
            env.append(TP, records(b"a"), acks=1)
        self.partition: Partition = env.replica_manager.get_or_create_partition(TP)
        assert {replica.broker_id for replica in self.partition.in_sync_replicas} == {LEADER, FOLLOWER}

    def fetched(self, offset: int) -> None:
        """The follower asks for what comes from there on."""
        self.env.fetch(TP, offset, replica_id=FOLLOWER)

    @property
    def out_of_sync(self) -> set[int]:
        leader = self.partition.leader_replica_if_local
        assert leader is not None
        return {replica.broker_id for replica in self.partition.get_out_of_sync_replicas(leader, MAX_LAG_MS)}


@pytest.fixture
def leader(tmp_path: pathlib.Path) -> Iterator[Leader]:
    env = Env(tmp_path, alive=(LEADER, FOLLOWER))
    yield Leader(env)
    env.close()


@pytest.mark.ported("ISRExpirationTest.testIsrExpirationForStuckFollowers")
def test_a_follower_that_had_everything_and_fetches_no_more(leader: Leader) -> None:
    leader.fetched(END)
    assert leader.out_of_sync == set()
    leader.env.time.sleep(150)
    assert leader.out_of_sync == {FOLLOWER}


@pytest.mark.ported("ISRExpirationTest.testIsrExpirationIfNoFetchRequestMade")
def test_a_follower_that_never_fetches(leader: Leader) -> None:
    assert leader.out_of_sync == set()
    leader.env.time.sleep(150)
    assert leader.out_of_sync == {FOLLOWER}


@pytest.mark.ported("ISRExpirationTest.testIsrExpirationForSlowFollowers")
def test_a_follower_that_fetches_and_does_not_come_to_the_end(leader: Leader) -> None:
    leader.fetched(10)
    assert leader.out_of_sync == set()
    leader.env.time.sleep(75)
    leader.fetched(11)
    assert leader.out_of_sync == set()
    leader.env.time.sleep(75)
    assert leader.out_of_sync == {FOLLOWER}
    leader.fetched(END)
    assert leader.out_of_sync == set()
