"""Whether the broker took the metadata.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/UpdateMetadataResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.requests.abstract_response import AbstractResponse

UPDATE_METADATA_RESPONSE_V0 = Schema(ERROR_CODE)

UPDATE_METADATA_RESPONSE_V1 = UPDATE_METADATA_RESPONSE_V0

UPDATE_METADATA_RESPONSE_V2 = UPDATE_METADATA_RESPONSE_V1

UPDATE_METADATA_RESPONSE_V3 = UPDATE_METADATA_RESPONSE_V2

UPDATE_METADATA_RESPONSE_V4 = UPDATE_METADATA_RESPONSE_V3


class UpdateMetadataResponse(AbstractResponse):
    """An error code.

    Mirrors: org.apache.kafka.common.requests.UpdateMetadataResponse
    """

    __slots__ = ("_error",)

    API_KEY: ClassVar[ApiKeys] = ApiKeys.UPDATE_METADATA

    def __init__(self, error: Errors) -> None:
        self._error = error

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [
            UPDATE_METADATA_RESPONSE_V0,
            UPDATE_METADATA_RESPONSE_V1,
            UPDATE_METADATA_RESPONSE_V2,
            UPDATE_METADATA_RESPONSE_V3,
            UPDATE_METADATA_RESPONSE_V4,
        ]

    @classmethod
    def from_struct(cls, struct: Struct) -> UpdateMetadataResponse:
        return cls(Errors.for_code(struct.get(ERROR_CODE)))

    def to_struct(self, version: int) -> Struct:
        return Struct(ApiKeys.UPDATE_METADATA.response_schema(version)).set(ERROR_CODE, self._error.code)

    def error(self) -> Errors:
        """NONE, or why not."""
        return self._error

    def error_counts(self) -> dict[Errors, int]:
        return {self._error: 1}
