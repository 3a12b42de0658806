"""ZooKeeper's result codes, and the exceptions that stand for them.

Mirrors: org.apache.zookeeper.KeeperException (of the ZooKeeper client that Kafka 1.1.1 ships)
"""

from __future__ import annotations

import enum
from typing import ClassVar


class Code(enum.IntEnum):
    """Result of one request, with the number it has on the wire; str() gives the name as Kafka logs it.

    Mirrors: org.apache.zookeeper.KeeperException.Code
    """

    OK = 0
    SYSTEMERROR = -1
    RUNTIMEINCONSISTENCY = -2
    DATAINCONSISTENCY = -3
    CONNECTIONLOSS = -4
    MARSHALLINGERROR = -5
    UNIMPLEMENTED = -6
    OPERATIONTIMEOUT = -7
    BADARGUMENTS = -8
    APIERROR = -100
    NONODE = -101
    NOAUTH = -102
    BADVERSION = -103
    NOCHILDRENFOREPHEMERALS = -108
    NODEEXISTS = -110
    NOTEMPTY = -111
    SESSIONEXPIRED = -112
    INVALIDCALLBACK = -113
    INVALIDACL = -114
    AUTHFAILED = -115
    SESSIONMOVED = -118
    NOTREADONLY = -119

    @classmethod
    def get(cls, code: int) -> Code:
        """The code of that number; one this client does not know is an APIERROR."""
        found = cls._value2member_map_.get(code)
        return found if isinstance(found, Code) else cls.APIERROR

    def __str__(self) -> str:
        """The bare name, as Java prints it."""
        return self.name


class KeeperException(Exception):
    """A request that ZooKeeper answered with an error.

    Mirrors: org.apache.zookeeper.KeeperException
    """

    TEXTS: ClassVar[dict[Code, str]] = {
        Code.SYSTEMERROR: "SystemError",
        Code.CONNECTIONLOSS: "ConnectionLoss",
        Code.MARSHALLINGERROR: "MarshallingError",
        Code.UNIMPLEMENTED: "Unimplemented",
        Code.OPERATIONTIMEOUT: "OperationTimeout",
        Code.BADARGUMENTS: "BadArguments",
        Code.APIERROR: "APIError",
        Code.NONODE: "NoNode",
        Code.NOAUTH: "NoAuth",
        Code.BADVERSION: "BadVersion",
        Code.NOCHILDRENFOREPHEMERALS: "NoChildrenForEphemerals",
        Code.NODEEXISTS: "NodeExists",
        Code.NOTEMPTY: "Directory not empty",
        Code.SESSIONEXPIRED: "Session expired",
        Code.INVALIDACL: "InvalidACL",
        Code.AUTHFAILED: "AuthFailed",
        Code.SESSIONMOVED: "Session moved",
    }

    def __init__(self, code: Code, path: str | None = None) -> None:
        """Make the exception of that code; create() picks the class that belongs to it."""
        text = f"KeeperErrorCode = {self.TEXTS.get(code, code.name)}"
        super().__init__(text if path is None else f"{text} for {path}")
        self.code = code
        self.path = path

    @staticmethod
    def create(code: Code, path: str | None = None) -> KeeperException:
        """The exception that belongs to a code other than OK."""
        return _CLASSES.get(code, KeeperException)(code, path)


class NoNodeException(KeeperException):
    """The node, or the parent it should have, does not exist."""


class NodeExistsException(KeeperException):
    """The node to create is there already."""


class BadVersionException(KeeperException):
    """The node has another version than the one a conditional write expects."""


class NotEmptyException(KeeperException):
    """The node to delete has children."""


class NoAuthException(KeeperException):
    """The node's ACL does not allow this client the operation."""


class ConnectionLossException(KeeperException):
    """The connection broke before the answer came: the request may or may not have been carried out."""


class SessionExpiredException(KeeperException):
    """The session is gone, with all its ephemeral nodes and watches."""


class AuthFailedException(KeeperException):
    """The server did not accept the client's credentials."""


_CLASSES: dict[Code, type[KeeperException]] = {
    Code.NONODE: NoNodeException,
    Code.NODEEXISTS: NodeExistsException,
    Code.BADVERSION: BadVersionException,
    Code.NOTEMPTY: NotEmptyException,
    Code.NOAUTH: NoAuthException,
    Code.CONNECTIONLOSS: ConnectionLossException,
    Code.SESSIONEXPIRED: SessionExpiredException,
    Code.AUTHFAILED: AuthFailedException,
}
