"""What a new authenticator needs from the one it replaces.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ReauthenticationContext.java @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kafka_py.common.network.authenticator import Authenticator
    from kafka_py.common.network.network_receive import NetworkReceive


class ReauthenticationContext(NamedTuple):
    """The authenticator so far, the receive in progress, and when re-authentication began.

    Mirrors: org.apache.kafka.common.network.ReauthenticationContext @ 3.7.1
    """

    previous_authenticator: Authenticator
    network_receive: NetworkReceive | None
    reauthentication_begin_nanos: int
