"""The states of a connection to a node.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ConnectionState.java @ 1.1.1
"""

from __future__ import annotations

import enum


class ConnectionState(enum.Enum):
    """Where a connection stands, seen from the client.

    Mirrors: org.apache.kafka.clients.ConnectionState
    """

    DISCONNECTED = 0  # not connected, or the last attempt failed
    CONNECTING = 1  # the connect is under way
    CHECKING_API_VERSIONS = 2  # connected, the node's API versions are being asked for
    READY = 3  # requests may be sent
    AUTHENTICATION_FAILED = 4  # the last attempt failed to authenticate

    def is_disconnected(self) -> bool:
        """True when there is no connection and none under way."""
        return self is ConnectionState.DISCONNECTED or self is ConnectionState.AUTHENTICATION_FAILED
