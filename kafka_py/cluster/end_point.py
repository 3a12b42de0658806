"""One listener of a broker: where it can be reached, and how it is secured.

Mirrors: core/src/main/scala/kafka/cluster/EndPoint.scala @ 1.1.1
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kafka_py.common.errors import KafkaException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.security.auth.security_protocol import SecurityProtocol


@dataclass(frozen=True)
class EndPoint:
    """Host, port, listener name and security protocol of one listener; equal by value, so it can key a map.

    A host of None means that the listener binds to (or advertises) the default interface.

    Mirrors: kafka.cluster.EndPoint
    """

    host: str | None
    port: int
    listener_name: ListenerName
    security_protocol: SecurityProtocol

    # Anchored at the front only, as in the original: what follows the port is not looked at by the pattern,
    # but the whole text must match.
    URI_PARSE_EXP: ClassVar[re.Pattern[str]] = re.compile(r"^(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
    DEFAULT_SECURITY_PROTOCOL_MAP: ClassVar[Mapping[ListenerName, SecurityProtocol]] = {
        ListenerName.for_security_protocol(protocol): protocol for protocol in SecurityProtocol.values()
    }

    @classmethod
    def create_end_point(
        cls,
        connection_string: str,
        security_protocol_map: Mapping[ListenerName, SecurityProtocol] | None = None,
    ) -> EndPoint:
        """Read `LISTENER://host:port`, the host being empty, a name, or an IPv6 address in brackets.

        Without a map the listener name must itself be that of a security protocol. Negative ports are accepted.
        Raises KafkaException for text of another form, ValueError for a listener the map does not know.
        """
        found = cls.URI_PARSE_EXP.fullmatch(connection_string)
        if found is None:
            raise KafkaException(f"Unable to parse {connection_string} to a broker endpoint")
        name, host, port = found.groups()
        listener_name = ListenerName.normalised(name)
        protocols = cls.DEFAULT_SECURITY_PROTOCOL_MAP if security_protocol_map is None else security_protocol_map
        protocol = protocols.get(listener_name)
        if protocol is None:
            raise ValueError(f"No security protocol defined for listener {listener_name.value()}")
        return cls(host or None, int(port), listener_name, protocol)

    @property
    def connection_string(self) -> str:
        """`LISTENER://host:port`, the inverse of create_end_point."""
        where = f":{self.port}" if self.host is None else format_address(self.host, self.port)
        return f"{self.listener_name.value()}://{where}"

    def __str__(self) -> str:
        """The text Scala prints for the case class, which appears in Kafka's log lines."""
        host = "null" if self.host is None else self.host
        return f"EndPoint({host},{self.port},{self.listener_name},{self.security_protocol.name})"


def format_address(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 host (org.apache.kafka.common.utils.Utils.formatAddress)."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
