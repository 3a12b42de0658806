"""Which versions the broker serves.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ApiVersionsResponse.java @ 1.1.1
         (versions 2 and 3 as in 2.4)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_py.common.errors import SchemaException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorCoded, ListOf, Message, field
from kafka_py.common.protocol.types.type import INT16, INT32, Parts
from kafka_py.common.requests.response_message import ResponseMessage


class ApiVersionsResponse(ResponseMessage, ErrorCoded, key=ApiKeys.API_VERSIONS, latest=3, flexible=3):
    """A range of versions for each API.

    Mirrors: org.apache.kafka.common.requests.ApiVersionsResponse
    Thread:  any; what two threads write at once into the cache of bodies is the same.
    Differs: its bytes are made once per version, for every client that connects asks for them.
    """

    class ApiVersion(Message):
        """The lowest and the highest version served of an API.

        Mirrors: org.apache.kafka.common.requests.ApiVersionsResponse.ApiVersion
        """

        api_key: int = field(INT16, "The API's id")
        min_version: int = field(INT16, "The lowest version served")
        max_version: int = field(INT16, "The highest version served")

        def __init__(self, api_key: int, min_version: int, max_version: int) -> None:
            self.api_key = api_key
            self.min_version = min_version
            self.max_version = max_version

        @staticmethod
        def of(api_key: ApiKeys) -> ApiVersionsResponse.ApiVersion:
            """All versions in use."""
            return ApiVersionsResponse.ApiVersion(api_key.id, api_key.oldest_version(), api_key.latest_version())

    error_code: int = field(INT16)
    api_versions: list[ApiVersion] = field(ListOf(ApiVersion))
    throttle_time_ms: int = field(INT32, since=1, default=0)
    _bodies: dict[int, bytes] | None = field(None, alias="bodies", default=None)

    def __init__(self, throttle_time_ms: int, error: Errors, api_versions: Sequence[ApiVersion]) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error.code
        self.api_versions = list(api_versions)
        self._bodies = {}

    @classmethod
    def parse(cls, buffer: Any, version: int) -> ApiVersionsResponse:
        """As for every response, but a broker that lacks the version of the request answers in version 0."""
        try:
            return cls.read(buffer, version)[0]
        except SchemaException:
            if version == 0:
                raise
            return cls.read(buffer, 0)[0]

    def to_parts(self, version: int, header: bytes = b"") -> Parts:
        bodies = self._bodies
        if bodies is None:
            return super().to_parts(version, header)
        body = bodies.get(version)
        if body is None:
            body = bodies[version] = super().to_parts(version)[0]
        return [header + body]

    def api_version(self, api_key: int) -> ApiVersion | None:
        """The range of an API, None if it is not served."""
        return next((version for version in self.api_versions if version.api_key == api_key), None)

    def should_client_throttle(self, version: int) -> bool:
        return version >= 2

    @staticmethod
    def create_api_versions_response(throttle_time_ms: int, min_magic: int) -> ApiVersionsResponse:
        """All versions of all APIs that do not need a newer message format than the cluster writes."""
        versions = [
            ApiVersionsResponse.ApiVersion.of(key)
            for key in ApiKeys.values()
            if key.min_required_inter_broker_magic <= min_magic
        ]
        return ApiVersionsResponse(throttle_time_ms, Errors.NONE, versions)
