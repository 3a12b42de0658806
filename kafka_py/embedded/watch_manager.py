"""Who wants to hear of which node: each watch fires once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.embedded.jute import Writer
from kafka_py.zookeeper.zoo_keeper_events import EventType

if TYPE_CHECKING:
    from kafka_py.embedded.request_processor import Connection

_WATCH_XID = -1
_SYNC_CONNECTED = 3
_CHILDREN, _DATA = 1, 2  # kinds of watches in requests to check or remove them; 3 is any

_Table = dict[str, dict["Connection", None]]  # insertion-ordered, so that events go out in the order of the watches


class WatchManager:
    """Watches for a node's data (and coming and going), and for its children.

    Thread: the server's; nothing here is synchronised.
    """

    def __init__(self) -> None:
        """Nobody watches."""
        self._data: _Table = {}  # thread: of the server
        self._child: _Table = {}  # thread: of the server
        self._paths: dict[Connection, set[str]] = {}  # thread: of the server

    def add_data(self, path: str, connection: Connection) -> None:
        """Tell the connection of the node's next creation, deletion or write."""
        self._data.setdefault(path, {})[connection] = None
        self._paths.setdefault(connection, set()).add(path)

    def add_child(self, path: str, connection: Connection) -> None:
        """Tell the connection of the next change of the node's children."""
        self._child.setdefault(path, {})[connection] = None
        self._paths.setdefault(connection, set()).add(path)

    def trigger(self, event_type: EventType, path: str) -> None:
        """Tell those who watch for that, and forget their watches."""
        if event_type is EventType.NODE_CHILDREN_CHANGED:
            watchers = self._child.pop(path, {})
        else:
            watchers = self._data.pop(path, {})
        if event_type is EventType.NODE_DELETED:
            watchers = {**watchers, **self._child.pop(path, {})}  # one event for who watched both
        for connection in watchers:
            self._forget_path(path, connection)
            self.send(connection, event_type, path)

    def send(self, connection: Connection, event_type: EventType, path: str) -> None:
        """Tell one connection of a change."""
        body = Writer().write_int(event_type).write_int(_SYNC_CONNECTED).write_string(path).out
        connection.reply(_WATCH_XID, -1, 0, body)

    def has(self, path: str, connection: Connection, kind: int) -> bool:
        """Whether the connection watches the node in that way."""
        return any(connection in table.get(path, {}) for table in self._tables(kind))

    def remove(self, path: str, connection: Connection, kind: int) -> bool:
        """Forget such watches; False when there were none."""
        if not self.has(path, connection, kind):
            return False
        for table in self._tables(kind):
            watchers = table.get(path)
            if watchers is not None and watchers.pop(connection, 0) is None and not watchers:
                del table[path]
        self._forget_path(path, connection)
        return True

    def _forget_path(self, path: str, connection: Connection) -> None:
        """The connection has one watch less there, or two: if it was the last one, nothing is left of it."""
        if connection in self._data.get(path, ()) or connection in self._child.get(path, ()):
            return
        paths = self._paths[connection]
        paths.discard(path)
        if not paths:
            del self._paths[connection]

    def _tables(self, kind: int) -> list[_Table]:
        return [self._child] if kind == _CHILDREN else [self._data] if kind == _DATA else [self._child, self._data]

    def remove_connection(self, connection: Connection) -> None:
        """Forget all watches of a connection that is gone."""
        for path in self._paths.pop(connection, ()):
            for table in (self._data, self._child):
                watchers = table.get(path)
                if watchers is not None and watchers.pop(connection, 0) is None and not watchers:
                    del table[path]

    @property
    def size(self) -> int:
        """Number of watches."""
        return sum(map(len, self._data.values())) + sum(map(len, self._child.values()))
