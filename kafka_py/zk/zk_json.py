"""JSON as the nodes hold it: read leniently, written as Kafka writes it."""

from __future__ import annotations

import json
from typing import Any


def encode_as_bytes(value: object) -> bytes:
    """JSON without spaces, UTF-8 as it is, keys in the order given: what Kafka's Json object writes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def parse_bytes(data: bytes | None) -> Any | None:
    """The JSON value, or None when it is none (an empty node, another format)."""
    try:
        return json.loads(data or b"")
    except ValueError:
        return None


def required(fields: Any, key: str) -> Any:
    """A field that must be there; raises ValueError, as a wrong shape is no case the readers are written for."""
    if not isinstance(fields, dict) or key not in fields:
        raise ValueError(f"No such field exists: `{key}` in {fields!r}")
    return fields[key]
