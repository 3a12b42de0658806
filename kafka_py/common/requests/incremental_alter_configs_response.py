"""What became of the configurations.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/IncrementalAlterConfigsResponse.java @ 2.5.1
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT8, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.response_message import ResponseMessage


class IncrementalAlterConfigsResponse(ResponseMessage, key=ApiKeys.INCREMENTAL_ALTER_CONFIGS, latest=1, flexible=1):
    """An error by resource.

    Mirrors: org.apache.kafka.common.requests.IncrementalAlterConfigsResponse @ 2.5.1
    """

    class Resource(ErrorEntry):
        """What became of a resource."""

        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING)
        resource_type: int = field(INT8)
        resource_name: str = field(STRING)

    throttle_time_ms: int = field(INT32, default=0)
    responses: list[Resource] = field(ListOf(Resource))
