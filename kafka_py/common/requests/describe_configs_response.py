"""How topics and brokers are configured.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeConfigsResponse.java @ 1.1.1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType

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


class DescribeConfigsResponse(AbstractResponse):
    """Name, value and origin of each setting, by resource.

    Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse
    """

    __slots__ = ("_configs", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_CONFIGS

    class ConfigSource:
        """Where a value comes from, by its id on the wire.

        Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSource
        """

        __slots__ = ("id", "name")

        UNKNOWN_CONFIG: ClassVar[DescribeConfigsResponse.ConfigSource]
        TOPIC_CONFIG: ClassVar[DescribeConfigsResponse.ConfigSource]
        DYNAMIC_BROKER_CONFIG: ClassVar[DescribeConfigsResponse.ConfigSource]
        DYNAMIC_DEFAULT_BROKER_CONFIG: ClassVar[DescribeConfigsResponse.ConfigSource]
        STATIC_BROKER_CONFIG: ClassVar[DescribeConfigsResponse.ConfigSource]
        DEFAULT_CONFIG: ClassVar[DescribeConfigsResponse.ConfigSource]
        _VALUES: ClassVar[list[DescribeConfigsResponse.ConfigSource]] = []

        def __init__(self, id_: int, name: str) -> None:
            self.id = id_
            self.name = name

        @classmethod
        def for_id(cls, id_: int) -> DescribeConfigsResponse.ConfigSource:
            """The source of an id, UNKNOWN_CONFIG for one of a later version; ValueError below zero."""
            if id_ < 0:
                raise ValueError(f"id should be positive, id: {id_}")
            return cls._VALUES[id_] if id_ < len(cls._VALUES) else cls.UNKNOWN_CONFIG

        def __repr__(self) -> str:
            return self.name

    class ConfigSynonym(NamedTuple):
        """Another name under which the same thing is set somewhere, and what is set there.

        Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSynonym
        """

        name: str
        value: str | None
        source: DescribeConfigsResponse.ConfigSource

    class ConfigEntry(NamedTuple):
        """A setting; synonyms: every place that sets it, the one that counts first.

        Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigEntry
        """

        name: str
        value: str | None
        source: DescribeConfigsResponse.ConfigSource
        is_sensitive: bool
        is_read_only: bool
        synonyms: Sequence[DescribeConfigsResponse.ConfigSynonym] = ()

    class Config(NamedTuple):
        """The settings of a resource, or why they are not told.

        Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse.Config
        """

        error: ApiError
        entries: Sequence[DescribeConfigsResponse.ConfigEntry]

    def __init__(self, throttle_time_ms: int, configs: dict[Resource, Config]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._configs = configs

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_CONFIGS_RESPONSE_V0, DESCRIBE_CONFIGS_RESPONSE_V1]

    @classmethod
    def from_struct(cls, struct: Struct) -> DescribeConfigsResponse:
        configs = {}
        for r in struct.get(RESOURCES_KEY_NAME):
            resource = Resource(ResourceType.for_id(r.get(RESOURCE_TYPE_KEY_NAME)), r.get(RESOURCE_NAME_KEY_NAME))
            entries = [cls._entry_of(resource, entry) for entry in r.get(CONFIG_ENTRIES_KEY_NAME)]
            configs[resource] = DescribeConfigsResponse.Config(ApiError.from_struct(r), entries)
        return cls(struct.get(THROTTLE_TIME_MS), configs)

    @staticmethod
    def _entry_of(resource: Resource, entry: Struct) -> DescribeConfigsResponse.ConfigEntry:
        if entry.has_field(CONFIG_SOURCE_KEY_NAME):
            source = DescribeConfigsResponse.ConfigSource.for_id(entry.get(CONFIG_SOURCE_KEY_NAME))
        elif entry.get(IS_DEFAULT_KEY_NAME):
            source = DescribeConfigsResponse.ConfigSource.DEFAULT_CONFIG
        elif resource.type() is ResourceType.BROKER:
            # Version 0 says no more than that the value is not the default.
            source = DescribeConfigsResponse.ConfigSource.STATIC_BROKER_CONFIG
        elif resource.type() is ResourceType.TOPIC:
            source = DescribeConfigsResponse.ConfigSource.TOPIC_CONFIG
        else:
            source = DescribeConfigsResponse.ConfigSource.UNKNOWN_CONFIG
        return DescribeConfigsResponse.ConfigEntry(
            entry.get(CONFIG_NAME_KEY_NAME),
            entry.get(CONFIG_VALUE_KEY_NAME),
            source,
            entry.get(IS_SENSITIVE_KEY_NAME),
            entry.get(READ_ONLY_KEY_NAME),
            [
                DescribeConfigsResponse.ConfigSynonym(
                    synonym.get(CONFIG_NAME_KEY_NAME),
                    synonym.get(CONFIG_VALUE_KEY_NAME),
                    DescribeConfigsResponse.ConfigSource.for_id(synonym.get(CONFIG_SOURCE_KEY_NAME)),
                )
                for synonym in entry.get_or_else(CONFIG_SYNONYMS_KEY_NAME, ())
            ],
        )

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.DESCRIBE_CONFIGS.response_schema(version))
        resources = []
        for resource, config in self._configs.items():
            r = result.instance(RESOURCES_KEY_NAME)
            r.set(RESOURCE_TYPE_KEY_NAME, resource.type().id()).set(RESOURCE_NAME_KEY_NAME, resource.name())
            config.error.write(r)
            r.set(CONFIG_ENTRIES_KEY_NAME, [self._entry_struct(r, entry) for entry in config.entries])
            resources.append(r)
        return result.set(THROTTLE_TIME_MS, self._throttle_time_ms).set(RESOURCES_KEY_NAME, resources)

    @staticmethod
    def _entry_struct(resource: Struct, entry: DescribeConfigsResponse.ConfigEntry) -> Struct:
        result = resource.instance(CONFIG_ENTRIES_KEY_NAME)
        result.set(CONFIG_NAME_KEY_NAME, entry.name).set(CONFIG_VALUE_KEY_NAME, entry.value)
        result.set(IS_SENSITIVE_KEY_NAME, entry.is_sensitive).set(READ_ONLY_KEY_NAME, entry.is_read_only)
        result.set_if_exists(CONFIG_SOURCE_KEY_NAME, entry.source.id)
        result.set_if_exists(IS_DEFAULT_KEY_NAME, entry.source is DescribeConfigsResponse.ConfigSource.DEFAULT_CONFIG)
        if result.has_field(CONFIG_SYNONYMS_KEY_NAME):
            synonyms = []
            for synonym in entry.synonyms:
                one = result.instance(CONFIG_SYNONYMS_KEY_NAME).set(CONFIG_NAME_KEY_NAME, synonym.name)
                one.set(CONFIG_VALUE_KEY_NAME, synonym.value).set(CONFIG_SOURCE_KEY_NAME, synonym.source.id)
                synonyms.append(one)
            result.set(CONFIG_SYNONYMS_KEY_NAME, synonyms)
        return result

    def configs(self) -> dict[Resource, Config]:
        """What is known of each resource."""
        return self._configs

    def config(self, resource: Resource) -> Config | None:
        """What is known of a resource, None if it was not asked for."""
        return self._configs.get(resource)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def error_counts(self) -> dict[Errors, int]:
        return self.error_counts_of(config.error.error() for config in self._configs.values())


for _id, _name in enumerate(
    (
        "UNKNOWN_CONFIG",
        "TOPIC_CONFIG",
        "DYNAMIC_BROKER_CONFIG",
        "DYNAMIC_DEFAULT_BROKER_CONFIG",
        "STATIC_BROKER_CONFIG",
        "DEFAULT_CONFIG",
    )
):
    _source = DescribeConfigsResponse.ConfigSource(_id, _name)
    DescribeConfigsResponse.ConfigSource._VALUES.append(_source)
    setattr(DescribeConfigsResponse.ConfigSource, _name, _source)
