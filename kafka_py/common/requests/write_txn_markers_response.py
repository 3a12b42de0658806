"""Which markers were written.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/WriteTxnMarkersResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT64
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

TXN_MARKERS_KEY_NAME = "transaction_markers"
PRODUCER_ID_KEY_NAME = "producer_id"
TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

WRITE_TXN_MARKERS_PARTITION_ERROR_RESPONSE_V0 = Schema(PARTITION_ID, ERROR_CODE)

WRITE_TXN_MARKERS_ENTRY_V0 = Schema(
    Field(PRODUCER_ID_KEY_NAME, INT64),
    Field(
        TOPICS_KEY_NAME,
        ArrayOf(
            Schema(
                TOPIC_NAME,
                Field(PARTITIONS_KEY_NAME, ArrayOf(WRITE_TXN_MARKERS_PARTITION_ERROR_RESPONSE_V0), "The partitions"),
            )
        ),
    ),
)

WRITE_TXN_MARKERS_RESPONSE_V0 = Schema(Field(TXN_MARKERS_KEY_NAME, ArrayOf(WRITE_TXN_MARKERS_ENTRY_V0)))


class WriteTxnMarkersResponse(SchemaBackedResponse):
    """An error by producer and partition.

    Mirrors: org.apache.kafka.common.requests.WriteTxnMarkersResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.WRITE_TXN_MARKERS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [WRITE_TXN_MARKERS_RESPONSE_V0]
