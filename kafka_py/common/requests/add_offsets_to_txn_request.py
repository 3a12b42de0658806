"""A transaction is about to commit offsets of a group.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddOffsetsToTxnRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GROUP_ID, PRODUCER_EPOCH, PRODUCER_ID, TRANSACTIONAL_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

ADD_OFFSETS_TO_TXN_REQUEST_V0 = Schema(TRANSACTIONAL_ID, PRODUCER_ID, PRODUCER_EPOCH, GROUP_ID)


class AddOffsetsToTxnRequest(SchemaBackedRequest):
    """Producer and group.

    Mirrors: org.apache.kafka.common.requests.AddOffsetsToTxnRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ADD_OFFSETS_TO_TXN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ADD_OFFSETS_TO_TXN_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AddOffsetsToTxnResponse:
        error = Errors.for_exception(e)
        return AddOffsetsToTxnResponse({"throttle_time_ms": throttle_time_ms, "error_code": error.code})
