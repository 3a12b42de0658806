"""Whether the group's offsets belong to the transaction now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddOffsetsToTxnResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

ADD_OFFSETS_TO_TXN_RESPONSE_V0 = Schema(THROTTLE_TIME_MS, ERROR_CODE)


class AddOffsetsToTxnResponse(SchemaBackedResponse):
    """An error.

    Mirrors: org.apache.kafka.common.requests.AddOffsetsToTxnResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ADD_OFFSETS_TO_TXN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ADD_OFFSETS_TO_TXN_RESPONSE_V0]
