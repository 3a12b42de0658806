"""Which versions the broker serves.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ApiVersionsResponse.java @ 1.1.1
         (versions 2 and 3 as in 2.4)
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.compact_array_of import CompactArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import INT16, Parts
from kafka_py.common.requests.abstract_response import AbstractResponse

API_VERSIONS_KEY_NAME = "api_versions"
API_KEY_NAME = "api_key"
MIN_VERSION_KEY_NAME = "min_version"
MAX_VERSION_KEY_NAME = "max_version"

API_VERSIONS_V0 = Schema(
    Field(API_KEY_NAME, INT16, "The API's id"),
    Field(MIN_VERSION_KEY_NAME, INT16, "The lowest version served"),
    Field(MAX_VERSION_KEY_NAME, INT16, "The highest version served"),
)

API_VERSIONS_RESPONSE_V0 = Schema(ERROR_CODE, Field(API_VERSIONS_KEY_NAME, ArrayOf(API_VERSIONS_V0)))

API_VERSIONS_RESPONSE_V1 = Schema(ERROR_CODE, Field(API_VERSIONS_KEY_NAME, ArrayOf(API_VERSIONS_V0)), THROTTLE_TIME_MS)

API_VERSIONS_RESPONSE_V2 = API_VERSIONS_RESPONSE_V1

API_VERSIONS_V3 = Schema(
    Field(API_KEY_NAME, INT16, "The API's id"),
    Field(MIN_VERSION_KEY_NAME, INT16, "The lowest version served"),
    Field(MAX_VERSION_KEY_NAME, INT16, "The highest version served"),
    Field("_tagged_fields", TaggedFields()),
)
API_VERSIONS_RESPONSE_V3 = Schema(
    ERROR_CODE,
    Field(API_VERSIONS_KEY_NAME, CompactArrayOf(API_VERSIONS_V3)),
    THROTTLE_TIME_MS,
    # Tags tell the features of newer clusters; there are none here, and those of others are kept as they are.
    Field("_tagged_fields", TaggedFields()),
)


class ApiVersionsResponse(AbstractResponse):
    """A range of versions for each API.

    Mirrors: org.apache.kafka.common.requests.ApiVersionsResponse
    Thread:  any; what two threads write at once into the cache of bodies is the same.
    Differs: its bytes are made once per version, for every client that connects asks for them.
    """

    __slots__ = ("_api_key_to_api_version", "_bodies", "_error", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.API_VERSIONS

    class ApiVersion(NamedTuple):
        """The lowest and the highest version served of an API.

        Mirrors: org.apache.kafka.common.requests.ApiVersionsResponse.ApiVersion
        """

        api_key: int
        min_version: int
        max_version: int

        @staticmethod
        def of(api_key: ApiKeys) -> ApiVersionsResponse.ApiVersion:
            """All versions there are schemas for."""
            return ApiVersionsResponse.ApiVersion(api_key.id, api_key.oldest_version(), api_key.latest_version())

        def __str__(self) -> str:
            return f"ApiVersion(apiKey={self.api_key}, minVersion={self.min_version}, maxVersion= {self.max_version})"

        def __repr__(self) -> str:
            return str(self)

    def __init__(self, throttle_time_ms: int, error: Errors, api_versions: list[ApiVersion]) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._error = error
        self._api_key_to_api_version = {version.api_key: version for version in api_versions}
        self._bodies: dict[int, bytes] = {}

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [API_VERSIONS_RESPONSE_V0, API_VERSIONS_RESPONSE_V1, API_VERSIONS_RESPONSE_V2, API_VERSIONS_RESPONSE_V3]

    @classmethod
    def from_struct(cls, struct: Struct) -> ApiVersionsResponse:
        return cls(
            struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME),
            Errors.for_code(struct.get(ERROR_CODE)),
            [
                cls.ApiVersion(v.get(API_KEY_NAME), v.get(MIN_VERSION_KEY_NAME), v.get(MAX_VERSION_KEY_NAME))
                for v in struct.get(API_VERSIONS_KEY_NAME)
            ],
        )

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.API_VERSIONS.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms).set(ERROR_CODE, self._error.code)
        versions = []
        for api_version in self._api_key_to_api_version.values():
            entry = result.instance(API_VERSIONS_KEY_NAME)
            entry.set(API_KEY_NAME, api_version.api_key)
            entry.set(MIN_VERSION_KEY_NAME, api_version.min_version)
            entry.set(MAX_VERSION_KEY_NAME, api_version.max_version)
            versions.append(entry.set_if_exists("_tagged_fields", {}))
        return result.set(API_VERSIONS_KEY_NAME, versions).set_if_exists("_tagged_fields", {})

    def to_parts(self, version: int, header: bytes = b"") -> Parts:
        body = self._bodies.get(version)
        if body is None:
            body = self._bodies[version] = super().to_parts(version)[0]
        return [header + body]

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def api_versions(self) -> list[ApiVersion]:
        """The ranges of all APIs served."""
        return list(self._api_key_to_api_version.values())

    def api_version(self, api_key: int) -> ApiVersion | None:
        """The range of an API, None if it is not served."""
        return self._api_key_to_api_version.get(api_key)

    def error(self) -> Errors:
        """NONE, UNSUPPORTED_VERSION or INVALID_REQUEST."""
        return self._error

    def error_counts(self) -> dict[Errors, int]:
        return {self._error: 1}

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
