"""Whether the member has left.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaveGroupResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

LEAVE_GROUP_RESPONSE_V0 = Schema(ERROR_CODE)

LEAVE_GROUP_RESPONSE_V1 = Schema(THROTTLE_TIME_MS, ERROR_CODE)


class LeaveGroupResponse(SchemaBackedResponse):
    """An error.

    Mirrors: org.apache.kafka.common.requests.LeaveGroupResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LEAVE_GROUP

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LEAVE_GROUP_RESPONSE_V0, LEAVE_GROUP_RESPONSE_V1]
