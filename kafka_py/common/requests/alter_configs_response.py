"""Whether the configurations were replaced.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterConfigsResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, field
from kafka_py.common.protocol.types.type import INT8, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.requests.response_message import ResponseMessage


class AlterConfigsResponse(ResponseMessage, key=ApiKeys.ALTER_CONFIGS, latest=1):
    """An error by resource.

    Mirrors: org.apache.kafka.common.requests.AlterConfigsResponse
    """

    class ResourceError(ErrorEntry):
        """What became of a resource."""

        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING)
        resource_type: int = field(INT8)
        resource_name: str = field(STRING)

    throttle_time_ms: int = field(INT32, default=0)
    resources: list[ResourceError] = field(ListOf(ResourceError))

    def __init__(self, throttle_time_ms: int, errors: dict[Resource, ApiError]) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.resources = [
            self.ResourceError(
                error_code=error.error().code,
                error_message=error.short_message(),
                resource_type=resource.type().id(),
                resource_name=resource.name(),
            )
            for resource, error in errors.items()
        ]

    def errors(self) -> dict[Resource, ApiError]:
        """The error of each resource."""
        return {
            Resource(ResourceType.for_id(r.resource_type), r.resource_name): ApiError(r.error, r.error_message)
            for r in self.resources
        }
