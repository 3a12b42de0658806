"""What is in the log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeLogDirsResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, PARTITION_ID, THROTTLE_TIME_MS, TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN, INT64, STRING
from kafka_py.common.requests.schema_backed import SchemaBackedResponse

LOG_DIRS_KEY_NAME = "log_dirs"
LOG_DIR_KEY_NAME = "log_dir"
TOPICS_KEY_NAME = "topics"
PARTITIONS_KEY_NAME = "partitions"
SIZE_KEY_NAME = "size"
OFFSET_LAG_KEY_NAME = "offset_lag"
IS_FUTURE_KEY_NAME = "is_future"

DESCRIBE_LOG_DIRS_RESPONSE_V0 = Schema(
    THROTTLE_TIME_MS,
    Field(
        LOG_DIRS_KEY_NAME,
        ArrayOf(
            Schema(
                ERROR_CODE,
                Field(LOG_DIR_KEY_NAME, STRING, "The directory's path"),
                Field(
                    TOPICS_KEY_NAME,
                    ArrayOf(
                        Schema(
                            TOPIC_NAME,
                            Field(
                                PARTITIONS_KEY_NAME,
                                ArrayOf(
                                    Schema(
                                        PARTITION_ID,
                                        Field(SIZE_KEY_NAME, INT64, "The log's size in bytes"),
                                        Field(OFFSET_LAG_KEY_NAME, INT64, "How far the replica is behind"),
                                        Field(
                                            IS_FUTURE_KEY_NAME, BOOLEAN, "Whether it will replace the current replica"
                                        ),
                                    )
                                ),
                            ),
                        )
                    ),
                ),
            )
        ),
    ),
)


class DescribeLogDirsResponse(SchemaBackedResponse):
    """Size and lag of each replica by directory.

    Mirrors: org.apache.kafka.common.requests.DescribeLogDirsResponse
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.DESCRIBE_LOG_DIRS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [DESCRIBE_LOG_DIRS_RESPONSE_V0]
