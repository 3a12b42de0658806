"""What is in the log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeLogDirsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT32
from kafka_py.common.requests.describe_log_dirs_response import DescribeLogDirsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"

DESCRIBE_LOG_DIRS_REQUEST_V0 = Schema(
    Field(
        TOPICS_KEY_NAME,
        ArrayOf(Schema(TOPIC_NAME, Field(PARTITIONS_KEY_NAME, ArrayOf(INT32), "The partitions")), nullable=True),
    )
)


class DescribeLogDirsRequest(SchemaBackedRequest):
    """Partitions; None asks for all.

    Mirrors: org.apache.kafka.common.requests.DescribeLogDirsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_LOG_DIRS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_LOG_DIRS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> DescribeLogDirsResponse:
        return DescribeLogDirsResponse({"throttle_time_ms": throttle_time_ms, "log_dirs": []})
