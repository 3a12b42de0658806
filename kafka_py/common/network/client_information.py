"""Name and version of the library at the other end, as ApiVersions v3 tells them (KIP-511).

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ClientInformation.java @ 3.7.1
"""

from __future__ import annotations

from typing import ClassVar


class ClientInformation:
    """Software name and version of a client; an empty text becomes "unknown".

    Mirrors: org.apache.kafka.common.network.ClientInformation @ 3.7.1
    """

    UNKNOWN_NAME_OR_VERSION: ClassVar[str] = "unknown"
    EMPTY: ClassVar[ClientInformation]

    __slots__ = ("_software_name", "_software_version")

    def __init__(self, software_name: str, software_version: str) -> None:
        self._software_name = software_name or self.UNKNOWN_NAME_OR_VERSION
        self._software_version = software_version or self.UNKNOWN_NAME_OR_VERSION

    def software_name(self) -> str:
        """Such as apache-kafka-java."""
        return self._software_name

    def software_version(self) -> str:
        """Such as 3.7.1."""
        return self._software_version

    def __str__(self) -> str:
        return f"ClientInformation(softwareName={self._software_name}, softwareVersion={self._software_version})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ClientInformation)
            and other._software_name == self._software_name
            and other._software_version == self._software_version
        )

    def __hash__(self) -> int:
        return hash((self._software_name, self._software_version))


ClientInformation.EMPTY = ClientInformation("", "")
