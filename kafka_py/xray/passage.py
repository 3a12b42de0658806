"""A thread at a point: what every part of the X-ray passes around.

Ours, no original.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from kafka_py.utils.threads import role_of

POINTS = (
    "accept",
    "receive",
    "request-queue",
    "handle",
    "append",
    "watch",
    "complete",
    "expire",
    "response-queue",
    "respond",
    "send",
    "fetch",
    "controller-event",
    "controller-send",
    "timer-tick",
    "group",
    "transaction",
    "isr",
    "high-watermark",
    "zookeeper",
)
"""The hand-overs at which a thread is seen, and may be held."""
GATES = frozenset(POINTS)
_NEVER_HELD = (None, "zk", "metrics")


class RequestInfo:
    """What the X-ray knows of a request, from `receive` on.

    Thread: made by the network thread; any reads.
    """

    __slots__ = ("api", "client_id", "connection", "correlation_id", "follower", "id", "topics", "version")

    def __init__(
        self,
        id: int,
        api: str,
        version: int = 0,
        client_id: str | None = "",
        connection: str = "",
        correlation_id: int = 0,
        topics: tuple[str, ...] = (),
        follower: int | None = None,
    ) -> None:
        """``follower`` is the broker that fetches, None for clients' requests."""
        self.id = id
        self.api = api
        self.version = version
        self.client_id = client_id or ""
        self.connection = connection
        self.correlation_id = correlation_id
        self.topics = topics
        self.follower = follower

    def whole(self) -> dict[str, Any]:
        """All of it, as `receive` tells it."""
        told: dict[str, Any] = {
            "id": self.id,
            "api": self.api,
            "version": self.version,
            "clientId": self.client_id,
            "connection": self.connection,
            "correlationId": self.correlation_id,
            "topics": list(self.topics),
        }
        if self.follower is not None:
            told["follower"] = self.follower
        return told

    def short(self) -> dict[str, Any]:
        """Its number, as all other events tell it."""
        return {"id": self.id}


class Passage:
    """One thread passing one point once.

    Thread: the one that passes.
    """

    __slots__ = ("fields", "label", "method", "point", "request", "thread", "topic")

    NO_FIELDS: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        point: str,
        method: str,
        request: RequestInfo | None = None,
        topic: str | None = None,
        label: str = "",
        fields: Mapping[str, Any] = NO_FIELDS,
    ) -> None:
        """``method`` is Class.member; ``label`` tells passages of one thread and point apart in a schedule."""
        self.thread = threading.current_thread().name
        self.point = point
        self.method = method
        self.request = request
        self.topic = topic
        self.label = label
        self.fields = fields

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics it has to do with, as far as they are known."""
        if self.topic is not None:
            return (self.topic,)
        return () if self.request is None else self.request.topics

    def __repr__(self) -> str:
        return f"<{self.thread} at {self.point} {self.label}>"


class Listener(Protocol):
    """Who is called when a thread passes a point, on that thread."""

    def arrive(self, passage: Passage) -> None:
        """The thread is about to do it; it goes on when this returns."""

    def leave(self, passage: Passage) -> None:
        """The thread has done it."""


def may_be_held(thread: str) -> bool:
    """Whether a thread of that name is one of the broker's own, and neither ZooKeeper's client nor the HTTP server's.

    Only those may be held: the session with ZooKeeper lives on, and whoever looks at what is held gets an answer.
    """
    return role_of(thread) not in _NEVER_HELD
