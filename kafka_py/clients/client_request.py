"""A request on its way out.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ClientRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.requests.request_header import RequestHeader

if TYPE_CHECKING:
    from kafka_py.clients.request_completion_handler import RequestCompletionHandler
    from kafka_py.common.protocol.api_keys import ApiKeys
    from kafka_py.common.requests.abstract_request import AbstractRequest


class ClientRequest:
    """A request builder with its destination; the version is chosen when the destination's versions are known.

    Mirrors: org.apache.kafka.clients.ClientRequest
    """

    __slots__ = (
        "_callback",
        "_client_id",
        "_correlation_id",
        "_created_time_ms",
        "_destination",
        "_expect_response",
        "_request_builder",
    )

    def __init__(
        self,
        destination: str,
        request_builder: AbstractRequest.Builder,
        correlation_id: int,
        client_id: str,
        created_time_ms: int,
        expect_response: bool,
        callback: RequestCompletionHandler | None,
    ) -> None:
        """`destination` is a node id as text."""
        self._destination = destination
        self._request_builder = request_builder
        self._correlation_id = correlation_id
        self._client_id = client_id
        self._created_time_ms = created_time_ms
        self._expect_response = expect_response
        self._callback = callback

    def expect_response(self) -> bool:
        """Whether the node answers (a Produce with acks=0 is not answered)."""
        return self._expect_response

    def api_key(self) -> ApiKeys:
        """The API."""
        return self._request_builder.api_key()

    def make_header(self, version: int) -> RequestHeader:
        """The header for that version."""
        return RequestHeader(self.api_key(), version, self._client_id, self._correlation_id)

    def request_builder(self) -> AbstractRequest.Builder:
        """The builder."""
        return self._request_builder

    def destination(self) -> str:
        """Node id."""
        return self._destination

    def callback(self) -> RequestCompletionHandler | None:
        """What to call with the response."""
        return self._callback

    def created_time_ms(self) -> int:
        """When it was made."""
        return self._created_time_ms

    def correlation_id(self) -> int:
        """By which the response is known."""
        return self._correlation_id

    def __repr__(self) -> str:
        return (
            f"ClientRequest(expectResponse={str(self._expect_response).lower()}, callback={self._callback}, "
            f"destination={self._destination}, correlationId={self._correlation_id}, clientId={self._client_id}, "
            f"createdTimeMs={self._created_time_ms}, requestBuilder={self._request_builder})"
        )
