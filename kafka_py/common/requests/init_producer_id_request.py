"""A producer asks for its id.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/InitProducerIdRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64, NULLABLE_STRING
from kafka_py.common.requests.request_message import RequestMessage


class InitProducerIdRequest(RequestMessage, key=ApiKeys.INIT_PRODUCER_ID, latest=3, flexible=2):
    """The transactional id, None for a producer that is only idempotent.

    Mirrors: org.apache.kafka.common.requests.InitProducerIdRequest
    """

    NO_TRANSACTION_TIMEOUT_MS: ClassVar[int] = 0x7FFFFFFF

    transactional_id: str | None = field(NULLABLE_STRING)
    transaction_timeout_ms: int = field(INT32, "How long a transaction may stay open, in ms")
    producer_id: int = field(INT64, "The id that the producer had, to resume", since=3, default=-1)
    producer_epoch: int = field(INT16, "The epoch that the producer had", since=3, default=-1)

    class Builder(RequestMessage.Builder):
        """Checks id and timeout.

        Mirrors: org.apache.kafka.common.requests.InitProducerIdRequest.Builder
        """

        def __init__(self, transactional_id: str | None, transaction_timeout_ms: int = 0x7FFFFFFF) -> None:
            if transaction_timeout_ms <= 0:
                raise ValueError(f"transaction timeout value is not positive: {transaction_timeout_ms}")
            if transactional_id is not None and not transactional_id:
                raise ValueError("Must set either a null or a non-empty transactional id.")
            super().__init__(
                InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms)
            )
            self._transactional_id = transactional_id
            self._transaction_timeout_ms = transaction_timeout_ms

        def __str__(self) -> str:
            return (
                f"(type=InitProducerIdRequest, transactionalId={self._transactional_id or 'null'}, "
                f"transactionTimeoutMs={self._transaction_timeout_ms})"
            )
