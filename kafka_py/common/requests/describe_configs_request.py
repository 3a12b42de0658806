"""How are topics and brokers configured.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeConfigsRequest.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import BOOLEAN, INT8, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_message import RequestMessage
from kafka_py.common.requests.resource import Resource
from kafka_py.common.requests.resource_type import ResourceType


class DescribeConfigsRequest(RequestMessage, key=ApiKeys.DESCRIBE_CONFIGS, latest=2):
    """Resources, and the names wanted of each.

    Mirrors: org.apache.kafka.common.requests.DescribeConfigsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"resources": "resource_entries"}
    EACH_ONCE: ClassVar[bool] = True

    class ResourceEntry(Message):
        """A resource as it is written."""

        resource_type: int = field(INT8)
        resource_name: str = field(STRING)
        config_names: list[str] | None = field(ListOf(STRING), "The names wanted, null for all", nullable=0)

    resource_entries: list[ResourceEntry] = field(ListOf(ResourceEntry), wire="resources")
    include_synonyms: bool = field(BOOLEAN, "Whether to tell where values come from", since=1, default=False)
    # volatile: the first that asks, at the latest parse
    _names_by_resource: dict[Resource, list[str] | None] | None = field(None, alias="names_by_resource", default=None)

    class Builder(AbstractRequest.Builder):
        """Asks for all settings of a collection of resources, or for the named ones of each key of a dict.

        Mirrors: org.apache.kafka.common.requests.DescribeConfigsRequest.Builder
        """

        def __init__(self, resources: Mapping[Resource, Collection[str] | None] | Collection[Resource]) -> None:
            super().__init__(ApiKeys.DESCRIBE_CONFIGS)
            named = resources if isinstance(resources, Mapping) else dict.fromkeys(resources)
            self._resource_to_config_names: dict[Resource, Collection[str] | None] = dict(named)
            self._include_synonyms = False  # thread: its maker

        def include_synonyms(self, include_synonyms: bool) -> DescribeConfigsRequest.Builder:
            """Ask where the values come from, which version 0 cannot."""
            self._include_synonyms = include_synonyms
            return self

        def build(self, version: int | None = None) -> DescribeConfigsRequest:
            entries = [
                DescribeConfigsRequest.ResourceEntry(
                    resource_type=resource.type().id(),
                    resource_name=resource.name(),
                    config_names=None if names is None else list(names),
                )
                for resource, names in self._resource_to_config_names.items()
            ]
            return DescribeConfigsRequest(
                version=self._version_or_latest(version),
                resource_entries=entries,
                include_synonyms=self._include_synonyms,
            )

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        request = super().parse(buffer, version)
        request.names_by_resource()  # there must be such kinds of resources
        return request

    def names_by_resource(self) -> dict[Resource, list[str] | None]:
        """The settings wanted of each resource, None for all."""
        names = self._names_by_resource
        if names is None:
            names = self._names_by_resource = {
                Resource(ResourceType.for_id(entry.resource_type), entry.resource_name): entry.config_names
                for entry in self.resource_entries
            }
        return names

    def resources(self) -> Collection[Resource]:
        """What to describe."""
        return self.names_by_resource().keys()

    def config_names(self, resource: Resource) -> Collection[str] | None:
        """The settings wanted of a resource, None for all."""
        return self.names_by_resource().get(resource)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> Any:
        """As for every request; of a type that does not exist the answer says so, with 0."""
        answer = super().get_error_response(throttle_time_ms, e)
        for entry in answer.resources:
            entry.resource_type = ResourceType.for_id(entry.resource_type).id()
        return answer
