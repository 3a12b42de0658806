"""Who a connection acts for.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/auth/KafkaPrincipal.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar


class KafkaPrincipal:
    """A typed name such as ``User:alice``; equal by type and name.

    Mirrors: org.apache.kafka.common.security.auth.KafkaPrincipal
    """

    USER_TYPE: ClassVar[str] = "User"
    ANONYMOUS: ClassVar[KafkaPrincipal]

    def __init__(self, principal_type: str, name: str, token_authenticated: bool = False) -> None:
        self._principal_type = principal_type
        self._name = name
        self._token_authenticated = token_authenticated  # thread: of its owner
        self._hash = hash((principal_type, name))

    @staticmethod
    def from_string(value: str) -> KafkaPrincipal:
        """Parse ``type:name``; ValueError if the colon or the type is missing."""
        principal_type, colon, name = value.partition(":")
        if not colon or not principal_type:
            shown = value or "an empty string"
            raise ValueError(f"expected a string in format principalType:principalName but got {shown}")
        return KafkaPrincipal(principal_type, name)

    def get_name(self) -> str:
        """The name without its type."""
        return self._name

    def get_principal_type(self) -> str:
        """The type, ``User`` unless a principal builder made up its own."""
        return self._principal_type

    def token_authenticated(self, value: bool | None = None) -> bool:
        """Whether the login used a delegation token; an argument sets it."""
        if value is not None:
            self._token_authenticated = value
        return self._token_authenticated

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self) or not isinstance(other, KafkaPrincipal):
            return False
        return self._principal_type == other._principal_type and self._name == other._name

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self._principal_type}:{self._name}"

    def __repr__(self) -> str:
        return f"KafkaPrincipal({self})"


KafkaPrincipal.ANONYMOUS = KafkaPrincipal(KafkaPrincipal.USER_TYPE, "ANONYMOUS")
