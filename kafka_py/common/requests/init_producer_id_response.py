"""A producer's id and epoch.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/InitProducerIdResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PRODUCER_EPOCH, PRODUCER_ID, THROTTLE_TIME_MS
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.requests.abstract_response import AbstractResponse

INIT_PRODUCER_ID_RESPONSE_V0 = Schema(THROTTLE_TIME_MS, ERROR_CODE, PRODUCER_ID, PRODUCER_EPOCH)


class InitProducerIdResponse(AbstractResponse):
    """Producer id and epoch, or an error.

    Mirrors: org.apache.kafka.common.requests.InitProducerIdResponse
    """

    __slots__ = ("_epoch", "_error", "_producer_id", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.INIT_PRODUCER_ID

    def __init__(self, throttle_time_ms: int, error: Errors, producer_id: int = -1, epoch: int = 0) -> None:
        self._throttle_time_ms = throttle_time_ms
        self._error = error
        self._producer_id = producer_id
        self._epoch = epoch

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [INIT_PRODUCER_ID_RESPONSE_V0]

    @classmethod
    def from_struct(cls, struct: Struct) -> InitProducerIdResponse:
        return cls(
            struct.get(THROTTLE_TIME_MS),
            Errors.for_code(struct.get(ERROR_CODE)),
            struct.get(PRODUCER_ID),
            struct.get(PRODUCER_EPOCH),
        )

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.INIT_PRODUCER_ID.response_schema(version))
        result.set(THROTTLE_TIME_MS, self._throttle_time_ms).set(ERROR_CODE, self._error.code)
        return result.set(PRODUCER_ID, self._producer_id).set(PRODUCER_EPOCH, self._epoch)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def producer_id(self) -> int:
        """The id, -1 with an error."""
        return self._producer_id

    def error(self) -> Errors:
        """NONE, or why there is no id."""
        return self._error

    def epoch(self) -> int:
        """The epoch that fences earlier producers with the same transactional id."""
        return self._epoch

    def error_counts(self) -> dict[Errors, int]:
        return {self._error: 1}

    def __str__(self) -> str:
        return (
            f"InitProducerIdResponse(error={self._error}, producerId={self._producer_id}, "
            f"producerEpoch={self._epoch}, throttleTimeMs={self._throttle_time_ms})"
        )
