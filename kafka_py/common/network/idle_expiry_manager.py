"""Which connection has been idle longest.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/Selector.java (IdleExpiryManager) @ 3.7.1
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.utils.time import Time


class IdleExpiryManager:
    """Keeps connections in the order of their last activity and names the one to close.

    Mirrors: org.apache.kafka.common.network.Selector.IdleExpiryManager @ 3.7.1
    Thread:  the one that polls the selector.
    """

    def __init__(self, time: Time, connections_max_idle_ms: int) -> None:
        self._connections_max_idle_nanos = connections_max_idle_ms * 1_000_000
        self.lru_connections: collections.OrderedDict[str, int] = collections.OrderedDict()
        self._next_idle_close_check_time = time.nanoseconds() + self._connections_max_idle_nanos  # thread: poller

    def update(self, connection_id: str, current_time_nanos: int) -> None:
        """The connection was active now."""
        lru = self.lru_connections
        lru[connection_id] = current_time_nanos
        lru.move_to_end(connection_id)

    def poll_expired_connection(self, current_time_nanos: int) -> tuple[str, int] | None:
        """(id, last activity) of one connection that has been idle too long, or None."""
        if current_time_nanos <= self._next_idle_close_check_time:
            return None
        if not self.lru_connections:
            self._next_idle_close_check_time = current_time_nanos + self._connections_max_idle_nanos
            return None
        oldest = next(iter(self.lru_connections.items()))
        self._next_idle_close_check_time = oldest[1] + self._connections_max_idle_nanos
        return oldest if current_time_nanos > self._next_idle_close_check_time else None

    def remove(self, connection_id: str) -> None:
        """The connection is gone."""
        self.lru_connections.pop(connection_id, None)
