"""Why and where a channel stands, for the messages clients get when it breaks.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ChannelState.java @ 3.7.1
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from kafka_py.common.errors import AuthenticationException


class ChannelState:
    """State of a channel; one shared object per state, except where an exception or an address is kept.

    Mirrors: org.apache.kafka.common.network.ChannelState @ 3.7.1
    """

    class State(enum.Enum):
        """The states, in the order of a connection's life."""

        NOT_CONNECTED = 0
        AUTHENTICATE = 1
        READY = 2
        EXPIRED = 3
        FAILED_SEND = 4
        AUTHENTICATION_FAILED = 5
        LOCAL_CLOSE = 6

    NOT_CONNECTED: ClassVar[ChannelState]
    AUTHENTICATE: ClassVar[ChannelState]
    READY: ClassVar[ChannelState]
    EXPIRED: ClassVar[ChannelState]
    FAILED_SEND: ClassVar[ChannelState]
    LOCAL_CLOSE: ClassVar[ChannelState]

    __slots__ = ("_exception", "_remote_address", "_state")

    def __init__(
        self, state: State, exception: AuthenticationException | None = None, remote_address: str | None = None
    ) -> None:
        self._state = state
        self._exception = exception
        self._remote_address = remote_address

    def state(self) -> State:
        """The bare state."""
        return self._state

    def exception(self) -> AuthenticationException | None:
        """What went wrong, for AUTHENTICATION_FAILED."""
        return self._exception

    def remote_address(self) -> str | None:
        """The peer, where it is known."""
        return self._remote_address

    def __repr__(self) -> str:
        return f"ChannelState({self._state.name})"


ChannelState.NOT_CONNECTED = ChannelState(ChannelState.State.NOT_CONNECTED)
ChannelState.AUTHENTICATE = ChannelState(ChannelState.State.AUTHENTICATE)
ChannelState.READY = ChannelState(ChannelState.State.READY)
ChannelState.EXPIRED = ChannelState(ChannelState.State.EXPIRED)
ChannelState.FAILED_SEND = ChannelState(ChannelState.State.FAILED_SEND)
ChannelState.LOCAL_CLOSE = ChannelState(ChannelState.State.LOCAL_CLOSE)
