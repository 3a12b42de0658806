"""Which groups were deleted.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteGroupsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, GROUP_ID, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

GROUP_ERROR_CODES_KEY_NAME = "group_error_codes"

GROUP_ERROR_CODE = Schema(GROUP_ID, ERROR_CODE)

DELETE_GROUPS_RESPONSE_V0 = Schema(THROTTLE_TIME_MS, Field(GROUP_ERROR_CODES_KEY_NAME, ArrayOf(GROUP_ERROR_CODE)))


class DeleteGroupsResponse(SchemaBackedResponse):
    """An error by group.

    Mirrors: org.apache.kafka.common.requests.DeleteGroupsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_GROUPS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_GROUPS_RESPONSE_V0]
