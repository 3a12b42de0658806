"""A broker's id with one address of it, as the older wire formats carry it.

Mirrors: core/src/main/scala/kafka/cluster/BrokerEndPoint.scala @ 1.1.1
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import ClassVar

from kafka_py.cluster.end_point import format_address
from kafka_py.common.errors import KafkaException

_INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_MAX_PORT = 0x7FFFFFFF


@dataclass(frozen=True)
class BrokerEndPoint:
    """Broker id, host and port: what a fetcher or a client needs to connect, without the listener's security.

    Mirrors: kafka.cluster.BrokerEndPoint
    Differs: write_to returns the position after what it wrote and read_from takes and returns one, since a
        memoryview has no position of its own.
    """

    id: int
    host: str
    port: int

    URI_PARSE_EXP: ClassVar[re.Pattern[str]] = re.compile(r"\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")

    @classmethod
    def parse_host_port(cls, connection_string: str) -> tuple[str, int] | None:
        """(host, port) of `host:port` or `[ipv6]:port`, or None when the text is not of that form."""
        found = cls.URI_PARSE_EXP.fullmatch(connection_string)
        if found is None or int(found[2]) > _MAX_PORT:
            return None
        return found[1], int(found[2])

    @classmethod
    def create_broker_end_point(cls, broker_id: int, connection_string: str) -> BrokerEndPoint:
        """Like parse_host_port, with the broker's id; raises KafkaException for other text."""
        address = cls.parse_host_port(connection_string)
        if address is None:
            raise KafkaException(f"Unable to parse {connection_string} to a broker endpoint")
        return cls(broker_id, *address)

    @classmethod
    def read_from(cls, buffer: memoryview, position: int = 0) -> tuple[BrokerEndPoint, int]:
        """Read int32 id, int16-prefixed UTF-8 host, int32 port; returns the end point and the position after it."""
        broker_id = _INT.unpack_from(buffer, position)[0]
        length = _SHORT.unpack_from(buffer, position + 4)[0]
        start = position + 6
        host = bytes(buffer[start : start + length]).decode()
        return cls(broker_id, host, _INT.unpack_from(buffer, start + length)[0]), start + length + 4

    def connection_string(self) -> str:
        """`host:port`, with brackets around an IPv6 host."""
        return format_address(self.host, self.port)

    def write_to(self, buffer: bytearray | memoryview, position: int = 0) -> int:
        """Write what read_from reads, size_in_bytes bytes; returns the position after them."""
        host = self.host.encode()
        struct.pack_into(f">ih{len(host)}si", buffer, position, self.id, len(host), host, self.port)
        return position + self.size_in_bytes

    @property
    def size_in_bytes(self) -> int:
        """Bytes that write_to needs."""
        return 4 + 4 + 2 + len(self.host.encode())

    def __str__(self) -> str:
        """The text Scala prints for the case class."""
        return f"BrokerEndPoint({self.id},{self.host},{self.port})"
