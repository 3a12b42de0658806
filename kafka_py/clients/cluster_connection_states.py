"""The state of the client's connection to each node, and when a lost one may be tried again.

Mirrors: clients/src/main/java/org/apache/kafka/clients/ClusterConnectionStates.java @ 1.1.1
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from kafka_py.clients.connection_state import ConnectionState
from kafka_py.common.errors import IllegalStateException

if TYPE_CHECKING:
    from kafka_py.common.errors import AuthenticationException

LONG_MAX = 0x7FFFFFFFFFFFFFFF


class NodeConnectionState:
    """State of one connection, and of the attempts to get it back.

    Mirrors: org.apache.kafka.clients.ClusterConnectionStates.NodeConnectionState
    """

    __slots__ = (
        "authentication_exception",
        "failed_attempts",
        "last_connect_attempt_ms",
        "reconnect_backoff_ms",
        "state",
    )

    def __init__(self, state: ConnectionState, last_connect_attempt: int, reconnect_backoff_ms: int) -> None:
        self.state = state
        self.authentication_exception: AuthenticationException | None = None
        self.last_connect_attempt_ms = last_connect_attempt
        self.failed_attempts = 0
        # grows with every failure in a row, up to the maximum
        self.reconnect_backoff_ms = reconnect_backoff_ms

    def __repr__(self) -> str:
        return f"NodeState({self.state.name}, {self.last_connect_attempt_ms}, {self.failed_attempts})"


class ClusterConnectionStates:
    """Connection state by node id.

    Mirrors: org.apache.kafka.clients.ClusterConnectionStates
    Thread: the one thread of its NetworkClient
    """

    RECONNECT_BACKOFF_EXP_BASE = 2

    def __init__(self, reconnect_backoff_ms: int, reconnect_backoff_max_ms: int) -> None:
        self._reconnect_backoff_init_ms = reconnect_backoff_ms
        self._reconnect_backoff_max_ms = reconnect_backoff_max_ms
        self._reconnect_backoff_max_exp = (
            math.log(reconnect_backoff_max_ms / max(reconnect_backoff_ms, 1), self.RECONNECT_BACKOFF_EXP_BASE)
            if reconnect_backoff_max_ms > 0
            else 0.0
        )
        self._node_state: dict[str, NodeConnectionState] = {}

    def can_connect(self, id: str, now: int) -> bool:
        """True when a connection may be tried now: there is none, and the backoff of the last attempt is over."""
        state = self._node_state.get(id)
        if state is None:
            return True
        return state.state.is_disconnected() and now - state.last_connect_attempt_ms >= state.reconnect_backoff_ms

    def is_blacked_out(self, id: str, now: int) -> bool:
        """True when there is no connection and it is too early to try again."""
        state = self._node_state.get(id)
        if state is None:
            return False
        return state.state.is_disconnected() and now - state.last_connect_attempt_ms < state.reconnect_backoff_ms

    def connection_delay(self, id: str, now: int) -> int:
        """ms until a connection may be tried; LONG_MAX while there is one, since an event will wake the caller."""
        state = self._node_state.get(id)
        if state is None:
            return 0
        if not state.state.is_disconnected():
            return LONG_MAX
        return max(state.reconnect_backoff_ms - (now - state.last_connect_attempt_ms), 0)

    def is_connecting(self, id: str) -> bool:
        """True while the connect is under way."""
        state = self._node_state.get(id)
        return state is not None and state.state is ConnectionState.CONNECTING

    def connecting(self, id: str, now: int) -> None:
        """Note that a connect has begun."""
        state = self._node_state.get(id)
        if state is not None:
            state.last_connect_attempt_ms = now
            state.state = ConnectionState.CONNECTING
        else:
            self._node_state[id] = NodeConnectionState(ConnectionState.CONNECTING, now, self._reconnect_backoff_init_ms)

    def disconnected(self, id: str, now: int) -> None:
        """Note that the connection is gone. IllegalStateException for an unknown id, here and below."""
        state = self._state_of(id)
        state.state = ConnectionState.DISCONNECTED
        state.last_connect_attempt_ms = now
        self._update_reconnect_backoff(state)

    def checking_api_versions(self, id: str) -> None:
        """Note that the node's versions are being asked for."""
        self._state_of(id).state = ConnectionState.CHECKING_API_VERSIONS

    def ready(self, id: str) -> None:
        """Note that requests may be sent."""
        state = self._state_of(id)
        state.state = ConnectionState.READY
        state.failed_attempts = 0
        state.reconnect_backoff_ms = self._reconnect_backoff_init_ms

    def authentication_failed(self, id: str, now: int, exception: AuthenticationException | None) -> None:
        """Note that the node refused us."""
        state = self._state_of(id)
        state.authentication_exception = exception
        state.state = ConnectionState.AUTHENTICATION_FAILED
        state.last_connect_attempt_ms = now
        self._update_reconnect_backoff(state)

    def is_ready(self, id: str) -> bool:
        """True when requests may be sent."""
        state = self._node_state.get(id)
        return state is not None and state.state is ConnectionState.READY

    def has_ready_nodes(self) -> bool:
        """True when requests may be sent to some node."""
        return any(s.state is ConnectionState.READY for s in self._node_state.values())

    def is_disconnected(self, id: str) -> bool:
        """True when there was a connection, or an attempt, and there is none now."""
        state = self._node_state.get(id)
        return state is not None and state.state.is_disconnected()

    def authentication_exception(self, id: str) -> AuthenticationException | None:
        """Why the node refused us."""
        state = self._node_state.get(id)
        return None if state is None else state.authentication_exception

    def _update_reconnect_backoff(self, state: NodeConnectionState) -> None:
        """Double the backoff, give or take a fifth: clients that lost a broker together shall not return together."""
        if self._reconnect_backoff_max_ms > self._reconnect_backoff_init_ms:
            state.failed_attempts += 1
            exp = min(state.failed_attempts - 1, self._reconnect_backoff_max_exp)
            backoff = int(self._reconnect_backoff_init_ms * self.RECONNECT_BACKOFF_EXP_BASE**exp)
            state.reconnect_backoff_ms = int(random.uniform(0.8, 1.2) * backoff)

    def remove(self, id: str) -> None:
        """Forget the node: a new attempt is then made without a backoff."""
        self._node_state.pop(id, None)

    def connection_state(self, id: str) -> ConnectionState:
        """The state. IllegalStateException for an unknown id."""
        return self._state_of(id).state

    def _state_of(self, id: str) -> NodeConnectionState:
        state = self._node_state.get(id)
        if state is None:
            raise IllegalStateException(f"No entry found for connection {id}")
        return state
