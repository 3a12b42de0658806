"""The first bytes of every response.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ResponseHeader.java @ 1.1.1
         (header version 1 as in 3.7.1)
"""

from __future__ import annotations

import struct
from typing import Any

from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.tagged_fields import TaggedFields
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.abstract_request_response import AbstractRequestResponse

_PACK = struct.Struct(">i").pack


class ResponseHeader(AbstractRequestResponse):
    """The correlation id of the request that is answered.

    Mirrors: org.apache.kafka.common.requests.ResponseHeader
    """

    __slots__ = ("_correlation_id", "_header_version", "_size")

    _CORRELATION_ID_FIELD = Field("correlation_id", INT32, "The number that the client put into its request")
    SCHEMA = Schema(_CORRELATION_ID_FIELD)
    SCHEMA_V1 = Schema(_CORRELATION_ID_FIELD, Field("_tagged_fields", TaggedFields()))
    SCHEMAS = (SCHEMA, SCHEMA_V1)

    def __init__(self, correlation_id: int, header_version: int = 0, size: int | None = None) -> None:
        self._correlation_id = correlation_id
        self._header_version = header_version
        self._size = 4 + header_version if size is None else size

    @staticmethod
    def parse(buffer: Any, header_version: int = 0) -> ResponseHeader:
        """Read the header at the start of a message; SchemaException if there are too few bytes."""
        view = buffer if type(buffer) is memoryview else memoryview(buffer)
        header, end = ResponseHeader.SCHEMAS[header_version].read_from(view, 0)
        return ResponseHeader(header.get("correlation_id"), header_version, end)

    def correlation_id(self) -> int:
        """The number that the client put into its request."""
        return self._correlation_id

    def header_version(self) -> int:
        """0, or 1 with tagged fields."""
        return self._header_version

    def size_of(self) -> int:
        """How many bytes the header takes, or took when it was parsed."""
        return self._size

    def to_struct(self) -> Struct:
        """The header as a struct."""
        return Struct(self.SCHEMAS[self._header_version]).set("correlation_id", self._correlation_id)

    def to_bytes(self) -> bytes:
        """The header's bytes."""
        return _PACK(self._correlation_id) if self._header_version == 0 else _PACK(self._correlation_id) + b"\0"
