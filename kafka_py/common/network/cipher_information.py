"""Cipher and protocol of a TLS connection.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/CipherInformation.java @ 3.7.1
"""

from __future__ import annotations


class CipherInformation:
    """Names of cipher suite and protocol; a missing one becomes "unknown".

    Mirrors: org.apache.kafka.common.network.CipherInformation @ 3.7.1
    """

    __slots__ = ("_cipher", "_protocol")

    def __init__(self, cipher: str | None, protocol: str | None) -> None:
        self._cipher = cipher or "unknown"
        self._protocol = protocol or "unknown"

    def cipher(self) -> str:
        """The cipher suite."""
        return self._cipher

    def protocol(self) -> str:
        """The TLS version."""
        return self._protocol

    def __str__(self) -> str:
        return f"CipherInformation(cipher={self._cipher}, protocol={self._protocol})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CipherInformation) and other._cipher == self._cipher and other._protocol == self._protocol
        )

    def __hash__(self) -> int:
        return hash((self._cipher, self._protocol))
