"""A broker as clients see it.

Mirrors: clients/src/main/java/org/apache/kafka/common/Node.java @ 1.1.1
"""

from __future__ import annotations

from typing import NamedTuple


class Node(NamedTuple):
    """Id, address and rack of a broker on one listener.

    Mirrors: org.apache.kafka.common.Node
    """

    id: int
    host: str
    port: int
    rack: str | None = None

    @staticmethod
    def no_node() -> Node:
        """The placeholder that stands where there is no node."""
        return _NO_NODE

    def is_empty(self) -> bool:
        """Whether this is a placeholder: no host, or no port."""
        return not self.host or self.port < 0

    def id_string(self) -> str:
        """The id as NetworkClient names connections."""
        return str(self.id)

    def has_rack(self) -> bool:
        """Whether the broker told its rack."""
        return self.rack is not None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (id: {self.id} rack: {'null' if self.rack is None else self.rack})"

    def __repr__(self) -> str:
        return str(self)


_NO_NODE = Node(-1, "", -1)
