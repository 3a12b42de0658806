"""What a listener knows of a client that is being let in.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/auth/AuthenticationContext.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.security.auth.security_protocol import SecurityProtocol


class AuthenticationContext(abc.ABC):
    """Handed to the principal builder.

    Mirrors: org.apache.kafka.common.security.auth.AuthenticationContext @ 3.7.1
    """

    @abc.abstractmethod
    def security_protocol(self) -> SecurityProtocol:
        """The protocol of the listener."""

    @abc.abstractmethod
    def client_address(self) -> str:
        """The client's IP address."""

    @abc.abstractmethod
    def listener_name(self) -> str:
        """The name of the listener."""
