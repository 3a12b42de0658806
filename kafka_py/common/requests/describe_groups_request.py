"""What state are groups in.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeGroupsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.describe_groups_response import DescribeGroupsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

GROUP_IDS_KEY_NAME = "group_ids"

DESCRIBE_GROUPS_REQUEST_V0 = Schema(Field(GROUP_IDS_KEY_NAME, ArrayOf(STRING), "The groups"))

DESCRIBE_GROUPS_REQUEST_V1 = DESCRIBE_GROUPS_REQUEST_V0


class DescribeGroupsRequest(SchemaBackedRequest):
    """Ids of groups.

    Mirrors: org.apache.kafka.common.requests.DescribeGroupsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_GROUPS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_GROUPS_REQUEST_V0, DESCRIBE_GROUPS_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeGroupsResponse:
        error = Errors.for_exception(e)
        return DescribeGroupsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "groups": [
                    {
                        "error_code": error.code,
                        "group_id": group_id,
                        "state": "",
                        "protocol_type": "",
                        "protocol": "",
                        "members": [],
                    }
                    for group_id in self.values["group_ids"]
                ],
            }
        )
