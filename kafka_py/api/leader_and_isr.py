"""Leader and in-sync replicas of a partition, as ZooKeeper holds them.

Mirrors: core/src/main/scala/kafka/api/LeaderAndIsr.scala @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class LeaderAndIsr:
    """Leader, its epoch, the in-sync replicas, and the version of the znode they were read from.

    Mirrors: kafka.api.LeaderAndIsr
    Left out: toString -- ``__str__``
    Differs: the two-argument ``apply`` is ``create``. Not to be changed: every step makes a new one.
    """

    __slots__ = ("isr", "leader", "leader_epoch", "zk_version")

    INITIAL_LEADER_EPOCH: ClassVar[int] = 0
    INITIAL_ZK_VERSION: ClassVar[int] = 0
    NO_LEADER: ClassVar[int] = -1
    LEADER_DURING_DELETE: ClassVar[int] = -2

    def __init__(self, leader: int, leader_epoch: int, isr: list[int], zk_version: int) -> None:
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.isr = isr
        self.zk_version = zk_version

    @staticmethod
    def create(leader: int, isr: list[int]) -> LeaderAndIsr:
        """The state of a partition that has just been created."""
        return LeaderAndIsr(leader, LeaderAndIsr.INITIAL_LEADER_EPOCH, isr, LeaderAndIsr.INITIAL_ZK_VERSION)

    @staticmethod
    def during_delete(isr: list[int]) -> LeaderAndIsr:
        """The state that tells brokers that a partition is about to be deleted."""
        return LeaderAndIsr.create(LeaderAndIsr.LEADER_DURING_DELETE, isr)

    def with_zk_version(self, zk_version: int) -> LeaderAndIsr:
        """The same as read from another version of the znode."""
        return LeaderAndIsr(self.leader, self.leader_epoch, self.isr, zk_version)

    def new_leader(self, leader: int) -> LeaderAndIsr:
        """Another leader in the next epoch."""
        return self.new_leader_and_isr(leader, self.isr)

    def new_leader_and_isr(self, leader: int, isr: list[int]) -> LeaderAndIsr:
        """Another leader and other in-sync replicas in the next epoch."""
        return LeaderAndIsr(leader, self.leader_epoch + 1, isr, self.zk_version)

    @property
    def new_epoch_and_zk_version(self) -> LeaderAndIsr:
        """The same leader in the next epoch."""
        return self.new_leader_and_isr(self.leader, self.isr)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LeaderAndIsr)
            and self.leader == other.leader
            and self.leader_epoch == other.leader_epoch
            and self.isr == other.isr
            and self.zk_version == other.zk_version
        )

    def __hash__(self) -> int:
        return hash((self.leader, self.leader_epoch, self.zk_version))

    def __str__(self) -> str:
        isr = ", ".join(map(str, self.isr))
        return (
            f"LeaderAndIsr(leader={self.leader}, leaderEpoch={self.leader_epoch}, isr=List({isr}), "
            f"zkVersion={self.zk_version})"
        )

    __repr__ = __str__
