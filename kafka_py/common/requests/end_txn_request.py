"""Commit or abort the transaction.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/EndTxnRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import PRODUCER_EPOCH, PRODUCER_ID, TRANSACTIONAL_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN
from kafka_py.common.requests.end_txn_response import EndTxnResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TRANSACTION_RESULT_KEY_NAME = "transaction_result"

END_TXN_REQUEST_V0 = Schema(
    TRANSACTIONAL_ID, PRODUCER_ID, PRODUCER_EPOCH, Field(TRANSACTION_RESULT_KEY_NAME, BOOLEAN, "Whether to commit")
)


class EndTxnRequest(SchemaBackedRequest):
    """Producer, and whether to commit.

    Mirrors: org.apache.kafka.common.requests.EndTxnRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.END_TXN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [END_TXN_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> EndTxnResponse:
        error = Errors.for_exception(e)
        return EndTxnResponse({"throttle_time_ms": throttle_time_ms, "error_code": error.code})
