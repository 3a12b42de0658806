"""Responses that are declared messages.

Ours in its form, as request_message.py is.
"""

from __future__ import annotations

from typing import Any, Self

from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import Message
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts
from kafka_py.common.requests.abstract_response import AbstractResponse


class ResponseMessage(AbstractResponse, Message):
    """A response whose fields are declared; it takes a version only when it is written."""

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        return cls.read(buffer, version)[0]

    def to_struct(self, version: int) -> Struct:
        return self.struct_at(version)

    def to_parts(self, version: int, header: bytes = b"") -> Parts:
        out: Parts = [header]
        self.write(out, version)
        return [b"".join(out)]

    def error_counts(self) -> dict[Errors, int]:
        codes: list[int] = []
        self.add_error_codes(codes)
        return {Errors.for_code(code): codes.count(code) for code in dict.fromkeys(codes)}
