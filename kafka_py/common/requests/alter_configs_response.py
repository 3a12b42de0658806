"""Whether the configurations were replaced.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterConfigsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT8, STRING
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType

RESOURCES_KEY_NAME = "resources"
RESOURCE_TYPE_KEY_NAME = "resource_type"
RESOURCE_NAME_KEY_NAME = "resource_name"

ALTER_CONFIGS_RESPONSE_ENTITY_V0 = Schema(
    ERROR_CODE, ERROR_MESSAGE, Field(RESOURCE_TYPE_KEY_NAME, INT8), Field(RESOURCE_NAME_KEY_NAME, STRING)
)

ALTER_CONFIGS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(RESOURCES_KEY_NAME, ArrayOf(ALTER_CONFIGS_RESPONSE_ENTITY_V0))
)


class AlterConfigsResponse(AbstractResponse):
    """An error by resource.

    Mirrors: org.apache.kafka.common.requests.AlterConfigsResponse
    """

    __slots__ = ("_errors", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ALTER_CONFIGS

    def __init__(self, throttle_time_ms: int, errors: dict[Resource, ApiError]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._errors = errors

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ALTER_CONFIGS_RESPONSE_V0]

    @classmethod
    def from_struct(cls, struct: Struct) -> AlterConfigsResponse:
        errors = {
            Resource(ResourceType.for_id(r.get(RESOURCE_TYPE_KEY_NAME)), r.get(RESOURCE_NAME_KEY_NAME)): (
                ApiError.from_struct(r)
            )
            for r in struct.get(RESOURCES_KEY_NAME)
        }
        return cls(struct.get(THROTTLE_TIME_MS), errors)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.ALTER_CONFIGS.response_schema(version))
        resources = []
        for resource, error in self._errors.items():
            entry = result.instance(RESOURCES_KEY_NAME)
            error.write(entry)
            entry.set(RESOURCE_TYPE_KEY_NAME, resource.type().id()).set(RESOURCE_NAME_KEY_NAME, resource.name())
            resources.append(entry)
        return result.set(THROTTLE_TIME_MS, self._throttle_time_ms).set(RESOURCES_KEY_NAME, resources)

    def errors(self) -> dict[Resource, ApiError]:
        """The error of each resource."""
        return self._errors

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(error.error() for error in self._errors.values())
