"""Which partitions the stopping broker still leads.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ControlledShutdownResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.requests.abstract_response import AbstractResponse
from kafka_py.common.topic_partition import TopicPartition

PARTITIONS_REMAINING_KEY_NAME = "partitions_remaining"

CONTROLLED_SHUTDOWN_PARTITION_V0 = Schema(TOPIC_NAME, PARTITION_ID)

CONTROLLED_SHUTDOWN_RESPONSE_V0 = Schema(
    ERROR_CODE, Field(PARTITIONS_REMAINING_KEY_NAME, ArrayOf(CONTROLLED_SHUTDOWN_PARTITION_V0))
)

CONTROLLED_SHUTDOWN_RESPONSE_V1 = CONTROLLED_SHUTDOWN_RESPONSE_V0


class ControlledShutdownResponse(AbstractResponse):
    """The partitions whose leadership could not be moved; empty when the broker may stop.

    Mirrors: org.apache.kafka.common.requests.ControlledShutdownResponse
    """

    __slots__ = ("_error", "_partitions_remaining")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CONTROLLED_SHUTDOWN

    def __init__(self, error: Errors, partitions_remaining: set[TopicPartition]) -> None:
        self._error = error
        self._partitions_remaining = partitions_remaining

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CONTROLLED_SHUTDOWN_RESPONSE_V0, CONTROLLED_SHUTDOWN_RESPONSE_V1]

    @classmethod
    def from_struct(cls, struct: Struct) -> ControlledShutdownResponse:
        remaining = {
            TopicPartition(p.get(TOPIC_NAME), p.get(PARTITION_ID)) for p in struct.get(PARTITIONS_REMAINING_KEY_NAME)
        }
        return cls(Errors.for_code(struct.get(ERROR_CODE)), remaining)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.CONTROLLED_SHUTDOWN.response_schema(version)).set(ERROR_CODE, self._error.code)
        return result.set(
            PARTITIONS_REMAINING_KEY_NAME,
            [
                result.instance(PARTITIONS_REMAINING_KEY_NAME).set(TOPIC_NAME, tp.topic).set(PARTITION_ID, tp.partition)
                for tp in self._partitions_remaining
            ],
        )

    def error(self) -> Errors:
        """NONE, or why the controller did nothing."""
        return self._error

    def partitions_remaining(self) -> set[TopicPartition]:
        """The partitions that the broker still leads."""
        return self._partitions_remaining

    def error_counts(self) -> dict[Errors, int]:
        return {self._error: 1}
