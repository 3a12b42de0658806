"""How topics and brokers are configured.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeConfigsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, NULLABLE_STRING, STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

RESOURCES_KEY_NAME = "resources"
RESOURCE_TYPE_KEY_NAME = "resource_type"
RESOURCE_NAME_KEY_NAME = "resource_name"
CONFIG_ENTRIES_KEY_NAME = "config_entries"
CONFIG_NAME_KEY_NAME = "config_name"
CONFIG_VALUE_KEY_NAME = "config_value"
IS_SENSITIVE_KEY_NAME = "is_sensitive"
IS_DEFAULT_KEY_NAME = "is_default"
READ_ONLY_KEY_NAME = "read_only"
CONFIG_SYNONYMS_KEY_NAME = "config_synonyms"
CONFIG_SOURCE_KEY_NAME = "config_source"

DESCRIBE_CONFIGS_RESPONSE_ENTRY_V0 = Schema(
    Field(CONFIG_NAME_KEY_NAME, STRING, "The configuration's name"),
    Field(CONFIG_VALUE_KEY_NAME, NULLABLE_STRING, "The configuration's value"),
    Field(READ_ONLY_KEY_NAME, BOOLEAN, "Whether it can be changed"),
    Field(IS_DEFAULT_KEY_NAME, BOOLEAN, "Whether it is the default"),
    Field(IS_SENSITIVE_KEY_NAME, BOOLEAN, "Whether the value is a secret"),
)

DESCRIBE_CONFIGS_RESPONSE_SYNONYM_V1 = Schema(
    Field(CONFIG_NAME_KEY_NAME, STRING, "The configuration's name"),
    Field(CONFIG_VALUE_KEY_NAME, NULLABLE_STRING, "The configuration's value"),
    Field(CONFIG_SOURCE_KEY_NAME, INT8, "Where the value comes from"),
)

DESCRIBE_CONFIGS_RESPONSE_ENTRY_V1 = Schema(
    Field(CONFIG_NAME_KEY_NAME, STRING, "The configuration's name"),
    Field(CONFIG_VALUE_KEY_NAME, NULLABLE_STRING, "The configuration's value"),
    Field(READ_ONLY_KEY_NAME, BOOLEAN, "Whether it can be changed"),
    Field(CONFIG_SOURCE_KEY_NAME, INT8, "Where the value comes from"),
    Field(IS_SENSITIVE_KEY_NAME, BOOLEAN, "Whether the value is a secret"),
    Field(CONFIG_SYNONYMS_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_RESPONSE_SYNONYM_V1)),
)

DESCRIBE_CONFIGS_RESPONSE_ENTITY_V0 = Schema(
    ERROR_CODE,
    ERROR_MESSAGE,
    Field(RESOURCE_TYPE_KEY_NAME, INT8),
    Field(RESOURCE_NAME_KEY_NAME, STRING),
    Field(CONFIG_ENTRIES_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_RESPONSE_ENTRY_V0)),
)

DESCRIBE_CONFIGS_RESPONSE_ENTITY_V1 = Schema(
    ERROR_CODE,
    ERROR_MESSAGE,
    Field(RESOURCE_TYPE_KEY_NAME, INT8),
    Field(RESOURCE_NAME_KEY_NAME, STRING),
    Field(CONFIG_ENTRIES_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_RESPONSE_ENTRY_V1)),
)

DESCRIBE_CONFIGS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(RESOURCES_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_RESPONSE_ENTITY_V0))
)

DESCRIBE_CONFIGS_RESPONSE_V1 = Schema(
    THROTTLE_TIME_MS, Field(RESOURCES_KEY_NAME, ArrayOf(DESCRIBE_CONFIGS_RESPONSE_ENTITY_V1))
)


class DescribeConfigsResponse(SchemaBackedResponse):
    """Name, value and origin of each setting.

    Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_CONFIGS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_CONFIGS_RESPONSE_V0, DESCRIBE_CONFIGS_RESPONSE_V1]
