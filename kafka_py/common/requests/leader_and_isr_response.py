"""What became of the leaders and followers.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/LeaderAndIsrResponse.java @ 1.1.1
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

PARTITIONS_KEY_NAME = "partitions"

LEADER_AND_ISR_RESPONSE_PARTITION_V0 = Schema(TOPIC_NAME, PARTITION_ID, ERROR_CODE)

LEADER_AND_ISR_RESPONSE_V0 = Schema(
    ERROR_CODE, Field(PARTITIONS_KEY_NAME, ArrayOf(LEADER_AND_ISR_RESPONSE_PARTITION_V0), "The partitions")
)

LEADER_AND_ISR_RESPONSE_V1 = LEADER_AND_ISR_RESPONSE_V0


class LeaderAndIsrResponse(AbstractResponse):
    """The error of the whole and of each partition.

    Mirrors: org.apache.kafka.common.requests.LeaderAndIsrResponse
    """

    __slots__ = ("_error", "_responses")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.LEADER_AND_ISR

    def __init__(self, error: Errors, responses: dict[TopicPartition, Errors]) -> None:
        self._error = error
        self._responses = responses

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [LEADER_AND_ISR_RESPONSE_V0, LEADER_AND_ISR_RESPONSE_V1]

    @classmethod
    def from_struct(cls, struct: Struct) -> LeaderAndIsrResponse:
        responses = {
            TopicPartition(p.get(TOPIC_NAME), p.get(PARTITION_ID)): Errors.for_code(p.get(ERROR_CODE))
            for p in struct.get(PARTITIONS_KEY_NAME)
        }
        return cls(Errors.for_code(struct.get(ERROR_CODE)), responses)

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.LEADER_AND_ISR.response_schema(version))
        partitions = []
        for tp, error in self._responses.items():
            partition = result.instance(PARTITIONS_KEY_NAME)
            partition.set(TOPIC_NAME, tp.topic).set(PARTITION_ID, tp.partition).set(ERROR_CODE, error.code)
            partitions.append(partition)
        return result.set(PARTITIONS_KEY_NAME, partitions).set(ERROR_CODE, self._error.code)

    def responses(self) -> dict[TopicPartition, Errors]:
        """The error of each partition."""
        return self._responses

    def error(self) -> Errors:
        """The error of the whole."""
        return self._error

    def error_counts(self) -> dict[Errors, int]:
        if self._error is not Errors.NONE:
            return {self._error: len(self._responses)}  # then every partition failed with it
        return self.error_counts_of(self._responses.values())

    def __str__(self) -> str:
        return f"LeaderAndIsrResponse(responses={self._responses}, error={self._error})"
