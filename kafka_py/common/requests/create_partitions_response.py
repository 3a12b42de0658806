"""Whether the partitions were added.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreatePartitionsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

TOPIC_ERRORS_KEY_NAME = "topic_errors"

CREATE_PARTITIONS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS, Field(TOPIC_ERRORS_KEY_NAME, ArrayOf(Schema(TOPIC_NAME, ERROR_CODE, ERROR_MESSAGE)))
)


class CreatePartitionsResponse(SchemaBackedResponse):
    """An error by topic.

    Mirrors: org.apache.kafka.common.requests.CreatePartitionsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_PARTITIONS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_PARTITIONS_RESPONSE_V0]
