"""Which versions of each API one node understands.

Mirrors: clients/src/main/java/org/apache/kafka/clients/NodeApiVersions.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Iterable


class NodeApiVersions:
    """The answer to an ApiVersions request, and what of it we can use.

    Mirrors: org.apache.kafka.clients.NodeApiVersions
    """

    def __init__(self, node_api_versions: Iterable[ApiVersionsResponse.ApiVersion]) -> None:
        self._supported_versions: dict[ApiKeys, ApiVersionsResponse.ApiVersion] = {}
        # of a newer node
        self._unknown_apis: list[ApiVersionsResponse.ApiVersion] = []
        for version in node_api_versions:
            if ApiKeys.has_id(version.api_key):
                self._supported_versions[ApiKeys.for_id(version.api_key)] = version
            else:
                self._unknown_apis.append(version)

    @classmethod
    def create(cls, overrides: Iterable[ApiVersionsResponse.ApiVersion] = ()) -> NodeApiVersions:
        """A node that understands all that we do, but for the overrides. For tests."""
        versions = list(overrides)
        named = {v.api_key for v in versions}
        versions += [
            ApiVersionsResponse.ApiVersion(k.id, k.oldest_version(), k.latest_version())
            for k in ApiKeys.values()
            if k.id not in named
        ]
        return cls(versions)

    def latest_usable_version(
        self, api_key: ApiKeys, oldest_allowed_version: int | None = None, latest_allowed_version: int | None = None
    ) -> int:
        """The highest version that the node and we (or the given range) have; UnsupportedVersionException if none."""
        oldest = api_key.oldest_version() if oldest_allowed_version is None else oldest_allowed_version
        latest = api_key.latest_version() if latest_allowed_version is None else latest_allowed_version
        usable = self._supported_versions.get(api_key)
        if usable is None:
            raise UnsupportedVersionException(f"The broker does not support {api_key}")
        min_version = max(oldest, usable.min_version)
        max_version = min(latest, usable.max_version)
        if min_version > max_version:
            raise UnsupportedVersionException(
                f"The broker does not support {api_key} with version in range [{oldest},{latest}]. "
                f"The supported range is [{usable.min_version},{usable.max_version}]."
            )
        return max_version

    def api_version(self, api_key: ApiKeys) -> ApiVersionsResponse.ApiVersion | None:
        """The node's range of one API."""
        return self._supported_versions.get(api_key)

    def __repr__(self) -> str:
        return self.to_string()

    def to_string(self, line_breaks: bool = False) -> str:
        """Every API with the node's range and the version both can use, on one line or one line each."""
        texts = {v.api_key: self._text(v) for v in [*self._supported_versions.values(), *self._unknown_apis]}
        for api_key in ApiKeys.values():
            texts.setdefault(api_key.id, f"{api_key.name}({api_key.id}): UNSUPPORTED")
        begin, between, end = ("(\n\t", ",\n\t", "\n)") if line_breaks else ("(", ", ", ")")
        return begin + between.join(text for _, text in sorted(texts.items())) + end

    def _text(self, version: ApiVersionsResponse.ApiVersion) -> str:
        low, high = version.min_version, version.max_version
        range_text = str(low) if low == high else f"{low} to {high}"
        if not ApiKeys.has_id(version.api_key):
            return f"UNKNOWN({version.api_key}): {range_text}"
        api_key = ApiKeys.for_id(version.api_key)
        if api_key.latest_version() < low:
            use = "unusable: node too new"
        elif high < api_key.oldest_version():
            use = "unusable: node too old"
        else:
            use = f"usable: {min(api_key.latest_version(), high)}"
        return f"{api_key.name}({api_key.id}): {range_text} [{use}]"
