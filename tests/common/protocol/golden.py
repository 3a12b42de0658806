"""Messages that other implementations of the protocol wrote, to be read and written again by ours."""

from __future__ import annotations

import functools
import gzip
import json
import pathlib
from typing import Any, NamedTuple

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.types.schema import Schema

DATA = pathlib.Path(__file__).parents[2] / "data"
KEYS = {key.id: key for key in vars(ApiKeys).values() if isinstance(key, ApiKeys)}
"""All keys, with those that are declared and not in use."""


class Golden(NamedTuple):
    """One message: the bytes of its body and of its frame, and its fields by their names of 1.1.1 (None if later)."""

    id: str
    key: ApiKeys
    is_request: bool
    version: int
    body: bytes
    frame: bytes
    values: dict[str, Any] | None

    @property
    def message_class(self) -> Any:
        return self.key.request_class() if self.is_request else self.key.response_class()

    @property
    def schema(self) -> Schema:
        schema: Schema = self.message_class.schema(self.version)
        return schema


def latest_declared(key: ApiKeys) -> int:
    """The last version that the key's messages are declared for."""
    latest: int = key.request_class().LATEST
    return latest


@functools.cache
def golden() -> list[Golden]:
    """All messages of the keys and versions that are declared."""
    found = []
    with gzip.open(DATA / "protocol_golden.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            key = KEYS.get(row.get("api_key", -1))
            if key is not None and row["version"] <= latest_declared(key):
                found.append(
                    Golden(
                        row["id"],
                        key,
                        row["type"] == "request",
                        row["version"],
                        bytes.fromhex(row["hex"]),
                        bytes.fromhex(row["frame"]),
                        row.get("values_1_1_1"),
                    )
                )
    return found


ALL_KEYS = sorted(KEYS.values(), key=lambda key: key.id)


def golden_of(key: ApiKeys) -> list[Golden]:
    return [message for message in golden() if message.key is key]
