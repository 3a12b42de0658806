"""Replace the configuration of topics and brokers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterConfigsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, NULLABLE_STRING, STRING
from kafka_py.common.requests.alter_configs_response import AlterConfigsResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

RESOURCES_KEY_NAME = "resources"
RESOURCE_TYPE_KEY_NAME = "resource_type"
RESOURCE_NAME_KEY_NAME = "resource_name"
VALIDATE_ONLY_KEY_NAME = "validate_only"
CONFIG_ENTRIES_KEY_NAME = "config_entries"
CONFIG_NAME = "config_name"
CONFIG_VALUE = "config_value"

CONFIG_ENTRY = Schema(
    Field(CONFIG_NAME, STRING, "The configuration's name"),
    Field(CONFIG_VALUE, NULLABLE_STRING, "The configuration's value"),
)

ALTER_CONFIGS_REQUEST_RESOURCE_V0 = Schema(
    Field(RESOURCE_TYPE_KEY_NAME, INT8),
    Field(RESOURCE_NAME_KEY_NAME, STRING),
    Field(CONFIG_ENTRIES_KEY_NAME, ArrayOf(CONFIG_ENTRY)),
)

ALTER_CONFIGS_REQUEST_V0 = Schema(
    Field(RESOURCES_KEY_NAME, ArrayOf(ALTER_CONFIGS_REQUEST_RESOURCE_V0)),
    Field(VALIDATE_ONLY_KEY_NAME, BOOLEAN, "Whether to check only"),
)


class AlterConfigsRequest(SchemaBackedRequest):
    """All settings of each resource.

    Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ALTER_CONFIGS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ALTER_CONFIGS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AlterConfigsResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return AlterConfigsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "resources": [
                    {
                        "error_code": error.code,
                        "error_message": message,
                        "resource_type": resource["resource_type"],
                        "resource_name": resource["resource_name"],
                    }
                    for resource in self.values["resources"]
                ],
            }
        )
