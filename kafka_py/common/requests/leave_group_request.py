"""A member leaves its group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaveGroupRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GROUP_ID, MEMBER_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.leave_group_response import LeaveGroupResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

LEAVE_GROUP_REQUEST_V0 = Schema(GROUP_ID, MEMBER_ID)

LEAVE_GROUP_REQUEST_V1 = LEAVE_GROUP_REQUEST_V0


class LeaveGroupRequest(SchemaBackedRequest):
    """Group and member.

    Mirrors: org.apache.kafka.common.requests.LeaveGroupRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LEAVE_GROUP

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LEAVE_GROUP_REQUEST_V0, LEAVE_GROUP_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> LeaveGroupResponse:
        error = Errors.for_exception(e)
        return LeaveGroupResponse({"throttle_time_ms": throttle_time_ms, "error_code": error.code})
