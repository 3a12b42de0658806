"""Which groups does the broker coordinate.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListGroupsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.list_groups_response import ListGroupsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

LIST_GROUPS_REQUEST_V0 = Schema()

LIST_GROUPS_REQUEST_V1 = LIST_GROUPS_REQUEST_V0


class ListGroupsRequest(SchemaBackedRequest):
    """A question without content.

    Mirrors: org.apache.kafka.common.requests.ListGroupsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LIST_GROUPS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LIST_GROUPS_REQUEST_V0, LIST_GROUPS_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ListGroupsResponse:
        error = Errors.for_exception(e)
        return ListGroupsResponse({"throttle_time_ms": throttle_time_ms, "error_code": error.code, "groups": []})
