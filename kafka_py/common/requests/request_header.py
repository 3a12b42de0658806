"""The first bytes of every request.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/RequestHeader.java @ 1.1.1
         (header version 2 as in 3.7.1)
"""

from __future__ import annotations

import struct
from typing import Any, ClassVar

from kafka_py.common.errors import InvalidRequestException, SchemaException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import INT16, INT32, NULLABLE_STRING
from kafka_py.common.requests.abstract_request_response import AbstractRequestResponse
from kafka_py.common.requests.response_header import ResponseHeader

_UNPACK_FROM = struct.Struct(">hhih").unpack_from
_PACK_CORRELATION_ID = struct.Struct(">i").pack
_UNPACK_START_FROM = struct.Struct(">hhi").unpack_from


class RequestHeader(AbstractRequestResponse):
    """API key, version, correlation id and client id of a request.

    Mirrors: org.apache.kafka.common.requests.RequestHeader
    Differs: the fields are attributes; ``size`` tells how many bytes of the message the header took (0 if it was not
             parsed), because a memoryview has no position that could have moved on.
    """

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id", "size")

    _API_KEY_FIELD: ClassVar[Field] = Field("api_key", INT16, "The id of the API")
    _API_VERSION_FIELD: ClassVar[Field] = Field("api_version", INT16, "The version of the API")
    _CORRELATION_ID_FIELD: ClassVar[Field] = Field("correlation_id", INT32, "A number that the response repeats")
    _CLIENT_ID_FIELD: ClassVar[Field] = Field("client_id", NULLABLE_STRING, "What the client calls itself", "")

    # The first version of ControlledShutdown was sent without a client id.
    CONTROLLED_SHUTDOWN_V0_SCHEMA: ClassVar[Schema] = Schema(_API_KEY_FIELD, _API_VERSION_FIELD, _CORRELATION_ID_FIELD)
    SCHEMA: ClassVar[Schema] = Schema(_API_KEY_FIELD, _API_VERSION_FIELD, _CORRELATION_ID_FIELD, _CLIENT_ID_FIELD)
    SCHEMA_V2: ClassVar[Schema] = Schema(
        _API_KEY_FIELD,
        _API_VERSION_FIELD,
        _CORRELATION_ID_FIELD,
        _CLIENT_ID_FIELD,
        Field("_tagged_fields", TaggedFields()),
    )
    SCHEMAS: ClassVar[tuple[Schema, ...]] = (CONTROLLED_SHUTDOWN_V0_SCHEMA, SCHEMA, SCHEMA_V2)

    def __init__(
        self, api_key: ApiKeys, api_version: int, client_id: str | None, correlation_id: int, size: int = 0
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.client_id = client_id
        self.correlation_id = correlation_id
        self.size = size

    @staticmethod
    def parse(buffer: Any) -> RequestHeader:
        """Read the header at the start of a message; InvalidRequestException if it is malformed or the key unknown."""
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        try:
            key_id, api_version, correlation_id, length = _UNPACK_FROM(view, 0)
            api_key = ApiKeys._ID_TO_TYPE[key_id]
            version = api_key.request_header_version(api_version)
            if version == 1 and length >= 0:
                end = 10 + length
                if end <= len(view):
                    client_id = str(view[10:end], "utf-8", "replace")
                    return RequestHeader(api_key, api_version, client_id, correlation_id, end)
        except (struct.error, KeyError):
            version = -1  # the careful way says what is wrong
        return RequestHeader._parse_with_schema(view)

    @staticmethod
    def _parse_with_schema(view: memoryview) -> RequestHeader:
        try:
            key_id, api_version, _ = _UNPACK_START_FROM(view, 0)
            api_key = ApiKeys._ID_TO_TYPE.get(key_id)
            version = 1 if api_key is None else api_key.request_header_version(api_version)
            header, end = RequestHeader.SCHEMAS[version].read_from(view, 0)
        except (struct.error, SchemaException) as e:
            guess = struct.unpack_from(">h", view, 0)[0] if len(view) >= 2 else "unknown"
            raise InvalidRequestException(
                f"Error parsing request header. Our best guess of the apiKey is: {guess}", e
            ) from e
        if api_key is None:
            raise InvalidRequestException(f"Unknown API key {key_id}")
        # A null client id reads as the field's default, the empty text.
        return RequestHeader(
            api_key, api_version, header.get_or_else("client_id", ""), header.get("correlation_id"), end
        )

    def header_version(self) -> int:
        """0 without a client id, 1 with one, 2 with tagged fields."""
        return self.api_key.request_header_version(self.api_version)

    def to_struct(self) -> Struct:
        """The header as a struct of the schema that its key and version ask for."""
        result = Struct(self.SCHEMAS[self.header_version()])
        result.set("api_key", self.api_key.id)
        result.set("api_version", self.api_version)
        result.set_if_exists("client_id", self.client_id)
        result.set("correlation_id", self.correlation_id)
        return result

    def to_bytes(self) -> bytes:
        """The header's bytes."""
        start = struct.pack(">hhi", self.api_key.id, self.api_version, self.correlation_id)
        version = self.header_version()
        if version == 0:
            return start
        client_id = (self.client_id or "").encode()
        encoded = struct.pack(">h", len(client_id)) + client_id
        return start + encoded + (b"\0" if version == 2 else b"")

    def response_header_bytes(self) -> bytes:
        """The bytes of the answer's header: those of `to_response_header`, without the object."""
        start = _PACK_CORRELATION_ID(self.correlation_id)
        return start if self.api_key.response_header_version(self.api_version) == 0 else start + b"\0"

    def to_response_header(self) -> ResponseHeader:
        """The header of the answer."""
        return ResponseHeader(self.correlation_id, self.api_key.response_header_version(self.api_version))

    def __str__(self) -> str:
        return (
            f"RequestHeader(apiKey={self.api_key}, apiVersion={self.api_version}, "
            f"clientId={'null' if self.client_id is None else self.client_id}, correlationId={self.correlation_id})"
        )

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RequestHeader)
            and self.api_key is other.api_key
            and self.api_version == other.api_version
            and self.correlation_id == other.correlation_id
            and self.client_id == other.client_id
        )

    def __hash__(self) -> int:
        return hash((self.api_key.id, self.api_version, self.client_id, self.correlation_id))
