"""Where a channel's cipher and client library are kept.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ChannelMetadataRegistry.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.network.cipher_information import CipherInformation
    from kafka_py.common.network.client_information import ClientInformation


class ChannelMetadataRegistry(abc.ABC):
    """Facts about a connection that are learned after it was made.

    Mirrors: org.apache.kafka.common.network.ChannelMetadataRegistry @ 3.7.1
    """

    @abc.abstractmethod
    def register_cipher_information(self, cipher_information: CipherInformation) -> None:
        """Note the cipher; a second call replaces it."""

    @abc.abstractmethod
    def cipher_information(self) -> CipherInformation | None:
        """The cipher, or None."""

    @abc.abstractmethod
    def register_client_information(self, client_information: ClientInformation) -> None:
        """Note the client library; a second call replaces it."""

    @abc.abstractmethod
    def client_information(self) -> ClientInformation | None:
        """The client library, or None."""

    @abc.abstractmethod
    def close(self) -> None:
        """Forget both."""


class DefaultChannelMetadataRegistry(ChannelMetadataRegistry):
    """The registry that only remembers.

    Mirrors: org.apache.kafka.common.network.DefaultChannelMetadataRegistry @ 3.7.1
    """

    def __init__(self) -> None:
        self._cipher_information: CipherInformation | None = None  # thread: poller
        self._client_information: ClientInformation | None = None  # thread: poller

    def register_cipher_information(self, cipher_information: CipherInformation) -> None:
        """Note the cipher unless one is known."""
        if self._cipher_information is None:
            self._cipher_information = cipher_information

    def cipher_information(self) -> CipherInformation | None:
        """The cipher, or None."""
        return self._cipher_information

    def register_client_information(self, client_information: ClientInformation) -> None:
        """Note the client library."""
        self._client_information = client_information

    def client_information(self) -> ClientInformation | None:
        """The client library, or None."""
        return self._client_information

    def close(self) -> None:
        """Forget both."""
        self._cipher_information = None
        self._client_information = None
