"""Who is at the other end.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Authenticator.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from kafka_py.common.errors import IllegalStateException

if TYPE_CHECKING:
    from kafka_py.common.network.network_receive import NetworkReceive
    from kafka_py.common.network.reauthentication_context import ReauthenticationContext
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
    from kafka_py.common.security.auth.kafka_principal_serde import KafkaPrincipalSerde


class Authenticator(abc.ABC):
    """Finds the principal of a connection, in as many steps as the mechanism takes.

    Mirrors: org.apache.kafka.common.network.Authenticator @ 3.7.1
    """

    @abc.abstractmethod
    def authenticate(self) -> None:
        """Take the next step. Raises AuthenticationException, OSError."""

    def handle_authentication_failure(self) -> None:
        """Do what remains before a failed connection is closed; plain connections have nothing to do."""
        return

    @abc.abstractmethod
    def principal(self) -> KafkaPrincipal:
        """The principal; only after `complete`."""

    @abc.abstractmethod
    def principal_serde(self) -> KafkaPrincipalSerde | None:
        """How the principal is written into an envelope, if it can be."""

    @abc.abstractmethod
    def complete(self) -> bool:
        """Whether no further step is needed."""

    @abc.abstractmethod
    def close(self) -> None:
        """Release what the mechanism holds."""

    def reauthenticate(self, reauthentication_context: ReauthenticationContext) -> None:
        """Begin to authenticate again on an open connection. Raises IllegalStateException where that cannot be."""
        raise IllegalStateException(
            f"re-authentication is not supported by {type(self).__name__}: {reauthentication_context}"
        )

    def server_session_expiration_time_nanos(self) -> int | None:
        """When the server may close the connection for want of a new authentication; None for never."""
        return None

    def client_session_reauthentication_time_nanos(self) -> int | None:
        """When the client should authenticate anew; None for never."""
        return None

    def reauthentication_latency_ms(self) -> int | None:
        """How long the last re-authentication took; None when there was none."""
        return None

    def poll_response_received_during_reauthentication(self) -> NetworkReceive | None:
        """A response that arrived between the steps, once."""
        return None

    def connected_client_supports_reauthentication(self) -> bool:
        """Whether the other end could authenticate again."""
        return False
