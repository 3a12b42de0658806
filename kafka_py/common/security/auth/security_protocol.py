"""The security protocols a listener may speak.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/auth/SecurityProtocol.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class SecurityProtocol:
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, with the id that goes on the wire.

    Mirrors: org.apache.kafka.common.security.auth.SecurityProtocol
    """

    __slots__ = ("id", "name")

    PLAINTEXT: ClassVar[SecurityProtocol]
    SSL: ClassVar[SecurityProtocol]
    SASL_PLAINTEXT: ClassVar[SecurityProtocol]
    SASL_SSL: ClassVar[SecurityProtocol]

    _BY_ID: ClassVar[dict[int, SecurityProtocol]] = {}
    _BY_NAME: ClassVar[dict[str, SecurityProtocol]] = {}

    def __init__(self, id: int, name: str) -> None:
        self.id = id
        self.name = name
        SecurityProtocol._BY_ID[id] = self
        SecurityProtocol._BY_NAME[name] = self

    @staticmethod
    def values() -> list[SecurityProtocol]:
        """All protocols in the order of their ids."""
        return list(SecurityProtocol._BY_ID.values())

    @staticmethod
    def names() -> list[str]:
        """The names of all protocols."""
        return list(SecurityProtocol._BY_NAME)

    @staticmethod
    def for_id(id: int) -> SecurityProtocol | None:
        """The protocol of an id, or None for an id that is not known."""
        return SecurityProtocol._BY_ID.get(id)

    @staticmethod
    def for_name(name: str) -> SecurityProtocol:
        """The protocol of a name in any case; ValueError if there is none."""
        try:
            return SecurityProtocol._BY_NAME[name.upper()]
        except KeyError:
            raise ValueError(
                f"No enum constant org.apache.kafka.common.security.auth.SecurityProtocol.{name.upper()}"
            ) from None

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"SecurityProtocol.{self.name}"


SecurityProtocol.PLAINTEXT = SecurityProtocol(0, "PLAINTEXT")
SecurityProtocol.SSL = SecurityProtocol(1, "SSL")
SecurityProtocol.SASL_PLAINTEXT = SecurityProtocol(2, "SASL_PLAINTEXT")
SecurityProtocol.SASL_SSL = SecurityProtocol(3, "SASL_SSL")
