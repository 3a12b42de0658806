"""Which versions does the broker serve.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ApiVersionsRequest.java @ 1.1.1
         (versions 2 and 3 as in 2.4)
"""

from __future__ import annotations

import re

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.common.requests.request_message import RequestMessage


class ApiVersionsRequest(RequestMessage, key=ApiKeys.API_VERSIONS, latest=3, flexible=3):
    """A question without content; from version 3 on the client says what it is.

    Mirrors: org.apache.kafka.common.requests.ApiVersionsRequest
    """

    _SOFTWARE_NAME_VERSION_PATTERN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

    client_software_name: str = field(STRING, "The client library's name", since=3, default="")
    client_software_version: str = field(STRING, "The client library's version", since=3, default="")
    unsupported_request_version: int | None = field(None, alias="unsupported_request_version", default=None)

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
                version=self._version_or_latest(version),
                client_software_name=self._client_software_name,
                client_software_version=self._client_software_version,
            )

        def __str__(self) -> str:
            return "(type=ApiVersionsRequest)"

    def has_unsupported_request_version(self) -> bool:
        """Whether the client asked with a version to come, so that nothing but its header was read."""
        return self.unsupported_request_version is not None

    def is_valid(self) -> bool:
        """Whether name and version of the client library are fit for metrics (KIP-511)."""
        if self._version < 3:
            return True
        fits = self._SOFTWARE_NAME_VERSION_PATTERN.fullmatch
        return bool(fits(self.client_software_name) and fits(self.client_software_version))

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> ApiVersionsResponse:
        """The error; for UNSUPPORTED_VERSION with the range of this API, so that the client can ask again at once."""
        error = Errors.for_exception(e)
        versions = []
        if error is Errors.UNSUPPORTED_VERSION:
            versions.append(ApiVersionsResponse.ApiVersion.of(ApiKeys.API_VERSIONS))
        return ApiVersionsResponse(throttle_time_ms, error, versions)
