"""The base of all responses.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AbstractResponse.java @ 1.1.1
Read next: produce_response.py
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts
from kafka_py.common.requests.abstract_request_response import AbstractRequestResponse

if TYPE_CHECKING:
    from kafka_py.common.network.send import Send
    from kafka_py.common.requests.request_header import RequestHeader
    from kafka_py.common.requests.response_header import ResponseHeader


class AbstractResponse(AbstractRequestResponse):
    """A response of some API; it takes a version only when it is written.

    Mirrors: org.apache.kafka.common.requests.AbstractResponse
    Differs: a response is written to a list of parts (``to_parts``), which Produce and Fetch do without a Struct.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys]
    DEFAULT_THROTTLE_TIME: ClassVar[int] = 0

    @classmethod
    @abstractmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        """The response in a message's body; SchemaException if the bytes do not fit."""

    @abstractmethod
    def to_struct(self, version: int) -> Struct:
        """The response as a struct of a version's schema."""

    @abstractmethod
    def error_counts(self) -> dict[Errors, int]:
        """How often each error is in the response; feeds the ErrorsPerSec metrics."""

    @abstractmethod
    def to_parts(self, version: int, header: bytes = b"") -> Parts:
        """The bytes of a header and of the body, as parts of a gathering write."""

    def to_send(self, destination: str, request_header: RequestHeader, api_version: int | None = None) -> Send:
        """The answer to a request, ready for the selector, in the request's version unless another is given."""
        # Imported here: network builds on requests for SASL, not only requests on network.
        from kafka_py.common.network.network_send import NetworkSend

        version = request_header.api_version if api_version is None else api_version
        return NetworkSend(destination, self.to_parts(version, request_header.to_response_header().to_bytes()))

    def serialize(self, version: int, response_header: ResponseHeader) -> bytes:
        """The bytes of header and body without their size; regions of files are read into memory."""
        return join_parts(self.to_parts(version, response_header.to_bytes()))

    def should_client_throttle(self, version: int) -> bool:
        """Whether a client at this version waits by itself for the throttle time it is told (KIP-219)."""
        return False

    @staticmethod
    def error_counts_of(errors: Iterable[Errors]) -> dict[Errors, int]:
        """How often each error occurs."""
        counts: dict[Errors, int] = {}
        for error in errors:
            counts[error] = counts.get(error, 0) + 1
        return counts

    def to_string(self, version: int) -> str:
        """The response in words."""
        return str(self.to_struct(version))


def join_parts(parts: Parts) -> bytes:
    """The bytes of a list of parts; what is a region of a file is read."""
    joined = []
    for part in parts:
        if isinstance(part, bytes | bytearray | memoryview):
            joined.append(part)
        else:
            buffer = bytearray(part.size_in_bytes())
            part.read_into(buffer, 0)
            joined.append(buffer)
    return b"".join(joined)
