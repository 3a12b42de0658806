"""Where a request came from, and how to answer it.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/RequestContext.java @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import InvalidRequestException
from kafka_py.common.network.client_information import ClientInformation
from kafka_py.common.network.network_send import NetworkSend
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.request_and_size import RequestAndSize

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.network.send import Send
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.request_header import RequestHeader
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
    from kafka_py.common.security.auth.security_protocol import SecurityProtocol

_API_VERSIONS = ApiKeys.API_VERSIONS
_parse_request = AbstractRequest.parse_request
_new_tuple = tuple.__new__  # a third of the time that a NamedTuple's own takes


class RequestContext:
    """Header, connection, address, principal and listener of a request.

    Mirrors: org.apache.kafka.common.requests.RequestContext @ 3.7.1
    Differs: the fields are attributes; the Send it builds already names its connection; no principal serde, since
             requests are not forwarded in envelopes.
    """

    __slots__ = (
        "client_address",
        "client_information",
        "connection_id",
        "from_privileged_listener",
        "header",
        "listener_name",
        "principal",
        "security_protocol",
    )

    def __init__(
        self,
        header: RequestHeader,
        connection_id: str,
        client_address: str,
        principal: KafkaPrincipal,
        listener_name: ListenerName,
        security_protocol: SecurityProtocol,
        client_information: ClientInformation = ClientInformation.EMPTY,
        from_privileged_listener: bool = False,
    ) -> None:
        self.header = header
        self.connection_id = connection_id
        self.client_address = client_address
        self.principal = principal
        self.listener_name = listener_name
        self.security_protocol = security_protocol
        self.client_information = client_information
        self.from_privileged_listener = from_privileged_listener

    def parse_request(self, buffer: Any) -> RequestAndSize:
        """The request in ``buffer``, the bytes behind the header; InvalidRequestException if they do not fit.

        An ApiVersions request of a version to come is not parsed: it becomes one that answers UNSUPPORTED_VERSION.
        """
        header = self.header
        api_key = header.api_key
        if api_key is _API_VERSIONS and self._is_unsupported_api_versions_request():
            from kafka_py.common.requests.api_versions_request import ApiVersionsRequest

            unsupported = ApiVersionsRequest(version=0, unsupported_request_version=header.api_version)
            return RequestAndSize(unsupported, 0)
        try:
            request = _parse_request(api_key, header.api_version, buffer)
            return _new_tuple(RequestAndSize, (request, len(buffer)))
        except Exception as ex:  # whatever is wrong with the bytes, the connection must be closed
            raise InvalidRequestException(
                f"Error getting request for apiKey: {api_key}, apiVersion: {header.api_version}, "
                f"connectionId: {self.connection_id}, listenerName: {self.listener_name}, principal: {self.principal}",
                ex,
            ) from ex

    def build_response_send(self, body: AbstractResponse) -> Send:
        """The answer in the version that the request asked for, ready for the selector."""
        header = self.header
        version = self.api_version() if header.api_key is _API_VERSIONS else header.api_version
        return NetworkSend(self.connection_id, body.to_parts(version, header.response_header_bytes()))

    build_response = build_response_send  # its name in 1.1.1

    def _is_unsupported_api_versions_request(self) -> bool:
        header = self.header
        return header.api_key is _API_VERSIONS and not _API_VERSIONS.is_version_supported(header.api_version)

    def api_version(self) -> int:
        """The version to answer in: the header's, but 0 for an ApiVersions request of a version to come."""
        if self._is_unsupported_api_versions_request():
            return 0
        return self.header.api_version

    def request_type(self) -> int:
        """The id of the API."""
        return self.header.api_key.id

    def request_version(self) -> int:
        """The version in the header."""
        return self.header.api_version

    def client_id(self) -> str | None:
        """What the client calls itself."""
        return self.header.client_id

    def correlation_id(self) -> int:
        """The number that the response repeats."""
        return self.header.correlation_id

    def __str__(self) -> str:
        return (
            f"RequestContext(header={self.header}, connectionId='{self.connection_id}', "
            f"clientAddress={self.client_address}, principal={self.principal}, listenerName={self.listener_name}, "
            f"securityProtocol={self.security_protocol}, clientInformation={self.client_information}, "
            f"fromPrivilegedListener={self.from_privileged_listener})"
        )

    __repr__ = __str__
