"""Replace the configuration of topics and brokers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterConfigsRequest.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.alter_configs_response import AlterConfigsResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType

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


class AlterConfigsRequest(AbstractRequest):
    """All settings of each resource: what is not named goes back to its default.

    Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest
    """

    __slots__ = ("_configs", "_validate_only")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ALTER_CONFIGS

    class ConfigEntry(NamedTuple):
        """A setting.

        Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest.ConfigEntry
        """

        name: str
        value: str | None

    class Config(NamedTuple):
        """The settings of a resource.

        Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest.Config
        """

        entries: Sequence[AlterConfigsRequest.ConfigEntry]

    class Builder(AbstractRequest.Builder):
        """Settings by resource.

        Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest.Builder
        """

        def __init__(self, configs: dict[Resource, AlterConfigsRequest.Config], validate_only: bool) -> None:
            super().__init__(ApiKeys.ALTER_CONFIGS)
            self._configs = configs
            self._validate_only = validate_only

        def build(self, version: int | None = None) -> AlterConfigsRequest:
            return AlterConfigsRequest(self._version_or_latest(version), self._configs, self._validate_only)

    def __init__(self, version: int, configs: dict[Resource, Config], validate_only: bool) -> None:
        super().__init__(version)
        self._configs = configs
        self._validate_only = validate_only

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ALTER_CONFIGS_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> AlterConfigsRequest:
        configs = {}
        for r in struct.get(RESOURCES_KEY_NAME):
            resource = Resource(ResourceType.for_id(r.get(RESOURCE_TYPE_KEY_NAME)), r.get(RESOURCE_NAME_KEY_NAME))
            configs[resource] = cls.Config(
                [cls.ConfigEntry(e.get(CONFIG_NAME), e.get(CONFIG_VALUE)) for e in r.get(CONFIG_ENTRIES_KEY_NAME)]
            )
        return cls(version, configs, struct.get(VALIDATE_ONLY_KEY_NAME))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.ALTER_CONFIGS.request_schema(self._version))
        resources = []
        for resource, config in self._configs.items():
            r = result.instance(RESOURCES_KEY_NAME)
            r.set(RESOURCE_TYPE_KEY_NAME, resource.type().id()).set(RESOURCE_NAME_KEY_NAME, resource.name())
            entries = []
            for entry in config.entries:
                one = r.instance(CONFIG_ENTRIES_KEY_NAME)
                entries.append(one.set(CONFIG_NAME, entry.name).set(CONFIG_VALUE, entry.value))
            resources.append(r.set(CONFIG_ENTRIES_KEY_NAME, entries))
        return result.set(RESOURCES_KEY_NAME, resources).set(VALIDATE_ONLY_KEY_NAME, self._validate_only)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AlterConfigsResponse:
        return AlterConfigsResponse(throttle_time_ms, dict.fromkeys(self._configs, ApiError.from_throwable(e)))

    def configs(self) -> dict[Resource, Config]:
        """The settings of each resource."""
        return self._configs

    def validate_only(self) -> bool:
        """Whether to check only."""
        return self._validate_only
