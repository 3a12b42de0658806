"""ZooKeeper's small vocabulary: access rights, kinds of nodes, and what is known of a node.

Mirrors: org.apache.zookeeper.ZooDefs, org.apache.zookeeper.CreateMode, org.apache.zookeeper.data.{ACL, Id, Stat}
"""

from __future__ import annotations

import enum
from typing import ClassVar, Final, NamedTuple


class Perms:
    """Bits of an access right.

    Mirrors: org.apache.zookeeper.ZooDefs.Perms
    """

    READ: Final = 1
    WRITE: Final = 2
    CREATE: Final = 4
    DELETE: Final = 8
    ADMIN: Final = 16
    ALL: Final = 31


class Id(NamedTuple):
    """Who: the name of an authentication scheme, and a name within it.

    Mirrors: org.apache.zookeeper.data.Id
    """

    scheme: str
    id: str


class ACL(NamedTuple):
    """One entry of an access list: rights (bits of Perms) and whom they are given.

    Mirrors: org.apache.zookeeper.data.ACL
    """

    perms: int
    id: Id


class Ids:
    """The access lists that everyone uses.

    Mirrors: org.apache.zookeeper.ZooDefs.Ids
    """

    ANYONE_ID_UNSAFE: ClassVar = Id("world", "anyone")
    AUTH_IDS: ClassVar = Id("auth", "")
    OPEN_ACL_UNSAFE: ClassVar[list[ACL]] = [ACL(Perms.ALL, ANYONE_ID_UNSAFE)]
    CREATOR_ALL_ACL: ClassVar[list[ACL]] = [ACL(Perms.ALL, AUTH_IDS)]
    READ_ACL_UNSAFE: ClassVar[list[ACL]] = [ACL(Perms.READ, ANYONE_ID_UNSAFE)]


class CreateMode(enum.IntEnum):
    """Whether a node dies with its session, and whether the server numbers it; the value is the flag on the wire.

    Mirrors: org.apache.zookeeper.CreateMode
    """

    PERSISTENT = 0
    EPHEMERAL = 1
    PERSISTENT_SEQUENTIAL = 2
    EPHEMERAL_SEQUENTIAL = 3


class Stat(NamedTuple):
    """What ZooKeeper says of a node beside its data; times in ms since 1970, ephemeral_owner 0 for persistent nodes.

    Mirrors: org.apache.zookeeper.data.Stat
    """

    czxid: int = 0
    mzxid: int = 0
    ctime: int = 0
    mtime: int = 0
    version: int = 0
    cversion: int = 0
    aversion: int = 0
    ephemeral_owner: int = 0
    data_length: int = 0
    num_children: int = 0
    pzxid: int = 0

    def get_version(self) -> int:
        """Count of writes to the data since the node was created."""
        return self.version
