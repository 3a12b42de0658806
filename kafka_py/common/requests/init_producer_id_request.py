"""A producer asks for its id.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/InitProducerIdRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import NULLABLE_TRANSACTIONAL_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.init_producer_id_response import InitProducerIdResponse

TRANSACTION_TIMEOUT_KEY_NAME = "transaction_timeout_ms"

INIT_PRODUCER_ID_REQUEST_V0 = Schema(
    NULLABLE_TRANSACTIONAL_ID, Field(TRANSACTION_TIMEOUT_KEY_NAME, INT32, "How long a transaction may stay open, in ms")
)


class InitProducerIdRequest(AbstractRequest):
    """The transactional id, None for a producer that is only idempotent.

    Mirrors: org.apache.kafka.common.requests.InitProducerIdRequest
    """

    __slots__ = ("_transaction_timeout_ms", "_transactional_id")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.INIT_PRODUCER_ID
    NO_TRANSACTION_TIMEOUT_MS: ClassVar[int] = 0x7FFFFFFF

    class Builder(AbstractRequest.Builder):
        """Checks id and timeout.

        Mirrors: org.apache.kafka.common.requests.InitProducerIdRequest.Builder
        """

        def __init__(self, transactional_id: str | None, transaction_timeout_ms: int = 0x7FFFFFFF) -> None:
            super().__init__(ApiKeys.INIT_PRODUCER_ID)
            if transaction_timeout_ms <= 0:
                raise ValueError(f"transaction timeout value is not positive: {transaction_timeout_ms}")
            if transactional_id is not None and not transactional_id:
                raise ValueError("Must set either a null or a non-empty transactional id.")
            self._transactional_id = transactional_id
            self._transaction_timeout_ms = transaction_timeout_ms

        def build(self, version: int | None = None) -> InitProducerIdRequest:
            return InitProducerIdRequest(
                self._version_or_latest(version), self._transactional_id, self._transaction_timeout_ms
            )

        def __str__(self) -> str:
            return (
                f"(type=InitProducerIdRequest, transactionalId={self._transactional_id or 'null'}, "
                f"transactionTimeoutMs={self._transaction_timeout_ms})"
            )

    def __init__(self, version: int, transactional_id: str | None, transaction_timeout_ms: int) -> None:
        super().__init__(version)
        self._transactional_id = transactional_id
        self._transaction_timeout_ms = transaction_timeout_ms

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [INIT_PRODUCER_ID_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> InitProducerIdRequest:
        return cls(version, struct.get(NULLABLE_TRANSACTIONAL_ID), struct.get(TRANSACTION_TIMEOUT_KEY_NAME))

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.INIT_PRODUCER_ID.request_schema(self._version))
        result.set(NULLABLE_TRANSACTIONAL_ID, self._transactional_id)
        return result.set(TRANSACTION_TIMEOUT_KEY_NAME, self._transaction_timeout_ms)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> InitProducerIdResponse:
        return InitProducerIdResponse(throttle_time_ms, Errors.for_exception(e))

    def transactional_id(self) -> str | None:
        """The transactional id, None for a producer that is only idempotent."""
        return self._transactional_id

    def transaction_timeout_ms(self) -> int:
        """How long a transaction may stay open, in ms."""
        return self._transaction_timeout_ms
