"""Whether the partitions belong to the transaction now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AddPartitionsToTxnResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

ERRORS_KEY_NAME = "errors"
PARTITION_ERRORS = "partition_errors"

ADD_PARTITIONS_TO_TXN_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS,
    Field(
        ERRORS_KEY_NAME, ArrayOf(Schema(TOPIC_NAME, Field(PARTITION_ERRORS, ArrayOf(Schema(PARTITION_ID, ERROR_CODE)))))
    ),
)


class AddPartitionsToTxnResponse(SchemaBackedResponse):
    """An error by partition.

    Mirrors: org.apache.kafka.common.requests.AddPartitionsToTxnResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ADD_PARTITIONS_TO_TXN

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ADD_PARTITIONS_TO_TXN_RESPONSE_V0]
