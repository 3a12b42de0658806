"""Which versions does the broker serve.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ApiVersionsRequest.java @ 1.1.1
         (versions 2 and 3 as in 2.4)
"""

from __future__ import annotations

import re
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import COMPACT_STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse

API_VERSIONS_REQUEST_V0 = Schema()

API_VERSIONS_REQUEST_V1 = API_VERSIONS_REQUEST_V0

CLIENT_SOFTWARE_NAME_KEY_NAME = "client_software_name"
CLIENT_SOFTWARE_VERSION_KEY_NAME = "client_software_version"

# From version 2 on the client waits for the throttle time itself.
API_VERSIONS_REQUEST_V2 = API_VERSIONS_REQUEST_V1

# Version 3 is flexible, and the client says what it is.
API_VERSIONS_REQUEST_V3 = Schema(
    Field(CLIENT_SOFTWARE_NAME_KEY_NAME, COMPACT_STRING, "The client library's name"),
    Field(CLIENT_SOFTWARE_VERSION_KEY_NAME, COMPACT_STRING, "The client library's version"),
    Field("_tagged_fields", TaggedFields()),
)


class ApiVersionsRequest(AbstractRequest):
    """A question without content; from version 3 on the client says what it is.

    Mirrors: org.apache.kafka.common.requests.ApiVersionsRequest
    """

    __slots__ = ("_client_software_name", "_client_software_version", "_unsupported_request_version")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.API_VERSIONS

    _SOFTWARE_NAME_VERSION_PATTERN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

    class Builder(AbstractRequest.Builder):
        """Builds the question.

        Mirrors: org.apache.kafka.common.requests.ApiVersionsRequest.Builder
        """

        def __init__(self, version: int | None = None, client_software_name: str = "kafka-py",
                     client_software_version: str = "0.1.0") -> None:  # fmt: skip
            super().__init__(ApiKeys.API_VERSIONS, version)
            self._client_software_name = client_software_name
            self._client_software_version = client_software_version

        def build(self, version: int | None = None) -> ApiVersionsRequest:
            return ApiVersionsRequest(
                self._version_or_latest(version), None, self._client_software_name, self._client_software_version
            )

        def __str__(self) -> str:
            return "(type=ApiVersionsRequest)"

    def __init__(
        self,
        version: int,
        unsupported_request_version: int | None = None,
        client_software_name: str = "",
        client_software_version: str = "",
    ) -> None:
        super().__init__(version)
        self._unsupported_request_version = unsupported_request_version
        self._client_software_name = client_software_name
        self._client_software_version = client_software_version

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [API_VERSIONS_REQUEST_V0, API_VERSIONS_REQUEST_V1, API_VERSIONS_REQUEST_V2, API_VERSIONS_REQUEST_V3]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> ApiVersionsRequest:
        return cls(
            version,
            None,
            struct.get_or_else(CLIENT_SOFTWARE_NAME_KEY_NAME, ""),
            struct.get_or_else(CLIENT_SOFTWARE_VERSION_KEY_NAME, ""),
        )

    def has_unsupported_request_version(self) -> bool:
        """Whether the client asked with a version to come, so that nothing but its header was read."""
        return self._unsupported_request_version is not None

    def client_software_name(self) -> str:
        """The client library's name; empty below version 3."""
        return self._client_software_name

    def client_software_version(self) -> str:
        """The client library's version; empty below version 3."""
        return self._client_software_version

    def is_valid(self) -> bool:
        """Whether name and version of the client library are fit for metrics (KIP-511)."""
        if self._version < 3:
            return True
        fits = self._SOFTWARE_NAME_VERSION_PATTERN.fullmatch
        return bool(fits(self._client_software_name) and fits(self._client_software_version))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.API_VERSIONS.request_schema(self._version))
        result.set_if_exists(CLIENT_SOFTWARE_NAME_KEY_NAME, self._client_software_name)
        return result.set_if_exists(CLIENT_SOFTWARE_VERSION_KEY_NAME, self._client_software_version)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ApiVersionsResponse:
        """The error; for UNSUPPORTED_VERSION with the range of this API, so that the client can ask again at once."""
        error = Errors.for_exception(e)
        versions = []
        if error is Errors.UNSUPPORTED_VERSION:
            versions.append(ApiVersionsResponse.ApiVersion.of(ApiKeys.API_VERSIONS))
        return ApiVersionsResponse(throttle_time_ms, error, versions)
