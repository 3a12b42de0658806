"""What a plain listener knows of a client.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/auth/PlaintextAuthenticationContext.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.security.auth.authentication_context import AuthenticationContext
from kafka_py.common.security.auth.security_protocol import SecurityProtocol


class PlaintextAuthenticationContext(AuthenticationContext):
    """Address and listener: there is nothing else.

    Mirrors: org.apache.kafka.common.security.auth.PlaintextAuthenticationContext @ 3.7.1
    """

    __slots__ = ("_client_address", "_listener_name")

    def __init__(self, client_address: str, listener_name: str) -> None:
        self._client_address = client_address
        self._listener_name = listener_name

    def security_protocol(self) -> SecurityProtocol:
        """PLAINTEXT."""
        return SecurityProtocol.PLAINTEXT

    def client_address(self) -> str:
        """The client's IP address."""
        return self._client_address

    def listener_name(self) -> str:
        """The name of the listener."""
        return self._listener_name
