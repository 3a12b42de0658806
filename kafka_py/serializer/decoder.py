"""Makes something readable of bytes, for the tools.

Mirrors: core/src/main/scala/kafka/serializer/Decoder.scala @ 1.1.1
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class Decoder(ABC):
    """What a tool's --value-decoder-class names.

    Mirrors: kafka.serializer.Decoder
    """

    def __init__(self, props: Mapping[str, str] | None = None) -> None:
        """props: the decoder's settings."""
        self.props = dict(props or {})

    @abstractmethod
    def from_bytes(self, data: bytes) -> Any:
        """What the bytes mean."""


class DefaultDecoder(Decoder):
    """The bytes themselves.

    Mirrors: kafka.serializer.DefaultDecoder
    """

    def from_bytes(self, data: bytes) -> bytes:
        return data


class StringDecoder(Decoder):
    """Text, in UTF-8 or what serializer.encoding says; what is no text becomes U+FFFD.

    Mirrors: kafka.serializer.StringDecoder
    """

    @property
    def encoding(self) -> str:
        """Name of the encoding."""
        return self.props.get("serializer.encoding", "UTF8")

    def from_bytes(self, data: bytes) -> str:
        return data.decode(self.encoding, errors="replace")


class LongDecoder(Decoder):
    """The first eight bytes as a number.

    Mirrors: kafka.serializer.LongDecoder
    """

    def from_bytes(self, data: bytes) -> int:
        number: int = struct.unpack_from(">q", data)[0]
        return number


class IntegerDecoder(Decoder):
    """The first four bytes as a number.

    Mirrors: kafka.serializer.IntegerDecoder
    """

    def from_bytes(self, data: bytes) -> int:
        number: int = struct.unpack_from(">i", data)[0]
        return number
