"""What ZooKeeper tells a watcher: a state of the connection, or a change of a node.

Mirrors: org.apache.zookeeper.Watcher.Event, org.apache.zookeeper.WatchedEvent
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class KeeperState(enum.Enum):
    """What a state event tells.

    Mirrors: org.apache.zookeeper.Watcher.Event.KeeperState
    """

    DISCONNECTED = "Disconnected"
    SYNC_CONNECTED = "SyncConnected"
    AUTH_FAILED = "AuthFailed"
    CONNECTED_READ_ONLY = "ConnectedReadOnly"
    SASL_AUTHENTICATED = "SaslAuthenticated"
    EXPIRED = "Expired"


class EventType(enum.IntEnum):
    """What happened to a node, by its number on the wire.

    Mirrors: org.apache.zookeeper.Watcher.Event.EventType
    """

    NONE = -1
    NODE_CREATED = 1
    NODE_DELETED = 2
    NODE_DATA_CHANGED = 3
    NODE_CHILDREN_CHANGED = 4


class WatchedEvent(NamedTuple):
    """A change of the connection (path None) or of a watched node.

    Mirrors: org.apache.zookeeper.WatchedEvent
    """

    type: EventType
    state: KeeperState
    path: str | None
