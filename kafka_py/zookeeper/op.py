"""The operations of a transaction in ZooKeeper, and what became of each.

Mirrors: org.apache.zookeeper.Op, org.apache.zookeeper.OpResult; kafka.zookeeper.ZkOp and its case classes
         (core/src/main/scala/kafka/zookeeper/ZooKeeperClient.scala @ 2.5.1)
Read next: zookeeper/zoo_keeper.py (multi)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_py.zookeeper.keeper_exception import Code
from kafka_py.zookeeper.zoo_defs import ACL, CreateMode, Stat


@dataclass(frozen=True)
class ZkOp:
    """One operation of a transaction.

    Differs: kafka.zookeeper.ZkOp of 2.5.1 makes an org.apache.zookeeper.Op of itself; here the handle takes it so.
    """

    path: str


@dataclass(frozen=True)
class CreateOp(ZkOp):
    """Create a node. Mirrors kafka.zookeeper.CreateOp."""

    data: bytes | None
    acl: Sequence[ACL]
    create_mode: CreateMode


@dataclass(frozen=True)
class DeleteOp(ZkOp):
    """Delete a node that has this version, or any for -1. Mirrors kafka.zookeeper.DeleteOp."""

    version: int


@dataclass(frozen=True)
class SetDataOp(ZkOp):
    """Write a node that has this version, or any for -1. Mirrors kafka.zookeeper.SetDataOp."""

    data: bytes | None
    version: int


@dataclass(frozen=True)
class CheckOp(ZkOp):
    """Do nothing, but only if the node has this version. Mirrors kafka.zookeeper.CheckOp."""

    version: int


@dataclass(frozen=True)
class OpResult:
    """What became of one operation.

    Mirrors: org.apache.zookeeper.OpResult
    """


@dataclass(frozen=True)
class CreateResult(OpResult):
    """The path that was created. Mirrors org.apache.zookeeper.OpResult.CreateResult."""

    path: str


@dataclass(frozen=True)
class DeleteResult(OpResult):
    """The node is gone. Mirrors org.apache.zookeeper.OpResult.DeleteResult."""


@dataclass(frozen=True)
class SetDataResult(OpResult):
    """The node's state after the write. Mirrors org.apache.zookeeper.OpResult.SetDataResult."""

    stat: Stat


@dataclass(frozen=True)
class CheckResult(OpResult):
    """The node has the version. Mirrors org.apache.zookeeper.OpResult.CheckResult."""


@dataclass(frozen=True)
class ErrorResult(OpResult):
    """The transaction failed: here with this code, OK for what was taken back, RUNTIMEINCONSISTENCY if never tried.

    Mirrors: org.apache.zookeeper.OpResult.ErrorResult
    """

    err: Code


@dataclass(frozen=True)
class ZkOpResult:
    """An operation with its result.

    kafka.zookeeper.ZkOpResult of 2.5.1
    """

    zk_op: ZkOp
    raw_op_result: OpResult


def first_error(results: Sequence[OpResult]) -> Code:
    """The code of a whole transaction: that of the operation that failed, OK if none has."""
    codes = (result.err for result in results if isinstance(result, ErrorResult))
    return next((code for code in codes if code is not Code.OK), Code.OK)
