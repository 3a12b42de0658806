"""Whether the transaction is ending.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/EndTxnResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, THROTTLE_TIME_MS
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

END_TXN_RESPONSE_V0 = Schema(THROTTLE_TIME_MS, ERROR_CODE)


class EndTxnResponse(SchemaBackedResponse):
    """An error.

    Mirrors: org.apache.kafka.common.requests.EndTxnResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.END_TXN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [END_TXN_RESPONSE_V0]
