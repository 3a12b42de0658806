"""Requests to ZooKeeper and their responses, as values.

Mirrors: core/src/main/scala/kafka/zookeeper/ZooKeeperClient.scala @ 1.1.1 (the case classes at its end;
ZooKeeperClient's module offers them too)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kafka_py.zookeeper.keeper_exception import Code, KeeperException
from kafka_py.zookeeper.op import ZkOp, ZkOpResult
from kafka_py.zookeeper.zoo_defs import ACL, CreateMode, Stat

R_co = TypeVar("R_co", bound="AsyncResponse", covariant=True)


@dataclass(frozen=True)
class ResponseMetadata:
    """When the request was sent and its response came, in ms.

    Mirrors: kafka.zookeeper.ResponseMetadata
    """

    send_time_ms: int
    received_time_ms: int

    @property
    def response_time_ms(self) -> int:
        """How long the answer took."""
        return self.received_time_ms - self.send_time_ms


@dataclass(frozen=True)
class AsyncResponse:
    """Outcome of one request: a result code, and the path and context of the request.

    Mirrors: kafka.zookeeper.AsyncResponse
    Left out: ctx, metadata, path, resultCode -- fields of the dataclass
    """

    result_code: Code
    path: str
    ctx: Any
    metadata: ResponseMetadata

    @property
    def result_exception(self) -> KeeperException | None:
        """The exception that belongs to the code, None for OK."""
        return None if self.result_code is Code.OK else KeeperException.create(self.result_code, self.path)

    def maybe_throw(self) -> None:
        """Raise the KeeperException of a code other than OK."""
        if self.result_code is not Code.OK:
            raise KeeperException.create(self.result_code, self.path)

    @property
    def failure(self) -> KeeperException:
        """The exception to raise when the code is known not to be OK."""
        return KeeperException.create(self.result_code, self.path)


@dataclass(frozen=True)
class CreateResponse(AsyncResponse):
    """The path that was created, None on error. Mirrors kafka.zookeeper.CreateResponse."""

    name: str | None


@dataclass(frozen=True)
class DeleteResponse(AsyncResponse):
    """Whether a node was deleted. Mirrors kafka.zookeeper.DeleteResponse."""


@dataclass(frozen=True)
class ExistsResponse(AsyncResponse):
    """The node's state, None when it is not there. Mirrors kafka.zookeeper.ExistsResponse."""

    stat: Stat


@dataclass(frozen=True)
class GetDataResponse(AsyncResponse):
    """The node's data and state. Mirrors kafka.zookeeper.GetDataResponse."""

    data: bytes | None
    stat: Stat


@dataclass(frozen=True)
class SetDataResponse(AsyncResponse):
    """The node's state after the write. Mirrors kafka.zookeeper.SetDataResponse."""

    stat: Stat


@dataclass(frozen=True)
class GetAclResponse(AsyncResponse):
    """The node's access list. Mirrors kafka.zookeeper.GetAclResponse."""

    acl: Sequence[ACL]
    stat: Stat


@dataclass(frozen=True)
class SetAclResponse(AsyncResponse):
    """The node's state after the write. Mirrors kafka.zookeeper.SetAclResponse."""

    stat: Stat


@dataclass(frozen=True)
class GetChildrenResponse(AsyncResponse):
    """Names of the children, in no order. Mirrors kafka.zookeeper.GetChildrenResponse."""

    children: list[str]
    stat: Stat


@dataclass(frozen=True)
class MultiResponse(AsyncResponse):
    """The operations with their results, None when nothing is known of them. Mirrors kafka.zookeeper.MultiResponse."""

    zk_op_results: Sequence[ZkOpResult] | None


@dataclass(frozen=True)
class AsyncRequest(Generic[R_co]):
    """One operation on a node; ctx comes back with the response.

    Mirrors: kafka.zookeeper.AsyncRequest
    Left out: path, ctx -- fields of the dataclasses
    """

    path: str


@dataclass(frozen=True)
class CreateRequest(AsyncRequest[CreateResponse]):
    """Create a node. Mirrors kafka.zookeeper.CreateRequest."""

    data: bytes | None
    acl: Sequence[ACL]
    create_mode: CreateMode
    ctx: Any = None


@dataclass(frozen=True)
class DeleteRequest(AsyncRequest[DeleteResponse]):
    """Delete a node that has this version, or any for -1. Mirrors kafka.zookeeper.DeleteRequest."""

    version: int
    ctx: Any = None


@dataclass(frozen=True)
class ExistsRequest(AsyncRequest[ExistsResponse]):
    """Ask whether a node exists. Mirrors kafka.zookeeper.ExistsRequest."""

    ctx: Any = None


@dataclass(frozen=True)
class GetDataRequest(AsyncRequest[GetDataResponse]):
    """Read a node. Mirrors kafka.zookeeper.GetDataRequest."""

    ctx: Any = None


@dataclass(frozen=True)
class SetDataRequest(AsyncRequest[SetDataResponse]):
    """Write a node that has this version, or any for -1. Mirrors kafka.zookeeper.SetDataRequest."""

    data: bytes | None
    version: int
    ctx: Any = None


@dataclass(frozen=True)
class GetAclRequest(AsyncRequest[GetAclResponse]):
    """Read a node's access list. Mirrors kafka.zookeeper.GetAclRequest."""

    ctx: Any = None


@dataclass(frozen=True)
class SetAclRequest(AsyncRequest[SetAclResponse]):
    """Write a node's access list. Mirrors kafka.zookeeper.SetAclRequest."""

    acl: Sequence[ACL]
    version: int
    ctx: Any = None


@dataclass(frozen=True)
class GetChildrenRequest(AsyncRequest[GetChildrenResponse]):
    """List a node's children. Mirrors kafka.zookeeper.GetChildrenRequest."""

    ctx: Any = None


@dataclass(frozen=True)
class MultiRequest(AsyncRequest[MultiResponse]):
    """Carry out all of the operations or none of them. Mirrors kafka.zookeeper.MultiRequest (2.5.1)."""

    path: str = field(default="", init=False)
    zk_ops: Sequence[ZkOp]
    ctx: Any = None
