"""Delete these groups.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteGroupsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.delete_groups_response import DeleteGroupsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

GROUPS_KEY_NAME = "groups"

DELETE_GROUPS_REQUEST_V0 = Schema(Field(GROUPS_KEY_NAME, ArrayOf(STRING), "The groups"))


class DeleteGroupsRequest(SchemaBackedRequest):
    """Ids of groups.

    Mirrors: org.apache.kafka.common.requests.DeleteGroupsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DELETE_GROUPS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DELETE_GROUPS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DeleteGroupsResponse:
        error = Errors.for_exception(e)
        return DeleteGroupsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "group_error_codes": [
                    {"group_id": group_id, "error_code": error.code} for group_id in self.values["groups"]
                ],
            }
        )
