"""A request's end: the answer, or why there is none.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ClientResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.clients.request_completion_handler import RequestCompletionHandler
    from kafka_py.common.errors import UnsupportedVersionException
    from kafka_py.common.requests.abstract_response import AbstractResponse
    from kafka_py.common.requests.request_header import RequestHeader


class ClientResponse:
    """The response body with the header of its request, or a disconnect, or a version that cannot be sent.

    Mirrors: org.apache.kafka.clients.ClientResponse
    """

    __slots__ = (
        "_callback",
        "_destination",
        "_disconnected",
        "_latency_ms",
        "_received_time_ms",
        "_request_header",
        "_response_body",
        "_version_mismatch",
    )

    def __init__(
        self,
        request_header: RequestHeader,
        callback: RequestCompletionHandler | None,
        destination: str,
        created_time_ms: int,
        received_time_ms: int,
        disconnected: bool,
        version_mismatch: UnsupportedVersionException | None,
        response_body: AbstractResponse | None,
    ) -> None:
        self._request_header = request_header
        self._callback = callback
        self._destination = destination
        self._received_time_ms = received_time_ms
        self._latency_ms = received_time_ms - created_time_ms
        self._disconnected = disconnected
        self._version_mismatch = version_mismatch
        self._response_body = response_body

    def received_time_ms(self) -> int:
        """When it came."""
        return self._received_time_ms

    def was_disconnected(self) -> bool:
        """True when the connection went before the answer came."""
        return self._disconnected

    def version_mismatch(self) -> UnsupportedVersionException | None:
        """Why the request was never sent."""
        return self._version_mismatch

    def request_header(self) -> RequestHeader:
        """Header of the request."""
        return self._request_header

    def destination(self) -> str:
        """Node id."""
        return self._destination

    def response_body(self) -> AbstractResponse | None:
        """The answer."""
        return self._response_body

    def has_response(self) -> bool:
        """True when there is an answer."""
        return self._response_body is not None

    def request_latency_ms(self) -> int:
        """From the making of the request to its end."""
        return self._latency_ms

    def on_complete(self) -> None:
        """Call the sender's callback."""
        if self._callback is not None:
            self._callback(self)

    def __repr__(self) -> str:
        return (
            f"ClientResponse(receivedTimeMs={self._received_time_ms}, latencyMs={self._latency_ms}, "
            f"disconnected={str(self._disconnected).lower()}, requestHeader={self._request_header}, "
            f"responseBody={self._response_body})"
        )
