"""How are topics and brokers configured.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeConfigsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, STRING
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

RESOURCES_KEY_NAME = "resources"
INCLUDE_SYNONYMS = "include_synonyms"
RESOURCE_TYPE_KEY_NAME = "resource_type"
RESOURCE_NAME_KEY_NAME = "resource_name"
CONFIG_NAMES_KEY_NAME = "config_names"

DESCRIBE_CONFIGS_REQUEST_RESOURCE_V0 = Schema(
    Field(RESOURCE_TYPE_KEY_NAME, INT8),
    Field(RESOURCE_NAME_KEY_NAME, STRING),
    Field(CONFIG_NAMES_KEY_NAME, ArrayOf(STRING, nullable=True), "The names wanted, null for all"),
)

DESCRIBE_CONFIGS_REQUEST_V0 = Schema(Field(RESOURCES_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_REQUEST_RESOURCE_V0)))

DESCRIBE_CONFIGS_REQUEST_V1 = Schema(
    Field(RESOURCES_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_REQUEST_RESOURCE_V0)),
    Field(INCLUDE_SYNONYMS, BOOLEAN, "Whether to tell where values come from"),
)


class DescribeConfigsRequest(SchemaBackedRequest):
    """Resources, and the names wanted of each.

    Mirrors: org.apache.kafka.common.requests.DescribeConfigsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_CONFIGS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_CONFIGS_REQUEST_V0, DESCRIBE_CONFIGS_REQUEST_V1]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeConfigsResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return DescribeConfigsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "resources": [
                    {
                        "error_code": error.code,
                        "error_message": message,
                        "resource_type": resource["resource_type"],
                        "resource_name": resource["resource_name"],
                        "config_entries": [],
                    }
                    for resource in self.values["resources"]
                ],
            }
        )
