"""A controller's writes, each in a transaction that succeeds only while the controller's epoch is the last one.

Mirrors: core/src/main/scala/kafka/zk/KafkaZkClient.scala (the helper functions of its object) @ 2.5.1
"""

from __future__ import annotations

from typing import Any

from kafka_py.common.errors import ControllerMovedException, IllegalStateException
from kafka_py.zk.zk_data import ControllerEpochZNode
from kafka_py.zookeeper.keeper_exception import Code, KeeperException
from kafka_py.zookeeper.op import CheckOp, CreateOp, CreateResult, DeleteOp, ErrorResult, SetDataOp, SetDataResult, ZkOp
from kafka_py.zookeeper.requests import (
    AsyncRequest,
    AsyncResponse,
    CreateRequest,
    CreateResponse,
    DeleteRequest,
    DeleteResponse,
    MultiRequest,
    MultiResponse,
    SetDataRequest,
    SetDataResponse,
)


def wrap_request_with_controller_epoch_check(
    request: AsyncRequest[Any], expected_controller_zk_version: int
) -> MultiRequest:
    """The request behind a look at the version of /controller_epoch."""
    match request:
        case CreateRequest():
            op: ZkOp = CreateOp(request.path, request.data, request.acl, request.create_mode)
        case DeleteRequest():
            op = DeleteOp(request.path, request.version)
        case SetDataRequest():
            op = SetDataOp(request.path, request.data, request.version)
        case _:
            raise IllegalStateException(f"{request} does not need controller epoch check")
    return MultiRequest([CheckOp(ControllerEpochZNode.path, expected_controller_zk_version), op], request.ctx)


def unwrap_response_with_controller_epoch_check(response: MultiResponse) -> AsyncResponse:
    """The response as if the request had been sent alone; ControllerMovedException if the epoch is not the last one."""
    if response.zk_op_results is None:
        raise KeeperException.create(response.result_code)
    check, result = response.zk_op_results
    _check_epoch(check.zk_op, check.raw_op_result)
    code, ctx, metadata = response.result_code, response.ctx, response.metadata
    op, raw = result.zk_op, result.raw_op_result
    match op:
        case CreateOp():
            return CreateResponse(code, op.path, ctx, metadata, raw.path if isinstance(raw, CreateResult) else None)
        case DeleteOp():
            return DeleteResponse(code, op.path, ctx, metadata)
        case SetDataOp():
            stat: Any = raw.stat if isinstance(raw, SetDataResult) else None
            return SetDataResponse(code, op.path, ctx, metadata, stat)
    raise IllegalStateException(f"Unexpected zkOp: {op}")


def _check_epoch(op: ZkOp, result: object) -> None:
    if not isinstance(op, CheckOp):
        raise IllegalStateException(f"Cannot unwrap a response whose first zookeeper op is not a check op but {op}")
    if not isinstance(result, ErrorResult) or result.err is Code.OK:
        return
    if result.err is Code.BADVERSION:
        raise ControllerMovedException(f"Controller epoch zkVersion check fails. Expected zkVersion = {op.version}")
    raise KeeperException.create(result.err, op.path)
