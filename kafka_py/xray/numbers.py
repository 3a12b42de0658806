"""Numbers by which pages speak of requests and operations.

Ours, no original.
"""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

from kafka_py.utils.concurrent import ReentrantLock

if TYPE_CHECKING:
    from kafka_py.network.request_channel import Request

_ids = itertools.count(1)
_lock = ReentrantLock()
_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # guarded by: _lock
_LONGEST = 300  # characters of a name a client made up


def request_number(thing: object) -> int:
    """The same number for the same object, for as long as it lives."""
    with _lock:
        number = _numbers.get(thing)
        if number is None:
            number = _numbers[thing] = next(_ids)
        return number


def told(request: Request) -> dict[str, Any]:
    """Who asks what: id, api, version, clientId (cut at 300 characters), connection, correlationId."""
    header = request.header
    return {
        "id": request_number(request),
        "api": header.api_key.name,
        "version": header.api_version,
        "clientId": str(header.client_id)[:_LONGEST],
        "connection": request.context.connection_id,
        "correlationId": header.correlation_id,
    }
