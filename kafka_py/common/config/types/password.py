"""A secret option value that does not show itself in logs.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/types/Password.java @ 1.1.1
"""

from __future__ import annotations


class Password:
    """Wraps a secret; printing it gives [hidden].

    Mirrors: org.apache.kafka.common.config.types.Password
    """

    HIDDEN = "[hidden]"

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        """Keep the secret."""
        self._value = value

    def value(self) -> str:
        """The secret itself."""
        return self._value

    def __eq__(self, other: object) -> bool:
        """Equal to a Password with the same secret, to nothing else."""
        return isinstance(other, Password) and self._value == other._value

    def __hash__(self) -> int:
        """Hash of the secret."""
        return hash(self._value)

    def __str__(self) -> str:
        """The placeholder."""
        return self.HIDDEN

    __repr__ = __str__
