"""How topics and brokers are configured.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeConfigsResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorEntry, ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, INT16, INT32, NULLABLE_STRING, STRING
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType
from kafka_py.common.requests.response_message import ResponseMessage


class DescribeConfigsResponse(ResponseMessage, key=ApiKeys.DESCRIBE_CONFIGS, latest=2):
    """Name, value and origin of each setting, by resource.

    Mirrors: org.apache.kafka.common.requests.DescribeConfigsResponse
    """

    class ResourceEntry(ErrorEntry):
        """The settings of a resource as they are written."""

        class Entry(Message):
            """A setting as it is written."""

            class Synonym(Message):
                """Another name as it is written."""

                config_name: str = field(STRING)
                config_value: str | None = field(NULLABLE_STRING)
                config_source: int = field(INT8)

            config_name: str = field(STRING)
            config_value: str | None = field(NULLABLE_STRING)
            read_only: bool = field(BOOLEAN)
            is_default: bool = field(BOOLEAN, until=0, default=False)
            config_source: int = field(INT8, "Where the value comes from, -1: see is_default", since=1, default=-1)
            is_sensitive: bool = field(BOOLEAN, "Whether the value is a secret")
            config_synonyms: list[Synonym] = field(ListOf(Synonym), since=1, default_factory=list)

        error_code: int = field(INT16)
        error_message: str | None = field(NULLABLE_STRING)
        resource_type: int = field(INT8)
        resource_name: str = field(STRING)
        config_entries: list[Entry] = field(ListOf(Entry))

    throttle_time_ms: int = field(INT32, default=0)
    resources: list[ResourceEntry] = field(ListOf(ResourceEntry))

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
        self.throttle_time_ms = throttle_time_ms
        self.resources = [
            self.ResourceEntry(
                error_code=config.error.error().code,
                error_message=config.error.short_message(),
                resource_type=resource.type().id(),
                resource_name=resource.name(),
                config_entries=[_entry(entry) for entry in config.entries],
            )
            for resource, config in configs.items()
        ]

    def configs(self) -> dict[Resource, Config]:
        """What is known of each resource."""
        configs = {}
        for r in self.resources:
            resource = Resource(ResourceType.for_id(r.resource_type), r.resource_name)
            entries = [self._entry_of(resource, entry) for entry in r.config_entries]
            configs[resource] = self.Config(ApiError(r.error, r.error_message), entries)
        return configs

    def config(self, resource: Resource) -> Config | None:
        """What is known of a resource, None if it was not asked for."""
        return self.configs().get(resource)

    def _entry_of(self, resource: Resource, entry: ResourceEntry.Entry) -> ConfigEntry:
        if entry.config_source >= 0:
            source = self.ConfigSource.for_id(entry.config_source)
        elif entry.is_default:
            source = self.ConfigSource.DEFAULT_CONFIG
        elif resource.type() is ResourceType.BROKER:
            # Version 0 says no more than that the value is not the default.
            source = self.ConfigSource.STATIC_BROKER_CONFIG
        elif resource.type() is ResourceType.TOPIC:
            source = self.ConfigSource.TOPIC_CONFIG
        else:
            source = self.ConfigSource.UNKNOWN_CONFIG
        synonyms = [
            self.ConfigSynonym(s.config_name, s.config_value, self.ConfigSource.for_id(s.config_source))
            for s in entry.config_synonyms
        ]
        return self.ConfigEntry(
            entry.config_name, entry.config_value, source, entry.is_sensitive, entry.read_only, synonyms
        )


def _entry(entry: DescribeConfigsResponse.ConfigEntry) -> DescribeConfigsResponse.ResourceEntry.Entry:
    entry_class = DescribeConfigsResponse.ResourceEntry.Entry
    return entry_class(
        config_name=entry.name,
        config_value=entry.value,
        read_only=entry.is_read_only,
        is_default=entry.source is DescribeConfigsResponse.ConfigSource.DEFAULT_CONFIG,
        config_source=entry.source.id,
        is_sensitive=entry.is_sensitive,
        config_synonyms=[
            entry_class.Synonym(config_name=s.name, config_value=s.value, config_source=s.source.id)
            for s in entry.synonyms
        ],
    )


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
