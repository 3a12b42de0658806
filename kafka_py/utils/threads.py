"""Which threads there are, and a check that a method runs on the one it belongs to.

Ours, no original: Kafka says in comments what `@runs_on` says in a way that can be tested. The check is off, and the
method untouched, unless KAFKA_PY_CHECK_THREADS=1 is in the environment when the module loads.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
CHECK = os.environ.get("KAFKA_PY_CHECK_THREADS") == "1"

# role -> what the names of its threads look like
ROLES: dict[str, str] = {
    "acceptor": r"(data|control)-plane-kafka-socket-acceptor-",
    "network": r"(data|control)-plane-kafka-network-thread-",
    "handler": r"(data|control)-plane-kafka-request-handler-",
    "fetcher": r"ReplicaFetcherThread-|ReplicaAlterLogDirsThread-",
    "controller": r"controller-event-thread",
    "controller-send": r"Controller-\d+-to-broker-\d+-send-thread",
    "reaper": r"ExpirationReaper-|executor-",
    "scheduler": r"kafka-scheduler-",
    "cleaner": r"kafka-log-cleaner-thread-",
    "group": r"group-metadata-manager-",
    "txn": r"transaction-log-manager-|TxnMarkerSenderThread-",
    "zk": r"zk-session-expiry-handler|ZooKeeper|kazoo",
    "metrics": r"kafka-py-metrics-",
}
_PATTERNS = {role: re.compile(pattern) for role, pattern in ROLES.items()}


def role_of(thread_name: str) -> str | None:
    """The role a thread of that name plays; None for a thread that is not one of the broker's."""
    for role, pattern in _PATTERNS.items():
        if pattern.search(thread_name):
            return role
    return None


def assert_runs_on(*roles: str) -> None:
    """AssertionError if the calling thread plays a role, but none of these.

    Threads without a role (the main thread, a test's own) may call anything: they stand in for the real one.
    """
    name = threading.current_thread().name
    found = role_of(name)
    assert found is None or found in roles, f"belongs on {' or '.join(roles)}, called on {name} ({found})"


def runs_on(*roles: str, check: bool | None = None) -> Callable[[F], F]:
    """Decorate a method with the role (or roles) of the thread that calls it."""
    unknown = [role for role in roles if role not in ROLES]
    if unknown:
        raise ValueError(f"no such role: {unknown}")

    def decorate(method: F) -> F:
        if not (CHECK if check is None else check):
            return method

        @functools.wraps(method)
        def checked(*args: Any, **kwargs: Any) -> Any:
            assert_runs_on(*roles)
            return method(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate
