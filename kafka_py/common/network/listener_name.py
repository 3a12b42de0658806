"""The name of a listener.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ListenerName.java @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.security.auth.security_protocol import SecurityProtocol


class ListenerName:
    """A listener's name and the configuration prefix that follows from it; equal by value.

    Mirrors: org.apache.kafka.common.network.ListenerName
    """

    __slots__ = ("_hash", "_value")

    CONFIG_STATIC_PREFIX = "listener.name"

    def __init__(self, value: str) -> None:
        self._value = value
        self._hash = hash(value)

    @staticmethod
    def for_security_protocol(security_protocol: SecurityProtocol) -> ListenerName:
        """The listener that carries the protocol's own name."""
        return ListenerName(security_protocol.name)

    @staticmethod
    def normalised(value: str) -> ListenerName:
        """The listener of a name written in any case."""
        return ListenerName(value.upper())

    def value(self) -> str:
        """The name itself."""
        return self._value

    def config_prefix(self) -> str:
        """What configuration keys of this listener alone begin with."""
        return f"{self.CONFIG_STATIC_PREFIX}.{self._value.lower()}."

    def sasl_mechanism_config_prefix(self, sasl_mechanism: str) -> str:
        """What configuration keys of one SASL mechanism on this listener begin with."""
        return f"{self.config_prefix()}{sasl_mechanism.lower()}."

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListenerName) and self._value == other._value

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"ListenerName({self._value})"

    def __repr__(self) -> str:
        return f"ListenerName({self._value})"
