"""Replace the configuration of topics and brokers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterConfigsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, NULLABLE_STRING, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType


class AlterConfigsRequest(RequestMessage, key=ApiKeys.ALTER_CONFIGS, latest=1):
    """All settings of each resource: what is not named goes back to its default.

    Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"resources": "resources"}
    EACH_ONCE: ClassVar[bool] = True

    class ResourceEntry(Message):
        """The settings of a resource as they are written."""

        class ConfigEntry(Message):
            """A setting.

            Mirrors: org.apache.kafka.common.requests.AlterConfigsRequest.ConfigEntry
            """

            name: str = field(STRING, wire="config_name")
            value: str | None = field(NULLABLE_STRING, wire="config_value")

            def __init__(self, name: str, value: str | None) -> None:
                self.name = name
                self.value = value

        resource_type: int = field(INT8)
        resource_name: str = field(STRING)
        config_entries: Sequence[ConfigEntry] = field(ListOf(ConfigEntry))

    resources: list[ResourceEntry] = field(ListOf(ResourceEntry))
    validate_only: bool = field(BOOLEAN, "Whether to check only")

    ConfigEntry: TypeAlias = ResourceEntry.ConfigEntry  # type: ignore[misc]  # an alias, not a field

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
            resources = [
                AlterConfigsRequest.ResourceEntry(
                    resource_type=resource.type().id(), resource_name=resource.name(), config_entries=config.entries
                )
                for resource, config in self._configs.items()
            ]
            return AlterConfigsRequest(
                version=self._version_or_latest(version), resources=resources, validate_only=self._validate_only
            )

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        request = super().parse(buffer, version)
        for entry in request.resources:
            ResourceType.for_id(entry.resource_type)  # there must be one
        return request

    def configs(self) -> dict[Resource, Config]:
        """The settings of each resource."""
        return {
            Resource(ResourceType.for_id(entry.resource_type), entry.resource_name): self.Config(entry.config_entries)
            for entry in self.resources
        }

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> Any:
        """As for every request; of a type that does not exist the answer says so, with 0."""
        answer = super().get_error_response(throttle_time_ms, e)
        for entry in answer.resources:
            entry.resource_type = ResourceType.for_id(entry.resource_type).id()
        return answer
