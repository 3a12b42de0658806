"""The base of all requests.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AbstractRequest.java @ 1.1.1
Read next: produce_request.py
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from kafka_py.common.errors import IllegalStateException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts
from kafka_py.common.requests.abstract_request_response import AbstractRequestResponse
from kafka_py.common.requests.abstract_response import AbstractResponse

if TYPE_CHECKING:
    from kafka_py.common.network.send import Send
    from kafka_py.common.requests.request_header import RequestHeader


class Builder:
    """Holds what a request says until its version is known.

    Mirrors: org.apache.kafka.common.requests.AbstractRequest.Builder
    """

    def __init__(
        self, api_key: ApiKeys, oldest_allowed_version: int | None = None, latest_allowed_version: int | None = None
    ) -> None:
        """With one version given, only that one is allowed; with none, all are."""
        self._api_key = api_key
        if oldest_allowed_version is None:
            self._oldest_allowed_version = api_key.oldest_version()
            self._latest_allowed_version = api_key.latest_version()
        else:
            self._oldest_allowed_version = oldest_allowed_version
            self._latest_allowed_version = (
                oldest_allowed_version if latest_allowed_version is None else latest_allowed_version
            )

    def api_key(self) -> ApiKeys:
        """The key of the request."""
        return self._api_key

    def oldest_allowed_version(self) -> int:
        """The lowest version that can say what is to be said."""
        return self._oldest_allowed_version

    def latest_allowed_version(self) -> int:
        """The highest version that may be used."""
        return self._latest_allowed_version

    @abstractmethod
    def build(self, version: int | None = None) -> AbstractRequest:
        """The request at a version, by default the highest that is allowed."""

    def _version_or_latest(self, version: int | None) -> int:
        return self._latest_allowed_version if version is None else version


_Builder = Builder


class AbstractRequest(AbstractRequestResponse):
    """A request of some API at some version.

    Mirrors: org.apache.kafka.common.requests.AbstractRequest
    Differs: where Java makes requests of Structs, ``parse`` makes them of bytes; the switch over all keys in
             parseRequest is a look-up of the key's class.
    """

    __slots__ = ("_version",)

    API_KEY: ClassVar[ApiKeys]

    Builder: TypeAlias = _Builder

    def __init__(self, version: int) -> None:
        self._version = version  # thread: its maker

    @classmethod
    @abstractmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        """The request in a message's body; SchemaException if the bytes do not fit."""

    @staticmethod
    def parse_request(api_key: ApiKeys, api_version: int, buffer: Any) -> AbstractRequest:
        """The request of a key and version in a message's body (the bytes behind the header).

        Raises SchemaException if the bytes do not fit, ValueError for a version that is not in use.
        """
        parse = _PARSERS.get(api_key)
        if parse is None:
            parse = _PARSERS[api_key] = api_key.request_class().parse
        if not api_key.is_version_supported(api_version):
            raise ValueError(f"Invalid version for API key {api_key}: {api_version}")
        request: AbstractRequest = parse(buffer, api_version)
        return request

    def version(self) -> int:
        """The version the request came or goes with."""
        return self._version

    @abstractmethod
    def to_struct(self) -> Struct:
        """The request as a struct of its version's schema."""

    @abstractmethod
    def to_parts(self) -> Parts:
        """The bytes of the body, as parts of a gathering write."""

    def to_send(self, destination: str, header: RequestHeader) -> Send:
        """Header and body, ready for the selector."""
        # Imported here: network builds on requests for SASL, not only requests on network.
        from kafka_py.common.network.network_send import NetworkSend

        return NetworkSend(destination, [header.to_bytes(), *self.to_parts()])

    def serialize(self, header: RequestHeader) -> bytes:
        """The bytes of header and body without their size."""
        return b"".join((header.to_bytes(), *self.to_parts()))

    @abstractmethod
    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AbstractResponse | None:
        """The answer that says that all of the request failed with ``e``; None where none is to be sent."""

    def error_counts(self, e: BaseException) -> dict[Errors, int]:
        """How often each error is in the answer to a request that failed with ``e``."""
        response = self.get_error_response(0, e)
        if response is None:
            raise IllegalStateException(f"Error counts could not be obtained for request {self}")
        return response.error_counts()

    def to_string(self, verbose: bool = True) -> str:
        """The request in words; without ``verbose`` nothing that grows with the number of partitions."""
        return str(self.to_struct())

    def __str__(self) -> str:
        return self.to_string(True)


_PARSERS: dict[ApiKeys, Any] = {}
