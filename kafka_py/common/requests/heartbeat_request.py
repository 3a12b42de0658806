"""A member says that it is alive.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/HeartbeatRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GENERATION_ID, GROUP_ID, MEMBER_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.heartbeat_response import HeartbeatResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

HEARTBEAT_REQUEST_V0 = Schema(GROUP_ID, GENERATION_ID, MEMBER_ID)

HEARTBEAT_REQUEST_V1 = HEARTBEAT_REQUEST_V0


class HeartbeatRequest(SchemaBackedRequest):
    """Group, generation and member.

    Mirrors: org.apache.kafka.common.requests.HeartbeatRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.HEARTBEAT

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [HEARTBEAT_REQUEST_V0, HEARTBEAT_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> HeartbeatResponse:
        error = Errors.for_exception(e)
        return HeartbeatResponse({"throttle_time_ms": throttle_time_ms, "error_code": error.code})
