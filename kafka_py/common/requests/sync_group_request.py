"""A member asks for its assignment; the leader brings all of them.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SyncGroupRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GENERATION_ID, GROUP_ID, MEMBER_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BYTES
from kafka_py.common.requests.schema_backed import SchemaBackedRequest
from kafka_py.common.requests.sync_group_response import SyncGroupResponse

MEMBER_ASSIGNMENT_KEY_NAME = "member_assignment"
GROUP_ASSIGNMENT_KEY_NAME = "group_assignment"

SYNC_GROUP_REQUEST_MEMBER_V0 = Schema(
    MEMBER_ID, Field(MEMBER_ASSIGNMENT_KEY_NAME, BYTES, "What is assigned to the member")
)

SYNC_GROUP_REQUEST_V0 = Schema(
    GROUP_ID, GENERATION_ID, MEMBER_ID, Field(GROUP_ASSIGNMENT_KEY_NAME, ArrayOf(SYNC_GROUP_REQUEST_MEMBER_V0))
)

SYNC_GROUP_REQUEST_V1 = SYNC_GROUP_REQUEST_V0


class SyncGroupRequest(SchemaBackedRequest):
    """Group, generation and member; assignments come from the leader only.

    Mirrors: org.apache.kafka.common.requests.SyncGroupRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.SYNC_GROUP

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [SYNC_GROUP_REQUEST_V0, SYNC_GROUP_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> SyncGroupResponse:
        error = Errors.for_exception(e)
        return SyncGroupResponse(
            {"throttle_time_ms": throttle_time_ms, "error_code": error.code, "member_assignment": b""}
        )
