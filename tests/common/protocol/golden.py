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
    def schema(self) -> Schema:
        return self.key.request_schema(self.version) if self.is_request else self.key.response_schema(self.version)


@functools.cache
def golden() -> list[Golden]:
    """All messages of the keys and versions that there are schemas for."""
    found = []
    with gzip.open(DATA / "protocol_golden.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if not ApiKeys.has_id(row.get("api_key", -1)):
                continue
            key = ApiKeys.for_id(row["api_key"])
            if key.is_version_supported(row["version"]):
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


def golden_of(key: ApiKeys) -> list[Golden]:
    return [message for message in golden() if message.key is key]
