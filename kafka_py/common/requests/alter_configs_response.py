"""Whether the configurations were replaced.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterConfigsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT8, STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

RESOURCES_KEY_NAME = "resources"
RESOURCE_TYPE_KEY_NAME = "resource_type"
RESOURCE_NAME_KEY_NAME = "resource_name"

ALTER_CONFIGS_RESPONSE_ENTITY_V0 = Schema(
    ERROR_CODE, ERROR_MESSAGE, Field(RESOURCE_TYPE_KEY_NAME, INT8), Field(RESOURCE_NAME_KEY_NAME, STRING)
)

ALTER_CONFIGS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(RESOURCES_KEY_NAME, ArrayOf(ALTER_CONFIGS_RESPONSE_ENTITY_V0))
)


class AlterConfigsResponse(SchemaBackedResponse):
    """An error by resource.

    Mirrors: org.apache.kafka.common.requests.AlterConfigsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ALTER_CONFIGS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ALTER_CONFIGS_RESPONSE_V0]
