"""How are topics and brokers configured.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeConfigsRequest.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType

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


class DescribeConfigsRequest(AbstractRequest):
    """Resources, and the names wanted of each.

    Mirrors: org.apache.kafka.common.requests.DescribeConfigsRequest
    """

    __slots__ = ("_include_synonyms", "_resource_to_config_names")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_CONFIGS

    class Builder(AbstractRequest.Builder):
        """Asks for all settings of a collection of resources, or for the named ones of each key of a dict.

        Mirrors: org.apache.kafka.common.requests.DescribeConfigsRequest.Builder
        """

        def __init__(self, resources: Mapping[Resource, Collection[str] | None] | Collection[Resource]) -> None:
            super().__init__(ApiKeys.DESCRIBE_CONFIGS)
            named = resources if isinstance(resources, Mapping) else dict.fromkeys(resources)
            self._resource_to_config_names: dict[Resource, Collection[str] | None] = dict(named)
            self._include_synonyms = False

        def include_synonyms(self, include_synonyms: bool) -> DescribeConfigsRequest.Builder:
            """Ask where the values come from, which version 0 cannot."""
            self._include_synonyms = include_synonyms
            return self

        def build(self, version: int | None = None) -> DescribeConfigsRequest:
            return DescribeConfigsRequest(
                self._version_or_latest(version), self._resource_to_config_names, self._include_synonyms
            )

    def __init__(
        self,
        version: int,
        resource_to_config_names: dict[Resource, Collection[str] | None],
        include_synonyms: bool = False,
    ) -> None:
        super().__init__(version)
        self._resource_to_config_names = resource_to_config_names
        self._include_synonyms = include_synonyms

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_CONFIGS_REQUEST_V0, DESCRIBE_CONFIGS_REQUEST_V1]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> DescribeConfigsRequest:
        names: dict[Resource, Collection[str] | None] = {
            Resource(ResourceType.for_id(r.get(RESOURCE_TYPE_KEY_NAME)), r.get(RESOURCE_NAME_KEY_NAME)): r.get(
                CONFIG_NAMES_KEY_NAME
            )
            for r in struct.get(RESOURCES_KEY_NAME)
        }
        return cls(version, names, struct.get_or_else(INCLUDE_SYNONYMS, False))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.DESCRIBE_CONFIGS.request_schema(self._version))
        resources = []
        for resource, names in self._resource_to_config_names.items():
            entry = result.instance(RESOURCES_KEY_NAME)
            entry.set(RESOURCE_TYPE_KEY_NAME, resource.type().id()).set(RESOURCE_NAME_KEY_NAME, resource.name())
            resources.append(entry.set(CONFIG_NAMES_KEY_NAME, None if names is None else list(names)))
        return result.set(RESOURCES_KEY_NAME, resources).set_if_exists(INCLUDE_SYNONYMS, self._include_synonyms)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeConfigsResponse:
        config = DescribeConfigsResponse.Config(ApiError.from_throwable(e), [])
        return DescribeConfigsResponse(throttle_time_ms, dict.fromkeys(self._resource_to_config_names, config))

    def resources(self) -> Collection[Resource]:
        """What to describe."""
        return self._resource_to_config_names.keys()

    def config_names(self, resource: Resource) -> Collection[str] | None:
        """The settings wanted of a resource, None for all."""
        return self._resource_to_config_names.get(resource)

    def include_synonyms(self) -> bool:
        """Whether to tell where values come from."""
        return self._include_synonyms
